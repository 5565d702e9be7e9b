/* One dataset in memory: the calls that describe it, and what is wrong with it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "library/problem.h"

#include "base/words.h"
#include "io/problem/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const scales[] = {"lin", "log", "log10"};
enum { N_SCALE = sizeof scales / sizeof *scales };

static const struct stiffit_model *abi_of(const struct stiffit_problem *problem)
{
    return &problem->system->model.abi;
}

enum status library_data_init(struct stiffit_problem *problem, struct error *error)
{
    const struct stiffit_model *abi = abi_of(problem);
    struct library_data *data = &problem->data;
    data->experiment = (struct experiment){.id = "", .steady = EXPERIMENT_NONE, .t0 = abi->t0};
    data->parameter = calloc(abi->n_parameter + 1, sizeof *data->parameter);
    data->covariate = calloc(abi->n_covariate + 1, sizeof *data->covariate);
    data->input = calloc(abi->n_input + 1, sizeof *data->input);
    if (!data->parameter || !data->covariate || !data->input)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for a problem");
    for (uint32_t i = 0; i < abi->n_covariate; i++)
        data->covariate[i] = NAN;
    for (uint32_t i = 0; i < abi->n_parameter; i++) {
        int scale = abi->parameter_scale ? words_find(abi->parameter_scale[i], scales, N_SCALE) : 0;
        data->parameter[i] = (struct stiffit_parameter){
            .name = abi->parameter_name[i], .scale = scales[scale > 0 ? scale : 0],
            .start = abi->parameter_start ? abi->parameter_start[i] : (double)NAN,
            .lower = abi->parameter_lower ? abi->parameter_lower[i] : -(double)INFINITY,
            .upper = abi->parameter_upper ? abi->parameter_upper[i] : (double)INFINITY};
    }
    return STATUS_OK;
}

void library_data_fini(struct stiffit_problem *problem)
{
    struct library_data *data = &problem->data;
    for (uint32_t i = 0; data->input && i < abi_of(problem)->n_input; i++)
        free((double *)(uintptr_t)data->input[i].time);
    free(data->input);
    free(data->covariate);
    free(data->parameter);
    free(data->rows);
    free(data->dose);
}

/* The dataset will be another one. */
static enum status begin_change(struct stiffit_problem *problem, const char *what,
                                struct error *error)
{
    if (library_is_null(problem, what, "problem", error))
        return error->status;
    if (!problem->system)
        return error_set(error, STATUS_USAGE, "%s: this problem is a file, whose datasets do not "
                         "change", what);
    problem->is_changed = true;
    return STATUS_OK;
}

/* The index of a name; -1, with an error. */
static int find(const char *name, const char *what, const char *const *names, size_t n,
                struct error *error)
{
    char hint[NEAREST_HINT];
    int i = name ? words_find(name, names, n) : -1;
    if (i < 0 && !n)
        error_set(error, STATUS_USAGE, "\"%.60s\": the model has no %s", name ? name : "NULL",
                  what);
    else if (i < 0)
        error_set(error, STATUS_USAGE, "\"%.60s\" is no %s of the model%s", name ? name : "NULL",
                  what, nearest_hint(hint, "; did you mean \"", "\"?", name ? name : "", names, n));
    return i;
}

int stiffit_set_parameter(struct stiffit_problem *problem,
                          const struct stiffit_parameter *parameter, struct stiffit_error *error)
{
    struct error e = {.status = STATUS_OK};
    enum status status = begin_change(problem, "stiffit_set_parameter", &e);
    if (status || library_is_null(parameter, "stiffit_set_parameter", "parameter", &e))
        return library_give(e.status, &e, error);
    const char *scale = parameter->scale ? parameter->scale : scales[0];
    int i = find(parameter->name, "parameter", abi_of(problem)->parameter_name,
                 abi_of(problem)->n_parameter, &e);
    int k = words_find(scale, scales, N_SCALE);
    if (i >= 0 && k < 0)
        error_set(&e, STATUS_USAGE, "parameter %.60s: \"%.20s\" is no scale; use lin, log or log10",
                  parameter->name, scale);
    else if (i >= 0 && !(parameter->lower <= parameter->upper))
        error_set(&e, STATUS_USAGE, "parameter %.60s: the lower bound is %g, above its upper bound "
                  "%g", parameter->name, parameter->lower, parameter->upper);
    if (e.status)
        return library_give(e.status, &e, error);
    struct stiffit_parameter *own = &problem->data.parameter[i];
    const char *name = own->name;
    *own = *parameter;
    own->name = name;
    own->scale = scales[k];
    own->fixed = parameter->fixed != 0;
    return library_give(STATUS_OK, &e, error);
}

