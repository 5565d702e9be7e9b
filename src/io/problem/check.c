/* Finds what makes a single dataset bad: it gets a row with the reason and does not stop the
 * others.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem/internal.h"

#include <inttypes.h>
#include <math.h>
#include <stiffit/model.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool datum_parameter_fault(const struct parameter_datum *parameter,
                           const struct problem_message *message)
{
    const char *name = parameter->name;
    double start = parameter->start, lower = parameter->lower, upper = parameter->upper;
    bool is_log = strcmp(parameter->scale, "lin") != 0 && !parameter->is_fixed;
    if (!isfinite(start))
        return FAULT(message, "start of %.60s is %g", name, start);
    if (is_log && start <= 0 && !(lower > 0)) /* otherwise a fit begins at the bound */
        return FAULT(message, "start of %.60s is %g; with scale %s it must be > 0", name, start,
                     parameter->scale);
    if (isnan(lower) || lower == INFINITY)
        return FAULT(message, "lower bound of %.60s is %g", name, lower);
    if (isnan(upper) || upper == -INFINITY || (is_log && upper <= 0))
        return FAULT(message, "upper bound of %.60s is %g%s", name, upper,
                     is_log ? "; it must be > 0" : "");
    if (lower > upper)
        return FAULT(message, "lower bound of %.60s is %g, above its upper bound %g%s", name, lower,
                     upper,
                     prior_has_bounds(parameter->prior) ? " (its uniform prior bounds it, too)"
                                                        : "");
    if (prior_is_positive(parameter->prior) && !parameter->is_fixed && start <= 0)
        return FAULT(message, "start of %.60s is %g; with its %s prior it must be > 0", name, start,
                     prior_word(parameter->prior));
    return false;
}

bool datum_row_fault(const struct row_datum *row, const struct problem_message *message)
{
    double time = row->time, value = row->value, sigma = row->sigma;
    if (isinf(value))
        return FAULT(message, "value is infinite");
    if (isnan(time) || time == -INFINITY)
        return FAULT(message, "time is %s", isnan(time) ? "NaN" : "infinite, before t0");
    if (time < row->t0)
        return FAULT(message, "time is %.17g, before t0 = %.17g", time, row->t0);
    if (sigma <= 0 || isinf(sigma))
        return FAULT(message, "sigma is %g; it must be > 0 and finite (NaN: not known)", sigma);
    if (row->sigma_for && isnan(sigma))
        return FAULT(message, "sigma is not known, and the model has no noise: %.60s needs it",
                     row->sigma_for);
    if (row->censored && row->limit == value)
        return FAULT(message, "limit is %g, as the value; a value that is known is not censored",
                     value);
    if (row->censored && row->censored * (row->limit - value) > 0)
        return FAULT(message, "limit is %g, %s the value %g, but censored is %d: it lies %s",
                     row->limit, row->limit > value ? "above" : "below", value, row->censored,
                     row->limit > value ? "below" : "above");
    if (error_row[row->error].is_log && value <= 0)
        return FAULT(message, "value is %g; with the log-normal errors of %.60s it must be > 0",
                     value, row->observable);
    return false;
}

/* A rate or duration that is left to the model must be there. */
static bool infusion_fault(const struct dose *dose, int infusion_kind, const char *state,
                           const struct problem_message *message)
{
    bool is_rate = dose->rate == DOSE_OF_MODEL;
    if (!is_rate && dose->duration != DOSE_OF_MODEL)
        return false;
    const char *const what = is_rate ? "rate" : "duration";
    return infusion_kind != (is_rate ? STIFFIT_INFUSION_RATE : STIFFIT_INFUSION_DURATION) &&
           FAULT(message, "%s is -1, but the model has no %s(%.60s)", what, what, state);
}

