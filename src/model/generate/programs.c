/* Makes the programs of a plugin from its matrices of nodes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/generate/programs.h"

#include <stdlib.h>

/* The entries that are not zero as results. */
static struct program_output *outputs_of(const struct graph *graph, const struct graph_matrix *matrix, bool by_entry,
                                         uint32_t *n_output)
{
    struct program_output *output = calloc(matrix->n_entry + 1, sizeof *output);
    *n_output = 0;
    for (size_t j = 0; output && j < matrix->n_column; j++) {
        for (uint32_t k = matrix->column_start[j]; k < matrix->column_start[j + 1]; k++) {
            size_t slot = by_entry ? k : matrix->row[k] + j * matrix->n_row;
            if (by_entry || !graph_is_constant(graph, matrix->entry[k], 0))
                output[(*n_output)++] = (struct program_output){.slot = slot, .row = matrix->row[k], .column = (uint32_t)j,
                                                                .value = matrix->entry[k]};
        }
    }
    return output;
}

static struct program_output *work_outputs(const struct values *values)
{
    struct program_output *output = calloc((size_t)values->n_work + 1, sizeof *output);
    for (uint32_t i = 0; output && i < values->n_work; i++)
        output[i] = (struct program_output){.slot = i, .row = i, .value = values->work[i]};
    return output;
}

enum status programs_init(struct programs *programs, const struct equations *equations, const struct functions *functions,
                          program_width_function *width, struct error *error)
{
    struct values *values = &programs->values;
    const struct graph_matrix *jacobian = &functions->of[FUNCTION_jacobian];
    double n_entry = (double)jacobian->n_entry, n_all = (double)jacobian->n_row * (double)jacobian->n_row;
    programs->is_sparse = equations->n_state >= SPARSE_FROM && n_entry > 0 && n_entry <= SPARSE_FILL * n_all;
    enum status status = values_init(values, equations, functions, error);
    if (status == STATUS_OK)
        status = program_build(values, work_outputs(values), values->n_work, false, width, &programs->prepare, error);
    for (int f = 0; f < N_MODEL_FUNCTION && status == STATUS_OK; f++) {
        bool by_entry = programs->is_sparse && f == FUNCTION_jacobian;
        uint32_t n_output;
        struct program_output *output = outputs_of(values->graph, &functions->of[f], by_entry, &n_output);
        status = program_build(values, output, n_output, true, width, &programs->of[f], error);
    }
    return status;
}

void programs_fini(struct programs *programs)
{
    values_fini(&programs->values);
    program_fini(&programs->prepare);
    for (int f = 0; f < N_MODEL_FUNCTION; f++)
        program_fini(&programs->of[f]);
    *programs = (struct programs){0};
}
