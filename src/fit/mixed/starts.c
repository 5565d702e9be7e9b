/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/starts.h"

#include "fit/mixed/pass.h"
#include "fit/objective/start.h"

#include <math.h>
#include <string.h>

/* Drawn starts, and their deviations in units of those that are guessed or given: wide ones let the
 * datasets' modes go where their data are, whatever the means. */
enum { N_DRAWN = 4 };
static const double DRAWN_WIDTH = 3;

static size_t count_variances(const struct mixed *mixed)
{
    return mixed->progress.r + mixed->progress.q;
}

bool starts_are_uncorrelated(const struct mixed *mixed, size_t number)
{
    return number == START_LATEST ||
           (number >= START_UNCORRELATED && number <= START_UNCORRELATED + count_variances(mixed));
}

/* Sets independent guessed deviations; false: a variance was not 0 before. */
static bool guess(struct mixed *mixed, double *trial)
{
    bool any = false;
    for (size_t k = mixed->progress.s; k < mixed->m; k++) {
        any = any || (mixed_is_diagonal(mixed, k) && trial[k] == 0);
        trial[k] = mixed_is_diagonal(mixed, k)
                       ? mixed_first_deviation(mixed, trial, mixed->row[k - mixed->progress.s]) : 0;
    }
    return any;
}

/* Sets variance i to 0; false: it was. */
static bool leave_out(struct mixed *mixed, double *trial, size_t i)
{
    size_t s = mixed->progress.s, n = 0, k = s;
    for (; k < mixed->m && !(mixed_is_diagonal(mixed, k) && n++ == i);)
        k++;
    bool is_there = k < mixed->m && trial[k] != 0;
    for (size_t j = s; j < mixed->m && is_there; j++)
        trial[j] = mixed->row[j - s] == mixed->row[k - s] ? 0 : trial[j];
    mixed_clear_columns(mixed, trial);
    return is_there;
}

static size_t first_drawn(const struct mixed *mixed)
{
    return START_UNCORRELATED + 2 * (count_variances(mixed) + 1);
}

/* Sets a point of a Latin hypercube around the given start. Each of --starts has other points. */
static void draw(const struct mixed *mixed, double *trial, size_t i)
{
    const struct joint *joint = mixed->joint;
    struct fit_map map = joint->asker.map;
    const struct fit_start start = {.seed = joint->seed,
                                    .dataset = FIT_START_SHARED - 1 - joint->task,
                                    .number = (uint32_t)i + 1, .n_start = N_DRAWN + 1};
    map.model_index = map.file_index; /* the streams of random numbers */
    fit_start_theta(&start, &map, joint->prior, trial);
    mixed_first_factor(mixed, trial);
    for (size_t k = mixed->progress.s; k < mixed->m; k++)
        trial[k] *= DRAWN_WIDTH;
}

size_t starts_count(const struct mixed *mixed)
{
    bool is_near = mixed->joint->options->is_near; /* a best fit is known: a refit */
    return is_near ? 1 : first_drawn(mixed) + N_DRAWN + 1;
}

bool starts_set(struct mixed *mixed, size_t number)
{
    size_t m = mixed->m, n = count_variances(mixed), first = START_UNCORRELATED;
    size_t drawn = first_drawn(mixed);
    bool has_pairs = m > mixed->progress.s + n;
    bool is_diagonal_one = starts_are_uncorrelated(mixed, number);
    bool from_diagonal = (is_diagonal_one && number > first) || number == first + n + 1;
    const double *kept = mixed->kept + (from_diagonal ? MIXED_ENDS * m : 0);
    if (from_diagonal && mixed->progress.uncorrelated_f == INFINITY)
        return false; /* no search without correlations has ended */
    memcpy(mixed->trial, kept, m * sizeof *mixed->trial);
    if (number + 1 == starts_count(mixed)) {
        mixed_take_given(mixed, mixed->trial);
        return mixed_are_few(mixed) && !mixed->progress.began_given;
    }
    if (number >= drawn) {
        bool has_kinks, draws = mixed_are_few(mixed) && mixed_find_kinks(mixed, &has_kinks)
                                && !has_kinks;
        if (draws)
            draw(mixed, mixed->trial, number - drawn);
        return draws;
    }
    if (number == START_GUESS) {
        bool has_zero = guess(mixed, mixed->trial);
        return has_zero || mixed->levels.deviation;
    }
    if (!mixed_are_few(mixed) || (!has_pairs && number <= first + n + 1))
        return false;
    if (number == START_RELEASED)
        memcpy(mixed->trial, mixed->point.theta, m * sizeof *mixed->trial);
    for (size_t k = mixed->progress.s; k < m && number == START_LATEST; k++)
        mixed->trial[k] = mixed_is_diagonal(mixed, k) ? mixed->trial[k] : 0;
    if (number == START_LATEST || number == START_RELEASED)
        return true;
    if (number == first)
        guess(mixed, mixed->trial);
    if (number == first || number == first + n + 1)
        return true;
    return leave_out(mixed, mixed->trial, number - first - (is_diagonal_one ? 1 : n + 2));
}
