/* Makes one more evaluation to judge the optimum. Everything is measured in units of the
 * measurement errors: an integration error matters if it is not small compared with sigma,
 * however small it is compared with the prediction.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/search/certificate.h"

#include "fit/search/spectrum.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A change of the objective by this part of the variance changes -2 log likelihood by 0.002,
 * which affects no conclusion; a promised decrease of that part moves no parameter by more than
 * 0.02 of its standard error. */
static const double CHANGE_MOST = 1e-3, DECREASE_MOST = 2e-4;
/* If no sigma is known, the assumed error of measurements is at least this part of their spread
 * and of their values; otherwise data simulated without noise would need more than double
 * precision. */
static const double BEST_SPREAD = 1e-6, BEST_VALUE = 1e-8;
/* Errors follow the tolerances only roughly. */
static const double MARGIN = 3, FACTOR_MOST = 1000;
/* The smallest tolerance; a tenth of it is the limit of double precision. */
static const double LEAST_RTOL = 1e-12;
/* A predicted decrease of so many times what the integrator's errors can account for is not due
 * to them. */
static const double CLEAR = 100;
/* The steps of a method of order 5 increase like the tolerance to the power -0.2, those that
 * resolve something else less. Below this power they are limited by what both integrations may
 * have missed: their difference may be a tenth of their common error. */
static const double MORE_STEPS = 0.08, SHARED_ERROR = 10;
/* Derivatives that differ by more than this part, or the errors of difference quotients, are not
 * those of one function. */
static const double DISAGREE = 0.01;

/* Uses derivatives of the best point with residuals of the new evaluation. Errors in the
 * derivatives change the predicted decrease quadratically, so derivatives at the fit's
 * tolerances suffice, which saves most of the cost of the evaluation. */
static void take_derivatives(const struct fit_asker *asker, const struct fit_point *best,
                             struct fit_point *point)
{
    point->chain = best->chain;
    point->d_prediction = best->d_prediction;
    point->d_noise = best->d_noise;
    struct fit_answer answer = fit_point_answer(asker, point);
    fit_objective_gradient(&asker->objective, &answer, point->gradient);
}

double fit_certificate_distance(const struct fit_asker *asker, const double *prediction,
                                const struct fit_point *point)
{
    double sum = 0;
    for (size_t i = 0; i < asker->objective.n_row; i++) {
        double error = (prediction[i] - point->prediction[i]) * point->weight[i];
        sum += error * error;
    }
    return sqrt(sum);
}

double fit_certificate_variance(const struct fit_asker *asker, const struct fit_point *best)
{
    const struct fit_objective *objective = &asker->objective;
    double variance = fit_point_variance(asker, best);
    if (asker->is_sigma_known || objective->n_row == 0)
        return variance;
    struct fit_answer answer = fit_point_answer(asker, best);
    double spread =
        fit_objective_criteria(objective, &answer, asker->problem->model->abi.n_observable)
            .total_squares;
    double least = BEST_SPREAD * BEST_SPREAD * spread +
                   2 * BEST_VALUE * BEST_VALUE * fit_point_scale(asker, best);
    return fmax(variance, least / (double)objective->n_row);
}

void fit_certificate_judge(struct fit_certificate *certificate, const struct fit_options *options,
                           double misfit, double variance, double mean_square, bool is_sigma_known)
{
    double stop = options->f_tolerance * misfit, scatter = is_sigma_known ? variance : mean_square;
    /* if the fit describes its data badly, the objective changes by more */
    double change = fabs(certificate->change) / (CHANGE_MOST * fmax(variance, mean_square) + stop);
    double decrease = certificate->decrease / (DECREASE_MOST * variance + 2 * stop);
    certificate->is_confirmed = change <= 1 || misfit == 0;
    certificate->is_certified = (change <= 1 && decrease <= 1) || misfit == 0;
    certificate->is_below =
        certificate->is_certified && misfit > 0 &&
        (fabs(certificate->change) > CHANGE_MOST * fmax(scatter, mean_square) + stop ||
         certificate->decrease > DECREASE_MOST * scatter + 2 * stop);
    double needed = MARGIN * change;
    certificate->factor = FIT_TIGHTER;
    while (certificate->factor < needed && certificate->factor < FACTOR_MOST)
        certificate->factor *= FIT_TIGHTER;
    /* Errors of this length in the weighted residuals can account for about half their square. */
    if (certificate->decrease > CLEAR * fabs(certificate->change))
        certificate->factor = 1;
}

bool fit_certificate_may_tighten(const struct fit_certificate *certificate,
                                 const struct fit_asker *asker)
{
    double least = 0.9 * LEAST_RTOL * certificate->factor; /* powers of ten, rounded */
    return !certificate->is_certified && certificate->factor > 0 &&
           fit_asker_rtol(asker, asker->accuracy.tighter) > least;
}

