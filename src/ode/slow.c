/* A motion may be so slow that it does not show within the time so far, and still lead far away.
 * What keeps its value for ever is not known by its size, but by its equations: a total is
 * conserved if the rows of the Jacobian, weighted by it, add up to zero, up to rounding errors
 * of the very numbers that cancel. A slow mode's numbers do not cancel, however small they are.
 *
 * So the matrix is eliminated with a bound of the rounding error beside each entry (running
 * error analysis: Wilkinson, Error analysis revisited, IMA Bulletin 22, 1986; Higham, Accuracy
 * and Stability of Numerical Algorithms, section 3.3), states being scaled by their tolerances
 * and rows by their largest entries. An entry within its bound is zero. What is left over are
 * the weights of the conserved totals, which take the places of the missing equations.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/steady.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A number and a bound of its error. */
struct bounded {
    double value, error;
};

/* The equations: n rows of n coefficients, n_column right-hand sides, and n weights of the
 * original equations. */
struct system {
    size_t n, n_column, width, rank;
    struct bounded *entry; /* n x width, by rows */
    size_t *order;         /* n: of the columns */
    double *scale;         /* n: of the rows */
};

static struct bounded *row_of(const struct system *s, size_t i) { return s->entry + i * s->width; }

static bool is_zero(struct bounded x) { return !(fabs(x.value) > x.error); }

static void swap(struct bounded *a, struct bounded *b)
{
    struct bounded old = *a;
    *a = *b;
    *b = old;
}

/* target -= factor * from */
static void subtract(struct bounded *target, struct bounded factor, struct bounded from)
{
    double product = factor.value * from.value;
    target->value -= product;
    target->error += fabs(factor.value) * from.error +
                     factor.error * (fabs(from.value) + from.error) +
                     DBL_EPSILON * (fabs(product) + fabs(target->value));
}

/* Puts the largest entry from row and column k on onto the diagonal. False: all are zero. */
static bool choose_pivot(struct system *s, size_t k)
{
    size_t row = k, column = k;
    double largest = 0;
    for (size_t i = k; i < s->n; i++)
        for (size_t j = k; j < s->n; j++) {
            struct bounded x = row_of(s, i)[j];
            if (fabs(x.value) > largest && !is_zero(x)) {
                largest = fabs(x.value);
                row = i;
                column = j;
            }
        }
    if (largest == 0)
        return false;
    for (size_t j = 0; j < s->width && row != k; j++)
        swap(row_of(s, row) + j, row_of(s, k) + j);
    for (size_t i = 0; i < s->n && column != k; i++)
        swap(row_of(s, i) + column, row_of(s, i) + k);
    size_t old = s->order[k];
    s->order[k] = s->order[column];
    s->order[column] = old;
    return true;
}

/* Eliminates column k below the diagonal, or above it, too. */
static void eliminate(struct system *s, size_t k, size_t first)
{
    const struct bounded *pivot = row_of(s, k);
    for (size_t i = first; i < s->n; i++) {
        struct bounded *row = row_of(s, i);
        if (i == k || row[k].value == 0)
            continue;
        struct bounded factor = {row[k].value / pivot[k].value, 0};
        factor.error = (row[k].error + fabs(factor.value) * pivot[k].error) / fabs(pivot[k].value);
        for (size_t j = k + 1; j < s->width; j++)
            if (pivot[j].value != 0 || pivot[j].error != 0)
                subtract(&row[j], factor, pivot[j]);
        row[k] = (struct bounded){0, 0};
    }
}

