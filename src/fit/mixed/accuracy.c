/* How accurate the integrals of the exact likelihood are, and their correction by finer levels of
 * the rule in samples of the datasets: a sum over levels of what each changes, with fewer datasets
 * for those that cost more and change less (multilevel Monte Carlo, Giles 2008, Oper. Res. 56,
 * 607).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/pass.h"

#include "fit/joint/members.h"

#include <math.h>
#include <string.h>

/* The first level beyond those of the search's last stage is for SAMPLE datasets, or for FEWER if
 * there are more than MANY_VARIABLES; a further one for FEWER. */
static const double SAMPLE = 1000, FEWER = 300, LEAST = 30;
enum { MANY_VARIABLES = 3, MOST_PASSES = 8 };
/* What -log likelihood may be off, by the integrals and by each sample of them: further levels and
 * larger samples are taken until it is, as long as they have at most PART of the points that a pass
 * of the search's last stage has. REST: a larger sample's size, relative to the one it needs. */
static const double RULE_ERROR = 0.025, SAMPLE_ERROR = 0.0125, PART = 0.25, REST = 1.2;
/* Beyond the last level there is at most this many times of what it changes. */
static const double MOST_LEFT = 4;

/* Of the datasets that a level was for: how many; what it changes, the squares and the sizes of
 * these; its points and those of the next level. Of all datasets, with the first level: what points
 * that could not be evaluated may add to -log likelihood. */
struct changes {
    double n, change, squares, sizes, points, next, lost;
};

/* The first ones are of the search's last level. */
enum { N_CHANGES = sizeof(struct changes) / sizeof(double), N_LEVEL = 1 + MIXED_BEYOND };

static void changes_of(const void *context, const struct joint_block *block, double *number)
{
    const struct mixed_block *own = mixed_block_of(block);
    double weight = mixed_weight(context, block);
    for (unsigned k = 0; k < N_LEVEL; k++) {
        bool is_there = k == 0 ? own->n_beyond > 0 && !isnan(own->below) : k <= own->n_beyond;
        double by = is_there ? weight : 0;
        double change = k == 0 ? own->below : own->beyond[k - 1];
        change = by > 0 ? change : 0;
        struct changes changes = {
            by, by * change, by * change * change, by * fabs(change), by * own->points[k],
            k < MIXED_BEYOND ? by * own->points[k + 1] : 0, k == 0 ? weight * own->lost : 0};
        memcpy(number + k * N_CHANGES, &changes, sizeof changes);
    }
}

/* What a level changes in all n datasets. */
static double total_of(const struct changes *level, double n)
{
    return level->n > 0 ? n * level->change / level->n : 0;
}

/* The error of this as a sample's. */
static double sampling_error(const struct changes *level, double n)
{
    double part = level->n / n, mean = level->change / level->n;
    double variance = fmax(level->squares / level->n - mean * mean, 0);
    return level->n > 0 && part < 1 ? sqrt(variance * n * (1 - part) / part) : 0;
}

/* Its size. Errors of lattices have random signs, those of products may have one. */
static double size_of(const struct mixed *mixed, const struct changes *level, double n)
{
    if (!(level->n > 0))
        return 0;
    if (mixed_count_columns(mixed) > RULE_PRODUCT_MOST || mixed->progress.q > 0)
        return fmax(fabs(total_of(level, n)), sqrt(n * level->squares / level->n));
    return n * level->sizes / level->n;
}

/* What is left beyond the last level, k: its change is a bound where errors fall by a half or
 * more from level to level; where products' fall more slowly, a geometric series has more. */
static double left_beyond(const struct mixed *mixed, const struct changes *level, size_t k,
                          double n)
{
    double last = size_of(mixed, &level[k], n), before = size_of(mixed, &level[k - 1], n);
    bool are_products = mixed_count_columns(mixed) <= RULE_PRODUCT_MOST && mixed->progress.q == 0;
    double part = last < before ? last / before : 1;
    double times = part < 1 ? part / (1 - part) : MOST_LEFT;
    return last * (are_products ? fmin(fmax(times, 1), MOST_LEFT) : 1);
}

/* Larger samples, or a further level. False: there is no need, or they would cost too much. */
static bool extend(struct mixed *mixed, const struct changes *level, size_t last, double n)
{
    double budget = level[0].n > 0 ? PART * n * level[0].points / level[0].n : 0;
    bool has_changed = false;
    for (size_t k = 1; k <= last; k++) {
        double error = sampling_error(&level[k], n), had = mixed->sampled[k - 1];
        double times = error / SAMPLE_ERROR, most = budget * level[k].n / level[k].points;
        double wants = fmin(fmin(REST * had * times * times, n), most);
        wants = k > 1 ? fmin(wants, mixed->sampled[k - 2]) : wants;
        if (times > 1 && wants > had) {
            mixed->sampled[k - 1] = wants;
            has_changed = true;
        }
    }
    if (last == MIXED_BEYOND || !(left_beyond(mixed, level, last, n) > RULE_ERROR))
        return has_changed;
    double most = level[last].next > 0 ? budget * level[last].n / level[last].next : 0;
    double size = fmin(fmin(FEWER, mixed->sampled[last - 1]), most);
    if (size < fmin(LEAST, n))
        return has_changed;
    mixed->sampled[last] = size;
    return true;
}

enum asked mixed_run_last(struct mixed *mixed)
{
    struct changes level[N_LEVEL];
    double n = mixed->n_dataset, error;
    size_t last;
    memset(mixed->sampled, 0, sizeof mixed->sampled);
    mixed->sampled[0] = mixed_count_columns(mixed) > MANY_VARIABLES ? FEWER : SAMPLE;
    for (int pass = 0;; pass++) {
        enum asked asked = mixed_run_at_best(mixed, JOINT_TELL);
        if (asked != ASKED_OK || mixed->progress.phase != MIXED_EXACT)
            return asked;
        if (!joint_totals(mixed->joint, N_LEVEL * N_CHANGES, changes_of, mixed, &level[0].n))
            return joint_end_short(mixed->joint);
        for (last = 0; last < MIXED_BEYOND && level[last + 1].n > 0;)
            last++;
        if (last == 0 || pass == MOST_PASSES || !extend(mixed, level, last, n))
            break;
    }
    error = 0;
    for (size_t k = 1; k <= last; k++) {
        mixed->point.f += total_of(&level[k], n) - (k == 1 ? level[k].change : 0);
        error += pow(sampling_error(&level[k], n), 2);
    }
    mixed->result.likelihood_error =
        last > 0 ? 2 * (left_beyond(mixed, level, last, n) + sqrt(error) + level[0].lost)
                 : (double)NAN;
    return ASKED_OK;
}
