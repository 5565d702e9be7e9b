/* The program: finds the command and runs it. The only file that ends the process.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/sanitizer.h"
#include "base/signals.h"
#include "base/version.h"
#include "base/words.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/help_text.h"
#include "io/file/hdf5_file.h"
#include "ode/library.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static void print_version(void)
{
    char hdf5[100], integrator[100];
    io_library(hdf5, sizeof hdf5);
    ode_library(integrator, sizeof integrator);
    printf("stiffit %s\n%s\n%s\n", STIFFIT_VERSION, integrator, hdf5);
}

static int no_command(const char *name)
{
    struct error error;
    enum { MOST = 64 };
    const char *names[MOST];
    char hint[NEAREST_HINT];
    size_t n = 0;
    for (const struct command *const *command = commands; *command && n < MOST; command++)
        names[n++] = (*command)->name;
    error_set(&error, STATUS_USAGE, "unknown %s '%.100s'%s", name[0] == '-' ? "option" : "command",
              name, nearest_hint(hint, "\nDid you mean ", "?", name, names, n));
    return message_usage(NULL, &error, WHEN_AUTO);
}

/* Names with __ are those of processes that `stiffit run` starts. */
static int run_named(int argc, char **argv)
{
    const char *name = argv[1];
    if (!strcmp(name, "__compute"))
        return command_compute(argc - 2, argv + 2);
    if (!strcmp(name, "__finish"))
        return command_finish(argc - 2, argv + 2);
    const struct command *command = command_find(commands, name);
    if (!command)
        return no_command(name);
    int code = command->run(command, argc - 2, argv + 2);
    /* negative: `help` or a family of commands does not know its last word */
    return code >= 0 ? code : no_command(argv[argc - 1]);
}

/* Opens standard streams that the caller has closed. Otherwise the next opened file would get
 * their numbers, and messages would be written into it. Standard output is opened so that
 * writing fails, which is then reported. */
static void open_standard_streams(void)
{
    static const int how[] = {O_RDONLY, O_RDONLY, O_WRONLY};
    for (int i = 0; i < 3; i++)
        if (fcntl(i, F_GETFD) < 0 && open("/dev/null", how[i]) != i)
            _exit(status_exit_code(STATUS_SYSTEM));
}

/* Signals as they were when the program began. This runs before the constructors of all libraries,
 * which may install handlers. musl has no such hook: there, nothing is restored. Sanitizers need
 * their own handlers. */
static struct signals at_exec;
static bool has_signals;

static void keep_signals(void)
{
    signals_keep(&at_exec);
    has_signals = true;
}

#if !WITH_ASAN && !WITH_TSAN
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = keep_signals;
#endif

int main(int argc, char **argv)
{
    struct error error;
    if (has_signals)
        signals_restore(&at_exec);
    open_standard_streams();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of that write, not the end of a run */
    signal(SIGXFSZ, SIG_IGN); /* so is a file at its size limit (ulimit -f) */
    signal(SIGCHLD, SIG_DFL); /* if inherited as ignored, it would hide how children end */
    if (argc < 1)
        return status_exit_code(STATUS_INTERNAL);
    if (argc < 2) {
        error_set(&error, STATUS_USAGE, "no command was given");
        return message_usage(NULL, &error, WHEN_AUTO);
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
        help_overview(stdout, commands);
        return command_close_output(0);
    }
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
        print_version();
        return command_close_output(0);
    }
    return run_named(argc, argv);
}
