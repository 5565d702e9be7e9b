/* Functions of lanes of every model text: against the scalar functions, and second derivatives against differences of the
 * first ones; what other lanes hold changes no bit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "lanes_case.h"

#include "model/plugin.h"

#include <dirent.h>

static void load(struct model *model, const char *name)
{
    char path[CASE_PATH], file[300];
    struct error error = {0};
    snprintf(file, sizeof file, "models/%s", name);
    if (model_load(model, case_path(path, file), NULL, &error) != STATUS_OK)
        fail_msg("%s", error.message);
}

/* Calls `look` for each model with lanes. */
static void for_each_model(void (*look)(const char *name, const struct stiffit_model *abi))
{
    char folder[CASE_PATH];
    DIR *models = opendir(case_path(folder, "models"));
    int n = 0;
    assert_non_null(models);
    for (struct dirent *entry; (entry = readdir(models));) {
        size_t length = strlen(entry->d_name);
        struct model model;
        if (length < 4 || strcmp(entry->d_name + length - 3, ".so") != 0)
            continue;
        load(&model, entry->d_name);
        if (model.abi.lanes) {
            look(entry->d_name, &model.abi);
            n++;
        }
        model_unload(&model);
    }
    closedir(models);
    assert_true(n >= 10); /* else there is a reason to look for it */
}

static double next_uniform(uint64_t *drawn) { return random_uniform(1, 0, (*drawn)++); }

/* Parameters at 0.7 to 1.3 of their starts, covariates and states around 1, a time after t0. */
static void draw(uint64_t *drawn, const struct lanes_case *c, struct lane_point *lane)
{
    for (size_t i = 0; i < c->n_p; i++)
        lane->p[i] = (c->abi->parameter_start ? c->abi->parameter_start[i] : 1) * (0.7 + 0.6 * next_uniform(drawn));
    for (size_t i = 0; i < c->n_c; i++)
        lane->c[i] = 0.5 + next_uniform(drawn);
    for (size_t i = 0; i < c->n; i++)
        lane->y[i] = 0.2 + next_uniform(drawn);
    for (size_t i = 0; i <= c->n; i++)
        lane->d[i] = 2 * next_uniform(drawn) - 1;
    lane->at.t = c->abi->t0 + 3 * next_uniform(drawn);
}

/* Both sum the same terms, perhaps in another order: some units in the last place of the largest term, which is unknown, but
 * in these models no 1e3 times larger than the largest result. */
static void assert_near(double got, double wanted, double size, double tolerance, const char *name, const char *what, size_t i,
                        size_t j)
{
    if (!(fabs(got - wanted) <= tolerance * (fabs(wanted) + size)))
        fail_msg("%s: %s[%zu, %zu]: %.17g is not %.17g", name, what, i, j, got, wanted);
}

