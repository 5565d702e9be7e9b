/* The observed information by levels against the products that it is defined by: the sum H of the expected information A and
 * the excess C, own parameters o first, then others a.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/random.h"
#include "fit/objective/matrix.h"
#include "fit/statistics/observed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 7 };
static const double CLOSE = 1e-10; /* inverses and sums of some dozen products of numbers up to 10 */

static double draw(uint64_t k) { return random_normal(5, 1, k); }

/* Of n own parameters and m others: the expected information's triangle, all x all; an excess of a given size; own rows that
 * become those of the observed information; and what is left for the others. */
struct sample {
    size_t n, m, all;
    double triangle[MOST * MOST], excess[MOST * MOST], own[MOST * MOST], left[MOST * MOST];
    uint32_t index[MOST];
    struct fit_spectrum spectrum;
    struct arena arena;
    bool is_definite;
};

static void observe(struct sample *s, size_t n, size_t m, double size)
{
    *s = (struct sample){.n = n, .m = m, .all = n + m};
    for (uint32_t c = 0; c < s->all; c++) {
        s->index[c] = (uint32_t)s->all - 1 - c;
        for (size_t i = 0; i <= c; i++)
            s->triangle[i + c * s->all] = draw(i + MOST * c) + (i == c ? 3 : 0);
    }
    for (size_t c = 0; c < s->all; c++)
        for (size_t d = 0; d <= c; d++)
            s->excess[s->index[c] + s->index[d] * s->all] = s->excess[s->index[d] + s->index[c] * s->all] =
                size * draw(100 + c + MOST * d);
    for (size_t c = 0; c < s->all; c++)
        memcpy(s->own + c * n, s->triangle + c * s->all, n * sizeof *s->own);
    assert_true(fit_spectrum_room(&s->spectrum, n, 0, &s->arena));
    s->spectrum.n = n;
    memcpy(s->spectrum.triangle, s->own, n * n * sizeof *s->own);
    for (size_t c = 0; c < n; c++)
        s->spectrum.scale[c] = sqrt(matrix_squares(c + 1, s->own + c * n));
    fit_spectrum_decompose(&s->spectrum, 1e-12);
    const struct fit_excess excess = {s->excess, s->all, s->index};
    assert_true(fit_observe(&s->spectrum, m, s->own, excess, s->left, &s->is_definite, &s->arena));
}

static double expected_at(const struct sample *s, size_t c, size_t d)
{
    return matrix_dot(s->all, s->triangle + c * s->all, s->triangle + d * s->all);
}

static double observed_at(const struct sample *s, size_t c, size_t d)
{
    return expected_at(s, c, d) + s->excess[s->index[c] + s->index[d] * s->all];
}

/* The products of the own rows are H's own rows and columns; and what eliminating the own parameters leaves of A, which is the
 * product of the triangle's last rows, becomes with `left` that of H: H_aa minus the product of the own rows' other columns. */
static void check(const struct sample *s)
{
    assert_true(s->is_definite);
    for (size_t c = 0; c < s->all; c++)
        for (size_t d = 0; d < s->all; d++) {
            double product = matrix_dot(s->n, s->own + c * s->n, s->own + d * s->n);
            if (c < s->n || d < s->n) {
                assert_float_equal(product, observed_at(s, c, d), CLOSE);
                continue;
            }
            double expected = matrix_dot(s->m, s->triangle + s->n + c * s->all, s->triangle + s->n + d * s->all);
            assert_float_equal(expected + s->left[c - s->n + (d - s->n) * s->m], observed_at(s, c, d) - product, CLOSE);
        }
}

static void test_products(void **state)
{
    struct sample s;
    (void)state;
    const size_t sizes[][2] = {{1, 0}, {4, 0}, {7, 0}, {1, 1}, {3, 2}, {2, 5}, {0, 3}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        observe(&s, sizes[k][0], sizes[k][1], 0.1);
        check(&s);
        for (size_t c = 0; c < s.n; c++) /* a triangle still */
            for (size_t i = c + 1; i < s.n; i++)
                assert_float_equal(s.own[i + c * s.n], 0, 0);
        arena_fini(&s.arena);
    }
}

/* An excess that makes the own block indefinite changes nothing; one of the others alone may be as negative as it likes. */
static void test_indefinite(void **state)
{
    struct sample s;
    double own[MOST * MOST];
    (void)state;
    observe(&s, 3, 2, 100);
    assert_false(s.is_definite);
    for (size_t c = 0; c < s.all; c++)
        memcpy(own + c * s.n, s.triangle + c * s.all, s.n * sizeof *own);
    assert_memory_equal(own, s.own, s.n * s.all * sizeof *own);
    arena_fini(&s.arena);
    observe(&s, 0, 3, -100);
    check(&s);
    arena_fini(&s.arena);
}

/* A parameter without influence: its row and column of the excess are left out, and the other directions are as without it. */
static void test_idle(void **state)
{
    struct sample s;
    (void)state;
    observe(&s, 3, 0, 0.1);
    arena_fini(&s.arena);
    double triangle[9];
    memcpy(triangle, s.triangle, sizeof triangle);
    memset(triangle + 6, 0, 3 * sizeof *triangle);
    memcpy(s.own, triangle, sizeof triangle);
    s.arena = (struct arena){0};
    assert_true(fit_spectrum_room(&s.spectrum, 3, 0, &s.arena));
    s.spectrum.n = 3;
    memcpy(s.spectrum.triangle, triangle, sizeof triangle);
    for (size_t c = 0; c < 3; c++)
        s.spectrum.scale[c] = c < 2 ? sqrt(matrix_squares(3, triangle + 3 * c)) : 0;
    fit_spectrum_decompose(&s.spectrum, 1e-12);
    assert_int_equal(s.spectrum.n_known, 2);
    const struct fit_excess excess = {s.excess, 3, s.index};
    assert_true(fit_observe(&s.spectrum, 0, s.own, excess, NULL, &s.is_definite, &s.arena));
    assert_true(s.is_definite);
    for (size_t c = 0; c < 3; c++)
        for (size_t d = 0; d < 3; d++) {
            double before = matrix_dot(3, triangle + 3 * c, triangle + 3 * d);
            double more = c < 2 && d < 2 ? s.excess[s.index[c] + s.index[d] * 3] : 0;
            assert_float_equal(matrix_dot(3, s.own + 3 * c, s.own + 3 * d), before + more, CLOSE);
        }
    arena_fini(&s.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products), cmocka_unit_test(test_indefinite),
                                       cmocka_unit_test(test_idle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
