/* The shared parameters' part of a fit over many datasets: sums over blocks, shared steps, stopping and certificate.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint_descent.h"

#include "fit/joint_first.h"
#include "fit/joint_kinks.h"
#include "fit/matrix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More's (1978) thresholds for the ratio of actual to predicted decrease. */
static const double RATIO_POOR = 0.25, RATIO_GOOD = 0.75;
enum { MAX_NOISY = 20 };
/* A decrease of more than so many of the errors that the tolerances allow is no noise, whatever the
 * slopes at the ends of a step say that is long for some block. */
static const double NOISE_ERRORS = 10;
static const double LEAST_RTOL = 1e-12;
/* The first steps need no accuracy. Their tolerance, by what it is divided once a stage promises no more than errors of that
 * size could, and the least ratio to the requested one for which a stage is worth it. As in trust_region.c. */
static const double ROUGH = 3e-4, REFINE = 50, ROUGHER_LEAST = 5;
enum { ROUGH_REJECTED = 6, KEPT = 4 };
/* The sample of the first steps is left if they promise less than this part of the mean square of a residual. */
static const double SAMPLE_ENDS = 0.1;
/* joint.least: the accuracy of derivatives, and at least this. Where own parameters can do what shared ones do, only errors of
 * that size are left of these; they would promise decreases for ever. */
static const double LEAST = 1e-8;

void joint_set_tighter(struct joint *joint, double tighter)
{
    joint->tighter = joint->asker.tighter = tighter;
    joint->least = fmax(LEAST, fit_asker_rtol(&joint->asker));
}

/* Whether first steps with this tolerance are worth it. */
static bool is_worth(const struct joint *joint, double rough)
{
    return rough / ROUGHER_LEAST >= fit_asker_rtol(&joint->asker) * joint->tighter;
}

/* Sets the tolerance of the first steps; 0: these are over. */
static void go_rough(struct joint *joint, double rough)
{
    joint_set_tighter(joint, 1);
    joint->was_rough = joint->was_rough || rough > 0;
    joint->rough = is_worth(joint, rough) ? rough : 0;
    if (joint->rough > 0)
        joint_set_tighter(joint, fit_asker_rtol(&joint->asker) / joint->rough);
}

bool joint_init(struct joint *joint, const struct fit_options *options, const struct model *model, size_t n_block,
                size_t n_parameter, const struct joint_levels *levels, const enum parameter_scale *scale)
{
    *joint = (struct joint){.options = options, .model = model, .n_block = n_block, .n_parameter = n_parameter,
                            .levels = *levels, .scale = scale, .tighter = 1, .culprit = n_block,
                            .ranks = {.n = 1, .n_block = n_block}};
    joint->problem = (struct fit_problem){.model = model, .n_experiment = 1};
    joint->asker = (struct fit_asker){.problem = &joint->problem, .options = options, .tighter = 1, .start_f = NAN,
                                      .prediction_error = NAN};
    joint_set_tighter(joint, 1);
    double rtol = fit_asker_rtol(&joint->asker);
    bool is_rough = model->abi.n_state > 0 && options->gradient != GRADIENT_differences && !options->is_near
                    && options->optimizer != OPTIMIZER_lbfgs && !options->evaluates;
    if (is_rough && ROUGHER_LEAST * rtol <= ROUGH)
        go_rough(joint, ROUGH);
    joint->block = calloc(n_block + 1, sizeof *joint->block);
    joint->fixed = arena_calloc(&joint->arena, n_parameter + 1, 1);
    joint->active = arena_calloc(&joint->arena, n_block + 1, sizeof *joint->active);
    size_t n_group = 1;
    for (size_t c = 0; c < levels->n_column; c++)
        n_group += levels->n_group[c];
    joint->first = arena_calloc(&joint->arena, n_group, sizeof *joint->first);
    if (joint->active && joint->block && joint->first)
        joint_activate(joint);
    joint->n_all = joint->n_active;
    return monitor_init(&joint->lock) && joint->block && joint->fixed && joint->active && joint->first
           && (options->optimizer != OPTIMIZER_lbfgs || joint_descent_init(joint)) && joint_pilot_init(joint)
           && ARENA_DOUBLES(&joint->arena, {&joint->start, n_parameter, 1}, {&joint->lower, n_parameter, 1},
                            {&joint->upper, n_parameter, 1});
}

