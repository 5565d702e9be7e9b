/* Faults of single datasets. Internal to the problem reader.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/problem.h"
#include "io/problem_datum.h"
#include "base/faults.h"

/* Writes the first fault of dataset d of a block into `text`; false if there is none. */
bool problem_dataset_fault(const struct problem *problem, const struct problem_block *block,
                           size_t d, char *text, size_t size);
/* problem_check_experiment.c: the first fault of experiment e's doses, inputs and substitutes. */
bool problem_experiment_fault(const struct problem *problem, const struct problem_block *block,
                              size_t e, const struct problem_message *message);
