/* /parameters/from_model: replaces parameters of a problem file by those of the loaded model.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"

#include <stdbool.h>

/* Columns of /parameters/from_model: the number of the model at the import, or NaN if the import
 * chose another. A scale is 0 (lin), 1 (log) or 2 (log10). A number of the file that differs
 * from its column was edited after the import, and is kept. */
enum { FROM_MODEL_START, FROM_MODEL_LOWER, FROM_MODEL_UPPER, FROM_MODEL_SCALE, N_FROM_MODEL };

struct problem_adopted {
    const double *from_model;  /* n_parameter of the file x N_FROM_MODEL; NULL: nothing is */
    bool has_other_parameters;
    char changes[600];         /* what differs, in words */
};

double problem_scale_number(const char *scale);

struct problem;
struct problem_expectation;
/* The values taken from the model instead of the file, which has them from another model
 * (/parameters/from_model): "upper of k 5 (was 10), new parameter m"; "" if there are none. And
 * whether the parameters differ from those that the file names. */
const char *problem_changes(const struct problem *problem);
bool problem_has_other_parameters(const struct problem *problem);

/* For the problem reader. */
void problem_open_adopted(struct problem *problem);
void problem_adopt(struct problem *problem, const struct problem_expectation *model);
