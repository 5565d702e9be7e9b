/* The distributions that an observable's measurement errors may have: the words of --error, of problem files and of models.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_ERROR_KIND_H
#define BASE_ERROR_KIND_H

#include <stdbool.h>
#include <stddef.h>

enum error_kind { ERROR_NORMAL, ERROR_LOG_NORMAL, ERROR_LAPLACE, ERROR_HUBER, ERROR_STUDENT, N_ERROR };

extern const char *const error_kind_word[N_ERROR + 1]; /* "normal", "log-normal", ...; NULL behind the last */
/* The word of an observable whose errors a file or model leaves open. */
extern const char error_kind_default[];

int error_kind_of(const char *word); /* -1: there is no such word; NULL is legal */
/* Errors whose loss is the square of a residual, of values or of their logarithms. */
bool error_kind_is_square(enum error_kind kind);
/* Whether two of n kinds have losses of different shapes. Then their sum depends on every sigma, and only a likelihood weighs
 * one against another. */
bool error_kinds_mix(const enum error_kind *kind, size_t n);

#endif
