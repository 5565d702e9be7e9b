/* /parameters/from_model: what of a problem file's parameters becomes that of the model that is there. Private to the reader.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef IO_PROBLEM_ADOPT_H
#define IO_PROBLEM_ADOPT_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Bits of /parameters/from_model: what was nobody's choice but the model's. */
enum { PROBLEM_FROM_MODEL_START = 1, PROBLEM_FROM_MODEL_LOWER = 2, PROBLEM_FROM_MODEL_UPPER = 4, PROBLEM_FROM_MODEL_SCALE = 8 };

struct problem_adopted {
    const int64_t *from_model; /* n_parameter of the file; NULL: nothing is */
    bool has_other_parameters;
    char changes[600];         /* what differs, in words */
};

struct problem;
struct problem_expectation;
enum status problem_open_adopted(struct problem *problem, struct error *error);
enum status problem_adopt(struct problem *problem, const struct problem_expectation *model, struct error *error);

#endif
