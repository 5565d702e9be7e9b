/* Matches the problem file with the model: parameters, covariates and observables by name, the
 * model's defaults for what the file lacks, and faults that concern all datasets.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem/internal.h"

#include "base/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stiffit/model.h>
#include <string.h>

struct problem_expectation problem_expectation_of(const struct stiffit_model *abi)
{
    return (struct problem_expectation){.model_name = abi->name,
                                        .parameter = parameters_of_model(abi, PARAMETER_ALL),
                                        .n_covariate = abi->n_covariate,
                                        .n_observable = abi->n_observable,
                                        .covariate_name = abi->covariate_name,
                                        .observable_name = abi->observable_name,
                                        .n_state = abi->n_state, .state_name = abi->state_name,
                                        .n_input = abi->n_input, .input_name = abi->input_name,
                                        .n_event = abi->n_event, .event_name = abi->event_name,
                                        .parameter_use = abi->parameter_use,
                                        .use_of_rows = STIFFIT_USE_OBSERVE | STIFFIT_USE_NOISE,
                                        .infusion_kind = abi->infusion ? abi->infusion_kind : NULL,
                                        .t0 = abi->t0,
                                        .has_noise = abi->noise != NULL,
                                        .observable_error = abi->observable_error};
}

static void add_unknown(struct problem *problem, const char *path, const char *what,
                        const char *name, const char *of, const char *const *known, size_t n_known)
{
    /* The search for the nearest match takes time, so only for faults that are shown. */
    const char *near = problem->faults.n < FAULTS_LISTED && strlen(name) < 64
                           ? nearest_name(name, known, n_known)
                           : NULL;
    faults_add(&problem->faults, "%s: %s has no %s \"%.60s\"%s%s%s", path, of, what, name,
               near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

/* Copies names: the model may be closed before the problem. */
static const char *const *copy_names(struct problem *problem, size_t n, const char *const *names)
{
    const char **copy = arena_calloc(&problem->arena, n + 1, sizeof *copy);
    for (size_t i = 0; copy && i < n; i++)
        copy[i] = arena_strdup(&problem->arena, names[i]);
    return copy;
}

/* What is needed of the model until the problem is closed. */
static void keep_model(struct problem *problem, const struct problem_expectation *model)
{
    size_t n = model->parameter.n;
    uint8_t *kind = arena_calloc(&problem->arena, model->n_state + 1, sizeof *kind);
    if (kind && model->infusion_kind)
        memcpy(kind, model->infusion_kind, model->n_state);
    problem->model = (struct problem_expectation){
        .parameter = {.n = n, .name = copy_names(problem, n, model->parameter.name)},
        .n_covariate = model->n_covariate,
        .n_observable = model->n_observable, .n_state = model->n_state, .n_input = model->n_input,
        .covariate_name = copy_names(problem, model->n_covariate, model->covariate_name),
        .observable_name = copy_names(problem, model->n_observable, model->observable_name),
        .state_name = copy_names(problem, model->n_state, model->state_name),
        .input_name = copy_names(problem, model->n_input, model->input_name),
        .infusion_kind = model->infusion_kind ? kind : NULL, .t0 = model->t0,
        .has_noise = model->has_noise, .allows_empty = model->allows_empty};
}

/* The model's parameters that /parameters lacks: experiments must give them values in
 * /substitutes, except where the model's own start serves as a constant. */
static void match_substituted(struct problem *problem,
                              const struct problem_expectation *expectation)
{
    const struct problem_field *field = problem->stream[GROUP_SUBSTITUTES].field;
    size_t n = expectation->parameter.n;
    problem->is_of_state = arena_calloc(&problem->arena, n + 1, sizeof *problem->is_of_state);
    problem->must_substitute =
        arena_calloc(&problem->arena, n + 1, sizeof *problem->must_substitute);
    problem->seen = arena_calloc(&problem->arena, n + 1, sizeof *problem->seen);
    for (size_t j = 0; j < n && !problem->arena.failed; j++) {
        const char *name = expectation->parameter.name[j];
        uint8_t use = expectation->parameter_use ? expectation->parameter_use[j] : UINT8_MAX;
        problem->is_of_state[j] =
            expectation->n_state > 0 && (use & ~expectation->use_of_rows) != 0;
        if (words_find(name, problem->parameter_name, problem->n_parameter) >= 0)
            continue;
        if (words_find(name, field[SUBSTITUTE_parameter].name, field[SUBSTITUTE_parameter].n_name) <
            0)
            faults_add(&problem->faults,
                       "/parameters/name: the model's parameter \"%.60s\" is missing", name);
        problem->must_substitute[j] =
            !expectation->parameter.start || !isfinite(expectation->parameter.start[j]);
    }
}

static enum status match_parameters(struct problem *problem,
                                    const struct problem_expectation *expectation,
                                    struct error *error)
{
    const struct problem_info *info = &problem->info;
    const struct problem_field *by = &problem->stream[GROUP_SUBSTITUTES].field[SUBSTITUTE_by];
    char of[100];
    snprintf(of, sizeof of, "the model %.80s", expectation->model_name);
    problem_adopt(problem, expectation);
    size_t n = info->parameter_name ? info->n_parameter : expectation->parameter.n;
    problem->n_parameter = n;
    problem->parameter_name = info->parameter_name
                                  ? info->parameter_name
                                  : copy_names(problem, n, expectation->parameter.name);
    problem->to_model = arena_calloc(&problem->arena, n + 1, sizeof *problem->to_model);
    if (problem->arena.failed)
        return problem_no_memory(problem, error);
    for (size_t i = 0; i < n; i++) {
        const char *name = problem->parameter_name[i];
        int found = words_find(name, expectation->parameter.name, expectation->parameter.n);
        if (found < 0 && words_find(name, by->name, by->n_name) < 0)
            add_unknown(problem, "/parameters/name", "parameter", name, of,
                                expectation->parameter.name, expectation->parameter.n);
        problem->to_model[i] = found < 0 ? PROBLEM_NOT_OF_MODEL : (uint32_t)found;
    }
    match_substituted(problem, expectation);
    if (info->parameter_level && !problem->level_name && info->n_level != n)
        faults_add(&problem->faults, "/parameters/level: has %zu entries for %zu parameters",
                   info->n_level, n);
    if (problem->table[PARAMETER_scale].text && problem->table[PARAMETER_scale].n != n)
        faults_add(&problem->faults, "/parameters/scale: has %zu entries for %zu parameters",
                   problem->table[PARAMETER_scale].n, n);
    return problem_report(problem, error);
}

static enum status match_scales(struct problem *problem,
                                const struct problem_expectation *expectation, struct error *error)
{
    size_t n = problem->n_parameter;
    const char **scales = arena_calloc(&problem->arena, n + 1, sizeof *scales);
    problem->is_log = arena_calloc(&problem->arena, n + 1, sizeof *problem->is_log);
    if (problem->arena.failed)
        return problem_no_memory(problem, error);
    for (size_t i = 0; i < n; i++) {
        const char *scale = "lin";
        if (problem->table[PARAMETER_scale].text)
            scale = problem->table[PARAMETER_scale].text[i];
        else if (expectation->parameter.scale && problem->to_model[i] != PROBLEM_NOT_OF_MODEL)
            scale = expectation->parameter.scale[problem->to_model[i]];
        problem->is_log[i] = strncmp(scale, "log", 3) == 0;
        scales[i] = strcmp(scale, "log10") == 0 ? "log10" : problem->is_log[i] ? "log" : "lin";
    }
    problem->parameter_scale = scales;
    return STATUS_OK;
}

/* Fills a table that the file lacks with the model's values, or `fallback`. */
static void fill_default(struct problem *problem, int which, const double *model, double fallback)
{
    struct problem_table *table = &problem->table[which];
    if (table->per_dataset || table->vector)
        return;
    table->vector = arena_calloc(&problem->arena, problem->n_parameter + 1, sizeof *table->vector);
    for (size_t i = 0; table->vector && i < problem->n_parameter; i++)
        table->vector[i] = model && problem->to_model[i] != PROBLEM_NOT_OF_MODEL
                               ? model[problem->to_model[i]]
                               : fallback;
}

static enum status match_tables(struct problem *problem,
                                const struct problem_expectation *expectation, struct error *error)
{
    struct problem_table *table = problem->table;
    problem_settle_tables(problem, problem->n_parameter);
    enum status status = problem_report(problem, error);
    if (status)
        return status;
    if (!table[PARAMETER_start].column.dataset && !expectation->parameter.start)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: /parameters/start is missing, and the model %s has no starts "
                         "of its own",
                         problem->file.path, expectation->model_name);
    const struct { const double *model; double fallback;
    } values[N_PARAMETER_COLUMN] = {[PARAMETER_start] = {expectation->parameter.start, NAN},
                         [PARAMETER_lower] = {expectation->parameter.lower, -INFINITY},
                         [PARAMETER_upper] = {expectation->parameter.upper, INFINITY}};
    for (int k = PARAMETER_start; k < N_PARAMETER_COLUMN; k++)
        if (parameter_columns[k].by_dataset)
            fill_default(problem, k, values[k].model, values[k].fallback);
    return problem->arena.failed ? problem_no_memory(problem, error) : STATUS_OK;
}

