/* Follows one side of a profile. Everything is measured in r = sqrt((objective - best) / rise): 0 at the best fit, 1 at the
 * limit, and linear in between if the objective is quadratic. The walk steps outward by about half a unit of r, closes in on
 * r = 1 between the last two places, and there fits the other parameters once more from the best fit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/profile.h"

#include "fit/fit.h"
#include "fit/prepare.h"
#include "fit/map.h"
#include "fit/statistics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_FAILURES = 6, MAX_UNIT = 8 };
static const double UNIT_SETTLED = 1e-3;
static const double TOLERANCE = 1e-4;     /* of the rise, at the limit */
static const double FIRST_STEP = 0.5;     /* of the half-width given by the covariance */
static const double NEXT_RISE = 0.5;      /* of r, per step */
static const double LAST_AIM = 1.02;      /* just beyond, so that the limit lies between two places */
static const double BETTER = -0.01;       /* of the rise: an objective lower by this is a better fit */
static const double TOGETHER = 1e-6;      /* of the distance from the best fit: two places closer than this ... */
static const double JUMP = 0.01;          /* ... form a jump if their r differ by more than this */
static const double AFTER_JUMP = 0.01;    /* of the distance from the best fit: the step after a jump */
static const double AGREES = 1e-3;        /* of the rise: two fits of the other parameters at the limit */
static const double DECADES = 6, THOUSAND = 1000, WIDTHS = 10;
static const double LONGEST = 2;          /* decades on a logarithmic scale: a longer step may pass over a crossing, */
static const double STEPS = 30;           /* but a far bound is reached in about this many */
static const double GROWTH = 3;           /* of the steps, at most, unless the bound is too far for that */
static const double STEEP = 10;           /* r beyond the limit: the line through it says nothing, the interval is halved */

/* A place on the profile. */
struct place {
    double theta;       /* of the profiled parameter, optimiser's scale */
    double r;
    double *parameter;  /* all, natural scale */
};

struct walk {
    const struct fit_profile_subject *subject;
    const struct fit_options *options;
    const struct fit_profile_request *request;
    struct fit_record *result;
    struct fit_profile *profile;
    size_t n;                   /* parameters of all copies */
    uint8_t *held, *fixed;      /* n: by the caller; and with the profiled parameter */
    double unit;
    struct fit_record inner;
    double *end_of_inner;       /* n: where it ended */
    enum parameter_scale scale;
    double best, rise;          /* the objective at the best fit, and its rise at the limit */
    double start, end;          /* optimiser's scale; end: the walk stops there without a limit */
    double longest, growth;     /* of steps */
    bool ends_at_bound;
    double *guess;              /* n: starts of the other parameters */
    struct place origin;        /* the best fit */
    struct place place[3];      /* the latest ones; their arrays are swapped */
    int n_failure;
};

static bool walk_init(struct walk *walk, struct arena *arena)
{
    const struct fit_profile_subject *subject = walk->subject;
    size_t n = walk->n = subject->n_copy * subject->n_parameter;
    double *const known[] = {walk->guess = arena_calloc(arena, n + 1, sizeof(double)),
                             walk->origin.parameter = arena_calloc(arena, n + 1, sizeof(double)),
                             walk->place[0].parameter = arena_calloc(arena, n + 1, sizeof(double)),
                             walk->place[1].parameter = arena_calloc(arena, n + 1, sizeof(double))};
    walk->place[2].parameter = arena_calloc(arena, n + 1, sizeof(double));
    walk->end_of_inner = arena_calloc(arena, n + 1, sizeof(double));
    walk->held = arena_calloc(arena, n + 1, 1);
    walk->fixed = arena_calloc(arena, n + 1, 1);
    void *arrays = arena_alloc(arena, fit_record_array_bytes(subject->n_parameter));
    if (!arrays || !walk->held || !walk->fixed || !walk->place[2].parameter || !walk->end_of_inner)
        return false;
    fit_record_set_arrays(&walk->inner, subject->n_parameter, arrays);
    walk->inner.covariance = NULL;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        if (!known[k])
            return false;
        memcpy(known[k], subject->start, n * sizeof(double));
    }
    if (subject->fixed)
        memcpy(walk->held, subject->fixed, n);
    memcpy(walk->fixed, walk->held, n);
    for (size_t i = walk->request->parameter; i < n; i += subject->n_parameter)
        walk->fixed[i] = 1;
    walk->scale = subject->scale[walk->request->parameter];
    walk->start = fit_scale_from_natural(walk->scale, subject->start[walk->request->parameter]);
    return true;
}

