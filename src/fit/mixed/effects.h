/* A dataset of a fit with random parameters as a function of its random effects: its parameters,
 * the objective and its derivatives there, and their mode.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "fit/joint/internal.h"
#include "fit/mixed/mixed.h"

/* The objective at some random effects: without and with their density. */
struct effects_place {
    double *b;                   /* r */
    double f, with_density, rounding; /* rounding: fit_objective_rounding */
    double *slope, *information; /* s, s x s: by the parameters above the block */
    struct evaluation_course *course; /* of each experiment's evaluation before the one there */
};

/* What a pass works with. With parameters that vary between experiments, `s` counts what each
 * experiment adds to each of them among the parameters above the block, and there is an estimate
 * for each entry of this dataset's factor; the shared ones are summed at the end. */
struct effects {
    struct joint_work *work;
    struct arena *arena;
    const struct mixed *mixed;
    struct mixed_block *block;
    size_t r, s, m;     /* random effects; parameters above the block; estimates */
    const double *at;   /* the estimates of the fit */
    uint32_t *random;   /* r: the parameters that they move */
    /* The n_variable random effects that the rule integrates over; the others do nothing. The
     * first n_shaped of them are those that the dataset's shape and level are chosen for. */
    uint32_t *variable;
    size_t n_variable, n_shaped;
    uint32_t *row, *column, *estimate; /* m - s: of the factor's entries, and the fit's estimates */
    double *factor;     /* r x r: of the population */
    double *gradient, *matrix; /* m, and a packed lower triangle: by these estimates */
    double *by_experiment; /* as in struct fit_point, or NULL */
    struct effects_place here, there;
    double *hill;        /* block->hill, as it is at these estimates */
    double *hessian, *cholesky; /* r x r: by the random effects */
    double *step, *scratch;     /* r, r x s */
    bool is_on_kink;     /* the latest climb has ended where the slopes do not vanish */
    enum gradient_method sided; /* the derivatives before that, which are of one side */
    bool has_left_sides; /* the pass goes on with difference quotients, as a mode is on a kink */
    uint32_t *index;    /* 0 .. r-1 */
    double *shift;      /* s: from the parameters above at their place */
};

/* The number of random effects of a dataset. */
size_t effects_count(const struct joint_work *work);
/* With scratch from the arena. False: out of memory. */
bool effects_make(struct effects *local, struct joint_work *work, struct arena *arena);
/* The parameters at these random effects, for the model. */
void effects_set(struct effects *local, const double *b);
/* Evaluates the objective at place->b. */
enum asked effects_evaluate(struct effects *local, struct effects_place *place);
/* L'x for the random parameters' entries of n columns x (s each): derivatives by the random
 * effects, r x n. */
void effects_by(const struct effects *local, const double *x, size_t n, double *out);
/* The random parameter that estimate j of the dataset moves with the random effects b held, and by
 * how much; NULL: it is a shared one. */
const uint32_t *effects_moved_by(const struct effects *local, size_t j, const double *b,
                                 double *by);
/* Sets local->hessian to I + L'AL for the information A (s x s), and its Cholesky factor. False:
 * it has none. */
bool effects_hessian(struct effects *local, const double *information);
/* What the step to the mode from a place promises by the Hessian that is factored, half of whose
 * solution is written to `step` (r): matrix_solve_upper has the rest. */
double effects_promise(const struct effects *local, const struct effects_place *place,
                       double *step);
/* Finds the mode from local->here.b, and evaluates it: local->here. Steps that promise little are
 * judged by the slopes, which the integrator's noise hides less than values. */
enum asked effects_find_mode(struct effects *local);
/* Steps from local->here.b to the mode that they lead to, which is evaluated: local->here. They
 * begin at the mean if that place cannot be evaluated. */
enum asked effects_climb(struct effects *local);
/* How much data must say of a random effect, relative to what its density says, for its parameter
 * to be known better than the effect itself. */
double effects_known(const struct effects *local);
/* Whether two places (r) are different modes. */
bool effects_are_apart(size_t r, const double *b, const double *other);
/* Half the logarithm of the determinant of the matrix (r x r) with this Cholesky factor. */
double effects_half_log_det(size_t r, const double *factor);
/* Ends the dataset for lack of memory. */
enum asked effects_end_short(const struct effects *local);
