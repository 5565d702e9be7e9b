/* Random expressions: the simplified graph and its first and second derivatives against the same expressions evaluated as
 * they were asked for, operation by operation, with dual numbers in long double; for second derivatives the parts of a dual
 * number are dual numbers, too.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a tolerance may be depends on how an expression magnifies rounding, so it is measured: the reference is
 * evaluated again with every operation's result moved at random by up to 3e-14, some hundred roundings, and ten times
 * the farthest that a value moves is allowed (M. La Porte and J. Vignes, 1974, Algorithmes numeriques, estimated
 * errors in this way). */
#include "../unit/graph_case.h"

#include "base/random.h"
#include "model/graph/functions.h"

#include <complex.h>
#include <string.h>

enum { N_LEAF = 4, N_OPERATION = 25, N_EXPRESSION = 4000, N_TRIAL = 8, FIRST_OPERATION = 8 + N_LEAF };
#define NOISE 3e-14L
#define SEED UINT64_C(20261121)

typedef long double real;
/* A number and its change along the direction, times TINY: an imaginary part so small that its square is below any rounding
 * (W. Squire and G. Trapp, 1998, Using complex variables to estimate derivatives of real functions). */
typedef long double complex number;
#define TINY 1e-1000L

/* A value and its derivatives by the leaves. */
struct dual { number value, by[N_LEAF]; };

/* f(a) from the value of f and its slope at the real part. */
static number lift(number a, real f, real slope)
{
    real change = cimagl(a);
    return f + (change != 0 ? slope * change : 0) * I;
}

/* For a constant exponent the logarithm plays no part. */
static number power(number a, number b)
{
    real x = creall(a), n = creall(b), value = powl(x, n), change = 0;
    if (cimagl(a) != 0 && n != 0)
        change += n * powl(x, n - 1) * cimagl(a);
    if (cimagl(b) != 0)
        change += value * logl(x) * cimagl(b);
    return value + change * I;
}

static number root(number a) { return lift(a, sqrtl(creall(a)), 0.5L / sqrtl(creall(a))); }
static number logarithm(number a) { return lift(a, logl(creall(a)), 1 / creall(a)); }
static number exponential(number a) { return lift(a, expl(creall(a)), expl(creall(a))); }
static number sine(number a) { return lift(a, sinl(creall(a)), cosl(creall(a))); }
static number cosine(number a) { return lift(a, cosl(creall(a)), -sinl(creall(a))); }
static number sinus_hyperbolicus(number a) { return lift(a, sinhl(creall(a)), coshl(creall(a))); }
static number cosinus_hyperbolicus(number a) { return lift(a, coshl(creall(a)), sinhl(creall(a))); }

/* Derivatives of order n of digamma: their recurrence up to 25, then the asymptotic series (Abramowitz and Stegun 6.4.11),
 * whose tenth term is below 1e-20 there; below 0 by reflection, for n of 0 and 1. */
static real polygamma(int n, real a)
{
    static const real bernoulli[] = {1 / 6.0L,  -1 / 30.0L,     1 / 42.0L, -1 / 30.0L,
                                     5 / 66.0L, -691 / 2730.0L, 7 / 6.0L,  -3617 / 510.0L};
    const real pi = acosl(-1), beyond = a - roundl(a);
    if (a < 0)
        return n == 0 ? polygamma(0, 1 - a) - pi / tanl(pi * beyond)
                      : -polygamma(1, 1 - a) + pi * pi / (sinl(pi * beyond) * sinl(pi * beyond));
    real sum = 0;
    for (; a < 25; a++)
        sum -= n == 0 ? 1 / a : -1 / (a * a);
    sum += n == 0 ? logl(a) - 0.5L / a : 1 / a + 0.5L / (a * a);
    for (int k = 1; k <= 8; k++)
        sum += bernoulli[k - 1] * powl(a, -2 * k) * (n == 0 ? -1 / (2.0L * k) : 1 / a);
    return sum;
}

/* One operation of an expression as it was asked for: leaves and constants first, then operations on earlier steps. */
struct step {
    enum graph_op op;
    int arg[3];
    double constant;
};

