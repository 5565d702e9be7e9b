/* Reads datasets in blocks: each block has everything that its fits need, in the model's terms.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem/internal.h"

#include "base/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROWS = 1024, PIECE = 1 << 16 /* numbers read at once */ };

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

static enum status reserve(const struct problem *problem, struct problem_block *block,
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
        if ((status = reserve(problem, block, group, n, error)))
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
    enum status status = reserve(problem, block, GROUP_EXPERIMENTS, 1, error);
    if (status)
        return status;
    room->place[GROUP_EXPERIMENTS][block->n_experiment] = number;
    for (int g = GROUP_MEASUREMENTS; g < N_GROUP && !status; g++)
        status = take_rows(problem, block, (enum problem_group)g, number, first[g], error);
    room->used[GROUP_EXPERIMENTS] = ++block->n_experiment;
    return status;
}

static enum status take(struct problem *problem, struct problem_block *block, uint64_t dataset,
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

static enum status make_experiments(const struct problem *problem, struct problem_block *block,
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

static enum status settle(const struct problem *problem, struct problem_block *block,
                           struct error *error)
{
    bool good = true;
    for (size_t e = 0; e < block->n_experiment && good; e++)
        good = sort_doses(block->arena, block->room->dose + block->room->offset[GROUP_DOSES][e],
                          block->experiment[e].n_dose);
    return good && fill_inputs(problem, block) ? STATUS_OK : problem_no_memory(problem, error);
}

enum status problem_read_ids(const struct problem *problem, uint64_t first, size_t n,
                             struct arena *arena, char **ids, struct error *error)
{
    return problem_read_owner_ids(problem, &problem->owners[0], first, n, arena, ids, error);
}

/* Allocates what n datasets have themselves, and room for as many rows as the block has had. */
static enum status allocate(const struct problem *problem, struct problem_block *block, size_t n,
                            struct error *error)
{
    size_t p = problem->n_parameter,
           capacity[N_GROUP] = {[GROUP_EXPERIMENTS] = n, [GROUP_MEASUREMENTS] = FIRST_ROWS};
    if (!block->arena && !(block->arena = calloc(1, sizeof *block->arena)))
        return problem_no_memory(problem, error);
    for (int g = 0; block->room && g < N_GROUP; g++)
        capacity[g] =
            capacity[g] > block->room->capacity[g] ? capacity[g] : block->room->capacity[g];
    struct arena *arena = block->arena;
    arena_reset(arena);
    block->room = arena_calloc(arena, 1, sizeof *block->room);
    block->dataset = arena_calloc(arena, n, sizeof *block->dataset);
    block->id = arena_calloc(arena, n, sizeof *block->id);
    block->fault = arena_calloc(arena, n, sizeof *block->fault);
    block->start = arena_calloc(arena, n * p, sizeof *block->start);
    block->lower = arena_calloc(arena, n * p, sizeof *block->lower);
    block->upper = arena_calloc(arena, n * p, sizeof *block->upper);
    block->fixed = arena_calloc(arena, n * p, sizeof *block->fixed);
    block->rtol = arena_calloc(arena, n, sizeof *block->rtol);
    block->n_noise = arena_calloc(arena, n, sizeof *block->n_noise);
    block->profile_end = arena_calloc(arena, n, sizeof *block->profile_end);
    block->first_experiment = arena_calloc(arena, n + 1, sizeof *block->first_experiment);
    if (!block->room || !block->dataset || !block->id || !block->fault || !block->start ||
        !block->lower || !block->upper || !block->fixed || !block->rtol || !block->n_noise ||
        !block->profile_end || !block->first_experiment)
        return problem_no_memory(problem, error);
    enum status status = STATUS_OK;
    for (int g = 0; g < N_GROUP && !status; g++)
        status = reserve(problem, block, (enum problem_group)g, capacity[g], error);
    return status;
}

/* The row of a table of datasets, or of experiments, that each experiment of the block has. */
static uint64_t *find_rows(const struct problem_block *block, bool of_experiments)
{
    if (of_experiments)
        return block->room->place[GROUP_EXPERIMENTS];
    uint64_t *row = arena_alloc(block->arena, (block->n_experiment + 1) * sizeof *row);
    for (size_t d = 0; row && d < block->n; d++)
        for (size_t e = block->first_experiment[d]; e < block->first_experiment[d + 1]; e++)
            row[e] = block->dataset[d];
    return row;
}

/* Reads the row of each experiment into out, n_experiment x width of the column. */
static enum status read_constants(const struct problem *problem, const struct problem_block *block,
                                  const struct hdf5_column *column, bool of_experiments,
                                  double *out, struct error *error)
{
    size_t width = column->width, piece = 1 + PIECE / width;
    const uint64_t *row = find_rows(block, of_experiments);
    double *scratch = arena_alloc(block->arena, piece * width * sizeof *scratch);
    if (!row || !scratch)
        return problem_no_memory(problem, error);
    enum status status = STATUS_OK;
    for (size_t e = 0; e < block->n_experiment && !status;) {
        uint64_t first = row[e], left = row[block->n_experiment - 1] + 1 - first;
        size_t n = left < piece ? (size_t)left : piece;
        status = hdf5_column_read_double(column, first, n, scratch, error);
        for (; !status && e < block->n_experiment && row[e] < first + n; e++)
            memcpy(out + e * width, scratch + (row[e] - first) * width, width * sizeof *out);
    }
    return status;
}

static enum status read_covariates(const struct problem *problem, struct problem_block *block,
                                   struct error *error)
{
    size_t n = problem->model.n_covariate;
    double *covariate =
        arena_calloc(block->arena, block->n_experiment * n + 1, sizeof *covariate);
    enum status status = covariate ? STATUS_OK : problem_no_memory(problem, error);
    for (int k = 0; k < 2 && n > 0 && !status; k++) {
        const struct problem_owners *owners = &problem->owners[k];
        if (!owners->covariate.dataset || owners->n_covariate == 0)
            continue;
        double *given = arena_alloc(block->arena, (block->n_experiment + 1) * owners->n_covariate *
                                                      sizeof *given);
        status = given ? read_constants(problem, block, &owners->covariate, k == 1, given, error)
                       : problem_no_memory(problem, error);
        for (size_t e = 0; e < block->n_experiment && !status; e++)
            for (size_t i = 0; i < n; i++)
                if (problem->covariate_of_experiment[i] == (k == 1))
                    covariate[e * n + i] =
                        given[e * owners->n_covariate + problem->covariate_column[i]];
    }
    for (size_t e = 0; e < block->n_experiment; e++)
        block->experiment[e].covariate = covariate + e * n;
    return status;
}

static enum status read_t0(const struct problem *problem, struct problem_block *block,
                           struct error *error)
{
    bool of_experiments = problem->owners[1].t0.dataset;
    const struct problem_owners *owners = &problem->owners[of_experiments];
    const struct hdf5_column *t0 = &owners->t0;
    const bool is_common = t0->dataset && t0->n_row != owners->n;
    double common = problem->model.t0,
           *each = arena_alloc(block->arena, (block->n_experiment + 1) * sizeof *each);
    enum status status = each ? STATUS_OK : problem_no_memory(problem, error);
    if (!status && is_common)
        status = hdf5_column_read_double(t0, 0, 1, &common, error);
    else if (!status && t0->dataset)
        status = read_constants(problem, block, t0, of_experiments, each, error);
    for (size_t e = 0; e < block->n_experiment && !status; e++)
        block->experiment[e].t0 = is_common || !t0->dataset ? common : each[e];
    return status;
}

static void report_source(struct problem *problem, const struct problem_block *block, size_t d,
                          uint64_t row)
{
    char text[100], hint[NEAREST_HINT];
    problem_name_text(problem, &problem->owners[1].steady, row, text);
    faults_add(&problem->faults,
               "%s row %" PRIu64 ": \"%s\" is no experiment of dataset \"%.60s\"%s",
               problem->owners[1].steady.path, row, text,
               block->id[block->dataset[d] - block->first],
               problem_name_hint(problem, &problem->owners[1].names, text, hint));
}

/* Of each experiment of the block, the number of the one at whose steady state it begins, or -1. */
static enum status read_sources(struct problem *problem, const struct problem_block *block,
                                double *given, struct error *error)
{
    const uint64_t *row = block->room->place[GROUP_EXPERIMENTS];
    if (!problem_has_names(&problem->owners[1].steady))
        return read_constants(problem, block, &problem->owners[1].steady, true, given, error);
    int64_t *number = arena_alloc(block->arena, PIECE * sizeof *number);
    int64_t *within = arena_calloc(block->arena, PIECE, sizeof *within);
    const struct problem_numbers numbers = {.column = &problem->owners[1].steady,
                                            .names = &problem->owners[1].names_within,
                                            .is_row = true, .has_none = true, .within = within};
    if (!number || !within)
        return problem_no_memory(problem, error);
    for (size_t d = 0, begin = 0, e; begin < block->n_experiment; begin = e) {
        uint64_t first = row[begin], left = row[block->n_experiment - 1] + 1 - first;
        size_t n = left < PIECE ? (size_t)left : PIECE, from = d;
        for (e = begin; e < block->n_experiment && row[e] < first + n; e++) {
            while (e >= block->first_experiment[d + 1])
                d++;
            within[row[e] - first] = (int64_t)block->dataset[d];
        }
        enum status status = problem_read_numbers(&numbers, first, n, number, error);
        if (status)
            return status;
        for (size_t k = begin; k < e; k++) {
            while (k >= block->first_experiment[from + 1])
                from++;
            given[k] = (double)number[row[k] - first];
            if (number[row[k] - first] == NAME_UNKNOWN && problem->checking)
                report_source(problem, block, from, row[k]);
        }
    }
    return STATUS_OK;
}

/* Row numbers of other experiments of the same dataset; what is none of them becomes the
 * experiment itself, a fault. */
static enum status read_steady(struct problem *problem, struct problem_block *block,
                               struct error *error)
{
    const uint64_t *row = block->room->place[GROUP_EXPERIMENTS];
    if (!problem->owners[1].steady.dataset)
        return STATUS_OK;
    double *given = arena_alloc(block->arena, (block->n_experiment + 1) * sizeof *given);
    if (!given)
        return problem_no_memory(problem, error);
    enum status status = read_sources(problem, block, given, error);
    for (size_t d = 0; d < block->n && !status; d++) {
        const size_t first = block->first_experiment[d], end = block->first_experiment[d + 1];
        for (size_t e = first; e < end; e++) {
            block->experiment[e].steady = given[e] == -1 ? EXPERIMENT_NONE : (uint32_t)(e - first);
            for (size_t source = first; source < end; source++)
                if (given[e] == (double)row[source])
                    block->experiment[e].steady = (uint32_t)(source - first);
        }
    }
    return status;
}

static enum status read_experiment_ids(const struct problem *problem, struct problem_block *block,
                                       struct error *error)
{
    const struct problem_owners *owners = &problem->owners[1];
    const uint64_t *row = block->room->place[GROUP_EXPERIMENTS];
    const bool has_ids = owners->id.dataset;
    uint64_t span = has_ids && block->n_experiment ? row[block->n_experiment - 1] + 1 - row[0] : 0;
    char **given =
        arena_calloc(block->arena, span < PIECE ? (size_t)span + 1 : PIECE, sizeof *given);
    enum status status = given ? STATUS_OK : problem_no_memory(problem, error);
    for (size_t e = 0; e < block->n_experiment && problem->has_experiments && !has_ids; e++) {
        char *id = arena_alloc(block->arena, 24);
        if (!id)
            return problem_no_memory(problem, error);
        snprintf(id, 24, "%" PRIu64, row[e]);
        block->experiment[e].id = id;
    }
    for (size_t e = 0; e < block->n_experiment && has_ids && !status;) {
        uint64_t first = row[e], left = row[block->n_experiment - 1] + 1 - first;
        size_t n = left < PIECE ? (size_t)left : PIECE;
        status = problem_read_owner_ids(problem, owners, first, n, block->arena, given, error);
        for (; !status && e < block->n_experiment && row[e] < first + n; e++)
            block->experiment[e].id = given[row[e] - first];
    }
    return status;
}

static enum status read_parameters(struct problem *problem, struct problem_block *block,
                                   double *scratch, struct error *error)
{
    size_t n = (size_t)(block->end - block->first);
    double *const out[N_PARAMETER_COLUMN] = {
        [PARAMETER_start] = block->start, [PARAMETER_lower] = block->lower,
        [PARAMETER_upper] = block->upper, [PARAMETER_fixed] = scratch};
    enum status status = STATUS_OK;
    for (int c = 0; c < N_PARAMETER_COLUMN && !status; c++)
        if (out[c])
            status = problem_read_table(problem, c, block->first, n, out[c], error);
    for (size_t d = 0; d < n && !status; d++)
        problem_tighten_bounds(problem, block->lower + d * problem->n_parameter,
                               block->upper + d * problem->n_parameter);
    for (size_t i = 0; i < n * problem->n_parameter && !status; i++)
        block->fixed[i] = isnan(scratch[i]) ? PROBLEM_FIXED_NAN : scratch[i] != 0;
    return status;
}

/* Moves the wanted rows of a table, read for all datasets of the block, to its beginning. */
static void keep_wanted(const struct problem_block *block, void *table, size_t row_size)
{
    for (size_t d = 0; d < block->n && row_size; d++)
        memmove((char *)table + d * row_size,
                (char *)table + (block->dataset[d] - block->first) * row_size, row_size);
}

static enum status read_tables(struct problem *problem, struct problem_block *block,
                               struct error *error)
{
    size_t n = (size_t)(block->end - block->first), p = problem->n_parameter;
    double *scratch = arena_alloc(block->arena, n * p * sizeof *scratch);
    if (!scratch)
        return problem_no_memory(problem, error);
    enum status status = problem_read_ids(problem, block->first, n, block->arena, block->id, error);
    if (!status)
        status = make_experiments(problem, block, error);
    if (!status)
        status = read_experiment_ids(problem, block, error);
    if (!status)
        status = read_t0(problem, block, error);
    if (!status)
        status = read_covariates(problem, block, error);
    if (!status)
        status = read_steady(problem, block, error);
    if (!status)
        status = read_parameters(problem, block, scratch, error);
    if (status || block->n == n)
        return status;
    keep_wanted(block, block->id, sizeof *block->id);
    keep_wanted(block, block->start, p * sizeof *block->start);
    keep_wanted(block, block->lower, p * sizeof *block->lower);
    keep_wanted(block, block->upper, p * sizeof *block->upper);
    keep_wanted(block, block->fixed, p * sizeof *block->fixed);
    return STATUS_OK;
}

static enum status find_faults(struct problem *problem, struct problem_block *block,
                               struct error *error)
{
    for (size_t d = 0; d < block->n; d++) {
        char text[200];
        if (block->fault[d] || !problem_dataset_fault(problem, block, d, text, sizeof text))
            continue;
        size_t size = strlen(text) + 1;
        if (!(block->fault[d] = arena_alloc(block->arena, size)))
            return problem_no_memory(problem, error);
        memcpy(block->fault[d], text, size);
    }
    return STATUS_OK;
}

enum status problem_read(struct problem *problem, struct problem_block *block, size_t max_dataset,
                         size_t max_row, struct error *error)
{
    if (!problem->matched)
        return error_set(error, STATUS_INTERNAL, "problem_read before problem_validate");
    uint64_t left = problem->info.n_dataset - problem->next;
    size_t n = left < max_dataset ? (size_t)left : max_dataset;
    block->n = block->n_experiment = 0;
    block->first = block->end = problem->next;
    if (n == 0)
        return STATUS_OK;
    enum status status = allocate(problem, block, n, error);
    for (bool fits = true; !status && problem->next < block->first + n; problem->next++) {
        if (problem->wanted && !problem->wanted(problem->wanted_context, problem->next))
            continue;
        status = take(problem, block, problem->next, max_row, &fits, error);
        if (status || !fits)
            break;
        block->dataset[block->n++] = problem->next;
    }
    block->end = problem->next;
    if (!status && block->n)
        status = read_tables(problem, block, error);
    if (!status)
        status = find_faults(problem, block, error);
    if (!status)
        status = settle(problem, block, error);
    if (status)
        block->n = block->n_experiment = 0;
    return status;
}

void problem_select(struct problem *problem, bool (*wanted)(const void *context, uint64_t dataset),
                    const void *context)
{
    problem->wanted = wanted;
    problem->wanted_context = context;
}

enum status problem_rewind(struct problem *problem, struct error *error)
{
    (void)error;
    problem->next = 0;
    /* The windows' rows were checked relative to the place where they were loaded. */
    for (int g = 0; g < N_GROUP; g++)
        problem->stream[g].n = problem->stream[g].next = 0;
    return STATUS_OK;
}

void problem_block_fini(struct problem_block *block)
{
    if (block->arena) {
        arena_fini(block->arena);
        free(block->arena);
    }
    *block = (struct problem_block){0};
}
