/* Formulas of an SBML file as expressions of model text, with as few parentheses as the grammar
 * needs.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sbml/translation.h"

#include "base/words.h"

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

static bool is_time_test(const struct document *document, const struct math *math);

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

static void write_rate(const struct writer *writer, const struct math *math, enum level outer)
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
    case MATH_RATE_OF: write_rate(writer, math, level); break;
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

/* Whether a formula does not vary or, `jumps`, changes only by events. */
static bool is_fixed(const struct document *document, const struct math *math, bool jumps)
{
    const struct item *item = math->kind == MATH_NAME ? document_find(document, math->text) : NULL;
    bool is_flag = item && jumps && item->form == FORM_STATE && !item->is_rate_rule
                   && (item->n_effect == 0 || item->is_boundary);
    bool fixed = math->kind != MATH_TIME && math->kind != MATH_RATE_OF && math->kind != MATH_CALL
                 && (math->kind != MATH_NAME || is_flag
                     || (item && item->kind <= ITEM_REFERENCE && item->form <= FORM_FIXED));
    for (uint32_t k = 0; k < math->n && fixed; k++)
        fixed = is_fixed(document, math->operand[k], jumps);
    return fixed;
}

/* How a formula depends on time: its slope's sign if it is linear in time and does not vary
 * otherwise; NAN: in another way. */
static double sign_in_time(const struct document *document, const struct math *math);

/* Of an assignment rule, once: rules of rules would cost a power of two. */
static double sign_of_rule(const struct document *document, struct item *item)
{
    enum { UNKNOWN, OTHER, NONE = 10 }; /* NONE + sign */
    if (item->time_sign == UNKNOWN) {
        double sign = sign_in_time(document, item->rule);
        item->time_sign = isnan(sign) ? OTHER : (uint8_t)(NONE + sign);
    }
    return item->time_sign == OTHER ? NAN : item->time_sign - NONE;
}

static double sign_in_time(const struct document *document, const struct math *math)
{
    struct item *item = math->kind == MATH_NAME ? document_find(document, math->text) : NULL;
    if (math->kind == MATH_TIME)
        return 1;
    if (is_fixed(document, math, false))
        return 0;
    if (item && item->form == FORM_RULE && item->rule)
        return sign_of_rule(document, item);
    double sum = 0, factor = 1;
    bool varies = math->n == 0 || math->kind == MATH_RATE_OF || math->kind == MATH_CALL;
    for (uint32_t k = 0; k < math->n; k++) {
        const struct math *at = math->operand[k];
        double part = sign_in_time(document, at);
        bool is_number = at->kind == MATH_NUMBER,
             is_less = math->kind == MATH_MINUS && (k > 0 || math->n == 1);
        varies = varies || part != 0;
        part = is_less ? -part : part;
        sum = sum * part < 0 ? NAN : sum + part;
        factor = math->kind == MATH_DIVIDE && k == 1 && !is_number
                     ? NAN
                     : factor * (is_number ? copysign(1, at->value) : part);
    }
    if (!varies) /* of rules that do not */
        return 0;
    if (math->kind == MATH_SUM || math->kind == MATH_MINUS)
        return sum > 0 ? 1 : sum < 0 ? -1 : sum;
    bool is_product = math->kind == MATH_PRODUCT || math->kind == MATH_DIVIDE;
    return is_product && factor != 0 ? factor : NAN;
}

/* The sign in time of the difference of two sides, NAN if it is no test of time. */
static double sign_of_sides(const struct document *document, const struct math *math, uint32_t k)
{
    double a = sign_in_time(document, math->operand[k]),
           b = sign_in_time(document, math->operand[k + 1]);
    return a * b > 0 || a == b ? NAN : a - b;
}

/* `time == X` with an X that does not vary, or something like it: the integrator stops there. */
static bool is_time_test(const struct document *document, const struct math *math)
{
    return math->kind == MATH_COMPARE && math->n == 2 && !isnan(sign_of_sides(document, math, 0));
}

