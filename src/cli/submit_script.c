/* The batch scripts that `stiffit submit` writes: plain sh, to be read and edited; and the call
 * of sbatch, the only place that talks to SLURM.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"
#include "cli/shell.h"
#include "cli/submit.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* sbatch accepts a word in double quotes, in which a backslash escapes the next character. */
static void quoted(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putc('\\', out);
        putc(*text, out);
    }
    putc('"', out);
}

static void directive(FILE *out, const char *option, const char *value)
{
    fprintf(out, "#SBATCH %s", option);
    if (value[strcspn(value, " \t'\"\\#")])
        quoted(out, value);
    else
        fputs(value, out);
    putc('\n', out);
}

/* sbatch replaces % and a letter in file names; a literal percent sign is doubled. */
static void log_directive(FILE *out, const char *folder, const char *log)
{
    fputs("#SBATCH --output=\"", out);
    for (; *folder; folder++)
        fprintf(out, *folder == '"' ? "\\%c" : *folder == '%' ? "%%%c" : "%c", *folder);
    fprintf(out, "/%s\"\n", log);
}

static void assign(FILE *out, const char *name, const char *value)
{
    fprintf(out, "%s=", name);
    shell_word(out, value);
    putc('\n', out);
}

static void user_directives(FILE *out, const struct submission *submission)
{
    for (int i = 0; i < submission->n_sbatch_option;
         i++) /* after ours: if an option is given twice, sbatch uses the last */
        directive(out, "", submission->sbatch_option[i]);
}

void submit_array(FILE *out, const struct submission *submission)
{
    bool first = true;
    for (int64_t k = 0; k < submission->n_shard; k++) {
        if (!submission->wanted[k])
            continue;
        int64_t end = k;
        while (end + 1 < submission->n_shard && submission->wanted[end + 1])
            end++;
        fprintf(out, end > k ? "%s%lld-%lld" : "%s%lld", first ? "" : ",", (long long)k + 1,
                (long long)end + 1);
        first = false;
        k = end;
    }
}

/* SLURM signals only the script (B:), which passes the signal on: stiffit stops with exit code
 * 75, and every finished fit is in its journal. A cancelled job (TERM) does not come back. */
static const char shards_body[] =
    "\n"
    "shard=$SLURM_ARRAY_TASK_ID/$n_shard\n"
    "finished() { # how many fits of this shard are done\n"
    "    \"$stiffit\" status \"$problem\" --shard \"$shard\" --fits 2>/dev/null || echo 0\n"
    "}\n"
    "\n"
    "warned= child=\n"
    "trap 'warned=1; [ -z \"$child\" ] || kill -USR1 \"$child\"' USR1\n"
    "trap '[ -n \"$child\" ] || exit 75; kill -TERM \"$child\"' TERM INT\n"
    "tries=$folder/shard-$SLURM_ARRAY_TASK_ID.barren # attempts without a newly finished fit\n"
    "[ \"${SLURM_RESTART_COUNT:-0}\" -gt 0 ] || rm -f \"$tries\"\n"
    "before=$(finished)\n"
    "\"$stiffit\" run \"$problem\" --shard \"$shard\"%s &\n"
    "child=$!\n"
    "[ -z \"$warned\" ] || kill -USR1 \"$child\"\n"
    "while wait \"$child\"; code=$?; kill -0 \"$child\" 2>/dev/null; do :; done # a signal ends "
    "wait early\n"
    "if [ \"$code\" -gt 128 ] && [ \"$(kill -l \"$code\")\" = USR1 ]; then\n"
    "    code=75 # the signal came before stiffit could handle it\n"
    "fi\n"
    "if [ \"$code\" != 75 ] || [ -z \"$warned\" ]; then\n"
    "    exit \"$code\"\n"
    "fi\n"
    "\n"
    "# The time is nearly up: back into the queue, unless two attempts in a row have finished "
    "nothing.\n"
    "if [ \"$(finished)\" -gt \"$before\" ]; then\n"
    "    barren=0\n"
    "else\n"
    "    barren=$(($(cat \"$tries\" 2>/dev/null || echo 0) + 1))\n"
    "fi\n"
    "echo \"$barren\" >\"$tries\"\n"
    "if [ \"$barren\" -ge 2 ]; then\n"
    "    echo \"shard $shard: two attempts in a row have finished no fit; not requeued. Allow more "
    "time (--time).\" >&2\n"
    "    rm -f \"$tries\"\n"
    "    exit 75\n"
    "fi\n"
    "# This task alone: the last one's job number is that of the whole array.\n"
    "exec scontrol requeue \"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\"\n";

static void common_head(FILE *out, const struct submission *submission, const char *log)
{
    fprintf(out, "#!/bin/sh\n");
    directive(out, "--job-name=", submission->name);
    directive(out, "--chdir=", submission->directory);
    log_directive(out, submission->folder, log);
    fputs("#SBATCH --open-mode=append\n", out);
}

void submit_shards_script(FILE *out, const struct submission *submission)
{
    common_head(out, submission, "shard-%a.log");
    fprintf(out, "#SBATCH --requeue\n#SBATCH --signal=B:USR1@60\n");
    user_directives(out, submission);
    fprintf(out, "# Fits one shard in each task of a job array. Written by `stiffit submit`; may "
                 "be changed and submitted again:\n#     sbatch --array=");
    submit_array(out, submission);
    fprintf(out, " shards.sh\n\n");
    assign(out, "stiffit", submission->program);
    assign(out, "problem", submission->problem);
    assign(out, "folder", submission->folder);
    fprintf(out, "n_shard=%lld\n", (long long)submission->n_shard);
    const char *split = "%s", *body = shards_body;
    for (; *body; body++) { /* the run's options replace %s */
        if (body[0] == split[0] && body[1] == split[1]) {
            shell_words(out, submission->n_run_option, submission->run_option);
            body++;
        } else {
            putc(*body, out);
        }
    }
}

