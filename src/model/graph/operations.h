/* The table of operations: everything about each one, from its value to its LaTeX. A new
 * function needs a row here and a word in text/token.c.
 *
 * Comparisons and logic give 1 or 0; a condition is true if it is not 0 (NaN is true, as in C).
 * SELECT(c, a, b) is a if c is true, else b; both are evaluated. MIN and MAX are NaN if an
 * argument is. SIGN is (a > 0) - (a < 0), HEAVISIDE is a >= 0, and both are NaN if a is.
 * POWER_LOG(a, b) is a^b log(a), and 0 for a = 0 and b > 0 (its limit). The second argument of
 * INTERP and INTERP_SLOPE is a TABLE.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "model/graph/operation_texts.h"

/* X: operators. Name; arguments; value for a, b, c; facts; cost; kind and text in C, and
 * definitions; its definition in ranges; model text; LaTeX; the node to which graph g simplifies
 * it; its derivative from the value v and the arguments' derivatives da, db, dc. NODE_NONE: none;
 * derive.c handles sums itself. F: functions, which all notations call by a name. Name;
 * arguments; word; value; facts; cost; name in C; definitions; its definition in ranges; LaTeX;
 * derivative. They are simplified by their facts. */
#define GRAPH_OPERATIONS(X, F) \
    X(ADD, 2, a + b, IS_GENTLE, ADD, C_SUM, " + ", C_NO, R_PRELUDE, \
      INFIX(" + ", SUM, SUM, PRODUCT, true), INFIX(" + ", SUM, SUM, SUM, true), \
      simplify_add(g, a, b), NODE_NONE) \
    X(SUBTRACT, 2, a - b, IS_GENTLE, ADD, C_SUM, " - ", C_NO, R_PRELUDE, \
      INFIX(" - ", SUM, SUM, PRODUCT, true), INFIX(" - ", SUM, SUM, QUOTIENT, true), \
      simplify_subtract(g, a, b), NODE_NONE) \
    X(MULTIPLY, 2, a * b, 0, MULTIPLY, C_PRODUCT, "*", C_NO, R_PRELUDE, \
      INFIX("*", PRODUCT, PRODUCT, SIGN, true), INFIX(" \\, ", PRODUCT, PRODUCT, PRODUCT, true), \
      simplify_multiply(g, a, b), product_rule(g, a, b, da, db)) \
    X(DIVIDE, 2, a / b, IS_GENTLE, DIVIDE, C_PRODUCT, "/", C_NO, R_PRELUDE, \
      INFIX("/", PRODUCT, PRODUCT, SIGN, true), \
      FORM("\\frac{", "}{", "}", NULL, POWER, ANY, ANY, false), simplify_divide(g, a, b), \
      quotient_rule(g, v, b, da, db)) \
    X(POWER, 2, pow(a, b), 0, CALL, C_CALL, "pow", C_POW, R_POWER, \
      INFIX("^", POWER, PRIMARY, SIGN, false), \
      FORM("", "^{", "}", NULL, POWER, PRIMARY, ANY, false), simplify_power(g, a, b), \
      power_rule(g, v, a, b, da, db)) \
    X(NEGATE, 1, -a, IS_GENTLE, SIGN, C_NEGATIVE, "-", C_NO, R_PRELUDE, \
      PREFIX("-", PRODUCT, PRODUCT, true), PREFIX("-", PRODUCT, PRODUCT, true), \
      simplify_negate(g, a), \
      NODE_NONE) /* the graph moves signs out of products: -a*b is -(a*b) */ \
    X(RECIPROCAL, 1, 1 / a, IS_GENTLE, DIVIDE, C_RECIPROCAL, "1.0/", C_NO, R_PRELUDE, \
      PREFIX("1/", PRODUCT, POWER, true), \
      FORM("\\frac{1}{", "}", NULL, NULL, POWER, ANY, ANY, false), simplify_reciprocal(g, a), \
      quenched(g, v, a, negate(g, times(g, square(g, v), da)), 0)) \
    F(SQRT, 1, "sqrt", sqrt(a), 0, ROOT, "sqrt", C_NO, R_MONOTONE("sqrt", "0", "INFINITY"), \
      BRACES("\\sqrt{", "}"), \
      steep(g, a, da, times(g, graph_constant(g, 0.5), divided(g, da, v)))) \
    F(CBRT, 1, "cbrt", cbrt(a), IS_ODD, CALL, "cbrt", C_NO, R_EVERYWHERE("cbrt"), \
      BRACES("\\sqrt[3]{", "}"), steep(g, a, da, times(g, over(g, 1.0 / 3, square(g, v)), da))) \
    F(EXP, 1, "exp", exp(a), 0, CALL, "exp", C_EXP, R_EVERYWHERE("exp"), NAME("\\exp"), \
      times(g, v, da)) \
    F(EXPM1, 1, "expm1", expm1(a), 0, CALL, "expm1", C_NO, R_EVERYWHERE("expm1"), \
      NAME("\\operatorname{expm1}"), \
      times(g, graph_unary(g, GRAPH_EXP, a), da)) /* v + 1 cancels at small exp(a) */ \
    F(LOG, 1, "log", log(a), 0, CALL, "log", C_LOG, R_MONOTONE("log", "0", "INFINITY"), \
      NAME("\\ln"), divided(g, da, a)) \
    F(LOG1P, 1, "log1p", log1p(a), 0, CALL, "log1p", C_NO, \
      R_MONOTONE("log1p", "-1", "INFINITY"), NAME("\\operatorname{log1p}"), \
      divided(g, da, add(g, one(g), a))) \
    F(LOG10, 1, "log10", log10(a), 0, CALL, "log10", C_LOG10, \
      R_MONOTONE("log10", "0", "INFINITY"), NAME("\\log_{10}"), \
      times(g, over(g, 1 / LN_10, a), da)) \
    F(LOG2, 1, "log2", log2(a), 0, CALL, "log2", C_LOG2, R_MONOTONE("log2", "0", "INFINITY"), \
      NAME("\\log_{2}"), times(g, over(g, 1 / LN_2, a), da)) \
    F(SIN, 1, "sin", sin(a), IS_ODD | IS_GENTLE, CALL, "sin", C_SIN, R_WAVE("sin", "PI/2"), \
      NAME("\\sin"), times(g, graph_unary(g, GRAPH_COS, a), da)) \
    F(COS, 1, "cos", cos(a), IS_EVEN | IS_GENTLE, CALL, "cos", C_COS, R_WAVE("cos", "0"), \
      NAME("\\cos"), negate(g, times(g, graph_unary(g, GRAPH_SIN, a), da))) \
    F(TAN, 1, "tan", tan(a), IS_ODD | IS_GENTLE, CALL, "tan", C_NO, R_TAN, NAME("\\tan"), \
      times(g, one_plus_square(g, v), da)) \
    F(ASIN, 1, "asin", asin(a), IS_ODD, CALL, "asin", C_NO, R_MONOTONE("asin", "-1", "1"), \
      NAME("\\arcsin"), divided(g, da, root(g, within_one(g, a)))) \
    F(ACOS, 1, "acos", acos(a), 0, CALL, "acos", C_NO, R_MONOTONE("acos", "-1", "1"), \
      NAME("\\arccos"), negate(g, divided(g, da, root(g, within_one(g, a))))) \
    F(ATAN, 1, "atan", atan(a), IS_ODD, CALL, "atan", C_NO, R_EVERYWHERE("atan"), \
      NAME("\\arctan"), divided(g, da, one_plus_square(g, a))) \
    F(ATAN2, 2, "atan2", atan2(a, b), 0, CALL, "atan2", C_NO, R_ATAN2, \
      NAME("\\operatorname{atan2}"), angle_rule(g, a, b, da, db)) \
    F(SINH, 1, "sinh", sinh(a), IS_ODD, CALL, "sinh", C_NO, R_EVERYWHERE("sinh"), \
      NAME("\\sinh"), times(g, graph_unary(g, GRAPH_COSH, a), da)) \
    F(COSH, 1, "cosh", cosh(a), IS_EVEN, CALL, "cosh", C_NO, R_COSH, NAME("\\cosh"), \
      times(g, graph_unary(g, GRAPH_SINH, a), da)) \
    F(TANH, 1, "tanh", tanh(a), IS_ODD, CALL, "tanh", C_NO, R_EVERYWHERE("tanh"), \
      NAME("\\tanh"), times(g, subtract(g, one(g), square(g, v)), da)) \
    F(ASINH, 1, "asinh", asinh(a), IS_ODD, CALL, "asinh", C_NO, R_EVERYWHERE("asinh"), \
      NAME("\\operatorname{arsinh}"), divided(g, da, root(g, one_plus_square(g, a)))) \
    F(ACOSH, 1, "acosh", acosh(a), 0, CALL, "acosh", C_NO, R_MONOTONE("acosh", "1", "INFINITY"), \
      NAME("\\operatorname{arcosh}"), divided(g, da, root(g, beyond_one(g, a)))) \
    F(ATANH, 1, "atanh", atanh(a), IS_ODD, CALL, "atanh", C_NO, R_MONOTONE("atanh", "-1", "1"), \
      NAME("\\operatorname{artanh}"), divided(g, da, within_one(g, a))) \
    F(ERF, 1, "erf", erf(a), IS_ODD, CALL, "erf", C_NO, R_EVERYWHERE("erf"), \
      NAME("\\operatorname{erf}"), times(g, bell(g, a), da)) \
    F(ERFC, 1, "erfc", erfc(a), 0, CALL, "erfc", C_NO, R_EVERYWHERE("erfc"), \
      NAME("\\operatorname{erfc}"), negate(g, times(g, bell(g, a), da))) \
    F(LGAMMA, 1, "lgamma", gamma_log(a), 0, CALL, "log_gamma", C_LGAMMA, R_LGAMMA, \
      NAME("\\ln\\Gamma"), times(g, graph_binary(g, GRAPH_POLYGAMMA, 0, a), da)) \
    X(POLYGAMMA, 2, gamma_polygamma(a, b), 0, CALL, C_CALL, "polygamma", C_POLYGAMMA, \
      R_POLYGAMMA, FORM("polygamma(", ", ", ")", NULL, PRIMARY, ANY, ANY, false), \
      FORM("\\psi^{(", ")}\\left(", "\\right)", NULL, PRIMARY, ANY, ANY, false), NODE_NONE, \
      polygamma_rule(g, a, b, db)) \
    X(INTERP, 2, look_up(graph, a, b, false), HAS_KINK, CHOICE, C_CALL, "interp", C_INTERP, \
      R_INTERP, \
      FORM("interp(", ", ", ")", NULL, PRIMARY, ANY, ANY, false), \
      FORM("\\operatorname{interp}\\left(", ", ", "\\right)", NULL, PRIMARY, ANY, ANY, false), \
      NODE_NONE, times(g, graph_binary(g, GRAPH_INTERP_SLOPE, a, b), da)) \
    X(INTERP_SLOPE, 2, look_up(graph, a, b, true), 0, CHOICE, C_CALL, "interp_slope", \
      C_INTERP_SLOPE, R_INTERP_SLOPE, \
      FORM("interp_slope(", ", ", ")", NULL, PRIMARY, ANY, ANY, false), \
      FORM("\\operatorname{interp}'\\left(", ", ", "\\right)", NULL, PRIMARY, ANY, ANY, false), \
      NODE_NONE, NODE_NONE) \
    F(ABS, 1, "abs", fabs(a), IS_EVEN | HAS_KINK, CHOICE, "fabs", C_ABS, R_ABS, \
      BRACES("\\left|", "\\right|"), \
      choose(g, graph_binary(g, GRAPH_LESS, a, 0), negate(g, da), da)) \
    F(SIGN, 1, "sign", isnan(a) ? a : (a > 0) - (a < 0), IS_ODD | IS_STEP, CHOICE, "sign", \
      C_SIGN, R_SIGN, NAME("\\operatorname{sign}"), NODE_NONE) \
    F(HEAVISIDE, 1, "heaviside", isnan(a) ? a : a >= 0, IS_TRUTH | IS_STEP, CHOICE, "heaviside", \
      C_HEAVISIDE, R_HEAVISIDE, NAME("H"), NODE_NONE) \
    X(POWER_LOG, 2, a == 0 && b > 0 ? 0 : pow(a, b) * log(a), 0, PRODUCT_CALL, C_CALL, \
      "power_log", C_POWER_LOG, R_POWER_LOG, \
      FORM("", "^", "*log(", ")", PRODUCT, PRIMARY, SIGN, false), \
      FORM("", "^{", "} \\, \\ln\\left(", "\\right)", PRODUCT, PRIMARY, ANY, false), \
      simplify_power_log(g, a, b), power_log_rule(g, v, a, b, da, db)) \
    F(FLOOR, 1, "floor", floor(a), IS_STEP, CHOICE, "floor", C_NO, R_STEP("floor", "floor"), \
      BRACES("\\left\\lfloor ", "\\right\\rfloor "), NODE_NONE) \
    F(CEIL, 1, "ceil", ceil(a), IS_STEP, CHOICE, "ceil", C_NO, R_STEP("ceil", "ceil"), \
      BRACES("\\left\\lceil ", "\\right\\rceil "), NODE_NONE) \
    F(MIN, 2, "min", b < a || isnan(b) ? b : a, HAS_KINK | IS_CHOICE, CHOICE, "minimum", \
      C_MINIMUM, R_BOTH("min", "fmin"), NAME("\\min"), \
      choose(g, graph_binary(g, GRAPH_LESS, b, a), db, da)) \
    F(MAX, 2, "max", b > a || isnan(b) ? b : a, HAS_KINK | IS_CHOICE, CHOICE, "maximum", \
      C_MAXIMUM, R_BOTH("max", "fmax"), NAME("\\max"), \
      choose(g, graph_binary(g, GRAPH_LESS, a, b), db, da)) \
    X(LESS, 2, a < b, IS_TRUTH | IS_STEP, CHOICE, C_COMPARISON, " < ", C_NO, \
      R_COMPARISON("less", "a.upper < b.lower", "a.lower >= b.upper"), COMPARISON(" < "), \
      COMPARISON(" < "), a == b ? 0 : NODE_NONE, NODE_NONE) \
    X(LESS_EQUAL, 2, a <= b, IS_TRUTH | IS_STEP, CHOICE, C_COMPARISON, " <= ", C_NO, \
      R_COMPARISON("less_equal", "a.upper <= b.lower", "a.lower > b.upper"), COMPARISON(" <= "), \
      COMPARISON(" \\le "), NODE_NONE, NODE_NONE) \
    X(EQUAL, 2, a == b, IS_TRUTH | IS_POINT | COMMUTES, CHOICE, C_COMPARISON, " == ", C_NO, \
      R_COMPARISON("equal", R_SAME, R_APART), COMPARISON(" == "), COMPARISON(" = "), NODE_NONE, \
      NODE_NONE) \
    X(NOT_EQUAL, 2, a != b, IS_TRUTH | IS_POINT | COMMUTES, CHOICE, C_COMPARISON, " != ", C_NO, \
      R_COMPARISON("not_equal", R_APART, R_SAME), COMPARISON(" != "), COMPARISON(" \\ne "), \
      NODE_NONE, NODE_NONE) \
    X(AND, 2, a != 0 && b != 0, IS_TRUTH | COMMUTES, CHOICE, C_LOGIC, " & ", C_NO, \
      R_COMPARISON("and", "is_true(a) && is_true(b)", "is_false(a) || is_false(b)"), \
      INFIX(" and ", AND, AND, NOT, false), INFIX(" \\land ", AND, AND, NOT, false), \
      simplify_logic(g, GRAPH_AND, a, b), NODE_NONE) \
    X(OR, 2, a != 0 || b != 0, IS_TRUTH | COMMUTES, CHOICE, C_LOGIC, " | ", C_NO, \
      R_COMPARISON("or", "is_true(a) || is_true(b)", "is_false(a) && is_false(b)"), \
      INFIX(" or ", OR, OR, AND, false), INFIX(" \\lor ", OR, OR, AND, false), \
      simplify_logic(g, GRAPH_OR, a, b), NODE_NONE) \
    X(NOT, 1, a == 0, IS_TRUTH, CHOICE, C_LOGIC, "!", C_NO, R_NOT, \
      PREFIX("not ", NOT, NOT, false), PREFIX("\\lnot ", NOT, PRIMARY, false), \
      simplify_not(g, a), NODE_NONE) \
    X(SELECT, 3, a != 0 ? b : c, IS_CHOICE, CHOICE, C_CHOICE, "", C_NO, R_SELECT, NO_FORM, \
      NO_FORM, simplify_select(g, a, b, c), \
      db == NODE_NONE && dc == NODE_NONE ? NODE_NONE : choose(g, a, db, dc))
