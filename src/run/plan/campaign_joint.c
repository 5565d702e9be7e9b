/* The part of a campaign that is one fit over all datasets.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/campaign.h"

#include <stdlib.h>

bool campaign_joint_init(struct campaign *campaign, uint32_t task, const uint32_t *weight,
                         const struct fit_options *options)
{
    struct joint *joint = campaign->joint;
    size_t n = (size_t)(campaign->ranks.gather ? campaign->ranks.n_own : campaign->n_dataset);
    if (options)
        campaign->refit = *options;
    bool is_good = joint_init(joint, options ? &campaign->refit : &campaign->fit, &campaign->model, n, campaign->n_parameter,
                              &campaign->share.levels, campaign->scale);
    joint->leaves_out = campaign->share.leaves_out;
    joint->has_pilots = campaign->plan.recipe.warm_start != 0 && task == 0;
    joint->seed = (uint64_t)campaign->plan.recipe.seed;
    joint->task = task;
    joint->weight = weight;
    joint->mirror = campaign->mirror;
    return is_good && (!campaign->ranks.gather || joint_join(joint, &campaign->ranks));
}

enum status campaign_joint_open(struct campaign *campaign, struct error *error)
{
    campaign->joint = malloc(sizeof *campaign->joint);
    if (!campaign->joint || !campaign_joint_init(campaign, 0, NULL, NULL))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for a fit over %llu datasets",
                         (unsigned long long)campaign->n_dataset);
    return STATUS_OK;
}
