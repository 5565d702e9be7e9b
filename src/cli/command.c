/* The list of commands, and code common to all of them, such as running foreign code in a
 * process of its own.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include "base/process.h"
#include "base/sanitizer.h"
#include "base/words.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct command *const commands[] = {&command_run,        &command_show,
                                                 &command_import,     &command_export,
                                                 &command_simulate,   &command_plot,
                                                 &command_report,     &command_compare,
                                                 &command_population, &command_model,
                                                 &command_trust,      &command_merge,
                                                 &command_submit,     &command_status,
                                                 &command_help,       NULL};

const struct command *const *command_list(void) { return commands; }

const struct command *command_find(const char *name)
{
    for (const struct command *const *command = commands; *command; command++) {
        if (!strcmp((*command)->name, name))
            return *command;
        for (const struct command *const *child = (*command)->child; child && *child; child++)
            if (!strcmp((*child)->name, name))
                return *child;
    }
    return NULL;
}

struct option_table command_table(const struct command *command)
{
    return command->run_table ? command->run_table() : command->table;
}

static int no_child(const struct command *group, const char *word)
{
    enum { MOST = 8 };
    struct error error;
    const char *names[MOST];
    char list[200] = "";
    size_t n = 0;
    for (const struct command *const *child = group->child; *child && n < MOST; child++) {
        names[n] = (*child)->name + strlen(group->name) + 1;
        words_add(list, sizeof list, "%s%s", n ? ", " : "", names[n]);
        n++;
    }
    const char *near = word ? nearest_name(word, names, n) : NULL;
    if (!word)
        error_set(&error, STATUS_USAGE, "no command of 'stiffit %s' was given\nCommands: %s.",
                  group->name, list);
    else if (near)
        error_set(&error, STATUS_USAGE, "unknown command '%s %.100s'\nDid you mean %s?",
                  group->name, word, near);
    else
        error_set(&error, STATUS_USAGE, "unknown command '%s %.100s'\nCommands: %s.", group->name,
                  word, list);
    return message_usage(group->name, &error, WHEN_AUTO);
}

int command_run_child(const struct command *group, int argc, char **argv)
{
    if (argc < 1)
        return no_child(group, NULL);
    if (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")) {
        help_command(stdout, group);
        return command_close_output(0);
    }
    for (const struct command *const *child = group->child; *child; child++)
        if (!strcmp((*child)->name + strlen(group->name) + 1, argv[0]))
            return (*child)->run(argc - 1, argv + 1);
    return no_child(group, argv[0]);
}

static enum when color_of(const struct command *command, const void *options)
{
    struct option_table table = command_table(command);
    enum when color = WHEN_AUTO;
    for (size_t i = 0; i < table.n; i++)
        if (!strcmp(table.option[i].name, "color"))
            memcpy(&color, (const char *)options + table.option[i].offset, sizeof color);
    return color;
}

int command_parse(const struct command *command, void *options, struct option_words *words,
                  size_t max_positional, int argc, char **argv)
{
    struct error error;
    if (option_parse(command_table(command), options, words, max_positional, argc, argv, &error))
        return message_usage(command->name, &error, WHEN_AUTO);
    if (words->help) {
        help_command(stdout, command);
        return command_close_output(0);
    }
    if (spare_files(command_table(command), options, words, &error))
        return message_usage(command->name, &error, WHEN_AUTO);
    if (!command->needs || words->n_positional > 0)
        return -1;
    error_set(&error, STATUS_USAGE, "no %s was given", command->needs);
    return message_usage(command->name, &error, color_of(command, options));
}

/* An earlier write may have failed and left nothing to write now. Then errno says nothing, but
 * the pipe does. */
static bool reader_is_gone(void)
{
    struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&output, 1, 0) > 0 && output.revents & POLLERR;
}

int command_close_output(int code)
{
    errno = 0;
    bool failed = fflush(stdout) != 0 || ferror(stdout);
    if (!failed)
        return code;
    if (errno == EPIPE || (errno == 0 && reader_is_gone()))
        return 128 + 13;
    struct error error;
    error_system(&error, errno ? errno : EIO, "cannot write to standard output");
    return message_error(&error, WHEN_AUTO);
}

