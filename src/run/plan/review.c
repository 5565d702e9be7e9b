/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/review.h"

#include <math.h>
#include <string.h>

enum status reviews_init(struct reviews *reviews, const struct refit_plan *plan, struct journal_reader *journal,
                         const struct run_identity *identity, struct error *error)
{
    reviews->plan = plan;
    return refit_starts_init(&reviews->starts, journal, identity, error);
}

void reviews_fini(struct reviews *reviews) { refit_starts_fini(&reviews->starts); }

size_t review_size(const struct refit_plan *plan, size_t n_parameter)
{
    return 2 * (size_t)plan->n_profile * (n_parameter + 2);
}

static bool is_below(uint8_t limit)
{
    return limit == LIMIT_found || limit == LIMIT_held || limit == LIMIT_bound || limit == LIMIT_infinite;
}

/* Side i of a dataset: its limit, and its end. */
static enum status read_side(struct reviews *reviews, uint64_t dataset, uint32_t i, double *limit, double *end,
                             struct error *error)
{
    const struct run_identity *identity = reviews->starts.identity;
    struct fit_record *record = &reviews->starts.other;
    uint64_t task = dataset * identity_n_task(identity) + identity->n_start + i;
    *limit = end[0] = NAN;
    error->status = STATUS_OK;
    record->point = reviews->point;
    bool is_there = journal_get(reviews->starts.journal, task, record, error);
    record->point = NULL; /* starts have none */
    if (!is_there || !is_below(record->limit) || record->n_point == 0)
        return error->status;
    uint32_t parameter = refit_plan_get(reviews->plan, i).parameter;
    const double *last = reviews->point + 2 * ((size_t)record->n_point - 1);
    if (record->limit == LIMIT_found || record->limit == LIMIT_held)
        *limit = record->parameter[parameter];
    end[0] = last[1];
    memcpy(end + 1, record->parameter, identity->n_parameter * sizeof *end);
    end[1 + parameter] = last[0]; /* in the record it is the limit */
    return STATUS_OK;
}

enum status reviews_put(void *context, struct problem_block *block, struct error *error)
{
    struct reviews *reviews = context;
    size_t n = reviews->starts.identity->n_parameter;
    uint32_t n_side = 2 * reviews->plan->n_profile;
    enum status status = refit_starts_put(&reviews->starts, block, error);
    for (size_t row = 0; row < block->n && !status; row++) {
        if (block->fault[row])
            continue;
        double *limit = arena_alloc(block->arena, (review_size(reviews->plan, n) + 1) * sizeof *limit);
        if (!limit)
            return error_set(error, STATUS_NO_MEMORY, "out of memory for the ends of %u profiles", (unsigned)n_side);
        block->profile_end[row] = limit;
        for (uint32_t i = 0; i < n_side && !status; i++)
            status = read_side(reviews, block->dataset[row], i, &limit[i], limit + n_side + i * (n + 1), error);
    }
    return status;
}

struct fit_profile_request review_request(const struct refit_plan *plan, const struct refit *refit, const double *profile_end)
{
    struct fit_profile_request request = {.parameter = refit->parameter, .side = refit->side, .limit = NAN};
    uint32_t n_side = 2 * plan->n_profile, i = 0;
    if (refit->kind != REFIT_REVIEW || !profile_end)
        return request;
    while (refit_plan_get(plan, i).parameter != refit->parameter || refit_plan_get(plan, i).side != refit->side)
        i++;
    request.limit = profile_end[i];
    request.n_end = n_side;
    request.end = profile_end + n_side;
    return request;
}
