/* Prints views as tables of HTML. All texts are escaped.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/view.h"

#include "base/words.h"

#include <math.h>
#include <string.h>

enum { LONGEST_NAME = 24 };

void view_escape(FILE *file, const char *text)
{
    static const char special[] = "&<>\"'";
    static const char *const entity[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int n = utf8_length(s);
        const char *found = n == 1 ? strchr(special, *s) : NULL;
        if (found)
            fputs(entity[found - special], file);
        else if (n == 0 || (*s < 0x20 && !strchr("\t\n", *s)) || *s == 0x7f ||
                 (*s == 0xc2 && s[1] < 0xa0))
            fputs("\xef\xbf\xbd", file);
        else
            fwrite(s, 1, (size_t)n, file);
        s += n ? n : 1;
    }
}

static void put(FILE *file, const char *tag, const char *text)
{
    fputs(tag, file);
    view_escape(file, text ? text : "");
    fprintf(file, "</%.2s>", tag + 1);
}

static void begin(FILE *file, const char *caption)
{
    fputs("<div class=scroll><table><caption>", file);
    view_escape(file, caption ? caption : "");
    fputs("</caption><thead><tr>", file);
}

/* The first word of a row is its name; short ones do not break at their hyphens. */
static void put_value(FILE *file, const struct fact *fact, bool is_first)
{
    if (fact->kind > FACT_COUNT) {
        bool is_name = is_first && fact->word && strlen(fact->word) <= LONGEST_NAME;
        fputs(is_name ? "<td class=id>" : "<td>", file);
        view_escape(file, fact->word ? fact->word : "");
    } else if (isfinite(fact->value)) {
        fprintf(file, fact_is_whole(fact) ? "<td class=n>%.0f" : "<td class=n>%.4g", fact->value);
    } else {
        fputs("<td class=n>&ndash;", file);
    }
    for (size_t i = 0; fact->names && i < fact->n; i++) {
        fputs(i ? ", " : "", file);
        view_escape(file, fact->names[i]);
    }
    fprintf(file, "%s%s</td>", fact->unit ? " " : "", fact->unit ? fact->unit : "");
}

static bool is_shown(const struct view_item *item)
{
    return item->kind == VIEW_FACT && item->fact.text && !(item->fact.how & FACT_NOT_IN_PAGE);
}

static void put_row(FILE *file, const struct view *view, size_t row, bool is_head)
{
    bool is_first = true;
    fputs(is_head ? "" : "<tr>", file);
    for (size_t i = row + 1; view->item[i].kind != VIEW_END; i = view_behind(view, i)) {
        if (!is_shown(&view->item[i]))
            continue;
        if (is_head)
            put(file, "<th scope=col>", view->item[i].fact.text);
        else
            put_value(file, &view->item[i].fact, is_first);
        is_first = false;
    }
    fputs(is_head ? "</tr></thead><tbody>\n" : "</tr>\n", file);
}

/* With the rows behind its end. */
static void put_table(FILE *file, const struct view *view, size_t table)
{
    size_t end = view_behind(view, table);
    if (table + 2 == end)
        return;
    begin(file, view->item[table].fact.text);
    put_row(file, view, table + 1, true);
    for (size_t i = table + 1; i < view->n && (i < end || view->item[i].kind == VIEW_ROW_OF);
         i = view_behind(view, i))
        if (view->item[i].kind == VIEW_ROW_OF && view->item[i].style != VIEW_HIDDEN)
            put_row(file, view, i, false);
    fputs("</tbody></table></div>\n", file);
}

/* Facts of a group, those that are known, as a table. */
static void put_facts(FILE *file, const struct view *view, size_t group)
{
    size_t end = view_behind(view, group) - 1;
    bool has_meaning = view->item[group].style != VIEW_LISTED, has_facts = false;
    for (size_t i = group + 1; i < end; i = view_behind(view, i)) {
        const struct fact *fact = &view->item[i].fact;
        if (!is_shown(&view->item[i]) || (fact->kind <= FACT_COUNT && isnan(fact->value)))
            continue;
        if (!has_facts) {
            begin(file, view->item[group].fact.text);
            fprintf(file, "<th scope=col>fact</th><th scope=col>value</th>%s</tr></thead><tbody>\n",
                    has_meaning ? "<th scope=col>meaning</th>" : "");
        }
        has_facts = true;
        fputs("<tr>", file);
        put(file, "<td>", fact->text);
        put_value(file, fact, false);
        if (has_meaning)
            put(file, "<td>", fact->meaning);
        fputs("</tr>\n", file);
    }
    fputs(has_facts ? "</tbody></table></div>\n" : "", file);
}

void view_page(const struct view *view, FILE *file)
{
    for (size_t i = 0; i < view->n;) {
        const struct view_item *item = &view->item[i];
        if (item->kind == VIEW_GROUP && item->style != VIEW_HIDDEN)
            put_facts(file, view, i);
        if (item->kind == VIEW_TABLE && item->style != VIEW_HIDDEN)
            put_table(file, view, i);
        i = item->kind == VIEW_GROUP && item->style != VIEW_HIDDEN ? i + 1 : view_behind(view, i);
    }
}
