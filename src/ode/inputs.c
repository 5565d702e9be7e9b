/* Inputs that change in time: constants or lines between their knots.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/stops_parts.h"

#include <math.h>

bool inputs_pass_knots(struct simulation *sim, double limit)
{
    struct stops *s = sim->stops;
    bool any = false;
    for (size_t i = 0; i < s->abi->n_input; i++) {
        const struct input *input = &sim->evaluation->task->experiment.input[i];
        bool is_linear = s->abi->input_linear && s->abi->input_linear[i];
        size_t *k = &s->i_knot[i], before = *k;
        while (*k < input->n && input->time[*k] <= limit)
            ++*k;
        any = any || *k != before;
        size_t at = *k > 0 ? *k - 1 : 0;
        struct input_piece *piece = &sim->model.piece[i];
        *piece = (struct input_piece){.since = input->time[at], .value = input->value[at]};
        if (is_linear && *k > 0 && *k < input->n)
            piece->slope = (input->value[*k] - piece->value) / (input->time[*k] - piece->since);
    }
    return any;
}

double inputs_next_knot(const struct simulation *sim, size_t i)
{
    const struct input *input = &sim->evaluation->task->experiment.input[i];
    bool is_linear = sim->abi->input_linear && sim->abi->input_linear[i];
    size_t k = sim->stops->i_knot[i];
    if (!is_linear && k == 0) /* before its first knot an input has that knot's value */
        k = 1;
    return k < input->n ? input->time[k] : INFINITY;
}
