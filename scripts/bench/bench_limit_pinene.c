/* The limit for alpha-pinene: one fit at a time, each state and its five sensitivities in one register, Dormand and Prince's
 * method of order 5 with its continuous extension (Hairer, Norsett & Wanner 1993, II.6).
 *
 *     bench_limit_pinene DATA RESULT RTOL
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bench_limit.h"

enum { N = 5, P = 5 };
static const double NODE[6][6] = {{1.0 / 5},
                                  {3.0 / 40, 9.0 / 40},
                                  {44.0 / 45, -56.0 / 15, 32.0 / 9},
                                  {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
                                  {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
                                  {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84}};
static const double ERROR[7] = {71.0 / 57600, 0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525, -1.0 / 40};
static const double DENSE[7] = {-12715105075.0 / 11282082432, 0, 87487479700.0 / 32700410799, -10690763975.0 / 1880347072,
                                701980252875.0 / 199316789632, -1453857185.0 / 822651844, 69997945.0 / 29380423};

/* Entry 0 of a register is the state, entry 1 + j its derivative by the logarithm of parameter j. */
static inline void slope(const double *p, const v8 *y, v8 *f)
{
    v8 a = p[0] * y[0], b = p[1] * y[0], c = p[2] * y[2], d = p[3] * y[2], e = p[4] * y[4];
    a[1] += a[0];
    b[2] += b[0];
    c[3] += c[0];
    d[4] += d[0];
    e[5] += e[0];
    f[0] = -(a + b);
    f[1] = a;
    f[2] = b - c - d + e;
    f[3] = c;
    f[4] = d - e;
}

/* Adds the products of the residuals and their derivatives at a time, of which each register is a row. */
static inline void add(const v8 *y, const double *value, const double *sigma, v8 *normal)
{
    for (int i = 0; i < N; i++) {
        v8 row = y[i];
        row[0] -= value[i];
        row *= 1 / sigma[i];
        for (int k = 0; k < 1 + P; k++)
            normal[k] += row[k] * row;
    }
}

/* False: the step size vanishes. */
static bool evaluate(const struct limit_data *data, const double *p, const double *value, const double *sigma, double rtol,
                     double normal[LIMIT_MOST][LIMIT_MOST])
{
    v8 y[N] = {{100}}, next[N], k[7][N], sum[1 + P] = {{0}};
    double t = 0, h = 100, end = data->time[data->n_time - 1], last = 1e-4;
    size_t at = 0;
    slope(p, y, k[0]);
    while (at < data->n_time) {
        for (int s = 0; s < 6; s++) {
            for (int i = 0; i < N; i++) {
                v8 step = NODE[s][0] * k[0][i];
                for (int j = 1; j <= s; j++)
                    step += NODE[s][j] * k[j][i];
                next[i] = y[i] + h * step;
            }
            slope(p, next, k[s + 1]);
        }
        v8 squares = {0}; /* each column has its own norm, the largest counts */
        for (int i = 0; i < N; i++) {
            v8 error = ERROR[0] * k[0][i];
            for (int j = 2; j < 7; j++)
                error += ERROR[j] * k[j][i];
            error *= h / (rtol * (v8_max(v8_abs(y[i]), v8_abs(next[i])) + 1));
            squares += error * error;
        }
        double most = 1e-10;
        for (int j = 0; j < 1 + P; j++)
            most = fmax(most, squares[j] / N);
        double factor = 0.9 * pow(most, -0.5 * 0.17) * pow(last, 0.04); /* Gustafsson's, as in DOPRI5 */
        if (most > 1) {
            h *= fmax(0.2, 0.9 * pow(most, -0.1));
            if (!(h > 1e-12 * end))
                return false;
            continue;
        }
        last = fmax(sqrt(most), 1e-4);
        for (; at < data->n_time && data->time[at] <= t + h; at++) {
            double x = (data->time[at] - t) / h;
            v8 there[N];
            for (int i = 0; i < N; i++) {
                v8 change = next[i] - y[i], bend = h * k[0][i] - change, more = change - h * k[6][i] - bend;
                v8 fourth = DENSE[0] * k[0][i];
                for (int j = 2; j < 7; j++)
                    fourth += DENSE[j] * k[j][i];
                there[i] = y[i] + x * (change + (1 - x) * (bend + x * (more + (1 - x) * h * fourth)));
            }
            add(there, value + at * N, sigma + at * N, sum);
        }
        t += h;
        h *= fmin(5, fmax(0.2, factor));
        memcpy(y, next, sizeof y);
        memcpy(k[0], k[6], sizeof k[0]);
    }
    for (int i = 0; i < 1 + P; i++)
        for (int j = 0; j < 1 + P; j++)
            normal[i][j] = sum[i][j];
    return true;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    struct limit_data data = limit_read(argv[1]);
    size_t rows = data.n_time * N;
    if (data.n_parameter != P || data.n_observable != N)
        return 3;
    for (size_t i = 0; i < data.n; i++) {
        struct limit_search search;
        double normal[LIMIT_MOST][LIMIT_MOST], p[P];
        limit_begin(&search, P, data.start);
        do {
            for (int j = 0; j < P; j++)
                p[j] = exp(search.trial[j]);
            if (!evaluate(&data, p, data.value + i * rows, data.sigma + i * rows, atof(argv[3]), normal))
                normal[0][0] = INFINITY;
        } while (!limit_next(&search, normal));
        limit_end(&search, 1, data.result + i * (2 * P + 2));
    }
    return limit_write(&data, argv[2]);
}
