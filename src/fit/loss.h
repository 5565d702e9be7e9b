/* Distributions of measurement errors as losses: what one residual adds to the objective, and how curved that is. Separate
 * from the objective, which puts rows together: everything here is about a single number r = (prediction - value) / s.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_LOSS_H
#define FIT_LOSS_H

#include "base/error_kind.h"

struct fit_loss {
    enum error_kind error;
    double tuning;               /* Huber's k; Student's degrees of freedom */
    double log_constant;         /* log of the integral of exp(-rho): what a likelihood adds */
    double location_information; /* expected square of rho': Fisher's information of the prediction, for s = 1 */
    double scale_information;    /* expected square of 1 - rho' r: the same of s */
};

#define LOSS_HUBER_K 1.345 /* 95 % efficient where errors are normal (Huber 1964) */
#define LOSS_STUDENT_NU 4.0
/* huber_k, student_nu > 0; only the one that belongs to `error` is looked at. */
struct fit_loss fit_loss_of(enum error_kind error, double huber_k, double student_nu);

/* What stands for a loss's second derivative: rho'(r)/r, which makes a quadratic that touches the loss and is nowhere below it;
 * rho'' of Laplace's rounded kink, elsewhere the first; its expectation. */
enum fit_curvature { CURVATURE_ABOVE, CURVATURE_KINKS, CURVATURE_EXPECTED };

/* At one residual: rho, and weight = rho'(r) / r, finite and > 0, so that rho' = weight r.
 *   normal, log-normal  r^2 / 2
 *   Laplace             |r|, its kink rounded: sqrt(r^2 + LOSS_KINK^2)
 *   Huber               r^2 / 2 up to |r| = k, then k |r| - k^2 / 2 (Huber 1964)
 *   Student             (nu + 1) / 2 log(1 + r^2 / nu) */
struct loss_terms {
    double rho, weight;
};
struct loss_terms fit_loss_at(const struct fit_loss *loss, double r);

/* rho''(r); not for Laplace's, whose is only where the kink is. */
double fit_loss_second(const struct fit_loss *loss, double r);

/* A kink within a hundredth of a scale is no kink to anybody who looks at data. A sharper one shows the integrator's
 * errors. */
#define LOSS_KINK 1e-2
struct loss_terms fit_loss_laplace(double r);
/* The root of the curvature, > 0, at a residual of this weight; expected: what CURVATURE_EXPECTED is. */
double fit_loss_root(enum fit_curvature curvature, bool is_laplace, double weight, double expected);

/* -log Phi(z), the loss of a measurement that is only known to lie beyond a limit; hazard = phi(z) / Phi(z), its negative
 * slope; curvature = hazard (z + hazard), in (0, 1). Without cancellation for any finite z. */
struct censored_terms {
    double loss, hazard, curvature;
};
struct censored_terms fit_loss_censored(double z);

#endif
