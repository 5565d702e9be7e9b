/* Generated plugins compute what the graph's interpreter computes, whatever the operations, sizes and names.
 * test-level: both
 * SPDX-License-Identifier: BSD-3-Clause */
#include "generate_case.h"
#include "lanes_case.h"

#include "model/check.h"

#define N(value) graph_constant(g, value)
#define P(i) graph_leaf(g, GRAPH_PARAMETER, i)
#define C(i) graph_leaf(g, GRAPH_COVARIATE, i)
#define Y(i) graph_leaf(g, GRAPH_STATE, i)
#define T graph_leaf(g, GRAPH_TIME, 0)
#define DO1(op, a) graph_unary(g, GRAPH_##op, a)
#define DO2(op, a, b) graph_binary(g, GRAPH_##op, a, b)

enum { MANY = 200000 };

/* The interpreter divides where the plugin may multiply with a reciprocal: some units in the last place of the largest
 * number that is met. */
static bool is_close(double got, double wanted)
{
    return got == wanted || fabs(got - wanted) <= 1e-13 * fabs(wanted) + 1e-14;
}

/* Functions of lanes at one point in lane `k`, beside others, against the interpreter's values. */
static void compare_lanes(const struct generate_case *c, const struct stiffit_point *at, const double *value, size_t k)
{
    const struct stiffit_model *abi = &c->model.abi;
    struct lanes_case lanes;
    struct lane_point lane;
    lanes_case_init(&lanes, abi);
    lane_point_init(&lane, &lanes);
    lane.at.t = at->t;
    memcpy(lane.y, at->y, abi->n_state * sizeof(double));
    memcpy(lane.p, at->p, abi->n_parameter * sizeof(double));
    if (abi->n_covariate)
        memcpy(lane.c, at->covariate, abi->n_covariate * sizeof(double));
    for (uint32_t j = 0; j <= abi->n_state; j++)
        lane.d[j] = graph_direction(j);
    lanes_put(&lanes, k, &lane);
    lanes_call(&lanes);
    const struct lane_functions *f = &c->functions.lanes;
    const struct { const char *name; const struct graph_matrix *of; const double *out; } parts[] = {
        {"rhs", &c->functions.of[FUNCTION_rhs], lanes.rhs}, {"derive", &c->functions.of[FUNCTION_rhs], lanes.derive},
        {"by_state", &f->by_state, lanes.derive}, {"by_parameter", &c->functions.of[FUNCTION_rhs_parameter], lanes.derive},
        {"curve_state", &f->curve_state, lanes.curve}, {"curve_parameter", &f->curve_parameter, lanes.curve}};
    size_t place = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (i == 0 || parts[i].out != parts[i - 1].out)
            place = 0;
        for (size_t e = 0; e < parts[i].of->n_entry; e++, place++) {
            double got = parts[i].out[place * W + k], wanted = value[parts[i].of->entry[e]];
            if (!is_close(got, wanted) && !(isnan(got) && isnan(wanted)))
                fail_msg("%s, entry %zu: %.17g is not %.17g\n%s", parts[i].name, e, got, wanted,
                         c->n_source < MANY ? c->source : "");
        }
    }
    lane_point_fini(&lane);
    lanes_case_fini(&lanes);
}

static stiffit_function *function_of(const struct stiffit_model *abi, enum model_function f)
{
    switch (f) {
#define X(name, ...) case FUNCTION_##name: return abi->name;
        MODEL_FUNCTIONS(X)
#undef X
    default: return NULL;
    }
}

