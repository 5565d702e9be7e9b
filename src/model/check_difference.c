/* Richardson-extrapolated central differences. C. J. F. Ridders (1982), Accurate computation of F'(x) and F'(x)F''(x),
 * Advances in Engineering Software 4, 75-76.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/check_call.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steps are halved, so the error of the table's k-th column falls by 4^(k+1). */
enum { N_LEVEL = 9, N_RETRY = 4 };

enum status differences_init(struct differences *differences, size_t n_row)
{
    *differences = (struct differences){.n_row = n_row};
    double *next = calloc(n_row * (3 + 2 + 2 * N_LEVEL) + 1, sizeof *next);
    if (!next)
        return STATUS_NO_MEMORY;
    differences->memory = next;
    differences->derivative = next;
    differences->error = next + n_row;
    differences->size = next + 2 * n_row;
    differences->value = next + 3 * n_row;
    differences->table = next + 5 * n_row;
    return STATUS_OK;
}

void differences_fini(struct differences *differences)
{
    free(differences->memory);
    *differences = (struct differences){0};
}

static bool value_at(struct caller *caller, enum check_function base, enum check_axis axis, double *variable, double x,
                     double *value)
{
    *variable = x;
    return (axis == AXIS_STATE || caller_prepare(caller)) && caller_value(caller, base, value);
}

/* For each row: computes the next line of the table, and keeps the entry that agrees best with its neighbours. Rounding of the
 * function's values limits every entry: 4 eps of their size over the step. */
static void extend_table(struct differences *differences, size_t i_level, double step)
{
    size_t n = differences->n_row;
    double *old = differences->table + (i_level % 2 ? 0 : 1) * N_LEVEL * n;
    double *new = differences->table + (i_level % 2 ? 1 : 0) * N_LEVEL * n;
    for (size_t r = 0; r < n; r++) {
        double plus = differences->value[r], minus = differences->value[n + r];
        differences->size[r] = fmax(differences->size[r], fmax(fabs(plus), fabs(minus)));
        double rounding = 4 * DBL_EPSILON * differences->size[r] / step;
        new[r] = (plus - minus) / (2 * step);
        if (i_level == 0) {
            differences->derivative[r] = new[r];
            differences->error[r] = INFINITY;
        }
        double factor = 1;
        for (size_t k = 1; k <= i_level; k++) {
            factor *= 4;
            new[k * n + r] = (new[(k - 1) * n + r] * factor - old[(k - 1) * n + r]) / (factor - 1);
            double here = new[k * n + r];
            double error = fmax(fabs(here - new[(k - 1) * n + r]), fabs(here - old[(k - 1) * n + r]));
            if (error + rounding < differences->error[r]) {
                differences->error[r] = error + rounding;
                differences->derivative[r] = here;
            }
        }
    }
}

static bool fill_table(struct differences *differences, struct caller *caller, enum check_function base,
                       enum check_axis axis, double *variable, double x, double step)
{
    for (size_t i = 0; i < N_LEVEL; i++, step /= 2) {
        /* The actual step: x + step is rounded. */
        volatile double above = x + step, below = x - step;
        double taken = 0.5 * (above - below);
        if (taken <= 0 || !value_at(caller, base, axis, variable, above, differences->value) ||
            !value_at(caller, base, axis, variable, below, differences->value + differences->n_row))
            return false;
        extend_table(differences, i, taken);
    }
    return true;
}

bool differences_column(struct differences *differences, struct caller *caller, enum check_function base,
                        enum check_axis axis, size_t column, double scale)
{
    double *variable = axis == AXIS_STATE ? &caller->y[column] : &caller->p[column];
    double x = *variable, step = scale / 16;
    bool done = false;
    differences->n_row = check_axis_size(caller->abi, check_shape(base)->row);
    for (int i = 0; i < N_RETRY && !done; i++, step /= 32) {
        memset(differences->size, 0, differences->n_row * sizeof *differences->size);
        done = fill_table(differences, caller, base, axis, variable, x, step);
    }
    *variable = x;
    if (axis == AXIS_PARAMETER && !caller_prepare(caller))
        return false;
    return done;
}

bool differences_contradict(struct differences *differences, struct caller *caller, enum check_function base,
                            enum check_axis axis, size_t column, size_t row, double got, double terms)
{
    double *variable = axis == AXIS_STATE ? &caller->y[column] : &caller->p[column];
    double x = *variable, at[5] = {x, x + ldexp(x, -10), x - ldexp(x, -10), x + ldexp(x, -20), x - ldexp(x, -20)}, f[5];
    bool known = x != 0;
    for (int i = 0; i < 5 && known; i++) {
        known = value_at(caller, base, axis, variable, at[i], differences->value);
        f[i] = differences->value[row];
    }
    *variable = x;
    known = (axis == AXIS_STATE || caller_prepare(caller)) && known;
    if (!known)
        return false;
    const double quotient[4] = {(f[1] - f[2]) / (at[1] - at[2]), (f[3] - f[4]) / (at[3] - at[4]),
                                (f[1] - f[0]) / (at[1] - x), (f[2] - f[0]) / (at[2] - x)};
    double off = fabs(got - quotient[0]);
    /* 1e-7 of the terms covers rounding over the smaller step, and entries without effect. */
    bool wrong = isfinite(off) && off > 1e-3 * fmax(fabs(got), fabs(quotient[0])) && off * fabs(x) > 1e-7 * terms;
    for (int i = 1; i < 4; i++)
        wrong = wrong && fabs(quotient[i] - quotient[0]) < 0.25 * off;
    return wrong;
}
