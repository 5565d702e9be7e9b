/* Chooses what failed in an earlier result.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/selection_retry.h"

#include "base/sha256.h"
#include "io/result/gather.h"
#include "run/plan/recipe_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned selection_n_retry(const struct result_info *info)
{
    unsigned n = 0;
    char name[40];
    do
        snprintf(name, sizeof name, "retry_%u_selection", ++n);
    while (provenance_fact(&info->provenance, name));
    return n - 1;
}

/* The words of a description that say what is minimised. */
static void objective_words(const char *description, char text[RECIPE_TEXT])
{
    struct recipe recipe;
    struct recipe_uses uses;
    recipe_read(&recipe, &uses, description);
    recipe_print_objective(&recipe, &uses, text);
}

static enum status check_same(const struct result_info *info, const struct run_identity *now,
                              const char *selection, struct error *error)
{
    char before_words[RECIPE_TEXT], now_words[RECIPE_TEXT], difference[900];
    struct run_identity like = *now; /* with what may differ made equal */
    const struct run_identity *before = &info->identity;
    memcpy(like.options, before->options, sizeof like.options);
    memcpy(like.description, before->description, sizeof like.description);
    snprintf(like.selection, sizeof like.selection, "%s", selection);
    like.n_start = before->n_start;
    like.n_refit = before->n_refit;
    if (!identity_equal(before, &like))
        return error_set(error, STATUS_SYSTEM, "--retry-failed: %s is not a result of this run: %s",
                         info->path,
                         identity_difference(before, &like, difference, sizeof difference));
    objective_words(before->description, before_words);
    objective_words(now->description, now_words);
    if (strcmp(before_words, now_words))
        return error_set(error, STATUS_SYSTEM,
                         "--retry-failed: %s: it minimised another objective (%.100s there, "
                         "%.100s now), so the rows cannot be compared",
                         info->path, before_words, now_words);
    return STATUS_OK;
}

/* Bits of the failed ones. */
static enum status find_failed(const struct result_info *info, uint64_t n_dataset,
                               unsigned char *bit, struct sha256 *hash, uint64_t *n_failed,
                               struct error *error)
{
    static const enum fit_column only[] = {FIT_COLUMN_STATUS, FIT_COLUMN_DATASET};
    const struct gather_file file = {.path = info->path};
    const struct gather_request request = {.file = &file, .n = 1,
                                           .n_parameter = info->n_parameter,
                                           .n_dataset = n_dataset, .only = only};
    struct gather *gather = NULL;
    enum status status = gather_new(&gather, &request, error);
    for (struct gathered row; gather_next(gather, &row, &status, error);)
        if (!outcome_is_success((enum outcome)row.record->outcome)) {
            selection_set(bit, row.record->dataset);
            sha256_add_uint64(hash, row.record->dataset);
            ++*n_failed;
        }
    gather_free(gather);
    return status;
}

enum status selection_by_failure(struct selection *selection, const char *result_path,
                                 const struct run_identity *now, struct error *error)
{
    struct result *result = NULL;
    struct sha256 hash;
    unsigned char *bit = NULL;
    char hex[SHA256_HEX], words[80];
    uint64_t n_failed = 0;
    enum status status = result_open(&result, result_path, error);
    if (status) {
        error_context(error, "--retry-failed needs a complete result: run the same command without "
                             "it first");
        return status;
    }
    const struct result_info *info = result_info(result);
    status = check_same(info, now, selection->text, error);
    if (!status && !(bit = calloc((size_t)(selection->n_dataset / 8 + 1), 1)))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for what failed");
    sha256_begin(&hash);
    sha256_add(&hash, info->identity.options, sizeof info->identity.options);
    sha256_add_uint64(&hash, selection_n_retry(info));
    if (!status)
        status = find_failed(info, selection->n_dataset, bit, &hash, &n_failed, error);
    if (!status) {
        sha256_end_hex(&hash, hex);
        snprintf(words, sizeof words, "retry=%llu:%.32s", (unsigned long long)n_failed, hex);
        selection_narrow(selection, bit, words);
        bit = NULL;
    }
    free(bit);
    result_close(result);
    return status;
}
