/* Walking through /measurements, which may be far longer than memory: a window of rows moves along, and the rows of
 * one dataset after another are handed out of it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static char too_many[] = "has more than 16777216 measurements";
_Static_assert(PROBLEM_MAX_DATASET_ROW == 16777216, "the message names the number");

static enum status no_memory(const struct problem *problem, struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "%s: out of memory", problem->file.path);
}

enum status problem_window_init(struct problem *problem, struct error *error)
{
    struct problem_window *window = &problem->window;
    struct arena *arena = &problem->arena;
    uint64_t n = problem->info.n_measurement < PROBLEM_WINDOW ? problem->info.n_measurement + 1 : PROBLEM_WINDOW;
    window->dataset = arena_alloc(arena, n * sizeof *window->dataset);
    window->observable = arena_alloc(arena, n * sizeof *window->observable);
    window->time = arena_alloc(arena, n * sizeof *window->time);
    window->value = arena_alloc(arena, n * sizeof *window->value);
    window->sigma = problem->row[ROW_SIGMA].dataset ? arena_alloc(arena, n * sizeof *window->sigma) : NULL;
    bool has_censored = problem->row[ROW_CENSORED].dataset != 0;
    window->censored = has_censored ? arena_alloc(arena, n * sizeof *window->censored) : NULL;
    if (!window->dataset || !window->observable || !window->time || !window->value
        || (problem->row[ROW_SIGMA].dataset && !window->sigma) || (has_censored && !window->censored))
        return no_memory(problem, error);
    return STATUS_OK;
}

/* " (dataset "id")" for a message, or nothing where there is no such dataset. */
static const char *dataset_text(struct problem *problem, int64_t d, char text[120])
{
    struct arena arena = {0};
    char *id = NULL;
    text[0] = '\0';
    if (d >= 0 && (uint64_t)d < problem->info.n_dataset && problem->faults.n < PROBLEM_MAX_FAULT
        && problem_read_ids(problem, (uint64_t)d, 1, &arena, &id, NULL) == STATUS_OK)
        snprintf(text, 120, " (dataset \"%.100s\")", id);
    arena_fini(&arena);
    return text;
}

static void report_dataset(struct problem *problem, uint64_t row, int64_t d, int64_t previous)
{
    char text[120];
    const char *const path = "/measurements/dataset";
    int64_t n_dataset = (int64_t)problem->info.n_dataset;
    if (d == INT64_MIN)
        faults_add(&problem->faults, "%s row %" PRIu64 ": is not a whole number", path, row);
    else if (d < 0 || d >= n_dataset)
        faults_add(&problem->faults, "%s row %" PRIu64 ": is %" PRId64 ", but there are %" PRId64 " datasets (row "
                   "numbers of /datasets/id, counted from 0)", path, row, d, n_dataset);
    else
        faults_add(&problem->faults, "%s row %" PRIu64 ": is %" PRId64 "%s after %" PRId64 "; rows must be sorted by "
                   "dataset", path, row, d, dataset_text(problem, d, text), previous);
}

static void report_observable(struct problem *problem, uint64_t row, int64_t d, int64_t index)
{
    char text[120];
    const char *const path = "/measurements/observable";
    size_t n = problem->n_observable_index;
    dataset_text(problem, d, text);
    if (index == INT64_MIN)
        faults_add(&problem->faults, "%s row %" PRIu64 "%s: is not a whole number", path, row, text);
    else
        faults_add(&problem->faults, "%s row %" PRIu64 "%s: is %" PRId64 ", but there %s %zu observable%s (counted "
                   "from 0)", path, row, text, index, n == 1 ? "is" : "are", n, n == 1 ? "" : "s");
}

static void report_censored(struct problem *problem, uint64_t row, int64_t d, int64_t side)
{
    char text[120], number[40] = "not a whole number";
    dataset_text(problem, d, text);
    if (side != INT64_MIN)
        snprintf(number, sizeof number, "%" PRId64, side);
    faults_add(&problem->faults, "/measurements/censored row %" PRIu64 "%s: is %s; use 0 (no), 1 (the measurement lies "
               "below its value) or -1 (above it)", row, text, number);
}

/* Marks rows whose dataset cannot be; they are reported once, however often the window comes here. */
static void check_rows(struct problem *problem)
{
    struct problem_window *window = &problem->window;
    int64_t n_dataset = (int64_t)problem->info.n_dataset, previous = (int64_t)problem->next;
    for (size_t i = 0; i < window->n; i++) {
        int64_t d = window->dataset[i], index = window->observable[i];
        uint64_t row = window->first + i;
        bool report = row >= window->checked;
        if (d >= previous && d < n_dataset) {
            previous = d;
        } else {
            window->dataset[i] = -1;
            if (report)
                report_dataset(problem, row, d, previous);
        }
        int64_t side = window->censored ? window->censored[i] : 0;
        if (side < -1 || side > 1) {
            window->censored[i] = 0;
            if (report)
                report_censored(problem, row, d, side);
        }
        if (index >= 0 && index < (int64_t)problem->n_observable_index)
            continue;
        window->observable[i] = 0;
        if (report)
            report_observable(problem, row, d, index);
    }
    if (window->first + window->n > window->checked)
        window->checked = window->first + window->n;
}

