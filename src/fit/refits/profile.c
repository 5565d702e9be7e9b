/* Follows one side of a profile. Everything is measured in r = sqrt((objective - best) / rise):
 * 0 at the best fit, 1 at the limit, and linear in between if the objective is quadratic. The
 * walk steps outward by about half a unit of r, closes in on r = 1 between the last two points,
 * and there fits the other parameters once more from the best fit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/refits/profile.h"

#include "fit/objective/map.h"
#include "fit/objective/prior.h"
#include "fit/statistics/statistics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_FAILURES = 6, MAX_UNIT = 8 };
static const double UNIT_SETTLED = 1e-3;
static const double TOLERANCE = 1e-4;     /* of the rise, at the limit */
static const double FIRST_STEP = 0.5;     /* of the half-width given by the covariance */
static const double NEXT_RISE = 0.5;      /* of r, per step */
/* just beyond, so that the limit lies between two points */
static const double LAST_AIM = 1.02;
/* of the rise: an objective lower by this is a better fit */
static const double BETTER = -0.01;
/* of the distance from the best fit: two points closer than this ... */
static const double TOGETHER = 1e-6;
static const double JUMP = 0.01;          /* ... form a jump if their r differ by more than this */
/* of the distance from the best fit: the step after a jump */
static const double AFTER_JUMP = 0.01;
/* of the rise: two fits of the other parameters at the limit */
static const double AGREES = 1e-3;
static const double DECADES = 6, THOUSAND = 1000, WIDTHS = 10;
/* Steps on a logarithmic scale have at most this many decades, as a longer one may pass over a
 * crossing; but a bound, however far, is reached in about STEPS of them. */
static const double LONGEST = 2, STEPS = 30;
/* the longest step over the one before it, unless the bound is too far for that */
static const double GROWTH = 3;
/* this many times the limit: a line through such an r says nothing, the interval is halved */
static const double STEEP = 10;

/* A point of the profile. */
struct profile_point {
    double theta;       /* of the profiled parameter, optimiser's scale */
    double r;
    double *parameter;  /* all, natural scale */
};

struct walk {
    const struct fit_subject *subject;
    const struct fit_options *options;
    const struct fit_profile_request *request;
    struct fit_record *result;
    double value;               /* of the limit, natural scale */
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
    struct profile_point origin;   /* the best fit */
    struct profile_point point[3]; /* the latest ones; their arrays are swapped */
    int n_failure;
};

static bool walk_init(struct walk *walk, struct arena *arena)
{
    const struct fit_subject *subject = walk->subject;
    size_t n = walk->n = subject->n_copy * subject->n_parameter;
    double *const known[] = {walk->guess = arena_calloc(arena, n + 1, sizeof(double)),
                             walk->origin.parameter = arena_calloc(arena, n + 1, sizeof(double)),
                             walk->point[0].parameter = arena_calloc(arena, n + 1, sizeof(double)),
                             walk->point[1].parameter = arena_calloc(arena, n + 1, sizeof(double))};
    walk->point[2].parameter = arena_calloc(arena, n + 1, sizeof(double));
    walk->end_of_inner = arena_calloc(arena, n + 1, sizeof(double));
    walk->result->point = arena_calloc(arena, 2 * FIT_MAX_POINT, sizeof(double));
    walk->held = arena_calloc(arena, n + 1, 1);
    walk->fixed = arena_calloc(arena, n + 1, 1);
    void *arrays = arena_alloc(arena, fit_record_array_bytes(subject->n_parameter));
    if (!arrays || !walk->held || !walk->fixed || !walk->point[2].parameter ||
        !walk->end_of_inner || !walk->result->point)
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
    walk->result->limit = (uint8_t)limit;
    walk->value = value;
}

static void fail(struct walk *walk, enum limit limit, enum outcome outcome, const char *reason)
{
    end_walk(walk, limit, NAN);
    walk->result->outcome = outcome;
    snprintf(walk->result->reason, sizeof walk->result->reason, "%s", reason);
}

/* Whether the last fit ended in a way that rules out further fits; also if it changed to CVODES,
 * whose objectives are not compared with those of lanes: the side is repeated. */
