/* The backward pass: propagates the adjoints of the integrator's vectors from step to step and
 * adds up the gradient.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/adjoint.h"

#include "ode/adjoint_tape.h"
#include "ode/dense.h"
#include "ode/observation.h"
#include "ode/outcome.h"
#include "ode/wide.h"
#include "ode/cvodes.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a chunk's tape and limits for its steps. A restart costs about twenty steps of low
 * order. */
enum {
    CHUNK_BYTES = 8 << 20,
    FACTOR_BYTES = 16 << 20,
    STEP_BYTES = 1200,
    CHUNK_LEAST = 256,
    CHUNK_MOST = 4096
};
/* The output that stands for a chunk's last state. */
#define LAST_STATE UINT32_MAX

struct checkpoint {
    double t;
    size_t i_time; /* next to be answered */
};

struct adjoint {
    struct tape tape;
    size_t chunk_steps, kept_steps; /* of a chunk: all, and those with stored factors */
    size_t n_chunk, i_chunk, chunk_room; /* chunk i_chunk is on the tape */
    struct checkpoint *chunks;
    double *chunk_states; /* n_state each for the states and the probe; workspace.sizes */
    double *at_time;      /* the states at the task's times */
    size_t time_room;

    /* adjoints of the vectors after and before the current step, and of its events; live: some
     * are not 0 */
    double *after, *before; /* n_state x n_column */
    bool *after_live, *before_live;
    double *carry;          /* n_state: adjoint of a chunk's initial state */
    double *w, *scratch;    /* n_state */
    double *gradient;       /* n_parameter places, n_sens used */
    size_t position;        /* steps of the tape not yet processed */
};

void adjoint_free(struct adjoint *adjoint)
{
    if (!adjoint)
        return;
    tape_fini(&adjoint->tape);
    free(adjoint->chunks);
    free(adjoint->chunk_states);
    free(adjoint->at_time);
    free(adjoint->after);
    free(adjoint->before);
    free(adjoint->after_live);
    free(adjoint->before_live);
    free(adjoint->carry);
    free(adjoint->w);
    free(adjoint->scratch);
    free(adjoint->gradient);
    free(adjoint);
}

static struct adjoint *adjoint_new(const struct workspace *ws)
{
    struct adjoint *adjoint = calloc(1, sizeof *adjoint);
    if (!adjoint)
        return NULL;
    size_t n = ws->sim.n_state, n_column = ws->bank ? vector_bank_n_tracer(ws->bank) : 0;
    size_t steps = CHUNK_BYTES / (STEP_BYTES + n * sizeof(double));
    adjoint->chunk_steps = steps < CHUNK_LEAST  ? CHUNK_LEAST
                           : steps > CHUNK_MOST ? CHUNK_MOST
                                                : steps;
    size_t kept = linear_kept_length(ws->linear) * sizeof(double);
    adjoint->kept_steps = kept ? FACTOR_BYTES / kept : 0;
    adjoint->after = calloc(n * n_column + 1, sizeof(double));
    adjoint->before = calloc(n * n_column + 1, sizeof(double));
    adjoint->after_live = calloc(n_column + 1, sizeof(bool));
    adjoint->before_live = calloc(n_column + 1, sizeof(bool));
    adjoint->carry = calloc(n + 1, sizeof(double));
    adjoint->w = calloc(n + 1, sizeof(double));
    adjoint->scratch = calloc(n + 1, sizeof(double));
    adjoint->gradient = calloc((size_t)ws->sim.abi->n_parameter + 1, sizeof(double));
    if (adjoint->after && adjoint->before && adjoint->after_live && adjoint->before_live &&
        adjoint->carry && adjoint->w && adjoint->scratch && adjoint->gradient &&
        (n == 0 || tape_init(&adjoint->tape, ws->bank, n)))
        return adjoint;
    adjoint_free(adjoint);
    return NULL;
}

bool adjoint_fail_memory(struct workspace *ws)
{
    return outcome_fail(&ws->sim, EVALUATION_NO_MEMORY,
                        "no memory to keep the integrator's steps for the backward pass");
}

