/* `stiffit run`, the messages of its two children, and the report at its end.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/terminal.h"
#include "cli/help_text.h"
#include "cli/import.h"
#include "cli/model_text.h"
#include "cli/shell.h"
#include "run/plan/run_plan.h"
#include "run/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse(const struct command *self, struct run_options *options, int argc, char **argv)
{
    struct error error;
    bool help = false;
    if (run_options_parse(options, argc, argv, &help, &error))
        return message_usage("run", &error, options->shown.color);
    if (!help)
        return -1;
    help_command(stdout, self);
    return command_close_output(0);
}

/* Makes the problem file of a PEtab problem, which the processes to come see in its place. */
static int make_problem(struct run_options *options, char **word)
{
    struct run_paths paths = {.result = NULL};
    struct error error = {.status = STATUS_OK};
    char *path = import_petab_path(options->problem); /* as long as the process lives */
    const char *yaml = options->problem;
    options->problem = path;
    enum status status = path ? run_options_paths(options, &paths, &error)
                              : error_set(&error, STATUS_NO_MEMORY, "out of memory");
    const char *const written[] = {paths.result, paths.journal, options->trace};
    const struct outputs outputs = {sizeof written / sizeof *written, written};
    int code = status ? message_error(&error, options->shown.color)
                      : import_petab_for_run(yaml, path, &outputs, options->overwrite,
                                             options->shown.quiet, options->shown.color);
    run_paths_fini(&paths);
    *word = path;
    return code;
}

/* The supervisor only watches: the compute process gets the options from it and makes the run's
 * plan. */
static int run(const struct command *self, int argc, char **argv)
{
    struct run_options options;
    struct run_paths paths = {.result = NULL};
    struct error error = {.status = STATUS_OK};
    int code = parse(self, &options, argc, argv);
    if (code >= 0)
        return code;
    if (import_is_petab(options.problem)) {
        int i = 0;
        while (argv[i] != options.problem)
            i++;
        if ((code = make_problem(&options, &argv[i])))
            return code;
    }
    size_t n_option = 0;
    char *line = shell_line("stiffit run", argc, argv);
    options.command_line = line;
    unsigned char *bytes = run_options_bytes(&options, &n_option);
    code = status_exit_code(run_options_paths(&options, &paths, &error));
    const struct run_request request = {.problem = options.problem,
                                        .journal = paths.journal, .compute = command_compute,
                                        .finish = command_finish, .argc = argc, .argv = argv,
                                        .options = bytes, .n_option = n_option,
                                        .time_limit_s = options.time_limit_s,
                                        .is_trace = options.trace != NULL,
                                        .is_alone = options.select.shard_text != NULL};
    if (!error.status)
        code = run_supervise(&request, &error);
    if (error.status)
        message_error(&error, options.shown.color);
    run_paths_fini(&paths);
    free(bytes);
    free(line);
    return code;
}

struct teller {
    const struct run_shown *shown;
    const int64_t *n_start;
    struct progress progress;
    bool begun;
};

static double now_s(void) { return 1e-9 * (double)clock_now_ns(); }

static void on_say(void *context, const char *line)
{
    struct teller *teller = context;
    if (teller->shown->quiet)
        return;
    if (teller->begun)
        progress_clear(&teller->progress);
    message_say("%s", line);
}

/* Completes the line that an earlier process left unfinished. */
static void on_take_over(void *context)
{
    const struct run_shown *shown = ((struct teller *)context)->shown;
    if (!shown->quiet && terminal_redraw(stderr, shown->progress))
        fputs("\r\033[K", stderr);
}

static void on_begin(void *context, uint64_t n_total, uint64_t n_done_before, int64_t begun_ns)
{
    struct teller *teller = context;
    const struct run_shown *shown = teller->shown;
    progress_init(&teller->progress, stderr, *teller->n_start > 1 ? "starts" : "fits", n_total,
                  n_done_before,
                  (struct progress_wish){shown->progress, shown->color, shown->quiet},
                  1e-9 * (double)begun_ns);
    teller->begun = true;
}

