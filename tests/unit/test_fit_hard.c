/* Fits that have no good end, or hardly a way to one: parameters that run away, that only count together, that differ by
 * decades, starts on a plateau. Each has to end soon, with the outcome or note that says what it is.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit_case.h"

#include "base/random.h"

enum { ROWS = 12 };

static double noise(uint64_t i)
{
    return 0.05 * random_normal(3, 1, i);
}

static struct fit_case *make(const struct stiffit_model *model, enum parameter_scale scale)
{
    struct fit_case *self = case_new(model, ROWS);
    for (size_t i = 0; i < ROWS; i++)
        self->time[i] = 1 + (double)i;
    for (size_t j = 0; j < model->n_parameter; j++) {
        self->scale[j] = scale;
        self->lower[j] = scale == SCALE_LIN ? -INFINITY : 0;
    }
    return self;
}

/* All data on the final level: any rate that is large enough will do. */
static void test_runaway_upward(void **state)
{
    (void)state;
    static const enum optimizer optimizers[] = {OPTIMIZER_trf, OPTIMIZER_lbfgs};
    for (int k = 0; k < 2; k++) {
        struct fit_case *self = make(test_model("rise"), SCALE_LOG);
        self->options.optimizer = optimizers[k];
        self->options.statistics = true;
        for (uint64_t i = 0; i < ROWS; i++)
            self->value[i] = 2 + 0.01 * noise(i) + (i == 0 ? 0.1 : 0); /* the first one even above it */
        const struct fit_record *result = case_run(self);
        assert_int_equal(result->outcome, OUTCOME_converged);
        assert_true(result->notes & NOTE_no_influence);
        assert_true(result->parameter[1] > 5 && result->parameter[1] < 1e6);
        printf("optimizer %d: %d evaluations, rate %g\n", (int)optimizers[k], (int)result->n_evaluation, result->parameter[1]);
        assert_true(result->n_evaluation < 100);
        case_free(self);
    }
}

/* A straight line: only the product of level and rate is known, and the rate goes to 0 while the level grows. */
static void test_runaway_downward(void **state)
{
    (void)state;
    struct fit_case *self = make(test_model("rise"), SCALE_LOG10);
    for (uint64_t i = 0; i < ROWS; i++)
        self->value[i] = 0.3 * self->time[i] + 0.002 * self->time[i] * self->time[i] + 0.01 * noise(i);
    const struct fit_record *result = case_run(self);
    assert_true(result->outcome == OUTCOME_converged || result->outcome == OUTCOME_stalled);
    assert_true(isfinite(result->objective) && result->n_evaluation < 200);
    assert_true(fabs(result->parameter[0] * result->parameter[1] / 0.3 - 1) < 0.2);
    case_free(self);
}

static void test_product(void **state)
{
    (void)state;
    double f[3], p[3];
    for (int k = 0; k < 3; k++) {
        struct fit_case *self = make(test_model("decay-of-product"), k == 2 ? SCALE_LIN : SCALE_LOG);
        self->start[0] = k == 1 ? 1e5 : 1;
        self->start[1] = k == 1 ? 1e-5 : 1;
        for (uint64_t i = 0; i < ROWS; i++)
            self->value[i] = 3 * exp(-0.2 * self->time[i]) + noise(i);
        const struct fit_record *result = case_run(self);
        assert_int_equal(result->outcome, OUTCOME_converged);
        assert_true(result->n_evaluation < 30);
        f[k] = result->objective;
        p[k] = result->parameter[0] * result->parameter[1];
        /* The shortest of all best steps: neither runs away */
        assert_true(result->parameter[0] / self->start[0] < 10 && result->parameter[1] / self->start[1] < 10);
        case_free(self);
    }
    /* f_tolerance, and its square root */
    assert_true(fabs(f[1] / f[0] - 1) < 1e-8 && fabs(f[2] / f[0] - 1) < 1e-8);
    assert_true(fabs(p[1] / p[0] - 1) < 1e-4 && fabs(p[2] / p[0] - 1) < 1e-4);
}

/* Values of 1e-9, rates per microsecond: the same fit in other units. */
static void test_units(void **state)
{
    (void)state;
    double f[2];
    int64_t n[2];
    for (int k = 0; k < 2; k++) {
        struct fit_case *self = make(test_model("decay-of-product"), SCALE_LIN);
        double unit = k ? 1e-9 : 1, time = k ? 1e-6 : 1;
        self->fixed[1] = 1;
        self->start[0] = unit;
        self->start[2] = 0.1 / time;
        for (uint64_t i = 0; i < ROWS; i++) {
            self->time[i] = time * (double)i;
            self->value[i] = unit * (3 * exp(-0.2 * (double)i) + noise(i));
            self->sigma[i] = unit;
        }
        const struct fit_record *result = case_run(self);
        assert_int_equal(result->outcome, OUTCOME_converged);
        f[k] = result->objective;
        n[k] = result->n_evaluation;
        case_free(self);
    }
    assert_true(fabs(f[1] / f[0] - 1) < 1e-9);
    assert_int_equal(n[0], n[1]);
}

/* A rate so large that nothing is left at the first time: no slope anywhere but of the level. */
static void test_plateau(void **state)
{
    (void)state;
    struct fit_case *self = make(test_model("rise"), SCALE_LOG);
    self->start[1] = 1e4;
    self->options.statistics = true;
    for (uint64_t i = 0; i < ROWS; i++)
        self->value[i] = -2 * expm1(-0.3 * self->time[i]) + 0.1 * noise(i);
    const struct fit_record *result = case_run(self);
    assert_true(result->parameter[1] == 1e4);
    assert_true(result->notes & NOTE_no_influence);
    assert_true(result->n_evaluation < 10);
    case_free(self);
}

/* A rate of the wrong sign, with predictions of up to e^30: however far the misfit has fallen, no
 * step may end on the plateau of rates so high that only the first value is left to fit. */
static void test_growth_for_decay(void **state)
{
    (void)state;
    double best = 0;
    for (int k = 0; k < 10; k++) {
        struct fit_case *self = make(test_model("decay-of-product"), SCALE_LIN);
        self->fixed[1] = 1;
        self->start[0] = 0.1;
        self->start[2] = k ? -0.5 * (k + 2) : 0.7;
        for (uint64_t i = 0; i < ROWS; i++) {
            self->time[i] = 0.5 * (double)(i + 1);
            self->value[i] = exp(-0.7 * self->time[i]) + 0.4 * noise(i);
        }
        const struct fit_record *result = case_run(self);
        printf("from a rate of %g: %d evaluations, objective %.6g\n", self->start[2],
               (int)result->n_evaluation, result->objective);
        assert_int_equal(result->outcome, OUTCOME_converged);
        best = k ? best : result->objective;
        assert_true(fabs(result->objective / best - 1) < 1e-8); /* f_tolerance, tenfold */
        assert_true(result->n_evaluation < 40);
        case_free(self);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runaway_upward), cmocka_unit_test(test_runaway_downward), cmocka_unit_test(test_product),
        cmocka_unit_test(test_units), cmocka_unit_test(test_plateau),
        cmocka_unit_test(test_growth_for_decay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
