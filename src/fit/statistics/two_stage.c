/* Maximises the restricted likelihood over a triangular factor of the covariance, in which it is
 * smooth even where the covariance becomes singular; EM steps would need thousands of passes
 * there. One thread, sums in the order of the fits: the same bits always.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/statistics/two_stage.h"

#include "base/memory.h"
#include "fit/objective/matrix.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PASS = 1000 };
static const double SMALL_STEP = 1e-11;
/* Likelihoods of the same point differ by the roundings of their sums. */
static const double SAME_LIKELIHOOD = 1e-13;
static const double MOST_DAMPING = 1e12;
/* The first covariance has at least this part of an estimate's variance: nothing moves a factor
 * that is 0. */
static const double LEAST_SPREAD = 1e-3;

/* A point with its derivatives by the entries of L's lower triangle, column by column:
 * q = k (k + 1) / 2. */
struct point {
    double *factor, *covariance; /* k x k: L (zeros above), L L' */
    double *mean, *mean_covariance, log_likelihood;
    double *gradient;            /* q */
    /* q x q: minus the second derivatives, the data's part in expectation */
    double *information;
    double *damping;             /* q: the positive part of its diagonal */
};

struct work {
    double *cholesky, *inverse, *product, *between, *sum, *total; /* k x k */
    double *u, *r;           /* k */
    double *matrix, *solved; /* q x q */
    double *step;            /* q */
    uint32_t *index;         /* q: 0, 1, ... */
};

/* inverse = L^-T L^-1 and 2 log(det L); false: the matrix is not positive definite. */
static bool invert(size_t k, const double *matrix, const uint32_t *index, double *factor,
                   double *inverse, double *log_det)
{
    if (!matrix_factor(k, matrix, k, index, factor))
        return false;
    *log_det = 0;
    for (size_t j = 0; j < k; j++)
        *log_det += 2 * log(factor[j + j * k]);
    matrix_inverse(k, factor, inverse);
    return true;
}

/* c = a b or a' b, k x k; c is neither. */
static void multiply(size_t k, bool transposed, const double *a, const double *b, double *c)
{
    for (size_t j = 0; j < k; j++)
        for (size_t i = 0; i < k; i++) {
            double sum = 0;
            for (size_t l = 0; l < k; l++)
                sum += a[transposed ? l + i * k : i + l * k] * b[l + j * k];
            c[i + j * k] = sum;
        }
}

static void apply(size_t k, const double *a, const double *x, double *y)
{
    memset(y, 0, k * sizeof *y);
    for (size_t j = 0; j < k; j++)
        for (size_t i = 0; i < k; i++)
            y[i] += a[i + j * k] * x[j];
}

static bool weigh(const struct two_stage *t, const struct work *w, size_t i,
                  const double *covariance, double *log_det)
{
    size_t kk = t->k * t->k;
    for (size_t j = 0; j < kk; j++)
        w->product[j] = t->error[i * kk + j] + covariance[j];
    return invert(t->k, w->product, w->index, w->cholesky, w->inverse, log_det);
}

/* The mean by generalised least squares. */
static bool find_mean(const struct two_stage *t, const struct work *w, struct point *point,
                      double *log_dets)
{
    size_t k = t->k, kk = k * k;
    double log_det;
    memset(w->sum, 0, kk * sizeof *w->sum);
    memset(w->r, 0, k * sizeof *w->r);
    *log_dets = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (!weigh(t, w, i, point->covariance, &log_det))
            return false;
        apply(k, w->inverse, t->estimate + i * k, w->u);
        for (size_t j = 0; j < kk; j++)
            w->sum[j] += w->inverse[j];
        for (size_t j = 0; j < k; j++)
            w->r[j] += w->u[j];
        *log_dets += log_det;
    }
    if (!invert(k, w->sum, w->index, w->cholesky, point->mean_covariance, &log_det))
        return false;
    apply(k, point->mean_covariance, w->r, point->mean);
    *log_dets += log_det;
    return true;
}

/* With W = (V + L L')^-1: (W L)_sc (W L)_rd + (L' W L)_cd W_sr for the entries (r, c) and (s, d)
 * of L. */
static void add_information(size_t k, const struct work *w, const double *factor,
                            double *information)
{
    size_t q = k * (k + 1) / 2;
    multiply(k, false, w->inverse, factor, w->product);
    multiply(k, true, factor, w->product, w->between);
    for (size_t c = 0, a = 0; c < k; c++)
        for (size_t r = c; r < k; r++, a++)
            for (size_t d = 0, b = 0; d <= c; d++)
                for (size_t s = d; s < k; s++, b++)
                    information[a + b * q] += w->product[s + c * k] * w->product[r + d * k]
                                              + w->between[c + d * k] * w->inverse[s + r * k];
}

