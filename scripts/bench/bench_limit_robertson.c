/* The limit for Robertson's problem: eight fits in lanes, each with its own time and step, and the next fit where
 * one has ended; RODAS of order 4 with its continuous extension (Hairer & Wanner 1996, IV.7 and VI.4) for
 * the states and their derivatives by the logarithms of the parameters.
 *
 *     bench_limit_robertson DATA RESULT RTOL
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bench_limit.h"

enum { N = 3, P = 3, LANES = 8, STAGES = 6 };
static const double GAMMA = 0.25;
static const double POINT[STAGES][5] = {
    {0},
    {1.544},
    {0.9466785280815826, 0.2557011698983284},
    {3.314825187068521, 2.896124015972201, 0.9986419139977817},
    {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950},
    {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1}};
static const double MIX[STAGES][5] = {
    {0},
    {-5.6688},
    {-2.430093356833875, -0.2063599157091915},
    {-0.1073529058151375, -9.594562251023355, -20.47028614809616},
    {7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160},
    {8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054}};
static const double DENSE[2][5] = {
    {10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823, 1.025137723295662},
    {-0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386, -6.594389125716872}};
/* Of y1, y2, y3: the size below which errors are absolute, and the observables' factors. */
static const double SIZE[N] = {1e-2, 1e-6, 1e-2}, WEIGHT[N] = {1, 1e4, 1};

struct lanes {
    v8 p[P], t, h, y[1 + P][N], normal[1 + P][1 + P];
    size_t fit[LANES], at[LANES]; /* its fit, and the first time that is not reached */
    struct limit_search search[LANES];
    bool is_idle[LANES];
};

/* From the rates' values, with the parameter's own part for column 1 + j. */
static inline void from_rates(v8 first, v8 second, v8 third, v8 *f)
{
    f[0] = second - first;
    f[1] = first - second - third;
    f[2] = third;
}

static inline void slopes(const v8 *p, v8 y[1 + P][N], v8 f[1 + P][N])
{
    v8 first = p[0] * y[0][0], second = p[1] * y[0][1] * y[0][2], third = p[2] * y[0][1] * y[0][1];
    from_rates(first, second, third, f[0]);
    for (int j = 1; j <= P; j++) {
        v8 a = p[0] * y[j][0], b = p[1] * (y[j][1] * y[0][2] + y[0][1] * y[j][2]), c = 2 * p[2] * y[0][1] * y[j][1];
        from_rates(j == 1 ? a + first : a, j == 2 ? b + second : b, j == 3 ? c + third : c, f[j]);
    }
}

/* The factors of 1/(h gamma) - J: columns of y1, y2, y3; no pivots are needed, as the columns' sums are positive. */
struct factors {
    v8 l10, l20, l21, u00, u01, u02, u11, u12, u22;
};

static inline struct factors factorise(const v8 *p, const v8 *y, v8 diagonal)
{
    struct factors f;
    v8 b2 = p[1] * y[2], b3 = p[1] * y[1], c2 = 2 * p[2] * y[1];
    f.u00 = 1 / (diagonal + p[0]);
    f.u01 = -b2;
    f.u02 = -b3;
    f.l10 = -p[0] * f.u00;
    f.l20 = v8_of(0);
    f.u11 = 1 / (diagonal + b2 + c2 - f.l10 * f.u01);
    f.u12 = b3 - f.l10 * f.u02;
    f.l21 = -c2 * f.u11;
    f.u22 = 1 / (diagonal - f.l21 * f.u12);
    return f;
}

static inline void solve(const struct factors *f, v8 *x)
{
    x[1] -= f->l10 * x[0];
    x[2] -= f->l21 * x[1];
    x[2] *= f->u22;
    x[1] = (x[1] - f->u12 * x[2]) * f->u11;
    x[0] = (x[0] - f->u01 * x[1] - f->u02 * x[2]) * f->u00;
}

/* Solves for one stage's increments k of all columns from their right-hand sides in k: those of the derivatives also contain
 * what the states' increment changes of their Jacobian. */
