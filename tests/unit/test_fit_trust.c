/* The trust region's subproblem on random linear problems: against the minimum over all active sets, found by trying every
 * one of them, and against the best step of the radius, found by bisection on the damping.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit_case.h"

#include "base/random.h"
#include "fit/objective/matrix.h"
#include "fit/search/trust_model.h"

enum { N = 4, ROWS = 7, PROBLEMS = 3000 };

struct problem {
    size_t n;
    double a[ROWS * N], value[ROWS], zero[ROWS], one[ROWS], prediction[ROWS], weight[ROWS], residual[ROWS], sigma[ROWS];
    double theta[N], gradient[N], lower[N], upper[N];
    enum parameter_scale scale[N];
    struct fit_loss loss;
    struct fit_asker asker;
    struct fit_point point;
    struct arena arena;
    struct trust_model model;
};

static double uniform(uint64_t k, uint64_t i)
{
    return random_uniform(5, k, i);
}

static double normal(uint64_t k, uint64_t i)
{
    return random_normal(6, k, i);
}

/* Gives the model the triangle of the rows at the point. */
static bool take(struct problem *self)
{
    double rows[ROWS * N], rhs[ROWS];
    struct fit_answer answer = fit_point_answer(&self->asker, &self->point);
    fit_objective_rows(&self->asker.objective, &answer, CURVATURE_ABOVE, rows, rhs);
    matrix_triangle(ROWS, self->n, rows, rhs, self->model.triangle, self->model.rhs);
    return trust_model_adopt(&self->model, &self->point);
}

/* Residuals A d + r around theta; kind of trouble by k. */
static struct problem *make(uint64_t k)
{
    struct problem *self = calloc(1, sizeof *self);
    size_t n = self->n = 1 + k % N;
    for (size_t j = 0; j < n; j++) {
        double size = k % 5 == 1 ? pow(10, 6 * uniform(k, 50 + j) - 3) : 1;
        for (size_t i = 0; i < ROWS; i++)
            self->a[i + j * ROWS] = size * normal(k, 100 + 10 * j + i);
        self->theta[j] = normal(k, 200 + j);
        bool low = k % 3 && uniform(k, 300 + j) < 0.6, high = k % 3 && uniform(k, 320 + j) < 0.6;
        self->lower[j] = self->theta[j] - (low ? 2 * fmax(0, uniform(k, 310 + j) - 0.3) : 100);
        self->upper[j] = self->theta[j] + (high ? 2 * fmax(0, uniform(k, 330 + j) - 0.3) : 100);
    }
    if (k % 7 == 3 && n > 1) /* rank-deficient */
        memcpy(self->a + (n - 1) * ROWS, self->a, ROWS * sizeof(double));
    for (size_t i = 0; i < ROWS; i++) {
        self->sigma[i] = 1;
        self->prediction[i] = 3 * normal(k, 400 + i);
    }
    for (size_t j = 0; j < n; j++) {
        self->one[j] = 1;
        for (size_t i = 0; i < ROWS; i++)
            self->gradient[j] += self->a[i + j * ROWS] * self->prediction[i];
    }
    self->asker.map = (struct fit_map){.n_model = n, .n_free = n, .scale = self->scale, .lower = self->lower,
                                        .upper = self->upper};
    self->loss = fit_loss_of(ERROR_NORMAL, NULL);
    self->asker.objective = (struct fit_objective){.n_row = ROWS, .loss = &self->loss,
                                                   .measured = {.value = self->zero, .sigma = self->sigma}};
    self->point = (struct fit_point){.theta = self->theta, .gradient = self->gradient, .chain = self->one, .p = self->theta,
                                     .prediction = self->prediction, .d_prediction = self->a, .weight = self->weight,
                                     .residual = self->residual};
    struct fit_answer answer = fit_point_answer(&self->asker, &self->point);
    self->point.f = fit_objective_value(&self->asker.objective, &answer);
    assert_true(trust_model_init(&self->model, &self->asker, &self->arena));
    assert_true(take(self));
    return self;
}

