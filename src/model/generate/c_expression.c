/* How values and operations are spelt in C: one table and the rules of precedence.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/generate/c_expression.h"

#include <assert.h>
#include <string.h>

/* C's levels of precedence, as far as they occur. */
enum { LEVEL_CHOICE, LEVEL_COMPARISON, LEVEL_SUM, LEVEL_PRODUCT, LEVEL_UNARY, LEVEL_PRIMARY };

/* An operation is a function's name or an operator; those of the last two kinds are true or false in C. */
enum kind { KIND_CALL, KIND_SUM, KIND_PRODUCT, KIND_NEGATIVE, KIND_RECIPROCAL, KIND_CHOICE, KIND_COMPARISON, KIND_LOGIC };

static const struct spelling {
    const char *text;
    enum kind kind;
    unsigned helper;
} spelling[N_GRAPH_OP] = {
    [GRAPH_ADD] = {" + ", KIND_SUM, 0}, [GRAPH_SUBTRACT] = {" - ", KIND_SUM, 0},
    [GRAPH_MULTIPLY] = {"*", KIND_PRODUCT, 0}, [GRAPH_DIVIDE] = {"/", KIND_PRODUCT, 0},
    [GRAPH_POWER] = {"pow", KIND_CALL, 0}, [GRAPH_POWER_LOG] = {"power_log", KIND_CALL, C_POWER_LOG},
    [GRAPH_NEGATE] = {"-", KIND_NEGATIVE, 0}, [GRAPH_RECIPROCAL] = {"1.0/", KIND_RECIPROCAL, 0},
    [GRAPH_SQRT] = {"sqrt", KIND_CALL, 0}, [GRAPH_CBRT] = {"cbrt", KIND_CALL, 0},
    [GRAPH_EXP] = {"exp", KIND_CALL, 0}, [GRAPH_EXPM1] = {"expm1", KIND_CALL, 0},
    [GRAPH_LOG] = {"log", KIND_CALL, 0}, [GRAPH_LOG1P] = {"log1p", KIND_CALL, 0},
    [GRAPH_LOG10] = {"log10", KIND_CALL, 0}, [GRAPH_LOG2] = {"log2", KIND_CALL, 0},
    [GRAPH_SIN] = {"sin", KIND_CALL, 0}, [GRAPH_COS] = {"cos", KIND_CALL, 0}, [GRAPH_TAN] = {"tan", KIND_CALL, 0},
    [GRAPH_ASIN] = {"asin", KIND_CALL, 0}, [GRAPH_ACOS] = {"acos", KIND_CALL, 0},
    [GRAPH_ATAN] = {"atan", KIND_CALL, 0}, [GRAPH_ATAN2] = {"atan2", KIND_CALL, 0},
    [GRAPH_SINH] = {"sinh", KIND_CALL, 0}, [GRAPH_COSH] = {"cosh", KIND_CALL, 0},
    [GRAPH_TANH] = {"tanh", KIND_CALL, 0}, [GRAPH_ASINH] = {"asinh", KIND_CALL, 0},
    [GRAPH_ACOSH] = {"acosh", KIND_CALL, 0}, [GRAPH_ATANH] = {"atanh", KIND_CALL, 0},
    [GRAPH_ERF] = {"erf", KIND_CALL, 0}, [GRAPH_ERFC] = {"erfc", KIND_CALL, 0}, [GRAPH_ABS] = {"fabs", KIND_CALL, 0},
    [GRAPH_SIGN] = {"sign", KIND_CALL, C_SIGN},
    [GRAPH_HEAVISIDE] = {"heaviside", KIND_CALL, C_HEAVISIDE}, [GRAPH_FLOOR] = {"floor", KIND_CALL, 0},
    [GRAPH_CEIL] = {"ceil", KIND_CALL, 0}, [GRAPH_MIN] = {"minimum", KIND_CALL, C_MINIMUM},
    [GRAPH_MAX] = {"maximum", KIND_CALL, C_MAXIMUM},
    [GRAPH_LESS] = {" < ", KIND_COMPARISON, 0}, [GRAPH_LESS_EQUAL] = {" <= ", KIND_COMPARISON, 0},
    [GRAPH_EQUAL] = {" == ", KIND_COMPARISON, 0}, [GRAPH_NOT_EQUAL] = {" != ", KIND_COMPARISON, 0},
    [GRAPH_AND] = {" & ", KIND_LOGIC, 0}, [GRAPH_OR] = {" | ", KIND_LOGIC, 0}, [GRAPH_NOT] = {"!", KIND_LOGIC, 0},
    [GRAPH_SELECT] = {"", KIND_CHOICE, 0},
};

