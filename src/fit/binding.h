/* What the parameters of the model are in an experiment: in each of its phases, and in rows with parameters of their own.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "ode/evaluation.h"

#include <stiffit/model.h>

#define FIT_NO_MODEL UINT32_MAX
#define FIT_NO_COLUMN UINT32_MAX

struct fit_binding {
    size_t n_model, n_part; /* parameters of the model; 1 + task.n_phase */
    size_t n_own;           /* ode_task_n_own */
    uint32_t *from;         /* n_part x n_model, then n_own: index in p; EXPERIMENT_NUMBER: a number */
    double *number;         /* as many */
    /* The wanted derivatives: pairs of a parameter of the model and a column, in this order; those of the first phase first. */
    size_t n_sens;
    uint32_t *sens;         /* n_part x n_sens: evaluation.sens */
    uint32_t *column;       /* n_sens; or NULL, see fit_map */
    uint32_t *own_sens;     /* n_own: evaluation.own_sens */
    size_t offset;          /* of its numbers in fit_map_model */
};

/* to_model[i]: the model's index of fit parameter i, or FIT_NO_MODEL; column_of[i]: the column of its derivatives, or
 * FIT_NO_COLUMN. `task` has the phases and variants of these substitutes (ode_task_substitute). Arrays from `arena`. False:
 * out of memory. */
bool fit_binding_init(struct fit_binding *binding, const struct stiffit_model *model, size_t n_parameter,
                      const uint32_t *to_model, const uint32_t *column_of, const struct ode_task *task,
                      size_t n_substitute, const struct substitute *substitute, struct arena *arena);
/* Its numbers are evaluation.p, followed by evaluation.own. */
static inline size_t fit_binding_n_number(const struct fit_binding *binding)
{
    return binding->n_part * binding->n_model + binding->n_own;
}
/* p: all fit parameters. */
void fit_binding_numbers(const struct fit_binding *binding, const double *p, double *number);
/* Sets p, own and own_sens, without copying. */
static inline void fit_binding_set(const struct fit_binding *binding, const double *number, struct evaluation *evaluation)
{
    evaluation->p = number;
    evaluation->own = number + binding->n_part * binding->n_model;
    evaluation->own_sens = binding->own_sens;
}
/* The model's parameters at the beginning of an experiment, without a binding: n_parameter of the model. */
void fit_model_parameters(const struct stiffit_model *model, size_t n_parameter, const uint32_t *to_model, const double *p,
                          size_t n_substitute, const struct substitute *substitute, double *of_model);
