/* Sorts rows in any order into a task in order of time, and returns the answers in the order of
 * the rows. Residuals use the fit's objective with a single row.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/predictor.h"

#include "base/process.h"
#include "fit/objective/objective.h"
#include "fit/objective/preequilibration.h"
#include "ode/task.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum status predictor_init(struct predictor *predictor, const struct model *model,
                           const struct ode_options *options, int64_t max_steps,
                           struct error *error)
{
    memset(predictor, 0, sizeof *predictor);
    predictor->model = model;
    predictor->max_steps = max_steps;
    predictor->rtol = options->rtol;
    enum status status = ode_alone_init(&predictor->alone, model, options, error);
    predictor->alone.alarm_s = process_hang_seconds();
    return status;
}

void predictor_fini(struct predictor *predictor)
{
    ode_alone_fini(&predictor->alone);
    arena_fini(&predictor->arena);
}

/* The evaluation of one experiment, with arrays of its own. False: out of memory. */
static bool begin(struct predictor *predictor, const struct predictor_rows *rows,
                  struct ode_task *task, struct ode_rows *sorted, struct evaluation *evaluation)
{
    struct arena *arena = &predictor->arena;
    struct measurements given = rows->measured;
    given.value = NULL;
    *task = (struct ode_task){.experiment = rows->experiment};
    bool is_sorted =
        rows->p &&
        ode_task_substitute(task, rows->n_measured, arena) &&
        ode_task_sort(task, sorted, &given, rows->n, rows->error, arena) &&
        (!rows->goes_to_rest || ode_task_add_steady(task, arena));
    double *answer = arena_alloc(arena, (rows->n + 1) * sizeof *answer);
    double *noise = arena_alloc(arena, (rows->n + 1) * sizeof *noise);
    *evaluation =
        (struct evaluation){.engine = rows->engine,
                            .task = task, .p = rows->p, .own = rows->own, .n_sens = rows->n_sens,
                            .sens = rows->sens, .own_sens = rows->own_sens, .column = rows->column,
                            .tighter = rows->rtol > 0 ? round(predictor->rtol / rows->rtol) : 1,
                            .max_steps = predictor->max_steps, .deadline_ns = INT64_MAX,
                            .lenient = true, .prediction = answer,
                            .noise = predictor->model->abi.noise ? noise : NULL};
    return is_sorted && answer && noise;
}

bool predictor_run(struct predictor *predictor, const struct predictor_rows *rows,
                   double *prediction, double *noise, char *reason)
{
    static const uint32_t source[] = {EXPERIMENT_NONE, 0};
    struct ode_task task[2];
    struct ode_rows sorted[2];
    struct evaluation evaluation[2], *asked[] = {&evaluation[0], &evaluation[1]};
    size_t own = rows->before != NULL; /* behind the one at whose steady state it begins */
    const struct fit_problem problem = {.model = predictor->model,
                                        .n_experiment = 1 + own, .task = task,
                                        .preequilibration = own ? source : NULL};
    const struct fit_map map = {.n_free = rows->n_fitted};
    bool has_noise = noise && predictor->model->abi.noise;
    arena_reset(&predictor->arena);
    if ((own && !begin(predictor, rows->before, &task[0], &sorted[0], &evaluation[0])) ||
        !begin(predictor, rows, &task[own], &sorted[own], &evaluation[own]) ||
        (rows->n > 0 && !(own ? fit_preequilibrate(&problem, &map, asked, 2, ode_alone_ask_both,
                                                   &predictor->alone)
                              : ode_alone_ask_both(&predictor->alone, asked, 1)))) {
        snprintf(reason, 160, "out of memory for %zu rows", rows->n);
        return false;
    }
    if (rows->n > 0 && evaluation[own].outcome != EVALUATION_OK) {
        snprintf(reason, 160, "%s", evaluation[own].reason);
        return false;
    }
    size_t n_lost = 0;
    for (size_t i = 0; i < rows->n; i++) {
        size_t number = sorted[own].number[i];
        prediction[number] = evaluation[own].prediction[i];
        if (isinf(prediction[number]) && !predictor->keeps_infinite)
            prediction[number] = NAN;
        n_lost += isnan(prediction[number]);
        if (noise)
            noise[number] = has_noise ? evaluation[own].noise[i] : (double)NAN;
    }
    snprintf(reason, 160, "no observable can be computed at any of the times");
    return n_lost < rows->n || rows->n == 0;
}

struct residual residual_of(const struct residual_kind *kind, const struct measurements *measured,
                            size_t i, double prediction, double noise)
{
    struct measurements row = measurements_from(measured, i);
    double value = *row.value, own = *row.sigma, weight, right,
           unit = kind->unit > 0 ? kind->unit : 1;
    const struct fit_loss *loss = &kind->loss[*row.observable];
    if (kind->unit > 0)
        own = unit;
    row.sigma = &own;
    const struct fit_objective objective = {.n_row = 1, .measured = row, .has_noise = !isnan(noise),
                                            .likelihood = kind->likelihood, .loss = kind->loss};
    const struct fit_answer answer = {.prediction = &prediction,
                                      .noise = &noise, .weight = &weight, .residual = &right};
    struct residual out = {.sigma = fit_objective_sigma(&objective, &answer, 0) / unit,
                           .residual = NAN, .weighted = NAN, .weight = NAN, .loss = NAN};
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
