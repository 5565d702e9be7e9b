/* Decides what each quantity of an SBML file becomes in model text: number, parameter,
 * expression or state, and its name there.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sbml/translation.h"

#include "model/text/token.h"

#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME_MOST = TOKEN_MAX_NAME,
    NAME_ROOM = 12
}; /* the second is for what makes a name unique */

static int compare_texts(const void *a, const void *b) { return strcmp(a, b); }
static void keep(void *text) { (void)text; }
void names_fini(struct translation *translation) { tdestroy(translation->names, keep); }

static bool is_free(const struct translation *translation, const char *name)
{
    return !token_reserved(name, strlen(name)) && !tfind(name, &translation->names, compare_texts);
}

const char *new_name(struct translation *translation, const char *wanted)
{
    struct document *document = translation->document;
    if (!wanted)
        return NULL; /* a fault already */
    char *name =
        document_format(document, "%.*s",
                        strlen(wanted) <= NAME_MOST ? NAME_MOST : NAME_MOST - NAME_ROOM, wanted);
    char trial[NAME_MOST + 1];
    bool is_changed = false;
    for (unsigned k = 1; name && !is_free(translation, is_changed ? trial : name);
         k++, is_changed = true)
        snprintf(trial, sizeof trial, k == 1 ? "%.*s_" : "%.*s_%u", NAME_MOST - NAME_ROOM, wanted,
                 k);
    if (is_changed)
        name = document_format(document, "%s", trial);
    if (name && !tsearch(name, &translation->names, compare_texts)) {
        document_no_memory(document);
        return NULL;
    }
    return name;
}

const struct item *find_in_scope(const struct document *document, const struct item *scope,
                                 const char *id)
{
    for (size_t k = 0; scope && k < scope->n_inner; k++)
        if (!strcmp(scope->inner[k]->id, id))
            return scope->inner[k];
    return scope && scope->kind == ITEM_FUNCTION ? NULL : document_find(document, id);
}

static bool is_quantity(const struct item *item)
{
    return item->kind != ITEM_REACTION && item->kind != ITEM_FUNCTION && item->kind != ITEM_EVENT;
}

static bool has_rule(const struct item *item) { return item->rule && !item->is_rate_rule; }

/* The item that a caller calls ID or REACTION.ID. */
static struct item *find_requested(const struct document *document, const char *id)
{
    const char *dot = strchr(id, '.');
    struct item *found = document_find(document, id);
    if (dot)
        for (size_t i = 0; i < document->n_item; i++) {
            const struct item *at = document->item[i];
            if (at->kind == ITEM_REACTION && strlen(at->id) == (size_t)(dot - id) &&
                !strncmp(at->id, id, (size_t)(dot - id)))
                for (size_t k = 0; k < at->n_inner; k++)
                    if (!strcmp(at->inner[k]->id, dot + 1))
                        found = at->inner[k];
        }
    return found && is_quantity(found) ? found : NULL;
}

static enum status take_requests(struct translation *translation)
{
    struct document *document = translation->document;
    for (size_t i = 0; i < translation->options->n_request; i++) {
        const struct sbml_request *request = &translation->options->request[i];
        struct item *item = find_requested(document, request->id);
        if (!item) {
            document->failed = true;
            return error_set(document->error, STATUS_BAD_PROBLEM,
                             "%.200s has no parameter, compartment or species `%.100s`",
                             document->file, request->id);
        }
        if (has_rule(item) && request->role != SBML_AS_IS)
            return document_fault(document, item->line, item_words[item->kind], item->id,
                                  "an assignment rule determines it, so that it can be given no "
                                  "other value");
        item->request = request;
        item->role = request->role == SBML_AS_STATE ? SBML_AS_IS : request->role;
    }
    return STATUS_OK;
}

/* Searches what an initial value depends on, for circles and for the time. */
static enum status search_initial(struct document *document, struct item *item);

static enum status search_math(struct document *document, const struct math *math,
                               const struct item *scope, bool *has_time)
{
    enum status status = STATUS_OK;
    *has_time |= math->kind == MATH_TIME;
    if (math->kind == MATH_NAME) {
        struct item *found = (struct item *)find_in_scope(document, scope, math->text);
        if (found && found->kind != ITEM_FUNCTION && found->kind != ITEM_EVENT) {
            status = search_initial(document, found);
            *has_time |= found->initial_has_time;
        }
    }
    for (uint32_t k = 0; k < math->n && !status; k++)
        status = search_math(document, math->operand[k], scope, has_time);
    return status;
}

static bool is_given(const struct item *item)
{
    return item->role != SBML_AS_IS && !item->request->or_file;
}

