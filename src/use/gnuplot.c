/* Gnuplot's script is a temporary file. It takes numbers as they are and all text in quotes, with
 * characters that could have a meaning by their numbers; no shell is involved. Gnuplot writes into
 * memory, because it does not report failed writes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/gnuplot.h"

#include "base/words.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { TEXT_HEIGHT = 24, MOST_LABEL = 60 };

const char *const gnuplot_color[GNUPLOT_N_COLOR] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                    "#E69F00", "#56B4E9", "#7A4F9E", "#6B6B6B"};

void gnuplot_quoted(FILE *file, const char *text)
{
    int n_shown = 0;
    bool is_escaped = false; /* gnuplot takes all octal digits behind a backslash as one number */
    putc('"', file);
    for (const unsigned char *s = (const unsigned char *)text; *s; n_shown++) {
        int n = utf8_length(s);
        bool is_plain = n > 0 && *s >= 0x20 && *s != 0x7f && !(*s == 0xc2 && s[1] < 0xa0);
        if (n_shown == MOST_LABEL) {
            fputs("...", file);
            break;
        }
        is_escaped = is_plain && n == 1 && ((!isalnum(*s) && !strchr(" :,.-_", *s)) ||
                                            (is_escaped && *s >= '0' && *s <= '7'));
        if (is_escaped)
            fprintf(file, "\\%03o", *s);
        else
            is_plain ? fwrite(s, 1, (size_t)n, file) : (size_t)putc('?', file);
        s += n ? n : 1;
    }
    putc('"', file);
}

void gnuplot_number(FILE *file, double value)
{
    char text[NUMBER_SIZE];
    fprintf(file, " %s", isfinite(value) ? number_text(text, value) : "NaN");
}

void gnuplot_place(struct gnuplot_layout *layout, enum plot_format format, int text_width)
{
    size_t n_panel = layout->n_panel;
    layout->is_text = format == PLOT_TEXT;
    layout->n_column = layout->is_text ? 1
                       : n_panel < 4   ? n_panel
                                       : (size_t)ceil(sqrt((double)n_panel));
    layout->n_row = (n_panel + layout->n_column - 1) / layout->n_column;
    layout->width = layout->is_text ? text_width
                    : n_panel == 1  ? 640
                                    : 460 * (double)layout->n_column;
    layout->height =
        layout->is_text ? TEXT_HEIGHT * (double)layout->n_row : 60 + 400 * (double)layout->n_row;
}

void gnuplot_terminal(FILE *file, const struct gnuplot_layout *layout, enum plot_format format,
                      bool has_color)
{
    int width = (int)layout->width, height = (int)layout->height;
    if (format == PLOT_TEXT)
        fprintf(file, "set terminal dumb noenhanced size %d,%d%s\n", width, height,
                has_color ? " ansi" : "");
    else if (format == PLOT_PDF)
        fprintf(file, "set terminal pdfcairo noenhanced size %gin,%gin font 'sans,10'\n",
                width / 96., height / 96.);
    else if (format == PLOT_PNG)
        fprintf(file, "set terminal pngcairo noenhanced size %d,%d font 'sans,10'\n", width,
                height);
    else
        fprintf(file,
                "set terminal svg noenhanced size %d,%d dynamic background rgb 'white' font "
                "'sans-serif,12'\n",
                width, height);
}

void gnuplot_margins(FILE *file, const struct gnuplot_layout *layout, size_t panel, double top,
                     double bottom)
{
    double title = layout->is_text ? 1 : 34, left = layout->is_text ? 11 : 74,
           right = layout->is_text ? 2 : 18;
    double width = layout->width / (double)layout->n_column,
           height = (layout->height - title) / (double)layout->n_row;
    size_t row = panel / layout->n_column, column = panel % layout->n_column;
    double x = width * (double)column;
    double y = layout->height - title - height * (double)row;
    fprintf(file, "set lmargin at screen %.5f\nset rmargin at screen %.5f\n",
            (x + left) / layout->width, (x + width - right) / layout->width);
    fprintf(file, "set tmargin at screen %.5f\nset bmargin at screen %.5f\n",
            (y - top * height) / layout->height, (y - bottom * height) / layout->height);
}

/* Copies what gnuplot wrote. In SVG it leaves the > of "]]>" as it is, which XML forbids in
 * text. */
static enum status copy_picture(FILE *picture, bool is_svg, FILE *out, struct error *error)
{
    int c, before[2] = {0, 0};
    rewind(picture);
    while ((c = getc(picture)) != EOF) {
        if (is_svg && c == '>' && before[0] == ']' && before[1] == ']')
            fputs("&gt;", out);
        else
            putc(c, out);
        before[0] = before[1];
        before[1] = c;
    }
    if (ferror(picture))
        return error_system(error, errno, "cannot read gnuplot's picture");
    return STATUS_OK;
}

static enum status run_gnuplot(FILE *script, FILE *out, struct error *error)
{
    static char name[] = "gnuplot", defaults[] = "--default-settings";
    char *const arguments[] = {name, defaults, NULL};
    posix_spawn_file_actions_t files;
    pid_t child;
    int wait_status = 0;
    bool is_written = !fflush(script) && !ferror(script) &&
                      lseek(fileno(script), 0, SEEK_SET) == 0 && !fflush(out);
    int failure = is_written ? posix_spawn_file_actions_init(&files) : errno;
    if (failure)
        return error_system(error, failure, "cannot write a script for gnuplot");
    /* the script is UTF-8; in the C locale gnuplot warns of its own degree sign */
    setenv("LC_ALL", "C.UTF-8", 1);
    failure = posix_spawn_file_actions_adddup2(&files, fileno(script), 0);
    if (!failure)
        failure = posix_spawn_file_actions_adddup2(&files, fileno(out), 1);
    if (!failure)
        failure = posix_spawnp(&child, name, &files, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    if (failure == ENOENT)
        return error_set(error, STATUS_SYSTEM,
                         "gnuplot, which draws the plots, was not found\nInstall it (Debian: "
                         "apt-get install gnuplot-nox; Fedora, conda, Homebrew: gnuplot), or take "
                         "the numbers from `stiffit export --what residuals` and `stiffit "
                         "simulate`.");
    if (failure)
        return error_system(error, failure, "cannot run gnuplot");
    while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR)
        continue;
    if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status))
        return error_set(error, STATUS_SYSTEM,
                         "gnuplot failed; its message is above (without its cairo terminals it "
                         "writes no .png and .pdf)");
    return STATUS_OK;
}

enum status gnuplot_draw(FILE *script, enum plot_format format, FILE *out, struct error *error)
{
    FILE *picture = temporary_small_file(error);
    enum status status = picture ? run_gnuplot(script, picture, error) : STATUS_SYSTEM;
    if (!status)
        status = copy_picture(picture, format == PLOT_SVG, out, error);
    if (picture)
        fclose(picture);
    return status;
}
