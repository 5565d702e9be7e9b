/* L-BFGS for one dataset. If all residuals' derivatives are there anyway (forward
 * sensitivities), their triangle gives the remaining decrease. With adjoint gradients, each leg
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
    struct fit_leap leap;
    /* with adjoint gradients */
    struct fit_metric metric;
    struct fit_point forward; /* with the derivatives of all residuals */
    bool is_taken;            /* it has been asked for, and: */
    enum asked taken;
    double *rows, *rhs;       /* as in fit_objective_rows */
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

static double promise(struct descent *descent, double enough)
{
    struct trust_model *model = &descent->search->model;
    if (!model->is_current && !trust_model_update(model, descent->best))
        return INFINITY;
    double least = enough < INFINITY ? trust_model_promise_steepest(model, descent->best) : 0;
    return least > enough ? least : trust_model_promise_free(model, descent->best);
}

static double square(struct descent *descent, size_t j)
{
    return matrix_squares(j + 1, descent->search->model.triangle + j * descent->n);
}

static enum asked measure(struct descent *descent)
{
    struct single *single = single_of(descent);
    struct fit_asker *asker = descent->search->asker;
    struct fit_accuracy accuracy = asker->accuracy;
    size_t n = descent->n, n_row = fit_objective_n_row(&asker->objective);
    const double *theta = descent->best->theta;
    if (single->is_taken && fit_asker_is_same(asker, single->forward.theta, theta))
        return single->taken;
    memcpy(single->forward.theta, theta, n * sizeof *theta);
    single->is_taken = true;
    single->taken = ASKED_FAILED; /* until it is known */
    accuracy.gradient = GRADIENT_forward;
    enum asked asked = fit_ask(asker, accuracy, &single->forward, true);
    if (asked != ASKED_OK)
        return asked;
    struct fit_answer answer = fit_point_answer(asker, &single->forward);
    fit_objective_rows(&asker->objective, &answer, CURVATURE_ABOVE, single->rows, single->rhs);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i <= j; i++)
            single->metric.matrix[i + j * n] = single->metric.matrix[j + i * n] =
                matrix_dot(n_row, single->rows + i * n_row, single->rows + j * n_row);
    if (fit_metric_damp(&single->metric, &asker->map, theta))
        single->taken = ASKED_OK;
    return single->taken;
}

/* Leaves a start that is orders of magnitude off. */
static enum asked leap(struct descent *descent)
{
    struct single *single = single_of(descent);
    struct fit_asker *asker = descent->search->asker;
    enum asked asked = asker->is_near ? ASKED_FAILED : ASKED_OK;
    while (asked == ASKED_OK) {
        bool is_good = false;
        /* The derivatives with adjoint gradients are the first leg's metric, too. */
        if (descent->metric)
            asked = measure(descent);
        if (asked == ASKED_OK)
            asked = fit_leap_try(&single->leap, asker,
                                 descent->metric ? &single->forward : descent->best,
                                 descent->best->f, descent->trial, &is_good);
        if (is_good)
            descent_take(descent);
    }
    return asked == ASKED_END ? ASKED_END : ASKED_OK;
}

static const struct descent_method by_rows = {.evaluate = evaluate, .is_same = is_same,
                                              .take = take, .promise = promise, .square = square},
                                   by_gradients = {.evaluate = evaluate, .is_same = is_same,
                                                   .take = take, .measure = measure};

static bool init(struct single *single, struct fit_asker *asker, struct arena *arena)
{
    size_t n = asker->map.n_free;
    struct descent *descent = &single->descent;
    bool is_adjoint = asker->accuracy.gradient == GRADIENT_adjoint;
    size_t n_row = fit_objective_n_row(&asker->objective);
    single->search.asker = asker;
    stopping_init(&single->search.stopping, asker);
    *descent = (struct descent){.method = is_adjoint ? &by_gradients : &by_rows,
                                .search = &single->search, .map = &asker->map,
                                .is_near = asker->is_near,
                                .metric = is_adjoint ? &single->metric : NULL};
    bool has_model = is_adjoint
                       ? fit_metric_init(&single->metric, n, arena) &&
                             fit_point_init(&single->forward, asker, GRADIENT_forward, arena) &&
                             ARENA_DOUBLES(arena, {&single->rows, n_row, n},
                                           {&single->rhs, n_row, 1})
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
    memcpy(single->descent.trial->theta, theta, single->descent.n * sizeof *theta);
    enum asked asked = descent_begin(&single->descent);
    if (asked == ASKED_OK)
        asked = leap(&single->descent);
    end->outcome = asked == ASKED_OK    ? descent_run(&single->descent)
                   : asked == ASKED_END ? asker->outcome
                                        : asker->failure;
    end->stop = end->outcome == OUTCOME_converged ? single->search.stopping.met : STOP_none;
    end->best = single->descent.best;
    if (single->is_taken && single->taken == ASKED_OK && end->best
        && fit_asker_is_same(asker, single->forward.theta, end->best->theta))
        end->forward = &single->forward;
    end->n_iteration = single->search.n_iteration;
}
