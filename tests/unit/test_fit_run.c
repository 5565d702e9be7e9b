/* One fit from end to end on models without states: how it ends, what it reports, and what it does with failures.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit_case.h"

#include "base/random.h"

static int wrong_slopes(const struct stiffit_point *at, double *h)
{
    int code = test_model("decay")->observe_parameter(at, h);
    h[0] = -h[0];
    h[1] = -h[1];
    return code;
}

enum { ROWS = 10 };

/* 3 exp(-0.7 t) at t = 0, 0.4, ..., with `noise`; from (1, 1) on logarithmic scales. */
static struct fit_case *decay_case(const struct stiffit_model *model, double noise)
{
    struct fit_case *self = case_new(model, ROWS);
    for (uint64_t i = 0; i < ROWS; i++) {
        self->time[i] = 0.4 * (double)i;
        self->value[i] = 3 * exp(-0.7 * self->time[i]) + noise * random_normal(1, 1, i);
    }
    self->scale[0] = self->scale[1] = SCALE_LOG;
    return self;
}

static void test_perfect_data(void **state)
{
    (void)state;
    struct fit_case *self = decay_case(test_model("decay"), 0);
    const struct fit_record *result = case_run(self);
    assert_int_equal(result->outcome, OUTCOME_converged);
    /* a sum of squares of rounding errors */
    assert_true(result->objective < 1e-28);
    assert_true(fabs(result->parameter[0] - 3) < 1e-12 && fabs(result->parameter[1] - 0.7) < 1e-12);
    assert_string_equal(result->reason, "");
    assert_int_equal(result->notes, 0);
    assert_int_equal(result->n_evaluation, self->n_ask);
    /* zero from the start */
    for (int i = 0; i < ROWS; i++)
        self->value[i] = 0;
    self->scale[0] = SCALE_LIN;
    self->start[0] = 0;
    assert_int_equal(case_run(self)->outcome, OUTCOME_converged);
    assert_true(self->result.objective == 0 && self->result.gradient_norm == 0);
    assert_int_equal(self->result.n_evaluation, 1);
    case_free(self);
}

static void test_nothing_free(void **state)
{
    (void)state;
    struct fit_case *self = decay_case(test_model("decay"), 0.1);
    self->fixed[0] = self->fixed[1] = 1;
    const struct fit_record *result = case_run(self);
    assert_int_equal(result->outcome, OUTCOME_converged);
    assert_int_equal(result->n_evaluation, 1);
    double sum = 0;
    for (int i = 0; i < ROWS; i++)
        sum += 0.5 * pow(exp(-self->time[i]) - self->value[i], 2);
    assert_true(fabs(result->objective - sum) < 1e-14);
    assert_true(result->parameter[0] == 1 && result->parameter[1] == 1 && result->gradient_norm == 0);
    case_free(self);
}

static void test_fewer_rows_than_parameters(void **state)
{
    (void)state;
    struct fit_case *self = decay_case(test_model("decay"), 0);
    self->task.n_row = 1;
    self->row_time[0] = 2;
    self->value[0] = 0.25;
    assert_int_equal(case_run(self)->outcome, OUTCOME_converged);
    assert_true(self->result.objective < 1e-20);
    case_free(self);
}

static void test_notes_and_sigma(void **state)
{
    (void)state;
    struct fit_case *self = decay_case(test_model("decay"), 0.1);
    self->problem.notes = NOTE_missing_values;
    self->sigma[3] = NAN;
    self->lower[0] = 2;
    assert_int_equal(case_run(self)->notes, NOTE_missing_values | NOTE_no_model_sigma | NOTE_mixed_sigma | NOTE_start_moved);
    double with_nan = self->result.objective;
    self->sigma[3] = 1;
    assert_int_equal(case_run(self)->notes, NOTE_missing_values | NOTE_start_moved);
    assert_true(self->result.objective == with_nan);
    self->problem.measured.sigma = NULL;
    assert_true(case_run(self)->objective == with_nan);
    case_free(self);
}

