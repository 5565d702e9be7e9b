/* Formulas of an SBML file as expressions of model text, with as few parentheses as the grammar
 * needs; and the definitions of what they name: functions, initial values, rates.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sbml/translation.h"

#include "base/words.h"
#include "model/text/token.h"

#include <math.h>
#include <string.h>

#define fault(writer, ...) \
    document_fault((writer)->translation->document, (writer)->about->line, \
        item_words[(writer)->about->kind], \
                   (writer)->about->id, __VA_ARGS__)

static void open_if(const struct writer *writer, bool is_needed)
{
    fputs(is_needed ? "(" : "", writer->out);
}
static void close_if(const struct writer *writer, bool is_needed)
{
    fputs(is_needed ? ")" : "", writer->out);
}

void write_number(FILE *out, double value, enum level level)
{
    char text[NUMBER_SIZE];
    if (isnan(value))
        fputs("log(-1)", out); /* the graph of a model folds no number that is not finite */
    else if (isinf(value))
        fputs(level > LEVEL_SUM ? (value > 0 ? "(1/0)" : "(-1/0)")
              : value > 0       ? "1/0"
                                : "-1/0",
              out);
    else
        fprintf(out, value < 0 && level > LEVEL_SUM ? "(%s)" : "%s", number_text(text, value));
}

/* Operands between signs, which bind at `own`. */
static void write_infix(const struct writer *writer, const struct math *math, const char *sign,
                        enum level own, enum level outer)
{
    open_if(writer, outer > own);
    for (uint32_t k = 0; k < math->n; k++) {
        fputs(k ? sign : "", writer->out);
        write_math(writer, math->operand[k], k ? (enum level)(own + 1) : own);
    }
    close_if(writer, outer > own);
}

static void write_sum(const struct writer *writer, const struct math *math, enum level outer)
{
    open_if(writer, outer > LEVEL_SUM);
    for (uint32_t k = 0; k < math->n; k++) {
        const struct math *at = math->operand[k];
        bool is_negative = k && ((at->kind == MATH_MINUS && at->n == 1) ||
                                 (at->kind == MATH_NUMBER && at->value < 0));
        fputs(is_negative ? " - " : k ? " + " : "", writer->out);
        if (is_negative && at->kind == MATH_NUMBER)
            write_number(writer->out, -at->value, LEVEL_PRODUCT);
        else
            write_math(writer, is_negative ? at->operand[0] : at, k ? LEVEL_PRODUCT : LEVEL_SUM);
    }
    close_if(writer, outer > LEVEL_SUM);
}

static void write_call(const struct writer *writer, const char *name, const struct math *math,
                       enum level level)
{
    fprintf(writer->out, "%s(", name);
    for (uint32_t k = 0; k < math->n; k++) {
        fputs(k ? ", " : "", writer->out);
        write_math(writer, math->operand[k], level);
    }
    fputs(")", writer->out);
}

/* a == b as a >= b and a <= b; a != b as a > b or a < b. */
static void write_equality(const struct writer *writer, const struct math *math)
{
    bool is_equal = math->text[0] == '=';
    for (uint32_t k = 0; k + 1 < math->n; k++)
        for (int side = 0; side < 2; side++) {
            fputs(k == 0 && side == 0 ? "(" : is_equal ? " and " : " or ", writer->out);
            write_math(writer, math->operand[k], LEVEL_SUM);
            fputs(side ? is_equal ? " <= " : " < " : is_equal ? " >= " : " > ", writer->out);
            write_math(writer, math->operand[k + 1], LEVEL_SUM);
        }
    fputs(")", writer->out);
}

