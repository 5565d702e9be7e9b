/* The scheduler with real threads and fake jobs: everything runs once, nobody waits for nothing, stopping loses nothing.
 * Jobs measure a clock that counts its own readings, so nothing here depends on how fast the machine is.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "par/coroutine.h"
#include "par/monitor.h"
#include "run/compute/schedule.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static _Atomic int64_t ticks;
static int64_t counting_clock(void) { return atomic_fetch_add(&ticks, 10000); } /* 10 us */

struct fake {
    struct job head; /* first: the scheduler's */
    uint32_t item;
    int left;
};

struct world {
    struct monitor monitor;
    struct schedule *schedule;
    uint32_t n_item, block, n_refilled;
    int long_every, long_cost; /* every so manieth item looks at its turn so often */
    bool none;                 /* start() has nothing to do for odd items */
    bool hold_refill;          /* the second refill waits until all jobs begun have ended */
    bool meet;                 /* all items must be running at once before one may end */
    bool stopping;
    uint8_t *seen; /* ends of each item */
    struct counter n_started, n_done, n_yield, n_abandoned, n_in_refill;
};

static bool refill(void *context, uint32_t *first, uint32_t *last)
{
    struct world *world = context;
    if (counter_add(&world->n_in_refill, 1) != 1)
        abort(); /* one thread at a time */
    monitor_enter(&world->monitor);
    while (world->hold_refill && world->n_refilled > 0 && !world->stopping &&
           counter_get(&world->n_done) < world->n_refilled)
        monitor_wait(&world->monitor, -1);
    monitor_leave(&world->monitor);
    counter_set(&world->n_in_refill, 0);
    uint32_t left = world->n_item - world->n_refilled;
    *first = world->n_refilled;
    *last = world->n_refilled += left < world->block ? left : world->block;
    return left > 0;
}

static struct job *start(void *context, size_t worker, uint32_t item)
{
    struct world *world = context;
    (void)worker;
    if (world->none && item % 2) {
        world->seen[item]++;
        return NULL;
    }
    struct fake *fake = malloc(sizeof *fake);
    if (!fake)
        abort();
    fake->item = item;
    fake->left = world->long_every && item % (uint32_t)world->long_every == 0 ? world->long_cost : 1;
    counter_add(&world->n_started, 1);
    return &fake->head;
}

/* All items of the world must be here at once: possible only if each one is on another worker. */
static void meet(struct world *world)
{
    monitor_enter(&world->monitor);
    monitor_notify(&world->monitor);
    while (counter_get(&world->n_started) < world->n_item)
        monitor_wait(&world->monitor, -1);
    monitor_leave(&world->monitor);
}

static enum job_state run(void *context, size_t worker, struct job *job, struct turn *turn)
{
    struct world *world = context;
    struct fake *fake = (struct fake *)job;
    (void)worker;
    if (world->meet)
        meet(world);
    while (fake->left > 0) {
        fake->left--;
        if (turn_is_over(turn) && fake->left > 0) {
            counter_add(&world->n_yield, 1);
            return JOB_YIELDS;
        }
    }
    world->seen[fake->item]++;
    free(fake); /* the scheduler must not touch it any more */
    counter_add(&world->n_done, 1);
    monitor_enter(&world->monitor);
    monitor_notify(&world->monitor);
    monitor_leave(&world->monitor);
    return JOB_DONE;
}

static void abandon(void *context, struct job *job)
{
    struct world *world = context;
    struct fake *fake = (struct fake *)job;
    world->seen[fake->item]++;
    counter_add(&world->n_abandoned, 1);
    free(fake);
}

static void world_init(struct world *world, size_t n_worker)
{
    struct schedule_options options = SCHEDULE_OPTIONS_DEFAULT;
    struct schedule_client client = {.context = world, .refill = refill, .start = start, .run = run};
    options.n_worker = n_worker;
    options.now_ns = counting_clock;
    options.max_suspended = 50;
    world->seen = calloc(world->n_item + 1, 1);
    assert_true(monitor_init(&world->monitor));
    world->schedule = schedule_new(&options, &client, NULL);
    assert_non_null(world->schedule);
}

static void world_fini(struct world *world)
{
    schedule_free(world->schedule);
    monitor_fini(&world->monitor);
    free(world->seen);
}

