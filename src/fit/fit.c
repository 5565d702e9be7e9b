/* The entry: from a problem to a filled record.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/fit.h"

#include "base/random.h"
#include "base/words.h"
#include "fit/certificate.h"
#include "fit/point.h"
#include "fit/prepare.h"
#include "fit/search.h"
#include "fit/statistics.h"
#include "fit/unit.h"
#include "ode/adjoint.h"
#include "ode/pulses.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* One fit in so many is checked by the other engine; keeps the random numbers apart from those of other purposes. */
enum { CHECKED = 64 };
static const uint64_t PURPOSE_CHECK = 0x636865636b; /* "check" */
/* The smallest tolerance; a tenth of it is the limit of double precision. */
static const double LEAST_RTOL = 1e-12;
/* A stalled search is repeated with tolerances this many times tighter. */
static const double STALLED_FACTOR = 100;
/* The certificate's evaluation has at least the full tolerances from this value on. */
static const double LEAST_TIGHTER = 0.1;
/* The error of an objective at another place is at most this many times its change from one tolerance to the next. */
static const double DOUBT = 10;

void fit_clear(struct fit_record *record, size_t n_parameter, uint32_t notes)
{
    fit_record_clear(record, n_parameter);
    record->outcome = OUTCOME_not_run;
    record->notes = notes;
    record->n_iteration = record->n_evaluation = record->n_step = 0;
}

static void fail(struct fit_record *record, enum outcome outcome, const char *reason)
{
    record->outcome = outcome;
    snprintf(record->reason, sizeof record->reason, "%s", reason);
}

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
    *objective = (struct fit_objective){.n_row = fit_problem_n_row(problem), .measured = problem->measured,
                                        .has_noise = has_noise,
                                        .likelihood = has_noise || problem->mixes ||
                                                      (problem->measured.censored && asker->is_sigma_known),
                                        .loss = problem->loss, .prior = terms};
    objective->is_plain = fit_objective_is_plain(objective);
    for (size_t j = 0; terms && problem->prior && j < map->n_free; j++) {
        const struct fit_prior *prior = &problem->prior[map->file_index[j]];
        if (prior->kind != PRIOR_NONE && prior->kind != PRIOR_UNIFORM) /* that is in the bounds */
            terms[objective->n_prior++] = (struct fit_prior_term){*prior, j, map->file_index[j]};
    }
    return terms != NULL;
}

static void write_best(const struct fit_asker *asker, const struct fit_point *best, struct fit_record *record)
{
    const struct fit_problem *problem = asker->problem;
    const struct fit_map *map = &asker->map;
    record->objective = best->f;
    record->rtol = asker->tighter == 1 ? asker->options->accuracy : number_decimal(asker->options->accuracy / asker->tighter);
    record->gradient_norm = fit_point_gradient_norm(asker, best);
    memcpy(record->parameter, best->p, problem->n_parameter * sizeof *best->p);
    for (size_t j = 0; j < map->n_free; j++) {
        double natural = best->p[map->file_index[j]];
        int8_t side = natural <= map->natural_lower[j] ? -1 : natural >= map->natural_upper[j] ? 1 : 0;
        record->at_bound[map->file_index[j]] = side;
    }
}

/* From this number on, L-BFGS with adjoints is the default if adjoints are cheaper: scripts/bench/bench_fit_crossover.c. */
enum { MANY_PARAMETERS = 150, USE_ALL = STIFFIT_USE_RHS | STIFFIT_USE_INITIAL };

/* Whether the objective's gradient alone costs less than the derivatives of all residuals. */
static bool adjoint_pays(const struct fit_asker *asker)
{
    const struct stiffit_model *abi = &asker->problem->model->abi;
    size_t most = 0;
    for (size_t e = 0; e < asker->problem->n_experiment; e++)
        if (!ode_takes_adjoint(abi, &asker->problem->task[e]))
            return false;
    for (size_t f = 0; f < asker->map.n_feed; f++) {
        const struct fit_feed *feed = &asker->map.feed[f];
        size_t n_sens = 0;
        for (size_t k = 0; k < feed->n_sens; k++) {
            uint8_t use = abi->parameter_use ? abi->parameter_use[feed->sens[k]] : USE_ALL;
            n_sens += (use & (STIFFIT_USE_RHS | STIFFIT_USE_INITIAL)) != 0;
        }
        most = n_sens > most ? n_sens : most;
    }
    return adjoint_is_cheaper(abi->n_state, most);
}

