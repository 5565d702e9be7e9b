/* Puts together what people and programs are shown of a problem and of a result: each number once,
 * with its names.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/show_view.h"

#include "base/error_kind.h"
#include "base/sha256.h"
#include "base/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL = -9, STATUS = -14, COUNT = 10 }; /* widths of columns */
enum { NAMES_SHOWN = 12 };

static const char *const side_name[] = {"lower", "upper"};

/* In text only if it is there. */
static struct fact if_there(bool is_there, struct fact fact)
{
    return fact_how(is_there ? 0 : FACT_NOT_IN_TEXT, fact);
}

static struct fact names_if_any(const char *key, const char *text, const char *const *names,
                                size_t n)
{
    struct fact fact = fact_names(key, text, names, names ? n : 0);
    fact.digits = NAMES_SHOWN;
    return if_there(n > 0, fact);
}

static const char *model_in_words(struct view *view, const struct problem_model *model)
{
    if (model->source)
        return view_word(view, "model text of %zu bytes, compiled when needed; safe to run, "
                         "whoever wrote it", strlen(model->source));
    if (model->bytes)
        return view_word(view, "embedded plugin of %zu bytes", model->n_byte);
    return model->plugin ? model->plugin : "none: give one with --model";
}

void show_problem(struct view *view, const struct problem_info *info)
{
    const struct problem_model *model = &info->model;
    size_t n_prior = info->parameter_prior ? info->n_parameter : 0;
    const char *priors = info->n_prior > 0
        ? view_word(view, "on %zu parameter%s, instead of the model's", info->n_prior,
                    plural(info->n_prior))
        : "none; the model's are switched off";
    view_say(view, "%s: a problem\n", info->path);
    VIEW_FACTS(view, fact_word("file", NULL, 0, info->path), fact_word("kind", NULL, 0, "problem"));
    view_group(view, "model", NULL, VIEW_HIDDEN);
    VIEW_FACTS(view, fact_word("plugin", NULL, 0, model->plugin),
               fact_count("embedded_bytes", NULL, 0, model->bytes ? (int64_t)model->n_byte : 0),
               fact_word("source", NULL, 0, model->source),
               fact_word("sha256", NULL, 0, model->sha256));
    view_end(view);
    view_group(view, NULL, NULL, VIEW_LISTED);
    VIEW_FACTS(view, fact_word(NULL, "model", 0, model_in_words(view, model)),
               fact_word(NULL, "sha256", 0, model->sha256),
               fact_count("datasets", "datasets", 0, info->n_dataset),
               if_there(info->has_experiments && info->n_experiment > 0,
                        fact_count("experiments", "experiments", 0, info->n_experiment)),
               fact_count("measurements", "measurements", 0, info->n_measurement),
               if_there(info->n_dose > 0, fact_count("doses", "doses", 0, info->n_dose)),
               if_there(info->n_knot > 0,
                        fact_count("input_values", "input values", 0, info->n_knot)),
               if_there(info->n_call > 0, fact_count("events", "events", 0, info->n_call)),
               if_there(info->n_substitute > 0,
                        fact_count("substitutes", "substitutes", 0, info->n_substitute)),
               names_if_any("parameters", "parameters", info->parameter_name, info->n_parameter),
               fact_word(NULL, "parameters", 0, info->n_parameter ? NULL : "the model's own"),
               names_if_any("levels", "levels", info->parameter_level, info->n_level),
               fact_names("priors", NULL, info->parameter_prior, n_prior),
               fact_word(NULL, "priors", 0, info->parameter_prior ? priors : NULL),
               names_if_any("covariates", "covariates", info->covariate_name, info->n_covariate),
               names_if_any("experiment_covariates", "covariates", info->experiment_covariate_name,
                            info->n_experiment_covariate),
               names_if_any("observables", "observables", info->observable_name,
                            info->n_observable),
               names_if_any("observable_errors", "errors", info->observable_error, info->n_error));
    for (size_t i = 0; i < info->n_option; i++)
        VIEW_FACTS(view, fact_word(NULL, i ? "" : "options", 0,
                                   view_word(view, "%s = %s", info->option_name[i],
                                             info->option_value[i])));
    view_group(view, "options", NULL, VIEW_HIDDEN);
    for (size_t i = 0; i < info->n_option; i++)
        VIEW_FACTS(view, fact_word(info->option_name[i], NULL, 0, info->option_value[i]));
    view_end(view);
    view_end(view);
}

