/* libstiffit's evaluations: a dataset's experiment at the caller's times, through the map and the
 * engine of fits.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "library/problem.h"

#include "fit/objective/map.h"
#include "fit/objective/preequilibration.h"
#include "ode/task.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What is evaluated: an experiment, behind the one at whose steady state it begins, if any. */
struct simulated {
    struct fit_problem problem;   /* of these experiments; every parameter is free, on scale lin */
    struct ode_task task[2];
    uint32_t preequilibration[2];
    struct fit_map map;
    struct ode_rows rows;         /* of the wanted one, the last */
};

static enum status no_memory(struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for an evaluation");
}

/* Keeps experiment e of the dataset's problem, and that at whose steady state it begins. Their rows
 * are dropped. */
static bool pick_experiments(struct simulated *simulated, const struct fit_problem *of, size_t e,
                             struct arena *arena)
{
    struct fit_problem *problem = &simulated->problem;
    uint32_t source = of->preequilibration ? of->preequilibration[e] : EXPERIMENT_NONE;
    size_t from[2] = {source == EXPERIMENT_NONE ? e : source, e};
    size_t n = source == EXPERIMENT_NONE ? 1 : 2;
    for (size_t k = 0; k < n; k++) {
        struct ode_task *task = &simulated->task[k];
        *task = of->task[from[k]];
        task->n_variant = task->n_time = task->n_row = 0;
        task->row_variant = NULL;
        task->row_sigma = NULL;
        task->row_is_log = NULL;
    }
    *problem = *of;
    problem->n_experiment = n;
    problem->task = simulated->task;
    problem->preequilibration = n > 1 ? simulated->preequilibration : NULL;
    simulated->preequilibration[0] = EXPERIMENT_NONE;
    simulated->preequilibration[1] = 0;
    struct ode_task *first = &simulated->task[0];
    const struct measurements none = {.time = NULL};
    struct ode_rows rows;
    return n == 1 || (ode_task_sort(first, &rows, &none, 0, NULL, arena)
                      && ode_task_add_steady(first, arena));
}

/* All parameters free at `parameter`. */
static enum status map_parameters(struct simulated *simulated, const double *parameter,
                                  struct arena *arena, struct error *error)
{
    struct fit_problem *problem = &simulated->problem;
    size_t n = problem->n_parameter;
    double *lower, *upper;
    enum parameter_scale *scale = arena_calloc(arena, n + 1, sizeof *scale);
    uint32_t notes = 0;
    char reason[160] = "";
    if (!scale || !ARENA_DOUBLES(arena, {&lower, n, 1}, {&upper, n, 1}))
        return no_memory(error);
    for (size_t i = 0; i < n; i++) {
        lower[i] = -INFINITY;
        upper[i] = INFINITY;
        if (!isfinite(parameter ? parameter[i] : problem->start[i]))
            return error_set(error, STATUS_USAGE, "parameter %.60s is %g; it must be finite",
                             problem->parameter_name[i],
                             parameter ? parameter[i] : problem->start[i]);
    }
    problem->start = parameter ? parameter : problem->start;
    problem->lower = lower;
    problem->upper = upper;
    problem->scale = scale;
    problem->fixed = NULL;
    enum outcome outcome = fit_map_init(&simulated->map, problem, true, arena, &notes, reason);
    if (outcome == OUTCOME_out_of_memory)
        return no_memory(error);
    return outcome == OUTCOME_converged ? STATUS_OK
                                        : error_set(error, STATUS_USAGE, "%s", reason);
}

/* Each observable at each time; row i * n_observable + k is observable k at time i. */
static enum status put_rows(struct simulated *simulated, size_t n_time, const double *time,
                            struct arena *arena, struct error *error)
{
    struct ode_task *task = &simulated->task[simulated->problem.n_experiment - 1];
    size_t n_observable = simulated->problem.model->abi.n_observable;
    if (n_time > SIZE_MAX / 64 / n_observable)
        return no_memory(error);
    size_t n = n_time * n_observable;
    struct measurements given = {.time = arena_alloc(arena, (n + 1) * sizeof *given.time),
                                 .observable = arena_alloc(arena, (n + 1)
                                                                  * sizeof *given.observable)};
    if (!given.time || !given.observable)
        return no_memory(error);
    for (size_t i = 0; i < n; i++) {
        given.time[i] = time[i / n_observable];
        given.observable[i] = (uint32_t)(i % n_observable);
        if (!(given.time[i] >= task->experiment.t0))
            return error_set(error, STATUS_USAGE, "time %zu is %.17g; it must not be before t0 = "
                             "%.17g", i / n_observable, given.time[i], task->experiment.t0);
    }
    return ode_task_sort(task, &simulated->rows, &given, n, NULL, arena) ? STATUS_OK
                                                                         : no_memory(error);
}

