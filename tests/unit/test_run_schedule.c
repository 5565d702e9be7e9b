/* The scheduler with real threads, fake engines and fake jobs: everything runs once, nobody waits for nothing, stopping loses
 * nothing, with one lane a worker and with several, whether jobs ask for one evaluation at a time or for many.
 * Jobs measure a clock that counts its own readings, so nothing here depends on how fast the machine is.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "par/monitor.h"
#include "run/compute/schedule.h"
#include "../level.h"
#include "fake_engine.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static _Atomic int64_t ticks;
static int64_t counting_clock(void) { return atomic_fetch_add(&ticks, 10000); } /* 10 us */

enum { MOST_ASKED = 16, MOST_WORKER = 64 };

/* A job asks for some evaluations at once, and for so many of them again, until its rounds are over. */
struct fake {
    struct job head; /* first: the scheduler's */
    uint32_t item;
    int rounds;
    size_t n;
    struct evaluation evaluation[MOST_ASKED], *asked[MOST_ASKED];
    double p[MOST_ASKED], answer[MOST_ASKED];
};

struct world {
    struct monitor monitor;
    struct schedule *schedule;
    struct fake_engine fake[MOST_WORKER];
    struct engine *engine[MOST_WORKER];
    size_t n_lane, n_asked;    /* 0: 1 */
    uint32_t n_item, block, n_refilled;
    int long_every, long_cost; /* the evaluations of every so manieth item take so many looks at the turn */
    int rounds;
    bool none;                 /* start() has nothing to do for odd items */
    bool hold_refill;          /* the second refill waits until all jobs begun have ended */
    size_t meet;               /* no evaluation may end before so many have begun */
    size_t help;               /* the second refill waits until so many have; then long ones end last */
    bool stopping;
    uint8_t *seen; /* ends of each item */
    struct counter n_started, n_done, n_aside, n_abandoned, n_in_refill, n_begun, n_wrong;
};

static bool refill(void *context, uint32_t *first, uint32_t *last)
{
    struct world *world = context;
    if (counter_add(&world->n_in_refill, 1) != 1)
        abort(); /* one thread at a time */
    monitor_enter(&world->monitor);
    while (world->n_refilled > 0 && !world->stopping &&
           ((world->hold_refill && counter_get(&world->n_done) < world->n_refilled) ||
            counter_get(&world->n_begun) < world->help))
        monitor_wait(&world->monitor, -1);
    monitor_leave(&world->monitor);
    counter_set(&world->n_in_refill, 0);
    uint32_t left = world->n_item - world->n_refilled;
    *first = world->n_refilled;
    *last = world->n_refilled += left < world->block ? left : world->block;
    return left > 0;
}

static struct job *start(void *context, size_t lane, uint32_t item)
{
    struct world *world = context;
    (void)lane;
    if (world->none && item % 2) {
        world->seen[item]++;
        return NULL;
    }
    struct fake *fake = calloc(1, sizeof *fake);
    if (!fake || !job_init(&fake->head))
        abort();
    fake->item = item;
    fake->rounds = world->rounds ? world->rounds : 1;
    fake->n = world->n_asked ? world->n_asked : 1;
    counter_add(&world->n_started, 1);
    return &fake->head;
}

static bool resume(void *context, size_t lane, struct job *job)
{
    struct world *world = context;
    struct fake *fake = (struct fake *)job;
    bool is_long = world->long_every && fake->item % (uint32_t)world->long_every == 0;
    (void)lane;
    for (size_t k = 0; k < fake->n; k++)
        if (fake->asked[k] && (fake->answer[k] != fake->p[k] || !fake->evaluation[k].is_finished))
            counter_add(&world->n_wrong, 1);
    if (fake->rounds-- == 0)
        return false;
    for (size_t k = 0; k < fake->n; k++) {
        fake->p[k] = fake->item + 0.25 * fake->rounds + (double)k;
        fake->answer[k] = -1;
        fake->asked[k] = &fake->evaluation[k];
        fake->evaluation[k] = (struct evaluation){.p = &fake->p[k], .prediction = &fake->answer[k],
                                                  .max_steps = is_long ? world->long_cost : 1};
    }
    job_ask(job, fake->asked, fake->n);
    return true;
}

static void begin(void *context, size_t lane, struct job *job, struct evaluation *evaluation)
{
    struct world *world = context;
    if (!evaluation->state) {
        monitor_enter(&world->monitor);
        counter_add(&world->n_begun, 1);
        monitor_notify(&world->monitor);
        monitor_leave(&world->monitor);
    }
    (void)lane;
    (void)job;
}

static void end(void *context, size_t lane, struct job *job, struct evaluation *evaluation, bool finished)
{
    struct world *world = context;
    if (!finished)
        counter_add(&world->n_aside, 1);
    if (evaluation->is_finished != finished)
        counter_add(&world->n_wrong, 1);
    (void)lane;
    (void)job;
}

/* All of them must be in lanes at once; long ones must wait for all short jobs. */
static bool may_end(void *context, struct evaluation *evaluation)
{
    struct world *world = context;
    bool is_long = evaluation->max_steps == world->long_cost;
    return counter_get(&world->n_begun) >= world->meet &&
           (!world->help || !is_long || counter_get(&world->n_done) == world->n_item - 1);
}

