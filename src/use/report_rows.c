/* Walks through the result, and the problem beside it if there is one: rows of the tables,
 * curves of the gallery, residuals.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/population_draw.h"
#include "use/report_parts.h"

#include "io/result/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_AT_ONCE = 4096,
    N_GRID = 100,
    MOST_REPLICATES = 500,
    MOST_STARTS = 500,
    MOST_DOSES = 50,
    KEPT_BYTES = 1 << 18
};
/* A gallery of more numbers would make the page larger than 5 MiB. */
static const size_t most_numbers = 300000, most_residuals = 1000000;

struct walk {
    struct report *report;
    struct result_block block; /* without a model */
    size_t i;
    uint64_t row;
    const char *id, *message;
    const struct fit_record *record;
    struct fitted_dataset dataset; /* with a model */
    struct row_filter filter;
    struct result_table_source *kept[N_KEPT_TABLE];
    struct curves curves;
    struct population_draw draw; /* with random parameters: for the typical ones, at which are */
    struct curves typical;       /* these curves */
    struct json rows, gallery;
    size_t n_number;           /* in the gallery */
};

static bool next_row(struct walk *walk, enum status *status, struct error *error)
{
    struct report *report = walk->report;
    bool more = false;
    if (report->has_model) {
        *status = fitted_next(&report->fitted, &walk->dataset, &more, error);
        if (*status || !more)
            return false;
        const struct result_block *block = &report->fitted.fits;
        size_t i = report->fitted.i_fit - 1;
        walk->row = block->first + i;
        walk->id = block->id[i];
        walk->message = block->reason[i];
        walk->record = &block->record[i];
        return true;
    }
    if (walk->i >= walk->block.n) {
        walk->i = 0;
        if (!result_next(report->fitted.result, &walk->block, ROWS_AT_ONCE, status, error))
            return false;
    }
    walk->row = walk->block.first + walk->i;
    walk->id = walk->block.id[walk->i];
    walk->message = walk->block.reason[walk->i];
    walk->record = &walk->block.record[walk->i++];
    return true;
}

/* A cell of the dataset's own columns. */
static void put_own(struct json *json, const struct own_value *value)
{
    if (value && value->text)
        json_string(json, NULL, value->text);
    else
        json_number(json, NULL, value ? report_rounded(value->number) : (double)NAN);
}

static void put_row(struct walk *walk, unsigned why, int64_t place)
{
    struct json *json = &walk->rows;
    const struct fit_record *record = walk->record;
    json_array_begin(json, NULL);
    json_string(json, NULL, walk->id);
    json_integer(json, NULL, record->outcome);
    json_number(json, NULL, report_rounded(fit_badness(record)));
    json_number(json, NULL, report_rounded(record->objective));
    json_number(json, NULL, report_rounded(record->seconds));
    json_integer(json, NULL, record->n_evaluation);
    json_unsigned(json, NULL, record->notes);
    json_integer(json, NULL, place);
    json_integer(json, NULL, (why & PICKED_TABLE) != 0);
    for (size_t j = 0; j < walk->report->info->n_parameter; j++)
        json_number(json, NULL, report_rounded(record->parameter[j]));
    for (size_t c = 0; c < walk->report->info->column.n; c++)
        put_own(json, record->own ? &record->own[c] : NULL);
    if (walk->message[0])
        json_string(json, NULL, walk->message);
    json_array_end(json);
}

static void put_numbers(struct walk *walk, const char *key, const double *number, size_t n)
{
    json_array_begin(&walk->gallery, key);
    for (size_t i = 0; i < n; i++)
        json_number(&walk->gallery, NULL, report_rounded(number[i]));
    json_array_end(&walk->gallery);
    walk->n_number += n;
}

/* The curves at the typical parameters, if they can be computed, at the same times. */
static void put_typical(struct walk *walk, const struct curve *curve, size_t e)
{
    const struct curve *typical = e < walk->typical.n_curve ? &walk->typical.curve[e] : NULL;
    if (!typical || typical->n_time != curve->n_time
        || walk->typical.n_shown != walk->curves.n_shown)
        return;
    json_array_begin(&walk->gallery, "typical");
    for (size_t k = 0; k < walk->curves.n_shown && curve->n_time; k++)
        put_numbers(walk, NULL, typical->value + k * curve->n_time, curve->n_time);
    json_array_end(&walk->gallery);
}

