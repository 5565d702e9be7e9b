/* Takes datasets with their experiments, and these with their rows, from the windows into a block.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOO_MANY(what) "has more than 16777216 " what
static char too_many[N_GROUP][60] = {TOO_MANY("experiments"), TOO_MANY("measurements"),
                                     TOO_MANY("doses"),       TOO_MANY("knots of inputs"),
                                     TOO_MANY("events"),      TOO_MANY("substitutes")};
_Static_assert(PROBLEM_MAX_DATASET_ROW == 16777216, "the message names the number");

/* Moves the `used` items of an array to a new one with room for `capacity` of them. */
static bool widen(struct arena *arena, void *array, size_t used, size_t capacity, size_t size)
{
    char *old, *wider = arena_alloc(arena, capacity * size);
    memcpy(&old, array, sizeof old);
    if (wider && used)
        memcpy(wider, old, used * size);
    memcpy(array, &wider, sizeof wider);
    return wider != NULL;
}

static bool widen_measurements(struct problem_block *block, size_t used, size_t capacity)
{
    void *rows = arena_alloc(block->arena, measurements_bytes(MEASUREMENT_FITTED, capacity));
    if (!rows)
        return false;
    struct measurements wider = measurements_place(MEASUREMENT_FITTED, capacity, rows);
    measurements_copy(&wider, 0, &block->measured, 0, used);
    block->measured = wider;
    return true;
}

static bool widen_experiments(struct problem_block *block, size_t used, size_t capacity)
{
    struct problem_room *room = block->room;
    bool good = true;
    for (int g = 0; g < N_GROUP; g++) {
        good = good &&
               widen(block->arena, &room->place[g], used, capacity, sizeof *room->place[g]) &&
               widen(block->arena, &room->offset[g], used ? used + 1 : 0, capacity + 1,
                     sizeof *room->offset[g]);
        if (good && !used)
            room->offset[g][0] = 0;
    }
    block->row = room->offset[GROUP_MEASUREMENTS];
    return good;
}

/* The array of a group whose rows are structs. */
static void *records_of(struct problem_block *block, enum problem_group group)
{
    struct problem_room *room = block->room;
    void *const array[N_GROUP] = {[GROUP_DOSES] = &room->dose, [GROUP_INPUTS] = &room->knot,
                                  [GROUP_EVENTS] = &room->call,
                                  [GROUP_SUBSTITUTES] = &room->substitute};
    return array[group];
}

enum status problem_reserve(const struct problem *problem, struct problem_block *block,
                            enum problem_group group, size_t n, struct error *error)
{
    struct problem_room *room = block->room;
    size_t used = room->used[group], capacity = room->capacity[group] ? room->capacity[group] : n;
    if (used + n <= room->capacity[group])
        return STATUS_OK;
    while (capacity < used + n)
        capacity *= 2;
    bool good = false;
    if (group == GROUP_EXPERIMENTS)
        good = widen_experiments(block, used, capacity);
    else if (group == GROUP_MEASUREMENTS)
        good = widen_measurements(block, used, capacity);
    else
        good = widen(block->arena, records_of(block, group), used, capacity,
                     problem->stream[group].record->size);
    if (!good)
        return problem_no_memory(problem, error);
    room->capacity[group] = capacity;
    return STATUS_OK;
}

/* Copies rows [i, i + n) of the window to the block, from row `to` on. */
static void copy_measurements(const struct problem_stream *stream, struct problem_block *block,
                              size_t to, size_t i, size_t n)
{
    const struct measurements target = measurements_from(&block->measured, to), none = {0};
    measurements_copy(&target, 0, &none, 0, n);
    for (int c = 0; c < N_MEASUREMENT; c++) {
        void *cells = measurements_cell(&target, (enum measurement_column)c, 0);
        const int64_t *whole = stream->field[c].whole;
        if (stream->field[c].real)
            memcpy(cells, stream->field[c].real + i, n * sizeof(double));
        for (size_t k = 0; whole && k < n; k++)
            if (measurement_columns[c].kind == COLUMN_UINT32)
                ((uint32_t *)cells)[k] = (uint32_t)whole[i + k];
            else
                ((int8_t *)cells)[k] = (int8_t)whole[i + k];
    }
    for (size_t k = 0; k < n; k++)
        target.observable[k] = stream->field[MEASUREMENT_observable].to_model[target.observable[k]];
}

/* A row of /measurements as a row of the experiment that is being taken, or UINT32_MAX - 1. */
static uint32_t row_of(const struct problem_block *block, int64_t measurement)
{
    const struct problem_room *room = block->room;
    size_t e = block->n_experiment,
           n = room->used[GROUP_MEASUREMENTS] - room->offset[GROUP_MEASUREMENTS][e];
    if (measurement < 0)
        return EXPERIMENT_NONE;
    uint64_t row = (uint64_t)measurement -
                   room->place[GROUP_MEASUREMENTS][e]; /* wraps around before the first */
    return row < n ? (uint32_t)row : UINT32_MAX - 1;
}

