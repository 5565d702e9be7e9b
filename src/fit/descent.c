/* An active-set loop around libLBFGS. It searches over the parameters that no bound holds, until one of them meets a bound or
 * nothing better is found; then the set is chosen again. libLBFGS only proposes trials; they are judged here. If all residuals'
 * derivatives are available anyway (forward sensitivities), their triangle gives the remaining decrease; with a gradient alone
 * it is estimated from the latest iterations.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/search.h"

#include "fit/lbfgs.h"
#include "fit/leap.h"
#include "fit/matrix.h"
#include "fit/metric.h"
#include "fit/stopping.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A round with one metric ends after this many iterations. */
enum { REFRESH = 12 };
enum { MEMORY = 10, HISTORY = 10, FEW_BARREN = 3, MAX_BARREN = 6, MAX_MISSED = 20, APART = 9, KNOWN = 32 };

/* The gradient test accepts a remaining decrease of this many tolerances (stopping.c). */
static const double LOOSEST_TEST = 1e3;
/* Length of the first trial: a tenth of a natural unit on a logarithmic scale, a tenth of the values on a linear one. */
static const double FIRST_LENGTH = 0.1;
/* A point within rounding of a bound: this part of the parameter's size. */
static const double AT_BOUND = 1e-13;
/* The least size of a parameter, as a part of its range, if it has one. */
static const double LEAST_SIZE = 1e-2;
/* A parameter whose best change is this many times its size is of another size. */
static const double TOO_SMALL = 1e3;

struct descent {
    struct fit_asker *asker;
    size_t n;
    struct fit_point *best, *trial, points[2];
    struct stopping stopping;
    bool is_adjoint;            /* a metric is used instead of a model */
    struct trust_model model;   /* of the best point */
    struct fit_metric metric;
    struct fit_leap leap;
    bool has_metric;            /* of this round: `factor` is the metric's */
    int n_round;                /* iterations of this round */
    double *base, *place;       /* theta of libLBFGS's latest iterate and of its latest trial */
    double *origin, *slope;     /* where its search begins, and the gradient there (loose entries) */
    double *factor;             /* diagonal, n x n: one unit of the search's variables */
    double *scratch;
    uint32_t *loose;
    size_t n_loose;
    bool met_bound, ended;      /* the latest trial was cut at a bound; ASKED_END was seen */
    int n_missed;               /* consecutive trials without improvement */
    double *known;              /* KNOWN x (2 n + 1): theta, objective (NaN: it failed) and gradient of the latest trials,
                                 * because a new round may try the same points again; the oldest is overwritten */
    size_t n_known;
    double apart[APART];        /* disagreement of value and slopes in the latest such trials */
    int n_apart;
    double hope;                /* the largest decrease promised by the parabola through such a trial's slopes */
    double history[HISTORY];    /* objectives after the latest iterations */
    int n_gain;
    double shrink;              /* of the first trial, after rounds in which every trial went too far */
    bool is_flat;               /* the latest iterations gained almost nothing */
    int64_t n_iteration;
    enum stop_test met;
};

static struct descent *new_search(struct fit_asker *asker, struct arena *arena)
{
    size_t n = asker->map.n_free;
    bool is_adjoint = asker->accuracy.gradient == GRADIENT_adjoint;
    struct descent *descent = arena_calloc(arena, 1, sizeof *descent);
    if (!descent
        || !ARENA_DOUBLES(arena, {&descent->scratch, lbfgs_scratch(n), 1}, {&descent->factor, n, n}, {&descent->base, n, 1},
                          {&descent->place, n, 1}, {&descent->origin, n, 1}, {&descent->slope, n, 1},
                          {&descent->known, KNOWN, 2 * n + 1})
        || !(descent->loose = arena_calloc(arena, n + 1, sizeof *descent->loose))
        || !fit_leap_init(&descent->leap, asker, true, arena)
        || !fit_point_init(&descent->points[0], asker, asker->accuracy.gradient, arena)
        || !fit_point_init(&descent->points[1], asker, asker->accuracy.gradient, arena)
        || (is_adjoint && !fit_metric_init(&descent->metric, asker, arena))
        || (!is_adjoint && !trust_model_init(&descent->model, asker, arena)))
        return NULL;
    descent->asker = asker;
    descent->n = n;
    descent->shrink = 1;
    descent->is_adjoint = is_adjoint;
    descent->trial = &descent->points[0];
    stopping_init(&descent->stopping, asker);
    return descent;
}