/* The optimum in other units is the same point; small numbers must not pass for convergence. */
static void test_units(void **state)
{
    (void)state;
    struct fit_case *self = decay_case(test_model("decay"), 0.1);
    case_run(self);
    double b0 = self->parameter[0], b1 = self->parameter[1], f = self->result.objective;
    for (int power = -12; power <= 12; power += 4) {
        double unit = pow(10, power);
        for (int i = 0; i < ROWS; i++) {
            self->value[i] = 3 * exp(-0.7 * self->time[i]) + 0.1 * random_normal(1, 1, (uint64_t)i);
            self->value[i] *= unit;
        }
        self->start[0] = unit;
        assert_int_equal(case_run(self)->outcome, OUTCOME_converged);
        /* tolerance 1e-9 of the objective: 3e-5 deviations of about 0.1 */
        assert_true(fabs(self->parameter[0] / (b0 * unit) - 1) < 1e-5 && fabs(self->parameter[1] / b1 - 1) < 1e-5);
        assert_true(fabs(self->result.objective / (f * unit * unit) - 1) < 1e-8);
    }
    case_free(self);
}

/* On the bound, to the bit, with the multiplier's sign; and the other parameter at its conditional optimum. */
static void test_bound(void **state)
{
    (void)state;
    for (int scale = SCALE_LIN; scale <= SCALE_LOG10; scale++) {
        struct fit_case *self = decay_case(test_model("decay"), 0.1);
        self->scale[0] = self->scale[1] = (enum parameter_scale)scale;
        self->lower[1] = 0.1;
        self->upper[1] = 0.3;
        self->start[1] = 0.2;
        const struct fit_record *result = case_run(self);
        assert_int_equal(result->outcome, OUTCOME_converged);
        assert_true(result->parameter[1] == 0.3);
        assert_int_equal(result->at_bound[1], 1);
        assert_int_equal(result->at_bound[0], 0);
        double up = 0, down = 0; /* linear in b0 */
        for (int i = 0; i < ROWS; i++) {
            up += self->value[i] * exp(-0.3 * self->time[i]);
            down += exp(-0.6 * self->time[i]);
        }
        assert_true(fabs(result->parameter[0] - up / down) < 1e-5);
        self->lower[1] = 0.9;
        self->upper[1] = INFINITY;
        assert_true(case_run(self)->parameter[1] == 0.9);
        assert_int_equal(self->result.at_bound[1], -1);
        case_free(self);
    }
}

/* Maximum likelihood of a normal distribution: mean and root mean square, and the value with its constants. */
static void test_likelihood(void **state)
{
    (void)state;
    struct fit_case *self = case_new(test_model("normal"), ROWS);
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < ROWS; i++) {
        self->value[i] = 5 + 0.2 * random_normal(2, 2, i);
        self->sigma[i] = NAN;
        sum += self->value[i] / ROWS;
    }
    for (int i = 0; i < ROWS; i++)
        squares += pow(self->value[i] - sum, 2) / ROWS;
    self->scale[1] = SCALE_LOG;
    const struct fit_record *result = case_run(self);
    double f = 0.5 * ROWS * (1 + log(2 * acos(-1) * squares));
    assert_int_equal(result->outcome, OUTCOME_converged);
    assert_int_equal(result->notes, 0);
    assert_true(fabs(result->objective - f) < 1e-8); /* 1e-9 * max(1, |f|), |f| = 2 */
    assert_true(fabs(result->parameter[0] - sum) < 1e-5 && fabs(result->parameter[1] / sqrt(squares) - 1) < 1e-4);
    /* rows with a sigma of their own do not inform b1 */
    for (int i = 0; i < ROWS; i++)
        self->sigma[i] = 0.5;
    assert_int_equal(case_run(self)->outcome, OUTCOME_converged);
    assert_true(self->parameter[1] == self->start[1]);
    case_free(self);
}

