/* The part of an evaluation that does not depend on the integrator: where it begins, its answers and how it ends.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/observer.h"

#include "ode/observation.h"
#include "ode/tolerance.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *new_array(size_t m, size_t n) { return calloc(m * n + 1, sizeof(double)); }

size_t observer_most_blocks(const struct stiffit_model *abi, const struct ode_options *options)
{
    size_t n_block = options->n_none ? abi->n_parameter + options->n_none : 0;
    for (uint32_t j = 0; j < abi->n_parameter && !options->n_none; j++)
        n_block += derivatives_has_block(abi, j);
    return n_block;
}

bool observer_init(struct observer *ob, const struct stiffit_model *abi, const struct ode_options *options)
{
    size_t n = abi->n_state, n_parameter = abi->n_parameter + options->n_none, n_observable = abi->n_observable;
    ob->abi = abi;
    ob->options = *options;
    ob->max_step = fmin(options->max_step > 0 ? options->max_step : INFINITY, abi->max_step > 0 ? abi->max_step : INFINITY);
    ob->n_state = n;
    ob->block_parameter = calloc(n_parameter + 1, sizeof *ob->block_parameter);
    ob->block_rhs = calloc(n_parameter + 1, sizeof *ob->block_rhs);
    ob->sens_block = calloc(n_parameter + 1, sizeof *ob->sens_block);
    ob->block_unit = new_array(n_parameter, 1);
    ob->variant_sens = calloc(n_parameter + 1, sizeof *ob->variant_sens);
    ob->variant_p = new_array(abi->n_parameter, 1);
    ob->sizes = new_array(3 * n + 1, 1);
    ob->tolerance_beyond = new_array(n, 1);
    ob->born = new_array(n, 1);
    ob->reach = new_array(n, 1);
    ob->noise = new_array(n, 1);
    ob->reach_scratch = new_array(n, 9);
    ob->jacobian = !abi->jacobian && abi->jacobian_sparse ? new_array(abi->n_nonzero, 1) : new_array(n, n);
    ob->is_at_rest = calloc(2 * n + 1, sizeof *ob->is_at_rest);
    ob->is_idle = ob->is_at_rest ? ob->is_at_rest + n : NULL;
    ob->seen = new_array(n, 2 + observer_most_blocks(abi, options));
    ob->f = new_array(n, 1);
    ob->columns = new_array(n, n_parameter);
    ob->h = new_array(n_observable, 1);
    ob->h_state = new_array(n_observable, n);
    ob->term = calloc(n_observable * n + 1, sizeof *ob->term);
    ob->h_parameter = new_array(n_observable, n_parameter);
    ob->h_row = new_array(n_observable, n_parameter);
    ob->is_wanted = calloc(n_observable + 1, sizeof *ob->is_wanted);
    ob->h_largest = new_array(n_observable, 1);
    ob->forcing = n && abi->n_forcing ? forcing_new(abi) : NULL;
    ob->positive = positive_new(n);
    ob->stops = stops_new(abi, observer_most_blocks(abi, options));
    bool complete = derivatives_init(&ob->model, abi) && ob->block_parameter && ob->block_rhs && ob->sens_block &&
                    ob->block_unit && ob->sizes && ob->tolerance_beyond && ob->born && ob->reach && ob->noise &&
                    ob->reach_scratch && ob->jacobian && ob->is_at_rest && ob->seen &&
                    ob->f && ob->columns && ob->h &&
                    ob->h_state && ob->term && ob->h_parameter && ob->h_row && ob->is_wanted && ob->h_largest &&
                    ob->positive && ob->stops && ob->variant_sens && ob->variant_p && (ob->forcing || !n || !abi->n_forcing);
    ob->model.sizes = ob->sizes;
    ob->model.piece = calloc((size_t)abi->n_input + 1, sizeof *ob->model.piece);
    return complete && ob->model.piece;
}

void observer_fini(struct observer *ob)
{
    forcing_free(ob->forcing);
    stops_free(ob->stops);
    free(ob->model.piece);
    positive_free(ob->positive);
    derivatives_fini(&ob->model);
    free(ob->block_parameter);
    free(ob->block_rhs);
    free(ob->sens_block);
    free(ob->block_unit);
    free(ob->variant_sens);
    free(ob->variant_p);
    free(ob->sizes);
    free(ob->tolerance_beyond);
    free(ob->born);
    free(ob->reach);
    free(ob->noise);
    free(ob->reach_scratch);
    free(ob->jacobian);
    free(ob->is_at_rest);
    free(ob->seen);
    free(ob->f);
    free(ob->columns);
    free(ob->h);
    free(ob->h_state);
    free(ob->term);
    free(ob->h_parameter);
    free(ob->h_row);
    free(ob->is_wanted);
    free(ob->h_largest);
}

void observer_begin(struct observer *ob, bool is_relative)
{
    struct evaluation *evaluation = ob->evaluation;
    ob->begins_anew = false;
    ob->i_time = ob->i_row = 0;
    memset(ob->h_largest, 0, ob->abi->n_observable * sizeof(double));
    ob->t = evaluation->t_reached = evaluation->task->t0;
    evaluation->crosses = false;
    ob->sens = evaluation->sens;
    ob->variant = EXPERIMENT_NONE;
    ob->has_stops = ode_has_stops(ob->abi, evaluation->task) &&
                    (!evaluation->adjoint || !ode_takes_adjoint(ob->abi, evaluation->task));
    tolerance_set(ob, is_relative);
}

/* The first phase in which a column has a parameter; n_phase + 1: none. */
static size_t first_phase(const struct evaluation *evaluation, size_t k)
{
    size_t phase = 0;
    while (phase <= evaluation->task->n_phase && evaluation->sens[k + phase * evaluation->n_sens] == ODE_NONE)
        phase++;
    return phase;
}

