/* The population of a report: a table of its distribution, and for the charts that, the quantiles
 * of measurements and of replicates over time, and predictions of both kinds.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/report_parts.h"

#include <math.h>
#include <string.h>

enum { MOST_POINTS = 3000 }; /* of an observable in the charts */

enum status report_population_open(struct report *report, struct error *error)
{
    struct result *result = report->fitted.result;
    struct fitted fitted = {.result = NULL};
    enum status status = result_population_read(&report->population, result, &report->arena, error);
    if (status || !report->population || !report->has_model)
        return status;
    struct fitted_options files = report->options->files;
    files.listener.tell = NULL; /* it has been told */
    status = fitted_open(&fitted, &files, error);
    if (!status)
        status = population_check_make(
            &report->check, &fitted,
            &(struct check_options){(uint64_t)report->options->seed,
                                    (size_t)report->options->n_replicate}, error);
    fitted_close(&fitted);
    return status;
}

static void put(struct json *json, double value)
{
    json_number(json, NULL, report_rounded(value));
}

static void put_bin(struct json *json, const struct check_bin *bin)
{
    json_array_begin(json, NULL);
    put(json, bin->time);
    for (int q = 0; q < CHECK_N_QUANTILE; q++) {
        put(json, bin->data[q]);
        put(json, bin->lower[q]);
        put(json, bin->middle[q]);
        put(json, bin->upper[q]);
    }
    json_array_end(json);
}

/* Points first to end, of one observable; of many, every so many. */
static void put_points(struct json *json, const struct population_check *check, size_t first,
                       size_t end)
{
    size_t each = (end - first) / MOST_POINTS + 1;
    json_array_begin(json, "points"); /* seven numbers each */
    for (size_t i = first; i < end; i += each) {
        const struct check_point *point = &check->point[i];
        put(json, point->time);
        put(json, point->value);
        put(json, point->typical);
        put(json, point->individual);
        put(json, point->score);
        put(json, point->conditional);
        put(json, point->decorrelated);
    }
    json_array_end(json);
}

static void put_bins(struct json *json, const char *name, const struct check_bin *bin, size_t n)
{
    json_array_begin(json, name);
    for (size_t i = 0; i < n; i++)
        put_bin(json, &bin[i]);
    json_array_end(json);
}

static void put_checks(struct json *json, const struct report *report)
{
    const struct population_check *check = &report->check;
    json_array_begin(json, "checks");
    for (size_t first = 0, end, bin = 0; first < check->n_point; first = end) {
        uint32_t observable = check->point[first].observable;
        for (end = first; end < check->n_point && check->point[end].observable == observable;)
            end++;
        json_object_begin(json, NULL);
        json_string(json, "observable", report->fitted.model.abi.observable_name[observable]);
        size_t next = bin;
        while (next < check->n_bin && check->bin[next].observable == observable)
            next++;
        put_bins(json, "bins", check->bin + bin, next - bin);
        put_bins(json, "corrected", check->corrected + bin, next - bin);
        json_boolean(json, "differs", population_check_differs(check, observable));
        bin = next;
        put_points(json, check, first, end);
        json_object_end(json);
    }
    json_array_end(json);
}

/* A row for each dataset: covariates, then random parameters. */
static void put_datasets(struct json *json, const struct report *report)
{
    const struct population_check *check = &report->check;
    size_t n = check->n_covariate + check->r;
    json_array_begin(json, "covariates");
    for (size_t c = 0; c < check->n_covariate; c++)
        json_string(json, NULL, report->fitted.model.abi.covariate_name[c]);
    json_array_end(json);
    json_array_begin(json, "individuals");
    for (uint64_t d = 0; d < check->n_dataset && check->n_covariate; d++) {
        json_array_begin(json, NULL);
        for (size_t i = 0; i < n; i++)
            put(json, check->dataset[d * n + i]);
        json_array_end(json);
    }
    json_array_end(json);
}

void report_population_json(const struct report *report, struct json *json)
{
    const struct result_population *population = report->population;
    const struct result_info *info = report->info;
    if (!population)
        return;
    json_object_begin(json, "population");
    json_unsigned(json, "replicates", report->check.n_replicate);
    json_unsigned(json, "datasets", report->check.n_dataset);
    json_array_begin(json, "random");
    for (size_t i = 0; i < population->r; i++) {
        size_t j = 0;
        while (j < info->n_parameter && strcmp(info->parameter_name[j], population->name[i]))
            j++;
        json_object_begin(json, NULL);
        json_unsigned(json, "parameter", j);
        json_string(json, "scale", population->scale[i]);
        json_number(json, "mean", population->mean[i]);
        json_number(json, "deviation", population->standard_deviation[i]);
        json_object_end(json);
    }
    json_array_end(json);
    put_checks(json, report);
    put_datasets(json, report);
    json_object_end(json);
}
