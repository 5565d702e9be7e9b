/* Objective, gradient and rows against densities written out another way, differences, and the scatter of the gradient over
 * data drawn from the model: for every loss and every two of them, with and without modelled noise, censored rows and priors.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/random.h"
#include "fit/objective/objective.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 9, N = 3, TRIALS = 40, ALL_ROWS = 2 * ROWS + N, MOST_FORMS = 8 * N_ERROR * N_ERROR };

static const double HUBER_K = 1.345;

struct form {
    enum error_kind error;
    bool noise, censored, priors;
    enum error_kind other; /* of every second row, where is_mixed */
    bool is_mixed;
};

static enum error_kind error_of(struct form form, size_t i) { return form.is_mixed && i % 2 ? form.other : form.error; }

/* Losses of two shapes. */
static bool mixes(struct form form)
{
    const enum error_kind kind[] = {form.error, form.is_mixed ? form.other : form.error};
    return error_kinds_mix(kind, 2);
}

struct sample {
    double value[ROWS], sigma[ROWS], prediction[ROWS], noise[ROWS], d_prediction[ROWS * N], d_noise[ROWS * N], chain[N];
    double weight[ROWS], residual[ROWS], p[N], theta[N];
    int8_t censored[ROWS];
    double limit[ROWS];
    uint32_t observable[ROWS];
    struct fit_loss loss[2];
    struct fit_prior_term prior[N];
    struct fit_objective objective;
    struct fit_answer answer;
};

/* Predictions and noise at x (three parameters), smooth, nonlinear and > 0; chain belongs to p = exp(x). */
static void fill(struct sample *s, const double *x, struct form form)
{
    for (int j = 0; j < N; j++) {
        s->theta[j] = x[j];
        s->p[j] = s->chain[j] = exp(x[j]);
    }
    for (int i = 0; i < ROWS; i++) {
        double t = 0.3 * i, e = exp(-s->p[1] * t);
        s->prediction[i] = s->p[0] * e + s->p[2] * t;
        s->d_prediction[i] = e;
        s->d_prediction[i + ROWS] = -s->p[0] * t * e;
        s->d_prediction[i + 2 * ROWS] = t;
        s->noise[i] = 0.1 + 0.2 * s->p[0] * e;
        s->d_noise[i] = 0.2 * e;
        s->d_noise[i + ROWS] = -0.2 * s->p[0] * t * e;
        s->d_noise[i + 2 * ROWS] = 0;
        s->value[i] = 2 * exp(-0.7 * t) + 0.3 * t + 0.2 * random_normal(1, 2, (uint64_t)i);
        s->sigma[i] = !form.noise || i % 3 == 0 ? 0.15 : NAN;
        s->observable[i] = (uint32_t)i % 2;
        s->censored[i] = (int8_t)(i % 4 == 1 ? 1 : i % 4 == 3 ? -1 : 0);
        s->limit[i] = i < 4 ? s->value[i] * (1 - 0.3 * s->censored[i]) : s->censored[i] > 0 ? -INFINITY : NAN;
    }
    s->prior[0] = (struct fit_prior_term){{PRIOR_NORMAL, true, 0.3, 0.5}, 0, 0};
    s->prior[1] = (struct fit_prior_term){{PRIOR_LOG_NORMAL, false, -0.5, 0.4}, 1, 1};
    s->prior[2] = (struct fit_prior_term){{PRIOR_LAPLACE, false, 7, 0.2}, 2, 2};
    for (size_t k = 0; k < 2; k++)
        s->loss[k] = fit_loss_of(error_of(form, k), NULL);
    s->objective = (struct fit_objective){
        .n_row = ROWS, .has_noise = form.noise,
        .measured = {.value = s->value, .sigma = s->sigma, .observable = form.is_mixed ? s->observable : NULL,
                     .censored = form.censored ? s->censored : NULL, .limit = form.censored ? s->limit : NULL},
        .likelihood = form.noise || form.censored || mixes(form), .loss = s->loss,
        .n_prior = form.priors ? N : 0, .prior = s->prior};
    s->objective.is_plain = fit_objective_is_plain(&s->objective);
    s->answer = (struct fit_answer){
        .n = N, .prediction = s->prediction, .d_prediction = s->d_prediction, .noise = form.noise ? s->noise : NULL,
        .d_noise = form.noise ? s->d_noise : NULL, .chain = s->chain, .weight = s->weight, .residual = s->residual,
        .theta = s->theta, .p = s->p};
}

