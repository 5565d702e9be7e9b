/* The window that moves over a group of rows, and the faults of the file that single rows have:
 * owners out of order or out of range, and whole numbers that mean nothing.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum status problem_read_owner_ids(const struct problem *problem,
                                   const struct problem_owners *owners, uint64_t first, size_t n,
                                   struct arena *arena, char **ids, struct error *error)
{
    enum status status =
        hdf5_column_read_strings(&owners->id, first, n, PROBLEM_MAX_NAME, arena, ids, error);
    return status || utf8_make_valid(arena, n, ids) ? status : problem_no_memory(problem, error);
}

/* The names of datasets and experiments, if some column has them. */
static enum status init_names(struct problem *problem, struct error *error)
{
    enum status status = STATUS_OK;
    bool has_steady = problem_has_names(&problem->owners[1].steady);
    for (int g = 0; g < N_GROUP && !status; g++) {
        const struct problem_stream *stream = &problem->stream[g];
        bool is_within = has_steady || stream->dataset.dataset;
        if (problem_has_names(&stream->dataset) ||
            (problem_has_names(&stream->owner) && !stream->of_experiments))
            status = problem_names_datasets(problem, error);
        if (!status &&
            (has_steady || (problem_has_names(&stream->owner) && stream->of_experiments)))
            status = problem_names_experiments(problem, false, error);
        if (!status && is_within)
            status = problem_names_experiments(problem, true, error);
    }
    return status;
}

enum status problem_init_windows(struct problem *problem, struct error *error)
{
    enum status status = init_names(problem, error);
    if (status)
        return status;
    for (int g = 0; g < N_GROUP; g++) {
        struct problem_stream *stream = &problem->stream[g];
        size_t n = stream->n_row < PROBLEM_WINDOW ? (size_t)stream->n_row + 1 : PROBLEM_WINDOW;
        stream->key = arena_calloc(&problem->arena, n, sizeof *stream->key);
        stream->of =
            stream->dataset.dataset ? arena_calloc(&problem->arena, n, sizeof *stream->of) : NULL;
        for (size_t f = 0; f < stream->n_info; f++) {
            struct problem_field *field = &stream->field[f];
            if (!field->column.dataset ||
                (g == GROUP_MEASUREMENTS && !(MEASUREMENT_FITTED >> f & 1)))
                continue;
            if (stream->info[f].kind == COLUMN_DOUBLE)
                field->real = arena_calloc(&problem->arena, n, sizeof *field->real);
            else
                field->whole = arena_calloc(&problem->arena, n, sizeof *field->whole);
        }
    }
    return problem->arena.failed ? problem_no_memory(problem, error) : STATUS_OK;
}

/* ' (dataset "id")' for a message; nothing if there is no such one. */
static const char *owner_text(struct problem *problem, const struct problem_stream *stream,
                              int64_t owner, char text[120])
{
    struct arena arena = {0};
    char *id = NULL;
    text[0] = '\0';
    if (owner < 0 || (uint64_t)owner >= stream->n_owner || problem->faults.n >= FAULTS_LISTED)
        return text;
    const char *const what = stream->of_experiments ? "experiment" : "dataset";
    const struct problem_owners *owners = &problem->owners[stream->of_experiments];
    if (!owners->id.dataset)
        snprintf(text, 120, " (%s %" PRId64 ")", what, owner);
    else if (problem_read_owner_ids(problem, owners, (uint64_t)owner, 1, &arena, &id, NULL) ==
             STATUS_OK)
        snprintf(text, 120, " (%s \"%.100s\")", what, id);
    arena_fini(&arena);
    return text;
}

