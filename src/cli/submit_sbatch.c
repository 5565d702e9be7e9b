/* Calls sbatch: the only place that talks to SLURM.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/submit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Starts sbatch with its standard output in a pipe; returns an errno. Its messages go to our standard error. */
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
            failure = posix_spawnp(child, words[0], &actions, NULL, (char *const *)(uintptr_t)words, environ);
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
        return error_set(error, STATUS_SYSTEM, "sbatch was not found: submit where SLURM's commands are installed, or print "
                                               "the scripts with --dry-run");
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
        return error_set(error, STATUS_SYSTEM, "sbatch printed '%.60s' instead of a job number", text);
    return STATUS_OK;
}
