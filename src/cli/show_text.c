/* A file in words.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/show_text.h"

#include <math.h>
#include <string.h>

static int longest(const char *const *names, size_t n, int least)
{
    for (size_t i = 0; i < n; i++)
        if (names[i] && (int)strlen(names[i]) > least)
            least = (int)strlen(names[i]);
    return least < 40 ? least : 40;
}

static void print_names(FILE *file, const char *what, const char *const *names, size_t n)
{
    enum { SHOWN = 12 };
    fprintf(file, "%-13s%zu:", what, n);
    for (size_t i = 0; i < n && i < SHOWN; i++)
        fprintf(file, " %s", names[i]);
    fputs(n > SHOWN ? " ...\n" : "\n", file);
}

void show_problem_text(FILE *file, const struct problem_info *info)
{
    fprintf(file, "%s: a problem\n", info->path);
    if (info->model_plugin)
        fprintf(file, "model        %s\n", info->model_plugin);
    if (info->model_bytes)
        fprintf(file, "model        embedded plugin of %zu bytes\n", info->n_model_byte);
    if (info->model_source)
        fprintf(file, "model        model text of %zu bytes, compiled when it is needed; safe from anybody\n",
                strlen(info->model_source));
    if (!info->model_plugin && !info->model_bytes && !info->model_source)
        fputs("model        none: give one with --model\n", file);
    if (info->model_sha256)
        fprintf(file, "sha256       %s\n", info->model_sha256);
    fprintf(file, "datasets     %llu\nmeasurements %llu\n", (unsigned long long)info->n_dataset,
            (unsigned long long)info->n_measurement);
    if (info->n_parameter > 0)
        print_names(file, "parameters", info->parameter_name, info->n_parameter);
    else
        fputs("parameters   the model's own\n", file);
    if (info->n_covariate > 0)
        print_names(file, "covariates", info->covariate_name, info->n_covariate);
    if (info->n_observable > 0)
        print_names(file, "observables", info->observable_name, info->n_observable);
    for (size_t i = 0; i < info->n_option; i++)
        fprintf(file, "%s%s = %s\n", i ? "             " : "options      ", info->option_name[i], info->option_value[i]);
}

static void print_groups(FILE *file, const struct show_summary *summary)
{
    for (size_t i = 0; i < summary->n_group; i++) {
        const struct show_group *group = &summary->group[i];
        fprintf(file, "  %-14s %10llu  %s\n", outcome_name(group->outcome), (unsigned long long)group->n,
                group->message[0] ? group->message : outcome_meaning(group->outcome));
        fputs("                             e.g.", file);
        for (int k = 0; k < SHOW_N_EXAMPLE && group->example[k][0]; k++)
            fprintf(file, "%s %s", k ? "," : "", group->example[k]);
        fputc('\n', file);
    }
    if (summary->n_other)
        fprintf(file, "  %-14s %10llu\n", "others", (unsigned long long)summary->n_other);
}

static void print_spread(FILE *file, const char *name, int width, const char *scale, const struct show_spread *spread)
{
    fprintf(file, "  %-*s %-5s %12.6g %12.6g %12.6g %12.6g %12.6g", width, name, scale, spread->min, spread->q25,
            spread->median, spread->q75, spread->max);
    if (spread->n_at_lower || spread->n_at_upper)
        fprintf(file, "  %llu at lower, %llu at upper bound", (unsigned long long)spread->n_at_lower,
                (unsigned long long)spread->n_at_upper);
    fputc('\n', file);
}

/* "k [1/min]" */
static void label(const struct result_info *info, size_t j, char *text, size_t size)
{
    const char *unit = info->parameter_unit ? info->parameter_unit[j] : NULL;
    snprintf(text, size, "%s%s%s%s", info->parameter_name[j], unit && *unit ? " [" : "", unit && *unit ? unit : "",
             unit && *unit ? "]" : "");
}

static void print_parameters(FILE *file, const struct result_info *info, const struct show_summary *summary)
{
    int width = 9;
    char text[100];
    for (size_t j = 0; j < info->n_parameter; j++) {
        label(info, j, text, sizeof text);
        width = (int)strlen(text) > width ? (int)strlen(text) : width;
    }
    width = width < 40 ? width : 40;
    fprintf(file, "\nConverged fits%s\n  %-*s %-5s %12s %12s %12s %12s %12s\n",
            summary->n_sampled < summary->n_success ? " (a regular sample of them)" : "", width, "", "scale", "min", "25 %",
            "median", "75 %", "max");
    for (size_t j = 0; j < info->n_parameter; j++) {
        label(info, j, text, sizeof text);
        print_spread(file, text, width, info->parameter_scale ? info->parameter_scale[j] : "", &summary->parameter[j]);
    }
    print_spread(file, "objective", width, "", &summary->objective);
}

static void print_slow(FILE *file, const struct show_summary *summary)
{
    if (summary->n_slow == 0)
        return;
    fprintf(file, "\nSlowest (of %.4g s in total)\n  %12s %12s %12s  %-12s %s\n", summary->seconds, "seconds", "evaluations",
            "steps", "status", "id");
    for (size_t i = 0; i < summary->n_slow; i++)
        fprintf(file, "  %12.4g %12lld %12lld  %-12s %s\n", summary->slow[i].seconds,
                (long long)summary->slow[i].n_evaluation, (long long)summary->slow[i].n_step,
                outcome_name(summary->slow[i].outcome), summary->slow[i].id);
}

void show_result_text(FILE *file, const struct result_info *info, const struct show_summary *summary)
{
    fprintf(file, "%s: a result of %llu %s\n", info->path, (unsigned long long)summary->n_fit,
            summary->n_fit == 1 ? "fit" : "fits");
    fprintf(file, "  %-14s %10llu\n", outcome_name(OUTCOME_converged),
            (unsigned long long)summary->by_outcome[OUTCOME_converged]);
    print_groups(file, summary);
    print_parameters(file, info, summary);
    fprintf(file, "  (objective: %s)\n",
            info->objective_kind && !strcmp(info->objective_kind, "negative_log_likelihood") ? "the negative log-likelihood"
                                                                          : "half the weighted sum of squares");
    print_slow(file, summary);
    bool headed = false;
    for (int bit = 0; bit < 32; bit++)
        if (summary->by_note[bit] && note_meaning(bit)) {
            fprintf(file, "%s  %10llu  %s\n", headed ? "" : "\nNotes\n", (unsigned long long)summary->by_note[bit],
                    note_meaning(bit));
            headed = true;
        }
    fprintf(file, "\nProvenance\n");
    int width = longest(info->provenance.name, info->provenance.n, 4);
    for (size_t i = 0; i < info->provenance.n; i++)
        if (!strcmp(info->provenance.name[i], "model_source"))
            fprintf(file, "  %-*s  model text of %zu bytes (--json prints it)\n", width, info->provenance.name[i],
                    strlen(info->provenance.value[i]));
        else
            fprintf(file, "  %-*s  %s\n", width, info->provenance.name[i], info->provenance.value[i]);
    fprintf(file, "  %-*s  %llu\n", width, "seed", (unsigned long long)info->identity.seed);
}
