/* The policy: fresh items from ranges that are stolen from without locks, long jobs from one queue under a lock that is taken
 * once per turn. How lanes are shared between the two is decided in long_is_due() and somebody_waits().
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/schedule_policy.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SUSPENDED = 1 << 20, MOST_LANES = 1 << 16 };
/* A lane shares its samples with the others after this much work, so that short jobs need no lock. */
static const int64_t SAMPLES_KEPT_NS = 500000;

#define LOAD(field) atomic_load_explicit(&(field), memory_order_seq_cst)
#define STORE(field, value) atomic_store_explicit(&(field), value, memory_order_seq_cst)

bool policy_init(struct policy *policy, const struct schedule_options *options)
{
    memset(policy, 0, sizeof *policy);
    size_t n_lane = (options->n_worker ? options->n_worker : 1) * (options->n_lane ? options->n_lane : 1);
    policy->max_suspended = options->max_suspended ? options->max_suspended : 1;
    if (policy->max_suspended > MOST_SUSPENDED)
        policy->max_suspended = MOST_SUSPENDED;
    if (n_lane > MOST_LANES)
        n_lane = MOST_LANES;
    /* A fresh job starts only below max_suspended, or when none waits; while a lane decides, each other one may add one. */
    policy->waiting_capacity = policy->max_suspended + 3 * n_lane;
    policy->waiting = malloc(policy->waiting_capacity * sizeof(struct job *));
    policy->lane = aligned_alloc(64, n_lane * sizeof *policy->lane);
    if (!policy->waiting || !policy->lane || !monitor_init(&policy->monitor)) {
        free(policy->waiting);
        free(policy->lane);
        return false;
    }
    memset(policy->lane, 0, n_lane * sizeof *policy->lane);
    turn_length_init(&policy->length, options->turn_medians, options->first_turn_ns);
    STORE(policy->turn_ns, turn_length_ns(&policy->length));
    policy_set_n_lane(policy, n_lane);
    return true;
}

void policy_set_n_lane(struct policy *policy, size_t n_lane)
{
    policy->n_lane = n_lane;
    policy->long_share = n_lane > 1 ? n_lane / 2 : 1;
    for (size_t i = 0; i < n_lane; i++)
        policy->lane[i].victim = (i + 1) % n_lane;
}

void policy_fini(struct policy *policy)
{
    free(policy->waiting);
    free(policy->lane);
    monitor_fini(&policy->monitor);
}

/* Inside the monitor: wakes sleeping workers. */
static void announce(struct policy *policy)
{
    policy->event++;
    monitor_notify(&policy->monitor);
}

bool policy_wants(struct policy *policy, uint64_t *event)
{
    monitor_enter(&policy->monitor);
    bool wants = !LOAD(policy->offered) || LOAD(policy->stopped); /* read with *event, or a stop would be missed */
    *event = policy->event;
    monitor_leave(&policy->monitor);
    return wants;
}

void policy_offer(struct policy *policy, uint32_t first, uint32_t last)
{
    if (first >= last)
        return;
    monitor_enter(&policy->monitor);
    assert(!LOAD(policy->offered));
    policy->offered_first = first;
    policy->offered_last = last;
    STORE(policy->offered, true);
    announce(policy);
    monitor_leave(&policy->monitor);
}

void policy_no_more(struct policy *policy)
{
    monitor_enter(&policy->monitor);
    policy->no_more = true;
    announce(policy);
    monitor_leave(&policy->monitor);
}

/* Keeps [first + 1, last) for `me`, and wakes others if they can steal from it. */
static void keep_rest(struct policy *policy, struct policy_lane *me, uint32_t first, uint32_t last, bool locked)
{
    if (first + 1 >= last)
        return;
    range_set(&me->range, first + 1, last);
    if (LOAD(policy->n_asleep) == 0) /* after range_set: see there */
        return;
    if (!locked)
        monitor_enter(&policy->monitor);
    announce(policy);
    if (!locked)
        monitor_leave(&policy->monitor);
}

