/* Status codes and struct error: how every fallible function reports a failure.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* name, exit code of the command, meaning */
#define STATUS_LIST(X) \
    X(OK, 0, "success") \
    X(FITS_FAILED, 1, "the run finished and some fits did not converge") \
    X(USAGE, 2, "a usage error") \
    X(BAD_PROBLEM, 3, "the problem file or its data cannot be used") \
    X(BAD_MODEL, 3, "the model cannot be used") \
    X(SYSTEM, 4, "an error of a file or of the operating system") \
    X(NO_MEMORY, 4, "out of memory") \
    X(INTERNAL, 5, "a bug in stiffit") \
    X(STOPPED, 75, "stopped early; the same command resumes")

#define STATUS_NUMBER(name, exit_code, meaning) STATUS_##name,
enum status { STATUS_LIST(STATUS_NUMBER) };

/* Filled once, where a fault is found. A caller may prepend context; only cli/ prints it. */
struct error {
    enum status status;
    char message[2000]; /* what is wrong, where, and what to do; no newline at the end */
};

/* Both return `status` (for `return error_set(...)`) and accept error = NULL. error_system
 * appends strerror(errno_value). */
enum status error_set(struct error *error, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
enum status error_system(struct error *error, int errno_value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Prepends "context: " to the message; returns error->status. */
enum status error_context(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

int status_exit_code(enum status status);
