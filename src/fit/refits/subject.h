/* What refits fit again: a best fit, of one dataset or of many that share parameters. Profiles
 * (fit/refits/profile.h) and bootstrap replicates (fit/refits/bootstrap.h) are sequential code over
 * a subject, whatever it is a fit of.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/objective/types.h"

/* A fit of n_copy datasets, each with n_parameter numbers in the file's order. Everything is
 * const and the caller's. */
struct fit_subject {
    size_t n_parameter, n_copy, n_row;    /* n_row: measurements of all datasets */
    /* n_copy x n_parameter, natural scale; start: the best fit */
    const double *start, *lower, *upper;
    const uint8_t *fixed;                 /* n_copy x n_parameter, or NULL */
    /* n_parameter: whether it has one value in all datasets. NULL: all have. */
    const uint8_t *is_common;
    const enum parameter_scale *scale;    /* n_parameter */
    const struct fit_prior *prior;        /* n_parameter, or NULL */
    bool has_open_unit;                   /* fit_unit_is_open */
    int64_t max_look;                     /* evaluations that suffice to describe the best fit */
    /* Fits from `start` with `fixed` held, which have the form of the arrays above, and with the
     * unit of fit/objective/unit.h, or 0. The record's arrays are those of the first dataset;
     * `end`, unless NULL, gets all parameters. An outcome of not_run: cancelled. */
    void (*fit)(void *context, const double *start, const uint8_t *fixed, double unit,
                const struct fit_options *options,
                double *end, struct fit_record *record);
    /* Later fits use the data of that bootstrap replicate. Adds its evaluations and steps
     * to the record. False: there are no such data; the record has the outcome and the reason. */
    bool (*draw)(void *context, const struct fit_options *options, uint32_t replicate,
                 struct fit_record *record);
    void *context;
};
