/* One pass over all datasets before any fit: faults of the file, unique ids, and the hash of all
 * values, which identifies the problem however the file stores them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem/internal.h"

#include "base/sha256.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_DATASETS = 4096, BLOCK_ROWS = 1 << 16, BLOCK_DOUBLES = 1 << 19, MAX_COUNTED = 100000 };

/* Open addressing: the high bits of a hash choose the slot, the low ones are stored with the
 * row, and ids are compared in the file only if both agree. 8 bytes per slot: a million ids take
 * 16 MiB. */
struct id_set {
    struct id_slot {
        uint32_t tag, row_plus_1;
    } *slot;
    int bits;
};

static uint64_t hash_id(const char *id)
{
    /* FNV-1a, then splitmix64's finaliser, because its high bits are weak */
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *id; id++)
        hash = (hash ^ (unsigned char)*id) * 0x100000001b3u;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
    return hash ^ (hash >> 31);
}

static enum status id_set_init(struct id_set *set, const struct problem *problem,
                               struct error *error)
{
    set->bits = 4;
    while (((uint64_t)1 << set->bits) < problem->info.n_dataset + problem->info.n_dataset / 2)
        set->bits++;
    set->slot = calloc((size_t)1 << set->bits, sizeof *set->slot);
    if (!set->slot)
        return error_set(error, STATUS_NO_MEMORY, "%s: out of memory for %" PRIu64 " ids",
                         problem->file.path, problem->info.n_dataset);
    return STATUS_OK;
}

static enum status is_same_id(struct problem *problem, uint64_t row, const char *id, bool *same,
                              struct error *error)
{
    struct arena arena = {0};
    char *other = NULL;
    enum status status = problem_read_ids(problem, row, 1, &arena, &other, error);
    *same = !status && strcmp(other, id) == 0;
    arena_fini(&arena);
    return status;
}

static enum status id_set_add(struct id_set *set, struct problem *problem, uint64_t row,
                              const char *id, struct error *error)
{
    uint64_t hash = hash_id(id), mask = ((uint64_t)1 << set->bits) - 1,
             i = hash >> (64 - set->bits);
    for (; set->slot[i].row_plus_1; i = (i + 1) & mask) {
        bool same = false;
        uint64_t other = set->slot[i].row_plus_1 - 1;
        if (set->slot[i].tag != (uint32_t)hash)
            continue;
        enum status status = is_same_id(problem, other, id, &same, error);
        if (status)
            return status;
        if (same) {
            faults_add(&problem->faults,
                       "/datasets/id row %" PRIu64 ": \"%.100s\" already appears in row %" PRIu64
                       "; ids must be unique",
                       row, id, other);
            return STATUS_OK;
        }
    }
    set->slot[i] = (struct id_slot){(uint32_t)hash, (uint32_t)row + 1};
    return STATUS_OK;
}

static enum status check_ids(struct id_set *set, struct problem *problem,
                             const struct problem_block *block, struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t d = 0; d < block->n && !status; d++) {
        if (*block->id[d])
            status = id_set_add(set, problem, block->first + d, block->id[d], error);
        else
            faults_add(&problem->faults, "/datasets/id row %" PRIu64 ": is empty",
                       block->first + d);
    }
    return status;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Ids of experiments must differ within a dataset. */
static enum status check_experiment_ids(struct problem *problem, const struct problem_block *block,
                                        struct error *error)
{
    for (size_t d = 0; d < block->n && problem->owners[1].id.dataset; d++) {
        size_t first = block->first_experiment[d], n = block->first_experiment[d + 1] - first;
        if (n < 2)
            continue;
        const char **sorted = malloc(n * sizeof *sorted);
        if (!sorted)
            return problem_no_memory(problem, error);
        for (size_t i = 0; i < n; i++)
            sorted[i] = block->experiment[first + i].id;
        qsort(sorted, n, sizeof *sorted, compare_texts);
        for (size_t i = 1; i < n; i++)
            if (strcmp(sorted[i - 1], sorted[i]) == 0)
                faults_add(&problem->faults,
                           "/experiments/id: \"%.100s\" appears more than once in dataset "
                           "\"%.100s\"",
                           sorted[i], block->id[d]);
        free(sorted);
    }
    return STATUS_OK;
}

