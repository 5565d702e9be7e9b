/* Profile likelihood: one parameter is moved away from the best fit, and all others are fitted again at each place, until the
 * objective has risen to the threshold of a confidence limit.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/method.h"
#include "fit/types.h"

struct fit_profile_request {
    size_t parameter;  /* the file's order */
    int side;          /* -1 below, 1 above */
    /* Of a review: the limit that was found, and where other sides of the fit's profiles ended: n_end times an objective (NaN:
     * nowhere) and all parameters. 0: it is no review. */
    double limit;
    size_t n_end;
    const double *end;
};

struct fit_profile {
    enum limit limit;
    double value;      /* the limit, natural scale; NaN if there is none */
    size_t n_point, max_point;
    double *point;     /* the caller's, max_point pairs: parameter (natural scale) and objective, in order of evaluation */
};

/* What is profiled: one fit of n_copy datasets, each with n_parameter numbers in the file's order, of which the profiled one is
 * shared by all. Everything is const and the caller's. */
struct fit_profile_subject {
    size_t n_parameter, n_copy, n_row;
    const double *start, *lower, *upper;  /* n_copy x n_parameter, natural scale; start: the best fit */
    const uint8_t *fixed;                 /* likewise, or NULL */
    const enum parameter_scale *scale;    /* n_parameter, as */
    const struct fit_prior *prior;        /* or NULL */
    bool has_open_unit;                   /* fit_unit_is_open */
    int64_t max_look;                     /* evaluations that tell everything of the best fit */
    /* Fits from `start` with `fixed` held, as arrays above. The record's arrays are those of the first dataset without a
     * covariance; `end` gets all parameters. An outcome of not_run ends the profile. */
    void (*fit)(void *context, const double *start, const uint8_t *fixed, double unit, const struct fit_options *options,
                double *end, struct fit_record *record);
    void *context;
};

/* The term of the profiled parameter's prior: the objective of fits that hold it omits it. */
double fit_profile_prior(const struct fit_profile_subject *subject, size_t parameter, double theta, double natural);
/* Whether bounds hold parameters that are not fixed: at_bound (n_parameter) gets -1 or 1 for those that are held in more than
 * half of the copies, else 0. */
bool fit_profile_holds(const struct fit_profile_subject *subject, const uint8_t *fixed, const double *parameter,
                       int8_t *at_bound);

/* The threshold is the objective at the best fit plus
 *   chi-square's quantile(1) / 2                  if every standard deviation is known (Wilks 1938),
 *   chi_square/(n - p) F's quantile(1, n - p) / 2  if none is (Bates & Watts 1988, eq. 6.4),
 *   n/2 log(1 + F's quantile(1, n - p) / (n - p))  if it is a parameter of the noise, which is not counted in p.
 * The limit is found to 1e-4 of the rise and then refined by interpolation. A parameter is followed to its bound, however far
 * that is, or without one over six decades on a logarithmic scale, and on a linear scale over a thousand times its value (or
 * ten half-widths of the interval from the covariance, if that is more). A review continues from the farthest end beyond the
 * limit that is not above the threshold: the limit is then further out; without such an end it is `none`. The budgets of
 * `options` apply to the whole side. `result` has the parameters of the first dataset at the last point, and in at_bound those
 * that a bound holds; its outcome is converged unless the limit is `failed` or `freedom`, with a reason. */
void fit_profile_follow(const struct fit_profile_subject *subject, const struct fit_options *options, struct arena *arena,
                        const struct fit_profile_request *request, struct fit_record *result, struct fit_profile *profile);
/* That of a fit of one dataset; problem->start is the best fit. Scratch comes from both arenas; `scratch` is reset
 * repeatedly. */
void fit_profile_run(const struct fit_problem *problem, const struct fit_options *options, const struct fit_host *host,
                     struct arena *arena, struct arena *scratch, const struct fit_profile_request *request,
                     struct fit_record *record, struct fit_profile *profile);
