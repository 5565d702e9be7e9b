/* Experiments that begin at the steady state of another one: both are evaluated, one after the
 * other, and the derivatives of the steady state by the fit's parameters go on in the second.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/objective/map.h"

/* Asks for evaluations, of all experiments at one or more places, place after place, with `ask`,
 * which waits for those of a list. Experiments whose steady state is another's start are asked
 * first; then the others' n_sens, sens, column and begin are filled in, and they are asked. If a
 * steady state is not reached, the evaluations that would begin there fail like it. If no
 * experiment begins at another's steady state, all are asked at once. map: NULL if there are no
 * derivatives. False: `ask` returned false, or no memory. */
bool fit_preequilibrate(const struct fit_problem *problem, const struct fit_map *map,
                        struct evaluation *const *evaluations, size_t n,
                        bool (*ask)(void *, struct evaluation *const *, size_t), void *context);
