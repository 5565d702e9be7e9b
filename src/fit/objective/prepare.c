/* The map, objective, method and memory of a fit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/objective/prepare.h"

#include "fit/objective/point.h"
#include "ode/adjoint.h"
#include "ode/pulses.h"

#include <math.h>

/* How many measurements have no sigma, neither their own nor the model's. */
static size_t count_no_sigma(const struct fit_problem *problem)
{
    size_t n_row = fit_problem_n_row(problem), n = 0;
    for (size_t i = 0; i < n_row && !problem->model->abi.noise; i++)
        n += problem->unit > 0 || !problem->measured.sigma || isnan(problem->measured.sigma[i]);
    return n;
}

/* Call this after making the map. False: out of memory. */
static bool set_objective(struct fit_asker *asker, struct arena *arena)
{
    const struct fit_problem *problem = asker->problem;
    const struct fit_map *map = &asker->map;
    struct fit_objective *objective = &asker->objective;
    struct fit_prior_term *terms = arena_calloc(arena, map->n_free + 1, sizeof *terms);
    bool has_noise = problem->model->abi.noise != NULL;
    *objective =
        (struct fit_objective){.n_row = fit_problem_n_row(problem),
                               .measured = problem->measured, .has_noise = has_noise,
                               .likelihood = has_noise || problem->mixes ||
                                             (problem->measured.censored && asker->is_sigma_known),
                               .loss = problem->loss, .prior = terms};
    objective->is_plain = fit_objective_is_plain(objective);
    objective->has_offset = objective->likelihood;
    asker->scale = has_noise ? (double)NAN : fit_objective_scale(objective, NULL);
    for (size_t j = 0; terms && problem->prior && j < map->n_free; j++) {
        const struct fit_prior *prior = &problem->prior[map->file_index[j]];
        if (prior->kind != PRIOR_NONE && prior->kind != PRIOR_UNIFORM) /* that is in the bounds */
            terms[objective->n_prior++] = (struct fit_prior_term){*prior, j, map->file_index[j]};
        objective->has_offset = objective->has_offset || fit_prior_has_offset(prior);
    }
    return terms != NULL;
}

/* From this number on, L-BFGS with adjoints is the default if adjoints are cheaper:
 * scripts/bench/bench_fit_crossover.c. */
enum { MANY_PARAMETERS = 150, USE_ALL = STIFFIT_USE_RHS | STIFFIT_USE_INITIAL };

/* Whether the objective's gradient alone costs less than the derivatives of all residuals. */
static bool adjoint_pays(const struct fit_asker *asker)
{
    const struct stiffit_model *abi = &asker->problem->model->abi;
    size_t most = 0;
    for (size_t e = 0; e < asker->problem->n_experiment; e++)
        if (!ode_takes_adjoint(abi, &asker->problem->task[e]))
            return false;
    for (size_t f = 0; f < asker->map.n_binding; f++) {
        const struct fit_binding *binding = &asker->map.binding[f];
        size_t n_sens = 0;
        for (size_t k = 0; k < binding->n_sens; k++) {
            uint8_t use = abi->parameter_use ? abi->parameter_use[binding->sens[k]] : USE_ALL;
            n_sens += (use & (STIFFIT_USE_RHS | STIFFIT_USE_INITIAL)) != 0;
        }
        most = n_sens > most ? n_sens : most;
    }
    return adjoint_is_cheaper(abi->n_state, most);
}

/* A trust region takes about ten evaluations with the derivatives of all residuals, and a
 * factorisation for each; L-BFGS about fifty with a gradient and a few with those derivatives,
 * whose products are its metric (fit/search/metric.h). CPU time of whole fits, trust region over
 * L-BFGS with adjoints, of linear and catalysed networks with measurements of all states at 2 to
 * 200 times:
 *
 *     states \ parameters    10       30        50       100        150       200       300
 *      2                             0.2                 0.6                         2.5-4.3
 *      5                   0.2   0.1-0.2       0.3   0.3-0.8    0.6-1.9   1.9-4.2        3.9
 *     20                   0.4   0.3-0.5   0.5-1.1   0.9-1.2    0.6-2.7   0.9-1.8
 *     50                             0.7             0.5-1.6        0.8   0.7-3.2   1.1-3.2
 *
 * The number of times has no uniform effect (2, 12, 50, 200: 5 x 200 4.2, 4.0, 2.1, 1.9; 50 x
 * 200 0.7, 1.4, 1.1, 3.2). Example models: pollu (20 x 25) 0.7, medical-akzo-nobel (400 x 3)
 * 0.15. */
bool fit_prepare_may_descend(const struct fit_options *options, size_t n_parameter)
{
    bool is_free = options->optimizer == OPTIMIZER_none;
    if (options->gradient == GRADIENT_none)
        return is_free ? n_parameter >= MANY_PARAMETERS : options->optimizer == OPTIMIZER_lbfgs;
    return is_free && options->gradient == GRADIENT_adjoint;
}

