/* The shared parameters' part of a fit over many datasets: sums over blocks, shared steps, stopping and certificate.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint_internal.h"

#include "fit/matrix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More's (1978) thresholds for the ratio of actual to predicted decrease. */
static const double RATIO_POOR = 0.25, RATIO_GOOD = 0.75;
/* Relative changes of the objective below this may be integrator noise; if values change by less than this part of their
 * disagreement with the slopes, the slopes are wrong. As in stopping_decrease. */
static const double NOISE_LIKELY = 1e-3, NOISE_MOVES = 0.1;
enum { MAX_NOISY = 20 };
static const double LEAST_RTOL = 1e-12;
/* joint.least: the accuracy of derivatives, and at least this. Where own parameters can do what shared ones do, only errors of
 * that size are left of these; they would promise decreases for ever. */
static const double LEAST = 1e-8;
/* Blocks whose rows are reduced at once at the bottom of the tree. */
enum { AT_ONCE = 8 };

void joint_set_tighter(struct joint *joint, double tighter)
{
    joint->tighter = joint->asker.tighter = tighter;
    joint->least = fmax(LEAST, fit_asker_rtol(&joint->asker));
}

bool joint_init(struct joint *joint, const struct fit_options *options, const struct model *model, size_t n_block,
                size_t n_parameter, const uint8_t *is_shared, const enum parameter_scale *scale)
{
    *joint = (struct joint){.options = options, .model = model, .n_block = n_block, .n_parameter = n_parameter,
                            .is_shared = is_shared, .scale = scale, .tighter = 1, .culprit = n_block};
    joint->problem = (struct fit_problem){.model = model, .n_experiment = 1};
    joint->asker = (struct fit_asker){.problem = &joint->problem, .options = options, .tighter = 1, .start_f = NAN,
                                      .prediction_error = NAN};
    joint_set_tighter(joint, 1);
    joint->block = calloc(n_block + 1, sizeof *joint->block);
    joint->fixed = arena_calloc(&joint->arena, n_parameter + 1, 1);
    return monitor_init(&joint->lock) && joint->block && joint->fixed
           && ARENA_DOUBLES(&joint->arena, {&joint->start, n_parameter, 1}, {&joint->lower, n_parameter, 1},
                            {&joint->upper, n_parameter, 1});
}

void joint_fini(struct joint *joint)
{
    for (size_t i = 0; joint->block && i < joint->n_block; i++) {
        struct joint_block *block = &joint->block[i];
        free(block->expected);
        free(block->p); /* with everything else */
        free(block->file_index);
        free(block->side);
    }
    free(joint->block);
    if (joint->options)
        monitor_fini(&joint->lock);
    arena_fini(&joint->arena);
}

void joint_eliminate(size_t n, size_t s, const double *triangle, const double *rhs, const uint32_t *loose, size_t n_loose,
                     const uint32_t *kept, size_t n_kept, const double *scale, double damping, double *scratch, double *rest,
                     double *rest_rhs, double *own)
{
    size_t all = n + s, m = all + n_loose, width = n_loose + n_kept;
    double *a = scratch, *b = a + m * width, *r = b + m, *q = r + width * width;
    memset(a, 0, m * width * sizeof *a);
    memcpy(b, rhs, all * sizeof *b);
    memset(b + all, 0, n_loose * sizeof *b);
    for (size_t c = 0; c < width; c++) {
        size_t j = c < n_loose ? loose[c] : n + kept[c - n_loose];
        memcpy(a + c * m, triangle + j * all, all * sizeof *a);
        if (c < n_loose)
            a[all + c + c * m] = sqrt(damping) * (scale ? scale[j] : 1);
    }
    matrix_triangle(m, width, a, b, r, q);
    for (size_t c = 0; c < n_kept; c++) {
        memcpy(rest + c * n_kept, r + n_loose + (n_loose + c) * width, n_kept * sizeof *rest);
        rest_rhs[c] = q[n_loose + c];
    }
    for (size_t c = 0; own && c < width; c++)
        memcpy(own + c * n_loose, r + c * width, n_loose * sizeof *own);
}

