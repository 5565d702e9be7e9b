/* Which parameters have one value for all datasets, or for groups of them, or are random, and the
 * fits that this makes of the datasets.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/mixed/mixed.h"
#include "io/problem/problem.h"
#include "run/plan/components.h"
#include "run/plan/run_options.h"
#include "run/plan/share_deviation.h"
#include "run/plan/share_random.h"

struct share {
    size_t n;              /* such parameters; 0: every dataset is a fit of its own */
    size_t n_parameter, n_dataset;
    /* of each parameter: 0 of datasets, 1 shared by all, 2 + c by the groups of column c */
    uint8_t *level;
    size_t n_column;
    uint32_t **group;      /* of each column: a number for each dataset, from 0 */
    size_t *n_group;
    struct components components; /* each is a fit */
    uint8_t *is_common;    /* of each parameter: it has one value in each of these fits */
    bool leaves_out;       /* --leave-out-failed, or some are random */
    char *text;            /* NAME[,NAME...], then NAME@COLUMN:HASH of the column's groups; without
                            * the random ones; NULL: there are no others */
    struct share_random random; /* whose level is 1, too */
    struct share_deviation deviation;
};

/* As --share and --random say or, without one of them, what /parameters/level says of it; then the
 * texts of options->recipe say it, too. STATUS_USAGE for options and parameters that cannot be
 * combined with it (yet). After problem_validate. share_fini is legal after a failure; it ends the
 * life of the options' texts. */
enum status share_open(struct share *share, struct run_options *options,
                       const struct problem *problem, struct error *error);
/* Makes the share from the recipe's texts alone, for the finisher: parameters have these names. */
enum status share_read(struct share *share, const struct recipe *recipe, const char *const *names,
                       size_t n_parameter, const struct problem *problem, struct error *error);
void share_fini(struct share *share);

/* The levels within component c: a column with one group there is shared by all of its datasets,
 * and groups are numbered anew. The column with the most values comes first; the fit eliminates
 * it, and those of the others count as shared parameters, of which *n_value is the number.
 * Zero-initialise; share_levels_fini is always legal. False: out of memory. */
struct share_levels {
    struct joint_levels levels;
    struct mixed_levels random;
    void *memory;
};
bool share_levels_make(struct share_levels *made, const struct share *share, size_t c,
                       size_t *n_value);
void share_levels_fini(struct share_levels *made);
