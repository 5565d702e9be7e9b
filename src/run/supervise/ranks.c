/* Rounds of all supervisors: each says in a header what it has, then the bytes go round.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/supervise/ranks.h"

#include "base/clock.h"
#include "base/signals.h"
#include "model/build/shared_object.h"
#include "run/supervise/ranks_mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Bytes of all ranks in one call of MPI, whose counts are int; and how long others may take to
 * follow a rank that ends: they learn of it when their pass is over. Then the job is aborted,
 * which costs no more than the pass. */
static const size_t AT_ONCE = (size_t)1 << 30;
static const int64_t FOLLOW_NS = INT64_C(5000000000), STEP_NS = 20000, LONGEST_STEP_NS = 1000000;

struct header {
    uint64_t flag, kind, n;
    int64_t code;
};

struct ranks {
    const struct ranks_mpi *mpi;       /* NULL: not begun */
    int n, rank;
    unsigned n_launched;
    int ours, childs;                  /* the socket; -1 */
    enum { QUIET, HEADERS, BYTES } phase;
    struct header mine, *header;       /* n */
    unsigned char *give, *got, *part;  /* mine.n bytes; what is received of all; of a part of it */
    size_t n_got, done;                /* done: bytes of each rank that earlier parts had */
    int *count, *offset;               /* n, in bytes */
    size_t *displacement;              /* n: in `got` */
    int64_t step_ns;                   /* the next wait */
    enum rank_flag decided;            /* RANK_OK: nothing yet */
    int code;
    char text[512], journal[RANK_LINK_PATH];
};

static const char journal_name[] = "/journal";

struct ranks *ranks_new(void)
{
    unsigned n = rank_n_launched();
    struct ranks *ranks = n > 1 ? calloc(1, sizeof *ranks) : NULL;
    if (!ranks)
        return NULL;
    ranks->n_launched = n;
    ranks->ours = ranks->childs = -1;
    return ranks;
}

static void close_both(struct ranks *ranks)
{
    if (ranks->ours >= 0)
        close(ranks->ours);
    if (ranks->childs >= 0)
        close(ranks->childs);
    ranks->ours = ranks->childs = -1;
}

void ranks_free(struct ranks *ranks)
{
    if (!ranks)
        return;
    if (ranks->mpi)
        ranks->mpi->end();
    close_both(ranks);
    rank_journal_remove(ranks->journal);
    free(ranks->header);
    free(ranks->count);
    free(ranks->displacement);
    free(ranks->give);
    free(ranks->got);
    free(ranks->part);
    free(ranks);
}

bool ranks_are_joined(const struct ranks *ranks) { return ranks && ranks->mpi; }
int ranks_number(const struct ranks *ranks) { return ranks_are_joined(ranks) ? ranks->rank : 0; }

void ranks_offer(struct ranks *ranks)
{
    int ends[2];
    char number[32];
    close_both(ranks);
    unsetenv(rank_link_variable);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        return;
    ranks->ours = ends[0];
    ranks->childs = ends[1];
    fcntl(ranks->ours, F_SETFD, FD_CLOEXEC);
    snprintf(number, sizeof number, "%d", ranks->childs);
    setenv(rank_link_variable, number, 1);
}

void ranks_offered(struct ranks *ranks)
{
    if (ranks->childs >= 0)
        close(ranks->childs);
    ranks->childs = -1;
    unsetenv(rank_link_variable);
}

/* Loads the library from beside the program, or from where it was installed. If the program's place
 * is unknown it fails: a relative path could load a stranger's library from the current folder. */
static const struct ranks_mpi *load(struct error *error)
{
    static const char *const places[] = {"stiffit-mpi.so", "../lib/stiffit/stiffit-mpi.so"};
    char program[RANK_LINK_PATH] = "", path[RANK_LINK_PATH + 64];
    const char *given = getenv("STIFFIT_MPI");
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    char *name = n > 0 && program[0] == '/' ? strrchr(program, '/') : NULL;
    if (name)
        name[1] = '\0';
    void *handle = given ? shared_object_open(given, error) : NULL;
    for (size_t i = 0; name && !given && !handle && i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s%s", program, places[i]);
        handle = access(path, R_OK) == 0 ? shared_object_open(path, error) : NULL;
    }
    const struct ranks_mpi *mpi = handle ? shared_object_symbol(handle, RANKS_MPI_SYMBOL) : NULL;
    if (handle && (!mpi || mpi->version != RANKS_MPI_VERSION))
        error_set(error, STATUS_SYSTEM, "stiffit-mpi.so is of another version");
    return mpi && mpi->version == RANKS_MPI_VERSION ? mpi : NULL;
}