static bool is_over(const struct walk *walk)
{
    enum outcome outcome = walk->inner.outcome;
    return walk->inner.notes & NOTE_changed_engine || outcome == OUTCOME_not_run ||
           outcome == OUTCOME_timeout || outcome == OUTCOME_out_of_memory ||
           (outcome == OUTCOME_budget &&
            walk->result->n_evaluation >= walk->options->max_evaluations);
}

/* Fits from the guess within the rest of the budgets. False: cancelled or out of a resource; the
 * walk is over. */
static bool run_inner(struct walk *walk, const uint8_t *fixed, struct fit_options *options)
{
    struct fit_record *result = walk->result, *inner = &walk->inner;
    options->max_evaluations =
        options->max_evaluations < walk->options->max_evaluations - result->n_evaluation
            ? options->max_evaluations
            : walk->options->max_evaluations - result->n_evaluation;
    options->max_total_steps = walk->options->max_total_steps - result->n_step;
    walk->subject->fit(walk->subject->context, walk->guess, fixed, walk->unit, options,
                       walk->end_of_inner, inner);
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
    double end =
        walk->request->side < 0 ? walk->inner.interval_lower[i] : walk->inner.interval_upper[i];
    double width = fabs(fit_scale_from_natural(walk->scale, end) - walk->start);
    return isfinite(width) && width > 0 ? width : NAN;
}

static bool is_sigma_known(const struct walk *walk)
{
    return !(walk->inner.notes & NOTE_no_model_sigma);
}

/* Repeats the best fit for objective, covariance and threshold. False: the walk is over. */
static bool look_at_best(struct walk *walk, double *width)
{
    struct fit_options once = *walk->options;
    once.max_evaluations = walk->subject->max_look;
    /* its first point has all the derivatives that statistics need */
    once.optimizer = OPTIMIZER_trf;
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
        fail(walk, LIMIT_freedom, OUTCOME_bad_data,
             "no degrees of freedom are left to estimate the measurement error from");
        return false;
    }
    if (!(walk->rise > 0)) {
        fail(walk, LIMIT_failed, OUTCOME_stalled,
             "the residuals are zero: a limit cannot be computed from them");
        return false;
    }
    *width = half_width(walk);
    return true;
}

/* The other parameters' start at theta: on the line through two known points, within their
 * bounds. */
static void guess_others(struct walk *walk, const struct profile_point *a,
                         const struct profile_point *b, double theta)
{
    const struct fit_subject *subject = walk->subject;
    double part = a->theta != b->theta ? (theta - b->theta) / (b->theta - a->theta) : 0;
    for (size_t i = 0; i < walk->n; i++) {
        enum parameter_scale scale = subject->scale[i % subject->n_parameter];
        double from = fit_scale_from_natural(scale, a->parameter[i]),
               to = fit_scale_from_natural(scale, b->parameter[i]);
        double natural = fit_scale_to_natural(scale, to + part * (to - from));
        if (!isfinite(natural) || from == to)
            natural = b->parameter[i];
        walk->guess[i] = walk->fixed[i] ? b->parameter[i]
                                        : fmin(fmax(natural, subject->lower[i]), subject->upper[i]);
    }
}

/* The term of the profiled parameter's prior: the objective of fits that hold it omits it. */
static double prior_term(const struct fit_subject *subject, size_t parameter, double theta,
                         double natural)
{
    const struct fit_prior *prior = subject->prior ? &subject->prior[parameter] : NULL;
    bool has_term = prior && prior->kind != PRIOR_NONE && prior->kind != PRIOR_UNIFORM;
    return has_term ? fit_prior_at(prior, theta, natural, 1, CURVATURE_ABOVE).f : 0;
}

