/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/message.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

enum status command_print(const struct view *view, bool is_json, struct error *error)
{
    char *text = NULL;
    size_t n = 0;
    FILE *file = open_memstream(&text, &n);
    if (!file)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the summary");
    enum status status = view_put(view, is_json, file, error);
    if (!fclose(file) && !status)
        terminal_put(stdout, text, n);
    free(text);
    return status;
}
