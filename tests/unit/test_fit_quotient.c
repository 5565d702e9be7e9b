/* Difference quotients: how they are asked for, what they are worth against derivatives in closed form, and what becomes of
 * them at bounds, where places fail, and when budgets end.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit_case.h"

#include "base/random.h"
#include "fit/objective/point.h"

enum { ROWS = 8 };

/* decay-and-fitted-wave: b3 enters in a way that no quotient is exact for. */
static const struct stiffit_model *curve(void) { return test_model("decay-and-fitted-wave"); }

/* What the host saw. */
static size_t n_list, longest, n_with_sens;
static double least_tighter;
static bool fail_low, fail_high, fail_both_at_once;

static bool ask_and_see(void *context, struct evaluation *const *evaluations, size_t n)
{
    struct fit_case *self = context;
    n_list++;
    longest = n > longest ? n : longest;
    for (size_t k = 0; k < n; k++) {
        n_with_sens += evaluations[k]->n_sens > 0;
        least_tighter = fmin(least_tighter, evaluations[k]->tighter);
    }
    if (!case_ask(self, evaluations, n))
        return false;
    for (size_t k = 0; n > 1 && k < n; k++)
        if ((fail_low && k % 2 == 0) || (fail_high && k % 2 == 1) || fail_both_at_once)
            evaluations[k]->outcome = EVALUATION_ODE_FAILED;
    return true;
}

static struct fit_case *new_case(enum optimizer optimizer, bool with_noise)
{
    struct stiffit_model model = *curve();
    if (!with_noise)
        model.noise = NULL;
    struct fit_case *self = case_new(&model, ROWS);
    static const double truth[] = {3, 0.5, 0.7, 1.3}, start[] = {2, 0.8, 0.5, 1.2};
    for (size_t i = 0; i < ROWS; i++) {
        struct stiffit_point at = {.t = self->time[i] = 0.7 * (double)i, .p = truth};
        case_value(curve(), curve()->observe, &at, &self->value[i]);
        self->value[i] += 0.05 * random_normal(3, 0, i);
        self->sigma[i] = with_noise ? NAN : 0.05;
    }
    memcpy(self->start, start, sizeof start);
    self->scale[1] = SCALE_LOG;
    self->scale[3] = SCALE_LOG10;
    self->options.optimizer = optimizer;
    self->options.gradient = GRADIENT_differences;
    self->host.ask = ask_and_see;
    n_list = longest = n_with_sens = 0;
    least_tighter = INFINITY;
    fail_low = fail_high = fail_both_at_once = false;
    return self;
}

/* A point with its quotients, in a fit of the case; the caller looks at it before the arena is reset. */
static enum asked evaluate(struct fit_case *self, struct fit_asker *asker, struct fit_point *point, const double *at)
{
    char reason[160];
    uint32_t notes = 0;
    arena_reset(&self->arena);
    *asker = (struct fit_asker){.problem = &self->problem, .options = &self->options, .host = &self->host,
                                .accuracy = {.tighter = 1, .gradient = GRADIENT_differences},
                                .is_exact = self->model.abi.n_state == 0};
    assert_int_equal(fit_map_init(&asker->map, &self->problem, false, &self->arena, &notes, reason), OUTCOME_converged);
    asker->objective = (struct fit_objective){.n_row = ROWS, .measured = self->problem.measured,
                                              .has_noise = self->model.abi.noise != NULL,
                                              .likelihood = self->model.abi.noise != NULL,
                                              .loss = self->problem.loss};
    asker->quotient = arena_calloc(&self->arena, 1, sizeof *asker->quotient);
    assert_true(fit_asker_prepare(asker, &self->arena));
    assert_true(fit_quotient_init(asker->quotient, asker, &self->arena));
    assert_true(fit_point_init(point, asker, asker->accuracy.gradient, &self->arena));
    for (size_t j = 0; j < asker->map.n_free; j++)
        point->theta[j] = fit_scale_from_natural(asker->map.scale[j], at[asker->map.model_index[j]]);
    return fit_ask(asker, asker->accuracy, point, true);
}

