/* What the result of a fit depends on besides data, model and dataset: the options of `stiffit run` that change results, and
 * their description, which is part of a run's identity.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error_kind.h"
#include "fit/fit.h"
#include "ode/evaluation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECIPE_TEXT = 1024 };

struct recipe {
    bool portable;            /* --portable: compile model text for any CPU of this kind */
    int64_t n_start;          /* --starts; 1 */
    int64_t seed;             /* --seed; 1 */
    int warm_start;           /* --warm-start none|pilot: 0, 1 */
    const char *share;        /* --share NAME[,NAME...], or the names of /parameters/level; NULL: none */
    bool leave_out_failed;    /* --leave-out-failed */
    const char *profile;      /* --profile NAME[,NAME...]; NULL: none */
    int64_t n_bootstrap;      /* --bootstrap N; 0 */
    int bootstrap_kind;       /* --bootstrap-kind auto|residual|parametric: enum bootstrap_kind */
    bool keep_starts, keep_profile, keep_bootstrap; /* --keep-starts, ... */
    struct ode_options ode;   /* --rtol, --atol, --linear-solver */
    int engine;               /* --engine auto|cvodes|lanes: 0, or 1 + enum engine_kind */
    struct fit_options fit;   /* --optimizer, --ftol, --gtol, --max-evaluations, --max-steps, --max-total-steps,
                               * --max-seconds */
    int error;                /* --error: enum error_kind of observables that nothing else says it of */
    double tuning[N_ERROR];   /* --huber-k, ...: the options of ERROR_TUNING_LIST; 0 for the other distributions */
};

/* Options that change a result only in some runs, and are described only there. */
struct recipe_uses {
    bool portable;            /* the model is text */
    bool bootstrap_kind;      /* there are replicates */
    bool error[N_ERROR];      /* some observable has such errors */
};

/* The description: the words "NAME=VALUE" of the rows of the option table that change results, as the program of 0.1.0 wrote
 * them, for the text's hash is the identity of results that exist. The seed, which has a place of its own there, is not among
 * them. */
void recipe_print(const struct recipe *recipe, const struct recipe_uses *uses, char text[RECIPE_TEXT]);
/* The words that say what is minimised. */
void recipe_print_objective(const struct recipe *recipe, const struct recipe_uses *uses, char text[RECIPE_TEXT]);
/* The inverse: what the text does not say, and words that are unknown, leave the default. `uses` (or NULL): what was described.
 * Lists of names are left out, as the text may hold their hashes. */
void recipe_read(struct recipe *recipe, struct recipe_uses *uses, const char *text);
