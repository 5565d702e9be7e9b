/* The data that all fits of a run share, and the run's identity and paths.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "fit/objective/dataset.h"
#include "fit/joint/one.h"
#include "fit/joint/joint.h"
#include "io/journal/journal.h"
#include "io/problem/problem.h"
#include "model/plugin.h"
#include "ode/engine.h"
#include "run/plan/pilot.h"
#include "run/plan/run_plan.h"
#include "run/plan/share.h"
#include "run/supervise/board.h"

struct run_hooks;
struct campaign;

/* A fit over the datasets of a component. */
struct campaign_fit {
    struct campaign *campaign;
    size_t component;
    struct joint joint;
    struct share_levels levels;
    struct fit_options refit;      /* of refits */
};

/* Const while the workers run. */
struct campaign {
    struct run_plan plan;
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
    size_t n_prior;                /* parameters with a prior, including uniform ones */
    uint64_t n_censored;           /* measurements */
    const char *objective_kind;    /* the value of /fits/objective@kind */
    uint64_t n_dataset, n_bad;     /* of the whole problem */
    uint32_t n_start, n_task;
    /* parameters with one value for several datasets; n 0: every dataset is a fit of its own */
    struct share share;
    struct campaign_fit **fit_of;  /* of each component of these; NULL: not under way */
    /* with gather: this process evaluates a part of the datasets; only n, rank and gather */
    struct joint_ranks ranks;
    struct pilots *pilots;         /* NULL: no warm start */
    uint64_t n_outside_pilot;      /* pilots that are not selected but fitted all the same */
    uint64_t seed;
};

/* The number of the fit that is this task of a dataset, as identity_fit has it. */
static inline uint64_t campaign_number(const struct campaign *campaign, uint64_t dataset,
                                       uint32_t task)
{
    return dataset * campaign->n_task + task;
}

/* Opens the problem, applies its options, loads the model (if it is trusted) and validates all
 * data. Reports its progress to the board, and messages about the model to the hooks. The
 * campaign must be zero-initialised; campaign_fini is legal after a failure. */
enum status campaign_open(struct campaign *campaign, struct run_options *options,
                          struct board *board, const struct run_hooks *hooks, struct error *error);
void campaign_fini(struct campaign *campaign);
/* What the words of a run mean for fits of so many parameters, and for a model: the engine, where
 * `use` says what the data need. STATUS_USAGE: it cannot take the model. */
struct fit_options campaign_fit_options(const struct recipe *recipe, size_t n_parameter);
enum status campaign_engine(const struct recipe *recipe, const struct model *model,
                            struct engine_use use, enum engine_kind *kind, struct error *error);
/* For the engine's pool. */
struct ode_options campaign_ode_options(const struct campaign *campaign);
/* Of its datasets; points into the campaign. */
struct fit_setting campaign_setting(const struct campaign *campaign);
static inline bool campaign_is_shared(const struct campaign *campaign)
{
    return campaign->share.n > 0;
}
/* The fit of component c for that task, a start (weight, options: NULL) or a refit in which each
 * dataset of this process counts so often. Zero-initialise; campaign_fit_fini is always legal.
 * False: out of memory. */
bool campaign_fit_init(struct campaign_fit *fit, struct campaign *campaign, size_t c, uint32_t task,
                       const uint32_t *weight, const struct fit_options *options);
void campaign_fit_fini(struct campaign_fit *fit);
/* The fit under way of which a dataset is a block, and its number there: beyond the last one if
 * it is another process's. */
static inline struct campaign_fit *campaign_fit_of(const struct campaign *campaign,
                                                   uint64_t dataset, size_t *block)
{
    struct campaign_fit *fit = campaign->fit_of[campaign->share.components.of[dataset]];
    *block =
        fit ? (size_t)campaign->share.components.position[dataset] - fit->joint.ranks.first : 0;
    return fit;
}
/* The number of datasets that this process evaluates; and of those that take part in the first
 * steps of all fits. */
size_t campaign_joint_n_own(const struct campaign *campaign),
    campaign_sample_size(const struct campaign *campaign);

/* The words of /parameters/scale as numbers; free() it. NULL: out of memory. */
enum parameter_scale *campaign_scales(const char *const *names, size_t n);

/* Which model to load: text is always allowed, native code only if the user named or trusts it. */
struct model_choice {
    /* a path from the command line, which overrides all others and is trusted; or NULL */
    const char *given;
    bool trust;        /* native code that a data file names or embeds may run */
    struct build_options build; /* for model text */
};

/* Loads the given model, or the one that the problem names or embeds. Untrusted native code is
 * STATUS_BAD_MODEL, with the commands that would allow it. */
enum status campaign_load_model(struct model *model, const struct problem *problem,
                                const struct model_choice *choice, struct error *error);

/* Loads the file `path`, which a data file names; expected_sha256 may be NULL. `who`: the
 * beginning of the message of a refusal ("FILE: /model@plugin names native code (X.so)");
 * `trustee`: the argument of the `stiffit trust` that would allow it. */
enum status campaign_load_named(struct model *model, const char *path, const char *expected_sha256,
                                const struct model_choice *choice, const char *who,
                                const char *trustee, struct error *error);

/* The losses of n observables, as fit_loss_of makes them; free() them. NULL: out of memory. */
struct fit_loss *campaign_losses(const enum error_kind *error, size_t n, const double *tuning);
/* The objective, after the problem has been checked: campaign->loss, mixes, prior, n_censored
 * and objective_kind. */
enum status campaign_objective_open(struct campaign *campaign, const struct recipe *recipe,
                                    struct error *error);
/* Whether some observable has such errors. */
bool campaign_has_error(const struct campaign *campaign, enum error_kind kind);
enum { OBJECTIVE_TEXT = 800 };
/* For people: "the negative log-likelihood of normal (A, B) and log-normal (C) errors, 12
 * measurements censored, with priors on 2 parameters". */
void campaign_objective_text(const struct campaign *campaign, char text[OBJECTIVE_TEXT]);
