/* The entry: from a problem to a filled result.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/fit.h"

#include "fit/asker.h"
#include "fit/descent.h"
#include "fit/starts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void clear_result(const struct fit_problem *problem, struct fit_result *result)
{
    result->outcome = OUTCOME_not_run;
    result->notes = problem->notes;
    result->objective = result->gradient_norm = NAN;
    result->n_iteration = result->n_evaluation = result->n_step = 0;
    result->reason[0] = '\0';
    for (size_t i = 0; i < problem->n_parameter; i++) {
        result->parameter[i] = NAN;
        result->at_bound[i] = 0;
    }
}

static void fail(struct fit_result *result, enum outcome outcome, const char *reason)
{
    result->outcome = outcome;
    snprintf(result->reason, sizeof result->reason, "%s", reason);
}

/* Whether some measurement has neither a sigma of its own nor a model's. */
static bool lacks_sigma(const struct fit_problem *problem)
{
    if (problem->model->abi.noise)
        return false;
    for (size_t i = 0; i < problem->task->n_row; i++)
        if (!problem->sigma || isnan(problem->sigma[i]))
            return true;
    return false;
}

static void write_best(const struct fit_asker *asker, const struct descent *descent, struct fit_result *result)
{
    const struct fit_problem *problem = asker->problem;
    const struct fit_map *map = &asker->map;
    const struct fit_point *best = descent_best(descent);
    if (!best)
        return;
    result->objective = best->f;
    result->gradient_norm = descent_gradient_norm(descent);
    for (size_t i = 0; i < problem->n_parameter; i++)
        result->parameter[i] = best->p[problem->to_model[i]];
    for (size_t j = 0; j < map->n_free; j++) {
        double natural = best->p[map->model_index[j]];
        int8_t side = natural <= map->natural_lower[j] ? -1 : natural >= map->natural_upper[j] ? 1 : 0;
        result->at_bound[map->file_index[j]] = side;
    }
}

void fit_run(const struct fit_problem *problem, const struct fit_options *options, const struct fit_host *host,
             struct arena *arena, struct fit_result *result)
{
    clear_result(problem, result);
    struct fit_asker *asker = arena_calloc(arena, 1, sizeof *asker);
    if (!asker) {
        fail(result, OUTCOME_out_of_memory, "no memory for this fit");
        return;
    }
    asker->problem = problem;
    asker->options = options;
    asker->host = host;
    asker->notes = problem->notes | (lacks_sigma(problem) ? NOTE_no_model_sigma : 0);
    asker->objective = (struct fit_objective){problem->task->n_row, problem->value, problem->sigma,
                                              problem->model->abi.noise != NULL};
    enum outcome mapped = fit_map_init(&asker->map, problem, arena, &asker->notes, asker->reason);
    result->notes = asker->notes;
    if (mapped != OUTCOME_converged) {
        fail(result, mapped, asker->reason);
        return;
    }
    double *theta = arena_calloc(arena, asker->map.n_free + 1, sizeof *theta);
    struct descent *descent = descent_new(asker, arena);
    if (!theta || !descent) {
        fail(result, OUTCOME_out_of_memory, "no memory for this fit");
        return;
    }
    fit_start_theta(&asker->map, problem->seed, problem->dataset, problem->start_number, problem->n_start, theta);
    result->outcome = descent_run(descent, theta);
    result->notes = asker->notes;
    result->n_evaluation = asker->n_evaluation;
    result->n_step = asker->n_step;
    result->n_iteration = descent_n_iteration(descent);
    write_best(asker, descent, result);
    if (!outcome_is_success(result->outcome))
        snprintf(result->reason, sizeof result->reason, "%s", asker->reason);
}