/* a < b < c as (a < b and b < c). */
static void write_comparison(const struct writer *writer, const struct math *math, enum level outer)
{
    bool is_equality = math->text[0] == '=' || math->text[0] == '!';
    if (writer->is_trigger && is_equality && !is_time_test(writer->translation->document, math)) {
        write_equality(writer, math);
        return;
    }
    enum level own = math->n > 2 ? LEVEL_AND : LEVEL_COMPARE;
    open_if(writer, outer > own);
    for (uint32_t k = 0; k + 1 < math->n; k++) {
        fputs(k ? " and " : "", writer->out);
        write_math(writer, math->operand[k], LEVEL_SUM);
        fprintf(writer->out, " %s ", math->text);
        write_math(writer, math->operand[k + 1], LEVEL_SUM);
    }
    close_if(writer, outer > own);
}

static void write_piecewise(const struct writer *writer, const struct math *math, enum level outer)
{
    if (math->n == 1) { /* otherwise alone */
        write_math(writer, math->operand[0], outer);
        return;
    }
    if (math->n == 0) {
        write_number(writer->out, NAN, outer);
        return;
    }
    bool is_if = math->n == 3;
    fputs(is_if ? "if(" : "piecewise(", writer->out);
    for (uint32_t k = 0; k < math->n; k++) {
        fputs(k ? ", " : "", writer->out);
        write_math(writer, math->operand[is_if && k < 2 ? 1 - k : k], LEVEL_ANY);
    }
    /* without a value for otherwise it has none */
    fputs(math->n % 2 ? ")" : ", log(-1))", writer->out);
}

/* Functions that model text lacks, defined in it where they are used. */
static const struct { const char *name, *arguments, *body;
} helpers[] = {
    {"xor", "a, b", "(a or b) and not (a and b)"},
    {"quotient", "a, b", "if a/b < 0 then ceil(a/b) else floor(a/b)"},
    {"rem", "a, b", "a - b*(if a/b < 0 then ceil(a/b) else floor(a/b))"},
    {"odd_root", "a, n", "if a < 0 then -((-a)^(1/n)) else a^(1/n)"},
    {"factorial", "n", "exp(lgamma(n + 1))"},
};

static void write_helper(const struct writer *writer, const struct math *math, enum level outer)
{
    struct translation *translation = writer->translation;
    size_t i = 0;
    while (strcmp(helpers[i].name, math->text))
        i++;
    struct helper_use *use = &translation->helper[i];
    if (math->n == 1 && !strcmp(math->text, "factorial") && math->operand[0]->kind == MATH_NUMBER) {
        write_number(writer->out, tgamma(math->operand[0]->value + 1), outer);
        return;
    }
    if (math->n < 2 && !strcmp(math->text, "xor")) {
        if (math->n)
            write_math(writer, math->operand[0], outer);
        else
            fputs("0", writer->out);
        return;
    }
    if (!use->name && !(use->name = new_name(translation, helpers[i].name)))
        return;
    if (use->pass != translation->pass) {
        struct line line;
        use->pass = translation->pass;
        struct writer definition = begin_line(translation, &line, writer->about);
        fprintf(definition.out, "function %s(%s) = %s", use->name, helpers[i].arguments,
                helpers[i].body);
        end_line(translation, &line, SECTION_FUNCTIONS, "");
    }
    for (uint32_t k = 2; k < math->n; k++) /* xor of several */
        fprintf(writer->out, "%s(", use->name);
    const struct math first = {.n = math->n < 2 ? math->n : 2, .operand = math->operand};
    write_call(writer, use->name, &first, LEVEL_ANY);
    for (uint32_t k = 2; k < math->n; k++) {
        fputs(", ", writer->out);
        write_math(writer, math->operand[k], LEVEL_ANY);
        fputs(")", writer->out);
    }
}

static void write_name(const struct writer *writer, const struct math *math)
{
    struct translation *translation = writer->translation;
    struct item *found =
        (struct item *)find_in_scope(translation->document, writer->scope, math->text);
    if (!found) {
        fault(writer, "its formula contains `%.100s`, which is not defined", math->text);
        return;
    }
    if (found->kind == ITEM_FUNCTION || found->kind == ITEM_EVENT) {
        fault(writer,
              found->kind == ITEM_EVENT ? "its formula uses the event `%.100s` as a value"
                                        : "its formula uses the function `%.100s` as a value",
              math->text);
        return;
    }
    found->is_wanted = true;
    const char *name =
        writer->is_initial && found->name ? initial_text(translation, found) : found->name;
    fputs(name ? name : found->id, writer->out); /* arguments have no other name */
}

