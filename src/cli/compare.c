/* `stiffit compare`: which model describes the data best, and what another run has changed.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include "base/json.h"
#include "cli/compare_population.h"
#include "cli/contain.h"
#include "cli/show.h"
#include "use/fitted.h"
#include "use/row_filter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_N_MOVED = 40 };

struct compare_options {
    const struct option_words *words;
    bool json, overwrite, decimal_comma, types_row;
    const char *output, *where;
    enum when color;
};

#define FIELD(name) offsetof(struct compare_options, name)

static const struct option table[] = {
    {.name = "output", .letter = 'o', .kind = OPTION_STRING, .metavar = "FILE",
     .offset = FIELD(output), .is_file = true, .is_output = true,
     .help = "write a CSV table with a row for each dataset to this file (-: standard output, "
             "instead of the summary)"},
    {.name = "overwrite", .kind = OPTION_FLAG, .offset = FIELD(overwrite),
     .help = "replace an existing file"},
    {.name = "json", .kind = OPTION_FLAG, .offset = FIELD(json),
     .help = "print the summary as JSON instead of text"},
    OPTION_WHERE(FIELD(where),
                 "only datasets for which this holds in the first result: comparisons of a "
                 "column of /fits, of the table of datasets or a parameter with a number or word, "
                 "joined by and: 'plate == P1'"),
    OPTION_DECIMAL_COMMA(FIELD(decimal_comma)),
    OPTION_TYPES_ROW(FIELD(types_row)),
    OPTION_COLOR(FIELD(color)),
};

static unsigned long long count(uint64_t n) { return n; }

/* Which datasets are compared one by one. */
static void print_compared(FILE *file, const struct comparison *comparison)
{
    fprintf(file, "Compared: %llu of %llu dataset%s, which converged in all results\n",
            count(comparison->n_compared), count(comparison->n_id), plural(comparison->n_id));
    if (comparison->n_other_data)
        fprintf(file,
                "Left out: %llu dataset%s whose numbers of measurements differ, so likelihoods "
                "mean different things\n",
                count(comparison->n_other_data), plural(comparison->n_other_data));
    if (comparison->n_no_criteria)
        fprintf(file,
                "Left out: %llu dataset%s without AIC in some result, as in a fit with shared or "
                "random parameters\n",
                count(comparison->n_no_criteria), plural(comparison->n_no_criteria));
}

static void print_totals(FILE *file, const struct comparison *comparison)
{
    double least = INFINITY;
    if (!compare_all_populations(comparison))
        print_compared(file, comparison);
    for (size_t r = 0; r < comparison->n_result; r++) {
        const struct compare_total *total = &comparison->total[r];
        fprintf(file, "  %zu  %s%s%s%s: %llu fit%s, %llu converged\n", r + 1, total->path,
                total->model[0] ? " (" : "", total->model, total->model[0] ? ")" : "",
                count(total->n_fit), plural(total->n_fit), count(total->n_converged));
        least = fmin(least, total->aic);
    }
    if (!comparison->n_compared)
        return;
    fprintf(file, "\n%15s %15s %14s %12s %14s %14s %10s %10s\n", "parameters", "log-likelihood",
            "AIC", "difference", "AICc", "BIC", "best AIC", "best BIC");
    for (size_t r = 0; r < comparison->n_result; r++) {
        const struct compare_total *total = &comparison->total[r];
        fprintf(file, "  %zu %11.0f %15.8g %14.8g %12.4g %14.8g %14.8g %10llu %10llu\n", r + 1,
                total->k, total->log_likelihood, total->aic, total->aic - least, total->aicc,
                total->bic, count(total->n_least_aic), count(total->n_least_bic));
    }
    fputs("Akaike weights:", file);
    for (size_t r = 0; r < comparison->n_result; r++)
        fprintf(file, " %.4g", comparison->total[r].weight);
    fputs("  (sums over all datasets; best: number of datasets with the lowest value)\n", file);
}

