/* Profiles of a straight line, whose limits have closed forms; and how they end where there are none.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit_case.h"

#include "fit/refits/profile.h"
#include "fit/refits/single.h"

enum { N = 10 };

struct profiled {
    struct fit_case *self;
    struct arena arena, scratch;
    double error[2]; /* standard errors for sigma 1 */
    double best, residual_error;
};

/* Data around 3 + 2 t; the start is the least-squares line, from the normal equations. */
static struct profiled *profiled_new(double sigma)
{
    static const double noise[N] = {0.3, -0.5, 0.1, 0.7, -0.2, -0.4, 0.6, 0.0, -0.9, 0.2};
    struct profiled *made = calloc(1, sizeof *made);
    struct fit_case *self = made->self = case_new(test_model("line"), N);
    double t = 0, tt = 0, y = 0, ty = 0, squares = 0;
    for (size_t i = 0; i < N; i++) {
        self->value[i] = 3 + 2 * self->time[i] + noise[i];
        self->sigma[i] = sigma;
        t += self->time[i];
        tt += self->time[i] * self->time[i];
        y += self->value[i];
        ty += self->time[i] * self->value[i];
    }
    double determinant = N * tt - t * t;
    self->start[0] = (tt * y - t * ty) / determinant;
    self->start[1] = (N * ty - t * y) / determinant;
    made->error[0] = sqrt(tt / determinant);
    made->error[1] = sqrt(N / determinant);
    for (size_t i = 0; i < N; i++)
        squares += pow(self->value[i] - self->start[0] - self->start[1] * self->time[i], 2);
    made->residual_error = sqrt(squares / (N - 2));
    made->best = squares / 2;
    return made;
}

static const struct fit_record *run(struct profiled *made, size_t parameter, int side)
{
    struct fit_case *self = made->self;
    struct fit_single single = {.problem = self->problem, .host = &self->host, .arena = &made->arena,
                                .scratch = &made->scratch};
    const struct fit_profile_request request = {.parameter = parameter, .side = side};
    arena_reset(&made->arena);
    const struct fit_subject subject = fit_subject_single(&single, &self->options);
    fit_profile_run(&subject, &self->options, &made->arena, &request, &self->result);
    return &self->result;
}

static void profiled_free(struct profiled *made)
{
    arena_fini(&made->arena);
    arena_fini(&made->scratch);
    case_free(made->self);
    free(made);
}

/* The quantiles are R's: qnorm(0.975), qt(0.975, 8). The profile of a straight line is a parabola, so that nothing but the
 * inner fits' stopping test (1e-9 of the objective) is between us and them. */
static void limits_of_a_line_are_the_normal_ones(void **state)
{
    (void)state;
    for (int known = 0; known < 2; known++) {
        struct profiled *made = profiled_new(known ? 0.5 : NAN);
        double width = known ? 1.959963984540054 * 0.5 : 2.306004135204166 * made->residual_error;
        for (size_t i = 0; i < 2; i++)
            for (int side = -1; side <= 1; side += 2) {
                const struct fit_record *found = run(made, i, side);
                double expected = made->self->start[i] + side * width * made->error[i];
                assert_int_equal(found->limit, LIMIT_found);
                assert_true(fabs(found->parameter[i] - expected) < 1e-6 * width);
                assert_int_equal(made->self->result.outcome, OUTCOME_converged);
                assert_true(found->n_point >= 2 && found->n_point < 10);
            }
        profiled_free(made);
    }
}

static void bounds_and_fixed_parameters(void **state)
{
    (void)state;
    struct profiled *made = profiled_new(0.5);
    struct fit_case *self = made->self;
    self->upper[0] = self->start[0] + 0.1; /* within the limit */
    const struct fit_record *found = run(made, 0, 1);
    assert_int_equal(found->limit, LIMIT_bound);
    assert_true(found->parameter[0] == self->upper[0]);
    assert_true(found->n_point >= 1 && found->point[2 * (found->n_point - 1)] == self->upper[0]);
    self->start[0] = self->upper[0];
    found = run(made, 0, 1);
    assert_int_equal(found->limit, LIMIT_bound);
    assert_int_equal(found->n_point, 0);
    self->fixed[1] = 1;
    found = run(made, 1, 1);
    assert_int_equal(found->limit, LIMIT_not_fitted);
    assert_true(isnan(found->parameter[1]));
    profiled_free(made);
}

static void a_better_fit_on_the_way_is_told(void **state)
{
    (void)state;
    struct profiled *made = profiled_new(0.5);
    made->self->start[0] -= 2; /* no best fit */
    assert_int_equal(run(made, 0, 1)->limit, LIMIT_better);
    profiled_free(made);
}

/* With a prior the profile is that of the posterior: for a normal one on the intercept 1/variance + 1/scale^2. */
static void priors_count(void **state)
{
    (void)state;
    struct profiled *made = profiled_new(0.5);
    struct fit_case *self = made->self;
    struct fit_prior prior[2] = {{PRIOR_NORMAL, false, self->start[0], 0.1}, {.kind = PRIOR_NONE}};
    self->problem.prior = prior;
    const struct fit_record *found = run(made, 0, 1);
    double variance = 1 / (1 / pow(0.5 * made->error[0], 2) + 100);
    assert_int_equal(found->limit, LIMIT_found);
    assert_true(fabs(found->parameter[0] - self->start[0] - 1.959963984540054 * sqrt(variance)) < 1e-6);
    profiled_free(made);
}

static bool fail_beyond(struct fit_case *self, struct evaluation *evaluation)
{
    if (evaluation->p[0] > self->start[0] + 0.05) {
        evaluation->outcome = EVALUATION_ODE_FAILED;
        snprintf(evaluation->reason, sizeof evaluation->reason, "beyond");
    }
    return true;
}

static bool cancel_soon(struct fit_case *self, struct evaluation *evaluation)
{
    (void)evaluation;
    return self->n_ask < 3;
}

static void failures_have_a_reason(void **state)
{
    (void)state;
    struct profiled *made = profiled_new(0.5);
    struct fit_case *self = made->self;
    self->spoil = fail_beyond;
    assert_int_equal(run(made, 0, 1)->limit, LIMIT_failed);
    assert_string_equal(self->result.reason, "beyond");
    assert_int_equal(run(made, 0, -1)->limit, LIMIT_found);
    self->spoil = NULL;
    self->options.max_evaluations = 4;
    assert_int_equal(run(made, 0, 1)->limit, LIMIT_failed);
    assert_int_equal(self->result.outcome, OUTCOME_budget);
    assert_true(self->result.n_evaluation <= 4);
    self->options.max_evaluations = 1000;
    self->spoil = cancel_soon;
    self->n_ask = 0;
    run(made, 0, 1);
    assert_int_equal(self->n_ask, 3); /* and not one more */
    profiled_free(made);
}

static void no_freedom_no_limit(void **state)
{
    (void)state;
    struct profiled *made = profiled_new(NAN);
    made->self->task.n_row = made->self->task.n_time = 2;
    assert_int_equal(run(made, 0, 1)->limit, LIMIT_freedom);
    assert_true(strstr(made->self->result.reason, "degrees of freedom") != NULL);
    profiled_free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_of_a_line_are_the_normal_ones), cmocka_unit_test(bounds_and_fixed_parameters),
        cmocka_unit_test(a_better_fit_on_the_way_is_told),      cmocka_unit_test(priors_count),
        cmocka_unit_test(failures_have_a_reason),               cmocka_unit_test(no_freedom_no_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
