/* One fit in words, with the numbers that a paper reports.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/show.h"
#include "fit/objective/distribution.h"
#include "run/plan/recipe_text.h"
#include "use/fit_columns.h"

#include <math.h>
#include <string.h>

enum { LABEL = -9, CORRELATION_MOST = 20, EIGENVALUES_MOST = 10 };

static void add_starts(struct view *view, const struct result_info *info,
                       const struct fit_record *record)
{
    view_say(view, "  best of %u starts: number %u", (unsigned)info->identity.n_start,
             (unsigned)record->start);
    if (record->n_same_optimum > 0)
        view_say(view, "; %lld reached the same objective (within 1e-6)",
                 (long long)record->n_same_optimum);
    if (record->other_most > record->other_least)
        view_say(view, ", others at objectives from %.7g to %.7g", record->other_least,
                 record->other_most);
    else if (!isnan(record->other_least))
        view_say(view, ", others at an objective of %.7g", record->other_least);
    view_say(view, "\n");
}

static void add_head(struct view *view, const struct result_info *info, const char *id,
                     const struct fit_record *record)
{
    enum outcome outcome = (enum outcome)record->outcome;
    view_say(view, "%s: %s", id, outcome_name(outcome));
    if (outcome_is_success(outcome) && record->stop != STOP_none)
        view_say(view, ": %s", stop_meaning(record->stop));
    if (!outcome_is_success(outcome))
        view_say(view, ": %s", record->reason[0] ? record->reason : outcome_meaning(outcome));
    view_say(view, "\n  ");
    if (record->optimizer != OPTIMIZER_none)
        view_say(view, "%s, derivatives %s; ", optimizer_name(record->optimizer),
                 gradient_name(record->gradient));
    view_say(view, "%lld iterations, %lld evaluations, %lld steps, %.3g s\n",
             (long long)record->n_iteration, (long long)record->n_evaluation,
             (long long)record->n_step, record->seconds);
    if (info->identity.n_start > 1)
        add_starts(view, info, record);
}

static const char *interval_word(struct view *view, double lower, double upper)
{
    bool is_known = !isnan(lower) || !isnan(upper);
    return is_known ? view_word(view, "%.6g ... %.6g", lower, upper) : "-";
}

/* Its relative error and its interval, or why it has none. */
static void add_row(struct view *view, const struct result_info *info,
                    const struct fit_record *record, size_t j)
{
    double p = record->parameter[j], error = record->standard_error[j];
    const char *relative = "", *interval = "", *bound = "";
    if (isfinite(error))
        relative = view_word(view, error < fabs(p) ? "%.2g %%" : "%.0f %%",
                             100 * error / fabs(p));
    if (isfinite(error) && !isnan(record->interval_lower[j]))
        interval = interval_word(view, record->interval_lower[j], record->interval_upper[j]);
    else if (isfinite(record->slope[j]) && !isfinite(error))
        interval = view_word(view, "d objective / d parameter %.10g", record->slope[j]);
    else if (!isfinite(error) && record->lack[j] != LACK_none && record->lack[j] != LACK_not_run)
        interval = lack_meaning(record->lack[j]); /* results of the first version have none */
    if (record->at_bound[j])
        bound = record->at_bound[j] < 0 ? "(at its lower bound)" : "(at its upper bound)";
    VIEW_ROW(view, fact_word(NULL, "", LABEL, show_label(view, info, j)),
             fact_number(NULL, "best fit", 13, 6, p),
             fact_number(NULL, "std. error", 11, 3, isfinite(error) ? error : (double)NAN),
             fact_word(NULL, "relative", 11, relative),
             fact_word(NULL, "95 % interval", -1, *interval ? interval : bound),
             fact_word(NULL, "", -1, *interval ? bound : ""));
}

static void add_bootstrap(struct view *view, const struct result_info *info,
                          const struct fit_record *record)
{
    if (record->n_bootstrap < 0 || !record->bootstrap_error)
        return;
    view_group(view, NULL, view_word(view, "From the bootstrap, %lld replicates",
                                     (long long)record->n_bootstrap), VIEW_PLAIN);
    if (record->n_bootstrap > 0 && record->n_bootstrap < FIT_INTERVAL_REPLICATES)
        view_say(view, "  (intervals need %d)\n", FIT_INTERVAL_REPLICATES);
    view_table(view, NULL, NULL, VIEW_PLAIN);
    for (size_t j = 0; j < info->n_parameter; j++)
        if (!isnan(record->bootstrap_error[j]))
            VIEW_ROW(view, fact_word(NULL, "", LABEL, info->parameter_name[j]),
                     fact_number(NULL, "std. error", 13, 3, record->bootstrap_error[j]),
                     fact_word(NULL, "95 %, studentised", -26,
                               interval_word(view, record->bootstrap_lower[j],
                                             record->bootstrap_upper[j])),
                     fact_word(NULL, "95 %, percentiles", -1,
                               interval_word(view, record->percentile_lower[j],
                                             record->percentile_upper[j])));
    view_end(view);
    view_end(view);
}

