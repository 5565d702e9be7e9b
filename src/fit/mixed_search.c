/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed_search.h"

#include "base/cursor.h"
#include "fit/matrix.h"
#include "fit/mixed_errors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With so many datasets for each estimate their gradients' outer products are the curvature. */
static const double MANY = 10;
enum { MAX_SHORTER = 8 };
/* A stage of the search ends when its steps promise less than this of -log likelihood, if --ftol is
 * the default: the last one within 1e-3 standard errors of the optimum. */
static const double LAST = 2e-7, OTHERS = 1e-3, DEFAULT_TOLERANCE = 1e-9;
/* A variance of 0 is left if the likelihood rises with a standard deviation of this part of the
 * first one, by more than GAIN. */
static const double PROBE = 0.1, GAIN = 1e-3;
/* It becomes 0 from a standard deviation of this part of the first one, if -log likelihood rises by
 * no more than SAME. */
static const double NOTHING = 1e-2, SAME = 1e-6;
/* A standard deviation where its curvature is believed, in parts of the first one. */
static const double SMALL = 0.05;

static struct mixed *mixed_of(struct fit_search *search) { return (struct mixed *)search; }

static enum asked begin_curvature(struct mixed *mixed)
{
    bool are_many = mixed->progress.phase == MIXED_EXACT
                    && (double)mixed->joint->part.n_all >= MANY * (double)mixed->m;
    if (are_many && !mixed_products(mixed, mixed->curvature))
        return joint_end_short(mixed->joint);
    if (!are_many)
        mixed_unpack(mixed->m, mixed->sum + 1 + mixed->m, mixed->curvature);
    return ASKED_OK;
}

/* The least curvature of estimate k. That by a standard deviation vanishes where this is 0, and the
 * expected information, 2 M^2 L^2 with the information M of the mean in each dataset, says nothing
 * there: it is that of a small one. */
static double least_curvature(const struct mixed *mixed, size_t k)
{
    size_t s = mixed->progress.s, m = mixed->m;
    if (k < s)
        return 0;
    size_t a = mixed->row[k - s], mean = mixed->random[a];
    double by_mean = mixed->curvature[mean + mean * m], n = (double)mixed->joint->part.n_all;
    double small = SMALL * mixed_first_deviation(mixed, mixed->point.theta, a);
    return 2 * by_mean * by_mean / n * small * small;
}

/* The triangle of the curvature, of which a part is added to the diagonal until it has one. */
static bool factor_curvature(const struct mixed *mixed, double *triangle)
{
    size_t m = mixed->m;
    uint32_t *index = malloc((m + 1) * sizeof *index);
    double *lower = malloc((m * m + 1) * sizeof *lower), *matrix = malloc((m * m + 1) * sizeof *matrix);
    bool is_good = false;
    for (double part = 0; index && lower && matrix && !is_good && part < 1e3;
         part = part > 0 ? 10 * part : 1e-10) {
        memcpy(matrix, mixed->curvature, m * m * sizeof *matrix);
        for (uint32_t k = 0; k < m; k++) {
            double *entry = &matrix[k + k * m];
            index[k] = k;
            *entry = fmax(*entry > 0 ? *entry : 0, least_curvature(mixed, k)) * (1 + part);
            *entry = *entry > 0 ? *entry : 1e-8;
        }
        is_good = matrix_factor(m, matrix, m, index, lower);
    }
    for (size_t c = 0; c < m && is_good; c++)
        for (size_t d = 0; d < m; d++)
            triangle[c + d * m] = d >= c ? lower[d + c * m] : 0;
    free(index);
    free(lower);
    free(matrix);
    return is_good;
}

static enum asked look(struct fit_search *search)
{
    struct mixed *mixed = mixed_of(search);
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
    if (!factor_curvature(mixed, model->triangle))
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
    search->stopping.beyond = (struct stopping_beyond){
        .is_there = true, .variance = 1, .misfit = 0.5 * (double)joint->asker.objective.n_row,
        .scale = joint->search.stopping.beyond.scale};
    return ASKED_OK;
}

/* BFGS's correction for the latest step, damped as Powell (1978) does to keep the curvature
 * positive. */
