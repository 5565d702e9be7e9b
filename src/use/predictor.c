/* Sorts rows in any order into a task in order of time, and returns the answers in the order of the rows.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/predictor.h"

#include "fit/objective.h"
#include "ode/task.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum status predictor_init(struct predictor *predictor, const struct model *model, const struct ode_options *options,
                            int64_t max_steps, struct error *error)
{
    memset(predictor, 0, sizeof *predictor);
    predictor->model = model;
    predictor->max_steps = max_steps;
    predictor->rtol = options->rtol;
    predictor->pool = engine_pool_new(model, options, 1, 1, error);
    if (!predictor->pool)
        return error->status;
    predictor->engine = engine_new(predictor->pool, error);
    return predictor->engine ? STATUS_OK : error->status;
}

void predictor_fini(struct predictor *predictor)
{
    if (predictor->engine)
        engine_free(predictor->engine);
    if (predictor->pool)
        engine_pool_free(predictor->pool);
    arena_fini(&predictor->arena);
    predictor->engine = NULL;
    predictor->pool = NULL;
}

bool predictor_run(struct predictor *predictor, const struct predictor_rows *rows, double *prediction, double *noise,
                   char *reason)
{
    struct arena *arena = &predictor->arena;
    struct ode_task task = {.t0 = rows->t0, .covariate = rows->covariate, .n_dose = rows->n_dose, .dose = rows->dose,
                            .input = rows->input};
    struct measurements given = rows->measured;
    struct ode_rows sorted;
    bool has_noise = noise && predictor->model->abi.noise;
    arena_reset(arena);
    given.value = NULL;
    bool is_sorted = ode_task_sort(&task, &sorted, &given, rows->n, rows->error, arena);
    double *answer = arena_alloc(arena, (rows->n + 1) * sizeof *answer);
    double *answer_noise = arena_alloc(arena, (rows->n + 1) * sizeof *answer_noise);
    if (!is_sorted || !answer || !answer_noise) {
        snprintf(reason, 160, "out of memory for %zu rows", rows->n);
        return false;
    }
    struct evaluation evaluation = {.engine = rows->engine, .task = &task, .p = rows->p, .n_sens = rows->n_sens,
                                    .sens = rows->sens,
                                    .tighter = rows->rtol > 0 ? round(predictor->rtol / rows->rtol) : 1,
                                    .max_steps = predictor->max_steps, .deadline_ns = INT64_MAX,
                                    .lenient = true, .prediction = answer,
                                    .noise = predictor->model->abi.noise ? answer_noise : NULL};
    if (rows->n > 0)
        engine_evaluate(predictor->engine, &evaluation);
    if (rows->n > 0 && evaluation.outcome == EVALUATION_ODE_FAILED && rows->engine == ENGINE_LANES) {
        evaluation.engine = ENGINE_CVODES;
        engine_evaluate(predictor->engine, &evaluation);
    }
    if (rows->n > 0 && evaluation.outcome != EVALUATION_OK) {
        snprintf(reason, 160, "%s", evaluation.reason);
        return false;
    }
    size_t n_lost = 0;
    for (size_t i = 0; i < rows->n; i++) {
        n_lost += isnan(answer[i]);
        prediction[sorted.number[i]] = answer[i];
        if (noise)
            noise[sorted.number[i]] = has_noise ? answer_noise[i] : (double)NAN;
    }
    snprintf(reason, 160, "no observable can be computed at any of the times");
    return n_lost < rows->n || rows->n == 0;
}

struct residual residual_of(const struct residual_kind *kind, const struct measurements *measured, size_t i, double prediction,
                            double noise)
{
    struct measurements row = measurements_from(measured, i);
    double value = *row.value, own = *row.sigma, weight, right, unit = kind->unit > 0 ? kind->unit : 1;
    const struct fit_loss *loss = &kind->loss[*row.observable];
    if (kind->unit > 0)
        own = unit;
    row.sigma = &own;
    const struct fit_objective objective = {.n_row = 1, .measured = row, .has_noise = !isnan(noise),
                                            .likelihood = kind->likelihood, .loss = kind->loss};
    const struct fit_answer answer = {.prediction = &prediction, .noise = &noise, .weight = &weight, .residual = &right};
    struct residual out = {.sigma = fit_objective_sigma(&objective, &answer, 0) / unit, .residual = NAN, .weighted = NAN,
                           .weight = NAN, .loss = NAN};
    if (isnan(value) || isnan(prediction))
        return out;
    out.loss = fit_objective_value(&objective, &answer) * unit;
    if (*row.censored)
        return out;
    out.residual = loss->is_log ? log(value / prediction) : value - prediction;
    out.weighted = out.residual / out.sigma;
    out.weight = fit_loss_at(loss, out.weighted / unit).weight / unit;
    return out;
}