/* Reduces n pieces of s rows to one. */
struct pieces {
    size_t s, n;
    double *rows, *rhs; /* AT_ONCE s x s, AT_ONCE s */
};

static void put_piece(struct pieces *pieces, const double *rest, const double *rest_rhs)
{
    size_t s = pieces->s, m = AT_ONCE * s, first = pieces->n++ * s;
    for (size_t c = 0; c < s; c++)
        memcpy(pieces->rows + c * m + first, rest + c * s, s * sizeof *rest);
    memcpy(pieces->rhs + first, rest_rhs, s * sizeof *rest_rhs);
}

static void reduce_pieces(struct pieces *pieces, double *triangle, double *rhs)
{
    size_t s = pieces->s, m = pieces->n * s;
    for (size_t c = 1; c < s; c++)
        memmove(pieces->rows + c * m, pieces->rows + c * AT_ONCE * s, m * sizeof *pieces->rows);
    matrix_triangle(m, s, pieces->rows, pieces->rhs, triangle, rhs);
    pieces->n = 0;
}

/* The rows of blocks [first, first + n), where n is AT_ONCE to some power, or beyond the last block: of each AT_ONCE parts in
 * turn. `room`: AT_ONCE pieces and one result for each level. */
static void sum_range(const struct joint *joint, size_t s, joint_rows *get, size_t first, size_t n, double *room,
                      double *triangle, double *rhs)
{
    struct pieces pieces = {.s = s, .rows = room, .rhs = room + AT_ONCE * s * s};
    double *part = pieces.rhs + AT_ONCE * s, *part_rhs = part + s * s, *below = part_rhs + s;
    for (size_t k = 0; k < AT_ONCE && first < joint->n_block; k++, first += n / AT_ONCE) {
        const double *rest = part, *rest_rhs = part_rhs;
        if (n == AT_ONCE)
            get(joint, first, &rest, &rest_rhs);
        else
            sum_range(joint, s, get, first, n / AT_ONCE, below, part, part_rhs);
        put_piece(&pieces, rest, rest_rhs);
    }
    reduce_pieces(&pieces, triangle, rhs);
}

bool joint_sum(const struct joint *joint, size_t s, joint_rows *get, double *triangle, double *rhs)
{
    size_t n = AT_ONCE, n_level = 1;
    for (; n < joint->n_block; n *= AT_ONCE)
        n_level++;
    double *room = malloc(n_level * (AT_ONCE + 1) * s * (s + 1) * sizeof *room + 1);
    if (room && s > 0)
        sum_range(joint, s, get, 0, n, room, triangle, rhs);
    free(room);
    return room != NULL;
}

static double total(const struct joint *joint, double (*get)(const struct joint_block *block), size_t first, size_t end)
{
    if (end - first == 1)
        return get(&joint->block[first]);
    size_t middle = first + (end - first) / 2;
    return total(joint, get, first, middle) + total(joint, get, middle, end);
}

double joint_total(const struct joint *joint, double (*get)(const struct joint_block *block))
{
    return joint->n_block ? total(joint, get, 0, joint->n_block) : 0;
}

static double f_of(const struct joint_block *block) { return block->best.f; }
static double decrease_of(const struct joint_block *block) { return block->decrease; }
static double slopes_of(const struct joint_block *block) { return block->by_slopes; }
static double slope_of(const struct joint_block *block) { return block->slope; }
static double trial_promise_of(const struct joint_block *block) { return block->promise; }
static double own_promise_of(const struct joint_block *block) { return block->best.promise; }
static double own_free_of(const struct joint_block *block) { return block->best.promise_free; }
static double trial_free_of(const struct joint_block *block) { return block->trial.promise_free; }
static double change_of(const struct joint_block *block) { return block->trial.f - block->best.f; }
static double rows_of(const struct joint_block *block) { return (double)block->n_row; }
static double scale_of(const struct joint_block *block) { return block->objective_scale; }
static double squares_of(const struct joint_block *block) { return block->best.mean_square * (double)block->n_row; }
static double variance_of(const struct joint_block *block) { return block->best.variance * (double)block->n_row; }

