/* A block at one point, and in the search for a step where the objective has kinks (joint_kinks.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>

/* A block at one point. Parameters on the optimiser's scale: n own ones, then s shared ones. */
struct joint_side {
    double f;
    double *theta;            /* n */
    double *triangle, *rhs;   /* (n + s) x (n + s), n + s: R and Q'r; R'Q'r is the gradient */
    double *scale;            /* n: metric of the own trust region */
    double *rest, *rest_rhs;  /* s x s, s: the rows for the shared parameters, once the own ones follow them */
    double promise, promise_free; /* decrease predicted for own steps alone, within the radius and without */
    double gradient_norm, single; /* of the own parameters: projected; trust_model_promise_single */
    double noise;             /* what rounding and errors of integration could change f by */
    double mean_square, variance; /* fit_point_mean_square, fit_certificate_variance */
    double misfit, size;      /* fit_point_misfit and fit_point_scale, times the block's weight */
    bool is_restricted;       /* the own step, by radius or bounds */
    bool is_curved;           /* the triangle has the second derivatives that Gauss and Newton omit */
    double *at;               /* with kinks: predictions, their derivatives, noises, and theirs; otherwise NULL */
};

/* n own parameters of a block or a group in a step of joint_kinks.c: held and moving by a number, or stopped in the latest
 * step. */
struct joint_hold {
    bool *is_held, *is_stopped;
    double *by;
};

/* A block in the search for a step of joint_kinks.c. Steps from the best point: n own parameters, then s above. */
struct joint_inner {
    struct joint_side side;   /* the rows at the best inner step */
    double *step, *candidate; /* the best one and the next one, */
    double value, candidate_value; /* with the objective for linear predictions, */
    double distance, candidate_distance; /* and the squared length of the own part; */
    double *scale;            /* n + s: lengths of the columns in units of the measurements' standard deviations */
    struct joint_hold hold;
    bool is_stopped;          /* some own parameter, in the latest step */
    double *memory;           /* of these, and of `at` of both sides */
};

/* The search for a step of joint_kinks.c. */
struct joint_line {
    double damping, growth;   /* of steps; its growth after the next step that fails. Kept from step to step; */
    bool begins, takes;       /* blocks begin at the best point; their last candidate is the best inner step */
    bool holds;               /* parameters that were stopped are held from now on */
    bool newton;              /* the rows have Newton's curvature */
    int n_inner, n_cut, n_hold;
    double first;             /* the objective at the best point; */
    double value, least;      /* for linear predictions at the best inner step, and with the damping's share */
    double part;              /* of a step that is tried */
    double *shared, *scale, *kept; /* s: the best inner step's end; the metric of steps; that of the trust region */
};
