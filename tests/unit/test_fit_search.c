/* The search alone, on least squares of four variables: no dataset, model or host, only a method that evaluates a
 * function in closed form with errors that shrink with the tolerances, as an integrator's do.
 * Functions: More, Garbow & Hillstrom (1981), ACM TOMS 7(1), numbers 13, 14 and 15.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/objective/matrix.h"
#include "fit/search/search.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 4, MOST_ROW = 11 };

typedef size_t residuals(const double *x, double *r, double (*slopes)[MOST_ROW]);

/* Number 14, Wood's: a curved valley; 0 at (1, 1, 1, 1). */
static size_t wood(const double *x, double *r, double (*slopes)[MOST_ROW])
{
    const double a = sqrt(90), b = sqrt(10);
    r[0] = 10 * (x[1] - x[0] * x[0]);
    r[1] = 1 - x[0];
    r[2] = a * (x[3] - x[2] * x[2]);
    r[3] = 1 - x[2];
    r[4] = b * (x[1] + x[3] - 2);
    r[5] = (x[1] - x[3]) / b;
    memset(slopes, 0, N * sizeof *slopes);
    slopes[0][0] = -20 * x[0], slopes[1][0] = 10;
    slopes[0][1] = -1;
    slopes[2][2] = -2 * a * x[2], slopes[3][2] = a;
    slopes[2][3] = -1;
    slopes[1][4] = slopes[3][4] = b;
    slopes[1][5] = 1 / b, slopes[3][5] = -1 / b;
    return 6;
}

/* Number 13, Powell's: the derivatives are singular at the minimum, 0 at 0. */
static size_t powell(const double *x, double *r, double (*slopes)[MOST_ROW])
{
    const double a = sqrt(5), b = sqrt(10), u = x[1] - 2 * x[2], v = x[0] - x[3];
    r[0] = x[0] + 10 * x[1];
    r[1] = a * (x[2] - x[3]);
    r[2] = u * u;
    r[3] = b * v * v;
    memset(slopes, 0, N * sizeof *slopes);
    slopes[0][0] = 1, slopes[1][0] = 10;
    slopes[2][1] = a, slopes[3][1] = -a;
    slopes[1][2] = 2 * u, slopes[2][2] = -4 * u;
    slopes[0][3] = 2 * b * v, slopes[3][3] = -2 * b * v;
    return 4;
}

/* Number 15, Kowalik's and Osborne's: residuals that stay, whose squares sum up to 3.07505e-4. */
static size_t kowalik(const double *x, double *r, double (*slopes)[MOST_ROW])
{
    static const double y[] = {0.1957, 0.1947, 0.1735, 0.16, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246},
                        u[] = {4, 2, 1, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625};
    for (size_t i = 0; i < MOST_ROW; i++) {
        double above = u[i] * (u[i] + x[1]), below = u[i] * (u[i] + x[2]) + x[3];
        r[i] = y[i] - x[0] * above / below;
        slopes[0][i] = -above / below, slopes[1][i] = -x[0] * u[i] / below;
        slopes[2][i] = x[0] * above * u[i] / (below * below), slopes[3][i] = x[0] * above / (below * below);
    }
    return MOST_ROW;
}

struct place {
    struct fit_point point;
    double theta[N], gradient[N], r[MOST_ROW], slopes[N][MOST_ROW];
};

struct task {
    struct fit_search search; /* the first field: the method's functions get it */
    struct fit_asker asker;
    struct fit_options options;
    struct arena arena;
    residuals *residuals;
    enum parameter_scale scale[N];
    double start[N], lower[N], upper[N], size[N];
    double wall;              /* nothing can be evaluated where the first variable is larger */
    double sign;              /* of the derivatives: -1 if they are wrong */
    int budget;               /* evaluations */
    bool is_unaware;          /* that it will end */
    double said;              /* what the values of trials are said to be; 0: what they are */
    struct place places[2], *best, *trial;
    size_t n_row;
    int n_evaluation, n_loose, n_landing, n_failed;
    double tighter;           /* the accuracy of the latest evaluation */
    bool has_loosened;        /* one was less accurate than the one before it */
};

