/* What a fit over many datasets keeps of one of them, its block, and of groups of them.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/objective/start.h"
#include "fit/search/certificate.h"
#include "fit/search/kinks.h"
#include "fit/search/leap.h"
#include "fit/search/trust_model.h"
#include "fit/statistics/findings.h"

/* A block at one point. Parameters on the optimiser's scale: n own ones, then s shared ones. */
struct joint_reduced {
    double f;
    double *theta;            /* n */
    double *gradient;         /* n + s */
    double *triangle, *rhs;   /* (n + s) x (n + s), n + s: R and Q'r; R'Q'r is the gradient */
    double *scale;            /* n: metric of the own trust region */
    double *schur, *schur_rhs;  /* s x s, s: the Schur complement, for the shared ones */
    /* decrease predicted for own steps alone, within the radius and without */
    double promise, promise_free;
    double gradient_norm, single; /* of the own parameters: projected; trust_model_promise_single */
    double noise;             /* what rounding and errors of integration could change f by */
    double mean_square, variance; /* fit_point_mean_square, fit_certificate_variance */
    double misfit, size;      /* fit_point_misfit and fit_point_scale, times the block's weight */
    bool is_restricted;       /* the own step, by radius or bounds */
    bool is_curved;           /* triangle: with the second derivatives beyond Gauss-Newton's */
    /* for inner steps: predictions, their derivatives, noises, and theirs; without a sigma:
     * predictions; otherwise NULL */
    double *at;
};

/* n own parameters of a block or a group in a step of joint/line.c: held and moving by a number,
 * or stopped in the latest step. */
struct joint_hold {
    bool *is_held, *is_stopped;
    double *by;
};

/* A block in the search for a step of joint/line.c. Steps from the best point: n own parameters,
 * then s above. */
struct joint_inner {
    struct joint_reduced reduced;   /* the rows at the best inner step */
    double *step, *candidate; /* the best inner step and the next one */
    double value, candidate_value; /* the objective for linear predictions after each */
    double distance, candidate_distance; /* the squared length of each one's own part */
    /* n + s: lengths of the columns in units of the measurements' standard deviations */
    double *scale;
    struct joint_hold hold;
    bool is_stopped;          /* some own parameter, in the latest step */
};

/* The search for a step of joint/line.c. */
struct joint_line {
    struct kinks_search search; /* its values have the damping's share */
    /* kept from step to step: damping, and by how much the next step that fails increases it */
    double damping, growth;
    bool begins;              /* blocks begin at the best point */
    bool takes;               /* each block's last candidate becomes its best inner step */
    bool halves;              /* half of the way from the best inner step is tried */
    bool holds;               /* parameters that were stopped are held from now on */
    int n_hold;               /* how often */
    bool has_fewer;           /* blocks have left */
    double value, latest;     /* the objective for linear predictions at the best inner step, and
                               * at the latest one */
    double *theta;            /* all parameters above the blocks: the end of the best inner step */
    double *scale;            /* likewise: the metric of steps */
    double *kept;             /* s: the metric of the trust region */
};

/* Which parameters have one value for all datasets, or for each group of them. Groups of the
 * first column are eliminated as blocks are; those of the others, nested or crossed, count as
 * shared. */
struct joint_levels {
    /* n_parameter: 0 of datasets, 1 shared by all, 2 + c by the groups of column c */
    const uint8_t *level;
    size_t n_column;
    const uint32_t *const *group; /* n_column: of n_block datasets, from 0 */
    const size_t *n_group;        /* n_column */
};

/* The processes that share a fit, each with some of its blocks, one process after another. All
 * take the same decisions, from what all give. */
struct joint_ranks {
    size_t n, rank;           /* processes, and which one this is */
    size_t n_block, first, n_own; /* blocks of all, of those before this one, and its own */
    /* Every process gives n bytes and gets those of all, one process after another, which are
     * valid until the next call. NULL: the fit cannot go on in this process, and no later call
     * succeeds. */
    const unsigned char *(*gather)(void *context, const void *bytes, size_t n, size_t *n_all);
    void *context;
};

/* A parameter above all blocks, on the optimiser's scale. */
struct joint_above {
    uint32_t file_index;
    enum parameter_scale scale;
    double start, size, lower, upper; /* bounds that are equal: it stays at its start */
};

/* What an objective is: near squares; far from them, so that steps are inner ones
 * (struct fit_loss, is_far_from_square); or it has kinks, where slopes at two points say little
 * of the values between them (fit_objective_has_kinks). */
enum joint_form { JOINT_NEAR, JOINT_FAR, JOINT_KINKS };

enum joint_which { JOINT_BEST, JOINT_TRIAL, JOINT_INNER };