bool datum_dose_fault(const struct dose *dose, double t0, int infusion_kind, const char *state,
                      const struct problem_message *message)
{
    double rate = dose->rate, duration = dose->duration;
    if (!isfinite(dose->time))
        return FAULT(message, "time is %g", dose->time);
    if (dose->time < t0)
        return FAULT(message, "time is %.17g, before t0 = %.17g", dose->time, t0);
    if (!isfinite(dose->amount))
        return FAULT(message, "amount is %g", dose->amount);
    if (!(duration >= 0 && duration < INFINITY) && duration != DOSE_OF_MODEL)
        return FAULT(message, "duration is %g; it must be finite and >= 0", duration);
    if (!(rate >= 0 && rate < INFINITY) && rate != DOSE_OF_MODEL)
        return FAULT(message, "rate is %g; it must be finite and >= 0", rate);
    if (rate != 0 && duration != 0)
        return FAULT(message, "has a rate and a duration; give one of them");
    if (infusion_fault(dose, infusion_kind, state, message))
        return true;
    if (rate == DOSE_OF_MODEL && dose->amount < 0)
        return FAULT(message, "amount is %g; with a rate it must be >= 0", dose->amount);
    if (rate > 0 && !(dose->amount >= 0 && isfinite(dose->amount / rate)))
        return FAULT(message, "amount is %g with rate %g; it must be >= 0", dose->amount, rate);
    if (dose->count == 0 && !dose->steady)
        return FAULT(message, "count is 0, which only steady doses may have");
    if (dose->steady && !(dose->interval > 0 && dose->interval < INFINITY))
        return FAULT(message, "is steady, but has no interval above 0");
    if (dose->count > 1 &&
        !(dose->interval > 0 && isfinite(dose->time + (dose->count - 1.0) * dose->interval)))
        return FAULT(message, "is repeated %" PRIu32 " times, but has no interval above 0",
                     dose->count);
    if (!dose_is_apart(dose))
        return FAULT(message, "has the interval %g, which does not change a time of %.17g",
                     dose->interval, dose->time);
    return false;
}

bool datum_knot_fault(double time, double value, double last,
                      const struct problem_message *message)
{
    if (!isfinite(time) || !isfinite(value))
        return FAULT(message, "%s is %g", isfinite(time) ? "value" : "time",
                     isfinite(time) ? value : time);
    if (time <= last)
        return FAULT(message, "time is %.17g, %s %.17g; times must increase", time,
                     time == last ? "again" : "after", last);
    return false;
}

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

static bool dose_fault(const struct problem *problem, const struct problem_block *block, size_t e,
                       const struct problem_message *message)
{
    const struct problem_expectation *model = &problem->model;
    char fault[DATUM_FAULT];
    const struct experiment *experiment = &block->experiment[e];
    for (size_t i = 0; i < experiment->n_dose; i++) {
        const struct dose *dose = &experiment->dose[i];
        int kind =
            model->infusion_kind ? model->infusion_kind[dose->target] : STIFFIT_INFUSION_NONE;
        if (datum_dose_fault(dose, experiment->t0, kind, model->state_name[dose->target],
                             &(struct problem_message){fault, sizeof fault}))
            return FAULT(message, "dose in row %" PRIu64 ": %s",
                         block->room->place[GROUP_DOSES][e] + i, fault);
    }
    return false;
}

static bool input_fault(const struct problem *problem, const struct problem_block *block, size_t e,
                        const struct problem_message *message)
{
    const size_t *first = block->room->offset[GROUP_INPUTS];
    char fault[DATUM_FAULT];
    for (size_t i = 0; i < problem->model.n_input; i++)
        problem->last_knot[i] = NAN;
    for (size_t k = first[e]; k < first[e + 1]; k++) {
        const struct knot *knot = &block->room->knot[k];
        const char *name = problem->model.input_name[knot->input];
        double *last = &problem->last_knot[knot->input];
        if (datum_knot_fault(knot->time, knot->value, *last,
                             &(struct problem_message){fault, sizeof fault}))
            return FAULT(message, "input %.60s in row %" PRIu64 ": %s", name,
                         block->room->place[GROUP_INPUTS][e] + (k - first[e]), fault);
        *last = knot->time;
    }
    for (size_t i = 0; i < problem->model.n_input && block->row[e + 1] > block->row[e]; i++)
        if (isnan(problem->last_knot[i]))
            return FAULT(message, "input %.60s has no value", problem->model.input_name[i]);
    return false;
}

static bool call_fault(const struct problem_block *block, size_t e,
                       const struct problem_message *message)
{
    const struct experiment *experiment = &block->experiment[e];
    for (size_t i = 0; i < experiment->n_call; i++) {
        double time = experiment->call[i].time;
        uint64_t row = block->room->place[GROUP_EVENTS][e] + i;
        if (!isfinite(time))
            return FAULT(message, "event in row %" PRIu64 ": time is %g", row, time);
        if (time < experiment->t0)
            return FAULT(message, "event in row %" PRIu64 ": time is %.17g, before t0 = %.17g", row,
                         time, experiment->t0);
        if (i > 0 && time < experiment->call[i - 1].time)
            return FAULT(message,
                         "event in row %" PRIu64 ": time is %.17g, after %.17g; times must not "
                                                 "decrease",
                         row, time, experiment->call[i - 1].time);
    }
    return false;
}

