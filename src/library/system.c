/* libstiffit's models, its errors and its version.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "library/problem.h"

#include "base/version.h"

#include <stdlib.h>
#include <string.h>

const char *stiffit_version(void)
{
    return STIFFIT_VERSION;
}

int library_give(enum status status, const struct error *from, struct stiffit_error *error)
{
    static const int code[] = {
        [STATUS_OK] = 0, [STATUS_FITS_FAILED] = STIFFIT_FAILED, [STATUS_USAGE] = STIFFIT_USAGE,
        [STATUS_BAD_PROBLEM] = STIFFIT_BAD_PROBLEM, [STATUS_BAD_MODEL] = STIFFIT_BAD_MODEL,
        [STATUS_SYSTEM] = STIFFIT_SYSTEM_ERROR, [STATUS_NO_MEMORY] = STIFFIT_NO_MEMORY,
        [STATUS_INTERNAL] = STIFFIT_BUG, [STATUS_STOPPED] = STIFFIT_SYSTEM_ERROR};
    _Static_assert(sizeof error->message == sizeof from->message, "a message fits");
    if (error) {
        error->code = code[status];
        memcpy(error->message, status ? from->message : "", status ? sizeof error->message : 1);
    }
    return code[status];
}

bool library_is_null(const void *argument, const char *function, const char *name,
                     struct error *error)
{
    if (!argument)
        error_set(error, STATUS_USAGE, "%s: %s is NULL", function, name);
    return !argument;
}

/* Loads a model from a file or, if there is none, from a text. */
static int open_system(struct stiffit_system **system, const char *path, const char *text,
                       struct stiffit_error *error)
{
    struct error e = {.status = STATUS_OK};
    enum status status = STATUS_OK;
    *system = NULL;
    struct stiffit_system *made = calloc(1, sizeof *made);
    if (!made)
        status = error_set(&e, STATUS_NO_MEMORY, "out of memory for a model");
    else if (text)
        status = model_load_text(&made->model, text, strlen(text), "text", NULL, NULL, &e);
    else
        status = model_load(&made->model, path, NULL, &e);
    if (status)
        free(made);
    else
        *system = made;
    return library_give(status, &e, error);
}

int stiffit_system_open(struct stiffit_system **system, const char *path,
                        struct stiffit_error *error)
{
    struct error e = {.status = STATUS_OK};
    if (system)
        *system = NULL;
    return library_is_null(system, "stiffit_system_open", "system", &e)
                   || library_is_null(path, "stiffit_system_open", "path", &e)
               ? library_give(e.status, &e, error)
               : open_system(system, path, NULL, error);
}

int stiffit_system_parse(struct stiffit_system **system, const char *text,
                         struct stiffit_error *error)
{
    struct error e = {.status = STATUS_OK};
    if (system)
        *system = NULL;
    return library_is_null(system, "stiffit_system_parse", "system", &e)
                   || library_is_null(text, "stiffit_system_parse", "text", &e)
               ? library_give(e.status, &e, error)
               : open_system(system, NULL, text, error);
}

void stiffit_system_close(struct stiffit_system *system)
{
    if (!system)
        return;
    model_unload(&system->model);
    free(system);
}

const char *stiffit_system_name(const struct stiffit_system *system)
{
    return system ? system->model.abi.name : NULL;
}

static const char *const *names_of(const struct stiffit_system *system, enum stiffit_names names,
                                   size_t *n)
{
    *n = 0;
    if (!system)
        return NULL;
    const struct stiffit_model *abi = &system->model.abi;
    switch (names) {
    case STIFFIT_STATES:
        *n = abi->n_state;
        return abi->state_name;
    case STIFFIT_PARAMETERS:
        *n = abi->n_parameter;
        return abi->parameter_name;
    case STIFFIT_OBSERVABLES:
        *n = abi->n_observable;
        return abi->observable_name;
    case STIFFIT_COVARIATES:
        *n = abi->n_covariate;
        return abi->covariate_name;
    case STIFFIT_INPUTS:
        *n = abi->n_input;
        return abi->input_name;
    }
    return NULL;
}

size_t stiffit_system_count(const struct stiffit_system *system, enum stiffit_names names)
{
    size_t n;
    names_of(system, names, &n);
    return n;
}

const char *stiffit_system_item(const struct stiffit_system *system, enum stiffit_names names,
                                size_t i)
{
    size_t n;
    const char *const *list = names_of(system, names, &n);
    return i < n ? list[i] : NULL;
}
