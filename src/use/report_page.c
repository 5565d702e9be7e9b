/* The page of a report: tables that any browser shows, and behind them the data and scripts for
 * the charts. All text from files is escaped; the page's policy lets no script run but its own
 * two, and loads nothing.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/report_parts.h"

#include "base/sha256.h"
#include "base/version.h"
#include "base/words.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static unsigned long long count(uint64_t n) { return n; }

/* Prints a view, and ends it. */
static void put_view(FILE *file, struct report *report, struct view *view)
{
    if (!view->failed)
        view_page(view, file);
    report->no_memory = report->no_memory || view->failed;
    view_fini(view);
}

void report_static_row(struct report *report, const char *id, const char *message,
                       const struct fit_record *record)
{
    struct view *view = &report->table;
    const char *notes = "", *badness = report->by_reduced ? "reduced chi-square" : "1 - R squared";
    for (int bit = 0; bit < 32; bit++)
        if (record->notes >> bit & 1 && note_name(bit))
            notes = view_word(view, "%s%s%s", notes, *notes ? ", " : "", note_name(bit));
    if (view->n == 0)
        view_table(view, NULL, "At most 100 fits, the worst ones, in the order of the file",
                   VIEW_PLAIN);
    view_row(view, NULL, VIEW_PLAIN);
    VIEW_FACTS(view, fact_word(NULL, "id", 0, view_word(view, "%s", id)),
               fact_word(NULL, "status", 0, outcome_name(record->outcome)),
               fact_number(NULL, badness, 0, 0, fit_badness(record)),
               fact_number(NULL, "objective", 0, 0, record->objective),
               fact_number(NULL, "seconds", 0, 0, record->seconds),
               fact_count(NULL, "evaluations", 0,
                          record->n_evaluation > 0 ? record->n_evaluation : 0));
    for (size_t j = 0; j < report->info->n_parameter; j++)
        VIEW_FACTS(view, fact_number(NULL, report->info->parameter_name[j], 0, 0,
                                     record->parameter[j]));
    for (size_t c = 0; c < report->info->column.n; c++) {
        const struct own_value *own = record->own ? &record->own[c] : NULL;
        const char *label = report->info->column_label[c];
        if (own && own->text)
            VIEW_FACTS(view, fact_word(NULL, label, 0, view_word(view, "%s", own->text)));
        else
            VIEW_FACTS(view, fact_number(NULL, label, 0, 0, own ? own->number : (double)NAN));
    }
    VIEW_FACTS(view, fact_word(NULL, "notes", 0, notes),
               fact_word(NULL, "message", 0, view_word(view, "%s", message)));
    view_end(view);
}

static void put_health(FILE *file, struct report *report)
{
    struct view view = {.n = 0};
    const struct show_summary *summary = &report->summary;
    uint64_t n_failed = summary->digest.n_fit - summary->n_success;
    fputs("<section id=health><h2>Health</h2>\n", file);
    bool is_evaluation = summary->digest.by_outcome[OUTCOME_evaluated] > 0;
    fprintf(file,
            "<p class=lead><b>%llu</b> fit%s: <b>%llu</b> %s, <b>%llu</b> failed; "
            "<b>%llu</b> with a curve that does not describe the data.</p>\n",
            count(summary->digest.n_fit), summary->digest.n_fit == 1 ? "" : "s",
            count(summary->n_success),
            outcome_name(is_evaluation ? OUTCOME_evaluated : OUTCOME_converged), count(n_failed),
            count(summary->digest.noted[__builtin_ctz(NOTE_poor_fit)].n));
    view_group(&view, NULL, "In numbers", VIEW_PLAIN);
    digest_facts(&view, &summary->digest);
    view_end(&view);
    put_view(file, report, &view);
    show_starts(&view, report->info, &summary->refits);
    put_view(file, report, &view);
    show_failures(&view, summary);
    put_view(file, report, &view);
    fputs("<div id=notes>", file);
    show_notes(&view, summary);
    put_view(file, report, &view);
    fputs("</div>", file);
    show_flat_directions(&view, report->info, summary);
    put_view(file, report, &view);
    fputs("</section>\n", file);
}

static void put_tables(FILE *file, struct report *report)
{
    static const char *const cost[N_COST] = {"computing time", "evaluations", "integrator steps"};
    bool is_one = report->summary.digest.n_fit == 1; /* then it is about that fit */
    struct view view = {.n = 0};
    fputs("<section id=parameters><h2>Parameters</h2>\n", file);
    show_parameters(&view, report->info, &report->summary);
    put_view(file, report, &view);
    fputs("<p>Chi-square/df, where sigmas are known or shared, is near 1 for a good model with "
          "right sigmas; R squared is of fits whose sigmas are unknown or fitted.</p>\n"
          "<div class=charts id=parameter-charts></div></section>\n"
          "<section id=pairs class=script><h2>Pairs</h2><div id=pair-box></div></section>\n"
          "<section id=plate class=script hidden><h2>Plate</h2><div id=plate-box></div></section>\n"
          "<section id=quality class=script><h2>Quality of the fits</h2><div class=charts "
          "id=quality-charts></div></section>\n"
          "<section id=residuals class=script><h2>Residuals</h2><div "
          "id=residual-box></div></section>\n"
          "<section id=costs><h2>Costs</h2>\n",
          file);
    view_table(&view, NULL, is_one ? "The fit" : "All fits", VIEW_PLAIN);
    for (int k = 0; k < N_COST; k++) {
        view_row(&view, NULL, VIEW_PLAIN);
        VIEW_FACTS(&view, fact_word(NULL, "number", 0, cost[k]),
                   fact_word(NULL, "unit", 0, k == COST_SECONDS ? "s" : ""));
        show_quartiles(&view, &report->cost[k], is_one);
        view_end(&view);
    }
    view_end(&view);
    put_view(file, report, &view);
    fputs("<div class=charts id=cost-charts></div></section>\n", file);
}

