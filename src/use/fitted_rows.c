/* The rows of an experiment as they are predicted, and how its residuals counted in the fit. The
 * effects of experiments (occasions.c) are found with these, and then those of fitted_predict.c.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/fitted.h"

#include "fit/objective/map.h"
#include "ode/task.h"

#include <math.h>

/* The model's parameters in an experiment, and those that were free, as in the fit's
 * evaluations. False: out of memory. */
static bool fill_parameters(struct fitted *fitted, const struct fitted_dataset *dataset, size_t e,
                            struct predictor_rows *rows)
{
    const struct problem_block *block = dataset->block;
    struct arena *arena = &fitted->arena;
    size_t n = problem_n_parameter(fitted->problem);
    struct ode_task task = {.experiment = rows->experiment};
    struct fit_binding binding;
    uint32_t *column_of = arena_alloc(arena, (n + 1) * sizeof *column_of);
    for (size_t i = 0, k = dataset->row * n; column_of && i < n; i++, k++)
        column_of[i] =
            block->fixed[k] || !(block->lower[k] < block->upper[k]) ? FIT_NO_COLUMN : (uint32_t)i;
    if (!column_of ||
        !ode_task_substitute(&task, rows->n_measured, arena) ||
        !fit_binding_init(&binding, &fitted->model.abi, n, problem_to_model(fitted->problem),
                          column_of, &task, arena))
        return false;
    double *number = arena_alloc(arena, fit_binding_n_number(&binding) * sizeof *number);
    if (!number)
        return false;
    const double *p = dataset->by_experiment ? dataset->by_experiment + (e - dataset->first) * n
                                             : dataset->record->parameter;
    fit_binding_numbers(&binding, p, number);
    struct evaluation evaluation;
    fit_binding_set(&binding, number, &evaluation);
    rows->p = evaluation.p;
    rows->own = evaluation.own;
    rows->own_sens = evaluation.own_sens;
    rows->n_sens = binding.n_sens;
    rows->sens = binding.sens;
    rows->column = binding.column;
    rows->n_fitted = n;
    return true;
}

/* Whether another experiment begins at the steady state of experiment e. */
static bool goes_to_rest(const struct fitted_dataset *dataset, size_t e)
{
    for (size_t other = dataset->first; other < dataset->end; other++)
        if (dataset->block->experiment[other].steady == e - dataset->first)
            return true;
    return false;
}

static struct predictor_rows rows_of(struct fitted *fitted, const struct fitted_dataset *dataset,
                                     size_t e)
{
    const struct problem_block *block = dataset->block;
    size_t first = block->row[e], n = block->row[e + 1] - first;
    bool by_cvodes = dataset->record->notes & NOTE_changed_engine ||
                     dataset->record->gradient == GRADIENT_adjoint;
    struct predictor_rows rows = {.experiment = block->experiment[e],
                                  .goes_to_rest = goes_to_rest(dataset, e), .n = n, .n_measured = n,
                                  .measured = measurements_from(&block->measured, first),
                                  .error = problem_errors(fitted->problem),
                                  .rtol = dataset->record->rtol,
                                  .engine = by_cvodes ? ENGINE_REFERENCE : fitted->engine};
    if (!fill_parameters(fitted, dataset, e, &rows))
        rows.p = NULL;
    return rows;
}

struct predictor_rows fitted_rows_at(struct fitted *fitted, const struct fitted_dataset *dataset,
                                     size_t e)
{
    arena_reset(&fitted->arena);
    struct predictor_rows rows = rows_of(fitted, dataset, e);
    if (rows.experiment.steady != EXPERIMENT_NONE) {
        fitted->before = rows_of(fitted, dataset, dataset->first + rows.experiment.steady);
        rows.before = &fitted->before;
    }
    return rows;
}

/* A measurement without a known scale leaves its dataset without a likelihood. */
struct residual_kind fitted_errors(const struct fitted *fitted,
                                   const struct fitted_dataset *dataset)
{
    const struct problem_block *block = dataset->block;
    size_t first = block->row[dataset->first], n = block->row[dataset->end] - first;
    const struct measurements measured = measurements_from(&block->measured, first);
    struct residual_kind errors = fitted->errors;
    size_t n_value = 0, n_sigma = 0;
    for (size_t i = 0; i < n && !fitted->model.abi.noise; i++) {
        errors.likelihood =
            errors.likelihood && (isnan(measured.value[i]) || !isnan(measured.sigma[i]));
        n_value += !isnan(measured.value[i]);
        n_sigma += !isnan(measured.value[i]) && !isnan(measured.sigma[i]);
    }
    if (n_value > 0 && errors.loss[measured.observable[0]].has_kink && n_sigma == 0)
        errors.unit = dataset->record->chi_square / (double)n_value;
    return errors;
}
