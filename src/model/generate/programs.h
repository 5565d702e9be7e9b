/* All functions of a plugin as programs: what every back end prints and what is counted.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_GENERATE_PROGRAMS_H
#define MODEL_GENERATE_PROGRAMS_H

#include "model/generate/program.h"

/* With fewer states, or more entries of the Jacobian than this part of all, a dense solver is faster than a sparse one
 * (measured in ode/linear.c): then there is no sparse Jacobian. */
enum { SPARSE_FROM = 10 };
#define SPARSE_FILL 0.5

struct programs {
    struct values values;
    struct program prepare;               /* out[slot of at->work] */
    struct program of[N_MODEL_FUNCTION];  /* out[row + column*n_row]; empty where nothing but zeros is there */
    bool is_sparse;                       /* the Jacobian's slots are its entries in the order of the pattern */
};

/* *programs is zero on entry; after a failure only programs_fini may be called. STATUS_NO_MEMORY. */
enum status programs_init(struct programs *programs, const struct equations *equations, const struct functions *functions,
                          program_width_function *width, struct error *error);
void programs_fini(struct programs *programs);

#endif
