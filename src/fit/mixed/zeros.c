/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/zeros.h"

#include "fit/mixed/pass.h"
#include "fit/mixed/stage.h"

#include <math.h>
#include <string.h>

/* A variance of 0 is left if the likelihood rises with a small one, by more than GAIN. The first of
 * MAX_PROBE tries is a standard deviation of PROBE times the first one. Rough sums do not tell less
 * than ROUGH_GAIN. */
static const double PROBE = 0.1, GAIN = 1e-3, ROUGH_GAIN = 0.1;
enum { MAX_PROBE = 6 };
/* Up to this rise in each dataset -log likelihood is next to a parabola in a small variance. */
static const double ROUGH = 0.01;
/* It becomes 0 from a standard deviation of this part of the first one, if -log likelihood rises by
 * no more than SAME. */
static const double NOTHING = 1e-2, SAME = 1e-6;

enum asked zeros_turn(struct mixed *mixed, bool *has_changed)
{
    size_t s = mixed->progress.s, m = mixed->m;
    enum asked asked = ASKED_OK;
    for (size_t k = s; k < m && asked != ASKED_END; k++) {
        double slope = mixed->point.gradient[k], curvature = mixed->curvature[k + k * m];
        size_t c = mixed->column[k - s];
        bool is_zero = mixed->row[k - s] == c && mixed->point.theta[k] == 0;
        if (!is_zero || !(slope > 0) || !(slope * slope > 2 * GAIN * curvature))
            continue;
        memcpy(mixed->trial, mixed->point.theta, m * sizeof(double));
        for (size_t j = s; j < m; j++)
            mixed->trial[j] = mixed->column[j - s] == c && mixed->trial[j] != 0
                                  ? -mixed->trial[j] : mixed->trial[j];
        asked = mixed_run(mixed, JOINT_UPPER, mixed->trial);
        if (asked != ASKED_OK || !(mixed->sum[1 + k] < 0))
            continue;
        mixed_take(mixed);
        *has_changed = true;
    }
    return asked;
}

/* What a variance must gain not to be 0. */
static double least_gain(const struct mixed *mixed)
{
    return mixed->progress.phase == MIXED_EXACT && mixed->progress.is_rough ? ROUGH_GAIN : GAIN;
}

enum asked zeros_take(struct mixed *mixed, bool *has_changed)
{
    size_t s = mixed->progress.s;
    enum asked asked = ASKED_OK;
    for (size_t k = s; k < mixed->m && asked != ASKED_END; k++) {
        size_t a = mixed->row[k - s];
        bool is_small =
            mixed->point.theta[k] < NOTHING * mixed_first_deviation(mixed, mixed->point.theta, a);
        if (a != mixed->column[k - s] || mixed->point.theta[k] == 0 || !is_small)
            continue;
        memcpy(mixed->trial, mixed->point.theta, mixed->m * sizeof(double));
        mixed->trial[k] = 0;
        mixed_clear_columns(mixed, mixed->trial);
        uint64_t zeros = mixed_zero_columns(mixed, mixed->trial),
                 left_out = mixed->progress.left_out;
        mixed->probed = left_out & ~zeros;
        asked = mixed_run(mixed, JOINT_UPPER, mixed->trial);
        double most = mixed->probed ? GAIN : SAME;
        mixed->probed = 0;
        if (asked != ASKED_OK || !(mixed->sum[0] <= mixed->point.f + most))
            continue;
        mixed_take(mixed);
        if ((left_out & ~zeros) == 0)
            continue;
        *has_changed = true;
        asked = mixed_begin_points(mixed, mixed->progress.level, left_out & zeros, false);
    }
    return asked;
}

enum asked zeros_leave_out(struct mixed *mixed, bool *has_changed)
{
    const struct mixed_progress *progress = &mixed->progress;
    memcpy(mixed->trial, mixed->point.theta, mixed->m * sizeof(double));
    mixed_clear_columns(mixed, mixed->trial);
    uint64_t zeros = mixed_zero_columns(mixed, mixed->trial) & ~progress->returned;
    if (progress->phase != MIXED_EXACT || (zeros & ~progress->left_out) == 0)
        return ASKED_OK;
    *has_changed = true;
    memcpy(mixed->point.theta, mixed->trial, mixed->m * sizeof(double));
    return mixed_begin_points(mixed, progress->level, zeros, false);
}

/* The next standard deviation to try after one with which -log likelihood rises by `rise` over that
 * without it, with this slope there; 0: none promises enough. The parabola in the variance through
 * both falls from 0 first if it has a minimum. */
static double next_probe(const struct mixed *mixed, double deviation, double rise, double slope)
{
    double fall = 0.5 * slope * deviation - 2 * rise, curved = 2 * (rise + fall);
    if (!(rise <= ROUGH * mixed->n_dataset))
        return 0.5 * deviation;
    return fall > 0 && fall * fall > 2 * GAIN * curved ? deviation * sqrt(fall / curved) : 0;
}

/* Tries small variances where it is 0, entry k. All values are by the same points. */
static enum asked try_variance(struct mixed *mixed, size_t k, double *gain)
{
    size_t a = mixed->row[k - mixed->progress.s], m = mixed->m;
    double deviation = PROBE * mixed_first_deviation(mixed, mixed->point.theta, a);
    double before = mixed->point.f, least = least_gain(mixed);
    enum asked asked = ASKED_OK;
    mixed->probed = mixed->progress.left_out & mixed_bit(a);
    memcpy(mixed->trial, mixed->point.theta, m * sizeof(double));
    if (mixed->probed) {
        asked = mixed_run(mixed, JOINT_UPPER, mixed->trial);
        before = mixed->sum[0];
    }
    bool has_before = asked == ASKED_OK;
    *gain = -INFINITY;
    for (int i = 0; has_before && i < MAX_PROBE && deviation > 0 && !(*gain > least); i++) {
        mixed->trial[k] = deviation;
        asked = mixed_run(mixed, JOINT_UPPER, mixed->trial);
        if (asked == ASKED_END)
            break;
        *gain = asked == ASKED_OK ? before - mixed->sum[0] : -INFINITY;
        deviation = next_probe(mixed, deviation, -*gain, mixed->sum[1 + k]);
    }
    mixed->probed = 0;
    *gain = asked == ASKED_OK ? *gain : -INFINITY;
    return asked;
}

enum asked zeros_leave(struct mixed *mixed, bool *has_changed)
{
    struct mixed_progress *progress = &mixed->progress;
    size_t s = progress->s;
    enum asked asked = ASKED_OK;
    for (size_t k = s; k < mixed->m && asked != ASKED_END; k++) {
        size_t a = mixed->row[k - s];
        double gain;
        if (a != mixed->column[k - s] || mixed->point.theta[k] != 0
            || (progress->returned & mixed_bit(a)))
            continue;
        asked = try_variance(mixed, k, &gain);
        if (!(gain > least_gain(mixed)))
            continue;
        mixed_take(mixed);
        *has_changed = true;
        progress->returned |= progress->phase == MIXED_EXACT ? mixed_bit(a) : 0;
        if (progress->left_out & mixed_bit(a))
            asked = mixed_begin_points(mixed, progress->level, progress->left_out & ~mixed_bit(a),
                                 false);
    }
    return asked;
}