static void rows_of_best(const struct joint *joint, size_t i, const double **rest, const double **rest_rhs)
{
    *rest = joint->block[i].best.rest;
    *rest_rhs = joint->block[i].best.rest_rhs;
}

static void rows_of_trial(const struct joint *joint, size_t i, const double **rest, const double **rest_rhs)
{
    *rest = joint->block[i].trial.rest;
    *rest_rhs = joint->block[i].trial.rest_rhs;
}

/* The fit ends; a best point gets one more pass. */
static bool finish(struct joint *joint, enum outcome outcome)
{
    joint->outcome = outcome;
    joint->stop = STOP_none;
    joint->pass = JOINT_KEEP;
    return joint->has_best;
}

static bool finish_without_memory(struct joint *joint)
{
    snprintf(joint->asker.reason, sizeof joint->asker.reason, "no memory for the shared parameters");
    return finish(joint, OUTCOME_out_of_memory);
}

/* Adds rows of the least influence, so that what is below it has none. */
static bool add_least(struct joint *joint, bool of_trial)
{
    struct trust_model *model = &joint->shared;
    size_t s = joint->s, m = 2 * s;
    double *a = calloc(m * s + m + 1, sizeof *a), *b = a + m * s;
    for (size_t c = 0; a && c < s; c++) {
        double sum = 0;
        for (size_t i = 0; i < joint->n_block; i++) {
            const struct joint_block *block = &joint->block[i];
            size_t column = block->n + c, all = block->n + s;
            sum += matrix_squares(column + 1, (of_trial ? block->trial.triangle : block->best.triangle) + column * all);
        }
        joint->length[c] = sqrt(sum);
        memcpy(a + c * m, model->triangle + c * s, s * sizeof *a);
        a[s + c + c * m] = joint->least * joint->length[c];
        b[c] = model->rhs[c];
    }
    if (a && s > 0)
        matrix_triangle(m, s, a, b, model->triangle, model->rhs);
    free(a);
    return a != NULL;
}

/* The shared model of these rows. False: the fit has ended, because memory is out or numbers are not finite. */
static bool set_model(struct joint *joint, joint_rows *get)
{
    struct trust_model *model = &joint->shared;
    if (!joint_sum(joint, joint->s, get, model->triangle, model->rhs) || !add_least(joint, get == rows_of_trial)) {
        finish_without_memory(joint);
        return false;
    }
    for (size_t j = 0; j < joint->s; j++) {
        joint->point.gradient[j] = 0;
        for (size_t i = 0; i <= j; i++)
            joint->point.gradient[j] += model->triangle[i + j * joint->s] * model->rhs[i];
    }
    if (trust_model_adopt(model, &joint->point))
        return true;
    snprintf(joint->asker.reason, sizeof joint->asker.reason, "the derivatives of the residuals are too large to be used");
    finish(joint, OUTCOME_stalled);
    return false;
}

static void take_trials(struct joint *joint)
{
    for (size_t i = 0; i < joint->n_block; i++) {
        struct joint_side best = joint->block[i].best;
        joint->block[i].best = joint->block[i].trial;
        joint->block[i].trial = best;
    }
    joint->f = joint->point.f = joint_total(joint, f_of);
}

/* The decrease predicted without trust regions for the model that is set. */
static double promise_free(struct joint *joint, double own)
{
    return joint->s > 0 ? trust_model_promise_free(&joint->shared, &joint->point) + own : own;
}

static void begin_stopping(struct joint *joint)
{
    struct stopping *stopping = &joint->stopping;
    double n_row = joint_total(joint, rows_of);
    bool is_known = true;
    joint->asker.objective = (struct fit_objective){.n_row = 0};
    stopping_init(stopping, &joint->asker);
    stopping->objective_scale = joint_total(joint, scale_of);
    joint->asker.objective.n_row = (size_t)n_row;
    for (size_t i = 0; i < joint->n_block; i++) {
        joint->asker.objective.likelihood = joint->asker.objective.likelihood || joint->block[i].likelihood;
        is_known = is_known && joint->block[i].is_sigma_known;
    }
    joint->asker.is_sigma_known = is_known;
    stopping->beyond.is_there = true;
}

