/* Derivatives by differences, with an honest error: the oracle of the model check.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_CHECK_DIFFERENCE_H
#define MODEL_CHECK_DIFFERENCE_H

#include "model/check_call.h"

/* Scratch for derivatives of functions of up to n_row values. Zero-initialise. */
struct differences {
    size_t n_row;
    double *derivative, *error; /* n_row each: the answer */
    double *size;               /* n_row: largest magnitude of the function's values that were met */
    double *table, *value;
    void *memory;
};

enum status differences_init(struct differences *differences, size_t n_row);
void differences_fini(struct differences *differences);

/* d base / d y[column] or d p[column] (axis) at the caller's point, which is as before afterwards. `scale` > 0 is a
 * typical magnitude of that variable. Central differences with steps scale/16, /32, ... extrapolated to step 0
 * (Ridders 1982): for each row the entry of the table with the smallest error estimate. False if the function cannot be
 * evaluated around this point, however small the step. */
bool differences_column(struct differences *differences, struct caller *caller, enum check_function base,
                        enum check_axis axis, size_t column, double scale);

#endif