/* The bound after problem_tighten_bounds; NaN if each dataset has its own. */
static double common_bound(const struct problem *problem, size_t i, bool is_upper)
{
    const double *bounds = problem->table[is_upper ? PARAMETER_upper : PARAMETER_lower].vector;
    const struct problem_prior *prior = problem->prior ? &problem->prior[i] : NULL;
    if (!bounds || !prior || !prior_has_bounds(prior->kind))
        return bounds ? bounds[i] : (double)NAN;
    return is_upper ? fmin(bounds[i], prior->upper) : fmax(bounds[i], prior->lower);
}

bool problem_is_bounded(const struct problem *problem, size_t i)
{
    const double *fixed = problem->table[PARAMETER_fixed].vector;
    double lower = common_bound(problem, i, false), upper = common_bound(problem, i, true);
    return (fixed && fixed[i] != 0) ||
           !(isinf(upper) || isinf(lower) || (problem->is_log[i] && lower <= 0));
}

/* Faults of values common to all datasets; values of a single dataset make only that one bad. */
static void check_common_values(struct problem *problem)
{
    const double *start = problem->table[PARAMETER_start].vector,
                 *lower = problem->table[PARAMETER_lower].vector;
    const double *upper = problem->table[PARAMETER_upper].vector,
                 *fixed = problem->table[PARAMETER_fixed].vector;
    struct faults *faults = &problem->faults;
    for (size_t i = 0; i < problem->n_parameter; i++) {
        const char *name = problem->parameter_name[i];
        bool is_free = fixed && fixed[i] == 0;
        if (fixed && isnan(fixed[i]))
            faults_add(faults, "/parameters/fixed row %zu (%.60s): is NaN; use 0 or 1", i, name);
        if (start && !isfinite(start[i]))
            faults_add(faults, "/parameters/start row %zu (%.60s): is %g; it must be finite", i,
                       name, start[i]);
        else if (start && is_free && problem->is_log[i] && start[i] <= 0 && lower &&
                 !(common_bound(problem, i, false) > 0))
            faults_add(faults,
                       "/parameters/start row %zu (%.60s): is %g; with scale %s it must be > 0", i,
                       name, start[i], problem->parameter_scale[i]);
        if (lower && (isnan(lower[i]) || lower[i] == INFINITY))
            faults_add(faults,
                       "/parameters/lower row %zu (%.60s): is %g; use -inf where there is no bound",
                       i, name, lower[i]);
        if (upper && (isnan(upper[i]) || upper[i] == -INFINITY))
            faults_add(faults,
                       "/parameters/upper row %zu (%.60s): is %g; use inf where there is no bound",
                       i, name, upper[i]);
        else if (upper && is_free && problem->is_log[i] && upper[i] <= 0)
            faults_add(faults,
                       "/parameters/upper row %zu (%.60s): is %g; with scale %s it must be > 0", i,
                       name, upper[i], problem->parameter_scale[i]);
        if (lower && upper && lower[i] > upper[i])
            faults_add(faults, "/parameters/lower row %zu (%.60s): is %g, above the upper bound %g",
                       i, name, lower[i], upper[i]);
    }
}

