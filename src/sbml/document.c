/* What was read of an SBML file: finding things by their ids, reporting faults, releasing.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sbml/document.h"

#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const item_words[] =
    {[ITEM_PARAMETER] = "parameter",         [ITEM_LOCAL] = "local parameter",
     [ITEM_COMPARTMENT] = "compartment",     [ITEM_SPECIES] = "species",
     [ITEM_REFERENCE] = "species reference", [ITEM_REACTION] = "reaction",
     [ITEM_FUNCTION] = "function",           [ITEM_EVENT] = "event"};

static int compare_ids(const void *a, const void *b)
{
    return strcmp(((const struct item *)a)->id, ((const struct item *)b)->id);
}

struct item *document_find(const struct document *document, const char *id)
{
    const struct item key = {.id = id};
    struct item *const *found = tfind(&key, &document->by_id, compare_ids);
    return found ? *found : NULL;
}

enum status document_add(struct document *document, struct item *item)
{
    if (!array_grow(&document->item, document->n_item, &document->room, sizeof *document->item))
        return document_no_memory(document);
    document->item[document->n_item++] = item;
    if (item->kind == ITEM_LOCAL || !item->id[0])
        return STATUS_OK;
    struct item *const *kept = tsearch(item, &document->by_id, compare_ids);
    if (!kept)
        return document_no_memory(document);
    if (*kept != item)
        return document_fault(document, item->line, item_words[item->kind], item->id,
                              "the id is also that of the %s in line %u", item_words[(*kept)->kind],
                              (*kept)->line);
    return STATUS_OK;
}

/* Appends "FILE:LINE: WHAT `ID`: " and the formatted text. */
static void compose(const struct document *document, char *text, size_t size, unsigned line,
                    const char *what, const char *id, const char *format, va_list arguments)
{
    int n = snprintf(text, size, line ? "%.200s:%u: " : "%.200s: ", document->file, line);
    bool has_id = id && id[0];
    n += snprintf(text + n, size - (size_t)n,
                  has_id    ? "%.40s `%.100s`: "
                  : what[0] ? "%.40s: "
                            : "%.40s",
                  what, has_id ? id : "");
    vsnprintf(text + n, size - (size_t)n, format, arguments);
}

enum status document_fault(struct document *document, unsigned line, const char *what,
                           const char *id, const char *format, ...)
{
    if (!document->failed) {
        char text[1500];
        va_list arguments;
        va_start(arguments, format);
        compose(document, text, sizeof text, line, what, id, format, arguments);
        va_end(arguments);
        document->failed = true;
        error_set(document->error, STATUS_BAD_MODEL, "%s", text);
    }
    return document->error->status;
}

enum status document_no_memory(struct document *document)
{
    if (!document->failed)
        error_set(document->error, STATUS_NO_MEMORY, "%.200s: out of memory", document->file);
    document->failed = true;
    return document->error->status;
}

void document_note(struct document *document, const struct item *about, const char *format, ...)
{
    char text[1000];
    va_list arguments;
    va_start(arguments, format);
    compose(document, text, sizeof text, about->line, item_words[about->kind], about->id, format,
            arguments);
    va_end(arguments);
    char *copy = strdup(text);
    if (copy && array_grow(&document->note, document->n_note, &document->note_room,
                           sizeof *document->note)) {
        document->note[document->n_note++] = copy;
        return;
    }
    free(copy);
    document_no_memory(document);
}

char *document_format(struct document *document, const char *format, ...)
{
    char *text = NULL, *copy = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) >= 0) {
        copy = arena_strdup(&document->arena, text);
        free(text);
    }
    va_end(arguments);
    if (!copy)
        document_no_memory(document);
    return copy;
}

static void keep(void *item) { (void)item; }

void document_fini(struct document *document)
{
    tdestroy(document->by_id, keep);
    for (size_t i = 0; i < document->n_item; i++)
        free(document->item[i]->effect);
    for (size_t i = 0; i < document->n_note; i++)
        free(document->note[i]);
    free(document->note);
    free(document->equation);
    free(document->item);
    arena_fini(&document->arena);
}
