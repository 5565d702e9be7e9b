/* What a run is: two runs with the same identity do the same work. Journals and results keep it.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    IDENTITY_SELECTION = 128,
    IDENTITY_MAX_PARAMETER = 100000,
    IDENTITY_BYTES = 3 * 32 + 2 * 8 + 4 * 4 + 1024 + IDENTITY_SELECTION
};

/* The description is kept in every journal file, so that a mismatch can be told in words. */
struct run_identity {
    unsigned char problem[32], model[32], options[32]; /* SHA-256 of each */
    uint64_t seed, n_dataset;
    uint32_t n_start, n_parameter;
    uint32_t n_refit;         /* tasks of a dataset after its starts */
    char description[1024];   /* options as text */
    /* which datasets, as run/plan/selection.h says it; "": all */
    char selection[IDENTITY_SELECTION];
};

/* Tasks of one dataset: its starts, then its refits. */
static inline uint32_t identity_n_task(const struct run_identity *identity)
{
    return identity->n_start + identity->n_refit;
}
/* The number of the fit that is this task of a dataset. */
static inline uint64_t identity_fit(const struct run_identity *identity, uint64_t dataset,
                                    uint32_t task)
{
    return dataset * identity_n_task(identity) + task;
}

/* Whether all but the description is the same: then it is the same run. */
bool identity_equal(const struct run_identity *a, const struct run_identity *b);
/* Says in words what differs ("" if nothing does): data, model, numbers, and the words of the
 * descriptions that only one of them has. Returns `out`. */
const char *identity_difference(const struct run_identity *before, const struct run_identity *now,
                                char *out, size_t n);

/* As bytes of a file, little-endian:
 *   problem[32] model[32] options[32] u64 seed, u64 n_dataset, u32 n_start, u32 n_parameter,
 *   u32 columns (a CRC of the list in io/file/fit_record.h), u32 n_refit, description[1024],
 *   selection[128] */
void identity_encode(const struct run_identity *identity, unsigned char out[IDENTITY_BYTES]);
/* False: it is of a program with other columns, or cannot be. */
bool identity_decode(struct run_identity *identity, const unsigned char in[IDENTITY_BYTES]);
/* SHA-256 of these without the description. */
void identity_digest(const struct run_identity *identity, unsigned char out[32]);
