/* How operations, numbers and names look in LaTeX (with amsmath).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/generate/listing_internal.h"

#include "base/number.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CALL(name) {{name "\\left(", "\\right)", NULL, NULL}, BIND_PRIMARY, {BIND_ANY}, false}
#define CALL_2(name) {{name "\\left(", ", ", "\\right)", NULL}, BIND_PRIMARY, {BIND_ANY, BIND_ANY}, false}
#define BRACED(left, right) {{left, right, NULL, NULL}, BIND_PRIMARY, {BIND_ANY}, false}
#define INFIX(sign, bind, left, right, plain) {{"", sign, "", NULL}, bind, {left, right}, plain}
#define COMPARISON(sign) INFIX(sign, BIND_COMPARISON, BIND_SUM, BIND_SUM, false)

static const struct form forms[N_GRAPH_OP] = {
    [GRAPH_ADD] = INFIX(" + ", BIND_SUM, BIND_SUM, BIND_SUM, true),
    [GRAPH_SUBTRACT] = INFIX(" - ", BIND_SUM, BIND_SUM, BIND_QUOTIENT, true),
    [GRAPH_MULTIPLY] = INFIX(" \\, ", BIND_PRODUCT, BIND_PRODUCT, BIND_PRODUCT, true),
    [GRAPH_DIVIDE] = {{"\\frac{", "}{", "}", NULL}, BIND_POWER, {BIND_ANY, BIND_ANY}, false},
    [GRAPH_POWER] = {{"", "^{", "}", NULL}, BIND_POWER, {BIND_PRIMARY, BIND_ANY}, false},
    [GRAPH_POWER_LOG] = {{"", "^{", "} \\, \\ln\\left(", "\\right)"}, BIND_PRODUCT, {BIND_PRIMARY, BIND_ANY, BIND_ANY},
                         false},
    [GRAPH_NEGATE] = {{"-", "", NULL, NULL}, BIND_PRODUCT, {BIND_PRODUCT}, true},
    [GRAPH_RECIPROCAL] = {{"\\frac{1}{", "}", NULL, NULL}, BIND_POWER, {BIND_ANY}, false},
    [GRAPH_SQRT] = BRACED("\\sqrt{", "}"),
    [GRAPH_CBRT] = BRACED("\\sqrt[3]{", "}"),
    [GRAPH_EXP] = CALL("\\exp"),
    [GRAPH_EXPM1] = CALL("\\operatorname{expm1}"),
    [GRAPH_LOG] = CALL("\\ln"),
    [GRAPH_LOG1P] = CALL("\\operatorname{log1p}"),
    [GRAPH_LOG10] = CALL("\\log_{10}"),
    [GRAPH_LOG2] = CALL("\\log_{2}"),
    [GRAPH_SIN] = CALL("\\sin"),
    [GRAPH_COS] = CALL("\\cos"),
    [GRAPH_TAN] = CALL("\\tan"),
    [GRAPH_ASIN] = CALL("\\arcsin"),
    [GRAPH_ACOS] = CALL("\\arccos"),
    [GRAPH_ATAN] = CALL("\\arctan"),
    [GRAPH_ATAN2] = CALL_2("\\operatorname{atan2}"),
    [GRAPH_SINH] = CALL("\\sinh"),
    [GRAPH_COSH] = CALL("\\cosh"),
    [GRAPH_TANH] = CALL("\\tanh"),
    [GRAPH_ASINH] = CALL("\\operatorname{arsinh}"),
    [GRAPH_ACOSH] = CALL("\\operatorname{arcosh}"),
    [GRAPH_ATANH] = CALL("\\operatorname{artanh}"),
    [GRAPH_ERF] = CALL("\\operatorname{erf}"),
    [GRAPH_ERFC] = CALL("\\operatorname{erfc}"),
    [GRAPH_ABS] = BRACED("\\left|", "\\right|"),
    [GRAPH_SIGN] = CALL("\\operatorname{sign}"),
    [GRAPH_HEAVISIDE] = CALL("H"),
    [GRAPH_FLOOR] = BRACED("\\left\\lfloor ", "\\right\\rfloor "),
    [GRAPH_CEIL] = BRACED("\\left\\lceil ", "\\right\\rceil "),
    [GRAPH_MIN] = CALL_2("\\min"),
    [GRAPH_MAX] = CALL_2("\\max"),
    [GRAPH_LESS] = COMPARISON(" < "),
    [GRAPH_LESS_EQUAL] = COMPARISON(" \\le "),
    [GRAPH_EQUAL] = COMPARISON(" = "),
    [GRAPH_NOT_EQUAL] = COMPARISON(" \\ne "),
    [GRAPH_AND] = INFIX(" \\land ", BIND_AND, BIND_AND, BIND_NOT, false),
    [GRAPH_OR] = INFIX(" \\lor ", BIND_OR, BIND_OR, BIND_AND, false),
    [GRAPH_NOT] = {{"\\lnot ", "", NULL, NULL}, BIND_NOT, {BIND_PRIMARY}, false},
};

/* Fractions within fractions and in exponents stay on the line; in a product they need parentheses, because a / b c is
 * read in two ways. */
static const struct form flat_divide = INFIX(" / ", BIND_QUOTIENT, BIND_PRODUCT, BIND_POWER, true);
static const struct form flat_reciprocal = {{"1 / ", "", NULL, NULL}, BIND_QUOTIENT, {BIND_POWER}, true};

struct form latex_form(enum graph_op op, unsigned depth)
{
    if (depth > 0 && op == GRAPH_DIVIDE)
        return flat_divide;
    if (depth > 0 && op == GRAPH_RECIPROCAL)
        return flat_reciprocal;
    return forms[op];
}

enum binding latex_number(double value, char text[80])
{
    char plain[NUMBER_SIZE];
    if (!isfinite(value)) {
        snprintf(text, 80, "%s", isnan(value) ? "\\mathrm{NaN}" : value > 0 ? "\\infty" : "-\\infty");
        return value < 0 ? BIND_SIGN : BIND_PRIMARY;
    }
    if (value == M_PI) {
        snprintf(text, 80, "\\pi");
        return BIND_PRIMARY;
    }
    listing_digits(value, plain);
    char *exponent = strchr(plain, 'e');
    enum binding bind = BIND_PRIMARY;
    if (!exponent)
        snprintf(text, 80, "%s", plain);
    else {
        *exponent++ = '\0';
        bool is_one = !strcmp(plain, "1"), is_minus_one = !strcmp(plain, "-1");
        snprintf(text, 80, "%s%s10^{%ld}", is_one ? "" : is_minus_one ? "-" : plain,
                 is_one || is_minus_one ? "" : " \\cdot ", strtol(exponent, NULL, 10));
        bind = is_one ? BIND_POWER : BIND_PRODUCT;
    }
    return value < 0 ? BIND_SIGN : bind;
}

size_t latex_width(const char *text)
{
    size_t width = 0;
    for (const char *c = text; *c; c++) {
        if (*c == '\\' && isalpha((unsigned char)c[1])) {
            while (isalpha((unsigned char)c[1]))
                c++;
            width++;
        } else if (!strchr("{}^_\\ ", *c)) {
            width++;
        }
    }
    return width;
}
