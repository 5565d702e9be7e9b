/* What generated code has of operations, in C, for lanes and in ranges: parts of the rows of
 * operations.h.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Definitions of operations: what C lacks for numbers, and what is better than calling it for
 * each lane (generate/emit_lanes.c). power_log(x^a, log(x)) is computed from its factors, which
 * are shared. */
#define C_POWER_LOG \
    {"/* x^a log(x) from its factors: 0 where x^a is */\nstatic inline double power_log(double " \
        "power, double logarithm)\n" \
     "{\n    const double product = power*logarithm;\n    return power == 0 ? 0 : product;\n}\n", \
     "LANES(power_log)(lanes a, lanes b) { return choose(a == 0.0, all(0.0), a*b); }\n"}
#define C_MINIMUM \
    {"static inline double minimum(double a, double b) { return b < a || b != b ? b : a; }\n", \
     "LANES(minimum)(lanes a, lanes b) { return choose((b < a) | (b != b), b, a); }\n"}
#define C_MAXIMUM \
    {"static inline double maximum(double a, double b) { return b > a || b != b ? b : a; }\n", \
     "LANES(maximum)(lanes a, lanes b) { return choose((b > a) | (b != b), b, a); }\n"}
#define C_SIGN \
    {"static inline double sign(double x) { return x == x ? (double)(x > 0) - (double)(x < 0) : " \
        "x; }\n", \
     "LANES(sign)(lanes a) { return choose(a == a, truth(a > 0.0) - truth(a < 0.0), a); }\n"}
#define C_HEAVISIDE \
    {"static inline double heaviside(double x) { return x == x ? (double)(x >= 0) : x; }\n", \
     "LANES(heaviside)(lanes a) { return choose(a == a, truth(a >= 0.0), a); }\n"}
#define C_ABS {NULL, "LANES(fabs)(lanes a) { return number_of(bits_of(a) & INT64_MAX); }\n"}
/* By functions of generate/mathematics.cl; log10(e) and log2(e) in two parts. */
#define C_EXP {NULL, "CALL(exp)(lanes a) { return lanes_exp_of(a, all(0.0)); }\n"}
#define C_LOG {NULL, "CALL(log)(lanes a) { return lanes_log_by(a, 1.0, 0.0); }\n"}
#define C_LOG10 \
    {NULL, "CALL(log10)(lanes a) { return lanes_log_by(a, 0x1.bcb7b1526e50ep-2, " \
           "0x1.95355baaafad3p-57); }\n"}
#define C_LOG2 \
    {NULL, "CALL(log2)(lanes a) { return lanes_log_by(a, 0x1.71547652b82fep+0, " \
           "0x1.777d0ffda0d24p-56); }\n"}
#define C_POW {NULL, "CALL(pow)(lanes a, lanes b) { return lanes_power_of(a, b); }\n"}
/* Large angles go to the C library, or to a CPU from a GPU. */
#define C_SIN \
    {NULL, "CALL(sin)(lanes a)\n{\n    lanes value = choose(a == 0.0, a, lanes_sin_of(a, 0));\n" \
           "    else_each(value, sin, a, TURNS);\n    return value;\n}\n"}
#define C_COS \
    {NULL, "CALL(cos)(lanes a)\n{\n    lanes value = lanes_sin_of(a, 1);\n" \
           "    else_each(value, cos, a, TURNS);\n    return value;\n}\n"}
/* By functions of generate/mathematics.cl, also for numbers: C has no polygamma function, and its
 * lgamma writes a global variable. */
#define C_LGAMMA \
    {"#define log_gamma number_log_gamma_of\n", \
     "CALL(log_gamma)(lanes a) { return lanes_log_gamma_of(a); }\n"}
#define C_POLYGAMMA \
    {"#define polygamma(n, x) number_polygamma_of((int)(n), x)\n", \
     "CALL(polygamma)(lanes n, lanes a) { return lanes_polygamma_of((int)lane_of(n, 0), a); }\n"}