static void take_trial(struct descent *descent)
{
    struct fit_point *old = descent->best ? descent->best : &descent->points[1];
    descent->best = descent->trial;
    descent->trial = old;
    descent->model.is_current = false;
    descent->hope = 0;
}

/* By the round's metric, which covers only the parameters of the round. */
static double promise_by_metric(struct descent *descent)
{
    size_t k = 0;
    for (size_t j = 0; j < descent->n; j++)
        if (!fit_point_is_held(&descent->asker->map, descent->best, j) && (k == descent->n_loose || descent->loose[k++] != j))
            return INFINITY;
    return k < descent->n_loose ? INFINITY : fit_metric_promise(&descent->metric, k, descent->loose, descent->best->gradient,
                                                                descent->factor);
}

/* The remaining decrease at the best point; infinite if unknown. */
static double promise(struct descent *descent)
{
    struct trust_model *model = &descent->model;
    if (descent->has_metric)
        return promise_by_metric(descent);
    if (descent->is_adjoint || (!model->is_current && !trust_model_update(model, descent->best)))
        return INFINITY;
    return trust_model_promise_free(model, descent->best);
}

static double tolerance(const struct descent *descent)
{
    return stopping_tolerance(&descent->stopping, descent->best);
}

/* Whether the remaining decrease is within the tolerance. */
static bool is_done(struct descent *descent)
{
    struct trust_model *model = &descent->model;
    double enough = tolerance(descent);
    bool has_model = !descent->has_metric && !descent->is_adjoint
                     && (model->is_current || trust_model_update(model, descent->best));
    return !(has_model && trust_model_promise_steepest(model, descent->best) > enough) && promise(descent) <= enough;
}

/* Records a trial without improvement: by how much value and slopes disagree, and where the slopes along the step put the
 * minimum. */
static void note_miss(struct descent *descent)
{
    const struct fit_point *best = descent->best, *trial = descent->trial;
    double at_best = 0, at_trial = 0, by_slopes = stopping_by_slopes(descent->asker, best, trial);
    if (fabs(by_slopes) + fabs(best->f - trial->f) > tolerance(descent)) /* shorter trials show nothing */
        descent->apart[descent->n_apart++ % APART] = fabs(best->f - trial->f - by_slopes);
    for (size_t j = 0; j < descent->n; j++) {
        at_best += best->gradient[j] * (trial->theta[j] - best->theta[j]);
        at_trial += trial->gradient[j] * (trial->theta[j] - best->theta[j]);
    }
    if (at_best < 0 && at_trial > at_best)
        descent->hope = fmax(descent->hope, 0.5 * at_best * at_best / (at_trial - at_best));
}

/* Puts x (loose entries) into the trial's theta, cut back to the box along the step from the latest iterate. Returns the
 * remaining part of the step: 1 if x lies within the box. */
