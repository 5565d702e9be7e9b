/* Which parameters have one value for all datasets, or for groups of them, so that all become one fit.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint_types.h"
#include "io/problem.h"
#include "run/plan/run_options.h"

struct share {
    size_t n;              /* such parameters; 0: every dataset is a fit of its own */
    struct joint_levels levels;
    uint8_t *level;        /* of these, as are */
    uint32_t **group;
    size_t *n_group;
    bool leaves_out;       /* --leave-out-failed */
    char *text;            /* NAME[,NAME...], then NAME@COLUMN:HASH of the column's groups */
};

/* As --share says or, without that, /parameters/level; then also options->recipe.share says it. STATUS_USAGE for options that
 * cannot be combined with shared parameters yet. share_fini is legal after a failure; it ends the life of the option's text. */
enum status share_open(struct share *share, struct run_options *options, const struct problem *problem, struct error *error);
void share_fini(struct share *share);
/* The names of such a text that all datasets share, as a list; free() it. NULL: out of memory. */
char *share_by_all(const char *text);
