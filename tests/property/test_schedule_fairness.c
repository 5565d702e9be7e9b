/* Promise 1 on paper: virtual workers in virtual time drive the production policy over random mixes of long and short jobs.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_WORKER = 16, NEVER = -1 };
static const int64_t MEDIAN = 1000000; /* of the cheap jobs, ns */

struct sim_job {
    struct job head; /* first: the policy's */
    int64_t cost, left, end;
    int n_run;
};

struct sim_worker {
    struct sim_job *job;
    int64_t since, next; /* next: when it does something by itself; NEVER: it sleeps */
    uint64_t event;
    size_t fresh_in_row;
};

struct sim {
    struct policy policy;
    size_t n_worker, n_job, n_offered, block;
    int64_t now, refill_delay, refill_at; /* refill_at: when the block that is being read will be there */
    struct sim_job *jobs;
    struct sim_worker worker[MAX_WORKER];
    size_t most_waiting, n_yield;
    bool no_more;
};

struct sim_setup {
    size_t n_worker, block, max_suspended;
    int64_t first_turn, refill_delay;
};

static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u; /* SplitMix64, Steele, Lea & Flood 2014 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
static int64_t random_below(uint64_t *state, int64_t n) { return (int64_t)(random_next(state) % (uint64_t)n); }

static void sim_refill(struct sim *sim)
{
    uint64_t event;
    if (sim->no_more || !policy_wants(&sim->policy, &event))
        return;
    if (sim->refill_at == NEVER)
        sim->refill_at = sim->now + sim->refill_delay;
    if (sim->refill_at > sim->now)
        return;
    sim->refill_at = NEVER;
    size_t last = sim->n_offered + sim->block < sim->n_job ? sim->n_offered + sim->block : sim->n_job;
    if (sim->n_offered < last)
        policy_offer(&sim->policy, (uint32_t)sim->n_offered, (uint32_t)last);
    else
        policy_no_more(&sim->policy), sim->no_more = true;
    sim->n_offered = last;
}

/* When a running worker ends its job or looks at its turn. A client looks now and then, here as soon as there is news. */
static void sim_plan(struct sim *sim, struct sim_worker *worker)
{
    struct job *job = &worker->job->head;
    int64_t look = worker->since + job->turn_start_ns - job->used_ns + atomic_load(&sim->policy.turn_ns);
    int64_t end = worker->since + worker->job->left;
    if (look <= sim->now)
        look = sim->now + 1;
    worker->next = look < end ? look : end;
}

static void sim_ask(struct sim *sim, size_t i)
{
    struct sim_worker *worker = &sim->worker[i];
    struct policy_choice choice;
    enum policy_action action = policy_next(&sim->policy, i, &choice);
    worker->job = NULL;
    worker->next = NEVER;
    if (action == POLICY_WAIT)
        worker->event = choice.event;
    if (action == POLICY_WAIT || action == POLICY_END)
        return;
    worker->job = action == POLICY_START ? &sim->jobs[choice.item] : (struct sim_job *)choice.job;
    worker->job->n_run++;
    worker->since = sim->now;
    policy_enter(&sim->policy, &worker->job->head, i, action == POLICY_START);
    sim_plan(sim, worker);
}

static void sim_step(struct sim *sim, size_t i)
{
    struct sim_worker *worker = &sim->worker[i];
    struct sim_job *job = worker->job;
    job->left -= sim->now - worker->since;
    atomic_fetch_add(&job->head.used_ns, sim->now - worker->since);
    worker->since = sim->now;
    if (job->left <= 0) {
        job->left = 0;
        job->end = sim->now;
        policy_leave(&sim->policy, &job->head, i, JOB_DONE);
    } else if (policy_turn_is_over(&sim->policy, &job->head)) {
        sim->n_yield++;
        policy_leave(&sim->policy, &job->head, i, JOB_YIELDS);
    } else {
        sim_plan(sim, worker);
        return;
    }
    size_t n_waiting = atomic_load(&sim->policy.n_waiting);
    sim->most_waiting = n_waiting > sim->most_waiting ? n_waiting : sim->most_waiting;
    sim_ask(sim, i);
}