static struct fact examples(struct view *view, const char *key, const struct digest_examples *fits)
{
    size_t n = fits->n < DIGEST_N_EXAMPLE ? (size_t)fits->n : DIGEST_N_EXAMPLE;
    const char **names = arena_alloc(&view->arena, (n + 1) * sizeof *names);
    view->failed = view->failed || !names;
    for (size_t i = 0; names && i < n; i++)
        names[i] = fits->id[i];
    return (struct fact){key, "examples", .kind = FACT_EXAMPLES, .width = -1, .names = names,
                         .n = names ? n : 0};
}

struct fact show_examples(struct view *view, const struct digest_examples *fits)
{
    return examples(view, "examples", fits);
}

void show_examples_group(struct view *view, const char *key, const struct digest_examples *fits)
{
    view_group(view, key, NULL, VIEW_HIDDEN);
    VIEW_FACTS(view, fact_count("datasets", NULL, 0, fits->n), show_examples(view, fits));
    view_end(view);
}

const char *show_examples_word(struct view *view, const struct digest_examples *fits)
{
    const char *text = "e.g.";
    for (size_t i = 0; i < DIGEST_N_EXAMPLE && i < fits->n; i++)
        text = view_word(view, "%s%s %s", text, i ? "," : "", fits->id[i]);
    return text;
}

void show_failures(struct view *view, const struct show_summary *summary)
{
    view_table(view, "failures", "Failures", VIEW_BARE);
    for (size_t i = 0; i < summary->n_group; i++) {
        const struct show_group *group = &summary->group[i];
        const char *advice = outcome_advice(group->outcome),
                   *said = group->message[0] ? group->message : outcome_meaning(group->outcome),
                   *message = view_word(view, "%s%s", said,
                                        group->differs ? " (numbers differ)" : "");
        VIEW_ROW(view, fact_word("status", "status", STATUS, outcome_name(group->outcome)),
                 fact_count("fits", "fits", COUNT, group->fits.n),
                 fact_word("message", NULL, 0, group->message),
                 fact_word(NULL, "message of the first", -1, message),
                 fact_how(FACT_BELOW, show_examples(view, &group->fits)),
                 fact_word(NULL, "what to do", 0, advice));
    }
    if (summary->n_other)
        VIEW_ROW(view, fact_word(NULL, "", STATUS, "others"),
                 fact_count(NULL, "", COUNT, summary->n_other));
    view_end(view);
}

/* A result has fits or evaluations. */
static const char *success_word(const struct show_summary *summary)
{
    bool is_evaluation = summary->digest.by_outcome[OUTCOME_evaluated] > 0;
    return outcome_name(is_evaluation ? OUTCOME_evaluated : OUTCOME_converged);
}

static void add_head(struct view *view, const struct result_info *info,
                     const struct show_summary *summary)
{
    const struct digest *digest = &summary->digest;
    const char *selection = show_selection(info);
    unsigned long long n = digest->n_fit, n_good = summary->n_success;
    VIEW_FACTS(view, fact_word("file", NULL, 0, info->path), fact_word("kind", NULL, 0, "result"),
               fact_count("datasets", NULL, 0, info->identity.n_dataset),
               fact_word("selection", NULL, 0, selection));
    view_say(view, "%s: a result of %llu fit%s", info->path, n, plural(n));
    if (n_good < n)
        view_say(view, ": %llu %s, %llu %s not", n_good, success_word(summary), n - n_good,
                 digest->by_outcome[OUTCOME_evaluated] ? "could" : "did");
    else if (n > 0)
        view_say(view, ": all %s", success_word(summary));
    view_say(view, "\n");
    if (n < info->n_fit)
        view_say(view, "  selected from %llu fits\n", (unsigned long long)info->n_fit);
    if (selection)
        view_say(view, "  a part of the problem: %s\n", selection);
}

