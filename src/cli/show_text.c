/* Prints a problem or a result as text: a summary that says what to do next.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/error_kind.h"
#include "cli/show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_MOST = 30 };

static const char *const side_name[] = {"lower", "upper"};

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
    if (info->model.plugin)
        fprintf(file, "model        %s\n", info->model.plugin);
    if (info->model.bytes)
        fprintf(file, "model        embedded plugin of %zu bytes\n", info->model.n_byte);
    if (info->model.source)
        fprintf(file,
                "model        model text of %zu bytes, compiled when needed; safe to run, whoever "
                "wrote it\n",
                strlen(info->model.source));
    if (!info->model.plugin && !info->model.bytes && !info->model.source)
        fputs("model        none: give one with --model\n", file);
    if (info->model.sha256)
        fprintf(file, "sha256       %s\n", info->model.sha256);
    const struct { const char *what; uint64_t n; bool always;
    } counts[] = {{"datasets", info->n_dataset, true},
                  {"experiments", info->has_experiments ? info->n_experiment : 0, false},
                  {"measurements", info->n_measurement, true},
                  {"doses", info->n_dose, false},
                  {"input values", info->n_knot, false},
                  {"events", info->n_call, false},
                  {"substitutes", info->n_substitute, false}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].n > 0 || counts[i].always)
            fprintf(file, "%-12s %llu\n", counts[i].what, (unsigned long long)counts[i].n);
    if (info->n_parameter > 0)
        print_names(file, "parameters", info->parameter_name, info->n_parameter);
    else
        fputs("parameters   the model's own\n", file);
    if (info->parameter_level)
        print_names(file, "levels", info->parameter_level, info->n_level);
    if (info->n_prior > 0)
        fprintf(file, "priors       on %zu parameter%s, instead of the model's\n", info->n_prior,
                info->n_prior == 1 ? "" : "s");
    else if (info->parameter_prior)
        fputs("priors       none; the model's are switched off\n", file);
    if (info->n_covariate > 0)
        print_names(file, "covariates", info->covariate_name, info->n_covariate);
    if (info->n_experiment_covariate > 0)
        print_names(file, "covariates", info->experiment_covariate_name,
                    info->n_experiment_covariate);
    if (info->n_observable > 0)
        print_names(file, "observables", info->observable_name, info->n_observable);
    if (info->observable_error)
        print_names(file, "errors", info->observable_error, info->n_error);
    for (size_t i = 0; i < info->n_option; i++)
        fprintf(file, "%s%s = %s\n", i ? "             " : "options      ", info->option_name[i],
                info->option_value[i]);
}

static unsigned long long count(uint64_t n) { return n; }

void show_examples_text(FILE *file, const struct digest_examples *fits)
{
    fputs("e.g.", file);
    for (int k = 0; k < DIGEST_N_EXAMPLE && fits->id[k][0]; k++)
        fprintf(file, "%s %s", k ? "," : "", fits->id[k]);
    fputc('\n', file);
}

static void print_failures(FILE *file, const struct result_info *info,
                           const struct show_summary *summary)
{
    for (size_t i = 0; i < summary->n_group; i++) {
        const struct show_group *group = &summary->group[i];
        fprintf(file, "  %-14s %10llu  %s%s\n%29s", outcome_name(group->outcome),
                count(group->fits.n),
                group->message[0] ? group->message : outcome_meaning(group->outcome),
                group->differs ? " (numbers differ)" : "", "");
        show_examples_text(file, &group->fits);
    }
    if (summary->n_other)
        fprintf(file, "  %-14s %10llu\n", "others", count(summary->n_other));
    for (int i = 0; i < N_OUTCOME; i++)
        if (summary->digest.by_outcome[i] && !outcome_is_success((enum outcome)i) &&
            outcome_advice((enum outcome)i))
            fprintf(file, "  %s: %s\n", outcome_name((enum outcome)i),
                    outcome_advice((enum outcome)i));
    if (summary->n_success < summary->digest.n_fit)
        fprintf(file, "  by dataset: stiffit export %s --failed --columns id,status,message\n",
                info->path);
}

/* A result has fits or evaluations. */
static const char *success_word(const struct show_summary *summary)
{
    return outcome_name(summary->digest.by_outcome[OUTCOME_evaluated] ? OUTCOME_evaluated
                                                                      : OUTCOME_converged);
}

