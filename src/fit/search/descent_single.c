/* L-BFGS for one dataset. If all residuals' derivatives are there anyway (forward
 * sensitivities), their triangle gives the remaining decrease. For adjoint gradients, each round
 * begins with one evaluation of these derivatives, and their square is the first guess.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/search/descent.h"

#include "fit/search/leap.h"
#include "fit/objective/matrix.h"
#include "fit/search/metric.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct single {
    struct descent descent;   /* the first field: the method's functions get it */
    struct fit_search search; /* the model is that of the best point; with adjoint gradients
                               * there is none */
    bool is_adjoint;          /* a metric is used instead of the model */
    struct fit_metric metric;
    double *factor;           /* n x n: the metric's */
    struct fit_leap leap;
};

static struct single *single_of(struct descent *descent) { return (struct single *)descent; }

static enum asked evaluate(struct descent *descent)
{
    struct fit_asker *asker = descent->search->asker;
    return fit_ask(asker, asker->accuracy, descent->trial, true);
}

static bool is_same(const struct descent *descent, const double *theta, const double *other)
{
    return fit_asker_is_same(descent->search->asker, theta, other);
}

static void take(struct descent *descent) { descent->search->model.is_current = false; }

/* By the round's metric, which covers only the parameters of the round. */
static double promise_by_metric(struct descent *descent)
{
    size_t k = 0;
    for (size_t j = 0; j < descent->n; j++)
        if (!fit_point_is_held(descent->map, descent->best, j) &&
            (k == descent->n_loose || descent->loose[k++] != j))
            return INFINITY;
    return k < descent->n_loose ? INFINITY
                                : fit_metric_promise(&single_of(descent)->metric, k, descent->loose,
                                                     descent->best->gradient, descent->factor);
}

static double promise(struct descent *descent, double enough)
{
    struct trust_model *model = &descent->search->model;
    if (descent->factor)
        return promise_by_metric(descent);
    if (single_of(descent)->is_adjoint ||
        (!model->is_current && !trust_model_update(model, descent->best)))
        return INFINITY;
    double least = enough < INFINITY ? trust_model_promise_steepest(model, descent->best) : 0;
    return least > enough ? least : trust_model_promise_free(model, descent->best);
}

static double square(struct descent *descent, size_t j)
{
    return descent->factor
             ? single_of(descent)->metric.matrix[j + j * descent->n]
             : matrix_squares(j + 1, descent->search->model.triangle + j * descent->n);
}

/* Holds parameters on a bound that the metric's step would push out of the box, whatever their
 * own slopes, for this round: otherwise the others could not move. The step is that of all loose
 * parameters. True: there was one. */
static bool drop_leaving(struct descent *descent)
{
    const struct fit_map *map = descent->map;
    size_t count = 0;
    for (size_t k = 0; k < descent->n_loose; k++) {
        size_t j = descent->loose[k];
        double theta = descent->best->theta[j], minus_step = single_of(descent)->metric.step[k];
        if ((theta <= map->lower[j] && minus_step > 0) ||
            (theta >= map->upper[j] && minus_step < 0))
            continue;
        descent->loose[count] = (uint32_t)j;
        descent->origin[count] = descent->origin[k];
        descent->slope[count++] = descent->slope[k];
    }
    bool any = count > 0 && count < descent->n_loose;
    descent->n_loose = count > 0 ? count : descent->n_loose;
    return any;
}

/* The metric, with adjoint gradients. */
static enum asked guess(struct descent *descent)
{
    struct single *single = single_of(descent);
    struct fit_metric *metric = &single->metric;
    struct fit_asker *asker = descent->search->asker;
    enum asked asked = fit_metric_ask(metric, asker, descent->best->theta);
    do
        descent->factor = asked == ASKED_OK &&
                                  fit_metric_factor(metric, asker, descent->n_loose, descent->loose,
                                                    descent->slope, descent->state.shrink,
                                                    single->factor)
                            ? single->factor
                            : NULL;
    while (descent->factor && drop_leaving(descent));
    return asked;
}

/* Leaves a start that is orders of magnitude off. */
static enum asked leap(struct descent *descent)
{
    struct single *single = single_of(descent);
    struct fit_asker *asker = descent->search->asker;
    enum asked asked = asker->is_near ? ASKED_FAILED : ASKED_OK;
    while (asked == ASKED_OK) {
        bool is_good = false;
        /* The derivatives with adjoint gradients are the first round's metric, too. */
        if (single->is_adjoint)
            asked = fit_metric_ask(&single->metric, asker, descent->best->theta);
        if (asked == ASKED_OK)
            asked = fit_leap_try(&single->leap, asker,
                                 single->is_adjoint ? &single->metric.point : descent->best,
                                 descent->best->f, descent->trial, &is_good);
        if (is_good)
            descent_take(descent);
    }
    return asked == ASKED_END ? ASKED_END : ASKED_OK;
}

static const struct descent_method by_rows = {.evaluate = evaluate, .is_same = is_same,
                                              .take = take, .promise = promise, .square = square},
                                   by_gradients = {.evaluate = evaluate, .is_same = is_same,
                                                   .take = take, .guess = guess,
                                                   .promise = promise, .square = square};

static bool init(struct single *single, struct fit_asker *asker, struct arena *arena)
{
    size_t n = asker->map.n_free;
    struct descent *descent = &single->descent;
    single->is_adjoint = asker->accuracy.gradient == GRADIENT_adjoint;
    single->search.asker = asker;
    stopping_init(&single->search.stopping, asker);
    *descent = (struct descent){.method = single->is_adjoint ? &by_gradients : &by_rows,
                                .search = &single->search, .map = &asker->map,
                                .is_near = asker->is_near};
    bool has_model = single->is_adjoint ? fit_metric_init(&single->metric, asker, arena)
                                              && ARENA_DOUBLES(arena, {&single->factor, n, n})
                                        : trust_model_init(&single->search.model, asker, arena);
    return has_model && descent_init(descent, arena) &&
           fit_leap_init_single(&single->leap, asker, true, arena) &&
           fit_point_init(&descent->points[0], asker, asker->accuracy.gradient, arena) &&
           fit_point_init(&descent->points[1], asker, asker->accuracy.gradient, arena);
}

void descent_search(struct fit_asker *asker, struct arena *arena, const double *theta,
                    struct search_end *end)
{
    *end = (struct search_end){.outcome = OUTCOME_out_of_memory};
    struct single *single = arena_calloc(arena, 1, sizeof *single);
    if (!single || !init(single, asker, arena)) {
        snprintf(asker->reason, sizeof asker->reason, "no memory for this fit");
        return;
    }
    const struct fit_metric *metric = &single->metric;
    memcpy(single->descent.trial->theta, theta, single->descent.n * sizeof *theta);
    enum asked asked = descent_begin(&single->descent);
    if (asked == ASKED_OK)
        asked = leap(&single->descent);
    end->outcome = asked == ASKED_OK    ? descent_run(&single->descent)
                   : asked == ASKED_END ? asker->outcome
                                        : asker->failure;
    end->stop = end->outcome == OUTCOME_converged ? single->search.stopping.met : STOP_none;
    end->best = single->descent.best;
    if (metric->is_taken && metric->taken == ASKED_OK && end->best
        && fit_asker_is_same(asker, metric->point.theta, end->best->theta))
        end->forward = &metric->point;
    end->n_iteration = single->search.n_iteration;
}
