/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/mixed.h"

#include "base/cursor.h"
#include "base/memory.h"
#include "fit/objective/matrix.h"
#include "fit/mixed/block.h"
#include "fit/mixed/curvature.h"
#include "fit/mixed/pass.h"
#include "fit/mixed/stage.h"
#include "fit/mixed/starts.h"
#include "fit/mixed/zeros.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SHORTER = 8 };
/* So many steps in turn that promise nothing end a search. */
enum { MANY_IDLE = 4 };
/* How often a search goes on with higher modes. */
enum { MAX_SOUGHT = 4 };
/* A stage of the search ends when its steps promise less than this of -log likelihood, if --ftol
 * is the default: the last one within 1e-3 standard errors of the optimum. That with many points
 * and the second derivatives there begins as near, and its steps are worth their price only
 * beyond 2e-3. */
static const double LAST = 2e-7, NEWTON = 2e-6, OTHERS = 1e-3, DEFAULT_TOLERANCE = 1e-9;
/* Sums over points err by so much from step to step, and those that are rough by ROUGH_RISE; over
 * all steps of a search by DRIFT times that. */
static const double RISE = 0.02, ROUGH_RISE = 0.5, DRIFT = 5;
/* Rough sums do not tell more. Ends of Laplace's likelihood that differ by less than SIMILAR are
 * then one. */
static const double ROUGHLY = 5e-3, SIMILAR = 0.1;
/* A start is given up if PACE_TIMES what its latest PACE_STEPS steps have gained does not bring it
 * to the best end of the starts before it. */
static const double PACE_TIMES = 5;
enum { PACE_STEPS = 10 };
/* A start has come to an end of another one if -log likelihood there is lower by no more than this,
 * and the curvature puts no more between them. */
static const double KNOWN = 0.02;

static struct mixed *mixed_of(struct fit_search *search) { return (struct mixed *)search; }

/* Whether a start after the first one would need too many steps to come as low as the best end so
 * far, at the pace of its latest steps. */
static bool creeps(struct mixed *mixed)
{
    struct mixed_progress *progress = &mixed->progress;
    double f = mixed->point.f, left = f - progress->end_f[0];
    if (progress->phase != MIXED_LAPLACE || progress->n_end == 0 || !(left > 0))
        return false;
    if (mixed->search.n_iteration < progress->before_iteration + PACE_STEPS)
        return false;
    bool is_slow = !((progress->before_f - f) * PACE_TIMES > left);
    progress->before_f = f;
    progress->before_iteration = mixed->search.n_iteration;
    return is_slow;
}

/* Whether a start after the first one has come to an end that is known. */
static bool is_at_known_end(const struct mixed *mixed)
{
    const struct mixed_progress *progress = &mixed->progress;
    size_t m = mixed->m;
    if (progress->phase != MIXED_LAPLACE || starts_are_uncorrelated(mixed, progress->start))
        return false;
    for (size_t e = 0; e < progress->n_end; e++) {
        const double *end = mixed->kept + e * m;
        double above = mixed->point.f - progress->end_f[e], apart = 0;
        for (size_t k = 0; k < m; k++)
            for (size_t j = 0; j < m; j++)
                apart += 0.5 * (mixed->point.theta[k] - end[k]) * mixed->curvature[k + j * m]
                         * (mixed->point.theta[j] - end[j]);
        if (above > 0 && above < KNOWN && apart < KNOWN)
            return true;
    }
    return false;
}

/* Whether the latest steps, which errors of sums over points have kept short, promise nothing. */
static bool is_lost(struct mixed *mixed)
{
    struct mixed_progress *progress = &mixed->progress;
    const struct trust_model *model = &mixed->search.model;
    bool is_idle = progress->phase == MIXED_EXACT && model->is_restricted
                   && model->promise
                          <= stopping_tolerance(&mixed->search.stopping, &mixed->point);
    progress->n_idle = is_idle ? progress->n_idle + 1 : 0;
    return progress->n_idle > MANY_IDLE;
}

