/* The scheduler with jobs that are coroutines: they move between workers and can be cancelled.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "par/coroutine.h"
#include "par/monitor.h"
#include "run/compute/schedule.h"
#include "fake_engine.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static _Atomic int64_t ticks;
static int64_t counting_clock(void) { return atomic_fetch_add(&ticks, 10000); } /* 10 us */

/* Jobs that are coroutines, suspended in the middle of a function and resumed by whichever worker is free: what fits are. */
enum { N_FIBER = 64, FIBER_ITEMS = 3000, CHORES = 5 };
struct chore {
    uint32_t i;
    uint64_t square;
};
struct fiber {
    struct job head;
    struct coroutine *coroutine;
    struct fiber *next;
    struct evaluation evaluation, *asked[CHORES];
    size_t n_asked;
    double p, answer;
    uint32_t item;
    uint64_t sum, n_shared;
    size_t worker; /* where it was last */
    bool endless, cancelled;
};
struct fiber_world {
    struct monitor monitor;
    struct fiber fiber[N_FIBER], *idle;
    struct fake_engine fake[3];
    uint32_t n_refilled;
    uint64_t sum[FIBER_ITEMS], n_shared[FIBER_ITEMS];
    bool endless; /* long ones go on until they are cancelled */
    struct counter n_moved, n_cancelled;
};

static void fiber_ask(struct fiber *fiber, uint32_t i)
{
    fiber->p = i;
    fiber->evaluation = (struct evaluation){.p = &fiber->p, .prediction = &fiber->answer, .max_steps = 1};
    fiber->asked[0] = &fiber->evaluation;
    fiber->n_asked = 1;
    coroutine_suspend(fiber->coroutine);
}

static void do_chore(void *part)
{
    struct chore *chore = part;
    if (chore->i % 16 == 0)
        sched_yield();
    chore->square = (uint64_t)chore->i * chore->i;
}

/* Parts of its own work, which lie on its stack. */
static uint64_t fiber_share(struct fiber *fiber, uint32_t i)
{
    struct chore chore[CHORES];
    struct evaluation evaluation[CHORES];
    uint64_t sum = 0;
    for (uint32_t k = 0; k < CHORES; k++) {
        chore[k] = (struct chore){.i = i + k};
        evaluation[k] = (struct evaluation){.chore = do_chore, .part = &chore[k]};
        fiber->asked[k] = &evaluation[k];
    }
    fiber->n_asked = CHORES;
    coroutine_suspend(fiber->coroutine);
    for (uint32_t k = 0; k < CHORES && !fiber->cancelled; k++)
        sum += chore[k].square - (uint64_t)(i + k) * (i + k) + (k == 0);
    return sum;
}