struct expression {
    struct step step[FIRST_OPERATION + N_OPERATION];
    int n;
};

static uint64_t draw(uint64_t expression, uint64_t *counter, uint64_t n)
{
    return random_below(SEED, expression, (*counter)++, n);
}

static void make(struct expression *it, uint64_t stream)
{
    static const double constants[8] = {0, 1, -1, 2, 0.5, 3, -0.75, 10};
    uint64_t counter = 0;
    it->n = 0;
    for (int i = 0; i < 8; i++)
        it->step[it->n++] = (struct step){.op = GRAPH_CONSTANT, .constant = constants[i]};
    for (int i = 0; i < N_LEAF; i++)
        it->step[it->n++] = (struct step){.op = GRAPH_STATE, .arg = {i}};
    while (it->n < FIRST_OPERATION + N_OPERATION) {
        struct step *step = &it->step[it->n];
        /* Half of them sums, products and quotients, where most of the rules are. */
        uint64_t n_all = N_GRAPH_OP - GRAPH_ADD;
        step->op = draw(stream, &counter, 2) ? (enum graph_op)(GRAPH_ADD + draw(stream, &counter, 5))
                                             : (enum graph_op)(GRAPH_ADD + draw(stream, &counter, n_all));
        if (step->op == GRAPH_INTERP_SLOPE)
            step->op = GRAPH_INTERP;
        if (step->op == GRAPH_POLYGAMMA) /* in derivatives only, where its order is a number */
            step->op = GRAPH_LGAMMA;
        for (int k = 0; k < 3; k++) { /* often something recent, so that it gets deep */
            bool recent = it->n > FIRST_OPERATION && draw(stream, &counter, 2);
            step->arg[k] = recent ? it->n - 1 - (int)draw(stream, &counter, (uint64_t)(it->n - FIRST_OPERATION) / 2 + 1)
                                  : (int)draw(stream, &counter, (uint64_t)it->n);
        }
        it->n++;
    }
}

enum { N_POINT = 4 };
static const double table_x[N_POINT] = {-1, 0.25, 1.5, 8}, table_y[N_POINT] = {2, -1, 3, 3.5};

