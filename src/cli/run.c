/* `stiffit run`, and the messages of its two children.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include "base/clock.h"
#include "base/progress.h"
#include "cli/model_text.h"
#include "cli/run_report.h"
#include "run/plan/run_plan.h"
#include "run/run.h"

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
    struct place place = {.result = NULL};
    struct error error = {.status = STATUS_OK};
    int code = parse(&options, argc, argv);
    if (code >= 0)
        return code;
    code = status_exit_code(run_options_place(&options, &place, &error));
    const struct run_request request = {.problem = options.problem, .journal = place.journal, .argc = argc, .argv = argv,
                                        .time_limit_s = options.time_limit_s, .is_trace = options.trace != NULL};
    if (!error.status)
        code = run_supervise(&request, &error);
    if (error.status)
        message_error(&error, options.shown.color);
    place_fini(&place);
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

static void on_progress(void *context, uint64_t n_done, uint64_t n_failed)
{
    struct teller *teller = context;
    if (teller->begun)
        progress_update(&teller->progress, n_done, n_failed, now_s());
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
    if (error->status)
        return summary->wants_fresh ? RUN_EXIT_FRESH : message_error(error, teller->shown->color);
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
    .name = "run", .synopsis = "PROBLEM.h5", .summary = "fit every dataset of a problem file",
    .example = "stiffit run wells.h5\nstiffit run wells.h5 --starts 10 --accept-failed 1%",
    .description =
        "Fits the model to every dataset of PROBLEM.h5 and writes one row per dataset to PROBLEM.result.h5. A dataset that "
        "cannot be fitted becomes a row with a status and does not stop the others. Finished fits are kept in a journal next "
        "to the result: if the run is stopped or killed, the same command resumes it.\n"
        "Options may also be given as attributes of /options in the problem file; the command line overrides them.",
    .run_table = run_options_table, .run = run};