/* sha256_add_double for each value, in larger pieces to save calls. */
static void hash_doubles(struct sha256 *hash, const double *values, size_t n)
{
    unsigned char bytes[512 * 8];
    while (n > 0) {
        size_t m = n < 512 ? n : 512;
        for (size_t i = 0; i < m; i++) {
            double value = isnan(values[i]) ? NAN : values[i] + 0.0; /* -0 + 0 is 0 */
            uint64_t bits;
            memcpy(&bits, &value, sizeof bits);
            bits = isnan(values[i]) ? 0x7ff8000000000000u : bits;
            for (int k = 0; k < 8; k++)
                bytes[8 * i + (size_t)k] = (unsigned char)(bits >> (8 * k));
        }
        sha256_add(hash, bytes, 8 * m);
        values += m;
        n -= m;
    }
}

/* sha256_add_uint64 for each value, many at a time. */
static void hash_numbers(struct sha256 *hash, const uint32_t *values, size_t n)
{
    unsigned char bytes[512 * 8];
    while (n > 0) {
        size_t m = n < 512 ? n : 512;
        memset(bytes, 0, 8 * m);
        for (size_t i = 0; i < m; i++)
            for (int k = 0; k < 4; k++)
                bytes[8 * i + (size_t)k] = (unsigned char)(values[i] >> (8 * k));
        sha256_add(hash, bytes, 8 * m);
        values += m;
        n -= m;
    }
}

static void hash_byte(struct sha256 *hash, int value)
{
    unsigned char byte = (unsigned char)value;
    sha256_add(hash, &byte, 1);
}

static bool same_values(const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i] && !(isnan(a[i]) && isnan(b[i])))
            return false;
    return true;
}

/* Bounds and starts are mostly those of the previous dataset: one byte then says so, whether
 * they are stored once or for every dataset. `last` holds 4 * n_parameter values. */
static void hash_parameters(struct sha256 *hash, const struct problem *problem,
                            const struct problem_block *block, size_t d, double *last)
{
    size_t n = problem->n_parameter, k = d * n;
    const double *tables[3] = {block->start + k, block->lower + k, block->upper + k};
    bool same = block->first + d > 0;
    for (int t = 0; t < 3; t++)
        same = same && same_values(last + (size_t)t * n, tables[t], n);
    for (size_t i = 0; i < n; i++)
        same = same && last[3 * n + i] == block->fixed[k + i];
    hash_byte(hash, same);
    if (same)
        return;
    for (int t = 0; t < 3; t++)
        memcpy(last + (size_t)t * n, tables[t], n * sizeof *last);
    for (size_t i = 0; i < n; i++)
        last[3 * n + i] = block->fixed[k + i];
    hash_doubles(hash, last, 4 * n);
}

/* Columns behind the value are hashed only where a row of the experiment has one, so that an
 * absent column is an empty one. */
static void hash_rows(struct sha256 *hash, const struct problem_block *block, size_t e)
{
    size_t first = block->row[e], n = block->row[e + 1] - first;
    const struct measurements rows = measurements_from(&block->measured, first);
    int has = 0;
    for (int c = MEASUREMENT_value + 1; c < MEASUREMENT_line; c++)
        has |= measurements_have(&rows, (enum measurement_column)c, 0, n)
               << (c - MEASUREMENT_value - 1);
    sha256_add_uint64(hash, n);
    hash_doubles(hash, rows.time, n);
    hash_doubles(hash, rows.value, n);
    hash_byte(hash, has);
    for (int c = MEASUREMENT_value + 1; c < MEASUREMENT_line; c++) {
        if (!(has >> (c - MEASUREMENT_value - 1) & 1))
            continue;
        const void *cells = measurements_cell(&rows, (enum measurement_column)c, 0);
        switch (measurement_columns[c].kind) {
        case COLUMN_DOUBLE: hash_doubles(hash, cells, n); break;
        case COLUMN_UINT32:
            hash_numbers(hash, cells, n);
            break;
        case COLUMN_INT8:
            for (size_t i = 0; i < n; i++)
                hash_byte(hash, ((const int8_t *)cells)[i] + 1);
            break;
        default: assert(false);
        }
    }
}

static void hash_value(struct sha256 *hash, const struct column_info *column, const void *record)
{
    const double value = column->kind == COLUMN_DOUBLE ? column_real(column, record) : 0;
    if (column->kind == COLUMN_DOUBLE)
        hash_doubles(hash, &value, 1);
    else if (column->size == 1)
        hash_byte(hash, (int)column_whole(column, record));
    else
        sha256_add_uint64(hash, (uint32_t)column_whole(column, record));
}

/* Columns of the first set are always hashed, others with those of their set and only if one of
 * these has a value: a file without them keeps the hash that it had before there were such
 * columns. */
