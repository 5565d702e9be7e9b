/* The searches of one fit: from another start where the model cannot be evaluated, with another
 * engine or gradient where the first one fails, with tighter tolerances until they confirm the
 * optimum.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/single/confirm.h"

#include "base/random.h"
#include "fit/objective/prepare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* One fit in CHECKED is checked by the other engine, and one in CHECKED_OF_MANY from dataset
 * MANY on: a sample of a given size shows a fault of the lanes as well in a long run as in a
 * short one. PURPOSE_CHECK keeps the random numbers apart from those of other purposes. */
enum { CHECKED = 64, CHECKED_OF_MANY = 1024, MANY = 4096 };
static const uint64_t PURPOSE_CHECK = 0x636865636b; /* "check" */
/* A stalled search is repeated with tolerances this many times tighter. */
static const double STALLED_FACTOR = 100;
/* The certificate's evaluation has at least the full tolerances from this value on. */
static const double LEAST_TIGHTER = 0.1;
/* The error of an objective at another place is at most this many times its change from one
 * tolerance to the next. */
static const double DOUBT = 10;
/* A search with the same tolerances that gains less than this part of the predicted decrease is
 * not repeated. */
static const double LEAST_GAIN = 0.1;

/* Evaluates the best point again with the derivatives of all residuals, for the statistics.
 * NULL: that failed. */
static const struct fit_point *look_forward(struct fit_asker *asker, const struct fit_point *best,
                                            struct arena *arena)
{
    struct fit_point *point = arena_calloc(arena, 1, sizeof *point);
    if (!point || !fit_point_init(point, asker, asker->accuracy.gradient, arena))
        return NULL;
    memcpy(point->theta, best->theta, asker->map.n_free * sizeof *point->theta);
    return fit_ask(asker, asker->accuracy, point, true) == ASKED_OK ? point : NULL;
}

static void look_back(struct fit_asker *asker, struct arena *arena, const double *start,
                      struct search_end *end, double doubt);
static void search_from(struct fit_asker *asker, struct arena *arena, const double *theta,
                        struct search_end *end);

/* The rest of a search that lanes could not finish, by CVODES. Values of lanes count no more:
 * the best point is evaluated again, and so is the start, as the best point may be no better. If
 * that is impossible, the search goes on in lanes, and stays there. */
static void leave_lanes(struct fit_asker *asker, struct arena *arena, const double *start,
                        struct search_end *end)
{
    const struct fit_point *best = end->best;
    uint32_t notes = asker->notes;
    enum engine_kind left = asker->accuracy.engine;
    asker->accuracy.engine = ENGINE_REFERENCE;
    asker->notes |= NOTE_changed_engine;
    asker->start_f = asker->prediction_error = NAN;
    search_from(asker, arena, best ? best->theta : start, end);
    if (best && end->best && !fit_asker_is_same(asker, best->theta, start)) {
        look_back(asker, arena, start, end, INFINITY);
    } else if (best && !end->best &&
               (end->outcome == OUTCOME_ode_failed || end->outcome == OUTCOME_model_failed)) {
        asker->accuracy.engine = left;
        asker->lanes.stays = true;
        asker->notes = notes;
        asker->start_f = asker->prediction_error = NAN;
        search_from(asker, arena, best->theta, end);
    } else if (best && !end->best) {
        end->best = best;
    }
}

static void draw_start(struct fit_asker *asker, double *theta)
{
    fit_start_theta(&asker->start, &asker->map, asker->problem->prior, theta);
    asker->start_f = asker->prediction_error = NAN;
    asker->n_unsaved = 0;
}