static enum status load(struct problem *problem, struct error *error)
{
    struct problem_window *window = &problem->window;
    uint64_t left = problem->info.n_measurement - window->next;
    size_t n = left < PROBLEM_WINDOW ? (size_t)left : PROBLEM_WINDOW;
    const struct hdf5_column *column = problem->row;
    uint64_t first = window->next;
    window->n = 0;
    enum status status = hdf5_column_read_int64(&column[ROW_DATASET], first, n, window->dataset, error);
    if (!status)
        status = hdf5_column_read_double(&column[ROW_TIME], first, n, window->time, error);
    if (!status)
        status = hdf5_column_read_double(&column[ROW_VALUE], first, n, window->value, error);
    if (!status && window->sigma)
        status = hdf5_column_read_double(&column[ROW_SIGMA], first, n, window->sigma, error);
    if (!status && window->censored)
        status = hdf5_column_read_int64(&column[ROW_CENSORED], first, n, window->censored, error);
    if (!status && column[ROW_OBSERVABLE].dataset)
        status = hdf5_column_read_int64(&column[ROW_OBSERVABLE], first, n, window->observable, error);
    else if (!status)
        memset(window->observable, 0, n * sizeof *window->observable);
    if (status)
        return status;
    window->first = first;
    window->n = n;
    check_rows(problem);
    if (problem->faults.n && !problem->checking)
        return faults_report(&problem->faults, problem->file.path, error);
    return STATUS_OK;
}

void problem_window_seek(struct problem *problem, uint64_t row)
{
    struct problem_window *window = &problem->window;
    if (row < window->first)
        window->n = 0;
    window->next = row;
}

static void *grown(struct arena *arena, const void *old, size_t used, size_t size)
{
    void *wide = arena_alloc(arena, size);
    return wide && used ? memcpy(wide, old, used) : wide;
}

enum status problem_reserve_rows(const struct problem *problem, struct problem_block *block, size_t used, size_t more,
                                 struct error *error)
{
    if (used + more <= block->capacity)
        return STATUS_OK;
    size_t capacity = block->capacity ? 2 * block->capacity : used + more;
    while (capacity < used + more)
        capacity *= 2;
    struct arena *arena = block->arena;
    block->time = grown(arena, block->time, used * sizeof(double), capacity * sizeof(double));
    block->value = grown(arena, block->value, used * sizeof(double), capacity * sizeof(double));
    block->sigma = grown(arena, block->sigma, used * sizeof(double), capacity * sizeof(double));
    block->observable = grown(arena, block->observable, used * sizeof(uint32_t), capacity * sizeof(uint32_t));
    block->censored = grown(arena, block->censored, used, capacity);
    if (!block->time || !block->value || !block->sigma || !block->observable || !block->censored)
        return no_memory(problem, error);
    block->capacity = capacity;
    return STATUS_OK;
}

/* Rows [i, j) of the window become rows of the block from `to` on. */
static void copy_rows(const struct problem *problem, struct problem_block *block, size_t to, size_t i, size_t j)
{
    const struct problem_window *window = &problem->window;
    size_t n = j - i;
    memcpy(block->time + to, window->time + i, n * sizeof *block->time);
    memcpy(block->value + to, window->value + i, n * sizeof *block->value);
    if (window->sigma)
        memcpy(block->sigma + to, window->sigma + i, n * sizeof *block->sigma);
    for (size_t k = 0; k < n; k++) {
        if (!window->sigma)
            block->sigma[to + k] = NAN;
        block->observable[to + k] = problem->observable_model[window->observable[i + k]];
        block->censored[to + k] = window->censored ? (int8_t)window->censored[i + k] : 0;
    }
}

enum status problem_take_rows(struct problem *problem, struct problem_block *block, uint64_t dataset, size_t max_row,
                              bool *fits, struct error *error)
{
    struct problem_window *window = &problem->window;
    uint64_t begin = window->next;
    size_t used = block->row[block->n];
    *fits = true;
    block->first_row[block->n] = begin;
    while (window->next < problem->info.n_measurement) {
        if (window->next < window->first || window->next >= window->first + window->n) {
            enum status status = load(problem, error);
            if (status)
                return status;
        }
        size_t i = (size_t)(window->next - window->first), j = i;
        if (window->dataset[i] == -1) {
            window->next++;
            continue;
        }
        if (used == block->row[block->n])
            block->first_row[block->n] = window->next;
        while (j < window->n && window->dataset[j] == (int64_t)dataset)
            j++;
        if (j == i)
            break;
        if (block->n > 0 && (j - i > max_row || used > max_row - (j - i))) {
            problem_window_seek(problem, begin);
            *fits = false;
            return STATUS_OK;
        }
        window->next += j - i;
        if (used - block->row[block->n] + (j - i) > PROBLEM_MAX_DATASET_ROW) {
            block->fault[block->n] = too_many;
            continue;
        }
        enum status status = problem_reserve_rows(problem, block, used, j - i, error);
        if (status)
            return status;
        copy_rows(problem, block, used, i, j);
        used += j - i;
    }
    block->row[block->n + 1] = used;
    return STATUS_OK;
}

enum status problem_skip_rows(struct problem *problem, uint64_t dataset, struct error *error)
{
    struct problem_window *window = &problem->window;
    while (window->next < problem->info.n_measurement) {
        if (window->next < window->first || window->next >= window->first + window->n) {
            enum status status = load(problem, error);
            if (status)
                return status;
        }
        int64_t d = window->dataset[window->next - window->first];
        if (d != -1 && d != (int64_t)dataset)
            break;
        window->next++;
    }
    return STATUS_OK;
}
