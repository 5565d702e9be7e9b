/* Chooses blocks of sensitivities and fills in their initial values.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/blocks.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t blocks_most(const struct stiffit_model *abi, const struct ode_options *options)
{
    size_t n_block = options->n_none ? abi->n_parameter + options->n_none : 0;
    for (uint32_t j = 0; j < abi->n_parameter && !options->n_none; j++)
        n_block += derivatives_has_block(abi, j);
    return n_block;
}

bool blocks_init(struct blocks *blocks, const struct stiffit_model *abi,
                 const struct ode_options *options)
{
    size_t n = abi->n_parameter + options->n_none + 1;
    blocks->parameter = calloc(n, sizeof *blocks->parameter);
    blocks->in_rhs = calloc(n, sizeof *blocks->in_rhs);
    blocks->of_sens = calloc(n, sizeof *blocks->of_sens);
    blocks->unit = calloc(n, sizeof *blocks->unit);
    blocks->variant_sens = calloc(n, sizeof *blocks->variant_sens);
    blocks->variant_p = calloc(n, sizeof *blocks->variant_p);
    return blocks->parameter && blocks->in_rhs && blocks->of_sens && blocks->unit &&
           blocks->variant_sens && blocks->variant_p;
}

void blocks_fini(struct blocks *blocks)
{
    free(blocks->parameter);
    free(blocks->in_rhs);
    free(blocks->of_sens);
    free(blocks->unit);
    free(blocks->variant_sens);
    free(blocks->variant_p);
}

/* The first phase in which a column has a parameter; n_phase + 1: none. */
static size_t first_phase(const struct evaluation *evaluation, size_t k)
{
    size_t phase = 0;
    while (phase <= evaluation->task->n_phase &&
           evaluation->sens[k + phase * evaluation->n_sens] == ODE_NONE)
        phase++;
    return phase;
}

static bool is_given(const struct evaluation *evaluation, size_t n_state, size_t k)
{
    bool is_given = false;
    for (size_t i = 0; evaluation->begin && i < n_state; i++)
        is_given = is_given || evaluation->begin[i + (1 + k) * n_state] != 0;
    return is_given;
}

/* 1 / |p|; of what has no p, its effect on the initial state relative to that. Finite. */
static double unit_of_block(const struct simulation *sim, size_t k, size_t phase)
{
    const struct evaluation *evaluation = sim->evaluation;
    double p = 0, effect = 1;
    if (phase <= evaluation->task->n_phase) {
        p = fabs(evaluation->p[evaluation->sens[k + phase * evaluation->n_sens] +
                               phase * sim->abi->n_parameter]);
    } else {
        effect = 0;
        for (size_t i = 0; i < sim->n_state; i++) {
            p = fmax(p, fabs(evaluation->begin[i]));
            effect = fmax(effect, fabs(evaluation->begin[i + (1 + k) * sim->n_state]));
        }
    }
    return p > 0 && effect > 0 ? fmin(effect / p, DBL_MAX * DBL_EPSILON) : 1;
}

/* What the blocks have in this phase. */
static void set_block_parameters(struct simulation *sim)
{
    for (size_t k = 0; k < sim->evaluation->n_sens && !sim->evaluation->adjoint; k++) {
        int32_t block = sim->blocks.of_sens[k];
        if (block < 0)
            continue;
        sim->blocks.parameter[block] = sim->blocks.sens[k];
        /* with rates of infusions */
        unsigned use = derivatives_use(sim->abi, sim->blocks.sens[k]);
        sim->blocks.in_rhs[block] = (use & (STIFFIT_USE_RHS | STIFFIT_USE_EVENT)) != 0;
    }
}

void blocks_choose(struct simulation *sim)
{
    const struct evaluation *evaluation = sim->evaluation;
    size_t n_block = 0;
    for (size_t k = 0; k < evaluation->n_sens && !evaluation->adjoint; k++) {
        size_t phase = first_phase(evaluation, k);
        bool has_own = phase <= evaluation->task->n_phase;
        uint32_t j = has_own ? evaluation->sens[k + phase * evaluation->n_sens] : ODE_NONE;
        sim->blocks.of_sens[k] = -1;
        if (sim->n_state == 0 ||
            !(derivatives_has_block(sim->abi, j) || (evaluation->begin && has_own) ||
              is_given(evaluation, sim->n_state, k)))
            continue;
        sim->blocks.unit[n_block] = unit_of_block(sim, k, phase);
        sim->blocks.of_sens[k] = (int32_t)n_block++;
    }
    sim->blocks.n = n_block;
    set_block_parameters(sim);
}