/* One side, or why it does not cross the threshold; by: the parameter that a bound holds there, or
 * NULL. */
static const char *side_word(struct view *view, double limit, uint8_t status, const char *by)
{
    if (status == LIMIT_found || status == LIMIT_none)
        return view_word(view, "%.6g", limit);
    if (by)
        return view_word(view, "%.6g (where a bound holds %s: without it there might be no limit)",
                         limit, by);
    return view_word(view, "%.6g (%s)", limit, limit_meaning(status));
}

static const char *name_of(const struct result_info *info, const int64_t *parameter, size_t j)
{
    bool is_one = parameter && parameter[j] >= 0 && (size_t)parameter[j] < info->n_parameter;
    return is_one ? info->parameter_name[parameter[j]] : NULL;
}

static void add_profiles(struct view *view, const struct result_info *info,
                         const struct fit_record *record)
{
    const uint8_t *low = record->profile_lower_status, *high = record->profile_upper_status;
    view_table(view, NULL, "From profile likelihoods", VIEW_HEADLESS);
    for (size_t j = 0; j < info->n_parameter && low && high; j++)
        if (low[j] != LIMIT_none || high[j] != LIMIT_none) {
            const char *lower = side_word(view, record->profile_lower[j], low[j],
                                          name_of(info, record->profile_lower_by, j)),
                       *upper = side_word(view, record->profile_upper[j], high[j],
                                          name_of(info, record->profile_upper_by, j));
            VIEW_ROW(view, fact_word(NULL, "", LABEL, info->parameter_name[j]),
                     fact_word(NULL, "", -1, view_word(view, "%s ... %s", lower, upper)));
        }
    view_end(view);
}

static void add_parameters(struct view *view, const struct result_info *info,
                           const struct fit_record *record)
{
    view_table(view, NULL, "", VIEW_PLAIN);
    for (size_t j = 0; j < info->n_parameter; j++)
        add_row(view, info, record, j);
    view_end(view);
    add_profiles(view, info, record);
    add_bootstrap(view, info, record);
}

static void add_correlation(struct view *view, const struct result_info *info,
                            const double *correlation)
{
    size_t n = info->n_parameter;
    if (n > CORRELATION_MOST) {
        view_say(view, "\nCorrelation: of %zu parameters, see --json\n", n);
        return;
    }
    view_table(view, NULL, "Correlation", VIEW_HEADLESS);
    for (size_t c = 0; c < n; c++) {
        if (isnan(correlation[c + c * n]))
            continue;
        view_row(view, NULL, VIEW_PLAIN);
        VIEW_FACTS(view, fact_word(NULL, "", LABEL, info->parameter_name[c]));
        for (size_t d = 0; d <= c; d++)
            if (!isnan(correlation[d + d * n]))
                VIEW_FACTS(view, fact_word(NULL, "", 6,
                                           view_word(view, "%.3f", correlation[d + c * n])));
        view_end(view);
    }
    view_end(view);
}

/* A row that was retried may have other options than the run. */
static void add_certificate(struct view *view, const struct result_info *info,
                            const struct fit_record *record)
{
    struct recipe recipe = {.ode.rtol = NAN};
    if (isnan(record->tight_change)) {
        if (record->notes & NOTE_not_certified)
            view_say(view, "  certificate: none: its evaluation failed or exceeded the budget\n");
        return;
    }
    if (!(record->notes & NOTE_retried))
        recipe_read(&recipe, NULL, info->identity.description);
    view_say(view, "  certificate");
    if (record->rtol < 0.9 * recipe.ode.rtol) /* a tenth or less; its last digits may differ */
        view_say(view, ", at rtol %.6g (tightened from %.6g)", record->rtol, recipe.ode.rtol);
    const char *verdict = "the same optimum";
    if (!outcome_is_success((enum outcome)record->outcome))
        verdict = "not confirmed (the fit did not converge)";
    else if (record->notes & NOTE_not_certified)
        verdict = "NOT the same optimum";
    view_say(view,
             ": with a tenth of the tolerances the objective changes by %.2g or less, and a step "
             "could lower it by %.2g: %s\n", record->tight_change, record->tight_decrease, verdict);
}

/* The columns that have a label. Numbers that are missing are left out, and so are lines without
 * any. */
