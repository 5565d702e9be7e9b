/* Finds what makes a single dataset bad: it gets a row with the reason and does not stop the
 * others.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool parameter_fault(const struct problem *problem, const struct problem_block *block,
                            size_t d, const struct problem_message *message)
{
    for (size_t i = 0; i < problem->n_parameter; i++) {
        size_t k = d * problem->n_parameter + i;
        if (block->fixed[k] == PROBLEM_FIXED_NAN)
            return FAULT(message, "fixed of %.60s is NaN", problem->parameter_name[i]);
        const struct parameter_datum parameter = {
            .name = problem->parameter_name[i], .scale = problem->parameter_scale[i],
            .start = block->start[k], .lower = block->lower[k], .upper = block->upper[k],
            .is_fixed = block->fixed[k],
            .prior = problem->prior ? problem->prior[i].kind : PRIOR_NONE};
        if (datum_parameter_fault(&parameter, message))
            return true;
    }
    return false;
}

static bool constant_fault(const struct problem *problem, const struct problem_block *block,
                           size_t e, const struct problem_message *message)
{
    const struct experiment *experiment = &block->experiment[e];
    double t0 = experiment->t0;
    if (t0 == INFINITY)
        return FAULT(message, "t0 is +inf, which is reserved for steady state");
    if (!isfinite(t0))
        return FAULT(message, "t0 is %g", t0);
    for (size_t i = 0; i < problem->model.n_covariate; i++) {
        double covariate = experiment->covariate[i];
        if (!isfinite(covariate))
            return FAULT(message, "covariate %.60s is %g", problem->model.covariate_name[i],
                         covariate);
    }
    return false;
}

/* What requires every standard deviation of a dataset with these rows; NULL: nothing, or a noise
 * function provides them. */
static const char *who_needs_sigma(const struct problem *problem, const struct problem_block *block,
                                   size_t first, size_t end)
{
    if (problem->model.has_noise || problem->errors.sigma_for)
        return problem->model.has_noise ? NULL : problem->errors.sigma_for;
    const struct measurements *measured = &block->measured;
    for (size_t i = first; i < end; i++)
        if (measured->censored[i] && !isnan(measured->value[i]))
            return "a censored measurement";
    return NULL;
}

/* "row 79", or "wells.csv:81" if the rows come from a table. */
static const char *place(const struct problem *problem, uint64_t row, char text[100])
{
    int64_t line;
    struct error ignored;
    const struct hdf5_column *lines =
        &problem->stream[GROUP_MEASUREMENTS].field[MEASUREMENT_line].column;
    snprintf(text, 100, "row %" PRIu64, row);
    if (problem->line_file && lines->dataset &&
        !hdf5_column_read_int64(lines, row, 1, &line, &ignored) && line > 0)
        snprintf(text, 100, "%.60s:%" PRId64, problem->line_file, line);
    return text;
}

/* A row without a value counts as missing: its time and sigma may be anything. */
static bool row_fault(const struct problem *problem, const struct problem_block *block, size_t e,
                      const char *sigma_for, bool *any, const struct problem_message *message)
{
    char at[100], fault[DATUM_FAULT];
    const struct measurements *measured = &block->measured;
    for (size_t i = block->row[e]; i < block->row[e + 1]; i++) {
        uint32_t k = measured->observable[i];
        const struct row_datum row = {
            .time = measured->time[i], .value = measured->value[i], .sigma = measured->sigma[i],
            .t0 = block->experiment[e].t0, .limit = measured->limit[i],
            .censored = measured->censored[i], .observable = problem->model.observable_name[k],
            .error = problem->errors.kind[k], .sigma_for = sigma_for};
        if (isnan(row.value))
            continue;
        *any = true;
        if (datum_row_fault(&row, &(struct problem_message){fault, sizeof fault})) {
            uint64_t number = block->room->place[GROUP_MEASUREMENTS][e] + (i - block->row[e]);
            return FAULT(message, "%s: %s", place(problem, number, at), fault);
        }
    }
    return false;
}

/* Of the experiment at whose steady state it begins; `first`: of its dataset. */
static bool steady_fault(const struct problem_block *block, size_t first, size_t e,
                         const struct problem_message *message)
{
    uint32_t source = block->experiment[e].steady;
    if (source == EXPERIMENT_NONE)
        return false;
    if (source == e - first)
        return FAULT(message, "/experiments/steady must be the row number of another experiment of "
                              "its dataset, or -1");
    if (block->experiment[first + source].steady != EXPERIMENT_NONE)
        return FAULT(message,
                     "/experiments/steady is experiment \"%.60s\", which itself begins at a steady "
                     "state",
                     block->experiment[first + source].id);
    return false;
}

bool problem_dataset_fault(const struct problem *problem, const struct problem_block *block,
                           size_t d, char *text, size_t size)
{
    size_t first = block->first_experiment[d], end = block->first_experiment[d + 1];
    bool any = false;
    if (parameter_fault(problem, block, d, &(struct problem_message){text, size}))
        return true;
    const char *sigma_for = who_needs_sigma(problem, block, block->row[first], block->row[end]);
    for (size_t e = first; e < end; e++) {
        size_t n = 0; /* of the experiment's name, which precedes its fault */
        if (problem->has_experiments)
            n = (size_t)snprintf(text, size, "experiment \"%.60s\": ", block->experiment[e].id);
        const struct problem_message message = {text + n, size - n};
        if (constant_fault(problem, block, e, &message) ||
            row_fault(problem, block, e, sigma_for, &any, &message) ||
            problem_experiment_fault(problem, block, e, &message) ||
            steady_fault(block, first, e, &message))
            return true;
    }
    return any ? false : FAULT((&(struct problem_message){text, size}), "no measurement");
}
