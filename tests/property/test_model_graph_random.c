/* Random expressions: the simplified graph and its derivatives against the same expressions evaluated as they were
 * asked for, operation by operation, with dual numbers in long double.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a tolerance may be depends on how an expression magnifies rounding, so it is measured: the reference is
 * evaluated again with every operation's result moved at random by up to 3e-14, some hundred roundings, and ten times
 * the farthest that a value moves is allowed (M. La Porte and J. Vignes, 1974, Algorithmes numeriques, estimated
 * errors in this way). */
#include "../unit/graph_case.h"

#include "base/random.h"

#include <string.h>

enum { N_LEAF = 4, N_OPERATION = 25, N_EXPRESSION = 4000, N_TRIAL = 8, FIRST_OPERATION = 8 + N_LEAF };
#define NOISE 3e-14L
#define SEED UINT64_C(20261121)

typedef long double real;

/* A value and its derivatives by the leaves. */
struct dual { real value, by[N_LEAF]; };

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
        for (int k = 0; k < 3; k++) { /* often something recent, so that it gets deep */
            bool recent = it->n > FIRST_OPERATION && draw(stream, &counter, 2);
            step->arg[k] = recent ? it->n - 1 - (int)draw(stream, &counter, (uint64_t)(it->n - FIRST_OPERATION) / 2 + 1)
                                  : (int)draw(stream, &counter, (uint64_t)it->n);
        }
        it->n++;
    }
}

/* v and its slopes by a and b. *is_edge is set where the point is too near to a jump or kink to be compared. */
static void apply(enum graph_op op, const struct dual *x, real *v, real slope[3], bool *is_edge)
{
    real a = x[0].value, b = x[1].value, c = x[2].value;
    bool near_b = fabsl(a - b) <= 1e-9L * (fabsl(a) + fabsl(b)), near_0 = fabsl(a) <= 1e-12L;
    slope[0] = slope[1] = slope[2] = 0;
    if (op == GRAPH_ASIN || op == GRAPH_ACOS || op == GRAPH_ACOSH || op == GRAPH_ATANH)
        *is_edge |= fabsl(fabsl(a) - 1) < 1e-6L; /* the slope has a pole there */
    switch (op) {
    case GRAPH_ADD: *v = a + b; slope[0] = slope[1] = 1; break;
    case GRAPH_SUBTRACT: *v = a - b; slope[0] = 1; slope[1] = -1; break;
    case GRAPH_MULTIPLY: *v = a * b; slope[0] = b; slope[1] = a; break;
    case GRAPH_DIVIDE: *v = a / b; slope[0] = 1 / b; slope[1] = -a / (b * b); break;
    case GRAPH_POWER:
        *v = powl(a, b);
        slope[0] = b == 0 ? 0 : b * powl(a, b - 1);
        slope[1] = powl(a, b) * logl(a);
        break;
    case GRAPH_POWER_LOG:
        *v = powl(a, b) * logl(a);
        slope[0] = powl(a, b - 1) * (b * logl(a) + 1);
        slope[1] = powl(a, b) * logl(a) * logl(a);
        break;
    case GRAPH_NEGATE: *v = -a; slope[0] = -1; break;
    case GRAPH_RECIPROCAL: *v = 1 / a; slope[0] = -1 / (a * a); break;
    case GRAPH_SQRT: *v = sqrtl(a); slope[0] = 0.5L / sqrtl(a); break;
    case GRAPH_CBRT: *v = cbrtl(a); slope[0] = *v / (3 * a); break;
    case GRAPH_EXP: *v = expl(a); slope[0] = expl(a); break;
    case GRAPH_EXPM1: *v = expm1l(a); slope[0] = expl(a); break;
    case GRAPH_LOG: *v = logl(a); slope[0] = 1 / a; break;
    case GRAPH_LOG1P: *v = log1pl(a); slope[0] = 1 / (1 + a); break;
    case GRAPH_LOG10: *v = log10l(a); slope[0] = 1 / (a * logl(10)); break;
    case GRAPH_LOG2: *v = log2l(a); slope[0] = 1 / (a * logl(2)); break;
    case GRAPH_SIN: *v = sinl(a); slope[0] = cosl(a); break;
    case GRAPH_COS: *v = cosl(a); slope[0] = -sinl(a); break;
    case GRAPH_TAN: *v = tanl(a); slope[0] = 1 / (cosl(a) * cosl(a)); break;
    case GRAPH_ASIN: *v = asinl(a); slope[0] = 1 / sqrtl(1 - a * a); break;
    case GRAPH_ACOS: *v = acosl(a); slope[0] = -1 / sqrtl(1 - a * a); break;
    case GRAPH_ATAN: *v = atanl(a); slope[0] = 1 / (1 + a * a); break;
    case GRAPH_ATAN2:
        *v = atan2l(a, b);
        slope[0] = b / (a * a + b * b);
        slope[1] = -a / (a * a + b * b);
        *is_edge |= near_0; /* a jump where b < 0 */
        break;
    case GRAPH_SINH: *v = sinhl(a); slope[0] = coshl(a); break;
    case GRAPH_COSH: *v = coshl(a); slope[0] = sinhl(a); break;
    case GRAPH_TANH: *v = tanhl(a); slope[0] = 1 / (coshl(a) * coshl(a)); break;
    case GRAPH_ASINH: *v = asinhl(a); slope[0] = 1 / sqrtl(1 + a * a); break;
    case GRAPH_ACOSH: *v = acoshl(a); slope[0] = 1 / (sqrtl(a - 1) * sqrtl(a + 1)); break;
    case GRAPH_ATANH: *v = atanhl(a); slope[0] = 1 / (1 - a * a); break;
    case GRAPH_ERF: *v = erfl(a); slope[0] = 2 / sqrtl(acosl(-1)) * expl(-a * a); break;
    case GRAPH_ERFC: *v = erfcl(a); slope[0] = -2 / sqrtl(acosl(-1)) * expl(-a * a); break;
    case GRAPH_ABS: *v = fabsl(a); slope[0] = a < 0 ? -1 : 1; *is_edge |= near_0; break;
    case GRAPH_SIGN: *v = isnan(a) ? a : (a > 0) - (a < 0); *is_edge |= near_0; break;
    case GRAPH_HEAVISIDE: *v = isnan(a) ? a : a >= 0; *is_edge |= near_0; break;
    case GRAPH_FLOOR: *v = floorl(a); *is_edge |= fabsl(a - roundl(a)) < 1e-9L * (1 + fabsl(a)); break;
    case GRAPH_CEIL: *v = ceill(a); *is_edge |= fabsl(a - roundl(a)) < 1e-9L * (1 + fabsl(a)); break;
    case GRAPH_MIN: *v = b < a || isnan(b) ? b : a; slope[b < a] = 1; *is_edge |= near_b; break;
    case GRAPH_MAX: *v = b > a || isnan(b) ? b : a; slope[b > a] = 1; *is_edge |= near_b; break;
    case GRAPH_LESS: *v = a < b; *is_edge |= near_b; break;
    case GRAPH_LESS_EQUAL: *v = a <= b; *is_edge |= near_b; break;
    case GRAPH_EQUAL: *v = a == b; *is_edge |= near_b; break;
    case GRAPH_NOT_EQUAL: *v = a != b; *is_edge |= near_b; break;
    case GRAPH_AND: *v = a != 0 && b != 0; break;
    case GRAPH_OR: *v = a != 0 || b != 0; break;
    case GRAPH_NOT: *v = a == 0; break;
    default: *v = a != 0 ? b : c; slope[a != 0 ? 1 : 2] = 1; break;
    }
}

