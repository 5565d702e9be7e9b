/* Requests are compared and answers copied as bytes. Standard deviations are not compared, because
 * they only decide whether an evaluation must begin again with relative tolerances
 * (observation.h); that decision is made anew from the errors of the rows.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/memo.h"

#include "ode/observation.h"
#include "ode/tolerance.h"

#include <stdlib.h>
#include <string.h>

/* Larger answers are not kept: copying them would cost more memory than their integration costs
 * time. */
enum { MOST_NUMBERS = 65536 };

/* A piece of a request or an answer. */
struct piece {
    void *place;
    size_t size;
};
enum { N_PIECE = 6 };

struct memo {
    const struct stiffit_model *abi;
    const struct ode_options *options;
    double *largest;               /* n_observable: scratch */
    bool is_filled;
    struct evaluation request;     /* and the answer; its arrays are in `memory` */
    struct ode_task task;
    char *memory;
    size_t n_memory;
};

struct memo *memo_new(const struct stiffit_model *abi, const struct ode_options *options)
{
    struct memo *memo = calloc(1, sizeof *memo);
    if (!memo)
        return NULL;
    memo->abi = abi;
    memo->options = options;
    memo->largest = calloc(abi->n_observable + 1, sizeof *memo->largest);
    if (memo->largest)
        return memo;
    memo_free(memo);
    return NULL;
}

void memo_free(struct memo *memo)
{
    if (!memo)
        return;
    free(memo->largest);
    free(memo->memory);
    free(memo);
}

/* Whether its request is no more than is compared here. */
static bool is_plain(const struct memo *memo, const struct evaluation *evaluation)
{
    const struct ode_task *task = evaluation->task;
    return !(task->experiment.n_dose || task->experiment.n_call || task->n_phase
             || task->n_variant || task->time_side || memo->abi->n_input || evaluation->begin
             || evaluation->column || evaluation->lenient || evaluation->adjoint
             || evaluation->noise || evaluation->end);
}

static void put(struct piece *piece, const void *place, size_t size)
{
    memcpy(&piece->place, &place, sizeof place); /* whatever it points to */
    piece->size = size;
}

/* The arrays of a request. */
static void list_request(const struct memo *memo, const struct evaluation *evaluation,
                         struct piece piece[N_PIECE])
{
    const struct ode_task *task = evaluation->task;
    put(&piece[0], evaluation->p, memo->abi->n_parameter * sizeof *evaluation->p);
    put(&piece[1], evaluation->sens, evaluation->n_sens * sizeof *evaluation->sens);
    put(&piece[2], task->experiment.covariate, memo->abi->n_covariate * sizeof(double));
    put(&piece[3], task->time, task->n_time * sizeof *task->time);
    put(&piece[4], task->row_time, task->n_row * sizeof *task->row_time);
    put(&piece[5], task->row_observable, task->n_row * sizeof *task->row_observable);
}

/* Whether both ask for the same. */
static bool is_same(const struct memo *memo, const struct evaluation *a, const struct evaluation *b)
{
    const struct ode_task *one = a->task, *other = b->task;
    struct piece left[N_PIECE], right[N_PIECE];
    if (a->engine != b->engine || a->n_sens != b->n_sens || a->max_steps != b->max_steps
        || a->tighter != b->tighter || (a->n_sens && !a->d_prediction != !b->d_prediction)
        || one->experiment.t0 != other->experiment.t0 || one->n_time != other->n_time
        || one->n_row != other->n_row)
        return false;
    list_request(memo, a, left);
    list_request(memo, b, right);
    for (int i = 0; i < N_PIECE; i++)
        if (left[i].size && memcmp(left[i].place, right[i].place, left[i].size) != 0)
            return false;
    return true;
}