static void write_avogadro(const struct writer *writer)
{
    struct translation *translation = writer->translation;
    if (!translation->avogadro && !(translation->avogadro = new_name(translation, "avogadro")))
        return;
    if (translation->avogadro_pass != translation->pass) {
        struct line line;
        translation->avogadro_pass = translation->pass;
        struct writer definition = begin_line(translation, &line, writer->about);
        /* SBML's, 2006 CODATA */
        fprintf(definition.out, "constant %s = 6.02214179e23", translation->avogadro);
        end_line(translation, &line, SECTION_CONSTANTS, "");
    }
    fputs(translation->avogadro, writer->out);
}

/* The definition of a function, once a pass. */
static void want_function(struct translation *translation, struct item *item)
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

static void write_user_call(const struct writer *writer, const struct math *math)
{
    struct item *function = document_find(writer->translation->document, math->text);
    if (!function || function->kind != ITEM_FUNCTION || !function->rule) {
        fault(writer, "its formula calls `%.100s`, which is no function with a body", math->text);
        return;
    }
    if (function->n_inner != math->n) {
        fault(writer,
              "its formula calls `%.100s` with another number of arguments than its definition has",
              math->text);
        return;
    }
    want_function(writer->translation, function);
    if (math->n)
        write_call(writer, function->name, math, LEVEL_ANY);
    else
        fputs(function->name, writer->out);
}

static void write_rate_symbol(const struct writer *writer, const struct math *math,
                              enum level outer)
{
    const struct math *of = math->operand[0];
    struct document *document = writer->translation->document;
    struct item *item = of->kind == MATH_NAME
                            ? (struct item *)find_in_scope(document, writer->scope, of->text)
                            : NULL;
    if (!item || !item->name || item->kind == ITEM_REACTION || item->kind == ITEM_FUNCTION ||
        item->kind == ITEM_EVENT)
        fault(writer, "its formula uses rateOf with something that is no quantity");
    else if (item->form == FORM_RULE)
        fault(writer,
              "its formula uses the rateOf of `%.100s`, which an assignment rule determines",
              item->id);
    else if (item->form < FORM_RULE)
        fputs("0", writer->out);
    else {
        open_if(writer, outer > LEVEL_SUM);
        write_rate_of(writer, item);
        close_if(writer, outer > LEVEL_SUM);
    }
}

/* x^(1/n), log(x)/log(b) and their usual cases. */
static void write_root(const struct writer *writer, const struct math *math, enum level outer)
{
    const struct math *of = math->operand[math->n - 1],
                      *by = math->n == 2 ? math->operand[0] : NULL;
    bool is_log = math->kind == MATH_LOG, is_number = !by || by->kind == MATH_NUMBER;
    double base = by ? by->value : is_log ? 10 : 2;
    const char *name = !is_number  ? NULL
                       : is_log    ? (base == 10  ? "log10"
                                      : base == 2 ? "log2"
                                                  : NULL)
                       : base == 2 ? "sqrt"
                       : base == 3 ? "cbrt"
                                   : NULL;
    const struct math call = {.n = 1, .operand = &math->operand[math->n - 1]};
    enum level own = is_log ? LEVEL_PRODUCT : LEVEL_POWER;
    if (name) {
        write_call(writer, name, &call, LEVEL_ANY);
        return;
    }
    open_if(writer, outer > own);
    if (is_log) {
        write_call(writer, "log", &call, LEVEL_ANY);
        fputs("/log(", writer->out);
    } else {
        write_math(writer, of, LEVEL_PRIMARY);
        fputs("^(1/", writer->out);
    }
    write_math(writer, by, is_log ? LEVEL_ANY : LEVEL_POWER);
    fputs(")", writer->out);
    close_if(writer, outer > own);
}

