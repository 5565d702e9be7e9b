/* The parameters of a new file, which then need not be the model's.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "import/happenings.h"

#include <string.h>

/* An array of the descriptor with an entry for each parameter, as one for those of the file;
 * from[j]: the model's. */
static bool take_array(struct arena *arena, const void **array, size_t size, const uint32_t *from,
                       size_t n)
{
    const char *old = *array;
    char *new = old ? arena_alloc(arena, n * size + 1) : NULL;
    for (size_t j = 0; new && j < n; j++)
        memcpy(new + j * size, old + from[j] * size, size);
    *array = new;
    return new || !old;
}

/* Which parameters of the model the file needs, and which others stand for them. from[j]: whose
 * start, bounds, scale and prior parameter j of the file has. */
static size_t choose(struct import_widened *into, const struct import_happenings *happenings,
                     const struct model *model, size_t n_experiment, uint32_t *from,
                     const char **name, uint32_t *count)
{
    const struct import_records *substitutes = &happenings->of[RECORD_SUBSTITUTE];
    const struct stiffit_model *abi = &model->abi;
    size_t n = 0;
    for (size_t i = 0; i < substitutes->n; i++) {
        /* how many experiments have another one from the beginning to the end */
        const struct substitute *given = &substitutes->row[i].is.substitute;
        count[given->parameter] += given->row == EXPERIMENT_NONE && given->time == -INFINITY;
    }
    for (uint32_t i = 0; i < abi->n_parameter; i++) {
        uint32_t by = id_table_find(&happenings->by, abi->parameter_name[i]);
        if (count[i] >= n_experiment && by == ID_NONE)
            continue;
        if (by != ID_NONE)
            into->place[by] = (uint32_t)n;
        name[n] = abi->parameter_name[i];
        from[n++] = i;
    }
    for (size_t i = 0; i < substitutes->n; i++) {
        const struct substitute *given = &substitutes->row[i].is.substitute;
        if (given->by == EXPERIMENT_NUMBER || into->place[given->by] != UINT32_MAX)
            continue;
        into->place[given->by] = (uint32_t)n;
        name[n] = happenings->by.id[given->by];
        from[n++] = given->parameter;
    }
    return n;
}

enum status import_widen(struct import_widened *into, const struct import_happenings *happenings,
                         const struct model *model, size_t n_experiment, struct error *error)
{
    struct arena *arena = &into->arena;
    into->model = *model;
    if (happenings->of[RECORD_SUBSTITUTE].n == 0)
        return STATUS_OK;
    struct stiffit_model *abi = &into->model.abi;
    size_t n_new = happenings->by.n, most = abi->n_parameter + n_new;
    uint32_t *from = arena_alloc(arena, most * sizeof *from),
             *count = arena_calloc(arena, most, sizeof *count);
    const char **name = arena_alloc(arena, most * sizeof *name);
    into->place = arena_alloc(arena, (n_new + 1) * sizeof *into->place);
    bool has_room = from && count && name && into->place;
    size_t n = 0;
    if (has_room) {
        memset(into->place, 0xff, n_new * sizeof *into->place);
        n = choose(into, happenings, model, n_experiment, from, name, count);
    }
#define TAKE(field) take_array(arena, (const void **)&abi->field, sizeof *abi->field, from, n)
    has_room = has_room && TAKE(parameter_start) && TAKE(parameter_lower) &&
               TAKE(parameter_upper) && TAKE(parameter_scale) && TAKE(parameter_unit) &&
               TAKE(parameter_use) && TAKE(parameter_prior) && TAKE(parameter_prior_on) &&
               TAKE(parameter_prior_location) && TAKE(parameter_prior_scale) &&
               TAKE(parameter_prior_lower) && TAKE(parameter_prior_upper);
#undef TAKE
    if (!has_room)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", most);
    abi->parameter_name = name;
    abi->n_parameter = (uint32_t)n;
    return STATUS_OK;
}
