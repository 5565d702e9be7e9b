/* `stiffit run`, the messages of its two children, and the report at its end.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/terminal.h"
#include "cli/import.h"
#include "cli/model_text.h"
#include "run/plan/run_plan.h"
#include "run/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int parse(struct run_options *options, int argc, char **argv)
{
    struct error error;
    bool help = false;
    if (run_options_parse(options, argc, argv, &help, &error))
        return message_usage("run", &error, options->shown.color);
    if (!help)
        return -1;
    help_command(stdout, &command_run);
    return command_close_output(0);
}

/* The supervisor only watches: the compute process parses the same arguments again and makes the run's plan. */
static int run(int argc, char **argv)
{
    struct run_options options;
    struct run_paths paths = {.result = NULL};
    struct error error = {.status = STATUS_OK};
    int code = parse(&options, argc, argv);
    if (code >= 0)
        return code;
    if (import_is_petab(options.problem)) { /* the processes to come see the problem file that is made of it */
        int i = 0;
        while (argv[i] != options.problem)
            i++;
        if ((code = import_petab_for_run(options.problem, &argv[i], options.shown.quiet, options.shown.color)))
            return code;
        options.problem = argv[i];
    }
    code = status_exit_code(run_options_paths(&options, &paths, &error));
    const struct run_request request = {.problem = options.problem, .journal = paths.journal, .compute = command_compute,
                                        .finish = command_finish, .argc = argc, .argv = argv,
                                        .time_limit_s = options.time_limit_s, .is_trace = options.trace != NULL,
                                        .is_alone = options.select.shard_text != NULL};
    if (!error.status)
        code = run_supervise(&request, &error);
    if (error.status)
        message_error(&error, options.shown.color);
    run_paths_fini(&paths);
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
    progress_init(&teller->progress, stderr, *teller->n_start > 1 ? "starts" : "fits", n_total, n_done_before,
                  shown->progress, shown->color, shown->quiet, 1e-9 * (double)begun_ns);
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

static void on_show(void *context, const struct text_messages *messages, const char *text, size_t n_byte, const char *origin)
{
    enum when color = ((struct teller *)context)->shown->color;
    model_text_show(&color, messages, text, n_byte, origin);
}

static struct run_hooks hooks_of(struct teller *teller)
{
    return (struct run_hooks){on_take_over, on_say, on_begin, on_progress, on_end, on_show, teller};
}

/* The exit code of a child, after a last message to the user. */
static int end_child(struct teller *teller, const struct error *error, const struct run_summary *summary, bool is_last)
{
    on_end(teller);
    if (error->status && summary->journal_gone) {
        on_say(teller, "another process has changed this run's journal, problem or result: checking again which fits remain");
        return RUN_EXIT_AGAIN;
    }
    if (error->status && (summary->wants_fresh || summary->follows_ranks))
        return summary->wants_fresh ? RUN_EXIT_FRESH : RUN_EXIT_RANKS;
    if (error->status)
        return summary->is_reported ? status_exit_code(error->status) : message_error(error, teller->shown->color);
    if (!is_last && !summary->already_complete)
        return 0;
    enum status status = run_summary_status(summary, teller->shown);
    run_report(summary, teller->shown);
    int code = command_close_output(status_exit_code(status));
    if (!is_last && code <= 1)
        code = status ? RUN_EXIT_COMPLETE_FAILED : RUN_EXIT_COMPLETE;
    return code;
}

int command_compute(int argc, char **argv)
{
    struct run_options options;
    struct run_summary summary = {.result_path = NULL};
    struct error error = {.status = STATUS_OK};
    struct teller teller = {.shown = &options.shown, .n_start = &options.recipe.n_start};
    const struct run_hooks hooks = hooks_of(&teller);
    int code = parse(&options, argc, argv);
    if (code >= 0)
        return code;
    char *line = shell_line("stiffit run", argc, argv);
    options.command_line = line;
    error.status = run_compute(&options, &hooks, &summary, &error);
    code = end_child(&teller, &error, &summary, false);
    run_summary_fini(&summary);
    free(line);
    return code;
}

int command_finish(int argc, char **argv)
{
    struct run_plan plan = {.text = NULL};
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

const struct command command_run = {
    .name = "run", .synopsis = "PROBLEM.h5|PROBLEM.yaml", .summary = "fit every dataset of a problem file",
    .example = "stiffit run wells.h5\nstiffit run wells.h5 --starts 10 --accept-failed 1%",
    .description =
        "Fits the model to every dataset of PROBLEM.h5 and writes one row per dataset to PROBLEM.result.h5. A dataset that "
        "cannot be fitted becomes a row with a status and does not stop the others. Finished fits are kept in a journal next "
        "to the result: if the run is stopped or killed, the same command resumes it.\n"
        "PROBLEM.yaml is a PEtab problem, which becomes PROBLEM.petab.h5 first; see stiffit-petab(7).\n"
        "Options may also be given as attributes of /options in the problem file; the command line overrides them.",
    .run_table = run_options_table, .run = run};

static void print_examples(const char id[RUN_N_EXAMPLE][RUN_ID_LENGTH])
{
    for (int k = 0; k < RUN_N_EXAMPLE && id[k][0]; k++)
        fprintf(stderr, "%s %s", k ? "," : "", id[k]);
}

static void print_failures(const struct run_summary *summary, bool color)
{
    for (int i = 0; i < N_OUTCOME; i++) {
        enum outcome outcome = (enum outcome)i;
        if (summary->by_outcome[i] == 0 || outcome_is_success(outcome))
            continue;
        fprintf(stderr, "  %s%llu %s%s: %s\n", color ? "\033[31m" : "", (unsigned long long)summary->by_outcome[i],
                outcome_name(outcome), color ? "\033[0m" : "", outcome_meaning(outcome));
        fputs("    for example", stderr);
        print_examples(summary->example[i]);
        if (summary->reason[i][0])
            fprintf(stderr, "; the first one: %s", summary->reason[i]);
        fputc('\n', stderr);
    }
}

/* Doubtful fits are pointed out, and sigmas that only some measurements have: that is more often a slip than a wish. */
static bool is_loud(const struct run_summary *summary, uint32_t note)
{
    return note & (NOTE_DOUBTFUL | NOTE_mixed_sigma) || (note == NOTE_no_model_sigma && summary->n_known > 0);
}

static void print_notes(const struct run_summary *summary, bool color)
{
    for (int bit = 0; bit < RUN_N_NOTE; bit++) {
        uint64_t n = summary->by_note[bit];
        bool loud = is_loud(summary, 1u << bit);
        if (n == 0 || !note_meaning(bit))
            continue;
        fprintf(stderr, "  %s%s%s: %s%s (%llu %s", loud && color ? "\033[33m" : "", loud ? "warning" : "note",
                loud && color ? "\033[0m" : "", note_meaning(bit),
                1 << bit == NOTE_flat_direction ? ": `stiffit show` names the dataset" : "", (unsigned long long)n,
                n == 1 ? "fit" : "fits");
        if (1 << bit == NOTE_no_model_sigma)
            fprintf(stderr, ", %llu %s", (unsigned long long)summary->n_no_sigma,
                    summary->n_no_sigma == 1 ? "measurement" : "measurements");
        if (n < summary->n_fit) {
            fputs("; e.g.", stderr);
            print_examples(summary->noted[bit]);
        }
        fputs(")\n", stderr);
    }
}

/* The median, and how bad the worst twentieth is, or of few fits the worst one. `what` begins the line. */
static void print_spread(const char *what, const struct run_goodness *goodness, bool is_share)
{
    bool is_few = goodness->n < 20;
    double middle = run_goodness_quantile(goodness, 0.5), far = run_goodness_quantile(goodness, is_few ? 1 : 0.95);
    const char *bound = is_few ? is_share ? "at least" : "at most" : is_share ? "below" : "above";
    int n_digit = is_share ? 4 : 2;
    if (!goodness->n)
        return;
    fprintf(stderr, "  goodness of fit%s %.*g", what, n_digit, is_share ? 1 - middle : middle);
    if (goodness->n > 1)
        fprintf(stderr, " (median; %s %.*g in %s%llu fits)", bound, n_digit, is_share ? 1 - far : far, is_few ? "" : "5 % of ",
                (unsigned long long)goodness->n);
    fputc('\n', stderr);
}

static void print_goodness(const struct run_summary *summary)
{
    print_spread(": reduced chi-square", &summary->reduced, false);
    print_spread(", sigmas unknown or fitted: R squared", &summary->unexplained, true);
    if (summary->n_at_bound)
        fprintf(stderr, "  bounds hold parameters of %llu %s: `stiffit show` names them\n",
                (unsigned long long)summary->n_at_bound, summary->n_at_bound == 1 ? "fit" : "fits");
}

static void print_refits(const struct run_summary *summary)
{
    for (int i = LIMIT_none + 1; i < N_LIMIT; i++)
        if (summary->by_limit[i])
            fprintf(stderr, "  profiles: %llu %s %s: %s\n", (unsigned long long)summary->by_limit[i],
                    summary->by_limit[i] == 1 ? "side" : "sides", limit_name(i), limit_meaning(i));
    if (summary->n_replicate)
        fprintf(stderr, "  bootstrap: %llu replicates, %llu failed\n", (unsigned long long)summary->n_replicate,
                (unsigned long long)summary->n_replicate_failed);
}

/* Of the only fit. */
static void print_objective(const struct run_summary *summary)
{
    fprintf(stderr, "  objective %.9g", summary->objective);
    if (isfinite(summary->log_likelihood))
        fprintf(stderr, ", log-likelihood %.9g", summary->log_likelihood);
    if (summary->by_outcome[OUTCOME_evaluated] && !isnan(summary->log_prior))
        fprintf(stderr, ", log-prior %.9g", summary->log_prior);
    if (summary->n_same_optimum > 0)
        fprintf(stderr, ", reached by %lld %s", (long long)summary->n_same_optimum,
                summary->n_same_optimum == 1 ? "start" : "starts");
    fputc('\n', stderr);
}

static void print_population(const struct run_summary *summary)
{
    const struct run_population *population = &summary->population;
    bool is_evaluation = summary->by_outcome[OUTCOME_evaluated] > 0;
    if (population->n_estimate == 0)
        return;
    fprintf(stderr, "  population: -2 log L %.9g", population->minus_2_log_likelihood);
    if (population->likelihood_error > 0)
        fprintf(stderr, " +- %.2g", population->likelihood_error);
    fprintf(stderr, " (%s)", population->is_laplace ? "Laplace's approximation" : "exact");
    if (!is_evaluation)
        fprintf(stderr, ", %zu estimates, AIC %.9g, BIC %.9g", population->n_estimate,
                population->aic, population->bic);
    fputc('\n', stderr);
    if (population->n_zero > 0 && !is_evaluation)
        fprintf(stderr, "  population: no variance of %s%s was found: it is 0\n", population->zero,
                population->n_zero > 1 ? " and others" : "");
    if (population->n_no_error > 0 && !is_evaluation)
        fprintf(stderr, "  population: %zu of %zu estimates have no standard error (%s%s): a bound holds "
                "them, or the data do not determine them\n", population->n_no_error,
                population->n_estimate, population->no_error,
                population->n_no_error > 1 ? ", ..." : "");
    if (population->n_left_out > 0)
        fprintf(stderr, "  population: %llu of %llu datasets were left out\n",
                (unsigned long long)population->n_left_out,
                (unsigned long long)(population->n_left_out + population->n_dataset));
}

static void print_text(const struct run_summary *summary, const struct run_shown *shown)
{
    uint64_t n_failed = run_summary_n_failed(summary);
    bool color = terminal_color(stderr, shown->color);
    fprintf(stderr, "stiffit: %s: %s%llu %s, %llu %s", summary->result_path ? summary->result_path : "",
            summary->already_complete ? "already complete: " : "", (unsigned long long)summary->n_fit,
            summary->n_fit == 1 ? "fit" : "fits", (unsigned long long)(summary->n_fit - n_failed),
            outcome_name(summary->by_outcome[OUTCOME_evaluated] ? OUTCOME_evaluated : OUTCOME_converged));
    if (summary->n_doubtful)
        fprintf(stderr, " (%llu doubtful)", (unsigned long long)summary->n_doubtful);
    fprintf(stderr, ", %llu failed\n", (unsigned long long)n_failed);
    if (summary->n_retried)
        fprintf(stderr, "  %llu of them fitted again (--retry-failed): %llu converged, %llu failed\n",
                (unsigned long long)summary->n_retried, (unsigned long long)summary->n_retried_success,
                (unsigned long long)(summary->n_retried - summary->n_retried_success));
    print_failures(summary, color);
    if (summary->n_fit == 1 && isfinite(summary->objective))
        print_objective(summary);
    print_population(summary);
    print_goodness(summary);
    print_notes(summary, color);
    print_refits(summary);
    if (!summary->already_complete)
        fprintf(stderr, "  %llu evaluations, %llu integrator steps, %.3g s of computing\n",
                (unsigned long long)summary->n_evaluation, (unsigned long long)summary->n_step, summary->fit_seconds);
}

static void put_goodness(struct json *json, const struct run_summary *summary)
{
    const struct run_goodness *reduced = &summary->reduced, *unexplained = &summary->unexplained;
    json_object_begin(json, "goodness");
    json_unsigned(json, "reduced_chi_square_fits", reduced->n);
    json_number(json, "reduced_chi_square_median", run_goodness_quantile(reduced, 0.5));
    json_number(json, "reduced_chi_square_q95", run_goodness_quantile(reduced, 0.95));
    json_unsigned(json, "r_squared_fits", unexplained->n);
    json_number(json, "r_squared_median", 1 - run_goodness_quantile(unexplained, 0.5));
    json_number(json, "r_squared_q05", 1 - run_goodness_quantile(unexplained, 0.95));
    json_object_end(json);
}

static void put_population(struct json *json, const struct run_population *population)
{
    if (population->n_estimate == 0)
        return;
    json_object_begin(json, "population");
    json_string(json, "likelihood", population->is_laplace ? "laplace" : "exact");
    json_number(json, "minus_2_log_likelihood", population->minus_2_log_likelihood);
    json_number(json, "minus_2_log_likelihood_error", population->likelihood_error);
    json_number(json, "aic", population->aic);
    json_number(json, "bic", population->bic);
    json_unsigned(json, "estimates", population->n_estimate);
    json_unsigned(json, "datasets", population->n_dataset);
    json_unsigned(json, "left_out", population->n_left_out);
    json_object_end(json);
}

static void print_json(const struct run_summary *summary, const struct run_shown *shown)
{
    struct json json;
    json_begin(&json, stdout);
    json_object_begin(&json, NULL);
    json_string(&json, "result", summary->result_path);
    json_boolean(&json, "already_complete", summary->already_complete);
    json_unsigned(&json, "fits", summary->n_fit);
    json_unsigned(&json, "failed", run_summary_n_failed(summary));
    json_unsigned(&json, "doubtful", summary->n_doubtful);
    json_unsigned(&json, "at_bound", summary->n_at_bound);
    json_unsigned(&json, "without_sigma", summary->n_no_sigma);
    if (summary->n_fit == 1) {
        json_number(&json, "objective", summary->objective);
        json_number(&json, "log_likelihood", summary->log_likelihood);
        if (summary->by_outcome[OUTCOME_evaluated])
            json_number(&json, "log_prior", summary->log_prior);
        if (summary->n_same_optimum > 0)
            json_unsigned(&json, "starts_at_optimum", (uint64_t)summary->n_same_optimum);
    }
    put_goodness(&json, summary);
    put_population(&json, &summary->population);
    json_unsigned(&json, "retried", summary->n_retried);
    json_boolean(&json, "accepted", run_summary_status(summary, shown) == STATUS_OK);
    json_counts(&json, "status", outcome_name, 0, N_OUTCOME, summary->by_outcome);
    json_counts(&json, "notes", note_name, 0, RUN_N_NOTE, summary->by_note);
    json_counts(&json, "profile_sides", limit_name, LIMIT_none + 1, N_LIMIT, summary->by_limit);
    json_unsigned(&json, "replicates", summary->n_replicate);
    json_unsigned(&json, "replicates_failed", summary->n_replicate_failed);
    json_unsigned(&json, "evaluations", summary->n_evaluation);
    json_unsigned(&json, "steps", summary->n_step);
    json_number(&json, "seconds", summary->fit_seconds);
    json_end(&json);
}

void run_report(const struct run_summary *summary, const struct run_shown *shown)
{
    if (!shown->quiet)
        print_text(summary, shown);
    if (shown->json)
        print_json(summary, shown);
}
