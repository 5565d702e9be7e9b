/* Predictions of a result's datasets, with the effects of their experiments.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/occasions.h"

#include <math.h>
#include <stdlib.h>

struct predictor_rows fitted_rows(struct fitted *fitted, const struct fitted_dataset *dataset,
                                  size_t e)
{
    struct fitted_dataset there = *dataset;
    bool varies = fitted->population && fitted->population->q > 0;
    if (!varies || !dataset->p || dataset->by_experiment)
        return fitted_rows_at(fitted, dataset, e);
    bool is_found = occasions_find(fitted, dataset);
    there.by_experiment = is_found ? fitted->occasions->found_by : NULL;
    struct predictor_rows rows = fitted_rows_at(fitted, &there, e);
    rows.p = is_found ? rows.p : NULL;
    return rows;
}

static enum status reserve(struct fitted *fitted, size_t n, struct error *error)
{
    if (n <= fitted->n_room)
        return STATUS_OK;
    free(fitted->prediction);
    free(fitted->noise);
    fitted->n_room = 0;
    fitted->prediction = malloc(n * sizeof(double));
    fitted->noise = malloc(n * sizeof(double));
    if (!fitted->prediction || !fitted->noise)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu measurements", n);
    fitted->n_room = n;
    return STATUS_OK;
}

enum status fitted_predict(struct fitted *fitted, const struct fitted_dataset *dataset,
                           bool *predicted, struct error *error)
{
    const size_t *row = dataset->block->row;
    size_t first = row[dataset->first], n = row[dataset->end] - first;
    char reason[160];
    enum status status = reserve(fitted, n + 1, error);
    if (status)
        return status;
    *predicted = dataset->p && !dataset->fault;
    for (size_t e = dataset->first; *predicted && e < dataset->end; e++) {
        const struct predictor_rows rows = fitted_rows(fitted, dataset, e);
        *predicted = predictor_run(&fitted->predictor, &rows, fitted->prediction + row[e] - first,
                                   fitted->noise + row[e] - first, reason);
    }
    for (size_t i = 0; !*predicted && i < n; i++)
        fitted->prediction[i] = fitted->noise[i] = NAN;
    return STATUS_OK;
}
