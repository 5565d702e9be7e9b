/* The messages of the compute process before it begins.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/compute.h"

#include "fit/distribution.h"
#include "io/problem_adopt.h"
#include "run/plan/campaign_objective.h"

#include <stdarg.h>
#include <stdio.h>

void compute_say(struct compute *compute, const char *format, ...)
{
    char line[2200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    compute->hooks->say(compute->hooks->context, line);
}

/* Reports parameters without bounds: their starts are drawn from a default range. */
static void say_unbounded(struct compute *compute)
{
    const struct campaign *campaign = &compute->campaign;
    char names[200] = "";
    size_t n = 0, used = 0;
    for (size_t i = 0; i < campaign->n_parameter; i++) {
        if (problem_is_bounded(campaign->problem, i))
            continue;
        n++;
        if (used < sizeof names - 80)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%.60s", used ? ", " : "",
                                     problem_parameter_name(campaign->problem)[i]);
    }
    if (n)
        compute_say(compute, "note: --starts: %zu parameter%s %s not bounded on both sides (%s): starts are drawn within a "
                    "decade of the given one, or max(1, |start|) on scale lin", n, n == 1 ? "" : "s",
                    n == 1 ? "is" : "are", names);
}

void compute_describe(struct compute *compute)
{
    const struct campaign *campaign = &compute->campaign;
    const struct stiffit_model *model = &campaign->model.abi;
    compute_say(compute,
        "model %s: %u state%s, %u parameter%s, %u observable%s; %llu dataset%s%s; %zu worker%s, %s linear solver",
        model->name, model->n_state, model->n_state == 1 ? "" : "s", model->n_parameter, model->n_parameter == 1 ? "" : "s",
        model->n_observable, model->n_observable == 1 ? "" : "s", (unsigned long long)campaign->n_dataset,
        campaign->n_dataset == 1 ? "" : "s", campaign->n_start > 1 ? ", several starts each" : "", compute->n_worker,
        compute->n_worker == 1 ? "" : "s", engine_pool_linear_solver(compute->pool));
    char objective[OBJECTIVE_TEXT], selection[200];
    if (*selection_describe(&campaign->plan.selection, selection, sizeof selection))
        compute_say(compute, "%s%s%s%s", selection, *compute->shard_origin ? " (" : "", compute->shard_origin,
                    *compute->shard_origin ? ")" : "");
    campaign_objective_text(campaign, objective);
    compute_say(compute, "objective: %s", objective);
    uint32_t n_replicate = campaign->plan.refits.n_bootstrap;
    if (campaign->plan.refits.n_profile || n_replicate)
        compute_say(compute, "refits of each dataset: %u sides of profiles, %u bootstrap replicates",
            2 * campaign->plan.refits.n_profile, n_replicate);
    if (n_replicate && n_replicate < FIT_INTERVAL_REPLICATES)
        compute_say(compute, "note: %u %s; intervals need %d", n_replicate, n_replicate == 1 ?
                    "replicate gives no standard errors" : "replicates give standard errors only", FIT_INTERVAL_REPLICATES);
    uint32_t missing = model_missing_derivatives(&campaign->model);
    for (int bit = 0; bit < 32; bit++)
        if (missing >> bit & 1)
            compute_say(compute, "note: %s", note_meaning(bit));
    if (*problem_changes(campaign->problem))
        compute_say(compute, "note: the problem was imported with another model; from this one come: %s",
                    problem_changes(campaign->problem));
    if (campaign->n_start > 1)
        say_unbounded(compute);
    if (campaign->n_bad)
        compute_say(compute, "note: %llu dataset%s%s cannot be fitted (bad_data)", (unsigned long long)campaign->n_bad,
            campaign->n_bad == 1 ? "" : "s", *selection ? " of the whole problem" : "");
    if (compute->earlier && journal_n_record(compute->earlier))
        compute_say(compute, "resuming: %llu of %llu fits are in the journal%s",
            (unsigned long long)journal_n_record(compute->earlier),
            (unsigned long long)compute->n_fit,
            journal_n_damaged(compute->earlier) ? " (a torn end was cut off)" : "");
}
