/* The distributions of a report as JSON: parameters, pairs of them, costs, residuals.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/report_parts.h"

#include "fit/objective/distribution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 3000, N_ACROSS = 40, N_UP = 30, N_QUANTILE = 99 };
/* Residuals beyond are counted in the outermost bins. */
static const double RESIDUAL_END = 5, EARLY = 0.02;

static void put(struct json *json, const char *key, double value)
{
    json_number(json, key, report_rounded(value));
}

static void put_spread(struct json *json, const char *name, const char *unit,
                       const struct show_spread *spread)
{
    json_object_begin(json, NULL);
    json_string(json, "name", name);
    json_string(json, "unit", unit ? unit : "");
    json_boolean(json, "log", spread->is_log);
    json_boolean(json, "cut", spread->is_cut);
    const double number[] = {spread->min, spread->q25, spread->median, spread->q75,
                             spread->max, spread->low, spread->high};
    static const char *const key[] = {"min", "q25", "median", "q75", "max", "low", "high"};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        put(json, key[i], number[i]);
    json_array_begin(json, "bins");
    for (int i = 0; i < SHOW_N_BIN; i++)
        json_unsigned(json, NULL, spread->bin[i]);
    json_array_end(json);
    json_object_end(json);
}

static void put_spreads(struct json *json, struct report *report)
{
    static const char *const cost[N_COST] = {"seconds", "evaluations", "integrator steps"};
    const struct result_info *info = report->info;
    const struct show_summary *summary = &report->summary;
    json_array_begin(json, "parameters");
    for (size_t j = 0; j < info->n_parameter; j++)
        put_spread(json, info->parameter_name[j],
                   info->parameter_unit ? info->parameter_unit[j] : NULL, &summary->parameter[j]);
    json_array_end(json);
    json_array_begin(json, "quality");
    if (isfinite(summary->reduced.median))
        put_spread(json, "reduced chi-square", NULL, &summary->reduced);
    if (isfinite(summary->r_squared.median))
        put_spread(json, "R squared", NULL, &summary->r_squared);
    put_spread(json, "objective", NULL, &summary->objective);
    json_array_end(json);
    json_array_begin(json, "costs");
    for (int k = 0; k < N_COST; k++)
        put_spread(json, cost[k], k == COST_SECONDS ? "s" : NULL, &report->cost[k]);
    json_array_end(json);
}

static void put_pairs(struct json *json, const struct report *report)
{
    const uint64_t *count = report->pair;
    json_array_begin(json, "pairs");
    for (size_t c = 0; c < report->n_paired; c++)
        for (size_t d = c + 1; d < report->n_paired; d++) {
            json_object_begin(json, NULL);
            json_unsigned(json, "x", c);
            json_unsigned(json, "y", d);
            json_array_begin(json, "counts");
            for (size_t i = 0; i < SHOW_N_BIN * SHOW_N_BIN; i++)
                json_unsigned(json, NULL, *count++);
            json_array_end(json);
            json_object_end(json);
        }
    json_array_end(json);
}

static int compare_residuals(const void *left, const void *right)
{
    const struct report_residual *a = left, *b = right;
    return a->observable != b->observable
               ? (a->observable > b->observable) - (a->observable < b->observable)
               : (a->residual > b->residual) - (a->residual < b->residual);
}

/* Measurements over predictions of one observable: every so many of n, so that they are points. */
static void put_observed(struct json *json, const struct report_residual *residual, size_t n)
{
    size_t step = n / MOST_POINTS + 1;
    json_array_begin(json, "observed"); /* prediction and measurement, in turn */
    for (size_t i = step / 2; i < n; i += step) {
        put(json, NULL, residual[i].prediction);
        put(json, NULL, residual[i].value);
    }
    json_array_end(json);
}

/* Residuals of one observable over their times or predictions: points, or counts in N_ACROSS x
 * N_UP cells. */
static void put_cloud(struct json *json, const char *key, const struct report_residual *residual,
                      size_t n, bool by_time)
{
    double *x = malloc((n + 1) * sizeof *x);
    uint64_t *count = calloc(N_ACROSS * N_UP, sizeof *count);
    bool is_log = false;
    json_object_begin(json, key);
    if (x && count) {
        for (size_t i = 0; i < n; i++)
            x[i] = by_time ? residual[i].time : residual[i].prediction;
        digest_sort(x, n);
        is_log = n > 3 && x[0] > 0 && x[n / 2] < EARLY * x[n - 1];
        double low = is_log ? log(x[0]) : x[0], width = (is_log ? log(x[n - 1]) : x[n - 1]) - low;
        put(json, "low", x[0]);
        put(json, "high", x[n - 1]);
        json_array_begin(json, n <= MOST_POINTS ? "points" : "counts");
        for (size_t i = 0; i < n; i++) {
            double at = by_time ? residual[i].time : residual[i].prediction;
            double across = width > 0 ? ((is_log ? log(at) : at) - low) / width : 0.5;
            double up = (residual[i].residual + RESIDUAL_END) / (2 * RESIDUAL_END);
            int column = (int)fmin(across * N_ACROSS, N_ACROSS - 1),
                row = (int)fmax(0, fmin(up * N_UP, N_UP - 1));
            count[row * N_ACROSS + column]++;
            if (n <= MOST_POINTS) {
                put(json, NULL, at);
                put(json, NULL, residual[i].residual);
            }
        }
        for (size_t i = 0; n > MOST_POINTS && i < N_ACROSS * N_UP; i++)
            json_unsigned(json, NULL, count[i]);
        json_array_end(json);
    }
    json_boolean(json, "log", is_log);
    json_object_end(json);
    free(x);
    free(count);
}

