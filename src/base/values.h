/* Values on the command line: NAME=VALUE for parameters and covariates, and lists of times.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/option.h"

/* Splits "NAME=VALUE" and finds NAME among n names; *value points behind the =. `option` and
 * `what` (as "parameter") are for messages. STATUS_USAGE with the nearest match. */
enum status values_find(const char *text, const char *option, const char *what,
                        const char *const *names, size_t n, size_t *index, const char **value,
                        struct error *error);
/* STATUS_USAGE if the list says two values of one name; numbers may be written in two ways. */
enum status values_once(const struct option_list *list, const char *option, struct error *error);
/* After values_once, for each NAME=VALUE of the list: out[index of NAME] = VALUE, a number.
 * `touched` (n bytes, or NULL) marks the names set. */
enum status values_set(const struct option_list *list, const char *option, const char *what,
                       const char *const *names, size_t n, double *out, unsigned char *touched,
                       struct error *error);
/* The index of a name. */
enum status values_name(const char *name, const char *option, const char *what,
                        const char *const *names, size_t n, size_t *index, struct error *error);

/* "1,2.5,10:100:10,1e-2:1e4:log7": single times, A:B:STEP (including B if a step falls on it, up
 * to rounding), and N times from A to B at equal ratios. Finite, at most 10 million.
 * free(*times). */
enum status values_times(const char *text, double **times, size_t *n_time, struct error *error);
/* "1,2,5" into numbers. free(*numbers). */
enum status values_numbers(const char *text, const char *option, double **numbers, size_t *n,
                           struct error *error);
