/* Turns results into statements, in the order of a depth-first walk from each result, visiting
 * the argument that needs most registers first: values are computed just before their use, and
 * few are alive at a time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/generate/program.h"

#include "model/graph/intern.h"

#include <math.h>
#include <stdlib.h>

/* Memory of one walk. All arrays are indexed by value, except n_division and lower (by node). */
struct builder {
    const struct values *values;
    struct program *program;
    uint32_t n_work;      /* values that are loaded from at->work */
    bool is_prepare;
    uint32_t *step_of;    /* number + 1; 0: not yet */
    uint32_t *n_division; /* of divisors: how often each divides, at most 2 */
    node *lower;          /* of powers a^b: the power a^(b - 1) if it is needed too, otherwise 0 */
    bool *seen;
    struct frame {
        value which;
        uint32_t n_done;
    } *stack;
    uint32_t n_stack, step_room;
};

static bool is_cut(const struct builder *b, value which)
{
    return b->values->slot[which] < b->n_work;
}

/* Whether 1/c, of a constant, neither overflows nor underflows. */
static bool has_plain_reciprocal(const struct graph_node *n)
{
    double size = fabs(n->value);
    return size > 1e-300 && size < 1e300;
}

/* Whether a/b is written as a*(1/b): 1/b is available, is needed twice, or is a constant. The
 * result differs from the quotient by one rounding. */
static bool multiplies(const struct builder *b, const struct graph_node *division)
{
    node divisor = division->arg[1];
    const struct graph_node *by = graph_node(b->values->graph, divisor);
    if (by->op == GRAPH_CONSTANT && !has_plain_reciprocal(by))
        return false;
    if (is_cut(b, b->values->reciprocal[divisor]) || b->n_division[divisor] > 1)
        return true;
    return !b->is_prepare && by->op == GRAPH_CONSTANT;
}

/* A value's operation, with the arguments of a step. */
static struct graph_node operation_of(const struct builder *b, value which)
{
    struct graph_node n = values_get(b->values, which);
    if (n.op == GRAPH_POWER_LOG) {
        value logarithm = b->values->logarithm[n.arg[0]];
        n.arg[0] = values_power(b->values, which);
        n.arg[1] = logarithm;
    }
    return n;
}

/* The operation that is computed for a value, and its arguments. */
static struct graph_node carried_out(const struct builder *b, value which)
{
    struct graph_node n = operation_of(b, which);
    if (n.op == GRAPH_DIVIDE && multiplies(b, &n)) {
        n.op = GRAPH_MULTIPLY;
        n.arg[1] = b->values->reciprocal[n.arg[1]];
    } else if (n.op == GRAPH_POWER && which < b->values->n_node && b->lower[which]) {
        n.op = GRAPH_MULTIPLY; /* one call instead of two, with one more rounding */
        n.arg[1] = b->lower[which];
    }
    return n;
}

/* If a^(b - 1), a factor of its derivative, is needed too, a^b is computed from it. Not for b <
 * 1, where it would be 0 times infinity at a = 0; so not if b is known only at run time. */
static void note_power(struct builder *b, node which, const struct graph_node *n)
{
    const struct graph *graph = b->values->graph;
    const struct graph_node *exponent = graph_node(graph, n->arg[1]);
    struct graph_node next = {.op = GRAPH_CONSTANT};
    next.value = exponent->value + 1;
    /* From 2^53 on b + 1 may be b, and a^b its own factor. */
    if (exponent->op != GRAPH_CONSTANT || exponent->value < 0 || !(next.value > exponent->value))
        return;
    node higher = graph_find(graph, next);
    if (higher != NODE_NONE)
        higher = graph_find(graph, graph_node_of(GRAPH_POWER, n->arg[0], higher, NODE_NONE));
    if (higher != NODE_NONE)
        b->lower[higher] = which;
}