/* Of a substitute for a part of the experiment. */
static bool part_fault(const struct problem *problem, const struct problem_block *block, size_t e,
                       const struct substitute *substitute, uint64_t row,
                       const struct problem_message *message)
{
    const char *name = problem->model.parameter.name[substitute->parameter];
    const struct experiment *experiment = &block->experiment[e];
    size_t n_row = block->row[e + 1] - block->row[e];
    if (substitute->row != EXPERIMENT_NONE && substitute->row >= n_row)
        return FAULT(message,
                     "substitute in row %" PRIu64 ": its measurement belongs to another experiment",
                     row);
    if (substitute->row != EXPERIMENT_NONE && substitute->time > -INFINITY)
        return FAULT(message,
                     "substitute in row %" PRIu64 ": has a time and a measurement; give one of "
                                                  "them",
                     row);
    if (substitute->row != EXPERIMENT_NONE && problem->is_of_state[substitute->parameter])
        return FAULT(message,
                     "substitute in row %" PRIu64 ": is for one measurement, but states depend on "
                                                  "%.60s",
                     row, name);
    for (size_t i = 0; substitute->time > -INFINITY && i < experiment->n_dose; i++)
        if (experiment->dose[i].steady)
            return FAULT(message,
                         "substitute in row %" PRIu64 ": has a time, but the experiment has steady "
                                                      "doses, whose state "
                         "belongs to one set of parameters",
                         row);
    if (substitute->time > -INFINITY &&
        !(substitute->time > experiment->t0 && substitute->time < INFINITY))
        return FAULT(message,
                     "substitute in row %" PRIu64 ": time is %.17g; it must be finite and after t0 "
                                                  "= %.17g",
                     row, substitute->time, experiment->t0);
    return false;
}

static int compare_parts(const void *left, const void *right)
{
    const struct substitute *a = left, *b = right;
    if (a->parameter != b->parameter)
        return a->parameter < b->parameter ? -1 : 1;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return (a->time > b->time) - (a->time < b->time);
}

/* Whether two substitutes are for the same part. */
static bool repeats(const struct problem *problem, const struct problem_block *block, size_t e,
                    const struct problem_message *message)
{
    size_t n = block->experiment[e].n_substitute;
    struct substitute *sorted = n ? malloc(n * sizeof *sorted) : NULL;
    bool found = false;
    if (n && !sorted)
        return FAULT(message, "no memory for %zu substitutes", n);
    if (n) {
        memcpy(sorted, block->experiment[e].substitute, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, compare_parts);
    }
    for (size_t i = 1; i < n && !found; i++)
        if (compare_parts(&sorted[i - 1], &sorted[i]) == 0)
            found = FAULT(message, "%.60s is substituted twice %s",
                          problem->model.parameter.name[sorted[i].parameter],
                          sorted[i].row == EXPERIMENT_NONE ? "from the same time on"
                                                           : "for the same measurement");
    free(sorted);
    return found;
}

static bool substitute_fault(const struct problem *problem, const struct problem_block *block,
                             size_t e, const struct problem_message *message)
{
    bool found = false;
    const struct experiment *experiment = &block->experiment[e];
    for (size_t i = 0; i < experiment->n_substitute && !found; i++) {
        const struct substitute *substitute = &experiment->substitute[i];
        const char *name = problem->model.parameter.name[substitute->parameter];
        uint64_t row = block->room->place[GROUP_SUBSTITUTES][e] + i;
        bool is_plain = substitute->row == EXPERIMENT_NONE && substitute->time == -INFINITY;
        if (!is_plain)
            found = part_fault(problem, block, e, substitute, row, message);
        if (found)
            continue;
        if (is_plain && problem->seen[substitute->parameter]++)
            found = FAULT(message, "substitute in row %" PRIu64 ": %.60s is substituted twice", row,
                          name);
        else if (substitute->by == EXPERIMENT_NUMBER && !isfinite(substitute->value))
            found = FAULT(message, "substitute in row %" PRIu64 ": the value of %.60s is %g", row,
                          name, substitute->value);
    }
    for (size_t j = 0; j < problem->model.parameter.n && !found; j++)
        if (problem->must_substitute[j] && !problem->seen[j])
            found = FAULT(message,
                          "parameter %.60s has no value: it is neither in /parameters nor "
                          "substituted",
                          problem->model.parameter.name[j]);
    for (size_t i = 0; i < experiment->n_substitute; i++)
        problem->seen[experiment->substitute[i].parameter] = 0;
    return found || repeats(problem, block, e, message);
}

static bool experiment_fault(const struct problem *problem, const struct problem_block *block,
                             size_t e, const struct problem_message *message)
{
    return dose_fault(problem, block, e, message) || input_fault(problem, block, e, message) ||
           call_fault(block, e, message) || substitute_fault(problem, block, e, message);
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
            experiment_fault(problem, block, e, &message) ||
            steady_fault(block, first, e, &message))
            return true;
    }
    any = any || problem->model.allows_empty;
    return any ? false : FAULT((&(struct problem_message){text, size}), "no measurement");
}