/* Whether the formula needs equality to be seen of what moves: the integrator steps over it. */
static bool has_equality(const struct document *document, const struct math *math)
{
    bool found = math->kind == MATH_COMPARE && (math->text[0] == '=' || math->text[0] == '!')
                 && !is_fixed(document, math, true) && !is_time_test(document, math);
    for (uint32_t k = 0; k < math->n && !found; k++)
        found = has_equality(document, math->operand[k]);
    return found;
}

/* How comparisons can make a trigger true: where both sides are equal, or only beyond; those of
 * time, and others. */
enum { AT_TIME = 1, BEYOND_TIME = 2, AT_VALUE = 4, BEYOND_VALUE = 8 };

static unsigned ways_of(const struct document *document, const struct math *math, bool rises);

static unsigned ways_of_comparison(const struct document *document, const struct math *math,
                                   bool rises)
{
    bool is_equality = math->text[0] == '=' || math->text[0] == '!';
    bool holds_at = is_equality ? math->text[0] == '=' : math->text[1] == '=';
    unsigned ways = 0;
    for (uint32_t k = 0; k + 1 < math->n; k++) {
        double sign = sign_of_sides(document, math, k);
        /* the difference grows as this happens */
        bool wants_more = (math->text[0] == '>') == rises;
        if (!isnan(sign) && !is_equality && (sign > 0) != wants_more)
            continue;
        ways |= holds_at == rises ? (isnan(sign) ? AT_VALUE : AT_TIME)
                                  : (isnan(sign) ? BEYOND_VALUE : BEYOND_TIME);
    }
    return ways;
}

static unsigned ways_of(const struct document *document, const struct math *math, bool rises)
{
    const struct item *function =
        math->kind == MATH_CALL ? document_find(document, math->text) : NULL;
    unsigned ways = 0;
    switch (math->kind) {
    case MATH_COMPARE: return ways_of_comparison(document, math, rises);
    case MATH_NOT: return ways_of(document, math->operand[0], !rises);
    case MATH_CALL:
        return function && function->rule ? ways_of(document, function->rule, rises) : 0;
    case MATH_IMPLIES:
        return ways_of(document, math->operand[0], !rises) |
               ways_of(document, math->operand[1], rises);
    case MATH_AND: case MATH_OR: case MATH_PIECEWISE: case MATH_HELPER:
        for (uint32_t k = 0; k < math->n; k++) {
            ways |= ways_of(document, math->operand[k], rises);
            if (math->kind == MATH_HELPER) /* xor */
                ways |= ways_of(document, math->operand[k], !rises);
        }
        return ways;
    default: return 0;
    }
}

bool is_strict(const struct writer *writer, const struct item *event)
{
    unsigned ways = ways_of(writer->translation->document, event->rule, true);
    unsigned decisive = ways & (AT_TIME | BEYOND_TIME) ? ways & (AT_TIME | BEYOND_TIME) : ways;
    return decisive && !(decisive & (AT_TIME | AT_VALUE));
}

void write_trigger(const struct writer *writer, const struct item *event)
{
    const struct math *math = event->rule;
    struct writer trigger = *writer;
    trigger.is_trigger = true;
    if (math->kind == MATH_NUMBER) { /* true at the initial time, and only then new; or never */
        fputs(math->value != 0 ? "t > -1e300" : "0", writer->out);
    } else if (math->kind == MATH_NAME) { /* a number that is not 0 is true */
        write_math(writer, math, LEVEL_SUM);
        fputs(" > 0 or ", writer->out);
        write_math(writer, math, LEVEL_SUM);
        fputs(" < 0", writer->out);
    } else if (has_equality(writer->translation->document, math)) {
        fault(writer, "its trigger tests for equality, which holds at single points; write a "
                      "comparison with < or > (only times"
                      " that do not vary can be met, as in time == 1)");
    } else {
        write_math(&trigger, math, LEVEL_ANY);
    }
}
