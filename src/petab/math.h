/* PEtab's math expressions (the grammar of PEtab 2.0): parses them, computes those without
 * symbols, and writes them as model text.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "petab/reader.h"

struct petab_function;

enum petab_math_kind { MATH_NUMBER, MATH_SYMBOL, MATH_CALL };

struct petab_math {
    enum petab_math_kind kind;
    double number;
    const char *symbol;
    const struct petab_function *function; /* operators are functions, too */
    size_t n;
    const struct petab_math *const *argument;
};

/* NULL after a fault, which is reported at the place. The text must stay. */
const struct petab_math *petab_math_parse(struct petab_reader *reader, struct petab_place place,
                                          const char *text);

/* Calls `see` for each symbol, from left to right. */
void petab_math_symbols(const struct petab_math *math,
                        void (*see)(void *context, const char *symbol), void *context);
bool petab_math_is_number(const struct petab_math *math); /* there is no symbol in it */
/* The value; `value_of` gives those of symbols (NULL: there is none). Logical values are 1 and
 * 0. */
double petab_math_value(const struct petab_math *math,
                        double (*value_of)(void *context, const char *symbol), void *context);

/* Appends the expression as model text, in parentheses where it is not a name, a number or a
 * call; `name_of` gives the text for a symbol. */
void petab_math_put(struct petab_text *out, const struct petab_math *math,
                    const char *(*name_of)(void *context, const char *symbol), void *context);