void submit_merge_script(FILE *out, const struct submission *submission)
{
    common_head(out, submission, "merge.log");
    user_directives(out, submission); /* account and partition are needed here too */
    fprintf(out, "# Merges the shards' results. Written by `stiffit submit`; runs when the array "
                 "has ended, successfully or "
                 "not.\n\n");
    assign(out, "stiffit", submission->program);
    assign(out, "problem", submission->problem);
    fprintf(out, "exec \"$stiffit\" merge \"$problem\" --shards %lld%s",
            (long long)submission->n_shard, submission->overwrite ? " --overwrite" : "");
    if (submission->strict)
        fputs(" --strict", out);
    if (strcmp(submission->accept_failed, "0"))
        fprintf(out, " --accept-failed %s", submission->accept_failed);
    if (submission->result[0]) {
        fputs(" --output ", out);
        shell_word(out, submission->result);
    }
    putc('\n', out);
}

/* srun passes the signal on to all ranks: each stops with exit code 75. Since SLURM 22.05 a step
 * does not inherit the job's --cpus-per-task: srun must repeat it. */
static const char ranks_end[] = "code=$?\n"
                                "if { [ \"$code\" = 75 ] || [ \"$code\" -gt 128 ]; } && [ "
                                "\"${SLURM_RESTART_COUNT:-0}\" -lt 20 ]; then\n"
                                "    exec scontrol requeue \"$SLURM_JOB_ID\"\n"
                                "fi\n"
                                "exit \"$code\"\n";

void submit_ranks_script(FILE *out, const struct submission *submission)
{
    common_head(out, submission, "ranks.log");
    fprintf(out, "#SBATCH --ntasks=%lld\n#SBATCH --requeue\n#SBATCH --signal=USR1@60\n",
            (long long)submission->n_rank);
    user_directives(out, submission);
    fprintf(out, "# One fit with shared parameters by MPI ranks, each with a part of the datasets: "
                 "the result has the same "
                 "bits\n# for any number of them. A lost rank or node, or a time limit that is "
                 "near, puts the job back into "
                 "the queue,\n# where it resumes from its journal. `srun --mpi=list` says what "
                 "this SLURM calls PMIx (OpenMPI) "
                 "or PMI-2\n# (MPICH). Written by `stiffit submit`; may be changed and submitted "
                 "again:\n"
                 "#     sbatch ranks.sh\n\n");
    assign(out, "stiffit", submission->program);
    assign(out, "problem", submission->problem);
    fputs("[ -z \"$SLURM_CPUS_PER_TASK\" ] || export "
          "SRUN_CPUS_PER_TASK=\"$SLURM_CPUS_PER_TASK\"\nsrun --mpi=",
          out);
    shell_word(out, submission->mpi);
    fputs(" --kill-on-bad-exit=1 \"$stiffit\" run \"$problem\"", out);
    shell_words(out, submission->n_run_option, submission->run_option);
    if (submission->result[0]) {
        fputs(" --output ", out);
        shell_word(out, submission->result);
    }
    fprintf(out, "\n%s", ranks_end);
}

extern char **environ;

/* Starts sbatch with its standard output in a pipe; returns an errno. Its messages go to our
 * standard error. */
static int start(const char *const *arguments, int *from, pid_t *child)
{
    const char *words[12] = {"sbatch", "--parsable"};
    int ends[2];
    posix_spawn_file_actions_t actions;
    size_t n = 2;
    for (; *arguments && n < sizeof words / sizeof *words - 1; arguments++)
        words[n++] = *arguments;
    words[n] = NULL;
    if (pipe2(ends, O_CLOEXEC))
        return errno;
    int failure = posix_spawn_file_actions_init(&actions);
    if (!failure) {
        failure = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        if (!failure)
            failure = posix_spawnp(child, words[0], &actions, NULL, (char *const *)(uintptr_t)words,
                                   environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    if (failure)
        close(ends[0]);
    *from = ends[0];
    return failure;
}

static void read_all(int from, char *text, size_t size)
{
    size_t n = 0;
    char rest[256];
    for (;;) {
        bool full = n + 1 >= size;
        ssize_t got = full ? read(from, rest, sizeof rest) : read(from, text + n, size - 1 - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        if (!full)
            n += (size_t)got;
    }
    text[n] = '\0';
}

enum status submit_sbatch(const char *const *arguments, int64_t *job, struct error *error)
{
    char text[256], *end;
    int from = -1, how;
    pid_t child;
    int failure = start(arguments, &from, &child);
    if (failure == ENOENT)
        return error_set(error, STATUS_SYSTEM,
                         "sbatch was not found: submit where SLURM's commands are installed, or "
                         "print the scripts with --dry-run");
    if (failure)
        return error_system(error, failure, "cannot start sbatch");
    read_all(from, text, sizeof text);
    close(from);
    while (waitpid(child, &how, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(how) || WEXITSTATUS(how))
        return error_set(error, STATUS_SYSTEM, "sbatch failed (see its message above)");
    *job = strtoll(text, &end, 10); /* "1234" or "1234;cluster" */
    if (end == text || *job <= 0 || !strchr(";\n", *end))
        return error_set(error, STATUS_SYSTEM, "sbatch printed '%.60s' instead of a job number",
                         text);
    return STATUS_OK;
}
