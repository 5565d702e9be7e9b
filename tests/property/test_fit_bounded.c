/* Random least-squares problems in random boxes: the search must end at a point that satisfies the optimality
 * conditions of the constrained problem, and that a search through all sets of active bounds finds too; also with noise
 * and failures.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "../unit/fit_case.h"

#include "base/random.h"
#include "fit/objective/matrix.h"

enum { MOST = 20, ROWS_MOST = 64, TRIALS = 400 };

/* Row i: sum_j A[i,j] q_j with q_j = p_j + curve * p_j^3; covariates: n, curve, A by rows. */
static double row_value(const struct stiffit_point *at, double *slopes)
{
    size_t n = (size_t)at->covariate[0];
    const double *a = at->covariate + 2 + (size_t)at->t * n;
    double sum = 0, curve = at->covariate[1];
    for (size_t j = 0; j < n; j++) {
        double p = at->p[j];
        sum += a[j] * (p + curve * p * p * p);
        slopes[j] = a[j] * (1 + 3 * curve * p * p);
    }
    return sum;
}

static int observe(const struct stiffit_point *at, double *h)
{
    double slopes[MOST];
    h[0] = row_value(at, slopes);
    return STIFFIT_OK;
}

static int observe_parameter(const struct stiffit_point *at, double *h)
{
    row_value(at, h);
    return STIFFIT_OK;
}

struct problem {
    struct fit_case *self;
    size_t n, n_row;
    double covariate[2 + MOST * ROWS_MOST];
};

/* Columns of sizes over `decades` decades, some bounds infinite, some tight, the start anywhere in the box. */
static void make(struct problem *problem, uint64_t seed, size_t n, double curve, double decades)
{
    static struct stiffit_model model;
    model = (struct stiffit_model){STIFFIT_MODEL_HEADER, .n_parameter = (uint32_t)n, .n_observable = 1,
                                   .observe = observe, .observe_parameter = observe_parameter};
    problem->n = n;
    problem->n_row = n + 2 + random_below(seed, 0, 0, 2 * n + 1);
    struct fit_case *self = problem->self = case_new(&model, problem->n_row);
    self->task.experiment.covariate = problem->covariate;
    problem->covariate[0] = (double)n;
    problem->covariate[1] = curve;
    for (size_t j = 0; j < n; j++) {
        double unit = pow(10, decades * (random_uniform(seed, 1, j) - 0.5));
        for (size_t i = 0; i < problem->n_row; i++)
            problem->covariate[2 + i * n + j] = unit * random_normal(seed, 2, i * n + j);
        double centre = random_normal(seed, 3, j), width = fabs(random_normal(seed, 4, j)) + 0.01;
        self->lower[j] = random_uniform(seed, 5, j) < 0.3 ? -INFINITY : (centre - width) / unit;
        self->upper[j] = random_uniform(seed, 6, j) < 0.3 ? INFINITY : (centre + width) / unit;
        self->start[j] = centre / unit;
        if (random_uniform(seed, 7, j) < 0.2 && isfinite(self->lower[j]))
            self->start[j] = self->lower[j];
    }
    for (size_t i = 0; i < problem->n_row; i++) {
        double sum = random_normal(seed, 8, i);
        for (size_t j = 0; j < n; j++)
            sum += problem->covariate[2 + i * n + j] * 2 * random_normal(seed, 9, j) /
                   pow(10, decades * (random_uniform(seed, 1, j) - 0.5));
        self->value[i] = sum;
    }
}

/* Objective, gradient and diagonal of J'J written out anew. */
static double examine(const struct problem *problem, const double *p, double *gradient, double *diagonal)
{
    struct stiffit_point at = {.p = p, .covariate = problem->covariate};
    double f = 0, slopes[MOST];
    memset(gradient, 0, problem->n * sizeof *gradient);
    memset(diagonal, 0, problem->n * sizeof *diagonal);
    for (size_t i = 0; i < problem->n_row; i++) {
        at.t = (double)i;
        double r = row_value(&at, slopes) - problem->self->value[i];
        f += 0.5 * r * r;
        for (size_t j = 0; j < problem->n; j++) {
            gradient[j] += r * slopes[j];
            diagonal[j] += slopes[j] * slopes[j];
        }
    }
    return f;
}

