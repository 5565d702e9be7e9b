/* What the evaluation of a dataset at the best point says of it. Separate from the statistics,
 * which are computed from this alone: in a fit of many datasets, when none can be evaluated any
 * more.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/statistics/flat.h"

/* Parameters are the n free ones of the dataset, in the order of its map. */
struct fit_findings {
    size_t n;
    double n_row;             /* measurements */
    struct fit_criteria criteria;
    /* The log of the priors' density between the bounds, of the parameters that have one; NaN: none
     * has. Beyond the bounds, where only evaluations are, the density is 0. */
    double log_prior;
    bool has_prior;           /* some parameter has a prior */
    bool has_rows;            /* the point has the derivatives of all residuals */
    bool is_sigma_known;
    /* The fit can be judged by its residuals (fit/objective/goodness.h): errors are normal or
     * log-normal, and no row is censored. Not asked of the rest: robust losses are chosen for data
     * that do not follow the curve, and censored rows have no residual. */
    bool can_test;
    bool has_excess;          /* observed and expected information differ */
    double size;              /* fit_point_size */
    /* fit_spectrum_unit.error; fit_asker_accuracy; as in struct fit_asker */
    double error, accuracy, prediction_error;
    size_t n_censored;        /* rows of fit_findings_arrays.censored */
    size_t n_more;            /* numbers that the caller adds */
    double *memory;           /* of the arrays */
};

struct fit_findings_arrays {
    double *theta, *size, *lower, *upper; /* n: as in struct fit_map */
    double *moves;            /* n: what each parameter moves at any measurement, bits of these */
    double *beyond;           /* n: squares as fit_spectrum.beyond, the caller's to write */
    double *excess;           /* n x n, if it has one: fit_objective_excess */
    struct fit_censored censored;
    double *more;             /* n_more */
};
enum { MOVES_PREDICTION = 1, MOVES_NOISE = 2 };

/* Everything but n_more, memory and the arrays. The point has the derivatives of all residuals, or
 * the arrays cannot be filled. */
struct fit_findings fit_findings_begin(const struct fit_asker *asker,
                                       const struct fit_point *point);
/* Where the arrays are in memory, which may be NULL; returns how many numbers they are. */
size_t fit_findings_arrays(const struct fit_findings *findings, struct fit_findings_arrays *arrays);
/* Writes the arrays, once there is memory. */
void fit_findings_fill(const struct fit_findings *findings, const struct fit_asker *asker,
                       const struct fit_point *point);

/* What is known of a parameter: sums over the datasets that depend on it. */
struct fit_influence {
    double squares;           /* of the length of its column of the information's rows */
    double beyond;            /* fit_findings_arrays.beyond */
    double error;             /* squares of fit_findings.error */
    double n_row;             /* measurements */
    /* datasets, and those of them in which it moves a prediction, or the noise */
    double n_dataset, n_prediction, n_noise;
    double slope;             /* the objective's derivative at the best point */
};
/* Of one dataset, with its arrays, but for squares and slope. */
struct fit_influence fit_findings_influence(const struct fit_findings *findings,
                                            const struct fit_findings_arrays *arrays, size_t j);
/* Whether it affects only the noise. */
static inline bool fit_influence_is_noise(const struct fit_influence *column)
{
    return column->n_noise > 0 && column->n_prediction == 0;
}
/* The length of the column of parameter j of a map, at theta; 0: it has no influence. */
double fit_influence_length(const struct fit_influence *column, const struct fit_map *map, size_t j,
                         double theta);
