/* A fitted dataset as one draws it: its measurements with error bars and residuals, and the
 * curves of its experiments on a fine grid. Plots and reports use it.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "use/fitted.h"

/* low, high: a sigma below and above the value, for log-normal errors a factor of exp(sigma);
 * NaN: no sigma is known; the ends of the interval that a censored one lies in. residual:
 * divided by sigma or, where none is known, by the fit's residual error; NaN: censored, or there
 * is no prediction. */
struct curve_point {
    double time, value, low, high, prediction, residual;
    int8_t censored;
    uint32_t observable; /* the model's */
};

struct curve {
    const char *experiment;    /* "" in a file without experiments */
    size_t n_point;
    struct curve_point *point; /* in order of time */
    size_t n_time;             /* 0: it cannot be computed */
    double *time;              /* two equal times at a jump */
    double *value;             /* n_time for each shown observable; NaN: none */
};

/* Zero-initialise. Everything is valid until the next call. */
struct curves {
    struct arena arena;
    const char *id;
    const struct fit_record *record;
    size_t n_curve;
    struct curve *curve;      /* one for each experiment */
    size_t n_shown;
    /* the observables that were measured, or all if none was; the model's */
    uint32_t *shown;
    /* most measurements are near the beginning: a logarithmic axis of time */
    bool is_log;
    uint64_t n_steady;        /* measurements of the steady state, which have no point */
    char reason[160];         /* why there are no curves, or "" */
};

/* n_grid: times besides those of measurements, doses and events, at least 2; 0: points alone,
 * without curves. */
enum status curves_make(struct curves *curves, struct fitted *fitted,
                        const struct fitted_dataset *dataset, size_t n_grid, struct error *error);
void curves_fini(struct curves *curves);
