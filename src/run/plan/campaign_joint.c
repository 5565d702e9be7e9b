/* The part of a campaign whose fits are over many datasets: one for each component of those that
 * share parameters.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/campaign.h"

#include "base/arena.h"
#include "fit/mixed/mixed.h"

#include <stdio.h>
#include <stdlib.h>

/* With so many components for each rank, whole ones are dealt, which needs fewer messages. */
enum { DEALT = 4 };

/* The first of n blocks of a rank; those of rank n_rank begin after the last one. Ranges begin at
 * nodes of the tree of sums where that costs little balance, which keeps messages short. */
static size_t rank_first(size_t n, size_t n_rank, size_t rank)
{
    enum { AT_ONCE = 8, LEAST_GRAINS = 16 }; /* AT_ONCE: of fit/joint/sum.c */
    size_t grain = 1;
    while (grain * AT_ONCE * LEAST_GRAINS <= n / n_rank)
        grain *= AT_ONCE;
    size_t n_grain = (n + grain - 1) / grain, each = n_grain / n_rank, rest = n_grain % n_rank;
    size_t first = (rank * each + (rank < rest ? rank : rest)) * grain;
    return first < n ? first : n;
}

/* The blocks of a component that this rank evaluates. */
static struct joint_ranks part_of(const struct campaign *campaign, size_t c, size_t n)
{
    struct joint_ranks part = campaign->ranks;
    size_t n_component = campaign->share.components.n;
    part.n_block = n;
    if (n_component >= DEALT * part.n) {
        part.first = part.rank > c % part.n ? n : 0;
        part.n_own = part.rank == c % part.n ? n : 0;
    } else {
        part.first = rank_first(n, part.n, part.rank);
        part.n_own = rank_first(n, part.n, part.rank + 1) - part.first;
    }
    return part;
}

size_t campaign_joint_n_own(const struct campaign *campaign)
{
    size_t n = 0;
    for (size_t c = 0; c < campaign->share.components.n; c++) {
        size_t n_block = components_size(&campaign->share.components, c);
        n += campaign->ranks.gather ? part_of(campaign, c, n_block).n_own : n_block;
    }
    return n;
}

static bool name_block(const void *context, size_t block, char *name, size_t n)
{
    const struct campaign_fit *fit = context;
    const struct campaign *campaign = fit->campaign;
    struct arena arena = {.first = NULL};
    struct error ignored;
    char *id = NULL;
    uint32_t dataset = components_members(&campaign->share.components, fit->component)[block];
    bool is_good = !problem_read_ids(campaign->problem, dataset, 1, &arena, &id, &ignored) && id;
    if (is_good)
        snprintf(name, n, "dataset '%.60s'", id);
    arena_fini(&arena);
    return is_good;
}

bool campaign_fit_init(struct campaign_fit *fit, struct campaign *campaign, size_t c, uint32_t task,
                       const uint32_t *weight, const struct fit_options *options)
{
    struct joint *joint = &fit->joint;
    size_t n = components_size(&campaign->share.components, c), n_value;
    fit->campaign = campaign;
    fit->component = c;
    if (!fit->levels.memory && !share_levels_make(&fit->levels, &campaign->share, c, &n_value))
        return false;
    bool has_copies = campaign->ranks.gather && (fit->levels.levels.n_column > 0 ||
                                                 campaign->fit.optimizer == OPTIMIZER_lbfgs);
    struct joint_ranks part =
        campaign->ranks.gather ? part_of(campaign, c, n) : (struct joint_ranks){.n_own = n};
    if (options)
        fit->refit = *options;
    bool is_good = joint_init(joint, options ? &fit->refit : &campaign->fit, &campaign->model,
                              has_copies ? n : part.n_own, campaign->n_parameter,
                              &fit->levels.levels, campaign->scale, NULL) &&
                   (!fit->levels.random.random || mixed_init(joint, &fit->levels.random));
    joint->leaves_out = campaign->share.leaves_out;
    joint->has_pilots = campaign->plan.recipe.warm_start != 0 && task == 0;
    joint->seed = (uint64_t)campaign->plan.recipe.seed;
    joint->prior = campaign->prior;
    joint->task = task;
    joint->weight = weight;
    joint->name = name_block;
    joint->name_context = fit;
    if (has_copies)
        joint->copies = part;
    return is_good && (has_copies || !campaign->ranks.gather || joint_join(joint, &part));
}

void campaign_fit_fini(struct campaign_fit *fit)
{
    joint_fini(&fit->joint);
    share_levels_fini(&fit->levels);
}

size_t campaign_sample_size(const struct campaign *campaign)
{
    struct share_levels made = {.memory = NULL};
    size_t n = 0, n_value;
    for (size_t c = 0; c < campaign->share.components.n &&
                       share_levels_make(&made, &campaign->share, c, &n_value);
         c++) {
        const struct joint bare = {.options = &campaign->fit,
                                   .n_parameter = campaign->n_parameter, .levels = made.levels,
                                   .has_pilots = campaign->plan.recipe.warm_start != 0,
                                   .seed = (uint64_t)campaign->plan.recipe.seed,
                                   .ranks = {.n = 1,
                                             .n_block =
                                                 components_size(&campaign->share.components, c)}};
        n += joint_sample_size(&bare);
    }
    share_levels_fini(&made);
    return n;
}
