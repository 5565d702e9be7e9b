/* Errors of simulated measurements: those of the options or, without them, of the model.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/simulate.h"

#include "fit/objective/loss.h"

/* Relative noise of small predictions does not fall below this part of the observable's largest
 * prediction. */
static const double least_share = 1e-3;

static bool is_log_normal(const struct simulate_errors *errors, size_t i)
{
    return errors->loss[errors->grid->observable[i]].is_log;
}

/* The standard deviation of each row; NaN without noise. */
static void choose_sigma(struct simulate_errors *errors, const double *prediction)
{
    const struct simulate_options *options = errors->options;
    const struct simulate_grid *grid = errors->grid;
    for (size_t j = 0; j < errors->n_observable; j++)
        errors->largest[j] = 0;
    for (size_t i = 0; i < grid->n; i++)
        errors->largest[grid->observable[i]] =
            fmax(errors->largest[grid->observable[i]], fabs(prediction[i]));
    for (size_t i = 0; i < grid->n; i++) {
        double relative = options->noise * fmax(fabs(prediction[i]),
                                                least_share * errors->largest[grid->observable[i]]);
        double sigma = hypot(relative, options->noise_absolute);
        if (is_log_normal(errors, i)) /* the same part, of the logarithm */
            sigma = hypot(options->noise, options->noise_absolute / prediction[i]);
        errors->sigma[i] = sigma > 0 ? sigma : errors->fallback;
    }
}

void simulate_errors_add(struct simulate_errors *errors, const double *prediction,
                         const double *noise, uint64_t stream, double *value)
{
    const struct simulate_options *options = errors->options;
    bool model_noise =
        errors->has_model_noise && !(options->noise > 0) && !(options->noise_absolute > 0);
    choose_sigma(errors, prediction);
    for (size_t i = 0; i < errors->grid->n; i++) {
        double sigma = model_noise ? noise[i] : errors->sigma[i];
        const struct fit_loss *loss = &errors->loss[errors->grid->observable[i]];
        double z = fit_loss_draw(loss, (uint64_t)options->seed, stream, i);
        /* NaN, missing, if the model cannot compute it */
        double error = isnan(sigma) && !model_noise ? 0 : sigma * z;
        if (!is_log_normal(errors, i))
            value[i] = prediction[i] + error;
        else /* a value that is not above 0 has no logarithm */
            value[i] = prediction[i] > 0 ? prediction[i] * exp(error) : (double)NAN;
    }
}