static double largest(const double *x, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

static void compare_lane(const char *name, struct lanes_case *c, const struct lane_point *lane, size_t k)
{
    size_t n = c->n, n_jacobian = n * n, n_parameter = n * c->n_p;
    double *rhs = calloc(n, sizeof *rhs), *one = calloc(n_jacobian + n_parameter, sizeof *one);
    const struct stiffit_lanes *lanes = c->abi->lanes;
    assert_true(rhs && one);
    assert_int_equal(c->abi->rhs(&lane->at, rhs), STIFFIT_OK);
    lane_derivatives(c, &lane->at, one, one + n_jacobian);
    double size = 1e-2 * largest(rhs, n), size_1 = 1e-2 * largest(one, n_jacobian + n_parameter);
    for (size_t i = 0; i < n; i++) {
        assert_near(c->rhs[i * W + k], rhs[i], size, 1e-12, name, "rhs", i, 0);
        assert_near(c->derive[i * W + k], rhs[i], size, 1e-12, name, "derive", i, 0);
        for (size_t j = 0; j < n; j++)
            assert_near(lanes_entry(&lanes->by_state, c->derive, n, i, j, k), one[i + j * n], size_1, 1e-12, name, "by_state", i,
                        j);
        size_t first = n + (size_t)lanes->by_state.start[n + 1];
        for (size_t j = 0; j < c->n_p; j++)
            assert_near(lanes_entry(&lanes->by_parameter, c->derive, first, i, j, k), one[n_jacobian + i + j * n], size_1, 1e-12,
                        name, "by_parameter", i, j);
    }
    free(rhs);
    free(one);
}

/* How fast a model's rates change, and where its states are: as they are for most, with one exception, exp(17.7 y) and
 * sin(2e4 pi t). */
static const struct place { const char *name; double step, size; } ring = {"ring-modulator.so", 2e-8, 0.02}, other = {"", 2e-3, 1};

static const struct place *place_of(const char *name) { return strcmp(name, ring.name) == 0 ? &ring : &other; }

/* Six-point differences along the direction, of rhs by time and of the derivatives by everything: error h^6/140 of the seventh
 * derivative, about 1e-9 here, and 1e-15/h of the largest number. */
static void compare_curve(const char *name, struct lanes_case *c, const struct lane_point *lane, size_t k)
{
    static const double weight[3] = {45, -9, 1};
    double h = place_of(name)->step;
    size_t n = c->n, n_jacobian = n * n, n_all = n_jacobian + n * c->n_p;
    double *slope = calloc(n + 3 * n_all, sizeof *slope), *by_time = slope + n_all, *value = by_time + n, size = 0;
    const struct stiffit_lanes *lanes = c->abi->lanes;
    struct lane_point moved;
    assert_non_null(slope);
    lane_point_init(&moved, c);
    memcpy(moved.p, lane->p, c->n_p * sizeof(double));
    memcpy(moved.c, lane->c, c->n_c * sizeof(double));
    memcpy(moved.w, lane->w, c->n_w * sizeof(double));
    double size_f = 0;
    for (int s = -3; s <= 3; s++) {
        double factor = s ? weight[abs(s) - 1] * (s < 0 ? -1 : 1) / (60 * h) : 0;
        for (size_t i = 0; i < n; i++)
            moved.y[i] = lane->y[i] + s * h * lane->d[i];
        moved.at.t = lane->at.t + s * h * lane->d[n];
        lane_derivatives(c, &moved.at, value, value + n_jacobian);
        for (size_t e = 0; e < n_all; e++)
            slope[e] += factor * value[e];
        size = fmax(size, largest(value, n_all));
        moved.at.t = lane->at.t + s * h;
        memcpy(moved.y, lane->y, n * sizeof(double));
        assert_int_equal(c->abi->rhs(&moved.at, value), STIFFIT_OK);
        for (size_t i = 0; i < n; i++)
            by_time[i] += factor * value[i];
        size_f = fmax(size_f, largest(value, n));
    }
    size_t first = (size_t)lanes->curve_state.start[n];
    size *= fmax(1, 1e-7 / h);
    size_f *= fmax(1, 1e-7 / h);
    for (size_t i = 0; i < n; i++) {
        assert_near(lanes_entry(&lanes->by_state, c->derive, n, i, n, k), by_time[i], size_f, 1e-8, name, "by time", i, n);
        for (size_t j = 0; j < n; j++)
            assert_near(lanes_entry(&lanes->curve_state, c->curve, 0, i, j, k), slope[i + j * n], size, 1e-8, name,
                        "curve_state", i, j);
        for (size_t j = 0; j < c->n_p; j++)
            assert_near(lanes_entry(&lanes->curve_parameter, c->curve, first, i, j, k), slope[n_jacobian + i + j * n], size, 1e-8,
                        name, "curve_parameter", i, j);
    }
    lane_point_fini(&moved);
    free(slope);
}

static void look_at_values(const char *name, const struct stiffit_model *abi)
{
    struct lanes_case c;
    struct lane_point lane[W];
    uint64_t drawn = 0;
    lanes_case_init(&c, abi);
    for (size_t k = 0; k < W; k++) {
        lane_point_init(&lane[k], &c);
        draw(&drawn, &c, &lane[k]);
        for (size_t i = 0; i < c.n; i++)
            lane[k].y[i] *= place_of(name)->size;
        lane[k].at.t = abi->t0 + (lane[k].at.t - abi->t0) * place_of(name)->step / other.step;
        lanes_put(&c, k, &lane[k]);
    }
    lanes_call(&c);
    for (size_t k = 0; k < W; k++) {
        compare_lane(name, &c, &lane[k], k);
        compare_curve(name, &c, &lane[k], k);
        lane_point_fini(&lane[k]);
    }
    lanes_case_fini(&c);
}

static void test_values(void **state)
{
    (void)state;
    for_each_model(look_at_values);
}

/* With everything else in the lanes at hostile values, a lane keeps its bits, in every place. */
static void look_at_neighbours(const char *name, const struct stiffit_model *abi)
{
    static const double hostile[] = {NAN, INFINITY, -INFINITY, 0, -1, 1e308, -1e308, 5e-324, 1e-300, 800, -800};
    struct lanes_case c;
    struct lane_point lane;
    uint64_t drawn = 0;
    lanes_case_init(&c, abi);
    lane_point_init(&lane, &c);
    draw(&drawn, &c, &lane);
    double *alone = NULL;
    size_t n_all = c.n + c.n_derive + c.n_curve;
    assert_non_null(alone = calloc(n_all, sizeof *alone));
    for (size_t round = 0; round < 200; round++) {
        size_t mine = round % W;
        double *const array[] = {c.t, c.y, c.p, c.c, c.w, c.d};
        const size_t n[] = {1, c.n, c.n_p, c.n_c, c.n_w, c.n + 1};
        for (size_t a = 0; a < 6; a++)
            for (size_t i = 0; i < n[a] * W; i++)
                array[a][i] = hostile[random_below(2, 0, drawn++, sizeof hostile / sizeof *hostile)];
        lanes_put(&c, mine, &lane);
        lanes_call(&c);
        const double *const out[] = {c.rhs, c.derive, c.curve};
        const size_t n_out[] = {c.n, c.n_derive, c.n_curve};
        for (size_t f = 0, at = 0; f < 3; at += n_out[f++])
            for (size_t i = 0; i < n_out[f]; i++) {
                if (round == 0)
                    alone[at + i] = out[f][i * W];
                if (memcmp(&alone[at + i], &out[f][i * W + mine], sizeof *alone) != 0)
                    fail_msg("%s: number %zu of function %zu is %.17g alone and %.17g in lane %zu", name, i, f, alone[at + i],
                             out[f][i * W + mine], mine);
            }
    }
    free(alone);
    lane_point_fini(&lane);
    lanes_case_fini(&c);
}

static void test_neighbours(void **state)
{
    (void)state;
    for_each_model(look_at_neighbours);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_neighbours)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
