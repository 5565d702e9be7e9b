/* `stiffit compare`: which model describes the data best, and what another run has changed.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include "cli/compare_population.h"
#include "cli/contain.h"
#include "use/show_view.h"
#include "use/fitted.h"
#include "use/row_filter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
static void add_compared(struct view *view, const struct comparison *comparison)
{
    view_say(view, "Compared: %llu of %llu dataset%s, which converged in all results\n",
             count(comparison->n_compared), count(comparison->n_id), plural(comparison->n_id));
    if (comparison->n_other_data)
        view_say(view,
                 "Left out: %llu dataset%s whose numbers of measurements differ, so likelihoods "
                 "mean different things\n",
                 count(comparison->n_other_data), plural(comparison->n_other_data));
    if (comparison->n_no_criteria)
        view_say(view,
                 "Left out: %llu dataset%s without AIC in some result, as in a fit with shared or "
                 "random parameters\n",
                 count(comparison->n_no_criteria), plural(comparison->n_no_criteria));
}

static void add_totals(struct view *view, const struct comparison *comparison)
{
    double least = INFINITY;
    VIEW_FACTS(view, fact_count("datasets", NULL, 0, comparison->n_id),
               fact_count("compared", NULL, 0, comparison->n_compared),
               fact_count("other_data", NULL, 0, comparison->n_other_data),
               fact_count("no_criteria", NULL, 0, comparison->n_no_criteria));
    if (!compare_all_populations(comparison))
        add_compared(view, comparison);
    for (size_t r = 0; r < comparison->n_result; r++) {
        const struct compare_total *total = &comparison->total[r];
        view_say(view, "  %zu  %s%s%s%s: %llu fit%s, %llu converged\n", r + 1, total->path,
                 total->model[0] ? " (" : "", total->model, total->model[0] ? ")" : "",
                 count(total->n_fit), plural(total->n_fit), count(total->n_converged));
        least = fmin(least, total->aic);
    }
    view_table(view, "results", "", comparison->n_compared ? VIEW_PLAIN : VIEW_HIDDEN);
    for (size_t r = 0; r < comparison->n_result; r++) {
        const struct compare_total *total = &comparison->total[r];
        VIEW_ROW(view, fact_count(NULL, "", 1, (int64_t)r + 1),
                 fact_word("file", NULL, 0, total->path), fact_word("model", NULL, 0, total->model),
                 fact_count("fits", NULL, 0, total->n_fit),
                 fact_count("converged", NULL, 0, total->n_converged),
                 fact_number("parameters", NULL, 0, 0, total->k), /* shared ones count in part */
                 fact_count(NULL, "parameters", 11, llround(total->k)),
                 fact_number("log_likelihood", "log-likelihood", 15, 8, total->log_likelihood),
                 fact_number("aic", "AIC", 14, 8, total->aic),
                 fact_number(NULL, "difference", 12, 4, total->aic - least),
                 fact_number("aicc", "AICc", 14, 8, total->aicc),
                 fact_number("bic", "BIC", 14, 8, total->bic),
                 fact_number("aic_weight", NULL, 0, 0, total->weight),
                 fact_count("least_aic", "best AIC", 10, total->n_least_aic),
                 fact_count("least_bic", "best BIC", 10, total->n_least_bic));
    }
    view_end(view);
    if (!comparison->n_compared)
        return;
    view_say(view, "Akaike weights:");
    for (size_t r = 0; r < comparison->n_result; r++)
        view_say(view, " %.4g", comparison->total[r].weight);
    view_say(view, "  (sums over all datasets; best: number of datasets with the lowest value)\n");
}

static void say_test(struct view *view, const struct compare_nested *nested)
{
    double p = compare_tail(nested->statistic, nested->freedom);
    const char *unit = nested->is_joint ? "fit" : "dataset";
    view_say(view, "\nLikelihood-ratio test; valid if model %zu is nested in model %zu: ",
             nested->small + 1, nested->large + 1);
    if (nested->n > 1 || !nested->is_joint)
        view_say(view, "p < 0.05 for %llu of %llu %s%s; ", count(nested->n_significant),
                 count(nested->n), unit, plural(nested->n));
    view_say(view, "in total chi-square %.6g, %.0f degree%s of freedom, p %s %.3g\n",
             nested->statistic, nested->freedom, plural((uint64_t)nested->freedom),
             p <= 1e-15 ? "<" : "=", p);
    if (nested->worse.n)
        view_say(view,
                 "  model %zu fits %llu %s%s worse than model %zu: it missed the optimum (try "
                 "--starts), or the models are not nested\n    %s\n",
                 nested->large + 1, count(nested->worse.n), unit, plural(nested->worse.n),
                 nested->small + 1, show_examples_word(view, &nested->worse));
}

