/* Runs postfix code: formulas become nodes of the graph, and user functions are expanded where
 * they are called.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/text/resolve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A call in progress. */
struct frame {
    uint32_t next, end; /* instructions */
    uint32_t base;      /* index of its first argument on the stack */
    uint32_t formula;
};

struct machine {
    struct reading *reading;
    struct graph *graph;
    LIST(node) stack;
    LIST(struct frame) frames;
    LIST(uint8_t) depends; /* for the nodes so far: bits as in graph_dependence */
    LIST(uint8_t) told;    /* for each formula: warnings already reported */
    uint32_t n_step;
    bool in_derivative, failed;
};

struct machine *machine_new(struct reading *reading, struct graph *graph)
{
    struct machine *machine = calloc(1, sizeof *machine);
    if (machine) {
        machine->reading = reading;
        machine->graph = graph;
        machine->told.item = calloc(reading->formulas.n + 1, 1);
    }
    if (!machine || !machine->told.item) {
        free(machine);
        reading->source.no_memory = true;
        return NULL;
    }
    return machine;
}

void machine_free(struct machine *machine)
{
    if (!machine)
        return;
    free(machine->stack.item);
    free(machine->frames.item);
    free(machine->depends.item);
    free(machine->told.item);
    free(machine);
}

static void push(struct machine *machine, node value)
{
    node *place = list_add(machine->reading, &machine->stack, READING_MAX_CODE);
    if (place)
        *place = value;
    else
        machine->failed = true;
}

/* Nodes use only older ones, so one pass over the new ones is enough. */
unsigned evaluate_dependence(struct machine *machine, node which)
{
    uint32_t known = machine->depends.n, n_node = (uint32_t)graph_n_node(machine->graph);
    while (machine->depends.n < n_node && list_add(machine->reading, &machine->depends, UINT32_MAX))
        ;
    if (machine->depends.n < n_node) {
        machine->depends.n = known;
        machine->failed = true;
        return 0;
    }
    graph_dependence(machine->graph, known, machine->depends.item);
    return machine->depends.item[which];
}

enum corner { NO_CORNER, POINT, KINK, POINTS = 4 /* of `interp`: a fault */ };

/* Jumps need no warning: the integrator stops there. But it steps over what holds at single
 * points only. */
static enum corner corner_of(struct machine *machine, enum graph_op op, const node *operand)
{
    unsigned facts = graph_operations[op].facts;
    if (op == GRAPH_SELECT) /* conditions with comparisons have been reported */
        return graph_operations[graph_node(machine->graph, operand[0])->op].facts & IS_TRUTH
                   ? NO_CORNER
                   : POINT;
    return facts & IS_POINT ? POINT : facts & HAS_KINK ? KINK : NO_CORNER;
}

static void warn_of_corner(struct machine *machine, const struct instruction *code,
                           enum graph_op op, const node *operand)
{
    enum corner corner = machine->in_derivative ? corner_of(machine, op, operand) : NO_CORNER;
    uint32_t formula = machine->frames.item[machine->frames.n - 1].formula;
    if (corner == NO_CORNER || machine->told.item[formula] & corner)
        return;
    unsigned depends = evaluate_dependence(machine, operand[0]);
    if (op != GRAPH_SELECT && graph_n_argument(op) == 2)
        depends |= evaluate_dependence(machine, operand[1]);
    if (!(depends & 1u << GRAPH_STATE))
        return;
    machine->told.item[formula] |= (uint8_t)corner;
    struct source *source = &machine->reading->source;
    struct span at = message_token_at(source, code->offset);
    if (corner == POINT)
        message_warning(source, at,
                        "`%.*s` changes a derivative where a state has exactly one value, which "
                        "the integrator does not "
                        "meet: compare with `<`, `<=`, `>` or `>=`",
                        SPAN_ARGUMENTS(machine->reading, at));
    else
        message_warning(source, at,
                        "`%.*s` gives a derivative a kink as a state changes; the integrator does "
                        "not know where, and takes small steps there. Something smooth, such as "
                        "`sqrt(x^2 + width^2)` for `abs(x)`, avoids it",
                        SPAN_ARGUMENTS(machine->reading, at));
}

static node apply(struct machine *machine, const struct instruction *code, enum graph_op op,
                  const node *operand)
{
    warn_of_corner(machine, code, op, operand);
    return graph_operation(machine->graph, op, operand);
}

static void run_operation(struct machine *machine, const struct instruction *code)
{
    uint32_t n = (uint32_t)graph_n_argument(code->op);
    machine->stack.n -= n;
    node operand[3] = {NODE_NONE, NODE_NONE, NODE_NONE};
    memcpy(operand, machine->stack.item + machine->stack.n, n * sizeof *operand);
    if (code->swapped) {
        node first = operand[0];
        operand[0] = operand[1];
        operand[1] = first;
    }
    push(machine, apply(machine, code, code->op, operand));
}