/* A trust region takes about ten evaluations with the derivatives of all residuals, and a factorisation for each; L-BFGS about
 * fifty with a gradient and a few with those derivatives, whose products are its metric (fit/metric.h). CPU time of whole fits,
 * trust region over L-BFGS with adjoints, of linear and catalysed networks with measurements of all states at 2 to 200 times:
 *
 *     states \ parameters    10       30        50       100        150       200       300
 *      2                             0.2                 0.6                         2.5-4.3
 *      5                   0.2   0.1-0.2       0.3   0.3-0.8    0.6-1.9   1.9-4.2        3.9
 *     20                   0.4   0.3-0.5   0.5-1.1   0.9-1.2    0.6-2.7   0.9-1.8
 *     50                             0.7             0.5-1.6        0.8   0.7-3.2   1.1-3.2
 *
 * The number of times has no uniform effect (2, 12, 50, 200: 5 x 200 4.2, 4.0, 2.1, 1.9; 50 x 200 0.7, 1.4, 1.1, 3.2). Example
 * models: pollu (20 x 25) 0.7, medical-akzo-nobel (400 x 3) 0.15. */
static void choose(struct fit_asker *asker, struct fit_record *record)
{
    const struct fit_options *options = asker->options;
    bool pays = adjoint_pays(asker);
    record->optimizer = options->optimizer;
    if (record->optimizer == OPTIMIZER_none)
        record->optimizer = options->gradient == GRADIENT_adjoint || (pays && asker->map.n_free >= MANY_PARAMETERS
                            && options->gradient == GRADIENT_none) ? OPTIMIZER_lbfgs : OPTIMIZER_trf;
    record->gradient = options->gradient;
    if (record->optimizer == OPTIMIZER_trf && record->gradient != GRADIENT_differences)
        record->gradient = GRADIENT_forward;
    else if (record->gradient == GRADIENT_none)
        record->gradient = pays ? GRADIENT_adjoint : GRADIENT_forward;
    asker->gradient = record->gradient;
    asker->engine = record->gradient == GRADIENT_adjoint ? ENGINE_CVODES : options->engine;
}

bool fit_prepare_gradient(struct fit_asker *asker, struct arena *arena)
{
    if (asker->gradient == GRADIENT_differences) {
        asker->notes |= NOTE_difference_gradient;
        asker->quotient = arena_calloc(arena, 1, sizeof *asker->quotient);
        return asker->quotient && fit_quotient_init(asker->quotient, asker, arena);
    }
    if (asker->gradient != GRADIENT_adjoint)
        return true;
    size_t n_row = asker->objective.n_row, n_experiment = asker->problem->n_experiment;
    asker->adjoint = arena_calloc(arena, n_experiment, sizeof *asker->adjoint);
    for (size_t e = 0; asker->adjoint && e < n_experiment; e++) {
        asker->adjoint[e].gradient = arena_calloc(arena, fit_map_feed(&asker->map, e)->n_sens + 1, sizeof(double));
        if (!asker->adjoint[e].gradient)
            return false;
    }
    return asker->adjoint && ARENA_DOUBLES(arena, {&asker->by_prediction, n_row, 1}, {&asker->by_noise, n_row, 1});
}

/* Evaluates the best point again with the derivatives of all residuals, for the statistics. NULL: that failed. */
static const struct fit_point *look_forward(struct fit_asker *asker, const struct fit_point *best, struct arena *arena)
{
    struct fit_point *point = arena_calloc(arena, 1, sizeof *point);
    if (!point || !fit_point_init(point, asker, arena))
        return NULL;
    memcpy(point->theta, best->theta, asker->map.n_free * sizeof *point->theta);
    return fit_ask(asker, point, true) == ASKED_OK ? point : NULL;
}

static void look_back(struct fit_asker *asker, struct arena *arena, const double *start, struct fit_record *record,
                      struct search_end *end, double doubt);
static void search_from(struct fit_asker *asker, struct arena *arena, const double *theta, struct fit_record *record,
                        struct search_end *end);

/* The rest of a search that lanes could not finish, by CVODES. Values of lanes count no more: the best point is evaluated
 * again, and so is the start, as the best point may be no better. If that is impossible, the search goes on in lanes, and stays
 * there. */
static void leave_lanes(struct fit_asker *asker, struct arena *arena, const double *start, struct fit_record *record,
                        struct search_end *end)
{
    const struct fit_point *best = end->best;
    uint32_t notes = asker->notes;
    asker->engine = ENGINE_CVODES;
    asker->notes |= NOTE_changed_engine;
    asker->start_f = asker->prediction_error = NAN;
    search_from(asker, arena, best ? best->theta : start, record, end);
    if (best && end->best && !fit_asker_is_same(asker, best->theta, start)) {
        look_back(asker, arena, start, record, end, INFINITY);
    } else if (best && !end->best && (end->outcome == OUTCOME_ode_failed || end->outcome == OUTCOME_model_failed)) {
        asker->engine = ENGINE_LANES;
        asker->stays_in_lanes = true;
        asker->notes = notes;
        asker->start_f = asker->prediction_error = NAN;
        search_from(asker, arena, best->theta, record, end);
    } else if (best && !end->best) {
        end->best = best;
    }
}

