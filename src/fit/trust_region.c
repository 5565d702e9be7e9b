/* Tries steps of the trust-region model one by one; every trial also gives the next model. The remaining decrease is
 * compared with the tolerances and with the integrator's noise (stopping.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/search.h"

#include "fit/leap.h"
#include "fit/stopping.h"
#include "fit/trust_probe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double LOST_MOST = 1024;
/* A step takes a parameter too far if it moves it by more than its own size (a logarithm: by 1) and changes its influence on
 * the predictions by more than this factor: the model was wrong for it, whatever the others gained. The influence of logarithms
 * may grow. One on a linear scale that changes sign or moves by MANY_TIMES its size may change its influence by CHANGE_PART
 * only: a parameter that enters linearly keeps it. */
static const double CHANGE_LOG = 30, CHANGE_LINEAR = 4, CHANGE_PART = 0.25, MANY_TIMES = 100;
/* The next step of such a parameter, in units of its size; the growth of the limit after a good step of that length. */
static const double BACK_PART = 0.9, BACK_GROWTH = 5;
enum { MAX_BACK = 12 };
/* The first limit of each parameter's steps, as a part of the longest valid one. */
static const double FIRST_LIMIT = 0.5;
/* How often the search goes on by Gauss and Newton's model alone, where the estimated second derivatives promise no more. */
enum { MAX_PLAIN = 1 };
/* Only far from the optimum do other parameters' gains hide such a step: until the misfit falls to this part of the start's. */
static const double FAR = 1e-3;

/* The relative tolerance of the first steps, and its divisor from stage to stage. A stage is used only if its tolerance is
 * at least ROUGHER_LEAST times the requested one. */
static const double ROUGH = 3e-4, REFINE = 50, ROUGHER_LEAST = 5;
/* After this many consecutive steps without gain the tolerances are tightened; and the number of evaluations reserved for
 * that: a step takes up to two, and so does its successor. */
enum { ROUGH_REJECTED = 6, KEPT = 4 };
/* The best, the lowest, the latest rejected, and the trial. */
enum { N_POINT = 4 };

struct trust_region {
    struct fit_asker *asker;
    size_t n;
    struct fit_point *best, *trial, points[N_POINT];
    struct fit_point *lowest; /* the lowest at these tolerances: slopes may lead away from it by the noise of values */
    struct fit_point *missed; /* the latest rejected trial; NULL: none since the tolerances changed */
    struct trust_model model; /* at the best point */
    bool has_kinks;
    struct trust_kinks kinks;
    struct stopping stopping;
    struct trust_probe probe;
    struct fit_leap leap;
    int n_back;               /* how often a step was taken back */
    int n_plain;              /* how often the estimated second derivatives were forgotten rather than believed */
    double lost;              /* factor by which trials that could not be evaluated have just shrunk the radius */
    int64_t n_iteration;
};

/* The first steps may be one decade long, not two: from far away the model may be wrong for one parameter, and what leads it
 * onto a plateau gains in the others' directions. Limits grow with good steps. */
static void shorten_limits(struct trust_model *model)
{
    for (size_t j = 0; j < model->n; j++)
        model->limit[j] *= FIRST_LIMIT;
}

static struct trust_region *new_search(struct fit_asker *asker, struct arena *arena)
{
    struct trust_region *search = arena_calloc(arena, 1, sizeof *search);
    bool has_kinks = fit_objective_has_kinks(&asker->objective);
    if (!search || !trust_probe_init(&search->probe, asker, arena) || !fit_leap_init(&search->leap, asker, arena)
        || !trust_model_init(&search->model, asker, arena) || (has_kinks && !trust_kinks_init(&search->kinks, asker, arena)))
        return NULL;
    for (size_t k = 0; k < N_POINT; k++)
        if (!fit_point_init(&search->points[k], asker, arena))
            return NULL;
    search->has_kinks = has_kinks;
    search->asker = asker;
    search->n = asker->map.n_free;
    search->trial = &search->points[0];
    search->lost = 1;
    shorten_limits(&search->model);
    stopping_init(&search->stopping, asker);
    return search;
}

