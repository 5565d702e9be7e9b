/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/stage.h"

#include "fit/mixed/curvature.h"
#include "fit/mixed/pass.h"

#include <math.h>
#include <string.h>

void mixed_take(struct mixed *mixed)
{
    size_t m = mixed->m;
    double f = mixed->sum[0];
    memcpy(mixed->point.theta, mixed->trial, m * sizeof(double));
    memcpy(mixed->point.gradient, mixed->sum + 1, m * sizeof(double));
    mixed->point.f = mixed->progress.f = f;
    mixed->progress.lowest_f = fmin(mixed->progress.lowest_f, f);
    mixed_keep_found(mixed);
}

enum asked mixed_begin_points(struct mixed *mixed, enum mixed_level level, uint64_t left_out,
                              bool has_new_modes)
{
    struct mixed_progress *progress = &mixed->progress;
    enum asked asked = ASKED_OK;
    mixed->chooses = level == MIXED_OWN || left_out != progress->left_out || has_new_modes;
    mixed->is_current = false;
    progress->phase = MIXED_EXACT;
    progress->left_out = left_out;
    progress->level = mixed->chooses ? MIXED_OWN : level;
    mixed->has_hills = has_new_modes;
    if (mixed->chooses)
        asked = mixed_run_at_best(mixed, JOINT_UPPER);
    mixed->chooses = mixed->has_hills = false;
    progress->level = level;
    if (asked == ASKED_OK && level != MIXED_OWN)
        asked = mixed_run_at_best(mixed, JOINT_UPPER);
    if (asked != ASKED_OK)
        return asked;
    mixed_keep_found(mixed);
    if (level == MIXED_OWN)
        return mixed_begin_curvature(mixed);
    return mixed_observe(mixed) ? ASKED_OK : joint_end_short(mixed->joint);
}
