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

/* Whether `got` is certainly not d base_row / d x at the caller's point: central differences at two small steps and both
 * one-sided ones agree with each other, and all are further from it than 4 times that and than 1e-3 of it. So a kink, a step
 * narrower than 1e-6 of the variable, noise and rounding are no evidence, nor is a variable at 0, whose scale nobody knows.
 * `terms` is the size of the terms inside of the function. */
bool differences_contradict(struct differences *differences, struct caller *caller, enum check_function base,
                            enum check_axis axis, size_t column, size_t row, double got, double terms);

#endif