/* A free point for the next trial. */
static void free_trial(struct trust_region *search)
{
    for (size_t k = 0; k < N_POINT; k++) {
        struct fit_point *point = &search->points[k];
        if (point != search->best && point != search->lowest && point != search->missed)
            search->trial = point;
    }
}

/* `is_step`: it is the end of the model's step. */
static void take_trial(struct trust_region *search, bool is_step)
{
    search->best = search->trial;
    if (!search->lowest || search->best->f <= search->lowest->f)
        search->lowest = search->best;
    free_trial(search);
    search->model.is_current = false;
    trust_probe_move(&search->probe, is_step);
}

/* Forgets values at earlier tolerances, which cannot be compared with new ones. */
static void forget_values(struct trust_region *search)
{
    search->lowest = search->missed = NULL;
}

/* Adapts the radius after a trial that gained `decrease` (-infinity: it failed). */
static void adapt_radius(struct trust_region *search, double decrease)
{
    struct trust_model *model = &search->model;
    double ratio = decrease / model->promise;
    if (!(ratio >= TRUST_RATIO_POOR)) {
        /* The minimum of the parabola through value, slope and the trial's value (More 1978). */
        double slope = 0, part = 0.25;
        for (size_t j = 0; j < search->n; j++)
            slope += search->best->gradient[j] * model->step[j];
        if (isfinite(decrease) && decrease < 0)
            part = fmin(0.5, fmax(0.1, 0.5 * slope / (slope + decrease)));
        else if (isfinite(decrease))
            part = 0.5;
        model->radius = part * fmin(model->radius, model->length);
        search->probe.is_needed = true;
        search->lost = isfinite(decrease) ? 1 : fmin(search->lost / part, LOST_MOST);
    } else if (ratio > TRUST_RATIO_GOOD || !model->is_restricted) {
        model->radius = fmax(model->radius, 2 * search->lost * model->length);
        search->lost = 1;
    }
}

/* Whether the step to the trial moves parameter j too far. */
static bool is_too_far(const struct trust_region *search, size_t j, double size)
{
    const struct fit_point *best = search->best, *trial = search->trial;
    bool is_linear = search->asker->map.scale[j] == SCALE_LIN;
    double step = search->model.step[j], before = 0, now = 0, apart = 0;
    size_t n_row = search->asker->objective.n_row;
    if (!(size > 0 && fabs(step) > size))
        return false;
    for (size_t i = 0; i < n_row; i++) { /* the parameter's influence on the predictions, in their standard deviations */
        double a = best->d_prediction[i + j * n_row] * best->weight[i] * best->chain[j];
        double b = trial->d_prediction[i + j * n_row] * trial->weight[i] * trial->chain[j];
        before += a * a;
        now += b * b;
        apart += (b - a) * (b - a);
    }
    if (is_linear && (step * best->theta[j] < 0 || fabs(step) > MANY_TIMES * size))
        return apart > CHANGE_PART * CHANGE_PART * before;
    double most = is_linear ? CHANGE_LINEAR * CHANGE_LINEAR : CHANGE_LOG * CHANGE_LOG;
    return now * most < before || (is_linear && now > most * before);
}

/* Whether the step to the trial took a parameter onto a plateau, or across a pole: this may lower the objective but is hard to
 * reverse. Shortens the limits of those parameters. */
static bool went_too_far(struct trust_region *search)
{
    const struct fit_map *map = &search->asker->map;
    struct trust_model *model = &search->model;
    bool any = false;
    double misfit = fit_point_misfit(search->asker, search->best);
    bool is_far = misfit > FAR * search->asker->start_misfit && search->n_back < MAX_BACK;
    for (size_t j = 0; j < search->n && is_far; j++) {
        double size = map->scale[j] == SCALE_LIN ? fabs(search->best->theta[j]) : fit_map_size(map, j, 0);
        if (!is_too_far(search, j, size))
            continue;
        trust_model_limit(model, search->best, j, fmin(BACK_PART * size, 0.5 * model->limit[j]));
        any = true;
    }
    search->n_back += any;
    return any;
}

