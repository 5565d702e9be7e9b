/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/objective/preequilibration.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* What one ask needs. */
struct preequilibration {
    const struct fit_problem *problem;
    const struct fit_map *map;
    struct evaluation *const *all;
    size_t n;
    struct evaluation **asked;
    double *number;    /* states and their derivatives: the ends, then the beginnings */
    uint32_t *index;   /* column and sens of those that begin at rest */
};

static size_t n_part_of(const struct evaluation *evaluation)
{
    return 1 + evaluation->task->n_phase;
}

static size_t experiment_of(const struct preequilibration *from, size_t k)
{
    return k % from->problem->n_experiment;
}

/* The evaluation at whose end evaluation k begins; NULL: as the model does. */
static struct evaluation *source_of(const struct preequilibration *from, size_t k)
{
    size_t e = experiment_of(from, k);
    uint32_t source = from->problem->preequilibration[e];
    return source == EXPERIMENT_NONE ? NULL : from->all[k - e + source];
}

/* The most columns that evaluation k may get. */
static size_t most_columns(const struct preequilibration *from, size_t k)
{
    const struct evaluation *evaluation = from->all[k];
    return 1 + (evaluation->n_sens ? evaluation->n_sens + from->map->n_free : 0);
}

/* Index in theta of wanted parameter k. */
static uint32_t column_of(const struct evaluation *evaluation, size_t k)
{
    return evaluation->column ? evaluation->column[k] : (uint32_t)k;
}

/* Makes evaluation k begin at the end of its source. */
static void begin_at_rest(const struct preequilibration *from, size_t k, double *begin,
                          uint32_t *column, uint32_t *sens)
{
    struct evaluation *evaluation = from->all[k];
    const struct evaluation *source = source_of(from, k);
    size_t n = from->problem->model->abi.n_state, n_own = evaluation->n_sens, n_sens = n_own;
    for (size_t j = 0; j < n_own; j++)
        column[j] = column_of(evaluation, j);
    memcpy(begin, source->end, n * sizeof *begin);
    memset(begin + n, 0, n_own * n * sizeof *begin);
    for (size_t s = 0; n_own && s < source->n_sens; s++) {
        size_t j = 0;
        while (j < n_sens && column[j] != column_of(source, s))
            j++;
        if (j == n_sens) { /* only the state at the beginning depends on it */
            column[n_sens++] = column_of(source, s);
            memset(begin + (1 + j) * n, 0, n * sizeof *begin);
        }
        for (size_t i = 0; i < n; i++)
            begin[i + (1 + j) * n] += source->end[i + (1 + s) * n];
    }
    for (size_t part = 0; part < n_part_of(evaluation); part++)
        for (size_t j = 0; j < n_sens; j++)
            sens[part * n_sens + j] = j < n_own ? evaluation->sens[part * n_own + j] : ODE_NONE;
    evaluation->begin = begin;
    evaluation->n_sens = n_sens;
    evaluation->sens = sens;
    evaluation->column = column;
}

static bool ask_sources(const struct preequilibration *from,
                        bool (*ask)(void *, struct evaluation *const *, size_t), void *context)
{
    size_t n_state = from->problem->model->abi.n_state, n_asked = 0;
    double *number = from->number;
    for (size_t k = 0; k < from->n; k++) {
        struct evaluation *source = source_of(from, k);
        if (!source || source->end)
            continue;
        source->end = number;
        number += n_state * (1 + source->n_sens);
        from->asked[n_asked++] = source;
    }
    return ask(context, from->asked, n_asked);
}

static bool ask_others(const struct preequilibration *from,
                       bool (*ask)(void *, struct evaluation *const *, size_t), void *context)
{
    size_t n_state = from->problem->model->abi.n_state, n_asked = 0;
    double *number = from->number;
    uint32_t *index = from->index;
    for (size_t k = 0; k < from->n; k++)
        if (from->all[k]->end)
            number += n_state * (1 + from->all[k]->n_sens);
    for (size_t k = 0; k < from->n; k++) {
        struct evaluation *evaluation = from->all[k];
        const struct evaluation *source = source_of(from, k);
        size_t most = most_columns(from, k);
        if (evaluation->end)
            continue;
        if (source && source->outcome != EVALUATION_OK) {
            evaluation->outcome = source->outcome;
            memcpy(evaluation->reason, source->reason, sizeof evaluation->reason);
            continue;
        }
        if (source)
            begin_at_rest(from, k, number, index, index + most);
        number += n_state * most;
        index += (1 + n_part_of(evaluation)) * most;
        from->asked[n_asked++] = evaluation;
    }
    return n_asked == 0 || ask(context, from->asked, n_asked);
}

bool fit_preequilibrate(const struct fit_problem *problem, const struct fit_map *map,
                        struct evaluation *const *evaluations, size_t n,
                        bool (*ask)(void *, struct evaluation *const *, size_t), void *context)
{
    if (!problem->preequilibration)
        return ask(context, evaluations, n);
    struct preequilibration from = {.problem = problem, .map = map, .all = evaluations, .n = n};
    size_t n_column = 0, n_index = 0;
    for (size_t k = 0; k < n; k++) {
        n_column += most_columns(&from, k);
        n_index += (1 + n_part_of(evaluations[k])) * most_columns(&from, k);
    }
    from.asked = memory_calloc(n, sizeof(struct evaluation *));
    from.number = memory_alloc(2 * n_column * problem->model->abi.n_state * sizeof *from.number
                               + 1);
    from.index = memory_alloc(n_index * sizeof *from.index);
    for (size_t k = 0; k < n; k++) {
        evaluations[k]->end = NULL;
        evaluations[k]->begin = NULL;
    }
    bool has_room = from.asked && from.number && from.index;
    bool good = !has_room || (ask_sources(&from, ask, context) && ask_others(&from, ask, context));
    for (size_t k = 0; !has_room && k < n; k++) {
        evaluations[k]->outcome = EVALUATION_NO_MEMORY;
        snprintf(evaluations[k]->reason, sizeof evaluations[k]->reason,
                 "no memory for steady states");
    }
    for (size_t k = 0; k < n; k++) {
        evaluations[k]->end = NULL;
        evaluations[k]->begin = NULL;
        /* Those were in memory that goes. */
        if (from.problem->preequilibration[experiment_of(&from, k)] != EXPERIMENT_NONE)
            evaluations[k]->sens = evaluations[k]->column = NULL;
    }
    free(from.asked);
    free(from.number);
    free(from.index);
    return good;
}
