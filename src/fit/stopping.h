/* When a fit is done: tests against the tolerances, and the integrator's noise told apart from failure. Separate from the
 * search, because this is about what evaluations are worth, not about where to look.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_STOPPING_H
#define FIT_STOPPING_H

#include "fit/trust_model.h"

enum { STOPPING_HISTORY = 5 };

struct stopping {
    struct fit_asker *asker;
    double objective_scale;      /* of the data: the objective were all predictions 0 */
    double accuracy;             /* of the predictions, relative: the integrator's */
    int n_rejected, n_failed;    /* steps in a row that found nothing; that could not be evaluated */
    int n_noisy;                 /* points taken for their gradient */
    double noise;                /* least disagreement of value and slopes in those steps, as far as values move */
    double least_promise;        /* of those steps: how short they have become */
    double last_promise;         /* of the latest step that gained */
    double slowness;             /* what is left to gain, over what the next step promises */
    double history[STOPPING_HISTORY]; /* objectives after the last steps that gained */
    int n_step;
    enum stop_test met;          /* once the outcome is converged */
};

/* For the tolerances that the asker has now. */
void stopping_init(struct stopping *stopping, struct fit_asker *asker);
/* The decrease from best to trial, by slopes where the values are lost in noise. Not positive: not to be taken. */
double stopping_decrease(struct stopping *stopping, struct trust_model *model, const struct fit_point *best,
                         const struct fit_point *trial);
/* After a step: what it gained (-infinity where it could not be evaluated), and the best point now. */
void stopping_note(struct stopping *stopping, const struct trust_model *model, const struct fit_point *best,
                   double decrease);
/* The next step would change no bit of the parameters: what is known now decides. */
void stopping_give_up(struct stopping *stopping);
/* OUTCOME_not_run: go on. Sets notes, and asker->reason where it is no success. The model is current and has its step. */
enum outcome stopping_judge(struct stopping *stopping, struct trust_model *model, const struct fit_point *best);
/* The decrease from best to trial as the gradients at both ends tell it (trapezoidal rule). */
double stopping_by_slopes(const struct fit_asker *asker, const struct fit_point *best, const struct fit_point *trial);
/* What f_tolerance means for an objective of f. */
double stopping_tolerance(const struct stopping *stopping, double f);
/* Whether residuals are zero as far as rounding goes. Never true of a likelihood. */
bool stopping_is_exact(const struct stopping *stopping, double f);
/* Whether a point's objective is below another's by more than the tolerance, rounding, and what is nothing beside the errors'
 * variance: below that, slopes know the place of a minimum better than values do. */
bool stopping_is_lower(const struct stopping *stopping, const struct fit_point *point, const struct fit_point *other);
/* What the gradient's test lets be left to gain. */
double stopping_least_promise(const struct stopping *stopping, const struct fit_point *best);
/* Whether so small a promise cannot be told from the integrator's errors, as far as stopping->noise knows them. */
bool stopping_is_noise(const struct stopping *stopping, double promise, double f);
/* What the integrator's errors can change the objective by: residuals times errors, and the errors' squares. */
double stopping_noise_ceiling(const struct stopping *stopping, double f);

#endif
