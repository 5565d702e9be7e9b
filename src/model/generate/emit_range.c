/* Bounds of the forcing functions over a span of time, in C: the programs of the functions and
 * of their derivatives by time, with ranges of numbers in place of numbers, so that no pulse can
 * hide between two samples. Ranges are those of R. E. Moore (1966), Interval Analysis, with
 * ordinary rounding: users compare them with tolerances far above it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/generate/c_expression.h"

static const char prelude[] =
    "/* Ranges over a span of time. jumps: the value may be discontinuous there. */\n"
    "typedef struct { double lower, upper; int jumps; } range;\n"
    "#define PI 3.141592653589793\n"
    "static inline range point(double x) { return (range){x, x, 0}; }\n"
    "static inline range everything(void) { return (range){-INFINITY, INFINITY, 1}; }\n"
    "static inline range between(double a, double b, int jumps)\n"
    "{\n    return !(a == a && b == b) ? everything() : a < b ? (range){a, b, jumps} : (range){b, "
    "a, jumps};\n}\n"
    "static inline range joined(range a, range b, int jumps)\n"
    "{\n    return (range){a.lower < b.lower ? a.lower : b.lower, a.upper > b.upper ? a.upper : "
    "b.upper, jumps};\n}\n"
    "static inline double product(double a, double b) { return a == 0 || b == 0 ? 0 : a*b; }\n"
    "static inline range range_negate(range a) { return (range){-a.upper, -a.lower, a.jumps}; }\n"
    "static inline range range_add(range a, range b)\n"
    "{\n    return between(a.lower + b.lower, a.upper + b.upper, a.jumps | b.jumps);\n}\n"
    "static inline range range_subtract(range a, range b) { return range_add(a, range_negate(b)); "
    "}\n"
    "static inline range range_multiply(range a, range b)\n"
    "{\n    range lower = between(product(a.lower, b.lower), product(a.lower, b.upper), 0);\n"
    "    range upper = between(product(a.upper, b.lower), product(a.upper, b.upper), 0);\n"
    "    return joined(lower, upper, a.jumps | b.jumps);\n}\n"
    "static inline int holds_zero(range a) { return a.lower <= 0 && a.upper >= 0; }\n"
    "/* A function that falls before 0 and rises from there. */\n"
    "static inline range even(range a, double at_lower, double at_upper, double at_zero)\n"
    "{\n    range ends = between(at_lower, at_upper, a.jumps);\n"
    "    return holds_zero(a) ? joined(ends, point(at_zero), a.jumps) : ends;\n}\n"
    "static inline range range_square(range a) { return even(a, a.lower*a.lower, a.upper*a.upper, "
    "0); }\n"
    "static inline range range_reciprocal(range a)\n"
    "{\n    return !holds_zero(a) ? between(1/a.lower, 1/a.upper, a.jumps) : a.lower < 0 && "
    "a.upper > 0 ? everything() :\n"
    "        a.upper > 0 ? (range){1/a.upper, INFINITY, 1} : (range){-INFINITY, 1/a.lower, 1};\n}\n"
    "static inline range range_divide(range a, range b) { return range_multiply(a, "
    "range_reciprocal(b)); }\n"
    "/* The part of a where a function is defined. */\n"
    "static inline range within(range a, double least, double most)\n"
    "{\n    range part = {a.lower > least ? a.lower : least, a.upper < most ? a.upper : most, "
    "a.jumps};\n"
    "    return part.lower <= part.upper ? part : (range){NAN, NAN, 1};\n}\n"
    "static inline range steps(double lower, double upper) { return between(lower, upper, lower != "
    "upper); }\n"
    "static inline int is_true(range a) { return !holds_zero(a); }\n"
    "static inline int is_false(range a) { return a.lower == 0 && a.upper == 0; }\n"
    "static inline range truth(int is_true, int is_false) { return steps(is_true, !is_false); }\n";

/* Functions with one argument that rise or fall all over where they are defined: their name, and
 * where that is. */
#define MONOTONE(name, least, most) \
    "static inline range range_" name "(range a)\n" \
    "{\n    a = within(a, " least ", " most ");\n    return between(" name "(a.lower), " name \
    "(a.upper), a.jumps);\n}\n"