/* Looks at the best point: stops, or plans a step. */
static bool plan_step(struct joint *joint)
{
    struct trust_model *model = &joint->shared;
    struct stopping *stopping = &joint->stopping;
    double n_row = fmax(1, (double)joint->asker.objective.n_row);
    if (!set_model(joint, rows_of_best))
        return joint->has_best;
    model->promise = model->length = 0;
    model->is_restricted = false;
    if (joint->s > 0)
        trust_model_step(model, &joint->point);
    model->promise += joint_total(joint, own_promise_of);
    stopping->beyond.promise = joint_total(joint, own_free_of);
    stopping->beyond.gradient_norm = 0;
    stopping->beyond.variance = joint->asker.is_sigma_known ? 1 : joint_total(joint, squares_of) / n_row;
    for (size_t i = 0; i < joint->n_block; i++) {
        stopping->beyond.gradient_norm = fmax(stopping->beyond.gradient_norm, joint->block[i].best.gradient_norm);
        model->is_restricted = model->is_restricted || joint->block[i].best.is_restricted;
    }
    enum outcome outcome = stopping_judge(stopping, model, &joint->point);
    if (outcome == OUTCOME_not_run) {
        trust_model_target(model, &joint->point, joint->trial);
        joint->pass = JOINT_STEP;
        return true;
    }
    joint->stop = outcome == OUTCOME_converged ? stopping->met : STOP_none;
    joint->outcome = outcome;
    joint->pass = JOINT_CHECK;
    return true;
}

/* The decrease of the trial, by values or, where these are lost in noise, by slopes; stopping_decrease for the sums. */
static double find_decrease(struct joint *joint)
{
    struct stopping *stopping = &joint->stopping;
    double by_value = joint_total(joint, decrease_of), by_slopes = joint_total(joint, slopes_of), f = fabs(joint->f);
    double limit = NOISE_LIKELY * (joint->asker.objective.likelihood ? fmax(f, 0.5 * (double)joint->asker.objective.n_row) : f);
    stopping->noise = fmin(stopping->noise, fmin(fabs(by_value - by_slopes), fabs(by_value) / NOISE_MOVES));
    bool small = joint->shared.promise <= limit && fabs(by_value) <= limit && fabs(by_slopes) <= limit;
    if (!small || stopping->n_noisy >= MAX_NOISY || (by_value > 0 && by_slopes > 0))
        return by_value;
    double before = promise_free(joint, stopping->beyond.promise), radius = joint->shared.radius;
    if (!set_model(joint, rows_of_trial))
        return -INFINITY;
    double after = promise_free(joint, joint_total(joint, trial_free_of));
    joint->shared.radius = radius;
    if (after > 0.5 * before)
        return fmin(by_value, by_slopes);
    stopping->n_noisy += by_slopes > 0;
    return by_slopes;
}

static void adapt_radius(struct joint *joint, double decrease)
{
    struct trust_model *model = &joint->shared;
    /* The promise is negative where blocks cannot follow the shared step. */
    double ratio = model->promise > 0 ? decrease / model->promise : -1, slope = joint_total(joint, slope_of), part = 0.25;
    if (ratio > RATIO_GOOD || (ratio >= RATIO_POOR && !model->is_restricted))
        model->radius = fmax(model->radius, 2 * model->length);
    if (ratio >= RATIO_POOR || joint->s == 0)
        return;
    if (isfinite(decrease))
        part = decrease < 0 ? fmin(0.5, fmax(0.1, 0.5 * slope / (slope + decrease))) : 0.5;
    model->radius = part * fmin(model->radius, model->length);
}