static const struct { unsigned helper; const char *text; } helper_text[] = {
    {C_SIGN, "static inline double sign(double x) { return x == x ? (double)(x > 0) - (double)(x < 0) : x; }\n"},
    {C_HEAVISIDE, "static inline double heaviside(double x) { return x == x ? (double)(x >= 0) : x; }\n"},
    {C_POWER_LOG, "/* x^a log(x) from its factors: 0 where x^a is */\n"
                  "static inline double power_log(double power, double logarithm)\n"
                  "{\n    const double product = power*logarithm;\n    return power == 0 ? 0 : product;\n}\n"},
    {C_MINIMUM, "static inline double minimum(double a, double b) { return b < a || b != b ? b : a; }\n"},
    {C_MAXIMUM, "static inline double maximum(double a, double b) { return b > a || b != b ? b : a; }\n"},
};

unsigned c_helpers_needed(const struct program *program)
{
    unsigned needed = 0;
    for (uint32_t i = 0; i < program->n_step; i++)
        if (step_n_argument(&program->step[i]) > 0)
            needed |= spelling[program->step[i].op].helper;
    return needed;
}

void c_helpers(unsigned helpers, FILE *out)
{
    for (size_t i = 0; i < sizeof helper_text / sizeof *helper_text; i++)
        if (helpers & helper_text[i].helper)
            fputs(helper_text[i].text, out);
    if (helpers)
        putc('\n', out);
}

/* Prefix and the user's name of a step, or NULL where there is only a number. */
static const char *user_name(const struct values *values, const struct step *step, const char **prefix)
{
    const struct equations *equations = values->equations;
    switch (step->op) {
    case GRAPH_TIME: *prefix = ""; return "t";
    case GRAPH_STATE: *prefix = "y_"; return equations->state[step->index].name;
    case GRAPH_PARAMETER: *prefix = "p_"; return equations->parameter[step->index].name;
    case GRAPH_COVARIATE: *prefix = "c_"; return equations->covariate[step->index].name;
    case GRAPH_DIRECTION: *prefix = "d_"; return equations->state[step->index].name;
    case PROGRAM_WORK: *prefix = "w_"; break;
    default: *prefix = step->label == VALUE_NONE ? "x" : "v_";
    }
    return step->label == VALUE_NONE ? NULL : equations->intermediate[step->label].name;
}

uint32_t c_width(const struct values *values, const struct step *step)
{
    const char *prefix, *name;
    if (step->op == GRAPH_CONSTANT)
        return 6;
    name = user_name(values, step, &prefix);
    return (uint32_t)(strlen(prefix) + (name ? strlen(name) : 3));
}

void c_name(const struct c_printer *printer, uint32_t which)
{
    const struct step *step = &printer->program->step[which];
    const char *prefix, *name;
    if (step->op == GRAPH_CONSTANT) {
        c_number(printer->out, step->constant);
        return;
    }
    name = user_name(printer->values, step, &prefix);
    if (name)
        fprintf(printer->out, "%s%s", prefix, name);
    else
        fprintf(printer->out, "%s%u", prefix, step->op == PROGRAM_WORK ? (unsigned)step->index : (unsigned)step->number);
}

void c_source(const struct c_printer *printer, const struct step *step)
{
    static const char *const arrays[] = {[GRAPH_STATE] = "at->y", [GRAPH_PARAMETER] = "at->p",
                                         [GRAPH_COVARIATE] = "at->covariate", [PROGRAM_WORK] = "at->work"};
    assert(step->op != GRAPH_CONSTANT && step->op != GRAPH_DIRECTION);
    if (step->op == GRAPH_TIME)
        fputs("at->t", printer->out);
    else
        fprintf(printer->out, "%s[%u]", arrays[step->op], (unsigned)step->index);
}

static void put_operation(const struct c_printer *printer, const struct step *step, int level);