bool adjoint_begin(struct workspace *ws)
{
    if (!ws->adjoint)
        ws->adjoint = adjoint_new(ws);
    struct adjoint *adjoint = ws->adjoint;
    if (!adjoint)
        return false;
    size_t needed = ws->sim.evaluation->task->n_time * ws->sim.n_state + 1;
    if (needed > adjoint->time_room) {
        double *bigger = realloc(adjoint->at_time, needed * sizeof(double));
        if (!bigger)
            return false;
        adjoint->at_time = bigger;
        adjoint->time_room = needed;
    }
    adjoint->n_chunk = adjoint->i_chunk = 0;
    adjoint->tape.n_step = 0;
    ws->tape = ws->probe ? &adjoint->tape : NULL;
    return true;
}

bool adjoint_open(struct workspace *ws, double t)
{
    struct adjoint *adjoint = ws->adjoint;
    size_t n = ws->sim.n_state, length = 5 * n + 1, i = adjoint->n_chunk;
    tape_rewind(&adjoint->tape);
    if (ws->pass == PASS_REPLAY)
        return true;
    if (i == adjoint->chunk_room) {
        size_t room = 2 * i + 4;
        struct checkpoint *chunks = realloc(adjoint->chunks, room * sizeof *chunks);
        adjoint->chunks = chunks ? chunks : adjoint->chunks;
        double *states = realloc(adjoint->chunk_states, room * length * sizeof *states);
        adjoint->chunk_states = states ? states : adjoint->chunk_states;
        if (!chunks || !states)
            return false;
        adjoint->chunk_room = room;
    }
    adjoint->chunks[i] = (struct checkpoint){.t = t, .i_time = ws->sim.rows.i_time};
    memcpy(adjoint->chunk_states + i * length, vector_data(ws->y), 2 * n * sizeof(double));
    memcpy(adjoint->chunk_states + i * length + 2 * n, ws->sim.tolerance.sizes,
           (3 * n + 1) * sizeof(double));
    adjoint->i_chunk = i;
    adjoint->n_chunk++;
    return true;
}

bool adjoint_keep(struct workspace *ws, size_t i_time, bool initial)
{
    struct adjoint *adjoint = ws->adjoint;
    size_t n = ws->sim.n_state;
    if (n && ws->pass == PASS_FORWARD)
        memcpy(adjoint->at_time + i_time * n, vector_data(ws->y), n * sizeof(double));
    return initial || !ws->tape || tape_output(&adjoint->tape, ws->y, (uint32_t)i_time);
}

bool adjoint_record(struct workspace *ws)
{
    struct adjoint *adjoint = ws->adjoint;
    struct tape *tape = &adjoint->tape;
    if (!tape_step(tape, vector_data(ws->y)))
        return adjoint_fail_memory(ws);
    if (tape->lost) {
        outcome_fail(&ws->sim, EVALUATION_ODE_FAILED,
                     "the integrator failed too often in one step for the backward pass to "
                     "repeat it");
        return false;
    }
    if (tape->n_step > adjoint->kept_steps || ws->factor_gamma != tape->gamma)
        return true;
    double *kept = tape_add(tape, linear_kept_length(ws->linear));
    if (!kept)
        return adjoint_fail_memory(ws);
    linear_keep(ws->linear, kept);
    return true;
}

bool adjoint_is_full(const struct workspace *ws)
{
    return ws->adjoint->tape.n_step == ws->adjoint->chunk_steps;
}

bool adjoint_close(struct workspace *ws)
{
    struct adjoint *adjoint = ws->adjoint;
    if (ws->pass == PASS_REPLAY && adjoint->chunks[adjoint->i_chunk + 1].t != ws->sim.t) {
        outcome_fail(&ws->sim, EVALUATION_MODEL_FAILED,
                     "the model is not a pure function: the integrator's steps could not be "
                     "repeated for the backward pass; the forward pass succeeded");
        return false;
    }
    if (!tape_output(&adjoint->tape, ws->y, LAST_STATE)) {
        adjoint_fail_memory(ws);
        return false;
    }
    adjoint->position = adjoint->tape.n_step;
    return true;
}

static void clear_after(struct adjoint *adjoint)
{
    memset(adjoint->after_live, 0, adjoint->tape.n_column);
}

