/* What a lane's evaluation needs one number at a time: its beginning, its measurements, and how it fails.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/lanes/guest.h"

#include "ode/tolerance.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An underflow so many attempts after the model gave numbers that are not finite is the model's failure. */
enum { LASTING = 100 };
/* A step is accepted if its estimated error is at most so many tolerances; the estimate is that of a method of lower order, and
 * far larger than the error. Without atol, this is the number for an rtol of 1e-3, and grows as rtol to the power -1/8: errors
 * become about as large as those of CVODES (stiffit-internals(7)), which grow like that. */
static const double ACCEPTED = 9, ACCEPTED_ATOL = 8;

struct guest *guest_new(const struct stiffit_model *abi, const struct ode_options *options)
{
    struct guest *guest = calloc(1, sizeof *guest);
    if (!guest)
        return NULL;
    size_t n = abi->n_state;
    guest->y = calloc(n * (1 + (size_t)abi->n_parameter) + 1, sizeof(double));
    guest->y_before = calloc(n + 1, sizeof(double));
    if (observer_init(&guest->o, abi, options) && guest->y && guest->y_before)
        return guest;
    guest_free(guest);
    return NULL;
}

void guest_free(struct guest *guest)
{
    if (!guest)
        return;
    observer_fini(&guest->o);
    free(guest->y);
    free(guest->y_before);
    free(guest);
}

/* The root mean square of x over the tolerances at y. */
static double size_of(const struct observer *ob, const double *x, const double *y)
{
    double sum = 0;
    for (size_t i = 0; i < ob->n_state; i++) {
        double ratio = x[i] / (ob->rtol * fabs(y[i]) + ob->tolerance_beyond[i] + DBL_MIN / DBL_EPSILON);
        sum += ratio * ratio;
    }
    return sqrt(sum / (double)ob->n_state);
}

/* The first step (Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I, section II.4). False: the model failed.
 * */
static bool first_step(struct guest *guest, int order)
{
    struct observer *ob = &guest->o;
    size_t n = ob->n_state;
    double *y = guest->y, *f = ob->f, *moved = guest->y_before, *slope = ob->columns, span = ob->t_far - ob->t;
    if (derivatives_rhs(&ob->model, ob->t, y, f) != STIFFIT_OK)
        return false;
    double by_y = size_of(ob, y, y), by_f = size_of(ob, f, y), h = 1e-6 * span;
    if (by_f > 0 && by_y > 0)
        h = 0.01 * by_y / by_f;
    h = fmin(h, span);
    bool known = false;
    for (int i = 0; i < 8 && !known; i++, h *= known ? 1 : 0.1) {
        for (size_t j = 0; j < n; j++)
            moved[j] = y[j] + h * f[j];
        known = derivatives_rhs(&ob->model, ob->t + h, moved, slope) == STIFFIT_OK;
    }
    if (known) {
        for (size_t j = 0; j < n; j++)
            slope[j] -= f[j];
        double largest = fmax(by_f, size_of(ob, slope, y) / h);
        double next = largest > 0 ? pow(0.01 / largest, 1.0 / (order + 1)) : 100 * h;
        h = fmin(100 * h, fmin(next, span));
    }
    /* A step that only the span or the growth of steps limits would be the same for a certificate, which would confirm its
     * error. */
    if (ob->evaluation->tighter > 1)
        h *= pow(ob->evaluation->tighter, -1.0 / order);
    guest->h = fmax(h, 64 * DBL_EPSILON * fabs(ob->t) + DBL_MIN / DBL_EPSILON);
    return true;
}

