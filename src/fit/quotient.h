/* Derivatives of all predictions by difference quotients of evaluations without sensitivities (--gradient differences): the
 * compromise for models whose own derivatives are wrong, missing in effect, or more expensive than two evaluations a parameter.
 *
 * A prediction has an error of its own, of about the integrator's tolerance, which differs from place to place as the steps
 * do, so a quotient over h has one of that over h, besides that of the formula, of order h^2. Both are least together at
 * h ~ cbrt(error) (Gill, Murray & Wright 1981, section 8.6), and small enough for a Gauss-Newton step only if the integrator
 * is tighter than usual; all evaluations of such a fit are, those without quotients too, so that none are mixed.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_QUOTIENT_H
#define FIT_QUOTIENT_H

#include "fit/asker.h"

struct fit_quotient {
    double step;                      /* h, by the tolerances of the moment, of logarithms; on a linear scale
                                       * relative to the value */
    double *offset;                   /* 2 n_free: theta at the places less that of the point */
    double *theta, *p;                /* n_free; 2 n_free x n_model */
    double *prediction, *noise;       /* n_row x n_free each, at the second places; the first ones' lie where the
                                       * derivatives will be */
    struct evaluation *evaluation;    /* 2 n_free: the first places, then the second */
    struct evaluation **asked;
};

/* What the integrator's tolerances are divided by (besides asker.tighter), and the relative accuracy that the derivatives then
 * have. */
double fit_quotient_tighter(const struct fit_asker *asker);
double fit_quotient_accuracy(const struct fit_asker *asker);

/* After the asker's map and objective. False: out of memory. */
bool fit_quotient_init(struct fit_quotient *quotient, const struct fit_asker *asker, struct arena *arena);
/* Fills d_prediction (and d_noise) of a point whose predictions and chain are there, asking for two more evaluations for each
 * free parameter, all at once: at theta - h and theta + h, or, where a bound is nearer than h, both on the other side of it.
 * Where one of the two cannot be evaluated the other one has to do; where none can, ASKED_FAILED. */
enum asked fit_quotient_fill(struct fit_quotient *quotient, struct fit_asker *asker, struct fit_point *point);

#endif