/* Stores the end of the inner fit at theta in `point`, and in the record. */
static void take_point(struct walk *walk, double theta, struct profile_point *point)
{
    struct fit_record *result = walk->result;
    size_t i = walk->request->parameter, n = walk->subject->n_parameter;
    double natural = walk->guess[i],
           objective = walk->inner.objective + prior_term(walk->subject, i, theta, natural);
    double rise = (objective - walk->best) / walk->rise;
    point->theta = theta;
    point->r = rise > 0 ? sqrt(rise) : rise < BETTER ? -1 : 0;
    memcpy(point->parameter, walk->end_of_inner, walk->n * sizeof *point->parameter);
    if (result->n_point < FIT_MAX_POINT) {
        result->point[2 * result->n_point] = natural;
        result->point[2 * result->n_point + 1] = objective;
        result->n_point++;
    }
    memcpy(result->parameter, walk->inner.parameter, n * sizeof *point->parameter);
    memcpy(result->at_bound, walk->inner.at_bound, n);
    result->objective = objective;
    result->gradient_norm = walk->inner.gradient_norm;
}

/* Fits the other parameters at theta into `point`. False: that failed. */
static bool visit(struct walk *walk, const struct profile_point *a, const struct profile_point *b,
                  double theta, struct profile_point *point)
{
    double natural = theta == walk->end && walk->ends_at_bound
                         ? bound(walk)
                         : fit_scale_to_natural(walk->scale, theta);
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
            take_point(walk, theta, point);
            return true;
        }
    }
    return false;
}

static void swap(struct profile_point *a, struct profile_point *b)
{
    struct profile_point c = *a;
    *a = *b;
    *b = c;
}

/* The next step, from the change of r so far. */
static double next_step(const struct walk *walk, const struct profile_point *a,
                        const struct profile_point *b)
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

/* Steps outward from point[1] (point[0] is the one before) until the limit lies between point[1]
 * and point[2]. False: the walk is over. */
static bool march(struct walk *walk, double step)
{
    struct profile_point *point = walk->point;
    int side = walk->request->side;
    while (walk->result->n_point < FIT_MAX_POINT / 2) {
        double theta = point[1].theta + side * step;
        if (side * (theta - walk->end) >= 0)
            theta = walk->end;
        if (!visit(walk, &point[0], &point[1], theta, &point[2])) {
            step *= 0.25;
            if (++walk->n_failure < MAX_FAILURES && !is_over(walk) && theta != point[1].theta)
                continue;
            fail(walk, LIMIT_failed, walk->inner.outcome, walk->inner.reason);
            return false;
        }
        if (point[2].r < 0) {
            end_walk(walk, LIMIT_better, NAN);
            return false;
        }
        if (point[2].r >= 1)
            return true;
        if (theta == walk->end)
            break;
        step = next_step(walk, &point[1], &point[2]);
        swap(&point[0], &point[1]);
        swap(&point[1], &point[2]);
    }
    if (point[2].theta != walk->end)
        fail(walk, LIMIT_failed, OUTCOME_budget,
             "the profile is too uneven to be followed to its end");
    else
        end_outside(walk);
    return false;
}

/* Where the line through two points has r = 1. */
static double crossing(const struct profile_point *a, const struct profile_point *b)
{
    return a->theta + (1 - a->r) * (b->theta - a->theta) / (b->r - a->r);
}

/* The points around the limit are close together, but r jumps between them: the outer fit may
 * have ended in another local minimum. Fits the outer point again from the inner one's
 * parameters. True: that gave r < 1, and the walk continues from there. */
static bool is_valley_left(struct walk *walk)
{
    struct profile_point *below = &walk->point[1], *above = &walk->point[2],
                         *middle = &walk->point[0];
    if (!(above->r - below->r > JUMP) || !visit(walk, below, below, above->theta, middle) ||
        !(middle->r < 1))
        return false;
    swap(below, middle); /* now point[0] is the inner one, point[1] the one before the jump */
    return true;
}

/* On the way to the limit the other parameters may have lost their influence for good, or missed
 * a local minimum. Fits them at the limit once more from the best fit. True: that was better,
 * and the walk continues from there; otherwise the limit stays. */
