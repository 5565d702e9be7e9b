/* Steps of a fit of one dataset: tries those of the trust-region model one by one; every trial
 * also gives the next model.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/search/search.h"

#include "fit/search/kinks.h"
#include "fit/search/leap.h"
#include "fit/search/trust_far.h"
#include "fit/search/trust_probe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Evaluations that the first steps leave for others: a step takes up to two, and so does its
 * successor. */
enum { KEPT = 4 };
/* The best, the lowest, the latest rejected, the one before the landing, and the trial. */
enum { N_POINT = 5 };

struct trust_region {
    struct fit_search search;     /* the first field: the method's functions get it */
    size_t n;
    const double *start;      /* n */
    struct fit_point *trial, points[N_POINT];
    /* the lowest at these tolerances: slopes may lead away from it by the noise of values */
    const struct fit_point *lowest;
    /* the latest rejected trial; NULL: none since the tolerances changed */
    const struct fit_point *missed;
    bool is_known;            /* the trial is `missed` once more */
    bool has_kinks;           /* slopes at two points say little of the values between them */
    bool takes_inner;         /* steps are those of kinks.h */
    struct kinks kinks;
    struct trust_probe probe;
    struct fit_leap leap;
    struct trust_far far;
    const struct fit_point *looser; /* the one before the latest landing; NULL: none */
    double ratio;             /* of its tolerance to the one after it */
};

static struct trust_region *region_of(struct fit_search *search)
{
    return (struct trust_region *)search;
}

static struct trust_region *new_region(struct fit_asker *asker, struct arena *arena,
                                       const double *start)
{
    struct trust_region *region = arena_calloc(arena, 1, sizeof *region);
    bool is_inner = fit_objective_is_far_from_square(&asker->objective);
    if (!region || !trust_probe_init(&region->probe, asker, arena) ||
        !fit_leap_init_single(&region->leap, asker, false, arena) ||
        !trust_model_init(&region->search.model, asker, arena) ||
        (is_inner && !kinks_init(&region->kinks, &region->search.model, asker, arena)))
        return NULL;
    for (size_t k = 0; k < N_POINT; k++)
        if (!fit_point_init(&region->points[k], asker, asker->accuracy.gradient, arena))
            return NULL;
    region->search.asker = asker;
    region->has_kinks = fit_objective_has_kinks(&asker->objective);
    region->takes_inner = is_inner;
    region->n = asker->map.n_free;
    region->start = start;
    region->trial = &region->points[0];
    return region;
}

/* A free point for the next trial. */
static void free_trial(struct trust_region *region)
{
    for (size_t k = 0; k < N_POINT; k++) {
        struct fit_point *point = &region->points[k];
        if (point != region->search.best && point != region->lowest && point != region->missed
            && point != region->looser)
            region->trial = point;
    }
}

/* `is_step`: it is the end of the model's step. */
static void take_trial(struct trust_region *region, bool is_step)
{
    region->search.best = region->trial;
    if (!region->lowest || region->search.best->f <= region->lowest->f)
        region->lowest = region->search.best;
    free_trial(region);
    region->search.model.is_current = false;
    trust_probe_move(&region->probe, is_step);
}

/* Forgets values at earlier tolerances, which cannot be compared with new ones. */
static void forget_values(struct trust_region *region)
{
    region->lowest = region->missed = NULL;
}