/* Tables: their number n of points, x, y, and the slopes between them. */
#define TABLE_TEXT(function, prefix, value) \
    "static inline double " prefix function "(double x, TABLE *table)\n" \
    "{\n    const int n = (int)table[0];\n    int i = 1;\n" \
    "    for (int left = n - 1, step = left/2; step; left -= step, step = left/2)\n" \
    "        i += x >= table[i + step] ? step : 0;\n" \
    "    return " value ";\n}\n"
#define INTERP_VALUE \
    "x < table[1] ? table[1 + n] : x >= table[n] ? table[2*n] :\n" \
    "        table[i + n] + table[i + 2*n]*(x - table[i])"
#define INTERP_SLOPE_VALUE "x != x ? x : x < table[1] || x > table[n] ? 0.0 : table[i + 2*n]"
#define TABLE_HELPERS(function, value) \
    {TABLE_TEXT(function, "", value), \
     TABLE_TEXT(function, "lane_", value) \
     "LANES(" function ")(lanes a, TABLE *table)\n" \
     "{\n    for (int i = 0; i < WIDTH; i++)\n" \
     "        lane_of(a, i) = lane_" function "(lane_of(a, i), table);\n    return a;\n}\n"}
#define C_INTERP TABLE_HELPERS("interp", INTERP_VALUE)
#define C_INTERP_SLOPE TABLE_HELPERS("interp_slope", INTERP_SLOPE_VALUE)
#define C_NO {NULL, NULL}

/* Definitions in ranges of numbers (generate/emit_range.c, whose prelude has those of
 * arithmetic). Where a function has one argument and rises or falls all over its domain: its
 * name, and the ends of the domain. */
#define R_PRELUDE ""
#define R_MONOTONE(name, least, most) \
    "static inline range range_" name "(range a)\n" \
    "{\n    a = within(a, " least ", " most ");\n    return between(" name "(a.lower), " name \
    "(a.upper), a.jumps);\n}\n"
#define R_EVERYWHERE(name) R_MONOTONE(name, "-INFINITY", "INFINITY")
/* A function with a largest value at most_at + 2 pi k and the smallest one halfway. */
#define R_WAVE(name, most_at) \
    "static inline range range_" name "(range a)\n" \
    "{\n    double turns = (a.lower - " most_at ")/(2*PI), end = (a.upper - " most_at \
    ")/(2*PI);\n" \
    "    range ends = between(" name "(a.lower), " name "(a.upper), a.jumps);\n" \
    "    if (!(end - turns < 1))\n        return (range){-1, 1, a.jumps};\n" \
    "    ends.upper = floor(end) >= turns ? 1 : ends.upper;\n" \
    "    ends.lower = floor(end - 0.5) >= turns - 0.5 ? -1 : ends.lower;\n    return ends;\n}\n"
#define R_TAN \
    "static inline range range_tan(range a)\n" \
    "{\n    int has_pole = !(floor(a.upper/PI - 0.5) < a.lower/PI - 0.5);\n" \
    "    return has_pole ? everything() : between(tan(a.lower), tan(a.upper), a.jumps);\n}\n"
#define R_COSH \
    "static inline range range_cosh(range a) { return even(a, cosh(a.lower), cosh(a.upper), 1); " \
    "}\n"
#define R_ABS \
    "static inline range range_abs(range a) { return even(a, fabs(a.lower), fabs(a.upper), 0); }\n"
#define R_ATAN2 \
    "static inline range range_atan2(range a, range b)\n" \
    "{\n    if (holds_zero(a) && b.lower <= 0)\n        return (range){-PI, PI, 1};\n" \
    "    range lower = between(atan2(a.lower, b.lower), atan2(a.lower, b.upper), 0);\n" \
    "    return joined(lower, between(atan2(a.upper, b.lower), atan2(a.upper, b.upper), 0), " \
    "a.jumps | b.jumps);\n}\n"
