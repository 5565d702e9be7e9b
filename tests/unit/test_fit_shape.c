/* Rules whose points follow the shape of an integrand, against integrals in closed form:
 * independent variables x whose density is that of a logarithm of a gamma variable, exp(k x -
 * exp x), the integral of which is Gamma(k), behind a rotation.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "fit/mixed/rule.h"
#include "fit/mixed/shape.h"

enum { MOST = SHAPE_MOST };
static const double K[MOST] = {8, 12, 20, 10}; /* skewness -1/sqrt(k) about: -0.36 to -0.22 */
static const double TWO_PI = 6.283185307179586;
static const uint32_t index_of[MOST] = {0, 1, 2, 3};

/* A rotation in each plane of neighbours, by an angle that mixes both. */
static void turn(size_t r, const double *u, double *v)
{
    for (size_t a = 0; a < r; a++)
        v[a] = u[a];
    for (size_t a = 0; a + 1 < r; a++) {
        double left = v[a], right = v[a + 1];
        v[a] = cos(0.6) * left - sin(0.6) * right;
        v[a + 1] = sin(0.6) * left + cos(0.6) * right;
    }
}

/* The logarithm of the integrand over deviates u, whose mode is at 0 with unit curvature. */
static double integrand(size_t r, const double *u)
{
    double v[MOST], sum = 0;
    turn(r, u, v);
    for (size_t a = 0; a < r; a++) {
        double x = log(K[a]) + v[a] / sqrt(K[a]);
        sum += K[a] * x - exp(x) - 0.5 * log(K[a]); /* dx = dv / sqrt(k) */
    }
    return sum;
}

static double exact(size_t r)
{
    double sum = 0;
    for (size_t a = 0; a < r; a++)
        sum += lgamma(K[a]);
    return sum;
}

/* Room for moments. */
struct moments {
    double weight, first[MOST], second[MOST * MOST], third[MOST * MOST * MOST];
};

static struct shape_moments parts_of(struct moments *moments)
{
    return (struct shape_moments){&moments->weight, moments->first, moments->second,
                                  moments->third};
}

/* The logarithm of the integral by a level of the rule, and the moments. */
static double integrate(const struct rule *rule, size_t r, unsigned level,
                        const struct shape *shape, struct moments *moments)
{
    const struct rule_level at = {.rule = rule, .r = r, .level = level};
    double t[MOST], u[MOST], part = shape_part(shape, r, rule_reach(&at));
    *moments = (struct moments){.weight = 0};
    for (size_t k = 0; k < rule_size(&at); k++) {
        double logarithm = rule_point(&at, k, t), squares = 0;
        logarithm += shape_map(shape, r, part, t, u);
        for (size_t a = 0; a < r; a++)
            squares += u[a] * u[a];
        double weight = exp(logarithm + 0.5 * squares + integrand(r, u) - integrand(r,
                                                                                    (double[MOST]){0}));
        moments->weight += weight;
        for (size_t a = 0; a < r; a++) {
            moments->first[a] += weight * u[a];
            for (size_t b = 0; b < r; b++) {
                moments->second[b + a * r] += weight * u[a] * u[b];
                for (size_t c = 0; c < r; c++)
                    moments->third[c + (b + a * r) * r] += weight * u[a] * u[b] * u[c];
            }
        }
    }
    return log(moments->weight) + integrand(r, (double[MOST]){0}) + 0.5 * (double)r * log(TWO_PI);
}

