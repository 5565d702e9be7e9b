/* What starts, profiles and bootstrap replicates said about all fits together.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/show_text.h"

#include <math.h>

static const char *const side_name[] = {"lower", "upper"};

void show_add_refits(struct show_summary *summary, const struct result_info *info, const char *id,
                     const struct fit_record *record)
{
    struct show_refits *refits = &summary->refits;
    const uint8_t *const limit[] = {record->profile_lower_status, record->profile_upper_status};
    if (record->n_same_optimum == 1)
        show_add_example(isnan(record->other_least) ? &refits->only : &refits->alone, id);
    else if (record->n_same_optimum > 1 && isnan(record->other_least))
        refits->n_same++;
    else if (record->n_same_optimum > 1)
        refits->n_some++;
    for (size_t j = 0; j < info->n_parameter; j++)
        for (int side = 0; side < 2; side++)
            if (limit[side] && limit[side][j] < N_LIMIT) {
                summary->parameter[j].n_limit[side][limit[side][j]]++;
                refits->has_profile = refits->has_profile || limit[side][j] != LIMIT_none;
            }
    if (record->n_bootstrap < 0)
        return;
    if (refits->n_bootstrap == 0 || record->n_bootstrap < refits->least)
        refits->least = record->n_bootstrap;
    refits->most = record->n_bootstrap > refits->most ? record->n_bootstrap : refits->most;
    refits->n_bootstrap++;
    for (size_t j = 0; j < info->n_parameter && record->bootstrap_error; j++) {
        double ratio = record->bootstrap_error[j] / record->standard_error[j];
        if (ratio > 0 && isfinite(ratio)) {
            summary->parameter[j].log_ratio += log(ratio);
            summary->parameter[j].n_ratio++;
        }
    }
}

/* Geometric mean of bootstrap error / standard error; NaN: there is none. */
static double ratio_of(const struct show_spread *spread)
{
    return spread->n_ratio ? exp(spread->log_ratio / (double)spread->n_ratio) : (double)NAN;
}

static void print_count(FILE *file, uint64_t n, const char *what)
{
    if (n)
        fprintf(file, "  %10llu  %s\n", (unsigned long long)n, what);
}

static void print_some(FILE *file, const struct show_examples *fits, const char *what)
{
    print_count(file, fits->n, what);
    if (fits->n) {
        fprintf(file, "%14s", "");
        show_print_examples(file, fits);
    }
}

static void print_starts(FILE *file, const struct result_info *info, const struct show_refits *refits)
{
    if (refits->alone.n + refits->only.n + refits->n_same + refits->n_some == 0)
        return;
    fprintf(file, "\nStarts, %u for each dataset\n", (unsigned)info->identity.n_start);
    print_count(file, refits->n_same, "all successful starts reached the same objective (within 1e-6)");
    print_count(file, refits->n_some, "several starts reached the lowest objective (within 1e-6), others ended elsewhere");
    print_some(file, &refits->alone, "one start alone reached the lowest objective: more starts may find a lower one");
    print_some(file, &refits->only, "one start alone converged, the others failed");
}

/* "28 found, 2 infinite" */
static void print_limits(FILE *file, const uint64_t *n_limit)
{
    bool any = false;
    for (int k = LIMIT_none + 1; k < N_LIMIT; k++)
        if (n_limit[k]) {
            fprintf(file, "%s%llu %s", any ? ", " : "", (unsigned long long)n_limit[k], limit_name(k));
            any = true;
        }
    fputc('\n', file);
}

