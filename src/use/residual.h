/* Residuals, weights and losses of single measurements under the fitted objective, for export and the bootstrap of simulate.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef USE_RESIDUAL_H
#define USE_RESIDUAL_H

#include "base/measurements.h"
#include "fit/loss.h"

#include <stdbool.h>
#include <stdint.h>

struct residual_kind {
    struct fit_loss *loss; /* one for each observable of the model */
    bool likelihood;       /* as in struct fit_objective */
    double unit;           /* of Laplace's errors without any sigma (fit/unit.h); 0: none */
};

/* sigma: the measurement's, else the model's noise, else 1. residual: value - prediction, for log-normal errors of their
 * logarithms; weighted: divided by sigma. weight: the residual's weight relative to least squares (1 for normal errors). loss:
 * its part of the objective. A missing value has only sigma, a censored one only sigma and loss; the others are NaN. */
struct residual {
    double sigma, residual, weighted, weight, loss;
};
/* Of row i; noise: the model's, NaN where there is none. */
struct residual residual_of(const struct residual_kind *kind, const struct measurements *measured, size_t i, double prediction,
                            double noise);

#endif
