/* The triangle of a large fit, reduced in parts, against the products of all its rows; and the same bits whoever reduces them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/random.h"
#include "fit/objective/matrix.h"
#include "fit/search/triangle.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 40, ROWS = 9001 };

struct sample {
    double value[ROWS], prediction[ROWS], noise[ROWS], weight[ROWS], residual[ROWS], chain[N], p[N];
    double *d_prediction, *d_noise;
    struct fit_loss loss;
    struct fit_prior_term prior;
    struct fit_host host;
    struct fit_asker asker;
    struct fit_answer answer;
    struct arena arena;
    int n_call;
    bool refuses;
};

/* The parts in another order, all or a few of them. */
static bool share(void *context, void (*work)(void *part), void *parts, size_t size, size_t n)
{
    struct sample *s = context;
    s->n_call++;
    assert_in_range(n, 2, FIT_SHARES);
    for (size_t k = n; k-- > (s->refuses ? n / 2 : 0);)
        work((char *)parts + k * size);
    return !s->refuses;
}

static struct sample *make(bool has_noise, size_t n_row)
{
    struct sample *s = calloc(1, sizeof *s);
    s->d_prediction = calloc(ROWS * N, sizeof(double));
    s->d_noise = calloc(ROWS * N, sizeof(double));
    for (size_t j = 0; j < N; j++) {
        s->chain[j] = 1 + 0.1 * (double)j;
        s->p[j] = 1;
        for (size_t i = 0; i < n_row; i++) {
            s->d_prediction[i + j * n_row] = random_normal(1, j, i) * (1 + (double)(i * j % 7));
            s->d_noise[i + j * n_row] = 0.1 * random_normal(2, j, i);
        }
    }
    for (size_t i = 0; i < n_row; i++) {
        s->value[i] = random_normal(3, 0, i);
        s->prediction[i] = random_normal(4, 0, i);
        s->noise[i] = 0.5 + random_uniform(5, 0, i);
    }
    s->loss = fit_loss_of(ERROR_NORMAL, NULL);
    s->prior = (struct fit_prior_term){{PRIOR_NORMAL, true, 0.3, 0.5}, 3, 3};
    s->asker.map.n_free = N;
    s->asker.host = &s->host;
    s->asker.objective = (struct fit_objective){.n_row = n_row, .has_noise = has_noise, .likelihood = has_noise,
                                                .measured = {.value = s->value}, .loss = &s->loss, .n_prior = 1,
                                                .prior = &s->prior};
    s->answer = (struct fit_answer){.n = N, .prediction = s->prediction, .d_prediction = s->d_prediction, .noise = s->noise,
                                    .d_noise = s->d_noise, .chain = s->chain, .weight = s->weight, .residual = s->residual,
                                    .theta = s->p, .p = s->p};
    fit_objective_value(&s->asker.objective, &s->answer);
    return s;
}

static void drop(struct sample *s)
{
    arena_fini(&s->arena);
    free(s->d_prediction);
    free(s->d_noise);
    free(s);
}

/* R'R = A'A and R'q = A'b to rounding of the sums. */
static void check(struct sample *s, const double *r, const double *q)
{
    const struct fit_objective *objective = &s->asker.objective;
    size_t n_row = fit_objective_n_row(objective);
    double *a = calloc(n_row * N, sizeof *a), *b = calloc(n_row, sizeof *b);
    fit_objective_rows(objective, &s->answer, CURVATURE_ABOVE, a, b);
    for (size_t j = 0; j < N; j++) {
        double of_q = matrix_dot(N, r + j * N, q), of_b = matrix_dot(n_row, a + j * n_row, b);
        double size = sqrt(matrix_squares(n_row, a + j * n_row));
        assert_true(fabs(of_q - of_b) <= 1e-13 * size * sqrt(matrix_squares(n_row, b)));
        for (size_t i = 0; i <= j; i++) {
            double of_r = matrix_dot(N, r + i * N, r + j * N), of_a = matrix_dot(n_row, a + i * n_row, a + j * n_row);
            assert_true(fabs(of_r - of_a) <= 1e-13 * size * sqrt(matrix_squares(n_row, a + i * n_row)));
            assert_true(i == j || r[j + i * N] == 0);
        }
    }
    free(a);
    free(b);
}

static void take(struct sample *s, bool refuses, double *r, double *q)
{
    struct fit_triangle triangle;
    s->refuses = refuses;
    arena_reset(&s->arena);
    assert_true(fit_triangle_init(&triangle, &s->asker, &s->arena));
    fit_triangle_take(&triangle, &s->answer, r, q);
}

static void parts_make_the_whole(void **state)
{
    static double r[3][N * N], q[3][N];
    (void)state;
    for (int noise = 0; noise < 2; noise++) {
        struct sample *s = make(noise, ROWS);
        s->host = (struct fit_host){.share = share, .context = s};
        take(s, false, r[0], q[0]);
        assert_int_equal(s->n_call, 1);
        check(s, r[0], q[0]);
        take(s, true, r[1], q[1]);
        s->host.share = NULL;
        take(s, false, r[2], q[2]);
        for (int k = 1; k < 3; k++) {
            assert_memory_equal(r[0], r[k], sizeof r[0]);
            assert_memory_equal(q[0], q[k], sizeof q[0]);
        }
        drop(s);
    }
}

static void small_ones_stay_whole(void **state)
{
    (void)state;
    struct sample *s = make(true, 300);
    struct fit_triangle triangle;
    assert_true(fit_triangle_init(&triangle, &s->asker, &s->arena));
    assert_int_equal(triangle.n_part, 1);
    drop(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts_make_the_whole), cmocka_unit_test(small_ones_stay_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
