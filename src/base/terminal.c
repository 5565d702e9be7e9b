/* Asking the terminal and the environment.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool terminal_is(FILE *file)
{
    int descriptor = fileno(file);
    return descriptor >= 0 && isatty(descriptor);
}

static bool is_capable(FILE *file)
{
    const char *name = getenv("TERM");
    return terminal_is(file) && !(name && !strcmp(name, "dumb"));
}

bool terminal_color(FILE *file, enum when when)
{
    const char *no_color = getenv("NO_COLOR");
    if (when != WHEN_AUTO)
        return when == WHEN_ALWAYS;
    return !(no_color && *no_color) && is_capable(file);
}

bool terminal_redraw(FILE *file, enum when when)
{
    return when == WHEN_AUTO ? is_capable(file) : when == WHEN_ALWAYS;
}

int terminal_width(FILE *file)
{
    struct winsize size;
    int descriptor = fileno(file);
    if (descriptor >= 0 && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
        return size.ws_col;
    return 80;
}

size_t terminal_order(const unsigned char *p, size_t n)
{
    if (*p < 0x20 || *p == 0x7f)
        return 1;
    if (*p == 0xc2 && n > 1 && p[1] >= 0x80 && p[1] < 0xa0)
        return 2; /* U+0080 to U+009F */
    if (*p != 0xe2 || n < 3)
        return 0;
    bool turns =
        p[1] == 0x80 ? p[2] >= 0xaa && p[2] <= 0xae : p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9;
    return turns ? 3 : 0; /* U+202A to U+202E, U+2066 to U+2069 */
}

void terminal_put(FILE *file, const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        const unsigned char *at = (const unsigned char *)text + i;
        size_t n_order = *at == '\n' ? 0 : terminal_order(at, n - i);
        fputc(n_order ? '?' : text[i], file);
        i += n_order ? n_order : 1;
    }
}

void terminal_put_name(FILE *file, const char *name)
{
    for (;;) {
        size_t n = strcspn(name, "\n");
        terminal_put(file, name, n);
        if (!name[n])
            return;
        fputc('?', file);
        name += n + 1;
    }
}
