/* What a fit over many datasets keeps of one of them, its block, and of groups of them.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint_kept.h"
#include "fit/joint_steps.h"

/* Which parameters have one value for all datasets, or for each group of them. Groups of the first column are eliminated as
 * blocks are; those of the others, nested or crossed, count as shared. */
struct joint_levels {
    const uint8_t *level;         /* n_parameter: 0 of datasets, 1 shared by all, 2 + c by the groups of column c */
    size_t n_column;
    const uint32_t *const *group; /* n_column: of n_block datasets, from 0 */
    const size_t *n_group;        /* n_column */
};

/* The processes that share a fit, each with some of its blocks, one process after another. All take the same decisions, from
 * what all give. */
struct joint_ranks {
    size_t n, rank;           /* processes, and which one this is */
    size_t n_block, first, n_own; /* blocks of all, of those before this one, and its own */
    /* Every process gives n bytes and gets those of all, one process after another, which are valid until the next call. NULL:
     * the fit cannot go on in this process, and no later call succeeds. */
    const unsigned char *(*gather)(void *context, const void *bytes, size_t n, size_t *n_all);
    void *context;
};

/* A parameter above all blocks, on the optimiser's scale. */
struct joint_above {
    uint32_t file_index;
    enum parameter_scale scale;
    double start, lower, upper;
};

enum joint_which { JOINT_BEST, JOINT_TRIAL, JOINT_INNER };

struct joint_block {
    bool is_made;
    size_t saved, n, n_row;   /* saved: if not 0, its place in joint->saved.bytes until it is made */
    struct joint_side best, trial;
    double radius;            /* of the own trust region */
    struct joint_inner inner; /* with kinks */
    uint32_t n_bounded;       /* steps in a row that it bounded; */
    bool is_curved;           /* after many: as in a side, of the next one */
    /* of the latest trial */
    double decrease, by_slopes, promise, slope; /* actual, by gradients at both ends, predicted; slope along the step */
    bool has_failed;          /* no own step could be evaluated */
    enum outcome failure;     /* why: ode_failed or model_failed */
    bool has_moved;           /* some parameter has other bits */
    /* of all passes */
    enum outcome outcome;     /* not_run: nothing ends the fit because of this block, or */
    bool is_out, has_crashed; /* it was left out; the process died of it */
    bool disagrees;           /* its shared parameters have others' starts or bounds, whose hash is */
    uint64_t agreement;
    enum engine_kind engine;
    enum gradient_method gradient;
    int64_t n_evaluation, n_step, n_no_sigma;
    double seconds;
    uint32_t notes;
    bool has_offset, has_kinks;
    char reason[160];
    /* of the last pass, for statistics and the record */
    bool is_kept;             /* p and side are those of the best point */
    double *p, *chain;        /* n_parameter; n + s, own parameters first */
    double *box;              /* for L-BFGS: n lower, n upper bounds */
    uint32_t *file_index;     /* n + s; then as many: the place of each among all of these in the model's order */
    int8_t *side;             /* n_parameter: record.at_bound */
    bool is_sigma_known;
    struct joint_findings findings;
};

/* Why a block ended the fit. */
struct joint_blame {
    enum outcome outcome;
    bool has_crashed;
    char reason[160];
};

/* A group of blocks at the best point; `side` is of the point that was reduced last. */
struct joint_group {
    size_t first, n;          /* its blocks in joint->part.member */
    struct joint_side side;
    double *trial;            /* theta of the next step */
    double *length;           /* of its columns with own parameters fixed */
    bool *is_held;            /* by a bound */
    struct joint_hold hold;   /* with kinks */
    bool is_stopped;
    double *line, *line_scale; /* with kinks: theta of the best inner step; the metric of steps */
    double radius, step;      /* step: the length of the latest one */
    bool is_restricted;       /* that one */
    double *error_rows;       /* for standard errors: of its loose parameters and those above, and */
    size_t n_loose;
};
