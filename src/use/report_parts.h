/* The parts of a report: which fits are picked, rows and curves as JSON, the page around them.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/json.h"
#include "fit/objective/goodness.h"
#include "io/result/population.h"
#include "use/curves.h"
#include "use/population_check.h"
#include "use/report_options.h"
#include "use/show_view.h"

#include <math.h>
#include <stdlib.h>

/* Rows in tables, of these failed fits, points of the scatter plots besides; datasets whose
 * residuals are shown; parameters in binned pairs. With no more fits than REPORT_N_ALL all of
 * them are rows. */
enum {
    REPORT_N_TABLE = 2000,
    REPORT_N_FAILED = 500,
    REPORT_N_POINT = 1500,
    REPORT_N_ALL = 4000,
    REPORT_N_RESIDUAL = 1000,
    REPORT_N_PAIRED = 8,
    REPORT_N_STATIC = 100
};

/* Why a fit was picked: bits. */
#define REPORT_GROUP_LIST(X) \
    X(named, "chosen by --id") X(worst, "worst") X(failed, "failed") X(best, "best") X(median, \
      "median") X(random, "random")
#define REPORT_GROUP_NUMBER(name, text) GROUP_##name,
enum report_group { REPORT_GROUP_LIST(REPORT_GROUP_NUMBER) N_REPORT_GROUP };
enum {
    PICKED_TABLE = 1 << N_REPORT_GROUP,
    PICKED_POINT = PICKED_TABLE << 1,
    PICKED_RESIDUAL = PICKED_TABLE << 2,
    PICKED_STATIC = PICKED_TABLE << 3,
    PICKED_GALLERY = PICKED_TABLE - 1
};
const char *report_group_text(int group);

struct report_pick {
    uint64_t row;
    unsigned why;
};

struct report_residual {
    uint32_t observable;
    double time, value, prediction, residual;
};

enum report_cost { COST_SECONDS, COST_EVALUATIONS, COST_STEPS, N_COST };

struct report {
    const struct report_options *options;
    struct fitted fitted;              /* its result is open; the rest only if has_model */
    const struct result_info *info;
    bool has_model;
    char no_model[400];                /* why not */
    struct show_summary summary;
    struct show_spread cost[N_COST];   /* of all fits */
    bool by_reduced;                   /* how bad a fit is, is its reduced chi-square */
    size_t n_pick;
    struct report_pick *pick;          /* in order of rows */
    bool all_rows;
    size_t n_paired;                   /* the first parameters, 0 if all rows are in the page */
    /* counts: of c < d, SHOW_N_BIN x SHOW_N_BIN for each pair, those of c outside */
    uint64_t *pair;
    size_t n_residual, residual_room;
    struct report_residual *residual;
    uint64_t n_residual_dataset;
    size_t n_gallery;
    FILE *rows, *gallery;              /* temporary files of JSON */
    struct view table;                 /* of the worst fits */
    bool no_memory;
    struct arena arena;                /* of the population */
    const struct result_population *population; /* NULL: no random parameters */
    struct population_check check;     /* empty without model */
};

/* report_pick.c: the second pass over the result. */
enum status report_choose(struct report *report, struct error *error);

/* report_rows.c: the third pass, with curves of the gallery. */
enum status report_rows(struct report *report, struct error *error);

/* report_summary.c: all that is not about single fits. */
void report_summary(struct report *report, FILE *file);

/* report_population.c: nothing if there are no random parameters. */
enum status report_population_open(struct report *report, struct error *error);
void report_population_json(const struct report *report, struct json *json);

/* Rounded to 6 digits, which is more than a screen shows. */
static inline double report_rounded(double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.5e", value);
    return isfinite(value) ? strtod(text, NULL) : value;
}
/* report_page.c: a row of the table that needs no scripts, and the page. */
void report_static_row(struct report *report, const char *id, const char *message,
                       const struct fit_record *record);
enum status report_page(struct report *report, FILE *file, struct error *error);

/* Files that the page carries: report.css, report.js, and the library of charts (empty if the
 * program was built without). */
extern const char report_css[], report_js[], report_charts[];