static bool is_given(const struct evaluation *evaluation, size_t n_state, size_t k)
{
    bool is_given = false;
    for (size_t i = 0; evaluation->begin && i < n_state; i++)
        is_given = is_given || evaluation->begin[i + (1 + k) * n_state] != 0;
    return is_given;
}

/* 1 / |p|; of what has no p, its effect on the initial state relative to that. Finite. */
static double unit_of_block(const struct observer *ob, size_t k, size_t phase)
{
    const struct evaluation *evaluation = ob->evaluation;
    double p = 0, effect = 1;
    if (phase <= evaluation->task->n_phase) {
        p = fabs(evaluation->p[evaluation->sens[k + phase * evaluation->n_sens] + phase * ob->abi->n_parameter]);
    } else {
        effect = 0;
        for (size_t i = 0; i < ob->n_state; i++) {
            p = fmax(p, fabs(evaluation->begin[i]));
            effect = fmax(effect, fabs(evaluation->begin[i + (1 + k) * ob->n_state]));
        }
    }
    return p > 0 && effect > 0 ? fmin(effect / p, DBL_MAX * DBL_EPSILON) : 1;
}

/* What the blocks have in this phase. */
static void set_block_parameters(struct observer *ob)
{
    for (size_t k = 0; k < ob->evaluation->n_sens && !ob->evaluation->adjoint; k++) {
        int32_t block = ob->sens_block[k];
        if (block < 0)
            continue;
        ob->block_parameter[block] = ob->sens[k];
        /* with rates of infusions */
        ob->block_rhs[block] = (derivatives_use(ob->abi, ob->sens[k]) & (STIFFIT_USE_RHS | STIFFIT_USE_EVENT)) != 0;
    }
}

void observer_choose_blocks(struct observer *ob)
{
    const struct evaluation *evaluation = ob->evaluation;
    size_t n_block = 0;
    for (size_t k = 0; k < evaluation->n_sens && !evaluation->adjoint; k++) {
        size_t phase = first_phase(evaluation, k);
        bool has_own = phase <= evaluation->task->n_phase;
        uint32_t j = has_own ? evaluation->sens[k + phase * evaluation->n_sens] : ODE_NONE;
        ob->sens_block[k] = -1;
        if (ob->n_state == 0 || !(derivatives_has_block(ob->abi, j) || (evaluation->begin && has_own) ||
                                  is_given(evaluation, ob->n_state, k)))
            continue;
        ob->block_unit[n_block] = unit_of_block(ob, k, phase);
        ob->sens_block[k] = (int32_t)n_block++;
    }
    ob->n_block = n_block;
    set_block_parameters(ob);
}