/* Fills all but the factor. The derivative by the covariance is half of `total` = the sum of u
 * u' - W + W M W, where u = W (y - mean) and M is the covariance of the mean. */
static bool evaluate(const struct two_stage *t, const struct work *w, struct point *point)
{
    size_t k = t->k, kk = k * k, q = k * (k + 1) / 2;
    double log_det, log_dets, square = 0;
    for (size_t c = 0; c < k; c++)
        for (size_t r = 0; r < k; r++) {
            double sum = 0;
            for (size_t l = 0; l < k; l++)
                sum += point->factor[r + l * k] * point->factor[c + l * k];
            point->covariance[r + c * k] = sum;
        }
    if (!find_mean(t, w, point, &log_dets))
        return false;
    memset(w->total, 0, kk * sizeof *w->total);
    memset(point->information, 0, q * q * sizeof *point->information);
    for (size_t i = 0; i < t->n; i++) {
        weigh(t, w, i, point->covariance, &log_det);
        for (size_t j = 0; j < k; j++)
            w->r[j] = t->estimate[i * k + j] - point->mean[j];
        apply(k, w->inverse, w->r, w->u);
        multiply(k, false, point->mean_covariance, w->inverse, w->product);
        multiply(k, false, w->inverse, w->product, w->between);
        for (size_t c = 0; c < k; c++)
            for (size_t r = 0; r < k; r++)
                w->total[r + c * k] +=
                    w->u[r] * w->u[c] - w->inverse[r + c * k] + w->between[r + c * k];
        for (size_t j = 0; j < k; j++)
            square += w->r[j] * w->u[j];
        add_information(k, w, point->factor, point->information);
    }
    multiply(k, false, w->total, point->factor, w->product);
    for (size_t c = 0, a = 0; c < k; c++)
        for (size_t r = c; r < k; r++, a++) {
            point->gradient[a] = w->product[r + c * k];
            point->damping[a] = point->information[a + a * q] + fabs(w->total[r + r * k]);
            for (size_t s = c; s <= r; s++)
                point->information[a + (a - r + s) * q] -= w->total[r + s * k];
        }
    point->log_likelihood =
        -0.5 * (log_dets + square + (double)((t->n - 1) * k) * log(2 * acos(-1)));
    return isfinite(point->log_likelihood);
}

/* The largest change of the covariance, in units of the typical variances of the estimates. */
static double distance(const struct two_stage *t, const struct point *a, const struct point *b)
{
    size_t k = t->k;
    double most = 0;
    for (size_t c = 0; c < k; c++)
        for (size_t r = 0; r < k; r++) {
            double unit =
                (double)t->n * sqrt(a->mean_covariance[r + r * k] * a->mean_covariance[c + c * k]);
            most = fmax(most, fabs(a->covariance[r + c * k] - b->covariance[r + c * k]) / unit);
        }
    return most;
}

/* A damped Newton step (Levenberg, Marquardt); false: the matrix is not positive definite. */
static bool propose(size_t k, const struct work *w, const struct point *from, double damping,
                    struct point *to)
{
    size_t q = k * (k + 1) / 2;
    memcpy(w->matrix, from->information, q * q * sizeof *w->matrix);
    for (size_t a = 0; a < q; a++)
        w->matrix[a + a * q] += damping * from->damping[a];
    if (!matrix_factor(q, w->matrix, q, w->index, w->solved))
        return false;
    memcpy(w->step, from->gradient, q * sizeof *w->step);
    matrix_solve_lower(q, w->solved, w->step);
    matrix_solve_upper(q, w->solved, w->step);
    memcpy(to->factor, from->factor, k * k * sizeof *to->factor);
    for (size_t c = 0, a = 0; c < k; c++)
        for (size_t r = c; r < k; r++, a++)
            to->factor[r + c * k] += w->step[a];
    return true;
}

static bool climb(struct two_stage *t, const struct work *w, struct point *here,
                  struct point *there)
{
    double damping = 1e-2;
    if (!evaluate(t, w, here))
        return false;
    for (t->n_pass = 1; t->n_pass < MAX_PASS && damping < MOST_DAMPING && !t->is_converged;) {
        bool good = propose(t->k, w, here, damping, there);
        t->n_pass += good;
        good = good && evaluate(t, w, there) &&
               there->log_likelihood >=
                   here->log_likelihood -
                       SAME_LIKELIHOOD * (fabs(here->log_likelihood) + (double)t->n);
        damping *= good ? 0.1 : 10;
        if (!good)
            continue;
        t->is_converged = damping < 1 && distance(t, here, there) < SMALL_STEP;
        struct point old = *here;
        *here = *there;
        *there = old;
    }
    return true;
}

