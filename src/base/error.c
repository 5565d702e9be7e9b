/* Filling errors: formatting only, so that every layer may use it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define STATUS_EXIT_CODE(name, exit_code, meaning) exit_code,
static const int exit_codes[] = {STATUS_LIST(STATUS_EXIT_CODE)};

enum status error_set(struct error *error, enum status status, const char *format, ...)
{
    if (!error)
        return status;
    va_list arguments;
    va_start(arguments, format);
    error->status = status;
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return status;
}

enum status error_system(struct error *error, int errno_value, const char *format, ...)
{
    if (!error)
        return STATUS_SYSTEM;
    va_list arguments;
    va_start(arguments, format);
    error->status = STATUS_SYSTEM;
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    size_t used = strlen(error->message);
    snprintf(error->message + used, sizeof error->message - used, ": %s", strerror(errno_value));
    return STATUS_SYSTEM;
}

enum status error_context(struct error *error, const char *format, ...)
{
    if (!error)
        return STATUS_INTERNAL;
    char before[sizeof error->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(before, sizeof before, format, arguments);
    va_end(arguments);
    size_t used = strlen(before);
    snprintf(before + used, sizeof before - used, ": %s", error->message);
    memcpy(error->message, before, sizeof error->message);
    return error->status;
}

int status_exit_code(enum status status) { return exit_codes[status]; }
