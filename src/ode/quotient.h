/* Checked calls of the plugin's functions at a point, and difference quotients. Private to derivatives.c.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/derivatives.h"

/* The results to check: all, only the observables in d->wanted, or none. */
enum rows { ROWS_ALL, ROWS_WANTED, ROWS_NONE };

/* One difference quotient, from the values on both sides or on one. `base` is computed at most once per matrix, if have_base is
 * false. */
struct quotient {
    stiffit_function *function;
    const char *where;
    size_t n_out;
    enum rows rows;
    bool have_base;
    bool is_free; /* points beyond a switch count, too */
};

/* Records a failure; STIFFIT_RECOVERABLE, or STIFFIT_FATAL. */
int model_fail(struct derivatives *d, const char *where, double t, bool not_finite, bool fatal);
/* Sets the time and the inputs at that time; model_move_to also the state, and fails if that is not finite. */
void model_set_time(struct derivatives *d, double t);
bool model_move_to(struct derivatives *d, const char *where, double t, const double *y);
/* Calls a function at the point d->at, which fills n_column columns, or a matrix by parameter. */
int model_call(struct derivatives *d, stiffit_function *function, const char *where, enum rows rows, double *out, size_t n_row,
               size_t n_column);
int model_call_by_parameter(struct derivatives *d, stiffit_function *function, const char *where, enum rows rows, double *out,
                            size_t n_row);

/* The step in a parameter. */
double quotient_step(const struct derivatives *d, uint32_t j);
/* d function / d y; `known` is the function's value at (t, y), or NULL. */
int quotient_by_state(struct derivatives *d, struct quotient quotient, double t, const double *y, const double *known,
                      bool rough, double *out);
/* d function / d p at d->at, for the wanted parameters that enter it; the other wanted columns are 0. */
int quotient_by_parameter(struct derivatives *d, struct quotient quotient, unsigned use, double *out);
/* d function / d t at d->at, with inputs that move along. */
int quotient_by_time(struct derivatives *d, struct quotient quotient, double *column);