/* Compares all functions at one point with the interpreter. */
static void compare_at(const struct generate_case *c, const struct stiffit_point *at)
{
    const struct stiffit_model *abi = &c->model.abi;
    size_t n_node = graph_n_node(c->equations->graph);
    double *value = malloc(n_node * sizeof *value), *work = calloc(abi->n_work + 1, sizeof *work), *out;
    assert_true(value && work);
    graph_evaluate(c->equations->graph, at, value);
    struct stiffit_point point = *at;
    if (abi->prepare)
        assert_int_equal(abi->prepare(at, work), STIFFIT_OK);
    point.work = abi->n_work ? work : NULL;
    for (int f = 0; f < N_MODEL_FUNCTION; f++) {
        const struct graph_matrix *m = &c->functions.of[f];
        size_t n_out = m->n_row * m->n_column, n_entry = f == FUNCTION_jacobian && abi->jacobian_sparse ? m->n_entry : 0;
        stiffit_function *function = function_of(abi, f);
        assert_true(function || n_out == 0 || (n_entry && abi->n_state > 100));
        out = malloc((n_out + n_entry + 2) * sizeof *out);
        assert_non_null(out);
        for (size_t i = 0; i < n_out + n_entry + 2; i++)
            out[i] = 12345;
        if (function && n_out)
            assert_int_equal(function(&point, out), STIFFIT_OK);
        if (n_entry)
            assert_int_equal(abi->jacobian_sparse(&point, out + n_out + 1), STIFFIT_OK);
        assert_true(out[n_out] == 12345 && out[n_out + n_entry + 1] == 12345);
        for (size_t j = 0, k = 0; j < m->n_column; j++) {
            for (size_t i = 0; i < m->n_row; i++) {
                bool is_entry = k < m->column_start[j + 1] && m->row[k] == i;
                double wanted = is_entry ? value[m->entry[k]] : 0, got = out[i + j * m->n_row];
                double sparse = n_entry && is_entry ? out[n_out + 1 + k] : wanted;
                k += is_entry;
                if ((function && !is_close(got, wanted)) || !is_close(sparse, wanted))
                    fail_msg("%s[%zu, %zu]: %.17g or %.17g is not %.17g\n%s", model_functions[f].name, i, j, got, sparse,
                             wanted, c->n_source < MANY ? c->source : "");
            }
        }
        free(out);
    }
    assert_int_equal(abi->lanes != NULL, c->functions.lanes.are_there);
    for (size_t k = 0; abi->lanes && k < W; k += 3)
        compare_lanes(c, at, value, k);
    free(value);
    free(work);
}

/* Random points with all inputs between 0.5 and 1.5. */
static void compare_at_points(const struct generate_case *c, size_t n_point)
{
    const struct stiffit_model *abi = &c->model.abi;
    size_t n = (size_t)abi->n_state + abi->n_parameter + abi->n_covariate;
    double *input = malloc((n + 1) * sizeof *input);
    assert_non_null(input);
    for (size_t k = 0; k < n_point; k++) {
        for (size_t i = 0; i < n; i++)
            input[i] = 0.5 + random_uniform(3, k, i);
        compare_at(c, &(struct stiffit_point){.t = 0.5 + random_uniform(4, k, 0), .y = input, .p = input + abi->n_state,
                                              .covariate = input + abi->n_state + abi->n_parameter});
    }
    free(input);
}

static node some_table(struct graph *graph)
{
    return graph_table(graph, (double[]){0.05, 0.07, 0.09, 0.11, 0.4}, (double[]){2, 3, -1, 0.5, 1.25}, 5);
}