bool blocks_set_phase(struct simulation *sim, size_t phase)
{
    const struct evaluation *evaluation = sim->evaluation;
    sim->blocks.sens = evaluation->sens + phase * evaluation->n_sens;
    sim->blocks.variant = EXPERIMENT_NONE;
    set_block_parameters(sim);
    return derivatives_set(&sim->model, evaluation->p + phase * sim->abi->n_parameter,
                           evaluation->n_sens, sim->blocks.sens) == STIFFIT_OK;
}

static uint32_t variant_of(const struct simulation *sim, size_t row)
{
    const uint32_t *variant = sim->evaluation->task->row_variant;
    return variant ? variant[row] : EXPERIMENT_NONE;
}

bool blocks_begin_variant(struct simulation *sim, size_t row)
{
    const struct evaluation *evaluation = sim->evaluation;
    const struct ode_task *task = evaluation->task;
    uint32_t variant = variant_of(sim, row);
    size_t n_sens = evaluation->n_sens;
    if (variant == EXPERIMENT_NONE)
        return true;
    const double *p = sim->model.at.p;
    derivatives_swap(&sim->model);
    if (sim->blocks.variant != variant) {
        memcpy(sim->blocks.variant_p, p, sim->abi->n_parameter * sizeof *p);
        if (n_sens)
            memcpy(sim->blocks.variant_sens, sim->blocks.sens, n_sens * sizeof *sim->blocks.sens);
        for (size_t i = task->first_variant[variant]; i < task->first_variant[variant + 1]; i++) {
            uint32_t j = task->variant_parameter[i];
            sim->blocks.variant_p[j] = evaluation->own[i];
            for (size_t k = 0; k < n_sens; k++)
                if (sim->blocks.variant_sens[k] == j)
                    sim->blocks.variant_sens[k] = ODE_NONE;
            if (n_sens && evaluation->own_sens[i] != ODE_NONE)
                sim->blocks.variant_sens[evaluation->own_sens[i]] = j;
        }
        sim->blocks.variant = EXPERIMENT_NONE;
        if (derivatives_set(&sim->model, sim->blocks.variant_p, n_sens, sim->blocks.variant_sens) !=
            STIFFIT_OK) {
            derivatives_swap(&sim->model);
            return false;
        }
        sim->blocks.variant = variant;
    }
    sim->blocks.phase_sens = sim->blocks.sens;
    sim->blocks.sens = sim->blocks.variant_sens;
    return true;
}

void blocks_end_variant(struct simulation *sim, size_t row)
{
    if (variant_of(sim, row) == EXPERIMENT_NONE)
        return;
    derivatives_swap(&sim->model);
    sim->blocks.sens = sim->blocks.phase_sens;
}

void blocks_begin_given(struct simulation *sim, double *y)
{
    const struct evaluation *evaluation = sim->evaluation;
    size_t n = sim->n_state;
    for (size_t i = 0; evaluation->begin && i < n; i++) {
        y[i] = evaluation->begin[i];
        for (size_t k = 0; k < evaluation->n_sens && !sim->blocks.is_pace; k++)
            if (sim->blocks.of_sens[k] >= 0)
                y[i + (size_t)(1 + sim->blocks.of_sens[k]) * n] =
                    evaluation->begin[i + (1 + k) * n];
    }
}

int blocks_initial(struct simulation *sim, double *y)
{
    size_t n = sim->n_state;
    int code = derivatives_initial(&sim->model, y);
    if (code == STIFFIT_OK && sim->blocks.n > 0)
        code = derivatives_initial_parameter(&sim->model, sim->columns);
    for (size_t k = 0; k < sim->blocks.n && code == STIFFIT_OK; k++) {
        uint32_t j = sim->blocks.parameter[k];
        if (derivatives_use(sim->abi, j) & STIFFIT_USE_INITIAL)
            memcpy(y + (k + 1) * n, sim->columns + (size_t)j * n, n * sizeof(double));
        else
            memset(y + (k + 1) * n, 0, n * sizeof(double));
    }
    if (code == STIFFIT_OK && sim->evaluation->begin)
        blocks_begin_given(sim, y);
    return code;
}