/* Room for n more rows. */
static bool grow_rows(struct library_data *data, size_t n)
{
    size_t room = data->n_room ? data->n_room : 64;
    while (room - data->n_row < n)
        room *= 2;
    if (room == data->n_room)
        return true;
    void *rows = calloc(1, measurements_bytes(LIBRARY_COLUMNS, room));
    if (!rows)
        return false;
    struct measurements to = measurements_place(LIBRARY_COLUMNS, room, rows);
    if (data->n_row)
        measurements_copy(&to, 0, &data->measured, 0, data->n_row);
    free(data->rows);
    data->rows = rows;
    data->measured = to;
    data->n_room = room;
    return true;
}

int stiffit_add_measurements(struct stiffit_problem *problem, const char *observable, size_t n,
                             const double *time, const double *value, const double *sigma,
                             struct stiffit_error *error)
{
    struct error e = {.status = STATUS_OK};
    if (begin_change(problem, "stiffit_add_measurements", &e))
        return library_give(e.status, &e, error);
    struct library_data *data = &problem->data;
    const struct stiffit_model *abi = abi_of(problem);
    if (!observable && abi->n_observable == 1)
        observable = abi->observable_name[0];
    int k = find(observable, "observable", abi->observable_name, abi->n_observable, &e);
    if (k >= 0 && n > 0 && (!time || !value))
        error_set(&e, STATUS_USAGE, "%zu measurements of %.60s: time or value is NULL", n,
                  observable);
    if (!e.status && (n > SIZE_MAX / 1024 || !grow_rows(data, n)))
        error_set(&e, STATUS_NO_MEMORY, "out of memory for %zu measurements", n);
    if (e.status)
        return library_give(e.status, &e, error);
    for (size_t i = 0; i < n; i++) {
        size_t row = data->n_row++;
        data->measured.time[row] = time[i];
        data->measured.value[row] = value[i];
        data->measured.sigma[row] = sigma ? sigma[i] : (double)NAN;
        data->measured.observable[row] = (uint32_t)k;
    }
    return library_give(STATUS_OK, &e, error);
}

int stiffit_set_t0(struct stiffit_problem *problem, double t0, struct stiffit_error *error)
{
    struct error e = {.status = STATUS_OK};
    enum status status = begin_change(problem, "stiffit_set_t0", &e);
    if (!status && !isfinite(t0))
        status = error_set(&e, STATUS_USAGE, "t0 is %g; it must be finite", t0);
    if (!status)
        problem->data.experiment.t0 = t0;
    return library_give(status, &e, error);
}

int stiffit_set_covariate(struct stiffit_problem *problem, const char *name, double value,
                          struct stiffit_error *error)
{
    struct error e = {.status = STATUS_OK};
    if (begin_change(problem, "stiffit_set_covariate", &e))
        return library_give(e.status, &e, error);
    int i = find(name, "covariate", abi_of(problem)->covariate_name, abi_of(problem)->n_covariate,
                 &e);
    if (i >= 0 && !isfinite(value))
        error_set(&e, STATUS_USAGE, "covariate %.60s is %g; it must be finite", name, value);
    if (!e.status)
        problem->data.covariate[i] = value;
    return library_give(e.status, &e, error);
}

int stiffit_set_input(struct stiffit_problem *problem, const char *name, size_t n,
                      const double *time, const double *value, struct stiffit_error *error)
{
    struct error e = {.status = STATUS_OK};
    if (begin_change(problem, "stiffit_set_input", &e))
        return library_give(e.status, &e, error);
    int i = find(name, "input", abi_of(problem)->input_name, abi_of(problem)->n_input, &e);
    if (i >= 0 && (n == 0 || !time || !value))
        error_set(&e, STATUS_USAGE, "input %.60s has no knots", name);
    char fault[DATUM_FAULT];
    for (size_t k = 0; !e.status && k < n; k++)
        if (datum_knot_fault(time[k], value[k], k > 0 ? time[k - 1] : (double)NAN,
                             &(struct problem_message){fault, sizeof fault}))
            error_set(&e, STATUS_USAGE, "input %.60s, knot %zu: %s", name, k, fault);
    double *knots = e.status ? NULL : calloc(n, 2 * sizeof *knots);
    if (!e.status && !knots)
        error_set(&e, STATUS_NO_MEMORY, "out of memory for %zu knots", n);
    if (e.status)
        return library_give(e.status, &e, error);
    memcpy(knots, time, n * sizeof *knots);
    memcpy(knots + n, value, n * sizeof *knots);
    free((double *)(uintptr_t)problem->data.input[i].time);
    problem->data.input[i] = (struct input){.n = n, .time = knots, .value = knots + n};
    return library_give(STATUS_OK, &e, error);
}

