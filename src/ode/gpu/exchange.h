/* What goes between an evaluation on the host and its record on the device.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/gpu/record.h"
#include "ode/lanes/lane.h"

struct exchange {
    const struct record *record;
    size_t n_column, n_row; /* of the records */
    bool has_doses;     /* they have */
    struct lane *lane;  /* with which evaluations begin */
    bool is_own;        /* it is of this evaluation alone, which has begun in it */
};

/* A whole number in a record. */
int64_t exchange_long(const double *record, size_t place);
/* Writes the input of a record: the evaluation with which lane_start has begun, as lanes take it
 * in. turned: it is to change the method. */
void exchange_put(const struct exchange *exchange, bool turned, double *to);
/* The calls of the model and factorizations that a device has made. head: of the record. */
struct exchange_calls {
    int64_t n_rhs, n_jacobian, n_factor;
};
struct exchange_calls exchange_count(const struct record *record, const double *head);
struct evaluation_course exchange_course(const struct record *record, const double *head);
/* Rows first <= i < last of the evaluation: */
struct exchange_rows {
    struct evaluation *evaluation;
    size_t first, last;
};
/* Answers them from the device's answer; the lane has begun the evaluation, if these are not
 * simple. False: something is not finite, or some rows ask for relative tolerances, with which the
 * evaluation must begin again. */
bool exchange_answer(const struct exchange *exchange, struct exchange_rows rows,
                     const double *answer);
/* The lane has begun the evaluation, and has reached a stop: takes its state back. record: its
 * input. */
void exchange_resume(const struct exchange *exchange, const double *record);
/* Estimates the reach of states anew, as a lane does after a measurement; the lane has begun the
 * evaluation. record: its input. */
void exchange_look(const struct exchange *exchange, double *record);