static enum asked look(struct fit_search *search)
{
    struct mixed *mixed = mixed_of(search);
    const struct mixed_progress *progress = &mixed->progress;
    struct joint *joint = mixed->joint;
    struct trust_model *model = &search->model;
    size_t m = mixed->m;
    mixed->progress.reach = model->reach;
    mixed->progress.stopping = search->stopping;
    mixed->progress.n_iteration = search->n_iteration;
    joint->above.f = mixed->point.f;
    joint->search.n_iteration = search->n_iteration;
    if (joint->host->keep)
        joint->host->keep(joint->host->context);
    mixed->progress.is_given_up = creeps(mixed) || is_at_known_end(mixed);
    if (progress->is_given_up)
        return fit_asker_end(&mixed->asker, OUTCOME_stalled, "another start is better");
    if (search->n_iteration - progress->first_iteration >= mixed->options.max_evaluations)
        return fit_asker_end(&mixed->asker, OUTCOME_budget,
                             "the steps of a search are used up: %lld (--max-evaluations)",
                             (long long)mixed->options.max_evaluations);
    if (!mixed_factor_curvature(mixed, model->triangle))
        return ASKED_FAILED;
    for (size_t c = 0; c < m; c++) { /* R'q is the gradient */
        double sum = mixed->point.gradient[c];
        for (size_t i = 0; i < c; i++)
            sum -= model->triangle[i + c * m] * model->rhs[i];
        model->rhs[c] = sum / model->triangle[c + c * m];
    }
    if (!trust_model_adopt(model, &mixed->point))
        return ASKED_FAILED;
    trust_model_step(model, &mixed->point);
    if (is_lost(mixed))
        stopping_give_up(&search->stopping);
    search->stopping.beyond = (struct stopping_beyond){
        .is_there = true, .variance = 1, .misfit = 0.5 * (double)joint->asker.objective.n_row,
        .scale = joint->search.stopping.beyond.scale};
    return ASKED_OK;
}

/* Whether only slopes tell what a step to this value of -log likelihood gains, because its rise may
 * be errors of sums. */
static bool is_by_slopes(const struct mixed *mixed, double f)
{
    const struct mixed_progress *progress = &mixed->progress;
    double rise = progress->is_rough ? ROUGH_RISE : RISE;
    return progress->phase == MIXED_EXACT && f - mixed->point.f < rise
           && f - progress->lowest_f < DRIFT * rise;
}

static enum asked try(struct fit_search *search, struct fit_search_trial *trial)
{
    struct mixed *mixed = mixed_of(search);
    struct trust_model *model = &search->model;
    size_t m = mixed->m;
    trust_model_target(model, &mixed->point, mixed->trial);
    enum asked asked = mixed_run(mixed, JOINT_UPPER, mixed->trial);
    if (asked == ASKED_END)
        return ASKED_END;
    if (asked == ASKED_OK) {
        memcpy(mixed->slope, mixed->sum + 1, m * sizeof(double));
        const struct fit_point end = {.theta = mixed->trial, .gradient = mixed->slope,
                                      .f = mixed->sum[0]};
        trial->decrease = stopping_decrease(&search->stopping, model, &mixed->point, &end);
        if (is_by_slopes(mixed, end.f))
            trial->decrease = stopping_by_slopes(m, &mixed->point, &end);
        for (size_t k = 0; k < m; k++)
            trial->slope += mixed->point.gradient[k] * (mixed->trial[k] - mixed->point.theta[k]);
        if (trial->decrease > -10 * model->promise)
            mixed_improve_curvature(mixed);
    }
    return ASKED_OK;
}

static void settle(struct fit_search *search, const struct fit_search_trial *trial, bool is_taken,
                   enum trust_radius radius)
{
    struct mixed *mixed = mixed_of(search);
    (void)trial;
    (void)radius;
    if (!is_taken)
        return;
    mixed_take(mixed);
}

static bool has_budget(const struct fit_search *search)
{
    (void)search;
    return false; /* for loose steps */
}

static enum asked go_on(struct fit_search *search, enum outcome outcome)
{
    (void)search;
    (void)outcome;
    return ASKED_FAILED;
}

static const struct fit_search_method method = {.look = look, .try = try, .settle = settle,
                                                .has_budget = has_budget, .go_on = go_on};

