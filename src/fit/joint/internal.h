/* Shared by the files of one fit over many datasets. The parameters above a block are, in this
 * order, those of its group, those that all share, and those of columns of groups that are not
 * eliminated, which count as shared.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/search/triangle.h"
#include "fit/joint/members.h"
#include "fit/search/trust_far.h"
#include "fit/search/trust_probe.h"

/* The trust region of the own parameters of a block or a group, n of them, with s above; in
 * joint/region.c. */
struct joint_region {
    size_t n, s;
    struct fit_asker asker;  /* only the map */
    struct fit_point point;  /* theta and gradient */
    struct trust_model model;
    double *rows, *rhs;      /* scratch: joint_scratch; n + s */
};
/* The map of these parameters of a whole one, and room for the rest. False: out of memory. */
bool joint_region_init(struct joint_region *own, const struct fit_map *map, const uint32_t *order,
                       size_t n, size_t s, struct arena *arena);
/* Sets the model around `theta` for a step of the parameters above (NULL: none). */
void joint_region_set(struct joint_region *own, const struct joint_reduced *reduced,
                      const double *theta, const double *shared_step, struct trust_reach *reach);
/* What is left for the parameters above, from the triangle; least: joint_least. */
void joint_region_schur(struct joint_region *own, struct joint_reduced *reduced, double least,
                        struct trust_reach *reach);
/* The map of some parameters, all that a trust model uses. */
bool joint_take_map(struct fit_map *to, const struct fit_map *from, const uint32_t *order, size_t n,
                    struct arena *arena);

/* What a block needs in a pass. */
struct joint_work {
    struct joint *joint;
    struct joint_block *block;
    struct fit_asker *asker;
    struct arena *arena;
    struct fit_point at;
    size_t n, s;
    uint32_t *order;        /* n + s: indices in the asker's theta, own parameters first */
    uint32_t *column;       /* s: scratch of joint_columns */
    double *theta, *trial;  /* s: the parameters above */
    double *rows, *sorted, *rhs; /* of the residuals */
    struct fit_triangle parts;
    double *move;           /* n + s: the step from the best point */
    struct joint_region region;
};

enum { JOINT_POINTS = 5 };

/* What a block is evaluated with: made anew in each pass, or, where there is one block, kept from
 * pass to pass (joint/one.c). */
struct joint_session {
    struct joint_work work;
    struct fit_problem problem;
    struct fit_options options;
    /* of one that is kept: whether L-BFGS was chosen for its adjoint gradients; and the trajectory
     * has no derivative at a switch, so that another search begins without them */
    bool may_turn, turns;
    int64_t max_evaluations, max_total_steps; /* but for the last pass, which may need more */
    bool is_open;
    /* Of one that is kept: the best point, the latest one that was left, and the lowest one if that
     * is not the best, all at the same tolerances; if the search has landed there from a point at
     * looser tolerances, that one. The latest evaluation is work.at. Two of them may have the same
     * arrays. */
    struct fit_point best, missed, lowest, looser, points[JOINT_POINTS];
    bool has_missed, has_lowest, has_looser;
    /* with adjoint gradients: looser has the derivatives of all residuals at its theta, at
     * tolerances divided by this; 0: it has not */
    double measured;
    struct trust_probe probe;
    struct trust_far far;
    double ratio;             /* of the looser point's tolerance to that of the best one */
};
/* Room for the points that are kept; false: out of memory. In joint/work.c; the rest of
 * joint_session is in joint/session.c. */