static struct task *task_of(struct fit_search *search) { return (struct task *)search; }

static enum asked evaluate(struct task *task, struct place *place)
{
    struct fit_asker *asker = &task->asker;
    const double *x = place->theta;
    double rtol = fit_asker_rtol(asker, asker->accuracy.tighter), phase = 0;
    if (task->n_evaluation >= task->budget)
        return fit_asker_end(asker, OUTCOME_budget, "all %d evaluations are used up", task->budget);
    task->n_evaluation++;
    task->n_loose += asker->accuracy.is_loose;
    task->has_loosened |= asker->accuracy.tighter < task->tighter;
    task->tighter = asker->accuracy.tighter;
    for (size_t j = 0; j < N; j++) {
        assert_true(isfinite(x[j]) && x[j] >= task->lower[j] && x[j] <= task->upper[j]);
        phase += 1e6 * (double)(j + 1) * x[j];
    }
    if (x[0] > task->wall) {
        task->n_failed++;
        return fit_asker_miss(asker, OUTCOME_model_failed, "%g is beyond the wall", x[0]);
    }
    task->n_row = task->residuals(x, place->r, place->slopes);
    place->point.f = 0;
    memset(place->gradient, 0, sizeof place->gradient);
    for (size_t i = 0; i < task->n_row; i++) {
        place->r[i] *= asker->is_exact ? 1 : 1 + rtol * sin(phase + (double)i);
        place->point.f += 0.5 * place->r[i] * place->r[i];
        for (size_t j = 0; j < N; j++)
            place->gradient[j] += task->sign * place->slopes[j][i] * place->r[i];
    }
    return ASKED_OK;
}

static void take(struct task *task)
{
    struct place *best = task->best;
    struct stopping_beyond *beyond = &task->search.stopping.beyond;
    task->best = task->trial;
    task->trial = best;
    task->search.best = &task->best->point;
    *beyond = (struct stopping_beyond){.is_there = true, .misfit = task->best->point.f};
    beyond->scale = fmax(1, 2 * beyond->misfit);
    beyond->variance = 2 * beyond->misfit / (double)task->n_row;
}

/* The first point at these tolerances. */
static enum asked evaluate_at(struct task *task, const double *theta)
{
    memmove(task->trial->theta, theta, sizeof task->trial->theta);
    enum asked asked = evaluate(task, task->trial);
    stopping_init(&task->search.stopping, &task->asker);
    if (asked == ASKED_OK)
        take(task);
    return asked;
}

static enum asked begin(struct fit_search *search)
{
    struct task *task = task_of(search);
    search->best = NULL;
    task->asker.start_f = NAN;
    trust_model_forget(&search->model);
    enum asked asked = evaluate_at(task, task->start);
    task->asker.start_f = asked == ASKED_OK ? search->best->f : (double)NAN;
    return asked;
}

static enum asked look(struct fit_search *search)
{
    struct task *task = task_of(search);
    double slopes[N * MOST_ROW], r[MOST_ROW];
    for (size_t j = 0; j < N; j++)
        for (size_t i = 0; i < task->n_row; i++)
            slopes[i + j * task->n_row] = task->sign * task->best->slopes[j][i];
    memcpy(r, task->best->r, sizeof r);
    if (!search->model.is_current) {
        matrix_triangle(task->n_row, N, slopes, r, search->model.triangle, search->model.rhs);
        if (!trust_model_adopt(&search->model, search->best))
            return ASKED_FAILED;
    }
    trust_model_step(&search->model, search->best);
    return ASKED_OK;
}