bool observer_set_phase(struct observer *ob, size_t phase)
{
    const struct evaluation *evaluation = ob->evaluation;
    ob->sens = evaluation->sens + phase * evaluation->n_sens;
    ob->variant = EXPERIMENT_NONE;
    set_block_parameters(ob);
    return derivatives_set(&ob->model, evaluation->p + phase * ob->abi->n_parameter, evaluation->n_sens, ob->sens) ==
           STIFFIT_OK;
}

static uint32_t variant_of(const struct observer *ob, size_t row)
{
    const uint32_t *variant = ob->evaluation->task->row_variant;
    return variant ? variant[row] : EXPERIMENT_NONE;
}

bool observer_begin_variant(struct observer *ob, size_t row)
{
    const struct evaluation *evaluation = ob->evaluation;
    const struct ode_task *task = evaluation->task;
    uint32_t variant = variant_of(ob, row);
    size_t n_sens = evaluation->n_sens;
    if (variant == EXPERIMENT_NONE)
        return true;
    const double *p = ob->model.at.p;
    derivatives_swap(&ob->model);
    if (ob->variant != variant) {
        memcpy(ob->variant_p, p, ob->abi->n_parameter * sizeof *p);
        if (n_sens)
            memcpy(ob->variant_sens, ob->sens, n_sens * sizeof *ob->sens);
        for (size_t i = task->first_variant[variant]; i < task->first_variant[variant + 1]; i++) {
            uint32_t j = task->variant_parameter[i];
            ob->variant_p[j] = evaluation->own[i];
            for (size_t k = 0; k < n_sens; k++)
                if (ob->variant_sens[k] == j)
                    ob->variant_sens[k] = ODE_NONE;
            if (n_sens && evaluation->own_sens[i] != ODE_NONE)
                ob->variant_sens[evaluation->own_sens[i]] = j;
        }
        ob->variant = EXPERIMENT_NONE;
        if (derivatives_set(&ob->model, ob->variant_p, n_sens, ob->variant_sens) != STIFFIT_OK) {
            derivatives_swap(&ob->model);
            return false;
        }
        ob->variant = variant;
    }
    ob->phase_sens = ob->sens;
    ob->sens = ob->variant_sens;
    return true;
}

void observer_end_variant(struct observer *ob, size_t row)
{
    if (variant_of(ob, row) == EXPERIMENT_NONE)
        return;
    derivatives_swap(&ob->model);
    ob->sens = ob->phase_sens;
}

int observer_initial(struct observer *ob, double *y)
{
    size_t n = ob->n_state;
    int code = derivatives_initial(&ob->model, y);
    if (code != STIFFIT_OK || ob->n_block == 0)
        return code;
    code = derivatives_initial_parameter(&ob->model, ob->columns);
    for (size_t k = 0; k < ob->n_block && code == STIFFIT_OK; k++) {
        uint32_t j = ob->block_parameter[k];
        if (derivatives_use(ob->abi, j) & STIFFIT_USE_INITIAL)
            memcpy(y + (k + 1) * n, ob->columns + (size_t)j * n, n * sizeof(double));
        else
            memset(y + (k + 1) * n, 0, n * sizeof(double));
    }
    return code;
}

void observer_begin_given(struct observer *ob, double *y)
{
    const struct evaluation *evaluation = ob->evaluation;
    size_t n = ob->n_state;
    for (size_t i = 0; evaluation->begin && i < n; i++) {
        y[i] = evaluation->begin[i];
        for (size_t k = 0; k < evaluation->n_sens && !ob->pace; k++)
            if (ob->sens_block[k] >= 0)
                y[i + (size_t)(1 + ob->sens_block[k]) * n] = evaluation->begin[i + (1 + k) * n];
    }
}

