/* The three linear solvers: against residuals, against one another, and inside whole evaluations of a model whose
 * Jacobian is sparse, with up to 500 states and 300 parameters.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode_case.h"

#include "ode/dense.h"
#include "ode/linear.h"

#include <float.h>

/* A diffusing, reacting chain: y_i' = D (y_{i-1} - 2 y_i + y_{i+1}) - k_i y_i^2 + 1, of any length (the statics
 * say which); parameter 0 is D, the others are the k of equal stretches of the chain. */
static int32_t *chain_start, *chain_row;
static size_t chain_n, chain_p;

static size_t stretch(size_t i) { return 1 + i * (chain_p - 1) / chain_n; }

static int chain_rhs(const struct stiffit_point *at, double *f)
{
    for (size_t i = 0; i < chain_n; i++) {
        double left = i > 0 ? at->y[i - 1] : 0, right = i + 1 < chain_n ? at->y[i + 1] : 0, y = at->y[i];
        f[i] = at->p[0] * (left - 2 * y + right) - at->p[stretch(i)] * y * y + 1;
    }
    return STIFFIT_OK;
}
static int chain_sparse(const struct stiffit_point *at, double *values)
{
    for (size_t j = 0; j < chain_n; j++)
        for (int32_t k = chain_start[j]; k < chain_start[j + 1]; k++)
            values[k] = chain_row[k] == (int32_t)j ? -2 * at->p[0] - 2 * at->p[stretch(j)] * at->y[j] : at->p[0];
    return STIFFIT_OK;
}
static int chain_rhs_parameter(const struct stiffit_point *at, double *F)
{
    memset(F, 0, chain_n * chain_p * sizeof(double));
    for (size_t i = 0; i < chain_n; i++) {
        double left = i > 0 ? at->y[i - 1] : 0, right = i + 1 < chain_n ? at->y[i + 1] : 0, y = at->y[i];
        F[i] = left - 2 * y + right;
        F[i + stretch(i) * chain_n] = -y * y;
    }
    return STIFFIT_OK;
}
static int chain_initial(const struct stiffit_point *at, double *y)
{
    (void)at;
    memset(y, 0, chain_n * sizeof(double));
    return STIFFIT_OK;
}
static int chain_observe(const struct stiffit_point *at, double *h)
{
    h[0] = at->y[0];
    h[1] = at->y[chain_n / 2];
    return STIFFIT_OK;
}
static int chain_observe_state(const struct stiffit_point *at, double *H)
{
    (void)at;
    memset(H, 0, 2 * chain_n * sizeof(double));
    H[0] = 1;
    H[1 + 2 * (chain_n / 2)] = 1;
    return STIFFIT_OK;
}
static int chain_observe_parameter(const struct stiffit_point *at, double *H)
{
    (void)at;
    memset(H, 0, 2 * chain_p * sizeof(double));
    return STIFFIT_OK;
}

static uint8_t chain_use[300];

static struct stiffit_model chain(size_t n, size_t n_parameter)
{
    struct stiffit_model model = {STIFFIT_MODEL_HEADER, .name = "chain", .n_state = (uint32_t)n,
                                  .n_parameter = (uint32_t)n_parameter, .n_observable = 2, .rhs = chain_rhs,
                                  .initial = chain_initial, .observe = chain_observe,
                                  .jacobian_sparse = chain_sparse, .rhs_parameter = chain_rhs_parameter,
                                  .observe_state = chain_observe_state, .observe_parameter = chain_observe_parameter,
                                  .parameter_use = chain_use};
    memset(chain_use, STIFFIT_USE_RHS, sizeof chain_use);
    chain_n = n;
    chain_p = n_parameter;
    chain_start = malloc((n + 1) * sizeof *chain_start);
    chain_row = malloc(3 * n * sizeof *chain_row);
    int32_t k = 0;
    for (size_t j = 0; j < n; j++) {
        chain_start[j] = k;
        for (size_t i = j > 0 ? j - 1 : 0; i <= j + 1 && i < n; i++)
            chain_row[k++] = (int32_t)i;
    }
    chain_start[n] = k;
    model.n_nonzero = (uint32_t)k;
    model.column_start = chain_start;
    model.row_index = chain_row;
    return model;
}

static void chain_free(void)
{
    free(chain_start);
    free(chain_row);
}

static double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) / 9007199254740992.0 - 0.5;
}

