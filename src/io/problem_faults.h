/* Faults of a problem file. Internal to the problem reader.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/problem.h"

/* All faults of a file are found before one error reports them. A part that cannot be read, or
 * for which there is no memory, counts as absent until then. */
enum { PROBLEM_MAX_FAULT = 20 /* listed; the others are counted */ };

struct problem_faults {
    uint64_t n;
    size_t used;
    bool no_memory;  /* reported instead of the faults */
    char text[1800]; /* a line each */
};
/* Adds one line; control characters in it become '?'. */
void faults_add(struct problem_faults *faults, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for what another function reported about this file. */
void faults_add_error(struct problem_faults *faults, const char *path, const struct error *error);
/* STATUS_OK if there are none; otherwise the message that lists them. */
enum status faults_report(const struct problem_faults *faults, const char *path,
                          struct error *error);