static enum status match_covariates(struct problem *problem,
                                    const struct problem_expectation *expectation,
                                    struct error *error)
{
    const struct problem_owners *of_datasets = &problem->owners[0],
                                *of_experiments = &problem->owners[1];
    size_t n = expectation->n_covariate;
    problem->covariate_column =
        arena_calloc(&problem->arena, n + 1, sizeof *problem->covariate_column);
    problem->covariate_of_experiment =
        arena_calloc(&problem->arena, n + 1, sizeof *problem->covariate_of_experiment);
    if (problem->arena.failed)
        return problem_no_memory(problem, error);
    for (size_t i = 0; i < n; i++) {
        const char *name = expectation->covariate_name[i];
        int of_experiment =
            words_find(name, of_experiments->covariate_name, of_experiments->n_covariate);
        int found = of_experiment < 0
                        ? words_find(name, of_datasets->covariate_name, of_datasets->n_covariate)
                        : of_experiment;
        if (found < 0) {
            const struct problem_owners *owners =
                of_experiments->covariate_name ? of_experiments : of_datasets;
            const char *near = nearest_name(name, owners->covariate_name, owners->n_covariate);
            faults_add(&problem->faults,
                       "%s%s: the model %s needs the covariate \"%.60s\"%s%.60s%s", owners->path,
                       owners->covariate_name ? "/covariate_names"
                                              : "/covariates and /datasets/covariate_names are "
                                                "missing",
                       expectation->model_name, name, near ? "; is it \"" : "", near ? near : "",
                       near ? "\"?" : "");
        }
        problem->covariate_column[i] = found < 0 ? 0 : (size_t)found;
        problem->covariate_of_experiment[i] = of_experiment >= 0;
    }
    return STATUS_OK;
}