/* Surveys what the results need: how often each divisor divides, and which powers exist. */
static void survey(struct builder *b)
{
    const struct program *program = b->program;
    for (uint32_t i = 0; i < program->n_output; i++) {
        value next = program->output[i].value;
        for (b->n_stack = 0;;) {
            if (!b->seen[next] && !is_cut(b, next)) {
                b->seen[next] = true;
                b->stack[b->n_stack++] = (struct frame){next, 0};
            }
            if (b->n_stack == 0)
                break;
            struct frame *top = &b->stack[b->n_stack - 1];
            struct graph_node n = operation_of(b, top->which);
            if ((n.op == GRAPH_DIVIDE || n.op == GRAPH_RECIPROCAL) && top->n_done == 0) {
                uint32_t *count = &b->n_division[n.arg[n.op == GRAPH_DIVIDE]];
                *count += *count < 2;
            }
            if (n.op == GRAPH_POWER && top->n_done == 0 && top->which < b->values->n_node)
                note_power(b, top->which, &n);
            if (top->n_done < (uint32_t)graph_n_argument(n.op))
                next = n.arg[top->n_done++];
            else
                b->n_stack--;
        }
    }
    b->n_stack = 0;
}

static unsigned registers_of(const struct builder *b, value which)
{
    if (is_cut(b, which))
        return 1;
    return b->values->n_register[which % b->values->n_node];
}

/* The k-th argument to compute: in order of decreasing need of registers, then from left to
 * right. */
static value argument_in_turn(const struct builder *b, const struct graph_node *n, int n_argument,
                              uint32_t k)
{
    value sorted[3] = {n->arg[0]};
    for (int i = 1; i < n_argument; i++) {
        int place = i;
        for (; place > 0 && registers_of(b, sorted[place - 1]) < registers_of(b, n->arg[i]);
             place--)
            sorted[place] = sorted[place - 1];
        sorted[place] = n->arg[i];
    }
    return sorted[k];
}

static bool append_step(struct builder *b, value which, const struct graph_node *n, bool cut)
{
    struct program *program = b->program;
    if (program->n_step == b->step_room) {
        uint32_t room = b->step_room ? 2 * b->step_room : 64;
        struct step *grown = realloc(program->step, room * sizeof *grown);
        if (!grown)
            return false;
        program->step = grown;
        b->step_room = room;
    }
    struct step step = {.op = cut ? PROGRAM_WORK : (int)n->op, .source = which,
                        .label = which < b->values->n_node ? b->values->label[which] : VALUE_NONE};
    if (cut)
        step.index = b->values->slot[which];
    else if (n->op == GRAPH_CONSTANT)
        step.constant = n->value;
    else if (graph_n_argument(n->op) == 0)
        step.index = n->index;
    else
        for (int k = 0; k < 3; k++)
            step.arg[k] = k < graph_n_argument(n->op) ? b->step_of[n->arg[k]] - 1 : STEP_NONE;
    program->step[program->n_step++] = step;
    b->step_of[which] = program->n_step;
    return true;
}

/* Appends steps for a value and everything that it needs. */
static bool append_value(struct builder *b, value result)
{
    if (b->step_of[result])
        return true;
    b->stack[b->n_stack++] = (struct frame){result, 0};
    while (b->n_stack > 0) {
        struct frame *top = &b->stack[b->n_stack - 1];
        bool cut = is_cut(b, top->which);
        struct graph_node n = carried_out(b, top->which);
        int n_argument = cut ? 0 : graph_n_argument(n.op);
        if (top->n_done < (uint32_t)n_argument) {
            value argument = argument_in_turn(b, &n, n_argument, top->n_done++);
            if (!b->step_of[argument])
                b->stack[b->n_stack++] = (struct frame){argument, 0};
            continue;
        }
        if (!append_step(b, top->which, &n, cut))
            return false;
        b->n_stack--;
    }
    return true;
}

/* A sign change is written wherever it is needed, so its uses count as uses of its argument. */
static bool is_transparent(const struct step *step)
{
    return step->op == GRAPH_NEGATE && step->label == VALUE_NONE;
}

static void count_uses(struct program *program)
{
    for (uint32_t i = 0; i < program->n_output; i++)
        program->step[program->output[i].step].n_use++;
    for (uint32_t i = program->n_step; i-- > 0;) {
        const struct step *step = &program->step[i];
        for (int k = 0; k < step_n_argument(step); k++)
            program->step[step->arg[k]].n_use += is_transparent(step) ? step->n_use : 1;
    }
}

static bool is_leaf_or_its_negative(const struct program *program, const struct step *step)
{
    return step_n_argument(step) == 0 ||
           (step->op == GRAPH_NEGATE && step_n_argument(&program->step[step->arg[0]]) == 0);
}

