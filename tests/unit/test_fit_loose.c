/* A fit's first steps at loose integrator tolerances: an exponential decay whose evaluations are off by their tolerance, so
 * that what is found can be judged by the exact formula.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit_case.h"

enum { N_ROW = 12, MOST = 200 };
static const double SIGMA = 0.02, START_K = 0.1, START_A = 1;

/* What the host saw, and what it is to do. */
static struct {
    double tighter[MOST], p[MOST][2];
    int n, n_loose, n_tight;
    int loose_fail_from, tight_fail_until; /* counted among evaluations of their kind */
    double loose_offset;                   /* of loose predictions: a model that says something else */
} seen;

/* Of evaluation and row, between -1 and 1. */
static double noise(double p, size_t i) { return sin(1e4 * p + 2.3 * (double)i); }

static bool integrate(struct fit_case *self, struct evaluation *evaluation)
{
    double error = 3 * self->options.accuracy / evaluation->tighter;
    bool loose = evaluation->tighter < 1;
    int number = loose ? seen.n_loose++ : seen.n_tight++;
    assert_true(seen.n < MOST);
    seen.tighter[seen.n] = evaluation->tighter;
    memcpy(seen.p[seen.n++], evaluation->p, sizeof *seen.p);
    if (loose ? number >= seen.loose_fail_from : number < seen.tight_fail_until) {
        evaluation->outcome = EVALUATION_ODE_FAILED;
        snprintf(evaluation->reason, sizeof evaluation->reason, "the test says so");
    }
    for (size_t i = 0; i < N_ROW; i++) {
        evaluation->prediction[i] *= 1 + error * noise(evaluation->p[0], i);
        evaluation->prediction[i] += loose ? seen.loose_offset : 0;
        for (size_t j = 0; j < evaluation->n_sens; j++)
            evaluation->d_prediction[i + j * N_ROW] *= 1 + error * noise(evaluation->p[1], i + j);
    }
    return true;
}

static struct fit_case *decay(void)
{
    struct stiffit_model model = *test_model("decay-by-rate");
    model.n_state = 1; /* that nobody looks at: else there would be nothing to integrate, and no tolerance */
    struct fit_case *self = case_new(&model, N_ROW);
    memset(&seen, 0, sizeof seen);
    seen.loose_fail_from = MOST;
    self->spoil = integrate;
    self->steps_each = 10;
    for (size_t i = 0; i < N_ROW; i++) {
        self->value[i] = 3 * exp(-0.4 * (double)i) + SIGMA * sin(7.7 * (double)i);
        self->sigma[i] = SIGMA;
    }
    self->scale[0] = self->scale[1] = SCALE_LOG;
    self->lower[0] = self->lower[1] = 1e-6;
    self->start[0] = START_K;
    self->start[1] = START_A;
    return self;
}

/* The exact objective, and what a Gauss-Newton step still promises by exact derivatives. */
static double exact(const struct fit_case *self, const double *p, double *promise)
{
    double f = 0, g[2] = {0}, h[3] = {0};
    for (size_t i = 0; i < N_ROW; i++) {
        double t = (double)i, y = p[1] * exp(-p[0] * t), r = (y - self->value[i]) / SIGMA;
        double d[2] = {-t * y / SIGMA, y / p[1] / SIGMA};
        f += 0.5 * r * r;
        for (int j = 0; j < 2; j++)
            g[j] += r * d[j];
        h[0] += d[0] * d[0], h[1] += d[0] * d[1], h[2] += d[1] * d[1];
    }
    *promise = 0.5 * (g[0] * g[0] * h[2] - 2 * g[0] * g[1] * h[1] + g[1] * g[1] * h[0]) / (h[0] * h[2] - h[1] * h[1]);
    return f;
}

/* Errors of 3e-7 of predictions of 150 sigmas at most, times the residuals (1 sigma each): 12 * 4.5e-5 at most. Loose ones are
 * 100 times that and more. */
static const double TIGHT_ERROR = 6e-4;

static void assert_at_optimum(const struct fit_case *self)
{
    double promise, f = exact(self, self->parameter, &promise);
    assert_int_equal(self->result.outcome, OUTCOME_converged);
    assert_true(promise <= 1e-6 * f); /* what users are promised */
    assert_true(fabs(self->result.objective - f) <= TIGHT_ERROR);
}