static void match_index(struct problem *problem, enum problem_group group, int k, const char *of,
                        size_t n, const char *const *names)
{
    struct problem_stream *stream = &problem->stream[group];
    const struct column_info *info = &stream->info[k];
    struct problem_field *field = &stream->field[k];
    field->to_model = arena_calloc(&problem->arena, field->n_name + 2, sizeof *field->to_model);
    if (!field->to_model)
        return;
    bool is_empty = group == GROUP_MEASUREMENTS ? stream->n_owner == 0 : stream->n_row == 0;
    bool is_optional = info->least < 0 && !field->column.dataset;
    field->n_name = field->name ? field->n_name : 1;
    if (!field->name && !is_empty && !is_optional && !problem_has_names(&field->column) &&
        (n != 1 || info->least < 0))
        faults_add(&problem->faults, "%s is missing: %s has %zu %s%s", info->names, of, n,
                   info->what, n == 1 ? "" : "s");
    if (field->n_name != 1 && !field->column.dataset && !is_empty)
        faults_add(&problem->faults, "%s/%s is missing: which of the %zu %s each row has",
                   stream->path, info->name, field->n_name, info->names);
    for (size_t i = 0; field->name && i < field->n_name; i++) {
        int found = words_find(field->name[i], names, n);
        char place[120];
        if (field->name == field->names.table.id) /* of the rows */
            snprintf(place, sizeof place, "%s row %" PRIu64, field->column.path,
                     field->names.row[i]);
        else
            snprintf(place, sizeof place, "%s", info->names);
        if (found < 0)
            add_unknown(problem, place, info->what, field->name[i], of, names, n);
        field->to_model[i] = found < 0 ? 0 : (uint32_t)found;
    }
}

