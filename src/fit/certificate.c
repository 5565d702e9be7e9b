/* One evaluation more, and what it says about the optimum.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/certificate.h"

#include "fit/spectrum.h"

#include <math.h>

/* With a tenth of the tolerances the integrator's errors are a tenth, so that the difference is nine tenths of what they
 * were, for half as many steps again. */
static const double TIGHTER = 10;
/* The loosest of the stopping tests (the gradient's) lets pass what promises this many times f_tolerance. */
static const double LOOSEST_TEST = 1e3;
/* Residuals of so many tolerances, or of a hundred-thousandth of the data if that is less, are the integrator's errors and
 * nothing else. */
static const double ERROR_EXPECTED = 10, ERROR_MOST = 1e-5;
/* A change of -2 log likelihood by a tenth changes no conclusion. */
static const double CHANGE_MOST = 0.05;

static bool is_small(const struct fit_asker *asker, double f, const struct fit_certificate *certificate)
{
    const struct fit_objective *objective = &asker->objective;
    const struct fit_options *options = asker->options;
    double relative = fmin(ERROR_EXPECTED * options->accuracy, ERROR_MOST);
    double absolute = ERROR_EXPECTED * options->absolute_accuracy;
    double size = objective->likelihood ? fmax(1, fabs(f)) : fabs(f), scale = fit_objective_scale(objective);
    /* of a sigma that is not known, or wrong, what the residuals say */
    double variance = objective->likelihood ? 1 : 2 * fabs(f) / (double)objective->n_row;
    if (objective->sigma && !isnan(objective->sigma[0]))
        variance = fmax(variance, 1);
    double noise = absolute * absolute * fit_objective_unit(objective);
    if (scale > 0) /* data in tiny units are not zero */
        noise = relative * relative * scale + fmin(noise, ERROR_MOST * ERROR_MOST * scale);
    return certificate->decrease <= LOOSEST_TEST * options->f_tolerance * size + noise
           && fabs(certificate->change) <= CHANGE_MOST * variance + noise;
}

/* Derivatives of the best point and residuals of another: what they are off by changes what is promised by their errors
 * squared, so that those at the fit's own tolerances will do, and most of the evaluation's price is saved. */
static void take_derivatives(const struct fit_asker *asker, const struct fit_point *best, struct fit_point *point)
{
    point->chain = best->chain;
    point->d_prediction = best->d_prediction;
    point->d_noise = best->d_noise;
    struct fit_answer answer = fit_point_answer(asker, point);
    fit_objective_gradient(&asker->objective, &answer, point->gradient);
}

enum asked fit_certify(struct fit_asker *asker, const struct fit_point *best, struct arena *arena,
                       struct fit_certificate *certificate)
{
    struct fit_point point;
    struct fit_spectrum spectrum;
    *certificate = (struct fit_certificate){NAN, NAN, false};
    bool is_exact = asker->problem->model->abi.n_state == 0;
    if (!fit_spectrum_init(&spectrum, asker, arena) || !fit_point_init(&point, asker, arena)) {
        asker->outcome = OUTCOME_out_of_memory;
        return ASKED_END;
    }
    if (!is_exact) {
        for (size_t j = 0; j < asker->map.n_free; j++)
            point.theta[j] = best->theta[j];
        asker->tighter = TIGHTER;
        enum asked asked = fit_ask(asker, &point, false);
        asker->tighter = 0;
        if (asked != ASKED_OK)
            return asked;
        take_derivatives(asker, best, &point);
    }
    fit_spectrum_take(&spectrum, asker, is_exact ? best : &point, false);
    certificate->change = is_exact ? 0 : point.f - best->f;
    certificate->decrease = fit_spectrum_decrease(&spectrum);
    certificate->is_certified = is_small(asker, best->f, certificate);
    return ASKED_OK;
}
