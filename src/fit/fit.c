/* The entry: from a problem to a filled record.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/fit.h"

#include "base/words.h"
#include "fit/point.h"
#include "fit/prepare.h"
#include "fit/confirm.h"
#include "fit/statistics.h"
#include "fit/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void fail(struct fit_record *record, enum outcome outcome, const char *reason)
{
    record->outcome = outcome;
    snprintf(record->reason, sizeof record->reason, "%s", reason);
}

static void write_best(const struct fit_asker *asker, const struct fit_point *best, struct fit_record *record)
{
    const struct fit_problem *problem = asker->problem;
    const struct fit_map *map = &asker->map;
    record->objective = best->f;
    double rtol = asker->options->accuracy, tighter = asker->accuracy.tighter;
    record->rtol = tighter == 1 ? rtol : number_decimal(rtol / tighter);
    record->gradient_norm = fit_point_gradient_norm(&asker->map, best);
    memcpy(record->parameter, best->p, problem->n_parameter * sizeof *best->p);
    for (size_t j = 0; j < map->n_free && asker->options->evaluates; j++)
        record->slope[map->file_index[j]] = best->gradient[j] / best->chain[j];
    for (size_t j = 0; j < map->n_free; j++) {
        double natural = best->p[map->file_index[j]];
        int8_t side = natural <= map->natural_lower[j] ? -1 : natural >= map->natural_upper[j] ? 1 : 0;
        record->at_bound[map->file_index[j]] = side;
    }
}

/* Searches and evaluates the result. */
static void search(struct fit_asker *asker, struct arena *arena, double *theta, struct fit_record *record)
{
    struct search_end end;
    const struct fit_point *point = fit_confirm(asker, arena, theta, record, &end);
    bool has_room = !end.best || fit_seek_pulses(asker);
    record->outcome = end.outcome;
    record->stop = end.stop;
    fit_work_put(&asker->used, record);
    record->notes = asker->notes;
    record->optimizer = asker->options->evaluates ? OPTIMIZER_none : record->optimizer;
    if (end.best)
        write_best(asker, end.best, record);
    if (point && asker->options->statistics && !asker->options->evaluates)
        has_room = fit_statistics_compute(record, asker, point, arena) && has_room;
    else if (end.best && asker->options->statistics)
        fit_statistics_glance(record, asker, end.best);
    if (!has_room)
        fail(record, OUTCOME_out_of_memory, "no memory for this fit's statistics");
    if (!outcome_is_success(record->outcome))
        snprintf(record->reason, sizeof record->reason, "%s", asker->reason);
}

/* Runs a fit with the sigmas that are known. */
static void run(const struct fit_problem *problem, const struct fit_options *options, const struct fit_host *host,
                struct arena *arena, struct fit_record *record)
{
    struct fit_asker *asker = fit_prepare(problem, options, host, arena, record);
    double *theta;
    if (asker && !ARENA_DOUBLES(arena, {&theta, asker->map.n_free, 1}))
        fail(record, OUTCOME_out_of_memory, "no memory for this fit");
    else if (asker)
        search(asker, arena, theta, record);
}

void fit_run(const struct fit_problem *problem, const struct fit_options *options, const struct fit_host *host,
             struct arena *arena, struct fit_record *record)
{
    if (!fit_unit_is_open(problem)) {
        run(problem, options, host, arena, record);
    } else if (!fit_unit_find(problem, options, host, arena, record, run)) {
        fit_clear(record, problem->n_parameter, problem->notes);
        fail(record, OUTCOME_out_of_memory, "no memory for this fit");
    }
}
