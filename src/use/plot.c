/* Chooses the datasets and writes gnuplot's script, a page for each.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/plot.h"

#include "fit/objective/goodness.h"
#include "use/curves.h"
#include "base/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PANELS 16
enum { N_GRID = 400, ROWS_AT_ONCE = 4096, MOST_KEYS = 10 };


/* A block of rows of numbers, $NAME_e_k. Gnuplot wants at least one row. */
static void begin_block(FILE *file, const char *name, size_t e, size_t k)
{
    fprintf(file, "$%s_%zu_%zu <<EOD\n", name, e, k);
}
static void end_block(FILE *file) { fputs("NaN NaN NaN NaN NaN\nEOD\n", file); }

static void put_data(FILE *file, const struct curves *curves)
{
    for (size_t e = 0; e < curves->n_curve; e++)
        for (size_t k = 0; k < curves->n_shown; k++) {
            const struct curve *curve = &curves->curve[e];
            begin_block(file, "points", e, k);
            for (size_t i = 0; i < curve->n_point; i++) {
                const struct curve_point *point = &curve->point[i];
                const double number[] = {point->time, point->value, point->low, point->high,
                                         point->residual};
                if (point->observable != curves->shown[k])
                    continue;
                for (size_t j = 0; j < sizeof number / sizeof *number; j++)
                    gnuplot_number(file, number[j]);
                fputc('\n', file);
            }
            end_block(file);
            begin_block(file, "curve", e, k);
            for (size_t i = 0; i < curve->n_time; i++) {
                gnuplot_number(file, curve->time[i]);
                gnuplot_number(file, curve->value[k * curve->n_time + i]);
                fputc('\n', file);
            }
            end_block(file);
        }
}

/* Whether the curve has any points of the observable; with error bars, or with residuals. */
enum { POINT_VALUE, POINT_BAR, POINT_RESIDUAL };
static bool has_points(const struct curve *curve, uint32_t observable, int what)
{
    bool any = false;
    for (size_t i = 0; i < curve->n_point; i++) {
        const struct curve_point *point = &curve->point[i];
        double number = what == POINT_BAR        ? point->low
                        : what == POINT_RESIDUAL ? point->residual
                                                 : point->value;
        any = any || (point->observable == observable && isfinite(number));
    }
    return any;
}

/* The axis of residuals: symmetric, to a round number. */
static void put_residual_axis(FILE *file, const struct curves *curves, uint32_t observable)
{
    static const double round_number[] = {1, 2, 3, 5, 10};
    double largest = 1, power, end = 0;
    for (size_t e = 0; e < curves->n_curve; e++)
        for (size_t i = 0; i < curves->curve[e].n_point; i++)
            if (curves->curve[e].point[i].observable == observable &&
                fabs(curves->curve[e].point[i].residual) < INFINITY)
                largest = fmax(largest, fabs(curves->curve[e].point[i].residual));
    power = pow(10, floor(log10(largest)));
    for (size_t i = 0; i < sizeof round_number / sizeof *round_number && end < largest; i++)
        end = round_number[i] * power;
    fprintf(file, "set yrange [%g:%g]\nset ytics %g,%g,%g\n", -1.15 * end, 1.15 * end, -end, end,
            end);
}