static void add_outcomes(struct view *view, const struct result_info *info,
                         const struct show_summary *summary)
{
    const struct digest *digest = &summary->digest;
    VIEW_FACTS(view, fact_count("converged", NULL, 0, digest->by_outcome[OUTCOME_converged]));
    view_counts(view, "status", outcome_name, 0, N_OUTCOME, digest->by_outcome);
    view_counts(view, "stopping_test", stop_name, 1, N_STOP, summary->by_stop);
    view_table(view, NULL, NULL, VIEW_BARE);
    if (digest->n_fit > 0)
        VIEW_ROW(view, fact_word(NULL, "", STATUS, success_word(summary)),
                 fact_count(NULL, "", COUNT, summary->n_success));
    for (int i = STOP_none + 1; i < N_STOP; i++)
        if (summary->by_stop[i])
            VIEW_ROW(view, fact_word(NULL, "", STATUS, view_word(view, "  %s", stop_name(i))),
                     fact_count(NULL, "", COUNT, summary->by_stop[i]),
                     fact_word(NULL, "", -1, stop_meaning(i)));
    view_end(view);
    show_failures(view, summary);
    for (int i = 0; i < N_OUTCOME; i++)
        if (digest->by_outcome[i] && !outcome_is_success((enum outcome)i) && outcome_advice(i))
            view_say(view, "  %s: %s\n", outcome_name(i), outcome_advice(i));
    if (summary->n_success < digest->n_fit)
        view_say(view, "  by dataset: stiffit export %s --failed --columns id,status,message\n",
                 info->path);
    digest_facts(view, digest);
}

const char *show_label(struct view *view, const struct result_info *info, size_t j)
{
    const char *unit = info->parameter_unit ? info->parameter_unit[j] : NULL;
    return unit && *unit ? view_word(view, "%s [%s]", info->parameter_name[j], unit)
                         : info->parameter_name[j];
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

/* The histogram as a picture with the ends of its axis. */
static const char *picture(struct view *view, const struct show_spread *spread)
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
    char bars[3 * SHOW_N_BIN + 1] = "";
    uint64_t most = 0;
    for (int i = 0; i < SHOW_N_BIN; i++)
        most = spread->bin[i] > most ? spread->bin[i] : most;
    for (int i = 0; i < SHOW_N_BIN; i++) { /* a bin that is not empty is visible */
        uint64_t n = spread->bin[i];
        int height = n ? 1 + (int)(7.999 * (double)(n - 1) / (double)(most > 1 ? most - 1 : 1)) : 0;
        strcat(bars, (has_blocks() ? blocks : ascii)[height]);
    }
    return view_word(view, "%9.4g %c%s%c %.4g", spread->low, spread->is_cut ? '<' : '|', bars,
                     spread->is_cut ? '>' : '|', spread->high);
}

void show_quartiles(struct view *view, const struct show_spread *spread, bool is_one)
{
    unsigned many = is_one ? FACT_NOT_IN_PAGE : 0;
    VIEW_FACTS(view, fact_how(many, fact_number("min", "min", 0, 0, spread->min)),
               fact_how(many, fact_number("q25", "25 %", 11, 5, spread->q25)),
               fact_how(FACT_NOT_IN_PAGE, fact_number("median", "median", 11, 5, spread->median)),
               fact_number(NULL, is_one ? "value" : "median", 0, 0, spread->median),
               fact_how(many, fact_number("q75", "75 %", 11, 5, spread->q75)),
               fact_how(many, fact_number("max", "max", 0, 0, spread->max)));
}