/* Relaxes the limits after a good step. */
static void relax_limits(struct trust_region *search)
{
    struct trust_model *model = &search->model;
    for (size_t j = 0; j < search->n; j++)
        if (fabs(model->step[j]) >= BACK_PART * model->limit[j])
            model->limit[j] *= BACK_GROWTH;
}

/* What a trial that could be evaluated says of the curvature. */
static void learn(struct trust_region *search, bool is_better)
{
    struct trust_model *model = &search->model;
    if (stopping_is_lost(&search->stopping, search->best, search->trial))
        return;
    if (trust_curvature_choose(&model->curvature, model->step, model->is_restricted, model->promise,
                               search->best->f - search->trial->f))
        model->is_current = false;
    if (is_better)
        trust_curvature_note(&model->curvature, search->asker, model->scale, search->best, search->trial);
}

/* One step. ASKED_END: the fit is over. */
static enum asked iterate(struct trust_region *search)
{
    struct trust_model *model = &search->model;
    double decrease = -INFINITY;
    if (!search->has_kinks && trust_probe_step(&search->probe, model, search->best, search->trial) == ASKED_END)
        return ASKED_END;
    trust_model_target(model, search->best, search->trial->theta);
    if (fit_asker_is_same(search->asker, search->trial->theta, search->best->theta)) {
        stopping_give_up(&search->stopping);
        return ASKED_OK;
    }
    bool is_known = search->missed && fit_asker_is_same(search->asker, search->trial->theta, search->missed->theta);
    enum asked asked = is_known ? ASKED_OK : fit_ask(search->asker, search->trial, true);
    if (asked == ASKED_END)
        return ASKED_END;
    if (asked == ASKED_OK)
        decrease = stopping_decrease(&search->stopping, model, search->best, is_known ? search->missed : search->trial);
    trust_probe_note(&search->probe, search->best, asked == ASKED_OK && !is_known ? search->trial : NULL);
    search->n_iteration++;
    bool is_back = decrease > 0 && !is_known && went_too_far(search);
    if (!is_known && !search->has_kinks && asked == ASKED_OK)
        learn(search, decrease > 0);
    if (!is_back)
        adapt_radius(search, decrease);
    if (is_known) {
        decrease = fmin(decrease, 0);
    } else if (decrease > 0 && !is_back) {
        relax_limits(search);
        take_trial(search, true);
    } else if (asked == ASKED_OK) {
        search->missed = search->trial;
        if (search->trial->f < search->lowest->f)
            search->lowest = search->trial;
        free_trial(search);
    }
    if (!is_back)
        stopping_note(&search->stopping, model, search->best, decrease);
    return ASKED_OK;
}

static void find_step(struct trust_region *search)
{
    if (search->has_kinks)
        trust_kinks_step(&search->kinks, &search->model, search->best);
    else
        trust_model_step(&search->model, search->best);
}

/* Accepts the lowest point, even if a step away from it was rejected. */
static void take_lowest(struct trust_region *search)
{
    search->best = search->lowest;
    trust_probe_move(&search->probe, false);
    free_trial(search);
    trust_model_forget(&search->model);
    stopping_init(&search->stopping, search->asker);
    search->n_back = MAX_BACK + 1;
}

static enum outcome run_steps(struct trust_region *search)
{
    struct trust_model *model = &search->model;
    for (;;) {
        if (!model->is_current && !trust_model_update(model, search->best)) {
            fit_asker_end(search->asker, OUTCOME_stalled, "the derivatives of the residuals are too large to be used");
            return OUTCOME_stalled;
        }
        find_step(search);
        enum outcome outcome = stopping_judge(&search->stopping, model, search->best);
        bool is_back = search->n_back > 0 && search->n_back <= MAX_BACK;
        if (outcome != OUTCOME_not_run && is_back && stopping_is_lower(&search->stopping, search->lowest, search->best))
            take_lowest(search);
        else if (outcome == OUTCOME_converged && model->curvature.is_used && search->n_plain++ < MAX_PLAIN)
            trust_model_forget_curvature(model); /* which is no reason to stop: it may be too large */
        else if (outcome != OUTCOME_not_run)
            return outcome;
        else if (iterate(search) == ASKED_END)
            return search->asker->outcome;
    }
}

