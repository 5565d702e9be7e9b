/* One fit over many datasets: some parameters have one value for all, the others one for each
 * dataset. Sequential at the level of passes over the datasets; within a pass, blocks (datasets)
 * may run in any order and on any threads.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The matrix of second derivatives is an arrowhead: given the shared parameters, the objective
 * is a sum over blocks. Each block reduces its derivatives to a triangle R where it was
 * evaluated, its own parameters first. The rows of R below these, together with what damping and
 * bounds leave of the rows above, are the block's share of the shared parameters' least-squares
 * problem: the Schur complement, without forming products. These rows are reduced in a tree
 * whose shape depends only on the number of blocks, so that the numbers do not depend on the
 * order of arrival. A step needs one evaluation of each block. A block follows the shared step
 * by its own step, which has its own radius and is shortened alone. The shared step is judged on
 * the sum. Stopping tests and certificate are those of a single fit. */
#pragma once

#include "fit/joint/types.h"
#include "fit/joint/upper.h"
#include "fit/search/search.h"
#include "par/monitor.h"

/* What blocks do in a pass. */
enum joint_pass {
    JOINT_LOOK,   /* they look whether their data can be used */
    JOINT_BEGIN,  /* they evaluate the start */
    JOINT_PILOT,  /* some are fitted by themselves */
    JOINT_MIDDLE, /* they evaluate the medians of these fits */
    JOINT_GROW,   /* they fit their own parameters to the shared ones, and evaluate the end */
    JOINT_LAND,   /* they evaluate the end of the next step, at another accuracy */
    JOINT_STAY,   /* in its place: they evaluate the best point */
    /* they evaluate the best point at another accuracy, or without blocks that have left */
    JOINT_AGAIN,
    JOINT_ANEW,   /* at another accuracy, or by another engine: if one fails, nothing has changed */
    JOINT_RESUME, /* they evaluate the best point that another process has left, uncounted */
    JOINT_STEP,   /* they follow the shared trial by steps of their own, and evaluate the end */
    JOINT_LEAP,   /* at the start: they evaluate a trial of all parameters, from which there may
                   * be leaps */
    JOINT_OWN,    /* likewise: they evaluate the best point, and own parameters leap from there */
    JOINT_GIVEN,  /* they evaluate a trial of all parameters */
    JOINT_BACK,   /* the same, and own parameters are at their starts */
    /* with adjoint gradients: they evaluate the derivatives of all residuals at the best point,
     * as their trials' rows */
    JOINT_MEASURE,
    JOINT_ROWS, JOINT_VALUE, /* they search for an inner step (joint/line.c), without an
                              * evaluation */
    JOINT_ALONE,  /* likewise the only block, whose parameters are all above it */
    JOINT_CHECK,  /* they evaluate the best point for the certificate and the statistics */
    /* the same for the statistics alone: the fit ends because a budget is used up */
    JOINT_DESCRIBE,
    JOINT_UPPER,  /* they contribute to what the level above the sum minimises */
    JOINT_TELL,   /* the upper level's last pass: they also keep what their records need */
    JOINT_KEEP    /* they keep the best point for the record: the fit ends without a check */
};
/* Whether blocks with adjoint gradients need the derivatives of all residuals. */
static inline bool joint_needs_rows(enum joint_pass pass)
{
    return pass == JOINT_MEASURE || pass == JOINT_CHECK || pass == JOINT_DESCRIBE;
}
static inline bool joint_is_upper(enum joint_pass pass)
{
    return pass == JOINT_UPPER || pass == JOINT_TELL;
}

/* What evaluates the blocks. The search runs on the caller's coroutine. */
struct joint_host {
    /* joint_block_run for all blocks that joint_wants, in any order and on any threads. False:
     * the run stops, and so does the search. */
    bool (*run_pass)(void *context);
    /* Between two steps: joint_save may be called. */
    void (*keep)(void *context);
    /* fit_run, which is above this: pilots are fitted by it, and what a sample leaves out */
    void (*fit_alone)(const struct fit_problem *problem, const struct fit_options *options,
                      const struct fit_host *host, struct arena *arena,
                      struct fit_record *record);
    void *context;
};

/* The blocks that take part. */
struct joint_part {
    /* n_active blocks that were not left out; the first one has the shared parameters' priors */
    uint32_t *active;
    size_t n_active;
    /* blocks of all processes that take part; those of the processes before this one */
    size_t n_all, before;
    size_t *end;              /* ranks.n: where those of each process end */
    uint32_t *member, *first; /* blocks by group; the first one of each group of each column */
    /* of the first steps: one of so many blocks takes part; 0 after them */
    size_t stride;
};

/* The parameters above the blocks: those of groups, and shared ones. */
struct joint_shared {
    /* free shared parameters; parameters above a block: those of its group first */
    size_t s, s_block;
    size_t n_group;           /* parameters of a group */
    struct joint_group *group;
    struct joint_region *group_region; /* of all groups, one after another */
    uint32_t *column;         /* 2 s_block: scratch */
    /* of each column that counts as shared: parameters of a group, and where they begin */
    size_t *n_of, *base;
    struct joint_above *list; /* s_block */
    double *theta, *trial;    /* s: the best point and the trial */
    double f;
    double *length;           /* of all, as in joint/vector.h: of the columns of the model that
                               * is set, with own ones fixed */
};

/* What all blocks must agree on: set by the first one to arrive. */
struct joint_agreement {
    struct monitor lock;
    bool is_begun;
    bool is_common;           /* all processes have the shared parameters */
    bool is_short;            /* one process had no memory for them */
    double *start, *lower, *upper;
    uint8_t *fixed;
};

