/* Reads datasets in blocks: each block has everything that its fits need, in the model's terms.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem_internal.h"

#include "base/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROWS = 1024, PIECE = 1 << 16 /* numbers read at once */ };

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
        status = problem_reserve(problem, block, (enum problem_group)g, capacity[g], error);
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
    problem_name_text(problem, &problem->steady, row, text);
    faults_add(&problem->faults,
               "%s row %" PRIu64 ": \"%s\" is no experiment of dataset \"%.60s\"%s",
               problem->steady.path, row, text, block->id[block->dataset[d] - block->first],
               problem_name_hint(problem, &problem->owners[1].names, text, hint));
}

/* Of each experiment of the block, the number of the one at whose steady state it begins, or -1. */
static enum status read_sources(struct problem *problem, const struct problem_block *block,
                                double *given, struct error *error)
{
    const uint64_t *row = block->room->place[GROUP_EXPERIMENTS];
    if (!problem_has_names(&problem->steady))
        return read_constants(problem, block, &problem->steady, true, given, error);
    int64_t *number = arena_alloc(block->arena, PIECE * sizeof *number);
    int64_t *within = arena_calloc(block->arena, PIECE, sizeof *within);
    const struct problem_numbers numbers = {.column = &problem->steady,
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
    if (!problem->steady.dataset)
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
        status = problem_make_experiments(problem, block, error);
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
        status = problem_take(problem, block, problem->next, max_row, &fits, error);
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
        status = problem_settle(problem, block, error);
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