static void add_numbers(struct view *view, const struct fit_record *record)
{
    struct fit_record copy = *record; /* fit_column_values returns places that may be written to */
    int last = 0;
    for (int i = 0; i < N_RESULT_COLUMN; i++)
        last = fit_columns[i].line > last ? fit_columns[i].line : last;
    for (int line = 1; line <= last; line++) {
        const char *before = "  ";
        for (int i = 0; i < N_RESULT_COLUMN; i++) {
            const struct fit_column_info *column = &fit_columns[i];
            if (!column->label || column->line != line)
                continue;
            struct fact fact =
                fit_fact(NULL, NULL, column->kind, fit_column_values((enum fit_column)i, &copy));
            if (isnan(fact.value) || (fact.kind != FACT_NUMBER && fact.value < 0))
                continue;
            view_say(view, "%s%s ", before, column->label);
            if (fact.kind == FACT_WORD)
                view_say(view, "%s", fact.word ? fact.word : "unknown");
            else if (fact.kind == FACT_COUNT)
                view_say(view, "%.0f", fact.value);
            else
                view_say(view, "%.*g", column->n_digit ? column->n_digit : 6, fact.value);
            before = ", ";
        }
        view_say(view, "%s", before[0] == ',' ? "\n" : "");
    }
}

static void add_quality(struct view *view, const struct result_info *info,
                        const struct fit_record *record)
{
    view_say(view, "\n  objective %.10g (%s)\n", record->objective,
             show_objective_text(info->objective_kind));
    add_numbers(view, record);
    if (record->n_own_noise > 0)
        view_say(view, "  sigma is fitted: compare fits by R squared, not by chi-square\n");
    add_certificate(view, info, record);
}

/* `weight` has n_parameter. */
static void add_directions(struct view *view, const struct result_info *info,
                           const struct fit_record *record, double *weight)
{
    size_t n = 0;
    while (n < info->n_parameter && !isnan(record->eigenvalue[n]))
        n++;
    if (n == 0)
        return;
    view_say(view, "\n  eigenvalues of the information, on the optimiser's scales:");
    size_t ends = n > EIGENVALUES_MOST ? EIGENVALUES_MOST / 2 : n;
    for (size_t i = 0; i < n; i++)
        if (i < ends || i >= n - ends)
            view_say(view, "%s %.3g", ends < n && i == n - ends ? " ..." : "",
                     record->eigenvalue[i]);
    int n_combination = show_n_combination(info, record);
    for (int number = 1; number <= n_combination; number++)
        if (show_combination(info, record, number, weight))
            view_say(view, "\n  %s direction: %s", record->n_flat > 0 ? "flat" : "flattest",
                     show_combination_word(view, info, weight));
    view_say(view, "\n");
    if (record->n_flat > 0)
        view_say(view,
                 "  (%lld flat%s: moving along one changes the predictions too little to notice)\n",
                 (long long)record->n_flat,
                 record->n_flat > n_combination ? ", several among the same parameters" : "");
}

static void add_fit(struct view *view, const struct result_info *info, const char *id,
                    const struct fit_record *record, double *scratch)
{
    add_head(view, info, id, record);
    if (isnan(record->objective))
        return;
    add_parameters(view, info, record);
    add_quality(view, info, record);
    add_directions(view, info, record, scratch);
    if (show_correlation(info, record, scratch))
        add_correlation(view, info, scratch);
    view_group(view, NULL, "Notes", VIEW_PLAIN);
    for (int bit = 0; bit < 32; bit++)
        if (record->notes >> bit & 1 && note_meaning(bit))
            view_say(view, "  %s\n", note_meaning(bit));
    view_end(view);
}

enum status show_fit_text(FILE *file, const struct result_info *info, const char *id,
                          const struct fit_record *record, double *scratch, struct error *error)
{
    struct view view = {.n = 0};
    add_fit(&view, info, id, record, scratch);
    enum status status = view_put(&view, false, file, error);
    view_fini(&view);
    return status;
}

/* Every number of one fit in the result. */
enum status show_fit_json(FILE *file, const struct result *result, const char *id,
                          struct fit_record *record, double *scratch, struct error *error)
{
    const struct result_info *info = result_info(result);
    struct fit_columns columns = {.n = 0};
    struct view view = {.n = 0};
    enum status status = fit_columns_choose(&columns, result, NULL, "all,covariance", error);
    if (!status)
        fit_columns_row(&columns, info, id, record, &view);
    fit_columns_fini(&columns);
    if (show_combination(info, record, 1, scratch))
        VIEW_FACTS(&view, fact_word("flattest_combination", NULL, 0,
                                    show_combination_word(&view, info, scratch)));
    int n = record->n_flat > 0 ? show_n_combination(info, record) : 0;
    const char **flat = arena_calloc(&view.arena, (size_t)n + 1, sizeof *flat);
    size_t n_flat = 0;
    view.failed = view.failed || !flat;
    for (int number = 1; flat && number <= n; number++)
        if (show_combination(info, record, number, scratch))
            flat[n_flat++] = show_combination_word(&view, info, scratch);
    VIEW_FACTS(&view, fact_names("flat_combinations", NULL, flat, n_flat));
    if (show_correlation(info, record, scratch))
        VIEW_FACTS(&view, fact_matrix("correlation", scratch, info->n_parameter));
    if (!status)
        status = view_put(&view, true, file, error);
    view_fini(&view);
    return status;
}
