/* The translation as a whole, and the table of names that it leaves.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sbml/expand.h"
#include "sbml/document.h"
#include "sbml/translation.h"

#include "base/words.h"
#include "model/text/text.h"
#include "model/text/token.h"

#include <stdlib.h>
#include <string.h>

void sbml_model_fini(struct sbml_model *model)
{
    for (size_t i = 0; i < model->n_name; i++) {
        char *const owned[] = {model->names[i].id,      model->names[i].name,
                               model->names[i].initial, model->names[i].is_given,
                               model->names[i].state,   model->names[i].factor};
        for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
            free(owned[k]);
    }
    for (size_t i = 0; i < model->n_note; i++)
        free(model->note[i]);
    free(model->names);
    free(model->note);
    free(model->text);
    free(model->name);
    *model = (struct sbml_model){.text = NULL};
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct sbml_name *)a)->id, ((const struct sbml_name *)b)->id);
}

const struct sbml_name *sbml_find(const struct sbml_model *model, const char *id)
{
    const struct sbml_name key = {.id = (char *)id};
    return model->n_name ? bsearch(&key, model->names, model->n_name, sizeof key, compare_names)
                         : NULL;
}

/* A copy of a text, or NULL for none; *complete becomes false when memory is out. */
static char *copy(const char *text, bool *complete)
{
    char *copied = text ? strdup(text) : NULL;
    *complete = *complete && (!text || copied);
    return copied;
}

static enum sbml_kind kind_of(const struct item *item)
{
    return item->kind == ITEM_FUNCTION ? SBML_IS_FUNCTION
           : item->kind == ITEM_EVENT  ? SBML_IS_EVENT
           : item->kind == ITEM_REACTION || item->form == FORM_RULE || item->form == FORM_AMOUNT
               ? SBML_IS_INTERMEDIATE
           : item->form == FORM_STATE                      ? SBML_IS_STATE
           : item->form == FORM_FIXED || !item->given_name ? SBML_IS_CONSTANT
           : item->role == SBML_AS_PARAMETER               ? SBML_IS_PARAMETER
                                                           : SBML_IS_COVARIATE;
}

/* The number in the file in the unit of the id. */
static double value_of(const struct item *item)
{
    double value = item->kind == ITEM_REACTION || item->initial || item->form == FORM_RULE
                       ? __builtin_nan("")
                       : item->value;
    const struct item *in = item->compartment;
    if (!converts_initial(item))
        return value;
    double size = in->initial || in->form == FORM_RULE ? __builtin_nan("") : in->value;
    return item->is_amount ? value * size : value / size;
}

static bool add_name(struct sbml_model *model, struct document *document, const struct item *item,
                     const char *id)
{
    bool complete = true;
    model->names[model->n_name++] =
        (struct sbml_name){.id = copy(id, &complete),
                           .name = copy(item->name, &complete), .kind = kind_of(item),
                           .value = value_of(item), .initial = copy(item->given_name, &complete),
                           .is_given = copy(item->is_given_name, &complete),
                           .state = copy(item->state, &complete),
                           .factor =
                               copy(item->form == FORM_AMOUNT ? item->compartment->name : NULL,
                                    &complete),
                           .line = item->line};
    return complete || (document_no_memory(document), false);
}

static enum status make_table(struct sbml_model *model, struct document *document)
{
    bool complete = true;
    model->names = calloc(document->n_item + 1, sizeof *model->names);
    if (!model->names)
        return document_no_memory(document);
    for (size_t i = 0; i < document->n_item && complete; i++) {
        const struct item *item = document->item[i];
        bool is_there =
            item->id[0] && item->kind != ITEM_LOCAL &&
            !((item->kind == ITEM_FUNCTION || item->kind == ITEM_REFERENCE) && !item->is_wanted);
        if (is_there)
            complete = add_name(model, document, item, item->id);
        for (size_t k = 0; k < item->n_inner && item->kind == ITEM_REACTION && complete; k++) {
            const char *id = document_format(document, "%s.%s", item->id, item->inner[k]->id);
            complete = id && add_name(model, document, item->inner[k], id);
        }
    }
    if (!complete)
        return document->error->status;
    qsort(model->names, model->n_name, sizeof *model->names, compare_names);
    const char *name = document->label[0] ? document->label : document->id;
    model->name = name[0] ? copy(name, &complete) : NULL;
    model->note = document->note;
    model->n_note = document->n_note;
    document->note = NULL;
    document->n_note = 0;
    return complete ? STATUS_OK : document_no_memory(document);
}