static double value_at(const double *x, struct form form)
{
    struct sample s;
    fill(&s, x, form);
    return fit_objective_value(&s.objective, &s.answer);
}

/* All forms that there are: the other losses have no censoring. */
static size_t list_forms(struct form *forms)
{
    size_t n = 0;
    for (int pair = 0; pair < N_ERROR * N_ERROR; pair++) {
        enum error_kind error = (enum error_kind)(pair / N_ERROR), other = (enum error_kind)(pair % N_ERROR);
        bool are_squares = error_kind_is_square(error) && error_kind_is_square(other);
        for (int bits = 0; bits < 8 && error <= other; bits++)
            if (are_squares || !(bits & 2))
                forms[n++] = (struct form){error, bits & 1, bits & 2, bits & 4, other, other != error};
    }
    return n;
}

static bool has_kink(enum error_kind error) { return error == ERROR_LAPLACE || error == ERROR_LOG_LAPLACE; }

/* Density of the value y, written as in the books; log Z of Huber's is mpmath's, k = 1.345. */
static double density(enum error_kind error, double y, double m, double s)
{
    const double pi = acos(-1);
    double r = (y - m) / s, q = log(y / m) / s;
    switch (error) {
    case ERROR_LOG_NORMAL: return exp(-q * q / 2) / (y * s * sqrt(2 * pi));
    case ERROR_LAPLACE: return exp(-fabs(r)) / (2 * s);
    case ERROR_LOG_LAPLACE: return exp(-fabs(q)) / (2 * y * s);
    case ERROR_HUBER:
        return exp(fabs(r) <= 1.345 ? -r * r / 2 : -1.345 * fabs(r) + 1.345 * 1.345 / 2) / (s * exp(0.978598194571836));
    case ERROR_STUDENT: return 3.0 / 8 / s * pow(1 + r * r / 4, -2.5); /* 4 degrees of freedom */
    default: return exp(-r * r / 2) / (s * sqrt(2 * pi));
    }
}

static double prior_sum(const double *x)
{
    double a = (x[0] - 0.3) / 0.5, b = (x[1] + 0.5) / 0.4, c = fabs(exp(x[2]) - 7) / 0.2;
    /* the log-normal density p^-1 exp(-b^2 / 2), its constant chosen so that its mode has none */
    return a * a / 2 + b * b / 2 + x[1] + 0.5 + 0.08 + c;
}

static void test_value(void **state)
{
    struct form forms[MOST_FORMS];
    size_t n = list_forms(forms);
    const double x[N] = {0.4, -0.2, -0.5};
    (void)state;
    for (size_t f = 0; f < n; f++) {
        struct sample s;
        double minus_log = 0, constants = 0;
        fill(&s, x, forms[f]);
        for (int i = 0; i < ROWS; i++) {
            double sigma = isnan(s.sigma[i]) ? s.noise[i] : s.sigma[i], m = s.prediction[i], y = s.value[i];
            enum error_kind error = error_of(forms[f], (size_t)i);
            bool is_log = error == ERROR_LOG_NORMAL || error == ERROR_LOG_LAPLACE;
            double z = (is_log ? log(y / m) : y - m) / sigma;
            double end = (is_log ? log(s.limit[i] / m) : s.limit[i] - m) / sigma;
            if (forms[f].censored && s.censored[i]) /* limits have z below 1 here: a difference is right to 1e-15 */
                minus_log -= log(0.5 * (erfc(-s.censored[i] * z / sqrt(2))
                                        - (isfinite(end) ? erfc(-s.censored[i] * end / sqrt(2)) : 0)));
            else
                minus_log -= log(density(error, y, m, sigma));
            constants += log(density(error, is_log ? y : m, is_log ? y : m, sigma));
        }
        double expected = s.objective.likelihood ? minus_log : minus_log + constants;
        expected += forms[f].priors ? prior_sum(x) : 0;
        /* Laplace's kinks: 9 rows and a prior, each off by at most 1e-4 / 2|r| */
        bool has_laplace = has_kink(forms[f].error) || has_kink(error_of(forms[f], 1));
        double tolerance = has_laplace || forms[f].priors ? 3e-3 : 1e-9;
        assert_true(fabs(value_at(x, forms[f]) - expected) < tolerance);
    }
}