bool guest_begin(struct guest *guest, const struct lanes_method *method, bool is_relative)
{
    struct observer *ob = &guest->o;
    struct evaluation *evaluation = ob->evaluation;
    const struct ode_task *task = evaluation->task;
    observer_begin(ob, is_relative);
    observer_choose_blocks(ob);
    if (derivatives_begin(&ob->model, evaluation->p, task->covariate, task->t0, evaluation->n_sens, evaluation->sens) !=
            STIFFIT_OK ||
        observer_initial(ob, guest->y) != STIFFIT_OK)
        return observer_fail(ob);
    if (task->n_time == 0)
        return observer_finish(ob, EVALUATION_OK);
    tolerance_begin(ob, guest->y);
    if (ob->atol == 0)
        tolerance_follow(ob, guest->y);
    positive_begin(ob, guest->y);
    if (task->time[0] <= task->t0) {
        if (!observer_answer(ob, guest->y, true))
            return observer_fail(ob);
        ob->i_time = 1;
    }
    if (ob->i_time == task->n_time)
        return observer_finish(ob, EVALUATION_OK);
    if (evaluation->n_step >= evaluation->max_steps)
        return observer_stop(ob, EVALUATION_BUDGET, "the budget of integrator steps is used up");
    double last = task->time[task->n_time - 1];
    ob->t_far = fmax(last, task->t0 + 64 * DBL_EPSILON * fmax(fabs(task->t0), fabs(last)));
    if (!first_step(guest, method->order_error))
        return observer_fail(ob);
    double accepted = ob->atol > 0 ? ACCEPTED_ATOL : ACCEPTED * sqrt(sqrt(sqrt(1e-3 / ob->rtol)));
    guest->by_accepted = 1 / (accepted * accepted);
    guest->log_h = -INFINITY;
    guest->log_error = 0;
    guest->n_attempt = 0;
    guest->trouble = -LASTING;
    guest->rejected = guest->watched = false;
    return true;
}

void guest_load(const struct guest *guest, struct lanes_room *room, int k, const int32_t *column, bool live)
{
    const struct observer *ob = &guest->o;
    const struct stiffit_model *abi = ob->abi;
    const struct stiffit_point *at = &ob->model.at;
    size_t n = ob->n_state;
    for (size_t j = 0; j < abi->n_parameter; j++)
        room->p[j][k] = at->p[j];
    for (size_t j = 0; j < abi->n_covariate; j++)
        room->covariate[j][k] = at->covariate[j];
    for (size_t j = 0; j < abi->n_work; j++)
        room->work[j][k] = at->work ? at->work[j] : 0;
    for (size_t c = 0; c < room->n_column; c++)
        room->active[c][k] = 0;
    for (size_t b = 0; b < room->n_block; b++)
        for (size_t e = 0; e < n * room->block[b].width; e++)
            room->block[b].sens[e][k] = 0;
    for (size_t b = 0; b < ob->n_block; b++) {
        size_t c = (size_t)column[ob->block_parameter[b]];
        room->unit[c][k] = ob->block_unit[b];
        room->active[c][k] = -1;
        struct lanes_block *block = room->block;
        while (c >= block->first + block->width)
            block++;
        for (size_t i = 0; i < n; i++)
            block->sens[i * block->width + c - block->first][k] = guest->y[(1 + b) * n + i];
    }
    for (size_t i = 0; i < n; i++) {
        room->y[i][k] = room->y_before[i][k] = guest->y[i];
        room->size[i][k] = ob->sizes[i];
        room->guess[i][k] = ob->sizes[i + n];
        room->beyond[i][k] = ob->tolerance_beyond[i];
    }
    room->t0[k] = ob->evaluation->task->t0;
    room->rtol[k] = ob->rtol;
    room->by_accepted[k] = guest->by_accepted;
    room->fraction[k] = ob->fraction;
    room->at_rest[k] = ob->at_rest;
    room->is_relative[k] = -ob->is_relative;
    room->live[k] = -live;
    room->t[k] = room->t_before[k] = ob->t;
    room->h[k] = room->h_used[k] = guest->h;
    room->t_stop[k] = ob->t_far;
    room->t_next[k] = ob->evaluation->task->time[ob->i_time];
    room->log_h[k] = guest->log_h;
    room->log_error[k] = guest->log_error;
    room->rejected[k] = -guest->rejected;
    room->watched[k] = -guest->watched;
    room->trouble[k] = guest->trouble;
    room->n_attempt[k] = guest->n_attempt;
    room->n_step[k] = ob->evaluation->n_step;
    room->max_steps[k] = ob->evaluation->max_steps;
}

static void fetch_sizes(struct observer *ob, const struct lanes_room *room, int k)
{
    size_t n = ob->n_state;
    for (size_t i = 0; i < n; i++) {
        ob->sizes[i] = room->size[i][k];
        ob->sizes[i + n] = room->guess[i][k];
        ob->tolerance_beyond[i] = room->beyond[i][k];
    }
}

