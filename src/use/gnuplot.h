/* Pictures by gnuplot: scripts, panels, and running it.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/output.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum plot_format { PLOT_TEXT, PLOT_SVG, PLOT_PNG, PLOT_PDF };

/* Okabe and Ito's colours (2008), which the colour-blind can tell apart. */
enum { GNUPLOT_N_COLOR = 8 };
extern const char *const gnuplot_color[GNUPLOT_N_COLOR];

/* The panels' places; n_panel is set by the caller. */
struct gnuplot_layout {
    size_t n_column, n_row, n_panel;
    double width, height; /* of all, in pixels or characters */
    bool is_text;
};
/* text_width: of a chart in characters. */
void gnuplot_place(struct gnuplot_layout *layout, enum plot_format format, int text_width);
void gnuplot_terminal(FILE *file, const struct gnuplot_layout *layout, enum plot_format format,
                      bool has_color);
/* top, bottom: parts of the panel's height. Gnuplot counts from the lower left corner. */
void gnuplot_margins(FILE *file, const struct gnuplot_layout *layout, size_t panel, double top,
                     double bottom);
/* One quoted word: letters, digits and what is beyond ASCII as they are, other characters by their
 * numbers, so that none has a meaning for gnuplot; control characters and what is not UTF-8 as '?';
 * long ones are cut. */
void gnuplot_quoted(FILE *file, const char *text);
void gnuplot_number(FILE *file, double value); /* a blank before it */
/* Runs the script, a temporary file, and copies the picture to `out`. STATUS_SYSTEM: gnuplot is
 * missing or fails. */
enum status gnuplot_draw(FILE *script, enum plot_format format, FILE *out, struct error *error);
