/* Draws replicates. Random numbers depend only on (seed, stream, measurement), so the order of
 * drawing does not matter.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/refits/bootstrap.h"

#include "base/random.h"
#include "fit/objective/loss.h"
#include "fit/objective/point.h"
#include "fit/objective/preequilibration.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REASON = 160 };
/* Keeps these streams apart from those of other purposes. */
static const uint64_t PURPOSE = 0x626f6f7473747261; /* "bootstra" */
static const uint64_t PURPOSE_DATASETS = 0x43415345; /* "CASE" */

size_t fit_bootstrap_count_loose(size_t n_parameter, const double *best, const double *lower,
                                 const double *upper, const uint8_t *fixed, size_t n_noise)
{
    size_t n = 0;
    for (size_t i = 0; i < n_parameter; i++)
        n += !(fixed && fixed[i]) && best[i] > lower[i] && best[i] < upper[i];
    return n > n_noise ? n - n_noise : 0;
}

static bool has_own_sigma(const struct fit_bootstrap *bootstrap, size_t i)
{
    return bootstrap->measured.sigma && !isnan(bootstrap->measured.sigma[i]);
}

static double residual_of(const struct fit_bootstrap *bootstrap, size_t i)
{
    double value = bootstrap->measured.value[i], prediction = bootstrap->prediction[i];
    bool is_log = bootstrap->loss[bootstrap->measured.observable[i]].is_log;
    return (is_log ? log(value / prediction) : value - prediction) / bootstrap->scale[i];
}

/* Stores the residuals group by group. Returns their number. */
static size_t sort_residuals(struct fit_bootstrap *bootstrap)
{
    size_t *end = bootstrap->first + 1; /* moves from the beginning of each group to its end */
    memset(bootstrap->first, 0, (bootstrap->n_group + 2) * sizeof *end);
    for (size_t i = 0; i < bootstrap->n_row; i++)
        end[bootstrap->group[i] + 1] += !isnan(bootstrap->measured.value[i]);
    for (size_t g = 0; g < bootstrap->n_group; g++)
        end[g + 1] += end[g];
    for (size_t i = 0; i < bootstrap->n_row; i++)
        if (!isnan(bootstrap->measured.value[i]))
            bootstrap->residual[end[bootstrap->group[i]]++] = residual_of(bootstrap, i);
    return bootstrap->first[bootstrap->n_group];
}

bool fit_bootstrap_begin(struct fit_bootstrap *bootstrap, char *reason)
{
    double squares = 0, distance = 0, centred = 0, *residual = bootstrap->residual;
    const size_t *first = bootstrap->first;
    size_t n = sort_residuals(bootstrap);
    for (size_t g = 0; g < bootstrap->n_group; g++) {
        double sum = 0;
        for (size_t k = first[g]; k < first[g + 1]; k++) {
            sum += residual[k];
            squares += residual[k] * residual[k];
            distance += fabs(residual[k]);
        }
        for (size_t k = first[g]; k < first[g + 1]; k++) {
            residual[k] -= sum / (double)(first[g + 1] - first[g]);
            centred += residual[k] * residual[k];
        }
    }
    bool is_fitted = bootstrap->n_noise > 0, is_known = bootstrap->is_sigma_given && !is_fitted;
    bootstrap->is_parametric = bootstrap->kind == BOOTSTRAP_PARAMETRIC
                               || (bootstrap->kind == BOOTSTRAP_AUTO && bootstrap->is_sigma_given);
    bootstrap->inflation = 1;
    if (bootstrap->is_parametric && is_known)
        return true;
    if (n <= bootstrap->n_loose) {
        snprintf(reason, REASON,
                 "no degrees of freedom are left to estimate the measurement error from");
        return false;
    }
    double n_left = (double)(n - bootstrap->n_loose),
           c = centred > 0 ? sqrt(squares / n_left * (double)n / centred) : 1;
    for (size_t k = 0; k < n; k++)
        residual[k] *= c;
    /* without sigmas losses do not mix */
    bool is_linear = bootstrap->loss[bootstrap->measured.observable[0]].has_kink;
    if (is_fitted)
        bootstrap->inflation = sqrt((double)n / n_left);
    else if (!is_known)
        bootstrap->inflation = is_linear ? distance / n_left : sqrt(squares / n_left);
    return true;
}

