/* Reads datasets in blocks: each block has everything that its fits need, in the model's terms.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROWS = 1024 };
static char no_id[] = "";

enum status problem_read_ids(struct problem *problem, uint64_t first, size_t n, struct arena *arena, char **ids,
                             struct error *error)
{
    enum status status = hdf5_column_read_strings(&problem->id, first, n, PROBLEM_MAX_NAME, arena, ids, error);
    return status || problem_as_utf8(arena, n, ids) ? status : problem_no_memory(problem, error);
}

/* Allocates everything except the rows, for n datasets. */
static enum status allocate(const struct problem *problem, struct problem_block *block, size_t n, struct error *error)
{
    if (!block->arena && !(block->arena = calloc(1, sizeof *block->arena)))
        return problem_no_memory(problem, error);
    struct arena *arena = block->arena;
    size_t p = problem->n_parameter, rows = block->room ? block->room->row : FIRST_ROWS;
    arena_reset(arena);
    if (!(block->room = arena_calloc(arena, 1, sizeof *block->room)))
        return problem_no_memory(problem, error);
    block->dataset = arena_calloc(arena, n, sizeof *block->dataset);
    block->id = arena_calloc(arena, n, sizeof *block->id);
    block->fault = arena_calloc(arena, n, sizeof *block->fault);
    block->t0 = arena_calloc(arena, n, sizeof *block->t0);
    block->covariate = arena_calloc(arena, n * problem->n_model_covariate + 1, sizeof *block->covariate);
    block->start = arena_calloc(arena, n * p, sizeof *block->start);
    block->lower = arena_calloc(arena, n * p, sizeof *block->lower);
    block->upper = arena_calloc(arena, n * p, sizeof *block->upper);
    block->fixed = arena_calloc(arena, n * p, sizeof *block->fixed);
    block->rtol = arena_calloc(arena, n, sizeof *block->rtol);
    block->row = arena_calloc(arena, n + 1, sizeof *block->row);
    block->room->first_row = arena_calloc(arena, n, sizeof *block->room->first_row);
    block->first_experiment = arena_calloc(arena, n + 1, sizeof *block->first_experiment);
    block->experiment_id = arena_calloc(arena, n, sizeof *block->experiment_id);
    block->first_dose = arena_calloc(arena, n + 1, sizeof *block->first_dose);
    block->first_substitute = arena_calloc(arena, n + 1, sizeof *block->first_substitute);
    if (!block->dataset || !block->id || !block->fault || !block->t0 || !block->covariate || !block->start || !block->lower
        || !block->upper || !block->fixed || !block->rtol || !block->row || !block->room->first_row || !block->first_experiment
        || !block->experiment_id || !block->first_dose || !block->first_substitute)
        return problem_no_memory(problem, error);
    return problem_reserve_rows(problem, block, 0, rows, error);
}

/* `scratch` has room for block->n * the widest table. */
static enum status read_covariates(struct problem *problem, struct problem_block *block, double *scratch,
                                   struct error *error)
{
    size_t n = problem->n_model_covariate, width = problem->info.n_covariate;
    if (n == 0 || !problem->covariate.dataset) /* a missing table has been reported as a fault */
        return STATUS_OK;
    size_t n_read = (size_t)(block->end - block->first);
    enum status status = hdf5_column_read_double(&problem->covariate, block->first, n_read, scratch, error);
    for (size_t d = 0; d < n_read && !status; d++)
        for (size_t i = 0; i < n; i++)
            block->covariate[d * n + i] = scratch[d * width + problem->covariate_column[i]];
    return status;
}

static enum status read_t0(struct problem *problem, struct problem_block *block, struct error *error)
{
    const struct hdf5_column *t0 = &problem->t0;
    if (t0->dataset && t0->n_row == problem->info.n_dataset)
        return hdf5_column_read_double(t0, block->first, (size_t)(block->end - block->first), block->t0, error);
    double common = problem->default_t0;
    enum status status = t0->dataset ? hdf5_column_read_double(t0, 0, 1, &common, error) : STATUS_OK;
    for (size_t d = 0; d < block->end - block->first; d++)
        block->t0[d] = common;
    return status;
}

