/* Writes the statements of the model text: parameters, rules, rates, states.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sbml/translation.h"

#include "base/words.h"
#include "model/text/token.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_COLUMNS = 110, COMMENT_MOST = 100, LABEL_MOST = 300 };

struct writer begin_line(struct translation *translation, struct line *line,
                         const struct item *about)
{
    line->text = NULL;
    line->out = open_memstream(&line->text, &line->size);
    if (!line->out)
        document_no_memory(translation->document);
    /* Without memory the text is thrown away; a stream that is closed to none keeps the callers
     * simple. */
    return (struct writer){.translation = translation,
                           .out = line->out ? line->out : stderr,
                           .about = about};
}

/* Text that continues on lines of its own where it is long. Labels, which are in double quotes, are
 * never broken: they have no end on another line. */
static void put_wrapped(FILE *out, const char *text)
{
    size_t column = 0;
    for (const char *at = text; *at;) {
        const char *end = at + 1;
        for (bool is_label = *at == '"'; *end && (is_label || *end != ' '); end++)
            is_label = is_label != (*end == '"');
        size_t n = (size_t)(end - at);
        if (*at == ' ' && column + n > LINE_COLUMNS && text[0] != '#') {
            fputs(" \\\n    ", out);
            column = 4;
            at++;
            n--;
        }
        fwrite(at, 1, n, out);
        column += n;
        at += n;
    }
}

/* What authors call something, as a comment or a label can hold it: at most `most` bytes of
 * characters that can be printed, with `quote` for double quotes. */
static void put_label(FILE *out, const char *text, size_t most, char quote)
{
    size_t n = 0;
    for (const char *at = text, *end = text + strlen(text); *at;) {
        size_t length = message_character(at, end), step = length ? length : 1;
        if ((n += step) > most)
            return;
        if (length && *at != '"' && *at != '\t')
            fwrite(at, 1, length, out);
        else
            putc(*at == '"' ? quote : strchr("\t\r\n", *at) ? ' ' : '?', out);
        at += step;
    }
}

void end_line(struct translation *translation, struct line *line, enum section section,
              const char *comment)
{
    FILE *out = translation->section[section];
    if (!line->out)
        return;
    if (fclose(line->out))
        document_no_memory(translation->document);
    else {
        put_wrapped(out, line->text);
        fputs(*comment ? "  # " : "", out);
        put_label(out, comment, COMMENT_MOST, '"');
        putc('\n', out);
    }
    free(line->text);
}

const char *comment_of(struct translation *translation, const struct item *item)
{
    const char *label = strcmp(item->label, item->id) ? item->label : "";
    if (item->kind == ITEM_LOCAL || !item->id[0] || !strcmp(item->name, item->id))
        return label;
    const char *text =
        document_format(translation->document, label[0] ? "id %s: %s" : "id %s", item->id, label);
    return text ? text : "";
}

void want_function(struct translation *translation, struct item *item)
{
    struct line line;
    if (item->pass == translation->pass)
        return;
    item->pass = translation->pass;
    item->is_wanted = true;
    for (size_t k = 0; k < item->n_inner; k++) {
        /* arguments may hide names, but not reserved words */
        struct item *argument = item->inner[k];
        bool is_reserved =
            token_reserved(argument->id, strlen(argument->id)) || !strcmp(argument->id, "avogadro");
        if (!argument->name)
            argument->name = is_reserved ? new_name(translation, argument->id) : argument->id;
    }
    if (translation->document->failed)
        return;
    struct writer writer = begin_line(translation, &line, item);
    writer.scope = item;
    fputs(item->n_inner ? "function " : "", writer.out);
    fputs(item->name, writer.out);
    for (size_t k = 0; k < item->n_inner; k++)
        fprintf(writer.out, k ? ", %s" : "(%s", item->inner[k]->name);
    fputs(item->n_inner ? ") = " : " = ", writer.out);
    write_math(&writer, item->rule, LEVEL_ANY);
    end_line(translation, &line, SECTION_FUNCTIONS, comment_of(translation, item));
}

static struct writer initially(const struct writer *writer)
{
    struct writer changed = *writer;
    changed.is_initial = true;
    return changed;
}

/* The file's own initial value of a quantity, in the unit of its id. */
static void write_file_initial(const struct writer *writer, const struct item *item,
                               enum level level)
{
    struct writer initial = initially(writer);
    if (item->initial || !converts_initial(item) || item->value == 0) {
        if (item->initial)
            write_math(&initial, item->initial, level);
        else
            write_number(writer->out, item->value, level);
        return;
    }
    fputs(level > LEVEL_PRODUCT ? "(" : "", writer->out);
    write_number(writer->out, item->value, LEVEL_PRODUCT);
    fprintf(writer->out, "%c%s", item->is_amount ? '*' : '/',
            initial_text(writer->translation, item->compartment));
    fputs(level > LEVEL_PRODUCT ? ")" : "", writer->out);
}

static void write_initial(const struct writer *writer, const struct item *item, enum level level)
{
    struct writer initial = initially(writer);
    if (item->form == FORM_RULE || item->kind == ITEM_REACTION) {
        initial.scope = item->kind == ITEM_REACTION ? item : NULL;
        write_math(&initial, item->rule, level);
    } else if (item->is_given_name) {
        fprintf(writer->out, "if(%s, %s, ", item->is_given_name, item->given_name);
        write_file_initial(writer, item, LEVEL_ANY);
        fputs(")", writer->out);
    } else if (item->given_name) {
        fputs(item->given_name, writer->out);
    } else {
        write_file_initial(writer, item, level);
    }
}