static enum asked try(struct fit_search *search, struct fit_search_trial *trial)
{
    struct trust_region *region = region_of(search);
    struct trust_model *model = &search->model;
    const struct fit_point *best = search->best;
    if (!region->takes_inner &&
        trust_probe_step(&region->probe, model, best, region->trial) == ASKED_END)
        return ASKED_END;
    trust_model_target(model, best, region->trial->theta);
    if (fit_asker_is_same(search->asker, region->trial->theta, best->theta)) {
        stopping_give_up(&search->stopping);
        return ASKED_FAILED;
    }
    region->is_known = region->missed && fit_asker_is_same(search->asker, region->trial->theta,
                                                           region->missed->theta);
    enum asked asked = region->is_known ? ASKED_OK
                                        : fit_ask(search->asker, search->asker->accuracy,
                                                  region->trial, true);
    if (asked == ASKED_END)
        return ASKED_END;
    const struct fit_point *end = region->is_known ? region->missed : region->trial;
    if (asked == ASKED_OK)
        trial->decrease = region->has_kinks
                            ? best->f - end->f
                            : stopping_decrease(&search->stopping, model, best, end);
    bool is_new = asked == ASKED_OK && !region->is_known;
    trust_probe_note(&region->probe, best, is_new ? region->trial : NULL);
    trial->is_refused = is_new && trial->decrease > 0 &&
                        trust_far_went(&region->far, model, search->asker, best, region->trial);
    trial->keeps_reach = trial->is_refused;
    if (is_new && !region->takes_inner)
        fit_search_learn(search, search->asker, best, region->trial, trial->decrease > 0);
    trial->is_known = region->is_known;
    for (size_t j = 0; j < region->n; j++)
        trial->slope += best->gradient[j] * model->step[j];
    return ASKED_OK;
}

static void settle(struct fit_search *search, const struct fit_search_trial *trial, bool is_taken,
                   enum trust_radius radius)
{
    struct trust_region *region = region_of(search);
    region->probe.is_needed |= radius == TRUST_RADIUS_SHRINKS;
    if (is_taken) {
        trust_far_relax(&search->model);
        take_trial(region, true);
    } else if (!region->is_known && trial->decrease > -INFINITY) {
        region->missed = region->trial;
        if (region->trial->f < region->lowest->f)
            region->lowest = region->trial;
        free_trial(region);
    }
}

static enum asked look(struct fit_search *search)
{
    struct trust_region *region = region_of(search);
    if (!search->model.is_current && !trust_model_update(&search->model, search->best))
        return ASKED_FAILED;
    if (region->takes_inner)
        kinks_step(&region->kinks, search->best);
    else
        trust_model_step(&search->model, search->best);
    return ASKED_OK;
}

/* Accepts the lowest point, even if a step away from it was rejected. */
static void take_lowest(struct trust_region *region)
{
    struct fit_search *search = &region->search;
    search->best = region->lowest;
    trust_probe_move(&region->probe, false);
    free_trial(region);
    trust_model_forget(&search->model);
    stopping_init(&search->stopping, search->asker);
    region->far.n_back = TRUST_FAR_MOST + 1;
}

static enum asked go_on(struct fit_search *search, enum outcome outcome)
{
    struct trust_region *region = region_of(search);
    bool is_back = region->far.n_back > 0 && region->far.n_back <= TRUST_FAR_MOST;
    (void)outcome;
    if (!is_back || !stopping_is_lower(&search->stopping, region->lowest->f, search->best))
        return ASKED_FAILED;
    take_lowest(region);
    return ASKED_OK;
}

static enum asked leap(struct fit_search *search)
{
    struct trust_region *region = region_of(search);
    enum asked asked = ASKED_OK;
    bool is_good;
    while (asked == ASKED_OK) {
        asked = fit_leap_try(&region->leap, search->asker, search->best, search->best->f,
                             region->trial, &is_good);
        if (!is_good)
            continue;
        search->n_iteration++;
        take_trial(region, false);
    }
    return asked == ASKED_END ? ASKED_END : ASKED_OK;
}

/* Evaluates a first point. */
static enum asked evaluate(struct trust_region *region, const double *theta)
{
    memcpy(region->trial->theta, theta, region->n * sizeof *theta);
    enum asked asked =
        fit_ask(region->search.asker, region->search.asker->accuracy, region->trial, true);
    if (asked == ASKED_OK)
        take_trial(region, false);
    return asked;
}

static enum asked begin(struct fit_search *search)
{
    struct trust_region *region = region_of(search);
    search->best = NULL;
    forget_values(region);
    region->looser = NULL;
    free_trial(region);
    region->probe.is_needed = false;
    trust_model_forget(&search->model);
    stopping_init(&search->stopping, search->asker);
    return evaluate(region, region->start);
}

/* Moves from a point of loose evaluations to one of more accurate ones: the end of the loose
 * model's step or, if that fails, the point itself. Only here are loose and accurate values
 * compared, with a margin for the errors of the loose ones. */