static void on_progress(void *context, uint64_t n_done, uint64_t n_failed, const char *where)
{
    struct teller *teller = context;
    if (teller->begun)
        progress_update(&teller->progress, n_done, n_failed, where, now_s());
}

static void on_end(void *context)
{
    struct teller *teller = context;
    if (teller->begun)
        progress_end(&teller->progress);
    teller->begun = false;
}

static void on_show(void *context, const struct text_messages *messages, const char *text,
                    size_t n_byte, const char *origin)
{
    enum when color = ((struct teller *)context)->shown->color;
    model_text_show(&color, messages, text, n_byte, origin);
}

static struct run_hooks hooks_of(struct teller *teller)
{
    return (struct run_hooks){on_take_over, on_say, on_begin, on_progress, on_end, on_show, teller};
}

/* The exit code of a child, after a last message to the user. */
static int end_child(struct teller *teller, const struct error *error,
                     const struct run_summary *summary, bool is_last)
{
    on_end(teller);
    if (error->status && summary->journal_gone) {
        on_say(teller, "another process has changed this run's journal, problem or result: "
                       "checking again which fits remain");
        return RUN_EXIT_AGAIN;
    }
    if (error->status && (summary->wants_fresh || summary->follows_ranks))
        return summary->wants_fresh ? RUN_EXIT_FRESH : RUN_EXIT_RANKS;
    if (error->status)
        return summary->is_reported ? status_exit_code(error->status)
                                    : message_error(error, teller->shown->color);
    if (!is_last && !summary->already_complete)
        return 0;
    enum status status = run_summary_status(summary, teller->shown);
    run_report(summary, teller->shown);
    int code = command_close_output(status_exit_code(status));
    if (!is_last && code <= 1)
        code = status ? RUN_EXIT_COMPLETE_FAILED : RUN_EXIT_COMPLETE;
    return code;
}

const struct command command_run = {
    .name = "run", .synopsis = "PROBLEM.h5|PROBLEM.yaml",
    .summary = "fit every dataset of a problem file",
    .example = "stiffit run wells.h5\nstiffit run wells.h5 --starts 10 --accept-failed 1%",
    .description =
        "Fits the model to every dataset of PROBLEM.h5 and writes one row per dataset to "
        "PROBLEM.result.h5. A dataset that cannot be fitted becomes a row with a status and does "
        "not stop the others. Finished fits are kept in a journal next to the result: if the run "
        "is stopped or killed, the same command resumes it.\n"
        "PROBLEM.yaml is a PEtab problem, which becomes PROBLEM.petab.h5 first; see "
        "stiffit-petab(7).\n"
        "Options may also be given as attributes of /options in the problem file; the command "
        "line overrides them.",
    .run_table = run_options_table, .run = run};

int command_compute(int argc, char **argv)
{
    struct run_options options;
    struct run_summary summary = {.result_path = NULL};
    struct error error = {.status = STATUS_OK};
    struct teller teller = {.shown = &options.shown, .n_start = &options.recipe.n_start};
    const struct run_hooks hooks = hooks_of(&teller);
    int code = run_options_take(&options) ? -1 : parse(&command_run, &options, argc, argv);
    if (code >= 0)
        return code;
    error.status = run_compute(&options, &hooks, &summary, &error);
    code = end_child(&teller, &error, &summary, false);
    run_summary_fini(&summary);
    free(options.memory);
    return code;
}

int command_finish(int argc, char **argv)
{
    struct run_plan plan = {.selection = {.bit = NULL}};
    struct run_summary summary = {.result_path = NULL};
    struct error error = {.status = STATUS_OK};
    struct teller teller = {.shown = &plan.shown, .n_start = &plan.recipe.n_start};
    const struct run_hooks hooks = hooks_of(&teller);
    error.status = run_finish(argc > 0 ? argv[0] : "", &plan, &hooks, &summary, &error);
    int code = end_child(&teller, &error, &summary, true);
    run_summary_fini(&summary);
    run_plan_fini(&plan);
    return code;
}

