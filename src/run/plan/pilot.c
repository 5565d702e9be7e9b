/* Medians over the pilots.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/pilot.h"

#include "fit/objective/map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct pilots {
    size_t n_parameter, n; /* n: converged ones */
    const enum parameter_scale *scale;
    double *median;        /* n_parameter, natural scale */
    double *value;         /* n_parameter x PILOT_MAX, optimiser's scale */
    double most;           /* objective per measurement of a fit that is like the pilots' */
};

uint64_t pilot_count(uint64_t n_dataset)
{
    return n_dataset / 2 < PILOT_MAX ? n_dataset / 2 : PILOT_MAX;
}

uint64_t pilot_dataset(uint64_t n_dataset, uint64_t i)
{
    return fit_pilot_dataset(n_dataset, pilot_count(n_dataset), i);
}

bool pilot_is(uint64_t n_dataset, uint64_t dataset)
{
    uint64_t n = pilot_count(n_dataset);
    return fit_pilot_number(n_dataset, n, dataset) < n;
}

struct pilots *pilots_new(size_t n_parameter, const enum parameter_scale *scale)
{
    struct pilots *pilots = calloc(1, sizeof *pilots);
    if (!pilots)
        return NULL;
    *pilots = (struct pilots){.n_parameter = n_parameter, .scale = scale,
                              .median = calloc(n_parameter + 1, sizeof *pilots->median),
                              .value = calloc(n_parameter + 1, PILOT_MAX * sizeof *pilots->value)};
    if (pilots->median && pilots->value)
        return pilots;
    pilots_free(pilots);
    return NULL;
}

void pilots_free(struct pilots *pilots)
{
    if (!pilots)
        return;
    free(pilots->median);
    free(pilots->value);
    free(pilots);
}

/* The number of the fit's measurements: its degrees of freedom plus the parameters that took
 * some. */
static double count_rows(const struct fit_record *record, size_t n_parameter)
{
    double n = (double)record->n_freedom;
    for (size_t i = 0; i < n_parameter; i++)
        n += record->lack[i] == LACK_none || record->lack[i] == LACK_flat ||
             record->lack[i] == LACK_freedom;
    return n;
}

enum status pilots_gather(struct pilots *pilots, struct journal_reader *journal,
                          const struct run_identity *identity, struct error *error)
{
    size_t n = pilots->n_parameter;
    double misfit[PILOT_MAX];
    struct fit_record record = {.dataset = 0};
    void *arrays = calloc(1, fit_record_array_bytes(n));
    if (!arrays)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the pilots");
    fit_record_set_arrays(&record, n, arrays);
    pilots->n = 0;
    for (uint64_t k = 0; k < pilot_count(identity->n_dataset); k++) {
        if (!journal_get_task(journal, pilot_dataset(identity->n_dataset, k), 0, &record, error)) {
            if (!error->status)
                error_set(error, STATUS_SYSTEM,
                          "pilots have been removed from the journal meanwhile");
            break;
        }
        if (!outcome_is_success((enum outcome)record.outcome))
            continue;
        for (size_t i = 0; i < n; i++)
            pilots->value[i + pilots->n * n] = fit_scale_from_natural(pilots->scale[i],
                                                                      record.parameter[i]);
        misfit[pilots->n++] = record.objective / fmax(1, count_rows(&record, n));
    }
    free(arrays);
    if (error->status)
        return error->status;
    if (pilots->n) {
        fit_pilot_medians(n, pilots->n, pilots->value, pilots->median);
        for (size_t i = 0; i < n; i++)
            pilots->median[i] = fit_scale_to_natural(pilots->scale[i], pilots->median[i]);
        /* the median sorts them */
        double middle = fit_pilot_median(misfit, pilots->n), worst = misfit[pilots->n - 1];
        pilots->most = worst + 3 * (worst - middle);
    }
    return STATUS_OK;
}

bool pilots_are_ready(const struct pilots *pilots) { return pilots->n > 0; }

void pilot_start(const struct pilots *pilots, const struct fit_problem *problem, double *start)
{
    for (size_t i = 0; i < pilots->n_parameter; i++) {
        start[i] = problem->start[i];
        if (!(problem->fixed && problem->fixed[i]) && isfinite(pilots->median[i]))
            start[i] = fmin(fmax(pilots->median[i], problem->lower[i]), problem->upper[i]);
    }
}

bool pilot_is_like(const struct pilots *pilots, double objective, size_t n_row)
{
    return objective / fmax(1, (double)n_row) <= pilots->most;
}
