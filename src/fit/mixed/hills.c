/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/hills.h"

#include "fit/objective/matrix.h"

#include <math.h>
#include <string.h>

/* Hills are alike if their centres are by no more than so many of their standard deviations. */
static const double ALIKE = 0.5;

struct hill hills_at(size_t r, double *numbers, size_t i)
{
    double *first = numbers + hills_size(r, i);
    return (struct hill){.f = first, .centre = first + 1, .factor = first + 1 + r};
}

/* Half the squared distance of b from a hill's centre, in its standard deviations. */
static double rise_of(size_t r, const struct hill *hill, const double *b)
{
    double sum = 0;
    for (size_t c = 0; c < r; c++) { /* G'(b - centre) */
        double whitened = 0;
        for (size_t a = c; a < r; a++)
            whitened += hill->factor[a + c * r] * (b[a] - hill->centre[a]);
        sum += 0.5 * whitened * whitened;
    }
    return sum;
}

double hills_height(size_t r, double *numbers, size_t n, const double *b)
{
    double height[HILLS_MOST], lowest = INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++) {
        const struct hill hill = hills_at(r, numbers, i);
        height[i] = *hill.f + rise_of(r, &hill, b);
        lowest = fmin(lowest, height[i]);
    }
    for (size_t i = 0; i < n; i++)
        sum += exp(lowest - height[i]);
    return lowest - log(sum);
}

double hills_part(size_t r, double *numbers, size_t n, size_t i, const double *b)
{
    const struct hill hill = hills_at(r, numbers, i);
    return n > 1 ? hills_height(r, numbers, n, b) - *hill.f - rise_of(r, &hill, b) : 0;
}

bool hills_are_alike(size_t r, double *numbers, double *others, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct hill hill = hills_at(r, numbers, i), other = hills_at(r, others, i);
        if (rise_of(r, &hill, other.centre) > 0.5 * ALIKE * ALIKE)
            return false;
    }
    return true;
}

bool hills_is_prior(size_t r, const struct hill *hill)
{
    bool is_prior = true;
    for (size_t c = 0; c < r; c++) {
        is_prior = is_prior && hill->centre[c] == 0;
        for (size_t a = c; a < r; a++)
            is_prior = is_prior && hill->factor[a + c * r] == (a == c);
    }
    return is_prior;
}

/* The effects b, of which those that stay are known, with which the parameters that do not stay are
 * `parameter`. */
static void solve_frame(size_t r, const struct hills_frame *frame, const bool *stays,
                        const double *parameter, double *b)
{
    for (size_t a = 0; a < r; a++) {
        double left = parameter[a] - frame->mean[a];
        for (size_t c = 0; c < a; c++)
            left -= frame->factor[a + c * r] * b[c];
        b[a] = stays[a] ? b[a] : left / frame->factor[a + a * r];
    }
}

bool hills_move(size_t r, const struct hills_frame *from, const struct hills_frame *to,
                const bool *stays, const struct hill *hill, double *scratch)
{
    double *by = scratch, *moved = by + r * r, *hessian = moved + r * r, mass = *hill->f;
    double parameter[HILLS_WIDEST] = {0}, b[HILLS_WIDEST];
    uint32_t index[HILLS_WIDEST] = {0};
    for (size_t a = 0; a < r; a++) {
        parameter[a] = from->mean[a];
        for (size_t c = 0; c <= a; c++)
            parameter[a] += from->factor[a + c * r] * hill->centre[c];
        mass += log(hill->factor[a + a * r]);
        index[a] = (uint32_t)a;
    }
    memcpy(b, hill->centre, r * sizeof *b);
    solve_frame(r, to, stays, parameter, b);
    for (size_t k = 0; k < r; k++) { /* column k: the old effects by the new one k */
        const struct hills_frame old = {.mean = (double[HILLS_WIDEST]){0}, .factor = from->factor};
        double *column = by + k * r;
        for (size_t a = 0; a < r; a++) {
            parameter[a] = a >= k ? to->factor[a + k * r] : 0;
            column[a] = stays[a] && a == k;
        }
        solve_frame(r, &old, stays, parameter, column);
    }
    for (size_t k = 0; k < r; k++) /* G' by */
        for (size_t c = 0; c < r; c++)
            moved[c + k * r] = matrix_dot(r - c, hill->factor + c + c * r, by + c + k * r);
    for (size_t k = 0; k < r; k++)
        for (size_t c = 0; c < r; c++)
            hessian[c + k * r] = matrix_dot(r, moved + c * r, moved + k * r);
    if (!matrix_factor(r, hessian, r, index, by))
        return false;
    memcpy(hill->centre, b, r * sizeof *b);
    for (size_t c = 0; c < r; c++)
        for (size_t a = 0; a < r; a++)
            hill->factor[a + c * r] = a >= c ? by[a + c * r] : 0;
    for (size_t a = 0; a < r; a++)
        mass -= log(hill->factor[a + a * r]);
    *hill->f = mass;
    return true;
}
