/* Deviates by inversion of the distribution function.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/loss_draw.h"

#include "base/random.h"
#include "fit/distribution.h"

#include <math.h>

static const double ROOT_2PI = 2.506628274631000502416;

/* Below the median. Huber's least favourable distribution: normal between -k and k, exponential tails beyond, each with the
 * mass exp(-k^2 / 2) / (k constant). */
static double huber_below(const struct fit_loss *loss, double u)
{
    double k = loss->tuning, constant = exp(loss->log_constant), tail = exp(-0.5 * k * k) / (k * constant);
    if (u < tail)
        return (log(u * k * constant) - 0.5 * k * k) / k;
    return distribution_normal_quantile((u - tail) * constant / ROOT_2PI + distribution_normal(-k));
}

static double quantile_below(const struct fit_loss *loss, double u)
{
    switch (loss->error) {
    case ERROR_LAPLACE: return log(2 * u);
    case ERROR_HUBER: return huber_below(loss, u);
    case ERROR_STUDENT: return distribution_t_quantile(u, loss->tuning);
    default: return distribution_normal_quantile(u);
    }
}

double fit_loss_quantile(const struct fit_loss *loss, double u)
{
    return u > 0.5 ? -quantile_below(loss, 1 - u) : quantile_below(loss, u);
}

double fit_loss_draw(const struct fit_loss *loss, uint64_t seed, uint64_t stream, uint64_t counter)
{
    if (loss->error == ERROR_NORMAL || loss->error == ERROR_LOG_NORMAL)
        return random_normal(seed, stream, counter);
    return fit_loss_quantile(loss, random_uniform(seed, stream, counter));
}