static void drop(struct world *world, struct fake *fake, struct counter *counter)
{
    world->seen[fake->item]++;
    job_fini(&fake->head);
    memset(fake, 0x5a, sizeof *fake); /* the scheduler must not touch it any more */
    free(fake);
    counter_add(counter, 1);
    monitor_enter(&world->monitor);
    monitor_notify(&world->monitor);
    monitor_leave(&world->monitor);
}

static void finish(void *context, size_t lane, struct job *job)
{
    struct world *world = context;
    (void)lane;
    drop(world, (struct fake *)job, &world->n_done);
}

static void abandon(void *context, struct job *job)
{
    struct world *world = context;
    drop(world, (struct fake *)job, &world->n_abandoned);
}

static void world_init(struct world *world, size_t n_worker)
{
    struct schedule_options options = SCHEDULE_OPTIONS_DEFAULT;
    struct schedule_client client = {.context = world, .refill = refill, .start = start, .resume = resume,
                                     .finish = finish, .begin = begin, .end = end};
    options.n_worker = n_worker;
    options.n_lane = world->n_lane ? world->n_lane : 1;
    options.engine = world->engine;
    options.now_ns = counting_clock;
    options.max_suspended = 50;
    for (size_t i = 0; i < n_worker; i++) {
        world->fake[i] = (struct fake_engine){.base.table = &fake_table, .capacity = options.n_lane, .random = i,
                                              .may_end = may_end, .context = world};
        world->engine[i] = &world->fake[i].base;
    }
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
    assert_int_equal(counter_get(&world->n_wrong), 0);
    world_fini(world);
}

static void everything_once(void **state)
{
    (void)state;
    static const size_t workers[] = {1, 2, 3, 7, 64};
    static const uint32_t items[] = {0, 1, 10, 30000}, blocks[] = {1, 64, 4096, 1000000};
    for (size_t w = 0; w < 5; w++)
        for (size_t i = 0; i < 4; i++)
            for (size_t b = 0; b < 4; b++) {
                if (items[i] > 100 * (uint64_t)blocks[b])
                    continue; /* a thread switch per block */
                struct world world = {.n_item = items[i], .block = blocks[b], .long_every = 997, .long_cost = 2000};
                world_run(&world, workers[w]);
            }
}

static void everything_once_in_lanes(void **state)
{
    (void)state;
    for (size_t n_worker = 1; n_worker <= 4; n_worker++)
        for (size_t n_lane = 1; n_lane <= 4; n_lane++)
            for (size_t n_asked = 1; n_asked <= 16; n_asked += 5) {
                struct world world = {.n_item = 500, .block = 40, .long_every = 50, .long_cost = 300, .rounds = 3,
                                      .n_lane = n_lane, .n_asked = n_asked};
                world_run(&world, n_worker);
            }
}

/* None may end before all are in lanes: those of one job that asks for them all, or of as many jobs, on so many workers. */
static void one_job_uses_all_lanes(void **state)
{
    (void)state;
    for (size_t n_worker = 1; n_worker <= 8; n_worker *= 2)
        for (size_t n_lane = 1; n_worker * n_lane <= MOST_ASKED && n_lane <= 4; n_lane++) {
            struct world alone = {.n_item = 1, .block = 1, .rounds = 1, .n_lane = n_lane, .n_asked = n_worker * n_lane,
                                  .meet = n_worker * n_lane};
            world_run(&alone, n_worker);
            struct world many = {.n_item = (uint32_t)(n_worker * n_lane), .block = 100, .n_lane = n_lane,
                                 .meet = n_worker * n_lane};
            world_run(&many, n_worker);
        }
}

/* All lanes are at the only job. Those that help it must leave it, with their evaluations unfinished, for jobs that come then:
 * its own do not end before these have. */
static void helpers_leave(void **state)
{
    (void)state;
    for (size_t n_lane = 1; n_lane <= 2; n_lane++) {
        struct world world = {.n_item = 400, .block = 1, .long_every = 400, .long_cost = 20, .n_lane = n_lane,
                              .n_asked = 8, .help = 4 * n_lane};
        world_run(&world, 4);
        assert_true(counter_get(&world.n_aside) > 0); /* how many leave depends on the machine: one alone can do the rest */
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
        assert_true(n_worker > 1 || counter_get(&world.n_aside) > 0);
    }
}

/* The whole block goes to one worker; the others must steal from it, down to its last item. */
static void stealing_happens(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 16; n++) {
        struct world world = {.n_item = n, .block = n, .meet = n};
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
        assert_true(n_worker > 1 || counter_get(&world.n_aside) > 0);
    }
}

static void stop_loses_nothing(void **state)
{
    (void)state;
    uint64_t n_abandoned = 0;
    /* 7 and the periods below have no common divisor. */
    for (int round = 0; round < 120; round += level_is_slow() ? 1 : 7) {
        struct world world = {.n_item = 20000, .block = 1024, .long_every = 7, .long_cost = 3000,
                              .hold_refill = round % 3 == 0, .n_lane = 1 + (size_t)round % 4,
                              .n_asked = round % 2 ? 1 : 7};
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_once), cmocka_unit_test(everything_once_in_lanes),
        cmocka_unit_test(one_job_uses_all_lanes), cmocka_unit_test(helpers_leave), cmocka_unit_test(nothing_to_do),
        cmocka_unit_test(long_jobs_yield), cmocka_unit_test(stealing_happens), cmocka_unit_test(slow_reader),
        cmocka_unit_test(stop_loses_nothing), cmocka_unit_test(never_started),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
