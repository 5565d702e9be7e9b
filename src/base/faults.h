/* The faults of a file: all of them are found before one error reports them.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FAULTS_LISTED = 20 /* the others are counted */ };

struct faults {
    uint64_t n;
    size_t used;
    bool no_memory;  /* reported instead of the faults */
    char text[1800]; /* a line each */
};
/* Adds one line; control characters in it become '?'. */
void faults_add(struct faults *faults, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds what another function has reported about this file. */
void faults_add_error(struct faults *faults, const char *path, const struct error *error);
/* STATUS_OK if there are none; otherwise the message that lists them. */
enum status faults_report(const struct faults *faults, const char *path, struct error *error);
