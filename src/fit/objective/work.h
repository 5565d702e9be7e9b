/* The work of a fit that is counted while it goes on: columns of its record that add up. Separate
 * because a dataset's part of a fit over many counts the same.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/objective/types.h"
#include "io/file/fit_record.h"

/* A new count needs a line in each of these, one where it is counted (fit_ask_all), and an entry of
 * io/file/fit_column_list.h. */
struct fit_work {
    int64_t n_evaluation, n_step;
};

static inline void fit_work_put(const struct fit_work *work, struct fit_record *record)
{
    record->n_evaluation = work->n_evaluation;
    record->n_step = work->n_step;
}

static inline void fit_work_add(struct fit_work *work, const struct fit_record *record)
{
    work->n_evaluation += record->n_evaluation;
    work->n_step += record->n_step;
}

/* What is left of a fit's budgets. */
static inline struct fit_work fit_work_left(const struct fit_options *options,
                                            const struct fit_work *used)
{
    return (struct fit_work){options->max_evaluations - used->n_evaluation,
                             options->max_total_steps - used->n_step};
}
/* The options of another fit within half of that. */
static inline struct fit_options fit_work_half(const struct fit_options *options,
                                               const struct fit_work *used)
{
    struct fit_options half = *options;
    half.max_evaluations = fit_work_left(options, used).n_evaluation / 2;
    half.max_total_steps = fit_work_left(options, used).n_step / 2;
    return half;
}
