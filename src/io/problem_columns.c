/* The columns of a problem's datasets: those of users, and covariates.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem_internal.h"

#include "base/words.h"

#include <stdlib.h>

enum { PIECE = 1 << 16 }; /* numbers read at once */

void problem_open_columns(struct problem *problem)
{
    const struct problem_owners *owners = &problem->owners[0];
    const struct own_columns *own = &problem->owners[0].own.columns;
    struct error fault = {0};
    if (own_reader_open(&problem->owners[0].own, &problem->file, "/datasets/columns",
                        OWN_MAX_COLUMN, owners->n, &problem->arena, &fault))
        faults_add_error(&problem->faults, problem->file.path, &fault);
    size_t n = owners->covariate.dataset && owners->covariate_name ? owners->n_covariate : 0;
    const char **name = arena_calloc(&problem->arena, own->n + n + 1, sizeof *name);
    bool *is_text = arena_calloc(&problem->arena, own->n + n + 1, sizeof *is_text);
    if (!name || !is_text || fault.status)
        return;
    for (size_t c = 0; c < own->n; c++) {
        name[c] = own->name[c];
        is_text[c] = own->is_text[c];
        if (words_find(name[c], owners->covariate_name, n) >= 0)
            faults_add(&problem->faults,
                       "/datasets/columns/%.100s: is in /datasets/covariate_names, too; name one "
                       "of them differently",
                       name[c]);
    }
    for (size_t c = 0; c < n; c++)
        name[own->n + c] = owners->covariate_name[c];
    problem->info.column = (struct own_columns){own->n + n, name, is_text};
}

/* A column of /datasets/covariates. */
static enum status read_covariate(const struct problem *problem, size_t which, uint64_t first,
                                  size_t n, struct own_value *out, size_t stride,
                                  struct error *error)
{
    const struct hdf5_column *column = &problem->owners[0].covariate;
    size_t width = column->width, piece = 1 + PIECE / width;
    double *room = malloc((piece < n ? piece : n + 1) * width * sizeof *room);
    enum status status = room ? STATUS_OK : problem_no_memory(problem, error);
    for (size_t done = 0; !status && done < n; done += piece) {
        size_t m = n - done < piece ? n - done : piece;
        status = hdf5_column_read_double(column, first + done, m, room, error);
        for (size_t i = 0; !status && i < m; i++)
            out[(done + i) * stride] = (struct own_value){room[i * width + which], NULL};
    }
    free(room);
    return status;
}

enum status problem_read_column(const struct problem *problem, size_t i, uint64_t first, size_t n,
                                struct arena *arena, struct own_value *out, size_t stride,
                                struct error *error)
{
    size_t n_own = problem->owners[0].own.columns.n;
    return i < n_own
               ? own_reader_column(&problem->owners[0].own, i, first, n, arena, out, stride, error)
               : read_covariate(problem, i - n_own, first, n, out, stride, error);
}

enum status problem_read_columns(const struct problem *problem, uint64_t first, size_t n,
                                 struct arena *arena, struct own_value *out, struct error *error)
{
    size_t n_column = problem->info.column.n;
    enum status status = STATUS_OK;
    for (size_t c = 0; !status && c < n_column; c++)
        status = problem_read_column(problem, c, first, n, arena, out + c, n_column, error);
    return status;
}