void write_math(const struct writer *writer, const struct math *math, enum level level)
{
    FILE *out = writer->out;
    switch (math->kind) {
    case MATH_NUMBER: write_number(out, math->value, level); break;
    case MATH_NAME: write_name(writer, math); break;
    case MATH_TIME: fputs("t", out); break;
    case MATH_AVOGADRO: write_avogadro(writer); break;
    case MATH_CALL: write_user_call(writer, math); break;
    case MATH_RATE_OF: write_rate_symbol(writer, math, level); break;
    case MATH_DELAY: break; /* is none any more (expand.c) */
    case MATH_COMPARE: write_comparison(writer, math, level); break;
    case MATH_HELPER: write_helper(writer, math, level); break;
    case MATH_PIECEWISE: write_piecewise(writer, math, level); break;
    case MATH_ROOT: case MATH_LOG: write_root(writer, math, level); break;
    case MATH_SUM: case MATH_PRODUCT: case MATH_AND: case MATH_OR:
        if (math->n == 0)
            fputs(math->kind == MATH_SUM || math->kind == MATH_OR ? "0" : "1", out);
        else if (math->n == 1)
            write_math(writer, math->operand[0], level);
        else if (math->kind == MATH_SUM)
            write_sum(writer, math, level);
        else if (math->kind == MATH_PRODUCT)
            write_infix(writer, math, "*", LEVEL_PRODUCT, level);
        else
            write_infix(writer, math, math->kind == MATH_AND ? " and " : " or ",
                        math->kind == MATH_AND ? LEVEL_AND : LEVEL_OR, level);
        break;
    case MATH_MINUS:
        if (math->n == 2)
            write_infix(writer, math, " - ", LEVEL_SUM, level);
        else {
            open_if(writer, level > LEVEL_PRODUCT);
            fputs("-", out);
            write_math(writer, math->operand[0], LEVEL_POWER);
            close_if(writer, level > LEVEL_PRODUCT);
        }
        break;
    case MATH_DIVIDE:
        open_if(writer, level > LEVEL_PRODUCT);
        write_math(writer, math->operand[0], LEVEL_PRODUCT);
        fputs("/", out);
        write_math(writer, math->operand[1], LEVEL_POWER);
        close_if(writer, level > LEVEL_PRODUCT);
        break;
    case MATH_POWER:
        open_if(writer, level > LEVEL_POWER);
        write_math(writer, math->operand[0], LEVEL_PRIMARY);
        fputs("^", out);
        write_math(writer, math->operand[1], LEVEL_PRIMARY);
        close_if(writer, level > LEVEL_POWER);
        break;
    case MATH_NOT:
        open_if(writer, level > LEVEL_NOT);
        fputs("not ", out);
        write_math(writer, math->operand[0], LEVEL_PRIMARY);
        close_if(writer, level > LEVEL_NOT);
        break;
    case MATH_IMPLIES:
        open_if(writer, level > LEVEL_OR);
        fputs("not ", out);
        write_math(writer, math->operand[0], LEVEL_PRIMARY);
        fputs(" or ", out);
        write_math(writer, math->operand[1], LEVEL_AND);
        close_if(writer, level > LEVEL_OR);
        break;
    case MATH_FUNCTION:
        if (math->n == 0)
            fputs(math->text, out); /* pi */
        else if (math->n == 1 && (!strcmp(math->text, "min") || !strcmp(math->text, "max")))
            write_math(writer, math->operand[0], level);
        else
            write_call(writer, math->text, math, LEVEL_ANY);
        break;
    case MATH_OF_ONE:
        open_if(writer, level > LEVEL_PRODUCT);
        for (const char *c = math->text; *c; c++)
            if (*c == '@')
                write_math(writer, math->operand[0], LEVEL_ANY);
            else
                putc(*c, out);
        close_if(writer, level > LEVEL_PRODUCT);
        break;
    }
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

void write_initial(const struct writer *writer, const struct item *item, enum level level)
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

void write_rate(const struct writer *writer, struct item *item)
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