static bool steal(struct policy *policy, size_t lane, uint32_t *item, bool locked)
{
    struct policy_lane *me = &policy->lane[lane];
    size_t victim = me->victim;
    for (size_t i = 0; i < policy->n_lane; i++) {
        uint32_t first, last;
        if (victim != lane && range_steal(&policy->lane[victim].range, &first, &last)) {
            me->victim = victim; /* a worker that had many items may have more */
            *item = first;
            keep_rest(policy, me, first, last, locked);
            return true;
        }
        victim = victim + 1 < policy->n_lane ? victim + 1 : 0;
    }
    return false;
}

static bool take_offered(struct policy *policy, size_t lane, uint32_t *item)
{
    if (!LOAD(policy->offered))
        return false;
    STORE(policy->offered, false);
    *item = policy->offered_first;
    keep_rest(policy, &policy->lane[lane], policy->offered_first, policy->offered_last, true);
    announce(policy); /* the next block is wanted */
    return true;
}

static bool ranges_hold_items(const struct policy *policy)
{
    for (size_t i = 0; i < policy->n_lane; i++)
        if (range_count(&policy->lane[i].range) > 0)
            return true;
    return false;
}

/* Whether a lane that becomes free should run a long job even if there are fresh items. */
static bool long_is_due(const struct policy *policy)
{
    if (LOAD(policy->n_waiting) == 0)
        return false;
    if (LOAD(policy->n_long) >= policy->max_suspended)
        return true;
    if (policy->n_lane == 1)
        return policy->fresh_owed_ns <= 0;
    return LOAD(policy->n_long_running) < policy->long_share;
}

struct job *policy_take_waiting(struct policy *policy)
{
    size_t n_waiting = LOAD(policy->n_waiting);
    if (n_waiting == 0)
        return NULL;
    struct job *job = policy->waiting[policy->waiting_first];
    policy->waiting_first = (policy->waiting_first + 1) % policy->waiting_capacity;
    STORE(policy->n_waiting, n_waiting - 1);
    return job;
}

static enum policy_action resume(struct policy *policy, struct policy_choice *choice)
{
    choice->job = policy_take_waiting(policy);
    STORE(policy->n_long_running, LOAD(policy->n_long_running) + 1);
    return POLICY_RESUME;
}

/* A whole new block is cheaper to come by than scraps of an old one, but items must not be left lying in the range of a lane
 * that runs long jobs. */
static bool steals_first(const struct policy *policy)
{
    return LOAD(policy->n_long_running) > 0 || !LOAD(policy->offered);
}

/* Inside the monitor. */
static bool take_fresh(struct policy *policy, size_t lane, uint32_t *item)
{
    return range_take(&policy->lane[lane].range, item) ||
           (steals_first(policy) && steal(policy, lane, item, true)) || take_offered(policy, lane, item) ||
           steal(policy, lane, item, true);
}

/* Inside the monitor: what there is to do. */
static enum policy_action look(struct policy *policy, size_t lane, struct policy_choice *choice)
{
    if (LOAD(policy->stopped) || policy->finished)
        return POLICY_END;
    if (long_is_due(policy))
        return resume(policy, choice);
    if (take_fresh(policy, lane, &choice->item))
        return POLICY_START;
    if (LOAD(policy->n_waiting) > 0)
        return resume(policy, choice);
    for (choice->job = policy->open; choice->job; choice->job = choice->job->next_open)
        if ((choice->evaluation = job_help(choice->job)))
            return POLICY_HELP;
    return POLICY_WAIT;
}

/* Inside the monitor. */
static void set_asleep(struct policy *policy, struct policy_lane *me, bool asleep)
{
    if (me->asleep != asleep)
        STORE(policy->n_asleep, asleep ? LOAD(policy->n_asleep) + 1 : LOAD(policy->n_asleep) - 1);
    me->asleep = asleep;
}