/* v and its slopes by a and b. *is_edge is set where the point is too near to a jump or kink to be compared. */
static void apply(enum graph_op op, const struct dual *argument, number *v, number slope[3], bool *is_edge)
{
    number x = argument[0].value, y = argument[1].value, z = argument[2].value;
    real a = creall(x), b = creall(y);
    bool near_b = fabsl(a - b) <= 1e-9L * (fabsl(a) + fabsl(b)), near_0 = fabsl(a) <= 1e-12L;
    slope[0] = slope[1] = slope[2] = 0;
    if (op == GRAPH_ASIN || op == GRAPH_ACOS || op == GRAPH_ACOSH || op == GRAPH_ATANH)
        *is_edge |= fabsl(fabsl(a) - 1) < 1e-6L; /* the slope has a pole there */
#define FUNCTION(name, value, of_slope) \
    case GRAPH_##name: slope[0] = (of_slope); *v = lift(x, (value), creall(slope[0])); break
    switch (op) {
    case GRAPH_ADD: *v = x + y; slope[0] = slope[1] = 1; break;
    case GRAPH_SUBTRACT: *v = x - y; slope[0] = 1; slope[1] = -1; break;
    case GRAPH_MULTIPLY: *v = x * y; slope[0] = y; slope[1] = x; break;
    case GRAPH_DIVIDE:
        slope[0] = power(y, -1);
        *v = x * slope[0];
        slope[1] = -*v * slope[0];
        break;
    case GRAPH_POWER:
        *v = power(x, y);
        slope[0] = b == 0 && cimagl(y) == 0 ? 0 : y * power(x, y - 1);
        slope[1] = *v * logarithm(x);
        break;
    case GRAPH_POWER_LOG:
        *v = power(x, y) * logarithm(x);
        slope[0] = power(x, y - 1) * (y * logarithm(x) + 1);
        slope[1] = *v * logarithm(x);
        break;
    case GRAPH_NEGATE: *v = -x; slope[0] = -1; break;
    case GRAPH_RECIPROCAL: *v = power(x, -1); slope[0] = -power(x, -2); break;
    FUNCTION(SQRT, sqrtl(a), 0.5L * power(root(x), -1));
    FUNCTION(CBRT, cbrtl(a), lift(x, cbrtl(a) / (3 * a), -2 * cbrtl(a) / (9 * a * a)));
    FUNCTION(EXP, expl(a), exponential(x));
    FUNCTION(EXPM1, expm1l(a), exponential(x));
    FUNCTION(LOG, logl(a), power(x, -1));
    FUNCTION(LOG1P, log1pl(a), power(1 + x, -1));
    FUNCTION(LOG10, log10l(a), power(x * logl(10), -1));
    FUNCTION(LOG2, log2l(a), power(x * logl(2), -1));
    FUNCTION(SIN, sinl(a), cosine(x));
    FUNCTION(COS, cosl(a), -sine(x));
    FUNCTION(TAN, tanl(a), power(cosine(x), -2));
    FUNCTION(ASIN, asinl(a), power(root(1 - x * x), -1));
    FUNCTION(ACOS, acosl(a), -power(root(1 - x * x), -1));
    FUNCTION(ATAN, atanl(a), power(1 + x * x, -1));
    case GRAPH_ATAN2:
        slope[0] = y * power(x * x + y * y, -1);
        slope[1] = -x * power(x * x + y * y, -1);
        *v = atan2l(a, b) + (creall(slope[0]) * cimagl(x) + creall(slope[1]) * cimagl(y)) * I;
        *is_edge |= near_0; /* a jump where b < 0 */
        break;
    FUNCTION(SINH, sinhl(a), cosinus_hyperbolicus(x));
    FUNCTION(COSH, coshl(a), sinus_hyperbolicus(x));
    FUNCTION(TANH, tanhl(a), power(cosinus_hyperbolicus(x), -2));
    FUNCTION(ASINH, asinhl(a), power(root(1 + x * x), -1));
    FUNCTION(ACOSH, acoshl(a), power(root(x - 1) * root(x + 1), -1));
    FUNCTION(ATANH, atanhl(a), power(1 - x * x, -1));
    FUNCTION(ERF, erfl(a), 2 / sqrtl(acosl(-1)) * exponential(-x * x));
    FUNCTION(ERFC, erfcl(a), -2 / sqrtl(acosl(-1)) * exponential(-x * x));
    case GRAPH_LGAMMA:
        slope[0] = lift(x, polygamma(0, a), polygamma(1, a));
        *v = lift(x, lgammal(a), creall(slope[0]));
        *is_edge |= a <= 0 && fabsl(a - roundl(a)) < 1e-6L * (1 + fabsl(a)); /* a pole */
        break;
    case GRAPH_INTERP: {
        int i = 0;
        while (i < N_POINT && a >= table_x[i])
            i++; /* points up to a */
        if (i > 0 && i < N_POINT)
            slope[0] = (table_y[i] - table_y[i - 1]) / (table_x[i] - table_x[i - 1]);
        *v = i == 0         ? table_y[0]
             : i == N_POINT ? table_y[N_POINT - 1]
                            : table_y[i - 1] + slope[0] * (x - table_x[i - 1]);
        for (i = 0; i < N_POINT; i++)
            *is_edge |= fabsl(a - table_x[i]) <= 1e-9L;
        break;
    }
    case GRAPH_ABS: slope[0] = a < 0 ? -1 : 1; *v = slope[0] * x; *is_edge |= near_0; break;
    case GRAPH_SIGN: *v = isnan(a) ? a : (a > 0) - (a < 0); *is_edge |= near_0; break;
    case GRAPH_HEAVISIDE: *v = isnan(a) ? a : a >= 0; *is_edge |= near_0; break;
    case GRAPH_FLOOR: *v = floorl(a); *is_edge |= fabsl(a - roundl(a)) < 1e-9L * (1 + fabsl(a)); break;
    case GRAPH_CEIL: *v = ceill(a); *is_edge |= fabsl(a - roundl(a)) < 1e-9L * (1 + fabsl(a)); break;
    case GRAPH_MIN: *v = b < a || isnan(b) ? y : x; slope[b < a] = 1; *is_edge |= near_b; break;
    case GRAPH_MAX: *v = b > a || isnan(b) ? y : x; slope[b > a] = 1; *is_edge |= near_b; break;
    case GRAPH_LESS: *v = a < b; *is_edge |= near_b; break;
    case GRAPH_LESS_EQUAL: *v = a <= b; *is_edge |= near_b; break;
    case GRAPH_EQUAL: *v = a == b; *is_edge |= near_b; break;
    case GRAPH_NOT_EQUAL: *v = a != b; *is_edge |= near_b; break;
    case GRAPH_AND: *v = a != 0 && b != 0; break;
    case GRAPH_OR: *v = a != 0 || b != 0; break;
    case GRAPH_NOT: *v = a == 0; break;
    default: *v = a != 0 ? y : z; slope[a != 0 ? 1 : 2] = 1; break;
    }
#undef FUNCTION
}

