/* Puts views together, and prints them as JSON.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/view.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

void view_fini(struct view *view)
{
    free(view->item);
    arena_fini(&view->arena);
    *view = (struct view){.n = 0};
}

void view_clear(struct view *view)
{
    view->n = 0;
    arena_reset(&view->arena);
}

static void add(struct view *view, enum view_kind kind, enum view_style style, struct fact fact)
{
    if (!view->failed && array_grow(&view->item, view->n, &view->room, sizeof *view->item))
        view->item[view->n++] = (struct view_item){kind, style, fact};
    else
        view->failed = true;
}

void view_group(struct view *view, const char *key, const char *title, enum view_style style)
{
    add(view, VIEW_GROUP, style, (struct fact){key, title, .n = 0});
}

void view_table(struct view *view, const char *key, const char *title, enum view_style style)
{
    add(view, VIEW_TABLE, style, (struct fact){key, title, .n = 0});
}

void view_row(struct view *view, const char *key, enum view_style style)
{
    add(view, VIEW_ROW_OF, style, (struct fact){key, .n = 0});
}

void view_end(struct view *view) { add(view, VIEW_END, VIEW_PLAIN, (struct fact){.n = 0}); }

void view_facts(struct view *view, const struct fact *fact, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add(view, VIEW_FACT, VIEW_PLAIN, fact[i]);
}

void view_counts(struct view *view, const char *key, const char *(*name)(int number), int first,
                 int n, const uint64_t *count)
{
    view_group(view, key, NULL, VIEW_HIDDEN);
    for (int i = first; i < n; i++)
        if (name(i))
            VIEW_FACTS(view, fact_count(name(i), NULL, 0, count[i]));
    view_end(view);
}

static const char *compose(struct view *view, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = n < 0 ? NULL : arena_alloc(&view->arena, (size_t)n + 1);
    if (!text) {
        view->failed = true;
        return "";
    }
    vsnprintf(text, (size_t)n + 1, format, arguments);
    return text;
}

const char *view_word(struct view *view, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = compose(view, format, arguments);
    va_end(arguments);
    return text;
}

void view_say(struct view *view, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(view, VIEW_SAY, VIEW_PLAIN, (struct fact){.word = compose(view, format, arguments)});
    va_end(arguments);
}

static void put_list(struct json *json, const char *key, const double *number, size_t n)
{
    json_array_begin(json, key);
    for (size_t i = 0; i < n; i++)
        json_number(json, NULL, number[i]);
    json_array_end(json);
}

static void put_fact(struct json *json, const struct fact *fact)
{
    switch (fact->kind) {
    case FACT_NUMBER: json_number(json, fact->key, fact->value); break;
    case FACT_COUNT:
        if (isnan(fact->value))
            json_null(json, fact->key);
        else
            json_integer(json, fact->key, (int64_t)fact->value);
        break;
    case FACT_TRUTH: json_boolean(json, fact->key, fact->value > 0); break;
    case FACT_WORD: json_string(json, fact->key, fact->word); break;
    case FACT_DIGITS: json_unsigned(json, fact->key, strtoull(fact->word, NULL, 10)); break;
    case FACT_NAMES:
    case FACT_EXAMPLES: json_strings(json, fact->key, fact->names, fact->n); break;
    case FACT_BINS:
        json_array_begin(json, fact->key);
        for (size_t i = 0; i < fact->n; i++)
            json_unsigned(json, NULL, fact->bins[i]);
        json_array_end(json);
        break;
    case FACT_LIST: put_list(json, fact->key, fact->matrix, fact->n); break;
    case FACT_MATRIX:
        json_array_begin(json, fact->key);
        for (size_t c = 0; c < fact->n; c++)
            put_list(json, NULL, fact->matrix + c * fact->n, fact->n);
        json_array_end(json);
        break;
    }
}

static bool has_key(const struct view *view, size_t row)
{
    bool found = false;
    for (size_t i = row + 1; view->item[i].kind != VIEW_END; i = view_behind(view, i))
        found = found || view->item[i].fact.key;
    return found;
}

/* Returns the item behind. */
static size_t put(const struct view *view, size_t i, struct json *json)
{
    const struct view_item *item = &view->item[i];
    const char *key = item->fact.key;
    bool is_object = item->kind == VIEW_GROUP && key;
    switch (item->kind) {
    case VIEW_SAY:
    case VIEW_END: return i + 1;
    case VIEW_FACT:
        if (key)
            put_fact(json, &item->fact);
        return i + 1;
    case VIEW_ROW_OF: is_object = has_key(view, i); break;
    case VIEW_TABLE:
    case VIEW_GROUP: break;
    }
    if ((item->kind == VIEW_TABLE && !key) || (item->kind == VIEW_ROW_OF && !is_object))
        return view_behind(view, i);
    if (is_object)
        json_object_begin(json, key);
    else if (item->kind == VIEW_TABLE)
        json_array_begin(json, key);
    for (i++; view->item[i].kind != VIEW_END;)
        i = put(view, i, json);
    if (is_object)
        json_object_end(json);
    else if (item->kind == VIEW_TABLE)
        json_array_end(json);
    return i + 1;
}

void view_json(const struct view *view, struct json *json)
{
    for (size_t i = 0; i < view->n;)
        i = put(view, i, json);
}

enum status view_put(const struct view *view, bool is_json, FILE *file, struct error *error)
{
    struct json json;
    if (view->failed)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for what is to be shown");
    if (!is_json) {
        view_text(view, file);
        return STATUS_OK;
    }
    json_begin(&json, file);
    json_object_begin(&json, NULL);
    view_json(view, &json);
    json_end(&json);
    return STATUS_OK;
}