/* Central differences with two steps, extrapolated: h^4 = 1e-12 against rounding of 1e-16 / h = 1e-13. */
static double difference(const double *x, int j, struct form form)
{
    double slope[2];
    for (int k = 0; k < 2; k++) {
        double up[N], down[N], h = k ? 5e-4 : 1e-3;
        memcpy(up, x, sizeof up);
        memcpy(down, x, sizeof down);
        up[j] += h;
        down[j] -= h;
        slope[k] = (value_at(up, form) - value_at(down, form)) / (2 * h);
    }
    return (4 * slope[1] - slope[0]) / 3;
}

/* Differences across a corner or within a rounded kink tell nothing. */
static bool is_smooth(const struct sample *s, struct form form)
{
    for (int i = 0; i < ROWS; i++) {
        enum error_kind error = error_of(form, (size_t)i);
        double sigma = isnan(s->sigma[i]) ? s->noise[i] : s->sigma[i], r = fabs(s->prediction[i] - s->value[i]) / sigma;
        if (error == ERROR_LOG_LAPLACE)
            r = fabs(log(s->prediction[i] / s->value[i])) / sigma;
        if ((has_kink(error) && r < 0.2) || (error == ERROR_HUBER && fabs(r - HUBER_K) < 0.05))
            return false;
    }
    return true;
}

/* The gradient in all its forms, and A'b, which must be the gradient to rounding. */
static void check_gradient(struct sample *s, const double *x, struct form form)
{
    double gradient[N], parts[N] = {0}, by_prediction[ROWS], by_noise[ROWS] = {0}, a[ALL_ROWS * N], b[ALL_ROWS];
    double value = fit_objective_value(&s->objective, &s->answer);
    size_t n_row = fit_objective_n_row(&s->objective);
    fit_objective_gradient(&s->objective, &s->answer, gradient);
    fit_objective_slopes(&s->objective, &s->answer, by_prediction, by_noise);
    fit_objective_rows(&s->objective, &s->answer, CURVATURE_ABOVE, a, b);
    for (int j = 0; j < N; j++) {
        for (int i = 0; i < ROWS; i++)
            parts[j] += s->chain[j]
                      * (by_prediction[i] * s->d_prediction[i + j * ROWS] + by_noise[i] * s->d_noise[i + j * ROWS]);
    }
    fit_objective_add_priors(&s->objective, &s->answer, parts);
    for (size_t j = 0; j < N; j++) {
        double product = 0, size = 0, expected = difference(x, (int)j, form);
        for (size_t i = 0; i < n_row; i++) {
            product += a[i + j * n_row] * b[i];
            size += fabs(a[i + j * n_row] * b[i]);
        }
        assert_true(fabs(product - gradient[j]) <= 1e-14 * size);
        assert_true(fabs(parts[j] - gradient[j]) <= 1e-14 * size);
        /* a fifth derivative of a Laplace row 0.2 from its kink, times h^4, is 1e-8 */
        assert_true(fabs(gradient[j] - expected) < 1e-7 * (1 + fabs(expected) + fabs(value) + size));
    }
}

static void test_gradient(void **state)
{
    struct form forms[MOST_FORMS];
    size_t n = list_forms(forms);
    (void)state;
    for (size_t f = 0; f < n; f++) {
        int n_smooth = 0;
        for (uint64_t trial = 0; trial < 10 * TRIALS && n_smooth < TRIALS / 4; trial++) {
            double x[N];
            for (uint64_t j = 0; j < N; j++)
                x[j] = 0.5 * random_normal(3, trial, j);
            struct sample s;
            fill(&s, x, forms[f]);
            if (!is_smooth(&s, forms[f]))
                continue;
            n_smooth++;
            check_gradient(&s, x, forms[f]);
        }
        assert_true(n_smooth > 4);
    }
}

