/* Rows of a measurement from the observables that the kernel has computed for all lanes at once. Rare cases stay with
 * observation.c: noise of the model, rows with parameters of their own, a wanted state, and numbers that are not finite.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/lanes/lane.h"

#include "ode/observation.h"

#include <string.h>

/* Adds the entries of parameter j to what is numbered by observable. */
static void add_direct(const struct lanes_room *room, int k, uint32_t j, const struct lanes_view *view, double *by_observable)
{
    const struct lanes_plan *plan = room->plan;
    const struct stiffit_pattern *pattern = &plan->lanes->observe_parameter;
    const lanes *entry = view->values + plan->abi->n_observable + plan->lanes->observe_state.start[plan->n];
    for (int32_t e = pattern->start[j]; e < pattern->start[j + 1]; e++)
        by_observable[pattern->row[e]] += entry[e][k];
}

/* The derivatives of rows first ... last - 1. False: one is not finite. */
static bool fill_derivatives(struct simulation *sim, const struct lanes_room *room, const struct lane *lane,
                             const int32_t *column, const struct lanes_view *view, size_t first, size_t last)
{
    const struct evaluation *evaluation = sim->evaluation;
    const struct ode_task *task = evaluation->task;
    size_t n_observable = sim->abi->n_observable, stride = evaluation->stride ? evaluation->stride : task->n_row;
    const int32_t *direct = room->plan->lanes->observe_parameter.start;
    const uint32_t *to = evaluation->column;
    double odd = 0;
    for (size_t s = 0; to && s < evaluation->n_sens; s++)
        memset(evaluation->d_prediction + first + to[s] * stride, 0, (last - first) * sizeof(double));
    for (size_t s = 0; s < evaluation->n_sens; s++) {
        uint32_t j = sim->blocks.sens[s];
        int32_t block = sim->blocks.of_sens[s];
        int32_t i_parameter = block < 0 ? 0 : column[lane->id[block]];
        const lanes *by_way = block < 0 ? NULL : view->out + n_observable * (1 + lane_column(room, i_parameter));
        int k = lane->first + lane_rank(room, i_parameter);
        double *derivative = evaluation->d_prediction + (to ? to[s] : s) * stride, *own = sim->rows.h_row;
        bool is_direct = j < sim->abi->n_parameter && direct[j] < direct[j + 1];
        if (by_way && !is_direct && !to) { /* the most frequent case */
            for (size_t i = first; i < last; i++)
                derivative[i] = by_way[task->row_observable[i]][k];
            continue;
        }
        for (size_t i = first; i < last; i++)
            own[task->row_observable[i]] = by_way ? by_way[task->row_observable[i]][k] : 0;
        if (is_direct)
            add_direct(room, k, j, view, own);
        for (size_t i = first; i < last; i++) {
            double derived = own[task->row_observable[i]];
            odd += 0 * derived; /* NaN if it is not finite */
            derivative[i] = to ? derivative[i] + derived : derived;
        }
    }
    return odd == 0;
}

bool lane_answer(struct lane *lane, const struct lanes_room *room, const int32_t *column,
                 const struct lanes_view *view)
{
    struct simulation *sim = &lane->sim;
    const struct evaluation *evaluation = sim->evaluation;
    const struct ode_task *task = evaluation->task;
    if (!room->plan->n_observe || (evaluation->noise && sim->abi->noise) || task->row_variant ||
        evaluation->end || sim->blocks.is_pace)
        return false;
    size_t first = sim->rows.i_row, last = observation_end(sim);
    double odd = 0, *excess = sim->rows.h;
    for (size_t i = first; i < last; i++) {
        uint32_t o = task->row_observable[i];
        evaluation->prediction[i] = view->values[o][lane->first];
        excess[o] = view->out[o][lane->first];
        EACH_LANE(lane, room, k)
            odd += 0 * view->out[o][k]; /* NaN if something is not finite */
    }
    if (odd != 0 || (evaluation->d_prediction && evaluation->n_sens &&
                     !fill_derivatives(sim, room, lane, column, view, first, last)))
        return false;
    sim->rows.i_row = last;
    sim->begins_anew = sim->tolerance.atol == 0 && !sim->tolerance.is_relative &&
                       observation_rows_ask_relative(sim, first, last, excess);
    return true;
}
