/* What a device holds of an evaluation: numbers of 8 bytes, floating or whole. Those that a
 * work-item for each evaluation reads and writes lie side by side for RECORD_GROUP evaluations,
 * as in lanes: neighbouring work-items then touch neighbouring numbers. Behind them, those of
 * columns follow, one evaluation after the other, column by column.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "model/lanes_plan.h"
#include "ode/lanes/method.h"

#include <stdio.h>

/* LIVE: attempts are made. DONE: all rows are answered. UNCERTAIN: the host must estimate the
 * reach of states (tolerance.c); LOOKED: it has. STOPPED: the host must do what happens at this
 * time (stops.h). The rest is left to a CPU: a state went below
 * zero against its slope; the step size fell to rounding level; the budget of steps is used up;
 * a derivative is not finite. */
#define GPU_STATUS_LIST(X) \
    X(IDLE) X(LIVE) X(DONE) X(UNCERTAIN) X(LOOKED) X(STOPPED) X(FELL) X(FAILED) X(SPENT) \
    X(ODD)
#define GPU_STATUS(name) GPU_##name,
enum gpu_status { GPU_STATUS_LIST(GPU_STATUS) N_GPU_STATUS };

/* As many as run in step on GPUs; also the work-items of a group. */
enum { RECORD_GROUP = 32 };

/* Sizes of a program's records. */
struct record_size {
    size_t n_column, n_time, n_row; /* the most of an evaluation */
    bool has_doses;
    bool has_states; /* at measurements, from which the host answers rows of some evaluations */
};

/* The members of struct lanes_bank on a device, with the names that they have in ode/lanes/bank.h
 * where files step_*.h use them: ONE(type, name), MANY(type, name, numbers), and ROWS(type, name,
 * rows, numbers); OPEN and CLOSE(name) make a struct of what is between them. Sizes are n
 * (states), n_column, ... of the program. Of rows, seen, excess and derivative are by kind:
 * observables, then noise (model/lanes_plan.h). */
#define RECORD_HEAD(ONE, MANY, ROWS, OPEN, CLOSE) \
    ONE(long, status) ONE(double, t) ONE(long, method) ONE(long, is_stiff) \
    ONE(double, stiff_from) ONE(long, n_explicit) ONE(long, n_implicit) ONE(long, n_rhs) \
    ONE(long, n_jacobian) \
    OPEN ONE(long, n_step) ONE(long, n_attempt) ONE(long, max_steps) ONE(long, n_sign) \
    ONE(long, patience) ONE(long, rejected) ONE(long, trouble) ONE(double, by_accepted) \
    ONE(double, by_inside) ONE(double, log_h) ONE(double, log_error) ONE(double, t_turn) \
    ONE(double, t_calm) CLOSE(control)
#define RECORD_INPUT(ONE, MANY, ROWS, OPEN, CLOSE) \
    ONE(long, n_column) ONE(long, i_time) ONE(long, n_time) ONE(long, flip) ONE(long, turned) \
    ONE(long, fresh) ONE(long, grows) ONE(long, by_host) ONE(long, patience_back) \
    ONE(double, t0) ONE(double, h) ONE(double, t_stop) ONE(double, next_stop) ONE(double, longest) \
    MANY(double, accepted, N_METHOD) MANY(double, part_of, N_METHOD) \
    OPEN ONE(double, since) ONE(double, until) ONE(long, infused) \
    MANY(double, minus_rate, n_rate) MANY(double, input_since, n_input) \
    MANY(double, input_value, n_input) MANY(double, input_slope, n_input) CLOSE(outside) \
    MANY(double, p, n_parameter) MANY(double, covariate, n_covariate) MANY(double, work, n_work) \
    MANY(double, y, n) \
    OPEN ONE(double, rtol) ONE(double, fraction) ONE(double, at_rest) ONE(long, is_relative) \
    MANY(double, size, n) MANY(double, guess, n) MANY(double, beyond, n) MANY(double, born, n) \
    MANY(double, reach, n) MANY(double, noise, n) CLOSE(tolerance) \
    MANY(double, time, n_time) MANY(long, row_of, n_time + 1) MANY(long, observable, n_row)
