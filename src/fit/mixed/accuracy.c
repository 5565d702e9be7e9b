/* How accurate the integrals of the exact likelihood are, and their correction: in a sample of the
 * datasets they are summed over more points, until these change little.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/pass.h"
#include "fit/mixed/points.h"

#include "fit/joint/members.h"

#include <math.h>
#include <string.h>

/* The first sample of datasets. */
static const double SAMPLE = 300;
enum { MOST_PASSES = 8 };
/* Larger samples are taken until their error is as asked for, as long as all that they take are at
 * most MOST_POINTS. REST: a larger sample's size, relative to the one it needs. */
static const double MOST_POINTS = 1e7, REST = 1.2;

/* Of the datasets in the sample: how many; what their corrections are, and the squares of these;
 * how far they may still be off with products of rules, and the squares of that with lattices;
 * their points. Of all datasets: what points that could not be evaluated may add to -log
 * likelihood. */
struct refined {
    double n, change, squares, left, left_squares, n_point, lost;
};
enum { N_REFINED = sizeof(struct refined) / sizeof(double) };

static void refined_of(const void *context, const struct joint_block *block, double *number)
{
    const struct mixed_block *own = mixed_block_of(block);
    double weight = mixed_weight(context, block), by = own->is_refined ? weight : 0;
    double change = by > 0 ? own->correction : 0, left = by > 0 ? own->left : 0;
    struct refined refined = {
        .n = by, .change = by * change, .squares = by * change * change,
        .left = own->is_lattice ? 0 : by * left,
        .left_squares = own->is_lattice ? by * left * left : 0,
        .n_point = by > 0 ? by * own->n_point : 0, .lost = weight * own->lost};
    memcpy(number, &refined, sizeof refined);
}

/* The error of the sample's correction for all n datasets. */
static double sampling_error(const struct refined *refined, double n)
{
    double part = refined->n / n, mean = refined->change / refined->n;
    double variance = fmax(refined->squares / refined->n - mean * mean, 0);
    return part < 1 ? sqrt(variance * n * (1 - part) / part) : 0;
}

/* A larger sample. False: there is no need, or it would cost too much. */
static bool extend(struct mixed *mixed, const struct refined *refined, double n)
{
    double times = sampling_error(refined, n) / mixed_sample_error(mixed), had = mixed->sampled;
    double most = MOST_POINTS * refined->n / refined->n_point;
    mixed->sampled = fmax(had, fmin(fmin(REST * had * times * times, n), most));
    return mixed->sampled > had;
}

/* What is left beyond the levels, in all n datasets. */
static double rule_error(const struct refined *refined, double n)
{
    double times = n / refined->n;
    return times * refined->left + sqrt(times * refined->left_squares);
}

/* Further levels. False: there is no need, or no more of them. */
static bool refine(struct mixed *mixed, const struct refined *refined, double n)
{
    bool refines = !mixed->refines_more && rule_error(refined, n) > mixed_rule_error(mixed);
    mixed->refines_more = mixed->refines_more || refines;
    return refines;
}

enum asked mixed_run_last(struct mixed *mixed)
{
    struct refined refined;
    double n = mixed->n_dataset;
    bool goes_on = true;
    mixed->sampled = SAMPLE;
    mixed->refines_more = false;
    for (int pass = 0; goes_on && pass < MOST_PASSES; pass++) {
        enum asked asked = mixed_run_at_best(mixed, JOINT_TELL);
        if (asked != ASKED_OK || mixed->progress.phase != MIXED_EXACT)
            return asked;
        if (!joint_totals(mixed->joint, N_REFINED, refined_of, mixed, &refined.n))
            return joint_end_short(mixed->joint);
        goes_on = refined.n > 0 && (refine(mixed, &refined, n) || extend(mixed, &refined, n));
    }
    mixed->result.likelihood_error = (double)NAN;
    if (!(refined.n > 0))
        return ASKED_OK;
    mixed->point.f += (n / refined.n - 1) * refined.change; /* the sum has the sample's own */
    mixed->result.likelihood_error =
        2 * (rule_error(&refined, n) + sampling_error(&refined, n) + refined.lost);
    return ASKED_OK;
}