/* The same for lanes, in rates that do not jump with the states or change with time by themselves. */
static int some_operations_in_lanes(enum graph_op first_op, uint32_t n)
{
    struct equations *e = case_equations(n, 3, 1, 1);
    struct graph *g = e->graph;
    int n_smooth = 0;
    for (uint32_t i = 0; i < n; i++) {
        int op = (int)(first_op + i);
        node a = DO2(ADD, DO2(MULTIPLY, P(0), Y(i)), DO2(DIVIDE, P(1), C(0)));
        node b = DO2(DIVIDE, DO2(SUBTRACT, DO2(MULTIPLY, P(1), Y((i + 1) % n)), N(0.3)), DO2(ADD, Y(0), P(2)));
        node small = DO2(DIVIDE, a, DO2(ADD, N(1), DO2(MULTIPLY, N(8), a))), large = DO2(ADD, N(1.5), a);
        /* what jumps, at a parameter that covariates tell */
        bool jumps = graph_operations[op].facts & (IS_STEP | IS_POINT | IS_TRUTH) || op == GRAPH_ATAN2;
        node first = op == GRAPH_SELECT ? DO2(LESS, b, a) : op == GRAPH_ACOSH ? large : small;
        node arg[3] = {jumps ? DO2(SUBTRACT, P(1), C(0)) : first, jumps ? C(0) : b, a};
        if (op == GRAPH_POLYGAMMA)
            arg[0] = N(1); /* its order is a number */
        if (op == GRAPH_INTERP || op == GRAPH_INTERP_SLOPE)
            arg[1] = some_table(g);
        node whole = graph_operation(g, op, arg);
        e->state[i].rhs = DO2(ADD, DO2(MULTIPLY, whole, P(2)), DO2(MULTIPLY, whole, DO2(MULTIPLY, a, a)));
        e->state[i].initial = N(0.5);
        n_smooth += !jumps;
    }
    e->observable[0].value = Y(0);
    struct generate_case c;
    case_generate(&c, e);
    assert_true(c.functions.lanes.are_there);
    case_compile(&c);
    compare_at_points(&c, 20);
    case_fini(&c);
    return n_smooth;
}

/* In several models, because large ones have no lanes. */
static void every_operation_in_lanes(void **state)
{
    (void)state;
    enum { AT_ONCE = 12 };
    int n = 0;
    for (uint32_t op = GRAPH_ADD; op < N_GRAPH_OP; op += AT_ONCE)
        n += some_operations_in_lanes((enum graph_op)op, op + AT_ONCE < N_GRAPH_OP ? AT_ONCE : N_GRAPH_OP - op);
    assert_true(n > 30);
}

static void check_model(const struct generate_case *c)
{
    struct check_options options = {.seed = 1};
    struct check_report *report = malloc(sizeof *report);
    struct error error = {0};
    assert_non_null(report);
    assert_int_equal(model_check(&c->model, &options, report, &error), STATUS_OK);
    if (report->n_finding > 0)
        fail_msg("%s\n%s", report->finding[0].text, c->source);
    free(report);
}

/* Every operation with arguments in which time, a state, a parameter and a covariate come in. */
static void every_operation(void **state)
{
    (void)state;
    struct equations *e = case_equations(2, 3, 1, N_GRAPH_OP);
    struct graph *g = e->graph;
    node a = DO2(ADD, DO2(MULTIPLY, P(0), Y(0)), DO2(DIVIDE, T, C(0)));
    node b = DO2(DIVIDE, DO2(SUBTRACT, DO2(MULTIPLY, P(1), Y(1)), N(0.3)), DO2(ADD, Y(0), P(2)));
    for (int op = 0; op < N_GRAPH_OP; op++) {
        /* into the domain of asin and its like, and of acosh */
        node small = DO2(DIVIDE, a, DO2(ADD, N(1), DO2(MULTIPLY, N(8), a))), large = DO2(ADD, N(1.5), a);
        bool is_table = op == GRAPH_INTERP || op == GRAPH_INTERP_SLOPE;
        node arg[3] = {op == GRAPH_ACOSH ? large : op == GRAPH_POLYGAMMA ? N(1) : small,
                       is_table ? some_table(g) : b, a};
        node whole = graph_n_argument(op) ? graph_operation(g, op, arg) : N(op);
        e->observable[op].value = DO2(ADD, whole, DO2(MULTIPLY, whole, a));
    }
    e->state[0].rhs = DO2(SUBTRACT, DO1(EXP, DO2(MULTIPLY, N(-1), P(0))), DO2(MULTIPLY, Y(0), P(1)));
    e->state[1].rhs = N(0);
    e->state[0].initial = DO2(MULTIPLY, P(2), C(0));
    e->state[1].initial = N(2);
    e->observable[3].noise = DO2(ADD, P(0), DO2(MULTIPLY, N(0.1), DO1(ABS, Y(0))));
    struct generate_case c;
    case_generate(&c, e);
    case_compile(&c);
    compare_at_points(&c, 50);
    case_fini(&c);
}