static inline void stage(const struct lanes *lanes, const struct factors *f, v8 k[1 + P][N])
{
    const v8 *p = lanes->p, *y = lanes->y[0];
    solve(f, k[0]);
    v8 first = p[0] * k[0][0], second = p[1] * (k[0][1] * y[2] + y[1] * k[0][2]), third = 2 * p[2] * y[1] * k[0][1], more[N];
    for (int j = 1; j <= P; j++) {
        const v8 *s = lanes->y[j];
        v8 b = p[1] * (s[1] * k[0][2] + k[0][1] * s[2]), c = 2 * p[2] * s[1] * k[0][1];
        from_rates(j == 1 ? first : v8_of(0), j == 2 ? b + second : b, j == 3 ? c + third : c, more);
        for (int i = 0; i < N; i++)
            k[j][i] += more[i];
        solve(f, k[j]);
    }
}

/* The next evaluation of a lane's fit. */
static void restart(struct lanes *lanes, int lane)
{
    for (int j = 0; j < P; j++)
        lanes->p[j][lane] = exp(lanes->search[lane].trial[j]);
    for (int j = 0; j <= P; j++)
        for (int i = 0; i < N; i++)
            lanes->y[j][i][lane] = i + j == 0;
    for (int i = 0; i <= P; i++)
        for (int j = 0; j <= P; j++)
            lanes->normal[i][j][lane] = 0;
    lanes->t[lane] = 0;
    lanes->h[lane] = 1e-4;
    lanes->at[lane] = 0;
}

static bool refill(struct lanes *lanes, int lane, const struct limit_data *data, size_t *next)
{
    lanes->is_idle[lane] = *next == data->n;
    if (lanes->is_idle[lane])
        return false;
    lanes->fit[lane] = (*next)++;
    limit_begin(&lanes->search[lane], P, data->start);
    restart(lanes, lane);
    return true;
}

/* The evaluation of a lane is over. False: there is no other for it. */
static bool finish(struct lanes *lanes, int lane, const struct limit_data *data, bool is_good, size_t *next)
{
    double normal[LIMIT_MOST][LIMIT_MOST] = {{0}};
    for (int i = 0; i <= P; i++)
        for (int j = 0; j <= P; j++)
            normal[i][j] = is_good ? lanes->normal[i < j ? i : j][i < j ? j : i][lane] : INFINITY;
    if (limit_next(&lanes->search[lane], normal)) {
        limit_end(&lanes->search[lane], 1, data->result + lanes->fit[lane] * (2 * P + 2));
        return refill(lanes, lane, data, next);
    }
    restart(lanes, lane);
    return true;
}

/* Residuals and derivatives of the lanes in `mask` at a part x of the step. */
static inline void add(struct lanes *lanes, const struct limit_data *data, m8 mask, v8 x, v8 next[1 + P][N],
                       v8 k[STAGES][1 + P][N])
{
    for (int i = 0; i < N; i++) {
        v8 row[1 + P], value = {0}, weight = {0};
        for (int lane = 0; lane < LANES; lane++)
            if (mask[lane]) {
                size_t place = (lanes->fit[lane] * data->n_time + lanes->at[lane]) * N + (size_t)i;
                value[lane] = data->value[place];
                weight[lane] = 1 / data->sigma[place];
            }
        for (int j = 0; j <= P; j++) {
            v8 c2 = DENSE[0][0] * k[0][j][i], c3 = DENSE[1][0] * k[0][j][i];
            for (int s = 1; s < 5; s++) {
                c2 += DENSE[0][s] * k[s][j][i];
                c3 += DENSE[1][s] * k[s][j][i];
            }
            row[j] = WEIGHT[i] * (lanes->y[j][i] * (1 - x) + x * (next[j][i] + (1 - x) * (c2 + x * c3)));
        }
        row[0] -= value;
        for (int a = 0; a <= P; a++)
            for (int b = a; b <= P; b++)
                lanes->normal[a][b] += v8_if(mask, weight * weight * row[a] * row[b], v8_of(0));
    }
}