static double f_of(const struct joint_block *block) { return block->best.f; }
static double decrease_of(const struct joint_block *block) { return block->decrease; }
static double noise_of(const struct joint_block *block) { return block->best.noise + block->trial.noise; }
static double slopes_of(const struct joint_block *block) { return block->by_slopes; }
static double slope_of(const struct joint_block *block) { return block->slope; }
static double trial_promise_of(const struct joint_block *block) { return block->promise; }
static double own_promise_of(const struct joint_block *block) { return block->best.promise; }
static double own_free_of(const struct joint_block *block) { return block->best.promise_free; }
static double trial_free_of(const struct joint_block *block) { return block->trial.promise_free; }
static double change_of(const struct joint_block *block) { return block->trial.f - block->best.f; }
static double rows_of(const struct joint_block *block) { return (double)block->n_row; }
static double misfit_of(const struct joint_block *block) { return block->best.misfit; }
static double size_of(const struct joint_block *block) { return block->best.size; }
static double squares_of(const struct joint_block *block) { return block->best.mean_square * (double)block->n_row; }
static double variance_of(const struct joint_block *block) { return block->best.variance * (double)block->n_row; }

/* The fit ends; a best point gets one more pass. */
bool joint_finish(struct joint *joint, enum outcome outcome)
{
    joint->outcome = outcome;
    joint->stop = STOP_none;
    joint->pass = JOINT_KEEP;
    return joint->has_best;
}

static bool finish_without_memory(struct joint *joint)
{
    snprintf(joint->asker.reason, sizeof joint->asker.reason, "no memory for the shared parameters");
    joint->is_short = true;
    return joint_finish(joint, OUTCOME_out_of_memory);
}

/* The shared model of these sides. False: the fit has ended, because memory is out or
 * numbers are not finite. */
