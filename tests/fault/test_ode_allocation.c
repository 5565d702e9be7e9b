/* The k-th allocation fails, for every k, while a pool is made and an evaluation is carried out: an error or the
 * outcome NO_MEMORY, never a crash or a leak; and everything works again afterwards. Allocations made by SUNDIALS
 * itself are spared: it does not survive their failure (SUNLogger_Create of 6.4.1, for one), and it makes them
 * only while a pool is made.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "../unit/model_case.h"
#include "../unit/ode_case.h"
#include "replaces_malloc.h"

#if !REPLACES_MALLOC

int main(void)
{
    printf("allocation failures need glibc's own malloc\n");
    return 77;
}

#else

#include <dlfcn.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *p);

static long fail_at; /* the allocation that fails, counted from 1; 0: none */
static bool fails_on; /* and all after it */
static long n_allocation, n_live;
static bool counting, counting_all; /* SUNDIALS' own, too */

static bool fails(const void *caller)
{
    Dl_info where;
    if (!counting || (!counting_all && dladdr(caller, &where) && strstr(where.dli_fname, "libsundials")))
        return false;
    n_allocation++;
    return fail_at && (n_allocation == fail_at || (fails_on && n_allocation > fail_at));
}

static void *counted(void *p)
{
    n_live += counting && p;
    return p;
}

void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : counted(__libc_malloc(size));
}
void *calloc(size_t n, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : counted(__libc_calloc(n, size));
}
void *aligned_alloc(size_t alignment, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : counted(__libc_memalign(alignment, size));
}
void *realloc(void *p, size_t size)
{
    if (fails(__builtin_return_address(0)))
        return NULL;
    n_live += counting && !p;
    return __libc_realloc(p, size);
}
void free(void *p)
{
    n_live -= counting && p;
    __libc_free(p);
}

enum { N = 30 };

/* A ring of N states, so that KLU has something to do. */
static int32_t column_start[N + 1], row_index[3 * N];

static int rhs(const struct stiffit_point *at, double *f)
{
    for (int i = 0; i < N; i++)
        f[i] = at->p[0] * (at->y[(i + 1) % N] - 2 * at->y[i] + at->y[(i + N - 1) % N]) - at->p[1] * at->y[i] + i;
    return STIFFIT_OK;
}
static int jacobian_sparse(const struct stiffit_point *at, double *values)
{
    for (int j = 0; j < N; j++)
        for (int k = column_start[j]; k < column_start[j + 1]; k++)
            values[k] = row_index[k] == j ? -2 * at->p[0] - at->p[1] : at->p[0];
    return STIFFIT_OK;
}
static int initial(const struct stiffit_point *at, double *y)
{
    (void)at;
    memset(y, 0, N * sizeof(double));
    return STIFFIT_OK;
}
static int observe(const struct stiffit_point *at, double *h)
{
    h[0] = at->y[N / 2];
    return STIFFIT_OK;
}

static const struct stiffit_model ring = {STIFFIT_MODEL_HEADER, .name = "ring", .n_state = N, .n_parameter = 2,
                                          .n_observable = 1, .n_nonzero = 3 * N, .rhs = rhs, .initial = initial,
                                          .observe = observe, .jacobian_sparse = jacobian_sparse,
                                          .column_start = column_start, .row_index = row_index};

static void fill_pattern(void)
{
    for (int j = 0, k = 0; j < N; j++) {
        for (int i = 0; i < N; i++)
            if (i == j || i == (j + 1) % N || i == (j + N - 1) % N)
                row_index[k++] = i;
        column_start[j + 1] = k;
    }
}

/* For the adjoint: the gradient of the predictions' sum. */
static double by_prediction[2], gradient[2];
static bool weigh(void *context, const struct evaluation *evaluation)
{
    (void)context, (void)evaluation;
    by_prediction[0] = by_prediction[1] = 1;
    return true;
}
static const struct evaluation_adjoint adjoint = {.weigh = weigh, .by_prediction = by_prediction, .gradient = gradient};
static bool wants_adjoint;