static void improve_curvature(struct mixed *mixed)
{
    size_t m = mixed->m;
    double *b = mixed->curvature, *moved = malloc((3 * m + 1) * sizeof *moved);
    double *change = moved + m, *by = change + m, sy = 0, sbs = 0;
    for (size_t k = 0; moved && k < m; k++)
        moved[k] = mixed->trial[k] - mixed->point.theta[k];
    for (size_t k = 0; moved && k < m; k++) {
        change[k] = mixed->slope[k] - mixed->point.gradient[k];
        by[k] = matrix_dot(m, b + k * m, moved);
        sy += moved[k] * change[k];
        sbs += moved[k] * by[k];
    }
    double part = sy < 0.2 * sbs ? 0.8 * sbs / (sbs - sy) : 1;
    sy = part * sy + (1 - part) * sbs;
    for (size_t c = 0; moved && sbs > 0 && sy > 0 && c < m; c++)
        for (size_t d = 0; d < m; d++) {
            double yc = part * change[c] + (1 - part) * by[c];
            double yd = part * change[d] + (1 - part) * by[d];
            b[d + c * m] += yc * yd / sy - by[c] * by[d] / sbs;
        }
    free(moved);
}

/* The trial's estimates become the best ones. */
static void take(struct mixed *mixed, double f)
{
    memcpy(mixed->point.theta, mixed->trial, mixed->m * sizeof(double));
    memcpy(mixed->point.gradient, mixed->slope, mixed->m * sizeof(double));
    mixed->point.f = mixed->progress.f = f;
    mixed_keep_found(mixed);
}

/* Of the trial, by values or, where noise hides these, by the gradients at both ends. */
static double find_decrease(struct mixed *mixed, double f)
{
    struct fit_search *search = &mixed->search;
    struct trust_model *model = &search->model;
    const struct fit_point trial = {.theta = mixed->trial, .gradient = mixed->slope};
    double by_value = mixed->point.f - f,
           by_slopes = stopping_by_slopes(mixed->m, &mixed->point, &trial);
    if (!stopping_is_hidden(&search->stopping, model->promise, &mixed->point, by_value, by_slopes))
        return by_value;
    double before = trust_model_decrement(model, mixed->point.gradient);
    bool is_flatter = !(trust_model_decrement(model, mixed->slope) > 0.5 * before);
    return stopping_by_gradient(&search->stopping, by_value, by_slopes, is_flatter);
}