/* Operands A1 C1 A2 C2 ... OTHERWISE, from the end. */
static void run_piecewise(struct machine *machine, const struct instruction *code)
{
    machine->stack.n -= code->n_argument;
    const node *operand = machine->stack.item + machine->stack.n;
    node value = operand[code->n_argument - 1];
    for (uint32_t i = code->n_argument - 1; i > 0; i -= 2)
        value =
            apply(machine, code, GRAPH_SELECT, (node[3]){operand[i - 1], operand[i - 2], value});
    push(machine, value);
}

static void run_fold(struct machine *machine, const struct instruction *code)
{
    machine->stack.n -= code->n_argument;
    const node *operand = machine->stack.item + machine->stack.n;
    node value = operand[0];
    for (uint32_t i = 1; i < code->n_argument; i++)
        value = apply(machine, code, code->op, (node[3]){value, operand[i], NODE_NONE});
    push(machine, value);
}

/* The beginning of an argument of the call at `offset`, from 0. */
static struct span argument_place(const struct source *source, uint32_t offset, uint32_t argument)
{
    struct lexer lexer;
    struct token token;
    uint32_t n_open = 0;
    token_begin(&lexer, source, NULL);
    lexer.at = offset;
    for (token_next(&lexer, &token); token.kind != TOKEN_END; token_next(&lexer, &token)) {
        bool is_before = n_open == 1 && argument == 0;
        if (is_before)
            return token.span;
        n_open += token.kind == TOKEN_OPEN;
        n_open -= token.kind == TOKEN_CLOSE && n_open > 0;
        argument -= token.kind == TOKEN_COMMA && n_open == 1;
    }
    return message_token_at(source, offset);
}

/* Whether the points have numbers as x that increase. */
static bool check_points(struct machine *machine, const struct instruction *code,
                         const node *operand)
{
    struct source *source = &machine->reading->source;
    uint32_t formula = machine->frames.item[machine->frames.n - 1].formula, i = 1;
    const struct graph_node *x = NULL, *before = NULL;
    for (; i < code->n_argument; i += 2, before = x) {
        x = graph_node(machine->graph, operand[i]);
        if (x->op != GRAPH_CONSTANT || !isfinite(x->value) || (before && x->value <= before->value))
            break;
    }
    if (i >= code->n_argument)
        return true;
    machine->failed = true;
    if (machine->told.item[formula] & POINTS)
        return false;
    machine->told.item[formula] |= POINTS;
    struct span at = argument_place(source, code->offset, i);
    if (x->op != GRAPH_CONSTANT || !isfinite(x->value))
        message_fault(source, at,
                      "the x of each point of `interp` is a number, a constant or an expression of "
                      "these: only the first argument may vary");
    else
        message_fault(source, at,
                      "the points of `interp` must have increasing x: %.9g follows %.9g", x->value,
                      before->value);
    return false;
}

/* Operands x, X1, Y1, X2, Y2, ...: a table of the values that are numbers; each other value times
 * what the table is where it alone is 1, as an interpolation is linear in its values. */
static void run_interp(struct machine *machine, const struct instruction *code)
{
    machine->stack.n -= code->n_argument;
    const node *operand = machine->stack.item + machine->stack.n;
    struct graph *graph = machine->graph;
    size_t n = code->n_argument / 2, n_number = 0;
    if (!check_points(machine, code, operand))
        return;
    double *x = calloc(2 * n, sizeof *x), *y = x ? x + n : NULL;
    node sum = 0, *value = malloc(n * sizeof *value), at = operand[0];
    if (!x || !value) {
        machine->reading->source.no_memory = machine->failed = true;
        goto done;
    }
    for (size_t i = 0; i < n; i++) {
        const struct graph_node *number = graph_node(graph, operand[2 * i + 2]);
        x[i] = graph_node(graph, operand[2 * i + 1])->value;
        value[i] = operand[2 * i + 2];
        bool is_number = number->op == GRAPH_CONSTANT && isfinite(number->value);
        y[i] = is_number ? number->value : 0;
        n_number += is_number;
    }
    if (n_number > 0)
        sum = graph_binary(graph, GRAPH_INTERP, at, graph_table(graph, x, y, n));
    memset(y, 0, n * sizeof *y);
    for (size_t i = 0; i < n; i++) {
        if (graph_node(graph, value[i])->op == GRAPH_CONSTANT)
            continue;
        y[i] = 1;
        node share = graph_binary(graph, GRAPH_INTERP, at, graph_table(graph, x, y, n));
        y[i] = 0;
        sum = graph_binary(graph, GRAPH_ADD, sum,
                           graph_binary(graph, GRAPH_MULTIPLY, value[i], share));
    }
    push(machine, sum);
done:
    free(x);
    free(value);
}

