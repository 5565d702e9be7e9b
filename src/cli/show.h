/* The two ways to show a file: text and JSON.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/json.h"
#include "io/problem/problem.h"
#include "io/result/population.h"
#include "use/show.h"

#include <stdio.h>

void show_problem_text(FILE *file, const struct problem_info *info);
void show_problem_json(FILE *file, const struct problem_info *info);
/* population: NULL, or that of a fit with random parameters. */
void show_result_text(FILE *file, const struct result_info *info,
                      const struct result_population *population,
                      const struct show_summary *summary);
void show_result_json(FILE *file, const struct result_info *info,
                      const struct result_population *population,
                      const struct show_summary *summary);
void show_population_text(FILE *file, const struct result_population *population);
void show_population_json(struct json *json, const struct result_population *population);
/* One fit of a result in detail; scratch has n_parameter x n_parameter. */
void show_fit_text(FILE *file, const struct result_info *info, const char *id,
                   const struct fit_record *record, double *scratch);
void show_fit_json(FILE *file, const struct result *result, const char *id,
                   struct fit_record *record, double *scratch);

/* "e.g. A7, B2" and a line break; the number under the name `unit` and the ids. */
void show_examples_text(FILE *file, const struct digest_examples *fits);
void show_examples_json(struct json *json, const char *unit, const struct digest_examples *fits);

/* "k [1/min]". Returns `text`. */
const char *show_label(const struct result_info *info, size_t j, char *text, size_t size);
int show_label_width(const struct result_info *info);
/* The kind of the objective in words. */
const char *show_objective_text(const char *kind);