/* True: everything went well; otherwise an error was reported. */
static bool attempt(int linear_solver, double *prediction)
{
    static const double p[2] = {2, 3}, time[2] = {0.1, 3};
    static const uint32_t sens[2] = {0, 1}, row_time[2] = {0, 1}, row_observable[2] = {0, 0};
    static struct model model;
    double d_prediction[4];
    struct ode_options options = {.rtol = 1e-6, .atol = 1e-9, .linear_solver = linear_solver};
    struct ode_task task = {.n_time = 2, .time = time, .n_row = 2, .row_time = row_time,
                            .row_observable = row_observable};
    struct evaluation e = {.task = &task, .p = p, .n_sens = 2, .sens = sens, .max_steps = 10000,
                           .deadline_ns = INT64_MAX,
                           .prediction = prediction, .d_prediction = d_prediction};
    struct error error = {0};
    bool good = false;
    model.abi = ring;
    struct engine_pool *pool = engine_pool_new(&model, &options, 2, 1, &error);
    struct engine *engine = pool ? engine_new(pool, &error) : NULL;
    e.adjoint = wants_adjoint ? &adjoint : NULL;
    if (engine) {
        engine_evaluate(engine, &e);
        good = e.outcome == EVALUATION_OK;
        if (!good)
            assert_int_equal(e.outcome, EVALUATION_NO_MEMORY);
        if (!good && !fails_on) { /* what failed once works the next time, with what there is now */
            engine_evaluate(engine, &e);
            assert_int_equal(e.outcome, EVALUATION_OK);
        }
    } else {
        assert_int_equal(error.status, STATUS_NO_MEMORY);
    }
    engine_free(engine);
    engine_pool_free(pool);
    return good;
}

/* Once the pool is made, evaluations take no memory (KLU: one numeric object each, see sparse.c). */
static void test_none_on_the_hot_path(void **state)
{
    static const double p[2] = {2, 3}, time[2] = {0.1, 3};
    static const uint32_t sens[2] = {0, 1}, row_time[2] = {0, 1}, row_observable[2] = {0, 0};
    static struct model model;
    double prediction[2], d_prediction[4];
    struct ode_options options = {.rtol = 1e-6, .atol = 1e-9, .linear_solver = LINEAR_DENSE};
    struct ode_task task = {.n_time = 2, .time = time, .n_row = 2, .row_time = row_time,
                            .row_observable = row_observable};
    struct evaluation e = {.task = &task, .p = p, .n_sens = 2, .sens = sens, .max_steps = 10000,
                           .deadline_ns = INT64_MAX,
                           .prediction = prediction, .d_prediction = d_prediction};
    struct error error = {0};
    (void)state;
    model.abi = ring;
    struct engine_pool *pool = engine_pool_new(&model, &options, 1, 1, &error);
    struct engine *engine = engine_new(pool, &error);
    fail_at = n_allocation = 0;
    counting = counting_all = true;
    for (e.n_sens = 0; e.n_sens <= 2; e.n_sens++)
        engine_evaluate(engine, &e);
    counting = counting_all = false;
    assert_int_equal(e.outcome, EVALUATION_OK);
    assert_int_equal(n_allocation, 0);
    e.n_sens = 2;
    e.adjoint = &adjoint;
    engine_evaluate(engine, &e); /* makes the tape */
    counting = counting_all = true;
    engine_evaluate(engine, &e);
    counting = counting_all = false;
    assert_int_equal(e.outcome, EVALUATION_OK);
    assert_int_equal(n_allocation, 0);
    engine_free(engine);
    engine_pool_free(pool);
}

static void run(int linear_solver, bool lasting)
{
    double expected[2], expected_gradient[2], prediction[2];
    fail_at = 0;
    assert_true(attempt(linear_solver, expected));
    memcpy(expected_gradient, gradient, sizeof gradient);
    bool good = false;
    long k = 1;
    for (; !good; k++) {
        fail_at = k;
        fails_on = lasting;
        n_allocation = n_live = 0;
        counting = true;
        good = attempt(linear_solver, prediction);
        counting = false;
        assert_int_equal(n_live, 0);
    }
    assert_true(k > 30); /* it was really exercised */
    assert_memory_equal(prediction, expected, sizeof expected);
    assert_memory_equal(gradient, expected_gradient, sizeof gradient);
}

static void test_dense(void **state)
{
    (void)state;
    run(LINEAR_DENSE, false);
    run(LINEAR_DENSE, true);
}

static void test_klu(void **state)
{
    (void)state;
    run(LINEAR_KLU, false);
    run(LINEAR_KLU, true);
}

static void test_adjoint(void **state)
{
    wants_adjoint = true;
    test_dense(state);
    test_klu(state);
    wants_adjoint = false;
}

/* Evaluations side by side want the sensitivities of ever more parameters, so that the lanes need room again and again. */
enum { N_BESIDE = 12, N_PINENE = 5 };

