/* One fit in words, with the numbers that a paper reports.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/show.h"
#include "fit/objective/distribution.h"
#include "run/plan/recipe_text.h"
#include "use/fit_columns.h"

#include <math.h>
#include <string.h>

enum { CORRELATION_MOST = 20, EIGENVALUES_MOST = 10 };

static void print_starts(FILE *file, const struct result_info *info,
                         const struct fit_record *record)
{
    fprintf(file, "  best of %u starts: number %u", (unsigned)info->identity.n_start,
            (unsigned)record->start);
    if (record->n_same_optimum > 0)
        fprintf(file, "; %lld reached the same objective (within 1e-6)",
                (long long)record->n_same_optimum);
    if (record->other_most > record->other_least)
        fprintf(file, ", others at objectives from %.7g to %.7g", record->other_least,
                record->other_most);
    else if (!isnan(record->other_least))
        fprintf(file, ", others at an objective of %.7g", record->other_least);
    fputc('\n', file);
}

static void print_head(FILE *file, const struct result_info *info, const char *id,
                       const struct fit_record *record)
{
    enum outcome outcome = (enum outcome)record->outcome;
    fprintf(file, "%s: %s", id, outcome_name(outcome));
    if (outcome_is_success(outcome) && record->stop != STOP_none)
        fprintf(file, ": %s", stop_meaning(record->stop));
    if (!outcome_is_success(outcome))
        fprintf(file, ": %s", record->reason[0] ? record->reason : outcome_meaning(outcome));
    fputs("\n  ", file);
    if (record->optimizer != OPTIMIZER_none)
        fprintf(file, "%s, derivatives %s; ", optimizer_name(record->optimizer),
                gradient_name(record->gradient));
    fprintf(file, "%lld iterations, %lld evaluations, %lld steps, %.3g s\n",
            (long long)record->n_iteration, (long long)record->n_evaluation,
            (long long)record->n_step, record->seconds);
    if (info->identity.n_start > 1)
        print_starts(file, info, record);
}

static void print_row(FILE *file, const struct result_info *info, const struct fit_record *record,
                      size_t j, int width)
{
    char text[100];
    double p = record->parameter[j], error = record->standard_error[j];
    fprintf(file, "  %-*s %13.6g ", width, show_label(info, j, text, sizeof text), p);
    if (isfinite(error)) {
        fprintf(file, error < fabs(p) ? "%11.3g %9.2g %%" : "%11.3g %9.0f %%", error,
                100 * error / fabs(p));
        if (!isnan(record->interval_lower[j]))
            fprintf(file, "   %.6g ... %.6g", record->interval_lower[j],
                    record->interval_upper[j]);
    } else if (isfinite(record->slope[j]))
        fprintf(file, "%11s %9s     d objective / d parameter %.10g", "-", "", record->slope[j]);
    else if (record->lack[j] == LACK_not_run) /* results of the first version have none */
        fprintf(file, "%11s", "-");
    else if (record->lack[j] != LACK_none)
        fprintf(file, "%11s %9s     %s", "-", "", lack_meaning(record->lack[j]));
    if (record->at_bound[j])
        fprintf(file, "  (at its %s bound)", record->at_bound[j] < 0 ? "lower" : "upper");
    fputc('\n', file);
}

static void interval_text(char text[60], double lower, double upper)
{
    if (isnan(lower) && isnan(upper))
        snprintf(text, 60, "-");
    else
        snprintf(text, 60, "%.6g ... %.6g", lower, upper);
}

