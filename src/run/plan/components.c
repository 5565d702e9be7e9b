/* Finds the components by union and find with path halving (Tarjan and van Leeuwen 1984); the root
 * of a tree is its first dataset.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/components.h"

#include <stdlib.h>

static uint32_t root_of(uint32_t *parent, uint32_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

static void unite(uint32_t *parent, uint32_t i, uint32_t j)
{
    uint32_t a = root_of(parent, i), b = root_of(parent, j);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

/* Unites the datasets of each group. */
static bool unite_groups(uint32_t *parent, size_t n_dataset, const uint32_t *group, size_t n_group)
{
    uint32_t *first = malloc((n_group + 1) * sizeof *first);
    if (!first)
        return false;
    for (size_t g = 0; g < n_group; g++)
        first[g] = UINT32_MAX;
    for (size_t i = 0; i < n_dataset; i++) {
        if (first[group[i]] == UINT32_MAX)
            first[group[i]] = (uint32_t)i;
        else
            unite(parent, first[group[i]], (uint32_t)i);
    }
    free(first);
    return true;
}

/* Numbers the roots, and lists the datasets of each. */
static bool number(struct components *components, uint32_t *parent, size_t n_dataset)
{
    for (size_t i = 0; i < n_dataset; i++) {
        uint32_t root = root_of(parent, (uint32_t)i);
        components->of[i] = root == i ? components->n++ : components->of[root];
    }
    components->first = calloc((size_t)components->n + 2, sizeof *components->first);
    if (!components->first)
        return false;
    for (size_t i = 0; i < n_dataset; i++)
        components->position[i] = (uint32_t)components->first[components->of[i] + 1]++;
    for (size_t c = 0; c < components->n; c++)
        components->first[c + 1] += components->first[c];
    for (size_t i = 0; i < n_dataset; i++)
        components->member[components->first[components->of[i]] + components->position[i]] =
            (uint32_t)i;
    return true;
}

bool components_find(struct components *components, size_t n_dataset, size_t n_column,
                     const uint32_t *const *group, const size_t *n_group, bool is_one)
{
    uint32_t *parent = calloc(n_dataset + 1, sizeof *parent);
    components->of = calloc(n_dataset + 1, sizeof *components->of);
    components->position = calloc(n_dataset + 1, sizeof *components->position);
    components->member = calloc(n_dataset + 1, sizeof *components->member);
    bool is_good = parent && components->of && components->position && components->member;
    for (size_t i = 0; is_good && i < n_dataset; i++)
        parent[i] = is_one ? 0 : (uint32_t)i;
    for (size_t c = 0; is_good && !is_one && c < n_column; c++)
        is_good = unite_groups(parent, n_dataset, group[c], n_group[c]);
    is_good = is_good && number(components, parent, n_dataset);
    free(parent);
    return is_good;
}

void components_fini(struct components *components)
{
    free(components->of);
    free(components->position);
    free(components->member);
    free(components->first);
    *components = (struct components){.n = 0};
}