static void test_tolerances_become_tighter(void **state)
{
    (void)state;
    struct fit_case *self = decay();
    case_run(self);
    assert_at_optimum(self);
    assert_true(seen.tighter[0] < 1e-2 && seen.p[0][0] == START_K && seen.p[0][1] == START_A);
    for (int i = 1; i < seen.n; i++)
        assert_true(seen.tighter[i] >= seen.tighter[i - 1]);
    assert_true(seen.n_loose >= 4 && seen.n_loose > seen.n_tight); /* most of the way */
    assert_true(seen.tighter[seen.n - 2] == 1 && seen.tighter[seen.n - 1] == 10); /* the last one is the certificate */
    assert_int_equal(self->result.n_evaluation, seen.n);
    case_free(self);
}

/* Where the tolerance that is asked for is loose itself, there is nothing to begin with. */
static void test_loose_ones_are_asked_for(void **state)
{
    (void)state;
    struct fit_case *self = decay();
    self->options.accuracy = 1e-3;
    case_run(self);
    assert_int_equal(self->result.outcome, OUTCOME_converged);
    assert_int_equal(seen.n_loose, 0);
    case_free(self);
}

static void test_loose_evaluations_fail(void **state)
{
    (void)state;
    for (int from = 0; from < 8; from++) {
        struct fit_case *self = decay();
        seen.loose_fail_from = from;
        case_run(self);
        assert_at_optimum(self);
        assert_true(self->result.notes & NOTE_failed_evaluations || from > seen.n_loose - 1);
        case_free(self);
    }
}

static void test_tight_evaluations_fail(void **state)
{
    (void)state;
    for (int until = 1; until < 5; until++) {
        struct fit_case *self = decay();
        seen.tight_fail_until = 2 * until; /* each is tried once more */
        case_run(self);
        if (until == 2) { /* the step's end and its beginning: from the start then, as if nothing had happened */
            const double *p = seen.p[seen.n_loose + 4];
            assert_true(p[0] == START_K && p[1] == START_A);
        }
        if (until < 3) {
            assert_at_optimum(self);
        } else { /* the start, too: nothing is known at the tolerances that are asked for */
            assert_int_equal(self->result.outcome, OUTCOME_ode_failed);
            assert_true(isnan(self->result.objective) && isnan(self->parameter[0]));
            assert_string_equal(self->result.reason, "the test says so");
        }
        case_free(self);
    }
}

/* Loose evaluations that put the optimum elsewhere mislead the search for a while, and no longer. */
static void test_loose_evaluations_mislead(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct fit_case *self = decay();
        seen.loose_offset = k ? -0.3 : 0.3;
        case_run(self);
        assert_at_optimum(self);
        case_free(self);
    }
}

/* However few evaluations there are: the objective is that of the tolerances that are asked for. */
static void test_evaluations_run_out(void **state)
{
    (void)state;
    bool converged = false;
    for (int most = 1; most < 30; most++) {
        struct fit_case *self = decay();
        double promise;
        self->options.max_evaluations = most;
        self->options.certify = false;
        case_run(self);
        assert_true(self->result.n_evaluation <= most && seen.n == self->result.n_evaluation);
        assert_true(fabs(self->result.objective / exact(self, self->parameter, &promise) - 1) <= TIGHT_ERROR);
        if (most < 4)
            assert_int_equal(seen.n_loose, 0);
        if (converged)
            assert_int_equal(self->result.outcome, OUTCOME_converged);
        converged = self->result.outcome == OUTCOME_converged;
        assert_true(converged || self->result.outcome == OUTCOME_budget);
        case_free(self);
    }
    assert_true(converged);
}

/* Steps and time may end between any two evaluations: then the row says what it is. */
static void test_steps_run_out(void **state)
{
    (void)state;
    bool converged = false, said = false;
    for (int most = 1; most < 300 && !converged; most++) {
        struct fit_case *self = decay();
        double promise;
        self->options.max_total_steps = most;
        self->options.certify = false;
        case_run(self);
        converged = self->result.outcome == OUTCOME_converged;
        assert_true(converged || self->result.outcome == OUTCOME_budget);
        assert_true(isfinite(self->result.objective) && isfinite(self->parameter[0]));
        bool is_loose = strstr(self->result.reason, "tolerances were loose");
        said = said || is_loose;
        assert_true(is_loose || fabs(self->result.objective / exact(self, self->parameter, &promise) - 1) <= TIGHT_ERROR);
        case_free(self);
    }
    assert_true(converged && said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tolerances_become_tighter), cmocka_unit_test(test_loose_ones_are_asked_for),
        cmocka_unit_test(test_loose_evaluations_fail), cmocka_unit_test(test_tight_evaluations_fail),
        cmocka_unit_test(test_loose_evaluations_mislead), cmocka_unit_test(test_evaluations_run_out),
        cmocka_unit_test(test_steps_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
