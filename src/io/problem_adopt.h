/* /parameters/from_model: what of a problem file's parameters becomes that of the model that is there.
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
/* What counts from the model instead of the file, which has it from another model at its import (/parameters/from_model):
 * "upper of k 5 (was 10), new parameter m"; "" if nothing does. And whether there are other parameters than the file names. */
const char *problem_changes(const struct problem *problem);
bool problem_has_other_parameters(const struct problem *problem);

/* The reader's own. */
enum status problem_open_adopted(struct problem *problem, struct error *error);
enum status problem_adopt(struct problem *problem, const struct problem_expectation *model, struct error *error);

#endif