static bool is_lower_from_best(struct walk *walk, double theta)
{
    struct profile_point *middle = &walk->point[0];
    end_walk(walk, LIMIT_found, fit_scale_to_natural(walk->scale, theta));
    if (!visit(walk, &walk->origin, &walk->origin, theta, middle)) {
        middle->r = INFINITY;
        if (is_over(walk))
            fail(walk, LIMIT_failed, walk->inner.outcome, walk->inner.reason);
        /* A lower objective of an unfinished fit proves the same. */
        else if (isfinite(walk->inner.objective))
            take_point(walk, theta, middle);
    }
    if (middle->r < 0)
        end_walk(walk, LIMIT_better, NAN);
    if (middle->r < 0 || middle->r * middle->r > 1 - AGREES)
        return false;
    swap(middle, &walk->point[1]);
    walk->point[0].theta = walk->point[1].theta; /* no line through two local minima */
    memcpy(walk->point[0].parameter, walk->point[1].parameter, walk->n * sizeof(double));
    return true;
}

/* Whether bounds hold parameters that are not fixed: at_bound of the result gets -1 or 1 for
 * those that are held in more than half of the datasets, else 0. */
static bool is_held(struct walk *walk, const struct profile_point *point)
{
    const struct fit_subject *subject = walk->subject;
    size_t n = subject->n_parameter;
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        size_t n_lower = 0, n_upper = 0;
        for (size_t k = i; k < walk->n; k += n) {
            bool is_free = !walk->fixed[k] && subject->lower[k] < subject->upper[k];
            n_lower += is_free && point->parameter[k] <= subject->lower[k];
            n_upper += is_free && point->parameter[k] >= subject->upper[k];
        }
        bool is_here = 2 * (n_lower + n_upper) > subject->n_copy;
        any = any || is_here;
        walk->result->at_bound[i] = 0;
        if (is_here)
            walk->result->at_bound[i] = n_lower > n_upper ? -1 : 1;
    }
    return any;
}

/* Regula falsi with the Illinois rule (Dowell & Jarratt 1971) between point[1] (r < 1) and
 * point[2] (r >= 1). True: the walk continues from point[1]. */