/* In place of a search. */
static void evaluate(struct fit_asker *asker, struct arena *arena, const double *theta,
                     struct search_end *end)
{
    struct fit_point *point = arena_calloc(arena, 1, sizeof *point);
    *end = (struct search_end){.outcome = OUTCOME_out_of_memory};
    if (!point || !fit_point_init(point, asker, asker->accuracy.gradient, arena)) {
        snprintf(asker->reason, sizeof asker->reason, "no memory for this fit");
        return;
    }
    memcpy(point->theta, theta, asker->map.n_free * sizeof *theta);
    enum asked asked = fit_ask(asker, asker->accuracy, point, true);
    end->best = asked == ASKED_OK ? point : NULL;
    end->outcome = asked == ASKED_END ? asker->outcome : asker->failure;
    if (asked == ASKED_OK)
        end->outcome = OUTCOME_evaluated;
}

typedef void search_function(struct fit_asker *asker, struct arena *arena, const double *theta,
                             struct search_end *end);

static search_function *search_of(const struct fit_asker *asker)
{
    if (asker->options->evaluates)
        return evaluate;
    return asker->optimizer == OPTIMIZER_lbfgs ? descent_search : trust_region_search;
}

/* If a trajectory meets a switch or an event at which derivatives do not exist, restarts the
 * search with difference quotients, which are used from then on: values of the two kinds are
 * never compared. */
static void search_from(struct fit_asker *asker, struct arena *arena, const double *theta,
                        struct search_end *end)
{
    asker->accuracy.gradient = asker->gradient;
    asker->lanes = (struct fit_lanes){.stays = asker->lanes.stays};
    asker->notes &= ~(uint32_t)NOTE_noise_floor;
    search_of(asker)(asker, arena, theta, end);
    asker->n_iteration += end->n_iteration;
    /* Lanes need second derivatives of the model, which may not be finite where all that CVODES
     * needs is. */
    bool is_model = !end->best && end->outcome == OUTCOME_model_failed;
    bool is_lost = asker->lanes.has_lost &&
                   (end->outcome == OUTCOME_stalled || end->outcome == OUTCOME_ode_failed);
    bool may_leave = asker->accuracy.engine != ENGINE_REFERENCE && !asker->lanes.stays;
    /* Another start is cheaper than to let CVODES try this one. */
    bool is_replaced = !end->best && fit_start_may_redraw(&asker->start, end->outcome);
    if ((asker->lanes.leaves || (may_leave && (is_model || is_lost))) && !is_replaced)
        leave_lanes(asker, arena, theta, end);
    if (!asker->meets_jump)
        return;
    asker->meets_jump = false;
    asker->start_f = asker->prediction_error = NAN;
    asker->notes |= NOTE_state_jump;
    asker->accuracy.gradient = asker->gradient = GRADIENT_differences;
    if (asker->options->optimizer ==
        OPTIMIZER_none) /* L-BFGS may have been chosen for its adjoint gradients */
        asker->optimizer = OPTIMIZER_trf;
    if (fit_prepare_gradient(asker, arena))
        search_from(asker, arena, theta, end);
    else
        *end = (struct search_end){.outcome = OUTCOME_out_of_memory};
}

/* The best point with the derivatives of all residuals; NULL: there is none. */
static const struct fit_point *look(struct fit_asker *asker, struct arena *arena,
                                    const struct search_end *end)
{
    if (!end->best || asker->gradient != GRADIENT_adjoint)
        return end->best;
    asker->accuracy.gradient = GRADIENT_forward;
    return end->forward                       ? end->forward
           : outcome_is_success(end->outcome) ? look_forward(asker, end->best, arena)
                                              : NULL;
}

/* Checks that a search with tighter tolerances did not end above the start; if it did, a new
 * search from the start replaces it. `doubt`: possible error of the objectives known so far. */
static void look_back(struct fit_asker *asker, struct arena *arena, const double *start,
                      struct search_end *end, double doubt)
{
    struct fit_point point;
    if (asker->start_f - end->best->f > doubt ||
        !fit_point_init(&point, asker, asker->accuracy.gradient, arena))
        return;
    memcpy(point.theta, start, asker->map.n_free * sizeof *start);
    if (fit_ask(asker, asker->accuracy, &point, true) == ASKED_OK && point.f < end->best->f)
        search_from(asker, arena, start, end);
}

/* Continues from the best point with this engine, and with tolerances divided by the
 * certificate's factor (0 counts as 1). False: that failed, and nothing has changed. */