static void end_walk(struct walk *walk, enum limit limit, double value)
{
    walk->profile->limit = limit;
    walk->profile->value = value;
}

static void fail(struct walk *walk, enum limit limit, enum outcome outcome, const char *reason)
{
    end_walk(walk, limit, NAN);
    walk->result->outcome = outcome;
    snprintf(walk->result->reason, sizeof walk->result->reason, "%s", reason);
}

/* Whether the last fit ended in a way that rules out further fits; also if it changed to CVODES, whose objectives are not
 * compared with those of lanes: the caller repeats the profile. */
static bool is_over(const struct walk *walk)
{
    enum outcome outcome = walk->inner.outcome;
    return walk->inner.notes & NOTE_changed_engine || outcome == OUTCOME_not_run || outcome == OUTCOME_timeout ||
           outcome == OUTCOME_out_of_memory ||
           (outcome == OUTCOME_budget && walk->result->n_evaluation >= walk->options->max_evaluations);
}

/* Fits from the guess within the rest of the budgets. False: cancelled or out of a resource; the walk is over. */
static bool run_inner(struct walk *walk, const uint8_t *fixed, struct fit_options *options)
{
    struct fit_record *result = walk->result, *inner = &walk->inner;
    options->max_evaluations = options->max_evaluations < walk->options->max_evaluations - result->n_evaluation
                                   ? options->max_evaluations : walk->options->max_evaluations - result->n_evaluation;
    options->max_total_steps = walk->options->max_total_steps - result->n_step;
    walk->subject->fit(walk->subject->context, walk->guess, fixed, walk->unit, options, walk->end_of_inner, inner);
    result->n_evaluation += inner->n_evaluation;
    result->n_step += inner->n_step;
    result->n_iteration += inner->n_iteration;
    result->optimizer = inner->optimizer;
    result->gradient = inner->gradient;
    result->notes |= inner->notes;
    return !is_over(walk);
}

static double bound(const struct walk *walk)
{
    size_t i = walk->request->parameter;
    return walk->request->side < 0 ? walk->subject->lower[i] : walk->subject->upper[i];
}

static const double DECADE[] = {[SCALE_LOG] = 2.302585092994045684, [SCALE_LOG10] = 1};

static double reach(const struct walk *walk, double width)
{
    if (walk->scale != SCALE_LIN)
        return DECADES * DECADE[walk->scale];
    double natural = fmax(THOUSAND * fabs(walk->start), isfinite(width) ? WIDTHS * width : 0);
    return natural > 0 ? natural : THOUSAND;
}

/* Half the interval from the covariance, optimiser's scale; NaN if unknown. */
static double half_width(const struct walk *walk)
{
    size_t i = walk->request->parameter;
    double end = walk->request->side < 0 ? walk->inner.interval_lower[i] : walk->inner.interval_upper[i];
    double width = fabs(fit_scale_from_natural(walk->scale, end) - walk->start);
    return isfinite(width) && width > 0 ? width : NAN;
}

static bool is_sigma_known(const struct walk *walk) { return !(walk->inner.notes & NOTE_no_model_sigma); }