static void print_test(FILE *file, const struct compare_nested *nested)
{
    double p = compare_tail(nested->statistic, nested->freedom);
    fprintf(file, "\nLikelihood-ratio test; valid if model %zu is nested in model %zu: ",
            nested->small + 1, nested->large + 1);
    if (nested->n > 1 || !nested->is_joint)
        fprintf(file, "p < 0.05 for %llu of %llu %s%s; ", count(nested->n_significant),
                count(nested->n), nested->is_joint ? "fit" : "dataset", plural(nested->n));
    fprintf(file, "in total chi-square %.6g, %.0f degree%s of freedom, p %s %.3g\n",
            nested->statistic, nested->freedom, plural((uint64_t)nested->freedom),
            p <= 1e-15 ? "<" : "=", p);
    if (nested->worse.n) {
        fprintf(file,
                "  model %zu fits %llu %s%s worse than model %zu: it missed the optimum "
                "(try --starts), or the models are not nested\n    ",
                nested->large + 1, count(nested->worse.n), nested->is_joint ? "fit" : "dataset",
                plural(nested->worse.n), nested->small + 1);
        show_examples_text(file, &nested->worse);
    }
}

static void print_nested(FILE *file, const struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->n_nested; i++) {
        const struct compare_nested *nested = &comparison->nested[i];
        if (nested->n)
            print_test(file, nested);
        if (nested->cut.n) {
            fprintf(file,
                    "\nNo likelihood-ratio test of model %zu in model %zu for %llu dataset%s: a "
                    "fit with shared parameters has others,\n  too, which are not compared; to "
                    "test without these, fit both models without them\n    ",
                    nested->small + 1, nested->large + 1, count(nested->cut.n),
                    plural(nested->cut.n));
            show_examples_text(file, &nested->cut);
        }
    }
}

static void print_changes(FILE *file, const struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->n_change; i++) {
        const struct compare_change *change = &comparison->change[i];
        fprintf(file, "%s  1 to %zu: %-13s -> %-13s %10llu  ",
                i ? "" : "\nStatus that differs from the first result\n", change->other + 1,
                outcome_name((int)change->from), outcome_name((int)change->to),
                count(change->fits.n));
        show_examples_text(file, &change->fits);
    }
}

static void print_moved(FILE *file, const struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->n_moved && i < TEXT_N_MOVED; i++) {
        const struct compare_moved *moved = &comparison->moved[i];
        fprintf(file, "%s  1 to %zu: %-20s %10llu of %llu  ",
                i ? ""
                  : "\nParameters that differ from the first result by more "
                    "than their standard error\n",
                moved->other + 1, comparison->parameter_name[moved->parameter],
                count(moved->fits.n), count(moved->n));
        show_examples_text(file, &moved->fits);
    }
    if (comparison->n_moved > TEXT_N_MOVED)
        fprintf(file, "  and %zu more (--json has all)\n", comparison->n_moved - TEXT_N_MOVED);
}

static void print_text(FILE *file, const void *context)
{
    const struct comparison *comparison = context;
    print_totals(file, comparison);
    print_nested(file, comparison);
    compare_population_text(file, comparison);
    print_changes(file, comparison);
    print_moved(file, comparison);
    if (!comparison->n_change && !comparison->n_moved)
        fputs("\nNo status differs from the first result, and no parameter by more than its "
              "standard error\n",
              file);
}

static void put_totals(struct json *json, const struct comparison *comparison)
{
    json_array_begin(json, "results");
    for (size_t r = 0; r < comparison->n_result; r++) {
        const struct compare_total *total = &comparison->total[r];
        json_object_begin(json, NULL);
        json_string(json, "file", total->path);
        json_string(json, "model", total->model);
        json_unsigned(json, "fits", total->n_fit);
        json_unsigned(json, "converged", total->n_converged);
        json_number(json, "parameters", total->k);
        json_number(json, "log_likelihood", total->log_likelihood);
        json_number(json, "aic", total->aic);
        json_number(json, "aicc", total->aicc);
        json_number(json, "bic", total->bic);
        json_number(json, "aic_weight", total->weight);
        json_unsigned(json, "least_aic", total->n_least_aic);
        json_unsigned(json, "least_bic", total->n_least_bic);
        json_object_end(json);
    }
    json_array_end(json);
}

static void put_nested(struct json *json, const struct comparison *comparison)
{
    json_array_begin(json, "likelihood_ratio");
    for (size_t i = 0; i < comparison->n_nested; i++) {
        const struct compare_nested *nested = &comparison->nested[i];
        json_object_begin(json, NULL);
        json_unsigned(json, "small", nested->small + 1);
        json_unsigned(json, "large", nested->large + 1);
        json_unsigned(json, "tested", nested->n);
        json_unsigned(json, "significant", nested->n_significant);
        json_number(json, "chi_square", nested->statistic);
        json_number(json, "degrees_of_freedom", nested->freedom);
        json_number(json, "p", compare_tail(nested->statistic, nested->freedom));
        json_object_begin(json, "worse");
        show_examples_json(json, "datasets", &nested->worse);
        json_object_end(json);
        json_object_begin(json, "not_tested");
        show_examples_json(json, "datasets", &nested->cut);
        json_object_end(json);
        json_object_end(json);
    }
    json_array_end(json);
}

