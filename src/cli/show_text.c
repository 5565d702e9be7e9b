/* A problem file in words.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/show_text.h"

#include <string.h>

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
    if (info->n_prior > 0)
        fprintf(file, "priors       on %zu parameter%s, instead of the model's\n", info->n_prior,
                info->n_prior == 1 ? "" : "s");
    else if (info->parameter_prior)
        fputs("priors       none, whatever the model says\n", file);
    if (info->n_covariate > 0)
        print_names(file, "covariates", info->covariate_name, info->n_covariate);
    if (info->n_observable > 0)
        print_names(file, "observables", info->observable_name, info->n_observable);
    if (info->observable_error)
        print_names(file, "errors", info->observable_error, info->n_error);
    for (size_t i = 0; i < info->n_option; i++)
        fprintf(file, "%s%s = %s\n", i ? "             " : "options      ", info->option_name[i], info->option_value[i]);
}
