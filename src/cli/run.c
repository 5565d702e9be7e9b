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
static void print_examples(const struct digest_examples *fits)
{
    for (int k = 0; k < DIGEST_N_EXAMPLE && fits->id[k][0]; k++) {
        fputs(k ? ", " : " ", stderr);
        for (const char *at = fits->id[k]; *at; at++)
            fputc((unsigned char)*at < 0x20 || *at == 0x7f ? '?' : *at, stderr);
    }
}

static void print_failures(const struct run_summary *summary, bool color)
{
    for (int i = 0; i < N_OUTCOME; i++) {
        enum outcome outcome = (enum outcome)i;
        if (summary->digest.by_outcome[i] == 0 || outcome_is_success(outcome))
            continue;
        fprintf(stderr, "  %s%llu %s%s: %s\n", color ? "\033[31m" : "",
                (unsigned long long)summary->digest.by_outcome[i], outcome_name(outcome),
                color ? "\033[0m" : "", outcome_meaning(outcome));
        fputs("    for example", stderr);
        print_examples(&summary->digest.failed[i]);
        if (summary->reason[i][0])
            fprintf(stderr, "; the first one: %s", summary->reason[i]);
        fputc('\n', stderr);
    }
}

/* Doubtful fits are pointed out, and sigmas that only some measurements have: that is more often
 * a slip than a wish. */
static bool is_loud(const struct run_summary *summary, uint32_t note)
{
    return note & (NOTE_DOUBTFUL | NOTE_mixed_sigma) ||
           (note == NOTE_no_model_sigma && summary->digest.n_known > 0);
}

static void print_notes(const struct run_summary *summary, bool color)
{
    for (int bit = 0; bit < DIGEST_N_NOTE; bit++) {
        uint64_t n = summary->digest.noted[bit].n;
        bool loud = is_loud(summary, 1u << bit);
        if (n == 0 || !note_meaning(bit))
            continue;
        fprintf(stderr, "  %s%s%s: %s%s (%llu %s", loud && color ? "\033[33m" : "",
                loud ? "warning" : "note", loud && color ? "\033[0m" : "", note_meaning(bit),
                1 << bit == NOTE_flat_direction ? ": `stiffit show` names the dataset" : "",
                (unsigned long long)n, n == 1 ? "fit" : "fits");
        if (1 << bit == NOTE_no_model_sigma)
            fprintf(stderr, ", %llu %s", (unsigned long long)summary->digest.n_no_sigma,
                    summary->digest.n_no_sigma == 1 ? "measurement" : "measurements");
        if (n < summary->digest.n_fit) {
            fputs("; e.g.", stderr);
            print_examples(&summary->digest.noted[bit]);
        }
        fputs(")\n", stderr);
    }
}

/* The median, and how bad the worst twentieth is, or of few fits the worst one. `what` begins
 * the line. */
static void print_spread(const char *what, const struct digest_spread *goodness, bool is_share)
{
    bool is_few = goodness->n < 20;
    double middle = digest_quantile(goodness, 0.5),
           far = digest_quantile(goodness, is_few ? 1 : 0.95);
    const char *bound = is_share ? "above" : "below", *extreme = is_share ? "smallest" : "largest";
    int n_digit = is_share ? 4 : 2;
    if (!goodness->n)
        return;
    fprintf(stderr, "  %s%s %.*g", what, goodness->n > 1 ? ": median" : "", n_digit,
            is_share ? 1 - middle : middle);
    if (goodness->n > 1)
        fprintf(stderr, "%s%s %.*g (%llu fits)", is_few ? ", " : "; 95 % ",
                is_few ? extreme : bound, n_digit, is_share ? 1 - far : far,
                (unsigned long long)goodness->n);
    fputc('\n', stderr);
}

static void print_goodness(const struct run_summary *summary)
{
    print_spread("reduced chi-square", &summary->digest.reduced, false);
    print_spread("R squared, where sigmas are unknown or fitted", &summary->digest.unexplained,
                 true);
    if (summary->digest.n_at_bound)
        fprintf(stderr, "  parameters at a bound in %llu %s: `stiffit show` names them\n",
                (unsigned long long)summary->digest.n_at_bound,
                summary->digest.n_at_bound == 1 ? "fit" : "fits");
}