static void print_json(FILE *file, const void *context)
{
    const struct comparison *comparison = context;
    struct json json;
    json_begin(&json, file);
    json_object_begin(&json, NULL);
    json_unsigned(&json, "datasets", comparison->n_id);
    json_unsigned(&json, "compared", comparison->n_compared);
    json_unsigned(&json, "other_data", comparison->n_other_data);
    json_unsigned(&json, "no_criteria", comparison->n_no_criteria);
    put_totals(&json, comparison);
    put_nested(&json, comparison);
    compare_population_json(&json, comparison);
    json_array_begin(&json, "status_changes");
    for (size_t i = 0; i < comparison->n_change; i++) {
        json_object_begin(&json, NULL);
        json_unsigned(&json, "result", comparison->change[i].other + 1);
        json_string(&json, "from", outcome_name((int)comparison->change[i].from));
        json_string(&json, "to", outcome_name((int)comparison->change[i].to));
        show_examples_json(&json, "datasets", &comparison->change[i].fits);
        json_object_end(&json);
    }
    json_array_end(&json);
    json_array_begin(&json, "moved_parameters");
    for (size_t i = 0; i < comparison->n_moved; i++) {
        json_object_begin(&json, NULL);
        json_unsigned(&json, "result", comparison->moved[i].other + 1);
        json_string(&json, "parameter", comparison->parameter_name[comparison->moved[i].parameter]);
        json_unsigned(&json, "known", comparison->moved[i].n);
        show_examples_json(&json, "datasets", &comparison->moved[i].fits);
        json_object_end(&json);
    }
    json_array_end(&json);
    json_end(&json);
}

static enum status write_csv(const struct comparison *comparison,
                             const struct compare_options *options, struct error *error)
{
    struct output output = {.file = NULL};
    enum status status = STATUS_OK;
    for (size_t r = 0; r < comparison->n_result && !status; r++)
        status = fitted_spare(comparison->total[r].info, options->output, error);
    if (!status)
        status = output_open(&output, options->output, options->overwrite, error);
    if (!status) {
        struct csv_writer writer = {.file = output.file, .decimal_comma = options->decimal_comma,
                                    .types_row = options->types_row};
        compare_csv(comparison, &writer);
        status = output_finish(&output, error);
    }
    output_close(&output);
    return status;
}

static int compare(void *context)
{
    const struct compare_options *options = context;
    struct compare_work *work = NULL;
    struct error error = {.status = STATUS_OK};
    enum status status =
        compare_read(&work, options->words->positional, options->words->n_positional,
                     options->where, &error);
    if (!status && options->output)
        status = write_csv(compare_get(work), options, &error);
    if (!status && !(options->output && !strcmp(options->output, "-")))
        status = print_safely(options->json ? print_json : print_text, compare_get(work), &error);
    compare_free(work);
    return status ? message_usage("compare", &error, options->color) : command_close_output(0);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct option_words words;
    struct compare_options options = {.words = &words};
    int code = command_parse(self, &options, &words, OPTION_MAX_POSITIONAL, argc, argv);
    return code >= 0 ? code : contained_read(compare, &options, words.positional[0], options.color);
}

const struct command command_compare = {
    .name = "compare", .synopsis = "RESULT.h5 RESULT.h5...",
    .summary = "compare results: models by AIC, BIC and likelihood ratio; what another run changed",
    .example = "stiffit compare one-step.result.h5 two-step.result.h5\n"
               "stiffit compare before.result.h5 after.result.h5 -o changes.csv",
    .needs = "results",
    .description =
        "Compares results of the same data, dataset by dataset and in total: AIC, AICc, BIC and "
        "Akaike weights; likelihood-ratio tests where the parameters of one model are some of "
        "those of another; datasets whose status differs; and parameters that differ by more than "
        "their standard errors. Datasets are matched by their ids.",
    .table = COMMAND_TABLE(table), .run = run};