/* All arrays of a block but those of findings. */
struct joint_memory {
    double *numbers;      /* n */
    size_t n, n_copied;   /* other processes have copies of the first n_copied numbers */
    size_t n_at;          /* of joint_reduced.at at the best point, and as many at the trial, which
                           * have no copies */
    bool is_swapped;      /* the trial's arrays come first */
    /* until the block is made: where its arrays, and what the level above keeps, begin in
     * joint->saved.bytes; 0: there are none */
    size_t saved, saved_upper;
};

/* The best point of a block, for the record. */
struct joint_kept {
    bool is_there;
    double *p;            /* n_parameter */
    int8_t *at_bound;     /* n_parameter: as in the record */
};

/* What evaluates a block. */
struct joint_engine {
    enum engine_kind kind;
    /* CVODES takes over from this one, if it can; ENGINE_REFERENCE: it does not */
    enum engine_kind left;
    struct fit_lanes lanes; /* what has failed there */
    bool is_renewed;        /* in the latest pass: the best point, by another engine or gradient */
};

struct joint_block {
    bool is_made;
    size_t n, s, n_row;       /* own parameters, and those above */
    struct joint_memory memory;
    struct joint_reduced best, trial;
    struct trust_reach reach; /* of own steps */
    struct joint_inner inner; /* unless near squares */
    uint32_t n_bounded;       /* steps in a row that the reach bounded */
    bool is_curved;           /* after many of these: the next trial has second derivatives */
    /* of the latest trial */
    /* actual, by gradients at both ends, predicted; slope along the step */
    double decrease, by_slopes, promise, slope;
    bool has_failed;          /* no own step could be evaluated */
    enum outcome failure;     /* why: ode_failed or model_failed */
    bool has_moved;           /* some parameter has other bits */
    /* of all passes */
    enum outcome outcome;     /* not_run: nothing ends the fit because of this block, or */
    bool is_out, has_crashed; /* it was left out; the process died of it */
    /* its shared parameters have others' starts or bounds, whose hash is */
    bool disagrees;
    uint64_t agreement;
    struct joint_engine engine;
    enum gradient_method gradient;
    struct fit_work used;
    int64_t n_no_sigma;
    double seconds;
    uint32_t notes;
    bool has_offset;
    enum joint_form form;
    char reason[160];
    /* of the last pass, for statistics and the record */
    struct joint_kept kept;
    double *chain;            /* n + s, own parameters first */
    double *box;              /* for L-BFGS: n lower, n upper bounds */
    struct fit_leap_sums *leap; /* s: of the parameters above, at the trial of the first passes */
    /* n + s; then as many: the place of each among all of these in the model's order */
    uint32_t *file_index;
    bool is_sigma_known;
    struct fit_findings findings; /* has_prior: in any block, before there are others */
    void *upper;              /* what the level above keeps, for free(); NULL: nothing yet */
};

/* The end of a search that another one, with other tolerances, has followed. */
struct joint_former {
    bool is_there;
    enum outcome outcome;
    enum stop_test stop;
    struct fit_certificate certificate;
    uint32_t notes;
    double f, doubt;          /* at the new tolerances; and what these have changed */
    char reason[160];
};

/* What is done to confirm the optimum (joint/confirm.c). */
struct joint_confirm {
    struct fit_certificate certificate;
    /* another search at the same tolerances must end below it; and this is one */
    double goal;
    bool repeats;
    double doubt;             /* the error of asker.start_f, which is by other tolerances */
    bool by_reference;        /* the check is by CVODES */
    bool is_beyond;           /* it may exceed the budgets */
    bool is_missed;           /* there is no budget for it */
    bool is_described;        /* the latest pass has also described the best point */
    struct joint_former former;
};

/* Why a block ended the fit. */
struct joint_blame {
    enum outcome outcome;
    bool has_crashed;
    char reason[160];
};

/* A group of blocks at the best point; `reduced` is of the point that was reduced last. */
struct joint_group {
    size_t first, n;          /* its blocks in joint->part.member */
    struct joint_reduced reduced;
    double *trial;            /* theta of the next step */
    double *length;           /* of its columns with own parameters fixed, in joint->above.length */
    bool *is_held;            /* by a bound */
    struct joint_hold hold;   /* for inner steps */
    bool is_stopped;
    double *line_scale;       /* likewise: the metric of steps, in joint->line.scale */
    struct trust_reach reach; /* of own steps */
    double step;              /* the length of the latest one */
    bool is_restricted, is_limited; /* that one */
    /* for standard errors: of its loose parameters and those above, and */
    double *error_rows;
    size_t n_loose;
};
