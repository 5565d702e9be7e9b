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

static void put_count(FILE *file, uint64_t n) { fprintf(file, "<td class=n>%llu</td>", count(n)); }

static void put_cell(FILE *file, const char *text)
{
    fputs("<td>", file);
    report_text(file, text);
    fputs("</td>", file);
}

/* Words between bars: "a|b|c". */
static void begin_table(FILE *file, const char *caption, const char *head)
{
    fputs("<div class=scroll><table><caption>", file);
    report_text(file, caption);
    fputs("</caption><thead><tr>", file);
    for (const char *at = head; *at; at += strcspn(at, "|") + (at[strcspn(at, "|")] == '|')) {
        fprintf(file, "<th scope=col>%.*s</th>", (int)strcspn(at, "|"), at);
    }
    fputs("</tr></thead><tbody>\n", file);
}

static void end_table(FILE *file) { fputs("</tbody></table></div>\n", file); }

static void put_examples(FILE *file, const struct digest_examples *fits)
{
    fputs("<td>", file);
    for (uint64_t k = 0; k < DIGEST_N_EXAMPLE && k < fits->n; k++) {
        fputs(k ? ", " : "", file);
        report_text(file, fits->id[k]);
    }
    fputs("</td>", file);
}

void report_static_row(FILE *file, const struct report *report, const char *id, const char *message,
                       const struct fit_record *record)
{
    fputs("<tr>", file);
    if (strlen(id) <= 24) { /* short ones do not break at their hyphens */
        fputs("<td class=id>", file);
        report_text(file, id);
        fputs("</td>", file);
    } else {
        put_cell(file, id);
    }
    put_cell(file, outcome_name(record->outcome));
    report_number(file, fit_badness(record));
    report_number(file, record->objective);
    report_number(file, record->seconds);
    put_count(file, record->n_evaluation > 0 ? (uint64_t)record->n_evaluation : 0);
    for (size_t j = 0; j < report->info->n_parameter; j++)
        report_number(file, record->parameter[j]);
    for (size_t c = 0; c < report->info->column.n; c++) {
        const struct own_value *own = record->own ? &record->own[c] : NULL;
        if (own && own->text)
            put_cell(file, own->text);
        else
            report_number(file, own ? own->number : (double)NAN);
    }
    fputs("<td>", file);
    for (int bit = 0, n = 0; bit < 32; bit++)
        if (record->notes >> bit & 1 && note_name(bit)) {
            fputs(n++ ? ", " : "", file);
            report_text(file, note_name(bit));
        }
    fputs("</td>", file);
    put_cell(file, message);
    fputs("</tr>\n", file);
}

static void put_facts(FILE *file, const struct digest *digest)
{
    struct fact fact[DIGEST_MOST_FACTS];
    begin_table(file, "In numbers", "fact|value|meaning");
    facts_html(file, fact, digest_facts(digest, fact));
    end_table(file);
}

static void put_goodness(FILE *file, const struct report *report)
{
    const struct show_summary *summary = &report->summary;
    bool is_one = summary->digest.n_fit == 1;
    if (isfinite(summary->reduced.median) && is_one)
        fprintf(file,
                "<p>Reduced chi-square: %.4g. It is near 1 for a good model with right "
                "sigmas.</p>\n",
                summary->reduced.median);
    else if (isfinite(summary->reduced.median))
        fprintf(file,
                "<p>Reduced chi-square, where %s: median %.4g, quartiles %.4g and %.4g, largest "
                "%.4g. It is near 1 for a good model with right sigmas.</p>\n",
                report->info->is_shared ? "sigmas are known or shared" : "every sigma is known",
                summary->reduced.median, summary->reduced.q25, summary->reduced.q75,
                summary->reduced.max);
    if (isfinite(summary->r_squared.median) && is_one)
        fprintf(file, "<p>R squared: %.4g.</p>\n", summary->r_squared.median);
    else if (isfinite(summary->r_squared.median))
        fprintf(file,
                "<p>R squared, where sigmas are unknown or fitted: median %.4g, quartiles %.4g and "
                "%.4g, least %.4g.</p>\n",
                summary->r_squared.median, summary->r_squared.q25, summary->r_squared.q75,
                summary->r_squared.min);
    const struct show_refits *refits = &summary->refits;
    if (refits->n_same + refits->n_some + refits->alone.n + refits->only.n > 0 && is_one)
        fprintf(file, "<p>Starts: %s.</p>\n",
                refits->n_same    ? "all ended at one optimum"
                : refits->alone.n ? "the best one is alone"
                : refits->only.n  ? "all others failed"
                                  : "some ended elsewhere than the best one");
    else if (refits->n_same + refits->n_some + refits->alone.n + refits->only.n > 0)
        fprintf(file,
                "<p>Starts: all ended at one optimum in %llu fits, some elsewhere in %llu; the "
                "best start is alone in "
                "%llu; all others failed in %llu.</p>\n",
                count(refits->n_same), count(refits->n_some), count(refits->alone.n),
                count(refits->only.n));
}

