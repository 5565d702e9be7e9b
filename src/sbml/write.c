/* Writes the statements of the model text: parameters, rules, rates, states.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sbml/translation.h"

#include "base/words.h"

#include <math.h>
#include <stdlib.h>

enum { LABEL_MOST = 300 };

static void write_state(struct translation *translation, struct item *item, const char *comment)
{
    struct line line;
    struct writer writer = begin_line(translation, &line, item);
    bool is_amount = item->form == FORM_AMOUNT;
    fprintf(writer.out, "%s(0) = ", item->state);
    bool is_number = is_amount && item->value_is_amount && !item->initial && !item->given_name;
    if (is_number)
        write_number(writer.out, item->value, LEVEL_ANY);
    else if (item->initial_name)
        fputs(item->initial_name, writer.out);
    else
        write_initial(&writer, item, is_amount ? LEVEL_PRODUCT : LEVEL_ANY);
    if (is_amount && !is_number)
        fprintf(writer.out, "*%s", initial_text(translation, item->compartment));
    end_line(translation, &line, SECTION_STATES, is_amount ? "" : comment);
    if (item->rate_name) {
        writer = begin_line(translation, &line, item);
        fprintf(writer.out, "%s = ", item->rate_name);
        write_rate(&writer, item);
        end_line(translation, &line, SECTION_STATES, "");
    }
    writer = begin_line(translation, &line, item);
    fprintf(writer.out, "%s' = ", item->state);
    if (item->rate_name)
        fputs(item->rate_name, writer.out);
    else
        write_rate(&writer, item);
    end_line(translation, &line, SECTION_STATES, "");
    if (is_amount) {
        writer = begin_line(translation, &line, item);
        fprintf(writer.out, "%s = %s/%s", item->name, item->state, item->compartment->name);
        end_line(translation, &line, SECTION_STATES, comment);
    }
}

/* A parameter that nobody has asked for and nothing uses would only be a direction in which no fit
 * can move. */
static bool is_idle(const struct translation *translation, const struct item *item)
{
    return translation->n_used && item->given_name && item->form == FORM_NUMBER &&
           !item->request->id && !item->is_wanted;
}

static void write_given(struct translation *translation, const struct item *item,
                        const char *comment)
{
    struct line line;
    struct writer writer = begin_line(translation, &line, item);
    bool is_parameter = item->role == SBML_AS_PARAMETER;
    fputs(is_idle(translation, item) ? "# nothing uses it: " : "", writer.out);
    fprintf(writer.out, "%s %s", is_parameter ? "parameter" : "covariate", item->given_name);
    if (item->request->attributes)
        fprintf(writer.out, " %s", item->request->attributes);
    else if (is_parameter) {
        fputs(" = ", writer.out);
        write_number(writer.out, isfinite(item->value) ? item->value : 1, LEVEL_ANY);
    }
    end_line(translation, &line, SECTION_PARAMETERS, comment);
    if (item->is_given_name) {
        writer = begin_line(translation, &line, item);
        fprintf(writer.out, "covariate %s", item->is_given_name);
        end_line(translation, &line, SECTION_PARAMETERS, "");
    }
}

static void write_quantity(struct translation *translation, struct item *item)
{
    struct line line;
    bool is_needed = item->kind != ITEM_REFERENCE || item->is_wanted || item->request;
    /* has none */
    bool is_size = item->kind == ITEM_COMPARTMENT && item->is_amount && isnan(item->value) &&
                   !item->given_name;
    const char *comment = comment_of(translation, item);
    if (!is_needed || (is_size && item->form == FORM_NUMBER))
        return;
    if (item->given_name)
        write_given(translation, item, item->form == FORM_NUMBER ? comment : "");
    if (item->form == FORM_NUMBER && item->given_name)
        return;
    if (item->form >= FORM_STATE) {
        write_state(translation, item, comment);
        return;
    }
    struct writer writer = begin_line(translation, &line, item);
    bool is_constant = item->form == FORM_NUMBER && isfinite(item->value);
    fprintf(writer.out, "%s%s = ", is_constant ? "constant " : "", item->name);
    if (item->form == FORM_RULE)
        write_math(&writer, item->rule, LEVEL_ANY);
    else
        write_initial(&writer, item, LEVEL_ANY);
    end_line(translation, &line, item->form == FORM_RULE ? SECTION_RULES : SECTION_CONSTANTS,
             comment);
}

