/* Combinations of parameters that the data do not determine: their names, and the fits that share one.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/show.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A parameter with a smaller weight in a direction is not named. */
static const double NAMED = 0.1;
enum { MOST_NAMED = 6 };

int show_n_combination(const struct result_info *info, const struct fit_record *record)
{
    int n = 1;
    for (size_t j = 0; record->flat_group && j < info->n_parameter; j++)
        n = record->flat_group[j] > n ? record->flat_group[j] : n;
    return n;
}

bool show_combination(const struct result_info *info, const struct fit_record *record, int number, double *weight)
{
    double sum = 0, sign = 0;
    bool all = show_n_combination(info, record) == 1;
    for (size_t j = 0; j < info->n_parameter; j++) {
        double entry = record->flattest ? record->flattest[j] : NAN, p = fabs(record->parameter[j]);
        const char *scale = info->parameter_scale ? info->parameter_scale[j] : "lin";
        if (!strcmp(scale, "log10"))
            entry *= 2.302585092994045684;
        else if (strcmp(scale, "log") != 0 && p > 0)
            entry /= p;
        weight[j] = isfinite(entry) && (all || record->flat_group[j] == number) ? entry : 0;
        sum += weight[j] * weight[j];
    }
    if (!(sum > 0))
        return false;
    for (size_t j = 0; j < info->n_parameter; j++) {
        weight[j] /= sqrt(sum);
        if (sign == 0 && fabs(weight[j]) >= NAMED)
            sign = weight[j] < 0 ? -1 : 1;
    }
    for (size_t j = 0; j < info->n_parameter; j++)
        weight[j] *= sign < 0 ? -1 : 1;
    return true;
}

const char *show_combination_text(const struct result_info *info, const double *weight, char *text, size_t size)
{
    size_t used = 0;
    int n_named = 0;
    double sum = 0;
    text[0] = '\0';
    for (size_t j = 0; j < info->n_parameter; j++)
        sum += weight[j] * weight[j];
    for (size_t j = 0; j < info->n_parameter && used < size; j++) {
        double part = weight[j] / sqrt(sum);
        if (!(fabs(part) >= NAMED))
            continue;
        if (++n_named > MOST_NAMED) {
            snprintf(text + used, size - used, " + ...");
            break;
        }
        const char *join = n_named == 1 ? (part < 0 ? "-" : "") : part < 0 ? " - " : " + ";
        used += (size_t)snprintf(text + used, size - used, "%s%.2f log %s", join, fabs(part), info->parameter_name[j]);
    }
    if (n_named == 1) { /* a single parameter needs no number */
        const char *log = strstr(text, "log ");
        if (log)
            memmove(text, log, strlen(log) + 1);
    }
    return text;
}

static int sign_of(double x, double length) { return x >= NAMED * length ? 1 : x <= -NAMED * length ? -1 : 0; }

static bool is_same(const double *sums, double n, const double *weight, size_t n_parameter)
{
    for (size_t j = 0; j < n_parameter; j++)
        if (sign_of(sums[j], n) != sign_of(weight[j], 1))
            return false;
    return true;
}

/* Adds one combination of a fit. */
static void add_combination(struct show_summary *summary, const struct result_info *info, const char *id, const double *weight)
{
    struct show_flat *flat = NULL;
    if (!weight) {
        summary->n_other_flat++;
        return;
    }
    for (size_t i = 0; i < summary->n_flat && !flat; i++)
        if (is_same(summary->flat[i].weight, (double)summary->flat[i].fits.n, weight, info->n_parameter))
            flat = &summary->flat[i];
    if (!flat && summary->n_flat == SHOW_N_FLAT) {
        summary->n_other_flat++;
        return;
    }
    if (!flat) {
        flat = &summary->flat[summary->n_flat];
        flat->weight = summary->weights + summary->n_flat++ * info->n_parameter;
    }
    for (size_t j = 0; j < info->n_parameter; j++)
        flat->weight[j] += weight[j];
    show_add_example(&flat->fits, id);
}

void show_add_flat(struct show_summary *summary, const struct result_info *info, const char *id,
                   const struct fit_record *record, double *scratch)
{
    if (!(record->n_flat > 0))
        return;
    summary->n_fit_flat++;
    for (int number = 1; number <= show_n_combination(info, record); number++)
        add_combination(summary, info, id, show_combination(info, record, number, scratch) ? scratch : NULL);
}
