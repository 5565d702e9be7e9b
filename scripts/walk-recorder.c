/* Records the calls of an instrumented program in the file WALK_LOG.PID. Each entry into a function
 * and each exit is two words of 8 bytes: the function's address times two, plus one for an exit;
 * and the thread. Linked into the program by scripts/measure-walks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function))
void __cyg_profile_func_enter(void *function, void *caller) PLAIN;
void __cyg_profile_func_exit(void *function, void *caller) PLAIN;

static FILE *out; /* NULL: nothing is recorded */
static pthread_once_t once = PTHREAD_ONCE_INIT;

PLAIN static void open_log(void)
{
    const char *log = getenv("WALK_LOG");
    char path[4096];
    if (!log)
        return;
    snprintf(path, sizeof path, "%s.%d", log, (int)getpid());
    out = fopen(path, "wb");
}

PLAIN static void flush(void)
{
    if (out)
        fflush(out);
}

/* A child that is forked has a log of its own. */
PLAIN static void begin(void)
{
    open_log();
    pthread_atfork(flush, NULL, open_log);
}

/* A stream has a lock: records of several threads are whole, in the order of their calls. */
PLAIN static void put(const void *function, unsigned is_exit)
{
    pthread_once(&once, begin);
    uint64_t record[2] = {(uint64_t)(uintptr_t)function << 1 | is_exit, (uint64_t)pthread_self()};
    if (out)
        fwrite(record, sizeof record, 1, out);
}

void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    put(function, 0);
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)caller;
    put(function, 1);
}