static void set_tolerance(struct mixed *mixed)
{
    const struct joint *joint = mixed->joint;
    bool is_exact = mixed->progress.phase == MIXED_EXACT;
    bool is_rough = is_exact && mixed->progress.is_rough;
    bool is_last = is_exact || joint->options->likelihood == LIKELIHOOD_LAPLACE;
    bool is_newton = mixed_observes(mixed) && mixed->progress.level == MIXED_FINER;
    double n = fmax(1, (double)joint->asker.objective.n_row);
    double last = is_rough ? ROUGHLY : is_newton ? NEWTON : LAST;
    mixed->options.f_tolerance = joint->options->f_tolerance / DEFAULT_TOLERANCE
                                 * (is_last ? last : OTHERS) / (0.5 * n);
}

/* Ends are different if -log likelihood differs by this, and one is better by more than SAME; those
 * that are up to NEAR above the most likely one may have a higher exact likelihood. */
static const double DIFFERENT = 1e-3, SAME = 1e-6, NEAR = 1.5;

/* Candidates for the first start have so many times the deviations that are guessed or given. */
static const double WIDTH[] = {1, 3};
enum { N_WIDTH = sizeof WIDTH / sizeof *WIDTH };

/* Correlations are held at 0 for starts without them, and columns that are left out. */
static void hold_estimates(struct mixed *mixed)
{
    struct fit_map *map = &mixed->asker.map;
    for (size_t k = mixed->progress.s; k < mixed->m; k++) {
        bool is_out = mixed->progress.left_out & mixed_bit(mixed->column[k - mixed->progress.s]);
        bool holds = is_out || (!mixed_is_diagonal(mixed, k)
                                && starts_are_uncorrelated(mixed, mixed->progress.start));
        map->lower[k] = holds || mixed_is_diagonal(mixed, k) ? 0 : -INFINITY;
        map->upper[k] = holds ? 0 : INFINITY;
    }
}

/* A dataset's integrand may have several modes (after an infusion a concentration rises or falls
 * with the volume), and the search follows the one that it has met first. Datasets that find a
 * higher one at the best estimates, from points of the prior, are integrated around that. */
static enum asked take_higher_modes(struct mixed *mixed, bool *has_changed)
{
    enum asked asked = mixed_seek(mixed, has_changed);
    if (asked != ASKED_OK || !*has_changed)
        return asked;
    if (mixed->progress.phase == MIXED_EXACT)
        return mixed_begin_points(mixed, mixed->progress.level, mixed->progress.left_out, true);
    asked = mixed_run_at_best(mixed, JOINT_UPPER);
    if (asked == ASKED_OK)
        mixed_keep_found(mixed);
    return asked == ASKED_OK ? mixed_begin_curvature(mixed) : asked;
}

/* Whether what follows a search may begin at its end: rounding of a likelihood, or of its slopes,
 * may stall one where the next likelihood, or another start, goes on. */
static bool is_usable(enum outcome outcome)
{
    return outcome_is_success(outcome) || outcome == OUTCOME_stalled;
}

/* Whether the search for higher modes belongs to the end of a search. Where only one is followed by
 * others, which begin or end with it, it belongs to theirs. */
static bool seeks_at_end(const struct mixed *mixed)
{
    const struct mixed_progress *progress = &mixed->progress;
    bool is_last = progress->phase == MIXED_EXACT
                       ? progress->level == MIXED_FINER
                       : mixed->joint->options->likelihood == LIKELIHOOD_LAPLACE;
    if (progress->phase == MIXED_EXACT && progress->is_rough) /* or a variance has left 0 */
        return (progress->level == MIXED_OWN || progress->returned) && progress->n_sought == 0;
    return is_last || mixed_are_few(mixed);
}

/* Steps at one likelihood, from the best estimates, whose numbers are known: searches with other
 * estimates held, or other points, until nothing changes or the budget of steps is used up. */