static enum status search_initial(struct document *document, struct item *item)
{
    enum { NEW, OPEN, DONE };
    if (item->mark == DONE || is_given(item))
        return STATUS_OK;
    if (item->mark == OPEN)
        return document_fault(document, item->line, item_words[item->kind], item->id,
                              "its %s depends on itself",
                              has_rule(item) ? "rule" : "initial value");
    item->mark = OPEN;
    const struct math *math = has_rule(item) ? item->rule : item->initial;
    enum status status = STATUS_OK;
    if (math)
        status = search_math(document, math, item->kind == ITEM_REACTION ? item : NULL,
                             &item->initial_has_time);
    else if (converts_initial(item)) {
        status = search_initial(document, item->compartment);
        item->initial_has_time |= item->compartment->initial_has_time;
    }
    item->mark = DONE;
    return status;
}

/* What has no value in the file; numbers that are as good as certain are taken, with a note. */
static enum status check_value(struct translation *translation, struct item *item)
{
    struct document *document = translation->document;
    bool is_needed = is_quantity(item) && isnan(item->value) && !item->initial && !has_rule(item) &&
                     !is_given(item) && !(item->kind == ITEM_COMPARTMENT && item->is_amount);
    if (!is_needed)
        return STATUS_OK;
    if (item->is_nan && !item->is_rate_rule && !item->is_assigned &&
        translation->options->constants == SBML_AS_PARAMETER) {
        document_note(document, item, "its value is NaN and stays so: give it one in the text, or "
                      "make it a parameter with --estimate");
        return document->failed ? document->error->status : STATUS_OK;
    }
    if (item->kind == ITEM_COMPARTMENT || item->kind == ITEM_SPECIES) {
        item->value = item->kind == ITEM_COMPARTMENT;
        document_note(document, item, "it has no %s: %g is taken",
                      item->value ? "size" : "initial value", item->value);
        return document->failed ? document->error->status : STATUS_OK;
    }
    return document_fault(document, item->line, item_words[item->kind], item->id, "it has no %s",
                          item->kind == ITEM_REFERENCE ? "stoichiometry" : "value");
}

static bool is_changing(const struct item *item)
{
    bool is_in_reactions =
        item->kind == ITEM_SPECIES && item->n_effect && !item->is_boundary && !item->is_constant;
    return is_in_reactions || item->is_rate_rule || item->is_assigned ||
           (item->request && (item->request->role == SBML_AS_STATE || item->request->is_changed));
}

static enum status choose_form(struct document *document, struct item *item)
{
    if (item->kind == ITEM_SPECIES && item->rule && item->n_effect && !item->is_boundary &&
        !item->is_constant)
        return document_fault(document, item->line, "species", item->id,
                              "both a rule and reactions change it");
    if (item->kind == ITEM_SPECIES && item->n_effect && item->is_constant && !item->is_boundary)
        return document_fault(document, item->line, "species", item->id,
                              "it is constant, but reactions change it (no boundaryCondition)");
    if (has_rule(item) && item->initial)
        return document_fault(document, item->line, item_words[item->kind], item->id,
                              "both a rule and an initial assignment determine it");
    if (has_rule(item) && item->is_assigned)
        return document_fault(document, item->line, item_words[item->kind], item->id,
                              "both a rule and an event determine it");
    const struct item *compartment =
        item->kind == ITEM_SPECIES && !item->is_amount ? item->compartment : NULL;
    bool changes = is_changing(item);
    /* A stoichiometry that varies is a quantity of its own, also where no species follows it
     * (boundaryCondition). */
    item->is_wanted = item->is_wanted ||
                      (item->kind == ITEM_REFERENCE && item->id[0] && (changes || has_rule(item)));
    if (has_rule(item))
        item->form = FORM_RULE;
    else if (compartment && compartment->form >= FORM_RULE &&
             !(item->is_rate_rule && compartment->form == FORM_RULE))
        item->form = FORM_AMOUNT;
    else if (changes || (item->initial_has_time && !is_given(item)))
        item->form = FORM_STATE;
    else if (item->role != SBML_AS_IS)
        item->form = is_given(item) ? FORM_NUMBER : FORM_FIXED;
    else
        item->form = item->initial || converts_initial(item) ? FORM_FIXED : FORM_NUMBER;
    return STATUS_OK;
}