static bool judge_step(struct joint *joint)
{
    bool has_failed = false, has_moved = false;
    for (size_t i = 0; i < joint->n_block; i++) {
        has_failed = has_failed || joint->block[i].has_failed;
        has_moved = has_moved || joint->block[i].has_moved;
    }
    if (!has_failed && !has_moved)
        stopping_give_up(&joint->stopping);
    joint->shared.promise = has_failed ? joint->shared.promise : joint_total(joint, trial_promise_of);
    double decrease = has_failed ? -INFINITY : find_decrease(joint);
    if (joint->outcome != OUTCOME_not_run)
        return true;
    joint->n_iteration++;
    adapt_radius(joint, decrease);
    if (decrease > 0) {
        memcpy(joint->theta, joint->trial, joint->s * sizeof *joint->theta);
        take_trials(joint);
    }
    stopping_note(&joint->stopping, &joint->shared, &joint->point, decrease);
    return plan_step(joint);
}

/* The first evaluation, or the first one with tighter tolerances. */
static bool judge_start(struct joint *joint)
{
    for (size_t i = 0; i < joint->n_block; i++)
        if (joint->block[i].has_failed) {
            joint->culprit = i;
            return finish(joint, joint->has_best ? OUTCOME_stalled
                                 : joint->model->abi.n_state ? OUTCOME_ode_failed : OUTCOME_model_failed);
        }
    take_trials(joint);
    joint->has_best = true;
    if (isnan(joint->asker.start_f))
        joint->asker.start_f = joint->f;
    begin_stopping(joint);
    return plan_step(joint);
}

/* The certificate: the tolerances of a single fit's. */
static bool judge_check(struct joint *joint)
{
    struct fit_certificate *certificate = &joint->certificate;
    double n_row = fmax(1, (double)joint->asker.objective.n_row), rtol = fit_asker_rtol(&joint->asker);
    *certificate = (struct fit_certificate){.change = NAN, .decrease = NAN};
    for (size_t i = 0; i < joint->n_block; i++)
        if (joint->block[i].has_failed) {
            joint->culprit = i;
            return finish(joint, OUTCOME_stalled);
        }
    bool is_exact = joint->model->abi.n_state == 0;
    if (joint->options->certify) {
        if (!set_model(joint, rows_of_trial))
            return true;
        certificate->change = is_exact ? 0 : joint_total(joint, change_of);
        certificate->decrease = promise_free(joint, joint_total(joint, trial_free_of));
        double variance = joint->asker.is_sigma_known ? 1 : joint_total(joint, variance_of) / n_row;
        fit_certificate_judge(certificate, joint->options, joint->f, joint->asker.objective.likelihood, variance,
                              joint_total(joint, squares_of) / n_row);
        bool goes_on = !certificate->is_certified && !is_exact && rtol > 0.9 * LEAST_RTOL * certificate->factor;
        if (goes_on) {
            joint_set_tighter(joint, joint->tighter * certificate->factor);
            joint->outcome = OUTCOME_not_run;
            joint->pass = JOINT_START;
            return true;
        }
        if (!certificate->is_certified)
            joint->asker.notes |= NOTE_not_certified;
        if (!certificate->is_certified && joint->stop == STOP_noise && certificate->decrease > 0) {
            joint->outcome = OUTCOME_stalled;
            joint->stop = STOP_none;
            snprintf(joint->asker.reason, sizeof joint->asker.reason, "no further decrease was found, not even with tighter "
                     "integrator tolerances, although the gradient predicts %.3g of %.6g", certificate->decrease, joint->f);
        }
    }
    if (joint_errors_compute(joint))
        return false;
    joint->errors = NULL;
    return finish_without_memory(joint);
}

bool joint_advance(struct joint *joint)
{
    for (size_t i = 0; i < joint->n_block && joint->pass != JOINT_KEEP; i++)
        if (joint->block[i].outcome != OUTCOME_not_run) {
            joint->culprit = i;
            return finish(joint, joint->block[i].outcome);
        }
    switch (joint->pass) {
    case JOINT_START: return judge_start(joint);
    case JOINT_STEP: return judge_step(joint);
    case JOINT_CHECK: return judge_check(joint);
    default: return false;
    }
}
