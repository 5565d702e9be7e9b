/* The classic stiff problems (models/, made from text): predictions and forward sensitivities against the reference
 * solutions, which an independent integrator made in extended precision.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model_case.h"
#include "ode_case.h"

enum { MAX_TIME = 16, MAX_COLUMN = 1000, MAX_NAME = 64 };

struct classic {
    const char *name;
    double atol;
    double tolerance, sensitivity_tolerance; /* over the largest value of each column */
    double end;                              /* rows beyond it are left out */
};

/* 1e-6 of each column's largest value, as rtol is 1e-10 and a run has some thousand steps; but
 * - within a jump of vdpol the sensitivities grow by nine decades and shrink again, and an error made meanwhile stays as one
 *   of the jump's time: CVODES' own sensitivities at rtol 1e-10 are off by 1.4e-3 behind the jump, the engine's by 1.9e-3; the
 *   gentler folds of cusp cost 1e-6 and the sun in diurnal's exponents some 1e-7;
 * - the ring modulator's oscillations at MHz hold BDF to low orders: 100,000 steps by t = 1e-4, errors of 1e-5. */
static const struct classic classics[] = {
    {"hires", 1e-14, 1e-6, 1e-6, INFINITY},
    {"pollu", 1e-20, 1e-6, 1e-6, INFINITY},
    {"oregonator", 1e-10, 1e-6, 1e-6, INFINITY},
    {"vdpol", 1e-12, 1e-6, 1e-2, INFINITY},
    {"e5", 1e-32, 1e-6, 1e-6, INFINITY},
    {"chemical-akzo-nobel", 1e-14, 1e-6, 1e-6, INFINITY},
    {"diurnal", 1e-12, 1e-6, 1e-5, INFINITY},
    {"ring-modulator", 1e-14, 1e-4, 1e-4, 1e-4},
    {"brusselator", 1e-12, 1e-6, 1e-6, INFINITY},
    {"cusp", 1e-12, 1e-6, 1e-5, INFINITY},
    {"medical-akzo-nobel", 1e-15, 1e-6, 1e-6, INFINITY},
};
enum { N_CLASSIC = sizeof classics / sizeof *classics };

struct reference {
    size_t n_time, n_column;
    double time[MAX_TIME], value[MAX_TIME][MAX_COLUMN];
    char header[MAX_COLUMN][MAX_NAME];
};

static void read_reference(struct reference *r, const char *name, double end)
{
    static char line[1 << 16];
    char path[256];
    snprintf(path, sizeof path, "models/%s/reference.csv", name);
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("%s cannot be read: run the tests from the top folder", path);
    assert_non_null(fgets(line, sizeof line, file)); /* the values used: the model's own starts */
    assert_non_null(fgets(line, sizeof line, file));
    r->n_column = r->n_time = 0;
    for (char *word = strtok(line, ",\n"); word; word = strtok(NULL, ",\n")) {
        assert_true(r->n_column < MAX_COLUMN);
        snprintf(r->header[r->n_column++], MAX_NAME, "%s", word);
    }
    while (fgets(line, sizeof line, file)) {
        char *at = line;
        assert_true(r->n_time < MAX_TIME);
        for (size_t i = 0; i < r->n_column; i++) {
            r->value[r->n_time][i] = strtod(at, &at);
            at += *at == ',';
        }
        r->time[r->n_time] = r->value[r->n_time][0];
        r->n_time += r->time[r->n_time] <= end;
    }
    fclose(file);
}

/* The column of that name compared with `ours`, a value each `stride`. Returns the largest difference over the column's
 * size, or -1 where there is no such column. */
static double difference(const struct reference *r, const char *header, const double *ours, size_t stride)
{
    for (size_t i = 0; i < r->n_column; i++) {
        if (strcmp(r->header[i], header) != 0)
            continue;
        double size = 0, worst = 0;
        for (size_t t = 0; t < r->n_time; t++) {
            size = fmax(size, fabs(r->value[t][i]));
            worst = fmax(worst, fabs(ours[t * stride] - r->value[t][i]));
        }
        return size > 0 ? worst / size : worst;
    }
    return -1;
}

static void compare(const struct classic *classic, double easier, const struct stiffit_model *model, const struct ode_case *c,
                    const struct reference *r)
{
    char header[3 * MAX_NAME];
    size_t n = model->n_observable, n_compared = 0;
    double worst = 0, worst_sensitivity = 0;
    for (uint32_t i = 0; i < n; i++) {
        const char *name = model->observable_name[i];
        snprintf(header, sizeof header, "observable:%s", name);
        double off = difference(r, header, c->prediction + i, n);
        if (!(off >= 0 && off <= easier * classic->tolerance))
            fail_msg("%s: %s differs by %g of its size", classic->name, header, off);
        worst = fmax(worst, off);
        for (uint32_t k = 0; k < model->n_parameter; k++) {
            snprintf(header, sizeof header, "sensitivity:%s/%s", name, model->parameter_name[k]);
            off = difference(r, header, c->d_prediction + k * c->n_row + i, n);
            if (off > easier * classic->sensitivity_tolerance)
                fail_msg("%s: %s differs by %g of its size", classic->name, header, off);
            n_compared += off >= 0;
            worst_sensitivity = fmax(worst_sensitivity, off);
        }
    }
    /* All observables but e5's y3 are states. */
    assert_true(n_compared >= (n - 1) * model->n_parameter);
    print_message("%-20s predictions %.1e, sensitivities %.1e\n", classic->name, worst, worst_sensitivity);
}

static void run_classics(const struct engine_table *table, double rtol, double easier)
{
    static struct reference r;
    for (size_t m = 0; m < N_CLASSIC; m++) {
        const struct stiffit_model *model = example_model(classics[m].name);
        if (table == &engine_lanes && (model->struct_size < sizeof *model || engine_lanes.refusal(model))) {
            print_message("%-20s not taken\n", classics[m].name);
            continue;
        }
        read_reference(&r, classics[m].name, classics[m].end);
        struct ode_options options = {.rtol = rtol, .atol = classics[m].atol, .linear_solver = LINEAR_AUTO};
        struct ode_case c;
        ode_case_init_engine(&c, table, model, &options, 1, model->parameter_start, NULL, 0, r.n_time, r.time);
        ode_case_run(&c);
        compare(&classics[m], easier, model, &c, &r);
        ode_case_fini(&c);
    }
}

static void test_classics(void **state)
{
    (void)state;
    run_classics(&engine_cvodes, 1e-10, 1);
}

static void test_lanes(void **state)
{
    (void)state;
    run_classics(&engine_lanes, 1e-10, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_classics), cmocka_unit_test(test_lanes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
