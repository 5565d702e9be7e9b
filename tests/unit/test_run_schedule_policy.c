/* The policy's decisions one by one, on a clock that the test sets: who yields, who comes next, and what is learnt.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const int64_t MS = 1000000;
enum { MOST = 8, N_JOB = 64 };

struct bench {
    struct policy policy;
    struct job job[N_JOB], *on[8]; /* the lanes' */
    struct policy_choice choice[8];
    int64_t now, since[8];
};

static struct bench *bench_of_lanes(size_t n_worker, size_t n_lane, const uint32_t *cost, uint32_t n_item)
{
    struct schedule_options options = SCHEDULE_OPTIONS_DEFAULT;
    options.n_worker = n_worker;
    options.n_lane = n_lane;
    options.cost = cost;
    options.max_suspended = MOST;
    struct bench *bench = aligned_alloc(64, (sizeof *bench + 63) / 64 * 64);
    memset(bench, 0, sizeof *bench);
    assert_true(policy_init(&bench->policy, &options));
    policy_offer(&bench->policy, 0, n_item);
    return bench;
}
static struct bench *bench_new(size_t n_worker, uint32_t n_item) { return bench_of_lanes(n_worker, 1, NULL, n_item); }
static void bench_free(struct bench *bench)
{
    policy_fini(&bench->policy);
    free(bench);
}

/* Asks for work and begins it; returns the job's number, or -1 for nothing. */
static int next(struct bench *bench, size_t worker)
{
    struct policy_choice *choice = &bench->choice[worker];
    enum policy_action action = policy_next(&bench->policy, worker, choice);
    if (action == POLICY_WAIT || action == POLICY_END)
        return -1;
    struct job *job = action == POLICY_START ? &bench->job[choice->item] : choice->job;
    policy_enter(&bench->policy, job, worker, action == POLICY_START);
    bench->on[worker] = job;
    bench->since[worker] = bench->now;
    return (int)(job - bench->job);
}
/* What the lane's job has used until now. */
static struct job *use(struct bench *bench, size_t worker)
{
    atomic_fetch_add(&bench->on[worker]->used_ns, bench->now - bench->since[worker]);
    bench->since[worker] = bench->now;
    return bench->on[worker];
}
static bool over(struct bench *bench, size_t worker) { return policy_turn_is_over(&bench->policy, use(bench, worker)); }
static void leave(struct bench *bench, size_t worker, enum job_state state)
{
    policy_leave(&bench->policy, use(bench, worker), worker, state);
}

static void lone_job_goes_on(void **state)
{
    (void)state;
    struct bench *bench = bench_new(2, 1);
    assert_int_equal(next(bench, 0), 0);
    assert_int_equal(next(bench, 1), -1);
    for (int i = 0; i < 10; i++) { /* nobody waits, however long it takes */
        bench->now += 100 * MS;
        assert_false(over(bench, 0));
    }
    assert_int_equal(atomic_load(&bench->policy.n_long_running), 1);
    leave(bench, 0, JOB_DONE);
    assert_int_equal(atomic_load(&bench->policy.n_long), 0);
    policy_no_more(&bench->policy);
    struct policy_choice choice;
    assert_int_equal(policy_next(&bench->policy, 0, &choice), POLICY_END); /* the last one awake ends it */
    assert_int_equal(policy_next(&bench->policy, 1, &choice), POLICY_END);
    bench_free(bench);
}

/* Lanes of a worker have its items in common; other workers steal them. */
static void items_of_a_worker(void **state)
{
    (void)state;
    struct bench *bench = bench_of_lanes(2, 3, NULL, 20);
    for (int lane = 0; lane < 3; lane++)
        assert_int_equal(next(bench, (size_t)lane), lane);
    assert_int_equal(next(bench, 3), 11); /* the later half of 17 */
    assert_int_equal(next(bench, 4), 12);
    leave(bench, 1, JOB_DONE);
    assert_int_equal(next(bench, 1), 3);
    bench_free(bench);
}

static void half_of_the_workers(void **state)
{
    (void)state;
    struct bench *bench = bench_new(4, 60);
    int long_job[4];
    for (size_t w = 0; w < 4; w++)
        assert_true((long_job[w] = next(bench, w)) >= 0);
    bench->now = MS - 1;
    for (size_t w = 0; w < 4; w++)
        assert_false(over(bench, w));
    bench->now = 3 * MS; /* the fourth may have 1 + 3 * 3 / 8 ms */
    assert_false(over(bench, 0)); /* two of four may be long: these go on */
    assert_false(over(bench, 1));
    assert_true(over(bench, 2)); /* fresh ones wait, and two are enough */
    assert_true(over(bench, 3));
    assert_true(over(bench, 3)); /* and stays so */
    leave(bench, 2, JOB_YIELDS);
    leave(bench, 3, JOB_YIELDS);
    assert_true(next(bench, 2) != long_job[2] && atomic_load(&bench->policy.n_waiting) == 2); /* a fresh one */
    assert_true(next(bench, 3) >= 0 && atomic_load(&bench->policy.n_waiting) == 2);
    bench->now += 100 * MS;
    assert_true(over(bench, 0)); /* others wait for a turn now */
    leave(bench, 0, JOB_YIELDS);
    assert_int_equal(next(bench, 0), long_job[2]); /* the one that has waited longest */
    leave(bench, 0, JOB_DONE);
    assert_int_equal(next(bench, 0), long_job[3]);
    leave(bench, 0, JOB_DONE);
    assert_int_equal(next(bench, 0), long_job[0]);
    assert_int_equal(atomic_load(&bench->policy.n_waiting), 0);
    bench_free(bench);
}

