/* Combinations of parameters that the data do not determine.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/show.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_NAMED = 6 };

int show_n_combination(const struct result_info *info, const struct fit_record *record)
{
    int n = 1;
    for (size_t j = 0; record->flat_group && j < info->n_parameter; j++)
        n = record->flat_group[j] > n ? record->flat_group[j] : n;
    return n;
}

bool show_combination(const struct result_info *info, const struct fit_record *record, int number,
                      double *weight)
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
        if (sign == 0 && fabs(weight[j]) >= SHOW_NAMED)
            sign = weight[j] < 0 ? -1 : 1;
    }
    for (size_t j = 0; j < info->n_parameter; j++)
        weight[j] *= sign < 0 ? -1 : 1;
    return true;
}

const char *show_combination_text(const struct result_info *info, const double *weight, char *text,
                                  size_t size)
{
    size_t used = 0;
    int n_named = 0;
    double sum = 0;
    text[0] = '\0';
    for (size_t j = 0; j < info->n_parameter; j++)
        sum += weight[j] * weight[j];
    for (size_t j = 0; j < info->n_parameter && used < size; j++) {
        double part = weight[j] / sqrt(sum);
        if (!(fabs(part) >= SHOW_NAMED))
            continue;
        if (++n_named > MOST_NAMED) {
            snprintf(text + used, size - used, " + ...");
            break;
        }
        const char *join = n_named == 1 ? (part < 0 ? "-" : "") : part < 0 ? " - " : " + ";
        used += (size_t)snprintf(text + used, size - used, "%s%.2f log %s", join, fabs(part),
                                 info->parameter_name[j]);
    }
    if (n_named == 1) { /* a single parameter needs no number */
        const char *log = strstr(text, "log ");
        if (log)
            memmove(text, log, strlen(log) + 1);
    }
    return text;
}
