/* `stiffit submit`: runs the shards of a problem as a SLURM job array, and a job that merges
 * their results; or a fit with shared parameters as one job with many ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/submit.h"

#include "base/words.h"
#include "cli/command.h"
#include "cli/contain.h"
#include "cli/help_text.h"
#include "io/file/durable.h"
#include "io/journal/journal.h"
#include "run/merge/shard_set.h"
#include "run/plan/run_options.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OWN = 5, MAX_OPTION = 128, MAX_SHARD = 100000 };

struct submit_options {
    struct run_options run;
    int64_t n_shard, n_rank;
    const char *mpi;
    bool dry_run;
    const char *output;
};

#define FIELD(name) offsetof(struct submit_options, name)

/* What help shows: those of `run` have a page of their own. */
static const struct option own[OWN] = {
    {.name = "shards", .kind = OPTION_INTEGER, .offset = FIELD(n_shard), .min = 1, .max = MAX_SHARD,
     .default_text = "8", .help = "number of shards, each a task of the job array"},
    {.name = "ranks", .kind = OPTION_INTEGER, .offset = FIELD(n_rank), .min = 1, .max = MAX_SHARD,
     .help = "of a fit with shared parameters: number of MPI ranks, all tasks of one job; instead "
             "of shards"},
    {.name = "mpi", .kind = OPTION_STRING, .metavar = "TYPE", .offset = FIELD(mpi),
     .default_text = "pmix", .help = "with --ranks: the value of srun --mpi"},
    {.name = "dry-run", .kind = OPTION_FLAG, .offset = FIELD(dry_run),
     .help = "print the batch scripts and the commands; write and submit nothing"},
    {.name = "output", .letter = 'o', .kind = OPTION_STRING, .metavar = "FILE",
     .offset = FIELD(output), .is_file = true, .default_text = "PROBLEM.result.h5",
     .help = "the result, of the merge or of the ranks"},
};

/* Ours, then those of `run`. */
static struct option_table full_table(void)
{
    static struct option all[MAX_OPTION];
    const struct option_table run = run_options_table();
    size_t n = 0;
    assert(OWN + run.n <= MAX_OPTION);
    for (size_t i = 0; i < OWN; i++)
        all[n++] = own[i];
    for (size_t i = 0; i < run.n; i++) {
        if (run.option[i].no_shard)
            continue;
        all[n] = run.option[i];
        all[n++].offset += FIELD(run);
    }
    return (struct option_table){all, n};
}

static const struct option *find_own(const char *word, bool *has_value)
{
    for (size_t i = 0; i < OWN; i++) {
        size_t n = strlen(own[i].name);
        bool is_long = !strncmp(word, "--", 2) && !strncmp(word + 2, own[i].name, n) &&
                       (!word[2 + n] || word[2 + n] == '=');
        bool is_short = own[i].letter && word[0] == '-' && word[1] == own[i].letter;
        if (!is_long && !is_short)
            continue;
        *has_value = own[i].kind == OPTION_FLAG || (is_long ? word[2 + n] == '=' : word[2] != '\0');
        return &own[i];
    }
    return NULL;
}

/* The words for `run`: all but our own and the problem's name. */
static int run_words(int argc, char **argv, const char *problem, char **words)
{
    int n = 0;
    for (int i = 0; i < argc; i++) {
        bool has_value;
        const struct option *mine = find_own(argv[i], &has_value);
        if (mine)
            i += !has_value;
        else if (argv[i] != problem)
            words[n++] = argv[i];
    }
    return n;
}

static char *join(const char *left, const char *right)
{
    char *text = malloc(strlen(left) + strlen(right) + 1);
    if (text)
        strcat(strcpy(text, left), right);
    return text;
}

/* PROBLEM without its .h5. */
static char *stem_of(const char *problem)
{
    char *stem = strdup(problem);
    size_t n = stem ? strlen(stem) : 0;
    if (n > 3 && !strcmp(stem + n - 3, ".h5"))
        stem[n - 3] = '\0';
    return stem;
}