#define EVERYWHERE(name) MONOTONE(name, "-INFINITY", "INFINITY")
/* A function with a largest value at most_at + 2 pi k and the smallest one halfway. */
#define WAVE(name, most_at) \
    "static inline range range_" name "(range a)\n" \
    "{\n    double turns = (a.lower - " most_at ")/(2*PI), end = (a.upper - " most_at \
    ")/(2*PI);\n" \
    "    range ends = between(" name "(a.lower), " name "(a.upper), a.jumps);\n" \
    "    if (!(end - turns < 1))\n        return (range){-1, 1, a.jumps};\n" \
    "    ends.upper = floor(end) >= turns ? 1 : ends.upper;\n" \
    "    ends.lower = floor(end - 0.5) >= turns - 0.5 ? -1 : ends.lower;\n    return ends;\n}\n"
#define STEP(name, c) \
    "static inline range range_" name "(range a) { return steps(" c "(a.lower), " c \
    "(a.upper)); }\n"
#define COMPARISON(name, is_true, is_false) \
    "static inline range range_" name "(range a, range b) { return truth(" is_true ", " is_false \
    "); }\n"

/* Other operations are in the prelude. */
static const char *const texts[N_GRAPH_OP] = {
    [GRAPH_SQRT] = MONOTONE("sqrt", "0", "INFINITY"),
    [GRAPH_CBRT] = EVERYWHERE("cbrt"),
    [GRAPH_EXP] = EVERYWHERE("exp"),
    [GRAPH_EXPM1] = EVERYWHERE("expm1"),
    [GRAPH_LOG] = MONOTONE("log", "0", "INFINITY"),
    [GRAPH_LOG1P] = MONOTONE("log1p", "-1", "INFINITY"),
    [GRAPH_LOG10] = MONOTONE("log10", "0", "INFINITY"),
    [GRAPH_LOG2] = MONOTONE("log2", "0", "INFINITY"),
    [GRAPH_ASIN] = MONOTONE("asin", "-1", "1"),
    [GRAPH_ACOS] = MONOTONE("acos", "-1", "1"),
    [GRAPH_ATAN] = EVERYWHERE("atan"),
    [GRAPH_SINH] = EVERYWHERE("sinh"),
    [GRAPH_TANH] = EVERYWHERE("tanh"),
    [GRAPH_ASINH] = EVERYWHERE("asinh"),
    [GRAPH_ACOSH] = MONOTONE("acosh", "1", "INFINITY"),
    [GRAPH_ATANH] = MONOTONE("atanh", "-1", "1"),
    [GRAPH_ERF] = EVERYWHERE("erf"),
    [GRAPH_ERFC] = EVERYWHERE("erfc"),
    [GRAPH_SIN] = WAVE("sin", "PI/2"),
    [GRAPH_COS] = WAVE("cos", "0"),
    [GRAPH_TAN] = "static inline range range_tan(range a)\n"
                  "{\n    int has_pole = !(floor(a.upper/PI - 0.5) < a.lower/PI - 0.5);\n"
                  "    return has_pole ? everything() : between(tan(a.lower), tan(a.upper), "
                  "a.jumps);\n}\n",
    [GRAPH_COSH] = "static inline range range_cosh(range a) { return even(a, cosh(a.lower), "
                   "cosh(a.upper), 1); }\n",
    [GRAPH_ABS] = "static inline range range_abs(range a) { return even(a, fabs(a.lower), "
                  "fabs(a.upper), 0); }\n",
    [GRAPH_ATAN2] = "static inline range range_atan2(range a, range b)\n"
                    "{\n    if (holds_zero(a) && b.lower <= 0)\n        return (range){-PI, PI, "
                    "1};\n"
                    "    range lower = between(atan2(a.lower, b.lower), atan2(a.lower, b.upper), "
                    "0);\n"
                    "    return joined(lower, between(atan2(a.upper, b.lower), atan2(a.upper, "
                    "b.upper), 0), a.jumps | b.jumps);\n}\n",
    [GRAPH_POWER] = "static inline range range_power(range a, range b)\n"
                    "{\n    int jumps = a.jumps | b.jumps, is_whole = b.lower == b.upper && "
                    "floor(b.lower) == b.lower;\n"
                    "    if (is_whole && b.lower < 0)\n"
                    "        return range_reciprocal(range_power(a, range_negate(b)));\n"
                    "    if (is_whole)\n"
                    "        return floor(b.lower/2) == b.lower/2 ? even(a, pow(a.lower, b.lower), "
                    "pow(a.upper, b.lower), 0) :\n"
                    "            between(pow(a.lower, b.lower), pow(a.upper, b.lower), jumps);\n"
                    "    a = within(a, 0, INFINITY);\n"
                    "    range lower = between(pow(a.lower, b.lower), pow(a.lower, b.upper), 0);\n"
                    "    return joined(lower, between(pow(a.upper, b.lower), pow(a.upper, "
                    "b.upper), 0), jumps);\n}\n",
    [GRAPH_POWER_LOG] = "static inline range range_power_log(range a, range b) { return "
                        "range_multiply(a, b); }\n",
    [GRAPH_FLOOR] = STEP("floor", "floor"),
    [GRAPH_CEIL] = STEP("ceil", "ceil"),
    [GRAPH_SIGN] =
        "static inline double sign_of(double x) { return (x > 0) - (x < 0); }\n" STEP("sign", "sign"
                                                                                              "_o"
                                                                                              "f"),
    [GRAPH_HEAVISIDE] = "static inline range range_heaviside(range a) { return truth(a.lower >= 0, "
                        "a.upper < 0); }\n",
    [GRAPH_MIN] = "static inline range range_min(range a, range b)\n"
                  "{\n    return (range){fmin(a.lower, b.lower), fmin(a.upper, b.upper), a.jumps | "
                  "b.jumps};\n}\n",
    [GRAPH_MAX] = "static inline range range_max(range a, range b)\n"
                  "{\n    return (range){fmax(a.lower, b.lower), fmax(a.upper, b.upper), a.jumps | "
                  "b.jumps};\n}\n",
    [GRAPH_LESS] = COMPARISON("less", "a.upper < b.lower", "a.lower >= b.upper"),
    [GRAPH_LESS_EQUAL] = COMPARISON("less_equal", "a.upper <= b.lower", "a.lower > b.upper"),
    [GRAPH_EQUAL] = COMPARISON("equal", "a.lower == b.upper && a.upper == b.lower",
                               "a.upper < b.lower || a.lower > b.upper"),
    [GRAPH_NOT_EQUAL] = COMPARISON("not_equal", "a.upper < b.lower || a.lower > b.upper",
                                   "a.lower == b.upper && a.upper == b.lower"),
    [GRAPH_AND] = COMPARISON("and", "is_true(a) && is_true(b)", "is_false(a) || is_false(b)"),
    [GRAPH_OR] = COMPARISON("or", "is_true(a) || is_true(b)", "is_false(a) && is_false(b)"),
    [GRAPH_NOT] = "static inline range range_not(range a) { return truth(is_false(a), is_true(a)); "
                  "}\n",
    [GRAPH_SELECT] = "static inline range range_select(range c, range a, range b)\n"
                     "{\n    return is_true(c) ? a : is_false(c) ? b : joined(a, b, 1);\n}\n",
};

