/* Prints views as text: tables whose columns are as wide as they need to be, facts on one line or
 * one on each, sentences.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/view.h"

#include "base/words.h"

#include <math.h>
#include <string.h>

enum { MOST_ROWS = 100, MOST_COLUMNS = 32, WIDEST = 40, LEAST_LISTED = 12, VALUE_SIZE = 1 << 16 };

struct page {
    const struct view *view;
    FILE *file;
    const char *title; /* to be printed before anything else; NULL: none */
};

static void begin(struct page *page)
{
    if (page->title)
        fprintf(page->file, *page->title ? "\n%s\n" : "%s\n", page->title);
    page->title = NULL;
}

/* The fact's value as text, maybe in `text`. */
static const char *value_of(const struct fact *fact, char text[VALUE_SIZE])
{
    *text = '\0';
    if (fact->kind == FACT_WORD || fact->kind == FACT_DIGITS)
        return fact->word ? fact->word : "";
    if (fact->kind <= FACT_COUNT && isnan(fact->value))
        return "-";
    if (fact->kind == FACT_COUNT)
        snprintf(text, VALUE_SIZE, "%.0f", fact->value);
    else if (fact->kind == FACT_NUMBER)
        snprintf(text, VALUE_SIZE, "%.*g", fact->digits, fact->value);
    else if (fact->kind == FACT_NAMES)
        snprintf(text, VALUE_SIZE, "%zu%s", fact->n, fact->n ? ":" : "");
    size_t most = fact->digits ? (size_t)fact->digits : fact->n;
    for (size_t i = 0; fact->names && i < fact->n && i < most; i++)
        words_add(text, VALUE_SIZE, "%s %s",
                  fact->kind == FACT_NAMES ? "" : i ? "," : "e.g.", fact->names[i]);
    if (fact->names && fact->n > most)
        words_add(text, VALUE_SIZE, " ...");
    return text;
}

static bool is_shown(const struct view_item *item)
{
    return item->kind == VIEW_FACT && item->fact.text && !(item->fact.how & FACT_NOT_IN_TEXT);
}

static bool is_cell(const struct view_item *item) { return is_shown(item) && item->fact.width; }

static int wider(int width, const char *text)
{
    int length = strlen(text) < WIDEST ? (int)strlen(text) : WIDEST;
    return width > length ? width : length;
}

struct columns {
    size_t n;
    int width[MOST_COLUMNS];
    bool has_heads;
};

static void measure(const struct view *view, size_t row, struct columns *columns)
{
    char text[VALUE_SIZE];
    size_t c = 0;
    for (size_t i = row + 1; view->item[i].kind != VIEW_END; i = view_behind(view, i)) {
        const struct fact *fact = &view->item[i].fact;
        if (!is_cell(&view->item[i]) || c == MOST_COLUMNS)
            continue;
        int least = fact->width < 0 ? -fact->width : fact->width;
        least = wider(wider(least, fact->text), value_of(fact, text));
        columns->width[c] = columns->width[c] > least ? columns->width[c] : least;
        columns->has_heads = columns->has_heads || *fact->text;
        c++;
    }
    columns->n = c > columns->n ? c : columns->n;
}

/* A blank separates columns; two do where one ends and the next begins. */
static void put_row(FILE *file, const struct view *view, size_t row, const struct columns *columns,
                    bool is_head)
{
    char text[VALUE_SIZE];
    size_t c = 0;
    int at = 0, start = 0, end = 1; /* of the line, and of the previous column */
    bool was_left = true;
    for (size_t i = row + 1; view->item[i].kind != VIEW_END; i = view_behind(view, i)) {
        const struct fact *fact = &view->item[i].fact;
        if (!is_cell(&view->item[i]) || c == columns->n)
            continue;
        const char *word = is_head ? fact->text : value_of(fact, text);
        int width = columns->width[c++], n = (int)strlen(word), blanks = width - n;
        bool is_left = fact->width < 0;
        if (fact->how & FACT_BELOW && n) {
            fputc('\n', file);
            at = 0;
        } else {
            start = end + (is_left && !was_left ? 2 : 1);
        }
        int first = is_left || blanks < 0 ? start : start + blanks;
        if (n)
            at = first + (fprintf(file, "%*s%s", first - at, "", word), n);
        end = start + width > at ? start + width : at;
        was_left = is_left;
    }
    fputc('\n', file);
}

