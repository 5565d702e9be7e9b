/* Problem files in libstiffit: a campaign that is opened as that of a run, and whose datasets are
 * read when they are asked for. The only file here that needs HDF5.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "library/problem.h"

#include "run/plan/campaign.h"

#include <stdlib.h>
#include <string.h>

enum { DATASETS_AT_ONCE = 64, ROWS_AT_ONCE = 4096 };

struct library_file {
    struct campaign campaign;
    struct board board;           /* of signs of life, which nobody reads */
    struct problem_block block;
};

static void say_nothing(void *context, const char *line)
{
    (void)context;
    (void)line;
}

enum status library_file_open(struct library_file **file, struct run_options *options,
                              struct error *error)
{
    static const struct run_hooks hooks = {.say = say_nothing};
    struct library_file *made = calloc(1, sizeof *made);
    *file = NULL;
    if (!made)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %s", options->problem);
    enum status status = campaign_open(&made->campaign, options, &made->board, &hooks, error);
    const struct recipe *recipe = &made->campaign.plan.recipe;
    if (!status && campaign_is_shared(&made->campaign))
        status = error_set(error, STATUS_BAD_PROBLEM, "%s: datasets share parameters, so that they "
                           "are one fit: use `stiffit run`", options->problem);
    if (!status && (recipe->warm_start || recipe->n_bootstrap || recipe->profile))
        status = error_set(error, STATUS_BAD_PROBLEM, "%s: its /options ask for warm starts, "
                           "profiles or bootstraps: use `stiffit run`", options->problem);
    if (status)
        library_file_close(made);
    else
        *file = made;
    return status;
}

void library_file_close(struct library_file *file)
{
    if (!file)
        return;
    problem_block_fini(&file->block);
    campaign_fini(&file->campaign);
    free(file);
}

size_t library_file_n_dataset(const struct library_file *file)
{
    return (size_t)file->campaign.n_dataset;
}

void library_file_prepare(const struct library_file *file, struct fit_setting *setting,
                          struct fit_options *fit, struct ode_options *ode)
{
    const struct campaign *campaign = &file->campaign;
    *setting = campaign_setting(campaign);
    *fit = campaign->fit;
    *ode = campaign_ode_options(campaign);
}

enum status library_file_block(struct library_file *file, size_t dataset,
                               const struct problem_block **block, size_t *row,
                               struct error *error)
{
    struct problem_block *own = &file->block;
    struct problem *problem = file->campaign.problem;
    enum status status = STATUS_OK;
    if (dataset >= file->campaign.n_dataset)
        return error_set(error, STATUS_USAGE, "there is no dataset %zu: %s has %llu, from 0",
                         dataset, problem_info(problem)->path,
                         (unsigned long long)file->campaign.n_dataset);
    if (dataset < own->first)
        status = problem_rewind(problem, error);
    bool is_here = !status && dataset >= own->first && dataset < own->end;
    while (!status && !is_here) {
        status = problem_read(problem, own, DATASETS_AT_ONCE, ROWS_AT_ONCE, error);
        is_here = !status && dataset >= own->first && dataset < own->end;
    }
    *block = own;
    *row = dataset - (size_t)own->first;
    return status;
}