/* The factor of half the sample covariance and half its diagonal. */
static bool begin(const struct two_stage *t, const struct work *w, struct point *point)
{
    size_t k = t->k;
    double *mean = w->r, *covariance = w->total;
    memset(mean, 0, k * sizeof *mean);
    memset(covariance, 0, k * k * sizeof *covariance);
    for (size_t i = 0; i < t->n; i++)
        for (size_t j = 0; j < k; j++)
            mean[j] += t->estimate[i * k + j] / (double)t->n;
    for (size_t i = 0; i < t->n; i++)
        for (size_t c = 0; c < k; c++)
            for (size_t r = 0; r < k; r++)
                covariance[r + c * k] += (t->estimate[i * k + r] - mean[r]) *
                                         (t->estimate[i * k + c] - mean[c]) * (r == c ? 1 : 0.5) /
                                         (double)(t->n - 1);
    for (size_t j = 0; j < k; j++) {
        double precision = 0;
        for (size_t i = 0; i < t->n; i++)
            precision += 1 / t->error[i * k * k + j * (k + 1)] / (double)t->n;
        covariance[j * (k + 1)] += LEAST_SPREAD / precision;
    }
    if (!matrix_factor(k, covariance, k, w->index, point->factor))
        return false;
    for (size_t c = 1; c < k; c++)
        memset(point->factor + c * k, 0, c * sizeof *point->factor);
    return true;
}

bool two_stage_fit(struct two_stage *t)
{
    size_t k = t->k, kk = k * k, q = k * (k + 1) / 2;
    size_t n_point = 3 * kk + k + 2 * q + q * q, n_work = 6 * kk + 2 * k + 2 * q * q + q;
    double *block = memory_calloc(2 * n_point + n_work, sizeof *block);
    uint32_t *index = memory_calloc(q, sizeof *index);
    bool good = block && index;
    t->is_converged = false;
    if (good) {
        struct point point[2];
        for (size_t i = 0; i < 2; i++) {
            double *at = block + i * n_point, *after = at + 3 * kk + k;
            point[i] = (struct point){.factor = at,
                                      .covariance = at + kk, .mean_covariance = at + 2 * kk,
                                      .mean = at + 3 * kk, .gradient = after, .damping = after + q,
                                      .information = after + 2 * q};
        }
        double *at = block + 2 * n_point, *after = at + 6 * kk + 2 * k;
        struct work w = {at,          at + kk,       at + 2 * kk,       at + 3 * kk,
                         at + 4 * kk, at + 5 * kk,   at + 6 * kk,       at + 6 * kk + k,
                         after,       after + q * q, after + 2 * q * q, index};
        for (size_t j = 0; j < q; j++)
            index[j] = (uint32_t)j;
        good = begin(t, &w, &point[0]) && climb(t, &w, &point[0], &point[1]);
        memcpy(t->mean, point[0].mean, k * sizeof *t->mean);
        memcpy(t->covariance, point[0].covariance, kk * sizeof *t->covariance);
        memcpy(t->mean_covariance, point[0].mean_covariance, kk * sizeof *t->mean_covariance);
        t->log_likelihood = point[0].log_likelihood;
    }
    free(index);
    free(block);
    return good;
}

void two_stage_shrink(const struct two_stage *t, size_t i, double *shrunken, double *variance,
                      double *work)
{
    size_t k = t->k, kk = k * k;
    double *factor = work, *gain = work + kk, *rest = work + 2 * kk, *r = work + 3 * kk;
    uint32_t index[TWO_STAGE_MOST];
    for (size_t j = 0; j < TWO_STAGE_MOST; j++)
        index[j] = (uint32_t)j;
    for (size_t j = 0; j < kk; j++)
        rest[j] = t->error[i * kk + j] + t->covariance[j];
    matrix_factor(k, rest, k, index, factor);
    memcpy(gain, t->covariance, kk * sizeof *gain); /* its transpose: (V + C)^-1 C */
    for (size_t j = 0; j < k; j++) {
        matrix_solve_lower(k, factor, gain + j * k);
        matrix_solve_upper(k, factor, gain + j * k);
        r[j] = t->estimate[i * k + j] - t->mean[j];
    }
    for (size_t c = 0; c < k; c++) {
        shrunken[c] = t->mean[c];
        for (size_t j = 0; j < k; j++)
            shrunken[c] += gain[j + c * k] * r[j];
    }
    /* (1 - G) M (1 - G)' + G V, where G V is C - G C */
    multiply(k, false, t->mean_covariance, gain, factor);
    for (size_t j = 0; j < kk; j++)
        rest[j] = t->mean_covariance[j] - factor[j]; /* M (1 - G)' */
    for (size_t c = 0; c < k; c++)
        for (size_t a = 0; a < k; a++) {
            double sum = rest[a + c * k] + t->covariance[a + c * k];
            for (size_t j = 0; j < k; j++)
                sum -= gain[j + a * k] * (rest[j + c * k] + t->covariance[j + c * k]);
            variance[a + c * k] = sum;
        }
}