/* Gives back the state at the last time and its derivatives. */
static void give_end(const struct observer *ob, const double *y)
{
    const struct evaluation *evaluation = ob->evaluation;
    size_t n = ob->n_state;
    memcpy(evaluation->end, y, n * sizeof *y);
    for (size_t k = 0; k < evaluation->n_sens; k++) {
        double *column = evaluation->end + (1 + k) * n;
        if (ob->sens_block[k] < 0)
            memset(column, 0, n * sizeof *y);
        else
            memcpy(column, y + (size_t)(1 + ob->sens_block[k]) * n, n * sizeof *y);
    }
}

bool observer_answer(struct observer *ob, const double *y, bool initial)
{
    const double *seen = y;
    if (ob->n_block && !ob->pace)
        seen = tolerance_drop_vanished(ob, y, ob->seen);
    bool good = observation_fill(ob, ob->i_time, seen);
    if (ob->evaluation->end && ob->n_state && ob->i_time + 1 == ob->evaluation->task->n_time)
        give_end(ob, y);
    bool relative = initial || ob->atol > 0 || ob->is_relative;
    ob->begins_anew = !relative && (!good || observation_asks_relative(ob, ob->i_time, y));
    return good || ob->begins_anew;
}

bool observer_answer_until(struct observer *ob, double t, int side, const double *y, bool initial)
{
    const struct ode_task *task = ob->evaluation->task;
    for (; ob->i_time < task->n_time && !ob->begins_anew; ob->i_time += !ob->begins_anew) {
        int own_side = task->time_side ? task->time_side[ob->i_time] : 0;
        if (task->time[ob->i_time] > t || (task->time[ob->i_time] == t && own_side > side))
            return true;
        if (!observer_answer(ob, y, initial))
            return observer_fail(ob);
    }
    return ob->begins_anew || observer_finish(ob, EVALUATION_OK);
}

bool observer_finish(struct observer *ob, enum evaluation_outcome outcome)
{
    struct evaluation *evaluation = ob->evaluation;
    evaluation->outcome = outcome;
    evaluation->n_rhs = ob->model.n_rhs;
    evaluation->n_jacobian = ob->model.n_jacobian;
    evaluation->n_factor = ob->n_factor;
    if (outcome == EVALUATION_OK)
        evaluation->reason[0] = '\0';
    return false;
}

bool observer_fail(struct observer *ob)
{
    const struct model_failure *failure = &ob->model.failure;
    const char *what = failure->fatal ? "gave up" : failure->not_finite ? "gave numbers that are not finite" : "failed";
    snprintf(ob->evaluation->reason, sizeof ob->evaluation->reason, "the model's %s %s at t = %.6g",
             failure->where ? failure->where : "function", what, failure->t);
    return observer_finish(ob, EVALUATION_MODEL_FAILED);
}

bool observer_stop(struct observer *ob, enum evaluation_outcome outcome, const char *why)
{
    struct evaluation *evaluation = ob->evaluation;
    snprintf(evaluation->reason, sizeof evaluation->reason, "%s at t = %.6g", why, evaluation->t_reached);
    return observer_finish(ob, outcome);
}

bool observer_stop_integrator(struct observer *ob, const char *why)
{
    struct evaluation *evaluation = ob->evaluation;
    snprintf(evaluation->reason, sizeof evaluation->reason, "%s at t = %.6g%s", why, evaluation->t_reached,
             ob->atol > 0 ? "" : "; if tiny states are the cause, --atol helps");
    return observer_finish(ob, EVALUATION_ODE_FAILED);
}

bool observer_spent(struct observer *ob)
{
    return observer_stop(ob, EVALUATION_BUDGET,
                         stops_await_steady_state(ob) ? "no steady state within the budget of integrator steps"
                                                      : "the budget of integrator steps is used up");
}

bool observer_fall(struct observer *ob, size_t state)
{
    struct evaluation *evaluation = ob->evaluation;
    snprintf(evaluation->reason, sizeof evaluation->reason, "%s crosses zero downwards at t = %.6g, where its slope is not "
                                                            "negative: a pole there is too close to zero for rtol and atol",
             ob->abi->state_name[state], evaluation->t_reached);
    return observer_finish(ob, EVALUATION_ODE_FAILED);
}
