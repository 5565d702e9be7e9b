/* The results of a dataset's starts and refits: columns of its row, and separate tables.
 * Separate from finish.c, which writes the rows.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/result/tables.h"
#include "run/plan/best.h"
#include "run/plan/campaign.h"
#include "run/plan/share.h"

struct finish_refits;

/* The inputs; referenced, not copied. */
struct finish_source {
    struct journal_reader *journal;
    const struct result_header *header; /* the plan's */
    const struct refit_plan *plan;
    const bool *before; /* of each kept table: whether rows of an earlier result are in it */
    const struct share *share; /* fits over many datasets; NULL: each is a fit of its own */
};

/* Which columns the result needs for this plan: bits of enum fit_part. */
unsigned finish_refits_parts(const struct refit_plan *plan, uint32_t n_start);
/* Makes the tables that the options keep, and those that `before` names, in the writer's file.
 * finish_refits_free accepts NULL; call it before result_writer_close. */
enum status finish_refits_new(struct finish_refits **refits, const struct finish_source *source,
                              struct result_writer *writer, struct error *error);
void finish_refits_free(struct finish_refits *refits);
/* The tables being written. */
struct kept_writers *finish_refits_tables(struct finish_refits *refits);
/* Before the result is finished. */
enum status finish_refits_end(struct finish_refits *refits, struct error *error);

/* The best of a dataset's starts, with every column of the result; `tally` counts only the
 * starts. The work of the refits is added to `work`. Both records have arrays. */
enum status finish_refits_row(struct finish_refits *refits, uint64_t dataset,
                              struct fit_record *best, struct fit_record *other,
                              struct starts_tally *tally, struct fit_record *work,
                              struct error *error);
