/* How operations and numbers look in model text.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/generate/listing_internal.h"

#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CALL(name) {{name "(", ")", NULL, NULL}, BIND_PRIMARY, {BIND_ANY}, false}
#define CALL_2(name) {{name "(", ", ", ")", NULL}, BIND_PRIMARY, {BIND_ANY, BIND_ANY}, false}
#define INFIX(sign, bind, left, right, plain) {{"", sign, "", NULL}, bind, {left, right}, plain}
#define COMPARISON(sign) INFIX(sign, BIND_COMPARISON, BIND_SUM, BIND_SUM, false)

static const struct form forms[N_GRAPH_OP] = {
    [GRAPH_ADD] = INFIX(" + ", BIND_SUM, BIND_SUM, BIND_PRODUCT, true),
    [GRAPH_SUBTRACT] = INFIX(" - ", BIND_SUM, BIND_SUM, BIND_PRODUCT, true),
    [GRAPH_MULTIPLY] = INFIX("*", BIND_PRODUCT, BIND_PRODUCT, BIND_SIGN, true),
    [GRAPH_DIVIDE] = INFIX("/", BIND_PRODUCT, BIND_PRODUCT, BIND_SIGN, true),
    [GRAPH_POWER] = INFIX("^", BIND_POWER, BIND_PRIMARY, BIND_SIGN, false),
    [GRAPH_POWER_LOG] = {{"", "^", "*log(", ")"}, BIND_PRODUCT, {BIND_PRIMARY, BIND_SIGN, BIND_ANY}, false},
    /* The graph takes signs out of products: -a*b is -(a*b). */
    [GRAPH_NEGATE] = {{"-", "", NULL, NULL}, BIND_PRODUCT, {BIND_PRODUCT}, true},
    [GRAPH_RECIPROCAL] = {{"1/", "", NULL, NULL}, BIND_PRODUCT, {BIND_POWER}, true},
    [GRAPH_SQRT] = CALL("sqrt"),
    [GRAPH_CBRT] = CALL("cbrt"),
    [GRAPH_EXP] = CALL("exp"),
    [GRAPH_EXPM1] = CALL("expm1"),
    [GRAPH_LOG] = CALL("log"),
    [GRAPH_LOG1P] = CALL("log1p"),
    [GRAPH_LOG10] = CALL("log10"),
    [GRAPH_LOG2] = CALL("log2"),
    [GRAPH_SIN] = CALL("sin"),
    [GRAPH_COS] = CALL("cos"),
    [GRAPH_TAN] = CALL("tan"),
    [GRAPH_ASIN] = CALL("asin"),
    [GRAPH_ACOS] = CALL("acos"),
    [GRAPH_ATAN] = CALL("atan"),
    [GRAPH_ATAN2] = CALL_2("atan2"),
    [GRAPH_SINH] = CALL("sinh"),
    [GRAPH_COSH] = CALL("cosh"),
    [GRAPH_TANH] = CALL("tanh"),
    [GRAPH_ASINH] = CALL("asinh"),
    [GRAPH_ACOSH] = CALL("acosh"),
    [GRAPH_ATANH] = CALL("atanh"),
    [GRAPH_ERF] = CALL("erf"),
    [GRAPH_ERFC] = CALL("erfc"),
    [GRAPH_ABS] = CALL("abs"),
    [GRAPH_SIGN] = CALL("sign"),
    [GRAPH_HEAVISIDE] = CALL("heaviside"),
    [GRAPH_FLOOR] = CALL("floor"),
    [GRAPH_CEIL] = CALL("ceil"),
    [GRAPH_MIN] = CALL_2("min"),
    [GRAPH_MAX] = CALL_2("max"),
    [GRAPH_LESS] = COMPARISON(" < "),
    [GRAPH_LESS_EQUAL] = COMPARISON(" <= "),
    [GRAPH_EQUAL] = COMPARISON(" == "),
    [GRAPH_NOT_EQUAL] = COMPARISON(" != "),
    [GRAPH_AND] = INFIX(" and ", BIND_AND, BIND_AND, BIND_NOT, false),
    [GRAPH_OR] = INFIX(" or ", BIND_OR, BIND_OR, BIND_AND, false),
    [GRAPH_NOT] = {{"not ", "", NULL, NULL}, BIND_NOT, {BIND_NOT}, false},
};

struct form text_form(enum graph_op op) { return forms[op]; }

/* The fewest digits that read back to the same bits, but large round numbers as powers of ten: 3e7, 1e-7. */
void listing_digits(double value, char *text)
{
    number_text(text, value);
    char *exponent = strchr(text, 'e');
    if (exponent) {
        snprintf(exponent + 1, 8, "%ld", strtol(exponent + 1, NULL, 10));
        return;
    }
    char *end = text + strlen(text);
    size_t n_zero = 0;
    while (end > text && end[-1] == '0') {
        end--;
        n_zero++;
    }
    if (n_zero > 4 && !strpbrk(text, ".e"))
        snprintf(end, NUMBER_SIZE - (size_t)(end - text), "e%zu", n_zero);
}

enum binding text_number(double value, char text[80])
{
    if (!isfinite(value)) { /* the language has no word for them */
        snprintf(text, 80, "%s", isnan(value) ? "sqrt(-1)" : value > 0 ? "1/0" : "-1/0");
        return BIND_PRODUCT;
    }
    if (value == M_PI)
        snprintf(text, 80, "pi");
    else
        listing_digits(value, text);
    return value < 0 ? BIND_SIGN : BIND_PRIMARY;
}