static double place_trial(struct descent *descent, const double *x)
{
    const struct fit_map *map = &descent->asker->map;
    double *theta = descent->trial->theta, part = 1, hit_bound = 0;
    size_t hit = descent->n;
    memcpy(theta, descent->base, descent->n * sizeof *theta);
    for (size_t k = 0; k < descent->n_loose; k++) {
        size_t j = descent->loose[k];
        double bound = x[k] < map->lower[j] ? map->lower[j] : x[k] > map->upper[j] ? map->upper[j] : x[k];
        /* A point within rounding of the bound is put on it. */
        if (fabs(x[k] - bound) <= AT_BOUND * (fit_map_size(map, j, theta[j]) + fabs(bound)))
            continue;
        double allowed = (bound - theta[j]) / (x[k] - theta[j]);
        if (allowed < part) {
            part = allowed;
            hit = j;
            hit_bound = bound;
        }
    }
    for (size_t k = 0; k < descent->n_loose; k++) {
        size_t j = descent->loose[k];
        double value = part < 1 ? theta[j] + part * (x[k] - theta[j]) : x[k];
        theta[j] = value < map->lower[j] ? map->lower[j] : value > map->upper[j] ? map->upper[j] : value;
    }
    if (hit < descent->n)
        theta[hit] = hit_bound;
    return part;
}

/* x with each entry clipped to the box separately. */
static void project_trial(struct descent *descent, const double *x)
{
    const struct fit_map *map = &descent->asker->map;
    memcpy(descent->trial->theta, descent->base, descent->n * sizeof *descent->base);
    for (size_t k = 0; k < descent->n_loose; k++) {
        size_t j = descent->loose[k];
        descent->trial->theta[j] = fmin(map->upper[j], fmax(map->lower[j], x[k]));
    }
}

/* Asks for the trial unless it is already known. Then only objective and gradient are available, which suffices, because it was
 * not better. */
static enum asked ask_once(struct descent *descent, bool *is_known)
{
    size_t n = descent->n, n_known = descent->n_known < KNOWN ? descent->n_known : KNOWN;
    struct fit_point *trial = descent->trial;
    for (size_t k = 0; k < n_known; k++) {
        const double *entry = descent->known + k * (2 * n + 1);
        *is_known = fit_asker_is_same(descent->asker, entry, trial->theta);
        if (*is_known) {
            trial->f = entry[n];
            memcpy(trial->gradient, entry + n + 1, n * sizeof *entry);
            return isnan(trial->f) ? ASKED_FAILED : ASKED_OK;
        }
    }
    enum asked asked = fit_ask(descent->asker, descent->asker->accuracy, trial, true);
    double *entry = descent->known + descent->n_known++ % KNOWN * (2 * n + 1);
    memcpy(entry, trial->theta, n * sizeof *entry);
    entry[n] = asked == ASKED_OK ? trial->f : NAN;
    memcpy(entry + n + 1, trial->gradient, n * sizeof *entry);
    *is_known = false;
    return asked;
}

/* Asks for the trial; `better`: it is the new best point. */
static enum asked ask(struct descent *descent, bool *better)
{
    bool is_known;
    *better = false;
    enum asked asked = ask_once(descent, &is_known);
    descent->ended = asked == ASKED_END;
    /* Very close to a bound, the gain of a step onto it is lost in rounding, but the search can continue from there. */
    double limit = descent->best->f + (descent->met_bound ? 4 * DBL_EPSILON * fabs(descent->best->f) : 0);
    bool is_lower = descent->trial->f < descent->best->f || (descent->met_bound && descent->trial->f <= limit);
    if (asked == ASKED_OK && !is_known && is_lower) {
        *better = true;
        take_trial(descent);
    } else if (asked == ASKED_OK) {
        note_miss(descent);
    }
    descent->n_missed = *better ? 0 : descent->n_missed + 1;
    return asked;
}

static bool try_point(void *context, const double *x, double *f, double *gradient)
{
    struct descent *descent = context;
    bool better;
    if (place_trial(descent, x) < 1) {
        /* A clipped step meets many bounds at once; a cut step is certain to go downhill, but meets only one. */
        descent->met_bound = true;
        project_trial(descent, x);
        if (ask(descent, &better) == ASKED_END || better || !(place_trial(descent, x) > 0))
            return false;
    }
    switch (ask(descent, &better)) {
    case ASKED_END:
        return false;
    case ASKED_FAILED: /* a value that no line search accepts, and slope 0 */
        *f = INFINITY;
        memset(gradient, 0, descent->n_loose * sizeof *gradient);
        return descent->n_missed < MAX_MISSED;
    case ASKED_OK:
        break;
    }
    const struct fit_point *point = better ? descent->best : descent->trial;
    *f = point->f;
    for (size_t k = 0; k < descent->n_loose; k++)
        gradient[k] = point->gradient[descent->loose[k]];
    memcpy(descent->place, point->theta, descent->n * sizeof *descent->place);
    return !descent->met_bound && descent->n_missed < MAX_MISSED;
}

