/* Records the integrator's steps from the tracers of its vectors.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/adjoint_tape.h"

#include <stdlib.h>
#include <string.h>

bool tape_init(struct tape *tape, struct vector_bank *bank, size_t n_state)
{
    *tape = (struct tape){.bank = bank, .n_state = n_state, .n_vector = vector_bank_n_vector(bank),
                          .n_column = vector_bank_n_tracer(bank)};
    bool complete = true;
    for (int k = 0; k < 2; k++)
        complete = (tape->solve_row[k] = calloc(tape->n_column, sizeof(double))) && complete;
    for (int k = 0; k < TAPE_N_CALL; k++) {
        struct tape_call *call = &tape->call[k];
        call->y = calloc(n_state, sizeof(double));
        call->row = calloc(tape->n_column, sizeof(double));
        complete = complete && call->y && call->row;
    }
    return complete;
}

void tape_fini(struct tape *tape)
{
    for (int k = 0; k < 2; k++)
        free(tape->solve_row[k]);
    for (int k = 0; k < TAPE_N_CALL; k++) {
        free(tape->call[k].y);
        free(tape->call[k].row);
    }
    free(tape->steps);
    free(tape->terms);
    free(tape->numbers);
    *tape = (struct tape){0};
}

void tape_next(struct tape *tape)
{
    vector_bank_trace(tape->bank, true);
    for (int k = 0; k < TAPE_N_CALL; k++)
        tape->call[k].taken = false;
    tape->n_call = 0;
    for (int k = 0; k < 2; k++)
        memset(tape->solve_row[k], 0, tape->n_column * sizeof(double));
}

void tape_rewind(struct tape *tape)
{
    tape->n_step = tape->n_term = tape->n_number = 0;
    tape->lost = false;
    tape_next(tape);
}

/* Makes room for `count` more items after the first `used`. False: out of memory, nothing
 * changed. */
static bool grow(void *array, size_t *room, size_t used, size_t count, size_t size)
{
    if (count <= *room - used)
        return true;
    size_t more = *room * 2 > used + count ? *room * 2 : used + count + 64;
    if (more > SIZE_MAX / size)
        return false;
    void *old, *bigger;
    memcpy(&old, array, sizeof old);
    bigger = realloc(old, more * size);
    if (!bigger)
        return false;
    memcpy(array, &bigger, sizeof bigger);
    *room = more;
    return true;
}

static bool add_row(struct tape *tape, const double *tracers, uint32_t row)
{
    if (!grow(&tape->terms, &tape->term_room, tape->n_term, tape->n_column, sizeof *tape->terms))
        return false;
    struct tape_term *end = tape->terms + tape->n_term;
    for (size_t c = 0; c < tape->n_column; c++)
        if (tracers[c] != 0)
            *end++ = (struct tape_term){.factor = tracers[c], .row = row, .column = (uint32_t)c};
    tape->n_term = (size_t)(end - tape->terms);
    return true;
}

static double *add_numbers(struct tape *tape, size_t count)
{
    if (!grow(&tape->numbers, &tape->number_room, tape->n_number, count, sizeof(double)))
        return NULL;
    tape->n_number += count;
    return tape->numbers + tape->n_number - count;
}

static bool add_state(struct tape *tape, const double *y)
{
    double *to = add_numbers(tape, tape->n_state);
    if (to)
        memcpy(to, y, tape->n_state * sizeof(double));
    return to;
}

/* An earlier solution in the same step belonged to a failed attempt. The integrator restored the
 * history before it, so no surviving vector depends on it. */
void tape_solve(struct tape *tape, double t, double gamma, double rl1, N_Vector predicted,
                N_Vector zn1, N_Vector correction)
{
    size_t column = tape_solve_column(tape), size = tape->n_column * sizeof(double);
    for (size_t i = 0; i < tape->n_vector; i++)
        vector_bank_tracers(tape->bank, i)[column] = 0;
    for (int k = 0; k < TAPE_N_CALL; k++)
        tape->call[k].row[column] = 0;
    double *tracers = vector_tracers(correction);
    memset(tracers, 0, size);
    tracers[column] = 1;
    tape->t = t;
    tape->gamma = gamma;
    tape->rl1 = rl1;
    memcpy(tape->solve_row[0], vector_tracers(predicted), size);
    memcpy(tape->solve_row[1], vector_tracers(zn1), size);
}