/* What all spreads have; they are in one table of text. */
static void add_spread(struct view *view, const struct show_spread *spread,
                       const struct show_summary *summary)
{
    const char *error = "";
    if (isfinite(spread->error) && spread->error > 0)
        error = view_word(view, spread->error < 1 ? "%.2g %%" : "%.0f %%", 100 * spread->error);
    show_quartiles(view, spread, summary->digest.n_fit == 1);
    VIEW_FACTS(view, fact_how(FACT_NOT_IN_PAGE, fact_word(NULL, "rel. error", 10, error)));
    if (summary->n_success > 1)
        VIEW_FACTS(view, fact_how(FACT_NOT_IN_PAGE, fact_word(NULL, "over the datasets", -1,
                                                              picture(view, spread))));
    view_group(view, "histogram", NULL, VIEW_HIDDEN);
    VIEW_FACTS(view, fact_word("axis", NULL, 0, spread->is_log ? "log" : "lin"),
               fact_number("from", NULL, 0, 0, spread->low),
               fact_number("to", NULL, 0, 0, spread->high),
               (struct fact){"fits", .kind = FACT_BINS, .n = SHOW_N_BIN, .bins = spread->bin});
    view_end(view);
}

static void add_goodness(struct view *view, const char *key, const char *label,
                         const struct show_spread *spread, const struct show_summary *summary)
{
    view_row(view, key, isfinite(spread->median) ? VIEW_PLAIN : VIEW_HIDDEN);
    VIEW_FACTS(view, fact_word(NULL, "", LABEL, label), fact_word(NULL, "", 0, ""));
    add_spread(view, spread, summary);
    view_end(view);
}

const char *show_combination_word(struct view *view, const struct result_info *info,
                                  const double *weight)
{
    char text[400];
    return view_word(view, "%s", show_combination_text(info, weight, text, sizeof text));
}

static void add_parameter(struct view *view, const struct result_info *info, size_t j,
                          const struct show_summary *summary)
{
    const struct show_spread *spread = &summary->parameter[j];
    const char *error = summary->digest.n_fit == 1 ? "relative error" : "median relative error";
    view_row(view, NULL, VIEW_PLAIN);
    VIEW_FACTS(view,
               fact_how(FACT_NOT_IN_PAGE, fact_word(NULL, "", LABEL, show_label(view, info, j))),
               fact_word("name", "parameter", 0, info->parameter_name[j]),
               fact_word("scale", NULL, 0, info->parameter_scale ? info->parameter_scale[j] : NULL),
               fact_word("unit", "unit", 0, info->parameter_unit ? info->parameter_unit[j] : NULL));
    add_spread(view, spread, summary);
    VIEW_FACTS(view, fact_number("relative_error", error, 0, 0, spread->error),
               fact_count("at_lower", "at lower bound", 0, spread->n_at_lower),
               fact_count("at_upper", "at upper bound", 0, spread->n_at_upper));
    view_counts(view, "error_missing", lack_name, 1, N_LACK, spread->n_lack);
    view_end(view);
}

void show_parameters(struct view *view, const struct result_info *info,
                     const struct show_summary *summary)
{
    const char *sample = summary->n_sampled < summary->n_success ? " (a regular sample of them)"
                                                                 : "";
    view_table(view, "parameters", view_word(view, "Parameters of the %s fits%s",
                                             success_word(summary), sample),
               summary->n_success > 0 ? VIEW_PLAIN : VIEW_HIDDEN);
    for (size_t j = 0; j < info->n_parameter; j++)
        add_parameter(view, info, j, summary);
    view_end(view);
    view_row(view, "objective", VIEW_PLAIN);
    VIEW_FACTS(view, fact_word(NULL, "", LABEL, "objective"), fact_word(NULL, "", 0, ""),
               fact_word("kind", NULL, 0, info->objective_kind));
    add_spread(view, &summary->objective, summary);
    view_end(view);
    add_goodness(view, "reduced_chi_square", "chi-square/df", &summary->reduced, summary);
    add_goodness(view, "r_squared", "R squared", &summary->r_squared, summary);
    if (summary->n_success > 0)
        view_say(view, "  rel. error: median of standard error / value; objective: %s%s\n%s",
                 show_objective_text(info->objective_kind),
                 isfinite(summary->reduced.median) ? "; df: degrees of freedom" : "",
                 summary->n_success == 1
                     ? ""
                     : "  over the datasets: logarithmic for scales log and log10; < > leaves out "
                       "1 % at each end\n");
}

