/* Stopping tests of a fit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/search/stopping.h"

#include <float.h>
#include <math.h>

enum { FEW_REJECTED = 3, MAX_REJECTED = 30, MAX_FAILED = 60, MAX_NOISY = 20 };

/* Relative changes of the objective below this may be integrator noise. */
static const double NOISE_LIKELY = 1e-3;
/* If values change by less than this part of their disagreement with the slopes, the slopes are
 * wrong. */
static const double NOISE_MOVES = 0.1;
/* Slopes at the end of a step that predict another decrease of so many times the step's promise
 * contradict it. */
static const double BENT = 10;
/* Possible errors of the predictions, in units of the integrator's tolerance: local errors add
 * up, and the steps differ from point to point. */
static const double ERROR_GROWTH = 30;
/* If all data are zero, an objective this small relative to the start's is zero. */
static const double ZERO = 1e-20;
/* A predicted decrease below this does not justify several evaluations. */
static const double PROMISE_IDLE = 1e-6;
/* Residuals whose cosine with the derivatives by each parameter is below 0.01 count as
 * orthogonal to them, within the accuracy of the integrator's sensitivities. */
static const double PROMISE_FLAT = 1e-4;
/* A decrease of this part of the errors' variance moves no parameter by more than 0.01 of its
 * standard error. */
static const double WORTHLESS = 5e-5, NOTHING = 1e-5;
/* Convergence assumed no slower than this linear rate. */
static const double SLOWEST = 0.9;

void stopping_init(struct stopping *stopping, struct fit_asker *asker)
{
    *stopping = (struct stopping){.asker = asker,
                                  .noise = INFINITY, .least_promise = INFINITY,
                                  .last_promise = INFINITY, .slowness = 1};
    stopping->accuracy = fit_asker_rtol(asker, asker->accuracy.tighter);
}

/* The unit of relative changes of the objective at a point. */
static double stopping_misfit(const struct stopping *stopping, const struct fit_point *point)
{
    return stopping->beyond.is_there ? stopping->beyond.misfit
                                     : fit_point_misfit(stopping->asker, point);
}

static double scale_at(const struct stopping *stopping, const struct fit_point *point)
{
    return stopping->beyond.is_there ? stopping->beyond.scale
                                     : fit_point_scale(stopping->asker, point);
}

double stopping_tolerance(const struct stopping *stopping, const struct fit_point *point)
{
    double tolerance = stopping->asker->options->f_tolerance, f = stopping_misfit(stopping, point);
    if (stopping->asker->objective.has_offset)
        return tolerance * f;
    double scale = scale_at(stopping, point);
    /* The other terms are a hundredth of the rounding errors of a sum of squared differences:
     * predicted decreases come from slopes, which locate a minimum better than values do. */
    return tolerance * f + 1e-17 * sqrt(f) * sqrt(scale) + 1e-30 * scale + DBL_MIN;
}

static double variance_of(const struct stopping *stopping, const struct fit_point *point)
{
    return stopping->beyond.is_there ? stopping->beyond.variance
                                     : fit_point_variance(stopping->asker, point);
}

/* The largest remaining decrease that the gradient test accepts. */
static double stopping_least_promise(const struct stopping *stopping, const struct fit_point *best)
{
    double tolerance = stopping_tolerance(stopping, best);
    return fmin(1e3 * tolerance, fmax(tolerance, WORTHLESS * variance_of(stopping, best)));
}

bool stopping_is_orthogonal(const struct stopping *stopping, const struct fit_point *best,
                            double single, double promise)
{
    double cosine = stopping->asker->options->g_tolerance;
    return single <= cosine * cosine * stopping_misfit(stopping, best) &&
           promise <= stopping_least_promise(stopping, best);
}

/* Whether residuals are zero to rounding. Never true for a likelihood. */
static bool stopping_is_exact(const struct stopping *stopping, const struct fit_point *point)
{
    if (stopping->asker->objective.has_offset)
        return false;
    double scale = scale_at(stopping, point);
    return point->f <= (scale > 0 ? 1e-30 * scale : ZERO * stopping->asker->start_f);
}

bool stopping_is_lower(const struct stopping *stopping, double f, const struct fit_point *other)
{
    double by_errors = sqrt(stopping_misfit(stopping, other)) * sqrt(2 * scale_at(stopping, other));
    double rounding = 100 * DBL_EPSILON * (fabs(f) + by_errors);
    double nothing = NOTHING * variance_of(stopping, other);
    return other->f - f > stopping_tolerance(stopping, other) + rounding + nothing;
}

double stopping_noise_likely(const struct stopping *stopping, const struct fit_point *point)
{
    return NOISE_LIKELY * stopping_misfit(stopping, point);
}

double stopping_by_slopes(size_t n, const struct fit_point *best, const struct fit_point *trial)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum -= 0.5 * (best->gradient[j] + trial->gradient[j]) * (trial->theta[j] - best->theta[j]);
    return sum;
}