bool joint_session_room(struct joint_session *session);
/* The latest evaluation is that of the best point from now on. */
void joint_session_take(struct joint_session *session, bool has_landed);
/* What was learnt of the way to the best point no longer holds. */
void joint_session_forget(struct joint_session *session);
/* Values so far cannot be compared with those that follow. */
void joint_session_drop(struct joint_session *session);
/* Before a trial is evaluated: whether its point is known. ASKED_FAILED: it is the best point. */
enum asked joint_session_look_up(struct joint *joint, struct fit_search_trial *trial);
/* A trial that could be evaluated is left. */
void joint_session_leave(struct joint_session *session);
/* As bytes: all that is known of the block and its evaluations. */
void joint_session_pass(struct cursor *cursor, struct joint_session *session);
/* The latest evaluation is that of the best point by another method. */
void joint_session_renew(struct joint_session *session);
/* Of the model's step, which may become another one, before it is tried; and of the trial, once it
 * has been judged: whether it is to be taken back. */
enum asked joint_session_probe(struct joint *joint);
bool joint_session_learn(struct joint *joint, double decrease);
/* Whether the step to the latest evaluation took a parameter too far. */
bool joint_session_is_far(struct joint *joint);

/* In joint/work.c. The triangle of the rows of an answer, own parameters first, seen from `step`
 * (in the model's order; NULL: none) before it. False: an entry is not finite. */
bool joint_block_reduce(struct joint_work *work, const struct fit_answer *answer,
                        enum fit_curvature curvature, const double *step, double *triangle,
                        double *rhs);
/* What the evaluation of work->at says of the block. ASKED_FAILED: its derivatives are of no use.
 * In joint/block.c. */
enum asked joint_block_take(struct joint_work *work, struct joint_reduced *reduced);
/* Evaluates, reduces and steps, as joint->pass says. In joint/block.c; the rest of
 * joint_block_run is in joint/setup.c. */
void joint_block_pass(struct joint_work *work, struct arena *arena);
/* After an evaluation that failed: lanes could not finish an integration, or there is no derivative
 * at a switch. From now on this block uses CVODES, or difference quotients, and so must its best
 * point, as values of two kinds are not compared. False: neither is so. */
bool joint_change_method(struct joint_work *work, enum asked asked, struct arena *arena);
/* CVODES takes over. It cannot evaluate the best point: the block returns to what it has left, for
 * good or not. False: it has left nothing. */
void joint_leave_lanes(struct joint_block *block);
bool joint_return_to_lanes(struct joint_block *block, bool stays);
/* Memory of a block that lasts; n, s, n_at and form are known. False: there is none. And
 * where its arrays are in it. */
bool joint_block_room(const struct joint *joint, struct joint_block *block);
void joint_block_place(const struct joint *joint, struct joint_block *block);
/* The trial becomes the best point, and is the former one. */
void joint_block_swap(struct joint_block *block);
/* Ends the fit because of this block. */
void joint_block_end(struct joint_block *block, enum outcome outcome, const char *reason);
/* Relative to the columns' lengths: directions with less influence than the derivatives'
 * accuracy, and than this, are not followed. Where a dataset's own parameters can replace the
 * shared ones, the reduced rows of the shared ones hold only rounding errors of this size; steps
 * along them would promise decreases for ever. */
#define JOINT_LEAST 1e-8
static inline double joint_least(const struct joint *joint)
{
    double rtol = fit_asker_rtol(&joint->asker, joint->asker.accuracy.tighter);
    return rtol > JOINT_LEAST ? rtol : JOINT_LEAST;
}

/* Zeroed memory of a block that lasts: from the arena that the fit was given, or its own. NULL: out
 * of memory. */
void *joint_calloc(const struct joint *joint, size_t count, size_t size);
void joint_free(const struct joint *joint, void *memory);

/* What joint_load left: the shared parameters' arrays, and a block's, once there is room for
 * them. */
void joint_restore_shared(struct joint *joint);
void joint_restore_block(const struct joint *joint, struct joint_block *block);
/* What joint_load left of a session, which has been opened. False: these are not its bytes. */
bool joint_restore_session(struct joint *joint);

static inline struct joint_reduced *joint_reduced_of(struct joint_block *block,
                                                     enum joint_which which)
{
    return which == JOINT_BEST    ? &block->best
           : which == JOINT_TRIAL ? &block->trial
                                  : &block->inner.reduced;
}