static enum asked try(struct fit_search *search, struct fit_search_trial *trial)
{
    struct task *task = task_of(search);
    trust_model_target(&search->model, search->best, task->trial->theta);
    if (!memcmp(task->trial->theta, task->best->theta, sizeof task->best->theta)) {
        stopping_give_up(&search->stopping);
        return ASKED_FAILED;
    }
    enum asked asked = evaluate(task, task->trial);
    if (asked == ASKED_END)
        return ASKED_END;
    if (asked == ASKED_OK)
        trial->decrease = stopping_decrease(&search->stopping, &search->model, search->best, &task->trial->point);
    for (size_t j = 0; j < N; j++)
        trial->slope += search->best->gradient[j] * search->model.step[j];
    trial->f = asked != ASKED_OK ? INFINITY : task->said > 0 ? task->said : task->trial->point.f;
    return ASKED_OK;
}

static void settle(struct fit_search *search, const struct fit_search_trial *trial, bool is_taken,
                   enum trust_radius radius)
{
    (void)trial;
    (void)radius;
    if (!is_taken)
        return;
    take(task_of(search));
    search->model.is_current = false;
}

static enum asked land(struct fit_search *search)
{
    struct task *task = task_of(search);
    double most = search->best->f + stopping_noise_ceiling(&search->stopping, search->best), from[N];
    memcpy(from, task->best->theta, sizeof from);
    task->n_landing++;
    search->model.is_current = false;
    trust_model_target(&search->model, search->best, task->trial->theta);
    enum asked asked = evaluate_at(task, task->trial->theta);
    return asked == ASKED_FAILED || (asked == ASKED_OK && search->best->f > most) ? evaluate_at(task, from) : asked;
}

static enum asked look_back(struct fit_search *search)
{
    struct task *task = task_of(search);
    memcpy(task->trial->theta, task->start, sizeof task->start);
    enum asked asked = evaluate(task, task->trial);
    if (asked == ASKED_OK && task->trial->point.f < search->best->f) {
        take(task);
        search->model.is_current = false;
    }
    return asked == ASKED_END ? ASKED_END : ASKED_OK;
}

static bool has_budget(const struct fit_search *search)
{
    const struct task *task = (const struct task *)search;
    return task->is_unaware || task->budget - task->n_evaluation >= 4;
}

static enum asked go_on(struct fit_search *search, enum outcome outcome)
{
    (void)search;
    (void)outcome;
    return ASKED_FAILED;
}

static const struct fit_search_method method = {.begin = begin, .look = look, .try = try, .settle = settle, .land = land,
                                                .look_back = look_back, .has_budget = has_budget, .go_on = go_on};

static void set(double *to, double a, double b, double c, double d)
{
    const double x[N] = {a, b, c, d};
    memcpy(to, x, sizeof x);
}

static struct task *task_new(residuals *function, bool is_exact)
{
    struct task *task = calloc(1, sizeof *task);
    task->residuals = function;
    task->wall = INFINITY;
    task->sign = 1;
    task->budget = 1000;
    task->options = (struct fit_options){.accuracy = 1e-7, .f_tolerance = 1e-12, .g_tolerance = 1e-8};
    task->asker = (struct fit_asker){.options = &task->options, .is_exact = is_exact, .start_f = NAN,
                                     .accuracy = {.tighter = 1, .gradient = GRADIENT_forward}};
    task->asker.map = (struct fit_map){.n_free = N, .scale = task->scale, .start = task->start, .lower = task->lower,
                                       .upper = task->upper, .size = task->size};
    for (size_t j = 0; j < N; j++) {
        task->scale[j] = SCALE_LIN;
        task->lower[j] = -INFINITY;
        task->upper[j] = INFINITY;
    }
    for (int k = 0; k < 2; k++) {
        task->places[k].point.theta = task->places[k].theta;
        task->places[k].point.gradient = task->places[k].gradient;
    }
    task->best = &task->places[0];
    task->trial = &task->places[1];
    if (function == wood)
        set(task->start, -3, -1, -3, -1);
    else if (function == powell)
        set(task->start, 3, -1, 0, 1);
    else
        set(task->start, 0.25, 0.39, 0.415, 0.39);
    return task;
}

