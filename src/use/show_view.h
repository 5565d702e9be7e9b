/* Views of problems and results: what `stiffit show` prints, and the report in its tables.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/view.h"
#include "io/problem/problem.h"
#include "io/result/population.h"
#include "use/show.h"

void show_problem(struct view *view, const struct problem_info *info);
/* population: NULL, or that of a fit with random parameters. */
void show_result(struct view *view, const struct result_info *info,
                 const struct result_population *population, const struct show_summary *summary);

/* Parts of these. */
void show_failures(struct view *view, const struct show_summary *summary);
void show_notes(struct view *view, const struct show_summary *summary);
void show_flat_directions(struct view *view, const struct result_info *info,
                          const struct show_summary *summary);
void show_parameters(struct view *view, const struct result_info *info,
                     const struct show_summary *summary);
void show_starts(struct view *view, const struct result_info *info,
                 const struct show_refits *refits);
void show_provenance(struct view *view, const struct result_info *info);
/* show_population.c: the group "population". */
void show_population(struct view *view, const struct result_population *population);

/* Cells of the open row: least, quartiles and most; of a single fit pages have one. */
void show_quartiles(struct view *view, const struct show_spread *spread, bool is_one);
/* The cell "examples"; an object "datasets", their number, and "examples"; "e.g. A7, B2". */
struct fact show_examples(struct view *view, const struct digest_examples *fits);
void show_examples_group(struct view *view, const char *key, const struct digest_examples *fits);
const char *show_examples_word(struct view *view, const struct digest_examples *fits);

/* As show_combination_text; combinations of long names are cut off. */
const char *show_combination_word(struct view *view, const struct result_info *info,
                                  const double *weight);
/* "k [1/min]". */
const char *show_label(struct view *view, const struct result_info *info, size_t j);
/* The kind of the objective in words. */
const char *show_objective_text(const char *kind);
