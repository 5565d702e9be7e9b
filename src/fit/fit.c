/* The entry: from a problem to a filled result.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/fit.h"

#include "fit/asker.h"
#include "fit/certificate.h"
#include "fit/descent.h"
#include "fit/quotient.h"
#include "fit/starts.h"
#include "fit/statistics.h"
#include "fit/stopping.h"
#include "fit/trust_region.h"
#include "ode/adjoint.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void clear_result(const struct fit_problem *problem, struct fit_result *result)
{
    result->outcome = OUTCOME_not_run;
    result->stop = STOP_none;
    result->optimizer = OPTIMIZER_none;
    result->gradient = GRADIENT_none;
    result->notes = problem->notes;
    result->objective = result->gradient_norm = result->tight_change = result->tight_decrease = NAN;
    result->n_iteration = result->n_evaluation = result->n_step = 0;
    result->reason[0] = '\0';
    for (size_t i = 0; i < problem->n_parameter; i++) {
        result->parameter[i] = NAN;
        result->at_bound[i] = 0;
    }
    if (result->statistics)
        fit_statistics_clear(result->statistics, problem->n_parameter);
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

/* After the map. False: out of memory. */
static bool set_objective(struct fit_asker *asker, struct arena *arena)
{
    const struct fit_problem *problem = asker->problem;
    const struct fit_options *options = asker->options;
    const struct fit_map *map = &asker->map;
    struct fit_objective *objective = &asker->objective;
    struct fit_prior_term *terms = arena_calloc(arena, map->n_free + 1, sizeof *terms);
    bool has_noise = problem->model->abi.noise != NULL;
    *objective = (struct fit_objective){.n_row = problem->task->n_row, .value = problem->value, .sigma = problem->sigma,
                                        .has_noise = has_noise,
                                        .likelihood = has_noise || (problem->censored && !lacks_sigma(problem)),
                                        .loss = fit_loss_of(options->error, options->huber_k, options->student_nu),
                                        .censored = problem->censored, .prior = terms};
    for (size_t j = 0; terms && problem->prior && j < map->n_free; j++) {
        const struct fit_prior *prior = &problem->prior[map->file_index[j]];
        if (prior->kind != PRIOR_NONE)
            terms[objective->n_prior++] = (struct fit_prior_term){*prior, j, map->model_index[j]};
    }
    return terms != NULL;
}

static void write_best(const struct fit_asker *asker, const struct fit_point *best, struct fit_result *result)
{
    const struct fit_problem *problem = asker->problem;
    const struct fit_map *map = &asker->map;
    result->objective = best->f;
    result->gradient_norm = stopping_gradient_norm(asker, best);
    for (size_t i = 0; i < problem->n_parameter; i++)
        result->parameter[i] = best->p[problem->to_model[i]];
    for (size_t j = 0; j < map->n_free; j++) {
        double natural = best->p[map->model_index[j]];
        int8_t side = natural <= map->natural_lower[j] ? -1 : natural >= map->natural_upper[j] ? 1 : 0;
        result->at_bound[map->file_index[j]] = side;
    }
}

static void certify(struct fit_asker *asker, const struct search_end *end, struct arena *arena, struct fit_result *result)
{
    struct fit_certificate certificate;
    enum asked asked = fit_certify(asker, end->best, arena, &certificate);
    if (asked == ASKED_END && asker->outcome == OUTCOME_out_of_memory)
        fail(result, OUTCOME_out_of_memory, "no memory for this fit's certificate");
    result->tight_change = certificate.change;
    result->tight_decrease = certificate.decrease;
    result->n_evaluation = asker->n_evaluation;
    result->n_step = asker->n_step;
    if (!certificate.is_certified)
        result->notes |= NOTE_not_certified;
}

/* From here on L-BFGS with adjoints is taken by itself, where those are cheaper at all: scripts/bench/bench_fit_crossover.c. */
enum { MANY_PARAMETERS = 150, USE_ALL = STIFFIT_USE_RHS | STIFFIT_USE_INITIAL };

/* Whether the objective's gradient alone costs less than the derivatives of all residuals. */
static bool adjoint_pays(const struct fit_asker *asker)
{
    const struct stiffit_model *abi = &asker->problem->model->abi;
    size_t n_sens = 0;
    for (size_t j = 0; j < asker->map.n_free; j++) {
        uint8_t use = abi->parameter_use ? abi->parameter_use[asker->map.model_index[j]] : USE_ALL;
        n_sens += (use & (STIFFIT_USE_RHS | STIFFIT_USE_INITIAL)) != 0;
    }
    return adjoint_is_cheaper(abi->n_state, n_sens);
}