static void draw_start(struct fit_asker *asker, double *theta)
{
    const struct fit_problem *of = asker->problem;
    uint32_t number = of->start_number + asker->n_redrawn * of->n_start;
    fit_start_theta(&asker->map, of->prior, of->seed, of->dataset, number, of->n_start, theta);
    asker->start_f = asker->prediction_error = NAN;
    asker->n_unsaved = 0;
}

/* A random start at which the model cannot be evaluated is replaced by another one. */
static bool may_draw_again(const struct fit_asker *asker, enum outcome outcome)
{
    bool has_failed = outcome == OUTCOME_ode_failed || outcome == OUTCOME_model_failed;
    return has_failed && asker->problem->start_number > 0 && asker->n_redrawn < FIT_MAX_REDRAWN;
}

/* If a trajectory meets a switch or an event at which derivatives do not exist, restarts the search with difference quotients,
 * which are used from then on: values of the two kinds are never compared. */
static void search_from(struct fit_asker *asker, struct arena *arena, const double *theta, struct fit_record *record,
                        struct search_end *end)
{
    asker->gradient = record->gradient;
    asker->leaves_lanes = asker->has_lost = false;
    asker->n_lost = 0;
    asker->notes &= ~(uint32_t)NOTE_noise_floor;
    (record->optimizer == OPTIMIZER_lbfgs ? descent_search : trust_region_search)(asker, arena, theta, end);
    record->n_iteration += end->n_iteration;
    /* Lanes need second derivatives of the model, which may not be finite where all that CVODES needs is. */
    bool is_model = !end->best && end->outcome == OUTCOME_model_failed;
    bool is_lost = asker->has_lost && (end->outcome == OUTCOME_stalled || end->outcome == OUTCOME_ode_failed);
    bool may_leave = asker->engine == ENGINE_LANES && !asker->stays_in_lanes;
    bool is_replaced = !end->best && may_draw_again(asker, end->outcome); /* what lanes cannot integrate takes CVODES long */
    if ((asker->leaves_lanes || (may_leave && (is_model || is_lost))) && !is_replaced)
        leave_lanes(asker, arena, theta, record, end);
    if (!asker->meets_jump)
        return;
    asker->meets_jump = false;
    asker->start_f = asker->prediction_error = NAN;
    asker->notes |= NOTE_state_jump;
    asker->gradient = record->gradient = GRADIENT_differences;
    if (asker->options->optimizer == OPTIMIZER_none) /* L-BFGS may have been chosen for its adjoint gradients */
        record->optimizer = OPTIMIZER_trf;
    if (fit_prepare_gradient(asker, arena))
        search_from(asker, arena, theta, record, end);
    else
        *end = (struct search_end){.outcome = OUTCOME_out_of_memory};
}

/* The best point with the derivatives of all residuals; NULL: there is none. */
static const struct fit_point *look(struct fit_asker *asker, struct arena *arena, const struct fit_record *record,
                                    const struct search_end *end)
{
    if (!end->best || record->gradient != GRADIENT_adjoint)
        return end->best;
    asker->gradient = GRADIENT_forward;
    return end->forward ? end->forward : outcome_is_success(end->outcome) ? look_forward(asker, end->best, arena) : NULL;
}

/* Checks that a search with tighter tolerances did not end above the start; if it did, a new search from the start replaces it.
 * `doubt`: possible error of the objectives known so far. */
static void look_back(struct fit_asker *asker, struct arena *arena, const double *start, struct fit_record *record,
                      struct search_end *end, double doubt)
{
    struct fit_point point;
    if (asker->start_f - end->best->f > doubt || !fit_point_init(&point, asker, arena))
        return;
    memcpy(point.theta, start, asker->map.n_free * sizeof *start);
    if (fit_ask(asker, &point, true) == ASKED_OK && point.f < end->best->f)
        search_from(asker, arena, start, record, end);
}

