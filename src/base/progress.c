/* Drawing the progress line.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/progress.h"

#include <math.h>
#include <string.h>

enum { LINE_LENGTH = 200 };
static const double redraw_every_s = 0.1, plain_every_s = 30;

void progress_init(struct progress *progress, FILE *file, const char *unit, uint64_t total,
                   uint64_t before, struct progress_wish wish, double now_s)
{
    *progress = (struct progress){.file = file,
                                  .unit = unit, .total = total, .before = before, .done = before};
    progress->shown = !wish.is_quiet && wish.when != WHEN_NEVER;
    progress->redraw = terminal_redraw(file, wish.when);
    progress->color = terminal_color(file, wish.color);
    progress->width = terminal_width(file);
    progress->begun_s = progress->now_s = now_s;
    progress->told_s = progress->redraw ? now_s - redraw_every_s : now_s;
}

/* 75 -> "1:15", 7265 -> "2:01:05", 200000 -> "2 d 07 h" */
static void duration_text(double seconds, char *text, size_t size)
{
    if (!(seconds < 1e9)) {
        snprintf(text, size, "?");
        return;
    }
    long s = (long)ceil(seconds);
    if (s >= 86400)
        snprintf(text, size, "%ld d %02ld h", s / 86400, s / 3600 % 24);
    else if (s >= 3600)
        snprintf(text, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(text, size, "%ld:%02ld", s / 60, s % 60);
}

static void rate_text(double rate, char *text, size_t size)
{
    if (rate >= 100)
        snprintf(text, size, "%.0f", rate);
    else if (rate >= 10)
        snprintf(text, size, "%.1f", rate);
    else
        snprintf(text, size, "%.2g", rate);
}

static void describe(const struct progress *progress, bool final, char *line, size_t size)
{
    double elapsed = progress->now_s - progress->begun_s;
    uint64_t here = progress->done > progress->before ? progress->done - progress->before : 0;
    double rate = elapsed > 0 ? (double)here / elapsed : 0;
    char rate_word[32], time_word[40];
    rate_text(rate, rate_word, sizeof rate_word);
    int percent =
        progress->total ? (int)(100.0 * (double)progress->done / (double)progress->total) : 100;
    int n =
        snprintf(line, size, "%3d %%  %llu/%llu %s", percent, (unsigned long long)progress->done,
                 (unsigned long long)progress->total, progress->unit);
    if (here > 0 && rate > 0 && !progress->has_where)
        n += snprintf(line + n, size - (size_t)n, "  %s/s", rate_word);
    if (progress->failed > 0)
        n += snprintf(line + n, size - (size_t)n, "  %llu failed",
                      (unsigned long long)progress->failed);
    if (final) {
        if (elapsed < 60)
            snprintf(time_word, sizeof time_word, "%.1f s", elapsed);
        else
            duration_text(elapsed, time_word, sizeof time_word);
        snprintf(line + n, size - (size_t)n, "  in %s", time_word);
    } else if (progress->has_where) {
        duration_text(elapsed, time_word, sizeof time_word);
        snprintf(line + n, size - (size_t)n, "%s%s  after %s", *progress->where ? "  " : "",
                 progress->where, time_word);
    } else if (here > 0 && rate > 0) {
        duration_text((double)(progress->total - progress->done) / rate, time_word,
                      sizeof time_word);
        snprintf(line + n, size - (size_t)n, "  %s left", time_word);
    }
}

/* The line with its failures in red. */
static void write_line(const struct progress *progress, const char *line)
{
    const char *failed = progress->color && progress->failed ? strstr(line, " failed") : NULL;
    if (!failed) {
        fputs(line, progress->file);
        return;
    }
    const char *number = failed;
    while (number > line && number[-1] != ' ')
        number--;
    fprintf(progress->file, "%.*s\033[31m%.*s\033[0m%s", (int)(number - line), line,
            (int)(failed + 7 - number), number, failed + 7);
}

void progress_clear(struct progress *progress)
{
    if (progress->line_is_open)
        fputs("\r\033[K", progress->file);
    progress->line_is_open = false;
}

static void tell(struct progress *progress, bool final)
{
    char line[LINE_LENGTH];
    describe(progress, final, line, sizeof line);
    progress_clear(progress);
    if (progress->redraw && (size_t)progress->width <= strlen(line))
        line[progress->width > 1 ? progress->width - 1 : 0] =
            '\0'; /* a wrapped line could not be redrawn */
    write_line(progress, line);
    if (final || !progress->redraw)
        fputc('\n', progress->file);
    else
        progress->line_is_open = true;
    fflush(progress->file);
    progress->told_s = progress->now_s;
}

void progress_update(struct progress *progress, uint64_t done, uint64_t failed, const char *where,
                     double now_s)
{
    progress->done = done < progress->total ? done : progress->total;
    progress->failed = failed;
    progress->has_where = where != NULL;
    snprintf(progress->where, sizeof progress->where, "%s", where ? where : "");
    progress->now_s = now_s;
    if (progress->shown &&
        now_s - progress->told_s >= (progress->redraw ? redraw_every_s : plain_every_s))
        tell(progress, false);
}

void progress_end(struct progress *progress)
{
    if (progress->shown)
        tell(progress, true);
}