/* Repeats the best fit for objective, covariance and threshold. False: the walk is over. */
static bool look_at_best(struct walk *walk, double *width)
{
    struct fit_options once = *walk->options;
    once.max_evaluations = walk->subject->max_look;
    once.optimizer = OPTIMIZER_trf; /* its first point has all the derivatives that statistics need */
    once.gradient = once.gradient == GRADIENT_differences ? GRADIENT_differences : GRADIENT_forward;
    once.is_near = true;
    once.statistics = true;
    bool ran = run_inner(walk, walk->held, &once);
    for (int round = 0; ran && round < MAX_UNIT && walk->subject->has_open_unit; round++) {
        double unit = walk->inner.chi_square / (double)walk->subject->n_row;
        if (!(fabs(unit - walk->unit) > UNIT_SETTLED * unit))
            break;
        walk->unit = unit; /* for all fits of the profile */
        ran = run_inner(walk, walk->held, &once);
    }
    if (!ran || !isfinite(walk->inner.objective)) {
        fail(walk, LIMIT_failed, walk->inner.outcome, walk->inner.reason);
        return false;
    }
    walk->best = walk->inner.objective;
    walk->rise = fit_statistics_rise(&walk->inner, walk->subject->n_row, walk->options->confidence);
    if (!is_sigma_known(walk) && walk->inner.n_freedom < 1) {
        fail(walk, LIMIT_freedom, OUTCOME_bad_data, "no degrees of freedom are left to estimate the measurement error from");
        return false;
    }
    if (!(walk->rise > 0)) {
        fail(walk, LIMIT_failed, OUTCOME_stalled, "the residuals are zero: a limit cannot be computed from them");
        return false;
    }
    *width = half_width(walk);
    return true;
}

/* The other parameters' start at theta: on the line through two known places, within their bounds. */
static void guess_others(struct walk *walk, const struct place *a, const struct place *b, double theta)
{
    const struct fit_profile_subject *subject = walk->subject;
    double part = a->theta != b->theta ? (theta - b->theta) / (b->theta - a->theta) : 0;
    for (size_t i = 0; i < walk->n; i++) {
        enum parameter_scale scale = subject->scale[i % subject->n_parameter];
        double from = fit_scale_from_natural(scale, a->parameter[i]), to = fit_scale_from_natural(scale, b->parameter[i]);
        double natural = fit_scale_to_natural(scale, to + part * (to - from));
        if (!isfinite(natural) || from == to)
            natural = b->parameter[i];
        walk->guess[i] = walk->fixed[i] ? b->parameter[i] : fmin(fmax(natural, subject->lower[i]), subject->upper[i]);
    }
}

/* Stores the end of the inner fit at theta in `place` and as a point of the profile. */
static void take_place(struct walk *walk, double theta, struct place *place)
{
    struct fit_profile *profile = walk->profile;
    size_t i = walk->request->parameter, n = walk->subject->n_parameter;
    double natural = walk->guess[i], objective = walk->inner.objective + fit_profile_prior(walk->subject, i, theta, natural);
    double rise = (objective - walk->best) / walk->rise;
    place->theta = theta;
    place->r = rise > 0 ? sqrt(rise) : rise < BETTER ? -1 : 0;
    memcpy(place->parameter, walk->end_of_inner, walk->n * sizeof *place->parameter);
    if (profile->n_point < profile->max_point) {
        profile->point[2 * profile->n_point] = natural;
        profile->point[2 * profile->n_point + 1] = objective;
        profile->n_point++;
    }
    memcpy(walk->result->parameter, walk->inner.parameter, n * sizeof *place->parameter);
    memcpy(walk->result->at_bound, walk->inner.at_bound, n);
    walk->result->objective = objective;
    walk->result->gradient_norm = walk->inner.gradient_norm;
}

