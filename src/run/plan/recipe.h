/* What the result of a fit depends on besides data, model and dataset: the options of `stiffit
 * run` that change results.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error_kind.h"
#include "fit/joint/one.h"
#include "ode/evaluation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECIPE_TEXT = 1024 }; /* bytes of its description (recipe_text.h) */

/* Behind the option stands its default, if that is not false or 0. */
struct recipe {
    bool portable;            /* --portable: compile model text for any CPU of this kind */
    int64_t n_start;          /* --starts; 1 */
    int64_t seed;             /* --seed; 1 */
    int warm_start;           /* --warm-start: 0 none, 1 pilot */
    /* --share NAME[,NAME...], or the names of /parameters/level; NULL: none */
    const char *share;
    /* --random NAME[,NAME...], or the names of /parameters/level; NULL: none */
    const char *random;
    const char *random_covariance; /* --random-covariance full|diagonal|BLOCKS; NULL: full */
    const char *random_deviation; /* --random-deviation NAME=NUMBER[,...]; NULL: none */
    bool leave_out_failed;    /* --leave-out-failed */
    const char *profile;      /* --profile NAME[,NAME...]; NULL: none */
    int64_t n_bootstrap;      /* --bootstrap N */
    int bootstrap_kind;       /* --bootstrap-kind auto|residual|parametric: enum bootstrap_kind */
    bool keep_starts, keep_profile, keep_bootstrap; /* --keep-starts, ... */
    struct ode_options ode;   /* --rtol, --atol, --linear-solver */
    int engine;               /* --engine: 0 auto, or 1 + enum engine_kind */
    /* --optimizer, --ftol, --gtol, --max-evaluations, --max-steps, --max-total-steps,
     * --max-seconds */
    struct fit_options fit;
    /* --error: enum error_kind of observables for which neither model nor problem sets one */
    int error;
    /* --huber-k, ...: the options of ERROR_TUNING_LIST; 0 for the other distributions */
    double tuning[N_ERROR];
};

/* Whether its fits are over many datasets; once share_open has set these texts. */
static inline bool recipe_is_joint(const struct recipe *recipe)
{
    return recipe->share != NULL || recipe->random != NULL;
}