/* Largest difference to the closed form, each column over its largest entry. */
static double worst(const struct fit_point *point, stiffit_function *slopes, const double *matrix, const struct fit_case *self)
{
    double most = 0;
    for (size_t j = 0; j < 4; j++) {
        double size = 0, apart = 0;
        for (size_t i = 0; i < ROWS; i++) {
            double exact[4];
            case_value(curve(), slopes, &(struct stiffit_point){.t = self->time[i], .p = point->p}, exact);
            size = fmax(size, fabs(exact[j]));
            apart = fmax(apart, fabs(exact[j] - matrix[i + j * ROWS]));
        }
        most = fmax(most, size > 0 ? apart / size : apart);
    }
    return most;
}

static const double somewhere[] = {2.5, 0.6, 0.4, 1.1};

static void test_closed_form(void **state)
{
    (void)state;
    struct fit_case *self = new_case(OPTIMIZER_trf, true);
    struct fit_asker asker;
    struct fit_point point;
    assert_int_equal(evaluate(self, &asker, &point, somewhere), ASKED_OK);
    /* central quotients of numbers good to 10 epsilon: h^2/6 f''' + error/h, each some 1e-10 (d t is up to 5: f''' some 100) */
    assert_true(worst(&point, curve()->observe_parameter, point.d_prediction, self) < 1e-9);
    assert_true(worst(&point, curve()->noise_parameter, point.d_noise, self) < 1e-9);
    assert_int_equal(n_list, 2);
    assert_int_equal(longest, 8); /* all quotients in one list */
    assert_int_equal(n_with_sens, 0);
    assert_int_equal(asker.used.n_evaluation, 9);
    case_free(self);
}

static void test_bounds(void **state)
{
    (void)state;
    /* On a bound, a hair's breadth from it, and in a box that is narrower than a step; case_ask checks every place. */
    static const double apart[] = {0, 1e-9, 1e-6, 1e-4};
    for (int side = -1; side <= 1; side += 2)
        for (size_t k = 0; k < sizeof apart / sizeof *apart; k++) {
            struct fit_case *self = new_case(OPTIMIZER_trf, false);
            struct fit_asker asker;
            struct fit_point point;
            for (size_t j = 0; j < 4; j++) {
                double bound = somewhere[j] * (1 + side * apart[k]);
                self->lower[j] = side < 0 ? bound : k == 1 ? 0.9999 * somewhere[j] : 0;
                self->upper[j] = side > 0 ? bound : k == 1 ? 1.0001 * somewhere[j] : INFINITY;
                self->start[j] = somewhere[j];
            }
            assert_int_equal(evaluate(self, &asker, &point, somewhere), ASKED_OK);
            /* one-sided: errors are a few times as large */
            assert_true(worst(&point, curve()->observe_parameter, point.d_prediction, self) < 1e-8);
            case_free(self);
        }
}

static void test_places_that_fail(void **state)
{
    (void)state;
    struct fit_case *self = new_case(OPTIMIZER_trf, false);
    struct fit_asker asker;
    struct fit_point point;
    for (int low = 0; low < 2; low++) {
        fail_low = low;
        fail_high = !low;
        assert_int_equal(evaluate(self, &asker, &point, somewhere), ASKED_OK);
        /* a straight line: h/2 f'' with h = 1.3e-5 and f'' up to some ten times f' */
        assert_true(worst(&point, curve()->observe_parameter, point.d_prediction, self) < 3e-4);
        assert_true(worst(&point, curve()->observe_parameter, point.d_prediction, self) > 1e-8);
    }
    fail_both_at_once = true;
    assert_int_equal(evaluate(self, &asker, &point, somewhere), ASKED_FAILED);
    assert_int_equal(asker.failure, OUTCOME_ode_failed);
    case_free(self);
}