static enum outcome search_on(struct mixed *mixed, bool is_under_way)
{
    struct fit_search *search = &mixed->search;
    enum outcome outcome;
    bool has_changed;
    int *n_sought = &mixed->progress.n_sought;
    *n_sought = is_under_way ? *n_sought : 0;
    if (!is_under_way) {
        mixed->progress.before_f = mixed->progress.first_f = mixed->point.f;
        mixed->progress.before_iteration = mixed->progress.first_iteration = search->n_iteration;
    }
    set_tolerance(mixed);
    do {
        hold_estimates(mixed);
        if (!is_under_way) {
            mixed->progress.lowest_f = mixed->point.f;
            mixed->progress.n_idle = 0;
            stopping_init(&search->stopping, &mixed->asker);
            trust_model_forget(&search->model);
        }
        is_under_way = has_changed = false;
        outcome = fit_search_run(search, true);
        if (mixed->joint->end.is_cut)
            return mixed->joint->asker.outcome;
        if (is_usable(outcome) && !mixed->progress.is_given_up
            && (zeros_take(mixed, &has_changed) == ASKED_END
                || zeros_turn(mixed, &has_changed) == ASKED_END
                || zeros_leave(mixed, &has_changed) == ASKED_END
                || (!has_changed && zeros_leave_out(mixed, &has_changed) == ASKED_END)
                || (!has_changed && seeks_at_end(mixed) && (*n_sought)++ < MAX_SOUGHT
                    && take_higher_modes(mixed, &has_changed) == ASKED_END)))
            return mixed->joint->asker.outcome;
    } while (has_changed);
    return outcome;
}

/* Evaluates Laplace's likelihood at the trial, with smaller variances if it cannot be evaluated. */
static enum asked try_start(struct mixed *mixed)
{
    enum asked asked = mixed_run(mixed, JOINT_UPPER, mixed->trial);
    for (int i = 0; i < MAX_SHORTER && asked == ASKED_FAILED; i++) {
        for (size_t k = mixed->progress.s; k < mixed->m; k++)
            mixed->trial[k] *= 0.5;
        asked = mixed_run(mixed, JOINT_UPPER, mixed->trial);
    }
    return asked;
}

/* Begins at the trial, whose likelihood may be higher with other modes. */
static enum asked begin_at_trial(struct mixed *mixed)
{
    bool has_changed;
    enum asked asked = try_start(mixed);
    if (asked != ASKED_OK)
        return asked;
    mixed_take(mixed);
    return mixed_are_few(mixed) ? take_higher_modes(mixed, &has_changed) : ASKED_OK;
}

/* Candidate i for the first start: the pooled fit or the given start, with a width of the
 * deviations. */
static void set_candidate(struct mixed *mixed, const double *pooled, size_t i)
{
    size_t s = mixed->progress.s;
    memcpy(mixed->trial, pooled, mixed->m * sizeof *pooled);
    if (i % 2 == 1)
        mixed_take_given(mixed, mixed->trial);
    for (size_t k = s; k < mixed->m; k++)
        mixed->trial[k] *= WIDTH[i / 2];
}

/* Begins at the pooled fit or, if that is more likely, at the given start: where datasets differ
 * much, no curve describes them all, and the pooled fit may be far away. With few datasets wider
 * deviations are tried at both. */
static enum asked begin_laplace(struct mixed *mixed)
{
    size_t n = mixed_are_few(mixed) ? 2 * N_WIDTH : 2, best = n, latest = n;
    double *pooled = mixed->kept, lowest = INFINITY;
    enum asked asked = ASKED_OK;
    mixed->progress.phase = MIXED_LAPLACE;
    memcpy(pooled, mixed->point.theta, mixed->m * sizeof *pooled);
    for (size_t i = 0; i < n && asked != ASKED_END; i++) {
        set_candidate(mixed, pooled, i);
        asked = begin_at_trial(mixed);
        latest = asked == ASKED_OK ? i : latest;
        if (asked == ASKED_OK && mixed->point.f < lowest) {
            lowest = mixed->point.f;
            best = i;
        }
    }
    if (asked == ASKED_END)
        return asked;
    if (best == n)
        return mixed_end_failed(mixed);
    if (best != latest) {
        set_candidate(mixed, pooled, best);
        asked = begin_at_trial(mixed);
    }
    if (asked != ASKED_END)
        asked = mixed_run_at_best(mixed, JOINT_UPPER);
    mixed->progress.is_repeated = true;
    mixed->progress.began_given = best % 2 == 1;
    return asked == ASKED_OK ? mixed_begin_curvature(mixed) : asked;
}