/* Returns the item behind the table and the rows behind its end. */
static size_t put_table(struct page *page, size_t table)
{
    const struct view *view = page->view;
    enum view_style style = view->item[table].style;
    size_t end = view_behind(view, table), n = 0, i = table + 1;
    struct columns columns = {.n = 0};
    for (; i < end || (i < view->n && view->item[i].kind == VIEW_ROW_OF); i = view_behind(view, i))
        if (view->item[i].kind == VIEW_ROW_OF && view->item[i].style != VIEW_HIDDEN)
            measure(view, i, &columns);
    size_t behind = i;
    if (style == VIEW_HIDDEN || columns.n == 0)
        return behind;
    if (!page->title && style != VIEW_BARE)
        page->title = view->item[table].fact.text;
    begin(page);
    if (style == VIEW_PLAIN && columns.has_heads)
        put_row(page->file, view, table + 1 < end - 1 ? table + 1 : end, &columns, true);
    for (i = table + 1; i < end - 1; i = view_behind(view, i))
        if (n++ < MOST_ROWS)
            put_row(page->file, view, i, &columns, false);
    if (n > MOST_ROWS)
        fprintf(page->file, "  and %zu more (--json has all)\n", n - MOST_ROWS);
    for (i = end; i < behind; i = view_behind(view, i))
        if (view->item[i].style != VIEW_HIDDEN)
            put_row(page->file, view, i, &columns, false);
    return behind;
}

static bool is_known(const struct fact *fact)
{
    return fact->kind == FACT_WORD ? fact->word != NULL : !isnan(fact->value);
}

/* The known ones of consecutive facts; returns the item behind them. */
static size_t put_facts(struct page *page, size_t i)
{
    char text[VALUE_SIZE];
    const char *before = "  ";
    for (; page->view->item[i].kind == VIEW_FACT; i++) {
        const struct fact *fact = &page->view->item[i].fact;
        if (!is_shown(&page->view->item[i]) || !is_known(fact))
            continue;
        begin(page);
        fputs(before, page->file);
        if (fact->kind <= FACT_COUNT)
            fprintf(page->file, fact_is_whole(fact) ? "%.0f" : "%.3g", fact->value);
        else
            fputs(value_of(fact, text), page->file);
        fprintf(page->file, " %s%s%s", fact->unit ? fact->unit : "", fact->unit ? " of " : "",
                fact->text);
        before = ", ";
    }
    if (*before == ',')
        fputc('\n', page->file);
    return i;
}

static void put_listed(struct page *page, size_t group)
{
    const struct view *view = page->view;
    char text[VALUE_SIZE];
    size_t end = view_behind(view, group) - 1;
    int width = LEAST_LISTED;
    for (size_t i = group + 1; i < end; i = view_behind(view, i))
        if (is_shown(&view->item[i]) && is_known(&view->item[i].fact))
            width = wider(width, view->item[i].fact.text);
    for (size_t i = group + 1; i < end; i = view_behind(view, i)) {
        const struct fact *fact = &view->item[i].fact;
        if (!is_shown(&view->item[i]) || !is_known(fact))
            continue;
        begin(page);
        fprintf(page->file, view->item[group].fact.text ? "  %-*s  %s\n" : "%-*s %s\n", width,
                fact->text, value_of(fact, text));
    }
}

/* Returns the item behind. */
static size_t put(struct page *page, size_t i)
{
    const struct view_item *item = &page->view->item[i];
    const char *outer = page->title, *own = item->fact.text ? item->fact.text : outer;
    size_t behind = view_behind(page->view, i);
    if (item->kind == VIEW_TABLE)
        return put_table(page, i);
    if (item->kind == VIEW_FACT)
        return put_facts(page, i);
    if (item->kind == VIEW_SAY) {
        begin(page);
        fputs(item->fact.word, page->file);
    }
    if (item->kind != VIEW_GROUP || item->style == VIEW_HIDDEN)
        return behind;
    page->title = own;
    if (item->style == VIEW_LISTED)
        put_listed(page, i);
    else
        for (i++; i < behind - 1;)
            i = put(page, i);
    page->title = page->title == own ? outer : NULL;
    return behind;
}

void view_text(const struct view *view, FILE *file)
{
    struct page page = {.view = view, .file = file};
    for (size_t i = 0; i < view->n;)
        i = put(&page, i);
}