static void test_budgets(void **state)
{
    (void)state;
    struct fit_case *self = decay_case(test_model("decay"), 0.1);
    self->options.max_evaluations = 3;
    assert_int_equal(case_run(self)->outcome, OUTCOME_budget);
    assert_int_equal(self->result.n_evaluation, 3);
    assert_true(isfinite(self->parameter[0]) && isfinite(self->result.objective) && self->result.reason[0]);
    self->options.max_evaluations = 1000;
    self->steps_each = 100;
    self->options.max_total_steps = 250;
    assert_int_equal(case_run(self)->outcome, OUTCOME_budget);
    assert_int_equal(self->result.n_step, 300);
    self->options.max_evaluations = 0;
    assert_int_equal(case_run(self)->outcome, OUTCOME_budget);
    assert_true(isnan(self->parameter[0]) && isnan(self->result.objective) && isnan(self->result.gradient_norm));
    case_free(self);
}

/* An evaluation that runs into its deadline while the fit has time left was only waiting: it is asked again. */
static bool late(struct fit_case *self, struct evaluation *evaluation)
{
    assert_true(evaluation->deadline_ns < INT64_MAX);
    if (self->n_ask % 2) {
        evaluation->outcome = EVALUATION_TIMEOUT;
        evaluation->prediction[0] = NAN;
    }
    self->elapsed_ns += 1000000;
    return true;
}

static void test_timeout(void **state)
{
    (void)state;
    struct fit_case *self = decay_case(test_model("decay"), 0.1);
    self->spoil = late;
    self->options.max_seconds = 3600;
    assert_int_equal(case_run(self)->outcome, OUTCOME_converged);
    assert_int_equal(2 * self->result.n_evaluation, self->n_ask);
    self->elapsed_ns = 0;
    self->options.max_seconds = 0.0045; /* four and a half calls */
    assert_int_equal(case_run(self)->outcome, OUTCOME_timeout);
    assert_int_equal(self->result.n_evaluation, 3); /* the one that ran out of time too */
    assert_true(isfinite(self->parameter[0]));
    case_free(self);
}

static int64_t cancel_at;

static bool cancel(struct fit_case *self, struct evaluation *evaluation)
{
    (void)evaluation;
    return self->n_ask < cancel_at;
}

/* Whenever it is cancelled it asks no more. (Leaks are AddressSanitizer's and valgrind's business.) */
static void test_cancel(void **state)
{
    (void)state;
    struct fit_case *self = decay_case(test_model("decay"), 0.1);
    int64_t n = case_run(self)->n_evaluation;
    self->spoil = cancel;
    for (cancel_at = 1; cancel_at <= n; cancel_at++) {
        assert_int_equal(case_run(self)->outcome, OUTCOME_not_run);
        assert_int_equal(self->n_ask, cancel_at);
    }
    case_free(self);
}

static enum evaluation_outcome first_outcome;

static bool fail_first(struct fit_case *self, struct evaluation *evaluation)
{
    if (self->n_ask <= 2) { /* a failed integration is tried once more */
        evaluation->outcome = first_outcome;
        snprintf(evaluation->reason, sizeof evaluation->reason, "as the test wants it");
    }
    return true;
}

static void test_failed_start(void **state)
{
    (void)state;
    const enum outcome expected[] = {[EVALUATION_ODE_FAILED] = OUTCOME_ode_failed,
        [EVALUATION_MODEL_FAILED] = OUTCOME_model_failed, [EVALUATION_BUDGET] = OUTCOME_ode_failed,
        [EVALUATION_NO_MEMORY] = OUTCOME_out_of_memory};
    struct fit_case *self = decay_case(test_model("decay"), 0.1);
    self->spoil = fail_first;
    for (first_outcome = EVALUATION_ODE_FAILED; first_outcome <= EVALUATION_NO_MEMORY; first_outcome++) {
        if (first_outcome == EVALUATION_TIMEOUT)
            continue;
        assert_int_equal(case_run(self)->outcome, expected[first_outcome]);
        assert_string_equal(self->result.reason, "as the test wants it");
        assert_true(isnan(self->parameter[0]) && isnan(self->result.objective));
    }
    case_free(self);
}