static bool is_by_name(const struct step *step) { return step->is_named || step_n_argument(step) == 0; }

/* An argument where at least `level` is needed. The recursion is as deep as an expression is wide (PROGRAM_WIDTH). */
static void put_argument(const struct c_printer *printer, uint32_t which, int level)
{
    const struct step *step = &printer->program->step[which];
    if (is_by_name(step))
        c_name(printer, which);
    else
        put_operation(printer, step, level);
}

static bool is_truth(const struct step *step)
{
    return step_n_argument(step) > 0 && spelling[step->op].kind >= KIND_COMPARISON;
}

static void put_truth(const struct c_printer *printer, const struct step *step);

/* An argument as a condition: in brackets. */
static void put_condition(const struct c_printer *printer, uint32_t which)
{
    const struct step *step = &printer->program->step[which];
    putc('(', printer->out);
    if (is_truth(step) && !step->is_named) {
        put_truth(printer, step);
    } else {
        put_argument(printer, which, LEVEL_SUM);
        fputs(" != 0.0", printer->out);
    }
    putc(')', printer->out);
}

static void put_truth(const struct c_printer *printer, const struct step *step)
{
    const char *text = spelling[step->op].text;
    if (spelling[step->op].kind == KIND_COMPARISON) {
        put_argument(printer, step->arg[0], LEVEL_SUM);
        fputs(text, printer->out);
        put_argument(printer, step->arg[1], LEVEL_SUM);
        return;
    }
    if (step->op != GRAPH_NOT)
        put_condition(printer, step->arg[0]);
    fputs(text, printer->out);
    put_condition(printer, step->arg[step->op != GRAPH_NOT]);
}

static void put_call(const struct c_printer *printer, const struct step *step)
{
    fprintf(printer->out, "%s(", spelling[step->op].text);
    for (int k = 0; k < step_n_argument(step); k++) {
        if (k > 0)
            fputs(", ", printer->out);
        put_argument(printer, step->arg[k], LEVEL_CHOICE);
    }
    putc(')', printer->out);
}

static const int level_of[] = {
    [KIND_CALL] = LEVEL_PRIMARY, [KIND_SUM] = LEVEL_SUM, [KIND_PRODUCT] = LEVEL_PRODUCT, [KIND_NEGATIVE] = LEVEL_UNARY,
    [KIND_RECIPROCAL] = LEVEL_PRODUCT, [KIND_CHOICE] = LEVEL_CHOICE, [KIND_COMPARISON] = LEVEL_UNARY,
    [KIND_LOGIC] = LEVEL_UNARY,
};

/* As a number. The order of operations is the graph's: brackets wherever C would group otherwise. */
static void put_operation(const struct c_printer *printer, const struct step *step, int level)
{
    const struct spelling *s = &spelling[step->op];
    int own = level_of[s->kind];
    if (own < level)
        putc('(', printer->out);
    switch (s->kind) {
    case KIND_CALL: put_call(printer, step); break;
    case KIND_SUM: case KIND_PRODUCT:
        put_argument(printer, step->arg[0], own);
        fputs(s->text, printer->out);
        put_argument(printer, step->arg[1], own + 1);
        break;
    case KIND_NEGATIVE: case KIND_RECIPROCAL:
        fputs(s->text, printer->out);
        put_argument(printer, step->arg[0], s->kind == KIND_NEGATIVE ? LEVEL_PRIMARY : LEVEL_UNARY);
        break;
    case KIND_CHOICE:
        put_condition(printer, step->arg[0]);
        fputs(" ? ", printer->out);
        put_argument(printer, step->arg[1], LEVEL_SUM);
        fputs(" : ", printer->out);
        put_argument(printer, step->arg[2], LEVEL_SUM);
        break;
    case KIND_COMPARISON: case KIND_LOGIC:
        fputs("(double)(", printer->out);
        put_truth(printer, step);
        putc(')', printer->out);
        break;
    }
    if (own < level)
        putc(')', printer->out);
}

void c_definition(const struct c_printer *printer, uint32_t which)
{
    put_operation(printer, &printer->program->step[which], LEVEL_CHOICE);
}

void c_use(const struct c_printer *printer, uint32_t which) { put_argument(printer, which, LEVEL_CHOICE); }
