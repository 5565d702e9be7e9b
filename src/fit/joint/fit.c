/* The entry: from a problem to a filled record.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/fit.h"

#include "fit/joint/one.h"
#include "fit/single/confirm.h"
#include "fit/objective/found.h"
#include "fit/objective/prepare.h"
#include "fit/statistics/statistics.h"
#include "fit/objective/unit.h"

#include <stdlib.h>

/* What the search found. */
static void put(const struct fit_asker *asker, const struct search_end *end,
                const struct fit_certificate *certificate, int8_t *at_bound,
                struct fit_record *record)
{
    const struct fit_point *best = end->best;
    struct fit_found found = {.outcome = end->outcome, .stop = end->stop,
                              .optimizer = asker->optimizer,
                              .gradient = asker->gradient, .n_iteration = asker->n_iteration,
                              .used = asker->used,
                              .notes = asker->notes, .reason = asker->reason};
    if (best) {
        fit_map_at_bound(&asker->map, best->p, at_bound);
        found.p = best->p;
        found.at_bound = at_bound;
        found.objective = best->f;
        found.gradient_norm = fit_point_gradient_norm(&asker->map, best);
        found.tighter = asker->accuracy.tighter;
        found.tight_change = certificate->change;
        found.tight_decrease = certificate->decrease;
    }
    fit_found_put(&found, asker->options, asker->problem->n_parameter, record);
    for (size_t j = 0; best && j < asker->map.n_free && asker->options->evaluates; j++)
        record->slope[asker->map.file_index[j]] = best->gradient[j] / best->chain[j];
}

/* Searches and evaluates the result. */
static void search(struct fit_asker *asker, struct arena *arena, double *theta, int8_t *at_bound,
                   struct fit_record *record)
{
    struct search_end end;
    struct fit_certificate certificate;
    const struct fit_point *point = fit_confirm(asker, arena, theta, &end, &certificate);
    bool has_room = !end.best || fit_seek_pulses(asker);
    put(asker, &end, &certificate, at_bound, record);
    if (point && asker->options->statistics && !asker->options->evaluates)
        has_room = fit_statistics_compute(record, asker, point, arena) && has_room;
    else if (end.best && asker->options->statistics)
        fit_statistics_glance(record, asker, end.best);
    if (!has_room)
        fit_fail(record, OUTCOME_out_of_memory, "no memory for this fit's statistics");
    else if (asker->outcome == OUTCOME_out_of_memory) /* an evaluation that could be spared */
        fit_fail(record, OUTCOME_out_of_memory, asker->reason);
}

/* Whether STIFFIT_SUMS asks for the search of a sum of one block, which is to replace the one
 * here. */
static bool is_sum(void)
{
    const char *asked = getenv("STIFFIT_SUMS");
    return asked && *asked;
}

bool fit_is_kept(void) { return is_sum(); }

/* Runs a fit with the sigmas that are known. */
static void run(const struct fit_problem *problem, const struct fit_options *options,
                const struct fit_host *host, struct arena *arena, struct fit_record *record)
{
    if (is_sum()) {
        joint_one_run(problem, options, host, arena, record);
        return;
    }
    struct fit_asker *asker = fit_prepare(problem, options, host, arena, record);
    double *theta;
    int8_t *at_bound = arena_calloc(arena, problem->n_parameter + 1, sizeof *at_bound);
    if (asker && (!at_bound || !ARENA_DOUBLES(arena, {&theta, asker->map.n_free, 1})))
        fit_fail(record, OUTCOME_out_of_memory, "no memory for this fit");
    else if (asker)
        search(asker, arena, theta, at_bound, record);
}

void fit_run(const struct fit_problem *problem, const struct fit_options *options,
             const struct fit_host *host, struct arena *arena, struct fit_record *record)
{
    if (!fit_unit_is_open(problem)) {
        run(problem, options, host, arena, record);
    } else if (!fit_unit_find(problem, options, host, arena, record, run)) {
        fit_clear(record, problem->n_parameter, problem->notes);
        fit_fail(record, OUTCOME_out_of_memory, "no memory for this fit");
    }
}
