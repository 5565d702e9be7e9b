/* Which parameters have one value for all datasets, so that these become one fit.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/problem.h"
#include "run/plan/run_options.h"

struct share {
    size_t n;
    uint32_t *index;       /* n parameters in the file's order */
    uint8_t *is_shared;    /* n_parameter */
    bool leaves_out;       /* --leave-out-failed */
    char *text;            /* NAME[,NAME...] */
};

/* As --share says or, without that, /parameters/level; then also options->recipe.share says it. STATUS_USAGE for options that
 * cannot be combined with shared parameters yet. share_fini is legal after a failure; it ends the life of the option's text. */
enum status share_open(struct share *share, struct run_options *options, const struct problem *problem, struct error *error);
void share_fini(struct share *share);
