/* The certificate of a fit: evaluates its optimum again with tighter integrator tolerances.
 * Separate from the statistics, because it is about numerical accuracy and asks the host.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/search/search.h"

/* The divisor of its tolerances. The integrator's errors are then a tenth, so the difference is
 * nine tenths of the original errors, for 1.5 times the steps. */
#define FIT_TIGHTER 10.0

/* The error of an objective at another place is at most this many times its change from one
 * tolerance to the next. */
#define FIT_DOUBT 10.0

struct fit_certificate {
    /* objective with tighter tolerances minus objective; NaN: it could not be evaluated */
    double change;
    /* predicted for a full Gauss-Newton step there, along the directions that the data
     * determine; or NaN */
    double decrease;
    /* the change, and so the objective's error, is small against the variance of the measurement
     * errors */
    bool is_confirmed;
    bool is_certified; /* so is the decrease: the point is an optimum */
    /* it is, but would not be if the variance were the residuals' own: fit_certificate_variance */
    bool is_below;
    /* if not certified: the divisor of the tolerances that would be needed; 1: none, because the
     * integrator's errors cannot account for the decrease; 0: tighter ones would not help */
    double factor;
};

/* Certifies the best point of a search, which has the derivatives of all residuals, and its
 * reported objective (which with adjoint gradients comes from another evaluation). Where the
 * tighter tolerances hardly needed more steps, both integrations may share an error; if that
 * could matter, the tolerances are divided again, up to a thousand. Sets
 * asker->prediction_error. ASKED_END: the host cancelled, a budget is used up, or memory is
 * short (asker->outcome). A model without states is exact and needs no evaluation. The asker's
 * counters include the evaluation. */
enum asked fit_certify(struct fit_asker *asker, struct fit_accuracy accuracy,
                       const struct fit_point *best, double objective, struct arena *arena,
                       struct fit_certificate *certificate);

/* Certifies without an evaluation a point that the search reached from one at tolerances `ratio`
 * times looser. These were tightened in between: what they changed is
 * the distance of the predictions from those that the derivatives at the looser point predict.
 * It holds the looser errors, several times the errors of `best`, and the curvature of the step.
 * If `best` is certified although its errors are taken to be as large, it is certified.
 * ASKED_FAILED: it is not, or both integrations took nearly the same steps, so that they may
 * share an error; certificate is invalid. */
enum asked fit_certify_landing(struct fit_asker *asker, const struct fit_point *best,
                               const struct fit_point *looser, double ratio, struct arena *arena,
                               struct fit_certificate *certificate);

/* Fills is_confirmed, is_certified and factor of a certificate with change and decrease. misfit:
 * fit_point_misfit; variance: of the measurements' errors, fit_certificate_variance;
 * mean_square: of the weighted residuals. */
void fit_certificate_judge(struct fit_certificate *certificate, const struct fit_options *options,
                           double misfit, double variance, double mean_square, bool is_sigma_known);
/* Whether a search with tolerances divided by its factor may confirm the optimum. */
bool fit_certificate_may_tighten(const struct fit_certificate *certificate,
                                 const struct fit_asker *asker);
/* What the last certificate says of the end of a fit, at the objective f: notes; and a search
 * that has stopped in noise where a decrease is left has stalled. */
void fit_certificate_conclude(const struct fit_certificate *certificate, struct fit_asker *asker,
                              double f, enum outcome *outcome, enum stop_test *stop);
/* The norm of the distance of these predictions from those of a point, in its weights. */
double fit_certificate_distance(const struct fit_asker *asker, const double *prediction,
                                const struct fit_point *point);
/* As fit_point_variance, but if no sigma is known, not below a negligible part of the data's
 * spread and size. */
double fit_certificate_variance(const struct fit_asker *asker, const struct fit_point *best);
