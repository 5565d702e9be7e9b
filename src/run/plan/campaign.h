/* What all fits of a run share, and what the run is: its identity and its paths.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_CAMPAIGN_H
#define RUN_CAMPAIGN_H

#include "base/error.h"
#include "fit/fit.h"
#include "io/journal.h"
#include "io/problem.h"
#include "model/plugin.h"
#include "run/supervise/board.h"
#include "run/plan/pilot.h"
#include "run/plan/refit.h"
#include "run/plan/run_options.h"
#include "run/plan/selection.h"

struct run_hooks;

/* Const while the workers run. Tasks are numbered dataset * n_task + task; starts come first, then refits. */
struct campaign {
    struct problem *problem;
    struct model model;
    struct ode_options ode;
    struct fit_options fit;
    size_t n_parameter;
    enum parameter_scale *scale;   /* n_parameter, the file's order */
    const uint32_t *to_model;      /* n_parameter, owned by the problem */
    struct fit_loss *loss;         /* one for each observable of the model */
    bool mixes;                    /* base/error_kind.h */
    struct fit_prior *prior;       /* n_parameter, or NULL */
    size_t n_prior;                /* parameters that have one, uniform ones too */
    uint64_t n_censored;           /* measurements */
    const char *objective_kind;    /* as /fits/objective@kind says it */
    uint64_t n_dataset, n_bad;     /* of the whole problem */
    struct selection selection;    /* which of them are to be fitted */
    uint32_t n_start, n_task;
    struct refit_plan plan;
    struct pilots *pilots;         /* NULL: no warm start */
    uint64_t n_outside_pilot;      /* pilots that are fitted although they are not selected */
    uint64_t seed;
    struct run_identity identity;
};

/* Opens the problem, takes the options that it brings, loads the model (if it may be trusted) and validates all data;
 * tells the board how far it is, and what there is to say about the model to the hooks. The campaign is
 * zero-initialised; campaign_fini is legal after a failure too. */
enum status campaign_open(struct campaign *campaign, struct run_options *options, struct board *board,
                          const struct run_hooks *hooks, struct error *error);
void campaign_fini(struct campaign *campaign);

/* Applies what /options of the file says and the command line does not. */
enum status campaign_file_options(const struct problem *problem, struct run_options *options, struct error *error);
/* The words of /parameters/scale as numbers; free() it. NULL: out of memory. */
enum parameter_scale *campaign_scales(const char *const *names, size_t n);

/* What the model expects of a problem file. The pointers go into the model. */
struct problem_expectation campaign_expectation(const struct model *model);

/* The result's path as the options say, and its journal's; free() them. NULL: out of memory. */
char *campaign_result_path(const struct run_options *options);
char *campaign_journal_path(const struct run_options *options);

#endif