/* Inside the monitor. */
static enum policy_action choose(struct policy *policy, size_t lane, struct policy_choice *choice)
{
    struct policy_lane *me = &policy->lane[lane];
    set_asleep(policy, me, false);
    enum policy_action action = look(policy, lane, choice);
    if (action == POLICY_WAIT) {
        set_asleep(policy, me, true); /* others bring something first and then look for sleepers: one sees the other */
        action = look(policy, lane, choice);
    }
    if (action != POLICY_WAIT) {
        set_asleep(policy, me, false);
        return action;
    }
    /* A sleeping worker has no job and no items, so if all sleep, everything is done. */
    if (policy->no_more && LOAD(policy->n_asleep) == policy->n_lane) {
        policy->finished = true;
        announce(policy);
        return POLICY_END;
    }
    choice->event = policy->event;
    return POLICY_WAIT;
}

enum policy_action policy_next(struct policy *policy, size_t lane, struct policy_choice *choice)
{
    struct policy_lane *me = &policy->lane[lane];
    if (!me->asleep && !LOAD(policy->stopped) && !long_is_due(policy)) {
        if (range_take(&me->range, &choice->item))
            return POLICY_START;
        if (steals_first(policy) && steal(policy, lane, &choice->item, false))
            return POLICY_START;
    }
    monitor_enter(&policy->monitor);
    enum policy_action action = choose(policy, lane, choice);
    monitor_leave(&policy->monitor);
    return action;
}

void policy_wait(struct policy *policy, uint64_t event)
{
    monitor_enter(&policy->monitor);
    while (policy->event == event)
        monitor_wait(&policy->monitor, -1);
    monitor_leave(&policy->monitor);
}

bool policy_has_news(const struct policy *policy, uint64_t event) { return LOAD(policy->event) != event; }

void policy_enter(struct policy *policy, struct job *job, size_t lane, bool fresh)
{
    (void)policy;
    if (fresh) {
        STORE(job->used_ns, 0);
        job->cost_ticket = 0;
    }
    STORE(job->turn_start_ns, LOAD(job->used_ns));
    STORE(job->is_over, false);
    job->is_long = !fresh;
    job->is_first_turn = fresh;
    job->keeper = lane;
    job->n_active = 1;
}

/* Whether the long job of a turn that has ended should yield. */
static bool somebody_waits(const struct policy *policy)
{
    if (LOAD(policy->n_waiting) > 0)
        return true;
    if (LOAD(policy->n_long) >= policy->max_suspended)
        return false;
    if (policy->n_lane > 1 && LOAD(policy->n_long_running) <= policy->long_share)
        return false; /* it would be resumed at once */
    return LOAD(policy->offered) || ranges_hold_items(policy);
}

bool policy_has_better(const struct policy *policy)
{
    return LOAD(policy->n_waiting) > 0 || LOAD(policy->offered) || LOAD(policy->stopped) || ranges_hold_items(policy);
}

bool policy_turn_is_over(struct policy *policy, struct job *job)
{
    if (job->yields != YIELDS_TO_OTHERS)
        return job->yields == YIELDS_TO_STOP && LOAD(policy->stopped);
    if (LOAD(job->is_over) || atomic_load_explicit(&policy->stopped, memory_order_relaxed))
        return true;
    int64_t used_ns = atomic_load_explicit(&job->used_ns, memory_order_relaxed);
    if (used_ns - LOAD(job->turn_start_ns) < atomic_load_explicit(&policy->turn_ns, memory_order_relaxed))
        return false;
    monitor_enter(&policy->monitor);
    if (!job->is_long) {
        job->is_long = true;
        STORE(policy->n_long, LOAD(policy->n_long) + 1);
        STORE(policy->n_long_running, LOAD(policy->n_long_running) + 1);
        job->cost_ticket = turn_length_add(&policy->length, TURN_CENSORED);
        STORE(policy->turn_ns, turn_length_ns(&policy->length));
    }
    bool is_over = somebody_waits(policy);
    if (!is_over) {
        STORE(job->turn_start_ns, used_ns);
        job->is_first_turn = false;
    }
    STORE(job->is_over, is_over);
    monitor_leave(&policy->monitor);
    return is_over;
}

