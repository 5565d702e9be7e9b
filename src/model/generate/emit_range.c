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
        fputs(graph_operations[op].range, out);
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
