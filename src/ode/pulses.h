/* Whether the integrator may step over a pulse of a model that declares nothing about time.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/experiment.h"

#include <stiffit/model.h>

/* Whether the model tells what the integrator must not step over: forcing, switching_time or
 * max_step. */
bool pulses_are_declared(const struct stiffit_model *abi);

/* *may: whether the rates of a model with states differ at about 130 times of the task, in its
 * initial state or in the same without zeros. p: n_parameter of the model. False: out of memory. */
bool pulses_may_hide(const struct stiffit_model *abi, const struct ode_task *task, const double *p,
                     bool *may);
