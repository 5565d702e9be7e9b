/* Our N_Vector against its definition: every operation on random numbers, in place too, at lengths that do not
 * fill a SIMD register, with an active length below the capacity.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ode/vector.h"

enum { N_STATE = 5, N_BLOCK = 4, LENGTH = N_STATE * N_BLOCK, ACTIVE = 3, ACTIVE_LENGTH = N_STATE * ACTIVE,
      N_VECTOR = 8 };

struct fixture {
    SUNContext context;
    struct vector_bank *bank;
    N_Vector v[N_VECTOR];
    double before[N_VECTOR][LENGTH];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    uint64_t seed = 3;
    f->context = sundials_context_new();
    f->bank = vector_bank_new(f->context, N_STATE, N_BLOCK, N_VECTOR);
    for (int j = 0; j < N_VECTOR; j++) {
        f->v[j] = vector_new(f->bank);
        for (int i = 0; i < LENGTH; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            f->before[j][i] = vector_data(f->v[j])[i] = (double)(seed >> 11) / 9007199254740992.0 - 0.5;
        }
    }
    vector_bank_set_blocks(f->bank, ACTIVE);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    vector_bank_free(f->bank);
    SUNContext_Free(&f->context);
    free(f);
    return 0;
}

/* `expression` of the old values x, y for the active part of vector `target`; nothing beyond it, and no other vector,
 * has changed; then everything is as before. To 4 eps: the compiler may fuse multiply and add. */
#define CHECK(target, expression) \
    do { \
        for (int j_ = 0; j_ < N_VECTOR; j_++) \
            for (int i = 0; i < LENGTH; i++) { \
                const double x = f->before[0][i], y = f->before[1][i]; \
                double now = vector_data(f->v[j_])[i]; \
                double expected = j_ == (target) && i < ACTIVE_LENGTH ? (expression) : f->before[j_][i]; \
                (void)x, (void)y; \
                if (!(fabs(now - expected) <= 4 * DBL_EPSILON * (fabs(expected) + 1))) \
                    fail_msg("line %d, vector %d, %d: %.17g is not %.17g", __LINE__, j_, i, now, expected); \
                vector_data(f->v[j_])[i] = f->before[j_][i]; \
            } \
    } while (0)

static void test_elementwise(void **state)
{
    struct fixture *f = *state;
    N_Vector xv = f->v[0], yv = f->v[1], zv = f->v[2];
    N_VLinearSum(1, xv, 1, yv, zv);
    CHECK(2, x + y);
    N_VLinearSum(1, xv, -1, yv, zv);
    CHECK(2, x - y);
    N_VLinearSum(1, xv, 2.5, yv, zv);
    CHECK(2, x + 2.5 * y);
    N_VLinearSum(-3, xv, 2.5, yv, zv);
    CHECK(2, -3 * x + 2.5 * y);
    N_VLinearSum(-3, xv, 2.5, yv, xv);
    CHECK(0, -3 * x + 2.5 * y);
    N_VLinearSum(1, xv, 1, yv, yv);
    CHECK(1, x + y);
    N_VConst(7, zv);
    CHECK(2, 7);
    N_VScale(-2, xv, zv);
    CHECK(2, -2 * x);
    N_VScale(-2, xv, xv);
    CHECK(0, -2 * x);
    N_VProd(xv, yv, zv);
    CHECK(2, x * y);
    N_VDiv(xv, yv, xv);
    CHECK(0, x / y);
    N_VAbs(xv, zv);
    CHECK(2, fabs(x));
    N_VInv(xv, zv);
    CHECK(2, 1 / x);
    N_VAddConst(xv, 3, zv);
    CHECK(2, x + 3);
}

static void test_fused(void **state)
{
    struct fixture *f = *state;
    double c[4] = {2, -3, 0.5, 7};
    N_VLinearCombination(1, c, f->v, f->v[4]);
    CHECK(4, 2 * x);
    N_VLinearCombination(2, c, f->v, f->v[4]);
    CHECK(4, 2 * x - 3 * y);
    N_VLinearCombination(4, c, f->v, f->v[4]);
    CHECK(4, 2 * x - 3 * y + 0.5 * f->before[2][i] + 7 * f->before[3][i]);
    N_VLinearCombination(3, c, f->v, f->v[0]); /* in place, as CVODES does */
    CHECK(0, 2 * x - 3 * y + 0.5 * f->before[2][i]);
    N_VScaleAddMulti(1, c, f->v[0], &f->v[1], &f->v[1]);
    CHECK(1, 2 * x + y);
    N_VScaleAddMulti(1, c + 1, f->v[0], &f->v[1], &f->v[2]);
    CHECK(2, -3 * x + y);
    N_VScaleVectorArray(1, c, &f->v[1], &f->v[1]);
    CHECK(1, 2 * y);
}

static void test_reductions(void **state)
{
    struct fixture *f = *state;
    const double *x = f->before[0], *y = f->before[1];
    double largest = 0, smallest = 1, block[ACTIVE] = {0};
    for (int i = 0; i < ACTIVE_LENGTH; i++) {
        largest = fmax(largest, fabs(x[i]));
        smallest = fmin(smallest, x[i]);
        block[i / N_STATE] += x[i] * y[i] * x[i] * y[i];
    }
    assert_true(N_VMaxNorm(f->v[0]) == largest);
    assert_true(N_VMin(f->v[0]) == smallest);
    double norm = sqrt(fmax(block[0], fmax(block[1], block[2])) / N_STATE);
    assert_true(fabs(N_VWrmsNorm(f->v[0], f->v[1]) - norm) <= 4 * DBL_EPSILON * norm);
    assert_true(fabs(vector_block_norm(x, y, N_STATE) - sqrt(block[0] / N_STATE)) <= 4 * DBL_EPSILON);
}

/* A NaN must come out of the norm wherever it lies, or an error test would pass it. */
static void test_norm_of_nan(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < ACTIVE_LENGTH; i++) {
        double keep = vector_data(f->v[0])[i];
        vector_data(f->v[0])[i] = NAN;
        assert_true(isnan(N_VWrmsNorm(f->v[0], f->v[1])));
        vector_data(f->v[0])[i] = keep;
    }
    vector_data(f->v[0])[ACTIVE_LENGTH] = NAN; /* beyond the active length */
    assert_false(isnan(N_VWrmsNorm(f->v[0], f->v[1])));
}

static void test_bank(void **state)
{
    struct fixture *f = *state;
    assert_null(vector_new(f->bank));
    N_VDestroy(f->v[3]);
    N_Vector again = N_VClone(f->v[0]);
    assert_ptr_equal(again, f->v[3]);
    assert_null(vector_bank_new(f->context, SIZE_MAX / 64, 3, 20));
    vector_bank_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_elementwise, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reductions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_norm_of_nan, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bank, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
