/* A window that moves over /measurements. Internal to the problem reader.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/problem.h"

/* Measurements [first, first + n) in memory; `next` is the next one to be taken. */
struct problem_window {
    uint64_t first, next;
    size_t n;
    uint64_t checked;   /* rows before this one have been checked for faults of the file */
    int64_t *dataset;   /* -1: out of range or out of order; skipped */
    struct problem_cells { /* of a column; NULL: the file has none, or it is not used */
        double *real;
        int64_t *whole;
    } cells[N_MEASUREMENT];
};

/* What is known of a block's rows beside the rows. */
struct problem_room {
    size_t row;          /* the number of measurements that fit */
    uint64_t *first_row; /* row in the file of each dataset's first measurement */
};

enum status problem_window_init(struct problem *problem, struct error *error);
/* Makes room for `more` rows after the `used` ones of the block. */
enum status problem_reserve_rows(const struct problem *problem, struct problem_block *block, size_t used, size_t more,
                                 struct error *error);
/* Moves to `row`, the beginning of dataset `dataset` or a later one. */
void problem_window_seek(struct problem *problem, uint64_t row);
/* Appends all rows of `dataset` to the block; false in *fits (and nothing appended) if it would exceed max_row and
 * is not the block's first. */
enum status problem_take_rows(struct problem *problem, struct problem_block *block, uint64_t dataset, size_t max_row,
                              bool *fits, struct error *error);
/* Skips all rows of `dataset`. */
enum status problem_skip_rows(struct problem *problem, uint64_t dataset, struct error *error);