static void plan_fini(struct submission *plan)
{
    free(plan->program);
    free(plan->problem);
    free(plan->result);
    free(plan->folder);
    free(plan->directory);
    free(plan->wanted);
    free(plan->stale);
    free(plan->run_option);
}

static enum status make_plan(struct submission *plan, const struct submit_options *options,
                             struct error *error)
{
    plan->problem = realpath(options->run.problem, NULL);
    if (!plan->problem)
        return error_system(error, errno, "cannot find the problem '%s'", options->run.problem);
    char *stem = stem_of(plan->problem);
    plan->program = realpath("/proc/self/exe", NULL);
    if (!plan->program)
        plan->program = strdup("stiffit");
    plan->directory = getcwd(NULL, 0);
    plan->result = strdup(options->output ? options->output : "");
    plan->folder = stem ? join(stem, ".slurm") : NULL;
    plan->name = stem ? words_file(plan->problem) : NULL;
    free(stem);
    if (!plan->program || !plan->folder || !plan->directory || !plan->result)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the paths of scripts");
    plan->overwrite = options->run.overwrite;
    plan->n_shard = options->n_shard;
    plan->n_rank = options->n_rank;
    plan->mpi = options->mpi;
    plan->strict = options->run.shown.strict;
    snprintf(plan->accept_failed, sizeof plan->accept_failed, "%.17g%s",
             options->run.shown.accept_failed.value,
             options->run.shown.accept_failed.percent ? "%" : "");
    if (strpbrk(plan->folder, "\\\n") || strpbrk(plan->directory, "\n"))
        return error_set(error, STATUS_USAGE,
                         "%s: SLURM does not support a backslash or line break in a path",
                         plan->problem);
    return STATUS_OK;
}

typedef void write_script(FILE *out, const struct submission *plan);

static enum status write_file(const struct submission *plan, const char *name, write_script *script,
                              char **path, struct error *error)
{
    char *text = NULL;
    size_t n_byte = 0;
    *path = join(plan->folder, name);
    FILE *file = *path ? open_memstream(&text, &n_byte) : NULL;
    if (file)
        script(file, plan);
    bool is_whole = file && !ferror(file);
    enum status status = STATUS_OK;
    if ((file && fclose(file)) || !is_whole)
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for the scripts");
    if (!status)
        status = durable_write(*path, 0666, text, n_byte, error);
    free(text);
    return status;
}

/* Prints the scripts, and the commands that would submit them. */
static void show(const struct submission *plan)
{
    if (plan->n_rank) {
        printf("# --- %s/ranks.sh, submitted with: sbatch ranks.sh\n", plan->folder);
        submit_ranks_script(stdout, plan);
        return;
    }
    if (plan->n_wanted) {
        printf("# --- %s/shards.sh, submitted with: sbatch --array=", plan->folder);
        submit_array(stdout, plan);
        printf(" shards.sh\n");
        submit_shards_script(stdout, plan);
    }
    printf("\n# --- %s/merge.sh, submitted with: sbatch%s merge.sh\n", plan->folder,
           plan->n_wanted ? " --dependency=afterany:ARRAY" : "");
    submit_merge_script(stdout, plan);
}

static char *array_option(const struct submission *plan)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fputs("--array=", out);
    submit_array(out, plan);
    return fclose(out) ? NULL : text;
}

/* A shard that found a journal of another run would refuse to start: it cannot know that it may
 * be replaced. */
static enum status drop_stale_journals(const struct submission *plan, struct error *error)
{
    enum status status = STATUS_OK;
    for (int64_t k = 1; k <= plan->n_shard && !status; k++) {
        if (!plan->stale[k - 1])
            continue;
        char *path = shard_journal_path(plan->problem, (uint32_t)k, (uint32_t)plan->n_shard);
        status =
            path ? journal_remove(path, error)
                 : error_set(error, STATUS_NO_MEMORY, "out of memory for the paths of journals");
        free(path);
    }
    return status;
}

static enum status make_folder(const struct submission *plan, struct error *error)
{
    return destination_folder(plan->folder, "the folder for scripts and logs", error);
}