/* Not-a-number, infinities, signed constants, brackets: printed so that they are read back as they are. */
static void numbers_and_brackets(void **state)
{
    (void)state;
    static const double numbers[] = {-2, 0.1, 1e22, 1e-300, 123456789012345678.0, 5e-324, -1.7976931348623157e308};
    enum { N_NUMBER = sizeof numbers / sizeof *numbers };
    struct equations *e = case_equations(0, 2, 0, N_NUMBER + 6);
    struct graph *g = e->graph;
    for (int i = 0; i < N_NUMBER; i++)
        e->observable[i].value = DO2(MULTIPLY, N(numbers[i]), P(0));
    struct equation_observable *h = e->observable + N_NUMBER;
    h[0].value = DO2(SUBTRACT, T, DO2(SUBTRACT, P(0), DO2(SUBTRACT, P(1), N(7))));
    h[1].value = DO2(DIVIDE, T, DO2(DIVIDE, P(0), DO2(MULTIPLY, P(1), N(7))));
    h[2].value = DO2(MULTIPLY, T, DO2(MULTIPLY, P(0), DO2(MULTIPLY, P(1), N(7))));
    h[3].value = DO1(NEGATE, DO2(SUBTRACT, DO1(NEGATE, P(0)), DO1(NEGATE, DO2(ADD, T, P(1)))));
    h[4].value = graph_select(g, DO2(OR, DO1(NOT, DO2(LESS, T, P(0))), DO2(AND, P(1), DO2(EQUAL, T, T))),
                              DO2(SUBTRACT, N(3), DO2(LESS, P(0), P(1))), DO1(EXP, T));
    h[5].value = DO2(POWER, DO2(SUBTRACT, N(2), P(0)), DO2(ADD, DO1(SIN, T), P(1)));
    struct generate_case c;
    case_generate(&c, e);
    case_compile(&c);
    compare_at_points(&c, 20);
    case_fini(&c);
}

/* What depends on parameters and covariates alone is computed by `prepare`, and a division by it is none. */
static void fixed_values_are_prepared(void **state)
{
    (void)state;
    struct equations *e = case_equations(1, 3, 1, 1);
    struct graph *g = e->graph;
    node rate = DO1(EXP, DO2(DIVIDE, P(0), C(0)));
    e->state[0].rhs = DO2(SUBTRACT, DO2(DIVIDE, T, P(1)), DO2(MULTIPLY, rate, Y(0)));
    e->state[0].initial = DO2(MULTIPLY, P(2), C(0));
    e->observable[0].value = Y(0);
    struct generate_case c;
    case_generate(&c, e);
    struct function_cost cost[N_FUNCTION_COST];
    struct error error = {0};
    assert_int_equal(generate_cost(e, &c.functions, cost, &error), STATUS_OK);
    assert_int_equal(cost[FUNCTION_rhs].n_call, 0);
    assert_int_equal(cost[FUNCTION_rhs].n_divide, 0);
    assert_int_equal(cost[FUNCTION_rhs].n_multiply, 2);
    assert_int_equal(cost[FUNCTION_rhs].n_add, 1);
    assert_int_equal(cost[FUNCTION_jacobian].n_call, 0);
    assert_int_equal(cost[FUNCTION_initial].n_multiply, 1);
    assert_int_equal(cost[COST_prepare].n_call, 1);
    assert_true(cost[COST_prepare].n_divide >= 2 && cost[COST_prepare].n_result >= 2);
    case_compile(&c);
    assert_true(c.model.abi.n_work >= 2);
    compare_at_points(&c, 20);
    check_model(&c);
    case_fini(&c);
}