void guest_store(struct guest *guest, const struct lanes_room *room, int k, const int32_t *column)
{
    struct observer *ob = &guest->o;
    size_t n = ob->n_state;
    for (size_t b = 0; b < ob->n_block; b++) {
        size_t c = (size_t)column[ob->block_parameter[b]];
        const struct lanes_block *block = room->block;
        while (c >= block->first + block->width)
            block++;
        for (size_t i = 0; i < n; i++)
            guest->y[(1 + b) * n + i] = block->sens[i * block->width + c - block->first][k];
    }
    for (size_t i = 0; i < n; i++)
        guest->y[i] = room->y[i][k];
    fetch_sizes(ob, room, k);
    ob->at_rest = room->at_rest[k];
    ob->t = room->t[k];
    guest->h = room->h[k];
    guest->log_h = room->log_h[k];
    guest->log_error = room->log_error[k];
    guest->rejected = room->rejected[k];
    guest->watched = room->watched[k];
    guest->trouble = room->trouble[k];
    guest->n_attempt = room->n_attempt[k];
    ob->evaluation->n_step = room->n_step[k];
    ob->evaluation->t_reached = ob->t;
}

void guest_count(struct guest *guest, const struct lanes_room *room, int k)
{
    struct observer *ob = &guest->o;
    int64_t n_attempt = room->n_attempt[k];
    ob->t = ob->evaluation->t_reached = room->t[k];
    ob->evaluation->n_step = room->n_step[k];
    ob->model.n_rhs += n_attempt * room->plan->method->n_stage;
    ob->model.n_jacobian += n_attempt;
    ob->n_factor += n_attempt;
}

bool guest_answer(struct guest *guest, struct lanes_room *room, int k, const int32_t *column, const lanes *inside)
{
    struct observer *ob = &guest->o;
    const struct ode_task *task = ob->evaluation->task;
    size_t n = ob->n_state;
    for (size_t i = 0; i < n; i++)
        guest->y[i] = inside[i][k];
    for (size_t b = 0; b < ob->n_block; b++) {
        const lanes *from = inside + n * (1 + (size_t)column[ob->block_parameter[b]]);
        for (size_t i = 0; i < n; i++)
            guest->y[(1 + b) * n + i] = from[i][k];
    }
    fetch_sizes(ob, room, k);
    if (!observer_answer(ob, guest->y, false)) {
        guest_count(guest, room, k);
        return observer_fail(ob);
    }
    if (ob->begins_anew || ++ob->i_time < task->n_time) {
        room->t_next[k] = task->time[ob->i_time];
        return true;
    }
    guest_count(guest, room, k);
    return observer_finish(ob, EVALUATION_OK);
}

bool guest_look_for_fall(struct guest *guest, struct lanes_room *room, int k)
{
    struct observer *ob = &guest->o;
    double *y = guest->y, *before = guest->y_before;
    size_t n = ob->n_state;
    for (size_t i = 0; i < n; i++) {
        y[i] = room->y[i][k];
        before[i] = room->y_before[i][k];
    }
    fetch_sizes(ob, room, k);
    ob->t = room->t[k];
    positive_look(ob, before); /* steps in which nothing fell were not looked at */
    if (positive_crosses(ob, y))
        positive_fall(ob, room->t_before[k], before, y);
    size_t fallen = positive_look(ob, y);
    room->watched[k] = -positive_watches(ob);
    if (fallen == n)
        return true;
    guest_count(guest, room, k);
    return observer_fall(ob, fallen);
}

/* Calls the model's functions at the state until one fails. */
static void find_failure(struct guest *guest)
{
    struct observer *ob = &guest->o;
    struct derivatives *d = &ob->model;
    bool good = derivatives_rhs(d, ob->t, guest->y, ob->f) == STIFFIT_OK &&
                (ob->n_block == 0 || derivatives_rhs_parameter(d, ob->t, guest->y, ob->columns) == STIFFIT_OK);
    if (good)
        d->failure = (struct model_failure){.where = "derivatives", .t = ob->t, .not_finite = true};
}

void guest_fail_underflow(struct guest *guest, const struct lanes_room *room, int k)
{
    struct observer *ob = &guest->o;
    for (size_t i = 0; i < ob->n_state; i++)
        guest->y[i] = room->y[i][k];
    guest_count(guest, room, k);
    if (room->n_attempt[k] - room->trouble[k] >= LASTING) {
        observer_stop(ob, EVALUATION_ODE_FAILED, "the step size fell to rounding");
        return;
    }
    find_failure(guest);
    observer_fail(ob);
}