/* Fits the other parameters at theta into `place`. False: that failed. */
static bool visit(struct walk *walk, const struct place *a, const struct place *b, double theta, struct place *place)
{
    double natural = theta == walk->end && walk->ends_at_bound ? bound(walk) : fit_scale_to_natural(walk->scale, theta);
    for (int extrapolated = a != b; extrapolated >= 0; extrapolated--) {
        struct fit_options options = *walk->options;
        options.is_near = true;
        options.statistics = false;
        guess_others(walk, extrapolated ? a : b, b, theta);
        for (size_t i = walk->request->parameter; i < walk->n; i += walk->subject->n_parameter)
            walk->guess[i] = natural;
        if (!run_inner(walk, walk->fixed, &options))
            return false;
        if (outcome_is_success(walk->inner.outcome)) {
            take_place(walk, theta, place);
            return true;
        }
    }
    return false;
}

static void swap(struct place *a, struct place *b)
{
    struct place c = *a;
    *a = *b;
    *b = c;
}

/* The next step, from the change of r so far. */
static double next_step(const struct walk *walk, const struct place *a, const struct place *b)
{
    double step = fabs(b->theta - a->theta), slope = (b->r - a->r) / step;
    double wanted = LAST_AIM - b->r <= NEXT_RISE + 0.1 ? LAST_AIM - b->r : NEXT_RISE;
    double next = slope > 0 ? wanted / slope : walk->growth * step;
    return fmin(fmin(fmax(next, 0.1 * step), walk->growth * step), walk->longest);
}

/* The profile is below the threshold where the walk ends. */
static void end_outside(struct walk *walk)
{
    double nowhere = walk->request->side > 0 ? INFINITY : walk->scale == SCALE_LIN ? -INFINITY : 0;
    if (walk->ends_at_bound)
        end_walk(walk, LIMIT_bound, bound(walk));
    else
        end_walk(walk, LIMIT_infinite, nowhere);
}

/* Steps outward from place[1] (place[0] is the one before) until the limit lies between place[1] and place[2]. False: the walk
 * is over. */
static bool march(struct walk *walk, double step)
{
    struct place *place = walk->place;
    int side = walk->request->side;
    while (walk->profile->n_point < walk->profile->max_point / 2) {
        double theta = place[1].theta + side * step;
        if (side * (theta - walk->end) >= 0)
            theta = walk->end;
        if (!visit(walk, &place[0], &place[1], theta, &place[2])) {
            step *= 0.25;
            if (++walk->n_failure < MAX_FAILURES && !is_over(walk) && theta != place[1].theta)
                continue;
            fail(walk, LIMIT_failed, walk->inner.outcome, walk->inner.reason);
            return false;
        }
        if (place[2].r < 0) {
            end_walk(walk, LIMIT_better, NAN);
            return false;
        }
        if (place[2].r >= 1)
            return true;
        if (theta == walk->end)
            break;
        step = next_step(walk, &place[1], &place[2]);
        swap(&place[0], &place[1]);
        swap(&place[1], &place[2]);
    }
    if (place[2].theta != walk->end)
        fail(walk, LIMIT_failed, OUTCOME_budget, "the profile is too uneven to be followed to its end");
    else
        end_outside(walk);
    return false;
}

/* The place where the line through two places has r = 1. */
static double crossing(const struct place *a, const struct place *b)
{
    return a->theta + (1 - a->r) * (b->theta - a->theta) / (b->r - a->r);
}

/* The places around the limit are close together, but r jumps between them: the outer fit may have ended in another local
 * minimum. Fits the outer place again from the inner one's parameters. True: that gave r < 1, and the walk continues from
 * there. */
static bool is_valley_left(struct walk *walk)
{
    struct place *below = &walk->place[1], *above = &walk->place[2], *middle = &walk->place[0];
    if (!(above->r - below->r > JUMP) || !visit(walk, below, below, above->theta, middle) || !(middle->r < 1))
        return false;
    swap(below, middle); /* now place[0] is the inner one, place[1] the one before the jump */
    return true;
}

/* On the way to the limit the other parameters may have lost their influence for good, or missed a local minimum. Fits them
 * at the limit once more from the best fit. True: that was better, and the walk continues from there; otherwise the limit
 * stays. */