/* A value that `prepare` cannot compute does no harm where it is not chosen. */
static void prepared_values_may_be_nan(void **state)
{
    (void)state;
    struct equations *e = case_equations(1, 2, 0, 1);
    struct graph *g = e->graph;
    e->state[0].rhs = DO2(MULTIPLY, Y(0), graph_select(g, DO2(LESS, T, N(100)), P(0), DO1(LOG, DO1(NEGATE, P(1)))));
    e->state[0].initial = P(1);
    e->observable[0].value = Y(0);
    struct generate_case c;
    case_generate(&c, e);
    case_compile(&c);
    double p[] = {2, 3}, y[] = {5}, work[9], ydot;
    struct stiffit_point at = {.p = p};
    assert_in_range(c.model.abi.n_work, 1, 9);
    assert_int_equal(c.model.abi.prepare(&at, work), STIFFIT_OK);
    bool has_nan = false;
    for (uint32_t i = 0; i < c.model.abi.n_work; i++)
        has_nan = has_nan || isnan(work[i]);
    assert_true(has_nan);
    at.y = y;
    at.work = work;
    assert_int_equal(c.model.abi.rhs(&at, &ydot), STIFFIT_OK);
    assert_true(ydot == 10);
    case_fini(&c);
}

/* Mass action, y_i + y_j -> y_k with constant p_r, large enough for a sparse Jacobian and functions in parts. */
static struct equations *network(uint32_t n_state, uint32_t n_reaction)
{
    struct equations *e = case_equations(n_state, n_reaction, 0, 1);
    struct graph *g = e->graph;
    for (uint32_t i = 0; i < n_state; i++) {
        e->state[i].rhs = N(0);
        e->state[i].initial = N(1);
    }
    for (uint32_t r = 0; r < n_reaction; r++) {
        uint32_t at[3];
        for (uint32_t k = 0; k < 3; k++)
            at[k] = (uint32_t)random_below(7, r, k, n_state);
        node rate = DO2(MULTIPLY, DO2(MULTIPLY, P(r), Y(at[0])), Y(at[1]));
        for (uint32_t k = 0; k < 3; k++)
            e->state[at[k]].rhs = DO2(ADD, e->state[at[k]].rhs, k < 2 ? DO1(NEGATE, rate) : rate);
    }
    e->observable[0].value = Y(0);
    return e;
}

static void large_networks_come_in_parts(void **state)
{
    (void)state;
    static const uint32_t sizes[][2] = {{12, 14}, {90, 150}, {150, 400}};
    for (int k = 0; k < 3; k++) {
        struct generate_case c;
        case_generate(&c, network(sizes[k][0], sizes[k][1]));
        case_compile(&c);
        assert_non_null(c.model.abi.jacobian_sparse);
        assert_true(!c.model.abi.jacobian == (sizes[k][0] > 100));
        assert_true(!strstr(c.source, "static __attribute__((noinline)) void rhs_2(") == (k == 0));
        compare_at_points(&c, 5);
        case_fini(&c);
    }
}

/* A sum of 20000 terms and a product nested 5000 deep: no line too long, no recursion too deep. */
static void long_expressions_are_cut(void **state)
{
    (void)state;
    struct equations *e = case_equations(1, 1, 0, 2);
    struct graph *g = e->graph;
    node sum = T, nested = Y(0);
    const int n = level_is_quick() ? 1000 : 5000;
    for (int i = 0; i < 4 * n; i++)
        sum = DO2(ADD, sum, DO2(MULTIPLY, N(1 + i), Y(0)));
    for (int i = 0; i < n; i++)
        nested = DO2(ADD, P(0), graph_unary(g, i % 2 ? GRAPH_SIN : GRAPH_COS, nested));
    e->state[0].rhs = N(1);
    e->state[0].initial = N(1);
    e->observable[0].value = sum;
    e->observable[1].value = nested;
    struct generate_case c;
    case_generate(&c, e);
    size_t longest = 0;
    for (const char *line = c.source; line; line = strchr(line, '\n')) {
        size_t length = strcspn(++line, "\n");
        longest = length > longest ? length : longest;
    }
    assert_true(longest < 140);
    case_compile(&c);
    compare_at_points(&c, 2);
    case_fini(&c);
}

