/* Latin hypercube (McKay, Beckman & Conover 1979) without a table: the permutation of each coordinate's strata is
 * computed for the one row that is needed, so that a start costs the same however many there are.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/starts.h"

#include "base/random.h"

#include <math.h>

/* Streams of other purposes must not coincide with these. */
static const uint64_t PURPOSE = 0x6c68735f73746172; /* "lhs_star" */

static void window(const struct fit_map *map, size_t j, double *low, double *high)
{
    static const double DECADE[] = {[SCALE_LIN] = 0, [SCALE_LOG] = 2.302585092994045684, [SCALE_LOG10] = 1};
    double start = map->start[j];
    double reach = map->scale[j] == SCALE_LIN ? fmax(1, fabs(start)) : DECADE[map->scale[j]];
    *low = isfinite(map->lower[j]) ? map->lower[j] : start - reach;
    *high = isfinite(map->upper[j]) ? map->upper[j] : start + reach;
}

void fit_start_theta(const struct fit_map *map, uint64_t seed, uint64_t dataset, uint32_t start_number,
                     uint32_t n_start, double *theta)
{
    uint64_t n_row = n_start > 1 && start_number < n_start ? n_start - 1 : start_number;
    for (size_t j = 0; j < map->n_free; j++) {
        if (start_number == 0) {
            theta[j] = map->start[j];
            continue;
        }
        uint64_t stream = random_stream(random_stream(PURPOSE, dataset), map->model_index[j]);
        uint64_t stratum = random_permute(seed, stream, n_row, start_number - 1);
        double within = random_uniform(seed, stream, start_number);
        double low, high;
        window(map, j, &low, &high);
        double place = ((double)stratum + within) / (double)n_row;
        double value = low * (1 - place) + high * place;
        theta[j] = value < map->lower[j] ? map->lower[j] : value > map->upper[j] ? map->upper[j] : value;
    }
}