/* Ids without the control characters that a terminal would obey. */
static const char *examples(struct view *view, const struct digest_examples *fits)
{
    char text[DIGEST_N_EXAMPLE * (DIGEST_ID + 2)] = "";
    for (size_t k = 0; k < DIGEST_N_EXAMPLE && k < fits->n; k++)
        words_add(text, sizeof text, "%s%s", k ? ", " : "", fits->id[k]);
    for (char *at = text; *at; at++)
        *at = (unsigned char)*at < 0x20 || *at == 0x7f ? '?' : *at;
    return view_word(view, "%s", text);
}

static void add_failures(struct view *view, const struct run_summary *summary, bool color)
{
    for (int i = 0; i < N_OUTCOME; i++) {
        enum outcome outcome = (enum outcome)i;
        if (summary->digest.by_outcome[i] == 0 || outcome_is_success(outcome))
            continue;
        view_say(view, "  %s%llu %s%s: %s\n", color ? "\033[31m" : "",
                 (unsigned long long)summary->digest.by_outcome[i], outcome_name(outcome),
                 color ? "\033[0m" : "", outcome_meaning(outcome));
        view_say(view, "    for example %s", examples(view, &summary->digest.failed[i]));
        if (summary->reason[i][0])
            view_say(view, "; the first one: %s", summary->reason[i]);
        view_say(view, "\n");
    }
}

/* Doubtful fits are pointed out, and sigmas that only some measurements have: that is more often
 * a slip than a wish. */
static bool is_loud(const struct run_summary *summary, uint32_t note)
{
    return note & (NOTE_DOUBTFUL | NOTE_mixed_sigma) ||
           (note == NOTE_no_model_sigma && summary->digest.n_known > 0);
}

static void add_notes(struct view *view, const struct run_summary *summary, bool color)
{
    for (int bit = 0; bit < DIGEST_N_NOTE; bit++) {
        uint64_t n = summary->digest.noted[bit].n;
        bool loud = is_loud(summary, 1u << bit);
        if (n == 0 || !note_meaning(bit))
            continue;
        view_say(view, "  %s%s%s: %s%s (%llu %s", loud && color ? "\033[33m" : "",
                 loud ? "warning" : "note", loud && color ? "\033[0m" : "", note_meaning(bit),
                 1 << bit == NOTE_flat_direction ? ": `stiffit show` names the dataset" : "",
                 (unsigned long long)n, n == 1 ? "fit" : "fits");
        if (1 << bit == NOTE_no_model_sigma)
            view_say(view, ", %llu %s", (unsigned long long)summary->digest.n_no_sigma,
                     summary->digest.n_no_sigma == 1 ? "measurement" : "measurements");
        if (n < summary->digest.n_fit)
            view_say(view, "; e.g. %s", examples(view, &summary->digest.noted[bit]));
        view_say(view, ")\n");
    }
}

/* The median, and how bad the worst twentieth is, or of few fits the worst one. `what` begins
 * the line. */
static void say_spread(struct view *view, const char *what, const struct digest_spread *goodness,
                       bool is_share)
{
    bool is_few = goodness->n < 20;
    double middle = digest_quantile(goodness, 0.5),
           far = digest_quantile(goodness, is_few ? 1 : 0.95);
    const char *bound = is_share ? "above" : "below", *extreme = is_share ? "smallest" : "largest";
    int n_digit = is_share ? 4 : 2;
    if (!goodness->n)
        return;
    view_say(view, "  %s%s %.*g", what, goodness->n > 1 ? ": median" : "", n_digit,
             is_share ? 1 - middle : middle);
    if (goodness->n > 1)
        view_say(view, "%s%s %.*g (%llu fits)", is_few ? ", " : "; 95 % ",
                 is_few ? extreme : bound, n_digit, is_share ? 1 - far : far,
                 (unsigned long long)goodness->n);
    view_say(view, "\n");
}