const char *initial_text(struct translation *translation, const struct item *which)
{
    struct item *item = (struct item *)which;
    bool is_own = item->given_name && !item->is_given_name; /* a parameter or covariate */
    if (item->kind != ITEM_REACTION && item->form < FORM_RULE)
        return item->name;
    if (!item->initial_name)
        item->initial_name =
            new_name(translation, document_format(translation->document, "%s_0", item->name));
    if (item->initial_pass != translation->pass && !is_own && item->initial_name) {
        struct line line;
        item->initial_pass = translation->pass;
        struct writer writer = begin_line(translation, &line, item);
        fprintf(writer.out, "%s = ", item->initial_name);
        write_initial(&writer, item, LEVEL_ANY);
        end_line(translation, &line, SECTION_INITIALS, "");
    }
    return item->initial_name ? item->initial_name : "";
}

/* A name, at the initial time if the writer is about that. */
static const char *text_of(const struct writer *writer, const struct item *item)
{
    return writer->is_initial ? initial_text(writer->translation, item) : item->name;
}

/* One reaction's share of a species' rate: - factor*stoichiometry*rate. */
static void write_effect(const struct writer *writer, const struct item *species,
                         const struct effect *effect, bool is_first)
{
    struct document *document = writer->translation->document;
    struct item *reference = effect->reference;
    const char *factor =
        species->conversion_factor[0] ? species->conversion_factor : document->conversion_factor;
    bool is_number = reference->form == FORM_NUMBER && !reference->given_name;
    bool is_negative = (effect->sign < 0) != (is_number && reference->value < 0);
    double value = is_number ? fabs(reference->value) : NAN;
    fputs(is_negative ? (is_first ? "-" : " - ") : is_first ? "" : " + ", writer->out);
    if (factor[0]) {
        const struct math name = {.kind = MATH_NAME, .text = factor};
        write_math(writer, &name, LEVEL_PRODUCT);
        fputs("*", writer->out);
    }
    if (is_number && value != 1) {
        write_number(writer->out, value, LEVEL_PRODUCT);
        fputs("*", writer->out);
    } else if (!is_number && !reference->id[0]) { /* stoichiometryMath, which has no name */
        struct writer inner = *writer;
        if (reference->form == FORM_RULE)
            write_math(&inner, reference->rule, LEVEL_SIGN);
        fputs("*", writer->out);
    } else if (!is_number) {
        reference->is_wanted = true;
        fprintf(writer->out, "%s*", text_of(writer, reference));
    }
    fputs(text_of(writer, effect->reaction), writer->out);
}

static void write_rate(const struct writer *writer, struct item *item)
{
    const struct item *compartment =
        item->kind == ITEM_SPECIES && !item->is_amount ? item->compartment : NULL;
    bool is_species = item->kind == ITEM_SPECIES && !item->is_boundary && !item->is_constant;
    if (item->is_rate_rule && item->form == FORM_STATE) {
        write_math(writer, item->rule, LEVEL_ANY);
    } else if (item->is_rate_rule) { /* d(concentration*size)/dt */
        write_math(writer, item->rule, LEVEL_PRODUCT);
        fprintf(writer->out, "*%s", text_of(writer, compartment));
        if (compartment->is_rate_rule) {
            fprintf(writer->out, " + %s*", text_of(writer, item));
            write_rate_of(writer, item->compartment);
        }
    } else if (is_species && item->n_effect) {
        bool is_divided = compartment && item->form == FORM_STATE,
             is_long = is_divided && item->n_effect > 1;
        fputs(is_long ? "(" : "", writer->out);
        for (size_t k = 0; k < item->n_effect; k++)
            write_effect(writer, item, &item->effect[k], k == 0);
        fputs(is_long ? ")" : "", writer->out);
        if (is_divided)
            fprintf(writer->out, "/%s", text_of(writer, compartment));
    } else {
        fputs("0", writer->out);
    }
}

void write_rate_of(const struct writer *writer, struct item *item)
{
    struct translation *translation = writer->translation;
    if (item->form < FORM_STATE) {
        fputs("0", writer->out);
        return;
    }
    bool is_amount = item->form == FORM_AMOUNT;
    fputs(is_amount || writer->is_initial ? "(" : "", writer->out);
    if (writer->is_initial) {
        write_rate(writer, item);
    } else {
        if (!item->rate_name)
            item->rate_name = new_name(translation, document_format(translation->document,
                                                                    "%s_rate", item->state));
        fputs(item->rate_name ? item->rate_name : "", writer->out);
    }
    if (is_amount) {
        if (item->compartment->is_rate_rule) {
            fprintf(writer->out, " - %s*", text_of(writer, item));
            write_rate_of(writer, item->compartment);
        } else if (item->compartment->form == FORM_RULE)
            document_fault(translation->document, item->line, "species", item->id,
                           "its rateOf is used, but an assignment rule determines the size of its "
                           "compartment");
        fprintf(writer->out, ")/%s", text_of(writer, item->compartment));
    } else if (writer->is_initial) {
        fputs(")", writer->out);
    }
}

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
