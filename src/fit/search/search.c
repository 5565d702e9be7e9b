/* A step needs no more accuracy than the decrease that it promises, so the first ones are taken
 * at loose tolerances.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/search/search.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The relative tolerance of the first steps, and its divisor from stage to stage. The last loose
 * stage has LAST times the requested tolerance, so that its step ends at an optimum, and the end
 * is as good as a certificate. A stage is used only if its tolerance is at least LOOSE_LEAST
 * times that of the next one. */
static const double LOOSE = 3e-4, REFINE = 300, LAST = 10, LOOSE_LEAST = 5;
/* After this many consecutive steps without gain the tolerances are tightened. */
enum { LOOSE_REJECTED = 6 };
/* How often the search goes on by Gauss and Newton's model alone, where the estimated second
 * derivatives promise no more. */
enum { MAX_PLAIN = 1 };

/* Sets the tolerances of a loose stage or, for 0, the requested ones. */
static void set_tolerance(struct fit_search *search, double loose)
{
    struct fit_asker *asker = search->asker;
    asker->accuracy = search->requested;
    if (loose > 0)
        asker->accuracy.tighter *= fit_asker_rtol(asker, search->requested.tighter) / loose;
    asker->accuracy.is_loose = loose > 0;
    search->loose = loose;
}

/* The relative tolerance that is requested. */
static double requested(const struct fit_search *search)
{
    return fit_asker_rtol(search->asker, search->requested.tighter);
}

static bool has_loose_steps(const struct fit_search *search)
{
    const struct fit_asker *asker = search->asker;
    return !asker->is_exact && !asker->is_near &&
           asker->accuracy.gradient == GRADIENT_forward &&
           requested(search) * LOOSE_LEAST <= LOOSE && search->method->has_budget(search);
}

double fit_search_lowest(const struct fit_search *search)
{
    return search->has_lowest ? fmin(search->lowest, search->best->f) : search->best->f;
}

/* Tries the model's step, and adapts the trust region to what it gains. */
static enum asked step(struct fit_search *search)
{
    const struct fit_search_method *method = search->method;
    struct trust_model *model = &search->model;
    struct fit_search_trial trial = {.f = INFINITY, .decrease = -INFINITY};
    enum trust_radius radius = TRUST_RADIUS_STAYS;
    enum asked asked = method->try(search, &trial);
    if (asked != ASKED_OK)
        return asked;
    search->n_iteration++;
    if (!trial.keeps_reach) {
        /* The promise of many datasets is negative where these cannot follow the shared step. */
        double ratio = model->promise > 0    ? trial.decrease / model->promise
                       : trial.decrease == -INFINITY ? -INFINITY
                                                     : -1;
        radius = trust_reach_adapt(&model->reach, model->length, model->is_restricted,
                                   trust_model_is_limited(model) ? search->reach_growth : 1, ratio,
                                   trust_radius_part(trial.slope, trial.decrease));
    }
    if (trial.is_known)
        trial.decrease = fmin(trial.decrease, 0);
    double lowest = fit_search_lowest(search);
    method->settle(search, &trial, trial.decrease > 0 && !trial.is_refused, radius);
    if (trial.f < INFINITY) {
        search->lowest = fmin(lowest, trial.f);
        search->has_lowest = true;
    }
    if (!trial.is_refused)
        stopping_note(&search->stopping, model, search->best, trial.decrease);
    return ASKED_OK;
}

/* Steps at one stage's tolerances, until the predicted decrease is no larger than the
 * integrator's errors could be. */
static enum asked run_stage(struct fit_search *search)
{
    const struct fit_search_method *method = search->method;
    struct stopping *stopping = &search->stopping;
    while (stopping->n_rejected + stopping->n_failed < LOOSE_REJECTED) {
        enum asked asked = method->look(search);
        if (asked != ASKED_OK)
            return asked;
        if (search->model.promise <= stopping_noise_ceiling(stopping, search->best) ||
            !method->has_budget(search))
            break;
        if (step(search) == ASKED_END)
            return ASKED_END;
    }
    return ASKED_OK;
}

/* The first steps, at tolerances that become tighter from stage to stage. Ends at a point with
 * the requested ones. ASKED_FAILED: there is none. */