static void hash_record(struct sha256 *hash, const struct record_info *info, const void *record)
{
    for (size_t first = 0, end; first < info->n; first = end) {
        const int set = info->column[first].set;
        bool any = set == 0;
        for (end = first; end < info->n && info->column[end].set == set; end++)
            any = any || !column_is_none(&info->column[end], record);
        if (!any)
            continue;
        const char *word = (size_t)set < info->n_word ? info->word[set]
                           : set > 0 ? info->column[first].name : NULL;
        if (word)
            sha256_add_string(hash, word);
        for (size_t i = first; i < end; i++)
            hash_value(hash, &info->column[i], record);
    }
}

/* Doses, inputs, substitutes and events of one experiment; false: it has none. */
static bool hash_happenings(struct sha256 *hash, size_t n_input,
                            const struct experiment *experiment)
{
    const struct input *input = experiment->input;
    size_t n_knot = 0;
    for (size_t i = 0; i < n_input; i++)
        n_knot += input[i].n;
    sha256_add_uint64(hash, experiment->n_dose);
    for (size_t i = 0; i < experiment->n_dose; i++) {
        struct dose dose = experiment->dose[i];
        if (dose.count <= 1 && !dose.steady) /* it means nothing then */
            dose.interval = 0;
        hash_record(hash, &record_info[RECORD_DOSE], &dose);
    }
    sha256_add_uint64(hash, n_knot);
    for (size_t i = 0; i < n_input && n_knot; i++) {
        sha256_add_uint64(hash, input[i].n);
        hash_doubles(hash, input[i].time, input[i].n);
        hash_doubles(hash, input[i].value, input[i].n);
    }
    sha256_add_uint64(hash, experiment->n_substitute);
    for (size_t i = 0; i < experiment->n_substitute; i++) {
        struct substitute substitute = experiment->substitute[i];
        /* a number that is not used has no part in the identity */
        if (substitute.by != EXPERIMENT_NUMBER)
            substitute.value = NAN;
        hash_record(hash, &record_info[RECORD_SUBSTITUTE], &substitute);
    }
    if (experiment->n_call)
        sha256_add_string(hash, "events");
    for (size_t i = 0; i < experiment->n_call; i++)
        hash_record(hash, &record_info[RECORD_CALL], &experiment->call[i]);
    return experiment->n_dose || n_knot || experiment->n_substitute || experiment->n_call;
}