/* Truths are exact, and moving a 0 would make another condition of it. */
static bool is_exact(enum graph_op op, const struct dual *it)
{
    return creall(it->value) == 0 || (op >= GRAPH_SIGN && op <= GRAPH_CEIL) || op >= GRAPH_LESS;
}

static real noise(uint64_t stream, uint64_t counter)
{
    return 1 + NOISE * (2 * (real)random_uniform(SEED + 1, stream, counter) - 1);
}

static number shaken(number x, uint64_t stream, uint64_t *counter)
{
    real a = creall(x) * noise(stream, (*counter)++);
    return a + cimagl(x) * noise(stream, (*counter)++) * I;
}

/* direction: of the leaves. */
static void evaluate(const struct expression *it, const double *at, const double *direction, uint64_t stream,
                     uint64_t trial, struct dual *dual, bool *is_edge)
{
    uint64_t counter = trial << 32;
    for (int i = 0; i < it->n; i++) {
        const struct step *step = &it->step[i];
        dual[i] = (struct dual){.value = step->constant};
        if (step->op == GRAPH_CONSTANT)
            continue;
        if (step->op == GRAPH_STATE) {
            dual[i].value = at[step->arg[0]] + direction[step->arg[0]] * TINY * I;
            dual[i].by[step->arg[0]] = 1;
            continue;
        }
        struct dual argument[3];
        number slope[3];
        for (int k = 0; k < 3; k++)
            argument[k] = dual[step->arg[k]];
        apply(step->op, argument, &dual[i].value, slope, is_edge);
        bool is_moved = trial && !is_exact(step->op, &dual[i]);
        for (int k = 0; k < graph_n_argument(step->op); k++)
            for (int j = 0; j < N_LEAF; j++)
                if (slope[k] != 0) /* a branch not taken may be anything */
                    dual[i].by[j] += (is_moved ? shaken(slope[k], stream, &counter) : slope[k]) * argument[k].by[j];
        if (is_moved)
            dual[i].value = shaken(dual[i].value, stream, &counter);
    }
}

/* Leaves 0 and 1 are states, 2 is a parameter, 3 is time. */
static node leaf(struct graph *graph, int which)
{
    return which < 2 ? graph_leaf(graph, GRAPH_STATE, (uint32_t)which)
                     : graph_leaf(graph, which == 2 ? GRAPH_PARAMETER : GRAPH_TIME, 0);
}

static void build(struct graph *graph, const struct expression *it, node *made)
{
    for (int i = 0; i < it->n; i++) {
        const struct step *step = &it->step[i];
        node argument[3];
        for (int k = 0; k < 3; k++)
            argument[k] = graph_n_argument(step->op) ? made[step->arg[k]] : 0;
        if (step->op == GRAPH_INTERP)
            argument[1] = graph_table(graph, table_x, table_y, N_POINT);
        made[i] = step->op == GRAPH_CONSTANT ? graph_constant(graph, step->constant)
                  : step->op == GRAPH_STATE  ? leaf(graph, step->arg[0])
                                             : graph_operation(graph, step->op, argument);
    }
}

