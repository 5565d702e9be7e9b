/* What all fits of a run share, and what the run is: its identity and its paths.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_CAMPAIGN_H
#define RUN_CAMPAIGN_H

#include "base/error.h"
#include "fit/fit.h"
#include "io/journal.h"
#include "io/problem.h"
#include "model/plugin.h"
#include "run/board.h"
#include "run/run_options.h"

struct run_hooks;

/* Const while the workers run. The fits are numbered dataset * n_start + start. */
struct campaign {
    struct problem *problem;
    struct model model;
    struct ode_options ode;
    struct fit_options fit;
    size_t n_parameter;
    enum parameter_scale *scale;   /* n_parameter, the file's order */
    const uint32_t *to_model;      /* n_parameter, owned by the problem */
    uint64_t n_dataset, n_bad;
    uint32_t n_start;
    uint64_t seed;
    struct run_identity identity;
};

/* Opens the problem, takes the options that it brings, loads the model (if it may be trusted) and validates all data;
 * tells the board how far it is, and what there is to say about the model to the hooks. The campaign is
 * zero-initialised; campaign_fini is legal after a failure too. */
enum status campaign_open(struct campaign *campaign, struct run_options *options, struct board *board,
                          const struct run_hooks *hooks, struct error *error);
void campaign_fini(struct campaign *campaign);

/* What the model expects of a problem file. The pointers go into the model. */
struct problem_expectation campaign_expectation(const struct model *model);

/* The result's path as the options say, and its journal's; free() them. NULL: out of memory. */
char *campaign_result_path(const struct run_options *options);
char *campaign_journal_path(const struct run_options *options);

#endif