/* R'q for the rows of the own parameters or of all: the gradient by parameter k. */
static inline double joint_slope(const double *triangle, size_t all, const double *rhs, size_t k)
{
    double sum = 0;
    for (size_t i = 0; i <= k; i++)
        sum += triangle[i + k * all] * rhs[i];
    return sum;
}

/* Eliminates the own parameters `loose` (n_loose) from the rows triangle d + rhs of n + s
 * columns, by an orthogonal factorisation with `damping` scale^2 added to them; those which are
 * not loose do not move. The rows left for the shared ones `kept` (n_kept) go to schur (n_kept x
 * n_kept) and schur_rhs: their products are the Schur complement. The rows of the own ones go to
 * own (n_loose x (n_loose + n_kept), own parameters first) unless that is NULL. `scratch`:
 * joint_scratch numbers. */
void joint_eliminate(size_t n, size_t s, const double *triangle, const double *rhs,
                     const uint32_t *loose, size_t n_loose, const uint32_t *kept, size_t n_kept,
                     const double *scale, double damping, double *scratch, double *schur,
                     double *schur_rhs, double *own);
static inline size_t joint_scratch(size_t n, size_t s) { return (4 * n + 3 * s + 2) * (n + s + 1); }

/* n rows and columns of an item, and where its columns are in the sum; NULL: in the same order,
 * and these are all. */
struct joint_rows {
    const double *schur, *rhs;
    size_t n;
    const uint32_t *column;
};
typedef struct joint_rows joint_get(void *context, size_t i);
/* Sums the rows of n_item items in a tree whose shape depends only on their number: triangle
 * (width x width) and right-hand side of them all. False: out of memory. */
bool joint_sum(size_t n_item, size_t width, joint_get *get, void *context, double *triangle,
               double *rhs);
/* Sums the rows of the blocks of all processes that take part, as joint_sum does; `get` is asked
 * for this process's, from 0. */
bool joint_sum_all(const struct joint *joint, size_t width, joint_get *get, void *context,
                   double *triangle, double *rhs);
/* Adds rows of the least influence on the first n columns, so that what is below it has none.
 * False: out of memory. */
bool joint_add_least(size_t width, size_t n, const double *length, double least, double *triangle,
                     double *rhs);

/* Groups, in joint/group.c. False: out of memory. */
bool joint_groups_init(struct joint *joint, const struct fit_map *map, const uint32_t *order);
/* Reduces the rows of these sides of all blocks to the shared parameters' triangle and
 * right-hand side, by way of the groups, and sums the lengths of columns. */
bool joint_reduce(struct joint *joint, enum joint_which which, double *triangle, double *rhs);
/* What joint_reduce found of all groups' own parameters, added to promise, promise_free,
 * gradient_norm, single, is_restricted. */
void joint_groups_look(const struct joint *joint, struct joint_reduced *all);
/* The groups follow the shared step; and learn from the trial, which was taken or not. */
void joint_groups_step(struct joint *joint);
void joint_groups_adapt(struct joint *joint);
/* Standard errors. False: out of memory. */
bool joint_errors_compute(struct joint *joint);
/* In their place for an evaluation: the criteria of all blocks. False: out of memory. */
bool joint_errors_describe(struct joint *joint);
void joint_errors_fini(struct joint *joint);

/* What a block keeps of its last evaluation for the statistics. */
struct joint_arrays {
    struct fit_findings_arrays found;
    /* all x all, own parameters first: as triangle, of the expected information */
    double *information;
    double *left;             /* s x s: what eliminating the own parameters leaves of the excess */
};
/* In joint/findings.c. Of work->at, after the last evaluation. False: out of memory. */
bool joint_findings_take(struct joint_work *work);
/* Where the arrays are. Room for them, and their size. */
struct joint_arrays joint_findings_arrays(const struct joint_block *block);
bool joint_findings_room(const struct joint *joint, struct joint_block *block);
size_t joint_findings_size(const struct joint_block *block);