/* Keeps the end of the latest search among the most likely ones, unless it is one of them. */
static void keep_end(struct mixed *mixed)
{
    struct mixed_progress *progress = &mixed->progress;
    double f = mixed->point.f, *kept = mixed->kept;
    size_t most = mixed_are_few(mixed) ? MIXED_ENDS : 1, m = mixed->m, at = 0;
    size_t start = progress->start;
    if (starts_are_uncorrelated(mixed, start)
        && (start == START_LATEST || f < progress->uncorrelated_f - SAME)) {
        memcpy(kept + MIXED_ENDS * m, mixed->point.theta, m * sizeof *kept);
        progress->uncorrelated_f = f;
    }
    for (size_t e = 0; e < progress->n_end; e++)
        if (fabs(progress->end_f[e] - f) < DIFFERENT)
            return;
    while (at < progress->n_end && progress->end_f[at] < f)
        at++;
    if (at == most)
        return;
    progress->n_end += progress->n_end < most;
    for (size_t e = progress->n_end - 1; e > at; e--) {
        progress->end_f[e] = progress->end_f[e - 1];
        memcpy(kept + e * m, kept + (e - 1) * m, m * sizeof *kept);
    }
    progress->end_f[at] = f;
    memcpy(kept + at * m, mixed->point.theta, m * sizeof *kept);
}

/* What a start meets that leads nowhere, or far above the best end, says nothing of the fit: kinks,
 * and integrations that lanes lose. To the best end belong the modes that its search has found. */
static void settle_start(const struct mixed *mixed, bool has_ended)
{
    const struct mixed_progress *progress = &mixed->progress;
    bool is_near = has_ended && mixed->point.f < progress->end_f[0] + NEAR;
    bool is_best =
        is_near && !memcmp(mixed->point.theta, mixed->kept, mixed->m * sizeof *mixed->kept);
    for (size_t i = 0; i < mixed->joint->part.n_active; i++) {
        struct joint_block *block = joint_active(mixed->joint, i);
        struct mixed_block *own = mixed_block_of(block);
        if (is_near) {
            own->settled.notes = block->notes;
            own->settled.engine = block->engine;
            own->settled.gradient = block->gradient;
            own->settled.n_left = own->n_left;
        } else {
            block->notes = own->settled.notes;
            block->engine = own->settled.engine;
            block->gradient = own->settled.gradient;
            own->n_left = own->settled.n_left;
        }
        if (is_best)
            memcpy(own->end, own->mode, own->n_effect * sizeof *own->end);
    }
}

/* Goes to an end that is not the latest one. */
static enum asked go_to_end(struct mixed *mixed, size_t end)
{
    memcpy(mixed->trial, mixed->kept + end * mixed->m, mixed->m * sizeof(double));
    if (!memcmp(mixed->trial, mixed->point.theta, mixed->m * sizeof(double)))
        return ASKED_OK;
    mixed->chooses = mixed->progress.phase == MIXED_EXACT;
    mixed->progress.returned = 0;
    mixed->progress.left_out = mixed->chooses ? mixed_zero_columns(mixed, mixed->trial) : 0;
    enum asked asked = mixed_run(mixed, JOINT_UPPER, mixed->trial);
    mixed->chooses = false;
    if (asked != ASKED_OK)
        return asked;
    mixed_take(mixed);
    return mixed_begin_curvature(mixed);
}

/* go_to_end for an end that must succeed. */
static enum asked return_to_end(struct mixed *mixed, size_t end)
{
    enum asked asked = go_to_end(mixed, end);
    return asked == ASKED_FAILED ? mixed_end_failed(mixed) : asked;
}

/* To the best end of Laplace's likelihood, with its modes: those of other starts may be lower. */
static enum asked return_to_best(struct mixed *mixed)
{
    for (size_t i = 0; i < mixed->joint->part.n_active; i++) {
        struct mixed_block *own = mixed_block_of(joint_active(mixed->joint, i));
        memcpy(own->mode, own->end, own->n_effect * sizeof *own->mode);
    }
    return return_to_end(mixed, 0);
}

/* Goes to the estimates of the trial, more or less likely. */
static enum asked go_to_trial(struct mixed *mixed)
{
    enum asked asked = try_start(mixed);
    if (asked == ASKED_OK)
        mixed_take(mixed);
    return asked == ASKED_OK ? mixed_begin_curvature(mixed) : asked;
}