/* 1/c, which the compiler computes: as cheap as a constant. */
static bool is_constant_reciprocal(const struct program *program, const struct step *step)
{
    return step->op == GRAPH_RECIPROCAL && program->step[step->arg[0]].op == GRAPH_CONSTANT;
}

/* Width of operators with their blanks and the most brackets, or of a function's name. */
enum { OPERATOR_WIDTH = 5, NUMBER_WIDTH = 4, STORE_WIDTH = 10 };

static uint32_t width_in_place(const struct values *values, const struct step *step,
                               program_width_function *width)
{
    if (step_n_argument(step) == 0 || (step->is_named && step->label != VALUE_NONE))
        return width(values, step);
    return step->is_named ? NUMBER_WIDTH : step->width;
}

/* Names values that are used several times, are an intermediate of the model, or would make an
 * expression too long. Both sides of a choice are computed before it, so that no branch is
 * needed. */
static void choose_names(const struct values *values, struct program *program,
                         program_width_function *width)
{
    for (uint32_t i = 0; i < program->n_step; i++) {
        struct step *step = &program->step[i];
        int n_argument = step_n_argument(step);
        if (n_argument == 0)
            continue;
        for (;;) {
            struct step *widest = NULL;
            step->width = OPERATOR_WIDTH;
            step->n_operation = 1;
            for (int k = 0; k < n_argument; k++) {
                struct step *argument = &program->step[step->arg[k]];
                bool is_side = step->op == GRAPH_SELECT && k > 0;
                if (is_side && !is_leaf_or_its_negative(program, argument))
                    argument->is_named = true;
                step->width += width_in_place(values, argument, width);
                if (argument->is_named || step_n_argument(argument) == 0)
                    continue;
                step->n_operation += argument->n_operation;
                if (!widest || argument->width > widest->width)
                    widest = argument;
            }
            if (step->width <= PROGRAM_WIDTH - STORE_WIDTH || !widest)
                break;
            widest->is_named = true;
        }
        step->is_named = step->label != VALUE_NONE || (step->n_use > 1 && !is_transparent(step) &&
                                                       !is_constant_reciprocal(program, step));
    }
}

static bool list_statements(struct program *program)
{
    program->statement =
        calloc((size_t)program->n_step + program->n_output + 1, sizeof *program->statement);
    if (!program->statement)
        return false;
    uint32_t next = 0;
    for (uint32_t i = 0; i < program->n_output; i++) {
        for (; next <= program->output[i].step; next++) {
            struct step *step = &program->step[next];
            if (!step->is_named)
                continue;
            program->n_temporary++;
            step->number = program->n_temporary;
            program->statement[program->n_statement++] = (struct statement){false, next};
        }
        program->statement[program->n_statement++] = (struct statement){true, i};
    }
    return true;
}

enum status program_build(const struct values *values, struct program_output *output,
                          uint32_t n_output, enum program_kind kind, program_width_function *width,
                          struct program *program, struct error *error)
{
    size_t n = VALUE_FAMILIES * (size_t)values->n_node;
    const uint32_t n_work[] = {0, values->n_scalar_work, values->n_work};
    struct builder b = {.values = values,
                        .program = program, .n_work = n_work[kind],
                        .is_prepare = kind == PROGRAM_PREPARE};
    struct arena scratch = {0};
    program->output = output;
    program->n_output = n_output;
    b.step_of = arena_calloc(&scratch, n, sizeof *b.step_of);
    b.n_division = arena_calloc(&scratch, values->n_node, sizeof *b.n_division);
    b.lower = arena_calloc(&scratch, values->n_node, sizeof *b.lower);
    b.seen = arena_calloc(&scratch, n, sizeof *b.seen);
    b.stack = arena_alloc(&scratch, n * sizeof *b.stack);
    bool complete = output && b.step_of && b.n_division && b.lower && b.seen && b.stack;
    if (complete && !b.is_prepare)
        survey(&b);
    for (uint32_t i = 0; complete && i < n_output; i++) {
        complete = append_value(&b, output[i].value);
        if (complete)
            output[i].step = b.step_of[output[i].value] - 1;
    }
    if (complete) {
        count_uses(program);
        choose_names(values, program, width);
        complete = list_statements(program);
    }
    arena_fini(&scratch);
    return complete ? STATUS_OK
                    : error_set(error, STATUS_NO_MEMORY,
                                "out of memory while generating the model's code");
}

