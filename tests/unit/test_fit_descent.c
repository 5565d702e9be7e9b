/* L-BFGS on gradients alone, with the box around it: against minima known by heart and against the trust region, with
 * evaluations that fail, directions that are flat, and derivatives of the residuals there or not.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit_case.h"

#include "base/random.h"

enum { ROWS = 10, MANY = 30 };

/* Row i is the parameter i itself, weighted: a separable sum of squares whose minimum in a box is the clipped one. */
static int row_weight(double t) { return 1 + (int)t % 7; }

static int separate(const struct stiffit_point *at, double *h)
{
    h[0] = row_weight(at->t) * at->p[(int)at->t];
    return STIFFIT_OK;
}

static int separate_slopes(const struct stiffit_point *at, double *h)
{
    for (int j = 0; j < MANY; j++)
        h[j] = j == (int)at->t ? row_weight(at->t) : 0;
    return STIFFIT_OK;
}

static const struct stiffit_model separate_model = {STIFFIT_MODEL_HEADER, .n_parameter = MANY, .n_observable = 1,
                                                    .observe = separate, .observe_parameter = separate_slopes};

/* What an engine with adjoints does, from the derivatives of the predictions. */
static bool go_backward(struct fit_case *self, struct evaluation *evaluation)
{
    const struct evaluation_adjoint *adjoint = evaluation->adjoint;
    const struct stiffit_model *abi = &self->model.abi;
    if (!adjoint || evaluation->outcome != EVALUATION_OK)
        return true;
    assert_null(evaluation->d_prediction);
    if (!adjoint->weigh(adjoint->context, evaluation)) {
        evaluation->outcome = EVALUATION_MODEL_FAILED;
        return true;
    }
    double slopes[CASE_PARAMETERS];
    memset(adjoint->gradient, 0, evaluation->n_sens * sizeof(double));
    for (size_t i = 0; i < evaluation->task->n_row; i++) {
        assert_int_equal(case_point(abi, evaluation, i, abi->observe_parameter, slopes), STIFFIT_OK);
        for (size_t j = 0; j < evaluation->n_sens; j++)
            adjoint->gradient[j] += adjoint->by_prediction[i] * slopes[evaluation->sens[j]];
    }
    return true;
}

static struct fit_case *descend(const struct stiffit_model *model, size_t n_row, enum gradient_method gradient)
{
    struct fit_case *self = case_new(model, n_row);
    self->options.optimizer = OPTIMIZER_lbfgs;
    self->options.gradient = gradient;
    self->options.certify = false;
    self->spoil = go_backward;
    return self;
}

static struct fit_case *decay_case(double noise, enum gradient_method gradient)
{
    struct fit_case *self = descend(test_model("decay"), ROWS, gradient);
    for (uint64_t i = 0; i < ROWS; i++) {
        self->time[i] = 0.4 * (double)i;
        self->value[i] = 3 * exp(-0.7 * self->time[i]) + noise * random_normal(1, 1, i);
    }
    self->scale[0] = self->scale[1] = SCALE_LOG;
    return self;
}

static const enum gradient_method both[] = {GRADIENT_forward, GRADIENT_adjoint};

static void test_agrees_with_the_trust_region(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct fit_case *self = decay_case(0.1, both[k]);
        const struct fit_record *result = case_run(self);
        double f = result->objective, p[2] = {result->parameter[0], result->parameter[1]};
        assert_int_equal(result->outcome, OUTCOME_converged);
        assert_int_equal(result->optimizer, OPTIMIZER_lbfgs);
        assert_int_equal(result->gradient, both[k]);
        assert_true(result->n_evaluation < 60);
        self->options.optimizer = OPTIMIZER_trf;
        self->options.gradient = GRADIENT_none;
        case_run(self);
        assert_int_equal(result->gradient, GRADIENT_forward);
        /* both within f_tolerance of the minimum, the parameters to its square root */
        assert_true(fabs(f / result->objective - 1) < 2e-9);
        for (int j = 0; j < 2; j++)
            assert_true(fabs(p[j] / result->parameter[j] - 1) < 1e-4);
        case_free(self);
    }
}

static void test_valley(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct fit_case *self = descend(test_model("rosenbrock"), 2, both[k]);
        self->start[0] = -1.2;
        const struct fit_record *result = case_run(self);
        assert_int_equal(result->outcome, OUTCOME_converged);
        /* the gradient test, 1e-6 of an objective that goes to 0: f is below 1e-12 long before it is met */
        assert_true(result->objective < 1e-12);
        assert_true(fabs(result->parameter[0] - 1) < 1e-5 && fabs(result->parameter[1] - 1) < 1e-5);
        case_free(self);
    }
}