/* Noise moves values: if they hardly move, the difference is not noise. Nor is it if both say
 * that the trial is worse: then the model is wrong that far away, and the difference is what the
 * slopes at two points miss. */
static void note_noise(struct stopping *stopping, double by_value, double by_slopes)
{
    double apart = fabs(by_value - by_slopes);
    if (!(by_value < 0 && by_slopes < 0))
        stopping->noise = fmin(stopping->noise, fmin(apart, fabs(by_value) / NOISE_MOVES));
}

bool stopping_is_hidden(struct stopping *stopping, double promise, const struct fit_point *best,
                        double by_value, double by_slopes)
{
    double limit = stopping_noise_likely(stopping, best);
    note_noise(stopping, by_value, by_slopes);
    stopping->is_bent = stopping->is_bent || fabs(by_slopes - promise) > BENT * promise;
    bool is_small = promise <= limit && fabs(by_value) <= limit && fabs(by_slopes) <= limit;
    return is_small && stopping->n_noisy < MAX_NOISY && !(by_value > 0 && by_slopes > 0);
}

double stopping_by_gradient(struct stopping *stopping, double by_value, double by_slopes,
                            bool is_flatter)
{
    if (!is_flatter)
        return fmin(by_value, by_slopes);
    stopping->n_noisy += by_slopes > 0;
    return by_slopes;
}

double stopping_decrease(struct stopping *stopping, struct trust_model *model,
                         const struct fit_point *best, const struct fit_point *trial)
{
    double by_value = best->f - trial->f,
           by_slopes = stopping_by_slopes(model->n, best, trial);
    if (!stopping_is_hidden(stopping, model->promise, best, by_value, by_slopes))
        return by_value;
    bool is_flatter = !(trust_model_decrement(model, trial->gradient) >
                        0.5 * trust_model_decrement(model, best->gradient));
    return stopping_by_gradient(stopping, by_value, by_slopes, is_flatter);
}

void stopping_note(struct stopping *stopping, const struct trust_model *model,
                   const struct fit_point *best, double decrease)
{
    if (decrease > 0) {
        /* If the residuals stay large, Gauss-Newton steps converge linearly: the remaining
         * decreases form a geometric series. */
        double rate = model->is_restricted ? 0 : model->promise / stopping->last_promise;
        stopping->slowness = rate < SLOWEST ? 1 / (1 - rate) : 1 / (1 - SLOWEST);
        stopping->last_promise = model->promise;
        stopping->n_rejected = stopping->n_failed = 0;
        stopping->noise = stopping->least_promise = INFINITY;
        stopping->is_bent = false;
        stopping->history[stopping->n_step++ % STOPPING_HISTORY] = best->f;
    } else if (isfinite(decrease)) {
        stopping->n_rejected++;
        stopping->least_promise = fmin(stopping->least_promise, model->promise);
    } else {
        stopping->n_failed++;
    }
}

void stopping_give_up(struct stopping *stopping) { stopping->n_rejected = MAX_REJECTED; }

/* The decrease predicted without a trust region; equal to that of the step if nothing restricts
 * the step. */
static double promise_free(const struct stopping *stopping, struct trust_model *model,
                           const struct fit_point *best)
{
    return model->is_restricted ? trust_model_promise_free(model, best) + stopping->beyond.promise
                                : model->promise;
}

enum stop_test stopping_by_value(const struct stopping *stopping, const struct fit_point *best)
{
    return stopping_is_exact(stopping, best) ? STOP_exact : STOP_none;
}

/* A new test is a line here, and an entry of STOP_LIST in base/method.h. */
static enum stop_test find_met(struct stopping *stopping, struct trust_model *model,
                               const struct fit_point *best)
{
    double tolerance = stopping_tolerance(stopping, best);
    double single = fmax(trust_model_promise_single(model, best), stopping->beyond.single);
    if (fmax(fit_point_gradient_norm(&stopping->asker->map, best),
             stopping->beyond.gradient_norm) == 0)
        return STOP_gradient;
    enum stop_test by_value = stopping_by_value(stopping, best);
    if (by_value != STOP_none)
        return by_value;
    if (stopping->slowness * model->promise <= tolerance
        && stopping->slowness * promise_free(stopping, model, best) <= tolerance)
        return STOP_decrease;
    /* Along a curved valley the trust region is short, and its step promises little. Where steps
     * gain nothing, the longer ones may be those along a flat direction, whose slope is an
     * integration error. */
    double left =
        stopping->n_rejected < FEW_REJECTED ? promise_free(stopping, model, best) : model->promise;
    if (stopping_is_orthogonal(stopping, best, single, left))
        return STOP_gradient;
    int n = stopping->n_step;
    bool idle = n >= STOPPING_HISTORY && !model->is_restricted && stopping->n_rejected == 0
                && stopping->history[n % STOPPING_HISTORY] - best->f <= tolerance;
    return idle ? STOP_step : STOP_none;
}

