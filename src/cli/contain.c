/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/contain.h"

#include "base/process.h"
#include "base/sanitizer.h"
#include "cli/message.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { LOOK_MS = 1000 };

static bool is_crash(int signal_number)
{
    return signal_number == SIGSEGV || signal_number == SIGBUS || signal_number == SIGABRT ||
           signal_number == SIGFPE || signal_number == SIGILL || signal_number == SIGXCPU;
}

void contained_limit(int cpu_s, int gib)
{
    setrlimit(RLIMIT_CPU, &(struct rlimit){(rlim_t)cpu_s, (rlim_t)cpu_s + 1});
#if !WITH_ASAN && !WITH_TSAN /* which reserve terabytes */
    setrlimit(RLIMIT_AS, &(struct rlimit){(rlim_t)gib << 30, (rlim_t)gib << 30});
#else
    (void)gib;
#endif
}

/* The child also sends its exit code through a pipe, which distinguishes our exit from one
 * called by foreign code. */
static void run_child(int (*function)(void *context), void *context, int to_parent)
{
    unsigned char code = (unsigned char)function(context);
    ssize_t sent = write(to_parent, &code, 1);
    (void)sent;
    exit(code);
}

/* Ends like the child, so that a shell sees an interrupt as one. */
static int die_likewise(int signal_number)
{
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    return 128 + signal_number;
}

/* How much the process has read and written, as /proc reports it; '\0': nothing. */
static void read_io(pid_t process, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/io", (long)process);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = file < 0 ? -1 : read(file, text, size - 1);
    if (file >= 0)
        close(file);
    text[n > 0 ? n : 0] = '\0';
}

/* Returns when the child has ended. True: it has been on the processor for hang_s without a read or
 * write; or, with idle_s, it has done nothing at all for so long, as one that waits for itself. */
static bool wait_or_hang(pid_t child, int from_child, int hang_s, int idle_s)
{
    /* polls for no event: reports only that the other end is closed */
    struct pollfd ending = {.fd = from_child};
    char before[512] = "", now[512];
    int64_t last_ms = 0, idle_ms = 0;
    for (int64_t since_ms = 0;;) {
        int n = poll(&ending, 1, LOOK_MS);
        if (n > 0 || (n < 0 && errno != EINTR))
            return false;
        read_io(child, now, sizeof now);
        struct process_look look = process_look(child, 0);
        if (!look.is_known || !now[0] || strcmp(now, before))
            since_ms = look.cpu_ms;
        bool is_idle = look.is_known && now[0] && !strcmp(now, before) && look.cpu_ms == last_ms;
        idle_ms = is_idle ? idle_ms + LOOK_MS : 0;
        last_ms = look.cpu_ms;
        if (look.cpu_ms - since_ms >= LOOK_MS * (int64_t)hang_s ||
            (idle_s && idle_ms >= LOOK_MS * (int64_t)idle_s))
            return true;
        memcpy(before, now, sizeof before);
    }
}

/* What to say of a process that did not end by itself. reader: the library that a fault is laid
 * to, or NULL. */
static void explain_end(struct error *error, const char *what, const char *reader, int wait_status)
{
    const char *cure = "The reader failed, whether or not the file is as it should be: try another "
                       "version of the library, or a simpler file, such as one without submodels";
    int number = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    if (!number && reader)
        error_set(error, STATUS_BAD_MODEL,
                  "%s: %s, which reads it, ended the process (exit code %d). %s", what, reader,
                  WEXITSTATUS(wait_status), cure);
    else if (!number)
        error_set(error, STATUS_BAD_MODEL,
                  "%s: the model's code called exit(%d), or a library ended the process because "
                  "the file is too large for it",
                  what, WEXITSTATUS(wait_status));
    else if (reader)
        error_set(error, STATUS_BAD_MODEL,
                  "%s: the process in which %s reads it %s signal %d (%s). %s", what, reader,
                  number == SIGXCPU ? "took too long: it was ended by" : "died of", number,
                  strsignal(number), cure);
    else if (number == SIGVTALRM)
        error_set(error, STATUS_BAD_MODEL,
                  "%s: the model's code hung (one of its functions computed for %d s) and was "
                  "killed",
                  what, process_hang_seconds());
    else
        error_set(error, STATUS_BAD_MODEL,
                  "%s: the process that worked on it died of signal %d (%s): the library that "
                  "reads the file crashed, as some do on damaged ones, or the model's code",
                  what, number, strsignal(number));
}

static int contain(int (*function)(void *context), void *context, const char *what,
                   enum when color, int hang_s, int idle_s, const char *reader)
{
    int ends[2] = {-1, -1};
    fflush(NULL);
    pid_t parent = getpid(), child = pipe2(ends, O_CLOEXEC) ? -1 : fork();
    if (child < 0) {
        close(ends[0]);
        close(ends[1]);
        return function(context);
    }
    if (child == 0) {
        close(ends[0]);
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(status_exit_code(STATUS_STOPPED));
#endif
        run_child(function, context, ends[1]);
    }
    close(ends[1]);
    int wait_status = 0;
    unsigned char code;
    /* the terminal's signal also reaches the child, which decides */
    void (*before)(int) = signal(SIGINT, SIG_IGN);
    bool hung = hang_s && wait_or_hang(child, ends[0], hang_s, idle_s);
    if (hung)
        kill(child, SIGKILL);
    while (waitpid(child, &wait_status, 0) < 0)
        if (errno != EINTR)
            break;
    signal(SIGINT, before);
    bool is_ours = read(ends[0], &code, 1) == 1;
    close(ends[0]);
    struct error error;
    if (hung) {
        error_set(&error, STATUS_BAD_MODEL,
                  "%s: the process that read it hung (it computed for %d s without reading or "
                  "writing%s) and was killed. %s",
                  what, hang_s, idle_s ? ", or did nothing for longer" : "",
                  reader ? "The reader, libSBML, failed, whether or not the file is as it should "
                           "be"
                         : "The HDF5 library loops forever on some damaged files");
        return message_error(&error, color);
    }
    if (is_ours && WIFEXITED(wait_status))
        return WEXITSTATUS(wait_status);
    int number = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    bool is_bound = number == SIGVTALRM || (reader && number == SIGKILL); /* contained_limit */
    if (number && !is_crash(number) && !is_bound)
        return die_likewise(number);
    explain_end(&error, what, reader, wait_status);
    return message_error(&error, color);
}

int contained_run(int (*function)(void *context), void *context, const char *what, enum when color)
{
    return contain(function, context, what, color, 0, 0, NULL);
}

int contained_read(int (*function)(void *context), void *context, const char *what, enum when color)
{
    return contain(function, context, what, color, process_hang_seconds(), 0, NULL);
}

int contained_sbml(int (*function)(void *context), void *context, const char *what, enum when color)
{
    int most_s = 2 * process_hang_seconds();
    return contain(function, context, what, color, most_s, most_s, "libSBML");
}