static enum status submit_ranks(const struct submission *plan, struct error *error)
{
    char *ranks = NULL;
    int64_t job = 0;
    enum status status = make_folder(plan, error);
    if (!status)
        status = write_file(plan, "/ranks.sh", submit_ranks_script, &ranks, error);
    if (!status)
        status = submit_sbatch((const char *[]){ranks, NULL}, &job, error);
    if (job)
        printf("ranks %lld\n", (long long)job);
    free(ranks);
    return status;
}

static enum status submit(const struct submission *plan, struct error *error)
{
    char *shards = NULL, *merge = NULL, *array = array_option(plan), dependency[60];
    int64_t array_job = 0, merge_job = 0;
    enum status status = make_folder(plan, error);
    if (!status)
        status = drop_stale_journals(plan, error);
    if (!status && !array)
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for the numbers of shards");
    if (!status)
        status = write_file(plan, "/merge.sh", submit_merge_script, &merge, error);
    if (!status && plan->n_wanted) {
        status = write_file(plan, "/shards.sh", submit_shards_script, &shards, error);
        const char *arguments[] = {array, shards, NULL};
        if (!status)
            status = submit_sbatch(arguments, &array_job, error);
    }
    if (!status) {
        snprintf(dependency, sizeof dependency, "--dependency=afterany:%lld", (long long)array_job);
        const char *after[] = {dependency, merge, NULL};
        status = submit_sbatch(plan->n_wanted ? after : after + 1, &merge_job, error);
    }
    if (array_job)
        printf("shards %lld\n", (long long)array_job);
    if (merge_job)
        printf("merge %lld\n", (long long)merge_job);
    free(shards);
    free(merge);
    free(array);
    return status;
}

/* What a user wants to know before the jobs run; on standard error, since the job numbers are
 * data. */
static void tell(const struct submission *plan)
{
    bool has_cpus = false;
    for (int i = 0; i < plan->n_sbatch_option; i++)
        has_cpus = has_cpus || !strncmp(plan->sbatch_option[i], "-c", 2) ||
                   !strncmp(plan->sbatch_option[i], "--cpus", 6) ||
                   !strncmp(plan->sbatch_option[i], "--exclusive", 11);
    if (plan->is_complete && plan->n_wanted == 0) {
        message_say("the %s is complete: nothing to run",
                    plan->n_rank ? "result" : "merged result");
        return;
    }
    if (!plan->n_rank && (uint64_t)plan->n_shard > plan->n_dataset)
        message_say("note: %lld shards for %llu datasets: some have nothing to do",
                    (long long)plan->n_shard, (unsigned long long)plan->n_dataset);
    if (!plan->n_rank && plan->n_wanted < plan->n_shard)
        message_say("%lld of %lld shards have their results already%s",
                    (long long)(plan->n_shard - plan->n_wanted), (long long)plan->n_shard,
                    plan->n_wanted ? "; the others are to run" : ": only the merge is to run");
    if ((plan->n_rank || plan->n_wanted) && !has_cpus)
        message_say("note: each %s gets SLURM's default number of CPUs, usually one; for more, add "
                    "-- --cpus-per-task=N",
                    plan->n_rank ? "rank" : "shard");
}

/* Words before a lone "--" are ours and run's; the rest is sbatch's. */
static enum status plan_words(struct submission *plan, const struct submit_options *options,
                              int argc, char **argv, struct error *error)
{
    int n_before = 0;
    while (n_before < argc && strcmp(argv[n_before], "--"))
        n_before++;
    plan->sbatch_option = argv + n_before + (n_before < argc);
    plan->n_sbatch_option = argc - n_before - (n_before < argc);
    plan->run_option = calloc((size_t)argc + 1, sizeof *plan->run_option);
    if (!plan->run_option)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the options of shards");
    plan->n_run_option = run_words(n_before, argv, options->run.problem, plan->run_option);
    for (int i = 0; i < plan->n_sbatch_option; i++) {
        const char *word = plan->sbatch_option[i];
        if (word[0] != '-' || strchr(word, '\n'))
            return error_set(error, STATUS_USAGE,
                             "'%.100s' is not an option of sbatch: write --name=value after the --",
                             word);
        if (!strncmp(word, "--array", 7) || !strncmp(word, "-a", 2))
            return error_set(error, STATUS_USAGE,
                             "%.100s: the job array is that of the shards: use --shards N before "
                             "the --",
                             word);
    }
    return STATUS_OK;
}

