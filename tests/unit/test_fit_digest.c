/* Digests: counts of fits, quantiles that are exact for few numbers and close for many, and the
 * list of facts in its three forms.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/view.h"
#include "fit/statistics/digest.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct digest digest; /* tens of KiB */

static void add(enum outcome outcome, double reduced, int64_t n_evaluation)
{
    const struct fit_record record = {.outcome = outcome, .reduced_chi_square = reduced,
                                      .chi_square = reduced, .n_freedom = 1, .r_squared = NAN,
                                      .n_evaluation = n_evaluation, .n_step = 2, .seconds = 0.25};
    digest_add(&digest, "id", &record, 0);
}

/* 1, 4, 9, ... in a mixed order. */
static void add_squares(int n)
{
    memset(&digest, 0, sizeof digest);
    for (int i = 0; i < n; i++) {
        double k = 1 + (double)(i * 7919 % n); /* 7919: a prime that divides no n used here */
        add(OUTCOME_converged, k * k, (int64_t)k);
    }
}

static void test_few_numbers_are_exact(void **state)
{
    (void)state;
    add_squares(10);
    assert_true(digest_quantile(&digest.reduced, 0.5) == (25 + 36) / 2.0); /* R's type 7 */
    assert_true(fabs(digest_quantile(&digest.reduced, 0.95) - (81 + 0.55 * (100 - 81))) < 1e-12);
    assert_true(digest_quantile(&digest.reduced, 1) == 100);
    assert_true(digest_median(&digest.evaluations) == 5.5);
    assert_true(isnan(digest_quantile(&digest.unexplained, 0.5)));
    memset(&digest, 0, sizeof digest);
    assert_true(isnan(digest_median(&digest.evaluations)));
    add(OUTCOME_converged, 3, 7);
    assert_true(digest_median(&digest.evaluations) == 7);
}

/* The width of a bin is 10^(1/128), 1.8 %. Small whole numbers stay exact. */
static void test_many_numbers(void **state)
{
    (void)state;
    add_squares(3001);
    for (double share = 0.05; share < 1; share += 0.05) {
        double expected = pow(1 + share * 3000, 2);
        assert_true(fabs(digest_quantile(&digest.reduced, share) / expected - 1) < 0.02);
    }
    assert_true(digest_median(&digest.evaluations) == 1501);
    add_squares(9001);
    assert_true(fabs(digest_median(&digest.evaluations) / 4501 - 1) < 0.02);
}

static void test_facts_in_three_forms(void **state)
{
    (void)state;
    struct view view = {.n = 0};
    struct error error;
    char *text;
    size_t size;
    memset(&digest, 0, sizeof digest);
    add(OUTCOME_converged, 1, 3);
    add(OUTCOME_ode_failed, NAN, 40);
    add(OUTCOME_converged, 1, 5);
    FILE *file = open_memstream(&text, &size);
    view_group(&view, NULL, NULL, VIEW_PLAIN);
    digest_facts(&view, &digest);
    view_end(&view);
    assert_true(view.n > 7);
    assert_int_equal(view_put(&view, true, file, &error), STATUS_OK);
    assert_int_equal(view_put(&view, false, file, &error), STATUS_OK);
    view_page(&view, file);
    fclose(file);
    assert_non_null(strstr(text, "\"failed\": 1"));
    assert_non_null(strstr(text, "\"evaluations_median\": 5"));
    assert_non_null(strstr(text, "  48 evaluations, 5 evaluations in the median fit, "
                                 "6 integrator steps, 0.75 s of workers' time\n"));
    assert_non_null(strstr(text, "<td>evaluations in the median fit</td><td class=n>5</td>"));
    assert_non_null(strstr(text, "<td class=n>0.75 s</td>"));
    for (size_t i = 1; i < view.n - 1; i++) {
        assert_non_null(strstr(text, view.item[i].fact.key));
        assert_non_null(strstr(text, view.item[i].fact.text));
        for (size_t k = 1; k < i; k++)
            assert_string_not_equal(view.item[i].fact.key, view.item[k].fact.key);
    }
    view_fini(&view);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_numbers_are_exact),
        cmocka_unit_test(test_many_numbers),
        cmocka_unit_test(test_facts_in_three_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