static void report_owner(struct problem *problem, const struct problem_stream *stream, uint64_t row,
                         int64_t owner, int64_t previous)
{
    char text[120];
    struct faults *faults = &problem->faults;
    const char *const path = stream->owner.path, *const what = stream->of_experiments ? "experiment"
                                                                                      : "dataset";
    const char *const ids = stream->of_experiments ? "/experiments/id" : "/datasets/id";
    char hint[NEAREST_HINT];
    if (problem_has_names(&stream->owner))
        problem_name_text(problem, &stream->owner, row, text);
    if (owner == NAME_UNKNOWN)
        faults_add(
            faults, "%s row %" PRIu64 ": \"%s\" is not in %s%s%s", path, row, text, ids,
            stream->dataset.dataset ? " for this dataset" : "",
            problem_name_hint(problem, &problem->owners[stream->of_experiments].names, text, hint));
    else if (owner == NAME_AMBIGUOUS)
        faults_add(faults,
                   "%s row %" PRIu64
                   ": \"%s\" is more than once in %s; give %s/dataset, too, or row numbers",
                   path, row, text, ids, stream->path);
    else if (problem_has_names(&stream->owner))
        faults_add(faults,
                   "%s row %" PRIu64 ": \"%s\" comes after row %" PRId64
                   " of %s; rows must be in the order of %s",
                   path, row, text, previous, ids, ids);
    else if (owner == INT64_MIN)
        faults_add(faults, "%s row %" PRIu64 ": is not a whole number", path, row);
    else if (owner < 0 || (uint64_t)owner >= stream->n_owner)
        faults_add(faults,
                   "%s row %" PRIu64 ": is %" PRId64 ", but there are %" PRIu64
                   " %ss (row numbers of %s, counted "
                   "from 0)",
                   path, row, owner, stream->n_owner, what,
                   stream->of_experiments ? "/experiments" : "/datasets/id");
    else
        faults_add(faults,
                   "%s row %" PRIu64 ": is %" PRId64 "%s after %" PRId64
                   "; rows must be sorted by %s",
                   path, row, owner, owner_text(problem, stream, owner, text), previous, what);
}

static void report_number(struct problem *problem, const struct problem_stream *stream, size_t f,
                          size_t i, int64_t owner)
{
    char text[120], name[100], hint[NEAREST_HINT], given[40] = "not a whole number";
    const struct column_info *info = &stream->info[f];
    const struct problem_field *field = &stream->field[f];
    if (field->whole[i] != INT64_MIN)
        snprintf(given, sizeof given, "%" PRId64, field->whole[i]);
    owner_text(problem, stream, owner, text);
    if (info->names && problem_has_names(&field->column)) {
        problem_name_text(problem, &field->column, stream->first + i, name);
        faults_add(&problem->faults, "%s row %" PRIu64 "%s: \"%s\" is not in %s%s",
                   field->column.path, stream->first + i, text, name, info->names,
                   problem_name_hint(problem, &field->names, name, hint));
    } else if (info->names)
        faults_add(
            &problem->faults, "%s row %" PRIu64 "%s: is %s, but there %s %zu %s%s (counted from 0)",
            field->column.path, stream->first + i, text, given, field->n_name == 1 ? "is" : "are",
            field->n_name, info->what, field->n_name == 1 ? "" : "s");
    else
        faults_add(&problem->faults, "%s row %" PRIu64 "%s: is %s; use %s", field->column.path,
                   stream->first + i, text, given, info->meaning);
}

static int64_t largest_number(const struct problem_stream *stream, size_t f)
{
    const struct column_info *info = &stream->info[f];
    return info->names ? (int64_t)stream->field[f].n_name - 1 : info->most;
}

/* Whether no row of the window has a fault, as in nearly all windows. Column by column, which
 * takes a tenth of the time. */
static bool is_sound(const struct problem_stream *stream, int64_t previous)
{
    bool good = true;
    for (size_t i = 0; i < stream->n; i++) {
        good = good && stream->key[i] >= previous;
        previous = stream->key[i];
    }
    good = good && (stream->n == 0 || (uint64_t)previous < stream->n_owner);
    for (size_t f = 0; f < stream->n_info && good; f++) {
        const int64_t *whole = stream->field[f].whole;
        int64_t least = stream->info[f].least, most = largest_number(stream, f), n_bad = 0;
        for (size_t i = 0; whole && i < stream->n; i++)
            n_bad += (whole[i] < least) | (whole[i] > most);
        good = n_bad == 0;
    }
    return good;
}

