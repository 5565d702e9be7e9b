/* A formula of an SBML file as a tree.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdint.h>

enum math_kind {
    MATH_NUMBER,
    MATH_NAME,
    MATH_TIME,
    MATH_AVOGADRO,
    MATH_CALL, /* of the function `text` of the file */
    MATH_RATE_OF,
    MATH_DELAY, /* of the first operand by the second; value: the line in the file */
    MATH_SUM,
    MATH_MINUS,
    MATH_PRODUCT,
    MATH_DIVIDE,
    MATH_POWER,
    MATH_ROOT,
    MATH_LOG,
    MATH_AND,
    MATH_OR,
    MATH_NOT,
    MATH_IMPLIES,
    MATH_COMPARE, /* text: "<" */
    MATH_FUNCTION, /* text: "sin" */
    MATH_OF_ONE, /* text: "1/cos(@)": the operand in place of the @ */
    MATH_HELPER, /* text: a function that the model text must define first */
    MATH_PIECEWISE /* value, condition, ..., perhaps a value for otherwise */
};

struct math {
    enum math_kind kind;
    uint32_t n;
    struct math **operand;
    double value;
    const char *text; /* of a name, call, comparison, function */
};