/* Leaves a start that is orders of magnitude off, parameter by parameter. */
static enum asked leap(struct trust_region *search)
{
    while (fit_leap_find(&search->leap, search->asker, search->best)) {
        memcpy(search->trial->theta, search->leap.theta, search->n * sizeof(double));
        enum asked asked = fit_ask(search->asker, search->trial, true);
        if (asked == ASKED_END)
            return ASKED_END;
        double after = asked == ASKED_OK ? search->trial->f : (double)NAN;
        if (!fit_leap_is_good(&search->leap, search->asker, search->best->f, after))
            continue;
        search->n_iteration++;
        take_trial(search, false);
    }
    return ASKED_OK;
}

/* Evaluates a first point, replacing any earlier ones. */
static enum asked begin(struct trust_region *search, const double *theta)
{
    memcpy(search->trial->theta, theta, search->n * sizeof *theta);
    enum asked asked = fit_ask(search->asker, search->trial, true);
    if (asked == ASKED_OK)
        take_trial(search, false);
    return asked;
}

/* Moves from a point of rough evaluations to one of more accurate ones: the end of the rough model's step or, if that fails,
 * the point itself. Only here are rough and accurate values compared, with a margin for the errors of the rough ones. */
static enum asked land(struct trust_region *search)
{
    const struct fit_point *rough = search->best;
    double margin = stopping_noise_ceiling(&search->stopping, rough);
    trust_model_target(&search->model, rough, search->trial->theta);
    enum asked asked = fit_ask(search->asker, search->trial, true);
    forget_values(search);
    if (asked == ASKED_OK && search->trial->f <= rough->f + margin && !went_too_far(search)) {
        search->n_iteration++;
        take_trial(search, false);
        return ASKED_OK;
    }
    return asked == ASKED_END ? ASKED_END : begin(search, rough->theta);
}

static bool has_rough_ones(const struct fit_asker *asker)
{
    return asker->options->max_evaluations - asker->n_evaluation >= KEPT
           && 2 * asker->n_step <= asker->options->max_total_steps;
}

/* Steps at one stage's tolerances, until the predicted decrease is no larger than the integrator's errors could be. */
static enum asked run_stage(struct trust_region *search)
{
    struct trust_model *model = &search->model;
    struct stopping *stopping = &search->stopping;
    stopping_init(stopping, search->asker);
    while (stopping->n_rejected + stopping->n_failed < ROUGH_REJECTED) {
        if (!model->is_current && !trust_model_update(model, search->best))
            return ASKED_FAILED;
        find_step(search);
        if (model->promise <= stopping_noise_ceiling(stopping, search->best) || !has_rough_ones(search->asker))
            break;
        if (iterate(search) == ASKED_END)
            return ASKED_END;
    }
    return ASKED_OK;
}

/* Rough steps that have gained no more than their errors may have led uphill: evaluates the start with the current
 * tolerances, and returns to it if it is better. */
static enum asked look_back(struct trust_region *search, const double *theta)
{
    struct fit_asker *asker = search->asker;
    asker->start_f = NAN;
    memcpy(search->trial->theta, theta, search->n * sizeof *theta);
    if (fit_asker_is_same(asker, theta, search->best->theta)) {
        asker->start_f = search->best->f;
        asker->start_misfit = fit_point_misfit(asker, search->best);
        return ASKED_OK;
    }
    enum asked asked = fit_ask(asker, search->trial, true);
    if (asked == ASKED_OK && search->trial->f < search->best->f)
        take_trial(search, false);
    return asked == ASKED_END ? ASKED_END : ASKED_OK;
}