static void world_run(struct world *world, size_t n_worker)
{
    world_init(world, n_worker);
    struct error error;
    assert_int_equal(schedule_start(world->schedule, &error), STATUS_OK);
    assert_int_equal(schedule_n_worker(world->schedule), n_worker);
    schedule_join(world->schedule);
    assert_int_equal(schedule_n_suspended(world->schedule), 0);
    for (uint32_t i = 0; i < world->n_item; i++)
        assert_int_equal(world->seen[i], 1);
    assert_int_equal(counter_get(&world->n_done), counter_get(&world->n_started));
    world_fini(world);
}

static void everything_once(void **state)
{
    (void)state;
    static const size_t workers[] = {1, 2, 3, 7, 64};
    static const uint32_t items[] = {0, 1, 10, 100000}, blocks[] = {1, 64, 4096, 1000000};
    for (size_t w = 0; w < 5; w++)
        for (size_t i = 0; i < 4; i++)
            for (size_t b = 0; b < 4; b++) {
                if (items[i] > 100 * (uint64_t)blocks[b])
                    continue; /* a thread switch per block */
                struct world world = {.n_item = items[i], .block = blocks[b], .long_every = 997, .long_cost = 2000};
                world_run(&world, workers[w]);
            }
}

static void nothing_to_do(void **state)
{
    (void)state;
    struct world world = {.n_item = 1001, .block = 100, .none = true};
    world_run(&world, 3);
    assert_int_equal(counter_get(&world.n_started), 501);
}

/* Many long ones. With one worker they must yield: fresh items always wait. */
static void long_jobs_yield(void **state)
{
    (void)state;
    for (size_t n_worker = 1; n_worker <= 5; n_worker++) {
        struct world world = {.n_item = 3000, .block = 300, .long_every = 10, .long_cost = 1000};
        world_run(&world, n_worker);
        assert_true(n_worker > 1 || counter_get(&world.n_yield) > 0);
    }
}

/* The whole block goes to one worker; the others must steal from it, down to its last item. */
static void stealing_happens(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 16; n++) {
        struct world world = {.n_item = n, .block = n, .meet = true};
        world_run(&world, n);
    }
}

/* Nothing to read until all that was read is done: workers must run the long jobs that wait meanwhile. */
static void slow_reader(void **state)
{
    (void)state;
    for (size_t n_worker = 1; n_worker <= 4; n_worker++) {
        struct world world = {.n_item = 600, .block = 30, .long_every = 5, .long_cost = 500, .hold_refill = true};
        world_run(&world, n_worker);
        assert_true(n_worker > 1 || counter_get(&world.n_yield) > 0);
    }
}

static void stop_loses_nothing(void **state)
{
    (void)state;
    uint64_t n_abandoned = 0;
    for (int round = 0; round < 120; round++) {
        struct world world = {.n_item = 20000, .block = 1024, .long_every = 7, .long_cost = 3000,
                              .hold_refill = round % 3 == 0};
        world_init(&world, 1 + (size_t)(round % 6));
        if (round % 10 == 9) /* before it begins */
            schedule_stop(world.schedule, abandon);
        assert_int_equal(schedule_start(world.schedule, NULL), STATUS_OK);
        while (round % 10 != 9 && counter_get(&world.n_started) < (uint64_t)(round * 17))
            sched_yield();
        schedule_stop(world.schedule, abandon);
        schedule_stop(world.schedule, NULL);
        monitor_enter(&world.monitor);
        world.stopping = true;
        monitor_notify(&world.monitor);
        monitor_leave(&world.monitor);
        schedule_join(world.schedule);
        uint64_t n_seen = 0;
        for (uint32_t i = 0; i < world.n_item; i++) {
            assert_true(world.seen[i] <= 1);
            n_seen += world.seen[i];
        }
        assert_int_equal(n_seen, counter_get(&world.n_started));
        assert_int_equal(counter_get(&world.n_done) + counter_get(&world.n_abandoned), n_seen);
        n_abandoned += counter_get(&world.n_abandoned);
        world_fini(&world);
    }
    assert_true(n_abandoned > 0);
}