/* Everybody who sleeps and has been woken asks again, until nobody's question changes anything. */
static void sim_wake(struct sim *sim)
{
    bool again = true;
    while (again) {
        sim_refill(sim);
        again = false;
        for (size_t i = 0; i < sim->n_worker; i++)
            if (sim->worker[i].next == NEVER && sim->worker[i].event != sim->policy.event && !sim->policy.finished) {
                sim_ask(sim, i);
                again = true;
            }
    }
}

/* Runs jobs of these costs; fills end[] and returns the makespan. */
static int64_t sim_run(struct sim *sim, const struct sim_setup *setup, const int64_t *cost, size_t n_job)
{
    struct schedule_options options = SCHEDULE_OPTIONS_DEFAULT;
    options.n_worker = setup->n_worker;
    options.first_turn_ns = setup->first_turn;
    if (setup->max_suspended)
        options.max_suspended = setup->max_suspended;
    memset(sim, 0, sizeof *sim);
    assert_true(policy_init(&sim->policy, &options));
    sim->n_worker = setup->n_worker;
    sim->n_job = n_job;
    sim->block = setup->block;
    sim->refill_delay = setup->refill_delay;
    sim->refill_at = NEVER;
    sim->jobs = calloc(n_job, sizeof *sim->jobs);
    for (size_t i = 0; i < n_job; i++)
        sim->jobs[i].left = sim->jobs[i].cost = cost[i];
    for (size_t i = 0; i < sim->n_worker; i++) {
        sim->worker[i].next = NEVER;
        sim->worker[i].event = UINT64_MAX;
    }
    sim_wake(sim);
    while (!sim->policy.finished) {
        int64_t next = sim->refill_at;
        for (size_t i = 0; i < sim->n_worker; i++)
            if (sim->worker[i].next != NEVER && (next == NEVER || sim->worker[i].next < next))
                next = sim->worker[i].next;
        assert_true(next != NEVER); /* else everybody sleeps and work is left: a lost wake-up */
        sim->now = next;
        for (size_t i = 0; i < sim->n_worker; i++)
            if (sim->worker[i].next == sim->now)
                sim_step(sim, i);
        sim_wake(sim);
    }
    for (size_t i = 0; i < n_job; i++)
        assert_true(sim->jobs[i].left == 0 && sim->jobs[i].n_run > 0);
    assert_int_equal(atomic_load(&sim->policy.n_long), 0);
    assert_int_equal(atomic_load(&sim->policy.n_long_running), 0);
    return sim->now;
}

static void sim_free(struct sim *sim)
{
    policy_fini(&sim->policy);
    free(sim->jobs);
}

struct mix {
    size_t n_long, n_short;
    int64_t long_cost; /* in medians */
    bool long_first;
};

struct outcome {
    double short_ratio;    /* end of the last short job, over that without the long ones */
    double makespan_ratio; /* over max(total / workers, longest) */
    double graham_ratio;   /* over total / workers + longest * (1 - 1 / workers) */
    size_t most_waiting;
};

static struct outcome run_mix(const struct mix *mix, const struct sim_setup *setup, uint64_t seed)
{
    struct sim sim;
    size_t n = mix->n_long + mix->n_short, n_long = 0, n_short = 0;
    int64_t *cost = calloc(n, sizeof *cost), *alone = calloc(n, sizeof *alone);
    double total = 0, longest = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_long = mix->long_first ? i < mix->n_long
                                       : random_below(&seed, (int64_t)(n - i)) < (int64_t)(mix->n_long - n_long);
        if (is_long) {
            cost[i] = mix->long_cost * MEDIAN;
            n_long++;
        } else { /* half to one and a half */
            cost[i] = MEDIAN / 2 + random_below(&seed, MEDIAN);
            alone[n_short++] = cost[i];
        }
        total += (double)cost[i];
        longest = (double)cost[i] > longest ? (double)cost[i] : longest;
    }
    double short_alone = (double)sim_run(&sim, setup, alone, n_short);
    sim_free(&sim);
    double makespan = (double)sim_run(&sim, setup, cost, n), short_end = 0;
    for (size_t i = 0; i < n; i++)
        if (cost[i] < 2 * MEDIAN && (double)sim.jobs[i].end > short_end)
            short_end = (double)sim.jobs[i].end;
    double bound = total / (double)setup->n_worker;
    double graham = bound + longest * (1 - 1 / (double)setup->n_worker);
    struct outcome outcome = {short_end / short_alone, makespan / (bound > longest ? bound : longest), makespan / graham,
                              sim.most_waiting};
    sim_free(&sim);
    free(cost);
    free(alone);
    return outcome;
}

