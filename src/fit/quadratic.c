/* Cholesky and a projected Newton method for box-constrained quadratics (Bertsekas 1982; in the form of Tassa, Mansard
 * & Todorov 2014). Sizes are those of a fit's parameters, so plain loops do.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/quadratic.h"

#include <math.h>
#include <string.h>

enum { MAX_ITERATION = 100 };

bool quadratic_factor(size_t n, const double *matrix, size_t k, const uint32_t *index, double *factor)
{
    for (size_t j = 0; j < k; j++)
        for (size_t i = j; i < k; i++)
            factor[i + j * k] = matrix[index[i] + index[j] * n];
    for (size_t j = 0; j < k; j++) {
        double diagonal = factor[j + j * k];
        for (size_t l = 0; l < j; l++) {
            double a = factor[j + l * k];
            for (size_t i = j; i < k; i++)
                factor[i + j * k] -= factor[i + l * k] * a;
        }
        /* What is left of the diagonal after so many subtractions has an error of about j * 1e-16 of it. */
        if (!(factor[j + j * k] > 1e-15 * diagonal))
            return false;
        double root = sqrt(factor[j + j * k]);
        for (size_t i = j; i < k; i++)
            factor[i + j * k] /= root;
    }
    return true;
}

void quadratic_solve_lower(size_t k, const double *factor, double *x)
{
    for (size_t j = 0; j < k; j++) {
        x[j] /= factor[j + j * k];
        for (size_t i = j + 1; i < k; i++)
            x[i] -= factor[i + j * k] * x[j];
    }
}

void quadratic_solve_upper(size_t k, const double *factor, double *x)
{
    for (size_t j = k; j-- > 0;) {
        for (size_t i = j + 1; i < k; i++)
            x[j] -= factor[i + j * k] * x[i];
        x[j] /= factor[j + j * k];
    }
}

static void add_product(size_t n, const double *matrix, const double *d, double *sum)
{
    for (size_t j = 0; j < n; j++)
        if (d[j] != 0)
            for (size_t i = 0; i < n; i++)
                sum[i] += matrix[i + j * n] * d[j];
}

double quadratic_value(size_t n, const double *matrix, const double *gradient, const double *d)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++) {
        double row = 0;
        for (size_t i = 0; i < n; i++)
            row += matrix[i + j * n] * d[i];
        sum += d[j] * (gradient[j] + 0.5 * row);
    }
    return sum;
}

/* Collects the entries that no bound holds; true if they are others than before. */
static bool find_loose(struct quadratic_box *box, const double *slope, bool first)
{
    size_t count = 0;
    bool changed = first;
    for (size_t i = 0; i < box->n; i++) {
        bool held = (box->step[i] <= box->low[i] && slope[i] >= 0) || (box->step[i] >= box->high[i] && slope[i] <= 0);
        if (held)
            continue;
        changed = changed || count >= box->n_loose || box->loose[count] != i;
        box->loose[count++] = (uint32_t)i;
    }
    changed = changed || count != box->n_loose;
    box->n_loose = count;
    return changed;
}

/* Goes along `direction` (loose entries), bent at the box's border, until Armijo's condition holds. False: no
 * progress. */
static bool search_bent(struct quadratic_box *box, const double *slope, const double *direction, double *next)
{
    double before = quadratic_value(box->n, box->matrix, box->gradient, box->step);
    for (double t = 1; t > 1e-12; t *= 0.5) {
        double promise = 0;
        memcpy(next, box->step, box->n * sizeof *next);
        for (size_t k = 0; k < box->n_loose; k++) {
            size_t i = box->loose[k];
            double value = box->step[i] + t * direction[k];
            next[i] = value < box->low[i] ? box->low[i] : value > box->high[i] ? box->high[i] : value;
            promise += slope[i] * (next[i] - box->step[i]);
        }
        double after = quadratic_value(box->n, box->matrix, box->gradient, next);
        if (promise < 0 && after <= before + 0.1 * promise) {
            memcpy(box->step, next, box->n * sizeof *next);
            return true;
        }
    }
    return false;
}

bool quadratic_minimise(struct quadratic_box *box)
{
    size_t n = box->n;
    double *slope = box->scratch, *direction = box->scratch + n, *next = box->scratch + 2 * n;
    double first_decrement = 0;
    memset(box->step, 0, n * sizeof *box->step);
    box->n_loose = 0;
    for (int iteration = 0; iteration < MAX_ITERATION; iteration++) {
        memcpy(slope, box->gradient, n * sizeof *slope);
        add_product(n, box->matrix, box->step, slope);
        if (find_loose(box, slope, iteration == 0)
            && !quadratic_factor(n, box->matrix, box->n_loose, box->loose, box->factor))
            return false;
        double decrement = 0;
        for (size_t k = 0; k < box->n_loose; k++)
            direction[k] = -slope[box->loose[k]];
        quadratic_solve_lower(box->n_loose, box->factor, direction);
        for (size_t k = 0; k < box->n_loose; k++)
            decrement += direction[k] * direction[k];
        first_decrement = iteration == 0 ? decrement : first_decrement;
        /* A Newton step that gains less than 1e-20 of the first one's gain is rounding. */
        if (!(decrement > 1e-20 * first_decrement))
            return true;
        quadratic_solve_upper(box->n_loose, box->factor, direction);
        if (!search_bent(box, slope, direction, next))
            return true;
    }
    return true;
}