/* Fills the evaluations of all its experiments. False: out of memory. */
static bool fill(struct stiffit_problem *problem, struct simulated *simulated, bool has_sens,
                 struct evaluation *evaluation, struct arena *arena)
{
    const struct fit_map *map = &simulated->map;
    const struct fit_options *options = &problem->ready.fit;
    double *of_model;
    if (!ARENA_DOUBLES(arena, {&of_model, map->n_of_model, 1}))
        return false;
    fit_map_model(map, map->base, of_model);
    for (size_t e = 0; e < simulated->problem.n_experiment; e++) {
        const struct fit_binding *binding = fit_map_binding(map, e);
        size_t n = simulated->task[e].n_row, n_noise = simulated->problem.model->abi.noise ? n : 0;
        double *noise, *d_noise;
        evaluation[e] = (struct evaluation){
            .engine = options->engine, .task = &simulated->task[e], .named = map->base,
            .n_sens = has_sens ? binding->n_sens : 0, .sens = binding->sens, .stride = n,
            .column = binding->column, .max_steps = options->max_steps, .tighter = 1,
            .deadline_ns = INT64_MAX};
        fit_binding_set(binding, of_model + binding->offset, &evaluation[e]);
        if (!ARENA_DOUBLES(arena, {&evaluation[e].prediction, n, 1}, {&noise, n_noise, 1},
                           {&evaluation[e].d_prediction, n, has_sens ? map->n_free : 0},
                           {&d_noise, n_noise, has_sens ? map->n_free : 0}))
            return false;
        evaluation[e].noise = n_noise ? noise : NULL;
        evaluation[e].d_noise = n_noise && has_sens ? d_noise : NULL;
        if (!has_sens)
            evaluation[e].d_prediction = NULL;
    }
    return true;
}

static enum status judge(const struct evaluation *evaluation, bool has_sens, struct error *error)
{
    if (evaluation->outcome == EVALUATION_NO_MEMORY)
        return no_memory(error);
    if (evaluation->outcome == EVALUATION_BUDGET && !evaluation->reason[0])
        return error_set(error, STATUS_FITS_FAILED, "the integrator steps of one evaluation are "
                         "used up (max-steps)");
    if (evaluation->outcome != EVALUATION_OK)
        return error_set(error, STATUS_FITS_FAILED, "%s", evaluation->reason);
    if (has_sens && (evaluation->crosses || evaluation->meets))
        return error_set(error, STATUS_FITS_FAILED, "the trajectory has no derivative at a switch "
                         "or an event");
    return STATUS_OK;
}

/* Copies the answer from the order of times to that of the caller. */
static void give(const struct simulated *simulated, const struct evaluation *evaluation,
                 double *prediction, double *sensitivity)
{
    const struct fit_map *map = &simulated->map;
    size_t n = evaluation->task->n_row, n_parameter = simulated->problem.n_parameter;
    for (size_t i = 0; i < n; i++) {
        size_t row = simulated->rows.number[i];
        prediction[row] = evaluation->prediction[i];
        for (size_t j = 0; sensitivity && j < map->n_free; j++)
            sensitivity[row * n_parameter + map->file_index[j]] =
                evaluation->d_prediction[i + j * n];
    }
}

/* Where a dataset is evaluated: times of an experiment, and a point. */
struct place {
    size_t experiment, n_time;
    const double *time, *parameter;
};

static enum status evaluate(struct stiffit_problem *problem, size_t dataset,
                            const struct place *at, double *prediction, double *sensitivity,
                            struct error *error)
{
    struct simulated simulated;
    struct fit_problem of;
    struct evaluation evaluation[2], *asked[4] = {&evaluation[0], &evaluation[1]};
    const char *fault;
    enum status status = library_prepare(problem, error);
    arena_reset(&problem->arena);
    if (!status)
        status = library_dataset(problem, dataset, 0, false, &of, &fault, error);
    if (status)
        return status;
    if (fault)
        return error_set(error, STATUS_BAD_PROBLEM, "dataset %zu: %s", dataset, fault);
    if (at->experiment >= of.n_experiment)
        return error_set(error, STATUS_USAGE, "dataset %zu has no experiment %zu with "
                         "measurements: it has %zu, from 0", dataset, at->experiment,
                         of.n_experiment);
    if (!pick_experiments(&simulated, &of, at->experiment, &problem->arena))
        return no_memory(error);
    if ((status = put_rows(&simulated, at->n_time, at->time, &problem->arena, error))
        || (status = map_parameters(&simulated, at->parameter, &problem->arena, error)))
        return status;
    if (at->n_time == 0)
        return STATUS_OK;
    size_t n = simulated.problem.n_experiment;
    if (!fill(problem, &simulated, sensitivity != NULL, evaluation, &problem->arena)
        || !fit_preequilibrate(&simulated.problem, &simulated.map, asked, n,
                               ode_alone_ask_both, &problem->ready.alone))
        return no_memory(error);
    if (!(status = judge(&evaluation[n - 1], sensitivity != NULL, error)))
        give(&simulated, &evaluation[n - 1], prediction, sensitivity);
    return status;
}

int stiffit_evaluate(struct stiffit_problem *problem, size_t dataset, size_t experiment,
                     size_t n_time, const double *time, const double *parameter,
                     double *prediction, double *sensitivity, struct stiffit_error *error)
{
    struct error e = {.status = STATUS_OK};
    if (library_is_null(problem, "stiffit_evaluate", "problem", &e))
        return library_give(e.status, &e, error);
    const struct place at = {experiment, n_time, time, parameter};
    enum status status =
        n_time > 0 && (!time || !prediction)
            ? error_set(&e, STATUS_USAGE, "%zu times: time or prediction is NULL", n_time)
            : evaluate(problem, dataset, &at, prediction, sensitivity, &e);
    return library_give(status, &e, error);
}
