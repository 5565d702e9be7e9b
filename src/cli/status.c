/* `stiffit status`: the progress of a run or its shards, from their journals and results.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include "base/json.h"
#include "cli/contain.h"
#include "io/file/hdf5_file.h"
#include "io/problem/problem.h"
#include "run/merge/shard_set.h"
#include "run/plan/selection.h"

#include <inttypes.h>

struct status_options {
    const char *problem, *output;
    int64_t n_shard;
    const char *shard_text;
    struct shard shard; /* n = 0: all that exist */
    bool fits, json;
    enum when color;
};

#define FIELD(name) offsetof(struct status_options, name)

static const struct option table[] = {
    {.name = "shards", .kind = OPTION_INTEGER, .offset = FIELD(n_shard), .min = 1,
     .max = SHARD_SET_MAX,
     .default_text = "from the files next to the problem", .help = "number of shards"},
    {.name = "shard", .kind = OPTION_STRING, .metavar = "k/K|slurm", .offset = FIELD(shard_text),
     .help = "only this shard"},
    {.name = "output", .letter = 'o', .kind = OPTION_STRING, .metavar = "FILE",
     .offset = FIELD(output), .is_file = true,
     .default_text = "PROBLEM.result.h5", .help = "the result of the run: what its --output was"},
    {.name = "fits", .kind = OPTION_FLAG, .offset = FIELD(fits),
     .help = "print only the number of finished fits, counting each start and refit"},
    {.name = "json", .kind = OPTION_FLAG, .offset = FIELD(json), .help = "print JSON"},
    OPTION_COLOR(FIELD(color)),
};

/* "12 s ago", "3 h ago"; "" if unknown. */
static const char *age(time_t last, char *text, size_t size)
{
    double s = last ? difftime(time(NULL), last) : -1;
    const char *unit = s < 120 ? "s" : s < 7200 ? "min" : s < 172800 ? "h" : "days";
    double value = s < 120 ? s : s < 7200 ? s / 60 : s < 172800 ? s / 3600 : s / 86400;
    snprintf(text, size, "%s", "");
    if (s >= 0)
        snprintf(text, size, "%.0f %s ago", value, unit);
    return text;
}

static const char *state_name(enum shard_state state)
{
    static const char *const name[] = {"waiting", "running", "stopped", "complete"};
    return name[state];
}

static void print_line(const char *name, const struct shard_progress *progress, const char *state,
                       const char *when)
{
    char total[32] = "?", percent[16] = "";
    if (progress->is_known) {
        snprintf(total, sizeof total, "%" PRIu64, progress->n_dataset);
        if (progress->n_dataset)
            snprintf(percent, sizeof percent, "%" PRIu64 "%%",
                     100 * progress->n_finished / progress->n_dataset);
    }
    printf("%-12s %8" PRIu64 " of %-8s datasets %5s %8" PRIu64 " failed   %-9s %s\n", name,
           progress->n_finished, total, percent, progress->n_failed, state, when);
}

static void print_progress(const char *name, const struct shard_progress *progress)
{
    char when[40];
    if (progress->state == SHARD_WAITING)
        printf("%-12s %s\n", name, state_name(progress->state));
    else
        print_line(name, progress, state_name(progress->state),
                   age(progress->last, when, sizeof when));
}

static void json_count(struct json *json, const char *key, bool is_known, uint64_t count)
{
    if (is_known)
        json_unsigned(json, key, count);
    else
        json_null(json, key);
}

/* k = 0: the total. */
static void print_json(struct json *json, const char *key, uint32_t k,
                       const struct shard_progress *progress)
{
    json_object_begin(json, key);
    json_count(json, "shard", k > 0, k);
    json_string(json, "state", state_name(progress->state));
    json_count(json, "datasets", progress->is_known, progress->n_dataset);
    json_unsigned(json, "finished", progress->n_finished);
    json_unsigned(json, "failed", progress->n_failed);
    json_unsigned(json, "fits", progress->n_fit);
    json_count(json, "last_written", progress->last > 0, (uint64_t)progress->last);
    json_object_end(json);
}

/* The files to look at, and the findings. */
struct overview {
    uint32_t n, first, last; /* shards of n; n = 0: none */
    uint32_t n_complete;
    struct shard_progress sum;
};

