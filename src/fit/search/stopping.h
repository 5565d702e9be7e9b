/* Stopping tests: compares progress with the tolerances, and distinguishes the integrator's
 * noise from failure. Separate from the search, because it concerns the accuracy of evaluations,
 * not the choice of points.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/search/trust_model.h"

enum { STOPPING_HISTORY = 5 };

/* What a fit over many datasets adds to its shared parameters, which are those of the model and
 * the point. With it, the tests need nothing of the data that the asker may have. */
struct stopping_beyond {
    bool is_there;
    /* the decrease predicted without trust regions for the other parameters alone */
    double promise;
    double single;        /* the largest one for any of these alone */
    double gradient_norm; /* of these, projected */
    double variance;      /* of all measurements' errors: fit_point_variance */
    double misfit, scale; /* of all datasets: fit_point_misfit, fit_point_scale */
};

struct stopping {
    struct stopping_beyond beyond;
    struct fit_asker *asker;
    double accuracy;             /* of the predictions, relative: the integrator's */
    /* consecutive steps without gain; consecutive steps that could not be evaluated */
    int n_rejected, n_failed;
    int n_noisy;                 /* points accepted for their gradient */
    /* least disagreement of values and slopes in those steps, at most the change of value */
    double noise;
    double least_promise;        /* least decrease predicted for those steps */
    /* the slopes at the end of one of them contradict the prediction: what values and slopes
     * disagree by may be the model's error, and no noise */
    bool is_bent;
    double last_promise;         /* of the latest step with a gain */
    /* remaining decrease over the decrease predicted for the next step */
    double slowness;
    double history[STOPPING_HISTORY]; /* objectives after the last steps with a gain */
    int n_step;
    enum stop_test met;          /* once the outcome is converged */
};

/* Initialises it for the current tolerances of the asker. */
void stopping_init(struct stopping *stopping, struct fit_asker *asker);
/* The decrease from best to trial, from slopes if the values are lost in noise; not for objectives
 * with kinks, between whose points slopes say little. If it is not positive, reject the trial. */
double stopping_decrease(struct stopping *stopping, struct trust_model *model,
                         const struct fit_point *best, const struct fit_point *trial);
/* Its parts, for sums. Close to the optimum the integrator's noise hides the decrease of the
 * objective, but hardly that of the gradient (Hager & Zhang 2005 base their approximate Wolfe
 * conditions on this). So small changes are judged by the slopes. The noise is the difference
 * between the two. Whether that is so for a step that promised so much: */
bool stopping_is_hidden(struct stopping *stopping, double promise, const struct fit_point *best,
                        double by_value, double by_slopes);
/* then the decrease; is_flatter: the trial's gradient promises at most half of what the best
 * point's does. */
double stopping_by_gradient(struct stopping *stopping, double by_value, double by_slopes,
                            bool is_flatter);
/* Records a step: its gain (-infinity if it could not be evaluated), and the current best point. */
void stopping_note(struct stopping *stopping, const struct trust_model *model,
                   const struct fit_point *best, double decrease);
/* The next step would change no bit of the parameters: decides with the present knowledge. */
void stopping_give_up(struct stopping *stopping);
/* The tests that need nothing but the objective at the best point, which all searches have.
 * STOP_none: none is met. */
enum stop_test stopping_by_value(const struct stopping *stopping, const struct fit_point *best);
/* OUTCOME_not_run: continue. Sets notes, and asker->reason if the fit failed. The model must be
 * current and have its step. */
enum outcome stopping_judge(struct stopping *stopping, struct trust_model *model,
                            const struct fit_point *best);
/* The decrease from best to trial, from the gradients at both ends (trapezoidal rule). */
double stopping_by_slopes(size_t n, const struct fit_point *best, const struct fit_point *trial);
/* Whether the change of the objective from best to trial is lost in the integrator's errors: it
 * is no larger than they can be, and values and slopes contradict each other. */
bool stopping_is_lost(const struct stopping *stopping, const struct fit_point *best,
                      const struct fit_point *trial);
/* The absolute tolerance of the objective at a point. */
double stopping_tolerance(const struct stopping *stopping, const struct fit_point *point);
/* Changes of the objective below this may be integrator noise. */
double stopping_noise_likely(const struct stopping *stopping, const struct fit_point *point);
/* The gradient test: the residuals are orthogonal to the derivatives by each parameter, the
 * largest decrease for any of which is `single`, and all together promise little. For a sum of
 * squares, the cosine of the angle is then |g| / (|c| |r|), with the entry g of the gradient,
 * the column c of the derivatives and the residuals r: it has no units (MINPACK, More, Garbow &
 * Hillstrom 1980). */
bool stopping_is_orthogonal(const struct stopping *stopping, const struct fit_point *best,
                            double single, double promise);
/* Whether an objective is below that of a point by more than the tolerance, rounding, and a
 * negligible part of the errors' variance. For smaller differences, slopes locate a minimum
 * better than values. */
bool stopping_is_lower(const struct stopping *stopping, double f,
                       const struct fit_point *other);
/* Whether a predicted decrease cannot be distinguished from the integrator's errors, as
 * estimated by stopping->noise. */
bool stopping_is_noise(const struct stopping *stopping, double promise,
                       const struct fit_point *best);
/* The largest change of the objective due to the integrator's errors: residuals times errors,
 * and the errors' squares. */
double stopping_noise_ceiling(const struct stopping *stopping, const struct fit_point *point);