/* What the model has for the state of a dose. */
static int infusion_kind(const struct stiffit_model *abi, const struct dose *dose)
{
    return abi->infusion ? abi->infusion_kind[dose->target] : STIFFIT_INFUSION_NONE;
}

int stiffit_add_dose(struct stiffit_problem *problem, const struct stiffit_dose *given,
                     struct stiffit_error *error)
{
    struct error e = {.status = STATUS_OK};
    if (begin_change(problem, "stiffit_add_dose", &e) ||
        library_is_null(given, "stiffit_add_dose", "dose", &e))
        return library_give(e.status, &e, error);
    struct library_data *data = &problem->data;
    const struct stiffit_model *abi = abi_of(problem);
    int i = find(given->target, "state", abi->state_name, abi->n_state, &e);
    if (i < 0)
        return library_give(e.status, &e, error);
    struct dose dose = {.time = given->time, .amount = given->amount, .duration = given->duration,
                        .rate = given->rate, .interval = given->interval, .count = given->count,
                        .target = (uint32_t)i,
                        .steady = (uint8_t)(given->steady < UINT8_MAX ? given->steady : UINT8_MAX)};
    if (dose.count == 0 && !dose.steady)
        dose.count = 1;
    char fault[DATUM_FAULT];
    if (given->steady > DOSE_ADDS)
        error_set(&e, STATUS_USAGE, "dose into %.60s at t = %g: steady is 0, 1 or 2", given->target,
                  given->time);
    else if (datum_dose_fault(&dose, -INFINITY, infusion_kind(abi, &dose), given->target,
                              &(struct problem_message){fault, sizeof fault}))
        error_set(&e, STATUS_USAGE, "dose into %.60s at t = %g: %s", given->target, given->time,
                  fault);
    else if (!array_grow(&data->dose, data->experiment.n_dose, &data->n_dose_room,
                         sizeof *data->dose))
        error_set(&e, STATUS_NO_MEMORY, "out of memory for %zu doses", data->experiment.n_dose + 1);
    if (e.status)
        return library_give(e.status, &e, error);
    size_t at = data->experiment.n_dose++; /* in order of time, and of the calls */
    for (; at > 0 && data->dose[at - 1].time > dose.time; at--)
        data->dose[at] = data->dose[at - 1];
    data->dose[at] = dose;
    return library_give(STATUS_OK, &e, error);
}

/* --- checks before a fit or an evaluation --- */

static enum status check_constants(const struct stiffit_problem *problem, struct error *error)
{
    const struct library_data *data = &problem->data;
    const struct stiffit_model *abi = abi_of(problem);
    for (uint32_t i = 0; i < abi->n_covariate; i++)
        if (isnan(data->covariate[i]))
            return error_set(error, STATUS_BAD_PROBLEM, "covariate %.60s has no value: call "
                             "stiffit_set_covariate", abi->covariate_name[i]);
    for (uint32_t i = 0; i < abi->n_input; i++)
        if (data->input[i].n == 0)
            return error_set(error, STATUS_BAD_PROBLEM, "input %.60s has no value: call "
                             "stiffit_set_input", abi->input_name[i]);
    if (data->experiment.n_dose && data->dose[0].time < data->experiment.t0)
        return error_set(error, STATUS_BAD_PROBLEM, "a dose is given at t = %.17g, before t0 = "
                         "%.17g", data->dose[0].time, data->experiment.t0);
    return STATUS_OK;
}

static enum status check_parameters(const struct problem_block *block,
                                    const struct stiffit_problem *problem, struct error *error)
{
    const struct library_ready *ready = &problem->ready;
    char fault[DATUM_FAULT];
    for (size_t i = 0; i < ready->setting.n_parameter; i++) {
        const struct parameter_datum parameter = {
            .name = ready->setting.parameter_name[i], .scale = problem->data.parameter[i].scale,
            .start = block->start[i], .lower = block->lower[i], .upper = block->upper[i],
            .is_fixed = block->fixed[i],
            .prior = ready->prior ? ready->prior[i].kind : PRIOR_NONE};
        if (datum_parameter_fault(&parameter, &(struct problem_message){fault, sizeof fault}))
            return error_set(error, STATUS_BAD_PROBLEM, "%s", fault);
    }
    return STATUS_OK;
}

