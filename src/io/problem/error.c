/* The error distribution of each observable, and what it requires of the measurements.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem/error.h"

#include "base/sha256.h"
#include "base/words.h"
#include "io/problem/internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char path[] = "/measurements/observable_error";

static bool is_open(const char *word) { return strcmp(word, error_kind_default) == 0; }

/* The kind of entry i of the file; -1: unspecified or a fault. */
static int file_error(struct problem *problem, size_t i)
{
    const char *word = problem->info.observable_error[i];
    int kind = error_kind_of(word);
    if (kind >= 0 || is_open(word))
        return kind;
    const char *near = strlen(word) < 64 ? nearest_name(word, error_kind_word, N_ERROR) : NULL;
    const char *name =
        problem->info.observable_name ? problem->info.observable_name[i] : "the only one";
    faults_add(&problem->faults,
               "%s row %zu (%.60s): is \"%.60s\"; known are " ERROR_WORDS " and default%s%s%s",
               path, i, name, word, near ? "; did you mean \"" : "", near ? near : "",
               near ? "\"?" : "");
    return -1;
}

enum { WHO = 100 };

/* Where an observable's distribution comes from: "--error huber", or "huber errors of A". */
static const char *who_says(const struct problem *problem, size_t k, char who[WHO])
{
    const char *word = error_kind_word[problem->errors.kind[k]];
    if (problem->errors.own[k] < 0 && problem->errors.kind[k] == problem->errors.fallback)
        snprintf(who, WHO, "--error %s", word);
    else
        snprintf(who, WHO, "%s errors of %.40s", word, problem->model.observable_name[k]);
    return who;
}

static enum status find_sigma_for(struct problem *problem, struct error *error)
{
    size_t n = problem->model.n_observable;
    int i = error_kinds_need_sigma(problem->errors.kind, n);
    if (i == (int)n)
        problem->errors.sigma_for = ERROR_KINDS_MIXED;
    if (i < 0 || i == (int)n)
        return STATUS_OK;
    char *who = arena_calloc(&problem->arena, WHO, 1);
    if (!who)
        return problem_no_memory(problem, error);
    problem->errors.sigma_for = who_says(problem, (size_t)i, who);
    return STATUS_OK;
}

enum status problem_match_errors(struct problem *problem,
                                 const struct problem_expectation *expectation, struct error *error)
{
    const struct problem_info *info = &problem->info;
    struct problem_errors *errors = &problem->errors;
    size_t n = problem->model.n_observable,
           n_file = problem->stream[GROUP_MEASUREMENTS].field[MEASUREMENT_observable].n_name;
    const uint32_t *to_model =
        problem->stream[GROUP_MEASUREMENTS].field[MEASUREMENT_observable].to_model;
    errors->kind = arena_calloc(&problem->arena, n + 1, sizeof *errors->kind);
    errors->own = arena_calloc(&problem->arena, n + 1, sizeof *errors->own);
    bool *there = arena_calloc(&problem->arena, n + 1, sizeof *there);
    if (!errors->kind || !errors->own || !there)
        return problem_no_memory(problem, error);
    if (info->observable_error && info->n_error != n_file)
        faults_add(&problem->faults, "%s: has %zu entries for %zu observable%s", path,
                   info->n_error, n_file, n_file == 1 ? "" : "s");
    for (size_t k = 0; k < n; k++)
        errors->own[k] = -1;
    for (size_t i = 0; info->observable_error && i < n_file && i < info->n_error; i++)
        errors->own[to_model[i]] = file_error(problem, i);
    for (size_t i = 0; i < n_file; i++)
        there[to_model[i]] = true;
    for (size_t k = 0; k < n; k++) {
        size_t from = there[k] || n_file == 0 ? k : to_model[0];
        int model =
            expectation->observable_error ? error_kind_of(expectation->observable_error[from]) : -1;
        int own = errors->own[from];
        errors->kind[k] = own >= 0     ? (enum error_kind)own
                          : model >= 0 ? (enum error_kind)model
                                       : expectation->error;
    }
    errors->fallback = expectation->error;
    return find_sigma_for(problem, error);
}

/* Only the file's words: the model's belong to the model's identity, --error to that of the
 * options. */
void problem_hash_errors(const struct problem *problem, struct sha256 *hash)
{
    for (size_t k = 0; k < problem->model.n_observable; k++)
        if (problem->errors.own[k] >= 0) {
            sha256_add_uint64(hash, k);
            sha256_add_string(hash, error_kind_word[problem->errors.own[k]]);
        }
}

void problem_check_censored(struct problem *problem, const struct problem_block *block)
{
    const struct measurements *measured = &block->measured;
    for (size_t e = 0; e < block->n_experiment; e++)
        for (size_t i = block->row[e]; i < block->row[e + 1]; i++) {
            enum error_kind kind = problem->errors.kind[measured->observable[i]];
            if (!measured->censored[i] || isnan(measured->value[i]) || error_kind_is_square(kind))
                continue;
            char who[WHO];
            faults_add(&problem->faults,
                       "/measurements/censored row %" PRIu64 ": censoring is not supported with "
                                                             "%s; use "
                       "normal or log-normal errors, or leave the measurement out (value NaN)",
                       block->room->place[GROUP_MEASUREMENTS][e] + (i - block->row[e]),
                       who_says(problem, measured->observable[i], who));
        }
}

const enum error_kind *problem_errors(const struct problem *problem)
{
    return problem->errors.kind;
}
