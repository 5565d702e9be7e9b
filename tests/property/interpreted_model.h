/* A plugin whose functions are the graph of a model text, interpreted: what engines are tested with where compiling thousands
 * of models would take too long. There is one at a time, as the functions of the plugin interface have no context.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_PROPERTY_INTERPRETED_MODEL_H
#define TESTS_PROPERTY_INTERPRETED_MODEL_H

#include "model/graph/functions.h"
#include "model/text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Results in order, and the nodes that they need. */
struct routine {
    node *needed, *result;
    size_t n_needed, n_result;
};

enum { LANES_RHS, LANES_DERIVE, LANES_CURVE, N_LANES_ROUTINE };

static struct interpreted {
    struct equations *equations;
    struct functions functions;
    struct routine of[N_MODEL_FUNCTION], lanes[N_LANES_ROUTINE];
    double *value; /* of each node */
    double wrong[N_LANES_ROUTINE]; /* a relative error of all derivatives, for tests of tests */
    const char **state_name, **parameter_name, **observable_name, **covariate_name, **input_name, **event_name;
    uint8_t *input_linear, *event_kind, *event_assigned;
    double *start;
    struct stiffit_lanes table;
    struct stiffit_model abi;
} interpreted;

static void routine_add(struct routine *r, const struct graph_matrix *matrix)
{
    r->result = realloc(r->result, (r->n_result + matrix->n_entry + 1) * sizeof *r->result);
    if (matrix->n_entry)
        memcpy(r->result + r->n_result, matrix->entry, matrix->n_entry * sizeof *r->result);
    r->n_result += matrix->n_entry;
}

static void routine_close(struct routine *r, const struct graph *graph)
{
    size_t n_node = graph_n_node(graph);
    uint8_t *mark = calloc(n_node, 1);
    r->needed = malloc(n_node * sizeof *r->needed);
    graph_mark(graph, r->result, r->n_result, mark, n_node);
    for (size_t i = 0; i < n_node; i++)
        if (mark[i] && graph_node(graph, (node)i)->op != GRAPH_CONSTANT)
            r->needed[r->n_needed++] = (node)i;
    free(mark);
}

/* At lane k of `at`; a scalar point has arrays of stride 1. */
static void routine_run(const struct routine *r, const struct stiffit_lanes_point *at, size_t stride, size_t k)
{
    const struct graph *graph = interpreted.equations->graph;
    double *value = interpreted.value;
    for (size_t i = 0; i < r->n_needed; i++) {
        const struct graph_node *it = graph_node(graph, r->needed[i]);
        int n = graph_n_argument(it->op);
        double argument[3] = {0};
        for (int a = 0; a < n; a++)
            argument[a] = value[it->arg[a]];
        const double *leaf = it->op == GRAPH_TIME ? at->t : it->op == GRAPH_STATE ? at->y : it->op == GRAPH_PARAMETER ? at->p
                             : it->op == GRAPH_COVARIATE ? at->covariate : it->op == GRAPH_INPUT ? at->input
                             : it->op == GRAPH_INPUT_SLOPE ? at->input_slope : at->direction;
        value[r->needed[i]] = n ? graph_apply(graph, it->op, argument)
                               : it->op == GRAPH_TABLE ? it->index : leaf ? leaf[it->index * stride + k] : NAN;
    }
}

static int interpret(enum model_function f, const struct stiffit_point *at, double *out)
{
    const struct graph_matrix *matrix = &interpreted.functions.of[f];
    const struct stiffit_lanes_point point = {.t = &at->t, .y = at->y, .p = at->p, .covariate = at->covariate,
                                              .input = at->input};
    /* The rows of event_assign are the states after each event, one event after the other. */
    bool is_assign = model_functions[f].row == OF_ASSIGNED;
    size_t n_row = is_assign ? interpreted.equations->n_state : matrix->n_row, first = is_assign ? at->event * n_row : 0;
    routine_run(&interpreted.of[f], &point, 1, 0);
    memset(out, 0, n_row * matrix->n_column * sizeof *out);
    for (size_t j = 0; j < matrix->n_column; j++)
        for (uint32_t e = matrix->column_start[j]; e < matrix->column_start[j + 1]; e++)
            if (matrix->row[e] >= first && matrix->row[e] < first + n_row)
                out[matrix->row[e] - first + j * n_row] = interpreted.value[matrix->entry[e]];
    return STIFFIT_OK;
}

