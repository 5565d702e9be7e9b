/* An integrator of the tests' own: Radau IIA with 5 stages (order 9; Hairer & Wanner, Solving ODEs II, IV.8) in long double.
 * It shares neither method nor code with the program's. fit_judge.py includes it in the C of the random models.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <float.h>
#include <math.h>
#include <string.h>

typedef long double R;
enum { STAGES = 5, MOST_STATES = 6, MOST = STAGES * MOST_STATES };

struct radau_model {
    int n;
    void (*rhs)(R t, const R *y, const R *p, const R *c, R *ydot);
    void (*initial)(R t, const R *p, const R *c, R *y);
    void (*observe)(R t, const R *y, const R *p, const R *c, R *prediction, R *sd);
    int n_observable;
};

struct radau_tableau { /* filled by radau_prepare */
    R node[STAGES], a[STAGES][STAGES], start[STAGES], inverse[STAGES][STAGES], gamma;
};

/* In place; 0 if singular. */
static int lu_factor(int n, R *m, int *pivot)
{
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (fabsl(m[i * n + k]) > fabsl(m[best * n + k]))
                best = i;
        pivot[k] = best;
        if (!(fabsl(m[best * n + k]) > 0) || !isfinite((double)m[best * n + k]))
            return 0;
        for (int j = 0; j < n && best != k; j++) {
            R swap = m[k * n + j];
            m[k * n + j] = m[best * n + j], m[best * n + j] = swap;
        }
        for (int i = k + 1; i < n; i++) {
            R factor = m[i * n + k] /= m[k * n + k];
            for (int j = k + 1; j < n && factor != 0; j++)
                m[i * n + j] -= factor * m[k * n + j];
        }
    }
    return 1;
}