#define R_POWER \
    "static inline range range_power(range a, range b)\n" \
    "{\n    int jumps = a.jumps | b.jumps, is_whole = b.lower == b.upper && floor(b.lower) == " \
    "b.lower;\n" \
    "    if (is_whole && b.lower < 0)\n" \
    "        return range_reciprocal(range_power(a, range_negate(b)));\n" \
    "    if (is_whole)\n" \
    "        return floor(b.lower/2) == b.lower/2 ? even(a, pow(a.lower, b.lower), pow(a.upper, " \
    "b.lower), 0) :\n" \
    "            between(pow(a.lower, b.lower), pow(a.upper, b.lower), jumps);\n" \
    "    a = within(a, 0, INFINITY);\n" \
    "    range lower = between(pow(a.lower, b.lower), pow(a.lower, b.upper), 0);\n" \
    "    return joined(lower, between(pow(a.upper, b.lower), pow(a.upper, b.upper), 0), " \
    "jumps);\n}\n"
#define R_POWER_LOG \
    "static inline range range_power_log(range a, range b) { return range_multiply(a, b); }\n"
/* log Gamma has its smallest value at 1.46; both have poles at 0, -1, -2, ... */
#define R_LGAMMA \
    "static inline range range_lgamma(range a)\n" \
    "{\n    if (!(a.lower > 0))\n        return everything();\n" \
    "    range ends = between(log_gamma(a.lower), log_gamma(a.upper), a.jumps);\n" \
    "    int is_least_within = a.lower <= 1.4616321449683623 && a.upper >= 1.4616321449683623;\n" \
    "    return is_least_within ? joined(ends, point(-0.12148629053584961), a.jumps) : ends;\n}\n"
#define R_POLYGAMMA \
    "static inline range range_polygamma(range n, range a)\n" \
    "{\n    return !(a.lower > 0) ? everything() :\n" \
    "        between(polygamma(n.lower, a.lower), polygamma(n.lower, a.upper), a.jumps);\n}\n"
/* From the values at the ends and what is at the points in between: their y, or two slopes. */
#define TABLE_RANGE(function, inside, jumps) \
    "static inline range range_" function "(range a, TABLE *table)\n" \
    "{\n    const int n = (int)table[0];\n" \
    "    range all = between(" function "(a.lower, table), " function "(a.upper, table), " \
    "a.jumps);\n" \
    "    for (int i = 1; i <= n; i++)\n        if (table[i] <= a.upper && table[i] >= a.lower)\n" \
    "            all = joined(all, " inside ", " jumps ");\n    return all;\n}\n"
#define R_INTERP TABLE_RANGE("interp", "point(table[i + n])", "a.jumps")
#define R_INTERP_SLOPE \
    TABLE_RANGE("interp_slope", "between(table[i + 2*n], i > 1 ? table[i + 2*n - 1] : 0, 1)", "1")
#define R_STEP(name, c) \
    "static inline range range_" name "(range a) { return steps(" c "(a.lower), " c \
    "(a.upper)); }\n"
#define R_SIGN \
    "static inline double sign_of(double x) { return (x > 0) - (x < 0); }\n" \
    R_STEP("sign", "sign_of")
#define R_HEAVISIDE \
    "static inline range range_heaviside(range a) { return truth(a.lower >= 0, a.upper < 0); }\n"
#define R_BOTH(name, c) \
    "static inline range range_" name "(range a, range b)\n" \
    "{\n    return (range){" c "(a.lower, b.lower), " c "(a.upper, b.upper), a.jumps | " \
    "b.jumps};\n}\n"
#define R_COMPARISON(name, is_true, is_false) \
    "static inline range range_" name "(range a, range b) { return truth(" is_true ", " is_false \
    "); }\n"
#define R_SAME "a.lower == b.upper && a.upper == b.lower"
#define R_APART "a.upper < b.lower || a.lower > b.upper"
#define R_NOT \
    "static inline range range_not(range a) { return truth(is_false(a), is_true(a)); }\n"
#define R_SELECT \
    "static inline range range_select(range c, range a, range b)\n" \
    "{\n    return is_true(c) ? a : is_false(c) ? b : joined(a, b, 1);\n}\n"