static void drop(struct problem *self)
{
    arena_fini(&self->arena);
    free(self);
}

/* f(d) - f(0) */
static double change(const struct problem *self, const double *d)
{
    double sum = 0;
    for (size_t i = 0; i < ROWS; i++) {
        double row = 0;
        for (size_t j = 0; j < self->n; j++)
            row += self->a[i + j * ROWS] * d[j];
        sum += row * (self->prediction[i] + 0.5 * row);
    }
    return sum;
}

static double length(const struct problem *self, const double *d)
{
    double sum = 0;
    for (size_t j = 0; j < self->n; j++)
        sum = hypot(sum, self->model.scale[j] * d[j]);
    return sum;
}

/* Solves H x = y (n x n, symmetric positive definite, destroyed) by elimination; false if it is singular. */
static bool eliminate(size_t n, double *h, double *x)
{
    for (size_t k = 0; k < n; k++) {
        if (!(h[k + k * N] > 0))
            return false;
        for (size_t i = k + 1; i < n; i++) {
            double factor = h[i + k * N] / h[k + k * N];
            for (size_t j = k; j < n; j++)
                h[i + j * N] -= factor * h[k + j * N];
            x[i] -= factor * x[k];
        }
    }
    for (size_t k = n; k-- > 0;) {
        for (size_t j = k + 1; j < n; j++)
            x[k] -= h[k + j * N] * x[j];
        x[k] /= h[k + k * N];
    }
    return true;
}

/* The minimum of |A d + r|^2/2 + damping |D d|^2/2 in the box: every parameter at its lower bound, its upper one or free. */
static double brute_force(const struct problem *self, double damping, double *best)
{
    size_t n = self->n, n_set = 1;
    double least = INFINITY;
    for (size_t j = 0; j < n; j++)
        n_set *= 3;
    for (size_t set = 0; set < n_set; set++) {
        double d[N] = {0}, h[N * N], x[N];
        size_t loose[N], n_loose = 0, digits = set;
        for (size_t j = 0; j < n; j++, digits /= 3) {
            if (digits % 3 == 0)
                loose[n_loose++] = j;
            else
                d[j] = (digits % 3 == 1 ? self->lower[j] : self->upper[j]) - self->theta[j];
        }
        for (size_t c = 0; c < n_loose; c++) {
            x[c] = 0;
            for (size_t i = 0; i < ROWS; i++) {
                double row = self->prediction[i];
                for (size_t j = 0; j < n; j++)
                    row += self->a[i + j * ROWS] * d[j];
                x[c] -= self->a[i + loose[c] * ROWS] * row;
            }
            for (size_t e = 0; e < n_loose; e++) {
                h[c + e * N] = c == e ? damping * self->model.scale[loose[c]] * self->model.scale[loose[c]] : 0;
                for (size_t i = 0; i < ROWS; i++)
                    h[c + e * N] += self->a[i + loose[c] * ROWS] * self->a[i + loose[e] * ROWS];
            }
        }
        if (!eliminate(n_loose, h, x))
            continue;
        bool inside = true;
        for (size_t c = 0; c < n_loose; c++) {
            size_t j = loose[c];
            d[j] = x[c];
            double place = self->theta[j] + d[j];
            inside = inside && place >= self->lower[j] && place <= self->upper[j];
        }
        double size = length(self, d), value = change(self, d) + 0.5 * damping * size * size;
        if (inside && value < least) {
            least = value;
            memcpy(best, d, sizeof d);
        }
    }
    return least;
}