static void begin_call(struct machine *machine, uint32_t formula, uint32_t n_argument)
{
    const struct formula *body = formula == NONE ? NULL : &machine->reading->formulas.item[formula];
    struct frame *frame = NULL;
    if (body && !body->failed)
        frame = list_add(machine->reading, &machine->frames, READING_MAX_SYMBOL);
    if (!frame) {
        machine->failed = true;
        return;
    }
    *frame =
        (struct frame){body->first, body->first + body->n, machine->stack.n - n_argument, formula};
}

static void run(struct machine *machine, const struct instruction *code)
{
    struct reading *reading = machine->reading;
    switch ((enum instruction_kind)code->kind) {
    case CODE_NUMBER: push(machine, graph_constant(machine->graph, code->value)); return;
    case CODE_TIME: push(machine, graph_leaf(machine->graph, GRAPH_TIME, 0)); return;
    case CODE_ARGUMENT:
        push(machine,
             machine->stack.item[machine->frames.item[machine->frames.n - 1].base + code->symbol]);
        return;
    case CODE_OPERATION: run_operation(machine, code); return;
    case CODE_FOLD: run_fold(machine, code); return;
    case CODE_PIECEWISE: run_piecewise(machine, code); return;
    case CODE_INTERP: run_interp(machine, code); return;
    case CODE_NAME: case CODE_CALL: {
        const struct symbol *symbol = &reading->symbols.item[code->symbol];
        if (symbol->failed)
            machine->failed = true;
        else if (code->kind == CODE_NAME)
            push(machine, symbol->value);
        else
            begin_call(machine, symbol->formula, code->n_argument);
        return;
    }
    }
}

/* Ends the innermost call: its result replaces its arguments. */
static void end_call(struct machine *machine)
{
    uint32_t base = machine->frames.item[--machine->frames.n].base;
    node result = machine->stack.item[machine->stack.n - 1];
    machine->stack.n = base;
    push(machine, result);
}

node evaluate_formula(struct machine *machine, uint32_t formula, bool in_derivative)
{
    struct reading *reading = machine->reading;
    if (formula == NONE || reading_is_over(reading))
        return NODE_NONE;
    machine->stack.n = machine->frames.n = 0;
    machine->failed = false;
    machine->in_derivative = in_derivative;
    begin_call(machine, formula, 0);
    while (!machine->failed && machine->frames.n > 0) {
        struct frame *frame = &machine->frames.item[machine->frames.n - 1];
        if (frame->next == frame->end) {
            end_call(machine);
        } else if (machine->n_step++ < READING_MAX_STEP) {
            run(machine, &reading->code.item[frame->next++]);
        } else {
            uint32_t offset = reading->formulas.item[formula].offset;
            message_fault(&reading->source, message_token_at(&reading->source, offset),
                          "the model is too large: its functions expand to more than %d operations",
                          READING_MAX_STEP);
            reading->too_large = machine->failed = true;
        }
    }
    return machine->failed ? NODE_NONE : machine->stack.item[0];
}

static node leaf(struct machine *machine, const struct symbol *symbol)
{
    enum graph_op op = symbol->kind == SYMBOL_PARAMETER ? GRAPH_PARAMETER
                       : symbol->kind == SYMBOL_COVARIATE ? GRAPH_COVARIATE
                       : symbol->kind == SYMBOL_INPUT ? GRAPH_INPUT : GRAPH_STATE;
    return graph_leaf(machine->graph, op, symbol->index);
}

void evaluate_symbols(struct machine *machine)
{
    struct reading *reading = machine->reading;
    for (uint32_t i = 0; i < reading->symbols.n; i++) {
        struct symbol *symbol = &reading->symbols.item[i];
        if (symbol->kind == SYMBOL_PARAMETER || symbol->kind == SYMBOL_COVARIATE ||
            symbol->kind == SYMBOL_STATE || symbol->kind == SYMBOL_INPUT) {
            symbol->value = leaf(machine, symbol);
            /* its initial value may be wrong, but the state itself is known */
            symbol->failed = false;
        }
    }
    for (uint32_t i = 0; i < reading->order.n && !reading_is_over(reading); i++) {
        struct symbol *symbol = &reading->symbols.item[reading->order.item[i]];
        if (symbol->kind == SYMBOL_FUNCTION || symbol->failed)
            continue;
        symbol->value = evaluate_formula(machine, symbol->formula, symbol->in_derivative);
        symbol->failed = symbol->value == NODE_NONE;
        if (symbol->failed || symbol->kind != SYMBOL_CONSTANT)
            continue;
        const struct graph_node *value = graph_node(machine->graph, symbol->value);
        if (value->op != GRAPH_CONSTANT || !isfinite(value->value)) {
            message_fault(&reading->source, symbol->place,
                          "the value of this constant is not a finite number");
            symbol->failed = true;
        }
    }
}
