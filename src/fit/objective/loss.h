/* Distributions of measurement errors as losses: what one residual adds to the objective, its
 * curvature, and how errors are drawn. Separate from the objective, which adds up rows:
 * everything here concerns a single number, r = (prediction - value) / s.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error_kind.h"

#include <stdint.h>

struct fit_loss {
    enum error_kind error;
    bool is_log;                 /* r is the difference of logarithms */
    bool has_kink;               /* at r = 0, where it is rounded; grows linearly */
    bool is_far_from_square;     /* steps minimise it itself (fit/search/kinks.h) */
    /* the constant of ERROR_TUNING_LIST; Laplace's: half-width of the rounded kink */
    double tuning;
    double log_constant;         /* log of the integral of exp(-rho), added by a likelihood */
    /* expected square of rho': Fisher's information of the prediction, for s = 1 */
    double location_information;
    double scale_information;    /* expected square of 1 - rho' r: the same for s */
};

/* tuning: N_ERROR constants, of which only that of `error` is used; NULL: the standard one. */
struct fit_loss fit_loss_of(enum error_kind error, const double *tuning);

/* The substitute for a loss's second derivative. ABOVE: rho'(r)/r; the resulting quadratic
 * touches the loss and is nowhere below it. KINKS: rho'' of Laplace's rounded kink; for Huber's
 * loss 1 up to |r| = k, as rho'', and then (k / |r|)^3, which leads over the jump of rho'' to 0;
 * ABOVE for other losses. EXPECTED: the expectation. */
enum fit_curvature { CURVATURE_ABOVE, CURVATURE_KINKS, CURVATURE_EXPECTED };

/* At one residual: rho, and weight = rho'(r) / r, finite and > 0, so that rho' = weight r.
 *   normal, log-normal  r^2 / 2
 *   Laplace             |r|, its kink rounded: sqrt(r^2 + k^2), where k = LOSS_KINK, or more on
 *                       the way to the optimum
 *   Huber               r^2 / 2 up to |r| = k, then k |r| - k^2 / 2 (Huber 1964)
 *   Student             (nu + 1) / 2 log(1 + r^2 / nu) */
struct loss_terms {
    double rho, weight;
};
struct loss_terms fit_loss_at(const struct fit_loss *loss, double r);

/* What the rounding of a kink adds to rho(r); a likelihood that is reported does without it. */
double fit_loss_rounding(const struct fit_loss *loss, double r);

/* rho''(r). Not for a loss with a kink, whose second derivative is concentrated there. */
double fit_loss_second(const struct fit_loss *loss, double r);

/* Half-width of the rounded kink. A hundredth of the scale makes no difference to the data; a
 * sharper kink would show the integrator's errors. */
#define LOSS_KINK 1e-2
/* The square root of the curvature, > 0, at a residual of this weight. */
double fit_loss_root(const struct fit_loss *loss, enum fit_curvature curvature, double weight);

/* The loss of a measurement that is only known to lie below a limit or within an interval: -log
 * of P = Phi(z) - Phi(z - width), where width > 0; INFINITY: Phi(z). hazard is its negative slope
 * if both ends move by the same. The ends also move away from a place `about`, each in proportion
 * to its distance, when the standard deviation changes: `spread` is the slope by that. curvature,
 * in (0, 1), mixed and spread_curvature are the second derivatives by both movements, a positive
 * semidefinite matrix because the normal density is log-concave (Prekopa 1973). A limit has no
 * spread: `about` is z. Free of cancellation for any finite z. */
struct censored_terms {
    double loss, hazard, curvature, about, spread, mixed, spread_curvature;
};
struct censored_terms fit_loss_censored(double z, double width);

/* The quantile at u in (0, 1) of the distribution with density exp(-rho(x)) / constant, for s =
 * 1. Laplace's kink is not rounded. Symmetric: u and 1 - u give opposite numbers, up to
 * rounding. */
double fit_loss_quantile(const struct fit_loss *loss, double u);
/* A deviate for (seed, stream, counter), as in base/random.h; for normal and log-normal errors
 * random_normal. */
double fit_loss_draw(const struct fit_loss *loss, uint64_t seed, uint64_t stream, uint64_t counter);
