/* The back ends, which print a model's equations and their derivatives.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_GENERATE_GENERATE_H
#define MODEL_GENERATE_GENERATE_H

#include "model/graph/equations.h"

#include <stdio.h>

/* Part of every key of the compile cache: increase it with each change of the generated code. */
#define GENERATOR_VERSION 4

/* The C source of a plugin (include/stiffit/model.h): complete and readable; its bytes depend only on the arguments. Check
 * ferror(file) for write errors. STATUS_NO_MEMORY otherwise. */
enum status generate_c(const struct equations *equations, const struct functions *functions, FILE *out, struct error *error);

/* Operations of one function of the generated plugin, after sharing. */
struct function_cost {
    size_t n_add, n_multiply, n_divide, n_call, n_other; /* n_call: exp, pow, ...; n_other: comparisons, choices */
    size_t n_temporary, n_alive;                         /* named temporaries; the most alive at once */
    size_t n_result;                                     /* computed numbers: non-zero entries */
};
/* The last one is the cost of `prepare`, which computes once per evaluation what depends only on parameters and covariates. */
enum { COST_prepare = N_MODEL_FUNCTION, N_FUNCTION_COST };
enum status generate_cost(const struct equations *equations, const struct functions *functions,
                          struct function_cost cost[N_FUNCTION_COST], struct error *error);

#endif