/* The folder for the journal of a rank other than 0. A compute process removes it once rank 0
 * knows what is in it. */
static bool make_journal(struct ranks *ranks)
{
    rank_journal_remove(ranks->journal);
    const char *base = getenv("TMPDIR");
    char path[RANK_LINK_PATH];
    int n = snprintf(path, sizeof path, "%s/stiffit-rank-XXXXXX", base && *base ? base : "/tmp");
    if (n >= (int)(sizeof path - sizeof journal_name) || !mkdtemp(path))
        return false;
    snprintf(ranks->journal, sizeof ranks->journal, "%.*s%s", n, path, journal_name);
    return true;
}

static void fail(struct ranks *ranks, const char *why)
{
    fprintf(stderr, "stiffit: rank %d: %s\n", ranks->rank, why);
    ranks->mpi->abort(status_exit_code(STATUS_SYSTEM));
}

/* MPI begins here. NULL, or why the run cannot be shared. */
static const char *join(struct ranks *ranks, char *why, size_t size)
{
    struct error error = {.message = ""};
    if (ranks->mpi && (ranks->rank == 0 || make_journal(ranks)))
        return NULL;
    if (ranks->mpi)
        fail(ranks, "no folder for temporary files (TMPDIR)");
    const struct ranks_mpi *mpi = load(&error);
    if (!mpi) {
        snprintf(why, size,
                 "%u tasks of this run were launched (mpirun, srun), but this stiffit has no "
                 "MPI%s%s: build it "
                 "where mpicc is found, or launch one task, which uses all CPUs of its machine",
                 ranks->n_launched, *error.message ? " that can be loaded: " : "", error.message);
        return why;
    }
    if (rank_has_manager()) {
        struct signals signals;
        signals_keep(&signals);
        mpi->begin(&ranks->n, &ranks->rank);
        signals_restore(&signals);
    }
    if ((unsigned)ranks->n != ranks->n_launched) {
        snprintf(why, size,
                 "%u tasks of this run were launched, but MPI does not know them: use the mpirun "
                 "of the MPI that stiffit was built with, or srun --mpi=pmix (`srun --mpi=list`)",
                 ranks->n_launched);
        if (rank_has_manager())
            mpi->end();
        return why;
    }
    size_t n = (size_t)ranks->n;
    ranks->mpi = mpi;
    ranks->header = calloc(n, sizeof *ranks->header);
    ranks->count = calloc(2 * n, sizeof *ranks->count);
    ranks->offset = ranks->count + n;
    ranks->displacement = calloc(n, sizeof *ranks->displacement);
    if (!ranks->header || !ranks->count || !ranks->displacement ||
        (ranks->rank > 0 && !make_journal(ranks)))
        fail(ranks, "no memory, or no folder for temporary files (TMPDIR)");
    return NULL;
}

static void answer(struct ranks *ranks, enum rank_flag flag, const void *bytes, size_t n)
{
    const struct rank_answer head = {.flag = flag, .n = n};
    if (ranks->ours >= 0 && rank_send(ranks->ours, &head, sizeof head))
        rank_send(ranks->ours, bytes, n);
}

static void answer_join(struct ranks *ranks)
{
    char why[700];
    struct rank_info info = {0};
    if (join(ranks, why, sizeof why)) {
        answer(ranks, RANK_REFUSED, why, strlen(why));
        return;
    }
    info.n = (uint64_t)ranks->n;
    info.rank = (uint64_t)ranks->rank;
    memcpy(info.journal, ranks->journal, sizeof info.journal);
    answer(ranks, RANK_OK, &info, sizeof info);
}

/* Says what this rank has. */
static void begin_round(struct ranks *ranks, enum rank_flag flag, enum rank_kind kind, size_t n,
                        int code)
{
    ranks->mine = (struct header){.flag = flag, .kind = kind, .n = n, .code = code};
    for (int r = 0; r < ranks->n; r++) {
        ranks->count[r] = (int)sizeof ranks->mine;
        ranks->offset[r] = r * (int)sizeof ranks->mine;
    }
    ranks->mpi->gather(&ranks->mine, ranks->header, ranks->count, ranks->offset, ranks->rank, -1);
    ranks->phase = HEADERS;
    ranks->step_ns = STEP_NS;
}