static void add_goodness(struct view *view, const struct run_summary *summary)
{
    const struct digest_spread *reduced = &summary->digest.reduced,
                               *unexplained = &summary->digest.unexplained;
    view_group(view, "goodness", NULL, VIEW_HIDDEN);
    VIEW_FACTS(view, fact_count("reduced_chi_square_fits", NULL, 0, reduced->n),
               fact_number("reduced_chi_square_median", NULL, 0, 0, digest_quantile(reduced, 0.5)),
               fact_number("reduced_chi_square_q95", NULL, 0, 0, digest_quantile(reduced, 0.95)),
               fact_count("r_squared_fits", NULL, 0, unexplained->n),
               fact_number("r_squared_median", NULL, 0, 0, 1 - digest_quantile(unexplained, 0.5)),
               fact_number("r_squared_q05", NULL, 0, 0, 1 - digest_quantile(unexplained, 0.95)));
    view_end(view);
    say_spread(view, "reduced chi-square", reduced, false);
    say_spread(view, "R squared, where sigmas are unknown or fitted", unexplained, true);
    if (summary->digest.n_at_bound)
        view_say(view, "  parameters at a bound in %llu %s: `stiffit show` names them\n",
                 (unsigned long long)summary->digest.n_at_bound,
                 summary->digest.n_at_bound == 1 ? "fit" : "fits");
}

static void add_refits(struct view *view, const struct run_summary *summary)
{
    for (int i = LIMIT_none + 1; i < N_LIMIT; i++)
        if (summary->by_limit[i])
            view_say(view, "  profiles: %llu %s %s: %s\n",
                     (unsigned long long)summary->by_limit[i],
                     summary->by_limit[i] == 1 ? "side" : "sides", limit_name(i), limit_meaning(i));
    if (summary->n_replicate)
        view_say(view, "  bootstrap: %llu replicates, %llu failed\n",
                 (unsigned long long)summary->n_replicate,
                 (unsigned long long)summary->n_replicate_failed);
}

/* Of the only fit. */
static void add_objective(struct view *view, const struct run_summary *summary)
{
    view_say(view, "  objective %.9g", summary->objective);
    if (isfinite(summary->log_likelihood))
        view_say(view, ", log-likelihood %.9g", summary->log_likelihood);
    if (summary->digest.by_outcome[OUTCOME_evaluated] && !isnan(summary->log_prior))
        view_say(view, ", log-prior %.9g", summary->log_prior);
    if (summary->n_same_optimum > 0)
        view_say(view, ", reached by %lld %s", (long long)summary->n_same_optimum,
                 summary->n_same_optimum == 1 ? "start" : "starts");
    view_say(view, "\n");
}

static void add_population(struct view *view, const struct run_summary *summary)
{
    const struct run_population *population = &summary->population;
    bool is_evaluation = summary->digest.by_outcome[OUTCOME_evaluated] > 0;
    if (population->n_estimate == 0)
        return;
    view_group(view, "population", NULL, VIEW_PLAIN);
    VIEW_FACTS(view, fact_count("estimates", NULL, 0, (int64_t)population->n_estimate));
    population_facts(view, &population->head);
    view_end(view);
    view_say(view, "  population: -2 log L %.9g", population->head.minus_2_log_likelihood);
    if (population->head.likelihood_error > 0)
        view_say(view, " +- %.2g", population->head.likelihood_error);
    view_say(view, " (%s)", strcmp(population->head.likelihood, "laplace")
                                ? "exact" : "Laplace's approximation");
    if (!is_evaluation)
        view_say(view, ", %zu estimates, AIC %.9g, BIC %.9g", population->n_estimate,
                 population->head.aic, population->head.bic);
    view_say(view, "\n");
    if (population->n_zero > 0 && !is_evaluation)
        view_say(view, "  population: no variance of %s%s was found: it is 0\n", population->zero,
                 population->n_zero > 1 ? " and others" : "");
    if (population->n_no_error > 0 && !is_evaluation)
        view_say(view,
                 "  population: %zu of %zu estimates have no standard error (%s%s): a bound holds "
                 "them, or the data do not determine them\n",
                 population->n_no_error, population->n_estimate, population->no_error,
                 population->n_no_error > 1 ? ", ..." : "");
    if (*population->flat && !is_evaluation)
        view_say(view, "  population: %s\n", population->flat);
    if (population->head.n_left_out > 0)
        view_say(view, "  population: %llu of %llu datasets were left out\n",
                 (unsigned long long)population->head.n_left_out,
                 (unsigned long long)(population->head.n_left_out + population->head.n_dataset));
}

