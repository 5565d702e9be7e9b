/* Looking for programs on the PATH, and hashing what a compiled plugin depends on besides its
 * source; signals and heartbeats while it is compiled.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/build/compile.h"

#include "base/clock.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#define BLANKS " \t\n\r\v\f"

static bool is_program(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

/* The program that a shell would start for `name`, with links resolved; free it. NULL: none. */
static char *find_program(const char *name)
{
    char path[PATH_MAX];
    const char *list = getenv("PATH");
    if (strchr(name, '/'))
        return is_program(name) ? realpath(name, NULL) : NULL;
    if (!list || !*list)
        list = "/usr/local/bin:/usr/bin:/bin";
    for (;;) {
        size_t n = strcspn(list, ":");
        if ((size_t)snprintf(path, sizeof path, "%.*s/%s", n ? (int)n : 1, n ? list : ".", name) <
                sizeof path &&
            is_program(path))
            return realpath(path, NULL);
        if (!list[n])
            return NULL;
        list += n + 1;
    }
}

static bool is_found(const char *name)
{
    char *path = find_program(name);
    free(path);
    return path != NULL;
}

/* Cuts the name of the program off `text` and returns what follows it. A path may contain blanks:
 * the name ends at the first blank, or at the end, before which it names a program; if nowhere, at
 * the first blank. */
static char *cut_program(char *text)
{
    char *first = text + strcspn(text, BLANKS);
    for (char *end = first;; end += strspn(end, BLANKS), end += strcspn(end, BLANKS)) {
        char after = *end;
        *end = '\0';
        if (is_found(text))
            return after ? end + 1 : end;
        *end = after;
        if (!after || !memchr(text, '/', (size_t)(first - text)))
            break;
    }
    char *rest = *first ? first + 1 : first;
    *first = '\0';
    return rest;
}

static enum status cut(struct compiler *compiler, const char *text, struct error *error)
{
    compiler->text = strdup(text + strspn(text, BLANKS));
    if (!compiler->text)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the compiler's name");
    char *rest = cut_program(compiler->text), *word = compiler->text;
    do {
        if (compiler->n_word == COMPILER_MAX_WORD - 1)
            return error_set(error, STATUS_BAD_MODEL,
                             "the environment's CC has more than %d words: '%.200s'",
                             COMPILER_MAX_WORD - 1, text);
        compiler->word[compiler->n_word++] = word;
    } while ((word = strtok_r(NULL, BLANKS, &rest)));
    return STATUS_OK;
}

#define ADVICE "install one (Debian: apt install gcc libc6-dev), set CC, or compile the model " \
    "elsewhere with " \
    "`stiffit model build --portable` and give the .so"

enum status compiler_find(struct compiler *compiler, struct error *error)
{
    static const char *const usual[] = {"cc", "gcc", "clang"};
    const char *own = getenv("CC");
    enum status status;
    *compiler = (struct compiler){.n_word = 0};
    if (own && own[strspn(own, BLANKS)]) {
        status = cut(compiler, own, error);
        if (!status && !is_found(compiler->word[0]))
            status = error_set(error, STATUS_BAD_MODEL,
                               "no C compiler found: the environment's CC is '%.200s', and there "
                               "is no program '%.200s': correct or unset CC; or " ADVICE,
                               own, compiler->word[0]);
        if (status)
            compiler_fini(compiler);
        return status;
    }
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (is_found(usual[i]))
            return cut(compiler, usual[i], error);
    return error_set(error, STATUS_BAD_MODEL,
                     "no C compiler found (tried $CC, cc, gcc, clang): " ADVICE);
}

void compiler_fini(struct compiler *compiler)
{
    free(compiler->text);
    *compiler = (struct compiler){.n_word = 0};
}

size_t compiler_n_head(const struct compiler *compiler)
{
    size_t n = 0;
    while (n < compiler->n_word && compiler->word[n][0] != '-')
        n++;
    return n;
}