bool fit_bootstrap_draw(const struct fit_bootstrap *bootstrap, uint64_t seed, uint64_t stream,
                        double *value)
{
    bool is_finite = true;
    for (size_t i = 0; i < bootstrap->n_row; i++) {
        const struct fit_loss *loss = &bootstrap->loss[bootstrap->measured.observable[i]];
        const size_t *first = &bootstrap->first[bootstrap->group[i]];
        value[i] = bootstrap->measured.value[i];
        if (isnan(value[i]))
            continue;
        double inflation =
            bootstrap->n_noise > 0 && has_own_sigma(bootstrap, i) ? 1 : bootstrap->inflation;
        double deviation =
            bootstrap->is_parametric
                ? inflation * fit_loss_draw(loss, seed, stream, i)
                : bootstrap
                      ->residual[first[0] + random_below(seed, stream, i, first[1] - first[0])];
        double error = bootstrap->scale[i] * deviation, prediction = bootstrap->prediction[i];
        value[i] = loss->is_log ? prediction * exp(error) : prediction + error;
        is_finite = is_finite && isfinite(value[i]);
    }
    return is_finite;
}

/* The evaluations of all experiments at the best fit, into these arrays. NULL: out of memory. */
static struct evaluation **request(const struct fit_problem *problem, int64_t max_steps,
                                   double *prediction, double *noise, struct arena *arena)
{
    size_t n = problem->n_experiment, row = 0;
    struct evaluation *evaluation = arena_calloc(arena, n, sizeof *evaluation);
    struct evaluation **asked = arena_calloc(arena, n, sizeof(struct evaluation *));
    uint32_t *column_of = arena_alloc(arena, (problem->n_parameter + 1) * sizeof *column_of);
    if (!evaluation || !asked || !column_of)
        return NULL;
    memset(column_of, 0xff, problem->n_parameter * sizeof *column_of); /* FIT_NO_COLUMN */
    for (size_t e = 0; e < n; row += problem->task[e++].n_row) {
        struct fit_binding binding;
        if (!fit_binding_init(&binding, &problem->model->abi, problem->n_parameter,
                              problem->to_model, column_of, &problem->task[e], arena))
            return NULL;
        double *number = arena_alloc(arena, fit_binding_n_number(&binding) * sizeof *number);
        if (!number)
            return NULL;
        fit_binding_numbers(&binding, problem->start, number);
        evaluation[e] = (struct evaluation){.task = &problem->task[e],
                                            .named = problem->start, .max_steps = max_steps,
                                            .deadline_ns = INT64_MAX,
                                            .prediction = prediction + row,
                                            .noise = noise ? noise + row : NULL};
        fit_binding_set(&binding, number, &evaluation[e]);
        asked[e] = &evaluation[e];
    }
    return asked;
}

/* Stores the predictions at the best fit, and s_i in `scale`. */
static enum outcome predict(struct fit_bootstrap *bootstrap, const struct fit_problem *problem,
                            const struct fit_options *options, const struct fit_host *host,
                            struct evaluation *const *asked, double *scale,
                            struct fit_record *record)
{
    bool has_noise = problem->model->abi.noise != NULL, again = true;
    for (enum engine_kind engine = options->engine; again; engine = ENGINE_REFERENCE) {
        for (size_t e = 0; e < problem->n_experiment; e++)
            asked[e]->engine = engine;
        if (!fit_preequilibrate(problem, NULL, asked, problem->n_experiment, host->ask,
                                host->context))
            return OUTCOME_not_run;
        record->n_evaluation++;
        again = false;
        for (size_t e = 0; e < problem->n_experiment; e++) {
            record->n_step += asked[e]->n_step;
            again =
                again || (engine != ENGINE_REFERENCE && asked[e]->outcome == EVALUATION_ODE_FAILED);
        }
    }
    for (size_t e = 0; e < problem->n_experiment; e++) {
        if (asked[e]->outcome == EVALUATION_OK)
            continue;
        char name[FIT_NAME_SIZE];
        snprintf(record->reason, REASON, "no prediction at the best fit: %s%.120s",
                 fit_name_experiment(problem, asked[e]->task, name), asked[e]->reason);
        if (asked[e]->outcome == EVALUATION_NO_MEMORY)
            return OUTCOME_out_of_memory;
        return asked[e]->outcome == EVALUATION_MODEL_FAILED ? OUTCOME_model_failed
                                                            : OUTCOME_ode_failed;
    }
    bootstrap->is_sigma_given = true;
    for (size_t i = 0; i < bootstrap->n_row; i++) {
        bool own = problem->measured.sigma && !isnan(problem->measured.sigma[i]);
        if (own)
            scale[i] = problem->measured.sigma[i];
        else if (!has_noise)
            scale[i] = 1;
        bootstrap->is_sigma_given = bootstrap->is_sigma_given && (own || has_noise);
    }
    return OUTCOME_converged;
}