static void choose(struct fit_asker *asker)
{
    const struct fit_options *options = asker->options;
    bool pays = adjoint_pays(asker);
    asker->optimizer = options->optimizer;
    if (asker->optimizer == OPTIMIZER_none)
        asker->optimizer = options->gradient == GRADIENT_adjoint ||
                                   (pays && asker->map.n_free >= MANY_PARAMETERS &&
                                    options->gradient == GRADIENT_none)
                             ? OPTIMIZER_lbfgs
                             : OPTIMIZER_trf;
    asker->gradient = options->gradient;
    if (asker->optimizer == OPTIMIZER_trf && asker->gradient != GRADIENT_differences)
        asker->gradient = GRADIENT_forward;
    else if (asker->gradient == GRADIENT_none)
        asker->gradient = pays ? GRADIENT_adjoint : GRADIENT_forward;
    asker->accuracy.gradient = asker->gradient;
    bool is_adjoint = asker->gradient == GRADIENT_adjoint;
    asker->accuracy.engine = is_adjoint ? ENGINE_REFERENCE : options->engine;
}

bool fit_prepare_gradient(struct fit_asker *asker, struct arena *arena)
{
    if (asker->accuracy.gradient == GRADIENT_differences) {
        asker->notes |= NOTE_difference_gradient;
        asker->quotient = arena_calloc(arena, 1, sizeof *asker->quotient);
        return asker->quotient && fit_quotient_init(asker->quotient, asker, arena);
    }
    if (asker->accuracy.gradient != GRADIENT_adjoint)
        return true;
    size_t n_row = asker->objective.n_row, n_experiment = asker->problem->n_experiment;
    asker->adjoint = arena_calloc(arena, n_experiment, sizeof *asker->adjoint);
    for (size_t e = 0; asker->adjoint && e < n_experiment; e++) {
        asker->adjoint[e].gradient =
            arena_calloc(arena, fit_map_binding(&asker->map, e)->n_sens + 1, sizeof(double));
        if (!asker->adjoint[e].gradient)
            return false;
    }
    return asker->adjoint &&
           ARENA_DOUBLES(arena, {&asker->by_prediction, n_row, 1}, {&asker->by_noise, n_row, 1});
}

/* At the start: whether the rates depend on time does not depend on parameters, or rarely. */
bool fit_seek_pulses(struct fit_asker *asker)
{
    const struct fit_problem *problem = asker->problem;
    bool may = false;
    if (!problem->seeks_pulses)
        return true;
    fit_map_model(&asker->map, asker->map.base, asker->of_model);
    for (size_t e = 0; e < problem->n_experiment && !may; e++)
        if (!pulses_may_hide(&problem->model->abi, &problem->task[e],
                             asker->of_model + fit_map_binding(&asker->map, e)->offset, &may))
            return false;
    asker->notes |= may ? NOTE_hidden_pulses : 0;
    return true;
}

struct fit_asker *fit_prepare(const struct fit_problem *problem, const struct fit_options *options,
                              const struct fit_host *host, struct arena *arena,
                              struct fit_record *record)
{
    fit_record_begin(record, problem->n_parameter, problem->notes);
    struct fit_asker *asker = arena_calloc(arena, 1, sizeof *asker);
    if (!asker) {
        fit_record_fail(record, OUTCOME_out_of_memory, "no memory for this fit");
        return NULL;
    }
    asker->problem = problem;
    asker->options = options;
    asker->host = host;
    asker->accuracy.tighter = problem->rtol > 0 ? round(options->accuracy / problem->rtol) : 1;
    asker->is_near = options->is_near;
    asker->is_exact = problem->model->abi.n_state == 0;
    asker->start = (struct fit_start){.seed = problem->seed, .dataset = problem->dataset,
                                      .number = problem->start_number,
                                      .n_start = problem->n_start};
    asker->start_f = asker->prediction_error = NAN;
    size_t n_no_sigma = count_no_sigma(problem);
    asker->is_sigma_known = n_no_sigma == 0;
    asker->notes =
        problem->notes | (n_no_sigma > 0 ? NOTE_no_model_sigma : 0) |
        (n_no_sigma > 0 && n_no_sigma < fit_problem_n_row(problem) ? NOTE_mixed_sigma : 0);
    enum outcome mapped =
        fit_map_init(&asker->map, problem, options->evaluates, arena, &asker->notes, asker->reason);
    record->notes = asker->notes;
    record->n_no_sigma = (int64_t)n_no_sigma;
    if (mapped != OUTCOME_converged) {
        fit_record_fail(record, mapped, asker->reason);
        return NULL;
    }
    bool has_room = set_objective(asker, arena) && fit_asker_prepare(asker, arena);
    if (has_room)
        choose(asker);
    if (!has_room || !fit_prepare_gradient(asker, arena)) {
        fit_record_fail(record, OUTCOME_out_of_memory, "no memory for this fit");
        return NULL;
    }
    return asker;
}
