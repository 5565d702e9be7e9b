/* Which datasets of a result are fitted together: the unit of a likelihood-ratio test is a set of
 * datasets that is a fit, or several whole fits, in both results. A dataset's share of a fit over
 * many counts neither parameters nor degrees of freedom.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/id_table.h"
#include "io/result/result.h"
#include "run/plan/components.h"

/* The fits of a result, and at which level each of its parameters has a value. */
struct compare_fits {
    const struct result_info *info;
    bool is_joint;             /* some fit may be of several datasets; else the rest is unused */
    bool is_one;               /* all datasets are one fit, or it is not known which are */
    uint8_t *level;            /* of each parameter: 0 dataset, 1 all, 2 + c: the groups of c */
    size_t n_column;
    int *column;               /* its index among the columns of datasets */
    struct id_table *value;    /* of each column: the groups' values, numbered */
    uint32_t **group;          /* of each column: the group of each row */
    uint32_t n, capacity;      /* rows that were added */
    uint32_t *id;              /* of each row: its id's number, or ID_NONE */
    bool *is_in;               /* of each row: it belongs to a fit that has succeeded */
    struct components components; /* of the rows */
    uint32_t *row;             /* of each id: its row, or ID_NONE */
};

/* Reads from the result's identity what it shares. Zero-initialise; compare_fits_fini is always
 * legal. False, here and below: out of memory. */
bool compare_fits_init(struct compare_fits *fits, const struct result_info *info);
/* A row of the result. id: the number of its id; ID_NONE: the dataset is not looked at. */
bool compare_fits_add(struct compare_fits *fits, uint32_t id, const struct fit_record *record);
/* After the last row; n_id: of all results. */
bool compare_fits_end(struct compare_fits *fits, uint32_t n_id);
void compare_fits_fini(struct compare_fits *fits);

/* Whether `small` is `large` with restrictions: all its parameters are parameters of `large`,
 * which has more of them, or more values of some; and where `large` has one value for several
 * datasets, so has `small`. */
bool compare_fits_are_nested(const struct compare_fits *small, const struct compare_fits *large);

/* The smallest sets of datasets that are whole fits in both results. */
struct compare_sets {
    struct components set;     /* of the ids */
    bool *is_cut;              /* of each set: a fit has datasets that are not compared */
};
/* is_compared: of each id. compare_sets_fini is always legal. */
bool compare_sets_init(struct compare_sets *sets, const struct compare_fits *a,
                       const struct compare_fits *b, const bool *is_compared, uint32_t n_id);
void compare_sets_fini(struct compare_sets *sets);
