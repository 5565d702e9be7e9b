/* `stiffit plot --vpc`: quantiles of the measurements over time, and of replicates drawn from the
 * population.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/plot.h"
#include "use/population_check.h"
#include "base/values.h"

#include <stdlib.h>

#define MOST_PANELS 16 /* more would be too small to read */

struct panels {
    struct gnuplot_layout place;
    uint32_t observable[MOST_PANELS];
};

static bool is_measured(const struct population_check *check, uint32_t observable)
{
    for (size_t i = 0; i < check->n_bin; i++)
        if (check->bin[i].observable == observable)
            return true;
    return false;
}

/* What --observable names, in its order, or all that was measured. */
static enum status choose_panels(struct panels *panels, const struct population_check *check,
                                 const struct plot_options *options, const struct model *model,
                                 struct error *error)
{
    const struct option_list *wanted = &options->observable;
    const struct stiffit_model *abi = &model->abi;
    size_t *n = &panels->place.n_panel, index;
    for (uint32_t k = 0; !wanted->n && k < abi->n_observable && *n < MOST_PANELS; k++)
        if (is_measured(check, k))
            panels->observable[(*n)++] = k;
    for (size_t i = 0; i < wanted->n && *n < MOST_PANELS; i++) {
        enum status status = values_name(wanted->item[i], "observable", "observable",
                                         abi->observable_name, abi->n_observable, &index, error);
        if (status)
            return status;
        if (!is_measured(check, (uint32_t)index))
            return error_set(error, STATUS_USAGE, "--observable: '%s' was not measured",
                             wanted->item[i]);
        panels->observable[(*n)++] = (uint32_t)index;
    }
    return *n ? STATUS_OK
              : error_set(error, STATUS_BAD_PROBLEM, "%s: there are no measurements to draw",
                          options->files.result);
}

/* Rows of $bins_k: time, and for each quantile that of the data, and lower, middle and upper ones
 * of the replicates; and of $points_k: time and value. */
static void put_data(FILE *file, const struct population_check *check, bool corrects,
                     uint32_t observable)
{
    fprintf(file, "$points_%u <<EOD\n", (unsigned)observable);
    for (size_t i = 0; i < check->n_point; i++)
        if (check->point[i].observable == observable) {
            const struct check_point *point = &check->point[i];
            gnuplot_number(file, point->time);
            gnuplot_number(file, corrects ? point->value * point->factor + point->shift
                                          : point->value);
            fputc('\n', file);
        }
    fprintf(file, "EOD\n$bins_%u <<EOD\n", (unsigned)observable);
    for (size_t i = 0; i < check->n_bin; i++) {
        const struct check_bin *bin = corrects ? &check->corrected[i] : &check->bin[i];
        if (bin->observable != observable)
            continue;
        gnuplot_number(file, bin->time);
        for (int q = 0; q < CHECK_N_QUANTILE; q++) {
            gnuplot_number(file, bin->data[q]);
            gnuplot_number(file, bin->lower[q]);
            gnuplot_number(file, bin->middle[q]);
            gnuplot_number(file, bin->upper[q]);
        }
        fputc('\n', file);
    }
    fputs("EOD\n", file);
}

/* Areas of the replicates' quantiles, then the points, then the data's quantiles. */
static void put_picture(FILE *file, unsigned k)
{
    fputs("plot 1/0 notitle", file);
    for (int q = 0; q < CHECK_N_QUANTILE; q++)
        fprintf(file, ", $bins_%u using 1:%d:%d with filledcurves fs transparent solid 0.25 "
                "noborder lc rgb '%s' notitle", k, 3 + 4 * q, 5 + 4 * q, gnuplot_color[q == 1]);
    fprintf(file, ", $points_%u using 1:2 with points pt 7 ps 0.3 lc rgb '%s' notitle", k,
            gnuplot_color[GNUPLOT_N_COLOR - 1]);
    for (int q = 0; q < CHECK_N_QUANTILE; q++)
        fprintf(file, ", $bins_%u using 1:%d with lines lw 1.5 dt %d lc rgb 'black' notitle", k,
                2 + 4 * q, q == 1 ? 1 : 2);
    fputc('\n', file);
}