static int compare_pairs(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Counts the model's parameters with another name in a part of an experiment. */
static enum status count_pairs(struct problem *problem, const struct problem_block *block,
                               struct error *error)
{
    for (size_t e = 0; e < block->n_experiment; e++) {
        const struct experiment *experiment = &block->experiment[e];
        size_t n = 0, n_pair = 0;
        if (experiment->n_substitute == 0)
            continue;
        uint64_t *pair = malloc((experiment->n_substitute + 1) * sizeof *pair);
        if (!pair)
            return problem_no_memory(problem, error);
        for (const struct substitute *s = experiment->substitute;
             s < experiment->substitute + experiment->n_substitute; s++)
            if (s->by != EXPERIMENT_NUMBER && (s->row != EXPERIMENT_NONE || s->time > -INFINITY))
                pair[n++] = (uint64_t)s->parameter << 32 | s->by;
        qsort(pair, n, sizeof *pair, compare_pairs);
        for (size_t i = 0; i < n; i++)
            n_pair += i == 0 || pair[i - 1] != pair[i];
        problem->n_pair = n_pair > problem->n_pair ? n_pair : problem->n_pair;
        free(pair);
    }
    return STATUS_OK;
}

static void count_fixed(struct problem *problem, const struct problem_block *block)
{
    for (size_t d = 0; d < block->n; d++)
        for (size_t i = 0; i < problem->n_parameter; i++)
            problem->n_fixed[i] += block->fixed[d * problem->n_parameter + i] != 0;
}

/* `more` gets what files without experiments, doses, inputs and substitutes do not have; true:
 * there is some. */
static bool hash_block(struct sha256 *hash, struct sha256 *more, const struct problem *problem,
                       const struct problem_block *block, double *last)
{
    const bool has_steady = problem->owners[1].steady.dataset;
    bool has_more = problem->has_experiments;
    for (size_t d = 0; d < block->n; d++) {
        size_t first = block->first_experiment[d], end = block->first_experiment[d + 1];
        sha256_add_string(hash, block->id[d]);
        for (size_t e = first; e < end; e++)
            hash_doubles(hash, &block->experiment[e].t0, 1);
        for (size_t e = first; e < end; e++)
            hash_doubles(hash, block->experiment[e].covariate, problem->model.n_covariate);
        hash_parameters(hash, problem, block, d, last);
        sha256_add_uint64(more, end - first);
        for (size_t e = first; e < end; e++) {
            hash_rows(hash, block, e);
            const struct experiment *experiment = &block->experiment[e];
            sha256_add_string(more, problem->owners[1].id.dataset ? experiment->id : "");
            has_more = hash_happenings(more, problem->model.n_input, experiment) || has_steady ||
                       has_more;
            if (has_steady)
                sha256_add_uint64(more, experiment->steady == EXPERIMENT_NONE
                                            ? 0
                                            : UINT64_C(1) + experiment->steady);
        }
    }
    return has_more;
}

static void hash_names(struct sha256 *hash, const struct problem *problem)
{
    sha256_add_string(hash, "stiffit problem 1");
    sha256_add_uint64(hash, problem->info.n_dataset);
    sha256_add_uint64(hash, problem->n_parameter);
    sha256_add_uint64(hash, problem->model.n_covariate);
    for (size_t i = 0; i < problem->n_parameter; i++) {
        sha256_add_string(hash, problem->parameter_name[i]);
        sha256_add_string(hash, problem->parameter_scale[i]);
    }
    problem_hash_priors(problem, hash);
    problem_hash_errors(problem, hash);
}

struct pass {
    struct problem_block block;
    struct id_set ids;
    struct sha256 hash, more;
    bool has_more;
    double *last;
    uint64_t n_bad;
};

static enum status run_pass(struct problem *problem, struct pass *pass, struct error *error)
{
    size_t max_dataset = BLOCK_DOUBLES / (problem->n_parameter + problem->info.n_covariate + 1);
    max_dataset = max_dataset > BLOCK_DATASETS ? BLOCK_DATASETS : max_dataset > 0 ? max_dataset : 1;
    size_t n_wide = problem->info.n_experiment_covariate;
    /* experiments count as rows */
    size_t max_row = n_wide < 8 ? BLOCK_ROWS : 1 + BLOCK_DOUBLES / n_wide;
    pass->last = calloc(4 * problem->n_parameter, sizeof *pass->last);
    if (!pass->last)
        return problem_no_memory(problem, error);
    enum status status = id_set_init(&pass->ids, problem, error);
    hash_names(&pass->hash, problem);
    while (!status && problem->faults.n < MAX_COUNTED) {
        status = problem_read(problem, &pass->block, max_dataset, max_row, error);
        if (status || pass->block.n == 0)
            break;
        status = check_ids(&pass->ids, problem, &pass->block, error);
        if (!status)
            status = check_experiment_ids(problem, &pass->block, error);
        if (!status)
            status = count_pairs(problem, &pass->block, error);
        for (size_t d = 0; d < pass->block.n; d++)
            pass->n_bad += pass->block.fault[d] != NULL;
        for (size_t i = 0; i < pass->block.room->used[GROUP_MEASUREMENTS]; i++)
            problem->n_censored +=
                pass->block.measured.censored[i] != 0 && !isnan(pass->block.measured.value[i]);
        problem_check_censored(problem, &pass->block);
        count_fixed(problem, &pass->block);
        pass->has_more = hash_block(&pass->hash, &pass->more, problem, &pass->block, pass->last) ||
                         pass->has_more;
        if (problem->beat)
            problem->beat(problem->beat_context);
    }
    return status;
}

void problem_set_beat(struct problem *problem, void (*beat)(void *context), void *context)
{
    problem->beat = beat;
    problem->beat_context = context;
}

enum status problem_validate(struct problem *problem, const struct problem_expectation *expectation,
                             unsigned char sha256[32], uint64_t *n_bad, struct error *error)
{
    struct pass pass = {0};
    enum status status = problem_match(problem, expectation, error);
    if (!status)
        status = problem_init_windows(problem, error);
    problem->n_fixed =
        arena_calloc(&problem->arena, problem->n_parameter + 1, sizeof *problem->n_fixed);
    if (!status && !problem->n_fixed)
        status = problem_no_memory(problem, error);
    if (status)
        return status;
    sha256_begin(&pass.hash);
    sha256_begin(&pass.more);
    problem->checking = true;
    problem->n_censored = 0;
    status = run_pass(problem, &pass, error);
    problem->checking = false;
    if (!status)
        status = problem_report(problem, error);
    if (!status) {
        unsigned char digest[32];
        sha256_end(&pass.more, digest);
        if (pass.has_more)
            sha256_add(&pass.hash, digest, sizeof digest);
        sha256_end(&pass.hash, sha256);
        *n_bad = pass.n_bad;
        status = problem_rewind(problem, error);
    }
    free(pass.last);
    free(pass.ids.slot);
    problem_block_fini(&pass.block);
    return status;
}
