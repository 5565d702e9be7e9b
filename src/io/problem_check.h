/* Faults of a problem file, and of single datasets. Internal to the problem reader.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/problem.h"

/* All faults of a file are found before one error reports them. A part that cannot be read, or for which there is no memory,
 * counts as absent until then. */
enum { PROBLEM_MAX_FAULT = 20 /* listed; the others are counted */ };

struct problem_faults {
    uint64_t n;
    size_t used;
    bool no_memory;  /* reported instead of the faults */
    char text[1800]; /* a line each */
};
/* Adds one line; control characters in it become '?'. */
void faults_add(struct problem_faults *faults, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for what another function reported about this file. */
void faults_add_error(struct problem_faults *faults, const char *path, const struct error *error);
/* STATUS_OK if there are none; otherwise the message that lists them. */
enum status faults_report(const struct problem_faults *faults, const char *path, struct error *error);

/* Writes the first fault of dataset d of a block into `text`; false if there is none. */
bool problem_dataset_fault(const struct problem *problem, const struct problem_block *block, size_t d, char *text,
                           size_t size);
struct problem_message {
    char *text;
    size_t size;
};
#define FAULT(message, ...) (snprintf((message)->text, (message)->size, __VA_ARGS__), true)
/* problem_check_experiment.c: the first fault of experiment e's doses, inputs and substitutes. */
bool problem_experiment_fault(const struct problem *problem, const struct problem_block *block, size_t e,
                              const struct problem_message *message);