/* Makes the first steps, which need no accuracy, at looser tolerances that become tighter in stages. Ends at a point with the
 * requested tolerances. ASKED_FAILED: there is none, and the search is unchanged. */
static enum asked approach(struct trust_region *search, const double *theta)
{
    struct fit_asker *asker = search->asker;
    double last = asker->tighter, asked_for = fit_asker_rtol(asker), rough = ROUGH;
    asker->tighter = last * asked_for / rough;
    asker->is_rough = true;
    enum asked asked = begin(search, theta);
    stopping_init(&search->stopping, asker);
    double doubt = asked == ASKED_OK ? stopping_noise_ceiling(&search->stopping, search->best) : 0;
    asked = asked == ASKED_OK ? leap(search) : asked;
    while (asked == ASKED_OK && rough > asked_for) {
        asked = run_stage(search);
        rough = rough / REFINE >= ROUGHER_LEAST * asked_for && has_rough_ones(asker) ? rough / REFINE : asked_for;
        asker->tighter = rough > asked_for ? last * asked_for / rough : last;
        asker->is_rough = rough > asked_for;
        if (asked == ASKED_OK)
            asked = land(search);
    }
    asker->tighter = last;
    asker->is_rough = false;
    stopping_init(&search->stopping, asker);
    if (asked == ASKED_OK && !(asker->start_f - search->best->f > doubt))
        asked = look_back(search, theta);
    size_t length = strlen(asker->reason);
    if (asked == ASKED_END && search->best) /* nothing better is known than the result of the rough steps */
        snprintf(asker->reason + length, sizeof asker->reason - length, " (while tolerances were loose: so is the objective)");
    if (asked == ASKED_FAILED) {
        search->best = NULL;
        forget_values(search);
        free_trial(search);
        search->probe.is_needed = false;
        search->lost = 1;
        trust_model_forget(&search->model);
        shorten_limits(&search->model);
    }
    return asked;
}

static enum outcome run(struct trust_region *search, const double *theta)
{
    struct fit_asker *asker = search->asker;
    bool is_exact = asker->problem->model->abi.n_state == 0;
    enum asked asked = ASKED_FAILED;
    if (search->n > 0 && !is_exact && !asker->is_near && asker->gradient == GRADIENT_forward
        && fit_asker_rtol(asker) * ROUGHER_LEAST <= ROUGH && has_rough_ones(asker))
        asked = approach(search, theta);
    bool is_start = asked == ASKED_FAILED && !asker->is_near;
    if (asked == ASKED_FAILED)
        asked = begin(search, theta);
    if (asked == ASKED_OK && is_start)
        asked = leap(search);
    if (asked != ASKED_OK)
        return asked == ASKED_END ? asker->outcome : asker->failure;
    if (search->n == 0) {
        search->stopping.met = STOP_gradient;
        return OUTCOME_converged;
    }
    return run_steps(search);
}

void trust_region_search(struct fit_asker *asker, struct arena *arena, const double *theta, struct search_end *end)
{
    *end = (struct search_end){.outcome = OUTCOME_out_of_memory};
    struct trust_region *search = new_search(asker, arena);
    if (!search) {
        snprintf(asker->reason, sizeof asker->reason, "no memory for this fit");
        return;
    }
    end->outcome = run(search, theta);
    end->stop = end->outcome == OUTCOME_converged ? search->stopping.met : STOP_none;
    end->best = search->best;
    bool is_above = asker->start_tighter == asker->tighter && search->best && search->best->f > asker->start_f;
    if (search->lowest && (is_above
                           || stopping_is_lower(&search->stopping, search->lowest, search->best)))
        end->best = search->lowest;
    if (end->stop != STOP_none && search->best->f - end->best->f > stopping_noise_ceiling(&search->stopping, end->best)) {
        end->outcome = OUTCOME_stalled;
        end->stop = STOP_none;
        fit_asker_end(asker, OUTCOME_stalled, "the search ended at %.6g, above the best point: its derivatives are wrong",
                      search->best->f);
    }
    end->n_iteration = search->n_iteration;
}
