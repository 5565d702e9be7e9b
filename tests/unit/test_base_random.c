/* Random numbers by address: moments and permutations.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { N = 100000 };

/* Moments of N deviates have a standard error of c / sqrt(N) with c = sqrt(2), sqrt(15) - here for the second and third
 * moment of a normal; 5 of them are exceeded once in 1.7 million (and the seeds are fixed). */
static void test_normal_moments(void **state)
{
    (void)state;
    double m1 = 0, m2 = 0, m3 = 0, m4 = 0, lag = 0, before = 0;
    for (uint64_t i = 0; i < N; i++) {
        double x = random_normal(12, 34, i);
        m1 += x / N;
        m2 += x * x / N;
        m3 += x * x * x / N;
        m4 += x * x * x * x / N;
        lag += x * before / N;
        before = x;
    }
    double unit = 5 / sqrt(N);
    assert_true(fabs(m1) < unit);
    assert_true(fabs(m2 - 1) < sqrt(2) * unit);
    assert_true(fabs(m3) < sqrt(15) * unit);
    assert_true(fabs(m4 - 3) < sqrt(96) * unit);
    assert_true(fabs(lag) < unit);
}

static void test_uniform_bins(void **state)
{
    (void)state;
    enum { BINS = 64 };
    for (uint64_t stream = 0; stream < 8; stream++) {
        int count[BINS] = {0};
        for (uint64_t i = 0; i < N; i++) {
            double u = random_uniform(1, stream, i);
            assert_true(u > 0 && u < 1);
            count[(int)(BINS * u)]++;
        }
        double chi2 = 0, expected = (double)N / BINS;
        for (int b = 0; b < BINS; b++)
            chi2 += (count[b] - expected) * (count[b] - expected) / expected;
        /* 63 degrees of freedom: mean 63, standard deviation 11.2; five of those each way */
        assert_true(chi2 > 63 - 56 && chi2 < 63 + 56);
    }
}

/* Neighbouring addresses have nothing to do with each other: half of the 64 bits differ (standard deviation 4). */
static void test_avalanche(void **state)
{
    (void)state;
    double mean[3] = {0};
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t base = random_bits(i, i, i);
        mean[0] += __builtin_popcountll(base ^ random_bits(i + 1, i, i)) / 1000.0;
        mean[1] += __builtin_popcountll(base ^ random_bits(i, i + 1, i)) / 1000.0;
        mean[2] += __builtin_popcountll(base ^ random_bits(i, i, i + 1)) / 1000.0;
    }
    for (int k = 0; k < 3; k++)
        assert_true(fabs(mean[k] - 32) < 5 * 4 / sqrt(1000));
}

static void test_below(void **state)
{
    (void)state;
    int count[7] = {0};
    for (uint64_t i = 0; i < 7000; i++) {
        uint64_t k = random_below(3, 4, i, 7);
        assert_true(k < 7);
        count[k]++;
    }
    for (int k = 0; k < 7; k++)
        assert_true(abs(count[k] - 1000) < 5 * 30); /* sqrt(7000 * 6/49) = 29.3 */
}

static void test_permutation(void **state)
{
    (void)state;
    for (uint64_t n = 1; n < 300; n++) {
        unsigned char seen[300] = {0};
        for (uint64_t i = 0; i < n; i++) {
            uint64_t to = random_permute(n, 5, n, i);
            assert_true(to < n);
            assert_false(seen[to]);
            seen[to] = 1;
        }
    }
    /* every image of 0 comes up, and another seed gives another permutation */
    int count[5] = {0}, same = 0;
    for (uint64_t seed = 0; seed < 5000; seed++) {
        count[random_permute(seed, 0, 5, 0)]++;
        same += random_permute(seed, 0, 1000, 17) == random_permute(seed + 1, 0, 1000, 17);
    }
    for (int k = 0; k < 5; k++)
        assert_true(abs(count[k] - 1000) < 5 * 29);
    assert_true(same < 30); /* 5 expected */
}

/* Stored results depend on these bits: they may never change. Computed with Python's integers. */
static void test_frozen(void **state)
{
    (void)state;
    assert_int_equal(random_bits(0, 0, 0), UINT64_C(0x9ababb68568302b9));
    assert_int_equal(random_bits(1, 2, 3), UINT64_C(0x4673d081550fff42));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normal_moments), cmocka_unit_test(test_uniform_bins), cmocka_unit_test(test_avalanche),
        cmocka_unit_test(test_below), cmocka_unit_test(test_permutation), cmocka_unit_test(test_frozen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
