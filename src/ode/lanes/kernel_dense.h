/* What lies inside of a step: states and sensitivities, and the observables of them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_LANES_KERNEL_DENSE_H
#define ODE_LANES_KERNEL_DENSE_H

#include "ode/lanes/step_inside.h"
#include "ode/lanes/step_stops.h"

#include <stdbool.h>
#include <string.h>

INLINE void inside_by(const struct lanes_method *method, const struct lanes_bank *bank,
                      const lanes *at, lanes *out)
{
    size_t n = bank->plan->n;
    EACH_PART(bank) {
        part s = PART(at, 0);
        struct weights weights = {.at_end = bits(s == 1) == (1u << (N_LANE / N_PART)) - 1};
        weigh_inside(method, s, PART(&bank->h_used, 0), &weights);
        interpolate(method, &weights, n, 1, bank->y_before, bank->y, bank->scratch.stage, out, h);
        for (size_t b = 0; b < bank->n_block; b++) {
            const struct lanes_block *block = &bank->block[b];
            size_t width = bank->by_column ? 1 : block->width, n_row = n * block->width / width;
            interpolate(method, &weights, n_row, width, block->sens_new, block->sens, block->stage,
                        out + n * (1 + block->first), h);
        }
    }
}

static void inside_implicit(const struct lanes_bank *bank, const lanes *at, lanes *out)
{
    inside_by(&METHOD, bank, at, out);
}

static void inside_explicit(const struct lanes_bank *bank, const lanes *at, lanes *out)
{
    inside_by(&EXPLICIT, bank, at, out);
}

static void drop_vanished(const struct lanes_bank *bank, lanes *inside)
{
    size_t n = bank->plan->n;
    EACH_PART(bank) {
        part share = PART(&bank->tolerance.rtol, 0) * PART(&bank->tolerance.fraction, 0),
             square = share * share;
        for (size_t i = 0; i < n; i++) {
            part least = square * PART(bank->tolerance.size, i);
            part_mask small = magnitude(PART(inside, i)) <= least;
            for (size_t c = 0; bits(small) && c < bank->n_column; c++) {
                part sens = PART(inside, i + (1 + c) * n);
                part_mask vanished = small & (magnitude(sens) <= least * PART(bank->unit, c));
                PART(inside, i + (1 + c) * n) = pick(vanished, (part){0}, sens);
            }
        }
    }
}

/* The derivatives of what is seen under a number, and its excess; NaN if one of these or its value
 * is not finite. */
INLINE void observe_one(const struct lanes_bank *bank, size_t seen, const lanes *values,
                        const lanes *inside, lanes *out, int h)
{
    const struct lanes_plan *plan = bank->plan;
    const struct lanes_rows *rows = &plan->observe;
    const struct lanes_term *first = rows->term + rows->start[seen],
                            *end = rows->term + rows->start[seen + 1];
    size_t n = plan->n, n_observable = plan->abi->n_observable,
           n_seen = plan->n_kind * n_observable,
           value = lanes_plan_value(plan, seen / n_observable, seen % n_observable);
    part excess = excess_of(bank, seen, PART(values, value), values, h);
    for (size_t c = 1; c <= bank->n_column; c++) {
        part sum = {0};
        for (const struct lanes_term *term = first; term < end; term++)
            sum = fused(PART(values, term->value), PART(inside, c * n + (size_t)term->row), sum);
        PART(out, c * n_seen + seen) = sum;
        excess = pick(MASK(bank->active, c - 1), fused((part){0}, sum, excess), excess);
    }
    PART(out, seen) = excess;
}

static void observe(const struct lanes_bank *bank, const lanes *time, const lanes *inside,
                    const bool *is_wanted, lanes *values, lanes *out)
{
    const struct stiffit_model *abi = bank->plan->abi;
    lanes *input = bank->scratch.input + abi->n_input;
    EACH_PART(bank)
        set_inputs(bank, PART(time, 0), input, h);
    const struct stiffit_lanes_point at = {.t = (const double *)time,
                                           .y = (const double *)inside,
                                           .p = (const double *)bank->p,
                                           .covariate = (const double *)bank->covariate,
                                           .work = (const double *)bank->work,
                                           .input = (const double *)input,
                                           .input_slope =
                                               (const double *)bank->outside.input_slope};
    for (size_t k = 0; k < bank->plan->n_kind; k++) {
        const bool *wanted = is_wanted + k * abi->n_observable;
        if (!memchr(wanted, true, abi->n_observable * sizeof *wanted))
            continue;
        (k == 0 ? bank->plan->lanes->observe : bank->plan->lanes->noise)(
            &at, (double *)(values + lanes_plan_value(bank->plan, k, 0)));
        for (size_t o = 0; o < abi->n_observable; o++)
            if (wanted[o])
                EACH_PART(bank)
                    observe_one(bank, k * abi->n_observable + o, values, inside, out, h);
    }
}

#endif
