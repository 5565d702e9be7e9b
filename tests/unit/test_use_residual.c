/* What the objective says of one measurement, against SciPy's densities (scipy.stats, 1.10).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "use/predictor.h"

static const double value = 3.7, prediction = 2.9, sigma = 0.4; /* two standard deviations apart */

/* Of one measurement. */
static struct residual single(const struct residual_kind *kind, double measured, double own, double noise, int8_t censored)
{
    const struct measurements row = {.value = &measured, .sigma = &own, .observable = &(uint32_t){0}, .censored = &censored};
    return residual_of(kind, &row, 0, prediction, noise);
}

static struct residual of(enum error_kind error, bool likelihood, int8_t censored)
{
    struct fit_loss loss = fit_loss_of(error, NULL);
    const struct residual_kind kind = {.loss = &loss, .likelihood = likelihood};
    return single(&kind, value, sigma, NAN, censored);
}

static void expect(double found, double expected, double tolerance)
{
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("%.17g, expected %.17g", found, expected);
}

static void losses_are_negative_log_densities(void **state)
{
    /* Laplace's kink is rounded: |r| = 2 becomes sqrt(4 + LOSS_KINK^2), 2.5e-5 more. */
    static const struct { enum error_kind error; double loss, tolerance; } table[] = {
        {ERROR_NORMAL, 2.0026478013305185, 1e-13},     {ERROR_LOG_NORMAL, 1.4964547433510090, 1e-13},
        {ERROR_LAPLACE, 1.7768564486857907, 3e-5},     {ERROR_STUDENT, 1.797406472537435, 1e-12}};
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        expect(of(table[i].error, true, 0).loss, table[i].loss, table[i].tolerance);
}

static void residuals_and_weights(void **state)
{
    (void)state;
    struct residual normal = of(ERROR_NORMAL, false, 0), log_normal = of(ERROR_LOG_NORMAL, false, 0);
    expect(normal.sigma, 0.4, 0);
    expect(normal.residual, 0.8, 1e-15);
    expect(normal.weighted, 2, 1e-15);
    expect(normal.weight, 1, 1e-15);
    expect(normal.loss, 2, 1e-14);
    expect(log_normal.residual, 0.2436220826577505, 1e-15);
    expect(log_normal.weighted, 0.6090552066443763, 1e-15);
    expect(of(ERROR_HUBER, false, 0).weight, 0.6725, 1e-15);
    expect(of(ERROR_HUBER, false, 0).loss, 1.7854875, 1e-14);
    expect(of(ERROR_STUDENT, false, 0).weight, 0.625, 1e-15);
    expect(of(ERROR_STUDENT, false, 0).loss, 1.7328679513998637, 1e-14);
}

static void censored_ones_have_a_loss_alone(void **state)
{
    (void)state;
    struct residual left = of(ERROR_NORMAL, true, 1), right = of(ERROR_NORMAL, true, -1);
    expect(left.loss, 0.023012909328963462, 1e-14);
    expect(right.loss, 3.783184333682033, 1e-13);
    assert_true(isnan(left.residual) && isnan(left.weighted) && isnan(left.weight));
}

static void missing_ones_have_nothing(void **state)
{
    (void)state;
    struct fit_loss loss = fit_loss_of(ERROR_NORMAL, NULL);
    const struct residual_kind kind = {.loss = &loss};
    struct residual missing = single(&kind, NAN, NAN, 0.3, 0);
    expect(missing.sigma, 0.3, 0); /* the model's noise, as the measurement has none */
    assert_true(isnan(missing.loss) && isnan(missing.residual));
    expect(single(&kind, value, NAN, NAN, 0).loss, 0.32, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_negative_log_densities), cmocka_unit_test(residuals_and_weights),
        cmocka_unit_test(censored_ones_have_a_loss_alone), cmocka_unit_test(missing_ones_have_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
