/* Measurement errors drawn from the distribution that a loss is the negative logarithm of.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_LOSS_DRAW_H
#define FIT_LOSS_DRAW_H

#include "fit/loss.h"

#include <stdint.h>

/* The number x at which the distribution with the density exp(-rho(x)) / constant, for s = 1, is reached with probability u in
 * (0, 1). Of Laplace's the kink is not rounded. Symmetric: u and 1 - u give opposite numbers but for rounding. */
double fit_loss_quantile(const struct fit_loss *loss, double u);
/* A deviate of it at the address (seed, stream, counter), as in base/random.h; for normal and log-normal errors
 * random_normal. */
double fit_loss_draw(const struct fit_loss *loss, uint64_t seed, uint64_t stream, uint64_t counter);

#endif
