/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/lattice.h"

#include "base/random.h"
#include "fit/distribution.h"

#include <math.h>

/* Cools, Kuo & Nuyens (2006), Constructing embedded lattice rules for multivariate integration,
 * SIAM J. Sci. Comput. 28, 2162: the first numbers of their rule for 2^20 points, weights of order
 * 2. The first 2^k of its points are good lattices, too. */
static const uint32_t GENERATOR[LATTICE_MOST] = {
    1,      182667, 469891, 498753, 110745, 446247, 250185, 118627, 245333, 283199, 408519,
    391023, 246327, 126539, 399185, 461527, 300343, 69681,  516695, 436179, 106383, 238523,
    413283, 70841,  47719,  300129, 113029, 123925, 410745, 211325, 17489,  511893};
enum { PURPOSE = 0x4c415454 };
static const double LOG_TWO_PI = 1.8378770664093454836;

void lattice_init(struct lattice *lattice, size_t n, size_t r, uint64_t seed, uint64_t dataset,
                  uint64_t number)
{
    uint64_t stream = random_stream(dataset, PURPOSE);
    lattice->n = n;
    lattice->r = r;
    for (size_t j = 0; j < r; j++)
        lattice->shift[j] = random_uniform(seed, stream, number * LATTICE_MOST + j);
}

void lattice_point(const struct lattice *lattice, size_t k, double *x)
{
    for (size_t j = 0; j < lattice->r; j++) {
        uint64_t place = (uint64_t)k * GENERATOR[j] % lattice->n;
        double at = (double)place / (double)lattice->n + lattice->shift[j];
        at = at < 1 ? at : at - 1;
        at = 1 - fabs(2 * at - 1);
        x[j] = fmin(fmax(at, 1e-12), 1 - 1e-12);
    }
}

double lattice_deviate(double x, int is_heavy)
{
    if (!is_heavy)
        return distribution_normal_quantile(x);
    /* In closed form (Shaw 2006, Sampling Student's T distribution, J. Comput. Finance 9, 37). */
    double a = sqrt(4 * x * (1 - x)), q = cos(acos(fmin(a, 1)) / 3) / a;
    return copysign(2 * sqrt(fmax(q - 1, 0)), x - 0.5);
}

double lattice_log_density(double deviate, int is_heavy)
{
    if (!is_heavy)
        return -0.5 * (deviate * deviate + LOG_TWO_PI);
    return log(0.375) - 2.5 * log1p(0.25 * deviate * deviate);
}
