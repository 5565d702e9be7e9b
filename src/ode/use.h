/* What a parameter of the model enters.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stiffit/model.h>

static inline unsigned derivatives_use(const struct stiffit_model *abi, size_t i_parameter)
{
    return i_parameter >= abi->n_parameter ? 0
           : abi->parameter_use            ? abi->parameter_use[i_parameter]
                                           : ~0u;
}

/* Whether the states depend on the parameter. */
static inline bool derivatives_has_block(const struct stiffit_model *abi, size_t i_parameter)
{
    return abi->n_state && derivatives_use(abi, i_parameter) &
                               (STIFFIT_USE_RHS | STIFFIT_USE_INITIAL | STIFFIT_USE_EVENT);
}