/* A trust region takes some ten evaluations with the derivatives of all residuals, and a factorisation of them for each; L-BFGS
 * some fifty with a gradient and a few with those derivatives, whose squares are its metric (fit/metric.h). CPU time of whole
 * fits, trust region over L-BFGS with adjoints, of linear and of catalysed networks with measurements of all states at 2 to 200
 * times:
 *
 *     states \ parameters    10       30        50       100        150       200       300
 *      2                             0.2                 0.6                         2.5-4.3
 *      5                   0.2   0.1-0.2       0.3   0.3-0.8    0.6-1.9   1.9-4.2        3.9
 *     20                   0.4   0.3-0.5   0.5-1.1   0.9-1.2    0.6-2.7   0.9-1.8
 *     50                             0.7             0.5-1.6        0.8   0.7-3.2   1.1-3.2
 *
 * More times work in both directions (2, 12, 50, 200 of them: 5 x 200 4.2, 4.0, 2.1, 1.9; 50 x 200 0.7, 1.4, 1.1, 3.2). Ready
 * models: pollu (20 x 25) 0.7, medical-akzo-nobel (400 x 3) 0.15. */
static void choose(struct fit_asker *asker, struct fit_result *result)
{
    const struct fit_options *options = asker->options;
    bool pays = adjoint_pays(asker);
    result->optimizer = options->optimizer;
    if (result->optimizer == OPTIMIZER_none)
        result->optimizer = options->gradient == GRADIENT_adjoint || (pays && asker->map.n_free >= MANY_PARAMETERS
                            && options->gradient == GRADIENT_none) ? OPTIMIZER_lbfgs : OPTIMIZER_trf;
    result->gradient = options->gradient;
    if (result->optimizer == OPTIMIZER_trf && result->gradient != GRADIENT_differences)
        result->gradient = GRADIENT_forward;
    else if (result->gradient == GRADIENT_none)
        result->gradient = pays ? GRADIENT_adjoint : GRADIENT_forward;
    asker->gradient = result->gradient;
}

static bool prepare_gradient(struct fit_asker *asker, struct arena *arena)
{
    if (asker->gradient == GRADIENT_differences) {
        asker->notes |= NOTE_difference_gradient;
        asker->quotient = arena_calloc(arena, 1, sizeof *asker->quotient);
        return asker->quotient && fit_quotient_init(asker->quotient, asker, arena);
    }
    if (asker->gradient != GRADIENT_adjoint)
        return true;
    asker->by_prediction = arena_calloc(arena, asker->objective.n_row + 1, sizeof(double));
    asker->by_noise = arena_calloc(arena, asker->objective.n_row + 1, sizeof(double));
    return asker->by_prediction && asker->by_noise;
}

/* The best point once more with the derivatives of all residuals, which the statistics need. NULL if that failed. */
static const struct fit_point *look_forward(struct fit_asker *asker, const struct fit_point *best, struct arena *arena)
{
    struct fit_point *point = arena_calloc(arena, 1, sizeof *point);
    asker->gradient = GRADIENT_forward;
    if (!point || !fit_point_init(point, asker, arena))
        return NULL;
    memcpy(point->theta, best->theta, asker->map.n_free * sizeof *point->theta);
    return fit_ask(asker, point, true) == ASKED_OK ? point : NULL;
}

/* The search and what is made of its end. */
static void search(struct fit_asker *asker, struct arena *arena, const double *theta, struct fit_result *result)
{
    const struct fit_options *options = asker->options;
    struct search_end end;
    (result->optimizer == OPTIMIZER_lbfgs ? descent_search : trust_region_search)(asker, arena, theta, &end);
    result->outcome = end.outcome;
    result->stop = end.stop;
    result->notes = asker->notes;
    result->n_evaluation = asker->n_evaluation;
    result->n_step = asker->n_step;
    result->n_iteration = end.n_iteration;
    if (end.best)
        write_best(asker, end.best, result);
    if (end.best && result->gradient == GRADIENT_adjoint) {
        end.best = outcome_is_success(end.outcome) ? look_forward(asker, end.best, arena) : NULL;
        result->n_evaluation = asker->n_evaluation;
        result->n_step = asker->n_step;
        result->notes |= !end.best && options->certify && outcome_is_success(end.outcome) ? NOTE_not_certified : 0;
    }
    if (end.best && result->statistics && !fit_statistics_compute(result->statistics, asker, end.best, arena))
        fail(result, OUTCOME_out_of_memory, "no memory for this fit's statistics");
    if (end.best && result->statistics && result->statistics->n_flat > 0)
        result->notes |= NOTE_flat_direction;
    if (end.best && result->statistics && !result->statistics->is_observed)
        result->notes |= NOTE_expected_information;
    if (end.best && options->certify && outcome_is_success(result->outcome))
        certify(asker, &end, arena, result);
    if (!outcome_is_success(result->outcome))
        snprintf(result->reason, sizeof result->reason, "%s", asker->reason);
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
    enum outcome mapped = fit_map_init(&asker->map, problem, arena, &asker->notes, asker->reason);
    result->notes = asker->notes;
    if (mapped != OUTCOME_converged) {
        fail(result, mapped, asker->reason);
        return;
    }
    double *theta = arena_calloc(arena, asker->map.n_free + 1, sizeof *theta);
    if (!theta || !set_objective(asker, arena)) {
        fail(result, OUTCOME_out_of_memory, "no memory for this fit");
        return;
    }
    fit_start_theta(&asker->map, problem->seed, problem->dataset, problem->start_number, problem->n_start, theta);
    choose(asker, result);
    if (prepare_gradient(asker, arena))
        search(asker, arena, theta, result);
    else
        fail(result, OUTCOME_out_of_memory, "no memory for this fit");
}
