/* Random measurement errors from the distribution whose negative logarithm is a loss.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_LOSS_DRAW_H
#define FIT_LOSS_DRAW_H

#include "fit/loss.h"

#include <stdint.h>

/* The quantile at u in (0, 1) of the distribution with density exp(-rho(x)) / constant, for s = 1. Laplace's kink is not
 * rounded. Symmetric: u and 1 - u give opposite numbers, up to rounding. */
double fit_loss_quantile(const struct fit_loss *loss, double u);
/* A deviate for (seed, stream, counter), as in base/random.h; for normal and log-normal errors random_normal. */
double fit_loss_draw(const struct fit_loss *loss, uint64_t seed, uint64_t stream, uint64_t counter);

#endif