static void print_outcomes(FILE *file, const struct result_info *info,
                           const struct show_summary *summary)
{
    const struct digest *digest = &summary->digest;
    struct fact fact[DIGEST_MOST_FACTS];
    fprintf(file, "%s: a result of %llu %s", info->path, count(digest->n_fit),
            digest->n_fit == 1 ? "fit" : "fits");
    if (summary->n_success < digest->n_fit)
        fprintf(file, ": %llu %s, %llu %s not", count(summary->n_success), success_word(summary),
                count(digest->n_fit - summary->n_success),
                digest->by_outcome[OUTCOME_evaluated] ? "could" : "did");
    else if (digest->n_fit > 0)
        fprintf(file, ": all %s", success_word(summary));
    fputc('\n', file);
    if (digest->n_fit < info->n_fit)
        fprintf(file, "  selected from %llu fits\n", count(info->n_fit));
    if (show_selection(info))
        fprintf(file, "  a part of the problem: %s\n", show_selection(info));
    if (summary->digest.n_fit > 0)
        fprintf(file, "  %-14s %10llu\n", success_word(summary), count(summary->n_success));
    for (int i = STOP_none + 1; i < N_STOP; i++)
        if (summary->by_stop[i])
            fprintf(file, "    %-12s %10llu  %s\n", stop_name(i), count(summary->by_stop[i]),
                    stop_meaning(i));
    print_failures(file, info, summary);
    facts_text(file, fact, digest_facts(&summary->digest, fact));
}

const char *show_label(const struct result_info *info, size_t j, char *text, size_t size)
{
    const char *unit = info->parameter_unit ? info->parameter_unit[j] : NULL;
    snprintf(text, size, "%s%s%s%s", info->parameter_name[j], unit && *unit ? " [" : "",
             unit && *unit ? unit : "", unit && *unit ? "]" : "");
    return text;
}

int show_label_width(const struct result_info *info)
{
    int width = 9;
    char text[100];
    for (size_t j = 0; j < info->n_parameter; j++) {
        int length = (int)strlen(show_label(info, j, text, sizeof text));
        width = length > width ? length : width;
    }
    return width < LABEL_MOST ? width : LABEL_MOST;
}

/* Whether the environment says that the terminal shows more than ASCII. */
static bool has_blocks(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return strstr(value, "UTF-8") || strstr(value, "utf8") || strstr(value, "utf-8");
    }
    return false;
}

static void print_histogram(FILE *file, const struct show_spread *spread)
{
    static const char *const ascii[] = {" ", ".", ".", ":", ":", "+", "+", "#", "#"};
    static const char *const blocks[] = {" ",
                                         "\xe2\x96\x81",
                                         "\xe2\x96\x82",
                                         "\xe2\x96\x83",
                                         "\xe2\x96\x84",
                                         "\xe2\x96\x85",
                                         "\xe2\x96\x86",
                                         "\xe2\x96\x87",
                                         "\xe2\x96\x88"};
    uint64_t most = 0;
    for (int i = 0; i < SHOW_N_BIN; i++)
        most = spread->bin[i] > most ? spread->bin[i] : most;
    fprintf(file, "%10.4g %c", spread->low, spread->is_cut ? '<' : '|');
    for (int i = 0; i < SHOW_N_BIN; i++) { /* a bin that is not empty is visible */
        uint64_t n = spread->bin[i];
        int height = n ? 1 + (int)(7.999 * (double)(n - 1) / (double)(most > 1 ? most - 1 : 1)) : 0;
        fputs((has_blocks() ? blocks : ascii)[height], file);
    }
    fprintf(file, "%c %-10.4g", spread->is_cut ? '>' : '|', spread->high);
}

static void print_spread(FILE *file, const char *name, int width, const struct show_spread *spread,
                         bool histogram)
{
    char error[20] = "";
    if (isfinite(spread->error) && spread->error > 0)
        snprintf(error, sizeof error, spread->error < 1 ? "%.2g %%" : "%.0f %%",
                 100 * spread->error);
    fprintf(file, "  %-*s %11.5g %11.5g %11.5g %10s ", width, name, spread->q25, spread->median,
            spread->q75, error);
    if (histogram)
        print_histogram(file, spread);
    fputc('\n', file);
}

/* Prints only the first few; *n_remark counts all. */
static void print_remark(FILE *file, const struct result_info *info, size_t j, uint64_t n,
                         const char *what, int *n_remark)
{
    if (n == 0 || (*n_remark)++ >= SHOW_N_REMARK)
        return;
    fprintf(file, "%s  %10llu  %s %s\n", *n_remark > 1 ? "" : "\nParameters that need attention\n",
            count(n), info->parameter_name[j], what);
}

