/* What goes between an evaluation on the host and its record on the device.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/gpu/record.h"
#include "ode/lanes/lane.h"

struct exchange {
    const struct record *record;
    size_t n_column;    /* of the records */
    struct lane *lane;  /* with which evaluations begin */
};

/* A whole number in a record. */
int64_t exchange_long(const double *record, size_t place);
/* Writes the input of a record: the evaluation with which lane_start has begun, as lanes take it
 * in. */
void exchange_put(const struct exchange *exchange, double *to);
/* Takes predictions and their derivatives from an answer. False: something is not finite. */
bool exchange_take_answer(const struct exchange *exchange, struct evaluation *evaluation,
                          size_t first_row, const double *answer);
/* After that: whether some rows ask for relative tolerances, with which the evaluation must
 * begin again. */
bool exchange_asks_relative(const struct exchange *exchange, struct evaluation *evaluation,
                            size_t first_row, const double *answer);
/* Estimates the reach of states anew, as a lane does after a measurement; the lane has begun the
 * evaluation. record: its input. */
void exchange_look(const struct exchange *exchange, double *record);
