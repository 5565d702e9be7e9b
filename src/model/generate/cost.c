/* What each function of a plugin costs, counted over its program.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/generate/c_expression.h"
#include "model/generate/generate.h"
#include "model/generate/programs.h"

#include <stdlib.h>
#include <string.h>

static void count_operation(enum graph_op op, struct function_cost *cost)
{
    size_t *const count[] = {
        [COST_SIGN] = &cost->n_add, [COST_ADD] = &cost->n_add, [COST_MULTIPLY] = &cost->n_multiply,
        [COST_DIVIDE] = &cost->n_divide, [COST_ROOT] = &cost->n_call, [COST_CALL] = &cost->n_call,
        [COST_CHOICE] = &cost->n_other, [COST_PRODUCT_CALL] = &cost->n_other};
    ++*count[graph_operations[op].cost];
}

/* Which temporaries are alive after statement i: those that are defined by then and read later. */
struct lives {
    const struct program *program;
    uint32_t *last; /* per step: the last statement that reads it */
    uint32_t i_statement;
};

static void note_use(void *context, uint32_t step)
{
    struct lives *lives = context;
    lives->last[step] = lives->i_statement;
}

static bool count_alive(const struct program *program, struct function_cost *cost)
{
    struct lives lives = {.program = program, .last = calloc((size_t)program->n_step + 1, sizeof(uint32_t))};
    size_t *n_ended = calloc((size_t)program->n_statement + 1, sizeof *n_ended), n_alive = 0;
    bool complete = lives.last && n_ended;
    for (; complete && lives.i_statement < program->n_statement; lives.i_statement++)
        program_visit(program, &program->statement[lives.i_statement], note_use, &lives);
    for (uint32_t i = 0; complete && i < program->n_statement; i++) {
        n_alive -= n_ended[i];
        if (program->statement[i].is_store)
            continue;
        n_ended[lives.last[program->statement[i].which]]++;
        n_alive++;
        if (n_alive > cost->n_alive)
            cost->n_alive = n_alive;
    }
    free(lives.last);
    free(n_ended);
    return complete;
}

enum status generate_cost(const struct equations *equations, const struct functions *functions,
                          struct function_cost cost[N_FUNCTION_COST], struct error *error)
{
    struct programs programs = {0};
    enum status status = programs_init(&programs, equations, functions, c_width, error);
    memset(cost, 0, N_FUNCTION_COST * sizeof *cost);
    for (int f = 0; f < N_FUNCTION_COST && status == STATUS_OK; f++) {
        const struct program *program = f == COST_prepare ? &programs.prepare : &programs.of[f];
        for (uint32_t i = 0; i < program->n_step; i++) {
            const struct step *step = &program->step[i];
            bool is_constant = step->op == GRAPH_RECIPROCAL && program->step[step->arg[0]].op == GRAPH_CONSTANT;
            if (step_n_argument(step) > 0 && !is_constant) /* the compiler divides 1 by it */
                count_operation((enum graph_op)step->op, &cost[f]);
        }
        cost[f].n_temporary = program->n_temporary;
        cost[f].n_result = program->n_output;
        if (!count_alive(program, &cost[f]))
            status = error_set(error, STATUS_NO_MEMORY, "out of memory while counting the model's operations");
    }
    programs_fini(&programs);
    return status;
}