bool adjoint_turn(struct workspace *ws)
{
    struct adjoint *adjoint = ws->adjoint;
    struct evaluation *evaluation = ws->sim.evaluation;
    const struct evaluation_adjoint *request = evaluation->adjoint;
    size_t n_row = evaluation->task->n_row;
    bool noise = evaluation->noise && ws->sim.abi->noise;
    if (!request->weigh(request->context, evaluation) ||
        !all_finite(request->by_prediction, n_row) ||
        (noise && !all_finite(request->by_noise, n_row))) {
        outcome_fail(&ws->sim, EVALUATION_MODEL_FAILED,
                     "the objective or its derivatives are not finite");
        return false;
    }
    ws->sim.rows.i_row = n_row;
    ws->pass = PASS_BACKWARD;
    memset(adjoint->gradient, 0, evaluation->n_sens * sizeof(double));
    memset(adjoint->carry, 0, ws->sim.n_state * sizeof(double));
    clear_after(adjoint);
    adjoint->position = ws->tape ? adjoint->tape.n_step : 0;
    return true;
}

/* Adds factor x to the adjoint of column c. */
WIDE static void add(struct adjoint *adjoint, uint32_t c, double factor, const double *restrict x,
                     size_t n)
{
    double *restrict to = adjoint->before + c * n;
    if (adjoint->before_live[c]) {
        for (size_t i = 0; i < n; i++)
            to[i] += factor * x[i];
        return;
    }
    adjoint->before_live[c] = true;
    for (size_t i = 0; i < n; i++)
        to[i] = factor * x[i];
}

/* Adds the terms first..end-1 that belong to this row, whose adjoint is x. */
static void add_row(struct adjoint *adjoint, size_t first, size_t end, uint32_t row, double factor,
                    const double *x)
{
    for (const struct tape_term *term = adjoint->tape.terms + first;
         term < adjoint->tape.terms + end; term++)
        if (term->row == row)
            add(adjoint, term->column, factor * term->factor, x, adjoint->tape.n_state);
}

static bool add_outputs(struct workspace *ws, struct adjoint *adjoint, const struct tape_step *step)
{
    const struct tape_term *terms = adjoint->tape.terms;
    size_t n = ws->sim.n_state, first;
    for (size_t end = step->end; end > step->outputs; end = first) {
        uint32_t row = terms[end - 1].row;
        for (first = end; first > step->outputs && terms[first - 1].row == row;)
            first--;
        const double *x = adjoint->carry;
        if (row != LAST_STATE) {
            memset(adjoint->scratch, 0, n * sizeof(double));
            if (!observation_weigh(&ws->sim, row, adjoint->at_time + row * n,
                                   ws->tape ? adjoint->scratch : NULL, adjoint->gradient))
                return false;
            x = adjoint->scratch;
        }
        add_row(adjoint, first, end, row, 1, x);
    }
    return true;
}

/* gradient += scale (df/dp)^T x, for parameters that enter the right-hand side. */
WIDE static void add_rhs_parameter(const struct workspace *ws, double scale, const double *x,
                                   double *gradient)
{
    const struct evaluation *evaluation = ws->sim.evaluation;
    size_t n = ws->sim.n_state;
    for (size_t k = 0; k < evaluation->n_sens; k++) {
        size_t j = evaluation->sens[k];
        if (derivatives_use(ws->sim.abi, j) & STIFFIT_USE_RHS)
            gradient[k] += scale * dense_dot(ws->rhs_parameter + j * n, x, n);
    }
}

/* y = prediction + correction solves y - gamma f(t, y, p) = prediction - rl1 zn1. With mu the
 * adjoint of the correction and (I - gamma J)^T w = mu, this adds w - mu to the prediction's
 * adjoint, -rl1 w to zn1's, and gamma (df/dp)^T w to the gradient. */
