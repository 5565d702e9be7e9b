/* The life of a model's equations; a front end fills them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/graph/equations.h"

#include <stdlib.h>
#include <string.h>

void equations_free(struct equations *equations)
{
    if (!equations)
        return;
    for (uint32_t i = 0; equations->state && i < equations->n_state; i++) {
        free(equations->state[i].name);
        free(equations->state[i].unit);
    }
    for (uint32_t i = 0; equations->parameter && i < equations->n_parameter; i++) {
        free(equations->parameter[i].name);
        free(equations->parameter[i].unit);
    }
    for (uint32_t i = 0; equations->covariate && i < equations->n_covariate; i++) {
        free(equations->covariate[i].name);
        free(equations->covariate[i].unit);
    }
    for (uint32_t i = 0; equations->observable && i < equations->n_observable; i++) {
        free(equations->observable[i].name);
        free(equations->observable[i].unit);
    }
    for (uint32_t i = 0; equations->intermediate && i < equations->n_intermediate; i++)
        free(equations->intermediate[i].name);
    free(equations->state);
    free(equations->parameter);
    free(equations->covariate);
    free(equations->observable);
    free(equations->intermediate);
    graph_free(equations->graph);
    free(equations->name);
    free(equations->description);
    free(equations->time_unit);
    free(equations->source);
    free(equations->origin);
    free(equations);
}
