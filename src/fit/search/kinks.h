/* Steps for objectives that are far from a sum of squares, of a fit of one dataset and of many.
 * They minimise the objective itself with linear predictions instead of a quadratic, because a sum
 * of absolute values is least where some of them are zero, and a quadratic does not show which.
 * Huber's loss is such a sum for large residuals.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A step is found by inner steps, which evaluate nothing: quadratic ones, first with reweighted
 * squares, which always lead downhill but creep along kinks; then Newton's with the rounded
 * kinks, which find the right kinks at once. What an inner step overshoots, halving it corrects. */
#pragma once

#include "fit/search/trust_model.h"

/* The objective for linear predictions and noise; scratch. */
struct kinks_linear {
    double *theta, *step, *p;                       /* n, n, n_parameter; step is the caller's */
    double *prediction, *noise, *weight, *residual; /* n_row */
};

/* False: out of memory. */
bool kinks_linear_init(struct kinks_linear *linear, const struct fit_asker *asker,
                       struct arena *arena);
/* At best + step, and the answer there; infinite if predictions or noise are invalid. */
double kinks_linear_value(struct kinks_linear *linear, const struct fit_asker *asker,
                          const struct fit_point *best, const double *step,
                          struct fit_answer *answer);

struct kinks_search;

/* What an inner step is; `value` is the objective at its end. All but ASKED_OK ends the search. */
struct kinks_method {
    /* Takes the rows at the best inner step, with Newton's curvature if search->newton; seen from
     * the best point their minimum is the next inner step. */
    enum asked (*step)(struct kinks_search *search, double *value);
    /* The step does not decrease the objective: tries one that is more likely to, such as half of
     * the way from the best inner step. */
    enum asked (*shorten)(struct kinks_search *search, double *value);
    /* The end of the step becomes the best inner step, or it is dropped. */
    void (*judged)(struct kinks_search *search, bool is_better);
};

struct kinks_search {
    const struct kinks_method *method;
    void *context;
    double first, least; /* the objective without a step, and after the best inner one */
    bool newton;
};

/* From search->first to the least value. */
enum asked kinks_run(struct kinks_search *search);

/* In place of trust_model_step: for the model of all parameters of one dataset. */
struct kinks {
    struct kinks_search search;
    struct kinks_linear linear;
    struct trust_model *model;
    const struct fit_asker *asker;
    const struct fit_point *best;
    double *rows, *rhs;             /* of the residuals; scratch */
    double *triangle, *triangle_rhs; /* the model's */
    bool is_restricted;             /* the best inner step, linear.step */
};

/* False: out of memory. */
bool kinks_init(struct kinks *kinks, struct trust_model *model, const struct fit_asker *asker,
                struct arena *arena);
/* With the same answers as trust_model_step: minimises the objective within bounds and radius for
 * linear predictions and noise. The model must be current, and remains that of `best`. */
void kinks_step(struct kinks *kinks, const struct fit_point *best);
