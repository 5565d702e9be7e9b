/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/review.h"

#include <math.h>
#include <string.h>

enum status reviews_init(struct reviews *reviews, const struct refit_plan *plan,
                         struct journal_reader *journal, const struct run_identity *identity,
                         struct error *error)
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
    return limit == LIMIT_found || limit == LIMIT_held || limit == LIMIT_bound
           || limit == LIMIT_infinite;
}

static uint32_t n_side(const struct refit_plan *plan) { return 2 * plan->n_profile; }

void review_clear(const struct refit_plan *plan, size_t n_parameter, double *ends)
{
    for (size_t k = 0; k < review_size(plan, n_parameter); k++)
        ends[k] = NAN;
}

void review_take(const struct refit_plan *plan, size_t n_parameter, uint32_t i,
                 const struct fit_record *record, double *ends)
{
    double *end = ends + n_side(plan) + i * (n_parameter + 1);
    if (!is_below(record->limit) || record->n_point == 0)
        return;
    uint32_t parameter = refit_plan_get(plan, i).parameter;
    const double *last = record->point + 2 * ((size_t)record->n_point - 1);
    if (record->limit == LIMIT_found || record->limit == LIMIT_held)
        ends[i] = record->parameter[parameter];
    end[0] = last[1];
    memcpy(end + 1, record->parameter, n_parameter * sizeof *end);
    end[1 + parameter] = last[0]; /* in the record it is the limit */
}

enum status review_read(const struct refit_plan *plan, struct refit_starts *starts,
                        uint64_t dataset, uint32_t i, double *ends, struct error *error)
{
    const struct run_identity *identity = starts->identity;
    struct fit_record *record = &starts->other;
    double point[2 * FIT_MAX_POINT];
    record->point = point;
    if (journal_get_task(starts->journal, dataset, identity->n_start + i, record, error))
        review_take(plan, identity->n_parameter, i, record, ends);
    record->point = NULL; /* starts have none */
    return error->status;
}

enum status reviews_put(void *context, struct problem_block *block, struct error *error)
{
    struct reviews *reviews = context;
    const struct refit_plan *plan = reviews->plan;
    size_t n = reviews->starts.identity->n_parameter;
    enum status status = refit_starts_put(&reviews->starts, block, error);
    for (size_t row = 0; row < block->n && !status; row++) {
        if (block->fault[row])
            continue;
        size_t bytes = (review_size(plan, n) + 1) * sizeof(double);
        double *ends = block->profile_end[row] = arena_alloc(block->arena, bytes);
        if (!ends)
            return error_set(error, STATUS_NO_MEMORY, "out of memory for the ends of %u profiles",
                             (unsigned)n_side(plan));
        review_clear(plan, n, ends);
        for (uint32_t i = 0; i < n_side(plan) && !status; i++)
            status = review_read(plan, &reviews->starts, block->dataset[row], i, ends, error);
    }
    return status;
}

struct fit_profile_request review_request(const struct refit_plan *plan, const struct refit *refit,
                                          const double *profile_end)
{
    struct fit_profile_request request = {.parameter = refit->parameter, .side = refit->side,
                                          .limit = NAN};
    uint32_t i = 0;
    if (refit->kind != REFIT_REVIEW || !profile_end)
        return request;
    while (refit_plan_get(plan, i).parameter != refit->parameter
           || refit_plan_get(plan, i).side != refit->side)
        i++;
    request.limit = profile_end[i];
    request.n_end = n_side(plan);
    request.end = profile_end + n_side(plan);
    return request;
}