static bool is_lower_from_best(struct walk *walk, double theta)
{
    struct place *middle = &walk->place[0];
    end_walk(walk, LIMIT_found, fit_scale_to_natural(walk->scale, theta));
    if (!visit(walk, &walk->origin, &walk->origin, theta, middle)) {
        middle->r = INFINITY;
        if (is_over(walk))
            fail(walk, LIMIT_failed, walk->inner.outcome, walk->inner.reason);
        else if (isfinite(walk->inner.objective)) /* a lower objective of an unfinished fit proves the same */
            take_place(walk, theta, middle);
    }
    if (middle->r < 0)
        end_walk(walk, LIMIT_better, NAN);
    if (middle->r < 0 || middle->r * middle->r > 1 - AGREES)
        return false;
    swap(middle, &walk->place[1]);
    walk->place[0].theta = walk->place[1].theta; /* no line through two local minima */
    memcpy(walk->place[0].parameter, walk->place[1].parameter, walk->n * sizeof(double));
    return true;
}

/* Regula falsi with the Illinois rule (Dowell & Jarratt 1971) between place[1] (r < 1) and place[2] (r >= 1). True: the walk
 * continues from place[1]. */
static bool close_in(struct walk *walk)
{
    struct place *below = &walk->place[1], *above = &walk->place[2], *middle = &walk->place[0];
    double low = below->r - 1, high = above->r - 1, theta = crossing(below, above);
    int last = 0;
    const struct place *nearest = fabs(low) < fabs(high) ? below : above;
    while (fabs(nearest->r * nearest->r - 1) > TOLERANCE && walk->profile->n_point < walk->profile->max_point) {
        theta = below->theta - low * (above->theta - below->theta) / (high - low);
        if (above->r > STEEP)
            theta = 0.5 * (below->theta + above->theta);
        bool together = fabs(above->theta - below->theta) <= TOGETHER * fabs(above->theta - walk->start);
        if (together || theta == below->theta || theta == above->theta) {
            if (!is_valley_left(walk))
                break;
            if (walk->place[1].r < 0)
                end_walk(walk, LIMIT_better, NAN);
            return walk->place[1].r >= 0;
        }
        if (!visit(walk, below, above, theta, middle)) {
            fail(walk, LIMIT_failed, walk->inner.outcome, walk->inner.reason);
            return false;
        }
        if (middle->r < 0) {
            end_walk(walk, LIMIT_better, NAN);
            return false;
        }
        if (middle->r < 1) {
            swap(below, middle);
            low = below->r - 1;
            high = last < 0 ? 0.5 * high : above->r - 1;
            last = -1;
            nearest = below;
        } else {
            swap(above, middle);
            high = above->r - 1;
            low = last > 0 ? 0.5 * low : below->r - 1;
            last = 1;
            nearest = above;
        }
    }
    if (is_lower_from_best(walk, crossing(below, above)))
        return true;
    if (walk->profile->limit == LIMIT_found &&
        fit_profile_holds(walk->subject, walk->fixed, nearest->parameter, walk->result->at_bound))
        walk->profile->limit = LIMIT_held;
    return false;
}

/* The end of another side that lies farthest beyond the limit to review; NULL: none does. Once the rise is known (not 0),
 * only of those that are not above the threshold. */
static const double *farthest_end(const struct walk *walk)
{
    const struct fit_profile_request *request = walk->request;
    double limit = fit_scale_from_natural(walk->scale, request->limit);
    double most = limit + request->side * AGREES * fabs(limit - walk->start);
    const double *farthest = NULL;
    for (size_t k = 0; k < request->n_end; k++) {
        const double *end = request->end + k * (walk->n + 1);
        double theta = fit_scale_from_natural(walk->scale, end[1 + request->parameter]);
        bool is_below = !isnan(end[0]) && (walk->rise == 0 || end[0] <= walk->best + (1 + AGREES) * walk->rise);
        if (!is_below || !(request->side * (theta - most) > 0))
            continue;
        farthest = end;
        most = theta;
    }
    return farthest;
}