static bool step(struct lanes *lanes, const struct limit_data *data, double rtol, size_t *next_fit)
{
    v8 k[STAGES][1 + P][N], next[1 + P][N], f[1 + P][N], h = lanes->h, per_h = 1 / h, most = v8_of(1e-10);
    struct factors factors = factorise(lanes->p, lanes->y[0], per_h * (1 / GAMMA));
    for (int s = 0; s < STAGES; s++) {
        for (int j = 0; j <= P; j++)
            for (int i = 0; i < N; i++) {
                next[j][i] = s == 5 ? next[j][i] + k[4][j][i] : lanes->y[j][i];
                for (int r = 0; r < s && s < 5; r++)
                    next[j][i] += POINT[s][r] * k[r][j][i];
            }
        slopes(lanes->p, next, f);
        for (int j = 0; j <= P; j++)
            for (int i = 0; i < N; i++) {
                v8 sum = v8_of(0);
                for (int r = 0; r < s; r++)
                    sum += MIX[s][r] * k[r][j][i];
                k[s][j][i] = f[j][i] + per_h * sum;
            }
        stage(lanes, &factors, k[s]);
    }
    for (int j = 0; j <= P; j++) {
        v8 squares = v8_of(0);
        for (int i = 0; i < N; i++) {
            next[j][i] += k[5][j][i];
            v8 error = k[5][j][i] / (rtol * (v8_max(v8_abs(lanes->y[j][i]), v8_abs(next[j][i])) + SIZE[i]));
            squares += error * error;
        }
        most = v8_max(most, squares * (1.0 / N));
    }
    m8 is_good = most <= v8_of(1);
    double end = data->time[data->n_time - 1];
    for (;;) { /* the times that some lane passes */
        m8 mask = {0};
        v8 x = v8_of(0);
        bool any = false;
        for (int lane = 0; lane < LANES; lane++) {
            bool is_there = is_good[lane] && !lanes->is_idle[lane] && lanes->at[lane] < data->n_time
                            && data->time[lanes->at[lane]] <= lanes->t[lane] + h[lane];
            mask[lane] = is_there ? -1 : 0;
            x[lane] = is_there ? (data->time[lanes->at[lane]] - lanes->t[lane]) / h[lane] : 0;
            any |= is_there;
        }
        if (!any)
            break;
        add(lanes, data, mask, x, next, k);
        for (int lane = 0; lane < LANES; lane++)
            lanes->at[lane] += mask[lane] != 0;
    }
    for (int j = 0; j <= P; j++)
        for (int i = 0; i < N; i++)
            lanes->y[j][i] = v8_if(is_good, next[j][i], lanes->y[j][i]);
    lanes->t = v8_if(is_good, lanes->t + h, lanes->t);
    bool any = false;
    for (int lane = 0; lane < LANES; lane++) {
        double factor = 0.9 / sqrt(sqrt(sqrt(most[lane]))); /* of squares: order 4 */
        lanes->h[lane] = h[lane] * (factor > 6 ? 6 : factor > 0.2 ? factor : 0.2);
        bool is_lost = !(lanes->h[lane] > 1e-14 * end), is_over = lanes->at[lane] == data->n_time;
        if (!lanes->is_idle[lane] && (is_lost || is_over))
            finish(lanes, lane, data, is_over, next_fit);
        any |= !lanes->is_idle[lane];
    }
    return any;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    struct limit_data data = limit_read(argv[1]);
    struct lanes *lanes = aligned_alloc(64, (sizeof *lanes + 63) / 64 * 64);
    size_t next = 0;
    if (data.n_parameter != P || data.n_observable != N || !lanes)
        return 3;
    memset(lanes, 0, sizeof *lanes);
    for (int lane = 0; lane < LANES; lane++)
        if (!refill(lanes, lane, &data, &next)) {
            lanes->fit[lane] = 0;
            restart(lanes, lane);
        }
    while (step(lanes, &data, atof(argv[3]), &next)) { }
    return limit_write(&data, argv[2]);
}