static void print_refits(const struct run_summary *summary)
{
    for (int i = LIMIT_none + 1; i < N_LIMIT; i++)
        if (summary->by_limit[i])
            fprintf(stderr, "  profiles: %llu %s %s: %s\n",
                    (unsigned long long)summary->by_limit[i],
                    summary->by_limit[i] == 1 ? "side" : "sides", limit_name(i), limit_meaning(i));
    if (summary->n_replicate)
        fprintf(stderr, "  bootstrap: %llu replicates, %llu failed\n",
                (unsigned long long)summary->n_replicate,
                (unsigned long long)summary->n_replicate_failed);
}

/* Of the only fit. */
static void print_objective(const struct run_summary *summary)
{
    fprintf(stderr, "  objective %.9g", summary->objective);
    if (isfinite(summary->log_likelihood))
        fprintf(stderr, ", log-likelihood %.9g", summary->log_likelihood);
    if (summary->digest.by_outcome[OUTCOME_evaluated] && !isnan(summary->log_prior))
        fprintf(stderr, ", log-prior %.9g", summary->log_prior);
    if (summary->n_same_optimum > 0)
        fprintf(stderr, ", reached by %lld %s", (long long)summary->n_same_optimum,
                summary->n_same_optimum == 1 ? "start" : "starts");
    fputc('\n', stderr);
}

static void print_population(const struct run_summary *summary)
{
    const struct run_population *population = &summary->population;
    struct fact fact[POPULATION_MOST_FACTS];
    bool is_evaluation = summary->digest.by_outcome[OUTCOME_evaluated] > 0;
    if (population->n_estimate == 0)
        return;
    fprintf(stderr, "  population: -2 log L %.9g", population->head.minus_2_log_likelihood);
    if (population->head.likelihood_error > 0)
        fprintf(stderr, " +- %.2g", population->head.likelihood_error);
    fprintf(stderr, " (%s)", strcmp(population->head.likelihood, "laplace")
                                ? "exact" : "Laplace's approximation");
    if (!is_evaluation)
        fprintf(stderr, ", %zu estimates, AIC %.9g, BIC %.9g", population->n_estimate,
                population->head.aic, population->head.bic);
    fputc('\n', stderr);
    facts_text(stderr, fact, population_facts(&population->head, fact));
    if (population->n_zero > 0 && !is_evaluation)
        fprintf(stderr, "  population: no variance of %s%s was found: it is 0\n", population->zero,
                population->n_zero > 1 ? " and others" : "");
    if (population->n_no_error > 0 && !is_evaluation)
        fprintf(stderr,
                "  population: %zu of %zu estimates have no standard error (%s%s): a bound holds "
                "them, or the data do not determine them\n",
                population->n_no_error, population->n_estimate, population->no_error,
                population->n_no_error > 1 ? ", ..." : "");
    if (population->head.n_left_out > 0)
        fprintf(stderr, "  population: %llu of %llu datasets were left out\n",
                (unsigned long long)population->head.n_left_out,
                (unsigned long long)(population->head.n_left_out + population->head.n_dataset));
}