static bool close_in(struct walk *walk)
{
    struct profile_point *below = &walk->point[1], *above = &walk->point[2],
                         *middle = &walk->point[0];
    double low = below->r - 1, high = above->r - 1;
    int last = 0;
    const struct profile_point *nearest = fabs(low) < fabs(high) ? below : above;
    while (fabs(nearest->r * nearest->r - 1) > TOLERANCE && walk->result->n_point < FIT_MAX_POINT) {
        double theta = below->theta - low * (above->theta - below->theta) / (high - low);
        if (above->r > STEEP)
            theta = 0.5 * (below->theta + above->theta);
        bool together =
            fabs(above->theta - below->theta) <= TOGETHER * fabs(above->theta - walk->start);
        if (together || theta == below->theta || theta == above->theta) {
            if (!is_valley_left(walk))
                break;
            if (walk->point[1].r < 0)
                end_walk(walk, LIMIT_better, NAN);
            return walk->point[1].r >= 0;
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
    if (walk->result->limit == LIMIT_found && is_held(walk, nearest))
        walk->result->limit = LIMIT_held;
    return false;
}

/* The end of another side that lies farthest beyond the limit to review; NULL: none does. Once
 * the rise is known (not 0), only of those that are not above the threshold. */
static const double *farthest_end(const struct walk *walk)
{
    const struct fit_profile_request *request = walk->request;
    double limit = fit_scale_from_natural(walk->scale, request->limit);
    double most = limit + request->side * AGREES * fabs(limit - walk->start);
    const double *farthest = NULL;
    for (size_t k = 0; k < request->n_end; k++) {
        const double *end = request->end + k * (walk->subject->n_parameter + 1);
        double theta = fit_scale_from_natural(walk->scale, end[1 + request->parameter]);
        bool is_below =
            !isnan(end[0]) && (walk->rise == 0 || end[0] <= walk->best + (1 + AGREES) * walk->rise);
        if (!is_below || !(request->side * (theta - most) > 0))
            continue;
        farthest = end;
        most = theta;
    }
    return farthest;
}

/* All parameters of that end: what datasets do not have in common is not known there. */
static void take_end(const struct walk *walk, const double *end, double *parameter)
{
    const struct fit_subject *subject = walk->subject;
    for (size_t k = 0; k < walk->n; k++) {
        size_t i = k % subject->n_parameter;
        parameter[k] =
            !subject->is_common || subject->is_common[i] ? end[1 + i] : subject->start[k];
    }
}

/* Fits the other parameters from that end. False: there is none below the threshold, or the walk
 * is over. */
static bool begin_beyond(struct walk *walk, double *step)
{
    struct profile_point *point = walk->point;
    const double *end = farthest_end(walk);
    if (!end)
        return false;
    double theta = fit_scale_from_natural(walk->scale, end[1 + walk->request->parameter]);
    if (walk->request->side * (theta - walk->end) >= 0)
        theta = walk->end;
    point[1].theta = theta;
    take_end(walk, end, point[1].parameter);
    if (!visit(walk, &point[1], &point[1], theta, &point[2]) || !(point[2].r < 1))
        return false;
    swap(&point[1], &point[2]);
    point[0].theta = theta;
    memcpy(point[0].parameter, point[1].parameter, walk->n * sizeof *point[0].parameter);
    *step = fmin(AFTER_JUMP * fabs(theta - walk->start), walk->longest);
    if (point[1].r < 0)
        end_walk(walk, LIMIT_better, NAN);
    else if (theta == walk->end)
        end_outside(walk);
    return point[1].r >= 0 && theta != walk->end;
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
    walk->longest =
        walk->scale == SCALE_LIN ? INFINITY : fmax(LONGEST * DECADE[walk->scale], most / STEPS);
    step = fmin(step, walk->longest);
    walk->growth = fmax(GROWTH, step > 0 ? pow(most / step, 1 / STEPS) : 0);
    return step;
}

static void walk_side(struct walk *walk, struct arena *arena)
{
    const struct fit_subject *subject = walk->subject;
    const struct fit_profile_request *request = walk->request;
    size_t i = request->parameter;
    double width;
    end_walk(walk, LIMIT_not_fitted, NAN);
    if ((subject->fixed && subject->fixed[i]) || subject->lower[i] == subject->upper[i])
        return;
    if (!walk_init(walk, arena)) {
        fail(walk, request->n_end ? LIMIT_none : LIMIT_failed, OUTCOME_out_of_memory,
             "no memory for a profile");
        return;
    }
    if (request->n_end && !farthest_end(walk)) {
        end_walk(walk, LIMIT_none, NAN);
        return;
    }
    if (!look_at_best(walk, &width))
        return;
    double step = plan(walk, width);
    if (walk->end == walk->start) {
        end_walk(walk, LIMIT_bound, bound(walk));
        return;
    }
    walk->origin.theta = walk->point[0].theta = walk->point[1].theta = walk->start;
    if (request->n_end) {
        end_walk(walk, LIMIT_none, NAN);
        if (!begin_beyond(walk, &step))
            return;
    }
    while (march(walk, step) && close_in(walk))
        step = AFTER_JUMP * fabs(walk->point[1].theta - walk->start);
}

static void follow(const struct fit_subject *subject, const struct fit_options *options,
                   struct arena *arena, const struct fit_profile_request *request,
                   struct fit_record *record)
{
    struct walk walk = {.subject = subject,
                        .options = options, .request = request, .result = record};
    fit_record_begin(record, subject->n_parameter, 0);
    record->outcome = OUTCOME_converged;
    walk_side(&walk, arena);
    record->parameter[request->parameter] = walk.value;
}

void fit_profile_run(const struct fit_subject *subject, const struct fit_options *options,
                     struct arena *arena, const struct fit_profile_request *request,
                     struct fit_record *record)
{
    struct fit_options with = *options;
    with.certify = false;
    follow(subject, &with, arena, request, record);
    if (!(record->notes & NOTE_changed_engine))
        return;
    const struct fit_record first = *record;
    with.engine = ENGINE_REFERENCE;
    follow(subject, &with, arena, request, record);
    record->notes |= NOTE_changed_engine;
    fit_record_add_work(record, &first);
}