/* Parameters that need attention. */
static void add_remarks(struct view *view, const struct result_info *info,
                        const struct show_summary *summary)
{
    view_table(view, NULL, "Parameters that need attention", VIEW_HEADLESS);
    for (size_t j = 0; j < info->n_parameter && summary->n_success > 0; j++) {
        const struct show_spread *spread = &summary->parameter[j];
        const struct {
            uint64_t n;
            const char *what;
        } remark[] = {
            {spread->n_at_lower, "is at its lower bound"},
            {spread->n_at_upper, "is at its upper bound"},
            {spread->n_lack[LACK_flat], "has no standard error: the data do not determine it"},
            {spread->n_lack[LACK_freedom], "has no standard error: too few measurements"},
        };
        for (size_t k = 0; k < sizeof remark / sizeof *remark; k++)
            if (remark[k].n)
                VIEW_ROW(view, fact_count(NULL, "", COUNT, remark[k].n),
                         fact_word(NULL, "", -1, view_word(view, "%s %s", info->parameter_name[j],
                                                           remark[k].what)));
    }
    view_end(view);
}

void show_flat_directions(struct view *view, const struct result_info *info,
                          const struct show_summary *summary)
{
    view_table(view, "flat_directions", "Flat directions: moving along one changes the predictions "
               "too little to notice", VIEW_HEADLESS);
    for (size_t i = 0; i < summary->n_flat; i++) {
        const struct show_flat *flat = &summary->flat[i];
        VIEW_ROW(view, fact_count("fits", "fits", COUNT, flat->fits.n),
                 fact_word("combination", "combination", -1,
                           show_combination_word(view, info, flat->weight)),
                 show_examples(view, &flat->fits));
    }
    if (summary->n_other_flat)
        VIEW_ROW(view, fact_count(NULL, "", COUNT, summary->n_other_flat),
                 fact_word(NULL, "", -1, "others"));
    view_end(view);
}

/* A count of datasets with a few of them. */
static void add_count(struct view *view, uint64_t n, const char *what,
                      const struct digest_examples *fits)
{
    static const struct digest_examples none = {.n = 0};
    if (n)
        VIEW_ROW(view, fact_count(NULL, "fits", COUNT, n), fact_word(NULL, "starts", -1, what),
                 fact_how(FACT_BELOW, examples(view, NULL, fits ? fits : &none)));
}

void show_starts(struct view *view, const struct result_info *info,
                 const struct show_refits *refits)
{
    view_group(view, "starts", NULL, VIEW_HIDDEN);
    VIEW_FACTS(view, fact_count("one_optimum", NULL, 0, refits->n_same),
               fact_count("several_optima", NULL, 0, refits->n_some),
               fact_count("best_reached_once", NULL, 0, refits->alone.n),
               fact_count("others_failed", NULL, 0, refits->only.n));
    view_end(view);
    view_table(view, NULL, view_word(view, "Starts, %u for each dataset",
                                     (unsigned)info->identity.n_start), VIEW_HEADLESS);
    add_count(view, refits->n_same,
              "all successful starts reached the same objective (within 1e-6)", NULL);
    add_count(view, refits->n_some,
              "several starts reached the lowest objective (within 1e-6), others ended elsewhere",
              NULL);
    add_count(view, refits->alone.n,
              "a single start reached the lowest objective: more starts may find a lower one",
              &refits->alone);
    add_count(view, refits->only.n, "a single start converged, the others failed", &refits->only);
    view_end(view);
}