/* Truths are exact, and moving a 0 would make another condition of it. */
static bool is_exact(enum graph_op op, const struct dual *it)
{
    return it->value == 0 || (op >= GRAPH_SIGN && op <= GRAPH_CEIL) || op >= GRAPH_LESS;
}

static real noise(uint64_t stream, uint64_t counter)
{
    return 1 + NOISE * (2 * (real)random_uniform(SEED + 1, stream, counter) - 1);
}

static void evaluate(const struct expression *it, const double *at, uint64_t stream, uint64_t trial, struct dual *dual,
                     bool *is_edge)
{
    uint64_t counter = trial << 32;
    for (int i = 0; i < it->n; i++) {
        const struct step *step = &it->step[i];
        dual[i] = (struct dual){.value = step->constant};
        if (step->op == GRAPH_CONSTANT)
            continue;
        if (step->op == GRAPH_STATE) {
            dual[i].value = at[step->arg[0]];
            dual[i].by[step->arg[0]] = 1;
            continue;
        }
        struct dual argument[3];
        real slope[3];
        for (int k = 0; k < 3; k++)
            argument[k] = dual[step->arg[k]];
        apply(step->op, argument, &dual[i].value, slope, is_edge);
        bool is_moved = trial && !is_exact(step->op, &dual[i]);
        for (int k = 0; k < graph_n_argument(step->op); k++)
            for (int j = 0; j < N_LEAF; j++)
                if (slope[k] != 0) /* a branch not taken may be anything */
                    dual[i].by[j] += slope[k] * argument[k].by[j] * (is_moved ? noise(stream, counter++) : 1);
        dual[i].value *= is_moved ? noise(stream, counter++) : 1;
    }
}

