/* One dataset in memory: the calls that describe it, and what is wrong with it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "library/problem.h"

#include "base/words.h"

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
    data->t0 = abi->t0;
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
    if (!status && !parameter)
        status = error_set(&e, STATUS_USAGE, "no parameter is given: NULL");
    if (status)
        return library_give(status, &e, error);
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
    struct library_data *data = &problem->data;
    enum status status = begin_change(problem, "stiffit_add_measurements", &e);
    if (status)
        return library_give(status, &e, error);
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
        problem->data.t0 = t0;
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
    for (size_t k = 0; !e.status && k < n; k++) {
        if (!isfinite(time[k]) || !isfinite(value[k]))
            error_set(&e, STATUS_USAGE, "input %.60s, knot %zu: time %g, value %g; they must be "
                      "finite", name, k, time[k], value[k]);
        else if (k > 0 && time[k] <= time[k - 1])
            error_set(&e, STATUS_USAGE, "input %.60s, knot %zu: time is %.17g, after %.17g; times "
                      "must increase", name, k, time[k], time[k - 1]);
    }
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

/* What is wrong with a dose of the model's state i; NULL: nothing. */
static const char *dose_fault(const struct stiffit_model *abi, const struct dose *dose)
{
    uint8_t kind = abi->infusion ? abi->infusion_kind[dose->target] : STIFFIT_INFUSION_NONE;
    double rate = dose->rate, duration = dose->duration;
    bool repeats = dose->steady || dose->count > 1;
    if (!isfinite(dose->time) || !isfinite(dose->amount))
        return "time and amount must be finite";
    if ((!(duration >= 0 && duration < INFINITY) && duration != DOSE_OF_MODEL)
        || (!(rate >= 0 && rate < INFINITY) && rate != DOSE_OF_MODEL))
        return "duration and rate must be finite and >= 0, or -1: the model's";
    if (rate != 0 && duration != 0)
        return "give a rate or a duration, not both";
    if ((rate == DOSE_OF_MODEL && kind != STIFFIT_INFUSION_RATE)
        || (duration == DOSE_OF_MODEL && kind != STIFFIT_INFUSION_DURATION))
        return "the model has no rate or duration for this state";
    if (rate != 0 && !(dose->amount >= 0 && isfinite(dose->amount / rate)))
        return "with a rate the amount must be >= 0";
    if (dose->steady > DOSE_ADDS)
        return "steady is 0, 1 or 2";
    if (repeats && !(dose->interval > 0 && isfinite(dose->time + dose->count * dose->interval)))
        return "a repeated or steady dose needs an interval above 0";
    return NULL;
}

int stiffit_add_dose(struct stiffit_problem *problem, const struct stiffit_dose *given,
                     struct stiffit_error *error)
{
    struct error e = {.status = STATUS_OK};
    struct library_data *data = &problem->data;
    if (!begin_change(problem, "stiffit_add_dose", &e) && !given)
        error_set(&e, STATUS_USAGE, "no dose is given: NULL");
    if (e.status)
        return library_give(e.status, &e, error);
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
    const char *fault = dose_fault(abi, &dose);
    if (fault)
        error_set(&e, STATUS_USAGE, "dose into %.60s at t = %g: %s", given->target, given->time,
                  fault);
    else if (!array_grow(&data->dose, data->n_dose, &data->n_dose_room, sizeof *data->dose))
        error_set(&e, STATUS_NO_MEMORY, "out of memory for %zu doses", data->n_dose + 1);
    if (e.status)
        return library_give(e.status, &e, error);
    size_t at = data->n_dose++; /* in order of time, and of the calls */
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
    if (data->n_dose && data->dose[0].time < data->t0)
        return error_set(error, STATUS_BAD_PROBLEM, "a dose is given at t = %.17g, before t0 = "
                         "%.17g", data->dose[0].time, data->t0);
    return STATUS_OK;
}

static enum status check_parameters(const struct problem_block *block,
                                    const struct fit_setting *setting, struct error *error)
{
    for (size_t i = 0; i < setting->n_parameter; i++) {
        const char *name = setting->parameter_name[i];
        double start = block->start[i], lower = block->lower[i], upper = block->upper[i];
        bool is_log = setting->scale[i] != SCALE_LIN && !block->fixed[i];
        enum prior_kind prior = setting->prior ? setting->prior[i].kind : PRIOR_NONE;
        if (!isfinite(start))
            return error_set(error, STATUS_BAD_PROBLEM, "start of %.60s is %g", name, start);
        if (is_log && start <= 0 && !(lower > 0))
            return error_set(error, STATUS_BAD_PROBLEM, "start of %.60s is %g; with a logarithmic "
                             "scale it must be > 0", name, start);
        if (lower == INFINITY || upper == -INFINITY || (is_log && upper <= 0) || !(lower <= upper))
            return error_set(error, STATUS_BAD_PROBLEM, "the bounds of %.60s leave no value: %g to "
                             "%g", name, lower, upper);
        if (prior_is_positive(prior) && !block->fixed[i] && start <= 0)
            return error_set(error, STATUS_BAD_PROBLEM, "start of %.60s is %g; with its %s prior "
                             "it must be > 0", name, start, prior_word(prior));
    }
    return STATUS_OK;
}