static bool back_over_solve(struct workspace *ws, struct adjoint *adjoint,
                            const struct tape_step *step)
{
    size_t n = ws->sim.n_state;
    const struct tape *tape = &adjoint->tape;
    const double *mu = adjoint->before + tape_solve_column(tape) * n,
                 *y = tape->numbers + step->state;
    double *w = adjoint->w;
    memcpy(w, mu, n * sizeof(double));
    if (derivatives_rhs_parameter(&ws->sim.model, step->t, y, ws->rhs_parameter) != STIFFIT_OK)
        return outcome_model_failed(&ws->sim);
    enum linear_result result = LINEAR_OK;
    if (step->kept != SIZE_MAX) {
        result = linear_solve_transposed_kept(ws->linear, tape->numbers + step->kept, w);
    } else {
        if (newton_jacobian(ws, step->t, y, NULL, false) != STIFFIT_OK)
            return outcome_model_failed(&ws->sim);
        ws->sim.n_factor++;
        result = linear_factor(ws->linear, step->gamma);
        if (result == LINEAR_OK)
            result = linear_solve_transposed(ws->linear, w);
    }
    if (result == LINEAR_NO_MEMORY) {
        outcome_fail(&ws->sim, EVALUATION_NO_MEMORY,
                     "no memory for the linear solver of the backward pass");
        return false;
    }
    if (result != LINEAR_OK || !all_finite(w, n)) {
        outcome_fail(&ws->sim, EVALUATION_ODE_FAILED,
                     "the backward pass met a singular matrix or an adjoint that overflows; "
                     "the forward pass succeeded");
        return false;
    }
    add_rhs_parameter(ws, step->gamma, w, adjoint->gradient);
    for (size_t i = 0; i < n; i++)
        adjoint->scratch[i] = w[i] - mu[i];
    add_row(adjoint, step->solve, step->calls, 0, 1, adjoint->scratch);
    add_row(adjoint, step->solve, step->calls, 1, -step->rl1, w);
    return true;
}

static bool back_over_calls(struct workspace *ws, struct adjoint *adjoint,
                            const struct tape_step *step)
{
    size_t n = ws->sim.n_state;
    for (uint32_t k = 0; k < step->n_call; k++) {
        uint32_t column = step->call[k];
        const double *x = adjoint->before + column * n,
                     *y = adjoint->tape.numbers + step->state + (k + 1) * n;
        if (!adjoint->before_live[column])
            continue;
        if (newton_jacobian(ws, step->call_t[k], y, NULL, false) != STIFFIT_OK ||
            derivatives_rhs_parameter(&ws->sim.model, step->call_t[k], y, ws->rhs_parameter) !=
                STIFFIT_OK)
            return outcome_model_failed(&ws->sim);
        linear_multiply_transposed(ws->linear, x, adjoint->scratch);
        add_rhs_parameter(ws, 1, x, adjoint->gradient);
        add_row(adjoint, step->calls, step->outputs, column, 1, adjoint->scratch);
    }
    return true;
}

static bool back_over(struct workspace *ws, struct adjoint *adjoint, const struct tape_step *step)
{
    const struct tape_term *terms = adjoint->tape.terms;
    size_t n = ws->sim.n_state, n_column = adjoint->tape.n_column;
    memset(adjoint->before_live, 0, n_column * sizeof(bool));
    if (!add_outputs(ws, adjoint, step))
        return outcome_model_failed(&ws->sim);
    for (size_t i = step->vectors; i < step->solve; i++)
        if (adjoint->after_live[terms[i].row])
            add(adjoint, terms[i].column, terms[i].factor, adjoint->after + terms[i].row * n, n);
    if (adjoint->before_live[tape_solve_column(&adjoint->tape)] &&
        !back_over_solve(ws, adjoint, step))
        return false;
    if (!back_over_calls(ws, adjoint, step))
        return false;
    double *swap = adjoint->after;
    bool *swap_live = adjoint->after_live;
    adjoint->after = adjoint->before;
    adjoint->after_live = adjoint->before_live;
    adjoint->before = swap;
    adjoint->before_live = swap_live;
    return true;
}

/* Adds the initial state and the measurements at the initial time, or all of them if no state
 * depends on a wanted parameter. */