/* Whether no vector except `except` depends on call k, so that its place is free. */
static bool is_forgotten(const struct tape *tape, uint32_t k, size_t except)
{
    size_t column = tape->n_vector + 1 + k;
    if (!tape->call[k].taken)
        return true;
    for (size_t i = 0; i < tape->n_vector; i++)
        if (i != except && vector_bank_tracers(tape->bank, i)[column] != 0)
            return false;
    return true;
}

void tape_call(struct tape *tape, double t, N_Vector y, N_Vector ydot)
{
    uint32_t k = 0;
    while (k < TAPE_N_CALL && !is_forgotten(tape, k, vector_index(ydot)))
        k++;
    if (k == TAPE_N_CALL) {
        tape->lost = true;
        return;
    }
    size_t column = tape->n_vector + 1 + k;
    struct tape_call *call = &tape->call[k];
    call->taken = true;
    call->order = tape->n_call++;
    call->t = t;
    memcpy(call->y, vector_data(y), tape->n_state * sizeof(double));
    memcpy(call->row, vector_tracers(y), tape->n_column * sizeof(double));
    for (int other = 0; other < TAPE_N_CALL; other++)
        tape->call[other].row[column] = 0;
    double *tracers = vector_tracers(ydot);
    memset(tracers, 0, tape->n_column * sizeof(double));
    tracers[column] = 1;
}

/* Adds the calls, the last one first: the state of a later call may depend on an earlier one,
 * never the other way round. */
static bool add_calls(struct tape *tape, struct tape_step *step)
{
    for (uint32_t order = tape->n_call; order-- > 0;)
        for (uint32_t k = 0; k < TAPE_N_CALL; k++) {
            const struct tape_call *call = &tape->call[k];
            if (!call->taken || call->order != order)
                continue;
            step->call[step->n_call] = (uint32_t)tape->n_vector + 1 + k;
            step->call_t[step->n_call++] = call->t;
            if (!add_row(tape, call->row, (uint32_t)tape->n_vector + 1 + k) ||
                !add_state(tape, call->y))
                return false;
        }
    return true;
}

bool tape_step(struct tape *tape, const double *y)
{
    if (!grow(&tape->steps, &tape->step_room, tape->n_step, 1, sizeof *tape->steps))
        return false;
    struct tape_step *step = &tape->steps[tape->n_step];
    *step = (struct tape_step){.t = tape->t,
                               .gamma = tape->gamma, .rl1 = tape->rl1, .vectors = tape->n_term,
                               .state = tape->n_number, .kept = SIZE_MAX};
    if (!add_state(tape, y))
        return false;
    for (size_t i = 0; i < tape->n_vector; i++)
        if (!add_row(tape, vector_bank_tracers(tape->bank, i), (uint32_t)i))
            return false;
    step->solve = tape->n_term;
    for (uint32_t k = 0; k < 2; k++)
        if (!add_row(tape, tape->solve_row[k], k))
            return false;
    step->calls = tape->n_term;
    if (!add_calls(tape, step))
        return false;
    step->outputs = step->end = tape->n_term;
    tape->n_step++;
    return true;
}

double *tape_add(struct tape *tape, size_t count)
{
    double *to = add_numbers(tape, count);
    if (to)
        tape->steps[tape->n_step - 1].kept = tape->n_number - count;
    return to;
}

bool tape_output(struct tape *tape, N_Vector output, uint32_t row)
{
    if (!add_row(tape, vector_tracers(output), row))
        return false;
    tape->steps[tape->n_step - 1].end = tape->n_term;
    return true;
}