static enum status read_parameters(struct problem *problem, struct problem_block *block, double *scratch,
                                   struct error *error)
{
    size_t n = (size_t)(block->end - block->first);
    double *const out[N_TABLE] = {block->start, block->lower, block->upper, scratch}; /* start, lower, upper, fixed */
    enum status status = STATUS_OK;
    for (int k = 0; k < N_TABLE && !status; k++)
        status = problem_read_table(problem, k, block->first, n, out[k], error);
    for (size_t d = 0; d < n && !status; d++)
        problem_tighten_bounds(problem, block->lower + d * problem->n_parameter, block->upper + d * problem->n_parameter);
    for (size_t i = 0; i < n * problem->n_parameter && !status; i++)
        block->fixed[i] = isnan(scratch[i]) ? PROBLEM_FIXED_NAN : scratch[i] != 0;
    return status;
}

/* Moves the wanted rows of a table, read for all datasets of the block, to its beginning. */
static void keep_wanted(const struct problem_block *block, void *table, size_t row_size)
{
    for (size_t d = 0; d < block->n && row_size; d++)
        memmove((char *)table + d * row_size, (char *)table + (block->dataset[d] - block->first) * row_size, row_size);
}

static enum status read_tables(struct problem *problem, struct problem_block *block, struct error *error)
{
    size_t n = (size_t)(block->end - block->first), p = problem->n_parameter;
    size_t width = problem->n_parameter > problem->info.n_covariate ? problem->n_parameter : problem->info.n_covariate;
    double *scratch = arena_alloc(block->arena, n * width * sizeof *scratch);
    if (!scratch)
        return problem_no_memory(problem, error);
    enum status status = problem_read_ids(problem, block->first, n, block->arena, block->id, error);
    if (!status)
        status = read_t0(problem, block, error);
    if (!status)
        status = read_covariates(problem, block, scratch, error);
    if (!status)
        status = read_parameters(problem, block, scratch, error);
    if (status || block->n == n)
        return status;
    keep_wanted(block, block->id, sizeof *block->id);
    keep_wanted(block, block->t0, sizeof *block->t0);
    keep_wanted(block, block->covariate, problem->n_model_covariate * sizeof *block->covariate);
    keep_wanted(block, block->start, p * sizeof *block->start);
    keep_wanted(block, block->lower, p * sizeof *block->lower);
    keep_wanted(block, block->upper, p * sizeof *block->upper);
    keep_wanted(block, block->fixed, p * sizeof *block->fixed);
    return STATUS_OK;
}

static enum status find_faults(struct problem *problem, struct problem_block *block, struct error *error)
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

enum status problem_read(struct problem *problem, struct problem_block *block, size_t max_dataset, size_t max_row,
                         struct error *error)
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
        if (problem->wanted && !problem->wanted(problem->wanted_context, problem->next)) {
            status = problem_skip_rows(problem, problem->next, error);
            continue;
        }
        status = problem_take_rows(problem, block, problem->next, max_row, &fits, error);
        if (status || !fits)
            break;
        block->experiment_id[block->n] = no_id;
        block->dataset[block->n++] = problem->next;
        block->first_experiment[block->n] = block->n_experiment = block->n;
    }
    block->end = problem->next;
    if (!status && block->n)
        status = read_tables(problem, block, error);
    if (!status)
        status = find_faults(problem, block, error);
    if (status)
        block->n = block->n_experiment = 0;
    return status;
}

void problem_select(struct problem *problem, bool (*wanted)(const void *context, uint64_t dataset), const void *context)
{
    problem->wanted = wanted;
    problem->wanted_context = context;
}

enum status problem_rewind(struct problem *problem, struct error *error)
{
    (void)error;
    problem->next = 0;
    /* The window's rows were checked relative to the place where it was loaded. */
    problem->window.n = 0;
    problem->window.next = 0;
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
