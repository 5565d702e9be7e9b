/* Looks names up by hashing, a piece of a column at a time. The names of datasets and experiments
 * are in memory only if some column has names.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem/names.h"

#include "io/problem/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE = 4096 /* rows read at once */,
    MOST_HINTS = 100000 /* names that are searched for a similar one */
};
/* Room for a name with the number of its dataset. */
enum { KEY_BYTES = PROBLEM_MAX_NAME + 32 };

static enum status read_texts(const struct hdf5_column *column, uint64_t first, size_t n,
                              struct arena *arena, char **text, struct error *error)
{
    enum status status =
        hdf5_column_read_strings(column, first, n, PROBLEM_MAX_NAME, arena, text, error);
    if (!status && !utf8_make_valid(arena, n, text))
        status = error_set(error, STATUS_NO_MEMORY, "%s: out of memory", column->path);
    return status;
}

/* Experiments of different datasets may have the same id. */
static const char *key_of(const char *text, const int64_t *dataset, char key[KEY_BYTES])
{
    if (!dataset)
        return text;
    snprintf(key, KEY_BYTES, "%" PRId64 " %s", *dataset, text);
    return key;
}

static enum status add(struct problem *problem, struct problem_names *names, const char *name,
                       uint64_t row, struct error *error)
{
    uint32_t n = names->table.n, i = id_table_add(&names->table, name);
    if (i == ID_NO_MEMORY || !array_grow(&names->row, n, &names->room, sizeof *names->row))
        return problem_no_memory(problem, error);
    names->row[i] = i < n ? NAME_OF_SEVERAL : row;
    return STATUS_OK;
}

enum status problem_names_list(struct problem *problem, struct problem_names *names, size_t n,
                               const char *const *list, struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < n && !status; i++)
        status = add(problem, names, list[i], i, error);
    return status;
}

/* What is done with the names of a piece of a column, which begins at row `first`. */
typedef enum status take_names(void *context, uint64_t first, size_t n, char *const *text,
                               struct error *error);

static enum status each_piece(const struct hdf5_column *column, uint64_t first, uint64_t n,
                              take_names *take, void *context, struct error *error)
{
    struct arena arena = {0};
    char *text[PIECE];
    enum status status = STATUS_OK;
    for (uint64_t done = 0; done < n && !status; done += PIECE) {
        size_t piece = n - done < PIECE ? (size_t)(n - done) : PIECE;
        arena_reset(&arena);
        status = read_texts(column, first + done, piece, &arena, text, error);
        if (!status)
            status = take(context, first + done, piece, text, error);
    }
    arena_fini(&arena);
    return status;
}

struct adding {
    struct problem *problem;
    struct problem_names *names;
    /* Of experiments whose ids are added within their datasets; or NULL. */
    const struct hdf5_column *dataset;
};

static enum status add_ids(void *context, uint64_t first, size_t n, char *const *text,
                           struct error *error)
{
    const struct adding *adding = context;
    struct problem *problem = adding->problem;
    const struct problem_numbers datasets = {
        .column = adding->dataset, .names = &problem->owners[0].names, .is_row = true};
    int64_t dataset[PIECE];
    char key[KEY_BYTES];
    enum status status = STATUS_OK;
    if (adding->dataset)
        status = problem_read_numbers(&datasets, first, n, dataset, error);
    for (size_t i = 0; i < n && !status; i++)
        status = add(problem, adding->names,
                     key_of(text[i], adding->dataset ? &dataset[i] : NULL, key), first + i, error);
    return status;
}

enum status problem_names_datasets(struct problem *problem, struct error *error)
{
    const struct problem_owners *owners = &problem->owners[0];
    struct adding adding = {.problem = problem, .names = &problem->owners[0].names};
    if (owners->names.table.n)
        return STATUS_OK;
    return each_piece(&owners->id, 0, owners->n, add_ids, &adding, error);
}

enum status problem_names_experiments(struct problem *problem, bool within_datasets,
                                      struct error *error)
{
    struct problem_owners *owners = &problem->owners[1];
    struct adding adding = {.problem = problem,
                            .names = within_datasets ? &owners->names_within : &owners->names,
                            .dataset =
                                within_datasets ? &problem->stream[GROUP_EXPERIMENTS].owner : NULL};
    if (adding.names->table.n || !owners->id.dataset)
        return STATUS_OK;
    return each_piece(&owners->id, 0, owners->n, add_ids, &adding, error);
}

