/* The latest answer that a worker's engine has given to an evaluation that others may repeat: fits
 * of datasets of one design often begin at the same parameters, and an evaluation is a pure
 * function of its request.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/evaluation.h"

struct memo;

/* NULL: out of memory. free: NULL is legal. */
struct memo *memo_new(const struct stiffit_model *abi, const struct ode_options *options);
void memo_free(struct memo *memo);
/* Fills in the answer of an evaluation with `excess`, if it is known: the bits that the engine
 * would give. False: it is not; the engine is to carry the evaluation out. */
bool memo_answers(struct memo *memo, struct evaluation *evaluation);
/* Keeps the answer of an evaluation with `excess` that an engine has carried out. */
void memo_keep(struct memo *memo, const struct evaluation *evaluation);
