/* Fits over several experiments, against the same problem as one experiment whose model has all of them side by side.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit_case.h"

#include "base/random.h"
#include "fit/refits/bootstrap.h"
#include "fit/refits/profile.h"
#include "fit/refits/single.h"

enum { N_EXPERIMENT = 3, N = 7, N_ROW = N_EXPERIMENT * N, K = 0, A1, A2, C, N_FIT };
static const double APART = 1000;
static const double truth[N_FIT] = {0.7, 3, 1.5, 0.25};

/* experiments.ode, whose noise is left out unless it is wanted. */
static void joint_value(const struct stiffit_point *at, double *h)
{
    const struct stiffit_model *joint = test_model("experiments");
    assert_int_equal(case_value(joint, joint->observe, at, h), STIFFIT_OK);
}

/* The fit's parameters are k, A1, A2, c. Experiment 0: a = A1. 1: a = b = A2. 2: a = 2. */
static const uint32_t to_model[N_FIT] = {1, FIT_NO_MODEL, FIT_NO_MODEL, 2};
static const size_t first_substitute[N_EXPERIMENT + 1] = {0, 1, 3, 4};
static const struct substitute substitute[] = {{0, A1, 0, -INFINITY, EXPERIMENT_NONE}, {0, A2, 0, -INFINITY, EXPERIMENT_NONE},
                                               {2, A2, 0, -INFINITY, EXPERIMENT_NONE},
                                               {0, EXPERIMENT_NUMBER, 2, -INFINITY, EXPERIMENT_NONE}};
static const char *const names[N_FIT] = {"k", "A1", "A2", "c"}, *const ids[N_EXPERIMENT] = {"one", "two", "three"};

struct pair {
    struct fit_case *joint, *split;
    struct ode_task task[N_EXPERIMENT];
    struct fit_record joint_record;
};

static void fill(struct fit_case *self, bool is_joint)
{
    for (size_t i = 0; i < N_ROW; i++) {
        const struct stiffit_point at = {.t = APART * (double)(i / N) + 0.5 * (double)(i % N), .p = truth};
        joint_value(&at, &self->value[i]);
        self->value[i] *= 1 + 0.1 * random_normal(1, 7, i);
        self->sigma[i] = 0.1 + 0.01 * (double)i;
        self->row_time[i] = (uint32_t)(is_joint ? i : i % N);
        self->time[i] = is_joint ? at.t : 0.5 * (double)(i % N);
    }
    for (size_t i = 0; i < N_FIT; i++) {
        self->start[i] = 1;
        self->lower[i] = i == C ? -10 : 1e-3;
        self->upper[i] = 1e3;
        self->scale[i] = i == C ? SCALE_LIN : SCALE_LOG;
        self->to_model[i] = is_joint ? (uint32_t)i : to_model[i];
    }
    self->options.statistics = true;
}

static struct pair pair_of(bool with_noise)
{
    struct stiffit_model split = *test_model("experiment"), joint = *test_model("experiments");
    if (!with_noise)
        split.noise = joint.noise = NULL;
    struct pair pair = {.joint = case_new(&joint, N_ROW), .split = case_new(&split, N_ROW)};
    struct fit_case *self = pair.split;
    fill(pair.joint, true);
    fill(self, false);
    self->problem.n_experiment = N_EXPERIMENT;
    self->problem.parameter_name = names;
    self->problem.n_parameter = N_FIT;
    free(self->arrays);
    self->arrays = malloc(fit_record_array_bytes(N_FIT));
    fit_record_set_arrays(&self->result, N_FIT, self->arrays);
    self->parameter = self->result.parameter;
    return pair;
}

/* The experiments' tasks, once the pair has its place. */
static void set_tasks(struct pair *pair)
{
    struct fit_case *self = pair->split;
    for (size_t e = 0; e < N_EXPERIMENT; e++)
        pair->task[e] = (struct ode_task){.experiment = {.id = ids[e],
                                                         .n_substitute = first_substitute[e + 1] - first_substitute[e],
                                                         .substitute = substitute + first_substitute[e]},
                                          .n_time = N, .time = self->time, .n_row = N, .row_time = self->row_time,
                                          .row_observable = self->row_observable};
    self->problem.task = pair->task;
}

static void pair_fini(struct pair *pair)
{
    case_free(pair->joint);
    case_free(pair->split);
}

/* The optimisers take other roundings to the same end. */
static void expect_near(double x, double y, double part)
{
    if (!(fabs(x - y) <= part * fmax(fabs(x), fabs(y)) + 1e-300))
        fail_msg("%.17g and %.17g", x, y);
}