static enum outcome run(struct task *task)
{
    struct fit_search *search = &task->search;
    for (size_t j = 0; j < N; j++)
        task->size[j] = fabs(task->start[j]);
    search->method = &method;
    search->asker = &task->asker;
    search->reach_growth = TRUST_REACH_GROWTH;
    assert_true(trust_model_init(&search->model, &task->asker, &task->arena));
    return fit_search_run(search, false);
}

static void task_free(struct task *task)
{
    arena_fini(&task->arena);
    free(task);
}

static void assert_near(const struct task *task, double a, double b, double c, double d, double tolerance)
{
    const double x[N] = {a, b, c, d};
    for (size_t j = 0; j < N; j++)
        assert_true(fabs(task->best->theta[j] - x[j]) <= tolerance * fmax(1, fabs(x[j])));
}

static void test_curved_valley(void **state)
{
    (void)state;
    struct task *task = task_new(wood, true);
    assert_int_equal(run(task), OUTCOME_converged);
    assert_near(task, 1, 1, 1, 1, 1e-9);
    assert_true(task->best->point.f < 1e-20);
    assert_int_equal(task->n_loose, 0); /* closed forms are as exact as they can be */
    assert_int_equal(task->n_landing, 0);
    task_free(task);
}

/* Far from 0 by the fourth root of the objective, as derivatives vanish. */
static void test_singular_minimum(void **state)
{
    (void)state;
    struct task *task = task_new(powell, true);
    assert_int_equal(run(task), OUTCOME_converged);
    assert_near(task, 0, 0, 0, 0, 1e-3);
    assert_true(task->best->point.f < 1e-12);
    task_free(task);
}

static void test_residuals_that_stay(void **state)
{
    (void)state;
    struct task *task = task_new(kowalik, true);
    assert_int_equal(run(task), OUTCOME_converged);
    assert_true(fabs(2 * task->best->point.f - 3.07505e-4) < 1e-9); /* as it is published */
    task_free(task);
}

/* Karush, Kuhn and Tucker: no slope at free variables, and slopes that push against the bounds. */
static void test_bounds(void **state)
{
    (void)state;
    struct task *task = task_new(wood, true);
    task->upper[0] = 0.5;
    task->upper[2] = 0.6;
    set(task->start, 0, 0, 0, 0);
    assert_int_equal(run(task), OUTCOME_converged);
    const double *theta = task->best->theta, *gradient = task->best->gradient;
    assert_true(theta[0] == 0.5 && gradient[0] < -1e-3);
    assert_true(theta[2] == 0.6 && gradient[2] < -1e-3);
    assert_true(fabs(gradient[1]) < 1e-4 && fabs(gradient[3]) < 1e-4); /* the objective is of order 1 */
    task_free(task);
}

/* The first steps are at loose tolerances; values of two tolerances meet only where the search lands. */
static void test_loose_stages(void **state)
{
    (void)state;
    struct task *task = task_new(wood, false), *plain = task_new(wood, false);
    set(task->start, 2, 3, 2, 5);
    set(plain->start, 2, 3, 2, 5);
    assert_int_equal(run(task), OUTCOME_converged);
    assert_near(task, 1, 1, 1, 1, 1e-5);
    assert_true(task->n_loose > 1 && task->n_landing >= 1);
    assert_false(task->has_loosened);
    assert_true(task->tighter == 1 && !task->asker.accuracy.is_loose);
    plain->asker.is_near = true;
    assert_int_equal(run(plain), OUTCOME_converged);
    assert_int_equal(plain->n_loose, 0);
    assert_true(task->n_evaluation - task->n_loose < plain->n_evaluation); /* accurate ones cost most */
    task_free(task);
    task_free(plain);
}