struct beside {
    struct evaluation evaluation[N_BESIDE];
    double prediction[N_BESIDE][2], d_prediction[N_BESIDE][2 * N_PINENE];
};

static void ask_beside(struct engine *engine, struct beside *beside)
{
    static const double time[2] = {1000, 30000}, p[N_PINENE] = {5.93e-5, 2.96e-5, 2.05e-5, 27.5e-5, 4e-5};
    static const uint32_t sens[N_PINENE] = {0, 1, 2, 3, 4}, row_time[2] = {0, 1}, row_observable[2] = {0, 2};
    static const struct ode_task task = {.n_time = 2, .time = time, .n_row = 2, .row_time = row_time,
                                         .row_observable = row_observable};
    size_t n_done = 0;
    memset(beside, 0, sizeof *beside);
    for (size_t i = 0; i < N_BESIDE; i++) {
        struct evaluation *e = &beside->evaluation[i];
        size_t first = i % N_PINENE, n = 1 + i / 3;
        n = n > N_PINENE - first ? N_PINENE - first : n;
        *e = (struct evaluation){.task = &task, .p = p, .n_sens = n, .sens = sens + first, .max_steps = 10000,
                                 .deadline_ns = INT64_MAX, .prediction = beside->prediction[i],
                                 .d_prediction = beside->d_prediction[i], .tighter = 1, .engine = ENGINE_LANES};
        if (i < 8)
            engine_submit(engine, e);
    }
    while (n_done < N_BESIDE) {
        size_t n = 0;
        for (struct evaluation *done = engine_work(engine, NULL); done; done = done->next)
            n++;
        for (size_t i = n_done + 8; i < n_done + 8 + n && i < N_BESIDE; i++)
            engine_submit(engine, &beside->evaluation[i]);
        n_done += n;
    }
}

/* Whether one of them found no memory; those that did have an answer have the expected one. */
static bool is_short(const struct beside *beside, const struct beside *expected)
{
    bool found = false;
    for (size_t i = 0; i < N_BESIDE; i++) {
        enum evaluation_outcome outcome = beside->evaluation[i].outcome;
        found = found || outcome == EVALUATION_NO_MEMORY;
        if (outcome == EVALUATION_NO_MEMORY)
            continue;
        assert_int_equal(outcome, EVALUATION_OK);
        assert_memory_equal(beside->prediction[i], expected->prediction[i], sizeof beside->prediction[i]);
        assert_memory_equal(beside->d_prediction[i], expected->d_prediction[i], sizeof beside->d_prediction[i]);
    }
    return found;
}

static void run_lanes(bool lasting)
{
    static struct model model;
    static struct beside expected, beside;
    struct ode_options options = {.rtol = 1e-6, .linear_solver = LINEAR_DENSE, .engine = ENGINE_LANES};
    long n_short = 0, n_refused = 0;
    bool is_over = false;
    fail_at = 0;
    model.abi = *example_model("alpha-pinene.text");
    const struct stiffit_lanes lanes = lanes_by_lists(&model.abi);
    model.abi.lanes = &lanes;
    for (long k = 0; !is_over; k++) {
        struct error error = {0};
        n_allocation = n_live = 0;
        fail_at = k;
        fails_on = lasting;
        counting = true;
        struct engine_pool *pool = engine_lanes.pool_new(&engine_lanes, &model, &options, 16, 1, &error);
        if (pool)
            pool->table = &engine_lanes;
        struct engine *engine = pool ? engine_new(pool, &error) : NULL;
        if (engine) {
            ask_beside(engine, k ? &beside : &expected);
            is_over = k && n_allocation < k;
            n_short += k && is_short(&beside, &expected);
            fail_at = 0; /* there is memory again: the engine is whole */
            ask_beside(engine, &beside);
            assert_false(is_short(&beside, &expected));
        } else {
            assert_int_equal(error.status, STATUS_NO_MEMORY);
            n_refused++;
        }
        engine_free(engine);
        engine_pool_free(pool);
        counting = false;
        assert_int_equal(n_live, 0);
    }
    print_message("%ld times no memory for an evaluation, %ld for the engine\n", n_short, n_refused);
    assert_true(n_short > 5 && n_refused > 100); /* it was really exercised */
}

static void test_lanes(void **state)
{
    (void)state;
    run_lanes(false);
    run_lanes(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lanes), cmocka_unit_test(test_dense), cmocka_unit_test(test_klu),
                                       cmocka_unit_test(test_adjoint),
                                       cmocka_unit_test(test_none_on_the_hot_path)};
    fill_pattern();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