/* Text that would leave its comment or its string, or that the compiler would not read as it stands. */
static void hostile_text_stays_text(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "*/ int main(void) { return 1; } /*", "\"; system(\"true\"); \"", "back\\slash\\", "?" "?/", "?" "?'", "/*", "/", "*",
        "% %s %n", "\xc2\xb5mol \xe2\x82\xac", "tab\tand\\\n", "'", "//", "#error", "\x7f", "0 \\001 1"};
    enum { N_TEXT = sizeof texts / sizeof *texts };
    static const char *const names[] = {"int", "main", "y_1", "p_1", "while", "NULL", "INFINITY", "stiffit_model", "exp",
                                        "__FILE__", "x1", "at", "out", "_", "double", "rhs"};
    for (int k = 0; k < N_TEXT; k++) {
        struct equations *e = case_equations(1, 1, 1, 1);
        struct graph *g = e->graph;
        char source[300];
        e->name = case_copy(e, texts[k]);
        e->description = case_copy(e, texts[k]);
        e->time_unit = case_copy(e, texts[k]);
        e->origin = case_copy(e, texts[k]);
        snprintf(source, sizeof source, "%s\n%s\n%s\n", texts[k], texts[(k + 1) % N_TEXT], texts[k]);
        e->source = strdup(source);
        e->state[0].unit = case_copy(e, texts[k]);
        e->parameter[0].unit = case_copy(e, texts[k]);
        e->covariate[0].unit = case_copy(e, texts[k]);
        e->observable[0].unit = case_copy(e, texts[k]);
        e->state[0].rhs_line = e->observable[0].line = 1;
        e->state[0].initial_line = 2;
        e->state[0].name = case_copy(e, names[k]);
        e->parameter[0].name = case_copy(e, names[(k + 1) % N_TEXT]);
        e->covariate[0].name = case_copy(e, names[(k + 2) % N_TEXT]);
        e->intermediate = arena_calloc(&e->arena, 1, sizeof *e->intermediate);
        assert_non_null(e->intermediate);
        e->n_intermediate = 1;
        e->intermediate[0] = (struct equation_intermediate){case_copy(e, names[(k + 3) % N_TEXT]),
                                                              DO2(MULTIPLY, P(0), Y(0)), 3};
        e->state[0].rhs = DO2(MULTIPLY, e->intermediate[0].value, DO2(SUBTRACT, T, C(0)));
        e->state[0].initial = DO2(POWER, P(0), C(0));
        e->observable[0].value = e->intermediate[0].value;
        struct generate_case c;
        case_generate(&c, e);
        case_compile(&c);
        assert_string_equal(c.model.abi.name, texts[k]);
        assert_string_equal(c.model.abi.description, texts[k]);
        assert_string_equal(c.model.abi.time_unit, texts[k]);
        assert_string_equal(c.model.abi.parameter_unit[0], texts[k]);
        assert_string_equal(c.model.abi.state_name[0], names[k]);
        compare_at_points(&c, 3);
        case_fini(&c);
    }
}

static void the_same_bytes_every_time(void **state)
{
    (void)state;
    struct generate_case one, two;
    case_generate(&one, network(30, 50));
    case_generate(&two, network(30, 50));
    assert_int_equal(one.n_source, two.n_source);
    assert_memory_equal(one.source, two.source, one.n_source);
    char *again = NULL;
    size_t n_again;
    struct error error = {0};
    FILE *out = open_memstream(&again, &n_again);
    assert_non_null(out);
    assert_int_equal(generate_c(one.equations, &one.functions, out, &error), STATUS_OK);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(again, one.source);
    free(again);
    case_fini(&one);
    case_fini(&two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation), cmocka_unit_test(every_operation_in_lanes), cmocka_unit_test(numbers_and_brackets),
        cmocka_unit_test(fixed_values_are_prepared), cmocka_unit_test(prepared_values_may_be_nan),
        cmocka_unit_test(large_networks_come_in_parts), cmocka_unit_test(long_expressions_are_cut),
        cmocka_unit_test(hostile_text_stays_text), cmocka_unit_test(the_same_bytes_every_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
