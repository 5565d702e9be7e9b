/* The compute process's end of the socket.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/supervise/rank_link.h"

#include "io/journal/journal.h"
#include "run/supervise/stop.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

const char rank_link_variable[] = "STIFFIT_RANK_LINK";

/* OpenMPI's mpirun; the Hydra of MPICH and Intel, and srun with PMI-2; srun with PMIx, or
 * without any. */
static const char *const n_launched[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                         "SLURM_STEP_NUM_TASKS"};
static const char *const number_launched[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};

static long find_number(const char *const names[3], long otherwise)
{
    for (size_t i = 0; i < 3; i++)
        if (getenv(names[i]))
            return strtol(getenv(names[i]), NULL, 10);
    return otherwise;
}

unsigned rank_n_launched(void)
{
    long n = find_number(n_launched, 1);
    return n > 1 ? (unsigned)n : 1;
}

bool rank_has_manager(void)
{
    return getenv(n_launched[0]) || getenv(n_launched[1]) || getenv("PMIX_RANK") ||
           getenv("PMI_RANK");
}

bool rank_is_first_launched(void) { return find_number(number_launched, 0) == 0; }

bool rank_send(int descriptor, const void *bytes, size_t n)
{
    const unsigned char *from = bytes;
    while (n > 0) {
        ssize_t sent = send(descriptor, from, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        from += sent;
        n -= (size_t)sent;
    }
    return true;
}

bool rank_receive(int descriptor, void *bytes, size_t n)
{
    unsigned char *to = bytes;
    while (n > 0) {
        ssize_t got = read(descriptor, to, n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        n -= (size_t)got;
    }
    return true;
}

bool rank_link_find(struct rank_link *link)
{
    const char *number = getenv(rank_link_variable);
    link->descriptor = number ? atoi(number) : -1;
    unsetenv(rank_link_variable);
    return link->descriptor > 2;
}

/* Waits for an answer, with signs of life. */
static bool ask(struct rank_link *link, enum rank_kind kind, const void *bytes, size_t n,
                struct rank_answer *answer)
{
    enum { BEAT_MS = 100 };
    const struct rank_request request = {.kind = kind, .n = n};
    bool is_good = !link->is_lost && rank_send(link->descriptor, &request, sizeof request)
                   && rank_send(link->descriptor, bytes, n);
    free(link->bytes);
    link->bytes = NULL;
    for (int ready = 0; is_good && ready <= 0; counter_add(link->heartbeat, 1)) {
        struct pollfd waits = {.fd = link->descriptor, .events = POLLIN};
        ready = poll(&waits, 1, BEAT_MS);
        is_good = ready > 0 || !stop_is_requested();
    }
    is_good = is_good && rank_receive(link->descriptor, answer, sizeof *answer)
              && (link->bytes = malloc((size_t)answer->n + 1))
              && rank_receive(link->descriptor, link->bytes, (size_t)answer->n);
    link->is_lost = !is_good || answer->flag == RANK_AGAIN || answer->flag == RANK_END;
    return !link->is_lost;
}

enum status rank_link_join(struct rank_link *link, struct counter *heartbeat, struct error *error)
{
    struct rank_answer answer = {.flag = RANK_OK};
    link->heartbeat = heartbeat;
    if (!ask(link, RANK_JOIN, NULL, 0, &answer))
        return error_set(error, STATUS_STOPPED, "stopped before all ranks had begun");
    if (answer.flag == RANK_REFUSED || answer.n != sizeof link->info)
        return error_set(error, STATUS_USAGE, "%.*s", (int)answer.n, (const char *)link->bytes);
    memcpy(&link->info, link->bytes, sizeof link->info);
    link->is_joined = true;
    return STATUS_OK;
}

static const unsigned char *gather(struct rank_link *link, enum rank_kind kind, const void *bytes,
                                   size_t n, size_t *n_all)
{
    struct rank_answer answer = {.n = 0};
    bool is_good = ask(link, kind, bytes, n, &answer);
    *n_all = is_good ? (size_t)answer.n : 0;
    return is_good ? link->bytes : NULL;
}

const unsigned char *rank_link_gather(void *link, const void *bytes, size_t n, size_t *n_all)
{
    return gather(link, RANK_GATHER, bytes, n, n_all);
}

const unsigned char *rank_link_gather_at_first(void *link, const void *bytes, size_t n,
                                               size_t *n_all)
{
    return gather(link, RANK_GATHER_AT_FIRST, bytes, n, n_all);
}

void rank_link_tell(struct rank_link *link, const char *text)
{
    const struct rank_request request = {.kind = RANK_TEXT, .n = strlen(text)};
    if (rank_send(link->descriptor, &request, sizeof request))
        rank_send(link->descriptor, text, (size_t)request.n);
}

void rank_link_fini(struct rank_link *link)
{
    if (link->descriptor > 2)
        close(link->descriptor);
    free(link->bytes);
    *link = (struct rank_link){.descriptor = -1};
}

void rank_journal_remove(const char *journal)
{
    struct error ignored;
    char folder[RANK_LINK_PATH];
    const char *slash = strrchr(journal, '/');
    if (!slash)
        return;
    journal_remove(journal, &ignored);
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - journal), journal);
    rmdir(folder);
}