static void fiber_main(void *argument)
{
    struct fiber *fiber = argument;
    for (uint32_t i = 0; (i < (fiber->item % 50 ? 3 : 600) || fiber->endless) && !fiber->cancelled; i++) {
        fiber_ask(fiber, i);
        if (i % 3 == 1)
            fiber->n_shared += fiber_share(fiber, i);
        fiber->sum += (uint64_t)fiber->answer * fiber->item;
    }
}
static bool fiber_refill(void *context, uint32_t *first, uint32_t *last)
{
    struct fiber_world *world = context;
    *first = world->n_refilled;
    *last = world->n_refilled += 100;
    return *first < FIBER_ITEMS;
}
static struct job *fiber_start(void *context, size_t worker, uint32_t item)
{
    struct fiber_world *world = context;
    monitor_enter(&world->monitor);
    struct fiber *fiber = world->idle;
    assert_non_null(fiber); /* max_suspended and one per worker are enough */
    world->idle = fiber->next;
    monitor_leave(&world->monitor);
    fiber->item = item;
    fiber->sum = fiber->n_shared = 0;
    fiber->worker = worker;
    fiber->endless = world->endless && item % 50 == 0;
    coroutine_prepare(fiber->coroutine, fiber_main, fiber);
    return &fiber->head;
}
static void fiber_end(struct fiber_world *world, struct fiber *fiber)
{
    monitor_enter(&world->monitor);
    fiber->next = world->idle;
    world->idle = fiber;
    monitor_leave(&world->monitor);
}
static bool fiber_resume(void *context, size_t worker, struct job *job)
{
    struct fiber *fiber = (struct fiber *)job;
    struct fiber_world *world = context;
    if (fiber->worker != worker)
        counter_add(&world->n_moved, 1);
    fiber->worker = worker;
    if (fiber->item % 50 == 0)
        sched_yield(); /* the others' chance to be first */
    if (!coroutine_resume(fiber->coroutine))
        return false;
    job_ask(job, fiber->asked, fiber->n_asked);
    return true;
}
static void fiber_finish(void *context, size_t worker, struct job *job)
{
    struct fiber_world *world = context;
    struct fiber *fiber = (struct fiber *)job;
    (void)worker;
    world->sum[fiber->item] = fiber->sum;
    world->n_shared[fiber->item] = fiber->n_shared;
    fiber_end(world, fiber);
}
static void fiber_abandon(void *context, struct job *job)
{
    struct fiber *fiber = (struct fiber *)job;
    fiber->cancelled = true;
    while (coroutine_resume(fiber->coroutine))
        ;
    fiber_end(context, fiber);
    counter_add(&((struct fiber_world *)context)->n_cancelled, 1);
}
static void fiber_begin(void *context, size_t worker, struct job *job, struct evaluation *evaluation)
{
    (void)context, (void)worker, (void)job, (void)evaluation;
}
static void fiber_leave(void *context, size_t worker, struct job *job, struct evaluation *evaluation, bool finished)
{
    (void)context, (void)worker, (void)job, (void)evaluation, (void)finished;
}

static void run_fibers(struct fiber_world *world, bool stop)
{
    struct engine *engine[3];
    struct schedule_options options = {.n_worker = 3, .n_lane = 1, .engine = engine, .turn_medians = 16,
                                       .first_turn_ns = 1000000, .max_suspended = N_FIBER - 9,
                                       .now_ns = counting_clock};
    struct schedule_client client = {.context = world, .refill = fiber_refill, .start = fiber_start,
                                     .resume = fiber_resume, .finish = fiber_finish, .begin = fiber_begin,
                                     .end = fiber_leave};
    for (size_t i = 0; i < 3; i++) {
        world->fake[i] = (struct fake_engine){.base.table = &fake_table, .capacity = 1};
        engine[i] = &world->fake[i].base;
    }
    assert_true(monitor_init(&world->monitor));
    for (int i = 0; i < N_FIBER; i++) {
        world->fiber[i].coroutine = coroutine_new(64 * 1024);
        assert_non_null(world->fiber[i].coroutine);
        assert_true(job_init(&world->fiber[i].head));
        fiber_end(world, &world->fiber[i]);
    }
    struct schedule *schedule = schedule_new(&options, &client, NULL);
    assert_int_equal(schedule_start(schedule, NULL), STATUS_OK);
    while (stop && schedule_n_suspended(schedule) < 3)
        sched_yield();
    if (stop)
        schedule_stop(schedule, fiber_abandon);
    schedule_join(schedule);
    schedule_free(schedule);
    for (int i = 0; i < N_FIBER; i++) {
        coroutine_free(world->fiber[i].coroutine);
        job_fini(&world->fiber[i].head);
    }
    monitor_fini(&world->monitor);
}

static void coroutines_move_between_workers(void **state)
{
    (void)state;
    struct fiber_world *world = calloc(1, sizeof *world);
    run_fibers(world, false);
    assert_true(counter_get(&world->n_moved) > 0);
    for (uint32_t i = 0; i < FIBER_ITEMS; i++) {
        assert_int_equal(world->sum[i], i % 50 ? 3 * i : 600 * 599 / 2 * (uint64_t)i);
        assert_int_equal(world->n_shared[i], i % 50 ? 1 : 200);
    }
    free(world);
}

static void coroutines_are_cancelled(void **state)
{
    (void)state;
    struct fiber_world *world = calloc(1, sizeof *world);
    world->endless = true;
    run_fibers(world, true);
    assert_true(counter_get(&world->n_cancelled) > 0);
    free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coroutines_move_between_workers), cmocka_unit_test(coroutines_are_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
