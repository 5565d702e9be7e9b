/* Fits of one dataset that another process continues, from each state in turn: the same bits, the same counts, and nothing
 * evaluated twice.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit_resumed.h"

#include "base/random.h"
#include "fit/refits/profile.h"
#include "fit/refits/single.h"

enum { N_ROW = 14 };
static const double SIGMA = 0.02;

static const struct fit_record *run(void *context) { return case_run(context); }

static void resume(struct fit_case *self, int least, const char *what)
{
    int n = resumed_everywhere(&self->host, self->problem.n_parameter, run, self, &self->n_ask);
    print_message("%s: %d states, %d evaluations, %s\n", what, n, (int)self->result.n_evaluation,
                  outcome_name((enum outcome)self->result.outcome));
    assert_true(n >= least);
}

/* Of evaluation and row, between -1 and 1. */
static double noise(double p, size_t i) { return sin(1e4 * p + 2.3 * (double)i); }

/* An integrator: predictions are off by their tolerance, and their bits depend on the evaluation before. */
static bool integrate(struct fit_case *self, struct evaluation *evaluation)
{
    double error = 3 * self->options.accuracy / fmax(evaluation->tighter, 1e-9);
    size_t n = evaluation->task->n_row;
    evaluation->n_step = (int64_t)(100 * pow(evaluation->tighter, 0.2));
    for (size_t i = 0; i < n; i++) {
        evaluation->prediction[i] *= 1 + error * noise(evaluation->p[0], i) * (evaluation->course.is_stiff ? 1.5 : 1);
        for (size_t j = 0; j < evaluation->n_sens && evaluation->d_prediction; j++)
            evaluation->d_prediction[i + j * n] *= 1 + error * noise(evaluation->p[1], i + j);
    }
    evaluation->course.is_stiff = evaluation->p[0] > 0.3;
    return true;
}

/* Of a decay, from a start that is far off. */
static struct fit_case *decay(uint32_t n_state)
{
    struct stiffit_model model = *test_model("decay-by-rate");
    model.n_state = n_state;
    struct fit_case *self = case_new(&model, N_ROW);
    self->spoil = n_state ? integrate : NULL;
    self->options.statistics = true;
    self->steps_each = 10;
    for (size_t i = 0; i < N_ROW; i++) {
        self->value[i] = 3 * exp(-0.4 * (double)i) + SIGMA * random_normal(1, 2, i);
        self->sigma[i] = SIGMA;
    }
    self->scale[0] = self->scale[1] = SCALE_LOG;
    self->lower[0] = self->lower[1] = 1e-6;
    self->start[0] = 0.02;
    self->start[1] = 1;
    return self;
}

static void test_trust_region(void **state)
{
    (void)state;
    struct fit_case *self = decay(0);
    resume(self, 4, "trust region");
    self->options.gradient = GRADIENT_differences;
    resume(self, 4, "differences");
    case_free(self);
}

static void test_loose(void **state)
{
    (void)state;
    struct fit_case *self = decay(1);
    resume(self, 5, "loose");
    self->options.gradient = GRADIENT_differences;
    resume(self, 4, "differences");
    case_free(self);
}

/* What an engine with adjoints does, from the derivatives of the predictions. */
static bool go_backward(struct fit_case *self, struct evaluation *evaluation)
{
    const struct evaluation_adjoint *adjoint = evaluation->adjoint;
    double slopes[CASE_PARAMETERS];
    if (!adjoint || evaluation->outcome != EVALUATION_OK)
        return true;
    assert_true(adjoint->weigh(adjoint->context, evaluation));
    memset(adjoint->gradient, 0, evaluation->n_sens * sizeof(double));
    for (size_t i = 0; i < evaluation->task->n_row; i++) {
        case_point(&self->model.abi, evaluation, i, self->model.abi.observe_parameter, slopes);
        for (size_t j = 0; j < evaluation->n_sens; j++)
            adjoint->gradient[j] += adjoint->by_prediction[i] * slopes[evaluation->sens[j]];
    }
    return true;
}

/* A state lies between two legs of libLBFGS. */
static void test_descent(void **state)
{
    (void)state;
    for (int with_adjoints = 0; with_adjoints < 2; with_adjoints++) {
        struct fit_case *self = case_new(test_model("two-decays"), 40);
        self->options.optimizer = OPTIMIZER_lbfgs;
        self->options.gradient = with_adjoints ? GRADIENT_adjoint : GRADIENT_forward;
        self->options.statistics = true;
        self->spoil = go_backward;
        for (size_t i = 0; i < 40; i++) {
            self->time[i] = 0.2 * (double)i;
            self->value[i] = 2 * exp(-0.3 * self->time[i]) + 3 * exp(-2 * self->time[i]) + 0.3 * random_normal(3, 4, i);
            self->sigma[i] = 0.3;
        }
        for (size_t k = 0; k < self->problem.n_parameter; k++) {
            self->scale[k] = SCALE_LOG;
            self->start[k] = 0.5 + 0.4 * (double)k;
            self->lower[k] = 1e-3;
            self->upper[k] = k == 1 ? 1.5 : 1e3;
        }
        resume(self, 2, with_adjoints ? "adjoint gradients" : "descent");
        case_free(self);
    }
}