struct collecting {
    struct problem *problem;
    struct problem_names *names;
    const char *path;
    bool has_none;
    size_t most;
};

static enum status collect(void *context, uint64_t first, size_t n, char *const *text,
                           struct error *error)
{
    const struct collecting *collecting = context;
    struct problem_names *names = collecting->names;
    struct faults *faults = &collecting->problem->faults;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < n && !status && names->table.n <= collecting->most; i++) {
        if (i > 0 && !strcmp(text[i], text[i - 1]))
            continue;
        if (*text[i] && id_table_find(&names->table, text[i]) == ID_NONE)
            status = add(collecting->problem, names, text[i], first + i, error);
        else if (!*text[i] && !collecting->has_none && faults->n < FAULTS_LISTED)
            faults_add(faults, "%s row %" PRIu64 ": is empty", collecting->path, first + i);
    }
    return status;
}

enum status problem_names_collect(struct problem *problem, struct problem_names *names,
                                  const struct hdf5_column *column, bool has_none, size_t most,
                                  struct error *error)
{
    struct collecting collecting = {problem, names, column->path, has_none, most};
    enum status status = each_piece(column, 0, column->n_row, collect, &collecting, error);
    if (!status && names->table.n > most)
        faults_add(&problem->faults, "%s: has more than %zu different names", column->path, most);
    return status;
}

void problem_names_fini(struct problem_names *names)
{
    id_table_fini(&names->table);
    free(names->row);
    *names = (struct problem_names){.row = NULL};
}

struct reading {
    const struct problem_numbers *numbers;
    uint64_t first;
    int64_t *out;
};

static int64_t number_of(const struct problem_numbers *numbers, const char *text,
                         const int64_t *dataset)
{
    char key[KEY_BYTES];
    if (!*text && numbers->has_none)
        return -1;
    uint32_t i = id_table_find(&numbers->names->table, key_of(text, dataset, key));
    if (i == ID_NONE)
        return NAME_UNKNOWN;
    if (!numbers->is_row)
        return i;
    return numbers->names->row[i] == NAME_OF_SEVERAL ? NAME_AMBIGUOUS
                                                     : (int64_t)numbers->names->row[i];
}

static enum status look_up(void *context, uint64_t first, size_t n, char *const *text,
                           struct error *error)
{
    const struct reading *reading = context;
    const size_t at = (size_t)(first - reading->first);
    const int64_t *within = reading->numbers->within ? reading->numbers->within + at : NULL;
    int64_t *out = reading->out + at;
    (void)error;
    for (size_t i = 0; i < n; i++) { /* mostly the name of the row before */
        bool is_same =
            i > 0 && !strcmp(text[i], text[i - 1]) && (!within || within[i] == within[i - 1]);
        out[i] =
            is_same ? out[i - 1] : number_of(reading->numbers, text[i], within ? &within[i] : NULL);
    }
    return STATUS_OK;
}

enum status problem_read_numbers(const struct problem_numbers *numbers, uint64_t first, size_t n,
                                 int64_t *out, struct error *error)
{
    struct reading reading = {numbers, first, out};
    if (!problem_has_names(numbers->column))
        return hdf5_column_read_int64(numbers->column, first, n, out, error);
    return each_piece(numbers->column, first, n, look_up, &reading, error);
}

void problem_name_text(struct problem *problem, const struct hdf5_column *column, uint64_t row,
                       char text[100])
{
    struct arena arena = {0};
    struct error ignored;
    char *name = NULL;
    text[0] = '\0';
    if (problem->faults.n < FAULTS_LISTED &&
        !read_texts(column, row, 1, &arena, &name, &ignored))
        snprintf(text, 100, "%s", name);
    arena_fini(&arena);
}

const char *problem_name_hint(const struct problem *problem, const struct problem_names *names,
                              const char *text, char hint[NEAREST_HINT])
{
    size_t n = names->table.n < MOST_HINTS ? names->table.n : MOST_HINTS;
    return nearest_hint(hint, "; did you mean \"", "\"?", text, names->table.id,
                        problem->faults.n < FAULTS_LISTED ? n : 0);
}