/* The next part of the bytes. False: there is none left. */
static bool begin_part(struct ranks *ranks)
{
    size_t most = AT_ONCE / (size_t)ranks->n, at = 0;
    for (int r = 0; r < ranks->n; r++) {
        size_t n = (size_t)ranks->header[r].n, left = n > ranks->done ? n - ranks->done : 0;
        ranks->count[r] = (int)(left < most ? left : most);
        ranks->offset[r] = (int)at;
        at += (size_t)ranks->count[r];
    }
    if (at == 0)
        return false;
    bool at_first = ranks->header[0].kind != RANK_GATHER, receives = !at_first || ranks->rank == 0;
    free(ranks->part);
    if (!(ranks->part = malloc(receives ? at : 1)))
        fail(ranks, "out of memory for the bytes of all ranks");
    const unsigned char *from =
        ranks->give ? ranks->give + (ranks->done < ranks->mine.n ? ranks->done : 0) : NULL;
    ranks->mpi->gather(from, ranks->part, ranks->count, ranks->offset, ranks->rank,
                       at_first ? 0 : -1);
    ranks->phase = BYTES;
    return true;
}

static void take_part(struct ranks *ranks)
{
    for (int r = 0; ranks->n_got && r < ranks->n; r++)
        memcpy(ranks->got + ranks->displacement[r] + ranks->done, ranks->part + ranks->offset[r],
               (size_t)ranks->count[r]);
    ranks->done += AT_ONCE / (size_t)ranks->n;
}

/* What the headers say: the first rank that ends for a reason of its own decides, then one that
 * begins again. */
static void decide(struct ranks *ranks)
{
    const struct header *ends = NULL;
    bool begins_again = false, goes_on = true;
    for (int r = 0; r < ranks->n; r++) {
        const struct header *header = &ranks->header[r];
        goes_on = goes_on && header->flag == RANK_OK;
        begins_again = begins_again || header->flag == RANK_AGAIN;
        if (header->flag == RANK_END && (!ends || (ends->code == 0 && header->code != 0)))
            ends = header;
        if (header->flag == RANK_OK && goes_on && header->kind != ranks->header[0].kind)
            fail(ranks, "the ranks disagree; are all machines of the same kind?");
    }
    if (goes_on)
        return;
    bool is_again = begins_again && (!ends || ends->code == 0);
    ranks->decided = is_again ? RANK_AGAIN : RANK_END;
    ranks->code = is_again ? 0 : (int)ends->code;
    for (int r = 0; r < ranks->n; r++) { /* only reasons are sent */
        ranks->header[r].n = ranks->header[r].flag == RANK_END ? ranks->header[r].n : 0;
        ranks->header[r].kind = RANK_GATHER_AT_FIRST;
    }
}

static void end_round(struct ranks *ranks)
{
    ranks->phase = QUIET;
    answer(ranks, ranks->decided, ranks->got, ranks->decided == RANK_OK ? ranks->n_got : 0);
}

static void take_headers(struct ranks *ranks)
{
    size_t n = 0;
    decide(ranks);
    for (int r = 0; r < ranks->n; n += (size_t)ranks->header[r++].n)
        ranks->displacement[r] = n;
    bool receives = ranks->header[0].kind == RANK_GATHER || ranks->rank == 0;
    ranks->n_got = receives ? n : 0;
    ranks->done = 0;
    free(ranks->got);
    if (!(ranks->got = malloc(ranks->n_got + 1)))
        fail(ranks, "out of memory for the bytes of all ranks");
    if (!begin_part(ranks))
        end_round(ranks);
}

