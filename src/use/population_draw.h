/* Draws new datasets of a population: random parameters, and measurements at the times of a
 * result's datasets.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/result/population.h"
#include "use/fitted.h"

struct population_draw {
    struct fitted *fitted;
    const struct result_population *population;
    uint64_t seed;
    struct arena arena;          /* of all but what is of a dataset's measurements */
    double *factor;              /* r x r, column-major: lower, of the covariance */
    double *deviate;             /* r */
    size_t *random, *shared;     /* r, s: the file's parameters */
    double *p, *start;           /* n_parameter: the drawn ones, and the typical ones */
    uint8_t *fixed;              /* n_parameter: of the dataset */
    double *value, *prediction, *noise; /* n_room: of a dataset's measurements */
    size_t n_room, n_lost;       /* n_lost: values that the model could not give */
    size_t n_experiment;         /* room of the next two */
    double *effect;              /* n_experiment x q: what experiments add, optimiser's scale */
    double *by_experiment;       /* n_experiment x n_parameter */
};

/* `fitted` is open. STATUS_USAGE: its result has no population; the message begins with `who`.
 * Zero-initialise; population_draw_fini is legal after a failure. */
enum status population_draw_init(struct population_draw *draw, struct fitted *fitted, uint64_t seed,
                                 const char *who, struct error *error);
void population_draw_fini(struct population_draw *draw);
/* Goes on to this dataset: sets `start` and `fixed`. */
enum status population_draw_dataset(struct population_draw *draw,
                                    const struct fitted_dataset *data, struct error *error);
/* Replicate k of this dataset, a function of the seed, the dataset and k: p and value. */
void population_draw_replicate(struct population_draw *draw, const struct fitted_dataset *data,
                               uint64_t k);
/* Predictions of all measurements at p (n_parameter), and the model's noise there; effect: what
 * each experiment adds to its parameters, as above, or NULL. False: the model cannot be simulated
 * there, and they are NaN. */
bool population_draw_predict(struct population_draw *draw, const struct fitted_dataset *data,
                             double *p, const double *effect);
/* The parameters of each experiment at p, with effects as above; NULL: they are p. Valid until the
 * next call of these functions. */
const double *population_draw_each(struct population_draw *draw, const struct fitted_dataset *data,
                                   const double *p, const double *effect);
/* Lower L (r x r, column-major, its upper triangle is left) with LL' = covariance; a variance of 0
 * has a row and column of zeros, and so has a direction in which there is no spread. */
void population_draw_factor(const double *covariance, size_t r, double *factor);

/* Of all measurements of the dataset, as in struct population_view: predictions at its mode,
 * weighted residuals there, and those of the model linearised there. After
 * population_draw_dataset. False: out of memory. */
bool population_mode_residuals(struct population_draw *draw, const struct fitted_dataset *data,
                               double *individual, double *weighted, double *conditional,
                               struct arena *arena);