/* The residual of a solution by a backward stable method is a small multiple of n eps |A| |x|. */
static void test_dense(void **state)
{
    (void)state;
    enum { MAX = 40, COLUMNS = 7 };
    static double a[MAX * MAX], lu[MAX * MAX], b[MAX * COLUMNS], x[MAX * COLUMNS], y[MAX * COLUMNS];
    int pivot[MAX];
    uint64_t seed = 1;
    for (size_t n = 1; n <= MAX; n++) {
        for (size_t i = 0; i < n * n; i++)
            lu[i] = a[i] = uniform(&seed);
        a[0] = lu[0] = n > 1 ? 0 : 1; /* no solution without exchanging rows */
        for (size_t i = 0; i < n * COLUMNS; i++)
            x[i] = b[i] = uniform(&seed);
        assert_true(dense_factor(lu, n, pivot));
        dense_solve(lu, n, pivot, x, COLUMNS);
        dense_multiply(a, n, x, y, COLUMNS);
        for (size_t k = 0; k < COLUMNS; k++) {
            double size = 0;
            for (size_t i = 0; i < n; i++)
                size += fabs(x[i + k * n]);
            for (size_t i = 0; i < n; i++)
                assert_close(y[i + k * n], b[i + k * n], 20 * DBL_EPSILON * (size + 1), "residual", n, i);
        }
    }
    double singular[4] = {1, 2, 2, 4};
    assert_false(dense_factor(singular, 2, pivot));
    double nan[1] = {NAN};
    assert_false(dense_factor(nan, 1, pivot));
}

static struct linear *solver(const struct stiffit_model *model, int kind, struct linear_plan **plan)
{
    struct error error = {0};
    *plan = linear_plan_new(model, kind, &error);
    if (!*plan)
        fail_msg("%s", error.message);
    assert_int_equal(linear_plan_kind(*plan), kind);
    struct linear *linear = linear_new(*plan);
    assert_non_null(linear);
    return linear;
}

/* The same systems through all three: equal to rounding times the condition (about 1e3 here). */
static void test_solvers_agree(void **state)
{
    (void)state;
    enum { N = 60, COLUMNS = 5 };
    static double x[3][N * COLUMNS], y[3][N * COLUMNS], state_now[N], p[4] = {100, 3, 4, 5};
    static const int kinds[3] = {LINEAR_DENSE, LINEAR_LAPACK, LINEAR_KLU};
    struct stiffit_model model = chain(N, 4);
    struct stiffit_point at = {.y = state_now, .p = p};
    for (int kind = 0; kind < 3; kind++) {
        struct linear_plan *plan;
        struct linear *linear = solver(&model, kinds[kind], &plan);
        linear_begin(linear);
        for (int repeat = 0; repeat < 3; repeat++) { /* KLU: factored at first, refactored then */
            uint64_t seed = 7 + (uint64_t)repeat;
            for (size_t i = 0; i < N; i++)
                state_now[i] = 1 + uniform(&seed);
            double *jacobian = linear_jacobian(linear), values[3 * N];
            chain_sparse(&at, kinds[kind] == LINEAR_KLU ? jacobian : values);
            if (kinds[kind] != LINEAR_KLU) {
                memset(jacobian, 0, N * N * sizeof(double));
                for (size_t j = 0; j < N; j++)
                    for (int32_t k = chain_start[j]; k < chain_start[j + 1]; k++)
                        jacobian[(size_t)chain_row[k] + j * N] = values[k];
            }
            for (size_t i = 0; i < N * COLUMNS; i++)
                x[kind][i] = uniform(&seed);
            linear_multiply(linear, x[kind], y[kind], COLUMNS);
            assert_int_equal(linear_factor(linear, 0.5), LINEAR_OK);
            assert_int_equal(linear_solve(linear, x[kind], COLUMNS), LINEAR_OK);
        }
        for (size_t i = 0; i < N * COLUMNS; i++) {
            assert_close(x[kind][i], x[0][i], 1e-12, "solve", (size_t)kind, i);
            assert_close(y[kind][i], y[0][i], 1e-12 * 1000, "multiply", (size_t)kind, i);
        }
        linear_free(linear);
        linear_plan_free(plan);
    }
    chain_free();
}