/* Two workers with four lanes each, of which `first` and `second` have jobs; all have used a turn, and nothing is fresh. */
static struct bench *two_with_few(const uint32_t *cost, size_t first, size_t second)
{
    struct bench *bench = bench_of_lanes(2, 4, cost, (uint32_t)(first + second));
    for (size_t lane = 0; lane < 8; lane++)
        if (lane < 4 ? lane < first : lane - 4 < second)
            assert_true(next(bench, lane) >= 0);
    policy_no_more(&bench->policy);
    for (size_t lane = 0; lane < 8; lane++)
        if (!bench->on[lane])
            assert_int_equal(next(bench, lane), -1);
    bench->now += 100 * MS;
    return bench;
}

static bool any_is_over(struct bench *bench)
{
    bool any = false;
    for (size_t lane = 0; lane < 8; lane++)
        any = (bench->on[lane] && over(bench, lane)) || any;
    return any;
}

/* Long jobs go to the worker that has more of them, where that costs it nothing. */
static void few_gather(void **state)
{
    (void)state;
    static const uint32_t flat[] = {0, 1, 1, 1, 1}, steep[] = {0, 1, 2, 3, 4}, step[] = {0, 1, 1, 2, 2};
    struct bench *bench = two_with_few(flat, 1, 2);
    struct job *job = bench->on[0];
    assert_false(over(bench, 4));
    assert_false(over(bench, 5));
    assert_true(over(bench, 0));
    leave(bench, 0, JOB_YIELDS);
    assert_int_equal(next(bench, 0), -1); /* it is for the other worker, */
    assert_int_equal(next(bench, 6), job - bench->job);
    bench->on[0] = NULL;
    bench->now += 100 * MS;
    assert_false(any_is_over(bench)); /* and stays there */
    bench_free(bench);
    bench = two_with_few(flat, 2, 2); /* of equal ones the first gets them */
    assert_false(over(bench, 0));
    assert_true(over(bench, 4));
    leave(bench, 4, JOB_YIELDS);
    assert_int_equal(next(bench, 4), -1);
    leave(bench, 0, JOB_DONE); /* who has no more than another one does not wait for it */
    leave(bench, 1, JOB_DONE);
    assert_int_equal(next(bench, 0), bench->on[4] - bench->job);
    bench_free(bench);
    const struct { const uint32_t *cost; size_t first, second; } apart[] = {
        {NULL, 1, 1}, {steep, 1, 1}, {step, 1, 2}, {flat, 3, 2}};
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) {
        bench = two_with_few(apart[i].cost, apart[i].first, apart[i].second);
        assert_false(any_is_over(bench));
        bench_free(bench);
    }
    for (size_t lane = 0; lane <= 4; lane += 4) { /* what shares no work neither goes nor is joined */
        bench = two_with_few(flat, 1, 1);
        policy_begin(&bench->policy, bench->on[lane], lane, true);
        assert_false(any_is_over(bench));
        bench_free(bench);
    }
}

static void one_worker_gives_half_of_its_time(void **state)
{
    (void)state;
    struct bench *bench = bench_new(1, 60);
    int long_job = next(bench, 0);
    bench->now += MS;
    assert_true(over(bench, 0));
    leave(bench, 0, JOB_YIELDS);
    for (int round = 0; round < 3; round++) { /* 10 ms are over: turns are 16 times half a millisecond at most */
        assert_int_equal(next(bench, 0), long_job);
        bench->now += 10 * MS;
        assert_true(over(bench, 0));
        leave(bench, 0, JOB_YIELDS);
        for (int i = 0; i < 20; i++) { /* 20 times half a millisecond */
            int fresh = next(bench, 0);
            assert_true(fresh >= 0 && fresh != long_job);
            bench->now += MS / 2;
            leave(bench, 0, JOB_DONE);
            if (round == 2 && i == 18)
                break; /* the last of the 60 */
        }
    }
    assert_int_equal(next(bench, 0), long_job);
    bench->now += 1000 * MS;
    assert_false(over(bench, 0)); /* no fresh ones are left */
    bench_free(bench);
}

