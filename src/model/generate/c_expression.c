/* How values and operations are spelt in C: the rules of precedence.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/generate/c_expression.h"

#include <assert.h>
#include <string.h>

/* C's levels of precedence, as far as they occur. */
enum { LEVEL_CHOICE, LEVEL_COMPARISON, LEVEL_SUM, LEVEL_PRODUCT, LEVEL_UNARY, LEVEL_PRIMARY };

uint64_t c_helpers_needed(const struct program *program)
{
    uint64_t needed = 0;
    for (uint32_t i = 0; i < program->n_step; i++)
        if (step_n_argument(&program->step[i]) > 0 && graph_operations[program->step[i].op].c_helper)
            needed |= UINT64_C(1) << program->step[i].op;
    return needed;
}

void c_helpers(uint64_t helpers, FILE *out)
{
    for (int op = 0; op < N_GRAPH_OP; op++)
        if (helpers >> op & 1)
            fputs(graph_operations[op].c_helper, out);
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
    assert(step->op != GRAPH_CONSTANT);
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
    return step_n_argument(step) > 0 && graph_operations[step->op].c_kind >= C_COMPARISON;
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
    const char *text = graph_operations[step->op].c;
    if (graph_operations[step->op].c_kind == C_COMPARISON) {
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
    fprintf(printer->out, "%s(", graph_operations[step->op].c);
    for (int k = 0; k < step_n_argument(step); k++) {
        if (k > 0)
            fputs(", ", printer->out);
        put_argument(printer, step->arg[k], LEVEL_CHOICE);
    }
    putc(')', printer->out);
}

static const int level_of[] = {
    [C_CALL] = LEVEL_PRIMARY, [C_SUM] = LEVEL_SUM, [C_PRODUCT] = LEVEL_PRODUCT, [C_NEGATIVE] = LEVEL_UNARY,
    [C_RECIPROCAL] = LEVEL_PRODUCT, [C_CHOICE] = LEVEL_CHOICE, [C_COMPARISON] = LEVEL_UNARY,
    [C_LOGIC] = LEVEL_UNARY,
};

/* As a number. The order of operations is the graph's: brackets wherever C would group otherwise. */
static void put_operation(const struct c_printer *printer, const struct step *step, int level)
{
    const struct graph_operation *s = &graph_operations[step->op];
    int own = level_of[s->c_kind];
    if (own < level)
        putc('(', printer->out);
    switch (s->c_kind) {
    case C_CALL: put_call(printer, step); break;
    case C_SUM: case C_PRODUCT:
        put_argument(printer, step->arg[0], own);
        fputs(s->c, printer->out);
        put_argument(printer, step->arg[1], own + 1);
        break;
    case C_NEGATIVE: case C_RECIPROCAL:
        fputs(s->c, printer->out);
        put_argument(printer, step->arg[0], s->c_kind == C_NEGATIVE ? LEVEL_PRIMARY : LEVEL_UNARY);
        break;
    case C_CHOICE:
        put_condition(printer, step->arg[0]);
        fputs(" ? ", printer->out);
        put_argument(printer, step->arg[1], LEVEL_SUM);
        fputs(" : ", printer->out);
        put_argument(printer, step->arg[2], LEVEL_SUM);
        break;
    case C_COMPARISON: case C_LOGIC:
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
