/* One place for the form of messages.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/message.h"

#include <string.h>

static void print_head(enum when color)
{
    bool colored = terminal_color(stderr, color);
    fprintf(stderr, "stiffit: %serror:%s ", colored ? "\033[1;31m" : "", colored ? "\033[0m" : "");
}

/* Names from a file may hold what a terminal takes for orders. */
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
    fprintf(stderr, "%.*s\n", hint ? (int)(hint - error->message) : (int)strlen(error->message), error->message);
    fprintf(stderr, "%s%sSee `stiffit %s%s`.\n", hint ? hint + 1 : "", hint ? " " : "", command ? command : "help",
            command ? " --help" : "");
    return status_exit_code(STATUS_USAGE);
}

void message_say(const char *line)
{
    fputs("stiffit: ", stderr);
    print_line(line, strlen(line));
}

void message_hear(void *context, const char *line)
{
    (void)context;
    message_say(line);
}