static bool finish_at_start(struct workspace *ws, struct adjoint *adjoint)
{
    struct evaluation *evaluation = ws->sim.evaluation;
    size_t n = ws->sim.n_state;
    bool initial = false;
    for (size_t i = adjoint->n_chunk ? adjoint->chunks[0].i_time : evaluation->task->n_time;
         i-- > 0;)
        if (!observation_weigh(&ws->sim, i, adjoint->at_time + i * n,
                               ws->tape ? adjoint->carry : NULL, adjoint->gradient))
            return outcome_model_failed(&ws->sim);
    for (size_t k = 0; k < evaluation->n_sens && n; k++)
        initial =
            initial || derivatives_use(ws->sim.abi, evaluation->sens[k]) & STIFFIT_USE_INITIAL;
    if (initial && derivatives_initial_parameter(&ws->sim.model, ws->sim.columns) != STIFFIT_OK)
        return outcome_model_failed(&ws->sim);
    for (size_t k = 0; k < evaluation->n_sens && initial; k++) {
        size_t j = evaluation->sens[k];
        if (derivatives_use(ws->sim.abi, j) & STIFFIT_USE_INITIAL)
            adjoint->gradient[k] += dense_dot(ws->sim.columns + j * n, adjoint->carry, n);
    }
    if (!all_finite(adjoint->gradient, evaluation->n_sens)) {
        outcome_fail(&ws->sim, EVALUATION_ODE_FAILED, "the gradient overflows");
        return false;
    }
    memcpy(evaluation->adjoint->gradient, adjoint->gradient, evaluation->n_sens * sizeof(double));
    return outcome_set(&ws->sim, EVALUATION_OK);
}

bool adjoint_step(struct workspace *ws, double *t)
{
    struct adjoint *adjoint = ws->adjoint;
    struct evaluation *evaluation = ws->sim.evaluation;
    size_t n = ws->sim.n_state;
    if (adjoint->position > 0) {
        if (evaluation->n_step >= evaluation->max_steps) {
            outcome_fail(&ws->sim, EVALUATION_BUDGET,
                         "the budget of integrator steps is used up in the backward pass");
            return false;
        }
        evaluation->n_step++;
        return back_over(ws, adjoint, &adjoint->tape.steps[--adjoint->position]);
    }
    if (ws->tape) {
        size_t i = vector_index(ws->y);
        if (adjoint->after_live[i])
            memcpy(adjoint->carry, adjoint->after + i * n, n * sizeof(double));
        else
            memset(adjoint->carry, 0, n * sizeof(double));
        clear_after(adjoint);
    }
    if (!ws->tape || adjoint->i_chunk == 0)
        return finish_at_start(ws, adjoint);
    const struct checkpoint *chunk = &adjoint->chunks[--adjoint->i_chunk];
    const double *states = adjoint->chunk_states + adjoint->i_chunk * (5 * n + 1);
    memcpy(vector_data(ws->y), states, 2 * n * sizeof(double));
    memcpy(ws->sim.tolerance.sizes, states + 2 * n, (3 * n + 1) * sizeof(double));
    ws->sim.rows.i_time = chunk->i_time;
    ws->pass = PASS_REPLAY;
    *t = chunk->t;
    return true;
}

/* Cost of forward sensitivities divided by cost of the adjoint, median (measured by
 * scripts/bench/bench_ode_adjoint.c; reaction networks, dense Jacobian, rtol 1e-6, 12 times,
 * Debian's SUNDIALS 6.4.1):
 *
 *     states \ parameters     4     8    12    20    30    40   100   200   300
 *      2                    0.39  0.40        0.65        0.51  0.72  0.88  0.95
 *      3                                      0.78        0.85  1.04
 *      5                    0.55  0.66        0.92  1.14  1.13        1.80
 *     12                          0.90  1.06  1.2
 *     20                    0.83  1.02  1.2         2.1
 *     50                    0.89  1.00  1.2         1.7                     8.4
 *    100                                      0.93  1.14
 *
 * CVodeB with the same vectors and an exact corrector: 50 states, 300 parameters, 12 times: 20
 * ms against 5.9 ms here and 52 ms for forward sensitivities. 5 states, 200 parameters, 2, 12
 * and 50 times: 0.52, 2.3 and 7.8 ms against 0.72, 0.72 and 0.76 here and 1.3, 1.3 and 1.5
 * forward. Its gradients differ from the forward ones mostly 10 to 1000 times as much as ours.
 *
 * The number of measurement times is ignored: nothing restarts at them, and more of them favour
 * the adjoint slightly (5 states, 200 parameters: ratio 1.7, 1.8, 1.9 and 2.5 at 2, 12, 50 and
 * 200 times). */
bool adjoint_is_cheaper(size_t n_state, size_t n_sens_rhs)
{
    double n = (double)n_state, p = (double)n_sens_rhs;
    return n > 0 && p >= 8 && p * n >= 128 && p * n * n * n >= 2400 && 4 * p >= n;
}