/* Continues from the best point with tolerances divided by `factor`. False: that failed, and nothing has changed. */
static bool go_on(struct fit_asker *asker, struct arena *arena, const double *start, struct fit_record *record,
                  struct search_end *end, double factor, double change)
{
    struct search_end next;
    double before = asker->tighter;
    enum engine_kind engine = asker->engine;
    uint32_t notes = asker->notes;
    asker->tighter *= factor;
    asker->is_near = true;
    search_from(asker, arena, end->best->theta, record, &next);
    if (next.outcome == OUTCOME_converged || next.outcome == OUTCOME_stalled) {
        look_back(asker, arena, start, record, &next, isnan(change) ? INFINITY : DOUBT * fabs(change));
        *end = next;
        return true;
    }
    double doubt = isnan(change) ? 0 : DOUBT * fabs(change);
    if (next.outcome == OUTCOME_budget && next.best && next.best->f < end->best->f - doubt) {
        *end = next; /* unfinished, but better */
        return true;
    }
    if (next.outcome == OUTCOME_out_of_memory)
        end->outcome = next.outcome;
    asker->notes = notes;
    asker->tighter = before;
    asker->engine = engine;
    return false;
}

/* A start may be the lowest of several although its budget is used up. One evaluation beyond the budget then confirms its
 * objective. */
static void confirm(struct fit_asker *asker, struct arena *arena, const struct fit_point *best, double objective,
                    struct fit_certificate *certificate)
{
    const struct fit_options *options = asker->options;
    struct fit_options one_more = *options;
    char reason[sizeof asker->reason];
    enum outcome outcome = asker->outcome;
    memcpy(reason, asker->reason, sizeof reason);
    one_more.max_evaluations = asker->n_evaluation + 1;
    one_more.max_total_steps = asker->n_step + options->max_steps;
    asker->options = &one_more;
    double tighter = asker->tighter;
    asker->tighter = fmax(tighter, LEAST_TIGHTER); /* if the search ended in the loose first steps: with the full tolerances */
    fit_certify(asker, best, objective, arena, certificate);
    asker->spectrum = NULL; /* the fit's tolerances decide what is flat */
    asker->options = options;
    asker->tighter = tighter;
    memcpy(asker->reason, reason, sizeof reason);
    asker->outcome = outcome;
    if (!certificate->is_confirmed)
        asker->notes |= NOTE_not_certified;
}

/* The certificate at the end of a search; empty if there can be none. Stalled searches are certified too, to see whether a
 * retry is worthwhile. */
static struct fit_certificate certify(struct fit_asker *asker, struct arena *arena, const struct fit_point *point,
                                      struct search_end *end)
{
    struct fit_certificate certificate = {.change = NAN, .decrease = NAN};
    if (!asker->options->certify)
        return certificate;
    if (end->outcome == OUTCOME_stalled)
        certificate.factor = STALLED_FACTOR;
    else if (outcome_is_success(end->outcome) && point
             && fit_certify(asker, point, end->best->f, arena, &certificate) == ASKED_END
             && asker->outcome == OUTCOME_out_of_memory)
        end->outcome = OUTCOME_out_of_memory;
    return certificate;
}

/* Whether CVODES checks the certificate that lanes give this fit: one fit in 64. */
static bool is_sample(const struct fit_problem *problem)
{
    return random_below(0, random_stream(PURPOSE_CHECK, problem->dataset), problem->start_number, CHECKED) == 0;
}

/* A second certificate, by CVODES, in place of one from lanes: for a sample, and where that one confirms nothing. */
static void check_lanes(struct fit_asker *asker, struct arena *arena, const struct fit_point *point, struct search_end *end,
                        struct fit_certificate *certificate)
{
    bool is_certified = certificate->is_certified;
    if (asker->engine != ENGINE_LANES || !asker->options->certify || !point || !outcome_is_success(end->outcome)
        || (is_certified && !is_sample(asker->problem)))
        return;
    struct fit_certificate other;
    asker->engine = ENGINE_CVODES;
    enum asked asked = fit_certify(asker, point, end->best->f, arena, &other);
    asker->engine = ENGINE_LANES;
    if (asked == ASKED_END && asker->outcome == OUTCOME_out_of_memory)
        end->outcome = OUTCOME_out_of_memory;
    if (asked == ASKED_END)
        return;
    *certificate = other;
    if (is_certified && !other.is_certified)
        asker->notes |= NOTE_engines_differ;
}

/* Searches until tighter integrator tolerances confirm the optimum; if they do not, continues the search with them. The point
 * returned has the derivatives of all residuals; NULL if there is none. */