static bool go_on(struct fit_asker *asker, struct arena *arena, const double *start,
                  struct search_end *end, const struct fit_certificate *certificate,
                  enum engine_kind engine)
{
    struct search_end next;
    const struct fit_asker before = *asker;
    /* engines' values differ */
    double doubt = engine == asker->accuracy.engine ? DOUBT * fabs(certificate->change) : INFINITY;
    asker->accuracy.tighter *= certificate->factor > 0 ? certificate->factor : 1;
    asker->is_near = true;
    if (engine != asker->accuracy.engine) {
        asker->accuracy.engine = engine;
        asker->notes |= NOTE_changed_engine;
        asker->start_f = asker->prediction_error = NAN;
    }
    search_from(asker, arena, end->best->theta, &next);
    if (next.outcome == OUTCOME_converged || next.outcome == OUTCOME_stalled) {
        look_back(asker, arena, start, &next, isnan(doubt) ? INFINITY : doubt);
        *end = next;
        return true;
    }
    if (next.outcome == OUTCOME_budget && next.best &&
        next.best->f < end->best->f - (isfinite(doubt) ? doubt : 0)) {
        *end = next; /* unfinished, but better */
        return true;
    }
    if (next.outcome == OUTCOME_out_of_memory)
        end->outcome = next.outcome;
    asker->notes = before.notes;
    asker->accuracy.tighter = before.accuracy.tighter;
    asker->accuracy.engine = before.accuracy.engine;
    asker->start_f = before.start_f;
    return false;
}

/* A start may be the lowest of several although its budget is used up. One evaluation beyond the
 * budget then confirms its objective. */
static void confirm(struct fit_asker *asker, struct arena *arena, const struct fit_point *best,
                    double objective, struct fit_certificate *certificate)
{
    const struct fit_options *options = asker->options;
    struct fit_options one_more = *options;
    char reason[sizeof asker->reason];
    enum outcome outcome = asker->outcome;
    memcpy(reason, asker->reason, sizeof reason);
    one_more.max_evaluations = asker->used.n_evaluation + 1;
    one_more.max_total_steps = asker->used.n_step + options->max_steps;
    asker->options = &one_more;
    struct fit_accuracy accuracy = asker->accuracy;
    accuracy.tighter = fmax(accuracy.tighter, LEAST_TIGHTER);
    fit_certify(asker, accuracy, best, objective, arena, certificate);
    asker->spectrum = NULL; /* the fit's tolerances decide what is flat */
    asker->options = options;
    memcpy(asker->reason, reason, sizeof reason);
    asker->outcome = outcome;
    if (!certificate->is_confirmed)
        asker->notes |= NOTE_not_certified;
}

/* The certificate at the end of a search; empty if there can be none. Stalled searches are
 * certified too, to see whether a retry is worthwhile. */
static struct fit_certificate certify(struct fit_asker *asker, struct arena *arena,
                                      const struct fit_point *point, struct search_end *end)
{
    struct fit_certificate certificate = {.change = NAN, .decrease = NAN};
    if (!asker->options->certify)
        return certificate;
    if (end->outcome == OUTCOME_stalled) {
        certificate.factor = STALLED_FACTOR;
    } else if (outcome_is_success(end->outcome) && point) {
        enum asked asked = ASKED_FAILED;
        if (end->looser && point == end->best)
            asked = fit_certify_landing(asker, end->best, end->looser, end->ratio, arena,
                                        &certificate);
        if (asked == ASKED_FAILED)
            asked = fit_certify(asker, asker->accuracy, point, end->best->f, arena, &certificate);
        if (asked == ASKED_END && asker->outcome == OUTCOME_out_of_memory)
            end->outcome = OUTCOME_out_of_memory;
    }
    return certificate;
}

/* Whether CVODES checks the certificate that lanes give this fit. */
static bool is_sample(const struct fit_problem *problem)
{
    uint64_t part = problem->dataset < MANY ? CHECKED : CHECKED_OF_MANY;
    return random_below(0, random_stream(PURPOSE_CHECK, problem->dataset), problem->start_number,
                        part) == 0;
}

