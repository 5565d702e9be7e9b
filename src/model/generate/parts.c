/* Cuts a list of statements into parts and gives places to what they share.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/generate/parts.h"

#include <stdlib.h>

static uint32_t operations_of(const struct program *program, const struct statement *statement)
{
    const struct step *step = &program->step[statement->is_store ? program->output[statement->which].step :
                                                                   statement->which];
    return statement->is_store && (step->is_named || step_n_argument(step) == 0) ? 1 : step->n_operation + 1;
}

/* Parts of about equal length. */
static void cut(struct parts *parts, const struct program *program)
{
    uint64_t total = 0, done = 0;
    for (uint32_t i = 0; i < program->n_statement; i++)
        total += operations_of(program, &program->statement[i]);
    uint64_t n = (total + PART_OPERATIONS - 1) / PART_OPERATIONS;
    parts->n_part = 1;
    for (uint32_t i = 0; i < program->n_statement; i++) {
        if (n > 1 && done * n >= total * parts->n_part && parts->first[parts->n_part - 1] < i)
            parts->first[parts->n_part++] = i;
        done += operations_of(program, &program->statement[i]);
    }
    parts->first[parts->n_part] = program->n_statement;
}

struct lives {
    const struct program *program;
    uint32_t *last;  /* per step: the last part that reads it */
    uint32_t part;
};

static void note_use(void *context, uint32_t step)
{
    struct lives *lives = context;
    lives->last[step] = lives->part;
}

/* Places are used again from the part on that reads their value last: it reads first. */
static void give_places(struct parts *parts, const struct program *program, const uint32_t *last, uint32_t *free_place,
                        uint32_t *next_ended, uint32_t *first_ended)
{
    uint32_t n_free = 0;
    for (uint32_t p = 0; p < parts->n_part; p++)
        first_ended[p] = STEP_NONE;
    for (uint32_t p = 0; p < parts->n_part; p++) {
        for (uint32_t s = first_ended[p]; s != STEP_NONE; s = next_ended[s])
            free_place[n_free++] = parts->place[s];
        for (uint32_t i = parts->first[p]; i < parts->first[p + 1]; i++) {
            uint32_t s = program->statement[i].which;
            if (program->statement[i].is_store || last[s] <= p)
                continue;
            parts->place[s] = n_free > 0 ? free_place[--n_free] : parts->n_place++;
            next_ended[s] = first_ended[last[s]];
            first_ended[last[s]] = s;
        }
    }
}

enum status parts_init(struct parts *parts, const struct program *program, struct error *error)
{
    size_t n = (size_t)program->n_step + 1, n_statement = (size_t)program->n_statement + 2;
    struct lives lives = {.program = program, .last = calloc(n, sizeof(uint32_t))};
    uint32_t *scratch = calloc(n, 2 * sizeof *scratch), *first_ended = calloc(n_statement, sizeof *first_ended);
    parts->first = calloc(n_statement, sizeof *parts->first);
    parts->place = calloc(n, sizeof *parts->place);
    parts->defined = calloc(n, sizeof *parts->defined);
    bool complete = lives.last && scratch && first_ended && parts->first && parts->place && parts->defined;
    if (complete) {
        cut(parts, program);
        for (uint32_t s = 0; s < program->n_step; s++)
            parts->place[s] = STEP_NONE;
        for (lives.part = 0; lives.part < parts->n_part; lives.part++) {
            for (uint32_t i = parts->first[lives.part]; i < parts->first[lives.part + 1]; i++) {
                if (!program->statement[i].is_store)
                    parts->defined[program->statement[i].which] = lives.part;
                program_visit(program, &program->statement[i], note_use, &lives);
            }
        }
        give_places(parts, program, lives.last, scratch, scratch + n, first_ended);
    }
    free(lives.last);
    free(scratch);
    free(first_ended);
    return complete ? STATUS_OK : error_set(error, STATUS_NO_MEMORY, "out of memory while generating the model's code");
}

void parts_fini(struct parts *parts)
{
    free(parts->first);
    free(parts->place);
    free(parts->defined);
    *parts = (struct parts){0};
}
