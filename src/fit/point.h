/* A point of the search: its evaluation, objective and gradient. Derivatives of predictions come from sensitivities, or from
 * difference quotients of evaluations without sensitivities (--gradient differences): a compromise for models whose derivatives
 * are wrong, incomplete, or more expensive than two evaluations per parameter.
 *
 * A prediction has an error of about the integrator's tolerance, which varies from point to point as the steps do. A quotient
 * over h has this error divided by h, and the error of the formula, of order h^2. Their sum is least at h ~ cbrt(error) (Gill,
 * Murray & Wright 1981, section 8.6), and small enough for a Gauss-Newton step only with tighter tolerances than usual. All
 * evaluations of such a fit use these tolerances, also those without quotients, so that values remain comparable.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/asker.h"

/* A point with all results of its evaluation. */
struct fit_point {
    double *theta, *gradient, *chain; /* n_free */
    double *p;                        /* n_parameter */
    double f;
    int64_t n_step;                   /* of the integrations of its predictions */
    double *prediction, *d_prediction, *noise, *d_noise; /* as in struct evaluation */
    double *weight, *residual;                           /* as in struct fit_answer */
};

/* Room for a point of this kind of gradient. False: out of memory. */
bool fit_point_init(struct fit_point *point, const struct fit_asker *asker, enum gradient_method gradient, struct arena *arena);
/* Evaluates point->theta. Without derivatives, gradient and d_* do not change, and the other results have different bits. */
enum asked fit_ask(struct fit_asker *asker, struct fit_accuracy accuracy, struct fit_point *point, bool with_derivatives);
/* Relative accuracy of the predictions' derivatives. */
double fit_asker_accuracy(const struct fit_asker *asker, struct fit_accuracy accuracy);
/* Mean square of the weighted residuals at a point; and the variance of the errors, the unit for decreases of the objective: 1
 * if every sigma is known or modelled, otherwise that mean square. */
double fit_point_mean_square(const struct fit_asker *asker, const struct fit_point *point);
double fit_point_variance(const struct fit_asker *asker, const struct fit_point *point);
/* The size of the objective at a point, for relative changes of it: its absolute value or, if that has an offset, half the sum
 * of squares of the weighted residuals, but at least what it is expected to be. Does not depend on units if sigma is known or
 * modelled; otherwise it is proportional to the square of the data's. */
double fit_point_misfit(const struct fit_asker *asker, const struct fit_point *point);
/* fit_objective_scale at a point. */
double fit_point_scale(const struct fit_asker *asker, const struct fit_point *point);
/* Norm of the weighted predictions: their relative error times this is their error in units of sigma. */
double fit_point_size(const struct fit_asker *asker, const struct fit_point *point);
struct fit_answer fit_point_answer(const struct fit_asker *asker, const struct fit_point *point);
/* Whether parameter j is on a bound with a slope that points outward. */
bool fit_point_is_held(const struct fit_map *map, const struct fit_point *point, size_t j);
/* Largest entry of the projected gradient, optimiser's scale. */
double fit_point_gradient_norm(const struct fit_map *map, const struct fit_point *point);

struct fit_quotient {
    double step;                      /* h for the current tolerances, for logarithms; on a linear scale relative to the
                                       * value */
    double *offset;                   /* 2 n_free: theta at the places minus theta of the point */
    double *theta, *p, *of_model;     /* n_free; by place: n_parameter; n_of_model */
    double *prediction, *noise;       /* n_row x n_free each, at the second places; those of the first places are stored where
                                       * the derivatives will be */
    struct evaluation *evaluation;    /* 2 n_free x n_experiment: the first places, then the second */
    struct evaluation **asked;        /* twice as many */
};

/* After the asker's map and objective. False: out of memory. */
bool fit_quotient_init(struct fit_quotient *quotient, const struct fit_asker *asker, struct arena *arena);
