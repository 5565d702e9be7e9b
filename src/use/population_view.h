/* What a population says of the measurements of a dataset: predictions at its mean and at the
 * dataset's own parameters, replicates drawn from it, and residuals that are standard normal
 * deviates if it describes them. Separate from what is made of these: tables, charts.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "use/population_draw.h"

/* Arrays are of the dataset's measurements, in the file's order; NaN: unknown. */
struct population_view {
    struct population_draw draw;
    size_t n_replicate;
    size_t n;              /* measurements of the dataset */
    double *typical;       /* predictions at the mean of the population */
    double *individual;    /* at the dataset's mode, with what each of its experiments adds */
    double *weighted;      /* residuals of these, in standard deviations of their errors */
    double *conditional;   /* residuals of the model linearised at the mode, uncorrelated */
    double *middle;        /* median of the replicates */
    /* the measurement; of a censored one a value beyond its limit, or within its interval */
    double *value;
    double *score;         /* normal deviate of the rank among the replicates */
    double *decorrelated;  /* score of measurements and replicates made uncorrelated */
    double *replicate;     /* n x n_replicate, those of a measurement side by side */
    size_t n_room;
};

/* Decorrelated scores need so many replicates for each measurement of a dataset: with fewer the
 * covariance of the replicates is too poor. */
enum { VIEW_REPLICATES_EACH = 8 };

/* `fitted` is open. STATUS_USAGE: its result has no population; the message begins with `who`.
 * Zero-initialise; population_view_fini is legal after a failure. */
enum status population_view_init(struct population_view *view, struct fitted *fitted,
                                 uint64_t seed, size_t n_replicate, const char *who,
                                 struct error *error);
void population_view_fini(struct population_view *view);
/* Computes all of a dataset without fault.
 *
 * conditional: (y - E) V^-1/2 with the symmetric square root, where the model is linearised at the
 * mode m of the random parameters: E = f(m) + G (mean - m), V = G C G' + S, with the covariance C
 * and the variances S of the errors at the mode (Hooker, Staatz & Karlsson 2007, Pharm. Res. 24,
 * 2187; S at the mode as NONMEM's CWRESI).
 * score: normal deviate of (rank + 1/2) / (replicates + 1), with ties halved. A censored value has
 * one that is drawn from those of the replicates beyond its limit, or in its interval (Nguyen,
 * Comets & Mentre 2012, J. Pharmacokinet. Pharmacodyn. 39, 499).
 * decorrelated: L^-1 (y - mean) of measurements and replicates, where LL' is the replicates'
 * covariance (Brendel, Comets et al. 2006, Pharm. Res. 23, 2036; Comets et al. 2008). */
enum status population_view_dataset(struct population_view *view, const struct fitted_dataset *data,
                                    struct error *error);
/* Drops NaN and sorts; returns how many numbers are left. */
size_t view_sort(double *number, size_t n);
/* Of n sorted numbers, linear between them, as NumPy's; NaN: there are none. */
double view_quantile(const double *sorted, size_t n, double share);