static void print_remarks(FILE *file, const struct result_info *info,
                          const struct show_summary *summary)
{
    int n = 0;
    for (size_t j = 0; j < info->n_parameter; j++) {
        const struct show_spread *spread = &summary->parameter[j];
        print_remark(file, info, j, spread->n_at_lower, "is at its lower bound", &n);
        print_remark(file, info, j, spread->n_at_upper, "is at its upper bound", &n);
        print_remark(file, info, j, spread->n_lack[LACK_flat],
                     "has no standard error: the data do not determine it", &n);
        print_remark(file, info, j, spread->n_lack[LACK_freedom],
                     "has no standard error: too few measurements", &n);
    }
    if (n > SHOW_N_REMARK)
        fprintf(file, "  and %d more (--json has all)\n", n - SHOW_N_REMARK);
}

static void print_parameters(FILE *file, const struct result_info *info,
                             const struct show_summary *summary)
{
    int width = show_label_width(info);
    char text[100];
    bool histogram = summary->n_success > 1;
    size_t n_row = info->n_parameter < SHOW_N_ROW ? info->n_parameter : SHOW_N_ROW;
    if (summary->n_success == 0)
        return;
    fprintf(file, "\nParameters of the %s fits%s\n  %-*s %11s %11s %11s %10s %s\n",
            success_word(summary),
            summary->n_sampled < summary->n_success ? " (a regular sample of them)" : "", width, "",
            "25 %", "median", "75 %", "rel. error", histogram ? "over the datasets" : "");
    for (size_t j = 0; j < n_row; j++)
        print_spread(file, show_label(info, j, text, sizeof text), width, &summary->parameter[j],
                     histogram);
    if (n_row < info->n_parameter)
        fprintf(file, "  and %zu more (--json prints all)\n", info->n_parameter - n_row);
    print_spread(file, "objective", width, &summary->objective, histogram);
    if (isfinite(summary->reduced.median))
        print_spread(file, "chi-square/df", width, &summary->reduced, histogram);
    if (isfinite(summary->r_squared.median))
        print_spread(file, "R squared", width, &summary->r_squared, histogram);
    fprintf(file, "  rel. error: median of standard error / value; objective: %s%s\n%s",
            show_objective_text(info->objective_kind),
            isfinite(summary->reduced.median) ? "; df: degrees of freedom" : "",
            histogram ? "  over the datasets: logarithmic for scales log and log10; < > leaves out "
                        "1 % at each end\n"
                      : "");
    print_remarks(file, info, summary);
}

static void print_flat(FILE *file, const struct result_info *info,
                       const struct show_summary *summary)
{
    char text[400];
    if (summary->n_fit_flat == 0)
        return;
    fputs("\nFlat directions: moving along one changes the predictions too little to notice\n",
          file);
    for (size_t i = 0; i < summary->n_flat; i++) {
        const struct show_flat *flat = &summary->flat[i];
        fprintf(file, "  %10llu  %s   ", count(flat->fits.n),
                show_combination_text(info, flat->weight, text, sizeof text));
        show_examples_text(file, &flat->fits);
    }
    if (summary->n_other_flat)
        fprintf(file, "  %10llu  others\n", count(summary->n_other_flat));
}

static void print_slow(FILE *file, const struct show_summary *summary)
{
    if (summary->n_slow == 0 || summary->digest.n_fit == 1)
        return;
    fprintf(file, "\nSlowest (of %.4g s in total)\n  %12s %12s %12s  %-12s %s\n",
            summary->digest.seconds, "seconds", "evaluations",
            "steps", "status", "id");
    for (size_t i = 0; i < summary->n_slow; i++)
        fprintf(file, "  %12.4g %12lld %12lld  %-12s %s\n", summary->slow[i].seconds,
                (long long)summary->slow[i].n_evaluation, (long long)summary->slow[i].n_step,
                outcome_name(summary->slow[i].outcome), summary->slow[i].id);
}

static void print_count(FILE *file, uint64_t n, const char *what)
{
    if (n)
        fprintf(file, "  %10llu  %s\n", (unsigned long long)n, what);
}

static void print_example_count(FILE *file, const struct digest_examples *fits, const char *what)
{
    print_count(file, fits->n, what);
    if (fits->n) {
        fprintf(file, "%14s", "");
        show_examples_text(file, fits);
    }
}

static void print_refit_starts(FILE *file, const struct result_info *info,
                               const struct show_refits *refits)
{
    if (refits->alone.n + refits->only.n + refits->n_same + refits->n_some == 0)
        return;
    fprintf(file, "\nStarts, %u for each dataset\n", (unsigned)info->identity.n_start);
    print_count(file, refits->n_same,
                "all successful starts reached the same objective (within 1e-6)");
    print_count(file, refits->n_some,
                "several starts reached the lowest objective (within 1e-6), others ended "
                "elsewhere");
    print_example_count(file, &refits->alone,
                        "a single start reached the lowest objective: more starts may find a lower "
                        "one");
    print_example_count(file, &refits->only, "a single start converged, the others failed");
}

