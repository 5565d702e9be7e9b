/* Evaluations with tighter tolerances than the engine's own: the very bits of an engine that has those, and no trace of them in
 * the next evaluation.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model_case.h"
#include "ode_case.h"

/* Sensitivities are by difference quotients, whose steps are the engine's. */
static struct stiffit_model oscillator;
static int load_oscillator(void **state)
{
    (void)state;
    oscillator = without_derivatives(test_model("oscillator"));
    return 0;
}
static const double p[2] = {10, 2}, times[4] = {1, 5, 10, 15};

static void copy_answer(const struct ode_case *c, double out[12])
{
    memcpy(out, c->prediction, 4 * sizeof(double));
    memcpy(out + 4, c->d_prediction, 8 * sizeof(double));
}

static void test_bits(void **state)
{
    (void)state;
    const struct ode_options loose = {.rtol = 1e-4, .atol = 1e-7}, tight = {.rtol = 1e-4 / 16, .atol = 1e-7 / 16};
    struct ode_case a, b;
    double before[12], between[12], after[12], other[12];
    ode_case_init(&a, &oscillator, &loose, 1, p, NULL, 0, 4, times);
    ode_case_init(&b, &oscillator, &tight, 1, p, NULL, 0, 4, times);
    ode_case_run(&a);
    copy_answer(&a, before);
    int64_t n_step = a.evaluation.n_step;
    a.evaluation.tighter = 16;
    ode_case_run(&a);
    copy_answer(&a, between);
    assert_true(a.evaluation.n_step > n_step);
    a.evaluation.tighter = 0;
    ode_case_run(&a);
    copy_answer(&a, after);
    ode_case_run(&b);
    copy_answer(&b, other);
    assert_memory_equal(before, after, sizeof before);
    assert_memory_equal(between, other, sizeof between);
    assert_memory_not_equal(between, before, sizeof between);
    ode_case_fini(&a);
    ode_case_fini(&b);
}

/* Below what double precision has, tolerances stay where the integrator still works. */
static void test_floor(void **state)
{
    (void)state;
    const struct ode_options finest = {.rtol = 1e-13, .atol = 1e-15};
    struct ode_case c;
    ode_case_init(&c, &oscillator, &finest, 1, p, NULL, 0, 4, times);
    c.evaluation.tighter = 1e6;
    ode_case_run(&c);
    assert_int_equal(c.evaluation.outcome, EVALUATION_OK);
    ode_case_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits), cmocka_unit_test(test_floor)};
    return cmocka_run_group_tests(tests, load_oscillator, NULL);
}