/* "28 found, 2 infinite"; NULL: none. */
static const char *limits(struct view *view, const uint64_t *n_limit)
{
    const char *text = NULL;
    for (int k = LIMIT_none + 1; k < N_LIMIT; k++)
        if (n_limit[k])
            text = view_word(view, "%s%s%llu %s", text ? text : "", text ? ", " : "",
                             (unsigned long long)n_limit[k], limit_name(k));
    return text;
}

static void add_profiles(struct view *view, const struct result_info *info,
                         const struct show_summary *summary)
{
    bool is_seen[N_LIMIT] = {false};
    if (!summary->refits.has_profile) {
        VIEW_FACTS(view, fact_word("profiles", NULL, 0, NULL));
        return;
    }
    view_group(view, "profiles", NULL, VIEW_HIDDEN);
    for (size_t j = 0; j < info->n_parameter; j++) {
        view_group(view, info->parameter_name[j], NULL, VIEW_HIDDEN);
        for (int side = 0; side < 2; side++)
            view_counts(view, side_name[side], limit_name, LIMIT_none + 1, N_LIMIT,
                        summary->parameter[j].n_limit[side]);
        view_end(view);
    }
    view_end(view);
    view_table(view, NULL, "Confidence limits from profile likelihoods", VIEW_HEADLESS);
    for (size_t j = 0; j < info->n_parameter; j++)
        for (int side = 0; side < 2; side++) {
            const uint64_t *n_limit = summary->parameter[j].n_limit[side];
            const char *found = limits(view, n_limit);
            for (int k = LIMIT_none + 1; k < N_LIMIT; k++)
                is_seen[k] = is_seen[k] || n_limit[k];
            if (found)
                VIEW_ROW(view, fact_word(NULL, "", LABEL, side ? "" : show_label(view, info, j)),
                         fact_word(NULL, "", -1, side_name[side]), fact_word(NULL, "", -1, found));
        }
    view_end(view);
    for (int k = LIMIT_found + 1; k < N_LIMIT; k++)
        if (is_seen[k])
            view_say(view, "  %s: %s\n", limit_name(k), limit_meaning(k));
}

static void add_bootstrap(struct view *view, const struct result_info *info,
                          const struct show_summary *summary)
{
    const struct show_refits *refits = &summary->refits;
    if (!refits->n_bootstrap) {
        VIEW_FACTS(view, fact_word("bootstrap", NULL, 0, NULL));
        return;
    }
    view_group(view, "bootstrap", "Bootstrap", VIEW_PLAIN);
    VIEW_FACTS(view, fact_count("fits", NULL, 0, refits->n_bootstrap),
               fact_count("fewest_replicates", NULL, 0, refits->least),
               fact_count("most_replicates", NULL, 0, refits->most));
    view_group(view, "error_ratio", NULL, VIEW_HIDDEN);
    for (size_t j = 0; j < info->n_parameter; j++)
        VIEW_FACTS(view, fact_number(info->parameter_name[j], NULL, 0, 0,
                                     show_error_ratio(&summary->parameter[j])));
    view_end(view);
    if (refits->least == refits->most)
        view_say(view, "  %lld replicates were fitted for each dataset\n", (long long)refits->most);
    else
        view_say(view, "  %lld to %lld replicates were fitted for a dataset\n",
                 (long long)refits->least, (long long)refits->most);
    view_table(view, NULL, NULL, VIEW_PLAIN);
    for (size_t j = 0; j < info->n_parameter; j++)
        if (summary->parameter[j].n_ratio) {
            double ratio = show_error_ratio(&summary->parameter[j]);
            VIEW_ROW(view, fact_word(NULL, "", LABEL, show_label(view, info, j)),
                     fact_word(NULL, "error over the replicates / standard error", 1,
                               view_word(view, "%.3g", ratio)));
        }
    view_end(view);
    view_end(view);
}