void policy_open(struct policy *policy, struct job *job)
{
    if (job->is_open && LOAD(policy->n_asleep) == 0)
        return;
    monitor_enter(&policy->monitor);
    if (!job->is_open) {
        job->is_open = true;
        job->next_open = policy->open;
        policy->open = job;
    }
    if (LOAD(policy->n_asleep) > 0)
        announce(policy);
    monitor_leave(&policy->monitor);
}

/* Inside the monitor. */
static void close_job(struct policy *policy, struct job *job)
{
    struct job **place = &policy->open;
    while (job->is_open && *place != job)
        place = &(*place)->next_open;
    if (job->is_open)
        *place = job->next_open;
    job->is_open = false;
}

/* Inside the monitor. */
static void tell_samples(struct policy *policy, struct policy_lane *me)
{
    for (int i = 0; i < me->n_sample; i++)
        turn_length_add(&policy->length, me->sample[i]);
    me->n_sample = 0;
    me->sample_ns = 0;
    STORE(policy->turn_ns, turn_length_ns(&policy->length));
}

static void leave_short(struct policy *policy, struct policy_lane *me, int64_t cost_ns)
{
    me->sample[me->n_sample++] = cost_ns;
    me->sample_ns += cost_ns;
    if (me->n_sample < POLICY_N_SAMPLE && me->sample_ns < SAMPLES_KEPT_NS)
        return;
    monitor_enter(&policy->monitor);
    tell_samples(policy, me);
    monitor_leave(&policy->monitor);
}

/* Inside the monitor. */
static void queue(struct policy *policy, struct job *job)
{
    size_t n_waiting = LOAD(policy->n_waiting);
    assert(n_waiting < policy->waiting_capacity);
    policy->waiting[(policy->waiting_first + n_waiting) % policy->waiting_capacity] = job;
    STORE(policy->n_waiting, n_waiting + 1);
    if (LOAD(policy->n_asleep) > 0)
        announce(policy);
}

void policy_leave(struct policy *policy, struct job *job, size_t lane, enum job_state state)
{
    struct policy_lane *me = &policy->lane[lane];
    int64_t used_ns = LOAD(job->used_ns), last_turn_ns = used_ns - LOAD(job->turn_start_ns);
    if (policy->n_lane == 1) {
        if (!job->is_first_turn)
            policy->fresh_owed_ns = last_turn_ns;
        else if (policy->fresh_owed_ns > last_turn_ns)
            policy->fresh_owed_ns -= last_turn_ns;
        else
            policy->fresh_owed_ns = 0;
    }
    if (state == JOB_DONE && !job->is_long && !job->is_open) {
        leave_short(policy, me, used_ns);
        return;
    }
    monitor_enter(&policy->monitor);
    close_job(policy, job);
    if (job->is_long)
        STORE(policy->n_long_running, LOAD(policy->n_long_running) - 1);
    if (state == JOB_YIELDS) {
        if (!job->is_long) /* it yielded by itself, or everything stops */
            STORE(policy->n_long, LOAD(policy->n_long) + 1);
        queue(policy, job);
    } else {
        if (job->is_long) {
            STORE(policy->n_long, LOAD(policy->n_long) - 1);
            turn_length_resolve(&policy->length, job->cost_ticket, used_ns);
        } else {
            turn_length_add(&policy->length, used_ns);
        }
        tell_samples(policy, me);
    }
    monitor_leave(&policy->monitor);
}

void policy_stop(struct policy *policy)
{
    monitor_enter(&policy->monitor);
    STORE(policy->stopped, true);
    announce(policy);
    monitor_leave(&policy->monitor);
}