/* In characters: the data's quantiles, and the ends of the replicates'. */
static void put_characters(FILE *file, unsigned k)
{
    static const char symbol[CHECK_N_QUANTILE] = {'5', 'M', '9'}; /* 5 %, median, 95 % */
    fputs("plot 1/0 notitle", file);
    for (int q = 0; q < CHECK_N_QUANTILE; q++)
        fprintf(file, ", $bins_%u using 1:%d with points pt '.' lc rgb '%s' notitle"
                ", $bins_%u using 1:%d with points pt '.' lc rgb '%s' notitle", k, 3 + 4 * q,
                gnuplot_color[q == 1], k, 5 + 4 * q, gnuplot_color[q == 1]);
    for (int q = 0; q < CHECK_N_QUANTILE; q++)
        fprintf(file, ", $bins_%u using 1:%d with points pt '%c' lc rgb 'black' notitle", k,
                2 + 4 * q, symbol[q]);
    fputc('\n', file);
}

static const char *corrected_by(const struct plot_options *options,
                                const struct population_check *check, uint32_t observable)
{
    if (!options->corrects)
        return "";
    return population_check_differs(check, observable) ? "corrected by differences: "
                                                       : "prediction-corrected ";
}

static void put_script(FILE *file, const struct plot_options *options, const struct panels *panels,
                       const struct population_check *check, const struct model *model)
{
    const struct gnuplot_layout *place = &panels->place;
    char title[160];
    fputs("set encoding utf8\nset border 3\nset xtics nomirror\nset ytics nomirror\n"
          "set datafile missing 'NaN'\n", file);
    gnuplot_terminal(file, place, options->format, options->color);
    for (size_t i = 0; i < place->n_panel; i++)
        put_data(file, check, options->corrects, panels->observable[i]);
    snprintf(title, sizeof title, place->is_text
             ? "5, 50, 95 %% of the data: 5 M 9; of %zu replicates: dots"
             : "5, 50, 95 %% of the data: lines; of %zu replicates: areas", check->n_replicate);
    fputs("set multiplot title ", file);
    gnuplot_quoted(file, title);
    fputs(place->is_text ? "\nset xlabel 'time'\n" : " offset 0,0.3\nset xlabel 'time'\n", file);
    fputs(options->log_values ? "set logscale y\n" : "set offsets 0, 0, graph 0.04, graph 0.04\n",
          file);
    for (size_t i = 0; i < place->n_panel; i++) {
        unsigned k = panels->observable[i];
        gnuplot_margins(file, place, i, 0.04, 0.86);
        fputs("set ylabel ", file);
        snprintf(title, sizeof title, "%s%.100s", corrected_by(options, check, k),
                 model->abi.observable_name[k]);
        gnuplot_quoted(file, title);
        fputc('\n', file);
        (place->is_text ? put_characters : put_picture)(file, k);
    }
    fputs("unset multiplot\n", file);
}

enum status plot_check_write(const struct plot_options *options, struct output *output,
                             struct error *error)
{
    struct fitted fitted = {.n_room = 0};
    struct population_check check = {.n_point = 0};
    struct panels panels = {.place = {.n_panel = 0}};
    FILE *script = NULL;
    enum status status = fitted_open(&fitted, &options->files, error);
    if (!status) /* before the model is called: it may print */
        status = output_open(output, options->files.output, options->overwrite, error);
    if (!status)
        status = population_check_make(&check, &fitted,
                                       &(struct check_options){1, (size_t)options->n_replicate},
                                       error);
    if (!status)
        status = choose_panels(&panels, &check, options, &fitted.model, error);
    if (!status && !(script = temporary_file(error)))
        status = STATUS_SYSTEM;
    if (!status) {
        gnuplot_place(&panels.place, options->format, options->width);
        put_script(script, options, &panels, &check, &fitted.model);
        status = gnuplot_draw(script, options->format, output->file, error);
    }
    if (script)
        fclose(script);
    population_check_fini(&check);
    fitted_close(&fitted);
    return status;
}