/* Where the search ends, the exact objective is above its minimum by no more than the errors' share. */
static void test_noise(void **state)
{
    (void)state;
    const double rtol[] = {1e-4, 1e-6, 1e-8};
    struct task *exact = task_new(kowalik, true);
    assert_int_equal(run(exact), OUTCOME_converged);
    for (int k = 0; k < 3; k++) {
        struct task *task = task_new(kowalik, false);
        task->options.accuracy = rtol[k];
        assert_int_equal(run(task), OUTCOME_converged);
        double f = 0, r[MOST_ROW], slopes[N][MOST_ROW], least = exact->best->point.f;
        size_t n_row = kowalik(task->best->theta, r, slopes);
        for (size_t i = 0; i < n_row; i++)
            f += 0.5 * r[i] * r[i];
        assert_true(f - least <= 10 * rtol[k] * least);
        assert_true(task->n_evaluation <= 2 * exact->n_evaluation);
        task_free(task);
    }
    task_free(exact);
}

static void test_wall(void **state)
{
    (void)state;
    int n_failed = 0;
    for (int k = 0; k < 8; k++) {
        struct task *task = task_new(wood, true);
        task->wall = 1.001;
        set(task->start, 0.25 * k - 1.5, 2, 0.25 * k - 1.5, 2);
        assert_int_equal(run(task), OUTCOME_converged);
        assert_near(task, 1, 1, 1, 1, 1e-9);
        n_failed += task->n_failed;
        task_free(task);
    }
    assert_true(n_failed > 0);
}

static void test_start_beyond_the_wall(void **state)
{
    (void)state;
    struct task *task = task_new(wood, false);
    task->wall = -4;
    assert_int_equal(run(task), OUTCOME_model_failed);
    assert_null(task->search.best);
    assert_string_equal(task->asker.reason, "-3 is beyond the wall");
    assert_int_equal(task->n_evaluation, 2); /* at the requested tolerances, too */
    task_free(task);
}

/* The lowest point is kept, whenever the budget ends; and it is said if its value is a loose one. */
static void test_budget(void **state)
{
    (void)state;
    int n_loose = 0;
    for (int k = 2; k < 16; k++) {
        struct task *task = task_new(wood, false);
        task->budget = k / 2;
        task->is_unaware = k % 2;
        assert_int_equal(run(task), OUTCOME_budget);
        assert_int_equal(task->n_evaluation, task->budget);
        assert_true(task->search.best->f <= task->asker.start_f || isnan(task->asker.start_f));
        assert_non_null(strstr(task->asker.reason, "evaluations are used up"));
        bool is_loose = strstr(task->asker.reason, "(while tolerances were loose: so is the objective)");
        assert_true(task->is_unaware || !is_loose);
        n_loose += is_loose;
        task_free(task);
    }
    assert_true(n_loose > 0);
}

static void test_wrong_derivatives(void **state)
{
    (void)state;
    struct task *task = task_new(kowalik, true);
    task->sign = -1;
    assert_int_equal(run(task), OUTCOME_stalled);
    assert_non_null(strstr(task->asker.reason, "no further decrease was found although the gradient predicts"));
    assert_true(task->best->point.f <= task->asker.start_f);
    task_free(task);
}

/* An end above the lowest point that was seen: by less than the tolerance it is one as good as any; by more, derivatives are
 * wrong, or the values are. */
static void test_above_the_lowest_point(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct task *task = task_new(kowalik, true);
        task->options.accuracy = 1e-11; /* values are far more accurate than the tolerance */
        task->options.f_tolerance = 1e-3;
        task->said = 0.5 * 3.07505e-4 * (1 - (k == 0 ? 1e-4 : 0.5));
        enum outcome outcome = run(task);
        assert_int_equal(outcome, k == 0 ? OUTCOME_converged : OUTCOME_stalled);
        assert_true(k == 0 || strstr(task->asker.reason, "above the best point"));
        task_free(task);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_above_the_lowest_point),
        cmocka_unit_test(test_curved_valley), cmocka_unit_test(test_singular_minimum),
        cmocka_unit_test(test_residuals_that_stay), cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_loose_stages), cmocka_unit_test(test_noise),
        cmocka_unit_test(test_wall), cmocka_unit_test(test_start_beyond_the_wall),
        cmocka_unit_test(test_budget), cmocka_unit_test(test_wrong_derivatives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