static const struct fit_point *settle(struct fit_asker *asker, struct arena *arena, double *start, struct fit_record *record,
                                      struct search_end *end)
{
    const struct fit_point *point;
    struct fit_certificate certificate;
    for (bool again = true; again; asker->n_redrawn += again) {
        draw_start(asker, start);
        search_from(asker, arena, start, record, end);
        again = !end->best && may_draw_again(asker, end->outcome);
    }
    do {
        point = look(asker, arena, record, end);
        certificate = certify(asker, arena, point, end);
    } while (end->best && !certificate.is_certified && certificate.factor > 0
             && fit_asker_rtol(asker) > 0.9 * LEAST_RTOL * certificate.factor /* powers of ten, rounded */
             && go_on(asker, arena, start, record, end, certificate.factor, certificate.change));
    check_lanes(asker, arena, point, end, &certificate);
    if (point && isnan(certificate.change) && asker->options->certify && asker->problem->n_start > 1)
        confirm(asker, arena, point, end->best->f, &certificate);
    if (end->stop == STOP_noise && end->outcome == OUTCOME_converged && certificate.decrease > 0 && !certificate.is_certified) {
        end->outcome = OUTCOME_stalled;
        end->stop = STOP_none;
        snprintf(asker->reason, sizeof asker->reason, "no further decrease was found, not even with tighter integrator "
                 "tolerances, although the gradient predicts %.3g of %.6g", certificate.decrease, end->best->f);
    }
    record->tight_change = certificate.change;
    record->tight_decrease = certificate.decrease;
    if (asker->options->certify && outcome_is_success(end->outcome) && !certificate.is_certified)
        asker->notes |= NOTE_not_certified;
    return point;
}

/* At the start: whether the rates depend on time does not depend on parameters, or rarely. */
bool fit_seek_pulses(struct fit_asker *asker)
{
    const struct fit_problem *problem = asker->problem;
    bool may = false;
    fit_map_model(&asker->map, asker->map.base, asker->of_model);
    for (size_t e = 0; problem->seeks_pulses && e < problem->n_experiment && !may; e++)
        if (!pulses_may_hide(&problem->model->abi, &problem->task[e], asker->of_model + fit_map_feed(&asker->map, e)->offset,
                             &may))
            return false;
    asker->notes |= may ? NOTE_hidden_pulses : 0;
    return true;
}

/* Searches and evaluates the result. */
static void search(struct fit_asker *asker, struct arena *arena, double *theta, struct fit_record *record)
{
    struct search_end end;
    const struct fit_point *point = settle(asker, arena, theta, record, &end);
    bool has_room = !end.best || fit_seek_pulses(asker);
    record->outcome = end.outcome;
    record->stop = end.stop;
    record->n_evaluation = asker->n_evaluation;
    record->n_step = asker->n_step;
    record->notes = asker->notes;
    if (end.best)
        write_best(asker, end.best, record);
    if (point && asker->options->statistics)
        has_room = fit_statistics_compute(record, asker, point, arena) && has_room;
    if (!has_room)
        fail(record, OUTCOME_out_of_memory, "no memory for this fit's statistics");
    if (!outcome_is_success(record->outcome))
        snprintf(record->reason, sizeof record->reason, "%s", asker->reason);
}

struct fit_asker *fit_prepare(const struct fit_problem *problem, const struct fit_options *options,
                              const struct fit_host *host, struct arena *arena, struct fit_record *record)
{
    fit_clear(record, problem->n_parameter, problem->notes);
    struct fit_asker *asker = arena_calloc(arena, 1, sizeof *asker);
    if (!asker) {
        fail(record, OUTCOME_out_of_memory, "no memory for this fit");
        return NULL;
    }
    asker->problem = problem;
    asker->options = options;
    asker->host = host;
    asker->tighter = problem->rtol > 0 ? round(options->accuracy / problem->rtol) : 1;
    asker->is_near = options->is_near;
    asker->start_f = asker->prediction_error = NAN;
    size_t n_no_sigma = count_no_sigma(problem);
    asker->is_sigma_known = n_no_sigma == 0;
    asker->notes = problem->notes | (n_no_sigma > 0 ? NOTE_no_model_sigma : 0)
                   | (n_no_sigma > 0 && n_no_sigma < fit_problem_n_row(problem) ? NOTE_mixed_sigma : 0);
    enum outcome mapped = fit_map_init(&asker->map, problem, arena, &asker->notes, asker->reason);
    record->notes = asker->notes;
    record->n_no_sigma = (int64_t)n_no_sigma;
    if (mapped != OUTCOME_converged) {
        fail(record, mapped, asker->reason);
        return NULL;
    }
    bool has_room = set_objective(asker, arena) && fit_asker_prepare(asker, arena);
    if (has_room)
        choose(asker, record);
    if (!has_room || !fit_prepare_gradient(asker, arena)) {
        fail(record, OUTCOME_out_of_memory, "no memory for this fit");
        return NULL;
    }
    return asker;
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