/* Errors with kinks, and those whose unit is found by several fits. */
static void test_kinks(void **state)
{
    (void)state;
    static const enum error_kind errors[] = {ERROR_LAPLACE, ERROR_HUBER, ERROR_STUDENT};
    for (size_t k = 0; k < 4; k++) {
        struct fit_case *self = decay(k % 2);
        static const double more[N_ERROR] = {[ERROR_HUBER] = 1.345, [ERROR_STUDENT] = 4};
        self->loss[0] = fit_loss_of(errors[k % 3], more);
        self->value[3] += 1;
        for (size_t i = 0; i < N_ROW && k == 3; i++)
            self->sigma[i] = NAN;
        resume(self, k == 3 ? 12 : 4, k == 3 ? "Laplace's errors without sigmas" : "kinks");
        case_free(self);
    }
}

/* Tighter tolerances lead to another optimum, so that the search goes on with these. */
static bool move_if_tight(struct fit_case *self, struct evaluation *evaluation)
{
    integrate(self, evaluation);
    double part = evaluation->tighter > 1 ? 1 - 1 / evaluation->tighter : 0;
    for (size_t i = 0; i < N_ROW; i++)
        evaluation->prediction[i] += part * 0.3 * SIGMA * (double)(i % 3);
    return true;
}

static void test_tightened(void **state)
{
    (void)state;
    struct fit_case *self = decay(1);
    self->spoil = move_if_tight;
    self->options.is_near = true; /* else the end of the loose steps would be the certificate */
    resume(self, 6, "tightened");
    assert_true(self->result.rtol < self->options.accuracy);
    case_free(self);
}

/* Errors many times as large as the tolerances say, so that the search stalls, and others go on with tighter ones. */
static bool integrate_badly(struct fit_case *self, struct evaluation *evaluation)
{
    double error = 1e-3 * pow(fmax(evaluation->tighter, 0.01), -0.3);
    integrate(self, evaluation);
    for (size_t i = 0; i < N_ROW; i++)
        evaluation->prediction[i] *= 1 + error * noise(evaluation->p[0] + evaluation->p[1], i);
    if (evaluation->engine == ENGINE_LANES && noise(evaluation->p[1], 1) > 0.8)
        evaluation->outcome = EVALUATION_ODE_FAILED;
    return true;
}

static void test_stalled(void **state)
{
    (void)state;
    static const enum engine_kind engines[] = {ENGINE_REFERENCE, ENGINE_LANES};
    for (int k = 0; k < 4; k++) {
        struct fit_case *self = decay(1);
        self->spoil = integrate_badly;
        self->options.engine = engines[k % 2];
        self->options.optimizer = k > 1 ? OPTIMIZER_lbfgs : OPTIMIZER_trf;
        self->options.gradient = GRADIENT_forward;
        resume(self, 20, "bad integrator");
        case_free(self);
    }
}

/* Near an optimum, where slopes lead away from the lowest point by the noise of values. */
static bool integrate_roughly(struct fit_case *self, struct evaluation *evaluation)
{
    for (size_t i = 0; i < N_ROW; i++)
        evaluation->prediction[i] *= 1 + 3 * self->options.accuracy * noise(1e6 * evaluation->p[i % 2], i);
    return true;
}

static void test_led_away(void **state)
{
    (void)state;
    int n_away = 0;
    for (int k = 0; k < 80; k++) {
        struct fit_case *self = decay(1);
        self->start[0] = 0.4;
        self->start[1] = 3;
        self->spoil = integrate_roughly;
        self->options.is_near = true;
        self->options.certify = false;
        self->options.statistics = k % 2;
        memcpy(self->start, case_run(self)->parameter, 2 * sizeof *self->start);
        self->start[k % 2] *= 1 + 1e-7 * pow(1.2, k);
        resume(self, 1, "near");
        n_away += self->result.n_evaluation > 1;
        case_free(self);
    }
    assert_true(n_away > 20);
}

/* Some of the drawn starts cannot be evaluated. */
static bool fail_above(struct fit_case *self, struct evaluation *evaluation)
{
    integrate(self, evaluation);
    if (evaluation->p[1] > 6)
        evaluation->outcome = EVALUATION_ODE_FAILED;
    if (evaluation->p[1] > 6 && self->n_ask == 1)
        self->random++;
    return true;
}

static void test_redrawn(void **state)
{
    (void)state;
    struct fit_case *self = decay(1);
    self->spoil = fail_above;
    self->problem.n_start = 9;
    self->lower[0] = 0.01;
    self->upper[0] = 10;
    self->lower[1] = 0.1;
    self->upper[1] = 100;
    for (uint32_t k = 1; k < 9; k++) {
        self->problem.start_number = k;
        resume(self, 3, "redrawn");
    }
    assert_true(self->random > 2);
    case_free(self);
}