/* The decrease of the best step within box and radius. */
static double best_decrease(const struct problem *self, double radius)
{
    double d[N], low = 1e-14, high = 1e14;
    brute_force(self, 1e-14, d);
    if (length(self, d) <= radius)
        return -change(self, d);
    for (int i = 0; i < 100; i++) {
        double damping = sqrt(low * high);
        brute_force(self, damping, d);
        *(length(self, d) > radius ? &low : &high) = damping;
    }
    brute_force(self, high, d);
    return -change(self, d);
}

static void check_box(const struct problem *self)
{
    double target[N];
    trust_model_target(&self->model, &self->point, target);
    for (size_t j = 0; j < self->n; j++) {
        assert_true(target[j] >= self->lower[j] && target[j] <= self->upper[j]);
        assert_true(self->model.step[j] >= self->model.low[j] && self->model.step[j] <= self->model.high[j]);
    }
}

static void test_without_radius(void **state)
{
    (void)state;
    for (uint64_t k = 0; k < PROBLEMS; k++) {
        struct problem *self = make(k);
        struct trust_model *model = &self->model;
        model->reach.radius = 1e300;
        trust_model_step(model, &self->point);
        check_box(self);
        double best[N], gain = -brute_force(self, 1e-13, best);
        /* 1e-13 of damping moves a problem of condition 1e3 by less than 1e-7; normal equations lose as much */
        assert_true(model->promise >= gain - 1e-7 * self->point.f);
        assert_true(fabs(model->promise + change(self, model->step)) <= 1e-12 * self->point.f);
        assert_true(model->promise <= self->point.f * (1 + 1e-12));
        double before[N];
        memcpy(before, model->step, sizeof before[0] * self->n);
        assert_true(fabs(trust_model_promise_free(model, &self->point) - model->promise) <= 1e-12 * self->point.f);
        assert_memory_equal(before, model->step, sizeof before[0] * self->n);
        drop(self);
    }
}

static void test_radius(void **state)
{
    (void)state;
    double worst = 1;
    int n_restricted = 0;
    for (uint64_t k = 0; k < PROBLEMS; k++) {
        struct problem *self = make(k);
        struct trust_model *model = &self->model;
        model->reach.radius = 5 * pow(10, 3 * uniform(k, 900) - 2);
        trust_model_step(model, &self->point);
        check_box(self);
        /* More's slack of a tenth */
        assert_true(model->length <= 1.1 * model->reach.radius * (1 + 1e-12));
        assert_true(fabs(model->length - length(self, model->step)) <= 1e-12 * model->length);
        double best = best_decrease(self, model->reach.radius);
        if (best > 1e-9 * self->point.f)
            worst = fmin(worst, model->promise / best);
        n_restricted += model->is_restricted;
        drop(self);
    }
    printf("%d of %d steps were restricted; the worst promised %.2f of the best of its radius\n", n_restricted, PROBLEMS,
           worst);
    assert_in_range(n_restricted, PROBLEMS / 4, PROBLEMS - 1);
    /* A step of 0.9 of the radius on a slope gets 0.9, on the way to a minimum more */
    assert_true(worst > 0.85);
}

/* Derivatives by one parameter that are zero, or those of another: no step into nowhere. */
static void test_flat(void **state)
{
    (void)state;
    for (uint64_t k = 3; k < PROBLEMS; k += 4) {
        struct problem *self = make(k);
        struct trust_model *model = &self->model;
        memset(self->a + ROWS, 0, ROWS * sizeof(double));
        memcpy(self->a + 2 * ROWS, self->a, ROWS * sizeof(double));
        self->gradient[1] = 0;
        self->gradient[2] = self->gradient[0];
        self->model.reach.radius = INFINITY;
        assert_true(take(self));
        assert_true(isfinite(model->reach.radius));
        model->reach.radius = 1e300;
        trust_model_step(model, &self->point);
        check_box(self);
        assert_true(model->step[1] == 0);
        for (size_t j = 0; j < self->n; j++)
            assert_true(fabs(model->step[j]) <= 100);
        double best[N], gain = -brute_force(self, 1e-10, best);
        assert_true(model->promise >= gain - 1e-6 * self->point.f);
        drop(self);
    }
}