/* Against the fit with derivatives in closed form. */
static void test_fits(void **state)
{
    (void)state;
    for (int optimizer = OPTIMIZER_trf; optimizer <= OPTIMIZER_lbfgs; optimizer++)
        for (int with_noise = 0; with_noise < 2; with_noise++) {
            struct fit_case *self = new_case(optimizer, with_noise);
            self->options.statistics = true;
            case_run(self);
            const struct fit_record first = self->result;
            double p[4], error[4];
            memcpy(p, self->parameter, sizeof p);
            memcpy(error, first.standard_error, sizeof error);
            assert_int_equal(first.outcome, OUTCOME_converged);
            assert_int_equal(first.gradient, GRADIENT_differences);
            assert_int_equal(first.optimizer, optimizer);
            assert_true(first.notes & NOTE_difference_gradient);
            assert_int_equal(first.n_evaluation, self->n_ask);
            assert_int_equal(n_with_sens, 0);
            case_run(self); /* the same again */
            assert_memory_equal(p, self->parameter, sizeof p);
            self->options.gradient = GRADIENT_forward;
            case_run(self);
            assert_false(self->result.notes & NOTE_difference_gradient);
            /* both within f_tolerance of the minimum, the parameters to its square root */
            assert_true(fabs(first.objective - self->result.objective) < 2e-9 * fmax(1, fabs(first.objective)));
            for (size_t j = 0; j < 4; j++) {
                assert_true(fabs(p[j] / self->parameter[j] - 1) < 1e-4);
                assert_true(fabs(error[j] / self->result.standard_error[j] - 1) < 1e-3);
            }
            case_free(self);
        }
}

static void test_budgets(void **state)
{
    (void)state;
    struct fit_case *self = new_case(OPTIMIZER_trf, false);
    for (int n = 1; n < 30; n++) { /* never one evaluation too many, and always the best point so far */
        self->options.max_evaluations = n;
        case_run(self);
        assert_int_equal(self->result.outcome, OUTCOME_budget);
        assert_true(self->result.n_evaluation <= n && self->result.n_evaluation == self->n_ask);
        assert_true(n < 9 ? isnan(self->result.objective) : isfinite(self->result.objective));
    }
    assert_non_null(strstr(self->result.reason, "--max-evaluations"));
    self->options.max_evaluations = 1000;
    self->steps_each = 10;
    self->options.max_total_steps = 200;
    case_run(self);
    assert_int_equal(self->result.outcome, OUTCOME_budget);
    assert_true(self->result.n_step >= 200 && self->result.n_step < 200 + 8 * 10); /* this host does not stop within a list */
    case_free(self);
}

/* All evaluations of a fit, those of its certificate even more so, are tighter where something is integrated. */
static void test_tighter(void **state)
{
    (void)state;
    struct fit_case *self = new_case(OPTIMIZER_trf, false);
    self->model.abi.n_state = 1; /* which the test's host does not look at */
    self->options.accuracy = 1e-5;
    case_run(self);
    assert_int_equal(self->result.outcome, OUTCOME_converged);
    assert_true(least_tighter >= 100);
    struct fit_asker asker;
    struct fit_point point;
    assert_int_equal(evaluate(self, &asker, &point, somewhere), ASKED_OK);
    /* steps for errors of 1e-6: 0.01, and h^2/6 f''' of these curves is up to 25/6 h^2 f' */
    double apart = worst(&point, curve()->observe_parameter, point.d_prediction, self);
    assert_true(apart < 2e-3 && apart > 1e-6);
    assert_true(fit_asker_accuracy(&asker, asker.accuracy) > 1e-5 && fit_asker_accuracy(&asker, asker.accuracy) < 1e-3);
    case_free(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_form), cmocka_unit_test(test_bounds), cmocka_unit_test(test_places_that_fail),
        cmocka_unit_test(test_fits), cmocka_unit_test(test_budgets), cmocka_unit_test(test_tighter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
