/* Reads /measurements, which may be far larger than memory, through a moving window, and takes the rows of one dataset after
 * another from it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static char too_many[] = "has more than 16777216 measurements";
_Static_assert(PROBLEM_MAX_DATASET_ROW == 16777216, "the message names the number");

enum status problem_window_init(struct problem *problem, struct error *error)
{
    struct problem_window *window = &problem->window;
    struct arena *arena = &problem->arena;
    uint64_t n = problem->info.n_measurement < PROBLEM_WINDOW ? problem->info.n_measurement + 1 : PROBLEM_WINDOW;
    bool got_all = (window->dataset = arena_alloc(arena, n * sizeof *window->dataset)) != NULL;
    for (int c = 0; c < N_MEASUREMENT; c++) {
        struct problem_cells *cells = &window->cells[c];
        if (!problem->row[c].dataset || !(MEASUREMENT_FITTED >> c & 1))
            continue;
        if (measurement_columns[c].kind == MEASUREMENT_DOUBLE)
            got_all = (cells->real = arena_alloc(arena, n * sizeof *cells->real)) != NULL && got_all;
        else
            got_all = (cells->whole = arena_alloc(arena, n * sizeof *cells->whole)) != NULL && got_all;
    }
    return got_all ? STATUS_OK : problem_no_memory(problem, error);
}

/* " (dataset "id")" for a message; nothing if there is no such dataset. */
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

static void report_number(struct problem *problem, int column, uint64_t row, int64_t d, int64_t number)
{
    char text[120], what[40] = "not a whole number";
    dataset_text(problem, d, text);
    if (number != INT64_MIN)
        snprintf(what, sizeof what, "%" PRId64, number);
    faults_add(&problem->faults, "%s row %" PRIu64 "%s: is %s; use %s", measurement_columns[column].path, row, text, what,
               measurement_columns[column].meaning);
}

/* Checks a column of indices of observables, or of other integers. */
static void check_numbers(struct problem *problem, int column, size_t i, int64_t d, bool report)
{
    struct problem_window *window = &problem->window;
    int64_t *number = window->cells[column].whole ? &window->cells[column].whole[i] : NULL, none = 0;
    const struct measurement_info *info = &measurement_columns[column];
    bool is_index = column == MEASUREMENT_observable;
    int64_t given = number ? *number : none, most = is_index ? (int64_t)problem->n_observable_index - 1 : info->most;
    if (given >= info->least && given <= most)
        return;
    if (report && is_index)
        report_observable(problem, window->first + i, d, given);
    else if (report)
        report_number(problem, column, window->first + i, d, given);
    if (number)
        *number = 0;
}

/* Marks rows whose dataset is invalid; they are reported once, even if the window returns here. */
static void check_rows(struct problem *problem)
{
    struct problem_window *window = &problem->window;
    int64_t n_dataset = (int64_t)problem->info.n_dataset, previous = (int64_t)problem->next;
    for (size_t i = 0; i < window->n; i++) {
        int64_t d = window->dataset[i];
        bool report = window->first + i >= window->checked;
        if (d >= previous && d < n_dataset) {
            previous = d;
        } else {
            window->dataset[i] = -1;
            if (report)
                report_dataset(problem, window->first + i, d, previous);
        }
        for (int c = 0; c < N_MEASUREMENT; c++)
            if (window->cells[c].whole || c == MEASUREMENT_observable)
                check_numbers(problem, c, i, d, report);
    }
    if (window->first + window->n > window->checked)
        window->checked = window->first + window->n;
}

static enum status load(struct problem *problem, struct error *error)
{
    struct problem_window *window = &problem->window;
    uint64_t left = problem->info.n_measurement - window->next;
    size_t n = left < PROBLEM_WINDOW ? (size_t)left : PROBLEM_WINDOW;
    uint64_t first = window->next;
    window->n = 0;
    enum status status = hdf5_column_read_int64(&problem->row_dataset, first, n, window->dataset, error);
    for (int c = 0; c < N_MEASUREMENT && !status; c++)
        if (window->cells[c].real)
            status = hdf5_column_read_double(&problem->row[c], first, n, window->cells[c].real, error);
        else if (window->cells[c].whole)
            status = hdf5_column_read_int64(&problem->row[c], first, n, window->cells[c].whole, error);
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

enum status problem_reserve_rows(const struct problem *problem, struct problem_block *block, size_t used, size_t more,
                                 struct error *error)
{
    if (used + more <= block->room->row)
        return STATUS_OK;
    size_t capacity = block->room->row ? 2 * block->room->row : used + more;
    while (capacity < used + more)
        capacity *= 2;
    void *rows = arena_alloc(block->arena, measurements_bytes(MEASUREMENT_FITTED, capacity));
    if (!rows)
        return problem_no_memory(problem, error);
    struct measurements wider = measurements_place(MEASUREMENT_FITTED, capacity, rows);
    measurements_copy(&wider, 0, &block->measured, 0, used);
    block->measured = wider;
    block->room->row = capacity;
    return STATUS_OK;
}

/* Copies rows [i, j) of the window to the block, from row `to` on. */
static void copy_rows(const struct problem *problem, struct problem_block *block, size_t to, size_t i, size_t j)
{
    const struct problem_window *window = &problem->window;
    const struct measurements target = measurements_from(&block->measured, to), none = {0};
    measurements_copy(&target, 0, &none, 0, j - i);
    for (int c = 0; c < N_MEASUREMENT; c++) {
        void *cells = measurements_cell(&target, (enum measurement_column)c, 0);
        const int64_t *whole = window->cells[c].whole;
        if (window->cells[c].real)
            memcpy(cells, window->cells[c].real + i, (j - i) * sizeof(double));
        for (size_t k = 0; whole && k < j - i; k++)
            if (measurement_columns[c].kind == MEASUREMENT_UINT32)
                ((uint32_t *)cells)[k] = (uint32_t)whole[i + k];
            else
                ((int8_t *)cells)[k] = (int8_t)whole[i + k];
    }
    for (size_t k = 0; k < j - i; k++)
        target.observable[k] = problem->observable_model[target.observable[k]];
}

enum status problem_take_rows(struct problem *problem, struct problem_block *block, uint64_t dataset, size_t max_row,
                              bool *fits, struct error *error)
{
    struct problem_window *window = &problem->window;
    uint64_t begin = window->next;
    size_t used = block->row[block->n];
    *fits = true;
    block->room->first_row[block->n] = begin;
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
            block->room->first_row[block->n] = window->next;
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