static enum status match_groups(struct problem *problem,
                                const struct problem_expectation *expectation, struct error *error)
{
    char of[100];
    snprintf(of, sizeof of, "the model %.80s", expectation->model_name);
    for (int g = 0; g < N_GROUP; g++) {
        const struct problem_stream *stream = &problem->stream[g];
        if (stream->n_row > 0 && stream->n_owner == 0)
            faults_add(&problem->faults, "%s: has %" PRIu64 " rows, but %s is empty", stream->path,
                       stream->n_row,
                       stream->of_experiments ? "/experiments/dataset" : "/datasets/id");
    }
    problem->last_knot =
        arena_calloc(&problem->arena, expectation->n_input + 1, sizeof *problem->last_knot);
    match_index(problem, GROUP_MEASUREMENTS, MEASUREMENT_observable, of,
                        expectation->n_observable, expectation->observable_name);
    match_index(problem, GROUP_DOSES, DOSE_target, of, expectation->n_state,
                        expectation->state_name);
    match_index(problem, GROUP_INPUTS, KNOT_input, of, expectation->n_input,
                        expectation->input_name);
    match_index(problem, GROUP_EVENTS, CALL_event, of, expectation->n_event,
                        expectation->event_name);
    match_index(problem, GROUP_SUBSTITUTES, SUBSTITUTE_parameter, of,
                        expectation->parameter.n, expectation->parameter.name);
    match_index(problem, GROUP_SUBSTITUTES, SUBSTITUTE_by, "the file", problem->n_parameter,
                        problem->parameter_name);
    return problem->arena.failed ? problem_no_memory(problem, error) : STATUS_OK;
}

/* One fault of the file if no row can have what is needed. */
static void check_sigma(struct problem *problem, const struct problem_expectation *expectation)
{
    const struct problem_field *sigma =
        &problem->stream[GROUP_MEASUREMENTS].field[MEASUREMENT_sigma];
    if (problem->errors.sigma_for && !problem->model.has_noise && !sigma->column.dataset &&
        problem->info.n_measurement > 0)
        faults_add(&problem->faults,
                   "/measurements/sigma is missing, and the model %s has no noise: %s needs the "
                   "standard deviation of every measurement (a column sigma, or in the model "
                   "'observe NAME sd ...')",
                   expectation->model_name, problem->errors.sigma_for);
}

enum status problem_match(struct problem *problem, const struct problem_expectation *expectation,
                          struct error *error)
{
    static enum status (*const parts[])(struct problem * problem,
                                        const struct problem_expectation *expectation,
                                        struct error *error) = {match_parameters,     match_scales,
                                                                problem_match_priors, match_tables,
                                                                match_covariates,     match_groups,
                                                                problem_match_errors};
    keep_model(problem, expectation);
    if (problem->arena.failed)
        return problem_no_memory(problem, error);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        enum status status = parts[i](problem, expectation, error);
        if (status)
            return status;
    }
    check_common_values(problem);
    check_sigma(problem, expectation);
    problem->matched = true;
    return STATUS_OK;
}

size_t problem_n_parameter(const struct problem *problem) { return problem->n_parameter; }
const char *const *problem_parameter_name(const struct problem *problem)
{
    return problem->parameter_name;
}
const char *const *problem_parameter_scale(const struct problem *problem)
{
    return problem->parameter_scale;
}
const uint32_t *problem_to_model(const struct problem *problem) { return problem->to_model; }
const char *problem_level(const struct problem *problem, size_t parameter)
{
    const struct problem_info *info = &problem->info;
    int i = problem->level_name
                ? words_find(problem->parameter_name[parameter], problem->level_name, info->n_level)
                : (int)parameter;
    return info->parameter_level && i >= 0 && (size_t)i < info->n_level ? info->parameter_level[i]
                                                                        : NULL;
}
uint64_t problem_n_fixed(const struct problem *problem, size_t parameter)
{
    return problem->n_fixed ? problem->n_fixed[parameter] : 0;
}
size_t problem_n_none(const struct problem *problem)
{
    return problem->n_pair + (problem->info.has_steady ? problem->n_parameter : 0);
}