/* Initial time, covariates and doses of experiment e of the dataset. */
static void put_conditions(struct walk *walk, size_t e)
{
    const struct stiffit_model *abi = &walk->report->fitted.model.abi;
    const struct experiment *experiment =
        &walk->dataset.block->experiment[walk->dataset.first + e];
    struct json *json = &walk->gallery;
    size_t n = experiment->n_dose;
    json_number(json, "t0", report_rounded(experiment->t0));
    put_numbers(walk, "covariates", experiment->covariate, abi->n_covariate);
    json_unsigned(json, "n_dose", n);
    json_array_begin(json, "doses"); /* time, amount, duration, rate, interval, count, target */
    for (size_t i = 0; i < n && i < MOST_DOSES; i++) {
        const struct dose *dose = &experiment->dose[i];
        const double number[] = {dose->time,     dose->amount,        dose->duration, dose->rate,
                                 dose->interval, (double)dose->count, dose->target};
        put_numbers(walk, NULL, number, sizeof number / sizeof *number);
    }
    json_array_end(json);
}

static void put_curve(struct walk *walk, const struct curve *curve, size_t e)
{
    struct json *json = &walk->gallery;
    json_object_begin(json, NULL);
    json_string(json, "name", curve->experiment);
    put_numbers(walk, "time", curve->time, curve->n_time);
    json_array_begin(json, "curve");
    for (size_t k = 0; k < walk->curves.n_shown && curve->n_time; k++)
        put_numbers(walk, NULL, curve->value + k * curve->n_time, curve->n_time);
    json_array_end(json);
    put_typical(walk, curve, e);
    /* of each point: place among the shown, time, value, low, high, residual, censored,
     * prediction */
    json_array_begin(json, "data");
    for (size_t i = 0; i < curve->n_point; i++) {
        const struct curve_point *point = &curve->point[i];
        size_t k = 0;
        while (walk->curves.shown[k] != point->observable)
            k++;
        const double number[] = {(double)k,   point->time,     point->value,   point->low,
                                 point->high, point->residual, point->censored,
                                 point->prediction};
        put_numbers(walk, NULL, number, sizeof number / sizeof *number);
    }
    json_array_end(json);
    put_conditions(walk, e);
    json_object_end(json);
}

/* What the result has kept of this dataset: all of it must be read. */
static enum status put_kept(struct walk *walk, enum kept_table table, bool wanted,
                            struct error *error)
{
    const void *value[RESULT_TABLE_MAX_COLUMN];
    size_t n = 0, n_parameter = walk->report->info->n_parameter;
    struct json *json = &walk->gallery;
    static const char *const key[N_KEPT_TABLE] = {"starts", "profiles", "bootstrap"};
    if (wanted)
        json_array_begin(json, key[table]);
    for (bool there = true; there;) {
        enum status status =
            result_table_next(walk->kept[table], walk->record->dataset, value, &there, error);
        if (status)
            return status;
        if (!there || !wanted)
            continue;
        if (table == KEPT_STARTS) { /* where they ended, and whether that was a success */
            const double number[] = {*(const double *)value[2],
                                     outcome_is_success(*(const uint8_t *)value[3])};
            if (n++ < MOST_STARTS)
                put_numbers(walk, NULL, number, 2);
        } else if (table == KEPT_PROFILES) {
            const double number[] = {*(const uint32_t *)value[1], *(const double *)value[2],
                                     *(const double *)value[3]};
            put_numbers(walk, NULL, number, 3);
        } else if (outcome_is_success(*(const uint8_t *)value[2]) && n++ < MOST_REPLICATES) {
            put_numbers(walk, NULL, value[3], n_parameter);
        }
    }
    if (wanted)
        json_array_end(json);
    return STATUS_OK;
}

static void put_gallery(struct walk *walk, unsigned why)
{
    const struct report *report = walk->report;
    const struct curves *curves = &walk->curves;
    struct json *json = &walk->gallery;
    json_string(json, "id", walk->id);
    json_integer(json, "status", walk->record->outcome);
    json_integer(json, "groups", why & PICKED_GALLERY);
    json_number(json, "badness", report_rounded(fit_badness(walk->record)));
    json_boolean(json, "reduced", fit_has_reduced(walk->record));
    json_number(json, "objective", walk->record->objective);
    json_string(json, "message", walk->message);
    json_string(json, "reason", curves->reason);
    json_boolean(json, "log", curves->is_log);
    json_unsigned(json, "steady", curves->n_steady);
    put_numbers(walk, "parameters", walk->record->parameter, report->info->n_parameter);
    put_numbers(walk, "errors", walk->record->standard_error, report->info->n_parameter);
    json_array_begin(json, "observables");
    for (size_t k = 0; k < curves->n_shown; k++)
        json_string(json, NULL, report->fitted.model.abi.observable_name[curves->shown[k]]);
    json_array_end(json);
    json_array_begin(json, "experiments");
    for (size_t e = 0; e < curves->n_curve; e++)
        put_curve(walk, &curves->curve[e], e);
    json_array_end(json);
}