/* A decade of a logarithm is far: the first step is a quarter of one; if that limited it and it gained enough, the next one may
 * be a decade, and then two. */
static void test_reach(void **state)
{
    (void)state;
    static const double longest[] = {0.25, 1, 2, 2};
    double two = trust_model_longest_step(SCALE_LOG10);
    struct trust_reach reach = trust_reach_begin(false);
    assert_true(trust_reach_begin(true).part * two == 2);
    for (size_t i = 0; i < sizeof longest / sizeof *longest; i++) {
        assert_true(reach.part * two == longest[i]);
        trust_reach_adapt(&reach, 1, true, TRUST_REACH_GROWTH, 0.2, 0.5); /* a poor step */
        trust_reach_adapt(&reach, 1, true, 1, 1, 0.5); /* something else has limited it */
        assert_true(reach.part * two == longest[i]);
        trust_reach_adapt(&reach, 1, true, TRUST_REACH_GROWTH, 0.5, 0.5);
    }
}

/* Steps that could not be evaluated say nothing of the model: after two of them, which have each taken three quarters of the
 * radius, one good step gives back all and grows as usual. A poor step that was evaluated ends that. */
static void test_reach_of_failed_steps(void **state)
{
    (void)state;
    struct trust_reach reach = {.radius = 1, .part = 1, .lost = 1};
    trust_reach_adapt(&reach, 1, true, 1, -INFINITY, 0.25);
    trust_reach_adapt(&reach, 0.25, true, 1, -INFINITY, 0.25);
    assert_true(reach.radius == 0.0625);
    trust_reach_adapt(&reach, 0.0625, true, 1, 1, 0.5);
    assert_true(reach.radius == 2);
    trust_reach_adapt(&reach, 2, true, 1, -INFINITY, 0.25);
    trust_reach_adapt(&reach, 0.5, true, 1, 0, 0.5);
    trust_reach_adapt(&reach, 0.25, true, 1, 1, 0.5);
    assert_true(reach.radius == 0.5);
}

static void test_not_finite(void **state)
{
    (void)state;
    struct problem *self = make(3);
    self->a[2] = 1e200; /* its square overflows */
    assert_false(take(self));
    drop(self);
}

/* Whether the second derivatives of 2 are in use after a step of 1, along which they change the prediction by 1. */
static bool are_used_after(bool are_used, bool is_restricted, double promise, double decrease)
{
    struct problem *self = make(0);
    struct trust_curvature *curvature = &self->model.curvature;
    double step = 1;
    assert_int_equal(curvature->n, 1);
    curvature->s[0] = 2;
    curvature->has_any = true;
    curvature->is_used = are_used;
    bool changed = trust_curvature_choose(curvature, &step, is_restricted, promise, decrease);
    bool are_used_now = curvature->is_used;
    assert_int_equal(changed, are_used_now != are_used);
    drop(self);
    return are_used_now;
}

static void test_second_derivatives(void **state)
{
    (void)state;
    assert_true(are_used_after(false, true, 2, 1.4));   /* better: taken up */
    assert_false(are_used_after(false, true, 2, 1.6));  /* worse */
    assert_true(are_used_after(true, true, 1, 1.6));    /* worse, but not clearly: kept along a restricted step ... */
    assert_false(are_used_after(true, false, 1, 1.6));  /* ... and given up after one that nothing restricts */
    assert_false(are_used_after(true, true, 1, 1.9));   /* clearly worse */
    assert_true(are_used_after(true, true, 1, 1.2));    /* right within a quarter */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_radius), cmocka_unit_test(test_radius), cmocka_unit_test(test_flat),
        cmocka_unit_test(test_reach),
        cmocka_unit_test(test_reach_of_failed_steps),
        cmocka_unit_test(test_not_finite), cmocka_unit_test(test_second_derivatives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
