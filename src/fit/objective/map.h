/* The mapping from theta to fit parameters, and from these to the model's parameters in each
 * experiment, with its chain rule. theta: the free ones, on the optimiser's scale, in the
 * model's order; those without a parameter of the model of the same name come last. p: all fit
 * parameters, on the natural scale, in the file's order.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "base/outcome.h"
#include "fit/objective/types.h"

#define FIT_NO_COLUMN UINT32_MAX

/* What the parameters of the model are in an experiment: in each of its phases, and in rows with
 * parameters of their own. */
struct fit_binding {
    size_t n_model, n_part; /* parameters of the model; 1 + task.n_phase */
    size_t n_own;           /* ode_task_n_own */
    uint32_t *from;         /* n_part x n_model, then n_own: index in p; EXPERIMENT_NUMBER: a
                             * number */
    double *number;         /* as many */
    /* The wanted derivatives: pairs of a parameter of the model and a column, in this order;
     * those of the first phase first. */
    size_t n_sens;
    uint32_t *sens;         /* n_part x n_sens: evaluation.sens */
    uint32_t *column;       /* n_sens; or NULL, see struct fit_map */
    uint32_t *own_sens;     /* n_own: evaluation.own_sens */
    size_t offset;          /* of its numbers in fit_map_model */
};

/* to_model[i]: the model's index of fit parameter i, or FIT_NO_MODEL; column_of[i]: the column
 * of its derivatives, or FIT_NO_COLUMN. `task` has the phases and variants of these substitutes
 * (ode_task_substitute). Arrays from `arena`. False: out of memory. */
bool fit_binding_init(struct fit_binding *binding, const struct stiffit_model *model,
                      size_t n_parameter, const uint32_t *to_model, const uint32_t *column_of,
                      const struct ode_task *task, struct arena *arena);
/* Its numbers are evaluation.p, followed by evaluation.own. */
static inline size_t fit_binding_n_number(const struct fit_binding *binding)
{
    return binding->n_part * binding->n_model + binding->n_own;
}
/* p: all fit parameters. */
void fit_binding_numbers(const struct fit_binding *binding, const double *p, double *number);
/* Sets p, own and own_sens, without copying. */
static inline void fit_binding_set(const struct fit_binding *binding, const double *number,
                                   struct evaluation *evaluation)
{
    evaluation->p = number;
    evaluation->own = number + binding->n_part * binding->n_model;
    evaluation->own_sens = binding->own_sens;
}
/* The model's parameters at the beginning of an experiment, without a binding: n_parameter of
 * the model. */
void fit_model_parameters(const struct stiffit_model *model, size_t n_parameter,
                          const uint32_t *to_model, const double *p, size_t n_substitute,
                          const struct substitute *substitute, double *of_model);

struct fit_map {
    size_t n_model, n_parameter; /* parameters of the model; length of p */
    size_t n_free;          /* length of theta */
    /* n_free, increasing; n_model + file_index if the model has none of this name */
    uint32_t *model_index;
    uint32_t *file_index;   /* n_free */
    size_t n_binding;          /* 1: the same in all experiments; or one for each */
    struct fit_binding *binding;  /* column NULL: sens[j] is theta[j] for all n_free */
    const bool *is_wanted;  /* n_free: evaluations have derivatives by these, and others are 0; or
                             * NULL: by all */
    size_t n_of_model;      /* numbers of all bindings */
    enum parameter_scale *scale;                  /* n_free */
    /* n_free, optimiser's scale; the start lies within the bounds */
    double *start, *lower, *upper;
    /* n_free: on a linear scale what is known of the size, |start| or where a leap led
     * (fit/search/leap.h) */
    double *size;
    /* n_free, as given (the start clipped) */
    double *natural_start, *natural_lower, *natural_upper;
    double *base;           /* n_parameter: every parameter at its (clipped) start */
};

/* Its bindings, with columns of those free parameters alone that are wanted (n_free, or NULL: of
 * all). NULL: out of memory. */
struct fit_binding *fit_map_bindings(const struct fit_map *map, const struct fit_problem *problem,
                                     const bool *is_wanted, struct arena *arena);

static inline const struct fit_binding *fit_map_binding(const struct fit_map *map,
                                                        size_t experiment)
{
    return &map->binding[map->n_binding > 1 ? experiment : 0];
}

/* Fills `map` with arrays from `arena`. A parameter is free unless it is fixed or its bounds
 * coincide. Starts outside the bounds are moved onto them and NOTE_start_moved is set in *notes;
 * or, `keeps_starts`, the bounds are moved to them. Returns OUTCOME_converged for success;
 * OUTCOME_bad_data, with `reason` (160 characters), if start or bounds make no sense; or
 * OUTCOME_out_of_memory. */
enum outcome fit_map_init(struct fit_map *map, const struct fit_problem *problem, bool keeps_starts,
                          struct arena *arena, uint32_t *notes, char *reason);

/* theta -> p. The start and the bounds map back to exactly the natural numbers from which they
 * were computed, and p never leaves its bounds. False if an entry is not finite, or is zero on a
 * logarithmic scale. */
bool fit_map_natural(const struct fit_map *map, const double *theta, double *p);
/* at_bound[file_index[j]]: -1 or 1 where p is at a bound or beyond it, otherwise 0. */
void fit_map_at_bound(const struct fit_map *map, const double *p, int8_t *at_bound);
/* chain[j] = d p[file_index[j]] / d theta[j]. */
void fit_map_chain(const struct fit_map *map, const double *p, double *chain);
/* p -> the model's parameters: n_of_model, by binding. */
void fit_map_model(const struct fit_map *map, const double *p, double *of_model);
/* theta -> the model's parameters, with theta moved in each experiment: by, n_binding x n_free,
 * where there is a binding for each. Scratch: moved (n_free), p (n_parameter). False: as
 * fit_map_natural. */
bool fit_map_model_by(const struct fit_map *map, const double *theta, const double *by,
                      double *moved, double *p, double *of_model);

/* A natural unit of parameter j around theta, on the optimiser's scale: a factor e for a
 * logarithm, otherwise the larger of |theta| and the size that is known, which may be 0. */
double fit_map_size(const struct fit_map *map, size_t j, double theta);

/* Parameter j's value, on the optimiser's scale, moved into its bounds. */
static inline double fit_map_within(const struct fit_map *map, size_t j, double theta)
{
    return theta < map->lower[j] ? map->lower[j] : theta > map->upper[j] ? map->upper[j] : theta;
}

/* One value on the optimiser's scale; the logarithm of a number <= 0 is -infinity, and that of
 * +infinity is +infinity. */
double fit_scale_from_natural(enum parameter_scale scale, double natural);
double fit_scale_to_natural(enum parameter_scale scale, double value);