static bool is_moderate(number x) { return fabsl(creall(x)) < 1e100L && fabsl(cimagl(x)) < 1e100L * TINY; }

/* Is everything that step i is made of ordinary? 0*x and x-x are 0 even where x is not; and 1 - tanh^2 keeps its
 * absolute precision only. */
static bool is_ordinary(const struct expression *it, const struct dual *dual, const struct dual *spread, int i,
                        bool *ordinary)
{
    const struct step *step = &it->step[i];
    real size = fabsl(creall(dual[i].value));
    bool is = is_moderate(dual[i].value) && (size == 0 || size > 1e-100L);
    for (int j = 0; j < N_LEAF; j++)
        is = is && is_moderate(dual[i].by[j]);
    for (int k = 0; k < graph_n_argument(step->op); k++)
        is = is && ordinary[step->arg[k]];
    is = is && creall(spread[i].value) <= 1e-6L * size; /* it is not rounding alone */
    for (int k = 0; k < 2 && step->op == GRAPH_ATAN2; k++) /* second derivatives have fourth powers */
        is = is && fabsl(creall(dual[step->arg[k]].value)) < 1e70L;
    return ordinary[i] = is && !(step->op == GRAPH_TANH && size > 0.99L);
}

/* What step i is made of, for whoever has to find a fault. */
static void print_expression(const struct expression *it, const struct dual *dual, int i)
{
    bool needed[FIRST_OPERATION + N_OPERATION] = {false};
    needed[i] = true;
    for (int k = i; k >= 0; k--)
        for (int m = 0; needed[k] && m < graph_n_argument(it->step[k].op); m++)
            needed[it->step[k].arg[m]] = true;
    for (int k = 0; k <= i; k++) {
        const int *arg = it->step[k].arg;
        if (needed[k])
            print_message("%2d = %s %d %d %d: %.17Lg; %Lg %Lg %Lg %Lg\n", k, graph_operations[it->step[k].op].name, arg[0],
                          arg[1],
                          arg[2], creall(dual[k].value), creall(dual[k].by[0]), creall(dual[k].by[1]), creall(dual[k].by[2]),
                          creall(dual[k].by[3]));
    }
}

static void compare(const struct expression *it, const struct dual *dual, const char *what, uint64_t stream, int i,
                    int j,
                    double got, real expected, real spread)
{
    /* 1e-13: where nothing moves there may still be some roundings; below 1e-200 digits get lost. */
    if (fabsl(got - expected) <= 10 * spread + 1e-13L * fabsl(expected) + 1e-200L)
        return;
    print_expression(it, dual, i);
    fail_msg("expression %llu step %d: %s %d is %.17g, expected %.17Lg +- %.2Lg", (unsigned long long)stream, i,
             what, j, got,
             expected, spread);
}

/* How far the trials move the parts of a number. */
static void widen(number *spread, number moved, number exact)
{
    real a = fmaxl(creall(*spread), fabsl(creall(moved) - creall(exact)));
    *spread = a + fmaxl(cimagl(*spread), fabsl(cimagl(moved) - cimagl(exact))) * I;
}

enum { N = FIRST_OPERATION + N_OPERATION };

/* Fills what lane_functions_derive starts from: every step is the rate of a state. */
static void derive(struct equations *equations, struct functions *functions, node *made)
{
    uint32_t row[N], start[2] = {0, N};
    for (uint32_t i = 0; i < N; i++)
        row[i] = i;
    *functions = (struct functions){.of[FUNCTION_rhs] = {N, 1, N, start, row, made}};
    struct graph *graph = equations->graph;
    assert_int_equal(graph_jacobian(graph, made, N, GRAPH_STATE, N, &functions->of[FUNCTION_jacobian], NULL), STATUS_OK);
    assert_int_equal(graph_jacobian(graph, made, N, GRAPH_PARAMETER, 1, &functions->of[FUNCTION_rhs_parameter], NULL),
                     STATUS_OK);
    assert_int_equal(lane_functions_derive(equations, functions, NULL), STATUS_OK);
    assert_true(functions->lanes.are_there);
    functions->of[FUNCTION_rhs] = (struct graph_matrix){0};
}

