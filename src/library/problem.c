/* libstiffit's problems: making them, their options and parameters.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "library/problem.h"

#include "base/words.h"

#include <stdlib.h>
#include <string.h>

static struct stiffit_problem *allocate(struct error *error)
{
    struct stiffit_problem *made = calloc(1, sizeof *made);
    if (made)
        made->options = run_options_default;
    else
        error_set(error, STATUS_NO_MEMORY, "out of memory for a problem");
    return made;
}

int stiffit_problem_new(struct stiffit_problem **problem, const struct stiffit_system *system,
                        struct stiffit_error *error)
{
    struct error e = {.status = STATUS_OK};
    if (problem)
        *problem = NULL;
    if (library_is_null(problem, "stiffit_problem_new", "problem", &e) ||
        library_is_null(system, "stiffit_problem_new", "system", &e))
        return library_give(e.status, &e, error);
    struct stiffit_problem *made = allocate(&e);
    if (made) {
        made->system = system;
        library_data_init(made, &e);
    }
    if (e.status)
        stiffit_problem_free(made);
    else
        *problem = made;
    return library_give(e.status, &e, error);
}

int stiffit_problem_open(struct stiffit_problem **problem, const char *path, const char *model,
                         struct stiffit_error *error)
{
    struct error e = {.status = STATUS_OK};
    if (problem)
        *problem = NULL;
    if (library_is_null(problem, "stiffit_problem_open", "problem", &e) ||
        library_is_null(path, "stiffit_problem_open", "path", &e))
        return library_give(e.status, &e, error);
    struct stiffit_problem *made = allocate(&e);
    if (made) {
        made->options.problem = arena_strdup(&made->words, path);
        made->options.model = model ? arena_strdup(&made->words, model) : NULL;
        if (!made->options.problem || (model && !made->options.model))
            error_set(&e, STATUS_NO_MEMORY, "out of memory for %s", path);
        else
            library_prepare(made, &e);
    }
    if (e.status)
        stiffit_problem_free(made);
    else
        *problem = made;
    return library_give(e.status, &e, error);
}

void stiffit_problem_free(struct stiffit_problem *problem)
{
    if (!problem)
        return;
    library_unprepare(problem);
    library_file_close(problem->file);
    if (problem->system)
        library_data_fini(problem);
    arena_fini(&problem->words);
    arena_fini(&problem->arena);
    free(problem);
}

/* Options of `stiffit run` that mean something for the fit of one dataset in memory. */
static const char *const option_names[] = {
    "starts", "seed", "evaluate", "rtol", "atol", "max-step", "linear-solver", "engine", "error",
    "huber-k", "student-nu", "optimizer", "gradient", "ftol", "gtol", "certify", "max-evaluations",
    "max-steps", "max-total-steps", "max-seconds"};

int stiffit_set_option(struct stiffit_problem *problem, const char *name, const char *value,
                       struct stiffit_error *error)
{
    enum { N = sizeof option_names / sizeof *option_names };
    struct error e = {.status = STATUS_OK};
    struct option_table table = run_options_table();
    if (library_is_null(problem, "stiffit_set_option", "problem", &e) ||
        library_is_null(name, "stiffit_set_option", "name", &e) ||
        library_is_null(value, "stiffit_set_option", "value", &e))
        return library_give(e.status, &e, error);
    const struct option *option = option_find(table, name);
    char hint[NEAREST_HINT];
    if (words_find(name, option_names, N) < 0)
        error_set(&e, STATUS_USAGE, "\"%.60s\" is no option of a fit in memory%s%s", name,
                  option ? ", but of `stiffit run`" : "",
                  nearest_hint(hint, "; did you mean \"", "\"?", name, option_names, N));
    if (!e.status && option->kind == OPTION_FLAG) /* as option_print says it */
        value = !strcmp(value, "yes") ? "1" : !strcmp(value, "no") ? "0" : value;
    const char *copy = e.status ? NULL : arena_strdup(&problem->words, value);
    if (!e.status && !copy)
        error_set(&e, STATUS_NO_MEMORY, "out of memory for an option");
    struct run_options options = problem->options;
    if (!e.status)
        option_apply(table, &options, 0, name, copy, &e);
    if (e.status)
        return library_give(e.status, &e, error);
    options.given |= UINT64_C(1) << (option - table.option);
    problem->options = options;
    problem->is_changed = true;
    return library_give(STATUS_OK, &e, error);
}

size_t stiffit_problem_n_dataset(const struct stiffit_problem *problem)
{
    if (!problem)
        return 0;
    return problem->system ? 1 : problem->n_dataset;
}

size_t stiffit_problem_n_parameter(const struct stiffit_problem *problem)
{
    if (!problem)
        return 0;
    return problem->system ? problem->system->model.abi.n_parameter : problem->n_parameter;
}

/* Of the first dataset of a file. */
static enum status get_of_file(struct stiffit_problem *problem, size_t i,
                               struct stiffit_parameter *parameter, struct error *error)
{
    static const char *const scale[] = {
        [SCALE_LIN] = "lin", [SCALE_LOG] = "log", [SCALE_LOG10] = "log10"};
    const struct problem_block *block;
    size_t row;
    enum status status = library_prepare(problem, error);
    if (!status)
        status = library_file_block(problem->file, 0, &block, &row, error);
    if (status)
        return status;
    const struct fit_setting *setting = &problem->ready.setting;
    *parameter = (struct stiffit_parameter){
        .name = setting->parameter_name[i], .scale = scale[setting->scale[i]],
        .start = block->start[i], .lower = block->lower[i], .upper = block->upper[i],
        .fixed = block->fixed[i] != 0};
    return STATUS_OK;
}

int stiffit_get_parameter(struct stiffit_problem *problem, size_t i,
                          struct stiffit_parameter *parameter, struct stiffit_error *error)
{
    struct error e = {.status = STATUS_OK};
    size_t n = stiffit_problem_n_parameter(problem);
    if (library_is_null(problem, "stiffit_get_parameter", "problem", &e) ||
        library_is_null(parameter, "stiffit_get_parameter", "parameter", &e))
        return library_give(e.status, &e, error);
    if (i >= n)
        error_set(&e, STATUS_USAGE, "there is no parameter %zu: the problem has %zu, from 0", i, n);
    else if (problem->system)
        *parameter = problem->data.parameter[i];
    else
        get_of_file(problem, i, parameter, &e);
    return library_give(e.status, &e, error);
}