struct work {
    struct submission *plan;
    struct submit_options *options;
};

/* In a process of its own, because the model is loaded. */
static int work(void *context)
{
    struct submission *plan = ((struct work *)context)->plan;
    struct submit_options *options = ((struct work *)context)->options;
    const enum when color = options->run.shown.color;
    struct error error;
    enum status status = submit_check(plan, &error);
    if (status)
        return message_usage("submit", &error, color);
    if (!options->run.shown.quiet)
        tell(plan);
    if (plan->is_complete && plan->n_wanted == 0)
        return command_close_output(0);
    if (options->dry_run)
        show(plan);
    else
        status = plan->n_rank ? submit_ranks(plan, &error) : submit(plan, &error);
    if (!status && !options->dry_run && !options->run.shown.quiet)
        message_say("`stiffit status %s` shows their progress; their output is in %s",
                    plan->problem, plan->folder);
    int code = command_close_output(0);
    return status ? message_error(&error, color) : code;
}

/* An sbatch option before the "--", such as --time=1:00:00, is the most likely mistake here. */
static void hint_at_sbatch(struct error *error)
{
    size_t n = strlen(error->message);
    if (!strncmp(error->message, "unknown option", strlen("unknown option")))
        snprintf(error->message + n, sizeof error->message - n,
                 "%cOptions of sbatch go after a lone --.",
                 strchr(error->message, '\n') ? ' ' : '\n');
}

static int run(const struct command *self, int argc, char **argv)
{
    struct submit_options options = {.n_shard = 8, .mpi = "pmix"};
    struct submission plan = {.name = NULL};
    struct option_words words;
    struct error error;
    int n_before = 0;
    options.run = run_options_default;
    while (n_before < argc && strcmp(argv[n_before], "--"))
        n_before++;
    enum status status = option_parse(full_table(), &options, &words, 1, n_before, argv, &error);
    if (!status && words.help) {
        help_command(stdout, self);
        return command_close_output(0);
    }
    if (!status && words.n_positional < 1)
        status = error_set(&error, STATUS_USAGE, "no problem file was given");
    if (status)
        hint_at_sbatch(&error);
    if (status)
        return message_usage("submit", &error, options.run.shown.color);
    options.run.problem = words.positional[0];
    status = plan_words(&plan, &options, argc, argv, &error);
    if (!status)
        status = make_plan(&plan, &options, &error);
    enum when color = options.run.shown.color;
    int code =
        status ? message_usage("submit", &error, color)
               : contained_run(work, &(struct work){&plan, &options}, options.run.problem, color);
    plan_fini(&plan);
    return code;
}

const struct command command_submit = {
    .name = "submit", .synopsis = "PROBLEM.h5 [RUN OPTIONS] [-- SBATCH OPTIONS]",
    .summary = "fit a problem on a SLURM cluster: shards and their merge, or ranks",
    .example = "stiffit submit wells.h5 --shards 16 --starts 10 -- --cpus-per-task=8 "
               "--time=4:00:00\n"
               "stiffit submit wells.h5 --shards 16 --dry-run\n"
               "stiffit submit wells.h5 --share k --ranks 4 -- --cpus-per-task=8",
    .description =
        "Writes two batch scripts into PROBLEM.slurm and submits them: a job array that fits one "
        "shard in each task, and a job that merges their results when all have ended, "
        "successfully or not. Prints the numbers of both jobs. A shard that reaches its time "
        "limit requeues itself and resumes.\n"
        "Shards that have a result already are not run again: after a failure the same command "
        "fits what is missing.\n"
        "A fit with shared parameters (--share) is one job, whose tasks are MPI ranks: --ranks N. "
        "It requeues itself, too.\n"
        "All options of stiffit run that make sense for a shard may be given, too; what follows a "
        "lone -- goes to sbatch.",
    .table = COMMAND_TABLE(own), .run = run};