void compiler_hash(const struct compiler *compiler, struct sha256 *hash)
{
    sha256_add_uint64(hash, compiler->n_word);
    for (size_t i = 0; i < compiler->n_word; i++) {
        /* "ccache gcc": both are files. */
        char *path = compiler->word[i][0] == '-' ? NULL : find_program(compiler->word[i]);
        struct stat about;
        sha256_add_string(hash, compiler->word[i]);
        sha256_add_string(hash, path);
        if (path && stat(path, &about) == 0) {
            sha256_add_uint64(hash, (uint64_t)about.st_size);
            sha256_add_uint64(hash, (uint64_t)about.st_mtime);
        }
        free(path);
    }
}

/* The lines of /proc/cpuinfo that describe a CPU's features, by machine: x86; ARM; POWER; s390;
 * RISC-V. Clocks, counters and microcode are not included. */
static const char *const cpu_lines[] = {"vendor_id",
                                        "cpu family",
                                        "model",
                                        "model name",
                                        "flags",
                                        "CPU implementer",
                                        "CPU architecture",
                                        "CPU variant",
                                        "CPU part",
                                        "Features",
                                        "cpu",
                                        "features",
                                        "isa",
                                        "uarch"};
enum { N_CPU_LINE = sizeof cpu_lines / sizeof *cpu_lines };

/* Takes the first line of each kind: one CPU stands for all. */
static void hash_cpu(struct sha256 *hash)
{
    bool seen[N_CPU_LINE] = {false};
    char *line = NULL;
    size_t size = 0;
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && getline(&line, &size, file) > 0) {
        size_t n = strcspn(line, ":");
        if (!line[n])
            continue;
        while (n > 0 && strchr(BLANKS, line[n - 1]))
            n--;
        for (int i = 0; i < N_CPU_LINE; i++)
            if (!seen[i] && strlen(cpu_lines[i]) == n && memcmp(line, cpu_lines[i], n) == 0) {
                seen[i] = true;
                sha256_add_string(hash, line);
            }
    }
    free(line);
    if (file)
        fclose(file);
}

void machine_hash(bool native, struct sha256 *hash)
{
    struct utsname system;
    if (uname(&system) == 0) {
        sha256_add_string(hash, system.sysname);
        sha256_add_string(hash, system.machine);
    }
    sha256_add_uint64(hash, sizeof(void *));
#ifdef __GLIBC__
    sha256_add_string(hash, gnu_get_libc_version());
#endif
    sha256_add_uint64(hash, native);
    if (native)
        hash_cpu(hash);
}

static const int stop_signal[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGXCPU};
enum { N_STOP_SIGNAL = sizeof stop_signal / sizeof *stop_signal };

void wait_begin(struct build_wait *wait, const struct build_listener *listener)
{
    sigset_t blocked;
    *wait = (struct build_wait){.begun_ns = clock_now_ns()};
    if (listener)
        wait->listener = *listener;
    sigemptyset(&wait->stop);
    /* Not the ignored ones: blocked, they would become pending all the same. */
    for (int i = 0; i < N_STOP_SIGNAL; i++) {
        struct sigaction action;
        if (sigaction(stop_signal[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&wait->stop, stop_signal[i]);
    }
    blocked = wait->stop;
    sigaddset(&blocked, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &blocked, &wait->before);
}

void wait_end(struct build_wait *wait) { pthread_sigmask(SIG_SETMASK, &wait->before, NULL); }

bool wait_is_stopped(const struct build_wait *wait)
{
    sigset_t pending;
    sigpending(&pending);
    for (int i = 0; i < N_STOP_SIGNAL; i++)
        if (sigismember(&wait->stop, stop_signal[i]) == 1 &&
            sigismember(&pending, stop_signal[i]) == 1)
            return true;
    return false;
}

bool wait_ms(struct build_wait *wait, int ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigtimedwait(&child, NULL, &time);
    if (wait->listener.beat)
        wait->listener.beat(wait->listener.context);
    return !wait_is_stopped(wait);
}

void wait_tell_if_long(struct build_wait *wait, const char *line)
{
    enum { LONG_S = 2 };
    if (wait->told || clock_now_ns() - wait->begun_ns < INT64_C(1000000000) * LONG_S)
        return;
    wait->told = true;
    wait_tell(wait, "%s", line);
}

void wait_tell(const struct build_wait *wait, const char *format, ...)
{
    char line[1000];
    va_list arguments;
    if (!wait->listener.tell)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    wait->listener.tell(wait->listener.context, line);
}