static bool set_model(struct joint *joint, enum joint_which which)
{
    struct trust_model *model = &joint->shared;
    if (!joint_reduce(joint, which, model->triangle, model->rhs)) {
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
    joint_finish(joint, OUTCOME_stalled);
    return false;
}

/* The units of changes of the objective, at the best point. */
static void measure(struct joint *joint)
{
    struct stopping_beyond *beyond = &joint->stopping.beyond;
    beyond->is_there = true;
    beyond->misfit = joint_total(joint, misfit_of);
    beyond->scale = joint_total(joint, size_of);
}

static void take_trials(struct joint *joint)
{
    for (size_t i = 0; i < joint->n_active; i++) {
        struct joint_side best = joint_active(joint, i)->best;
        joint_active(joint, i)->best = joint_active(joint, i)->trial;
        joint_active(joint, i)->trial = best;
    }
    joint->f = joint->point.f = joint_total(joint, f_of);
    measure(joint);
}

/* The decrease predicted without trust regions for the model that is set. */
static double promise_free(struct joint *joint, double own)
{
    return joint->s > 0 ? trust_model_promise_free(&joint->shared, &joint->point) + own : own;
}

/* The part of it that is not the shared parameters'; by_block: own_free_of or trial_free_of. */
static double beyond(const struct joint *joint, double (*by_block)(const struct joint_block *block))
{
    struct joint_side all = {.promise_free = joint_total(joint, by_block)};
    joint_groups_look(joint, &all);
    return all.promise_free;
}

void joint_take(struct joint *joint)
{
    memcpy(joint->theta, joint->trial, joint->s * sizeof *joint->theta);
    joint_groups_take(joint);
    take_trials(joint);
}

double joint_promise(struct joint *joint)
{
    return set_model(joint, JOINT_BEST) ? promise_free(joint, beyond(joint, own_free_of)) : INFINITY;
}

static void begin_stopping(struct joint *joint)
{
    struct stopping *stopping = &joint->stopping;
    double n_row = joint_total(joint, rows_of);
    enum { OFFSET = 1, UNKNOWN = 2, KINKS = 4 };
    struct joint_facts facts = {.any = 0};
    joint->asker.objective = (struct fit_objective){.n_row = 0};
    stopping_init(stopping, &joint->asker);
    joint->asker.objective.n_row = (size_t)n_row;
    for (size_t i = 0; i < joint->n_active; i++)
        facts.any |= (joint_active(joint, i)->has_offset ? OFFSET : 0)
                     | (joint_active(joint, i)->is_sigma_known ? 0 : UNKNOWN)
                     | (joint_active(joint, i)->has_kinks ? KINKS : 0);
    joint_agree(joint, &facts);
    joint->asker.objective.has_offset = facts.any & OFFSET;
    joint->has_kinks = facts.any & KINKS;
    joint->asker.is_sigma_known = !(facts.any & UNKNOWN);
    measure(joint);
}

/* Whether the stage's errors could be as large as what the next step promises, or its steps fail. */
static bool is_rough_over(const struct joint *joint)
{
    const struct stopping *stopping = &joint->stopping;
    const struct fit_options *options = joint->options;
    struct joint_facts facts = {.any = 0};
    for (size_t i = 0; i < joint->n_active; i++) {
        const struct joint_block *block = joint_active(joint, i);
        facts.any |= options->max_evaluations - block->n_evaluation < KEPT || 2 * block->n_step > options->max_total_steps
                     || block->gradient != GRADIENT_forward;
    }
    joint_agree(joint, &facts);
    return facts.any || stopping->n_rejected + stopping->n_failed >= ROUGH_REJECTED
           || joint->shared.promise <= stopping_noise_ceiling(stopping, &joint->point);
}

/* Sets the model at the best point with what it promises. False: the fit has ended. */
static bool look(struct joint *joint)
{
    struct trust_model *model = &joint->shared;
    struct stopping_beyond *beyond = &joint->stopping.beyond;
    double n_row = fmax(1, (double)joint->asker.objective.n_row);
    if (!set_model(joint, JOINT_BEST))
        return false;
    model->promise = model->length = 0;
    model->is_restricted = false;
    if (joint->s > 0)
        trust_model_step(model, &joint->point);
    struct joint_side all = {.promise = model->promise + joint_total(joint, own_promise_of),
                             .promise_free = joint_total(joint, own_free_of), .is_restricted = model->is_restricted};
    joint_groups_look(joint, &all);
    model->promise = all.promise;
    beyond->promise = all.promise_free;
    beyond->variance = joint->asker.is_sigma_known ? 1 : joint_total(joint, squares_of) / n_row;
    struct joint_facts facts = {.any = all.is_restricted, .most = all.gradient_norm, .single = all.single};
    for (size_t i = 0; i < joint->n_active; i++) {
        facts.most = fmax(facts.most, joint_active(joint, i)->best.gradient_norm);
        facts.single = fmax(facts.single, joint_active(joint, i)->best.single);
        facts.any |= joint_active(joint, i)->best.is_restricted;
    }
    joint_agree(joint, &facts);
    beyond->gradient_norm = facts.most;
    beyond->single = facts.single;
    model->is_restricted = facts.any;
    return true;
}

/* Stops at the best point, or goes to the end of the model's step. */
static bool stop_or_step(struct joint *joint)
{
    struct trust_model *model = &joint->shared;
    enum outcome outcome = joint->descent     ? joint_descent_next(joint)
                           : joint->rough > 0 ? OUTCOME_not_run
                                              : stopping_judge(&joint->stopping, model, &joint->point);
    if (joint->stride > 0 && outcome != OUTCOME_not_run)
        return joint_sample_leave(joint);
    if (outcome == OUTCOME_not_run && joint->has_kinks && !joint->descent) {
        joint_kinks_target(joint);
    } else if (outcome == OUTCOME_not_run && !joint->descent) {
        trust_model_target(model, &joint->point, joint->trial);
        joint_groups_step(joint);
    }
    joint->pass = outcome == OUTCOME_not_run ? JOINT_STEP : JOINT_CHECK;
    if (outcome == OUTCOME_not_run)
        return true;
    joint->stop = outcome == OUTCOME_converged ? joint->stopping.met : STOP_none;
    joint->outcome = outcome;
    return true;
}

/* Looks at the best point: stops, or plans a step. */
static bool plan_step(struct joint *joint)
{
    struct trust_model *model = &joint->shared;
    struct stopping *stopping = &joint->stopping;
    if (!look(joint))
        return joint->has_best;
    double little = SAMPLE_ENDS * stopping->beyond.misfit / fmax(1, (double)joint->asker.objective.n_row);
    if (joint->stride > 0 && (joint_sample_is_tired(joint)
                              || (model->promise <= little && (!model->is_restricted || stopping->beyond.promise <= little))))
        return joint_sample_leave(joint);
    if (joint->rough > 0 && is_rough_over(joint)) {
        trust_model_target(model, &joint->point, joint->trial);
        joint_groups_step(joint);
        joint->lands = true;
        joint->lands_from = joint->tighter;
        go_rough(joint, joint->rough / REFINE);
        joint->pass = JOINT_START;
        return true;
    }
    if (!joint->has_kinks || joint->descent)
        return stop_or_step(joint);
    joint_kinks_begin(joint);
    return true;
}

/* The rows of an inner step: a step of the parameters above from the best point, which leaves the trust region's metric as it
 * is. */
static bool judge_rows(struct joint *joint)
{
    struct trust_model *model = &joint->shared;
    size_t bytes = joint->s * sizeof *model->scale;
    double radius = model->radius;
    if (!joint_kinks_measure(joint))
        return finish_without_memory(joint);
    memcpy(joint->line.kept, model->scale, bytes);
    if (!set_model(joint, JOINT_INNER))
        return joint->has_best;
    model->radius = INFINITY;
    if (joint->s > 0)
        trust_model_step(model, &joint->point);
    trust_model_target(model, &joint->point, joint->trial);
    joint_kinks_groups_step(joint);
    model->radius = radius;
    memcpy(model->scale, joint->line.kept, bytes);
    joint->pass = JOINT_VALUE;
    return true;
}

/* The value of an inner step; after the last one, the best of them is what the model promises. */
static bool judge_value(struct joint *joint)
{
    if (!joint_kinks_judge(joint))
        return true;
    if (!look(joint))
        return joint->has_best;
    joint->shared.promise = fmax(joint->line.first - joint->line.value, 0);
    joint->shared.is_restricted = !(joint->line.least < joint->line.first); /* no step: it may be the search's fault */
    if (joint_kinks_is_damped(joint) && joint->shared.promise <= stopping_tolerance(&joint->stopping, &joint->point)) {
        joint_kinks_loosen(joint);
        return true;
    }
    return stop_or_step(joint);
}

/* The decrease of the trial, by values or, where these are lost in noise, by slopes; stopping_decrease for the sums. */
static double find_decrease(struct joint *joint)
{
    struct stopping *stopping = &joint->stopping;
    double by_value = joint_total(joint, decrease_of), by_slopes = joint_total(joint, slopes_of);
    double limit = stopping_noise_likely(stopping, &joint->point);
    if (joint->has_kinks)
        return by_value;
    stopping_note_noise(stopping, by_value, by_slopes);
    bool small = joint->shared.promise <= limit && fabs(by_value) <= limit && fabs(by_slopes) <= limit;
    if (!small || stopping->n_noisy >= MAX_NOISY || (by_value > 0 && by_slopes > 0)
        || by_value > NOISE_ERRORS * joint_total(joint, noise_of))
        return by_value;
    double before = promise_free(joint, stopping->beyond.promise), radius = joint->shared.radius;
    if (!set_model(joint, JOINT_TRIAL))
        return -INFINITY;
    double after = promise_free(joint, beyond(joint, trial_free_of));
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
    enum { FAILED = 1, MOVED = 2 };
    struct joint_facts facts = {.any = 0};
    if (joint->descent)
        return joint_descent_judge(joint) || plan_step(joint);
    for (size_t i = 0; i < joint->n_active; i++)
        facts.any |= (joint_active(joint, i)->has_failed ? FAILED : 0) | (joint_active(joint, i)->has_moved ? MOVED : 0);
    joint_agree(joint, &facts);
    bool has_failed = facts.any & FAILED, has_moved = facts.any & MOVED;
    if (!has_failed && !has_moved)
        stopping_give_up(&joint->stopping);
    joint->shared.promise = has_failed ? joint->shared.promise : joint_total(joint, trial_promise_of);
    double decrease = has_failed ? -INFINITY : find_decrease(joint);
    if (joint->outcome != OUTCOME_not_run)
        return true;
    joint->n_iteration++;
    if (joint->has_kinks) {
        joint_kinks_adapt(joint, decrease / joint->shared.promise);
    } else {
        adapt_radius(joint, decrease);
        joint_groups_adapt(joint);
    }
    if (decrease > 0)
        joint_take(joint);
    stopping_note(&joint->stopping, &joint->shared, &joint->point, decrease);
    return plan_step(joint);
}

/* The first steps led nowhere: from the start again, with the requested tolerances. */
bool joint_restart(struct joint *joint)
{
    size_t n_group = joint->group ? joint->levels.n_group[0] : 0;
    go_rough(joint, 0);
    joint->was_rough = joint->has_best = joint->lands = joint->grows = false;
    joint->restarts = true;
    joint->asker.start_f = NAN;
    memcpy(joint->theta, joint->asker.map.start, joint->s * sizeof *joint->theta);
    for (size_t g = 0; g < n_group; g++)
        memcpy(joint->group[g].side.theta, joint->group_own->asker.map.start, joint->n_group * sizeof(double));
    joint->pass = JOINT_START;
    return true;
}

/* The first evaluation, or the first one with tighter tolerances or fewer blocks. */
static bool judge_start(struct joint *joint)
{
    if (joint_find_failed(joint))
        return joint_finish(joint, OUTCOME_stalled);
    if (joint->lands)
        joint_take(joint);
    else
        take_trials(joint);
    joint->lands = false;
    joint->has_best = true;
    begin_stopping(joint);
    if (joint->options->evaluates) {
        joint->outcome = OUTCOME_evaluated;
        return !joint_errors_describe(joint) && finish_without_memory(joint);
    }
    if (isnan(joint->asker.start_f)) {
        joint->asker.start_f = joint->f;
        joint->doubt = joint->grows       ? -INFINITY /* the sample has gained already */
                       : joint->rough > 0 ? stopping_noise_ceiling(&joint->stopping, &joint->point)
                                          : 0;
        if (!joint->restarts && joint_has_pilots(joint)) {
            joint->pass = JOINT_PILOT;
            return true;
        }
    } else if (joint->from_middle && !(joint->f < joint->asker.start_f)) {
        return joint_pilot_leave(joint);
    } else if (joint->was_rough && joint->rough == 0 && !(joint->asker.start_f - joint->f > joint->doubt)) {
        return joint_restart(joint);
    }
    joint->was_rough = joint->rough > 0;
    joint->restarts = joint->from_middle = joint->grows = false;
    return plan_step(joint);
}

static bool judge_pilot(struct joint *joint)
{
    joint->was_rough = joint->rough > 0;
    if (!joint_pilot_take(joint))
        return plan_step(joint);
    joint->pass = JOINT_START;
    return true;
}

/* The certificate: the tolerances of a single fit's. */
static bool judge_check(struct joint *joint)
{
    struct fit_certificate *certificate = &joint->certificate;
    double n_row = fmax(1, (double)joint->asker.objective.n_row), rtol = fit_asker_rtol(&joint->asker);
    *certificate = (struct fit_certificate){.change = NAN, .decrease = NAN};
    if (joint_find_failed(joint))
        return joint_finish(joint, OUTCOME_stalled);
    bool is_exact = joint->model->abi.n_state == 0;
    if (joint->options->certify) {
        if (!set_model(joint, JOINT_TRIAL))
            return true;
        certificate->change = is_exact ? 0 : joint_total(joint, change_of);
        certificate->decrease = promise_free(joint, beyond(joint, trial_free_of));
        double variance = joint->asker.is_sigma_known ? 1 : joint_total(joint, variance_of) / n_row;
        fit_certificate_judge(certificate, joint->options, joint->stopping.beyond.misfit, variance,
                              joint_total(joint, squares_of) / n_row, joint->asker.is_sigma_known);
        bool goes_on = !certificate->is_certified && !is_exact && rtol > 0.9 * LEAST_RTOL * certificate->factor;
        if (goes_on) {
            joint_set_tighter(joint, joint->tighter * certificate->factor);
            joint->outcome = OUTCOME_not_run;
            joint->pass = JOINT_START;
            return true;
        }
        if (!certificate->is_certified)
            joint->asker.notes |= NOTE_not_certified;
        if (certificate->is_below)
            joint->asker.notes |= NOTE_small_scatter;
        if (!certificate->is_certified && joint->stop == STOP_noise && certificate->decrease > 0) {
            joint->outcome = OUTCOME_stalled;
            joint->stop = STOP_none;
            snprintf(joint->asker.reason, sizeof joint->asker.reason, "no further decrease was found, not even with tighter "
                     "integrator tolerances, although the gradient predicts %.3g of %.6g", certificate->decrease, joint->f);
        }
    }
    if (joint_errors_compute(joint))
        return false;
    joint_errors_fini(joint);
    return finish_without_memory(joint);
}

bool joint_advance(struct joint *joint)
{
    bool goes_on;
    joint_make_common(joint);
    if (!joint_exchange(joint))
        return false;
    if (!joint_settle(joint, &goes_on))
        return goes_on;
    switch (joint->pass) {
    case JOINT_START: return judge_start(joint);
    case JOINT_STEP: return judge_step(joint);
    case JOINT_CHECK: return judge_check(joint);
    case JOINT_LOOK: return joint_sample_take(joint);
    case JOINT_PILOT: return judge_pilot(joint);
    case JOINT_ROWS: return judge_rows(joint);
    case JOINT_VALUE: return judge_value(joint);
    default: return false;
    }
}