static void too_many_suspended(void **state)
{
    (void)state;
    struct bench *bench = bench_new(2, 60);
    bool begun[N_JOB] = {false};
    int long_job = next(bench, 1), n_fresh = 0;
    bench->now += 10000 * MS;
    assert_false(over(bench, 1)); /* the share of long jobs */
    for (int i = 0; i < 100; i++) {
        int job = next(bench, 0);
        assert_true(job >= 0 && job != long_job);
        n_fresh += !begun[job];
        begun[job] = true;
        bench->now += 10000 * MS;
        assert_true(over(bench, 0));
        leave(bench, 0, JOB_YIELDS);
    }
    assert_int_equal(n_fresh, MOST - 1); /* and the long one */
    assert_int_equal(atomic_load(&bench->policy.n_waiting), MOST - 1);
    assert_true(begun[next(bench, 0)]);
    assert_int_equal(atomic_load(&bench->policy.n_long_running), 2); /* all workers */
    leave(bench, 1, JOB_DONE); /* one ends, so that a fresh one may begin */
    assert_false(begun[next(bench, 1)]);
    assert_int_equal(atomic_load(&bench->policy.n_long_running), 1);
    bench_free(bench);
}

/* Items in the range of a worker that runs a long job are fetched before a new block is begun. */
static void nothing_left_lying(void **state)
{
    (void)state;
    struct bench *bench = bench_new(2, 4);
    assert_int_equal(next(bench, 0), 0);
    bench->now += 100 * MS;
    assert_false(over(bench, 0)); /* the share of long jobs: it goes on, with items 1 to 3 behind it */
    policy_offer(&bench->policy, 4, 60);
    bool begun[N_JOB] = {false};
    for (int i = 0; i < 3; i++) {
        begun[next(bench, 1)] = true;
        leave(bench, 1, JOB_DONE);
    }
    assert_true(begun[1] && begun[2] && begun[3]);
    assert_int_equal(next(bench, 1), 4);
    bench_free(bench);
}

static void stop_ends_turns(void **state)
{
    (void)state;
    struct bench *bench = bench_new(2, 60);
    assert_true(next(bench, 0) >= 0);
    assert_false(over(bench, 0));
    policy_stop(&bench->policy);
    assert_true(over(bench, 0));
    leave(bench, 0, JOB_YIELDS);
    assert_int_equal(next(bench, 0), -1);
    assert_int_equal(next(bench, 1), -1);
    assert_ptr_equal(policy_take_waiting(&bench->policy), bench->on[0]);
    assert_null(policy_take_waiting(&bench->policy));
    uint64_t event;
    assert_true(policy_wants(&bench->policy, &event)); /* so that whoever refills looks, too */
    bench_free(bench);
}

static void median_of_ends(void **state)
{
    (void)state;
    struct turn_length length;
    turn_length_init(&length, 16, MS);
    assert_int_equal(turn_length_ns(&length), MS);
    for (int i = 1; i <= 5; i++)
        turn_length_add(&length, i * MS);
    assert_int_equal(turn_length_ns(&length), 16 * 3 * MS);
    for (int i = 0; i < TURN_N_SAMPLE; i++) /* what is old is forgotten */
        turn_length_add(&length, (100 + i) * MS);
    assert_int_equal(turn_length_ns(&length), 16 * (100 + TURN_N_SAMPLE / 2) * MS);
    for (int i = 0; i < TURN_N_SAMPLE; i++)
        turn_length_add(&length, 1);
    assert_true(turn_length_ns(&length) >= 10000); /* never so short that switching is all that is done */
}

static void growth_without_a_median(void **state)
{
    (void)state;
    struct turn_length length;
    uint64_t ticket[12];
    turn_length_init(&length, 16, MS);
    for (int i = 0; i < 12; i++) {
        ticket[i] = turn_length_add(&length, TURN_CENSORED);
        assert_int_equal(turn_length_ns(&length), MS + (i + 1) * (i + 1) * MS / 8);
    }
    for (int i = 0; i < 11; i++) {
        turn_length_add(&length, 5 * MS);
        assert_int_equal(turn_length_ns(&length), 19 * MS); /* does not shrink before there is a median */
    }
    turn_length_add(&length, 7 * MS);
    assert_int_equal(turn_length_ns(&length), 16 * 7 * MS); /* 12 of 24 are known: the largest of them */
    turn_length_resolve(&length, ticket[0], 40 * MS);
    assert_int_equal(turn_length_ns(&length), 16 * 7 * MS);
    for (int i = 0; i < TURN_N_SAMPLE; i++)
        turn_length_add(&length, 2 * MS);
    turn_length_resolve(&length, ticket[1], 1000000 * MS); /* long forgotten: changes nothing */
    assert_int_equal(length.sorted[TURN_N_SAMPLE - 1], 2 * MS);
    assert_int_equal(turn_length_ns(&length), 32 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lone_job_goes_on), cmocka_unit_test(half_of_the_workers),
        cmocka_unit_test(items_of_a_worker), cmocka_unit_test(few_gather),
        cmocka_unit_test(one_worker_gives_half_of_its_time), cmocka_unit_test(too_many_suspended),
        cmocka_unit_test(nothing_left_lying),
        cmocka_unit_test(stop_ends_turns), cmocka_unit_test(median_of_ends), cmocka_unit_test(growth_without_a_median),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
