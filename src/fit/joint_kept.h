/* What a block of a fit over many datasets keeps of its last evaluation for the statistics.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/certificate.h"

/* What the last pass of a block leaves for the statistics; n own parameters and s above, n + s = all. */
struct joint_findings {
    struct fit_criteria criteria;
    double size, log_prior;   /* fit_point_size, fit_statistics_log_prior */
    double accuracy;          /* fit_asker_accuracy */
    bool can_test, has_prior; /* fit_statistics_can_test; some parameter has a prior, maybe in another block */
    bool has_information, has_excess;
    size_t n_censored;        /* rows of these arrays */
    double *memory;           /* of struct joint_arrays */
};
struct joint_arrays {
    double *theta, *size, *lower, *upper; /* all, in the model's order */
    double *beyond, *moves;   /* all, own ones first: squares as fit_spectrum.beyond, fit_statistics_moves */
    double *information, *rhs; /* all x all, all: as triangle, of the expected information; empty: the trial's */
    double *excess, *left;    /* all x all: fit_objective_excess; s x s: what eliminating the own parameters leaves of it */
    double *slope, *factor, *curvature; /* as in struct fit_censored, in the model's order */
};
