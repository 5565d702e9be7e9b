/* The list of faults of a problem file, which one error reports after all have been found.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef IO_PROBLEM_FAULTS_H
#define IO_PROBLEM_FAULTS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { PROBLEM_MAX_FAULT = 20 /* listed; the others are counted */ };

struct problem_faults {
    uint64_t n;
    size_t used;
    char text[1800]; /* one line per fault */
};
/* Adds one line; control characters in it become '?'. */
void faults_add(struct problem_faults *faults, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for an error about this file from another function. */
void faults_add_error(struct problem_faults *faults, const char *path, const struct error *error);
/* STATUS_OK if there are none; otherwise the message that lists them. */
enum status faults_report(const struct problem_faults *faults, const char *path, struct error *error);

#endif
