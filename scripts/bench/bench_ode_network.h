/* A reaction network of any size: as many mass-action reactions among the states as there are parameters, each
 * with its own rate constant, rates spread over four decades. For the benchmark of adjoint gradients and its tests,
 * where examples with some hundred parameters are wanted.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_ODE_NETWORK_H
#define BENCH_ODE_NETWORK_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stiffit/model.h>
#include <string.h>

enum { NETWORK_MOST = 4096 };

struct network_reaction {
    size_t from, with, to; /* y_from (+ y_with, where it is another state) -> y_to (+ y_with) */
};

/* The network of the moment: the model's functions are told neither sizes nor structure. */
static size_t network_n, network_p;
static struct network_reaction network_reactions[NETWORK_MOST];

/* Most convert; every third one needs a catalyst, which makes it nonlinear. */
static inline void network_choose(size_t n_state, size_t n_parameter)
{
    network_n = n_state;
    network_p = n_parameter;
    for (size_t j = 0; j < n_parameter; j++) {
        size_t from = j % n_state, to = (from + 1 + j / n_state % (n_state - 1)) % n_state;
        size_t with = j % 3 == 2 ? (from + 2 + j / 7) % n_state : from;
        network_reactions[j] = (struct network_reaction){.from = from, .with = with, .to = to};
    }
}

/* 1e-2 to 1e2, in no order */
static inline double network_start(size_t j) { return pow(10, 4 * fmod(0.6180339887498949 * (double)(j + 1), 1) - 2); }

static int network_rhs(const struct stiffit_point *at, double *f)
{
    memset(f, 0, network_n * sizeof *f);
    for (size_t j = 0; j < network_p; j++) {
        struct network_reaction r = network_reactions[j];
        double rate = at->p[j] * at->y[r.from] * (r.with != r.from ? at->y[r.with] : 1);
        f[r.from] -= rate;
        f[r.to] += rate;
    }
    return STIFFIT_OK;
}
static int network_jacobian(const struct stiffit_point *at, double *J)
{
    memset(J, 0, network_n * network_n * sizeof *J);
    for (size_t j = 0; j < network_p; j++) {
        struct network_reaction r = network_reactions[j];
        bool catalysed = r.with != r.from;
        double by_from = at->p[j] * (catalysed ? at->y[r.with] : 1);
        J[r.from + r.from * network_n] -= by_from;
        J[r.to + r.from * network_n] += by_from;
        if (catalysed) {
            double by_with = at->p[j] * at->y[r.from];
            J[r.from + r.with * network_n] -= by_with;
            J[r.to + r.with * network_n] += by_with;
        }
    }
    return STIFFIT_OK;
}
static int network_rhs_parameter(const struct stiffit_point *at, double *F)
{
    memset(F, 0, network_n * network_p * sizeof *F);
    for (size_t j = 0; j < network_p; j++) {
        struct network_reaction r = network_reactions[j];
        double by_p = at->y[r.from] * (r.with != r.from ? at->y[r.with] : 1);
        F[r.from + j * network_n] -= by_p;
        F[r.to + j * network_n] += by_p;
    }
    return STIFFIT_OK;
}
static int network_initial(const struct stiffit_point *at, double *y)
{
    (void)at;
    for (size_t i = 0; i < network_n; i++)
        y[i] = 1.0 / (double)(1 + i);
    return STIFFIT_OK;
}
static int network_initial_parameter(const struct stiffit_point *at, double *Y)
{
    (void)at;
    memset(Y, 0, network_n * network_p * sizeof *Y);
    return STIFFIT_OK;
}
/* Two observables: the first state, and the sum of the last two. */
static int network_observe(const struct stiffit_point *at, double *h)
{
    h[0] = at->y[0];
    h[1] = at->y[network_n - 1] + at->y[network_n - 2];
    return STIFFIT_OK;
}
static int network_observe_state(const struct stiffit_point *at, double *H)
{
    (void)at;
    memset(H, 0, 2 * network_n * sizeof *H);
    H[0] = 1;
    H[1 + 2 * (network_n - 1)] = H[1 + 2 * (network_n - 2)] = 1;
    return STIFFIT_OK;
}
static int network_observe_parameter(const struct stiffit_point *at, double *H)
{
    (void)at;
    memset(H, 0, 2 * network_p * sizeof *H);
    return STIFFIT_OK;
}

/* n_parameter up to NETWORK_MOST; use: n_parameter places, filled here. One network at a time. */
static inline struct stiffit_model network_model(size_t n_state, size_t n_parameter, uint8_t *use)
{
    network_choose(n_state, n_parameter);
    memset(use, STIFFIT_USE_RHS, n_parameter);
    return (struct stiffit_model){
        STIFFIT_MODEL_HEADER, .name = "network", .n_state = (uint32_t)n_state, .n_parameter = (uint32_t)n_parameter,
        .n_observable = 2, .parameter_use = use, .rhs = network_rhs, .initial = network_initial,
        .observe = network_observe, .jacobian = network_jacobian, .rhs_parameter = network_rhs_parameter,
        .initial_parameter = network_initial_parameter, .observe_state = network_observe_state,
        .observe_parameter = network_observe_parameter};
}

#endif