static void print_bootstrap(FILE *file, const struct result_info *info,
                            const struct fit_record *record, int width)
{
    char studentised[60], percentile[60];
    if (record->n_bootstrap < 0 || !record->bootstrap_error)
        return;
    fprintf(file, "\nFrom the bootstrap, %lld replicates\n", (long long)record->n_bootstrap);
    if (record->n_bootstrap > 0)
        fprintf(file, "  %-*s %13s   %-26s %s\n", width, "", "std. error", "95 %, studentised",
                "95 %, percentiles");
    if (record->n_bootstrap > 0 && record->n_bootstrap < FIT_INTERVAL_REPLICATES)
        fprintf(file, "  (intervals need %d)\n", FIT_INTERVAL_REPLICATES);
    for (size_t j = 0; j < info->n_parameter; j++) {
        if (isnan(record->bootstrap_error[j]))
            continue;
        interval_text(studentised, record->bootstrap_lower[j], record->bootstrap_upper[j]);
        interval_text(percentile, record->percentile_lower[j], record->percentile_upper[j]);
        fprintf(file, "  %-*s %13.3g   %-26s %s\n", width, info->parameter_name[j],
                record->bootstrap_error[j], studentised, percentile);
    }
}

/* Prints one side, or why it does not cross the threshold; by: the parameter that a bound holds
 * there, or NULL. */
static void print_side(FILE *file, const char *join, double limit, uint8_t status, const char *by)
{
    if (status == LIMIT_found || status == LIMIT_none)
        fprintf(file, "%s%.6g", join, limit);
    else if (by)
        fprintf(file, "%s%.6g (where a bound holds %s: without it there might be no limit)", join,
                limit, by);
    else
        fprintf(file, "%s%.6g (%s)", join, limit, limit_meaning(status));
}

static const char *name_of(const struct result_info *info, const int64_t *parameter, size_t j)
{
    bool is_one = parameter && parameter[j] >= 0 && (size_t)parameter[j] < info->n_parameter;
    return is_one ? info->parameter_name[parameter[j]] : NULL;
}

static void print_profiles(FILE *file, const struct result_info *info,
                           const struct fit_record *record, int width)
{
    bool headed = false;
    for (size_t j = 0;
         j < info->n_parameter && record->profile_lower_status && record->profile_upper_status;
         j++) {
        if (record->profile_lower_status[j] == LIMIT_none &&
            record->profile_upper_status[j] == LIMIT_none)
            continue;
        fprintf(file, "%s  %-*s", headed ? "" : "\nFrom profile likelihoods\n", width,
                info->parameter_name[j]);
        print_side(file, " ", record->profile_lower[j], record->profile_lower_status[j],
                   name_of(info, record->profile_lower_by, j));
        print_side(file, " ... ", record->profile_upper[j], record->profile_upper_status[j],
                   name_of(info, record->profile_upper_by, j));
        fputc('\n', file);
        headed = true;
    }
}

static void print_parameters(FILE *file, const struct result_info *info,
                             const struct fit_record *record)
{
    int width = show_label_width(info);
    fprintf(file, "\n  %-*s %13s %11s %11s   %s\n", width, "", "best fit", "std. error", "relative",
            "95 % interval");
    for (size_t j = 0; j < info->n_parameter; j++)
        print_row(file, info, record, j, width);
    print_profiles(file, info, record, width);
    print_bootstrap(file, info, record, width);
}

static void print_correlation(FILE *file, const struct result_info *info, const double *correlation)
{
    size_t n = info->n_parameter;
    int width = show_label_width(info);
    if (n > CORRELATION_MOST) {
        fprintf(file, "\nCorrelation: of %zu parameters, see --json\n", n);
        return;
    }
    fputs("\nCorrelation\n", file);
    for (size_t c = 0; c < n; c++) {
        if (isnan(correlation[c + c * n]))
            continue;
        fprintf(file, "  %-*.*s", width, width, info->parameter_name[c]);
        for (size_t d = 0; d <= c; d++)
            if (!isnan(correlation[d + d * n]))
                fprintf(file, " %6.3f", correlation[d + c * n]);
        fputc('\n', file);
    }
}

