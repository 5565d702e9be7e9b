/* What a command has to say, as a value: facts, rows of facts, and sentences, put together once in
 * the order in which people read them, and printed as text, as JSON and as tables of a page.
 * A new number is one fact, where its row or group is put together.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/facts.h"
#include "base/json.h"

enum view_style {
    VIEW_PLAIN,    /* a table has heads; facts of a group are joined to a line, "3 fits, 0.1 s" */
    VIEW_HEADLESS, /* a table without heads in text */
    VIEW_BARE,     /* and without a title in text */
    VIEW_LISTED,   /* a group with a line for each fact, its text before its value */
    VIEW_HIDDEN    /* for JSON alone */
};

/* Zero-initialise. Texts that are passed in are not copied. */
struct view {
    struct arena arena;
    struct view_item *item;
    size_t n, room;
    bool failed; /* memory was out: the view must not be printed */
};
void view_fini(struct view *view);
/* Empties it: its memory serves the next row of a long table. */
void view_clear(struct view *view);

/* A group is an object in JSON; without a key its members are those of the group around it. A table
 * is an array of rows, which are objects; without a key it is not in JSON, and neither is a row
 * none of whose facts has a key. All need view_end. A title is a line above what text has of it, ""
 * an empty line; that of a group replaces the title of a table at its beginning. Pages have that of
 * a table or of facts as its caption. NULL: none. */
void view_group(struct view *view, const char *key, const char *title, enum view_style style);
void view_table(struct view *view, const char *key, const char *title, enum view_style style);
/* A row of the open table. Behind a table's end, with a key: in text and pages one more row of the
 * table, in JSON an object of its own. */
void view_row(struct view *view, const char *key, enum view_style style);
void view_end(struct view *view);
void view_facts(struct view *view, const struct fact *fact, size_t n);
#define VIEW_FACTS(view, ...) \
    view_facts(view, (const struct fact[]){__VA_ARGS__}, \
               sizeof((const struct fact[]){__VA_ARGS__}) / sizeof(struct fact))
/* A whole row of the open table. */
#define VIEW_ROW(view, ...) \
    do { \
        view_row(view, NULL, VIEW_PLAIN); \
        VIEW_FACTS(view, __VA_ARGS__); \
        view_end(view); \
    } while (0)
/* An object of counts: of the numbers from `first` to n - 1, by their names; those that have none
 * are left out. */
void view_counts(struct view *view, const char *key, const char *(*name)(int number), int first,
                 int n, const uint64_t *count);
/* Text as it stands, for people who read text. */
void view_say(struct view *view, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A text that lives as long as the view; "" when memory is out. */
const char *view_word(struct view *view, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As text, or as one object. */
enum status view_put(const struct view *view, bool is_json, FILE *file, struct error *error);
/* The printers. Into the open object: */
void view_json(const struct view *view, struct json *json);
/* Of a table at most 100 rows; a row of a table behind its end is not counted. */
void view_text(const struct view *view, FILE *file);
/* Tables and groups of facts as tables of HTML. */
void view_page(const struct view *view, FILE *file);
/* Text with the characters that HTML has its own meaning for written as entities. */
void view_escape(FILE *file, const char *text);

/* For printers. */
enum view_kind { VIEW_GROUP, VIEW_TABLE, VIEW_ROW_OF, VIEW_FACT, VIEW_SAY, VIEW_END };
struct view_item {
    enum view_kind kind;
    enum view_style style;
    struct fact fact; /* of a group, table or row: its key, and its title as text; of VIEW_SAY the
                       * text as its word */
};
/* The item behind the whole of item i. */
static inline size_t view_behind(const struct view *view, size_t i)
{
    int depth = 0;
    do {
        enum view_kind kind = view->item[i++].kind;
        depth += kind == VIEW_GROUP || kind == VIEW_TABLE || kind == VIEW_ROW_OF;
        depth -= kind == VIEW_END;
    } while (depth > 0);
    return i;
}