static enum asked run_stages(struct fit_search *search)
{
    const struct fit_asker *asker = search->asker;
    enum asked asked = ASKED_OK;
    while (asked == ASKED_OK && search->loose > 0) {
        asked = run_stage(search);
        double last = LAST * requested(search),
               next = search->loose / REFINE > last ? search->loose / REFINE : last;
        bool is_loose = search->loose >= LOOSE_LEAST * next && search->method->has_budget(search);
        set_tolerance(search, is_loose ? next : 0);
        if (asked == ASKED_OK)
            asked = search->method->land(search);
    }
    set_tolerance(search, 0);
    if (asked == ASKED_OK && !(asker->start_f - search->best->f > search->doubt))
        asked = search->method->look_back(search);
    return asked;
}

static enum asked begin(struct fit_search *search)
{
    enum asked asked = search->method->begin(search);
    search->doubt = asked == ASKED_OK && search->loose > 0
                        ? stopping_noise_ceiling(&search->stopping, search->best)
                        : 0;
    return asked == ASKED_OK && search->method->leap && !search->asker->is_near
               ? search->method->leap(search)
               : asked;
}

/* A stopping test is met. ASKED_OK: the search goes on. */
static enum asked go_on(struct fit_search *search, enum outcome outcome)
{
    enum asked asked = search->method->go_on(search, outcome);
    if (asked != ASKED_FAILED || outcome != OUTCOME_converged ||
        !search->model.curvature.is_used || search->n_plain >= MAX_PLAIN)
        return asked;
    search->n_plain++;
    trust_model_forget_curvature(&search->model); /* it may be too large */
    return ASKED_OK;
}

static enum outcome run_steps(struct fit_search *search)
{
    const struct fit_search_method *method = search->method;
    struct fit_asker *asker = search->asker;
    for (;;) {
        enum asked asked = method->look(search);
        if (asked == ASKED_FAILED)
            fit_asker_end(asker, OUTCOME_stalled,
                          "the derivatives of the residuals are too large to be used");
        if (asked != ASKED_OK)
            return asker->outcome;
        enum outcome outcome = stopping_judge(&search->stopping, &search->model, search->best);
        asked = outcome == OUTCOME_not_run ? step(search) : go_on(search, outcome);
        if (asked == ASKED_END)
            return asker->outcome;
        if (asked == ASKED_FAILED && outcome != OUTCOME_not_run)
            return outcome;
    }
}

/* Slopes may have led away from the lowest point: by the noise of values, or because they are
 * wrong. */
static enum outcome judge_end(struct fit_search *search, enum outcome outcome)
{
    struct fit_asker *asker = search->asker;
    if (!search->best || !(fit_search_lowest(search) < search->best->f))
        return outcome;
    double f = search->best->f;
    bool is_above = asker->start_tighter == asker->accuracy.tighter && f > asker->start_f;
    if (!is_above && !stopping_is_lower(&search->stopping, search->lowest, search->best))
        return outcome;
    if (search->method->go_lowest)
        search->method->go_lowest(search);
    if (outcome != OUTCOME_converged ||
        !(f - search->lowest > stopping_noise_ceiling(&search->stopping, search->best)))
        return outcome;
    fit_asker_end(asker, OUTCOME_stalled,
                  "the search ended at %.6g, above the best point: its derivatives are wrong", f);
    return OUTCOME_stalled;
}

enum outcome fit_search_run(struct fit_search *search, bool is_under_way)
{
    struct fit_asker *asker = search->asker;
    enum asked asked = ASKED_OK;
    if (!is_under_way) {
        search->requested = asker->accuracy;
        set_tolerance(search, has_loose_steps(search) ? LOOSE : 0);
        asked = begin(search);
    }
    bool was_loose = search->loose > 0;
    if (was_loose && asked == ASKED_OK)
        asked = run_stages(search);
    set_tolerance(search, 0);
    size_t length = strlen(asker->reason);
    if (was_loose && asked == ASKED_END &&
        search->best) /* nothing better is known than the result of the loose steps */
        snprintf(asker->reason + length, sizeof asker->reason - length,
                 " (while tolerances were loose: so is the objective)");
    if (was_loose && asked == ASKED_FAILED)
        asked = begin(search);
    enum outcome outcome = asked == ASKED_OK    ? run_steps(search)
                           : asked == ASKED_END ? asker->outcome
                                                : asker->failure;
    return judge_end(search, outcome);
}

void fit_search_learn(struct fit_search *search, struct fit_asker *asker,
                      const struct fit_point *best, const struct fit_point *trial, bool is_better)
{
    struct trust_model *model = &search->model;
    if (stopping_is_lost(&search->stopping, best, trial))
        return;
    if (trust_curvature_choose(&model->curvature, model->step, model->is_restricted, model->promise,
                               best->f - trial->f))
        model->is_current = false;
    if (is_better)
        trust_curvature_note(&model->curvature, asker, model->scale, best, trial);
}