static void add_nested(struct view *view, const struct comparison *comparison)
{
    view_table(view, "likelihood_ratio", NULL, VIEW_HIDDEN);
    for (size_t i = 0; i < comparison->n_nested; i++) {
        const struct compare_nested *nested = &comparison->nested[i];
        view_row(view, NULL, VIEW_PLAIN);
        VIEW_FACTS(view, fact_count("small", NULL, 0, (int64_t)nested->small + 1),
                   fact_count("large", NULL, 0, (int64_t)nested->large + 1),
                   fact_count("tested", NULL, 0, nested->n),
                   fact_count("significant", NULL, 0, nested->n_significant),
                   fact_number("chi_square", NULL, 0, 0, nested->statistic),
                   fact_number("degrees_of_freedom", NULL, 0, 0, nested->freedom),
                   fact_number("p", NULL, 0, 0, compare_tail(nested->statistic, nested->freedom)));
        show_examples_group(view, "worse", &nested->worse);
        show_examples_group(view, "not_tested", &nested->cut);
        view_end(view);
    }
    view_end(view);
    for (size_t i = 0; i < comparison->n_nested; i++) {
        const struct compare_nested *nested = &comparison->nested[i];
        if (nested->n)
            say_test(view, nested);
        if (nested->cut.n)
            view_say(view,
                     "\nNo likelihood-ratio test of model %zu in model %zu for %llu dataset%s: a "
                     "fit with shared parameters has others,\n  too, which are not compared; to "
                     "test without these, fit both models without them\n    %s\n",
                     nested->small + 1, nested->large + 1, count(nested->cut.n),
                     plural(nested->cut.n), show_examples_word(view, &nested->cut));
    }
}

static void add_changes(struct view *view, const struct comparison *comparison)
{
    view_table(view, "status_changes", "Status that differs from the first result", VIEW_HEADLESS);
    for (size_t i = 0; i < comparison->n_change; i++) {
        const struct compare_change *change = &comparison->change[i];
        VIEW_ROW(view, fact_count("result", NULL, 0, (int64_t)change->other + 1),
                 fact_word(NULL, "", -1, view_word(view, "1 to %zu:", change->other + 1)),
                 fact_word("from", "from", -13, outcome_name((int)change->from)),
                 fact_word(NULL, "", -1, "->"),
                 fact_word("to", "to", -13, outcome_name((int)change->to)),
                 fact_count("datasets", "datasets", 10, change->fits.n),
                 show_examples(view, &change->fits));
    }
    view_end(view);
}

static void add_moved(struct view *view, const struct comparison *comparison)
{
    view_table(view, "moved_parameters", "Parameters that differ from the first result by more "
               "than their standard error", VIEW_HEADLESS);
    for (size_t i = 0; i < comparison->n_moved; i++) {
        const struct compare_moved *moved = &comparison->moved[i];
        VIEW_ROW(view, fact_count("result", NULL, 0, (int64_t)moved->other + 1),
                 fact_word(NULL, "", -1, view_word(view, "1 to %zu:", moved->other + 1)),
                 fact_word("parameter", "parameter", -20,
                           comparison->parameter_name[moved->parameter]),
                 fact_count("datasets", "datasets", 10, moved->fits.n),
                 fact_word(NULL, "", 1, view_word(view, "of %llu", count(moved->n))),
                 fact_count("known", NULL, 0, moved->n), show_examples(view, &moved->fits));
    }
    view_end(view);
}

static void view_comparison(struct view *view, const struct comparison *comparison)
{
    add_totals(view, comparison);
    add_nested(view, comparison);
    compare_add_populations(view, comparison);
    add_changes(view, comparison);
    add_moved(view, comparison);
    if (!comparison->n_change && !comparison->n_moved)
        view_say(view, "\nNo status differs from the first result, and no parameter by more than "
                 "its standard error\n");
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
    struct view view = {.n = 0};
    enum status status =
        compare_read(&work, options->words->positional, options->words->n_positional,
                     options->where, &error);
    if (!status && options->output)
        status = write_csv(compare_get(work), options, &error);
    if (!status && !(options->output && !strcmp(options->output, "-"))) {
        view_comparison(&view, compare_get(work));
        status = command_print(&view, options->json, &error);
    }
    view_fini(&view);
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