void program_fini(struct program *program)
{
    free(program->step);
    free(program->output);
    free(program->statement);
    *program = (struct program){0};
}

/* Expressions written in place are at most as deep as they are wide: each level takes columns. */
static void visit_expression(const struct program *program, const struct step *step,
                             program_visit_function *visit, void *context)
{
    for (int k = 0; k < step_n_argument(step); k++) {
        const struct step *argument = &program->step[step->arg[k]];
        if (argument->is_named || step_n_argument(argument) == 0)
            visit(context, step->arg[k]);
        else
            visit_expression(program, argument, visit, context);
    }
}

void program_visit(const struct program *program, const struct statement *statement,
                   program_visit_function *visit, void *context)
{
    uint32_t which =
        statement->is_store ? program->output[statement->which].step : statement->which;
    const struct step *step = &program->step[which];
    if (statement->is_store && (step->is_named || step_n_argument(step) == 0))
        visit(context, which);
    else
        visit_expression(program, step, visit, context);
}

void program_note_read(void *context, uint32_t step)
{
    struct lives *lives = context;
    lives->last[step] = lives->now;
}

/* Appends the entries of a matrix as results, in places from `first` on: all of them in their
 * order, or, where out is the full matrix, those that are not zero. */
static void append_outputs(const struct graph *graph, const struct graph_matrix *matrix,
                           bool by_entry, size_t first, struct program_output *output,
                           uint32_t *n_output)
{
    for (size_t j = 0; j < matrix->n_column; j++) {
        for (uint32_t k = matrix->column_start[j]; k < matrix->column_start[j + 1]; k++) {
            size_t slot = first + (by_entry ? k : matrix->row[k] + j * matrix->n_row);
            if (by_entry || !graph_is_constant(graph, matrix->entry[k], 0))
                output[(*n_output)++] = (struct program_output){.slot = slot,
                                                                .row = matrix->row[k],
                                                                .column = (uint32_t)j,
                                                                .value = matrix->entry[k]};
        }
    }
}

/* The states that event i_event assigns, or their derivatives: rows of a matrix that has those
 * of all events. */
static enum status build_event(struct programs *programs, const struct functions *functions,
                               size_t i_event, int f, program_width_function *width,
                               struct error *error)
{
    const struct graph_matrix *matrix = &functions->of[event_functions[f]];
    size_t n = programs->values.equations->n_state;
    uint32_t n_output = 0;
    struct program_output *output = calloc(matrix->n_entry + 1, sizeof *output);
    for (size_t j = 0; output && j < matrix->n_column; j++)
        for (uint32_t k = matrix->column_start[j]; k < matrix->column_start[j + 1]; k++)
            if (matrix->row[k] / n == i_event &&
                !graph_is_constant(programs->values.graph, matrix->entry[k], 0)) {
                uint32_t row = (uint32_t)(matrix->row[k] % n);
                output[n_output++] = (struct program_output){.slot = row + j * n,
                                                             .row = row, .column = (uint32_t)j,
                                                             .value = matrix->entry[k]};
            }
    struct program *program = &programs->event[i_event * N_EVENT_FUNCTION + (size_t)f];
    return program_build(&programs->values, output, n_output, PROGRAM_SCALAR, width, program,
                         error);
}

static enum status build_events(struct programs *programs, const struct functions *functions,
                                program_width_function *width, struct error *error)
{
    size_t n = programs->values.equations->n_event;
    enum status status = STATUS_OK;
    programs->event = calloc(n * N_EVENT_FUNCTION + 1, sizeof *programs->event);
    if (!programs->event)
        return error_set(error, STATUS_NO_MEMORY,
                         "out of memory while generating the model's code");
    programs->n_event = n;
    for (size_t i = 0; i < n; i++)
        for (int f = 0; f < N_EVENT_FUNCTION && status == STATUS_OK; f++)
            status = build_event(programs, functions, i, f, width, error);
    return status;
}

static struct program_output *work_outputs(const struct values *values)
{
    struct program_output *output = calloc((size_t)values->n_work + 1, sizeof *output);
    for (uint32_t i = 0; output && i < values->n_work; i++)
        output[i] = (struct program_output){.slot = i, .row = i, .value = values->work[i]};
    return output;
}