void fit_certificate_conclude(const struct fit_certificate *certificate, struct fit_asker *asker,
                              double f, enum outcome *outcome, enum stop_test *stop)
{
    if (!certificate->is_certified && *stop == STOP_noise && *outcome == OUTCOME_converged &&
        certificate->decrease > 0) {
        *outcome = OUTCOME_stalled;
        *stop = STOP_none;
        snprintf(asker->reason, sizeof asker->reason,
                 "no further decrease was found, not even with tighter integrator "
                 "tolerances, although the gradient predicts %.3g of %.6g",
                 certificate->decrease, f);
    }
    if (asker->options->certify && outcome_is_success(*outcome) && !certificate->is_certified)
        asker->notes |= NOTE_not_certified;
    if (certificate->is_below)
        asker->notes |= NOTE_small_scatter;
}

/* Whether the derivatives of two evaluations of a point agree, as far as difference quotients
 * are accurate. */
static bool agrees(const struct fit_asker *asker, struct fit_accuracy accuracy,
                   const struct fit_point *quotients, const struct fit_point *slopes)
{
    size_t n_row = asker->objective.n_row;
    double error = fit_asker_accuracy(asker, accuracy) * fit_point_size(asker, quotients);
    for (size_t j = 0; j < asker->map.n_free; j++) {
        const double *by_quotients = quotients->d_prediction + j * n_row,
                     *by_slopes = slopes->d_prediction + j * n_row;
        double apart = 0, size = 0;
        for (size_t i = 0; i < n_row; i++) {
            double weight = quotients->weight[i] * quotients->chain[j];
            double a = weight * by_quotients[i], b = weight * by_slopes[i];
            apart += (a - b) * (a - b);
            size += a * a + b * b;
        }
        if (!(sqrt(apart) <=
              DISAGREE * sqrt(size) + error / fit_map_size(&asker->map, j, quotients->theta[j])))
            return false;
    }
    return true;
}

/* Evaluates the best point with tighter tolerances. Difference quotients are too coarse to show
 * a slope along a direction that the data determine badly, so a fit that uses them is judged by
 * sensitivities, unless there are none, or they are wrong and the reason why quotients were
 * asked for (*with_slopes false). */
static enum asked evaluate(struct fit_asker *asker, struct fit_accuracy accuracy,
                           const struct fit_point *best, struct fit_point *point, bool *with_slopes)
{
    enum asked asked = ASKED_FAILED;
    *with_slopes = false;
    accuracy.tighter *= FIT_TIGHTER;
    if (accuracy.gradient == GRADIENT_differences && !(asker->notes & NOTE_state_jump)) {
        struct fit_accuracy forward = accuracy;
        forward.gradient = GRADIENT_forward;
        forward.tighter *= FIT_QUOTIENT_TIGHTER; /* as all evaluations for quotients are */
        asked = fit_ask(asker, forward, point, true);
        if (asker->meets_jump)
            asked = ASKED_FAILED;
        asker->meets_jump = false;
        *with_slopes = asked == ASKED_OK && agrees(asker, accuracy, best, point);
    }
    if (asked == ASKED_FAILED)
        asked = fit_ask(asker, accuracy, point, false);
    return asked;
}

/* What the derivatives of one point predict for the values of another: to = value + sum of
 * derivative * step. */
static void follow(size_t n_row, size_t n, const double *value, const double *derivative,
                   const double *step, double *to)
{
    memcpy(to, value, n_row * sizeof *to);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n_row; i++)
            to[i] += derivative[i + j * n_row] * step[j];
}

/* The values, moved on by their distance from `to`. */
static void reflect(size_t n_row, const double *value, double *to)
{
    for (size_t i = 0; i < n_row; i++)
        to[i] = value[i] + (value[i] - to[i]);
}

/* Judges `best` by the predictions of `point`, which has the same parameters. */
static void judge(struct fit_asker *asker, struct fit_accuracy accuracy,
                  const struct fit_point *best, const struct fit_point *point, double change,
                  struct fit_spectrum *spectrum, struct fit_certificate *certificate)
{
    fit_spectrum_take(spectrum, asker, accuracy, point, false);
    certificate->change = change;
    certificate->decrease = fit_spectrum_decrease(spectrum, &asker->map);
    fit_certificate_judge(certificate, asker->options, fit_point_misfit(asker, best),
                          fit_certificate_variance(asker, best), fit_point_mean_square(asker, best),
                          asker->is_sigma_known);
}

static void keep_spectrum(struct fit_asker *asker, const struct fit_spectrum *spectrum,
                          const struct fit_point *best)
{
    asker->spectrum = spectrum;
    asker->spectrum_point = best;
}

static enum asked end_without_memory(struct fit_asker *asker)
{
    asker->outcome = OUTCOME_out_of_memory;
    return ASKED_END;
}

/* Whether an integration with tolerances divided by `ratio` took nearly the same steps as the
 * looser one, so that they may share an error. */