/* Columns of a matrix as derivatives by leaves `first` and following ones. */
static void read_matrix(const struct graph_matrix *matrix, size_t first_column, size_t n_column, const double *value, int first,
                        double derivative[N][N_LEAF])
{
    for (size_t j = 0; j < n_column; j++)
        for (uint32_t k = matrix->column_start[first_column + j]; k < matrix->column_start[first_column + j + 1]; k++)
            derivative[matrix->row[k]][first + (int)j] = value[matrix->entry[k]];
}

/* Compares all ordinary steps of one expression; returns how many there were. */
static int check(uint64_t stream)
{
    struct expression it;
    node made[N];
    struct dual exact[N], moved[N], spread[N];
    double at[N_LEAF], direction[N_LEAF] = {graph_direction(0), graph_direction(1), 0, graph_direction(N)};
    bool is_edge = false, ordinary[N];
    make(&it, stream);
    for (int j = 0; j < N_LEAF; j++)
        at[j] = 3 * random_uniform(SEED + 2, stream, (uint64_t)j) - (j == 3 ? 1.5 : 0);
    memset(spread, 0, sizeof spread);
    evaluate(&it, at, direction, stream, 0, exact, &is_edge);
    for (uint64_t trial = 1; trial <= N_TRIAL; trial++) {
        evaluate(&it, at, direction, stream, trial, moved, &is_edge);
        for (int i = 0; i < it.n; i++) {
            widen(&spread[i].value, moved[i].value, exact[i].value);
            for (int j = 0; j < N_LEAF; j++)
                widen(&spread[i].by[j], moved[i].by[j], exact[i].by[j]);
        }
    }
    if (is_edge)
        return 0;
    struct equations equations = {.graph = graph_new(), .n_state = N, .n_parameter = 1};
    struct functions functions;
    build(equations.graph, &it, made);
    derive(&equations, &functions, made);
    double *value = malloc(graph_n_node(equations.graph) * sizeof *value);
    struct stiffit_point point = {.y = at, .p = at + 2, .t = at[3]};
    graph_evaluate(equations.graph, &point, value);
    double first[N][N_LEAF] = {{0}}, second[N][N_LEAF] = {{0}};
    read_matrix(&functions.lanes.by_state, 0, 2, value, 0, first);
    read_matrix(&functions.lanes.by_state, N, 1, value, 3, first);
    read_matrix(&functions.of[FUNCTION_rhs_parameter], 0, 1, value, 2, first);
    read_matrix(&functions.lanes.curve_state, 0, 2, value, 0, second);
    read_matrix(&functions.lanes.curve_parameter, 0, 1, value, 2, second);
    int n_checked = 0;
    for (int i = 0; i < it.n; i++)
        if (is_ordinary(&it, exact, spread, i, ordinary) && i >= FIRST_OPERATION) {
            compare(&it, exact, "value", stream, i, 0, value[made[i]], creall(exact[i].value), creall(spread[i].value));
            n_checked++;
        }
    for (int i = FIRST_OPERATION; i < it.n; i++)
        for (int j = 0; ordinary[i] && j < N_LEAF; j++) {
            compare(&it, exact, "derivative", stream, i, j, first[i][j], creall(exact[i].by[j]), creall(spread[i].by[j]));
            if (j < 3) /* nothing needs the second derivative by time */
                compare(&it, exact, "second derivative", stream, i, j, second[i][j], cimagl(exact[i].by[j]) / TINY,
                        cimagl(spread[i].by[j]) / TINY);
        }
    functions_fini(&functions);
    free(value);
    graph_free(equations.graph);
    return n_checked;
}

static void test_random_expressions(void **state)
{
    (void)state;
    long n_checked = 0;
    print_message("seed %llu\n", (unsigned long long)SEED);
    for (uint64_t i = 0; i < N_EXPRESSION; i++)
        n_checked += check(i);
    print_message("%ld steps compared\n", n_checked);
    assert_true(n_checked > 10 * N_EXPRESSION / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_expressions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