/* All species that vary, otherwise all that varies, otherwise anything. */
static void write_observables(struct translation *translation)
{
    const struct document *document = translation->document;
    const struct item *any = NULL;
    struct line line;
    struct writer writer = begin_line(translation, &line, NULL);
    size_t n = 0;
    for (int kind = 0; kind < 2 && !n; kind++)
        for (size_t i = 0; i < document->n_item; i++) {
            const struct item *item = document->item[i];
            bool is_quantity = item->kind <= ITEM_REFERENCE && item->id[0];
            bool varies = item->kind == ITEM_REACTION || (is_quantity && item->form >= FORM_RULE);
            if (varies && (kind || item->kind == ITEM_SPECIES))
                fprintf(writer.out, n++ ? ", %s" : "observe %s", item->name);
            if (item->kind <= ITEM_SPECIES && item->name && !is_idle(translation, item))
                any = item;
        }
    if (!n)
        fprintf(writer.out, "observe %s = %s", new_name(translation, "observable"),
                any ? any->name : "t");
    end_line(translation, &line, SECTION_OBSERVABLES, "");
}

static void write_head(struct translation *translation)
{
    struct document *document = translation->document;
    const char *name = new_name(translation, document->id[0] ? document->id : "model_of_sbml");
    struct line line;
    struct writer writer = begin_line(translation, &line, NULL);
    fprintf(writer.out, document->label[0] ? "model %s \"" : "model %s", name ? name : "");
    put_label(writer.out, document->label, LABEL_MOST, '\'');
    fputs(document->label[0] ? "\"" : "", writer.out);
    end_line(translation, &line, SECTION_HEAD, "");
}

static void write_all(struct translation *translation)
{
    const struct document *document = translation->document;
    for (size_t i = 0; i < document->n_item && translation->pass > 1; i++) {
        const struct item *item = document->item[i];
        translation->n_used +=
            item->role == SBML_AS_PARAMETER && (item->is_wanted || item->form != FORM_NUMBER);
    }
    if (translation->pass > 1)
        write_head(translation);
    if (translation->pass > 1 && translation->without_parameter)
        fprintf(translation->section[SECTION_PARAMETERS],
                "parameter %s = 0  # the file has none, but a model needs one\n",
                new_name(translation, "no_parameter"));
    for (size_t i = 0; i < document->n_item; i++) {
        struct item *item = document->item[i];
        struct line line;
        if (item->kind == ITEM_EVENT) {
            write_event(translation, item);
        } else if (item->kind == ITEM_REACTION) {
            struct writer writer = begin_line(translation, &line, item);
            writer.scope = item;
            fprintf(writer.out, "%s = ", item->name);
            write_math(&writer, item->rule, LEVEL_ANY);
            end_line(translation, &line, SECTION_REACTIONS, comment_of(translation, item));
        } else if (item->kind != ITEM_FUNCTION && (item->id[0] || item->form != FORM_RULE)) {
            write_quantity(translation, item);
        }
    }
    if (translation->pass > 1 && !translation->options->without_observables)
        write_observables(translation);
}

static const char *const section_comments[N_SECTION] = {
    [SECTION_FUNCTIONS] = "Functions",
    [SECTION_RULES] = "Assignment rules",
    [SECTION_REACTIONS] = "Rates of reactions",
    [SECTION_INITIALS] = "Values at the initial time",
    [SECTION_STATES] = "States",
    [SECTION_EVENTS] = "Events"};

enum status write_text(struct translation *translation, char **text)
{
    struct document *document = translation->document;
    char *part[N_SECTION] = {NULL};
    size_t size[N_SECTION], n_byte;
    FILE *out = NULL;
    for (translation->pass = 1; translation->pass <= 2 && !document->failed; translation->pass++) {
        for (size_t i = 0; i < N_SECTION; i++) {
            free(part[i]);
            part[i] = NULL;
            if (!(translation->section[i] = open_memstream(&part[i], &size[i])))
                document_no_memory(document);
        }
        if (!document->failed)
            write_all(translation);
        for (size_t i = 0; i < N_SECTION; i++)
            if (translation->section[i] && fclose(translation->section[i]))
                document_no_memory(document);
    }
    if (!document->failed && !(out = open_memstream(text, &n_byte)))
        document_no_memory(document);
    if (out) {
        fputs("# From ", out);
        put_label(out, words_file(document->file), LABEL_MOST, '"');
        fprintf(out, ", SBML Level %u Version %u.\n", document->level, document->version);
        for (size_t i = 0; i < N_SECTION; i++)
            if (size[i]) {
                fputs(i > SECTION_HEAD ? "\n" : "", out);
                if (section_comments[i])
                    fprintf(out, "# %s\n", section_comments[i]);
                fputs(part[i], out);
            }
        if (fclose(out))
            document_no_memory(document);
    }
    for (size_t i = 0; i < N_SECTION; i++)
        free(part[i]);
    return document->failed ? document->error->status : STATUS_OK;
}