static bool is_alike(const struct fit_point *looser, const struct fit_point *tighter, double ratio)
{
    return !((double)tighter->n_step > pow(ratio, MORE_STEPS) * (double)looser->n_step);
}

/* Whether the optimum would be confirmed if its objective changed by so much. */
static bool confirms(const struct fit_asker *asker, const struct fit_point *best, double change)
{
    struct fit_certificate doubtful = {.change = change, .decrease = 0};
    fit_certificate_judge(&doubtful, asker->options, fit_point_misfit(asker, best),
                          fit_certificate_variance(asker, best), fit_point_mean_square(asker, best),
                          asker->is_sigma_known);
    return doubtful.is_confirmed;
}

enum asked fit_certify(struct fit_asker *asker, struct fit_accuracy accuracy,
                       const struct fit_point *best, double objective, struct arena *arena,
                       struct fit_certificate *certificate)
{
    struct fit_point point;
    struct fit_spectrum *spectrum = arena_calloc(arena, 1, sizeof *spectrum);
    asker->spectrum = NULL;
    *certificate = (struct fit_certificate){.change = NAN, .decrease = NAN};
    bool is_exact = asker->is_exact, with_slopes = false;
    if (!spectrum || !fit_spectrum_init(spectrum, asker, arena) ||
        !fit_point_init(&point, asker, accuracy.gradient, arena))
        return end_without_memory(asker);
    asker->prediction_error = 0;
    if (!is_exact) {
        for (size_t j = 0; j < asker->map.n_free; j++)
            point.theta[j] = best->theta[j];
        enum asked asked = evaluate(asker, accuracy, best, &point, &with_slopes);
        double ratio = FIT_TIGHTER;
        /* another engine's errors are its own */
        while (asked == ASKED_OK && accuracy.engine == asker->accuracy.engine &&
               is_alike(best, &point, ratio) && ratio < FACTOR_MOST &&
               !confirms(asker, best, SHARED_ERROR * (point.f - objective))) {
            accuracy.tighter *= FIT_TIGHTER;
            ratio *= FIT_TIGHTER;
            asked = evaluate(asker, accuracy, best, &point, &with_slopes);
        }
        asker->prediction_error = NAN;
        if (asked != ASKED_OK)
            return asked;
        asker->prediction_error = fit_certificate_distance(asker, point.prediction, best);
        if (!with_slopes)
            take_derivatives(asker, best, &point);
    }
    /* it says how accurate the derivatives are */
    accuracy.gradient = with_slopes ? GRADIENT_forward : accuracy.gradient;
    judge(asker, accuracy, best, is_exact ? best : &point, is_exact ? 0 : point.f - objective,
          spectrum, certificate);
    if (!with_slopes)
        keep_spectrum(asker, spectrum, best);
    if (is_exact)
        certificate->factor = 0;
    return ASKED_OK;
}

enum asked fit_certify_landing(struct fit_asker *asker, const struct fit_point *best,
                               const struct fit_point *looser, double ratio, struct arena *arena,
                               struct fit_certificate *certificate)
{
    struct fit_point point;
    size_t n = asker->map.n_free, n_row = asker->objective.n_row;
    double *step;
    asker->spectrum = NULL;
    *certificate = (struct fit_certificate){.change = NAN, .decrease = NAN};
    if (is_alike(looser, best, ratio))
        return ASKED_FAILED;
    struct fit_spectrum *spectrum = arena_calloc(arena, 1, sizeof *spectrum);
    if (!spectrum || !fit_spectrum_init(spectrum, asker, arena) ||
        !ARENA_DOUBLES(arena, {&step, n, 1}) ||
        !fit_point_init(&point, asker, GRADIENT_adjoint, arena))
        return end_without_memory(asker);
    for (size_t j = 0; j < n; j++)
        step[j] = (best->theta[j] - looser->theta[j]) * looser->chain[j];
    point.theta = best->theta;
    point.p = best->p;
    follow(n_row, n, looser->prediction, looser->d_prediction, step, point.prediction);
    reflect(n_row, best->prediction, point.prediction);
    if (point.noise) {
        follow(n_row, n, looser->noise, looser->d_noise, step, point.noise);
        reflect(n_row, best->noise, point.noise);
    }
    struct fit_answer answer = fit_point_answer(asker, &point);
    point.f = fit_objective_value(&asker->objective, &answer);
    if (!isfinite(point.f))
        return ASKED_FAILED;
    asker->prediction_error = fit_certificate_distance(asker, point.prediction, best);
    take_derivatives(asker, best, &point);
    judge(asker, asker->accuracy, best, &point, point.f - best->f, spectrum, certificate);
    if (!certificate->is_certified || certificate->is_below) {
        asker->prediction_error = NAN;
        return ASKED_FAILED;
    }
    keep_spectrum(asker, spectrum, best);
    return ASKED_OK;
}