static void put_population(FILE *file, struct report *report)
{
    struct view view = {.n = 0};
    if (!report->population)
        return;
    fputs("<section id=population><h2>Population</h2>\n", file);
    show_population(&view, report->population);
    put_view(file, report, &view);
    fputs("<div id=population-box class=script></div></section>\n", file);
}

static void copy(FILE *from, FILE *to)
{
    char block[1 << 14];
    rewind(from);
    for (size_t n; (n = fread(block, 1, sizeof block, from)) > 0;)
        fwrite(block, 1, n, to);
}

/* The text of the fitted model; NULL: it was a plugin without one. */
static const char *model_text(const struct report *report)
{
    const char *text = provenance_fact(&report->info->provenance, "model_source");
    return text || !report->has_model ? text : report->fitted.model.source;
}

static void put_rows(FILE *file, struct report *report)
{
    struct view view = {.n = 0};
    fputs("<section id=gallery class=script><h2>Gallery</h2><div id=gallery-box></div></section>\n"
          "<section id=dataset class=script><h2 id=dataset-head tabindex=-1>Dataset</h2><div "
          "id=dataset-box aria-live=polite></div></section>\n<section id=fits><h2>Fits</h2><div "
          "id=table-box>\n",
          file);
    if (report->table.n)
        view_end(&report->table);
    put_view(file, report, &report->table);
    fputs("</div></section>\n", file);
    if (model_text(report)) {
        fputs("<section id=model><h2>Model</h2><pre class=scroll>", file);
        view_escape(file, model_text(report));
        fputs("</pre></section>\n", file);
    }
    fputs("<section id=provenance><h2>Provenance</h2>\n", file);
    show_provenance(&view, report->info);
    put_view(file, report, &view);
    fputs("</section>\n", file);
}

/* 'sha256-...' of a script or style: what the page's policy names. */
static void put_hash(FILE *file, const char *text)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char hash[SHA256_BYTES + 1] = {0};
    sha256_of(text, strlen(text), hash);
    fputs(" 'sha256-", file);
    for (size_t i = 0; i < SHA256_BYTES; i += 3) {
        unsigned bits = (unsigned)hash[i] << 16 | (unsigned)hash[i + 1] << 8 |
                        (i + 2 < SHA256_BYTES ? hash[i + 2] : 0);
        for (int k = 0; k < 4; k++)
            putc(k == 3 && i + 2 >= SHA256_BYTES ? '=' : digit[bits >> (18 - 6 * k) & 63], file);
    }
    putc('\'', file);
}

static void put_data(FILE *file, const char *id)
{
    fprintf(file, "<script type=\"application/json\" id=%s>", id);
}

enum status report_page(struct report *report, FILE *file, struct error *error)
{
    fputs("<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>\n<meta "
          "http-equiv=Content-Security-Policy content=\""
          "default-src 'none'; base-uri 'none'; form-action 'none'; script-src",
          file);
    put_hash(file, report_charts);
    put_hash(file, report_js);
    fputs("; style-src", file);
    put_hash(file, report_css);
    fputs("\">\n<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=referrer content=no-referrer>\n<title>stiffit report: ", file);
    view_escape(file, words_file(report->info->path));
    fprintf(file, "</title>\n<style>%s</style></head><body>\n<header><h1>", report_css);
    view_escape(file, words_file(report->info->path));
    fputs("</h1><p>Report of stiffit " STIFFIT_VERSION "</p><nav><a href=#health>Health</a> ",
          file);
    if (report->population)
        fputs("<a href=#population>Population</a> ", file);
    fputs("<a href=#parameters>Parameters</a> "
          "<a class=script href=#pairs>Pairs</a> <a class=script href=#plate hidden>Plate</a> "
          "<a class=script href=#quality>Quality</a> "
          "<a class=script href=#residuals>Residuals</a> <a href=#costs>Costs</a> <a class=script "
          "href=#gallery>Gallery</a> "
          "<a href=#fits>Fits</a> ",
          file);
    if (model_text(report))
        fputs("<a href=#model>Model</a> ", file);
    fputs("<a href=#provenance>Provenance</a></nav></header>\n<main>\n"
          "<noscript><p class=note>Without JavaScript this page shows its tables, but no "
          "charts.</p></noscript>\n",
          file);
    if (!report_charts[0])
        fputs("<p class=note>This stiffit was built without a library of charts (Debian: "
              "libjs-chart.js): the page shows "
              "tables alone.</p>\n",
              file);
    if (!report->has_model) {
        fputs("<p class=note>The page has no curves and no residuals: ", file);
        view_escape(file, report->no_model);
        fputs("</p>\n", file);
    }
    put_health(file, report);
    put_population(file, report);
    put_tables(file, report);
    put_rows(file, report);
    fputs("</main>\n", file);
    put_data(file, "data");
    report_summary(report, file);
    fputs("</script>\n", file);
    put_data(file, "rows");
    copy(report->rows, file);
    fputs("</script>\n", file);
    put_data(file, "curves");
    copy(report->gallery, file);
    fprintf(file, "</script>\n<script>%s</script>\n<script>%s</script>\n</body></html>\n",
            report_charts, report_js);
    if (report->no_memory)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the tables of the page");
    if (ferror(report->rows) || ferror(report->gallery))
        return error_system(error, EIO, "cannot write temporary files");
    return STATUS_OK;
}
