/* Compiling a plugin: which C compiler there is and what its code would depend on; running it on generated source; and
 * waiting for it, ours or another process's: signs of life for whoever watches this process, and signals that ask us to stop
 * are noticed, but take effect only after everything has been put away.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_BUILD_COMPILE_H
#define MODEL_BUILD_COMPILE_H

#include "base/error.h"
#include "base/sha256.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COMPILER_MAX_WORD = 32 };

struct compiler {
    char *text;                    /* $CC or a name, cut into words */
    char *word[COMPILER_MAX_WORD]; /* n_word and a NULL: the program and the user's own options for it */
    size_t n_word;
};

/* $CC cut at blanks if it is set, else the first of cc, gcc and clang on the PATH. STATUS_BAD_MODEL: there is none. */
enum status compiler_find(struct compiler *compiler, struct error *error);
void compiler_fini(struct compiler *compiler);

/* The words before the first option: "ccache gcc" of "ccache gcc -m64". */
size_t compiler_n_head(const struct compiler *compiler);

/* Adds what tells this compiler from another one without starting it: its words, and path, size and time of change of
 * every file that they name. */
void compiler_hash(const struct compiler *compiler, struct sha256 *hash);

/* Adds what decides whether code runs here: machine and C library; and if `native`, what the compiler would tune for:
 * the CPU's model and features. */
void machine_hash(bool native, struct sha256 *hash);

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

/* A plugin as it came from the compiler or from the cache. Zero-initialise; built_fini is then always legal. */
struct built {
    void *bytes;
    size_t n_byte;
    char *compiler;  /* for the provenance: the compiler's own words of itself, and its options */
    bool from_cache;
};

void built_fini(struct built *built);

struct compile_request {
    const char *source; /* C */
    size_t n_byte;
    const char *origin; /* what the model is called in messages */
    bool portable;      /* for any CPU of this kind, else for this very one */
};

/* Compiles in a private folder under $TMPDIR that is gone again afterwards, and beside a copy of stiffit/model.h. No
 * shell is involved, and no C flags but ours and those in $CC. STATUS_BAD_MODEL: the compiler failed, its first words
 * are in the message; STATUS_STOPPED: somebody asked us to stop (`wait` says how); STATUS_SYSTEM, STATUS_NO_MEMORY. */
enum status compile_plugin(const struct compiler *compiler, const struct compile_request *request, struct build_wait *wait,
                           struct built *built, struct error *error);

/* The text of include/stiffit/model.h; its file is made by the Makefile. */
extern const char compile_model_header[];

#endif