static void print_profiles(FILE *file, const struct result_info *info, const struct show_summary *summary)
{
    uint64_t seen[N_LIMIT] = {0};
    char text[100];
    int width = show_label_width(info);
    if (!summary->refits.has_profile)
        return;
    fputs("\nConfidence limits from profile likelihoods\n", file);
    for (size_t j = 0; j < info->n_parameter; j++)
        for (int side = 0; side < 2; side++) {
            const uint64_t *n_limit = summary->parameter[j].n_limit[side];
            uint64_t n = 0;
            for (int k = LIMIT_none + 1; k < N_LIMIT; k++) {
                n += n_limit[k];
                seen[k] += n_limit[k];
            }
            if (n == 0)
                continue;
            fprintf(file, "  %-*s %s ", width, side ? "" : show_label(info, j, text, sizeof text), side_name[side]);
            print_limits(file, n_limit);
        }
    for (int k = LIMIT_found + 1; k < N_LIMIT; k++)
        if (seen[k])
            fprintf(file, "  %s: %s\n", limit_name(k), limit_meaning(k));
}

static void print_bootstrap(FILE *file, const struct result_info *info, const struct show_summary *summary)
{
    const struct show_refits *refits = &summary->refits;
    char text[100];
    int width = show_label_width(info);
    if (refits->n_bootstrap == 0)
        return;
    fputs("\nBootstrap\n", file);
    if (refits->least == refits->most)
        fprintf(file, "  %lld replicates were fitted for each dataset\n", (long long)refits->most);
    else
        fprintf(file, "  %lld to %lld replicates were fitted for a dataset\n", (long long)refits->least,
                (long long)refits->most);
    fprintf(file, "  %-*s error over the replicates / standard error\n", width, "");
    for (size_t j = 0; j < info->n_parameter && j < SHOW_N_ROW; j++)
        if (summary->parameter[j].n_ratio)
            fprintf(file, "  %-*s %.3g\n", width, show_label(info, j, text, sizeof text), ratio_of(&summary->parameter[j]));
}

void show_refits_text(FILE *file, const struct result_info *info, const struct show_summary *summary)
{
    print_starts(file, info, &summary->refits);
    print_profiles(file, info, summary);
    print_bootstrap(file, info, summary);
}

static void put_count(struct json *json, const char *key, uint64_t n)
{
    json_key(json, key);
    json_unsigned(json, n);
}

static void put_profiles(struct json *json, const struct result_info *info, const struct show_summary *summary)
{
    json_object_begin(json);
    for (size_t j = 0; j < info->n_parameter; j++) {
        json_key(json, info->parameter_name[j]);
        json_object_begin(json);
        for (int side = 0; side < 2; side++) {
            json_key(json, side_name[side]);
            json_object_begin(json);
            for (int k = LIMIT_none + 1; k < N_LIMIT; k++)
                put_count(json, limit_name(k), summary->parameter[j].n_limit[side][k]);
            json_object_end(json);
        }
        json_object_end(json);
    }
    json_object_end(json);
}

static void put_bootstrap(struct json *json, const struct result_info *info, const struct show_summary *summary)
{
    json_object_begin(json);
    put_count(json, "fits", summary->refits.n_bootstrap);
    put_count(json, "fewest_replicates", (uint64_t)summary->refits.least);
    put_count(json, "most_replicates", (uint64_t)summary->refits.most);
    json_key(json, "error_ratio");
    json_object_begin(json);
    for (size_t j = 0; j < info->n_parameter; j++) {
        json_key(json, info->parameter_name[j]);
        json_number(json, ratio_of(&summary->parameter[j]));
    }
    json_object_end(json);
    json_object_end(json);
}

void show_refits_json(struct json *json, const struct result_info *info, const struct show_summary *summary)
{
    const struct show_refits *refits = &summary->refits;
    json_key(json, "starts");
    json_object_begin(json);
    put_count(json, "one_optimum", refits->n_same);
    put_count(json, "several_optima", refits->n_some);
    put_count(json, "best_reached_once", refits->alone.n);
    put_count(json, "others_failed", refits->only.n);
    json_object_end(json);
    json_key(json, "profiles");
    if (refits->has_profile)
        put_profiles(json, info, summary);
    else
        json_null(json);
    json_key(json, "bootstrap");
    if (refits->n_bootstrap)
        put_bootstrap(json, info, summary);
    else
        json_null(json);
}