/* The case that is promised, from first turns far too short to ten times too long. */
static void promised_mix(void **state)
{
    (void)state;
    static const double first_turn[] = {0.02, 0.1, 0.3, 1, 3, 10};
    const struct mix mix = {.n_long = 8, .n_short = 1000, .long_cost = 2000, .long_first = true};
    for (size_t i = 0; i < sizeof first_turn / sizeof first_turn[0]; i++)
        for (size_t block = 4; block <= 4096; block *= 32) {
            const struct sim_setup setup = {.n_worker = 2, .block = block,
                                            .first_turn = (int64_t)(first_turn[i] * (double)MEDIAN)};
            struct outcome outcome = run_mix(&mix, &setup, 1);
            print_message("first turn %g medians, blocks of %zu: last short %.3f, makespan %.3f, waiting %zu\n", first_turn[i],
                          block, outcome.short_ratio, outcome.makespan_ratio, outcome.most_waiting);
            assert_true(outcome.short_ratio <= 2.5);
            assert_true(outcome.makespan_ratio <= 1.15);
        }
}

/* Any mix: the short ones keep at least half of the workers (less one turn of each long job). No worker idles while a job
 * waits, which gives Graham's bound (1966) on the makespan; nobody can do better than it in general who does not know which
 * job is long before it starts. Where the long ones come first and blocks are so small that they also start first, 1.30 covers
 * round robin's known bad cases (1.17 to 1.25). */
static void random_mixes(void **state)
{
    (void)state;
    uint64_t seed = 20261121;
    double worst_short = 0, worst_makespan = 0;
    for (int i = 0; i < 500; i++) {
        struct sim_setup setup = {.n_worker = 1 + (size_t)random_below(&seed, MAX_WORKER), .block = i % 2 ? 4 : 256,
                                  .first_turn = MEDIAN};
        struct mix mix = {.n_long = (size_t)random_below(&seed, 30), .n_short = 1000 + (size_t)random_below(&seed, 2000),
                          .long_cost = 50 + random_below(&seed, 1000), .long_first = random_below(&seed, 2)};
        struct outcome outcome = run_mix(&mix, &setup, (uint64_t)i);
        /* Fresh jobs have W - max(1, W/2) of W workers (half of the time of one). In that share long jobs have their first
         * turns: 16 medians (of samples that are up to 1.5 times as dear), or the k-th among the first of all jobs
         * 1 + k^2/8. At the end each worker may be in a turn that fresh jobs wait for. */
        double W = (double)setup.n_worker, n = (double)mix.n_long;
        double share = setup.n_worker == 1 ? 2 : W / (W - (double)(setup.n_worker / 2));
        double first_turns = 24 * n + (mix.long_first ? n * n * n / 24 : 0);
        double slack = (share * first_turns + 24 * W) / (double)mix.n_short;
        double makespan = mix.long_first && setup.block == 4 ? outcome.makespan_ratio : 1;
        if (outcome.short_ratio > share + slack || makespan > 1.30 || outcome.graham_ratio > 1)
            print_message("mix %d: W %zu, %zu long of %lld, %zu short: %.3f of %.3f, %.3f\n", i, setup.n_worker, mix.n_long,
                          (long long)mix.long_cost, mix.n_short, outcome.short_ratio, share + slack, outcome.makespan_ratio);
        assert_true(outcome.short_ratio <= share + slack);
        assert_true(makespan <= 1.30);
        assert_true(outcome.graham_ratio <= 1 + 1e-9);
        worst_short = outcome.short_ratio > worst_short ? outcome.short_ratio : worst_short;
        worst_makespan = makespan > worst_makespan ? makespan : worst_makespan;
    }
    print_message("worst: last short %.3f, makespan with the long ones first %.3f\n", worst_short, worst_makespan);
}

