/* What `stiffit plot` draws: fitted datasets, by gnuplot.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/output.h"
#include "use/fitted.h"
#include "use/gnuplot.h"
#include "use/row_filter.h"

struct plot_options {
    struct fitted_options files;
    struct row_words rows;         /* without an id or `all`: the worst of these fits */
    struct option_list observable; /* none: all that were measured */
    bool all, log_values, overwrite, color;
    int width;                     /* of a chart in characters */
    bool corrects;                 /* the check is prediction-corrected */
    int64_t n_replicate;           /* of the check */
    enum plot_format format;
};

/* Opens the output when there is something to write; the caller finishes it. STATUS_SYSTEM:
 * gnuplot is missing or fails. */
enum status plot_write(const struct plot_options *options, struct output *output,
                       struct error *error);
/* Draws a visual predictive check of a population (use/population_check.h), as plot_write does. */
enum status plot_check_write(const struct plot_options *options, struct output *output,
                             struct error *error);