/* Marks rows without a valid owner. Faults are reported once, even if the window returns here. */
static void check_rows(struct problem *problem, struct problem_stream *stream, int64_t previous)
{
    bool is_good = is_sound(stream, previous);
    for (size_t i = 0; i < stream->n && !is_good; i++) {
        int64_t owner = stream->key[i];
        bool report = stream->first + i >= stream->checked;
        if (owner >= previous && (uint64_t)owner < stream->n_owner) {
            previous = owner;
        } else {
            stream->key[i] = -1;
            if (report)
                report_owner(problem, stream, stream->first + i, owner, previous);
        }
        for (size_t f = 0; f < stream->n_info; f++) {
            const struct column_info *info = &stream->info[f];
            const struct problem_field *field = &stream->field[f];
            int64_t most = largest_number(stream, f);
            if (!field->whole || (field->whole[i] >= info->least && field->whole[i] <= most))
                continue;
            if (report)
                report_number(problem, stream, f, i, owner);
            field->whole[i] = 0;
        }
    }
    if (stream->first + stream->n > stream->checked)
        stream->checked = stream->first + stream->n;
}

static enum status read_owners(struct problem *problem, struct problem_stream *stream,
                               uint64_t first, size_t n, struct error *error)
{
    const struct problem_owners *owners = &problem->owners[stream->of_experiments];
    const struct problem_numbers datasets = {
        .column = &stream->dataset, .names = &problem->owners[0].names, .is_row = true};
    const struct problem_numbers numbers = {.column = &stream->owner,
                                            .is_row = true,
                                            .within = stream->of,
                                            .names = stream->of ? &owners->names_within
                                                                : &owners->names};
    enum status status =
        stream->of ? problem_read_numbers(&datasets, first, n, stream->of, error) : STATUS_OK;
    return status ? status : problem_read_numbers(&numbers, first, n, stream->key, error);
}

static enum status load(struct problem *problem, struct problem_stream *stream, uint64_t owner,
                        struct error *error)
{
    uint64_t left = stream->n_row - stream->next, first = stream->next;
    size_t n = left < PROBLEM_WINDOW ? (size_t)left : PROBLEM_WINDOW;
    stream->n = 0;
    enum status status = read_owners(problem, stream, first, n, error);
    for (size_t f = 0; f < stream->n_info && !status; f++) {
        const struct problem_field *field = &stream->field[f];
        const struct problem_numbers numbers = {.column = &field->column, .names = &field->names,
                                                .has_none = stream->info[f].least < 0};
        if (field->real)
            status = hdf5_column_read_double(&field->column, first, n, field->real, error);
        else if (field->whole)
            status = problem_read_numbers(&numbers, first, n, field->whole, error);
    }
    if (status)
        return status;
    stream->first = first;
    stream->n = n;
    check_rows(problem, stream, (int64_t)owner);
    if (problem->faults.n && !problem->checking)
        return problem_report(problem, error);
    return STATUS_OK;
}

void problem_seek(struct problem_stream *stream, uint64_t row)
{
    if (row < stream->first)
        stream->n = 0;
    stream->next = row;
}

enum status problem_next_rows(struct problem *problem, struct problem_stream *stream,
                              uint64_t owner, size_t *i, size_t *n, struct error *error)
{
    for (*n = 0; stream->next < stream->n_row; stream->next++) {
        if (stream->next < stream->first || stream->next >= stream->first + stream->n) {
            enum status status = load(problem, stream, owner, error);
            if (status)
                return status;
        }
        size_t at = *i = (size_t)(stream->next - stream->first);
        if (stream->key[at] < (int64_t)owner)
            continue;
        while (at < stream->n && stream->key[at] == (int64_t)owner)
            at++;
        *n = at - *i;
        stream->next += *n;
        break;
    }
    return STATUS_OK;
}
