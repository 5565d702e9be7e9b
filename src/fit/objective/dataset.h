/* The problem of one dataset, out of a block of datasets.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/objective/types.h"
#include "io/problem/block.h"

/* What the fits of all datasets have in common. Everything is const and the caller's. */
struct fit_setting {
    const struct model *model;
    const enum error_kind *error;       /* of each observable of the model */
    const struct fit_loss *loss;        /* of each observable of the model */
    bool mixes;                         /* as in base/error_kind.h */
    bool has_censored;                  /* some dataset has censored measurements */
    size_t n_parameter;
    const char *const *parameter_name;  /* n_parameter, the file's order; so are these: */
    const uint32_t *to_model;           /* as in struct fit_problem */
    const enum parameter_scale *scale;
    const struct fit_prior *prior;      /* NULL: none */
    double max_step;                    /* of the integrator; 0: none */
    uint64_t seed;
    uint32_t n_start;
};

/* Fills the problem of dataset `row` of the block, for its task `number`: a start, or a refit, of
 * which the block's start is the best fit. Copies what it needs into the arena, so that the block
 * may go. False: out of memory. */
bool dataset_problem(struct fit_problem *problem, const struct fit_setting *setting,
                     const struct problem_block *block, size_t row, uint32_t number,
                     struct arena *arena);