static void lu_solve(int n, const R *m, const int *pivot, R *b)
{
    for (int k = 0; k < n; k++) {
        R swap = b[k];
        b[k] = b[pivot[k]], b[pivot[k]] = swap;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            b[i] -= m[i * n + j] * b[j];
    for (int i = n; i-- > 0; b[i] /= m[i * n + i])
        for (int j = i + 1; j < n; j++)
            b[i] -= m[i * n + j] * b[j];
}

/* Coefficients from the nodes alone: a[i][j] is the integral of node j's Lagrange polynomial from 0 to node i. */
static void radau_prepare(struct radau_tableau *tableau)
{
    const R node[STAGES] = {0.05710419611451768219312119255411562124L, 0.27684301363812382768004599768562514112L,
                            0.58359043236891682005669766866291724869L, 0.86024013565621944784791291887511976674L, 1.0L};
    R powers[STAGES * STAGES];
    int pivot[STAGES];
    memcpy(tableau->node, node, sizeof node);
    for (int i = 0; i < STAGES; i++) { /* row q: sum over j of weight_j node_j^q */
        for (int q = 0; q < STAGES; q++)
            powers[q * STAGES + i] = powl(node[i], q);
    }
    lu_factor(STAGES, powers, pivot);
    for (int i = 0; i < STAGES; i++) {
        for (int q = 0; q < STAGES; q++)
            tableau->a[i][q] = powl(node[i], q + 1) / (q + 1);
        lu_solve(STAGES, powers, pivot, tableau->a[i]);
    }
    for (int q = 0; q < STAGES; q++)
        tableau->start[q] = q == 0; /* extrapolates the collocation polynomial's slope to the start of the step */
    lu_solve(STAGES, powers, pivot, tableau->start);
    tableau->gamma = 0.1L;
}

static R norm(int n, const R *x, const R *weight)
{
    R worst = 0;
    for (int i = 0; i < n; i++) {
        R size = fabsl(x[i]) / weight[i % n];
        if (!(size <= worst))
            worst = size;
    }
    return worst;
}

struct radau_state {
    const struct radau_model *model;
    const struct radau_tableau *tableau;
    const R *p, *c;
    R t, y[MOST_STATES], size[MOST_STATES];
};

static void jacobian(const struct radau_state *at, const R *f0, R *J)
{
    int n = at->model->n;
    R y[MOST_STATES], f[MOST_STATES];
    memcpy(y, at->y, sizeof y);
    for (int j = 0; j < n; j++) {
        R step = 1e-9L * fmaxl(fabsl(y[j]), 1e-3L * at->size[j]);
        y[j] = at->y[j] + step;
        step = y[j] - at->y[j];
        at->model->rhs(at->t, y, at->p, at->c, f);
        for (int i = 0; i < n; i++)
            J[i * n + j] = (f[i] - f0[i]) / step;
        y[j] = at->y[j];
    }
}

/* Tries one step of h. Returns the error over the tolerance, or 1e30 if Newton's iteration failed; y_new is the result. */
static R try_step(const struct radau_state *at, R h, const R *f0, const R *J, const R *weight, R *y_new)
{
    const struct radau_tableau *tableau = at->tableau;
    int n = at->model->n, big = n * STAGES, pivot[MOST], small_pivot[MOST_STATES];
    R matrix[MOST * MOST], small[MOST_STATES * MOST_STATES], k[MOST], residual[MOST], y[MOST_STATES], error[MOST_STATES];
    for (int a = 0; a < STAGES; a++)
        for (int i = 0; i < n; i++)
            for (int b = 0; b < STAGES; b++)
                for (int j = 0; j < n; j++)
                    matrix[(a * n + i) * big + b * n + j] = (a == b && i == j) - h * tableau->a[a][b] * J[i * n + j];
    for (int i = 0; i < n * n; i++)
        small[i] = (i % (n + 1) == 0) - h * tableau->gamma * J[i];
    if (!lu_factor(big, matrix, pivot) || !lu_factor(n, small, small_pivot))
        return 1e30L;
    for (int a = 0; a < STAGES; a++)
        memcpy(k + a * n, f0, (size_t)n * sizeof *k);
    R before = 0;
    for (int iteration = 0;; iteration++) { /* stage slopes k: k_a = f(t + c_a h, y + h sum a_ab k_b) */
        for (int a = 0; a < STAGES; a++) {
            for (int i = 0; i < n; i++) {
                y[i] = at->y[i];
                for (int b = 0; b < STAGES; b++)
                    y[i] += h * tableau->a[a][b] * k[b * n + i];
            }
            at->model->rhs(at->t + tableau->node[a] * h, y, at->p, at->c, residual + a * n);
            for (int i = 0; i < n; i++)
                residual[a * n + i] -= k[a * n + i];
        }
        lu_solve(big, matrix, pivot, residual);
        R change = 0;
        for (int a = 0; a < STAGES; a++)
            change = fmaxl(change, h * norm(n, residual + a * n, weight));
        if (!(change < 1e30L) || iteration > 15 || (iteration > 2 && change > 0.9L * before && change > 1e-3L))
            return 1e30L;
        for (int i = 0; i < big; i++)
            k[i] += residual[i];
        if (change < 1e-4L)
            break;
        before = change;
    }
    for (int i = 0; i < n; i++) {
        y_new[i] = at->y[i];
        error[i] = f0[i];
        for (int b = 0; b < STAGES; b++) {
            y_new[i] += h * tableau->a[STAGES - 1][b] * k[b * n + i];
            error[i] -= tableau->start[b] * k[b * n + i];
        }
        error[i] *= h * tableau->gamma;
    }
    lu_solve(n, small, small_pivot, error);
    return norm(n, error, weight);
}

/* Errors are relative to each state; one that rises from 0 is as large as the step makes it. */
static void weigh(struct radau_state *at, R h, const R *f0, R tolerance, R least, R *weight)
{
    for (int i = 0; i < at->model->n; i++) {
        R y = fabsl(at->y[i]);
        at->size[i] = fmaxl(at->size[i], y);
        if (at->y[i] * f0[i] >= 0)
            y += h * fabsl(f0[i]);
        weight[i] = tolerance * (y + least * at->size[i]);
    }
}

/* Predictions (n_time x n_observable) and their standard deviations at increasing times. size: about how large the states
 * are; below `least` of that, errors are absolute. Returns the number of steps, or -1 if the integration failed. */
static int radau_run(const struct radau_model *model, const R *p, const R *c, const R *size, R t0, int n_time, const R *time,
                     R tolerance, R least, R *prediction, R *sd)
{
    static struct radau_tableau tableau;
    static int is_ready;
    if (!is_ready) /* the loader of the library calls once, before any thread */
        radau_prepare(&tableau), is_ready = 1;
    struct radau_state at = {model, &tableau, p, c, t0, {0}, {0}};
    int n = model->n, n_step = 0;
    R weight[MOST_STATES] = {1}, f0[MOST_STATES], J[MOST_STATES * MOST_STATES], y_new[MOST_STATES];
    if (n_time == 0)
        return 0;
    model->initial(t0, p, c, at.y);
    for (int i = 0; i < n; i++)
        at.size[i] = fmaxl(fabsl(at.y[i]), size[i] * 1e-3L);
    R h = 1e-6L * (time[n_time - 1] - t0);
    for (int i_time = 0; i_time < n_time; i_time++) {
        while (n > 0 && at.t < time[i_time]) {
            R left = time[i_time] - at.t, tried = h >= left ? left : h > 0.5L * left ? 0.5L * left : h, error;
            model->rhs(at.t, at.y, p, c, f0);
            jacobian(&at, f0, J);
            while (weigh(&at, tried, f0, tolerance, least, weight),
                   (error = try_step(&at, tried, f0, J, weight, y_new)) > 1) {
                tried *= error >= 1e30L ? 0.1L : fmaxl(0.1L, 0.8L * powl(error, -1.0L / 6));
                if (++n_step > 20000 || !(tried > 1e-17L * left))
                    return -1;
            }
            if (!(error <= 1) || ++n_step > 20000)
                return -1;
            at.t = tried == left ? time[i_time] : at.t + tried;
            memcpy(at.y, y_new, sizeof at.y);
            R larger = tried * fminl(6, 0.8L * powl(fmaxl(error, 1e-12L), -1.0L / 6));
            h = tried == left && larger < h ? h : larger;
        }
        model->observe(time[i_time], at.y, p, c, prediction + i_time * model->n_observable, sd + i_time * model->n_observable);
    }
    return n_step;
}