/* Fits of some blocks by themselves, in the file's order of parameters, on the optimiser's
 * scale. */
struct joint_pilots {
    double *found, *median;   /* their best fits; n_parameter */
};

/* How the fit has ended. */
struct joint_end {
    enum outcome outcome;     /* not_run: the search goes on */
    enum stop_test stop;
    bool has_best;            /* a point has been evaluated */
    bool is_cut;              /* it ended before a stopping test was met */
    bool is_stopped;          /* the host stopped it */
    /* the block that ended the fit, numbered over all processes; ranks.n_block: none */
    size_t culprit;
    struct joint_blame blame; /* what is known of the culprit */
};

/* What joint_load leaves until blocks are made: their bytes, and a place in these. */
struct joint_saved {
    const unsigned char *bytes;
    size_t arrays, descent;   /* 0: there is none */
    size_t session, n_session; /* and so many bytes */
    bool is_bad;              /* the session could not be opened with them */
};

struct joint_session;

struct joint {
    /* of the shared parameters; the first field: the method's functions get it */
    struct fit_search search;
    /* the caller's, const */
    const struct fit_options *options;
    const struct model *model;
    size_t n_block, n_parameter; /* n_block: of this process */
    struct joint_ranks ranks; /* of joint_join; or of one process */
    struct joint_levels levels;
    const enum parameter_scale *scale; /* n_parameter */
    bool leaves_out;          /* blocks that cannot be evaluated: set it after joint_init */
    bool has_pilots;          /* --warm-start pilot; likewise */
    uint64_t seed;            /* likewise */
    /* likewise; n_parameter, or NULL: with random parameters alone */
    const struct fit_prior *prior;
    const uint8_t *held;      /* likewise: the means and shared values that stay at their start */
    /* likewise: number of the start or replicate, for its records and its state */
    uint32_t task;
    struct fit_start start;   /* likewise: how many starts compete, and n_redrawn */
    const uint32_t *weight;   /* n_block, likewise: how often each block counts; NULL: once */
    /* likewise, in place of joint_join: each process evaluates a part of the blocks and keeps
     * all */
    struct joint_ranks copies;
    /* Set after joint_init: what messages call a block, of all processes' ("dataset 'a7'");
     * false: it is not known. NULL: its number. */
    bool (*name)(const void *context, size_t block, char *name, size_t n);
    const void *name_context;
    const struct joint_host *host;
    /* likewise, of a fit of one block: what it is evaluated with is kept; or NULL */
    struct joint_session *session;
    /* the search's */
    struct joint_block *block;
    struct joint_part part;
    struct joint_shared above;
    struct joint_agreement agreement;
    struct joint_pilots pilots;
    enum joint_pass pass;     /* what blocks do next */
    /* of the shared parameters: what the search needs (fit/search/search.h) */
    struct fit_asker asker;
    struct fit_point point;   /* above.theta, and the gradient once the own parameters follow */
    enum joint_form form;     /* of the sum */
    struct joint_line line;
    /* --optimizer lbfgs: a joint/descent.c in place of steps of the trust region */
    bool descends;
    struct descent *descent;  /* that one, while it is under way */
    struct joint_confirm confirm;
    struct joint_end end;
    struct joint_errors *errors; /* once the fit has ended with a best point and a check */
    struct joint_upper upper;
    struct arena *arena, own; /* of what lasts until joint_fini: the caller's, or its own */
    struct joint_saved saved;
};

/* What lasts is from `arena`; NULL: from one that joint_fini frees. False: out of memory;
 * joint_fini is legal. */
bool joint_init(struct joint *joint, const struct fit_options *options, const struct model *model,
                size_t n_block, size_t n_parameter, const struct joint_levels *levels,
                const enum parameter_scale *scale, struct arena *arena);
void joint_fini(struct joint *joint);
/* What the pass asks of block i; its problem is the same in all passes. Scratch from `arena`. If
 * the host cancelled, the fit must not go on. */
void joint_block_run(struct joint *joint, size_t i, const struct fit_problem *problem,
                     const struct fit_host *host, struct arena *arena);
/* After joint_init, and before joint_load: these processes share the fit. False: out of memory. */
bool joint_join(struct joint *joint, const struct joint_ranks *ranks);
/* The search between two steps, as bytes for joint_load; free() them. NULL: out of memory. Those
 * of several processes belong together, one after another. */
unsigned char *joint_save(struct joint *joint, size_t *n);
/* The number of blocks of all processes that take part in the first steps. */
size_t joint_sample_size(const struct joint *joint);
/* Whether block i has anything to do in the next pass. Any thread. */
bool joint_wants(const struct joint *joint, size_t i);
/* After joint_init: joint_search continues that search, to the same bits; each block evaluates
 * its best point once more, uncounted. False: these are not such bytes, and `joint` must be made
 * anew. Otherwise they must outlive `joint`. */
bool joint_load(struct joint *joint, const unsigned char *bytes, size_t n);
/* A block that cannot be run at all; has_crashed: the process died of it, or it hung. */
void joint_block_fail(struct joint *joint, size_t i, enum outcome outcome, bool has_crashed,
                      const char *reason);
/* Runs the search, after these. False: it was stopped, or this process must not go on, and there
 * is nothing to record. */
bool joint_search(struct joint *joint, const struct joint_host *host);

/* After the end: the record of block i, with all its arrays, cleared first. */
void joint_record(struct joint *joint, size_t i, struct fit_record *record);
