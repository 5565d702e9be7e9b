/* The threads of the scheduler: workers that ask the policy what to do next, and one that fetches fresh items for them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/schedule.h"

#include "base/clock.h"
#include "par/pool.h"
#include "run/compute/schedule_policy.h"

#include <stdlib.h>

struct schedule {
    struct policy policy;
    struct schedule_client client;
    int64_t (*now_ns)(void);
    void (*abandon)(void *context, struct job *job); /* under the policy's monitor until the threads have ended */
    struct pool *pool;
};

static int64_t system_clock(void) { return clock_now_ns(); }

struct schedule *schedule_new(const struct schedule_options *options, const struct schedule_client *client,
                              struct error *error)
{
    struct schedule *schedule = aligned_alloc(64, (sizeof *schedule + 63) / 64 * 64);
    if (!schedule || !policy_init(&schedule->policy, options)) {
        free(schedule);
        error_set(error, STATUS_NO_MEMORY, "out of memory for a scheduler with %zu workers", options->n_worker);
        return NULL;
    }
    schedule->client = *client;
    schedule->now_ns = options->now_ns ? options->now_ns : system_clock;
    schedule->abandon = NULL;
    schedule->pool = NULL;
    return schedule;
}

void schedule_free(struct schedule *schedule)
{
    if (!schedule)
        return;
    policy_fini(&schedule->policy);
    free(schedule);
}

bool turn_is_over(struct turn *turn) { return policy_turn_is_over(turn, turn->now_ns()); }

static void work(struct schedule *schedule, size_t worker)
{
    const struct schedule_client *client = &schedule->client;
    struct policy *policy = &schedule->policy;
    struct policy_choice choice;
    struct turn turn = {.now_ns = schedule->now_ns};
    enum policy_action action;
    while ((action = policy_next(policy, worker, &choice)) != POLICY_END) {
        if (action == POLICY_WAIT) {
            policy_wait(policy, choice.event);
            continue;
        }
        int64_t now_ns = schedule->now_ns(); /* before start(): copying the data is part of a job's cost */
        if (action == POLICY_START) {
            choice.job = client->start(client->context, worker, choice.item);
            if (!choice.job)
                continue;
        }
        policy_enter(policy, &turn, worker, choice.job, action == POLICY_START, now_ns);
        enum job_state state = client->run(client->context, worker, choice.job, &turn);
        policy_leave(&turn, state, schedule->now_ns());
    }
}

static void refill(struct schedule *schedule)
{
    struct policy *policy = &schedule->policy;
    uint64_t event;
    uint32_t first, last;
    for (;;) {
        if (!policy_wants(policy, &event)) {
            policy_wait(policy, event);
        } else if (atomic_load(&policy->stopped)) {
            return;
        } else if (schedule->client.refill(schedule->client.context, &first, &last)) {
            policy_offer(policy, first, last);
        } else {
            policy_no_more(policy);
            return;
        }
    }
}

static void thread_main(void *context, size_t thread)
{
    if (thread == 0)
        refill(context);
    else
        work(context, thread - 1);
}

enum status schedule_start(struct schedule *schedule, struct error *error)
{
    struct error own;
    struct pool *pool = pool_new(schedule->policy.n_worker + 1, "work", error ? error : (error = &own));
    if (!pool)
        return error->status;
    size_t n_thread = pool_n_thread(pool);
    if (n_thread < 2) {
        pool_join(pool);
        return error_set(error, STATUS_SYSTEM, "cannot create a worker thread: raise the limits of processes "
                         "and memory (ulimit -u, -v)");
    }
    policy_set_n_worker(&schedule->policy, n_thread - 1);
    schedule->pool = pool;
    pool_run(pool, thread_main, schedule);
    return STATUS_OK;
}

void schedule_join(struct schedule *schedule)
{
    pool_join(schedule->pool);
    schedule->pool = NULL;
    struct job *job;
    while ((job = policy_take_waiting(&schedule->policy)))
        schedule->abandon(schedule->client.context, job);
}

void schedule_stop(struct schedule *schedule, void (*abandon)(void *context, struct job *job))
{
    monitor_enter(&schedule->policy.monitor);
    if (!schedule->abandon)
        schedule->abandon = abandon;
    monitor_leave(&schedule->policy.monitor);
    policy_stop(&schedule->policy);
}

size_t schedule_n_worker(const struct schedule *schedule) { return schedule->policy.n_worker; }

size_t schedule_n_suspended(const struct schedule *schedule)
{
    return atomic_load(&((struct schedule *)(uintptr_t)schedule)->policy.n_waiting);
}
