/* The mapping between fit parameters and model parameters. theta: the free ones only, each on the optimiser's scale, in
 * the order of the model. p: all of them, natural scale, in the order of the model.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_MAP_H
#define FIT_MAP_H

#include "base/arena.h"
#include "base/outcome.h"
#include "fit/fit.h"

#include <stdbool.h>

struct fit_map {
    size_t n_model;         /* length of p */
    size_t n_free;          /* length of theta */
    uint32_t *model_index;  /* n_free, increasing: what an evaluation calls sens */
    uint32_t *file_index;   /* n_free */
    enum parameter_scale *scale;                  /* n_free */
    double *start, *lower, *upper;                /* n_free, optimiser's scale; the start lies within the bounds */
    double *natural_start, *natural_lower, *natural_upper; /* n_free, as given (the start clipped) */
    double *base;           /* n_model: every parameter at its (clipped) start */
};

/* Fills `map` with arrays from `arena`. A parameter is free unless it is fixed or its bounds coincide. Starts outside
 * the bounds are moved onto them and NOTE_start_moved is set in *notes. OUTCOME_converged stands for success;
 * OUTCOME_bad_data (with `reason`, 160 characters) where start or bounds make no sense; OUTCOME_out_of_memory. */
enum outcome fit_map_init(struct fit_map *map, const struct fit_problem *problem, struct arena *arena, uint32_t *notes,
                          char *reason);

/* theta -> p. The start and the bounds give back the very natural numbers they were made from, and p never leaves its
 * bounds. False if an entry is not finite, or is zero on a logarithmic scale. */
bool fit_map_natural(const struct fit_map *map, const double *theta, double *p);
/* chain[j] = d p[model_index[j]] / d theta[j]. */
void fit_map_chain(const struct fit_map *map, const double *p, double *chain);

/* A natural unit of parameter j around theta, optimiser's scale: of a logarithm, a factor e; else the larger of |theta| and
 * |start|, which may be 0. */
double fit_map_size(const struct fit_map *map, size_t j, double theta);

/* One value to the optimiser's scale: log of a number <= 0 is -infinity; of +infinity, +infinity. */
double fit_scale_from_natural(enum parameter_scale scale, double natural);
double fit_scale_to_natural(enum parameter_scale scale, double value);

#endif
