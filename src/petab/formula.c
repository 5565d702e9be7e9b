/* The words of PEtab's formulas, and their faults.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "petab/formula.h"

#include <math.h>

/* Time is an ordinary name, as a table may call something else so. */
static const struct reserved words[] = {
#define INVERSE(name, op) {name, WORD_INVERSE, GRAPH_##op, 0}
#define OF_INVERSE(name, op) {name, WORD_OF_INVERSE, GRAPH_##op, 0}
    {"False", WORD_NUMBER, 0, 0},
    {"True", WORD_NUMBER, 0, 1},
    RESERVED_OPERATION("abs", ABS),
    RESERVED_OPERATION("arccos", ACOS),
    RESERVED_OPERATION("arccosh", ACOSH),
    OF_INVERSE("arccot", ATAN),
    OF_INVERSE("arccoth", ATANH),
    OF_INVERSE("arccsc", ASIN),
    OF_INVERSE("arccsch", ASINH),
    OF_INVERSE("arcsec", ACOS),
    OF_INVERSE("arcsech", ACOSH),
    RESERVED_OPERATION("arcsin", ASIN),
    RESERVED_OPERATION("arcsinh", ASINH),
    RESERVED_OPERATION("arctan", ATAN),
    RESERVED_OPERATION("arctanh", ATANH),
    RESERVED_OPERATION("cos", COS),
    RESERVED_OPERATION("cosh", COSH),
    INVERSE("cot", TAN),
    INVERSE("coth", TANH),
    INVERSE("csc", SIN),
    INVERSE("csch", SINH),
    RESERVED_OPERATION("exp", EXP),
    {"false", WORD_NUMBER, 0, 0},
    {"inf", WORD_NUMBER, 0, INFINITY},
    RESERVED_OPERATION("ln", LOG),
    {"log", WORD_LOGARITHM, GRAPH_LOG, 0},
    RESERVED_OPERATION("log10", LOG10),
    RESERVED_OPERATION("log2", LOG2),
    {"max", WORD_FOLD, GRAPH_MAX, 0},
    {"min", WORD_FOLD, GRAPH_MIN, 0},
    {"piecewise", WORD_PIECEWISE, GRAPH_SELECT, 0},
    RESERVED_OPERATION("pow", POWER),
    INVERSE("sec", COS),
    INVERSE("sech", COSH),
    RESERVED_OPERATION("sign", SIGN),
    RESERVED_OPERATION("sin", SIN),
    RESERVED_OPERATION("sinh", SINH),
    RESERVED_OPERATION("sqrt", SQRT),
    RESERVED_OPERATION("tan", TAN),
    RESERVED_OPERATION("tanh", TANH),
    {"true", WORD_NUMBER, 0, 1},
#undef INVERSE
#undef OF_INVERSE
};

/* `&&` and `||` bind equally there, and `!` as a sign. */
static const struct dialect petab = {.name = "PEtab",
                                     .words = words,
                                     .n_word = sizeof words / sizeof *words,
                                     .has_chains = true,
                                     .or = BIND_AND,
                                     .not = BIND_SIGN};

_Noreturn static void no_memory(struct petab_reader *reader)
{
    petab_leave(reader, STATUS_NO_MEMORY, "out of memory for a formula of the PEtab problem");
}

const struct postfix *petab_formula(struct petab_reader *reader, struct petab_place place,
                                    const char *text)
{
    struct postfix *formula = petab_alloc(reader, 1, sizeof *formula);
    if (!reader->formulas && !(reader->formulas = postfix_reader_new(&petab)))
        no_memory(reader);
    enum status status = postfix_read(reader->formulas, &reader->arena, text, formula);
    if (status == STATUS_OK)
        return formula;
    if (status == STATUS_NO_MEMORY)
        no_memory(reader);
    const struct text_messages *messages = postfix_messages(reader->formulas);
    for (size_t i = 0; i < messages->n_message; i++)
        petab_fault(reader, place, "character %u of '%.200s': %s",
                    (unsigned)messages->message[i].column, text, messages->message[i].text);
    return NULL;
}

struct putting {
    struct petab_text *out;
    const char *(*name_of)(void *context, const char *name);
    void *context;
};

static void put(void *context, const char *text)
{
    petab_put(((struct putting *)context)->out, "%s", text);
}

static const char *name_of(void *context, const char *name)
{
    const struct putting *putting = context;
    return putting->name_of(putting->context, name);
}

void petab_formula_put(struct petab_text *out, const struct postfix *formula,
                       const char *(*name_of_formula)(void *context, const char *name),
                       void *context)
{
    struct putting putting = {out, name_of_formula, context};
    const struct postfix_writer writer = {name_of, put, &putting};
    if (!postfix_write(formula, &writer, &out->reader->arena))
        no_memory(out->reader);
}