/* A draw from the loss's own distribution. */
static double draw(enum error_kind error, uint64_t d, uint64_t i)
{
    double u = random_uniform(7, d, 3 * i), z = random_normal(5, d, i);
    if (error == ERROR_LAPLACE)
        return u < 0.5 ? log(2 * u) : -log(2 - 2 * u);
    if (error == ERROR_STUDENT) /* chi-square of 4 from two uniform numbers */
        return z / sqrt(-2 * log(random_uniform(7, d, 3 * i + 1) * random_uniform(7, d, 3 * i + 2)) / 4);
    return z;
}

static void square(const double *a, size_t n_row, double *matrix)
{
    for (size_t k = 0; k < N * N; k++) {
        matrix[k] = 0;
        for (size_t i = 0; i < n_row; i++)
            matrix[k] += a[i + k % N * n_row] * a[i + k / N * n_row];
    }
}

/* Fisher's information is the covariance of the gradient over data drawn from the model. */
static void check_information(struct form form)
{
    enum { DRAWS = 20000 };
    const double x[N] = {0.4, -0.2, -0.5};
    struct sample s;
    double a[ALL_ROWS * N], b[ALL_ROWS], matrix[N * N], covariance[N * N] = {0}, gradient[N];
    fill(&s, x, form);
    fit_objective_value(&s.objective, &s.answer);
    fit_objective_rows(&s.objective, &s.answer, CURVATURE_EXPECTED, a, b);
    square(a, fit_objective_n_row(&s.objective), matrix);
    for (uint64_t d = 0; d < DRAWS; d++) {
        for (uint64_t i = 0; i < ROWS; i++) {
            double step = (isnan(s.sigma[i]) ? s.noise[i] : s.sigma[i]) * draw(error_of(form, i), d, i);
            s.value[i] = error_of(form, i) == ERROR_LOG_NORMAL ? s.prediction[i] * exp(step) : s.prediction[i] + step;
        }
        fit_objective_value(&s.objective, &s.answer);
        fit_objective_gradient(&s.objective, &s.answer, gradient);
        for (int k = 0; k < N * N; k++)
            covariance[k] += gradient[k % N] * gradient[k / N] / DRAWS;
    }
    for (int k = 0; k < N * N; k++) {
        /* products of two gradients scatter by about twice their size: five standard errors */
        double size = sqrt(matrix[k % N * (N + 1)] * matrix[k / N * (N + 1)]);
        assert_true(fabs(covariance[k] - matrix[k]) < 5 * 2 * size / sqrt(DRAWS));
    }
}

static void test_information(void **state)
{
    static const enum error_kind errors[] = {ERROR_NORMAL, ERROR_LOG_NORMAL, ERROR_LAPLACE, ERROR_STUDENT};
    (void)state;
    for (int k = 0; k < 4; k++)
        for (int noise = 0; noise < 2; noise++)
            for (int other = k; other < 4; other++)
                check_information((struct form){errors[k], noise, false, false, errors[other], other != k});
}

/* For normal errors rows and information are the same, J'J / s^2 with known s, and s' counts twice; written row by row. */
static void test_normal_rows(void **state)
{
    const double x[N] = {0.4, -0.2, -0.5};
    (void)state;
    for (int noise = 0; noise < 2; noise++) {
        struct sample s;
        double a[2][ALL_ROWS * N], b[ALL_ROWS], matrix[2][N * N];
        fill(&s, x, (struct form){.error = ERROR_NORMAL, .noise = noise});
        fit_objective_value(&s.objective, &s.answer);
        fit_objective_rows(&s.objective, &s.answer, CURVATURE_ABOVE, a[0], b);
        fit_objective_rows(&s.objective, &s.answer, CURVATURE_EXPECTED, a[1], b);
        for (int k = 0; k < 2; k++)
            square(a[k], fit_objective_n_row(&s.objective), matrix[k]);
        for (int k = 0; k < N * N; k++) {
            double sum = 0;
            for (int i = 0; i < ROWS; i++) {
                double sigma = isnan(s.sigma[i]) ? s.noise[i] : s.sigma[i];
                double unit = s.chain[k % N] * s.chain[k / N] / (sigma * sigma);
                sum += s.d_prediction[i + k % N * ROWS] * s.d_prediction[i + k / N * ROWS] * unit;
                if (isnan(s.sigma[i]))
                    sum += 2 * s.d_noise[i + k % N * ROWS] * s.d_noise[i + k / N * ROWS] * unit;
            }
            assert_true(fabs(matrix[0][k] - sum) < 1e-12 * fabs(sum) + 1e-13);
            assert_true(fabs(matrix[1][k] - sum) < 1e-12 * fabs(sum) + 1e-13);
        }
    }
}

