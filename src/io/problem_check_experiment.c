/* Finds what is wrong with the doses, inputs, events and substitutes of one experiment.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stiffit/model.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

bool problem_experiment_fault(const struct problem *problem, const struct problem_block *block,
                              size_t e, const struct problem_message *message)
{
    return dose_fault(problem, block, e, message) || input_fault(problem, block, e, message) ||
           call_fault(block, e, message) || substitute_fault(problem, block, e, message);
}