static void expect_same(struct pair *pair)
{
    const struct fit_record *split = case_run(pair->split), *joint = case_run(pair->joint);
    assert_int_equal(joint->outcome, OUTCOME_converged);
    assert_int_equal(split->outcome, OUTCOME_converged);
    assert_int_equal(split->notes, joint->notes);
    assert_int_equal(split->n_evaluation, joint->n_evaluation);
    assert_int_equal(pair->split->n_ask, N_EXPERIMENT * pair->joint->n_ask);
    expect_near(split->objective, joint->objective, 1e-10);
    expect_near(split->aic, joint->aic, 1e-10);
    expect_near(split->chi_square, joint->chi_square, 1e-10);
    assert_int_equal(split->n_freedom, joint->n_freedom);
    for (size_t i = 0; i < N_FIT; i++) {
        expect_near(split->parameter[i], joint->parameter[i], 1e-6);
        if (pair->split->fixed[i])
            continue;
        expect_near(split->standard_error[i], joint->standard_error[i], 1e-6);
        expect_near(split->interval_lower[i], joint->interval_lower[i], 1e-6);
    }
}

static void test_the_same_fit(void **state)
{
    (void)state;
    static const enum gradient_method gradient[] = {GRADIENT_forward, GRADIENT_differences};
    static const enum optimizer optimizer[] = {OPTIMIZER_trf, OPTIMIZER_lbfgs};
    for (int k = 0; k < 8; k++) {
        struct pair pair = pair_of(k & 4);
        set_tasks(&pair);
        pair.split->options.gradient = pair.joint->options.gradient = gradient[k & 1];
        pair.split->options.optimizer = pair.joint->options.optimizer = optimizer[k >> 1 & 1];
        if (k & 4)
            pair.split->problem.measured.sigma = pair.joint->problem.measured.sigma = NULL;
        expect_same(&pair);
        pair_fini(&pair);
    }
}

static void test_a_prior_and_a_fixed_parameter(void **state)
{
    (void)state;
    struct pair pair = pair_of(false);
    const struct fit_prior prior[N_FIT] = {[A2] = {.kind = PRIOR_NORMAL, .location = 1.2, .scale = 0.1}};
    set_tasks(&pair);
    pair.split->problem.prior = pair.joint->problem.prior = prior;
    pair.split->fixed[A1] = pair.joint->fixed[A1] = 1;
    pair.split->start[A1] = pair.joint->start[A1] = 2.9;
    expect_same(&pair);
    assert_true(pair.split->parameter[A1] == 2.9);
    pair_fini(&pair);
}

/* A model's parameter that the fit does not have is the model's start; one that feeds no experiment is undetermined. */
static void test_other_parameters(void **state)
{
    (void)state;
    static const double start[3] = {3, 0.7, 0.25};
    static const uint32_t no_model[] = {1, FIT_NO_MODEL};
    struct pair pair = pair_of(false);
    struct fit_case *self = pair.split;
    set_tasks(&pair);
    self->model.abi.parameter_start = start;
    self->problem.n_parameter = 2;
    self->problem.to_model = no_model;
    pair.task[0].experiment.n_substitute = 0;
    self->problem.n_experiment = 1;
    const struct fit_record *record = case_run(self);
    assert_int_equal(record->outcome, OUTCOME_converged);
    double squares = 0;
    for (size_t i = 0; i < N; i++) {
        double r = 3 * exp(-record->parameter[0] * self->time[i]) + 0.25 - self->value[i];
        squares += 0.5 * pow(r / self->sigma[i], 2);
    }
    expect_near(record->objective, squares, 1e-12);
    assert_true(record->notes & NOTE_flat_direction);
    assert_int_equal(record->lack[1], LACK_flat);
    assert_int_equal(record->lack[0], LACK_none);
    pair_fini(&pair);
}

static size_t spoilt;
static bool spoil(struct fit_case *self, struct evaluation *evaluation)
{
    if (evaluation->task != &self->problem.task[spoilt])
        return true;
    evaluation->outcome = EVALUATION_ODE_FAILED;
    snprintf(evaluation->reason, sizeof evaluation->reason, "it broke");
    return true;
}

static void test_one_fails(void **state)
{
    (void)state;
    struct pair pair = pair_of(false);
    set_tasks(&pair);
    pair.split->spoil = spoil;
    spoilt = 1;
    const struct fit_record *record = case_run(pair.split);
    assert_int_equal(record->outcome, OUTCOME_ode_failed);
    assert_string_equal(record->reason, "experiment two: it broke");
    assert_int_equal(record->n_evaluation, 2); /* once more, with smaller tolerances */
    pair_fini(&pair);
}

