/* libLBFGS 1.10 has no bounds, no NaN check and no way to stop in the middle of a line search.
 * All of that is handled here: to stop, the objective is -1e300 with a zero gradient, which the
 * line search (More & Thuente) accepts at once, and the progress callback ends the search.
 * libLBFGS's own stopping tests are switched off.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/search/lbfgs.h"

#include "fit/objective/matrix.h"

#include <lbfgs.h>
#include <math.h>
#include <string.h>

/* A build of libLBFGS with SSE rounds the number of variables up to a multiple of 8. */
enum { LANE = 8 };

/* A value that no line search accepts, in units of the first step's predicted decrease. */
static const double IMPOSSIBLE = 1e30;

struct run {
    const struct lbfgs_search *search;
    double unit;        /* s of x = origin + s L^-T z; the objective is divided by s^2 */
    double *z, *x, *g;  /* z: padded */
    double norm;        /* of the latest gradient in z */
    bool begun, stopped;
};

static size_t padded(size_t n) { return (n + LANE - 1) / LANE * LANE; }

size_t lbfgs_scratch(size_t n) { return 3 * padded(n); }

/* x = L^-1 x or L^-T x. */
static void divide(const struct lbfgs_search *search, bool transposed, double *x)
{
    for (size_t i = 0; !search->factor && i < search->n; i++)
        x[i] /= search->diagonal[i];
    if (search->factor)
        (transposed ? matrix_solve_upper : matrix_solve_lower)(search->n, search->factor, x);
}

/* Turns a gradient in x into one in z. */
static void transform(struct run *run, double *gz, size_t n_given)
{
    const struct lbfgs_search *search = run->search;
    memset(gz, 0, n_given * sizeof *gz);
    memcpy(gz, run->g, search->n * sizeof *gz);
    divide(search, false, gz);
    double sum = 0;
    for (size_t i = 0; i < search->n; i++) {
        gz[i] /= run->unit;
        sum += gz[i] * gz[i];
    }
    run->norm = sqrt(sum);
}

static double evaluate(void *instance, const double *z, double *gz, int n_given, double step)
{
    struct run *run = instance;
    const struct lbfgs_search *search = run->search;
    (void)step;
    if (!run->begun) {
        run->begun = true;
        memcpy(run->g, search->gradient, search->n * sizeof *run->g);
        transform(run, gz, (size_t)n_given);
        return 0;
    }
    double f = 0;
    if (!run->stopped) {
        memcpy(run->x, z, search->n * sizeof *run->x);
        divide(search, true, run->x);
        for (size_t i = 0; i < search->n; i++)
            run->x[i] = search->origin[i] + run->unit * run->x[i];
        run->stopped = !search->trial(search->context, run->x, &f, run->g);
    }
    double value = 0;
    if (!run->stopped) {
        transform(run, gz, (size_t)n_given);
        value = f < INFINITY ? (f - search->f) / (run->unit * run->unit) : IMPOSSIBLE;
        run->stopped = !isfinite(value) || !isfinite(run->norm);
    }
    if (run->stopped) {
        memset(gz, 0, (size_t)n_given * sizeof *gz);
        return -1e300;
    }
    return value;
}

static int progress(void *instance, const double *z, const double *g, const double f,
                    const double z_norm, const double g_norm, const double step, int n, int k,
                    int n_trial)
{
    struct run *run = instance;
    (void)z, (void)g, (void)f, (void)z_norm, (void)g_norm, (void)step, (void)n, (void)k,
        (void)n_trial;
    run->stopped = run->stopped || !run->search->accepted(run->search->context);
    return run->stopped;
}

enum lbfgs_end lbfgs_search_run(const struct lbfgs_search *search)
{
    size_t n_padded = padded(search->n);
    struct run run = {.search = search, .z = search->scratch, .x = search->scratch + n_padded,
                      .g = search->scratch + 2 * n_padded};
    /* libLBFGS's first trial lies at distance 1 along the negative gradient; with s = |L^-1 g|
     * that is the Newton step. */
    run.unit = 1;
    memcpy(run.g, search->gradient, search->n * sizeof *run.g);
    transform(&run, run.x, search->n);
    if (!(run.norm > 0) || !isfinite(run.norm))
        return LBFGS_GAVE_UP;
    run.unit = run.norm;
    memset(run.z, 0, n_padded * sizeof *run.z);

    lbfgs_parameter_t parameter;
    lbfgs_parameter_init(&parameter);
    parameter.m = search->memory;
    parameter.epsilon = 0;
    parameter.past = 0;
    parameter.max_iterations = 0;
    parameter.linesearch = LBFGS_LINESEARCH_MORETHUENTE;
    parameter.max_linesearch = 12;
    int code = lbfgs((int)search->n, run.z, NULL, evaluate, progress, &run, &parameter);
    if (code == LBFGSERR_OUTOFMEMORY)
        return LBFGS_NO_MEMORY;
    return run.stopped ? LBFGS_STOPPED : LBFGS_GAVE_UP;
}
