/* POLLU, the chemical part of an air pollution model: 20 species, 25 reactions (Verwer 1994, SIAM J. Sci. Comput. 15,
 * 1243-1250; in the Test Set for IVP Solvers). Its rate constants are the parameters. For benchmarks and tests.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_ODE_POLLU_H
#define BENCH_ODE_POLLU_H

#include <stiffit/model.h>
#include <string.h>

enum { POLLU_N = 20, POLLU_P = 25 };

/* A reaction: up to two species that are used up (0: none), and up to four that are made; all counted from 1. */
struct pollu_reaction {
    int in[2], out[4];
};

static const struct pollu_reaction pollu_reaction[POLLU_P] = {
    {{1, 0}, {2, 3}},     {{2, 4}, {1}},        {{5, 2}, {6, 1}},       {{7, 0}, {5, 5, 8}}, {{7, 0}, {8}},
    {{7, 6}, {8, 5}},     {{9, 0}, {10, 8, 5}}, {{9, 6}, {11}},         {{11, 2}, {10, 12, 1}}, {{11, 1}, {13}},
    {{13, 0}, {11, 1}},   {{10, 2}, {14, 1}},   {{14, 0}, {7, 5}},      {{1, 6}, {15}},      {{3, 0}, {4}},
    {{4, 0}, {16}},       {{4, 0}, {3}},        {{16, 0}, {6, 6}},      {{16, 0}, {3}},      {{17, 6}, {18, 5}},
    {{19, 0}, {2}},       {{19, 0}, {1, 3}},    {{1, 4}, {19}},         {{19, 1}, {20}},     {{20, 0}, {19, 1}}};

static const double pollu_rate[POLLU_P] = {.35,    26.6,  1.23e4, 8.6e-4, 8.2e-4, 1.5e4,  1.3e-4, 2.4e4,  1.65e4,
                                           9e3,    .022,  1.2e4,  1.88,   1.63e4, 4.8e6,  3.5e-4, .0175,  1e8,
                                           4.44e11, 1240, 2.1,    5.78,   .0474,  1780,   3.12};

static double pollu_activity(const struct pollu_reaction *r, const double *y)
{
    return (r->in[0] ? y[r->in[0] - 1] : 1) * (r->in[1] ? y[r->in[1] - 1] : 1);
}

static void pollu_add(const struct pollu_reaction *r, double rate, double *out)
{
    for (int i = 0; i < 2; i++)
        if (r->in[i])
            out[r->in[i] - 1] -= rate;
    for (int i = 0; i < 4; i++)
        if (r->out[i])
            out[r->out[i] - 1] += rate;
}

static int pollu_rhs(const struct stiffit_point *at, double *ydot)
{
    memset(ydot, 0, POLLU_N * sizeof(double));
    for (int k = 0; k < POLLU_P; k++)
        pollu_add(&pollu_reaction[k], at->p[k] * pollu_activity(&pollu_reaction[k], at->y), ydot);
    return STIFFIT_OK;
}

static int pollu_jacobian(const struct stiffit_point *at, double *J)
{
    memset(J, 0, POLLU_N * POLLU_N * sizeof(double));
    for (int k = 0; k < POLLU_P; k++) {
        const struct pollu_reaction *r = &pollu_reaction[k];
        for (int i = 0; i < 2; i++)
            if (r->in[i]) {
                int other = r->in[1 - i];
                pollu_add(r, at->p[k] * (other ? at->y[other - 1] : 1), J + (r->in[i] - 1) * POLLU_N);
            }
    }
    return STIFFIT_OK;
}

static int pollu_rhs_parameter(const struct stiffit_point *at, double *F)
{
    memset(F, 0, POLLU_N * POLLU_P * sizeof(double));
    for (int k = 0; k < POLLU_P; k++)
        pollu_add(&pollu_reaction[k], pollu_activity(&pollu_reaction[k], at->y), F + k * POLLU_N);
    return STIFFIT_OK;
}

static int pollu_initial(const struct stiffit_point *at, double *y)
{
    (void)at;
    memset(y, 0, POLLU_N * sizeof(double));
    y[1] = .2;
    y[3] = .04;
    y[6] = .1;
    y[7] = .3;
    y[8] = .01;
    y[16] = .007;
    return STIFFIT_OK;
}

static int pollu_zero(const struct stiffit_point *at, double *out)
{
    (void)at;
    memset(out, 0, POLLU_N * POLLU_P * sizeof(double));
    return STIFFIT_OK;
}

static int pollu_observe(const struct stiffit_point *at, double *h)
{
    memcpy(h, at->y, POLLU_N * sizeof(double));
    return STIFFIT_OK;
}

static const uint8_t pollu_use[POLLU_P] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

static const struct stiffit_model pollu_model = {
    STIFFIT_MODEL_HEADER, .name = "pollu", .n_state = POLLU_N, .n_parameter = POLLU_P, .n_observable = POLLU_N,
    .parameter_start = pollu_rate, .parameter_use = pollu_use, .rhs = pollu_rhs, .initial = pollu_initial,
    .observe = pollu_observe, .jacobian = pollu_jacobian, .rhs_parameter = pollu_rhs_parameter,
    .initial_parameter = pollu_zero};

#endif