/* From all starts, and back to the most likely end. Only the first one must succeed. */
static enum outcome search_laplace(struct mixed *mixed, bool is_under_way)
{
    struct mixed_progress *progress = &mixed->progress;
    enum outcome outcome = OUTCOME_converged, latest;
    enum asked asked = ASKED_OK;
    if (!is_under_way)
        progress->uncorrelated_f = INFINITY;
    do {
        if (asked == ASKED_OK) {
            latest = search_on(mixed, is_under_way);
            if (mixed->joint->end.is_cut)
                return mixed->joint->asker.outcome;
            if (progress->start == START_FIRST)
                outcome = latest;
            if (outcome_is_success(latest) && !outcome_is_success(outcome))
                outcome = latest;
            if (progress->start == START_FIRST || outcome_is_success(latest))
                keep_end(mixed);
            settle_start(mixed, true);
        }
        is_under_way = false;
        do
            progress->start++;
        while (progress->start < starts_count(mixed) && !starts_set(mixed, progress->start));
        if (is_usable(outcome) && progress->start < starts_count(mixed))
            asked = go_to_trial(mixed);
        if (asked == ASKED_FAILED)
            settle_start(mixed, false);
    } while (asked != ASKED_END && is_usable(outcome)
             && progress->start < starts_count(mixed));
    hold_estimates(mixed);
    if (asked != ASKED_END)
        asked = return_to_best(mixed);
    while (progress->n_end > 1 && progress->end_f[progress->n_end - 1] > progress->end_f[0] + NEAR)
        progress->n_end--;
    return asked == ASKED_OK ? outcome : mixed->joint->asker.outcome;
}

/* If datasets come back, the search begins again at the best estimates. */
static enum asked take_back(struct mixed *mixed, bool *has_changed)
{
    size_t n_before = mixed->joint->part.n_all;
    bool has_run;
    enum asked asked = mixed_take_back(mixed, &has_run);
    *has_changed = mixed->joint->part.n_all > n_before;
    if (*has_changed) {
        mixed->progress.start = START_FIRST;
        mixed->progress.n_end = 0;
    }
    return asked == ASKED_OK && has_run ? mixed_begin_curvature(mixed) : asked;
}

/* Laplace's likelihood, until no more datasets come back. */
static enum outcome search_all_laplace(struct mixed *mixed, bool is_under_way)
{
    bool has_changed = false;
    enum outcome outcome;
    enum asked asked = is_under_way ? ASKED_OK : take_back(mixed, &has_changed);
    do {
        outcome = asked == ASKED_OK ? search_laplace(mixed, is_under_way)
                                    : mixed->joint->asker.outcome;
        is_under_way = has_changed = false;
        if (!mixed->joint->end.is_cut && is_usable(outcome))
            asked = take_back(mixed, &has_changed);
    } while (has_changed);
    return asked == ASKED_OK ? outcome : mixed->joint->asker.outcome;
}

/* A stage of the exact likelihood, without the random effects whose variances are 0. */
static enum asked begin_stage(struct mixed *mixed, enum mixed_level level)
{
    mixed->progress.returned = 0;
    mixed_clear_columns(mixed, mixed->point.theta);
    return mixed_begin_points(mixed, level, mixed_zero_columns(mixed, mixed->point.theta), false);
}

/* The value of the latest end by finer levels: those of the search are too rough to compare ends
 * where the datasets' integrands differ much. */
static enum asked look_closer(struct mixed *mixed, double *f)
{
    memcpy(mixed->trial, mixed->point.theta, mixed->m * sizeof(double));
    mixed->progress.level = MIXED_FINER;
    enum asked asked = mixed_run(mixed, JOINT_UPPER, mixed->trial);
    mixed->progress.level = MIXED_OWN;
    *f = asked == ASKED_OK ? mixed->sum[0] : INFINITY;
    return asked;
}

/* With the datasets' levels, from all ends that Laplace's likelihood has left; then back to the
 * most likely one. Only the first one must succeed. */
