/* The reserved words of model text and the functions among them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/text/token.h"

#include <string.h>

/* In the order of strcmp, to be searched by halves. */
static const struct reserved table[] = {
#define OPERATION(name, op) {name, WORD_OPERATION, GRAPH_##op}
    OPERATION("abs", ABS), OPERATION("acos", ACOS), OPERATION("acosh", ACOSH), {"and", WORD_AND, 0},
    OPERATION("asin", ASIN), OPERATION("asinh", ASINH), OPERATION("atan", ATAN), OPERATION("atan2", ATAN2),
    OPERATION("atanh", ATANH), OPERATION("cbrt", CBRT), OPERATION("ceil", CEIL), {"const", WORD_CONSTANT, 0},
    {"constant", WORD_CONSTANT, 0}, OPERATION("cos", COS), OPERATION("cosh", COSH), {"covariate", WORD_COVARIATE, 0},
    {"else", WORD_ELSE, 0}, OPERATION("erf", ERF), OPERATION("erfc", ERFC), OPERATION("exp", EXP),
    OPERATION("expm1", EXPM1), OPERATION("floor", FLOOR), {"from", WORD_FROM, 0}, {"function", WORD_FUNCTION, 0},
    OPERATION("heaviside", HEAVISIDE), {"if", WORD_IF, 0}, {"in", WORD_IN, 0}, {"inf", WORD_INF, 0},
    {"init", WORD_INIT, 0}, {"lin", WORD_LIN, 0}, OPERATION("ln", LOG), OPERATION("log", LOG),
    OPERATION("log10", LOG10), OPERATION("log1p", LOG1P), OPERATION("log2", LOG2), {"max", WORD_MAX, 0},
    {"min", WORD_MIN, 0}, {"model", WORD_MODEL, 0}, {"not", WORD_NOT, 0}, {"observe", WORD_OBSERVE, 0},
    {"or", WORD_OR, 0}, {"par", WORD_PARAMETER, 0}, {"parameter", WORD_PARAMETER, 0}, {"pi", WORD_PI, 0},
    {"piecewise", WORD_PIECEWISE, 0}, OPERATION("pow", POWER), {"prior", WORD_PRIOR, 0}, {"scale", WORD_SCALE, 0},
    {"sd", WORD_SD, 0},
    OPERATION("sign", SIGN), OPERATION("sin", SIN), OPERATION("sinh", SINH), OPERATION("sqrt", SQRT),
    {"t", WORD_TIME, 0},
    OPERATION("tan", TAN), OPERATION("tanh", TANH), {"then", WORD_THEN, 0}, {"time", WORD_TIME_STATEMENT, 0},
    {"unit", WORD_UNIT, 0},
#undef OPERATION
};

enum { N_WORD = sizeof table / sizeof *table, LONGEST = 9 };

const struct reserved *token_reserved(const char *name, size_t length)
{
    if (length > LONGEST)
        return NULL;
    size_t low = 0, high = N_WORD;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strncmp(table[middle].name, name, length);
        if (order == 0)
            order = table[middle].name[length] != '\0';
        if (order == 0)
            return &table[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const struct reserved *token_reserved_at(size_t index)
{
    return index < N_WORD ? &table[index] : NULL;
}

bool token_is_function(const struct reserved *word)
{
    return word && word->word >= WORD_PIECEWISE;
}

void token_arity(const struct reserved *function, uint32_t *fewest, uint32_t *most)
{
    switch (function->word) {
    case WORD_OPERATION:
        *fewest = *most = (uint32_t)graph_n_argument(function->op);
        return;
    case WORD_IF:
        *fewest = *most = 3;
        return;
    case WORD_PIECEWISE:
        *fewest = 3;
        *most = UINT32_MAX;
        return;
    default:
        *fewest = 2;
        *most = UINT32_MAX;
    }
}