static void interpret_lanes(int which, const struct stiffit_lanes_point *at, double *out)
{
    const struct routine *r = &interpreted.lanes[which];
    for (size_t k = 0; k < STIFFIT_LANES; k++) {
        routine_run(r, at, STIFFIT_LANES, k);
        for (size_t i = 0; i < r->n_result; i++)
            out[i * STIFFIT_LANES + k] =
                interpreted.value[r->result[i]] * (1 + (i < interpreted.lanes[LANES_RHS].n_result && which != LANES_CURVE
                                                        ? 0 : interpreted.wrong[which]));
    }
}

#define FUNCTION(name, ...) \
    static __attribute__((unused)) int interpret_##name(const struct stiffit_point *at, double *out) \
    { return interpret(FUNCTION_##name, at, out); }
MODEL_FUNCTIONS(FUNCTION)
#undef FUNCTION
#define FUNCTION(name, which) \
    static void interpret_lanes_##name(const struct stiffit_lanes_point *at, double *out) { interpret_lanes(which, at, out); }
FUNCTION(rhs, LANES_RHS)
FUNCTION(derive, LANES_DERIVE)
FUNCTION(curve, LANES_CURVE)
#undef FUNCTION

static struct stiffit_pattern interpreted_pattern(const struct graph_matrix *matrix)
{
    return (struct stiffit_pattern){(const int32_t *)matrix->column_start, (const int32_t *)matrix->row};
}

static void interpreted_close(void)
{
    struct interpreted *m = &interpreted;
    for (int f = 0; f < N_MODEL_FUNCTION + N_LANES_ROUTINE; f++) {
        struct routine *r = f < N_MODEL_FUNCTION ? &m->of[f] : &m->lanes[f - N_MODEL_FUNCTION];
        free(r->needed);
        free(r->result);
    }
    free(m->value);
    free(m->start);
    free(m->input_linear);
    free(m->event_kind);
    free(m->event_assigned);
    const char **const names[] = {m->state_name, m->parameter_name, m->observable_name, m->covariate_name, m->input_name,
                                  m->event_name};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        free(names[i]);
    functions_fini(&m->functions);
    equations_free(m->equations);
    *m = (struct interpreted){.wrong[LANES_DERIVE] = m->wrong[LANES_DERIVE], .wrong[LANES_CURVE] = m->wrong[LANES_CURVE]};
}

/* `interpreted` is closed, or all 0 but for `wrong`. Fills interpreted.abi; abi.lanes is NULL if the model compiler makes none.
 * False: no model. */
static bool interpreted_open(const char *text, size_t n_byte, const char *path)
{
    struct interpreted *m = &interpreted;
    struct text_messages messages = {0};
    struct error error = {0};
    bool good = text_parse(text, n_byte, path, &m->equations, &messages, &error) == STATUS_OK &&
                functions_derive(m->equations, &m->functions, &error) == STATUS_OK;
    text_messages_fini(&messages);
    if (!good)
        return false;
    const struct equations *e = m->equations;
    const struct functions *f = &m->functions;
    size_t n_node = graph_n_node(e->graph);
    m->value = calloc(n_node, sizeof *m->value);
    for (size_t i = 0; i < n_node; i++)
        if (graph_node(e->graph, (node)i)->op == GRAPH_CONSTANT)
            m->value[i] = graph_node(e->graph, (node)i)->value;
    for (int i = 0; i < N_MODEL_FUNCTION; i++) {
        routine_add(&m->of[i], &f->of[i]);
        routine_close(&m->of[i], e->graph);
    }
    const struct graph_matrix *const rows[N_LANES_ROUTINE][3] = {
        {&f->of[FUNCTION_rhs]},
        {&f->of[FUNCTION_rhs], &f->lanes.by_state, &f->of[FUNCTION_rhs_parameter]},
        {&f->lanes.curve_state, &f->lanes.curve_parameter}};
    for (int i = 0; f->lanes.are_there && i < N_LANES_ROUTINE; i++) {
        for (int k = 0; k < 3 && rows[i][k]; k++)
            routine_add(&m->lanes[i], rows[i][k]);
        routine_close(&m->lanes[i], e->graph);
    }
#define NAMES(what) \
    m->what##_name = calloc(e->n_##what + 1, sizeof *m->what##_name); \
    for (uint32_t i = 0; i < e->n_##what; i++) \
        m->what##_name[i] = e->what[i].name
    NAMES(state);
    NAMES(parameter);
    NAMES(observable);
    NAMES(covariate);
    NAMES(input);
    NAMES(event);
#undef NAMES
    m->input_linear = calloc(e->n_input + 1, 1);
    for (uint32_t i = 0; i < e->n_input; i++)
        m->input_linear[i] = e->input[i].is_linear;
    m->event_kind = calloc(e->n_event + 1, 1);
    m->event_assigned = calloc((size_t)e->n_event * e->n_state + 1, 1);
    for (uint32_t i = 0; i < e->n_event; i++) {
        m->event_kind[i] = e->event[i].kind;
        for (uint32_t k = 0; k < e->event[i].n_assignment; k++)
            m->event_assigned[e->event[i].assignment[k].state + (size_t)i * e->n_state] = 1;
    }
    m->start = calloc(e->n_parameter + 1, sizeof *m->start);
    for (uint32_t i = 0; i < e->n_parameter; i++)
        m->start[i] = e->parameter[i].start;
    m->table = (struct stiffit_lanes){
        .struct_size = sizeof m->table, .n_lane = STIFFIT_LANES, .rhs = interpret_lanes_rhs, .derive = interpret_lanes_derive,
        .curve = interpret_lanes_curve, .by_state = interpreted_pattern(&f->lanes.by_state),
        .by_parameter = interpreted_pattern(&f->of[FUNCTION_rhs_parameter]),
        .curve_state = interpreted_pattern(&f->lanes.curve_state),
        .curve_parameter = interpreted_pattern(&f->lanes.curve_parameter)};
    m->abi = (struct stiffit_model){
        STIFFIT_MODEL_HEADER, .name = e->name, .n_state = e->n_state, .n_parameter = e->n_parameter,
        .n_observable = e->n_observable, .n_covariate = e->n_covariate, .state_name = m->state_name,
        .parameter_name = m->parameter_name, .observable_name = m->observable_name, .covariate_name = m->covariate_name,
        .parameter_start = m->start, .parameter_use = f->parameter_use, .t0 = e->t0, .rhs = interpret_rhs,
        .initial = interpret_initial, .observe = interpret_observe, .jacobian = interpret_jacobian,
        .rhs_parameter = interpret_rhs_parameter, .initial_parameter = interpret_initial_parameter,
        .observe_state = interpret_observe_state, .observe_parameter = interpret_observe_parameter,
        .n_switching = (uint32_t)f->of[FUNCTION_switching].n_row, .n_forcing = (uint32_t)f->of[FUNCTION_forcing].n_row,
        .switching = interpret_switching, .forcing = interpret_forcing, .switching_parameter = f->switching_parameter,
        .lanes = f->lanes.are_there ? &m->table : NULL, .n_input = e->n_input, .input_name = m->input_name,
        .input_linear = m->input_linear, .n_event = e->n_event, .event_name = m->event_name, .event_kind = m->event_kind,
        .event_assigned = m->event_assigned};
    if (m->abi.n_switching) {
        m->abi.switching_time = interpret_switching_time;
        m->abi.switching_time_parameter = interpret_switching_time_parameter;
        m->abi.switching_state = interpret_switching_state;
        m->abi.switching_slope = interpret_switching_slope;
    }
#define FIELD(name) m->abi.name = f->of[FUNCTION_##name].n_row ? interpret_##name : NULL
    FIELD(lag);
    FIELD(lag_parameter);
    FIELD(bioavailability);
    FIELD(bioavailability_parameter);
    FIELD(event_when);
    FIELD(event_when_state);
    FIELD(event_when_parameter);
    FIELD(event_assign);
    FIELD(event_assign_state);
    FIELD(event_assign_parameter);
    FIELD(event_delay);
    FIELD(event_delay_state);
    FIELD(event_delay_parameter);
    FIELD(event_priority);
#undef FIELD
    return true;
}

#endif
