/* Records as bytes for another process: every number arrives, and arrays stay those of the receiver.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/fit_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { N = 3 };

/* Every byte of every array differs from its neighbours. */
static void *filled(struct fit_record *record, unsigned seed)
{
    size_t n = fit_record_array_bytes(N);
    unsigned char *arrays = malloc(n);
    for (size_t i = 0; i < n; i++)
        arrays[i] = (unsigned char)(seed + 7 * i);
    fit_record_set_arrays(record, N, arrays);
    return arrays;
}

static void numbers_arrive(void **state)
{
    (void)state;
    double point[2] = {1, 2};
    struct fit_record sent = {.dataset = 5, .start = 2, .objective = 0.25, .n_noise = 4, .reason = "why"};
    struct fit_record got = {.dataset = 1, .point = point};
    void *from = filled(&sent, 1), *to = filled(&got, 99), *bytes = malloc(fit_record_bytes(N));
    const double *parameter = got.parameter;
    fit_record_to_bytes(&sent, N, bytes);
    fit_record_from_bytes(&got, N, bytes);
    assert_true(got.dataset == 5 && got.start == 2 && got.objective == 0.25 && got.n_noise == 4);
    assert_string_equal(got.reason, "why");
    assert_ptr_equal(got.parameter, parameter);
    assert_ptr_equal(got.point, point);
    assert_memory_equal(to, from, fit_record_array_bytes(N));
    free(from);
    free(to);
    free(bytes);
}

/* Refits keep no covariance. */
static void missing_arrays_stay_missing(void **state)
{
    (void)state;
    struct fit_record sent = {.dataset = 5}, got = {.dataset = 1};
    void *from = filled(&sent, 1), *to = filled(&got, 99), *bytes = malloc(fit_record_bytes(N));
    sent.covariance = got.covariance = NULL;
    fit_record_to_bytes(&sent, N, bytes);
    fit_record_from_bytes(&got, N, bytes);
    assert_null(got.covariance);
    assert_memory_equal(got.parameter, sent.parameter, N * sizeof(double));
    assert_memory_equal(got.at_bound, sent.at_bound, N);
    free(from);
    free(to);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_arrive),
                                       cmocka_unit_test(missing_arrays_stay_missing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