/* Sorted by observable, then by size: what quantiles need. */
static void put_residuals(struct json *json, struct report *report)
{
    if (report->n_residual > 1)
        qsort(report->residual, report->n_residual, sizeof *report->residual, compare_residuals);
    json_array_begin(json, "residuals");
    for (size_t i = 0, end; i < report->n_residual; i = end) {
        const struct report_residual *first = &report->residual[i];
        for (end = i;
             end < report->n_residual && report->residual[end].observable == first->observable;)
            end++;
        size_t n = end - i;
        json_object_begin(json, NULL);
        json_string(json, "observable",
                    report->fitted.model.abi.observable_name[first->observable]);
        json_unsigned(json, "n", n);
        put_cloud(json, "time", first, n, true);
        put_cloud(json, "prediction", first, n, false);
        put_observed(json, first, n);
        json_array_begin(json, "quantiles"); /* normal and found, in turn */
        for (size_t k = 0, n_k = n < N_QUANTILE ? n : N_QUANTILE; k < n_k; k++) {
            double share = ((double)k + 0.5) / (double)n_k, place = share * (double)n - 0.5;
            size_t low = (size_t)fmax(place, 0), high = low + 1 < n ? low + 1 : low;
            put(json, NULL, distribution_normal_quantile(share));
            put(json, NULL,
                first[low].residual +
                    (place - (double)low) * (first[high].residual - first[low].residual));
        }
        json_array_end(json);
        json_object_end(json);
    }
    json_array_end(json);
}

const char *report_group_text(int group)
{
    static const char *const name[] = {
#define REPORT_GROUP_TEXT(name, text) text,
        REPORT_GROUP_LIST(REPORT_GROUP_TEXT)};
    return name[group];
}

/* Names of the model; none without it. */
static void put_names(struct json *json, const char *key, const struct report *report,
                      const char *const *name, size_t n)
{
    json_array_begin(json, key);
    for (size_t i = 0; report->has_model && i < n; i++)
        json_string(json, NULL, name[i]);
    json_array_end(json);
}

void report_summary(struct report *report, FILE *file)
{
    struct json json;
    json_begin(&json, file);
    json.in_page = true;
    json_object_begin(&json, NULL);
    json_string(&json, "file", report->info->path);
    json_unsigned(&json, "fits", report->summary.digest.n_fit);
    json_boolean(&json, "all_rows", report->all_rows);
    json_boolean(&json, "reduced", report->by_reduced);
    json_boolean(&json, "model", report->has_model);
    json_unsigned(&json, "residual_datasets", report->n_residual_dataset);
    json_number(&json, "residual_end", RESIDUAL_END);
    json_array_begin(&json, "status");
    for (int i = 0; i < N_OUTCOME; i++)
        json_string(&json, NULL, outcome_name(i));
    json_array_end(&json);
    json_array_begin(&json, "notes");
    for (int i = 0; i < 32; i++)
        json_string(&json, NULL, note_name(i));
    json_array_end(&json);
    put_names(&json, "covariates", report, report->fitted.model.abi.covariate_name,
              report->fitted.model.abi.n_covariate);
    put_names(&json, "targets", report, report->fitted.model.abi.state_name,
              report->fitted.model.abi.n_state);
    json_array_begin(&json, "groups");
    for (int i = 0; i < N_REPORT_GROUP; i++)
        json_string(&json, NULL, report_group_text(i));
    json_array_end(&json);
    json_array_begin(&json, "columns"); /* of the table of datasets */
    for (size_t c = 0; c < report->info->column.n; c++) {
        json_object_begin(&json, NULL);
        json_string(&json, "name", report->info->column_label[c]);
        json_boolean(&json, "text", report->info->column.is_text[c]);
        json_object_end(&json);
    }
    json_array_end(&json);
    put_spreads(&json, report);
    put_pairs(&json, report);
    put_residuals(&json, report);
    report_population_json(report, &json);
    json_end(&json);
}