/* What a whole number of the file is in memory. */
static int64_t in_memory(const struct problem_stream *stream, const struct problem_block *block,
                         size_t f, int64_t value)
{
    if (stream->info[f].is_row)
        return row_of(block, value);
    return stream->info[f].names && value >= 0 ? stream->field[f].to_model[value] : value;
}

/* Copies rows [i, i + n) of the window to the array, as structs. */
static void copy_records(const struct problem_stream *stream, const struct problem_block *block,
                         char *record, size_t i, size_t n)
{
    for (size_t end = i + n; i < end; i++, record += stream->record->size)
        for (size_t f = 0; f < stream->n_info; f++) {
            const struct problem_field *field = &stream->field[f];
            const struct column_info *info = &stream->info[f];
            if (field->real && !isnan(field->real[i]))
                column_put_real(info, record, field->real[i]);
            else if (info->kind == COLUMN_DOUBLE)
                column_put_none(info, record);
            else
                column_put_whole(info, record,
                                 in_memory(stream, block, f, field->whole ? field->whole[i]
                                                                          : (int64_t)info->none));
        }
}

static void copy_rows(const struct problem_stream *stream, struct problem_block *block,
                      enum problem_group group, size_t i, size_t n)
{
    size_t to = block->room->used[group];
    if (group == GROUP_MEASUREMENTS) {
        copy_measurements(stream, block, to, i, n);
        return;
    }
    char *array;
    memcpy(&array, records_of(block, group), sizeof array);
    copy_records(stream, block, array + to * stream->record->size, i, n);
}

/* `first`: of the dataset. */
static enum status take_rows(struct problem *problem, struct problem_block *block,
                             enum problem_group group, uint64_t owner, size_t first,
                             struct error *error)
{
    struct problem_stream *stream = &problem->stream[group];
    struct problem_room *room = block->room;
    size_t e = block->n_experiment, begin = room->used[group], i, n;
    enum status status;
    room->place[group][e] = stream->next;
    while (!(status = problem_next_rows(problem, stream, owner, &i, &n, error)) && n > 0) {
        if (room->used[group] == begin)
            room->place[group][e] = stream->first + i;
        if (room->used[group] - first + n > PROBLEM_MAX_DATASET_ROW) {
            block->fault[block->n] = too_many[group];
            continue;
        }
        if ((status = problem_reserve(problem, block, group, n, error)))
            break;
        copy_rows(stream, block, group, i, n);
        room->used[group] += n;
    }
    room->offset[group][e + 1] = room->used[group];
    return status;
}

/* Experiments of files without /experiments do not count. */
static bool is_too_much(const struct problem *problem, const struct problem_room *room,
                        size_t max_row)
{
    size_t n = problem->has_experiments ? room->used[GROUP_EXPERIMENTS] : 0;
    for (int g = GROUP_MEASUREMENTS; g < N_GROUP; g++)
        n += room->used[g];
    return n > max_row;
}

static enum status take_experiment(struct problem *problem, struct problem_block *block,
                                   uint64_t number, const size_t *first, struct error *error)
{
    struct problem_room *room = block->room;
    if (block->n_experiment - first[GROUP_EXPERIMENTS] >= PROBLEM_MAX_DATASET_ROW) {
        block->fault[block->n] = too_many[GROUP_EXPERIMENTS];
        return STATUS_OK;
    }
    enum status status = problem_reserve(problem, block, GROUP_EXPERIMENTS, 1, error);
    if (status)
        return status;
    room->place[GROUP_EXPERIMENTS][block->n_experiment] = number;
    for (int g = GROUP_MEASUREMENTS; g < N_GROUP && !status; g++)
        status = take_rows(problem, block, (enum problem_group)g, number, first[g], error);
    room->used[GROUP_EXPERIMENTS] = ++block->n_experiment;
    return status;
}

enum status problem_take(struct problem *problem, struct problem_block *block, uint64_t dataset,
                         size_t max_row, bool *fits, struct error *error)
{
    struct problem_room *room = block->room;
    struct problem_stream *experiments = &problem->stream[GROUP_EXPERIMENTS];
    size_t first[N_GROUP], i = 0, n = 1;
    uint64_t begin[N_GROUP];
    memcpy(first, room->used, sizeof first);
    for (int g = 0; g < N_GROUP; g++)
        begin[g] = problem->stream[g].next;
    enum status status = STATUS_OK;
    *fits = true;
    do {
        if (problem->has_experiments)
            status = problem_next_rows(problem, experiments, dataset, &i, &n, error);
        uint64_t number = problem->has_experiments ? experiments->first + i : dataset;
        for (size_t k = 0; k < n && !status && *fits; k++) {
            status = take_experiment(problem, block, number + k, first, error);
            *fits = block->n == 0 || !is_too_much(problem, room, max_row);
        }
    } while (problem->has_experiments && n > 0 && !status && *fits);
    if (status || *fits) {
        block->first_experiment[block->n + 1] = block->n_experiment;
        return status;
    }
    memcpy(room->used, first, sizeof first);
    for (int g = 0; g < N_GROUP; g++)
        problem_seek(&problem->stream[g], begin[g]);
    block->n_experiment = first[GROUP_EXPERIMENTS];
    block->fault[block->n] = NULL;
    return STATUS_OK;
}

