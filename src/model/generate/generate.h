/* The back ends: what is printed from the equations of a model and their derivatives.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_GENERATE_GENERATE_H
#define MODEL_GENERATE_GENERATE_H

#include "model/graph/equations.h"

#include <stdio.h>

/* Part of every key of the compile cache: to be raised with each change that changes generated code. */
#define GENERATOR_VERSION 4

/* The C source of a plugin (include/stiffit/model.h): complete, readable, its bytes depending on nothing but the
 * arguments. Write errors are the caller's to see (ferror). STATUS_NO_MEMORY otherwise. */
enum status generate_c(const struct equations *equations, const struct functions *functions, FILE *out, struct error *error);

/* Operations of one function of the generated plugin, after sharing: what evaluating it costs. */
struct function_cost {
    size_t n_add, n_multiply, n_divide, n_call, n_other; /* n_call: exp, pow, ...; n_other: comparisons, choices */
    size_t n_temporary, n_alive;                         /* named temporaries; most of them alive at once */
    size_t n_result;                                     /* numbers that are computed: entries that are not 0 */
};
/* The last one is that of `prepare`, which computes once per evaluation what depends on parameters and covariates alone. */
enum { COST_prepare = N_MODEL_FUNCTION, N_FUNCTION_COST };
enum status generate_cost(const struct equations *equations, const struct functions *functions,
                          struct function_cost cost[N_FUNCTION_COST], struct error *error);

#endif