static bool accept(void *context)
{
    struct descent *descent = context;
    memcpy(descent->base, descent->place, descent->n * sizeof *descent->base);
    descent->n_iteration++;
    descent->n_round++;
    double *before = &descent->history[descent->n_gain++ % HISTORY];
    descent->is_flat = descent->n_gain > HISTORY && *before - descent->best->f <= tolerance(descent);
    *before = descent->best->f;
    bool is_old = descent->has_metric && descent->n_round >= REFRESH;
    return !descent->is_flat && !is_old && !is_done(descent);
}

/* Holds parameters on a bound that the metric's step would push out of the box, whatever their own slopes, for this round:
 * otherwise the others could not move. The step is that of all loose parameters. True: there was one. */
static bool drop_leaving(struct descent *descent)
{
    const struct fit_map *map = &descent->asker->map;
    size_t count = 0;
    for (size_t k = 0; k < descent->n_loose; k++) {
        size_t j = descent->loose[k];
        double theta = descent->best->theta[j], minus_step = descent->metric.step[k];
        if ((theta <= map->lower[j] && minus_step > 0) || (theta >= map->upper[j] && minus_step < 0))
            continue;
        descent->loose[count] = (uint32_t)j;
        descent->origin[count] = descent->origin[k];
        descent->slope[count++] = descent->slope[k];
    }
    bool any = count > 0 && count < descent->n_loose;
    descent->n_loose = count > 0 ? count : descent->n_loose;
    return any;
}

/* The metric of the round, if one is used. ASKED_END: the fit is over. */
static enum asked take_metric(struct descent *descent)
{
    enum asked asked = fit_metric_ask(&descent->metric, descent->asker, descent->best->theta);
    do
        descent->has_metric = asked == ASKED_OK
                              && fit_metric_factor(&descent->metric, descent->asker, descent->n_loose, descent->loose,
                                                   descent->slope, descent->shrink, descent->factor);
    while (descent->has_metric && drop_leaving(descent));
    return asked;
}

/* The size of parameter j, by which the first trial may change it. Where 0 is all that is known of it, or a start that is many
 * orders of magnitude too small, what would be its best change if it alone changed. */
static double size_of(const struct descent *descent, size_t j)
{
    const struct fit_map *map = &descent->asker->map;
    const struct trust_model *model = &descent->model;
    double size = fit_map_size(map, j, descent->best->theta[j]), alone = 0;
    if (map->upper[j] - map->lower[j] < INFINITY) /* a value may be near 0 by chance */
        size = fmax(size, LEAST_SIZE * (map->upper[j] - map->lower[j]));
    if (model->is_current && map->scale[j] == SCALE_LIN) {
        double square = matrix_squares(j + 1, model->triangle + j * descent->n);
        alone = square > 0 ? fabs(descent->best->gradient[j]) / square : 0;
    }
    size = alone > TOO_SMALL * size ? alone : size;
    return size > 0 ? size : 1;
}

