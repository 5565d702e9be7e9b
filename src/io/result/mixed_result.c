/* SPDX-License-Identifier: BSD-3-Clause */
#include "io/result/mixed_result.h"

#include "base/cursor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *likelihood_name(int number)
{
    static const char *const name[] =
        {[LIKELIHOOD_EXACT] = "exact", [LIKELIHOOD_LAPLACE] = "laplace"};
    return number >= 0 && number < (int)(sizeof name / sizeof *name) ? name[number] : NULL;
}

bool mixed_result_init(struct mixed_result *result, struct arena *arena)
{
    size_t r = result->r, s = result->s, m = result->m;
    result->random = arena_calloc(arena, r + 1, sizeof *result->random);
    result->shared = arena_calloc(arena, s + 1, sizeof *result->shared);
    result->occasion = arena_calloc(arena, result->q + 1, sizeof *result->occasion);
    result->is_estimated = arena_calloc(arena, r * r + 1, 1);
    result->is_fixed = arena_calloc(arena, r + 1, 1);
    result->is_flat = arena_calloc(arena, m + 1, 1);
    return result->random && result->shared && result->is_estimated && result->occasion
           && result->is_fixed && result->is_flat
           && ARENA_DOUBLES(arena, {&result->mean, r, 1}, {&result->covariance, r, r},
                            {&result->value, s, 1}, {&result->variance, result->q, 1},
                            {&result->standard_error, m, 1},
                            {&result->by_scores, m, 1}, {&result->sandwich, m, 1},
                            {&result->error_covariance, m, m}, {&result->shrinkage, r, 1});
}

static void pass_sizes(struct cursor *cursor, struct mixed_result *result)
{
    FIELD(result->r);
    FIELD(result->s);
    FIELD(result->m);
    FIELD(result->q);
}

static void pass_rest(struct cursor *cursor, struct mixed_result *result)
{
    size_t r = result->r, s = result->s, m = result->m;
    ARRAY(result->random, r);
    ARRAY(result->shared, s);
    ARRAY(result->is_estimated, r * r);
    ARRAY(result->is_fixed, r);
    ARRAY(result->is_flat, m);
    ARRAY(result->mean, r);
    ARRAY(result->covariance, r * r);
    ARRAY(result->value, s);
    ARRAY(result->occasion, result->q);
    ARRAY(result->variance, result->q);
    ARRAY(result->standard_error, m);
    ARRAY(result->by_scores, m);
    ARRAY(result->sandwich, m);
    ARRAY(result->error_covariance, m * m);
    ARRAY(result->shrinkage, r);
    FIELD(result->minus_2_log_likelihood);
    FIELD(result->log_prior);
    FIELD(result->likelihood_error);
    FIELD(result->condition);
    FIELD(result->n_dataset);
    FIELD(result->n_left_out);
    FIELD(result->n_row);
    FIELD(result->likelihood);
    FIELD(result->outcome);
    FIELD(result->n_iteration);
}

unsigned char *mixed_result_bytes(const struct mixed_result *result, size_t *n)
{
    struct mixed_result copy = *result;
    struct cursor count = {.to = NULL}, out = {.to = NULL};
    pass_sizes(&count, &copy);
    pass_rest(&count, &copy);
    out.to = malloc(count.at + 1);
    if (!out.to)
        return NULL;
    pass_sizes(&out, &copy);
    pass_rest(&out, &copy);
    *n = out.at;
    return out.to;
}

enum status mixed_result_decode(struct mixed_result *result, bool *is_there,
                                const unsigned char *bytes, size_t n, struct arena *arena,
                                struct error *error)
{
    enum { MOST = 1 << 20 };
    struct cursor in = {.from = bytes, .n = n, .is_bad = n == 0};
    *result = (struct mixed_result){.r = 0};
    *is_there = false;
    if (!in.is_bad)
        pass_sizes(&in, result);
    if (in.is_bad || result->r > MOST || result->s > MOST || result->m > MOST || result->q > MOST)
        return STATUS_OK;
    if (!mixed_result_init(result, arena))
        return error_set(error, STATUS_NO_MEMORY,
                         "out of memory for what is known of the population");
    pass_rest(&in, result);
    *is_there = !in.is_bad && in.at == n;
    return STATUS_OK;
}

enum status mixed_result_read(struct mixed_result *result, bool *is_there, uint32_t *n_start,
                              struct journal_reader *journal, struct arena *arena,
                              struct error *error)
{
    unsigned char *bytes;
    size_t n;
    *result = (struct mixed_result){.r = 0};
    *is_there = false;
    enum status status = journal_kept(journal, FRAME_POPULATION, &bytes, &n, n_start, error);
    if (!status && bytes)
        status = mixed_result_decode(result, is_there, bytes, n, arena, error);
    if (!status && n > 0 && !*is_there)
        *n_start = 0;
    free(bytes);
    return status;
}

void mixed_result_estimates(const struct mixed_result *result, double *estimate)
{
    size_t r = result->r;
    for (size_t i = 0; i < r; i++)
        if (!result->is_fixed[i])
            *estimate++ = result->mean[i];
    for (size_t j = 0; j < r; j++)
        for (size_t i = j; i < r; i++)
            if (result->is_estimated[i * r + j])
                *estimate++ = result->covariance[i * r + j];
    memcpy(estimate, result->variance, result->q * sizeof *estimate);
    memcpy(estimate + result->q, result->value, result->s * sizeof *estimate);
}

double mixed_result_objective(const struct mixed_result *result)
{
    return 0.5 * result->minus_2_log_likelihood -
           (isnan(result->log_prior) ? 0 : result->log_prior);
}

double mixed_result_aic(const struct mixed_result *result)
{
    return result->minus_2_log_likelihood + 2 * (double)result->m;
}

double mixed_result_bic(const struct mixed_result *result, uint64_t n)
{
    return result->minus_2_log_likelihood + log((double)n) * (double)result->m;
}