static void add_summary(struct view *view, const struct run_summary *summary, bool color)
{
    uint64_t n_failed = digest_n_failed(&summary->digest);
    view_say(view, "stiffit: %s: %s%llu %s, %llu %s",
             summary->result_path ? summary->result_path : "",
             summary->already_complete ? "already complete: " : "",
             (unsigned long long)summary->digest.n_fit, summary->digest.n_fit == 1 ? "fit" : "fits",
             (unsigned long long)(summary->digest.n_fit - n_failed),
             outcome_name(summary->digest.by_outcome[OUTCOME_evaluated] ? OUTCOME_evaluated
                                                                        : OUTCOME_converged));
    if (summary->digest.n_doubtful)
        view_say(view, " (%llu doubtful)", (unsigned long long)summary->digest.n_doubtful);
    view_say(view, ", %llu failed\n", (unsigned long long)n_failed);
    if (summary->n_retried)
        view_say(view,
                 "  %llu of them fitted again (--retry-failed): %llu converged, %llu failed\n",
                 (unsigned long long)summary->n_retried,
                 (unsigned long long)summary->n_retried_success,
                 (unsigned long long)(summary->n_retried - summary->n_retried_success));
    add_failures(view, summary, color);
    if (summary->digest.n_fit == 1 && isfinite(summary->objective))
        add_objective(view, summary);
    add_population(view, summary);
    add_goodness(view, summary);
    add_notes(view, summary, color);
    add_refits(view, summary);
    view_group(view, NULL, NULL, summary->already_complete ? VIEW_HIDDEN : VIEW_PLAIN);
    digest_facts(view, &summary->digest);
    view_end(view);
}

/* For JSON alone: text says it in sentences. */
static void add_facts(struct view *view, const struct run_summary *summary,
                      const struct run_shown *shown)
{
    const struct digest *digest = &summary->digest;
    uint64_t by_note[DIGEST_N_NOTE];
    for (int bit = 0; bit < DIGEST_N_NOTE; bit++)
        by_note[bit] = digest->noted[bit].n;
    VIEW_FACTS(view, fact_word("result", NULL, 0, summary->result_path),
               fact_truth("already_complete", summary->already_complete),
               fact_count("retried", NULL, 0, summary->n_retried),
               fact_truth("accepted", run_summary_status(summary, shown) == STATUS_OK),
               fact_count("replicates", NULL, 0, summary->n_replicate),
               fact_count("replicates_failed", NULL, 0, summary->n_replicate_failed));
    if (digest->n_fit == 1)
        VIEW_FACTS(view, fact_number("objective", NULL, 0, 0, summary->objective),
                   fact_number("log_likelihood", NULL, 0, 0, summary->log_likelihood));
    if (digest->n_fit == 1 && digest->by_outcome[OUTCOME_evaluated])
        VIEW_FACTS(view, fact_number("log_prior", NULL, 0, 0, summary->log_prior));
    if (digest->n_fit == 1 && summary->n_same_optimum > 0)
        VIEW_FACTS(view, fact_count("starts_at_optimum", NULL, 0, summary->n_same_optimum));
    view_counts(view, "status", outcome_name, 0, N_OUTCOME, digest->by_outcome);
    view_counts(view, "notes", note_name, 0, DIGEST_N_NOTE, by_note);
    view_counts(view, "profile_sides", limit_name, LIMIT_none + 1, N_LIMIT, summary->by_limit);
}

void run_report(const struct run_summary *summary, const struct run_shown *shown)
{
    struct view view = {.n = 0};
    struct error error = {.status = STATUS_OK};
    add_facts(&view, summary, shown);
    add_summary(&view, summary, terminal_color(stderr, shown->color));
    if (!shown->quiet)
        view_put(&view, false, stderr, &error);
    if (shown->json && !error.status)
        view_put(&view, true, stdout, &error);
    if (error.status)
        message_error(&error, shown->color);
    view_fini(&view);
}
