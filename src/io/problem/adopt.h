/* /parameters/from_model: replaces parameters of a problem file by those of the loaded model.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/parameters.h"

#include <stdbool.h>

struct problem_adopted {
    bool is_on;                /* the file has the numbers of /parameters/from_model */
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