static enum asked land(struct fit_search *search)
{
    struct trust_region *region = region_of(search);
    const struct fit_point *loose = search->best;
    double margin = stopping_noise_ceiling(&search->stopping, loose);
    region->ratio = search->stopping.accuracy /
                    fit_asker_rtol(search->asker, search->asker->accuracy.tighter);
    stopping_init(&search->stopping, search->asker);
    trust_model_target(&search->model, loose, region->trial->theta);
    enum asked asked = fit_ask(search->asker, search->asker->accuracy, region->trial, true);
    forget_values(region);
    region->looser = loose;
    bool is_good = asked == ASKED_OK && region->trial->f <= loose->f + margin &&
                   !trust_far_went(&region->far, &search->model, search->asker, loose,
                               region->trial);
    if (is_good) {
        search->n_iteration++;
        take_trial(region, false);
    } else if (asked != ASKED_END) {
        asked = evaluate(region, loose->theta);
    }
    return asked;
}

static bool has_budget(const struct fit_search *search)
{
    const struct fit_asker *asker = search->asker;
    return fit_work_left(asker->options, &asker->used).n_evaluation >= KEPT
           && 2 * asker->used.n_step <= asker->options->max_total_steps;
}

/* Loose steps may have led uphill: evaluates the start with the requested tolerances. */
static enum asked look_back(struct fit_search *search)
{
    struct trust_region *region = region_of(search);
    struct fit_asker *asker = search->asker;
    asker->start_f = NAN;
    memcpy(region->trial->theta, region->start, region->n * sizeof(double));
    if (fit_asker_is_same(asker, region->start, search->best->theta)) {
        asker->start_f = search->best->f;
        return ASKED_OK;
    }
    enum asked asked = fit_ask(asker, asker->accuracy, region->trial, true);
    if (asked == ASKED_OK && region->trial->f < search->best->f)
        take_trial(region, false);
    return asked == ASKED_END ? ASKED_END : ASKED_OK;
}

static const struct fit_search_method method = {.begin = begin,
                                                .leap = leap, .look = look,
                                                .try = try, .settle = settle,
                                                .land = land, .look_back = look_back,
                                                .has_budget = has_budget, .go_on = go_on};

static enum outcome run(struct trust_region *region)
{
    struct fit_search *search = &region->search;
    if (region->n > 0)
        return fit_search_run(search, false);
    enum asked asked = begin(search);
    search->stopping.met = STOP_gradient;
    return asked == ASKED_OK    ? OUTCOME_converged
           : asked == ASKED_END ? search->asker->outcome
                                : search->asker->failure;
}

void trust_region_search(struct fit_asker *asker, struct arena *arena, const double *theta,
                         struct search_end *end)
{
    *end = (struct search_end){.outcome = OUTCOME_out_of_memory};
    struct trust_region *region = new_region(asker, arena, theta);
    if (!region) {
        snprintf(asker->reason, sizeof asker->reason, "no memory for this fit");
        return;
    }
    const struct fit_search *search = &region->search;
    region->search.method = &method;
    region->search.reach_growth = TRUST_REACH_GROWTH;
    end->outcome = run(region);
    end->stop = end->outcome == OUTCOME_converged ? search->stopping.met : STOP_none;
    end->best = search->best;
    bool is_above = asker->start_tighter == asker->accuracy.tighter && search->best &&
                    search->best->f > asker->start_f;
    if (region->lowest &&
        (is_above || stopping_is_lower(&search->stopping, region->lowest->f, search->best)))
        end->best = region->lowest;
    if (end->stop != STOP_none &&
        search->best->f - end->best->f > stopping_noise_ceiling(&search->stopping, end->best)) {
        end->outcome = OUTCOME_stalled;
        end->stop = STOP_none;
        fit_asker_end(asker, OUTCOME_stalled,
                      "the search ended at %.6g, above the best point: its derivatives are wrong",
                      search->best->f);
    }
    end->looser = region->looser;
    end->ratio = region->ratio;
    end->n_iteration = search->n_iteration;
}