/* The largest decrease from fitting the predictions' own errors: half the sum of their squares. */
static double noise_floor(const struct stopping *stopping, const struct fit_point *point)
{
    double error = ERROR_GROWTH * stopping->accuracy;
    return error * error * scale_at(stopping, point);
}

double stopping_noise_ceiling(const struct stopping *stopping, const struct fit_point *point)
{
    double error = ERROR_GROWTH * stopping->accuracy, f = stopping_misfit(stopping, point);
    return 2 * error * sqrt(f) * sqrt(scale_at(stopping, point)) + noise_floor(stopping, point);
}

bool stopping_is_lost(const struct stopping *stopping, const struct fit_point *best,
                      const struct fit_point *trial)
{
    double by_value = best->f - trial->f,
           by_slopes = stopping_by_slopes(stopping->asker->map.n_free, best, trial);
    double size = fmax(fabs(by_value), fabs(by_slopes));
    return size <= stopping_noise_ceiling(stopping, best) &&
           fabs(by_value - by_slopes) > 0.5 * size;
}

/* The disagreement of values and slopes, limited to what integration errors can cause; the rest
 * is curvature. */
static double believable_noise(const struct stopping *stopping, const struct fit_point *point)
{
    return isfinite(stopping->noise)
               ? fmin(stopping->noise, stopping_noise_ceiling(stopping, point))
               : 0;
}

bool stopping_is_noise(const struct stopping *stopping, double promise,
                       const struct fit_point *best)
{
    double noise = believable_noise(stopping, best);
    return promise <= noise_floor(stopping, best)
           || (noise <= stopping_noise_likely(stopping, best) && promise <= 10 * noise);
}

/* The last few steps gained nothing, each shorter than the one before: the point is the optimum
 * up to noise, the search is stuck, or it is too early to tell (OUTCOME_not_run). The error of
 * the model shrinks with the step; noise does not. */
static enum outcome judge_stall(struct stopping *stopping, struct trust_model *model,
                                const struct fit_point *best)
{
    struct fit_asker *asker = stopping->asker;
    double promise = promise_free(stopping, model, best), size = stopping_misfit(stopping, best);
    double noise = believable_noise(stopping, best);
    /* The smaller the remaining decrease, the fewer trials are needed as proof. In a curved valley
     * it is small, and a step along it meets the model's error: only shorter ones are a proof. */
    bool is_idle = promise <= PROMISE_IDLE * size && !stopping->is_bent;
    if (stopping->n_rejected < (is_idle ? 1 : FEW_REJECTED))
        return OUTCOME_not_run;
    bool small = noise <= NOISE_LIKELY * size
                 || (!asker->objective.has_offset && best->f <= 1e-8 * scale_at(stopping, best));
    /* A step hardly shorter than the first may fail because of the model's own error. */
    bool shortened = is_idle || stopping->least_promise <= 0.1 * promise;
    if (small && shortened && promise <= 10 * noise)
        return OUTCOME_converged;
    if (stopping->n_rejected >= FEW_REJECTED && promise <= noise_floor(stopping, best)) {
        asker->notes |= NOTE_noise_floor;
        return OUTCOME_converged;
    }
    if (stopping->n_rejected < MAX_REJECTED)
        return OUTCOME_not_run;
    if (promise <= 100 * stopping_tolerance(stopping, best))
        return OUTCOME_converged;
    /* The predicted decrease lies in a direction that the data hardly determine, where slopes
     * are integration errors: no single parameter promises much. */
    double single = trust_model_promise_single(model, best);
    if (single <= PROMISE_FLAT * size && single <= 0.25 * promise) {
        asker->notes |= NOTE_noise_floor;
        return OUTCOME_converged;
    }
    fit_asker_end(asker, OUTCOME_stalled,
                  "no further decrease was found although the gradient predicts %.3g of %.6g "
                  "(noise %.2g)",
                  promise, best->f, noise);
    return OUTCOME_stalled;
}

enum outcome stopping_judge(struct stopping *stopping, struct trust_model *model,
                            const struct fit_point *best)
{
    stopping->met = find_met(stopping, model, best);
    if (stopping->met != STOP_none)
        return OUTCOME_converged;
    if (stopping->n_failed > MAX_FAILED) {
        fit_asker_end(stopping->asker, OUTCOME_stalled,
                      "no step, however short, can be evaluated: %.120s", stopping->asker->reason);
        return OUTCOME_stalled;
    }
    enum outcome outcome =
        stopping->n_rejected > 0 ? judge_stall(stopping, model, best) : OUTCOME_not_run;
    if (outcome == OUTCOME_converged) /* what hides a decrease may be rounding */
        stopping->met = stopping->asker->is_exact ? STOP_step : STOP_noise;
    return outcome;
}