enum status c_ranges(const struct programs *programs, const struct functions *functions,
                     const struct c_lines *lines, FILE *out, struct error *error)
{
    const struct program *program = &programs->range;
    size_t n = functions->of[FUNCTION_forcing].n_row;
    bool done[N_GRAPH_OP] = {false};
    fputs(prelude, out);
    for (uint32_t i = 0; i < program->n_step; i++) {
        int op = program->step[i].op;
        if (step_n_argument(&program->step[i]) == 0 || done[op])
            continue;
        done[op] = true;
        fputs(texts[op] ? texts[op] : "", out);
    }
    putc('\n', out);
    struct c_printer printer = {.values = &programs->values,
                                .program = program, .lines = lines, .out = out, .form = C_RANGE};
    const struct c_function function = {.name = "forcing_ranges", .n_out = program->n_output};
    enum status status = c_function(&printer, &function, error);
    fprintf(out,
            "static int forcing_range(const struct stiffit_point *at, double t_end, double "
            "*restrict out)\n{\n"
            "    range value[%zu] = {{0}};\n    forcing_ranges(at, (range){at->t, t_end, 0}, "
            "value);\n"
            "    for (int i = 0; i < %zu; i++) {\n        const range *slope = &value[%zu + i];\n"
            "        out[i] = value[i].lower;\n        out[%zu + i] = value[i].upper;\n"
            "        out[%zu + i] = value[i].jumps ? -INFINITY : slope->lower;\n"
            "        out[%zu + i] = value[i].jumps ? INFINITY : slope->upper;\n    }\n"
            "    return STIFFIT_OK;\n}\n\n",
            2 * n, n, n, n, 2 * n, 3 * n);
    return status;
}