/* The compute process has something to say. */
static void listen_to_child(struct ranks *ranks)
{
    struct rank_request request;
    struct pollfd waits = {.fd = ranks->ours, .events = POLLIN};
    if (ranks->ours < 0 || poll(&waits, 1, 0) <= 0)
        return;
    if (!rank_receive(ranks->ours, &request, sizeof request)) {
        close(ranks->ours);
        ranks->ours = -1;
        return;
    }
    if (request.kind == RANK_JOIN) {
        answer_join(ranks);
        return;
    }
    unsigned char *bytes = malloc((size_t)request.n + 1);
    if (!bytes)
        fail(ranks, "out of memory for the bytes of all ranks");
    if (!rank_receive(ranks->ours, bytes, (size_t)request.n)) {
        free(bytes);
        return;
    }
    bytes[request.n] = '\0';
    if (request.kind == RANK_TEXT) {
        snprintf(ranks->text, sizeof ranks->text, "%s", (const char *)bytes);
        free(bytes);
        return;
    }
    free(ranks->give);
    ranks->give = bytes;
    begin_round(ranks, RANK_OK, (enum rank_kind)request.kind, (size_t)request.n, 0);
}

void ranks_serve(struct ranks *ranks)
{
    if (ranks->phase == QUIET)
        listen_to_child(ranks);
    while (ranks->phase != QUIET && ranks->mpi->is_done()) {
        if (ranks->phase == HEADERS) {
            take_headers(ranks);
            continue;
        }
        take_part(ranks);
        if (!begin_part(ranks))
            end_round(ranks);
    }
}

void ranks_wait(struct ranks *ranks, int64_t until_ns)
{
    int64_t left = until_ns - clock_now_ns(),
            longest = ranks->phase == QUIET ? 5 * LONGEST_STEP_NS : ranks->step_ns;
    if (left <= 0)
        return;
    left = left < longest ? left : longest;
    if (ranks->phase != QUIET && ranks->step_ns < LONGEST_STEP_NS)
        ranks->step_ns += ranks->step_ns / 4;
    struct pollfd waits = {.fd = ranks->phase == QUIET ? ranks->ours : -1, .events = POLLIN};
    const struct timespec time = {.tv_sec = 0, .tv_nsec = left};
    ppoll(&waits, 1, &time, NULL);
}

/* Runs rounds until none is under way. A stop that the others do not follow ends them. */
static void finish_round(struct ranks *ranks, const sigset_t *set, bool *is_stopping,
                         bool must_follow)
{
    const struct timespec none = {.tv_sec = 0};
    int64_t since_ns = clock_now_ns();
    for (ranks_serve(ranks); ranks->phase != QUIET; ranks_serve(ranks)) {
        int number = sigtimedwait(set, NULL, &none);
        if (number > 0 && number != SIGCHLD) {
            since_ns = *is_stopping ? since_ns : clock_now_ns();
            *is_stopping = true;
        }
        if ((must_follow || *is_stopping) && clock_now_ns() - since_ns > FOLLOW_NS)
            ranks->mpi->abort(ranks->mine.code ? (int)ranks->mine.code
                                               : status_exit_code(STATUS_STOPPED));
        ranks_wait(ranks, INT64_MAX);
    }
}

static void take_texts(struct ranks *ranks, struct error *error)
{
    for (int r = 1; r < ranks->n && ranks->n_got && !error->status; r++)
        if (ranks->header[r].n)
            error_set(error, STATUS_SYSTEM, "rank %d: %.*s", r, (int)ranks->header[r].n,
                      (const char *)ranks->got + ranks->displacement[r]);
}

enum rank_flag ranks_conclude(struct ranks *ranks, enum rank_flag flag, int *code,
                              struct error *error, const sigset_t *set, bool *is_stopping)
{
    if (ranks->phase == QUIET && ranks->ours >= 0)
        listen_to_child(ranks); /* its last words */
    if (ranks->phase != QUIET)
        finish_round(ranks, set, is_stopping, false);
    if (ranks->decided == RANK_OK) {
        if (error->status && ranks->rank > 0)
            snprintf(ranks->text, sizeof ranks->text, "%s", error->message);
        free(ranks->give);
        ranks->give = (unsigned char *)strdup(ranks->text);
        size_t n = ranks->give && flag == RANK_END && ranks->rank > 0 ? strlen(ranks->text) : 0;
        begin_round(ranks, flag, RANK_GATHER_AT_FIRST, n, *code);
        finish_round(ranks, set, is_stopping, flag == RANK_END && *code != 0);
    }
    if (ranks->rank > 0)
        error->status = STATUS_OK;
    else if (ranks->decided == RANK_END && ranks->code != 0 && flag != RANK_END)
        take_texts(ranks, error);
    flag = ranks->decided;
    *code = ranks->code;
    ranks->decided = RANK_OK;
    *ranks->text = '\0';
    return flag;
}