static void test_singular(void **state)
{
    (void)state;
    static const int kinds[3] = {LINEAR_DENSE, LINEAR_LAPACK, LINEAR_KLU};
    struct stiffit_model model = chain(3, 2);
    for (int kind = 0; kind < 3; kind++) {
        struct linear_plan *plan;
        struct linear *linear = solver(&model, kinds[kind], &plan);
        size_t n_value = kinds[kind] == LINEAR_KLU ? 7 : 9;
        linear_begin(linear);
        double *jacobian = linear_jacobian(linear);
        memset(jacobian, 0, n_value * sizeof(double));
        jacobian[0] = 1; /* M = I - J has a column of zeros */
        assert_int_equal(linear_factor(linear, 1), LINEAR_SINGULAR);
        jacobian[0] = 2;
        assert_int_equal(linear_factor(linear, 1), LINEAR_OK);
        double b[3] = {1, 2, 3};
        assert_int_equal(linear_solve(linear, b, 1), LINEAR_OK);
        assert_true(b[0] == -1 && b[1] == 2 && b[2] == 3);
        linear_free(linear);
        linear_plan_free(plan);
    }
    chain_free();
}

/* A whole evaluation with each solver: the same to ten times the integrator's tolerance; and each, run a second
 * time after another evaluation, to the bit. */
static void test_evaluations_agree(void **state)
{
    (void)state;
    enum { N = 40, P = 6 };
    static const double time[3] = {0.1, 1, 10}, p[P] = {50, 1, 2, 3, 4, 5}, other[P] = {5000, 9, 1, 9, 1, 9};
    double first[6 * (1 + P)], now[6 * (1 + P)];
    struct stiffit_model model = chain(N, P);
    for (int kind = LINEAR_DENSE; kind <= LINEAR_KLU; kind++) {
        struct ode_options options = {.rtol = 1e-8, .atol = 1e-12, .linear_solver = kind};
        struct ode_case c;
        ode_case_init(&c, &model, &options, 1, p, NULL, 0, 3, time);
        for (int repeat = 0; repeat < 2; repeat++) {
            ode_case_run(&c);
            memcpy(now, c.prediction, 6 * sizeof(double));
            memcpy(now + 6, c.d_prediction, 6 * P * sizeof(double));
            if (kind == LINEAR_DENSE && repeat == 0)
                memcpy(first, now, sizeof now);
            for (size_t i = 0; i < sizeof now / sizeof *now; i++)
                assert_close(now[i], first[i], 1e-7 * (fabs(first[i]) + 1e-2), "evaluation", (size_t)kind, i);
            c.evaluation.p = other;
            ode_case_run(&c);
            c.evaluation.p = p;
            c.evaluation.n_sens = 2;
            ode_case_run(&c);
            c.evaluation.n_sens = P;
            ode_case_run(&c);
            assert_memory_equal(c.prediction, now, 6 * sizeof(double));
            assert_memory_equal(c.d_prediction, now + 6, 6 * P * sizeof(double));
        }
        ode_case_fini(&c);
    }
    chain_free();
}

/* 500 states; and 300 parameters: the sensitivities to each agree with those of an evaluation that wants one alone. */
static void test_large(void **state)
{
    (void)state;
    enum { N = 500, P = 300 };
    static double p[P];
    static const double time[2] = {0.5, 5};
    struct ode_options options = {.rtol = 1e-6, .atol = 1e-9, .linear_solver = LINEAR_AUTO};
    struct stiffit_model model = chain(N, P);
    for (size_t j = 0; j < P; j++)
        p[j] = 1 + (double)j / P;
    struct ode_case c;
    ode_case_init(&c, &model, &options, 1, p, NULL, 0, 2, time);
    assert_string_equal(engine_pool_linear_solver(c.pool), "klu");
    ode_case_run(&c);
    double d[4];
    static const uint32_t some[4] = {0, 1, 150, 299};
    for (size_t s = 0; s < 4; s++) {
        for (size_t i = 0; i < 4; i++)
            d[i] = c.d_prediction[i + some[s] * c.n_row];
        c.evaluation.n_sens = 1;
        c.evaluation.sens = &some[s];
        double *keep = c.d_prediction, alone[4];
        c.evaluation.d_prediction = alone;
        ode_case_run(&c);
        c.evaluation.d_prediction = keep;
        for (size_t i = 0; i < 4; i++)
            assert_close(alone[i], d[i], 1e-4 * fabs(d[i]) + 1e-7, "alone", s, i);
    }
    ode_case_fini(&c);
    chain_free();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_dense), cmocka_unit_test(test_solvers_agree),
                                       cmocka_unit_test(test_singular), cmocka_unit_test(test_evaluations_agree),
                                       cmocka_unit_test(test_large)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