/* Evaluations of the objective are counted, and steps for each experiment. */
static void test_budgets(void **state)
{
    (void)state;
    struct pair pair = pair_of(false);
    set_tasks(&pair);
    pair.split->steps_each = 10;
    pair.split->options.max_evaluations = 3;
    const struct fit_record *record = case_run(pair.split);
    assert_int_equal(record->outcome, OUTCOME_budget);
    assert_int_equal(record->n_evaluation, 3);
    assert_int_equal(record->n_step, 3 * N_EXPERIMENT * 10);
    assert_int_equal(pair.split->n_ask, 3 * N_EXPERIMENT);
    pair.split->options.max_evaluations = 1000;
    pair.split->options.max_total_steps = 20;
    assert_int_equal(case_run(pair.split)->outcome, OUTCOME_budget);
    assert_int_equal(pair.split->result.n_evaluation, 2);
    pair_fini(&pair);
}

static void test_profiles(void **state)
{
    (void)state;
    struct pair pair = pair_of(false);
    double value[2];
    set_tasks(&pair);
    for (int k = 0; k < 2; k++) {
        struct fit_case *self = k ? pair.joint : pair.split;
        struct arena scratch = {0};
        const struct fit_profile_request request = {.parameter = A2, .side = 1};
        case_run(self);
        memcpy(self->start, self->result.parameter, N_FIT * sizeof *self->start);
        struct fit_single single = {.problem = self->problem, .host = &self->host, .arena = &self->arena, .scratch = &scratch};
        const struct fit_subject subject = fit_subject_single(&single, &self->options);
        fit_profile_run(&subject, &self->options, &self->arena, &request, &self->result);
        assert_int_equal(self->result.limit, LIMIT_found);
        value[k] = self->result.parameter[A2];
        arena_fini(&scratch);
    }
    expect_near(value[0], value[1], 1e-4);
    pair_fini(&pair);
}

/* Residuals are drawn from those of the same experiment. */
static void test_bootstrap(void **state)
{
    (void)state;
    struct pair pair = pair_of(false);
    struct fit_case *self = pair.split;
    double value[N_ROW], mean[N_EXPERIMENT] = {0}, largest[N_EXPERIMENT] = {0};
    size_t n_far = 0;
    set_tasks(&pair);
    memcpy(self->start, truth, sizeof truth);
    for (size_t i = 0; i < N_ROW; i++) { /* residuals of about 1, 10 and 100 */
        const struct stiffit_point at = {.t = APART * (double)(i / N) + self->time[i], .p = truth};
        joint_value(&at, &self->value[i]);
        self->value[i] += pow(10, (double)(i / N)) * (1 + 0.1 * (double)(i % 3)) * (i % 2 ? 1 : -1);
        self->sigma[i] = 1;
    }
    for (uint32_t b = 0; b < 200; b++) {
        struct fit_record record = {.n_evaluation = 0};
        arena_reset(&self->arena);
        assert_int_equal(fit_bootstrap_values(&self->problem, &self->options, &self->host, &self->arena, BOOTSTRAP_RESIDUAL,
                                              b, value, &record), OUTCOME_converged);
        assert_int_equal(record.n_evaluation, 1);
        for (size_t i = 0; i < N_ROW; i++) {
            const struct stiffit_point at = {.t = APART * (double)(i / N) + self->time[i], .p = truth};
            double h, size = pow(10, (double)(i / N));
            joint_value(&at, &h);
            mean[i / N] += (value[i] - h) / size / (200 * N);
            largest[i / N] = fmax(largest[i / N], fabs(value[i] - h) / size);
            n_far += fabs(value[i] - h) < 0.5 * size;
        }
    }
    assert_int_equal(n_far, 0); /* none comes from an experiment with smaller residuals ... */
    for (size_t e = 0; e < N_EXPERIMENT; e++) { /* ... or larger ones, and they are centred */
        assert_true(largest[e] < 3);
        assert_true(fabs(mean[e]) < 5 * 1.5 / sqrt(200 * N));
    }
    pair_fini(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_fit),
        cmocka_unit_test(test_a_prior_and_a_fixed_parameter),
        cmocka_unit_test(test_other_parameters),
        cmocka_unit_test(test_one_fails),
        cmocka_unit_test(test_budgets),
        cmocka_unit_test(test_profiles),
        cmocka_unit_test(test_bootstrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