/* Fits the other parameters from that end. False: there is none below the threshold, or the walk is over. */
static bool begin_beyond(struct walk *walk, double *step)
{
    struct place *place = walk->place;
    const double *end = farthest_end(walk);
    if (!end)
        return false;
    double theta = fit_scale_from_natural(walk->scale, end[1 + walk->request->parameter]);
    if (walk->request->side * (theta - walk->end) >= 0)
        theta = walk->end;
    place[1].theta = theta;
    memcpy(place[1].parameter, end + 1, walk->n * sizeof *place[1].parameter);
    if (!visit(walk, &place[1], &place[1], theta, &place[2]) || !(place[2].r < 1))
        return false;
    swap(&place[1], &place[2]);
    place[0].theta = theta;
    memcpy(place[0].parameter, place[1].parameter, walk->n * sizeof *place[0].parameter);
    *step = fmin(AFTER_JUMP * fabs(theta - walk->start), walk->longest);
    if (place[1].r < 0)
        end_walk(walk, LIMIT_better, NAN);
    else if (theta == walk->end)
        end_outside(walk);
    return place[1].r >= 0 && theta != walk->end;
}

/* Sets where the walk ends and how long its steps may be. Returns the first step. */
static double plan(struct walk *walk, double width)
{
    double wall = fit_scale_from_natural(walk->scale, bound(walk));
    walk->ends_at_bound = isfinite(wall - walk->start);
    walk->end = walk->ends_at_bound ? wall : walk->start + walk->request->side * reach(walk, width);
    double most = fabs(walk->end - walk->start);
    double size = walk->scale != SCALE_LIN ? 1 : walk->start != 0 ? fabs(walk->start) : most;
    double step = isnan(width) ? 0.1 * fmin(most, size) : fmin(FIRST_STEP * width, most);
    walk->longest = walk->scale == SCALE_LIN ? INFINITY : fmax(LONGEST * DECADE[walk->scale], most / STEPS);
    step = fmin(step, walk->longest);
    walk->growth = fmax(GROWTH, step > 0 ? pow(most / step, 1 / STEPS) : 0);
    return step;
}

void fit_profile_follow(const struct fit_profile_subject *subject, const struct fit_options *options, struct arena *arena,
                        const struct fit_profile_request *request, struct fit_record *result, struct fit_profile *profile)
{
    struct walk walk = {.subject = subject, .options = options, .request = request, .result = result, .profile = profile};
    size_t i = request->parameter;
    double width;
    fit_clear(result, subject->n_parameter, 0);
    result->outcome = OUTCOME_converged;
    profile->n_point = 0;
    end_walk(&walk, LIMIT_not_fitted, NAN);
    if ((subject->fixed && subject->fixed[i]) || subject->lower[i] == subject->upper[i])
        return;
    if (!walk_init(&walk, arena)) {
        fail(&walk, LIMIT_failed, OUTCOME_out_of_memory, "no memory for a profile");
        return;
    }
    if (request->n_end && !farthest_end(&walk)) {
        end_walk(&walk, LIMIT_none, NAN);
        return;
    }
    if (!look_at_best(&walk, &width))
        return;
    double step = plan(&walk, width);
    if (walk.end == walk.start) {
        end_walk(&walk, LIMIT_bound, bound(&walk));
        return;
    }
    walk.origin.theta = walk.place[0].theta = walk.place[1].theta = walk.start;
    if (request->n_end) {
        end_walk(&walk, LIMIT_none, NAN);
        if (!begin_beyond(&walk, &step))
            return;
    }
    while (march(&walk, step) && close_in(&walk))
        step = AFTER_JUMP * fabs(walk.place[1].theta - walk.start);
}
