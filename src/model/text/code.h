/* Formulas of a model text as postfix code, written by the parser and run by evaluate.c.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define NONE UINT32_MAX /* no formula, no symbol, ... */

/* An instruction takes its operands from a stack of nodes and pushes its result. */
enum instruction_kind {
    CODE_NUMBER, CODE_TIME, CODE_NAME, CODE_ARGUMENT,
    CODE_OPERATION, /* op; swapped: exchange its two operands (a > b is b < a) */
    CODE_FOLD,      /* op over n_argument operands: min, max */
    CODE_PIECEWISE, /* n_argument operands */
    CODE_INTERP,    /* n_argument operands */
    CODE_CALL       /* of the function `symbol` */
};

struct instruction {
    uint8_t kind, op;
    bool swapped;
    uint32_t offset; /* in the text */
    union {
        double value;
        /* CODE_ARGUMENT: symbol is the argument's number */
        struct { uint32_t symbol, n_argument; };
    };
};

enum formula_role {
    ROLE_VALUE, ROLE_FUNCTION, ROLE_RHS, ROLE_INITIAL, ROLE_SD, ROLE_DOSE, ROLE_EVENT,
    /* From ROLE_CONSTANT on, formulas may contain only constants. */
    ROLE_CONSTANT, ROLE_START, ROLE_LOWER, ROLE_UPPER, ROLE_PRIOR, ROLE_T0
};

struct formula {
    uint32_t first, n; /* instructions */
    uint32_t offset, line;
    uint8_t role;
    bool failed; /* a fault in it has been reported */
};
