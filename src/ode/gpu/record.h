/* What a device holds of an evaluation: numbers of 8 bytes, floating or whole, one record after
 * the other. The host writes the first ones, and reads the head and the answer.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "model/lanes_plan.h"
#include "ode/lanes/method.h"

#include <stdio.h>

/* LIVE: attempts are made. DONE: all rows are answered. UNCERTAIN: the host must estimate the
 * reach of states (tolerance.c); LOOKED: it has. The rest is left to a CPU: a state went below
 * zero against its slope; the step size fell to rounding level; the budget of steps is used up;
 * a derivative is not finite. */
#define GPU_STATUS_LIST(X) \
    X(IDLE) X(LIVE) X(DONE) X(UNCERTAIN) X(LOOKED) X(FELL) X(FAILED) X(SPENT) X(ODD)
#define GPU_STATUS(name) GPU_##name,
enum gpu_status { GPU_STATUS_LIST(GPU_STATUS) N_GPU_STATUS };

/* Sizes of a program's records. */
struct record_size {
    size_t n_column, n_time, n_row; /* the most of an evaluation */
};

/* X(name, numbers): names as in struct lanes_room and struct lane, with sizes N (states), NC
 * (columns), ... of the program. */
#define RECORD_HEAD(X) \
    X(status, 1) X(t, 1) X(is_stiff, 1) X(stiff_from, 1) X(n_step, 1) X(n_explicit, 1) \
    X(n_implicit, 1) X(n_attempt, 1) X(method, 1) X(n_rhs, 1) X(n_jacobian, 1)
#define RECORD_INPUT(X) \
    X(n_column, 1) X(i_time, 1) X(n_time, 1) X(flip, 1) X(turned, 1) X(fresh, 1) X(rejected, 1) \
    X(grows, 1) X(is_relative, 1) X(max_steps, 1) X(n_sign, 1) X(patience, 1) \
    X(patience_back, 1) X(trouble, 1) X(t0, 1) X(h, 1) X(t_stop, 1) X(longest, 1) X(since, 1) \
    X(until, 1) X(rtol, 1) X(fraction, 1) X(at_rest, 1) X(accepted_explicit, 1) X(by_inside, 1) \
    X(accepted_implicit, 1) X(log_h, 1) X(log_error, 1) X(t_turn, 1) X(t_calm, 1) \
    X(part_explicit, 1) X(part_implicit, 1) X(p, n_parameter) X(covariate, n_covariate) \
    X(work, n_work) X(y, n) X(size, n) X(guess, n) X(beyond, n) X(born, n) X(reach, n) X(noise, n) \
    X(time, n_time) X(row_of, n_time + 1) X(observable, n_row) X(id, n_column) X(active, n_column) \
    X(unit, n_column) X(sens, n * n_column)
#define RECORD_SCRATCH(X) \
    X(y_other, n) X(first_time, 1) X(last_time, 1) X(t_before, 1) X(h_used, 1) X(base_t, 1) \
    X(now_t, 1) X(now_h, 1) X(end, 1) X(cut, 1) X(good, 1) X(safe, 1) X(sign, 1) X(has_inside, 1) \
    X(worst, 1) X(slope, 2 * n) X(stage, METHOD_STAGES * (n + 1)) \
    X(derived, METHOD_STAGES * (n_derive + n_curve)) X(entry, METHOD_STAGES * n_entry) \
    X(factor, n_factor) X(argument, n) X(base, n) X(scratch, n) X(most, n_column) \
    X(finite, n_column) X(sens_other, n * n_column) X(sens_slope, 2 * n * n_column) \
    X(sens_stage, METHOD_STAGES * n * n_column) X(inside, n_time * n) \
    X(values, n_time * n_observe)
#define RECORD_ANSWER(X) X(prediction, n_row) X(excess, n_row) X(derivative, n_row * n_column)
#define RECORD_LIST(X) RECORD_HEAD(X) RECORD_INPUT(X) RECORD_SCRATCH(X) RECORD_ANSWER(X)

/* Where each of them is in a record; n_head, ...: where the parts end. */
struct record {
#define RECORD_FIELD(name, count) size_t name;
    RECORD_LIST(RECORD_FIELD)
#undef RECORD_FIELD
    size_t n_head, n_input, n_scratch, n_number;
};
struct record record_of(const struct lanes_plan *plan, const struct record_size *size);

/* The numbers of the columns' entries of df/dp by state: n_id x n_state, -1: none. */
void record_entries(const struct lanes_plan *plan, size_t n_id, int16_t *entry);

/* A program's sizes and tables, and what follows the model's functions: linear algebra, in the
 * order of the plan's lists. */
void record_text(const struct lanes_plan *plan, const struct record_size *size, bool follows_sizes,
                 FILE *out);
void record_algebra(const struct lanes_plan *plan, FILE *out);