/* A second certificate, by CVODES, in place of one from lanes: for a sample, and where that one
 * confirms nothing. */
static void check_lanes(struct fit_asker *asker, struct arena *arena, const struct fit_point *point,
                        struct search_end *end, struct fit_certificate *certificate)
{
    bool is_certified = certificate->is_certified;
    if (asker->accuracy.engine == ENGINE_REFERENCE || !asker->options->certify || !point ||
        !outcome_is_success(end->outcome) || (is_certified && !is_sample(asker->problem)))
        return;
    struct fit_certificate other;
    struct fit_accuracy accuracy = asker->accuracy;
    accuracy.engine = ENGINE_REFERENCE;
    enum asked asked = fit_certify(asker, accuracy, point, end->best->f, arena, &other);
    if (asked == ASKED_END && asker->outcome == OUTCOME_out_of_memory)
        end->outcome = OUTCOME_out_of_memory;
    if (asked == ASKED_END)
        return;
    *certificate = other;
    if (is_certified && !other.is_certified)
        asker->notes |= NOTE_engines_differ;
}

static bool may_leave_lanes(const struct fit_asker *asker)
{
    return asker->accuracy.engine != ENGINE_REFERENCE && !asker->lanes.stays;
}

/* Searches with tighter and tighter tolerances, until they confirm the optimum or are as tight
 * as they can be. Sets the last certificate, and returns the best point with the derivatives of
 * all residuals. */
static const struct fit_point *tighten(struct fit_asker *asker, struct arena *arena,
                                       const double *start, struct search_end *end,
                                       struct fit_certificate *certificate)
{
    const struct fit_point *point;
    double goal = INFINITY;
    bool goes_on;
    do {
        point = look(asker, arena, end);
        *certificate = certify(asker, arena, point, end);
        if (certificate->factor == 1 && end->best->f < goal)
            goal = end->best->f - LEAST_GAIN * certificate->decrease;
        else if (certificate->factor == 1)
            certificate->factor = FIT_TIGHTER;
        goes_on = end->best && fit_certificate_may_tighten(certificate, asker);
        /* What lanes cannot finish CVODES often can, even with the same tolerances. */
        bool leaves = goes_on && end->outcome == OUTCOME_stalled && may_leave_lanes(asker);
        goes_on = goes_on &&
                  ((leaves && go_on(asker, arena, start, end, certificate, ENGINE_REFERENCE)) ||
                   go_on(asker, arena, start, end, certificate, asker->accuracy.engine));
    } while (goes_on);
    return point;
}

const struct fit_point *fit_confirm(struct fit_asker *asker, struct arena *arena, double *start,
                                    struct search_end *end, struct fit_certificate *certificate)
{
    *certificate = (struct fit_certificate){.change = NAN, .decrease = NAN};
    do {
        draw_start(asker, start);
        search_from(asker, arena, start, end);
    } while (!end->best && fit_start_redraw(&asker->start, end->outcome));
    if (asker->options->evaluates)
        return end->best;
    const struct fit_point *point = tighten(asker, arena, start, end, certificate);
    check_lanes(asker, arena, point, end, certificate);
    bool is_finished = outcome_is_success(end->outcome) &&
                       (certificate->is_certified || isnan(certificate->change));
    bool is_left = outcome_is_success(end->outcome) || end->outcome == OUTCOME_stalled;
    certificate->factor = 1;
    if (end->best && is_left && !is_finished && may_leave_lanes(asker)
        && go_on(asker, arena, start, end, certificate, ENGINE_REFERENCE))
        point = tighten(asker, arena, start, end, certificate);
    if (point && isnan(certificate->change) && asker->options->certify &&
        asker->problem->n_start > 1)
        confirm(asker, arena, point, end->best->f, certificate);
    fit_certificate_conclude(certificate, asker, end->best ? end->best->f : (double)NAN,
                             &end->outcome, &end->stop);
    return point;
}
