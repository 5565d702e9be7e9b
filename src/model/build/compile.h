/* Compiling a plugin: finds a C compiler and what its code would depend on; runs it on generated
 * source; waits for it, or for another process's: gives signs of life to watching processes, and
 * notices signals that ask us to stop, which take effect only after everything is cleaned up.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "base/sha256.h"

#include <signal.h>

enum { COMPILER_MAX_WORD = 32 };

struct compiler {
    char *text;                    /* $CC or a name, split into words */
    /* n_word and a NULL: the program and the user's options for it */
    char *word[COMPILER_MAX_WORD];
    size_t n_word;
};

/* $CC split at blanks if it is set, otherwise the first of cc, gcc and clang on the PATH.
 * STATUS_BAD_MODEL: there is none. */
enum status compiler_find(struct compiler *compiler, struct error *error);
void compiler_fini(struct compiler *compiler);

/* The words before the first option: "ccache gcc" of "ccache gcc -m64". */
size_t compiler_n_head(const struct compiler *compiler);

/* Adds what distinguishes this compiler from others, without starting it: its words, and path,
 * size and modification time of every file that they name. */
void compiler_hash(const struct compiler *compiler, struct sha256 *hash);

/* Adds what decides whether code runs here: machine and C library; and if `native`, the model
 * and features of the CPU, for which the compiler optimises. */
void machine_hash(bool native, struct sha256 *hash);

/* Callbacks during the wait. Zero-initialised: none. */
struct build_listener {
    void (*beat)(void *context);                   /* several times a second during a wait */
    void (*tell)(void *context, const char *line); /* one line, without newline, for the user */
    void *context;
};

struct build_wait {
    struct build_listener listener;
    sigset_t before, stop;
    int64_t begun_ns;
    bool told; /* the user knows that something takes long */
};

/* From wait_begin to wait_end the signals that ask a process to stop (and SIGCHLD) are blocked
 * in this thread; wait_end lets those that arrived take effect. */
void wait_begin(struct build_wait *wait, const struct build_listener *listener);
void wait_end(struct build_wait *wait);
/* Waits at most `ms` milliseconds, less if a child ends. False: a signal asked us to stop. */
bool wait_ms(struct build_wait *wait, int ms);
bool wait_is_stopped(const struct build_wait *wait);
/* Reports `line` once, and not before two seconds have passed. */
void wait_tell_if_long(struct build_wait *wait, const char *line);
void wait_tell(const struct build_wait *wait, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A plugin from the compiler or the cache. Zero-initialise; built_fini is then always legal. */
struct built {
    void *bytes;
    size_t n_byte;
    char *compiler;  /* for the provenance: the compiler's version line, and its options */
    bool from_cache;
};

void built_fini(struct built *built);

struct compile_request {
    const char *source; /* C */
    size_t n_byte;
    const char *origin; /* name of the model in messages */
    bool portable;      /* for any CPU of this architecture, otherwise for this one */
};

/* Compiles in a private folder under $TMPDIR, removed afterwards, which also has a copy of
 * stiffit/model.h. Uses no shell, and no C flags except ours and those in $CC. STATUS_BAD_MODEL:
 * the compiler failed, and the message has its first lines; STATUS_STOPPED: a signal asked us to
 * stop (`wait` has it); STATUS_SYSTEM, STATUS_NO_MEMORY. */
enum status compile_plugin(const struct compiler *compiler, const struct compile_request *request,
                           struct build_wait *wait, struct built *built, struct error *error);

/* The text of include/stiffit/model.h; the Makefile makes its file. */
extern const char compile_model_header[];
