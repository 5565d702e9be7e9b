/* Evaluations in which something happens, compared with closed forms: the state and all its sensitivities, on each side of it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_UNIT_ODE_STOPS_CASE_H
#define TESTS_UNIT_ODE_STOPS_CASE_H

#include "model_case.h"
#include "ode_case.h"

enum { MOST = 64 };

/* The observables at a time, on a side of what happens then. */
typedef void closed_form(const double *p, double t, int side, double *out);

struct story {
    const struct stiffit_model *model;
    const double *p;
    closed_form *closed;
    size_t n_dose, n_time;
    const struct dose *dose;
    const struct input *input;
    const double *time;
    const int8_t *side;
    double tolerance; /* of values, and of sensitivities times the size of their parameter */
};

static const struct ode_options tight = {.rtol = 1e-10, .n_none = 4};

/* The engine that all stories are told with, and whether the model's own derivatives are left out. */
static enum engine_kind teller = ENGINE_CVODES;
static bool by_quotients;
static inline int use_quotients(void **state)
{
    (void)state;
    by_quotients = true;
    return 0;
}
static inline int use_lanes(void **state)
{
    (void)state;
    teller = ENGINE_LANES;
    by_quotients = false;
    return 0;
}
#define RUN_WITH_ALL_ENGINES(tests) \
    (cmocka_run_group_tests_name("cvodes", tests, NULL, NULL) + \
     cmocka_run_group_tests_name("cvodes by quotients", tests, use_quotients, NULL) + \
     cmocka_run_group_tests_name("lanes", tests, use_lanes, NULL))

static inline void begin_model(struct ode_case *c, const struct stiffit_model *model, const struct ode_options *options,
                               const double *p, size_t n_time, const double *time)
{
    struct stiffit_model own = by_quotients ? without_derivatives(model) : *model;
    if (teller != ENGINE_LANES)
        own.lanes = NULL;
    ode_case_init_engine(c, engine_in_use[teller], &own, options, 1, p, NULL, 0, n_time, time);
    c->evaluation.engine = teller;
}

static inline void begin(struct ode_case *c, const struct story *s, const struct ode_options *options)
{
    begin_model(c, s->model, options, s->p, s->n_time, s->time);
    c->task.experiment.n_dose = s->n_dose;
    c->task.experiment.dose = s->dose;
    c->task.experiment.input = s->input;
    c->task.time_side = s->side;
}

/* The derivative of the closed form: five points, whose error is a fourth power of 1e-3. */
static inline void differentiate(const struct story *s, size_t j, double t, int side, double *out)
{
    size_t n = s->model->n_observable;
    static const double weight[] = {1, -8, 8, -1}, place[] = {-2, -1, 1, 2};
    double p[MOST], value[MOST], h = 1e-3 * (s->p[j] != 0 ? fabs(s->p[j]) : 1);
    memset(out, 0, n * sizeof *out);
    for (int k = 0; k < 4; k++) {
        memcpy(p, s->p, s->model->n_parameter * sizeof *p);
        p[j] += place[k] * h;
        s->closed(p, t, side, value);
        for (size_t i = 0; i < n; i++)
            out[i] += weight[k] * value[i] / (12 * h);
    }
}

static inline void compare(const struct story *s, const struct ode_case *c, bool with_derivatives)
{
    size_t n = s->model->n_observable;
    double value[MOST], derivative[MOST];
    for (size_t i = 0; i < s->n_time; i++) {
        int side = s->side ? s->side[i] : 0;
        s->closed(s->p, s->time[i], side, value);
        for (size_t o = 0; o < n; o++)
            assert_close(c->prediction[i * n + o], value[o], s->tolerance * (1 + fabs(value[o])), "value at time", i, o);
        for (size_t j = 0; with_derivatives && j < s->model->n_parameter; j++) {
            differentiate(s, j, s->time[i], side, derivative);
            double unit = fmax(fabs(s->p[j]), 0.1);
            for (size_t o = 0; o < n; o++)
                assert_close(unit * c->d_prediction[i * n + o + j * c->n_row], unit * derivative[o],
                             10 * s->tolerance * (1 + unit * fabs(derivative[o])), "derivative at row", i * n + o, j);
        }
    }
}

static inline void tell(const struct story *s)
{
    struct ode_case c;
    begin(&c, s, &tight);
    ode_case_run(&c);
    compare(s, &c, true);
    assert_false(c.evaluation.crosses);
    /* The same bits again, and predictions alone. */
    double *first = malloc(c.n_row * sizeof *first);
    memcpy(first, c.prediction, c.n_row * sizeof *first);
    ode_case_run(&c);
    assert_memory_equal(first, c.prediction, c.n_row * sizeof *first);
    free(first);
    c.evaluation.n_sens = 0;
    ode_case_run(&c);
    compare(s, &c, false);
    ode_case_fini(&c);
}

static inline bool is_past(double t, int side, double event) { return t > event || (t == event && side > 0); }

#endif
