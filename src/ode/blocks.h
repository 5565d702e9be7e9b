/* Which parameters have a block of sensitivities, in which phase and in which rows, and where
 * the blocks begin.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/simulation.h"

/* The most sensitivities that an evaluation has. */
size_t blocks_most(const struct stiffit_model *abi, const struct ode_options *options);
/* False: out of memory; blocks_fini is legal then. */
bool blocks_init(struct blocks *blocks, const struct stiffit_model *abi,
                 const struct ode_options *options);
void blocks_fini(struct blocks *blocks);

/* Chooses the parameters that get a block, those of the first phase. */
void blocks_choose(struct simulation *simulation);
/* Sets the parameters of a phase. False: the model's `prepare` failed. */
bool blocks_set_phase(struct simulation *simulation, size_t phase);
/* Sets the parameters of a row that has some of its own, and sets the phase's again. False:
 * `prepare` failed; no row's are set. */
bool blocks_begin_variant(struct simulation *simulation, size_t row);
void blocks_end_variant(struct simulation *simulation, size_t row);
/* The state at t0 and its sensitivities, 1 + n blocks: the model's initial state, or
 * evaluation.begin. Returns a code as derivatives_initial does. */
int blocks_initial(struct simulation *simulation, double *y);
/* Puts evaluation.begin, if any, in the place of an initial state. */
void blocks_begin_given(struct simulation *simulation, double *y);