static enum outcome search_ends(struct mixed *mixed, bool is_under_way)
{
    struct mixed_progress *progress = &mixed->progress;
    enum outcome outcome = OUTCOME_converged, latest;
    enum asked asked = ASKED_OK;
    size_t best = 0;
    for (; progress->end < progress->n_end; progress->end++) {
        size_t end = progress->end;
        if (!is_under_way)
            asked = end == 0 ? begin_stage(mixed, MIXED_OWN) : go_to_end(mixed, end);
        if (asked == ASKED_END)
            return mixed->joint->asker.outcome;
        if (asked == ASKED_FAILED && begin_stage(mixed, MIXED_OWN) != ASKED_OK)
            return mixed->joint->asker.outcome;
        latest = asked == ASKED_OK ? search_on(mixed, is_under_way) : OUTCOME_stalled;
        is_under_way = false;
        if (mixed->joint->end.is_cut)
            return mixed->joint->asker.outcome;
        outcome = end == 0 ? latest : outcome;
        bool counts = end == 0 || outcome_is_success(latest);
        if (counts && progress->n_end > 1 && look_closer(mixed, &progress->end_f[end]) == ASKED_END)
            return mixed->joint->asker.outcome;
        progress->end_f[end] = counts ? progress->end_f[end] : INFINITY;
        if (counts)
            memcpy(mixed->kept + end * mixed->m, mixed->point.theta, mixed->m * sizeof(double));
    }
    for (size_t e = 1; e < progress->n_end; e++)
        best = progress->end_f[e] < progress->end_f[best] - SAME ? e : best;
    asked = return_to_end(mixed, best);
    return asked == ASKED_OK ? outcome : mixed->joint->asker.outcome;
}

/* False: out of memory. */
static bool begin_exact(struct mixed *mixed)
{
    struct mixed_progress *progress = &mixed->progress;
    bool is_known = mixed_find_kinks(mixed, &progress->is_rough);
    size_t n = 0;
    for (size_t e = 0; e < progress->n_end; e++) {
        bool is_similar = n > 0 && progress->is_rough
                          && progress->end_f[e] < progress->end_f[n - 1] + SIMILAR;
        if (is_similar)
            continue;
        progress->end_f[n] = progress->end_f[e];
        memmove(mixed->kept + n++ * mixed->m, mixed->kept + e * mixed->m,
                mixed->m * sizeof *mixed->kept);
    }
    progress->n_end = n;
    return is_known;
}

/* Then with finer levels, from the optimum of the former and with the second derivatives there: one
 * step or two. */
static enum outcome search_exact(struct mixed *mixed, bool is_under_way)
{
    const struct joint *joint = mixed->joint;
    enum mixed_level level = is_under_way ? mixed->progress.level : MIXED_OWN;
    enum outcome outcome;
    if (!is_under_way && !begin_exact(mixed)) {
        joint_end_short(mixed->joint);
        return joint->asker.outcome;
    }
    for (;; level = MIXED_FINER) {
        if (level != MIXED_OWN && !is_under_way && begin_stage(mixed, level) != ASKED_OK)
            return joint->asker.outcome;
        if (level == MIXED_OWN)
            outcome = search_ends(mixed, is_under_way);
        else
            outcome = search_on(mixed, is_under_way);
        is_under_way = false;
        if (joint->end.is_cut || level == MIXED_FINER || !is_usable(outcome))
            return joint->end.is_cut ? joint->asker.outcome : outcome;
        if (joint->options->statistics && mixed_differ(mixed) == ASKED_END)
            return joint->asker.outcome;
    }
}

/* In place of a search: the likelihood at the start. */
static enum outcome evaluate(struct mixed *mixed)
{
    mixed->progress.phase = MIXED_LAPLACE;
    enum asked asked = mixed_run_at_best(mixed, JOINT_UPPER);
    if (asked == ASKED_OK)
        mixed_keep_found(mixed);
    if (asked == ASKED_OK && mixed->joint->options->likelihood == LIKELIHOOD_EXACT
        && !mixed_find_kinks(mixed, &mixed->progress.is_rough))
        asked = joint_end_short(mixed->joint);
    if (asked == ASKED_OK && mixed->joint->options->likelihood == LIKELIHOOD_EXACT)
        asked = begin_stage(mixed, MIXED_OWN);
    if (asked == ASKED_OK)
        asked = mixed_conclude(mixed, OUTCOME_evaluated);
    return asked == ASKED_OK ? OUTCOME_evaluated : mixed->joint->asker.outcome;
}

