/* Shared by the files of one fit over many datasets.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint.h"

/* What a block needs in a pass. */
struct joint_own { /* the trust model of its own parameters */
    struct fit_asker asker;  /* only the map */
    struct fit_point point;  /* theta and gradient */
    struct trust_model model;
    double *rows, *rhs;      /* scratch: joint_scratch; n + s */
};
struct joint_work {
    struct joint *joint;
    struct joint_block *block;
    struct fit_asker *asker;
    struct fit_point at;
    size_t n, s;
    uint32_t *order;        /* n + s: indices in the asker's theta, own parameters first */
    double *rows, *sorted, *rhs; /* of the residuals */
    double *move;           /* n + s: the step from the best point */
    struct joint_own own;
};

/* Evaluates, reduces and steps, as joint->pass says. In joint_block.c; the rest of joint_block_run is in joint_setup.c. */
void joint_block_pass(struct joint_work *work, struct arena *arena);
/* A block that joint_load restored evaluates its best point again. False: the fit must end. */
bool joint_block_again(struct joint_work *work);
/* Ends the fit because of this block. */
void joint_block_end(struct joint_block *block, enum outcome outcome, const char *reason);

/* Lists the blocks that take part. */
void joint_activate(struct joint *joint);
/* The accuracy of all evaluations from now on. */
void joint_set_tighter(struct joint *joint, double tighter);
/* What joint_load left: the shared parameters' arrays, and a block's, once there is room for them. */
void joint_restore_shared(struct joint *joint);
void joint_restore_block(const struct joint *joint, struct joint_block *block);

/* Eliminates the own parameters `loose` (n_loose) from the rows triangle d + rhs of n + s columns, by an orthogonal
 * factorisation with `damping` scale^2 added to them; those which are not loose do not move. The rows left for the shared ones
 * `kept` (n_kept) go to rest (n_kept x n_kept) and rest_rhs; the rows of the own ones to own (n_loose x (n_loose + n_kept), own
 * parameters first) unless that is NULL. `scratch`: joint_scratch numbers. */
void joint_eliminate(size_t n, size_t s, const double *triangle, const double *rhs, const uint32_t *loose, size_t n_loose,
                     const uint32_t *kept, size_t n_kept, const double *scale, double damping, double *scratch, double *rest,
                     double *rest_rhs, double *own);
static inline size_t joint_scratch(size_t n, size_t s) { return (4 * n + 3 * s + 2) * (n + s + 1); }

/* Block k of those that take part. */
static inline struct joint_block *joint_active(const struct joint *joint, size_t k) { return &joint->block[joint->active[k]]; }

/* Sums the blocks' rows of s columns in a tree whose shape depends only on their number: triangle and right-hand side of all
 * of them. get: those of a block. False: out of memory. */
typedef void joint_rows(const struct joint_block *block, const double **rest, const double **rest_rhs);
bool joint_sum(const struct joint *joint, size_t s, joint_rows *get, double *triangle, double *rhs);
/* The sum of a number of each block in the same tree. */
double joint_total(const struct joint *joint, double (*get)(const struct joint_block *block));

/* Standard errors. False: out of memory. */
bool joint_errors_compute(struct joint *joint);
