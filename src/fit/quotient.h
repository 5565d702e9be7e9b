/* Derivatives of all predictions by difference quotients of evaluations without sensitivities (--gradient differences): a
 * compromise for models whose derivatives are wrong, incomplete, or more expensive than two evaluations per parameter.
 *
 * A prediction has an error of about the integrator's tolerance, which varies from point to point as the steps do. A
 * quotient over h has this error divided by h, and the error of the formula, of order h^2. Their sum is least at h ~
 * cbrt(error) (Gill, Murray & Wright 1981, section 8.6), and small enough for a Gauss-Newton step only with tighter
 * tolerances than usual. All evaluations of such a fit have these tolerances, also those without quotients, so that values
 * remain comparable.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_QUOTIENT_H
#define FIT_QUOTIENT_H

#include "fit/asker.h"

struct fit_quotient {
    double step;                      /* h for the current tolerances, for logarithms; on a linear scale
                                       * relative to the value */
    double *offset;                   /* 2 n_free: theta at the places minus theta of the point */
    double *theta, *p;                /* n_free; 2 n_free x n_model */
    double *prediction, *noise;       /* n_row x n_free each, at the second places; those of the first places
                                       * are stored where the derivatives will be */
    struct evaluation *evaluation;    /* 2 n_free: the first places, then the second */
    struct evaluation **asked;
};

/* The divisor of the integrator's tolerances, in addition to asker.tighter; and the resulting relative accuracy of the
 * derivatives. */
double fit_quotient_tighter(const struct fit_asker *asker);
double fit_quotient_accuracy(const struct fit_asker *asker);

/* After the asker's map and objective. False: out of memory. */
bool fit_quotient_init(struct fit_quotient *quotient, const struct fit_asker *asker, struct arena *arena);
/* Fills d_prediction (and d_noise) of a point that has predictions and chain. Asks for two evaluations for each free
 * parameter, all at once: at theta - h and theta + h or, if a bound is nearer than h, both on the side away from it. If one
 * of the two cannot be evaluated, only the other is used; if neither can, ASKED_FAILED. */
enum asked fit_quotient_fill(struct fit_quotient *quotient, struct fit_asker *asker, struct fit_point *point);

#endif