/* A row that was retried may have other options than the run. */
static void print_certificate(FILE *file, const struct result_info *info,
                              const struct fit_record *record)
{
    struct recipe recipe = {.ode.rtol = NAN};
    if (isnan(record->tight_change)) {
        if (record->notes & NOTE_not_certified)
            fputs("  certificate: none: its evaluation failed or exceeded the budget\n", file);
        return;
    }
    if (!(record->notes & NOTE_retried))
        recipe_read(&recipe, NULL, info->identity.description);
    fputs("  certificate", file);
    if (record->rtol < 0.9 * recipe.ode.rtol) /* a tenth or less; its last digits may differ */
        fprintf(file, ", at rtol %.6g (tightened from %.6g)", record->rtol, recipe.ode.rtol);
    fprintf(file,
            ": with a tenth of the tolerances the objective changes by %.2g or less, and a "
            "step could lower it by %.2g: %s\n",
            record->tight_change, record->tight_decrease,
            !outcome_is_success((enum outcome)record->outcome) ? "not confirmed (the fit did not "
                                                                 "converge)"
            : record->notes & NOTE_not_certified               ? "NOT the same optimum"
                                                               : "the same optimum");
}

/* The columns that have a label. Numbers that are missing are left out, and so are lines without
 * any. */
static void print_numbers(FILE *file, const struct fit_record *record)
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
            struct fit_cell cell =
                fit_cell(column->kind, fit_column_values((enum fit_column)i, &copy));
            if (cell.kind == FIT_CELL_REAL ? isnan(cell.real) : cell.integer < 0)
                continue;
            fprintf(file, "%s%s ", before, column->label);
            if (cell.kind == FIT_CELL_REAL)
                fprintf(file, "%.*g", column->n_digit ? column->n_digit : 6, cell.real);
            else if (cell.kind == FIT_CELL_INTEGER)
                fprintf(file, "%lld", (long long)cell.integer);
            else
                fputs(cell.word ? cell.word : "unknown", file);
            before = ", ";
        }
        fputs(before[0] == ',' ? "\n" : "", file);
    }
}

static void print_quality(FILE *file, const struct result_info *info,
                          const struct fit_record *record)
{
    fprintf(file, "\n  objective %.10g (%s)\n", record->objective,
            show_objective_text(info->objective_kind));
    print_numbers(file, record);
    if (record->n_own_noise > 0)
        fputs("  sigma is fitted: compare fits by R squared, not by chi-square\n", file);
    print_certificate(file, info, record);
}

/* `weight` has n_parameter. */
static void print_directions(FILE *file, const struct result_info *info,
                             const struct fit_record *record, double *weight)
{
    char text[400];
    size_t n = 0;
    while (n < info->n_parameter && !isnan(record->eigenvalue[n]))
        n++;
    if (n == 0)
        return;
    fputs("\n  eigenvalues of the information, on the optimiser's scales:", file);
    size_t ends = n > EIGENVALUES_MOST ? EIGENVALUES_MOST / 2 : n;
    for (size_t i = 0; i < n; i++)
        if (i < ends || i >= n - ends)
            fprintf(file, "%s %.3g", ends < n && i == n - ends ? " ..." : "",
                    record->eigenvalue[i]);
    int n_combination = show_n_combination(info, record);
    for (int number = 1; number <= n_combination; number++)
        if (show_combination(info, record, number, weight))
            fprintf(file, "\n  %s direction: %s", record->n_flat > 0 ? "flat" : "flattest",
                    show_combination_text(info, weight, text, sizeof text));
    fputc('\n', file);
    if (record->n_flat > 0)
        fprintf(file,
                "  (%lld flat%s: moving along one changes the predictions too little to notice)\n",
                (long long)record->n_flat,
                record->n_flat > n_combination ? ", several among the same parameters" : "");
}

void show_fit_text(FILE *file, const struct result_info *info, const char *id,
                   const struct fit_record *record, double *scratch)
{
    print_head(file, info, id, record);
    if (isnan(record->objective))
        return;
    print_parameters(file, info, record);
    print_quality(file, info, record);
    print_directions(file, info, record, scratch);
    if (show_correlation(info, record, scratch))
        print_correlation(file, info, scratch);
    for (int bit = 0, n = 0; bit < 32; bit++)
        if (record->notes >> bit & 1 && note_meaning(bit))
            fprintf(file, "%s  %s\n", n++ ? "" : "\nNotes\n", note_meaning(bit));
}