int command_close_file(const char *command, struct output *output, enum status status,
                       struct error *error, enum when color)
{
    if (!status)
        status = output_finish(output, error);
    output_close(output);
    return status ? message_usage(command, error, color) : command_close_output(0);
}

static void print_head(enum when color)
{
    bool colored = terminal_color(stderr, color);
    fprintf(stderr, "stiffit: %serror:%s ", colored ? "\033[1;31m" : "", colored ? "\033[0m" : "");
}

/* Names from a file may contain control sequences of a terminal. */
static void print_line(const char *line, size_t n)
{
    terminal_put(stderr, line, n);
    fputc('\n', stderr);
}

int message_error(const struct error *error, enum when color)
{
    fflush(stdout);
    print_head(color);
    for (const char *line = error->message; line;) {
        const char *end = strchr(line, '\n');
        print_line(line, end ? (size_t)(end - line) : strlen(line));
        line = end && end[1] ? end + 1 : NULL;
        if (line)
            fputs("  ", stderr);
    }
    fflush(stderr);
    return status_exit_code(error->status);
}

int message_usage(const char *command, const struct error *error, enum when color)
{
    if (error->status != STATUS_USAGE)
        return message_error(error, color);
    const char *hint = strchr(error->message, '\n');
    print_head(color);
    fprintf(stderr, "%.*s\n", hint ? (int)(hint - error->message) : (int)strlen(error->message),
            error->message);
    fprintf(stderr, "%s%sSee `stiffit %s%s`.\n", hint ? hint + 1 : "", hint ? " " : "",
            command ? command : "help", command ? " --help" : "");
    return status_exit_code(STATUS_USAGE);
}

void message_say(const char *format, ...)
{
    char *line = NULL;
    va_list arguments;
    va_start(arguments, format);
    int n = vasprintf(&line, format, arguments);
    va_end(arguments);
    if (n < 0)
        return;
    fputs("stiffit: ", stderr);
    print_line(line, (size_t)n);
    free(line);
}

void message_hear(void *context, const char *line)
{
    (void)context;
    message_say("%s", line);
}

enum status print_safely(void (*print)(FILE *file, const void *context), const void *context,
                         struct error *error)
{
    char *text = NULL;
    size_t n = 0;
    FILE *file = open_memstream(&text, &n);
    if (!file)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the summary");
    print(file, context);
    if (!fclose(file))
        terminal_put(stdout, text, n);
    free(text);
    return STATUS_OK;
}

void shell_word(FILE *out, const char *word)
{
    if (word[0] && !word[strcspn(word, " \t\n'\"\\$`&|;<>()*?[]#~!{}")]) {
        fputs(word, out);
        return;
    }
    putc('\'', out);
    for (const char *c = word; *c; c++) {
        if (*c == '\'')
            fputs("'\\''", out);
        else
            putc(*c, out);
    }
    putc('\'', out);
}

void shell_words(FILE *out, int n, char *const *words)
{
    for (int i = 0; i < n; i++) {
        putc(' ', out);
        shell_word(out, words[i]);
    }
}

char *shell_line(const char *command, int n, char *const *words)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fputs(command, out);
    shell_words(out, n, words);
    if (!fclose(out))
        return text;
    free(text);
    return NULL;
}

static const struct command *const model_commands[] = {&command_model_new, &command_model_build,
                                                       &command_model_check, &command_model_show,
                                                       NULL};

static int run_model(int argc, char **argv)
{
    return command_run_child(&command_model, argc, argv);
}

const struct command command_model = {
    .name = "model", .synopsis = "COMMAND [OPTIONS] ...",
    .summary = "write, build, check and show models",
    .example = "stiffit model new wells\nstiffit model show wells.ode",
    .description =
        "A model is text, equations as one writes them (stiffit-model(5)), or a plugin compiled "
        "from C (stiffit-model(3)). Every command takes either.",
    .child = model_commands, .run = run_model};

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