/* A log-normal prediction that is not above 0 is no point to go to; the scale of rounding errors is that of logarithms. */
static void test_log_normal_edges(void **state)
{
    const double x[N] = {0.4, -0.2, -0.5};
    struct sample s;
    (void)state;
    fill(&s, x, (struct form){.error = ERROR_LOG_NORMAL});
    assert_true(fabs(fit_objective_scale(&s.objective, &s.answer) - 0.5 * ROWS / 0.0225) < 1e-9);
    s.prediction[4] = 0;
    assert_false(isfinite(fit_objective_value(&s.objective, &s.answer)));
    s.prediction[4] = -1;
    assert_false(isfinite(fit_objective_value(&s.objective, &s.answer)));
}

/* What rounded kinks add to the objective. */
static double rounding_of(const struct sample *s)
{
    double sum = 0, r, weight, value;
    for (size_t i = 0; i < ROWS; i++)
        if (fit_objective_loss(&s->objective, i)->has_kink
            && fit_objective_plain(&s->objective, &s->answer, i, &r, &weight, &value))
            sum += hypot(r, LOSS_KINK) - fabs(r);
    return sum;
}

/* -2 log likelihood is twice the objective, with kinks as they are, where that is a likelihood; sigmas times the scale give the
 * chi-square that was asked for; the fits' kinds. */
static void test_criteria(void **state)
{
    const double x[N] = {0.4, -0.2, -0.5};
    struct form forms[MOST_FORMS];
    size_t n = list_forms(forms);
    (void)state;
    for (size_t f = 0; f < n; f++) {
        struct sample s;
        struct form bare = forms[f];
        bare.priors = false;
        fill(&s, x, forms[f]);
        fit_objective_value(&s.objective, &s.answer);
        struct fit_criteria criteria = fit_objective_criteria(&s.objective, &s.answer, 2);
        if (s.objective.likelihood)
            assert_true(fabs(criteria.deviance - 2 * (value_at(x, bare) - rounding_of(&s)))
                        < 1e-12 * (1 + fabs(criteria.deviance)));
        assert_true(criteria.chi_square > 0 && criteria.total_squares > 0 && criteria.squares >= 0);
    }
    static const enum error_kind kinds[] = {ERROR_NORMAL, ERROR_LOG_NORMAL, ERROR_LAPLACE};
    for (int k = 0; k < 9; k++) {
        struct sample s;
        fill(&s, x, (struct form){.error = kinds[k % 3], .other = kinds[k / 3], .is_mixed = true});
        fit_objective_value(&s.objective, &s.answer);
        struct fit_criteria criteria = fit_objective_criteria(&s.objective, &s.answer, 2);
        double scale = fit_objective_common_scale(&criteria, 5);
        for (int i = 0; i < ROWS; i++)
            s.sigma[i] *= scale;
        fit_objective_value(&s.objective, &s.answer);
        criteria = fit_objective_criteria(&s.objective, &s.answer, 2);
        /* the rounded part of a Laplace row, 1e-4 / |r| at most 1e-2, does not scale */
        assert_true(fabs(criteria.chi_square - 5) < (criteria.distances > 0 ? ROWS * 1e-2 : 1e-12));
    }
    assert_string_equal(fit_objective_kind(ERROR_LOG_NORMAL, false), "half_sum_of_squares");
    assert_string_equal(fit_objective_kind(ERROR_STUDENT, false), "student_loss");
    assert_string_equal(fit_objective_kind(ERROR_STUDENT, true), "negative_log_likelihood");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_value),       cmocka_unit_test(test_gradient),         cmocka_unit_test(test_information),
        cmocka_unit_test(test_normal_rows), cmocka_unit_test(test_log_normal_edges), cmocka_unit_test(test_criteria),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