void show_notes(struct view *view, const struct show_summary *summary)
{
    view_table(view, NULL, "Notes", VIEW_HEADLESS);
    for (int bit = 0; bit < DIGEST_N_NOTE; bit++) {
        const struct digest_examples *fits = &summary->digest.noted[bit];
        bool is_all = fits->n == summary->digest.n_fit;
        if (fits->n && note_meaning(bit))
            VIEW_ROW(view, fact_word(NULL, "note", 0, note_name(bit)),
                     fact_count(NULL, "fits", COUNT, fits->n),
                     fact_word(NULL, "meaning", -1, note_meaning(bit)),
                     fact_how(FACT_BELOW | (is_all ? FACT_NOT_IN_TEXT : 0),
                              examples(view, NULL, fits)));
    }
    view_end(view);
}

static void add_notes(struct view *view, const struct show_summary *summary)
{
    view_group(view, "notes", NULL, VIEW_HIDDEN);
    for (int bit = 0; bit < DIGEST_N_NOTE; bit++)
        if (note_name(bit))
            VIEW_FACTS(view, fact_count(note_name(bit), NULL, 0, summary->digest.noted[bit].n));
    view_end(view);
    show_notes(view, summary);
}

static void add_slowest(struct view *view, const struct show_summary *summary)
{
    const char *title = view_word(view, "Slowest (of %.4g s in total)", summary->digest.seconds);
    view_table(view, "slowest", title, summary->digest.n_fit == 1 ? VIEW_HIDDEN : VIEW_PLAIN);
    for (size_t i = 0; i < summary->n_slow; i++) {
        const struct show_slow *slow = &summary->slow[i];
        VIEW_ROW(view, fact_number("seconds", "seconds", 12, 4, slow->seconds),
                 fact_count("evaluations", "evaluations", 12, slow->n_evaluation),
                 fact_count("steps", "steps", 12, slow->n_step),
                 fact_word("status", "status", -12, outcome_name(slow->outcome)),
                 fact_word("id", "id", -1, slow->id));
    }
    view_end(view);
}

void show_provenance(struct view *view, const struct result_info *info)
{
    const struct provenance *provenance = &info->provenance;
    char hex[SHA256_HEX];
    view_group(view, "provenance", "Provenance", VIEW_LISTED);
    for (size_t i = 0; i < provenance->n; i++) {
        const char *name = provenance->name[i], *value = provenance->value[i];
        if (!strcmp(name, "model_source"))
            VIEW_FACTS(view, fact_word(name, NULL, 0, value),
                       fact_how(FACT_NOT_IN_PAGE,
                                fact_word(NULL, name, 0,
                                          view_word(view, "model text of %zu bytes (--json prints "
                                                    "it)", strlen(value)))));
        else
            VIEW_FACTS(view, fact_word(name, name, 0, value));
    }
    sha256_hex(info->identity.problem, hex);
    const char *seed = view_word(view, "%" PRIu64, info->identity.seed);
    VIEW_FACTS(view, (struct fact){"seed", "seed", .kind = FACT_DIGITS, .word = seed},
               fact_count("starts", NULL, 0, info->identity.n_start),
               fact_word("problem_sha256", NULL, 0, view_word(view, "%s", hex)));
    view_end(view);
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

void show_result(struct view *view, const struct result_info *info,
                 const struct result_population *population, const struct show_summary *summary)
{
    const char *id = summary->n_slow ? summary->slow[0].id : "";
    add_head(view, info, summary);
    add_outcomes(view, info, summary);
    if (population)
        show_population(view, population);
    show_parameters(view, info, summary);
    add_remarks(view, info, summary);
    VIEW_FACTS(view, fact_count("fits_with_flat_directions", NULL, 0, summary->n_fit_flat));
    show_flat_directions(view, info, summary);
    show_starts(view, info, &summary->refits);
    add_profiles(view, info, summary);
    add_bootstrap(view, info, summary);
    add_notes(view, summary);
    add_slowest(view, summary);
    if (summary->digest.n_fit > 0)
        view_say(view, "\nOne dataset in detail: stiffit show %s --id %s\n", info->path,
                 is_plain(id) ? id : "ID");
    show_provenance(view, info);
}
