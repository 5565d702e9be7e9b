/* Passes one measurement at a time through the objective of the fit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/residual.h"

#include "fit/objective.h"

#include <math.h>

struct residual residual_of(const struct residual_kind *kind, const struct measurements *measured, size_t i, double prediction,
                            double noise)
{
    struct measurements row = measurements_from(measured, i);
    double value = *row.value, own = *row.sigma, weight, right, unit = kind->unit > 0 ? kind->unit : 1;
    const struct fit_loss *loss = &kind->loss[*row.observable];
    if (kind->unit > 0)
        own = unit;
    row.sigma = &own;
    const struct fit_objective objective = {.n_row = 1, .measured = row, .has_noise = !isnan(noise),
                                            .likelihood = kind->likelihood, .loss = kind->loss};
    const struct fit_answer answer = {.prediction = &prediction, .noise = &noise, .weight = &weight, .residual = &right};
    struct residual out = {.sigma = fit_objective_sigma(&objective, &answer, 0) / unit, .residual = NAN, .weighted = NAN,
                           .weight = NAN, .loss = NAN};
    if (isnan(value) || isnan(prediction))
        return out;
    out.loss = fit_objective_value(&objective, &answer) * unit;
    if (*row.censored)
        return out;
    out.residual = loss->is_log ? log(value / prediction) : value - prediction;
    out.weighted = out.residual / out.sigma;
    out.weight = fit_loss_at(loss, out.weighted / unit).weight / unit;
    return out;
}