/* The equations scaled: unknowns in tolerances of the states, rows by their largest entries. */
static void set_equations(struct system *s, const struct slow_point *at)
{
    size_t n = s->n;
    for (size_t i = 0; i < n; i++) {
        struct bounded *row = row_of(s, i);
        double largest = 0;
        for (size_t j = 0; j < n; j++)
            largest = fmax(largest, fabs(at->jacobian[i + j * n] / at->weight[j]));
        s->order[i] = i;
        s->scale[i] = largest > 0 ? 1 / largest : 1;
        for (size_t j = 0; j < n; j++) {
            row[j].value = at->jacobian[i + j * n] / at->weight[j] * s->scale[i];
            row[j].error = at->accuracy * fabs(row[j].value);
            row[n + s->n_column + j] = (struct bounded){i == j, 0};
        }
        for (size_t c = 0; c < s->n_column; c++) {
            double sum = fabs(at->f[i + c * n]);
            for (size_t j = 0; j < n; j++)
                sum += fabs(at->jacobian[i + j * n] * at->y[j + c * n]);
            row[n + c].value = -at->f[i + c * n] * s->scale[i];
            row[n + c].error = at->accuracy * sum * s->scale[i];
        }
    }
}

/* Replaces an equation 0 = 0 by that of its conserved total, which does not change. */
static void conserve(struct system *s, size_t i, const double *weight)
{
    struct bounded *row = row_of(s, i), *total = row + s->n + s->n_column;
    double largest = 0;
    for (size_t j = 0; j < s->n; j++)
        largest = fmax(largest, fabs(total[j].value * s->scale[j] / weight[j]));
    for (size_t j = 0; j < s->n; j++) {
        size_t state = s->order[j];
        row[j] =
            (struct bounded){total[state].value * s->scale[state] / weight[state] / largest, 0};
        row[j].error = DBL_EPSILON * fabs(row[j].value);
    }
    for (size_t c = 0; c < s->n_column; c++)
        row[s->n + c] = (struct bounded){0, 0};
}

/* Gauss and Jordan. False: the totals do not determine the rest. */
static bool solve(struct system *s, const double *weight)
{
    size_t n = s->n;
    for (s->rank = 0; s->rank < n && choose_pivot(s, s->rank); s->rank++)
        eliminate(s, s->rank, s->rank + 1);
    for (size_t i = s->rank; i < n; i++)
        conserve(s, i, weight);
    for (size_t k = 0; k < s->rank; k++) /* from the equations of the totals */
        eliminate(s, k, s->rank);
    for (size_t k = s->rank; k < n; k++) {
        if (!choose_pivot(s, k))
            return false;
        eliminate(s, k, k + 1);
    }
    for (size_t k = n; k-- > 1;)
        for (size_t i = 0; i < k; i++) {
            struct bounded *row = row_of(s, i), *pivot = row_of(s, k),
                           factor = {row[k].value / pivot[k].value, 0};
            factor.error =
                (row[k].error + fabs(factor.value) * pivot[k].error) / fabs(pivot[k].value);
            for (size_t c = 0; c < s->n_column && row[k].value != 0; c++)
                subtract(&row[n + c], factor, pivot[n + c]);
        }
    return true;
}

/* Whether the solution is within the tolerances, or the bounds of its errors. */
static bool is_within(const struct system *s, const double *weight)
{
    for (size_t k = 0; k < s->n; k++)
        for (size_t c = 0; c < s->n_column; c++) {
            struct bounded x = row_of(s, k)[s->n + c], by = row_of(s, k)[k];
            size_t state = s->order[k];
            double tolerance = weight[state] / weight[state + c * s->n]; /* in those of the state */
            if (!(fabs(x.value) <= tolerance * fabs(by.value) + x.error))
                return false;
        }
    return true;
}

bool slow_is_at_rest(const struct slow_point *at)
{
    size_t n = at->n;
    struct system s = {.n = n, .n_column = at->n_column, .width = 2 * n + at->n_column};
    s.entry = calloc(n * s.width + 1, sizeof *s.entry);
    s.order = calloc(n + 1, sizeof *s.order);
    s.scale = calloc(n + 1, sizeof *s.scale);
    bool rests = s.entry && s.order && s.scale;
    if (rests) {
        set_equations(&s, at);
        rests = !solve(&s, at->weight) || is_within(&s, at->weight);
    }
    free(s.entry);
    free(s.order);
    free(s.scale);
    return rests;
}