/* Karush, Kuhn & Tucker: inside its bounds no slope is left, at a bound it points outwards. In the metric of the
 * diagonal a slope is a length; a decrease of 1e-9 f is left, that is a slope of sqrt(2e-9 f) at an equal curvature,
 * and more by the root of the condition number (within 1e4 here) of the scaled matrix: 100. */
static void check_optimal(const struct problem *problem, double slack)
{
    const double *p = problem->self->parameter;
    double gradient[MOST], diagonal[MOST];
    double f = examine(problem, p, gradient, diagonal), tolerance = slack * sqrt(2e-9 * f);
    for (size_t j = 0; j < problem->n; j++) {
        double slope = gradient[j] / sqrt(diagonal[j]);
        bool at_lower = p[j] == problem->self->lower[j], at_upper = p[j] == problem->self->upper[j];
        assert_int_equal(problem->self->result.at_bound[j], at_lower ? -1 : at_upper ? 1 : 0);
        if (at_lower)
            assert_true(slope > -tolerance);
        else if (at_upper)
            assert_true(slope < tolerance);
        else
            assert_true(fabs(slope) < tolerance);
    }
}

/* The least objective over all 3^n sets of active bounds whose free optimum lies in the box. Linear problems only. */
static double enumerate(const struct problem *problem)
{
    size_t n = problem->n;
    const struct fit_case *self = problem->self;
    double best = INFINITY, matrix[36], factor[36], x[6], p[6], gradient[MOST], diagonal[MOST];
    int n_set = (int)lround(pow(3, (double)n));
    const double *a = problem->covariate + 2;
    for (size_t k = 0; k < n * n; k++) {
        matrix[k] = 0;
        for (size_t i = 0; i < problem->n_row; i++)
            matrix[k] += a[i * n + k % n] * a[i * n + k / n];
    }
    for (int set = 0; set < n_set; set++) {
        uint32_t loose[6];
        size_t n_loose = 0;
        bool possible = true;
        for (size_t j = 0, code = (size_t)set; j < n; j++, code /= 3) {
            p[j] = code % 3 == 1 ? self->lower[j] : code % 3 == 2 ? self->upper[j] : 0;
            possible = possible && isfinite(p[j]);
            if (code % 3 == 0)
                loose[n_loose++] = (uint32_t)j;
        }
        if (!possible)
            continue;
        examine(problem, p, gradient, diagonal);
        for (size_t k = 0; k < n_loose; k++)
            x[k] = -gradient[loose[k]];
        assert_true(matrix_factor(n, matrix, n_loose, loose, factor));
        matrix_solve_lower(n_loose, factor, x);
        matrix_solve_upper(n_loose, factor, x);
        for (size_t k = 0; k < n_loose; k++) {
            p[loose[k]] = x[k];
            possible = possible && x[k] >= self->lower[loose[k]] && x[k] <= self->upper[loose[k]];
        }
        if (possible)
            best = fmin(best, examine(problem, p, gradient, diagonal));
    }
    return best;
}

static void test_enumeration(void **state)
{
    (void)state;
    struct problem problem;
    for (uint64_t seed = 0; seed < TRIALS; seed++) {
        make(&problem, seed, 1 + seed % 6, 0, 4);
        assert_int_equal(case_run(problem.self)->outcome, OUTCOME_converged);
        double f = enumerate(&problem);
        assert_true(fabs(problem.self->result.objective / f - 1) < 2e-9); /* the tolerance, twice for safety */
        check_optimal(&problem, 100);
        case_free(problem.self);
    }
}

static void test_many_dimensions(void **state)
{
    (void)state;
    struct problem problem;
    int64_t n_evaluation = 0;
    int n_bound = 0;
    for (uint64_t seed = 0; seed < TRIALS; seed++) {
        make(&problem, 1000 + seed, 1 + seed % MOST, 0, 6);
        assert_int_equal(case_run(problem.self)->outcome, OUTCOME_converged);
        check_optimal(&problem, 100);
        n_evaluation += problem.self->result.n_evaluation;
        for (size_t j = 0; j < problem.n; j++)
            n_bound += problem.self->result.at_bound[j] != 0;
        case_free(problem.self);
    }
    printf("linear: %.2f evaluations per fit, %.1f active bounds\n", (double)n_evaluation / TRIALS,
           (double)n_bound / TRIALS);
    assert_true(n_bound > TRIALS); /* or nothing was tested */
}