/* What another process has left: its numbers at the best estimates, once more. */
static enum asked resume(struct mixed *mixed)
{
    struct joint *joint = mixed->joint;
    struct cursor cursor = {.from = joint->saved.bytes, .at = joint->upper.saved, .n = SIZE_MAX};
    mixed_pass_search(&cursor, joint);
    for (size_t i = 0; i < joint->n_block; i++) {
        struct joint_block *block = &joint->block[i];
        cursor.at = block->memory.saved_upper;
        if (!mixed_pass_block(&cursor, joint, &block->upper))
            return joint_end_short(joint);
    }
    mixed->search.model.reach = mixed->progress.reach;
    mixed->search.stopping = mixed->progress.stopping;
    mixed->search.stopping.asker = &mixed->asker;
    mixed->search.n_iteration = mixed->progress.n_iteration;
    mixed->holds = !mixed->progress.is_repeated;
    mixed->is_again = true;
    enum asked asked = mixed_run_at_best(mixed, JOINT_UPPER);
    mixed->holds = mixed->is_again = false;
    return asked;
}

/* Goes on from the pooled fit to the end, or from where another process was. */
static enum outcome search_all(struct mixed *mixed, enum stop_test *stop)
{
    struct joint *joint = mixed->joint;
    bool is_resumed = mixed->progress.phase != MIXED_POOLED;
    bool is_exact = mixed->progress.phase == MIXED_EXACT;
    enum asked asked = mixed_make(mixed) ? ASKED_OK : joint_end_short(joint);
    mixed->search.method = &method;
    mixed->search.reach_growth = TRUST_REACH_GROWTH_SHARED;
    if (asked == ASKED_OK && joint->options->evaluates)
        return evaluate(mixed);
    size_t n_row = joint->asker.objective.n_row;
    if (asked == ASKED_OK && n_row < mixed_n_estimate(mixed)) {
        fit_asker_end(&joint->asker, OUTCOME_bad_data,
                      "%zu measurements do not determine %zu estimates: "
                      "fewer random parameters, or fewer correlations (--random-covariance)",
                      n_row, mixed_n_estimate(mixed));
        asked = joint_end(joint, OUTCOME_bad_data);
    }
    if (asked == ASKED_OK)
        asked = is_resumed ? resume(mixed) : begin_laplace(mixed);
    enum outcome outcome = joint->asker.outcome;
    if (asked == ASKED_OK && !is_exact)
        outcome = search_all_laplace(mixed, is_resumed);
    if (asked == ASKED_OK && !joint->end.is_cut && joint->options->likelihood == LIKELIHOOD_EXACT
        && (is_exact || is_usable(outcome)))
        outcome = search_exact(mixed, is_exact);
    if (asked != ASKED_OK || joint->end.is_cut)
        return joint->asker.outcome;
    *stop = mixed->search.stopping.met;
    snprintf(joint->asker.reason, sizeof joint->asker.reason, "%s", mixed->asker.reason);
    return mixed_conclude(mixed, outcome) == ASKED_OK ? outcome : joint->asker.outcome;
}

/* The fit in which random parameters are shared is their start. */
static enum outcome search_from_pooled(struct joint *joint, bool is_under_way, enum stop_test *stop)
{
    struct mixed *mixed = mixed_of_joint(joint);
    struct fit_search *pooled = &joint->search;
    enum outcome outcome = OUTCOME_not_run;
    bool is_pooled = mixed->progress.phase == MIXED_POOLED && !joint->options->evaluates;
    if (is_pooled && joint->options->is_near) /* a refit begins at the best fit */
        outcome = pooled->method->begin(pooled) == ASKED_OK ? outcome : joint->asker.outcome;
    else if (is_pooled)
        outcome = fit_search_run(pooled, is_under_way);
    /* a start need not be an optimum, which one curve for all datasets may not have */
    if (joint->end.is_cut && joint->end.has_best && is_pooled)
        joint_forgive(joint);
    return joint->end.is_cut ? outcome : search_all(mixed, stop);
}

bool mixed_init(struct joint *joint, const struct mixed_levels *levels)
{
    static const struct joint_upper_method upper = {
        .adapt = mixed_block_adapt, .accept = mixed_block_accept, .run_block = mixed_block_pass,
        .search = search_from_pooled, .pass_search = mixed_pass_search,
        .pass_block = mixed_pass_block, .record = mixed_record};
    struct mixed *mixed = arena_calloc(joint->arena, 1, sizeof *mixed);
    if (!mixed)
        return false;
    mixed->joint = joint;
    mixed->levels = *levels;
    joint->upper = (struct joint_upper){.method = &upper, .context = mixed};
    return true;
}