/* "28 found, 2 infinite" */
static void print_limits(FILE *file, const uint64_t *n_limit)
{
    bool any = false;
    for (int k = LIMIT_none + 1; k < N_LIMIT; k++)
        if (n_limit[k]) {
            fprintf(file, "%s%llu %s", any ? ", " : "", (unsigned long long)n_limit[k],
                    limit_name(k));
            any = true;
        }
    fputc('\n', file);
}

static void print_refit_profiles(FILE *file, const struct result_info *info,
                                 const struct show_summary *summary)
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
            fprintf(file, "  %-*s %s ", width, side ? "" : show_label(info, j, text, sizeof text),
                    side_name[side]);
            print_limits(file, n_limit);
        }
    for (int k = LIMIT_found + 1; k < N_LIMIT; k++)
        if (seen[k])
            fprintf(file, "  %s: %s\n", limit_name(k), limit_meaning(k));
}

static void print_refit_bootstrap(FILE *file, const struct result_info *info,
                                  const struct show_summary *summary)
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
        fprintf(file, "  %lld to %lld replicates were fitted for a dataset\n",
                (long long)refits->least, (long long)refits->most);
    fprintf(file, "  %-*s error over the replicates / standard error\n", width, "");
    for (size_t j = 0; j < info->n_parameter && j < SHOW_N_ROW; j++)
        if (summary->parameter[j].n_ratio)
            fprintf(file, "  %-*s %.3g\n", width, show_label(info, j, text, sizeof text),
                    show_error_ratio(&summary->parameter[j]));
}

static void print_refits(FILE *file, const struct result_info *info,
                         const struct show_summary *summary)
{
    print_refit_starts(file, info, &summary->refits);
    print_refit_profiles(file, info, summary);
    print_refit_bootstrap(file, info, summary);
}

static void print_notes(FILE *file, const struct show_summary *summary)
{
    bool headed = false;
    for (int bit = 0; bit < 32; bit++) {
        const struct digest_examples *fits = &summary->digest.noted[bit];
        if (fits->n == 0 || !note_meaning(bit))
            continue;
        fprintf(file, "%s  %10llu  %s\n", headed ? "" : "\nNotes\n", count(fits->n),
                note_meaning(bit));
        if (fits->n < summary->digest.n_fit) {
            fprintf(file, "%14s", "");
            show_examples_text(file, fits);
        }
        headed = true;
    }
}

static void print_provenance(FILE *file, const struct result_info *info)
{
    fprintf(file, "\nProvenance\n");
    int width = longest(info->provenance.name, info->provenance.n, 4);
    for (size_t i = 0; i < info->provenance.n; i++)
        if (!strcmp(info->provenance.name[i], "model_source"))
            fprintf(file, "  %-*s  model text of %zu bytes (--json prints it)\n", width,
                    info->provenance.name[i], strlen(info->provenance.value[i]));
        else
            fprintf(file, "  %-*s  %s\n", width, info->provenance.name[i],
                    info->provenance.value[i]);
    fprintf(file, "  %-*s  %llu\n", width, "seed", count(info->identity.seed));
}

const char *show_objective_text(const char *kind)
{
    if (kind && !strcmp(kind, "negative_log_likelihood"))
        return "the negative log-likelihood";
    for (int k = 0; kind && k < N_ERROR; k++)
        if (!strcmp(kind, error_row[k].objective))
            return error_row[k].objective_text;
    return kind ? kind : "unknown";
}

/* Whether a shell needs no quotes for it. */
static bool is_plain(const char *word)
{
    return *word && *word != '-' &&
           !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")];
}

void show_result_text(FILE *file, const struct result_info *info,
                      const struct result_population *population,
                      const struct show_summary *summary)
{
    const char *id = summary->n_slow ? summary->slow[0].id : "";
    print_outcomes(file, info, summary);
    if (population)
        show_population_text(file, population);
    print_parameters(file, info, summary);
    print_flat(file, info, summary);
    print_refits(file, info, summary);
    print_notes(file, summary);
    print_slow(file, summary);
    if (summary->digest.n_fit > 0)
        fprintf(file, "\nOne dataset in detail: stiffit show %s --id %s\n", info->path,
                is_plain(id) ? id : "ID");
    print_provenance(file, info);
}
