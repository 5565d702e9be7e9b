/* The two ways to show a file.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_SHOW_TEXT_H
#define CLI_SHOW_TEXT_H

#include "base/json.h"
#include "use/summary.h"
#include "io/problem.h"

#include <stdio.h>

void show_problem_text(FILE *file, const struct problem_info *info);
void show_problem_json(FILE *file, const struct problem_info *info);
void show_result_text(FILE *file, const struct result_info *info, const struct show_summary *summary);
void show_result_json(FILE *file, const struct result_info *info, const struct show_summary *summary);
/* One fit of a result in detail; scratch has n_parameter x n_parameter. */
void show_fit_text(FILE *file, const struct result_info *info, const char *id, const struct fit_record *record,
                   double *scratch);
void show_fit_json(FILE *file, const struct result *result, const char *id, struct fit_record *record, double *scratch);

/* "e.g. a, b, c" and a line's end. */
void show_print_examples(FILE *file, const struct show_examples *fits);
/* Starts, profiles and bootstrap, where there are any; as JSON members of the object that is open. */
void show_refits_text(FILE *file, const struct result_info *info, const struct show_summary *summary);
void show_refits_json(struct json *json, const struct result_info *info, const struct show_summary *summary);

/* Which datasets a result that has not all of them is about, in words; NULL: it has all. */
const char *show_selection(const struct result_info *info);
/* "k [1/min]". Returns `text`. */
const char *show_label(const struct result_info *info, size_t j, char *text, size_t size);
int show_label_width(const struct result_info *info);
/* What the objective is, in words. */
const char *show_objective_text(const char *kind);
/* From the record's covariance; NaN where there is none. False: it has no covariance at all. */
bool show_correlation(const struct result_info *info, const struct fit_record *record, double *correlation);

#endif
