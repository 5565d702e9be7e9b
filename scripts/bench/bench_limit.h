/* What the two limit programs share: the data as bench_limit.py writes them, and Levenberg and Marquardt's search of one fit.
 *
 * They show what a fit costs if nothing is general: one model, its sensitivities by hand, one method,
 * no certificate, no journal, and of the statistics only standard errors.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_LIMIT_H
#define BENCH_LIMIT_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef double v8 __attribute__((vector_size(64)));
typedef long long m8 __attribute__((vector_size(64)));

static inline v8 v8_of(double x) { return (v8){x, x, x, x, x, x, x, x}; }
static inline v8 v8_if(m8 mask, v8 a, v8 b) { return (v8)((mask & (m8)a) | (~mask & (m8)b)); }
static inline v8 v8_abs(v8 x) { return (v8)((m8)x & 0x7fffffffffffffffLL); }
static inline v8 v8_max(v8 a, v8 b) { return v8_if(a > b, a, b); }

enum { LIMIT_MOST = 6 }; /* parameters + 1 */

/* Doubles: the counts; times; starts of the parameters; values and standard deviations, datasets x times x observables. */
struct limit_data {
    size_t n, n_time, n_observable, n_parameter;
    const double *time, *start, *value, *sigma;
    double *all, *result; /* result: of each fit parameters, standard errors, the objective, and the evaluations */
};

static inline struct limit_data limit_read(const char *path)
{
    struct limit_data data = {.n = 0};
    FILE *file = fopen(path, "rb");
    double head[4];
    if (!file || fread(head, sizeof *head, 4, file) != 4) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(4);
    }
    data.n = (size_t)head[0], data.n_time = (size_t)head[1], data.n_observable = (size_t)head[2];
    data.n_parameter = (size_t)head[3];
    size_t rows = data.n * data.n_time * data.n_observable, all = data.n_time + data.n_parameter + 2 * rows;
    data.all = malloc(all * sizeof(double));
    data.result = malloc(data.n * (2 * data.n_parameter + 2) * sizeof(double));
    if (!data.all || !data.result || fread(data.all, sizeof(double), all, file) != all) {
        fprintf(stderr, "%s is too short\n", path);
        exit(4);
    }
    fclose(file);
    data.time = data.all;
    data.start = data.time + data.n_time;
    data.value = data.start + data.n_parameter;
    data.sigma = data.value + rows;
    return data;
}

static inline int limit_write(const struct limit_data *data, const char *path)
{
    size_t n = data->n * (2 * data->n_parameter + 2);
    FILE *file = fopen(path, "wb");
    bool is_good = file && fwrite(data->result, sizeof(double), n, file) == n;
    return (file && fclose(file) != 0) || !is_good ? 4 : 0;
}

/* A search by the logarithms of n parameters. normal: the products of the residuals (first) and their derivatives. */
struct limit_search {
    int n, n_evaluation;
    double theta[LIMIT_MOST], trial[LIMIT_MOST], step[LIMIT_MOST];
    double normal[LIMIT_MOST][LIMIT_MOST], factor[LIMIT_MOST][LIMIT_MOST], f, damping, promise;
};

static inline void limit_begin(struct limit_search *search, int n, const double *start)
{
    *search = (struct limit_search){.n = n, .f = INFINITY, .damping = 1e-3, .promise = INFINITY};
    for (int j = 0; j < n; j++)
        search->theta[j] = search->trial[j] = log(start[j]);
}

/* Cholesky's factor of the damped normal matrix, in its lower half. */
static inline void limit_factor(struct limit_search *search, double damping)
{
    for (int j = 0; j < search->n; j++)
        for (int i = j; i < search->n; i++) {
            double sum = search->normal[1 + i][1 + j] * (i == j ? 1 + damping : 1);
            for (int k = 0; k < j; k++)
                sum -= search->factor[i][k] * search->factor[j][k];
            search->factor[i][j] = i == j ? sqrt(sum) : sum / search->factor[j][j];
        }
}

static inline void limit_solve(const struct limit_search *search, double *x)
{
    for (int i = 0; i < search->n; i++) {
        for (int k = 0; k < i; k++)
            x[i] -= search->factor[i][k] * x[k];
        x[i] /= search->factor[i][i];
    }
    for (int i = search->n; i-- > 0;) {
        for (int k = i + 1; k < search->n; k++)
            x[i] -= search->factor[k][i] * x[k];
        x[i] /= search->factor[i][i];
    }
}

/* Takes the products at the trial, and sets the next one. True: a full step would gain less than 1e-9 of the objective, or the
 * last one promised little more and gained nothing. */
static inline bool limit_next(struct limit_search *search, const double normal[LIMIT_MOST][LIMIT_MOST])
{
    enum { MOST = 200 };
    int n = search->n;
    double f = 0.5 * normal[0][0], promise = 0;
    if (!(f < search->f) && search->promise <= 1e-6 * search->f)
        return true;
    if (f < search->f) {
        memcpy(search->normal, normal, sizeof search->normal);
        memcpy(search->theta, search->trial, sizeof search->theta);
        search->f = f;
        search->damping = search->damping > 1e-7 ? 0.05 * search->damping : 0;
    } else
        search->damping = fmax(10 * search->damping, 1e-4);
    limit_factor(search, search->damping);
    for (int j = 0; j < n; j++)
        search->step[j] = -search->normal[1 + j][0];
    limit_solve(search, search->step);
    for (int j = 0; j < n; j++) {
        promise -= 0.5 * search->normal[1 + j][0] * search->step[j];
        search->trial[j] = search->theta[j] + fmin(fmax(search->step[j], -2), 2);
    }
    search->promise = promise;
    return (search->damping < 1e-3 && promise <= 1e-9 * search->f) || ++search->n_evaluation >= MOST;
}

/* Parameters and standard errors in natural units; `scale`: the residuals' variance. */
static inline void limit_end(struct limit_search *search, double scale, double *result)
{
    int n = search->n;
    limit_factor(search, 0);
    for (int j = 0; j < n; j++) {
        double unit[LIMIT_MOST] = {0};
        unit[j] = 1;
        limit_solve(search, unit);
        result[j] = exp(search->theta[j]);
        result[n + j] = result[j] * sqrt(unit[j] * scale);
    }
    result[2 * n] = search->f;
    result[2 * n + 1] = search->n_evaluation;
}

#endif