/* Sets the loose parameters, and a metric that gives the first trial the right length. */
static void prepare(struct descent *descent)
{
    const struct fit_point *best = descent->best;
    double norm = 0;
    descent->n_loose = 0;
    for (size_t j = 0; j < descent->n; j++)
        if (!fit_point_is_held(&descent->asker->map, descent->best, j))
            descent->loose[descent->n_loose++] = (uint32_t)j;
    memset(descent->factor, 0, descent->n_loose * descent->n_loose * sizeof *descent->factor);
    for (size_t k = 0; k < descent->n_loose; k++) {
        size_t j = descent->loose[k];
        descent->origin[k] = best->theta[j];
        descent->slope[k] = best->gradient[j];
        descent->factor[k + k * descent->n_loose] = 1 / size_of(descent, j);
        norm += pow(descent->slope[k] / descent->factor[k + k * descent->n_loose], 2);
    }
    double unit = sqrt(sqrt(norm) / (FIRST_LENGTH * descent->shrink));
    for (size_t k = 0; k < descent->n_loose; k++)
        descent->factor[k + k * descent->n_loose] *= unit > 0 ? unit : 1;
    memcpy(descent->base, best->theta, descent->n * sizeof *descent->base);
    descent->met_bound = descent->is_flat = descent->has_metric = false;
    descent->n_missed = descent->n_round = 0;
}

/* Without the columns of derivatives, no gradient is known to be small: any may be one in small units. */
static bool is_orthogonal(struct descent *descent)
{
    const struct fit_point *best = descent->best;
    double left = promise(descent);
    if (!isfinite(left))
        return false;
    double single = descent->has_metric ? fit_metric_promise_single(&descent->metric, descent->asker, best)
                                        : trust_model_promise_single(&descent->model, best);
    return stopping_is_orthogonal(&descent->stopping, best, single, left);
}

static enum stop_test find_met(struct descent *descent)
{
    if (fit_point_gradient_norm(descent->asker, descent->best) == 0)
        return STOP_gradient;
    enum stop_test by_value = stopping_by_value(&descent->stopping, descent->best);
    if (by_value != STOP_none)
        return by_value;
    return is_done(descent) ? STOP_decrease : is_orthogonal(descent) ? STOP_gradient : STOP_none;
}

/* The median of the latest disagreements: a single one may be small by chance. Infinite: there are none. */
static double noise_of(const struct descent *descent)
{
    double sorted[APART];
    int n = descent->n_apart < APART ? descent->n_apart : APART;
    for (int i = 0; i < n; i++) {
        int k = i;
        for (; k > 0 && sorted[k - 1] > descent->apart[i]; k--)
            sorted[k] = sorted[k - 1];
        sorted[k] = descent->apart[i];
    }
    return n > 0 ? sorted[n / 2] : INFINITY;
}

/* Called after several rounds that gained almost nothing. */
static enum outcome judge_barren(struct descent *descent)
{
    struct fit_asker *asker = descent->asker;
    double left = promise(descent);
    if (!isfinite(left) && descent->hope > 0)
        left = descent->hope;
    descent->stopping.noise = noise_of(descent);
    if (left <= tolerance(descent)) {
        descent->met = STOP_step;
        return OUTCOME_converged;
    }
    descent->met = STOP_none;
    /* Round after round finds nothing: a remaining decrease that the gradient test accepts does not justify a failure. */
    if (stopping_is_noise(&descent->stopping, left, descent->best) || left <= LOOSEST_TEST * tolerance(descent)) {
        asker->notes |= NOTE_noise_floor;
        descent->met = STOP_noise;
        return OUTCOME_converged;
    }
    fit_asker_end(asker, OUTCOME_stalled, "no objective below %.6g was found, and the gradient is still %.3g",
                  descent->best->f, fit_point_gradient_norm(asker, descent->best));
    return OUTCOME_stalled;
}