/* Trials that fail, overflow or are not numbers: back-tracking finds the optimum all the same. */
static bool fail_some(struct fit_case *self, struct evaluation *evaluation)
{
    double u = random_uniform(self->random, 0, (uint64_t)self->n_ask);
    if (self->n_ask == 1 || u > 0.3)
        return true;
    if (u < 0.08)
        evaluation->outcome = EVALUATION_ODE_FAILED;
    else if (u < 0.16)
        evaluation->prediction[3] = NAN;
    else if (u < 0.24)
        evaluation->d_prediction[5] = -INFINITY;
    else
        evaluation->prediction[0] = 1e200; /* its square overflows */
    return true;
}

static void test_failed_trials(void **state)
{
    (void)state;
    struct fit_case *self = decay_case(test_model("decay"), 0.1);
    case_run(self);
    double f = self->result.objective;
    self->spoil = fail_some;
    for (self->random = 0; self->random < 200; self->random++) {
        assert_int_equal(case_run(self)->outcome, OUTCOME_converged);
        assert_true(self->result.objective <= f * (1 + 1e-7));
        assert_true(isfinite(self->result.gradient_norm));
    }
    assert_true(self->result.notes & NOTE_failed_evaluations);
    case_free(self);
}

/* Lanes fail from the fourth evaluation on until CVODES is tried, which can do nothing: the search goes back to lanes. */
static int n_by_lanes, n_by_cvodes;

static bool fail_by_engine(struct fit_case *self, struct evaluation *evaluation)
{
    (void)self;
    bool by_lanes = evaluation->engine == ENGINE_LANES;
    n_by_lanes += by_lanes;
    n_by_cvodes += !by_lanes;
    if (!by_lanes || (n_by_lanes > 3 && n_by_cvodes == 0))
        evaluation->outcome = EVALUATION_ODE_FAILED;
    return true;
}

static void test_back_to_lanes(void **state)
{
    (void)state;
    struct fit_case *self = decay_case(test_model("decay"), 0.1);
    case_run(self);
    double f = self->result.objective;
    self->spoil = fail_by_engine;
    self->options.engine = ENGINE_LANES;
    assert_int_equal(case_run(self)->outcome, OUTCOME_converged);
    assert_true(n_by_cvodes > 0);
    assert_true(self->result.objective <= f * (1 + 1e-7));
    assert_false(self->result.notes & NOTE_changed_engine);
    case_free(self);
}

/* Derivatives of the wrong sign promise a decrease that never comes: that is no convergence. */
static void test_wrong_derivatives(void **state)
{
    (void)state;
    struct stiffit_model wrong = *test_model("decay");
    wrong.observe_parameter = wrong_slopes;
    struct fit_case *self = decay_case(&wrong, 0.1);
    assert_int_equal(case_run(self)->outcome, OUTCOME_stalled);
    assert_true(strstr(self->result.reason, "predicts"));
    case_free(self);
}

static void test_repeatable(void **state)
{
    (void)state;
    struct fit_case *self = decay_case(test_model("decay"), 0.1);
    self->problem.n_start = 20;
    for (uint32_t start = 0; start < 20; start++) {
        double parameter[2], f;
        self->problem.start_number = start;
        f = case_run(self)->objective;
        memcpy(parameter, self->parameter, sizeof parameter);
        int64_t n = self->result.n_evaluation;
        case_run(self);
        assert_true(f == self->result.objective && n == self->result.n_evaluation);
        assert_memory_equal(parameter, self->parameter, sizeof parameter);
    }
    case_free(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_perfect_data), cmocka_unit_test(test_nothing_free),
        cmocka_unit_test(test_fewer_rows_than_parameters), cmocka_unit_test(test_notes_and_sigma),
        cmocka_unit_test(test_units), cmocka_unit_test(test_bound), cmocka_unit_test(test_likelihood),
        cmocka_unit_test(test_budgets), cmocka_unit_test(test_timeout), cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_failed_start), cmocka_unit_test(test_failed_trials), cmocka_unit_test(test_back_to_lanes),
        cmocka_unit_test(test_wrong_derivatives), cmocka_unit_test(test_repeatable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
