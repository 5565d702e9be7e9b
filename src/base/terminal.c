/* Asking the terminal and the environment.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool is_terminal(FILE *file)
{
    const char *name = getenv("TERM");
    int descriptor = fileno(file);
    return descriptor >= 0 && isatty(descriptor) && !(name && !strcmp(name, "dumb"));
}

bool terminal_color(FILE *file, enum when when)
{
    const char *no_color = getenv("NO_COLOR");
    if (when != WHEN_AUTO)
        return when == WHEN_ALWAYS;
    return !(no_color && *no_color) && is_terminal(file);
}

bool terminal_redraw(FILE *file, enum when when)
{
    return when == WHEN_AUTO ? is_terminal(file) : when == WHEN_ALWAYS;
}

int terminal_width(FILE *file)
{
    struct winsize size;
    int descriptor = fileno(file);
    if (descriptor >= 0 && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
        return size.ws_col;
    return 80;
}