static void test_box(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
        for (uint64_t seed = 1; seed <= 20; seed++) {
            struct fit_case *self = descend(&separate_model, MANY, both[k]);
            int n_bound = 0;
            double f = 0;
            for (uint32_t j = 0; j < MANY; j++) {
                self->value[j] = row_weight(j) * 2 * random_normal(seed, 1, j);
                self->lower[j] = -1 - random_uniform(seed, 2, j);
                self->upper[j] = 1 + random_uniform(seed, 3, j);
                self->start[j] = seed % 4 == 0 ? self->upper[j] : 0.3 + 0.6 * random_uniform(seed, 4, j);
            }
            if (seed == 20) /* a corner */
                for (uint32_t j = 0; j < MANY; j++)
                    self->value[j] = row_weight(j) * (j % 2 ? 5 : -5);
            const struct fit_record *result = case_run(self);
            assert_int_equal(result->outcome, OUTCOME_converged);
            for (uint32_t j = 0; j < MANY; j++) {
                double free = self->value[j] / row_weight(j), best = fmin(self->upper[j], fmax(self->lower[j], free));
                f += 0.5 * pow(row_weight(j) * (best - free), 2);
                assert_int_equal(result->at_bound[j], free < self->lower[j] ? -1 : free > self->upper[j] ? 1 : 0);
                n_bound += best != free;
                /* 1e-8 of an objective of up to 800 is a shift of 4e-3 where the weight is 1 */
                assert_true(result->at_bound[j] ? result->parameter[j] == best : fabs(result->parameter[j] - best) < 5e-3);
            }
            assert_true(n_bound > 0);
            assert_true(result->objective <= f * (1 + 1e-8) + 1e-15);
            case_free(self);
        }
}

/* Nearly a third of all points; which ones depends on the parameters alone, as it does with an integrator. */
static bool fail_some(struct fit_case *self, struct evaluation *evaluation)
{
    uint64_t bits;
    memcpy(&bits, &evaluation->p[0], sizeof bits);
    if (self->n_ask > 1 && random_uniform(8, 0, bits) < 0.3)
        evaluation->outcome = EVALUATION_ODE_FAILED;
    return go_backward(self, evaluation);
}

static bool fail_all(struct fit_case *self, struct evaluation *evaluation)
{
    if (self->n_ask > 1)
        evaluation->outcome = EVALUATION_ODE_FAILED;
    snprintf(evaluation->reason, sizeof evaluation->reason, "spoilt");
    return go_backward(self, evaluation);
}

static void test_failed_evaluations(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct fit_case *self = decay_case(0.1, both[k]);
        case_run(self);
        double f = self->result.objective;
        self->spoil = fail_some;
        case_run(self);
        assert_int_equal(self->result.outcome, OUTCOME_converged);
        assert_true(self->result.notes & NOTE_failed_evaluations);
        assert_true(fabs(self->result.objective / f - 1) < 1e-7);
        /* Nothing beyond the start: its values, and no success */
        self->spoil = fail_all;
        case_run(self);
        assert_int_equal(self->result.outcome, OUTCOME_stalled);
        assert_true(self->result.parameter[0] == 1 && self->result.parameter[1] == 1);
        assert_true(self->result.reason[0] != '\0');
        assert_true(self->result.n_evaluation < 100);
        case_free(self);
    }
}

static void test_flat(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct fit_case *self = descend(test_model("one-of-two"), 3, both[k]);
        self->value[0] = 2;
        self->value[1] = 3;
        self->value[2] = 7;
        const struct fit_record *result = case_run(self);
        assert_int_equal(result->outcome, OUTCOME_converged);
        assert_true(fabs(result->parameter[0] - 4) < 1e-4 && result->parameter[1] == 1);
        /* At the minimum from the beginning */
        self->start[0] = 4;
        case_run(self);
        assert_int_equal(result->outcome, OUTCOME_converged);
        assert_int_equal(result->stop, STOP_gradient);
        assert_int_equal(result->n_evaluation, k ? 2 : 1); /* an adjoint search looks forward once, for the statistics */
        case_free(self);
    }
}

/* Predictions with errors as an integrator's. */
static bool add_noise(struct fit_case *self, struct evaluation *evaluation)
{
    for (size_t i = 0; i < evaluation->task->n_row; i++)
        evaluation->prediction[i] *= 1 + 1e-6 / fmax(1, evaluation->tighter) * random_normal(9, (uint64_t)self->n_ask, i);
    return go_backward(self, evaluation);
}

static void test_noise(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct fit_case *self = decay_case(0.001, both[k]);
        for (int i = 0; i < ROWS; i++)
            self->sigma[i] = 0.001;
        self->options.accuracy = 1e-6; /* what add_noise does */
        self->model.abi.n_state = 1;   /* which the test's host does not look at */
        case_run(self);
        double f = self->result.objective;
        self->spoil = add_noise;
        case_run(self);
        assert_int_equal(self->result.outcome, OUTCOME_converged);
        /* errors of 3e-6 against a sigma of 1e-3: 3e-3 in each of 10 residuals of about 1, at random */
        assert_true(fabs(self->result.objective / f - 1) < 1e-2);
        case_free(self);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees_with_the_trust_region), cmocka_unit_test(test_valley), cmocka_unit_test(test_box),
        cmocka_unit_test(test_failed_evaluations), cmocka_unit_test(test_flat), cmocka_unit_test(test_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