/* The names of what belongs to a quantity. */
static void choose_more_names(struct translation *translation, struct item *item)
{
    struct document *document = translation->document;
    if (item->form == FORM_AMOUNT || item->form == FORM_STATE)
        item->state =
            item->form == FORM_STATE
                ? item->name
                : new_name(translation, document_format(document, "%s_amount", item->name));
    if (item->role == SBML_AS_IS)
        return;
    const char *given =
        item->form == FORM_NUMBER
            ? item->name
            : new_name(translation,
                       document_format(document, is_given(item) ? "%s_0" : "%s_init", item->name));
    item->given_name = given;
    if (is_given(item) && item->form != FORM_NUMBER)
        item->initial_name = given;
    if (!is_given(item))
        item->is_given_name =
            new_name(translation, document_format(document, "%s_is_given", item->name));
}

/* Ids of the file first, so that they stay what they are. */
static enum status choose_names(struct translation *translation)
{
    struct document *document = translation->document;
    size_t n_unnamed[2] = {0}; /* events, references */
    for (int named = 1; named >= 0; named--)
        for (size_t i = 0; i < document->n_item && !document->failed; i++) {
            struct item *item = document->item[i];
            if (item->kind == ITEM_LOCAL || (item->id[0] != '\0') != named)
                continue;
            const char *word = item->kind == ITEM_EVENT ? "event" : "stoichiometry";
            size_t number = named ? 0 : ++n_unnamed[item->kind != ITEM_EVENT];
            item->name = new_name(translation, named         ? item->id
                                               : number == 1 ? word
                                                             : document_format(document, "%s_%zu",
                                                                               word, number));
        }
    for (size_t i = 0; i < document->n_item && !document->failed; i++) {
        const struct item *item = document->item[i];
        for (size_t k = 0; k < item->n_inner && item->kind == ITEM_REACTION && !document->failed;
             k++)
            item->inner[k]->name =
                new_name(translation,
                         document_format(document, "%s_%s", item->name, item->inner[k]->id));
    }
    for (size_t i = 0; i < document->n_item && !document->failed; i++)
        if (is_quantity(document->item[i]))
            choose_more_names(translation, document->item[i]);
    return document->failed ? document->error->status : STATUS_OK;
}

/* A model needs a parameter: the first initial value that is a number, if the file has no
 * constant. False: there is none. */
static bool find_parameter(struct document *document)
{
    static const struct sbml_request as_parameter = {.role = SBML_AS_PARAMETER};
    struct item *first = NULL;
    for (size_t i = document->n_item; i-- > 0;) {
        struct item *item = document->item[i];
        if (item->role == SBML_AS_PARAMETER)
            return true;
        if (is_quantity(item) && !item->rule && !item->initial && !item->request &&
            item->kind != ITEM_REFERENCE && !converts_initial(item) && !isinf(item->value) &&
            !item->is_nan && (!first || item->kind == ITEM_SPECIES || first->kind != ITEM_SPECIES))
            first = item;
    }
    if (first) {
        first->role = SBML_AS_PARAMETER;
        first->request = &as_parameter;
    }
    return first;
}

enum status decide(struct translation *translation)
{
    struct document *document = translation->document;
    const struct sbml_options *options = translation->options;
    enum status status = take_requests(translation);
    for (size_t i = 0; i < options->n_taken && !status; i++)
        if (!tsearch(options->taken[i], &translation->names, compare_texts))
            status = document_no_memory(document);
    static const struct sbml_request plain[] = {{.role = SBML_AS_IS},
                                                {.role = SBML_AS_PARAMETER},
                                                {.role = SBML_AS_COVARIATE}};
    for (size_t i = 0; i < document->n_item && !status; i++) {
        struct item *item = document->item[i];
        if (!item->request && !item->initial && !item->rule && !item->is_assigned &&
            options->constants != SBML_AS_STATE &&
            (item->kind == ITEM_PARAMETER || item->kind == ITEM_LOCAL) && !isinf(item->value) &&
            !(item->is_nan && options->constants == SBML_AS_PARAMETER)) {
            item->role = options->constants;
            item->request = item->role == SBML_AS_IS ? NULL : &plain[item->role];
            if (item->request && isnan(item->value))
                document_note(document, item, "it has no value: 1 is taken");
        }
        status = check_value(translation, item);
    }
    if (!status && options->constants == SBML_AS_PARAMETER)
        translation->without_parameter = !find_parameter(document);
    for (size_t i = 0; i < document->n_item && !status; i++)
        if (document->item[i]->kind != ITEM_FUNCTION && document->item[i]->kind != ITEM_EVENT)
            status = search_initial(document, document->item[i]);
    for (size_t i = 0; i < document->n_item && !status; i++) /* compartments come before species */
        if (is_quantity(document->item[i]))
            status = choose_form(document, document->item[i]);
    return status ? status : choose_names(translation);
}