static void build(struct graph *graph, const struct expression *it, node *made)
{
    for (int i = 0; i < it->n; i++) {
        const struct step *step = &it->step[i];
        node argument[3];
        for (int k = 0; k < 3; k++)
            argument[k] = graph_n_argument(step->op) ? made[step->arg[k]] : 0;
        made[i] = step->op == GRAPH_CONSTANT ? graph_constant(graph, step->constant)
                  : step->op == GRAPH_STATE  ? graph_leaf(graph, GRAPH_STATE, (uint32_t)step->arg[0])
                                             : graph_operation(graph, step->op, argument);
    }
}

/* Is everything that step i is made of ordinary? 0*x and x-x are 0 even where x is not; and 1 - tanh^2 keeps its
 * absolute precision only. */
static bool is_ordinary(const struct expression *it, const struct dual *dual, const struct dual *spread, int i,
                        bool *ordinary)
{
    const struct step *step = &it->step[i];
    bool is = isfinite((double)dual[i].value) && fabsl(dual[i].value) < 1e100L &&
    (dual[i].value == 0 || fabsl(dual[i].value) > 1e-100L);
    for (int j = 0; j < N_LEAF; j++)
        is = is && isfinite((double)dual[i].by[j]) && fabsl(dual[i].by[j]) < 1e100L;
    for (int k = 0; k < graph_n_argument(step->op); k++)
        is = is && ordinary[step->arg[k]];
    is = is && spread[i].value <= 1e-6L * fabsl(dual[i].value); /* it is not rounding alone */
    return ordinary[i] = is && !(step->op == GRAPH_TANH && fabsl(dual[i].value) > 0.99L);
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
                          arg[2], dual[k].value, dual[k].by[0], dual[k].by[1], dual[k].by[2], dual[k].by[3]);
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

/* Compares all ordinary steps of one expression; returns how many there were. */
static int check(uint64_t stream)
{
    struct expression it;
    enum { N = FIRST_OPERATION + N_OPERATION };
    node made[N];
    struct dual exact[N], moved[N], spread[N];
    double at[N_LEAF];
    bool is_edge = false, ordinary[N];
    make(&it, stream);
    for (int j = 0; j < N_LEAF; j++)
        at[j] = 3 * random_uniform(SEED + 2, stream, (uint64_t)j) - (j == 3 ? 1.5 : 0);
    memset(spread, 0, sizeof spread);
    evaluate(&it, at, stream, 0, exact, &is_edge);
    for (uint64_t trial = 1; trial <= N_TRIAL; trial++) {
        evaluate(&it, at, stream, trial, moved, &is_edge);
        for (int i = 0; i < it.n; i++) {
            spread[i].value = fmaxl(spread[i].value, fabsl(moved[i].value - exact[i].value));
            for (int j = 0; j < N_LEAF; j++)
                spread[i].by[j] = fmaxl(spread[i].by[j], fabsl(moved[i].by[j] - exact[i].by[j]));
        }
    }
    if (is_edge)
        return 0;
    struct graph *graph = graph_new();
    struct graph_matrix matrix;
    build(graph, &it, made);
    assert_int_equal(graph_jacobian(graph, made, (size_t)it.n, GRAPH_STATE, N_LEAF, &matrix, NULL), STATUS_OK);
    double *value = malloc(graph_n_node(graph) * sizeof *value);
    struct stiffit_point point = {.y = at};
    graph_evaluate(graph, &point, value);
    int n_checked = 0;
    for (int i = 0; i < it.n; i++)
        if (is_ordinary(&it, exact, spread, i, ordinary) && i >= FIRST_OPERATION) {
            compare(&it, exact, "value", stream, i, 0, value[made[i]], exact[i].value, spread[i].value);
            n_checked++;
        }
    double derivative[N][N_LEAF] = {{0}};
    for (int j = 0; j < N_LEAF; j++)
        for (uint32_t k = matrix.column_start[j]; k < matrix.column_start[j + 1]; k++)
            derivative[matrix.row[k]][j] = value[matrix.entry[k]];
    for (int i = FIRST_OPERATION; i < it.n; i++)
        for (int j = 0; ordinary[i] && j < N_LEAF; j++)
            compare(&it, exact, "derivative", stream, i, j, derivative[i][j], exact[i].by[j], spread[i].by[j]);
    graph_matrix_fini(&matrix);
    free(value);
    graph_free(graph);
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