#define RECORD_SCRATCH(ONE, MANY, ROWS, OPEN, CLOSE) \
    MANY(double, y_before, n) ONE(long, first_time) ONE(long, last_time) ONE(double, t_before) \
    ONE(double, h_used) ONE(double, t_next) ONE(double, t_later) ONE(double, t_part) \
    ONE(long, advanced) \
    OPEN ONE(double, base_t) ONE(double, t) ONE(double, h) ONE(double, end) ONE(long, cut) \
    ONE(long, good) ONE(long, safe) ONE(long, sign) ONE(long, ends) ONE(double, worst) \
    CLOSE(now) \
    OPEN ROWS(double, stage, METHOD_STAGES, n + 1) \
    ROWS(double, derived, METHOD_STAGES, n_derive + n_curve) \
    ROWS(double, entry, METHOD_STAGES, n_entry) MANY(double, factor, n_factor) \
    MANY(double, argument, n) MANY(double, base, n) MANY(double, right, n) \
    MANY(double, error, n) MANY(double, tolerance, n) MANY(double, factor_end, n_factor) \
    MANY(double, input, 2 * n_input) CLOSE(scratch) \
    ROWS(double, inside, n_time, n) ROWS(double, values, n_time, n_values)
#define RECORD_ANSWER(ONE, MANY, ROWS, OPEN, CLOSE) \
    ROWS(double, seen, n_kind, n_row) ROWS(double, excess, n_kind, n_row) \
    ROWS(double, at_time, n_shown, n) ROWS(double, size_at, n_shown, n) \
    ROWS(double, guess_at, n_shown, n) ROWS(double, beyond_at, n_shown, n)
/* Those of struct bank_columns. */
#define COLUMNS_INPUT(MANY, ROWS) \
    MANY(long, id, n_column) MANY(long, active, n_column) MANY(double, unit, n_column) \
    ROWS(double, sens, n, n_column) ROWS(double, minus_rate_of, n_rate, n_column)
#define COLUMNS_SCRATCH(MANY, ROWS) \
    MANY(double, most, n_column) MANY(double, finite, n_column) \
    ROWS(double, sens_other, n, n_column) ROWS(double, slope, n, n_column) \
    ROWS(double, slope_other, n, n_column) ROWS(double, stage, METHOD_STAGES * n, n_column)
#define COLUMNS_ANSWER(MANY, ROWS) \
    ROWS(double, derivative, n_kind * n_row, n_column) ROWS(double, sens_at, n_shown * n, n_column)

/* Parts of a record that are copied: numbers of the bank and of the columns. A copy holds the
 * former, then the latter. */
struct record_part {
    size_t first, n, first_of_columns, n_of_columns;
};

/* Where the numbers of the input and of the answer are in a copy of these. */
struct record {
#define NOTHING
#define NONE(name)
#define ONE(type, name) size_t name;
#define MANY(type, name, count) size_t name;
#define ROWS(type, name, rows, count) size_t name;
    RECORD_HEAD(ONE, MANY, ROWS, NOTHING, NONE)
    RECORD_INPUT(ONE, MANY, ROWS, NOTHING, NONE)
    RECORD_ANSWER(ONE, MANY, ROWS, NOTHING, NONE)
    COLUMNS_INPUT(MANY, ROWS)
    COLUMNS_ANSWER(MANY, ROWS)
#undef ONE
#undef MANY
#undef ROWS
    struct record_part head, input, answer;
    size_t n_bank, n_columns; /* numbers of an evaluation */
};
struct record record_of(const struct lanes_plan *plan, const struct record_size *size);
/* Numbers in a copy. */
static inline size_t record_copied(const struct record_part *part)
{
    return part->n + part->n_of_columns;
}

/* The numbers of the columns' entries of df/dp by state: n_id x n_state, -1: none. */
void record_entries(const struct lanes_plan *plan, size_t n_id, int16_t *entry);

/* A program's sizes and tables, and what follows the model's functions: linear algebra, in the
 * order of the plan's lists. */
void record_text(const struct lanes_plan *plan, const struct record_size *size, bool follows_sizes,
                 FILE *out);
void record_algebra(const struct lanes_plan *plan, FILE *out);