static void put_health(FILE *file, const struct report *report)
{
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
    put_facts(file, &summary->digest);
    put_goodness(file, report);
    if (n_failed) {
        begin_table(file, "Failures", "status|fits|message of the first|examples|what to do");
        for (size_t i = 0; i < summary->n_group; i++) {
            const struct show_group *group = &summary->group[i];
            const char *advice = outcome_advice(group->outcome);
            fputs("<tr>", file);
            put_cell(file, outcome_name(group->outcome));
            put_count(file, group->fits.n);
            put_cell(file, group->message[0] ? group->message : outcome_meaning(group->outcome));
            put_examples(file, &group->fits);
            put_cell(file, advice ? advice : "");
            fputs("</tr>\n", file);
        }
        if (summary->n_other)
            fprintf(file, "<tr><td>others</td><td class=n>%llu</td><td colspan=3></td></tr>\n",
                    count(summary->n_other));
        end_table(file);
    }
    bool any = summary->n_fit_flat > 0;
    for (int bit = 0; bit < 32; bit++)
        any = any || summary->digest.noted[bit].n > 0;
    if (any) {
        fputs("<div id=notes>", file);
        begin_table(file, "Notes", "note|fits|meaning|examples");
        for (int bit = 0; bit < 32; bit++)
            if (summary->digest.noted[bit].n && note_name(bit)) {
                fprintf(file, "<tr data-note=%d>", bit);
                put_cell(file, note_name(bit));
                put_count(file, summary->digest.noted[bit].n);
                put_cell(file, note_meaning(bit));
                put_examples(file, &summary->digest.noted[bit]);
                fputs("</tr>\n", file);
            }
        for (size_t i = 0; i < summary->n_flat; i++) {
            char text[300];
            fputs("<tr><td>flat</td>", file);
            put_count(file, summary->flat[i].fits.n);
            put_cell(file, show_combination_text(report->info, summary->flat[i].weight, text,
                                                 sizeof text));
            put_examples(file, &summary->flat[i].fits);
            fputs("</tr>\n", file);
        }
        end_table(file);
        fputs("</div>", file);
    }
    fputs("</section>\n", file);
}

#define FIVE "min|25 %|median|75 %|max"

/* is_one: a single number, which is all of them. */
static void put_spread(FILE *file, const char *name, const char *unit,
                       const struct show_spread *spread, bool is_one)
{
    fputs("<tr>", file);
    put_cell(file, name);
    put_cell(file, unit ? unit : "");
    if (is_one) {
        report_number(file, spread->median);
        return;
    }
    report_number(file, spread->min);
    report_number(file, spread->q25);
    report_number(file, spread->median);
    report_number(file, spread->q75);
    report_number(file, spread->max);
}