static void print_text(const struct run_summary *summary, const struct run_shown *shown)
{
    uint64_t n_failed = digest_n_failed(&summary->digest);
    struct fact fact[DIGEST_MOST_FACTS];
    size_t n_fact = digest_facts(&summary->digest, fact);
    bool color = terminal_color(stderr, shown->color);
    fprintf(stderr, "stiffit: %s: %s%llu %s, %llu %s",
            summary->result_path ? summary->result_path : "",
            summary->already_complete ? "already complete: " : "",
            (unsigned long long)summary->digest.n_fit, summary->digest.n_fit == 1 ? "fit" : "fits",
            (unsigned long long)(summary->digest.n_fit - n_failed),
            outcome_name(summary->digest.by_outcome[OUTCOME_evaluated] ? OUTCOME_evaluated
                                                                       : OUTCOME_converged));
    if (summary->digest.n_doubtful)
        fprintf(stderr, " (%llu doubtful)", (unsigned long long)summary->digest.n_doubtful);
    fprintf(stderr, ", %llu failed\n", (unsigned long long)n_failed);
    if (summary->n_retried)
        fprintf(stderr,
                "  %llu of them fitted again (--retry-failed): %llu converged, %llu failed\n",
                (unsigned long long)summary->n_retried,
                (unsigned long long)summary->n_retried_success,
                (unsigned long long)(summary->n_retried - summary->n_retried_success));
    print_failures(summary, color);
    if (summary->digest.n_fit == 1 && isfinite(summary->objective))
        print_objective(summary);
    print_population(summary);
    print_goodness(summary);
    print_notes(summary, color);
    print_refits(summary);
    if (!summary->already_complete)
        facts_text(stderr, fact, n_fact);
}

static void put_goodness(struct json *json, const struct run_summary *summary)
{
    const struct digest_spread *reduced = &summary->digest.reduced,
                               *unexplained = &summary->digest.unexplained;
    json_object_begin(json, "goodness");
    json_unsigned(json, "reduced_chi_square_fits", reduced->n);
    json_number(json, "reduced_chi_square_median", digest_quantile(reduced, 0.5));
    json_number(json, "reduced_chi_square_q95", digest_quantile(reduced, 0.95));
    json_unsigned(json, "r_squared_fits", unexplained->n);
    json_number(json, "r_squared_median", 1 - digest_quantile(unexplained, 0.5));
    json_number(json, "r_squared_q05", 1 - digest_quantile(unexplained, 0.95));
    json_object_end(json);
}

static void put_population(struct json *json, const struct run_population *population)
{
    if (population->n_estimate == 0)
        return;
    json_object_begin(json, "population");
    json_unsigned(json, "estimates", population->n_estimate);
    population_head_json(json, &population->head);
    json_object_end(json);
}

static void print_json(const struct run_summary *summary, const struct run_shown *shown)
{
    struct json json;
    struct fact fact[DIGEST_MOST_FACTS];
    uint64_t by_note[DIGEST_N_NOTE];
    for (int bit = 0; bit < DIGEST_N_NOTE; bit++)
        by_note[bit] = summary->digest.noted[bit].n;
    json_begin(&json, stdout);
    json_object_begin(&json, NULL);
    json_string(&json, "result", summary->result_path);
    json_boolean(&json, "already_complete", summary->already_complete);
    facts_json(&json, fact, digest_facts(&summary->digest, fact));
    if (summary->digest.n_fit == 1) {
        json_number(&json, "objective", summary->objective);
        json_number(&json, "log_likelihood", summary->log_likelihood);
        if (summary->digest.by_outcome[OUTCOME_evaluated])
            json_number(&json, "log_prior", summary->log_prior);
        if (summary->n_same_optimum > 0)
            json_unsigned(&json, "starts_at_optimum", (uint64_t)summary->n_same_optimum);
    }
    put_goodness(&json, summary);
    put_population(&json, &summary->population);
    json_unsigned(&json, "retried", summary->n_retried);
    json_boolean(&json, "accepted", run_summary_status(summary, shown) == STATUS_OK);
    json_counts(&json, "status", outcome_name, 0, N_OUTCOME, summary->digest.by_outcome);
    json_counts(&json, "notes", note_name, 0, DIGEST_N_NOTE, by_note);
    json_counts(&json, "profile_sides", limit_name, LIMIT_none + 1, N_LIMIT, summary->by_limit);
    json_unsigned(&json, "replicates", summary->n_replicate);
    json_unsigned(&json, "replicates_failed", summary->n_replicate_failed);
    json_end(&json);
}

void run_report(const struct run_summary *summary, const struct run_shown *shown)
{
    if (!shown->quiet)
        print_text(summary, shown);
    if (shown->json)
        print_json(summary, shown);
}
