/* The connected components of the datasets of a problem: those that share parameters, directly or
 * through others. Each component is a fit of its own. Separate from share.c because the finisher
 * needs them without a model.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Components are numbered by their first datasets. Zero-initialise; components_fini is always
 * legal. */
struct components {
    uint32_t n;
    /* of each dataset: its component, and its number among that component's datasets */
    uint32_t *of, *position;
    uint32_t *member;     /* datasets by component, increasing in each */
    size_t *first;        /* n + 1: where each component begins in `member` */
};

/* The components of n_dataset datasets whose groups in column c are group[c], numbers below
 * n_group[c]; is_one: all datasets share something. False: out of memory. */
bool components_find(struct components *components, size_t n_dataset, size_t n_column,
                     const uint32_t *const *group, const size_t *n_group, bool is_one);
void components_fini(struct components *components);
static inline size_t components_size(const struct components *components, size_t c)
{
    return components->first[c + 1] - components->first[c];
}
static inline const uint32_t *components_members(const struct components *components, size_t c)
{
    return components->member + components->first[c];
}