static enum outcome run_rounds(struct descent *descent)
{
    size_t n_on_bound = 0; /* consecutive rounds */
    for (int n_barren = 0; (descent->met = find_met(descent)) == STOP_none;) {
        double before = descent->best->f;
        prepare(descent);
        descent->ended = descent->is_adjoint && take_metric(descent) == ASKED_END;
        if (descent->ended)
            return descent->asker->outcome;
        if (descent->has_metric && (descent->met = find_met(descent)) != STOP_none)
            break;
        struct lbfgs_search search = {.n = descent->n_loose, .origin = descent->origin, .gradient = descent->slope,
                                      .f = before, .factor = descent->factor, .trial = try_point, .accepted = accept,
                                      .context = descent, .memory = MEMORY, .scratch = descent->scratch};
        if (lbfgs_search_run(&search) == LBFGS_NO_MEMORY)
            return OUTCOME_out_of_memory;
        if (descent->ended)
            return descent->asker->outcome;
        bool barren = before - descent->best->f <= tolerance(descent);
        descent->met = STOP_step;
        double left = promise(descent); /* far from the optimum of parameters in small units, gains are small too */
        if (descent->is_flat && barren && (!isfinite(left) || left <= stopping_noise_likely(&descent->stopping, descent->best)))
            return OUTCOME_converged;
        /* A round that ends on a bound may gain almost nothing, yet the next round is a different search. */
        bool moved = descent->met_bound && !descent->n_missed && n_on_bound++ < 2 * descent->n;
        n_barren = barren && !moved ? n_barren + 1 : 0;
        n_on_bound = barren ? n_on_bound : 0;
        descent->shrink = n_barren > 0 ? 0.1 * descent->shrink : 1;
        if (n_barren < FEW_BARREN)
            continue;
        enum outcome outcome = judge_barren(descent);
        if (outcome == OUTCOME_converged || n_barren >= (descent->met_bound ? MAX_BARREN : FEW_BARREN))
            return outcome;
    }
    return OUTCOME_converged;
}

/* Leaves a start that is orders of magnitude off, parameter by parameter. */
static enum asked leap(struct descent *descent)
{
    while (!descent->asker->is_near) {
        const struct fit_point *point = descent->best;
        enum asked known = ASKED_OK;
        if (descent->is_adjoint) { /* these derivatives are the first round's metric, too */
            known = fit_metric_ask(&descent->metric, descent->asker, descent->best->theta);
            point = &descent->metric.point;
        }
        if (known != ASKED_OK || !fit_leap_find(&descent->leap, descent->asker, point))
            return known == ASKED_END ? ASKED_END : ASKED_OK;
        memcpy(descent->trial->theta, descent->leap.theta, descent->n * sizeof(double));
        enum asked asked = fit_ask(descent->asker, descent->asker->accuracy, descent->trial, true);
        if (asked == ASKED_END)
            return ASKED_END;
        double after = asked == ASKED_OK ? descent->trial->f : (double)NAN;
        if (fit_leap_is_good(&descent->leap, descent->asker, descent->best->f, after))
            take_trial(descent);
    }
    return ASKED_OK;
}

static enum outcome run(struct descent *descent, const double *theta)
{
    struct fit_asker *asker = descent->asker;
    memcpy(descent->trial->theta, theta, descent->n * sizeof *theta);
    bool is_known;
    switch (ask_once(descent, &is_known)) {
    case ASKED_END: return asker->outcome;
    case ASKED_FAILED: return asker->failure;
    case ASKED_OK: break;
    }
    take_trial(descent);
    if (leap(descent) == ASKED_END)
        return asker->outcome;
    return run_rounds(descent);
}

void descent_search(struct fit_asker *asker, struct arena *arena, const double *theta, struct search_end *end)
{
    *end = (struct search_end){.outcome = OUTCOME_out_of_memory};
    struct descent *descent = new_search(asker, arena);
    if (!descent) {
        snprintf(asker->reason, sizeof asker->reason, "no memory for this fit");
        return;
    }
    end->outcome = run(descent, theta);
    end->stop = end->outcome == OUTCOME_converged ? descent->met : STOP_none;
    end->best = descent->best;
    const struct fit_metric *metric = &descent->metric;
    if (metric->is_taken && metric->taken == ASKED_OK && descent->best
        && fit_asker_is_same(asker, metric->point.theta, descent->best->theta))
        end->forward = &metric->point;
    end->n_iteration = descent->n_iteration;
}