static enum asked step(struct fit_search *search)
{
    struct mixed *mixed = mixed_of(search);
    struct trust_model *model = &search->model;
    size_t m = mixed->m;
    double decrease = -INFINITY, slope = 0;
    trust_model_target(model, &mixed->point, mixed->trial);
    enum asked asked = mixed_run(mixed, JOINT_MIXED, mixed->trial);
    if (asked == ASKED_END)
        return ASKED_END;
    double f = mixed->sum[0];
    if (asked == ASKED_OK) {
        memcpy(mixed->slope, mixed->sum + 1, m * sizeof(double));
        decrease = find_decrease(mixed, f);
        for (size_t k = 0; k < m; k++)
            slope += mixed->point.gradient[k] * (mixed->trial[k] - mixed->point.theta[k]);
        if (decrease > -10 * model->promise)
            improve_curvature(mixed);
    }
    search->n_iteration++;
    trust_reach_adapt(&model->reach, model->length, model->is_restricted,
                      trust_model_is_limited(model) ? TRUST_REACH_GROWTH_SHARED : 1,
                      decrease / model->promise,
                      trust_radius_part(slope, decrease), 2);
    if (decrease > 0)
        take(mixed, f);
    stopping_note(&search->stopping, model, &mixed->point, decrease);
    return ASKED_OK;
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

static const struct fit_search_method method = {.look = look, .step = step,
                                                .has_budget = has_budget, .go_on = go_on};

/* Variances that are next to nothing become 0 if the likelihood does not tell. */
static enum asked take_zeros(struct mixed *mixed, bool *has_changed)
{
    size_t s = mixed->progress.s;
    enum asked asked = ASKED_OK;
    for (size_t k = s; k < mixed->m && asked != ASKED_END; k++) {
        size_t a = mixed->row[k - s];
        bool is_small = mixed->point.theta[k] < NOTHING * mixed_first_deviation(mixed, mixed->point.theta, a);
        if (a != mixed->column[k - s] || mixed->point.theta[k] == 0 || !is_small)
            continue;
        memcpy(mixed->trial, mixed->point.theta, mixed->m * sizeof(double));
        mixed->trial[k] = 0;
        asked = mixed_run(mixed, JOINT_MIXED, mixed->trial);
        if (asked != ASKED_OK || !(mixed->sum[0] <= mixed->point.f + SAME))
            continue;
        memcpy(mixed->slope, mixed->sum + 1, mixed->m * sizeof(double));
        take(mixed, mixed->sum[0]);
        *has_changed = true;
    }
    return asked;
}

/* Whether a variance of 0 is a saddle: tries a small one. */
static enum asked leave_zeros(struct mixed *mixed, bool *has_changed)
{
    size_t s = mixed->progress.s;
    enum asked asked = ASKED_OK;
    for (size_t k = s; k < mixed->m && asked != ASKED_END; k++) {
        size_t a = mixed->row[k - s];
        if (a != mixed->column[k - s] || mixed->point.theta[k] != 0)
            continue;
        memcpy(mixed->trial, mixed->point.theta, mixed->m * sizeof(double));
        mixed->trial[k] = PROBE * mixed_first_deviation(mixed, mixed->point.theta, a);
        asked = mixed_run(mixed, JOINT_MIXED, mixed->trial);
        if (asked != ASKED_OK || !(mixed->sum[0] < mixed->point.f - GAIN))
            continue;
        memcpy(mixed->slope, mixed->sum + 1, mixed->m * sizeof(double));
        take(mixed, mixed->sum[0]);
        *has_changed = true;
    }
    return asked;
}

static void set_tolerance(struct mixed *mixed)
{
    const struct joint *joint = mixed->joint;
    bool is_last = mixed->progress.finer || joint->options->likelihood == LIKELIHOOD_LAPLACE;
    double n = fmax(1, (double)joint->asker.objective.n_row);
    mixed->options.f_tolerance = joint->options->f_tolerance / DEFAULT_TOLERANCE
                                 * (is_last ? LAST : OTHERS) / (0.5 * n);
}

/* Steps at one likelihood, from the best estimates, whose numbers are known. */
static enum outcome search_on(struct mixed *mixed, bool is_under_way)
{
    struct fit_search *search = &mixed->search;
    enum outcome outcome;
    bool has_changed;
    set_tolerance(mixed);
    do {
        if (!is_under_way) {
            stopping_init(&search->stopping, &mixed->asker);
            trust_model_forget(&search->model);
        }
        is_under_way = has_changed = false;
        outcome = fit_search_run(search, true);
        if (mixed->joint->end.is_cut)
            return mixed->joint->asker.outcome;
        if (outcome == OUTCOME_converged
            && (take_zeros(mixed, &has_changed) == ASKED_END
                || leave_zeros(mixed, &has_changed) == ASKED_END))
            return mixed->joint->asker.outcome;
    } while (has_changed && search->n_iteration < 1000);
    return outcome;
}

/* Evaluates Laplace's likelihood at the trial, with smaller variances if it cannot be evaluated. */
static enum asked try_start(struct mixed *mixed)
{
    enum asked asked = mixed_run(mixed, JOINT_MIXED, mixed->trial);
    for (int i = 0; i < MAX_SHORTER && asked == ASKED_FAILED; i++) {
        for (size_t k = mixed->progress.s; k < mixed->m; k++)
            mixed->trial[k] *= 0.5;
        asked = mixed_run(mixed, JOINT_MIXED, mixed->trial);
    }
    if (asked == ASKED_OK)
        memcpy(mixed->slope, mixed->sum + 1, mixed->m * sizeof(double));
    return asked;
}

/* Begins at the pooled fit or, if that is more likely, at the given start: where datasets differ
 * much, no curve describes them all, and the pooled fit may be far away. */
static enum asked begin_laplace(struct mixed *mixed)
{
    struct joint *joint = mixed->joint;
    size_t s = mixed->progress.s;
    mixed->progress.phase = MIXED_LAPLACE;
    memcpy(mixed->trial, mixed->point.theta, mixed->m * sizeof(double));
    enum asked asked = try_start(mixed);
    bool has_pooled = asked == ASKED_OK;
    if (has_pooled)
        take(mixed, mixed->sum[0]);
    memcpy(mixed->trial, joint->asker.map.start, s * sizeof(double));
    for (size_t k = s; k < mixed->m; k++)
        mixed->trial[k] = mixed->row[k - s] != mixed->column[k - s]
                            ? 0
                            : mixed_first_deviation(mixed, mixed->trial, mixed->row[k - s]);
    if (asked != ASKED_END)
        asked = try_start(mixed);
    if (asked == ASKED_FAILED && !has_pooled) {
        joint_find_failed(joint);
        return joint_end(joint, joint->end.blame.outcome);
    }
    if (asked == ASKED_OK && (!has_pooled || mixed->sum[0] < mixed->point.f))
        take(mixed, mixed->sum[0]);
    else if (asked != ASKED_END)
        asked = mixed_run_at_best(mixed, JOINT_MIXED);
    return asked == ASKED_OK ? begin_curvature(mixed) : asked;
}

/* At the best estimates, where datasets choose their levels, or take the next ones. */
static enum asked begin_points(struct mixed *mixed, unsigned finer)
{
    mixed->progress.phase = MIXED_EXACT;
    mixed->progress.finer = finer;
    mixed->chooses = finer == 0;
    enum asked asked = mixed_run_at_best(mixed, JOINT_MIXED);
    mixed->chooses = false;
    if (asked != ASKED_OK)
        return asked;
    mixed_keep_found(mixed);
    return finer ? ASKED_OK : begin_curvature(mixed);
}

/* With the datasets' levels, then with finer ones. */
static enum outcome search_exact(struct mixed *mixed, bool is_under_way)
{
    unsigned finer = is_under_way ? mixed->progress.finer : 0;
    enum outcome outcome = OUTCOME_converged;
    for (; finer <= MIXED_FINER && outcome_is_success(outcome); finer++) {
        if (!is_under_way && begin_points(mixed, finer) != ASKED_OK)
            return mixed->joint->asker.outcome;
        outcome = search_on(mixed, is_under_way);
        is_under_way = false;
        if (mixed->joint->end.is_cut)
            return mixed->joint->asker.outcome;
    }
    return outcome;
}

/* What another process has left: its numbers at the best estimates, once more. */
static enum asked resume(struct mixed *mixed)
{
    struct joint *joint = mixed->joint;
    struct cursor cursor = {.from = joint->saved.bytes, .at = mixed->saved, .n = SIZE_MAX};
    mixed_pass_search(&cursor, mixed);
    for (size_t i = 0; i < joint->n_block; i++) {
        struct joint_block *block = &joint->block[i];
        cursor.at = block->memory.saved_mixed;
        if (!mixed_pass_block(&cursor, mixed, &block->mixed))
            return joint_end_short(joint);
    }
    mixed->search.model.reach = mixed->progress.reach;
    mixed->search.stopping = mixed->progress.stopping;
    mixed->search.stopping.asker = &mixed->asker;
    mixed->search.n_iteration = mixed->progress.n_iteration;
    mixed->holds = true;
    enum asked asked = mixed_run_at_best(mixed, JOINT_MIXED);
    mixed->holds = false;
    return asked;
}

enum outcome mixed_search(struct joint *joint, enum stop_test *stop)
{
    struct mixed *mixed = joint->mixed;
    bool is_resumed = mixed->progress.phase != MIXED_POOLED;
    bool is_exact = mixed->progress.phase == MIXED_EXACT;
    enum asked asked = mixed_make(mixed) ? ASKED_OK : joint_end_short(joint);
    mixed->search.method = &method;
    if (asked == ASKED_OK && joint->asker.objective.n_row < mixed->m) {
        fit_asker_end(&joint->asker, OUTCOME_bad_data, "%zu measurements do not determine %zu estimates: "
                      "fewer random parameters, or fewer correlations (--random-covariance)",
                      joint->asker.objective.n_row, mixed->m);
        asked = joint_end(joint, OUTCOME_bad_data);
    }
    if (asked == ASKED_OK)
        asked = is_resumed ? resume(mixed) : begin_laplace(mixed);
    enum outcome outcome = joint->asker.outcome;
    if (asked == ASKED_OK && !is_exact)
        outcome = search_on(mixed, is_resumed);
    if (asked == ASKED_OK && !joint->end.is_cut && joint->options->likelihood == LIKELIHOOD_EXACT
        && (is_exact || outcome_is_success(outcome)))
        outcome = search_exact(mixed, is_exact);
    if (asked != ASKED_OK || joint->end.is_cut)
        return joint->asker.outcome;
    *stop = mixed->search.stopping.met;
    snprintf(joint->asker.reason, sizeof joint->asker.reason, "%s", mixed->asker.reason);
    return mixed_conclude(mixed, outcome) == ASKED_OK ? outcome : joint->asker.outcome;
}
