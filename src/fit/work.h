/* The work of a fit that is counted while it goes on: columns of its record that add up. Separate
 * because a dataset's part of a fit over many counts the same.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/fit_record.h"

/* A new count needs a line in each of these, one where it is counted (fit_ask_all), and an entry of
 * io/fit_column_list.h. */
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