static void test_nonlinear(void **state)
{
    (void)state;
    struct problem problem;
    int64_t n_evaluation = 0;
    for (uint64_t seed = 0; seed < TRIALS; seed++) {
        make(&problem, 2000 + seed, 1 + seed % MOST, 0.3, 0);
        assert_int_equal(case_run(problem.self)->outcome, OUTCOME_converged);
        check_optimal(&problem, 100);
        n_evaluation += problem.self->result.n_evaluation;
        case_free(problem.self);
    }
    printf("nonlinear: %.2f evaluations per fit\n", (double)n_evaluation / TRIALS);
}

/* The noise of an adaptive integrator: another relative error of each prediction at every point. */
static bool add_noise(struct fit_case *self, struct evaluation *evaluation)
{
    uint64_t hash = 0;
    for (size_t j = 0; j < self->problem.n_parameter; j++) {
        uint64_t bits;
        memcpy(&bits, &evaluation->p[j], sizeof bits);
        hash = random_bits(bits, hash, j);
    }
    size_t n_row = self->task.n_row;
    for (size_t i = 0; i < n_row; i++)
        evaluation->prediction[i] *= 1 + 1e-6 / fmax(1, evaluation->tighter) * random_normal(9, hash, i);
    for (size_t i = 0; i < n_row * evaluation->n_sens; i++)
        evaluation->d_prediction[i] *= 1 + 1e-5 / fmax(1, evaluation->tighter) * random_normal(10, hash, i);
    return true;
}

/* The objective then has a relative noise of about 1e-6 * prediction / residual. Points stay within 1e-6 of the
 * optimum: excess ~ (error of the gradient)^2, 1e-5 of it each. */
static void test_noise(void **state)
{
    (void)state;
    struct problem problem;
    int64_t n_evaluation = 0;
    double gradient[MOST], diagonal[MOST];
    for (uint64_t seed = 0; seed < TRIALS; seed++) {
        make(&problem, 3000 + seed, 1 + seed % 12, 0.3, 0);
        case_run(problem.self);
        double f = problem.self->result.objective;
        problem.self->spoil = add_noise;
        problem.self->model.abi.n_state = 1; /* which the test's host does not look at */
        assert_int_equal(case_run(problem.self)->outcome, OUTCOME_converged);
        n_evaluation += problem.self->result.n_evaluation;
        double noisy = examine(&problem, problem.self->parameter, gradient, diagonal);
        assert_true(noisy <= f * (1 + 1e-6));
        case_free(problem.self);
    }
    printf("noise: %.2f evaluations per fit\n", (double)n_evaluation / TRIALS);
}

static bool fail_some(struct fit_case *self, struct evaluation *evaluation)
{
    double u = random_uniform(self->random, 0, (uint64_t)self->n_ask);
    if (self->n_ask > 1 && u < 0.1)
        evaluation->outcome = EVALUATION_ODE_FAILED;
    else if (self->n_ask > 1 && u < 0.2)
        evaluation->prediction[0] = NAN;
    else if (self->n_ask > 1 && u < 0.3)
        evaluation->d_prediction[0] = INFINITY;
    return true;
}

static void test_failures(void **state)
{
    (void)state;
    struct problem problem;
    for (uint64_t seed = 0; seed < TRIALS; seed++) {
        make(&problem, 4000 + seed, 1 + seed % MOST, 0.3, 0);
        problem.self->spoil = fail_some;
        problem.self->random = seed;
        assert_int_equal(case_run(problem.self)->outcome, OUTCOME_converged);
        check_optimal(&problem, 100);
        case_free(problem.self);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_enumeration), cmocka_unit_test(test_many_dimensions), cmocka_unit_test(test_nonlinear),
        cmocka_unit_test(test_noise), cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