enum status sbml_translate(struct sbml_model *model, const char *path,
                           const struct sbml_options *options, struct error *error)
{
    struct document document = {.file = words_file(path), .outputs = options->outputs,
                                .error = error};
    struct translation translation = {.document = &document, .options = options};
    *model = (struct sbml_model){.text = NULL};
    enum status status = document_read(&document, path);
    if (!status)
        status = expand_formulas(&document);
    if (!status)
        status = solve_equations(&document);
    if (!status)
        status = decide(&translation);
    if (!status)
        status = write_text(&translation, &model->text);
    if (!status)
        status = make_table(model, &document);
    names_fini(&translation);
    document_fini(&document);
    if (status)
        sbml_model_fini(model);
    return status;
}

/* The name that the statement in this line of the text (from 1) defines. */
static struct span defined_name(const char *text, uint32_t line)
{
    struct source source = {.text = text, .n_byte = (uint32_t)strlen(text)};
    struct lexer lexer;
    struct token token;
    struct span name = {0, 0};
    token_begin(&lexer, &source, NULL);
    for (bool begins = true;
         token_next(&lexer, &token), token.kind != TOKEN_END && token.line <= line;) {
        bool is_event = token.length == 5 && !memcmp(text + token.offset, "event", 5);
        if (begins && token.kind == TOKEN_NAME && !token.reserved && !is_event) {
            name = token.span;
            begins = false;
        }
        begins = begins || token.kind == TOKEN_BREAK;
    }
    return name;
}

/* What the text says in this line is about this id of the file; NULL: about none. */
static const struct sbml_name *find_line(const struct sbml_model *model, const char *text,
                                         uint32_t line, struct span *defined)
{
    *defined = defined_name(text, line);
    for (size_t i = 0; i < model->n_name; i++) {
        const struct sbml_name *at = &model->names[i];
        const char *const own[] = {at->name, at->state, at->initial, at->is_given};
        for (size_t k = 0; k < sizeof own / sizeof *own; k++)
            if (own[k] && strlen(own[k]) == defined->length
                && !memcmp(own[k], text + defined->offset, defined->length))
                return at;
    }
    return NULL;
}

enum status sbml_parse(const struct sbml_model *model, const char *text, const char *path,
                       struct equations **equations, struct error *error)
{
    struct text_messages messages = {.n_message = 0};
    const struct text_message *first = NULL;
    char more[40] = "";
    enum status status = text_parse(text, strlen(text), path, equations, &messages, error);
    for (size_t i = 0; i < messages.n_message && status == STATUS_BAD_MODEL && !first; i++)
        first = messages.message[i].is_error ? &messages.message[i] : NULL;
    if (messages.n_error > 1)
        snprintf(more, sizeof more, " (and %zu more fault%s)", messages.n_error - 1,
                 messages.n_error > 2 ? "s" : "");
    if (first) {
        struct span name = {0, 0};
        const struct sbml_name *at =
            first->line ? find_line(model, text, first->line, &name) : NULL;
        if (at)
            error_set(error, status, "%.300s:%u: `%.300s`: %s%s", path, at->line, at->id,
                      first->text, more);
        else if (name.length)
            error_set(error, status, "%.300s: `%.*s`: %s%s", path,
                      name.length < 300 ? (int)name.length : 300, text + name.offset, first->text,
                      more);
        else
            error_set(error, status, "%.300s: %s%s", path, first->text, more);
    }
    text_messages_fini(&messages);
    return status;
}