static void put_tables(FILE *file, const struct report *report)
{
    static const char *const cost[N_COST] = {"computing time", "evaluations", "integrator steps"};
    const struct result_info *info = report->info;
    bool is_one = report->summary.digest.n_fit == 1; /* then it is about that fit */
    fputs("<section id=parameters><h2>Parameters</h2>\n", file);
    begin_table(file, is_one ? "The fit" : "Converged fits",
                is_one ? "parameter|unit|value|relative error|at lower bound|at upper bound"
                       : "parameter|unit|" FIVE "|median relative error|at lower bound|at upper "
                         "bound");
    for (size_t j = 0; j < info->n_parameter; j++) {
        const struct show_spread *spread = &report->summary.parameter[j];
        put_spread(file, info->parameter_name[j],
                   info->parameter_unit ? info->parameter_unit[j] : NULL, spread, is_one);
        report_number(file, spread->error);
        put_count(file, spread->n_at_lower);
        put_count(file, spread->n_at_upper);
        fputs("</tr>\n", file);
    }
    end_table(file);
    fputs("<div class=charts id=parameter-charts></div></section>\n"
          "<section id=pairs class=script><h2>Pairs</h2><div id=pair-box></div></section>\n"
          "<section id=plate class=script hidden><h2>Plate</h2><div id=plate-box></div></section>\n"
          "<section id=quality class=script><h2>Quality of the fits</h2><div class=charts "
          "id=quality-charts></div></section>\n"
          "<section id=residuals class=script><h2>Residuals</h2><div "
          "id=residual-box></div></section>\n"
          "<section id=costs><h2>Costs</h2>\n",
          file);
    begin_table(file, is_one ? "The fit" : "All fits",
                is_one ? "number|unit|value" : "number|unit|" FIVE);
    for (int k = 0; k < N_COST; k++) {
        put_spread(file, cost[k], k == COST_SECONDS ? "s" : "", &report->cost[k], is_one);
        fputs("</tr>\n", file);
    }
    end_table(file);
    fputs("<div class=charts id=cost-charts></div></section>\n", file);
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

static void put_rows(FILE *file, const struct report *report)
{
    const struct result_info *info = report->info;
    fputs("<section id=gallery class=script><h2>Gallery</h2><div id=gallery-box></div></section>\n"
          "<section id=dataset class=script><h2 id=dataset-head tabindex=-1>Dataset</h2><div "
          "id=dataset-box aria-live=polite></div></section>\n<section id=fits><h2>Fits</h2><div "
          "id=table-box>\n",
          file);
    fputs("<div class=scroll><table><caption>At most 100 fits, the worst ones, in the order of the "
          "file</caption><thead><tr>"
          "<th>id</th><th>status</th><th>",
          file);
    report_text(file, report->by_reduced ? "reduced chi-square" : "1 - R squared");
    fputs("</th><th>objective</th><th>seconds</th><th>evaluations</th>", file);
    for (size_t j = 0; j < info->n_parameter; j++) {
        fputs("<th>", file);
        report_text(file, info->parameter_name[j]);
        fputs("</th>", file);
    }
    for (size_t c = 0; c < info->column.n; c++) {
        fputs("<th>", file);
        report_text(file, info->column_label[c]);
        fputs("</th>", file);
    }
    fputs("<th>notes</th><th>message</th></tr></thead><tbody>\n", file);
    copy(report->table, file);
    end_table(file);
    fputs("</div></section>\n", file);
    if (model_text(report)) {
        fputs("<section id=model><h2>Model</h2><pre class=scroll>", file);
        report_text(file, model_text(report));
        fputs("</pre></section>\n", file);
    }
    fputs("<section id=provenance><h2>Provenance</h2>\n", file);
    begin_table(file, "How the result was made", "fact|value");
    for (size_t i = 0; i < info->provenance.n; i++)
        if (strcmp(info->provenance.name[i], "model_source")) {
            fputs("<tr>", file);
            put_cell(file, info->provenance.name[i]);
            put_cell(file, info->provenance.value[i]);
            fputs("</tr>\n", file);
        }
    end_table(file);
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
    report_text(file, words_file(report->info->path));
    fprintf(file, "</title>\n<style>%s</style></head><body>\n<header><h1>", report_css);
    report_text(file, words_file(report->info->path));
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
        report_text(file, report->no_model);
        fputs("</p>\n", file);
    }
    put_health(file, report);
    report_population_section(report, file);
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
    if (ferror(report->rows) || ferror(report->gallery) || ferror(report->table))
        return error_system(error, EIO, "cannot write temporary files");
    return STATUS_OK;
}