/* Lanes fail where the rate is low: the fit leaves them, or some points cannot be evaluated. */
static bool fail_in_lanes(struct fit_case *self, struct evaluation *evaluation)
{
    integrate(self, evaluation);
    if (evaluation->engine == ENGINE_LANES && evaluation->p[0] < (double)self->random / 100)
        evaluation->outcome = EVALUATION_ODE_FAILED;
    if (evaluation->engine != ENGINE_LANES)
        evaluation->prediction[0] *= 1 + 1e-8;
    return true;
}

static void test_leaves_lanes(void **state)
{
    (void)state;
    int n_left = 0;
    for (uint64_t k = 0; k < 60; k += 4) {
        struct fit_case *self = decay(1);
        self->spoil = fail_in_lanes;
        self->options.engine = ENGINE_LANES;
        self->random = k;
        self->start[0] = k % 8 ? 0.02 : 6;
        resume(self, 2, "lanes");
        n_left += (self->result.notes & NOTE_changed_engine) != 0;
        case_free(self);
    }
    assert_true(n_left > 3);
}

/* The lanes of a device go on where those of the CPU were. */
static bool by_these_lanes(struct fit_case *self, struct evaluation *evaluation)
{
    assert_true(evaluation->engine == self->options.engine || evaluation->engine == ENGINE_REFERENCE);
    return integrate(self, evaluation);
}

static void test_other_lanes(void **state)
{
    (void)state;
    struct fit_case *self = decay(1);
    struct resumed *all = resumed_new(&self->n_ask);
    self->spoil = by_these_lanes;
    self->options.engine = ENGINE_LANES;
    self->host.keeper = &all->keeper;
    const struct fit_record whole = *case_run(self);
    self->options.engine = ENGINE_GPU;
    for (int k = 0; k < all->n_state; k++) {
        struct resumed *one = resumed_new(&self->n_ask);
        one->before = all;
        one->first = k;
        self->host.keeper = &one->keeper;
        assert_null(resumed_difference(&whole, case_run(self)));
        assert_int_equal(all->state[k].n_ask + self->n_ask, whole.n_evaluation);
        resumed_free(one);
    }
    resumed_free(all);
    case_free(self);
}

/* Beyond a rate the trajectory meets a switch where it has no derivative. */
static bool cross(struct fit_case *self, struct evaluation *evaluation)
{
    integrate(self, evaluation);
    evaluation->crosses = evaluation->p[0] > 0.1;
    return true;
}

static void test_jump(void **state)
{
    (void)state;
    struct fit_case *self = decay(1);
    self->spoil = cross;
    resume(self, 4, "a jump");
    assert_true(self->result.notes & NOTE_state_jump);
    case_free(self);
}

/* A curved valley, where steps are bent by evaluations without derivatives, and a start far from it. */
static void test_valley(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        struct fit_case *self = case_new(test_model("rosenbrock"), 2);
        self->start[0] = k == 2 ? 300 : -1.2;
        self->start[1] = k == 1 ? 30 : 1;
        resume(self, 4, "valley");
        case_free(self);
    }
}

/* A side of a profile: one fit after another, of which those that have ended are not made again. */
struct profiled {
    struct fit_case *self;
    struct arena arena;
};

static const struct fit_record *run_profile(void *context)
{
    struct profiled *made = context;
    struct fit_case *self = made->self;
    struct fit_single single = {.problem = self->problem, .host = &self->host, .arena = &made->arena, .scratch = &self->arena};
    const struct fit_profile_request request = {.side = 1};
    arena_reset(&made->arena);
    self->n_ask = 0;
    const struct fit_subject subject = fit_subject_single(&single, &self->options);
    fit_profile_run(&subject, &self->options, &made->arena, &request, &self->result);
    return &self->result;
}

static void test_profile(void **state)
{
    (void)state;
    struct profiled made = {.self = decay(1)};
    struct fit_case *self = made.self;
    memcpy(self->start, case_run(self)->parameter, 2 * sizeof *self->start);
    int n = resumed_everywhere(&self->host, self->problem.n_parameter, run_profile, &made, &self->n_ask);
    print_message("profile: %d states, %d evaluations\n", n, (int)self->result.n_evaluation);
    assert_int_equal(self->result.limit, LIMIT_found);
    assert_true(n > 5);
    arena_fini(&made.arena);
    case_free(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trust_region), cmocka_unit_test(test_loose),        cmocka_unit_test(test_descent),
        cmocka_unit_test(test_kinks),        cmocka_unit_test(test_tightened),    cmocka_unit_test(test_redrawn),
        cmocka_unit_test(test_leaves_lanes), cmocka_unit_test(test_jump),         cmocka_unit_test(test_valley),
        cmocka_unit_test(test_other_lanes),  cmocka_unit_test(test_led_away),     cmocka_unit_test(test_stalled),
        cmocka_unit_test(test_profile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