/* Whether its rows would have it begin again. */
static bool asks_relative(struct memo *memo, const struct evaluation *evaluation)
{
    memset(memo->largest, 0, memo->abi->n_observable * sizeof *memo->largest);
    return observation_would_ask(evaluation, tolerance_rtol(memo->options, evaluation->tighter),
                                 memo->largest);
}

/* Copies what an engine has found, but for arrays. */
static void copy_facts(const struct evaluation *from, struct evaluation *to)
{
    to->outcome = from->outcome;
    to->reason[0] = '\0';
    to->crosses = from->crosses;
    to->meets = from->meets;
    to->course = from->course;
    to->t_reached = from->t_reached;
    to->n_step = from->n_step;
    to->n_rhs = from->n_rhs;
    to->n_jacobian = from->n_jacobian;
    to->n_factor = from->n_factor;
}

static void copy_rows(const struct evaluation *from, struct evaluation *to)
{
    size_t n = from->task->n_row;
    memcpy(to->prediction, from->prediction, n * sizeof *to->prediction);
    memcpy(to->excess, from->excess, n * sizeof *to->excess);
    for (size_t s = 0; to->d_prediction && s < to->n_sens; s++)
        memcpy(to->d_prediction + s * (to->stride ? to->stride : n),
               from->d_prediction + s * (from->stride ? from->stride : n), n * sizeof(double));
}

bool memo_answers(struct memo *memo, struct evaluation *evaluation)
{
    bool is_known = memo->is_filled && is_plain(memo, evaluation) && !evaluation->course.is_stiff
                    && is_same(memo, &memo->request, evaluation);
    if (is_known) {
        copy_rows(&memo->request, evaluation);
        is_known = !asks_relative(memo, evaluation);
    }
    if (is_known)
        copy_facts(&memo->request, evaluation);
    for (size_t i = 0; !is_known && i < evaluation->task->n_row; i++)
        evaluation->excess[i] = OBSERVATION_NOT_ASKED;
    return is_known;
}

/* Makes room for a request and its answer. False: out of memory. */
static bool reserve(struct memo *memo, size_t size)
{
    if (size <= memo->n_memory)
        return true;
    char *memory = realloc(memo->memory, size);
    if (!memory)
        return false;
    memo->memory = memory;
    memo->n_memory = size;
    return true;
}

void memo_keep(struct memo *memo, const struct evaluation *evaluation)
{
    const struct ode_task *task = evaluation->task;
    struct piece piece[N_PIECE];
    size_t n_column = evaluation->d_prediction ? evaluation->n_sens : 0,
           n_number = task->n_row * (2 + n_column), size = n_number * sizeof(double);
    if (evaluation->outcome != EVALUATION_OK || !is_plain(memo, evaluation)
        || n_number > MOST_NUMBERS || asks_relative(memo, evaluation))
        return;
    list_request(memo, evaluation, piece);
    for (int i = 0; i < N_PIECE; i++)
        size += (piece[i].size + 7) / 8 * 8;
    memo->is_filled = reserve(memo, size);
    if (!memo->is_filled)
        return;
    const void *kept[N_PIECE];
    char *next = memo->memory + n_number * sizeof(double);
    for (int i = 0; i < N_PIECE; next += (piece[i].size + 7) / 8 * 8, i++) {
        kept[i] = next;
        if (piece[i].size)
            memcpy(next, piece[i].place, piece[i].size);
    }
    struct evaluation *request = &memo->request;
    double *rows = (double *)(void *)memo->memory;
    *request = *evaluation;
    memo->task = *task;
    request->task = &memo->task;
    request->p = kept[0];
    request->sens = kept[1];
    memo->task.experiment.covariate = kept[2];
    memo->task.time = kept[3];
    memo->task.row_time = kept[4];
    memo->task.row_observable = kept[5];
    request->stride = 0;
    request->prediction = rows;
    request->excess = rows + task->n_row;
    request->d_prediction = n_column ? rows + 2 * task->n_row : NULL;
    copy_rows(evaluation, request);
}