enum { WHO = 100 };

/* What requires every standard deviation; NULL: nothing. */
static const char *who_needs_sigma(const struct fit_setting *setting, char who[WHO])
{
    const struct stiffit_model *abi = &setting->model->abi;
    int k = error_kinds_need_sigma(setting->error, abi->n_observable);
    if (abi->noise)
        return NULL;
    for (size_t i = 0; setting->prior && i < setting->n_parameter; i++)
        if (prior_needs_sigma(setting->prior[i].kind))
            return "a prior of the model";
    if (k < 0)
        return NULL;
    if (k == (int)abi->n_observable)
        return ERROR_KINDS_MIXED;
    snprintf(who, WHO, "%s errors of %.40s", error_kind_word[setting->error[k]],
             abi->observable_name[k]);
    return who;
}

static enum status check_rows(const struct fit_setting *setting, const struct library_data *data,
                              struct error *error)
{
    char who[WHO], fault[DATUM_FAULT];
    const char *sigma_for = who_needs_sigma(setting, who);
    size_t n = 0;
    for (size_t i = 0; i < data->n_row; i++) {
        uint32_t k = data->measured.observable[i];
        const char *name = setting->model->abi.observable_name[k];
        const struct row_datum row = {
            .time = data->measured.time[i], .value = data->measured.value[i],
            .sigma = data->measured.sigma[i], .t0 = data->experiment.t0, .limit = NAN,
            .observable = name,
            .error = setting->error[k], .sigma_for = sigma_for};
        if (isnan(row.value))
            continue;
        n++;
        if (datum_row_fault(&row, &(struct problem_message){fault, sizeof fault}))
            return error_set(error, STATUS_BAD_PROBLEM, "measurement %zu (%.60s): %s", i, name,
                             fault);
    }
    return n ? STATUS_OK : error_set(error, STATUS_BAD_PROBLEM, "there is no measurement: call "
                                     "stiffit_add_measurements");
}

enum status library_data_block(const struct stiffit_problem *problem, bool is_fit,
                               struct problem_block *block, struct arena *arena,
                               struct error *error)
{
    const struct fit_setting *setting = &problem->ready.setting;
    struct library_data *data = (struct library_data *)(uintptr_t)&problem->data;
    size_t n = setting->n_parameter;
    static char *no_fault[1], no_id[] = "", *ids[] = {no_id};
    size_t *ends = arena_calloc(arena, 4, sizeof *ends);
    double *zero = arena_calloc(arena, 1, sizeof *zero);
    *block = (struct problem_block){.end = 1, .n = 1, .id = ids, .fault = no_fault,
                                    .rtol = zero, .n_experiment = 1,
                                    .experiment = &data->experiment, .measured = data->measured};
    block->dataset = arena_calloc(arena, 1, sizeof *block->dataset);
    block->n_noise = arena_calloc(arena, 1, sizeof *block->n_noise);
    block->fixed = arena_calloc(arena, n + 1, 1);
    if (!ends || !zero || !block->dataset || !block->n_noise || !block->fixed ||
        !ARENA_DOUBLES(arena, {&block->start, n, 1}, {&block->lower, n, 1}, {&block->upper, n, 1}))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", n);
    block->first_experiment = ends;
    block->row = ends + 2;
    ends[1] = 1;
    block->row[1] = is_fit ? data->n_row : 0;
    data->experiment.covariate = data->covariate;
    data->experiment.dose = data->dose;
    data->experiment.input = data->input;
    for (size_t i = 0; i < n; i++) {
        const struct stiffit_parameter *parameter = &data->parameter[i];
        block->start[i] = parameter->start;
        block->lower[i] = parameter->lower;
        block->upper[i] = parameter->upper;
        block->fixed[i] = (uint8_t)parameter->fixed;
        if (problem->ready.prior)
            prior_tighten(&problem->ready.prior[i], &block->lower[i], &block->upper[i]);
    }
    enum status status = check_constants(problem, error);
    if (!status && is_fit)
        status = check_parameters(block, problem, error);
    return !status && is_fit ? check_rows(setting, data, error) : status;
}