static int compare_doses(const void *a, const void *b)
{
    const struct dose *left = *(const struct dose *const *)a,
                      *right = *(const struct dose *const *)b;
    return left->time != right->time ? (left->time < right->time ? -1 : 1)
           : left < right            ? -1
                                     : left > right;
}

/* Sorts n doses by time, equal ones in the file's order. */
static bool sort_doses(struct arena *arena, struct dose *dose, size_t n)
{
    size_t k = 1;
    while (k < n && dose[k - 1].time <= dose[k].time)
        k++;
    if (k >= n)
        return true;
    struct dose *given = arena_alloc(arena, n * sizeof *given);
    const struct dose **order = arena_alloc(arena, n * sizeof *order);
    if (!given || !order)
        return false;
    memcpy(given, dose, n * sizeof *given);
    for (size_t i = 0; i < n; i++)
        order[i] = &given[i];
    qsort(order, n, sizeof *order, compare_doses);
    for (size_t i = 0; i < n; i++)
        dose[i] = *order[i];
    return true;
}

/* The knots of each experiment by inputs. */
static bool fill_inputs(const struct problem *problem, struct problem_block *block)
{
    const struct problem_room *room = block->room;
    size_t n_knot = room->used[GROUP_INPUTS], n_input = problem->model.n_input;
    struct input *inputs =
        arena_calloc(block->arena, block->n_experiment * n_input + 1, sizeof *inputs);
    double *time = arena_alloc(block->arena, (n_knot + 1) * sizeof *time);
    double *value = arena_alloc(block->arena, (n_knot + 1) * sizeof *value);
    if (!inputs || !time || !value)
        return false;
    for (size_t e = 0; e < block->n_experiment; e++) {
        struct input *input = inputs + e * n_input;
        const size_t first = room->offset[GROUP_INPUTS][e], end = room->offset[GROUP_INPUTS][e + 1];
        size_t at = first;
        for (size_t k = first; k < end; k++)
            input[room->knot[k].input].n++;
        block->experiment[e].input = input;
        for (size_t i = 0; i < n_input; at += input[i++].n) {
            input[i].time = time + at;
            input[i].value = value + at;
        }
        for (size_t i = 0; i < n_input; i++)
            input[i].n = 0;
        for (size_t k = first; k < end; k++) {
            struct input *of = &input[room->knot[k].input];
            size_t to = (size_t)(of->time - time) + of->n++;
            time[to] = room->knot[k].time;
            value[to] = room->knot[k].value;
        }
    }
    return true;
}

enum status problem_make_experiments(const struct problem *problem, struct problem_block *block,
                                     struct error *error)
{
    static const char none[] = "";
    const struct problem_room *room = block->room;
    size_t *const *first = room->offset;
    block->experiment =
        arena_calloc(block->arena, block->n_experiment + 1, sizeof *block->experiment);
    for (size_t e = 0; block->experiment && e < block->n_experiment; e++)
        block->experiment[e] = (struct experiment){
            .id = none, .steady = EXPERIMENT_NONE,
            .n_dose = first[GROUP_DOSES][e + 1] - first[GROUP_DOSES][e],
            .dose = room->dose + first[GROUP_DOSES][e],
            .n_call = first[GROUP_EVENTS][e + 1] - first[GROUP_EVENTS][e],
            .call = room->call + first[GROUP_EVENTS][e],
            .n_substitute = first[GROUP_SUBSTITUTES][e + 1] - first[GROUP_SUBSTITUTES][e],
            .substitute = room->substitute + first[GROUP_SUBSTITUTES][e]};
    return block->experiment ? STATUS_OK : problem_no_memory(problem, error);
}

enum status problem_settle(const struct problem *problem, struct problem_block *block,
                           struct error *error)
{
    bool good = true;
    for (size_t e = 0; e < block->n_experiment && good; e++)
        good = sort_doses(block->arena, block->room->dose + block->room->offset[GROUP_DOSES][e],
                          block->experiment[e].n_dose);
    return good && fill_inputs(problem, block) ? STATUS_OK : problem_no_memory(problem, error);
}