static enum status check_row(const struct fit_setting *setting, const struct library_data *data,
                             size_t i, const char *sigma_for, struct error *error)
{
    const struct stiffit_model *abi = &setting->model->abi;
    double time = data->measured.time[i], value = data->measured.value[i],
           sigma = data->measured.sigma[i];
    uint32_t k = data->measured.observable[i];
    const char *name = abi->observable_name[k];
    if (isinf(value))
        return error_set(error, STATUS_BAD_PROBLEM, "measurement %zu (%.60s): value is infinite", i,
                         name);
    if (!(time >= data->t0))
        return error_set(error, STATUS_BAD_PROBLEM, "measurement %zu (%.60s): time is %.17g; t0 is "
                         "%.17g", i, name, time, data->t0);
    if (sigma <= 0 || isinf(sigma))
        return error_set(error, STATUS_BAD_PROBLEM, "measurement %zu (%.60s): sigma is %g; it must "
                         "be > 0 and finite (NaN: not known)", i, name, sigma);
    if (sigma_for && isnan(sigma))
        return error_set(error, STATUS_BAD_PROBLEM, "measurement %zu (%.60s): sigma is not known, "
                         "and the model has no noise: %s needs it", i, name, sigma_for);
    if (error_row[setting->error[k]].is_log && value <= 0)
        return error_set(error, STATUS_BAD_PROBLEM, "measurement %zu (%.60s): value is %g; with "
                         "log-normal errors it must be > 0", i, name, value);
    return STATUS_OK;
}

/* What requires every standard deviation; NULL: nothing. */
static const char *who_needs_sigma(const struct fit_setting *setting)
{
    if (setting->model->abi.noise)
        return NULL;
    for (size_t i = 0; setting->prior && i < setting->n_parameter; i++)
        if (setting->prior[i].kind != PRIOR_NONE && setting->prior[i].kind != PRIOR_UNIFORM)
            return "a prior of the model";
    for (uint32_t k = 0; k < setting->model->abi.n_observable; k++)
        if (error_row[setting->error[k]].growth == GROWTH_OTHER)
            return "this kind of errors";
    return setting->mixes ? "a mixture of kinds of errors" : NULL;
}

static enum status check_rows(const struct fit_setting *setting, const struct library_data *data,
                              struct error *error)
{
    const char *sigma_for = who_needs_sigma(setting);
    size_t n = 0;
    for (size_t i = 0; i < data->n_row; i++) {
        if (isnan(data->measured.value[i]))
            continue;
        n++;
        if (check_row(setting, data, i, sigma_for, error))
            return error->status;
    }
    return n ? STATUS_OK : error_set(error, STATUS_BAD_PROBLEM, "there is no measurement: call "
                                     "stiffit_add_measurements");
}

/* Uniform priors are bounds. */
static void tighten(const struct problem_prior *prior, double *lower, double *upper)
{
    if (!prior || !prior_has_bounds(prior->kind))
        return;
    *lower = prior->lower > *lower ? prior->lower : *lower;
    *upper = prior->upper < *upper ? prior->upper : *upper;
}

enum status library_data_block(const struct stiffit_problem *problem, bool is_fit,
                               struct problem_block *block, struct arena *arena,
                               struct error *error)
{
    const struct fit_setting *setting = &problem->ready.setting;
    struct library_data *data = (struct library_data *)(uintptr_t)&problem->data;
    size_t n = setting->n_parameter;
    static char *no_fault[1], no_id[] = "", *ids[] = {no_id};
    size_t *ends = arena_calloc(arena, 12, sizeof *ends);
    double *zero = arena_calloc(arena, 1, sizeof *zero);
    *block = (struct problem_block){.end = 1, .n = 1, .id = ids, .fault = no_fault,
                                    .rtol = zero, .n_experiment = 1, .experiment_id = ids,
                                    .t0 = &data->t0, .covariate = data->covariate,
                                    .measured = data->measured, .dose = data->dose,
                                    .input = data->input};
    block->dataset = arena_calloc(arena, 1, sizeof *block->dataset);
    block->n_noise = arena_calloc(arena, 1, sizeof *block->n_noise);
    block->fixed = arena_calloc(arena, n + 1, 1);
    if (!ends || !zero || !block->dataset || !block->n_noise || !block->fixed ||
        !ARENA_DOUBLES(arena, {&block->start, n, 1}, {&block->lower, n, 1}, {&block->upper, n, 1}))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", n);
    block->first_experiment = ends;
    block->row = ends + 2;
    block->first_dose = ends + 4;
    block->first_call = block->first_substitute = ends + 6;
    ends[1] = 1;
    block->row[1] = is_fit ? data->n_row : 0;
    block->first_dose[1] = data->n_dose;
    for (size_t i = 0; i < n; i++) {
        const struct stiffit_parameter *parameter = &data->parameter[i];
        block->start[i] = parameter->start;
        block->lower[i] = parameter->lower;
        block->upper[i] = parameter->upper;
        block->fixed[i] = (uint8_t)parameter->fixed;
        tighten(problem->ready.prior ? &problem->ready.prior[i] : NULL, &block->lower[i],
                &block->upper[i]);
    }
    enum status status = check_constants(problem, error);
    if (!status && is_fit)
        status = check_parameters(block, setting, error);
    return !status && is_fit ? check_rows(setting, data, error) : status;
}
