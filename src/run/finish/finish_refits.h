/* What a dataset's starts and refits come to in the result: columns of its row, and tables of their own. Separate from
 * finish.c, which writes the rows.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_FINISH_REFITS_H
#define RUN_FINISH_REFITS_H

#include "io/result.h"
#include "run/plan/best.h"
#include "run/plan/campaign.h"

struct finish_refits;

/* What has to be there; kept, not copied. */
struct finish_source {
    struct journal_reader *journal;
    const struct result_info *info;
    const struct refit_plan *plan;
    struct result *before; /* a result that some rows are kept of; NULL: there is none */
};

/* Which columns the result needs for this plan: bits of enum fit_part. */
unsigned finish_refits_parts(const struct refit_plan *plan, uint32_t n_start);
/* Makes the tables that are to be kept in the writer's file, and those that `before` has. finish_refits_free is legal on NULL;
 * before result_writer_close. */
enum status finish_refits_new(struct finish_refits **refits, const struct finish_source *source,
                              struct result_writer *writer, struct error *error);
void finish_refits_free(struct finish_refits *refits);
/* Before the rows of this dataset: what `before` has of it in the tables is taken along, or left out. */
enum status finish_refits_pass(struct finish_refits *refits, uint64_t dataset, bool keep, struct error *error);
/* Before the result is finished. */
enum status finish_refits_end(struct finish_refits *refits, struct error *error);

/* Best of a dataset's starts, with every column that the result has; `tally` counts the starts alone. work: what the refits
 * took is added to its seconds, evaluations and steps. Records have arrays. */
enum status finish_refits_row(struct finish_refits *refits, uint64_t dataset, struct fit_record *best,
                              struct fit_record *other, struct starts_tally *tally, struct starts_tally *work,
                              struct error *error);

#endif
