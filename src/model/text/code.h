/* Formulas of a model text as postfix code: what the parser writes and evaluate.c carries out.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_TEXT_CODE_H
#define MODEL_TEXT_CODE_H

#include <stdbool.h>
#include <stdint.h>

#define NONE UINT32_MAX /* no formula, no symbol, ... */

/* One instruction takes its operands from a stack of nodes and leaves its result there. */
enum instruction_kind {
    CODE_NUMBER, CODE_TIME, CODE_NAME, CODE_ARGUMENT,
    CODE_OPERATION, /* op; swapped: its two operands change places (a > b is b < a) */
    CODE_FOLD,      /* op over n_argument operands: min, max */
    CODE_PIECEWISE, /* n_argument operands */
    CODE_CALL       /* of the function `symbol` */
};

struct instruction {
    uint8_t kind, op;
    bool swapped;
    uint32_t offset; /* in the text */
    union {
        double value;
        struct { uint32_t symbol, n_argument; }; /* CODE_ARGUMENT: symbol is its number */
    };
};

enum formula_role {
    ROLE_VALUE, ROLE_FUNCTION, ROLE_RHS, ROLE_INITIAL, ROLE_SD,
    /* From ROLE_CONSTANT on: only constants may be in it. */
    ROLE_CONSTANT, ROLE_START, ROLE_LOWER, ROLE_UPPER, ROLE_PRIOR, ROLE_T0
};

struct formula {
    uint32_t first, n; /* instructions */
    uint32_t offset, line;
    uint8_t role;
    bool failed; /* a fault in it has been reported */
};

#endif