/* Jobs that all cost much more than the first turn must not be suspended by the hundred. */
static void first_turn_too_short(void **state)
{
    (void)state;
    static const size_t workers[] = {1, 2, 7, 16};
    for (size_t i = 0; i < 4; i++)
        for (int64_t factor = 10; factor <= 10000; factor *= 10) {
            int64_t cost[600];
            uint64_t seed = (uint64_t)factor;
            for (size_t k = 0; k < 600; k++)
                cost[k] = factor * (MEDIAN / 2 + random_below(&seed, MEDIAN));
            struct sim sim;
            const struct sim_setup setup = {.n_worker = workers[i], .block = 4096, .first_turn = MEDIAN};
            sim_run(&sim, &setup, cost, 600);
            print_message("%zu workers, first turn 1/%lld of the median: %zu yields, at most %zu waiting\n", workers[i],
                          (long long)factor, sim.n_yield, sim.most_waiting);
            /* 1 + surplus^2/8 passes 1.5 * 10^k after sqrt(8 * 1.5 * 10^k): 11, 35, 110, 346 surplus jobs. The ring of 127
             * samples bounds the last by its square: 2017 first turns at most, so jobs of 10,000 are all set aside. */
            size_t most = factor == 10 ? 12 : factor == 100 ? 36 : factor == 1000 ? 115 : 600;
            assert_true(sim.most_waiting <= most + 2 * workers[i]);
            sim_free(&sim);
        }
}

static void max_suspended_holds(void **state)
{
    (void)state;
    int64_t cost[400];
    for (size_t k = 0; k < 400; k++)
        cost[k] = k % 2 ? MEDIAN / 10 : 3000 * MEDIAN; /* half of them long, so that the median stays short */
    for (size_t n_worker = 1; n_worker <= 16; n_worker += 5)
        for (size_t most = 1; most <= 64; most *= 8) {
            struct sim sim;
            const struct sim_setup setup = {.n_worker = n_worker, .block = 64, .first_turn = MEDIAN, .max_suspended = most};
            sim_run(&sim, &setup, cost, 400);
            assert_true(sim.most_waiting <= most + n_worker);
            assert_true(sim.most_waiting + n_worker >= (most < 32 ? most : 32)); /* and it was reached */
            sim_free(&sim);
        }
}

/* A reader that is slower than the workers: they run what waits meanwhile, and nothing is lost. */
static void slow_reader(void **state)
{
    (void)state;
    int64_t cost[300], total = 0;
    uint64_t seed = 5;
    for (size_t k = 0; k < 300; k++)
        total += cost[k] = k % 30 == 0 ? 400 * MEDIAN : MEDIAN / 2 + random_below(&seed, MEDIAN);
    for (size_t n_worker = 1; n_worker <= 4; n_worker++) {
        struct sim sim;
        const struct sim_setup setup = {.n_worker = n_worker, .block = 30, .first_turn = MEDIAN, .refill_delay = 200 * MEDIAN};
        double makespan = (double)sim_run(&sim, &setup, cost, 300), bound = (double)total / (double)n_worker;
        double reading = 10 * 200 * (double)MEDIAN + 400 * (double)MEDIAN; /* the last block, and its long job */
        print_message("%zu workers: makespan %.3f\n", n_worker, makespan / (bound > reading ? bound : reading));
        /* The first block's delay is idle; the rest must be filled with the long jobs that wait. */
        assert_true(makespan <= 1.15 * (bound > reading ? bound : reading) + 200 * (double)MEDIAN);
        sim_free(&sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(promised_mix), cmocka_unit_test(random_mixes), cmocka_unit_test(first_turn_too_short),
        cmocka_unit_test(max_suspended_holds), cmocka_unit_test(slow_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