static enum status build_lanes(struct programs *programs, const struct functions *functions,
                               program_width_function *width, struct error *error)
{
    const struct lane_functions *lanes = &functions->lanes;
    const struct graph_matrix *const matrices[N_LANES_FUNCTION][4] =
        {[LANES_rhs] = {&functions->of[FUNCTION_rhs]},
         [LANES_derive] = {&functions->of[FUNCTION_rhs], &lanes->by_state,
                           &functions->of[FUNCTION_rhs_parameter]},
         [LANES_curve] = {&lanes->curve_state, &lanes->curve_parameter},
         [LANES_observe] = {&functions->of[FUNCTION_observe],
                            &functions->of[FUNCTION_observe_state],
                            &functions->of[FUNCTION_observe_parameter]},
         [LANES_noise] = {&functions->of[FUNCTION_noise], &functions->of[FUNCTION_noise_state],
                          &functions->of[FUNCTION_noise_parameter]}};
    enum status status = STATUS_OK;
    for (int f = 0; f < N_LANES_FUNCTION && status == STATUS_OK; f++) {
        size_t n = 0;
        uint32_t n_output = 0;
        for (const struct graph_matrix *const *matrix = matrices[f]; *matrix; matrix++)
            n += (*matrix)->n_entry;
        struct program_output *output = calloc(n + 1, sizeof *output);
        for (const struct graph_matrix *const *matrix = matrices[f]; output && *matrix; matrix++)
            append_outputs(programs->values.graph, *matrix, true, n_output, output, &n_output);
        status = program_build(&programs->values, output, n_output, PROGRAM_LANES, width,
                               &programs->lanes[f], error);
    }
    return status;
}

enum status programs_init(struct programs *programs, const struct equations *equations,
                          const struct functions *functions, program_width_function *width,
                          struct error *error)
{
    struct values *values = &programs->values;
    const struct graph_matrix *jacobian = &functions->of[FUNCTION_jacobian];
    double n_entry = (double)jacobian->n_entry,
           n_all = (double)jacobian->n_row * (double)jacobian->n_row;
    programs->is_sparse =
        equations->n_state >= SPARSE_FROM && n_entry > 0 && n_entry <= SPARSE_FILL * n_all;
    enum status status = values_init(values, equations, functions, error);
    if (status == STATUS_OK)
        status = program_build(values, work_outputs(values), values->n_work, PROGRAM_PREPARE, width,
                               &programs->prepare, error);
    for (int f = 0; f < N_MODEL_FUNCTION && status == STATUS_OK; f++) {
        bool by_entry = programs->is_sparse && f == FUNCTION_jacobian;
        uint32_t n_output = 0;
        if (model_functions[f].row == OF_ASSIGNED)
            continue;
        struct program_output *output = calloc(functions->of[f].n_entry + 1, sizeof *output);
        if (output)
            append_outputs(values->graph, &functions->of[f], by_entry, 0, output, &n_output);
        status =
            program_build(values, output, n_output, PROGRAM_SCALAR, width, &programs->of[f], error);
    }
    if (status == STATUS_OK && functions->of[FUNCTION_forcing].n_row > 0) {
        const struct graph_matrix *forcing = &functions->of[FUNCTION_forcing],
                                  *slope = &functions->forcing_slope;
        uint32_t n_output = 0;
        struct program_output *output =
            calloc(forcing->n_entry + slope->n_entry + 1, sizeof *output);
        if (output) {
            append_outputs(values->graph, forcing, false, 0, output, &n_output);
            append_outputs(values->graph, slope, false, forcing->n_row, output, &n_output);
        }
        status =
            program_build(values, output, n_output, PROGRAM_SCALAR, width, &programs->range, error);
    }
    if (status == STATUS_OK && equations->n_event > 0)
        status = build_events(programs, functions, width, error);
    if (status == STATUS_OK && functions->lanes.are_there)
        status = build_lanes(programs, functions, width, error);
    return status;
}

void programs_fini(struct programs *programs)
{
    arena_fini(&programs->values.arena);
    program_fini(&programs->prepare);
    for (int f = 0; f < N_MODEL_FUNCTION; f++)
        program_fini(&programs->of[f]);
    for (int f = 0; f < N_LANES_FUNCTION; f++)
        program_fini(&programs->lanes[f]);
    program_fini(&programs->range);
    for (size_t i = 0; i < programs->n_event * N_EVENT_FUNCTION; i++)
        program_fini(&programs->event[i]);
    free(programs->event);
    *programs = (struct programs){0};
}
