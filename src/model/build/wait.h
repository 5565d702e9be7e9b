/* Waiting for a compiler, ours or another process's: signs of life for the process that watches this one, and signals that
 * ask us to stop are noticed, but take effect only after everything has been put away.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_BUILD_WAIT_H
#define MODEL_BUILD_WAIT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Who is to hear of it. Zero-initialised: nobody. */
struct build_listener {
    void (*beat)(void *context);                   /* several times a second while something is waited for */
    void (*tell)(void *context, const char *line); /* one line, without newline, that the user may want to know */
    void *context;
};

struct build_wait {
    struct build_listener listener;
    sigset_t before, stop;
    int64_t begun_ns;
    bool told; /* that something takes long */
};

/* From wait_begin to wait_end the signals that ask a process to stop (and SIGCHLD) are blocked in this thread; at
 * wait_end those that have come do what they would have done. */
void wait_begin(struct build_wait *wait, const struct build_listener *listener);
void wait_end(struct build_wait *wait);
/* At most `ms` milliseconds, less when a child ends. False: somebody has asked us to stop. */
bool wait_ms(struct build_wait *wait, int ms);
bool wait_is_stopped(const struct build_wait *wait);
/* Tells `line` once, and not before two seconds have gone. */
void wait_tell_if_long(struct build_wait *wait, const char *line);
void wait_tell(const struct build_wait *wait, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