static enum status add_residuals(struct report *report, const struct curves *curves,
                                 struct error *error)
{
    size_t before = report->n_residual;
    for (size_t e = 0; e < curves->n_curve; e++)
        for (size_t i = 0; i < curves->curve[e].n_point; i++) {
            const struct curve_point *point = &curves->curve[e].point[i];
            if (!isfinite(point->residual) || report->n_residual >= most_residuals)
                continue;
            if (!array_grow(&report->residual, report->n_residual, &report->residual_room,
                            sizeof *report->residual))
                return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu residuals",
                                 report->n_residual);
            report->residual[report->n_residual++] =
                (struct report_residual){point->observable, point->time, point->value,
                                         point->prediction, point->residual};
        }
    report->n_residual_dataset += report->n_residual > before;
    return STATUS_OK;
}

static enum status make_typical(struct walk *walk, struct error *error)
{
    struct fit_record record = *walk->record;
    struct fitted_dataset there = walk->dataset;
    enum status status = population_draw_dataset(&walk->draw, &walk->dataset, error);
    record.parameter = walk->draw.start;
    there.record = &record;
    there.p = record.parameter;
    if (!status)
        there.by_experiment = population_draw_each(&walk->draw, &walk->dataset, there.p, NULL);
    return status ? status
                  : curves_make(&walk->typical, &walk->report->fitted, &there, N_GRID, error);
}

/* One dataset that was picked, or of which nothing but the kept tables is read. */
static enum status take(struct walk *walk, unsigned why, struct error *error)
{
    struct report *report = walk->report;
    bool in_gallery = report->has_model && why & PICKED_GALLERY && walk->n_number < most_numbers &&
                      report->n_gallery < REPORT_N_GALLERY;
    enum status status = STATUS_OK;
    if (report->has_model && (in_gallery || why & PICKED_RESIDUAL))
        status = curves_make(&walk->curves, &report->fitted, &walk->dataset,
                             in_gallery ? N_GRID : 0, error);
    if (!status && in_gallery && report->population)
        status = make_typical(walk, error);
    if (!status && report->has_model && why & PICKED_RESIDUAL)
        status = add_residuals(report, &walk->curves, error);
    if (!status && (report->all_rows || why))
        put_row(walk, why | (report->all_rows ? PICKED_TABLE : 0),
                in_gallery ? (int64_t)report->n_gallery : -1);
    if (why & PICKED_STATIC)
        report_static_row(report, walk->id, walk->message, walk->record);
    if (!status && in_gallery) {
        json_object_begin(&walk->gallery, NULL);
        put_gallery(walk, why);
        report->n_gallery++;
    }
    for (int table = KEPT_STARTS; !status && table < N_KEPT_TABLE; table++)
        if (walk->kept[table])
            status = put_kept(walk, (enum kept_table)table, in_gallery, error);
    if (!status && in_gallery)
        json_object_end(&walk->gallery);
    return status;
}

enum status report_rows(struct report *report, struct error *error)
{
    struct walk walk = {.report = report};
    struct row_words words = report->options->rows;
    size_t next = 0;
    words.id = NULL;
    enum status status = row_filter_init(&walk.filter, &words, report->fitted.result, error);
    json_begin(&walk.rows, report->rows);
    json_begin(&walk.gallery, report->gallery);
    walk.rows.in_page = walk.gallery.in_page = true;
    json_array_begin(&walk.rows, NULL);
    json_array_begin(&walk.gallery, NULL);
    for (int table = KEPT_STARTS; !status && report->has_model && table < N_KEPT_TABLE; table++) {
        struct result_table_shape shape =
            kept_shape((enum kept_table)table, report->info->n_parameter);
        status = result_table_source_open(&walk.kept[table], report->fitted.result, &shape,
                                          KEPT_BYTES, error);
    }
    if (!status && report->has_model && report->population)
        status = population_draw_init(&walk.draw, &report->fitted, 1, "report", error);
    while (!status && next_row(&walk, &status, error)) {
        bool picked = next < report->n_pick && report->pick[next].row == walk.row;
        unsigned why = picked ? report->pick[next++].why : 0;
        bool taken = picked || row_filter_takes(&walk.filter, walk.id, walk.record);
        if (taken)
            status = take(&walk, why, error);
        else
            for (int table = KEPT_STARTS; !status && table < N_KEPT_TABLE; table++)
                status = walk.kept[table] ? put_kept(&walk, (enum kept_table)table, false, error)
                                          : STATUS_OK;
    }
    json_end(&walk.rows);
    json_end(&walk.gallery);
    for (int table = KEPT_STARTS; table < N_KEPT_TABLE; table++)
        result_table_source_close(walk.kept[table]);
    curves_fini(&walk.curves);
    curves_fini(&walk.typical);
    population_draw_fini(&walk.draw);
    row_filter_fini(&walk.filter);
    result_block_fini(&walk.block);
    return status;
}