/* Each experiment in its colour and shape; `what`: "value" with its curve, or "residual". */
static void put_elements(FILE *file, const struct curves *curves, size_t k, bool residuals,
                         bool is_text)
{
    static const char *const symbol[] = {"A", "B", "C", "D", "E", "F", "G", "H"};
    bool has_key = curves->n_curve > 1 && curves->n_curve <= MOST_KEYS && !residuals;
    uint32_t observable = curves->shown[k];
    bool any = false;
    for (size_t e = 0; e < curves->n_curve && !residuals; e++)
        any = any || curves->curve[e].n_time ||
              has_points(&curves->curve[e], observable, POINT_VALUE);
    /* Gnuplot complains of what has no points. */
    fputs(residuals ? "plot 0 lt -1 dt 3 notitle"
          : any     ? "plot 1/0 notitle"
                    : "plot [0:1] [0:1] -1 notitle",
          file);
    for (size_t e = 0; e < curves->n_curve; e++) {
        const struct curve *curve = &curves->curve[e];
        const char *rgb = gnuplot_color[e % GNUPLOT_N_COLOR];
        int shape = 5 + 2 * (int)((e + 1) % 5); /* filled ones */
        if (!residuals && curve->n_time && is_text)
            fprintf(file, ", $curve_%zu_%zu using 1:2 with points pt '.' lc rgb '%s' notitle", e, k,
                    rgb);
        else if (!residuals && curve->n_time)
            fprintf(file, ", $curve_%zu_%zu using 1:2 with lines lw 2 lc rgb '%s' notitle", e, k,
                    rgb);
        if (!residuals && !is_text && has_points(curve, observable, POINT_BAR))
            fprintf(file,
                    ", $points_%zu_%zu using 1:2:3:4 with yerrorbars ps 0 lw 1 lc rgb '%s' notitle",
                    e, k, rgb);
        if (!has_points(curve, observable, residuals ? POINT_RESIDUAL : POINT_VALUE))
            continue;
        fprintf(file, ", $points_%zu_%zu using 1:%d with points ", e, k, residuals ? 5 : 2);
        if (is_text)
            fprintf(file, "pt '%s'", curves->n_curve > 1 ? symbol[e % GNUPLOT_N_COLOR] : "o");
        else
            fprintf(file, "pt %d ps 0.7", shape);
        fprintf(file, " lc rgb '%s' ", rgb);
        fputs(has_key ? "title " : "notitle", file);
        if (has_key)
            gnuplot_quoted(file, curves->curve[e].experiment);
    }
    fputc('\n', file);
}

/* The panels and their places. */
struct layout {
    struct gnuplot_layout place;
    size_t shown[MOST_PANELS]; /* indices of struct curves' shown */
};

/* Lines that the names of experiments take above a chart in characters. */
static size_t count_key_lines(const struct curves *curves, const struct layout *layout)
{
    size_t longest = 0;
    for (size_t e = 0; e < curves->n_curve; e++) {
        size_t n = strlen(curves->curve[e].experiment);
        longest = n > longest ? n : longest;
    }
    double width = layout->place.width / (double)layout->place.n_column;
    size_t each = longest + 5, room = (size_t)width - 11; /* name, symbol, gaps; axis */
    size_t per_line = room > each ? room / each : 1;
    return curves->n_curve > 1 && curves->n_curve <= MOST_KEYS
               ? (curves->n_curve + per_line - 1) / per_line
               : 0;
}

static void put_panel(FILE *file, const struct plot_options *options, const struct curves *curves,
                      const struct layout *layout, const struct model *model, size_t panel)
{
    size_t k = layout->shown[panel];
    bool is_text = layout->place.is_text,
         has_curve = curves->record->parameter && !curves->reason[0];
    double line = (double)layout->place.n_row / layout->place.height, top = is_text ? 0.04
                                                                            : curves->n_curve > 1
                                                                                ? 0.1
                                                                                : 0.04;
    top += is_text ? line * (double)count_key_lines(curves, layout) : 0;
    gnuplot_margins(file, &layout->place, panel, top, has_curve ? 0.62 : 0.86);
    if (has_curve)
        fputs("set format x ''\nunset xlabel\n", file);
    else
        fputs("set format x '% h'\nset xlabel 'time'\n", file);
    fputs(options->log_values ? "set logscale y\n"
          : is_text           ? ""
                              : "set offsets 0, 0, graph 0.04, graph 0.04\n",
          file);
    fputs("set key at graph 1, graph 1.03 right bottom horizontal samplen 1\nset ylabel ", file);
    gnuplot_quoted(file, model->abi.observable_name[curves->shown[k]]);
    fputc('\n', file);
    put_elements(file, curves, k, false, is_text);
    if (!has_curve)
        return;
    gnuplot_margins(file, &layout->place, panel, is_text ? 0.68 : 0.67, is_text ? 0.87 : 0.86);
    fputs("unset logscale y\nset format x '% h'\nset xlabel 'time'\nset ylabel 'residual'\n", file);
    fputs("unset offsets\n", file);
    put_residual_axis(file, curves, curves->shown[k]);
    put_elements(file, curves, k, true, is_text);
    fputs("set autoscale y\nset ytics autofreq\n", file);
}