static enum status show_shards(struct overview *all, const struct status_options *options,
                               struct json *json, struct error *error)
{
    struct shard_progress progress;
    enum status status = STATUS_OK;
    for (uint32_t k = all->first; k <= all->last && all->n && !status; k++) {
        char name[24];
        status = shard_look(&progress, options->problem, options->output, k, all->n, error);
        if (status)
            break;
        snprintf(name, sizeof name, "shard %u", k);
        if (json)
            print_json(json, NULL, k, &progress);
        else if (!options->fits)
            print_progress(name, &progress);
        all->n_complete += progress.state == SHARD_COMPLETE;
        all->sum.n_finished += progress.n_finished;
        all->sum.n_failed += progress.n_failed;
        all->sum.n_fit += progress.n_fit;
    }
    return status;
}

/* The number of datasets, if the problem can be read. */
static void count_problem(struct overview *all, const char *path)
{
    struct problem *problem = NULL;
    struct error ignored;
    all->sum.is_known = problem_open(&problem, path, &ignored) == STATUS_OK;
    if (all->sum.is_known)
        all->sum.n_dataset = problem_info(problem)->n_dataset;
    problem_close(problem);
}

static enum status show_text(struct overview *all, const struct status_options *options,
                             struct error *error)
{
    struct shard_progress whole;
    char text[40];
    enum status status = show_shards(all, options, NULL, error);
    if (!status && all->last > all->first && !options->fits) {
        count_problem(all, options->problem);
        snprintf(text, sizeof text, "%u of %u", all->n_complete, all->last - all->first + 1);
        print_line("all shards", &all->sum, text, "are complete");
    }
    if (status || options->shard.n)
        goto done;
    status = shard_look(&whole, options->problem, options->output, 0, 0, error);
    if (!status && !options->fits && (all->n == 0 || whole.state != SHARD_WAITING))
        print_progress(all->n ? "merged" : "run", &whole);
    if (all->n == 0)
        all->sum.n_fit = whole.n_fit;
done:
    if (!status && options->fits)
        printf("%" PRIu64 "\n", all->sum.n_fit);
    return status;
}

static enum status show_json(struct overview *all, const struct status_options *options,
                             struct error *error)
{
    struct shard_progress whole;
    struct json json;
    json_begin(&json, stdout);
    json_object_begin(&json, NULL);
    json_count(&json, "of_shards", all->n > 0, all->n);
    json_array_begin(&json, "shards");
    enum status status = show_shards(all, options, &json, error);
    json_array_end(&json);
    if (!status && !options->shard.n)
        status = shard_look(&whole, options->problem, options->output, 0, 0, error);
    if (!status && !options->shard.n)
        print_json(&json, "whole", 0, &whole);
    json_end(&json);
    return status;
}

static int show(void *context)
{
    const struct status_options *options = context;
    struct error error;
    struct overview all = {.n = (uint32_t)options->n_shard, .first = 1};
    struct hdf5_file problem = {.id = 0};
    enum status status = hdf5_open(&problem, options->problem, &error);
    if (!status)
        status = problem_check_kind(&problem, &error);
    hdf5_close(&problem);
    if (status)
        return message_error(&error, options->color);
    if (options->shard.n)
        all.n = options->shard.n;
    else if (all.n == 0 && !options->output)
        status = shard_set_find(options->problem, &all.n, &error);
    all.first = options->shard.n ? options->shard.k : 1;
    all.last = options->shard.n ? options->shard.k : all.n;
    if (!status)
        status = (options->json ? show_json : show_text)(&all, options, &error);
    return status ? message_error(&error, options->color) : command_close_output(0);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct status_options options = {.problem = NULL};
    struct option_words words;
    struct error error;
    int code = command_parse(self, &options, &words, 1, argc, argv);
    if (code >= 0)
        return code;
    if (options.shard_text && shard_parse(&options.shard, options.shard_text, &error))
        return message_usage("status", &error, options.color);
    if (options.output && options.n_shard && !options.shard.n) {
        error_set(&error, STATUS_USAGE,
                  "--output names the result of one run, not of several shards: add --shard k/K");
        return message_usage("status", &error, options.color);
    }
    options.problem = words.positional[0];
    return contained_read(show, &options, options.problem, options.color);
}

const struct command command_status = {
    .name = "status", .synopsis = "PROBLEM.h5", .summary = "progress of a run or of its shards",
    .example = "stiffit status wells.h5\nstiffit status wells.h5 --shard 3/8 --fits",
    .needs = "problem file",
    .description =
        "Counts finished datasets in the journals and results next to PROBLEM.h5: of all its "
        "shards, or of its run if there are none. A dataset is finished when all its starts and "
        "refits are. It reads only, so it may be called at any time, from any machine that sees "
        "the files.\n"
        "'stopped' means that there is a journal but no process that appends to it: the run was "
        "stopped or killed, and the same command resumes it. The last column shows when the "
        "journal was last written to.",
    .table = COMMAND_TABLE(table), .run = run};
