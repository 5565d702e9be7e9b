/* What the objective that was fitted says of single measurements: what export and the bootstrap of simulate share.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef USE_RESIDUAL_H
#define USE_RESIDUAL_H

#include "fit/loss.h"

#include <stdbool.h>
#include <stdint.h>

struct residual_kind {
    struct fit_loss *loss; /* one for each observable of the model */
    bool likelihood;       /* as in struct fit_objective */
    double unit;           /* of Laplace's errors without any sigma (fit/unit.h); 0: none */
};

/* sigma: the measurement's, else the model's noise, else 1. residual: value - prediction, for log-normal errors of their
 * logarithms; weighted: divided by sigma. weight: what it counts for, as a share of what its square would (1 for normal
 * errors). loss: its part of the objective. Of a missing value all but sigma are NaN, of a censored one all but sigma and
 * loss: it is known to lie beyond its value only. */
struct residual {
    double sigma, residual, weighted, weight, loss;
};
/* observable: the model's index; own: the measurement's sigma, noise: the model's; NaN where there is none. censored as in
 * struct problem_block. */
struct residual residual_of(const struct residual_kind *kind, uint32_t observable, double value, double prediction, double own,
                            double noise, int8_t censored);

#endif