static void put_script(FILE *file, const struct plot_options *options, const struct curves *curves,
                       const struct layout *layout, const struct model *model)
{
    const struct fit_record *record = curves->record;
    double first = INFINITY, last = -INFINITY;
    char title[200];
    for (size_t e = 0; e < curves->n_curve; e++) {
        const struct curve *curve = &curves->curve[e];
        for (size_t i = 0; i < curve->n_point; i++) {
            first = fmin(first, curve->point[i].time);
            last = fmax(last, curve->point[i].time);
        }
        first = curve->n_time ? fmin(first, curve->time[0]) : first;
    }
    fputs("set encoding utf8\nset border 3\nset xtics nomirror\nset ytics nomirror\nset datafile "
          "missing 'NaN'\n",
          file);
    put_data(file, curves);
    snprintf(title, sizeof title, "%.60s: %s, %s %.4g", curves->id, outcome_name(record->outcome),
             fit_has_reduced(record) ? "reduced chi-square" : "R squared",
             fit_has_reduced(record) ? fit_badness(record) : record->r_squared);
    if (!isfinite(fit_badness(record)))
        snprintf(title, sizeof title, "%.60s: %s", curves->id, outcome_name(record->outcome));
    fputs("set multiplot title ", file);
    gnuplot_quoted(file, title);
    fputs(layout->place.is_text ? "\n" : " offset 0,0.3\n", file);
    if (curves->is_log)
        fputs("set logscale x\n", file);
    if (last > first)
        fprintf(file, "set xrange [%.10g:%.10g]\n", first,
                last + (curves->is_log ? 0.05 * last : 0.02 * (last - first)));
    for (size_t k = 0; k < layout->place.n_panel; k++)
        put_panel(file, options, curves, layout, model, k);
    fputs("unset multiplot\n", file);
}

/* The wanted dataset, or the worst one: failed without a best point counts only if there is
 * nothing else. */
static enum status choose(const struct plot_options *options, char **id, struct error *error)
{
    struct result *result = NULL;
    struct result_block block = {0};
    struct row_filter filter;
    struct row_words words = options->rows;
    double worst = NAN;
    words.id = NULL;
    enum status status = result_open(&result, options->files.result, error);
    if (status)
        return status;
    status = row_filter_init(&filter, &words, result, error);
    result_ignore(result, FIT_COLUMN_COVARIANCE);
    while (!status && result_next(result, &block, ROWS_AT_ONCE, &status, error))
        for (size_t i = 0; i < block.n; i++) {
            const struct fit_record *record = &block.record[i];
            double badness = fit_badness(record);
            bool is_worse = !*id || badness > worst || (isnan(worst) && !isnan(badness));
            if (!row_filter_takes(&filter, block.id[i], record) || !is_worse)
                continue;
            free(*id);
            *id = strdup(block.id[i]);
            worst = badness;
        }
    if (!status && !*id)
        status =
            error_set(error, STATUS_USAGE, "%s: no dataset is selected", options->files.result);
    if (!status && options->files.listener.tell) {
        char line[200];
        snprintf(line, sizeof line, "the worst fit of %llu is %.80s (--id names another)",
                 (unsigned long long)filter.n_taken, *id);
        options->files.listener.tell(options->files.listener.context, line);
    }
    row_filter_fini(&filter);
    result_block_fini(&block);
    result_close(result);
    return status;
}

/* The panels: what --observable names, in its order, or what was measured. */
static enum status choose_panels(struct layout *layout, const struct curves *curves,
                                 const struct plot_options *options, const struct model *model,
                                 struct error *error)
{
    const struct option_list *wanted = &options->observable;
    size_t n = wanted->n ? wanted->n : curves->n_shown;
    layout->place.n_panel = n < MOST_PANELS ? n : MOST_PANELS;
    if (n > MOST_PANELS && options->files.listener.tell)
        options->files.listener.tell(options->files.listener.context,
                                     "note: " OPTION_TEXT(MOST_PANELS) " observables are drawn; "
                                                                       "--observable chooses");
    for (size_t i = 0; i < layout->place.n_panel; i++) {
        size_t index, k = i;
        if (wanted->n) {
            enum status status =
                values_name(wanted->item[i], "observable", "observable", model->abi.observable_name,
                            model->abi.n_observable, &index, error);
            if (status)
                return status;
            for (k = 0; k < curves->n_shown && curves->shown[k] != index;)
                k++;
            if (k == curves->n_shown)
                return error_set(error, STATUS_USAGE,
                                 "--observable: '%s' was not measured in dataset '%.100s'",
                                 wanted->item[i], curves->id);
        }
        layout->shown[i] = k;
    }
    return STATUS_OK;
}