/* The shape makes 3 nodes in each direction better than 5 around the mode, and 5 better than 7. */
static void shapes_save_points(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct rule rule;
    assert_true(rule_init(&rule, 1, &arena));
    for (size_t r = 1; r <= MOST; r++) {
        double numbers[MOST + MOST * MOST + MOST * MOST * MOST], error[3], shaped[3];
        struct shape shape = shape_at(r, numbers);
        struct moments moments;
        struct shape_moments parts = parts_of(&moments);
        assert_true(shape_size(r) * sizeof *numbers <= sizeof numbers);
        shape_reset(&shape, r);
        for (unsigned level = 0; level < 3; level++)
            error[level] = fabs(integrate(&rule, r, level, &shape, &moments) - exact(r));
        integrate(&rule, r, 1, &shape, &moments);
        shape_fit(&shape, r, &parts, index_of);
        for (unsigned level = 0; level < 3; level++)
            shaped[level] = fabs(integrate(&rule, r, level, &shape, &moments) - exact(r));
        print_message("%zu variables: %.1e %.1e %.1e around the mode, %.1e %.1e %.1e with the shape\n", r, error[0], error[1],
                      error[2], shaped[0], shaped[1], shaped[2]);
        assert_true(error[0] > 1e-3); /* there is something to gain */
        assert_true(shaped[0] < 0.1 * error[0] && shaped[1] < 0.1 * error[1]);
        assert_true(shaped[0] < 2 * error[1] && shaped[1] < 2 * error[2]);
        assert_true(shaped[1] < 1e-4); /* what a dataset may be off by in a fit of 1,000 */
    }
    arena_fini(&arena);
}

/* The moments that a shape is made of are those of the closed form: of log gamma variables
 * psi(k) and its derivatives. */
static void moments_are_exact(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct rule rule;
    double numbers[3], k = K[0];
    struct shape shape = shape_at(1, numbers);
    struct moments moments;
    struct shape_moments parts = parts_of(&moments);
    assert_true(rule_init(&rule, 1, &arena));
    shape_reset(&shape, 1);
    integrate(&rule, 1, 9, &shape, &moments);
    shape_fit(&shape, 1, &parts, index_of);
    /* At 1: zeta(3). */
    double digamma = 0, trigamma = TWO_PI * TWO_PI / 24,
        tetragamma = -2 * 1.2020569031595942854;
    digamma = -0.57721566490153286061;
    for (double j = 1; j < k; j++) {
        digamma += 1 / j;
        trigamma -= 1 / (j * j);
        tetragamma += 2 / (j * j * j);
    }
    assert_true(fabs(numbers[0] - sqrt(k) * (digamma - log(k))) < 1e-9);
    assert_true(fabs(numbers[1] - sqrt(k * trigamma)) < 1e-9);
    assert_true(fabs(numbers[2] - tetragamma / pow(trigamma, 1.5)) < 1e-8);
    arena_fini(&arena);
}

/* Any shape leaves the integral, with enough points: the map is a change of variables. */
static void shapes_do_not_bias(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct rule rule;
    double numbers[2 + 4 + 8] = {0.3, -0.4, 1.3, 0.5, 0, 0.8, 0.4, -0.3, -0.3, 0.2, -0.3, 0.2, 0.2,
                                 -0.5};
    struct shape shape = shape_at(2, numbers);
    struct moments moments;
    double before = INFINITY;
    assert_true(rule_init(&rule, 1, &arena));
    for (unsigned level = 3; level < RULE_LEVELS; level += 2) {
        double error = fabs(integrate(&rule, 2, level, &shape, &moments) - exact(2));
        print_message("level %u: %.1e\n", level, error);
        assert_true(error < fmax(0.5 * before, 1e-12));
        before = error;
    }
    assert_true(before < 1e-9);
    arena_fini(&arena);
}

/* An integrand that one point has almost all of, or that is far away, gets no shape. */
static void strange_integrands_have_none(void **state)
{
    (void)state;
    static const struct moments strange[] = {
        {.weight = 1, .first = {0.5}, .second = {0.25 + 1e-8}, .third = {0.125}},
        {.weight = 1, .first = {4}, .second = {17}, .third = {80}},
        {.weight = 1, .first = {0}, .second = {100}, .third = {0}},
        {.weight = 0},
        {.weight = 1, .first = {NAN}, .second = {NAN}, .third = {NAN}},
    };
    for (size_t k = 0; k < sizeof strange / sizeof *strange; k++) {
        struct moments moments = strange[k];
        struct shape_moments parts = parts_of(&moments);
        double numbers[3] = {1, 2, 3}, t = 0.7, u;
        struct shape shape = shape_at(1, numbers);
        shape_fit(&shape, 1, &parts, index_of);
        assert_true(shape_map(&shape, 1, shape_part(&shape, 1, 5), &t, &u) == 0);
        assert_true(u == t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_save_points), cmocka_unit_test(moments_are_exact),
                                       cmocka_unit_test(shapes_do_not_bias),
        cmocka_unit_test(strange_integrands_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