static void never_started(void **state)
{
    (void)state;
    struct world world = {.n_item = 10, .block = 10};
    world_init(&world, 4);
    world_fini(&world);
    schedule_free(NULL);
}

/* Jobs that are coroutines, suspended in the middle of a function and resumed by whichever worker is free: what fits are. */
enum { N_FIBER = 64, FIBER_ITEMS = 3000 };
struct fiber {
    struct job head;
    struct coroutine *coroutine;
    struct fiber *next;
    uint32_t item;
    uint64_t sum;
    size_t worker; /* where it began */
    bool moved, endless, cancelled;
};
struct fiber_world {
    struct monitor monitor;
    struct fiber fiber[N_FIBER], *idle;
    uint32_t n_refilled;
    uint64_t sum[FIBER_ITEMS];
    bool endless; /* long ones go on until they are cancelled */
    struct counter n_yield, n_cancelled;
};

static void fiber_main(void *argument)
{
    struct fiber *fiber = argument;
    for (uint32_t i = 0; (i < (fiber->item % 50 ? 3 : 600) || fiber->endless) && !fiber->cancelled; i++) {
        fiber->sum += i * (uint64_t)fiber->item;
        coroutine_suspend(fiber->coroutine);
    }
    /* A long one ends only after another worker has carried it on; short ones stay where they are. */
    while (fiber->item % 50 == 0 && !fiber->moved && !fiber->cancelled)
        coroutine_suspend(fiber->coroutine);
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
    fiber->sum = 0;
    fiber->worker = worker;
    fiber->moved = false;
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
static enum job_state fiber_run(void *context, size_t worker, struct job *job, struct turn *turn)
{
    struct fiber_world *world = context;
    struct fiber *fiber = (struct fiber *)job;
    fiber->moved = fiber->moved || fiber->worker != worker;
    while (coroutine_resume(fiber->coroutine)) {
        bool stays = fiber->item % 50 == 0 && !fiber->moved;
        if (turn_is_over(turn) || stays) {
            counter_add(&world->n_yield, 1);
            if (stays)
                sched_yield(); /* the others' chance to be first */
            return JOB_YIELDS;
        }
    }
    world->sum[fiber->item] = fiber->sum;
    fiber_end(world, fiber);
    return JOB_DONE;
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

static void run_fibers(struct fiber_world *world, bool stop)
{
    struct schedule_options options = {.n_worker = 3, .turn_medians = 16, .first_turn_ns = 1000000,
                                       .max_suspended = N_FIBER - 9,
                                       .now_ns = counting_clock};
    struct schedule_client client = {.context = world, .refill = fiber_refill, .start = fiber_start, .run = fiber_run};
    assert_true(monitor_init(&world->monitor));
    for (int i = 0; i < N_FIBER; i++) {
        world->fiber[i].coroutine = coroutine_new(64 * 1024);
        assert_non_null(world->fiber[i].coroutine);
        fiber_end(world, &world->fiber[i]);
    }
    struct schedule *schedule = schedule_new(&options, &client, NULL);
    assert_int_equal(schedule_start(schedule, NULL), STATUS_OK);
    while (stop && counter_get(&world->n_yield) < 3)
        sched_yield();
    if (stop)
        schedule_stop(schedule, fiber_abandon);
    schedule_join(schedule);
    schedule_free(schedule);
    for (int i = 0; i < N_FIBER; i++)
        coroutine_free(world->fiber[i].coroutine);
    monitor_fini(&world->monitor);
}

static void coroutines_move_between_workers(void **state)
{
    (void)state;
    struct fiber_world *world = calloc(1, sizeof *world);
    run_fibers(world, false);
    for (uint32_t i = 0; i < FIBER_ITEMS; i++)
        assert_int_equal(world->sum[i], i % 50 ? 3 * i : 600 * 599 / 2 * (uint64_t)i);
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
        cmocka_unit_test(everything_once), cmocka_unit_test(nothing_to_do), cmocka_unit_test(long_jobs_yield),
        cmocka_unit_test(stealing_happens), cmocka_unit_test(slow_reader), cmocka_unit_test(stop_loses_nothing),
        cmocka_unit_test(never_started), cmocka_unit_test(coroutines_move_between_workers),
        cmocka_unit_test(coroutines_are_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