/* What is drawn: a page for each dataset. */
struct pages {
    const struct plot_options *options;
    struct fitted fitted;
    struct curves curves;
    struct row_filter filter; /* without `only` */
    char *only;               /* the worst dataset; NULL: those of the filter */
    FILE *script;
    size_t n;
};

static bool is_wanted(struct pages *pages, const struct fitted_dataset *dataset)
{
    if (pages->only)
        return pages->n == 0 && !strcmp(dataset->id, pages->only);
    return row_filter_takes(&pages->filter, dataset->id, dataset->record);
}

static void say_no_curve(const struct pages *pages, const struct curves *curves)
{
    const struct build_listener *listener = &pages->options->files.listener;
    char line[sizeof curves->reason + 120];
    if (pages->only || !strchr(pages->options->rows.id ? pages->options->rows.id : ",", ','))
        snprintf(line, sizeof line, "note: no curve: %s", curves->reason);
    else
        snprintf(line, sizeof line, "note: no curve of %.80s: %s", curves->id, curves->reason);
    if (curves->reason[0] && listener->tell)
        listener->tell(listener->context, line);
}

static enum status put_page(struct pages *pages, const struct fitted_dataset *dataset,
                            struct error *error)
{
    const struct plot_options *options = pages->options;
    struct curves *curves = &pages->curves;
    struct layout layout = {.place = {.n_panel = 0}};
    enum plot_format format = options->format;
    if (pages->n > 0 && (format == PLOT_SVG || format == PLOT_PNG))
        return error_set(error, STATUS_USAGE,
                         "--output: a picture has one page; several datasets need a name that ends "
                         "in .pdf or .txt");
    enum status status = curves_make(curves, &pages->fitted, dataset, N_GRID, error);
    if (!status)
        status = choose_panels(&layout, curves, options, &pages->fitted.model, error);
    if (status)
        return status;
    say_no_curve(pages, curves);
    gnuplot_place(&layout.place, format, options->width);
    /* a terminal that is set anew would begin another file */
    if (pages->n == 0)
        gnuplot_terminal(pages->script, &layout.place, format, options->color);
    else
        fputs("reset\n", pages->script);
    put_script(pages->script, options, curves, &layout, &pages->fitted.model);
    pages->n++;
    return STATUS_OK;
}

static enum status put_pages(struct pages *pages, struct error *error)
{
    const struct plot_options *options = pages->options;
    struct fitted_dataset dataset;
    bool more = true;
    enum status status = STATUS_OK;
    while (!status && !(status = fitted_next(&pages->fitted, &dataset, &more, error)) && more)
        if (is_wanted(pages, &dataset))
            status = put_page(pages, &dataset, error);
    if (!status && !pages->only)
        status = row_filter_end(&pages->filter, &options->rows, error);
    if (!status && pages->n == 0)
        status =
            error_set(error, STATUS_USAGE, "%s: no dataset is selected", options->files.result);
    return status;
}

enum status plot_write(const struct plot_options *options, struct output *output,
                       struct error *error)
{
    struct pages pages = {.options = options};
    bool is_worst = !options->all && !options->rows.id;
    enum status status = is_worst ? choose(options, &pages.only, error) : STATUS_OK;
    if (!status)
        status = fitted_open(&pages.fitted, &options->files, error);
    if (!status && !is_worst)
        status = row_filter_init(&pages.filter, &options->rows, pages.fitted.result, error);
    if (!status) /* before the model is called: it may print */
        status = output_open(output, options->files.output, options->overwrite, error);
    if (!status && !(pages.script = temporary_small_file(error)))
        status = STATUS_SYSTEM;
    if (!status)
        status = put_pages(&pages, error);
    if (!status)
        status = gnuplot_draw(pages.script, options->format, output->file, error);
    if (pages.script)
        fclose(pages.script);
    if (!is_worst)
        row_filter_fini(&pages.filter);
    curves_fini(&pages.curves);
    fitted_close(&pages.fitted);
    free(pages.only);
    return status;
}