enum outcome fit_bootstrap_values(const struct fit_problem *problem,
                                  const struct fit_options *options, const struct fit_host *host,
                                  struct arena *arena, enum bootstrap_kind kind, uint32_t replicate,
                                  double *value, struct fit_record *record)
{
    const struct stiffit_model *abi = &problem->model->abi;
    size_t n = fit_problem_n_row(problem), n_group = problem->n_experiment * abi->n_observable;
    double *numbers = arena_calloc(arena, 3 * n + 1, sizeof *numbers);
    size_t *first = arena_calloc(arena, n_group + 2, sizeof *first);
    uint32_t *group = arena_calloc(arena, n + 1, sizeof *group);
    struct evaluation **asked = numbers ? request(problem, options->max_steps, numbers,
                                                  abi->noise ? numbers + n : NULL, arena)
                                        : NULL;
    if (!asked || !first || !group) {
        snprintf(record->reason, REASON, "no memory for a replicate");
        return OUTCOME_out_of_memory;
    }
    struct fit_bootstrap bootstrap = {.n_row = n,
                                      .n_group = n_group, .group = group,
                                      .measured = problem->measured, .prediction = numbers,
                                      .scale = numbers + n, .residual = numbers + 2 * n,
                                      .first = first, .kind = kind, .loss = problem->loss,
                                      .n_noise = problem->n_noise,
                                      .n_loose =
                                          fit_bootstrap_count_loose(problem->n_parameter,
                                                                    problem->start, problem->lower,
                                                                    problem->upper, problem->fixed,
                                                                    problem->n_noise)};
    for (size_t e = 0, i = 0; e < problem->n_experiment; e++)
        for (size_t k = 0; k < problem->task[e].n_row; k++, i++)
            group[i] = (uint32_t)(e * abi->n_observable) + problem->task[e].row_observable[k];
    enum outcome outcome = predict(&bootstrap, problem, options, host, asked, numbers + n, record);
    if (outcome != OUTCOME_converged)
        return outcome;
    if (!fit_bootstrap_begin(&bootstrap, record->reason))
        return OUTCOME_bad_data;
    uint64_t stream = random_stream(random_stream(PURPOSE, problem->dataset), replicate);
    if (fit_bootstrap_draw(&bootstrap, problem->seed, stream, value))
        return OUTCOME_converged;
    snprintf(record->reason, REASON, "a replicate's measurement is not a finite number");
    return OUTCOME_bad_data;
}

void fit_bootstrap_datasets(uint64_t seed, uint32_t replicate, size_t n, const uint32_t *dataset,
                            uint32_t *weight)
{
    uint64_t stream = random_stream(PURPOSE_DATASETS, replicate);
    for (uint64_t k = 0; k < n; k++)
        weight[dataset[random_below(seed, stream, k, n)]]++;
}

void fit_bootstrap_run(const struct fit_subject *subject, const struct fit_options *options,
                       uint32_t replicate, struct fit_record *record)
{
    struct fit_options drawn = *options;
    drawn.certify = false;
    fit_record_begin(record, subject->n_parameter, 0);
    if (!subject->draw(subject->context, &drawn, replicate, record))
        return;
    int64_t n_evaluation = record->n_evaluation, n_step = record->n_step;
    subject->fit(subject->context, subject->start, subject->fixed, 0, &drawn, NULL, record);
    record->n_evaluation += n_evaluation;
    record->n_step += n_step;
}
