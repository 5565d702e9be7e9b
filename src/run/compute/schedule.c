/* The scheduler. The policy decides what a lane does next: fresh items from ranges that are stolen
 * from without locks, long jobs from one queue under a lock that is taken once per turn; how lanes
 * are shared between the two is decided in long_is_due() and somebody_waits(). The threads are
 * workers that ask the policy for each lane of their engines, and one that fetches fresh items.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/schedule.h"

#include "base/clock.h"
#include "base/process.h"
#include "par/pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SUSPENDED = 1 << 20, MOST_LANES = 1 << 16 };
/* A lane shares its samples with the others after this much work, so that short jobs need no
 * lock. */
static const int64_t SAMPLES_KEPT_NS = 500000;

#define LOAD(field) atomic_load_explicit(&(field), memory_order_seq_cst)
#define STORE(field, value) atomic_store_explicit(&(field), value, memory_order_seq_cst)

bool policy_init(struct policy *policy, const struct schedule_options *options)
{
    memset(policy, 0, sizeof *policy);
    size_t n_worker = options->n_worker ? options->n_worker : 1;
    policy->n_each = options->n_lane ? options->n_lane : 1;
    policy->cost = options->cost;
    size_t n_lane = n_worker * policy->n_each;
    policy->max_suspended = options->max_suspended ? options->max_suspended : 1;
    if (policy->max_suspended > MOST_SUSPENDED)
        policy->max_suspended = MOST_SUSPENDED;
    if (n_lane > MOST_LANES)
        n_lane = MOST_LANES;
    /* A fresh job starts only below max_suspended, or when none waits; while a lane decides,
     * each other one may add one. */
    policy->waiting_capacity = policy->max_suspended + 3 * n_lane;
    policy->waiting = malloc(policy->waiting_capacity * sizeof(struct job *));
    policy->lane = calloc(n_lane, sizeof *policy->lane);
    policy->worker = aligned_alloc(64, n_worker * sizeof *policy->worker);
    if (!policy->waiting || !policy->lane || !policy->worker || !monitor_init(&policy->monitor)) {
        free(policy->waiting);
        free(policy->lane);
        free(policy->worker);
        return false;
    }
    memset(policy->worker, 0, n_worker * sizeof *policy->worker);
    turn_length_init(&policy->length, options->turn_medians, options->first_turn_ns);
    STORE(policy->turn_ns, turn_length_ns(&policy->length));
    policy_set_n_lane(policy, n_lane);
    return true;
}

void policy_set_n_lane(struct policy *policy, size_t n_lane)
{
    policy->n_lane = n_lane;
    policy->long_share = n_lane > 1 ? n_lane / 2 : 1;
    policy->n_worker = (n_lane + policy->n_each - 1) / policy->n_each;
    for (size_t i = 0; i < policy->n_worker; i++) {
        policy->worker[i].victim = (i + 1) % policy->n_worker;
        policy->worker[i].n_awake = policy->n_each;
    }
}

void policy_fini(struct policy *policy)
{
    free(policy->waiting);
    free(policy->lane);
    free(policy->worker);
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
    /* Read with *event, or a stop would be missed. */
    bool wants = !LOAD(policy->offered) || LOAD(policy->stopped);
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
static void keep_rest(struct policy *policy, struct policy_worker *me, uint32_t first,
                      uint32_t last, bool locked)
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

static bool steal(struct policy *policy, size_t worker, uint32_t *item, bool locked)
{
    struct policy_worker *me = &policy->worker[worker];
    size_t victim = me->victim;
    for (size_t i = 0; i < policy->n_worker; i++) {
        uint32_t first, last;
        if (victim != worker && range_steal(&policy->worker[victim].range, &first, &last)) {
            me->victim = victim; /* a worker that had many items may have more */
            *item = first;
            keep_rest(policy, me, first, last, locked);
            return true;
        }
        victim = victim + 1 < policy->n_worker ? victim + 1 : 0;
    }
    return false;
}

static bool take_offered(struct policy *policy, size_t worker, uint32_t *item)
{
    if (!LOAD(policy->offered))
        return false;
    STORE(policy->offered, false);
    *item = policy->offered_first;
    keep_rest(policy, &policy->worker[worker], policy->offered_first, policy->offered_last, true);
    announce(policy); /* the next block is wanted */
    return true;
}

static bool ranges_hold_items(const struct policy *policy)
{
    for (size_t i = 0; i < policy->n_worker; i++)
        if (range_count(&policy->worker[i].range) > 0)
            return true;
    return false;
}

/* Inside the monitor: whether a worker's awake lanes all have evaluations that share work. */
static bool shares(const struct policy *policy, size_t worker)
{
    const struct policy_lane *lane = policy->lane + worker * policy->n_each;
    size_t i = 0;
    while (i < policy->n_each && (lane[i].asleep || !LOAD(lane[i].is_apart)))
        i++;
    return i == policy->n_each;
}

/* Inside the monitor: whether a lane's job is better off with another worker, which has as many
 * or more of them and whose engine does both workers' at the cost of its own. */
static bool gathers_elsewhere(const struct policy *policy, size_t lane, const struct job *job)
{
    if (!policy->cost || !policy->no_more || LOAD(job->is_apart) || LOAD(policy->offered) ||
        ranges_hold_items(policy))
        return false;
    size_t worker = lane / policy->n_each, n = policy->worker[worker].n_awake;
    for (size_t i = 0; i < policy->n_worker; i++) {
        size_t other = policy->worker[i].n_awake;
        bool is_larger = other > n || (other == n && i < worker);
        if (i != worker && other > 0 && is_larger && other + n <= policy->n_each &&
            policy->cost[other + n] <= policy->cost[other] && shares(policy, i))
            return true;
    }
    return false;
}

/* Inside the monitor: whether there is a long job for an awake lane. Not all lanes decline, as
 * the last worker that has jobs finds none that has more. */
static bool may_take_long(const struct policy *policy, size_t lane)
{
    return LOAD(policy->n_waiting) > 0 &&
           !gathers_elsewhere(policy, lane, policy->waiting[policy->waiting_first]);
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

static enum policy_action take_long(struct policy *policy, struct policy_choice *choice)
{
    choice->job = policy_take_waiting(policy);
    STORE(policy->n_long_running, LOAD(policy->n_long_running) + 1);
    return POLICY_RESUME;
}

/* A whole new block is cheaper to come by than scraps of an old one, but items must not be left
 * lying in the range of a worker that runs long jobs. */
static bool steals_first(const struct policy *policy)
{
    return LOAD(policy->n_long_running) > 0 || !LOAD(policy->offered);
}

/* Inside the monitor. */
static bool take_fresh(struct policy *policy, size_t worker, uint32_t *item)
{
    return range_take(&policy->worker[worker].range, item) ||
           (steals_first(policy) && steal(policy, worker, item, true)) ||
           take_offered(policy, worker, item) || steal(policy, worker, item, true);
}

/* Inside the monitor: what there is to do. */
static enum policy_action look(struct policy *policy, size_t lane, struct policy_choice *choice)
{
    if (LOAD(policy->stopped) || policy->finished)
        return POLICY_END;
    bool is_long = may_take_long(policy, lane);
    if (is_long && long_is_due(policy))
        return take_long(policy, choice);
    if (take_fresh(policy, lane / policy->n_each, &choice->item))
        return POLICY_START;
    if (is_long)
        return take_long(policy, choice);
    for (choice->job = policy->open; choice->job; choice->job = choice->job->next_open)
        if ((choice->evaluation = job_help(choice->job)))
            return POLICY_HELP;
    return POLICY_WAIT;
}

/* Inside the monitor. */
static void set_asleep(struct policy *policy, struct policy_lane *me, bool asleep)
{
    size_t *n_awake = &policy->worker[(size_t)(me - policy->lane) / policy->n_each].n_awake;
    if (me->asleep != asleep) {
        STORE(policy->n_asleep, asleep ? LOAD(policy->n_asleep) + 1 : LOAD(policy->n_asleep) - 1);
        *n_awake = asleep ? *n_awake - 1 : *n_awake + 1;
    }
    me->asleep = asleep;
}

/* Inside the monitor. */
static enum policy_action choose(struct policy *policy, size_t lane, struct policy_choice *choice)
{
    struct policy_lane *me = &policy->lane[lane];
    set_asleep(policy, me, false);
    enum policy_action action = look(policy, lane, choice);
    if (action == POLICY_WAIT) {
        /* Others bring something first and then look for sleepers: one sees the other. */
        set_asleep(policy, me, true);
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
    size_t worker = lane / policy->n_each;
    if (!policy->lane[lane].asleep && !LOAD(policy->stopped) && !long_is_due(policy)) {
        if (range_take(&policy->worker[worker].range, &choice->item))
            return POLICY_START;
        if (steals_first(policy) && steal(policy, worker, &choice->item, false))
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

bool policy_has_news(const struct policy *policy, uint64_t event)
{
    return LOAD(policy->event) != event;
}

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

void policy_begin(struct policy *policy, struct job *job, size_t lane, bool is_apart)
{
    STORE(job->is_apart, is_apart);
    STORE(policy->lane[lane].is_apart, is_apart);
}

/* Whether the long job of a turn that has ended should yield. */
static bool somebody_waits(const struct policy *policy, const struct job *job)
{
    if (!job->is_open && gathers_elsewhere(policy, job->keeper, job))
        return true;
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
    return LOAD(policy->n_waiting) > 0 || LOAD(policy->offered) || LOAD(policy->stopped) ||
           ranges_hold_items(policy);
}

bool policy_turn_is_over(struct policy *policy, struct job *job)
{
    if (job->yields != YIELDS_TO_OTHERS)
        return job->yields == YIELDS_TO_STOP && LOAD(policy->stopped);
    if (LOAD(job->is_over) || atomic_load_explicit(&policy->stopped, memory_order_relaxed))
        return true;
    int64_t used_ns = atomic_load_explicit(&job->used_ns, memory_order_relaxed);
    if (used_ns - LOAD(job->turn_start_ns) <
        atomic_load_explicit(&policy->turn_ns, memory_order_relaxed))
        return false;
    monitor_enter(&policy->monitor);
    if (!job->is_long) {
        job->is_long = true;
        STORE(policy->n_long, LOAD(policy->n_long) + 1);
        STORE(policy->n_long_running, LOAD(policy->n_long_running) + 1);
        job->cost_ticket = turn_length_add(&policy->length, TURN_CENSORED);
        STORE(policy->turn_ns, turn_length_ns(&policy->length));
    }
    bool is_over = somebody_waits(policy, job);
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

/* A place for an evaluation in a worker's engine. */
struct lane {
    size_t number;                 /* the policy's */
    struct job *job;               /* NULL: there is none */
    struct evaluation *evaluation; /* of the job, in the engine */
    int64_t since_ns;              /* worker.each_ns until which the job has been charged for it */
    bool is_asleep, has_ended;     /* what the policy said last */
};

struct worker {
    struct schedule *schedule;
    struct engine *engine;
    struct lane *lane;             /* n_lane */
    /* The policy has nothing for any of the lanes until it has news after this: lanes that sleep
     * ask one after the other, until one is sent to wait again. */
    uint64_t event;
    size_t n_busy;                 /* evaluations in the engine */
    int64_t charged_ns;            /* jobs have been charged for all work until then, */
    int64_t each_ns;               /* except that of the engine: its time for each evaluation */
};

struct schedule {
    struct policy policy;
    struct schedule_client client;
    size_t n_worker, n_lane;
    enum engine_kind kind;
    struct engine *const *engine;
    struct counter *const *heartbeat, *const *thread;
    struct lane *lane; /* n_worker x n_lane */
    int64_t (*now_ns)(void);
    /* under the policy's monitor until the threads have ended */
    void (*abandon)(void *context, struct job *job);
    struct pool *pool;
};

struct schedule *schedule_new(const struct schedule_options *options,
                              const struct schedule_client *client, struct error *error)
{
    struct schedule *schedule = aligned_alloc(64, (sizeof *schedule + 63) / 64 * 64);
    struct lane *lane = calloc(options->n_worker, options->n_lane * sizeof *lane);
    if (!schedule || !lane || !policy_init(&schedule->policy, options)) {
        free(schedule);
        free(lane);
        error_set(error, STATUS_NO_MEMORY, "out of memory for a scheduler with %zu workers",
                  options->n_worker);
        return NULL;
    }
    schedule->client = *client;
    schedule->n_worker = options->n_worker;
    schedule->n_lane = options->n_lane;
    schedule->kind = options->kind;
    schedule->engine = options->engine;
    schedule->heartbeat = options->heartbeat;
    schedule->thread = options->thread;
    schedule->lane = lane;
    for (size_t i = 0; i < options->n_worker * options->n_lane; i++)
        lane[i].number = i;
    schedule->now_ns = options->now_ns ? options->now_ns : clock_now_ns;
    schedule->abandon = NULL;
    schedule->pool = NULL;
    return schedule;
}

void schedule_free(struct schedule *schedule)
{
    if (!schedule)
        return;
    policy_fini(&schedule->policy);
    free(schedule->lane);
    free(schedule);
}

static void charge(struct job *job, int64_t ns)
{
    atomic_fetch_add_explicit(&job->used_ns, ns, memory_order_relaxed);
}

/* The engine has worked for all its evaluations alike. */
static void note_work(struct worker *worker)
{
    int64_t now_ns = worker->schedule->now_ns();
    worker->each_ns += (now_ns - worker->charged_ns) / (int64_t)worker->n_busy;
    worker->charged_ns = now_ns;
}

/* For what the engine has done for the lane's evaluation. */
static void charge_evaluation(const struct worker *worker, struct lane *lane)
{
    charge(lane->job, worker->each_ns - lane->since_ns);
    lane->since_ns = worker->each_ns;
}

/* A job's keeper continues until its turn is over, other lanes until there is something else to
 * do. */
static bool should_leave(struct worker *worker, const struct lane *lane)
{
    struct policy *policy = &worker->schedule->policy;
    return lane->evaluation && (policy_turn_is_over(policy, lane->job) ||
                                (lane->job->keeper != lane->number && policy_has_better(policy)));
}

static bool should_ask(struct worker *worker, const struct lane *lane)
{
    return !lane->job && !lane->has_ended &&
           (!lane->is_asleep || policy_has_news(&worker->schedule->policy, worker->event));
}

/* Asked by the engine: whether it should let a lane change its evaluation. */
static bool wants_change(void *context)
{
    struct worker *worker = context;
    note_work(worker);
    for (size_t i = 0; i < worker->schedule->n_lane; i++)
        if (worker->lane[i].evaluation)
            charge_evaluation(worker, &worker->lane[i]);
    for (size_t i = 0; i < worker->schedule->n_lane; i++)
        if (should_leave(worker, &worker->lane[i]) || should_ask(worker, &worker->lane[i]))
            return true;
    return false;
}

/* A chore of the lane's job, at once. */
static void do_chore(struct worker *worker, struct lane *lane, struct evaluation *chore)
{
    chore->chore(chore->part);
    int64_t now_ns = worker->schedule->now_ns();
    charge(lane->job, now_ns - worker->charged_ns);
    worker->charged_ns = now_ns;
    job_return(lane->job, chore, true, NULL, NULL, lane->number);
}

/* False: it is done already. */
static bool begin(struct worker *worker, struct lane *lane, struct evaluation *evaluation)
{
    const struct schedule_client *client = &worker->schedule->client;
    if (evaluation->chore) {
        do_chore(worker, lane, evaluation);
        return false;
    }
    lane->evaluation = evaluation;
    lane->since_ns = worker->each_ns;
    worker->n_busy++;
    if (worker->schedule->policy.cost)
        policy_begin(&worker->schedule->policy, lane->job, lane->number,
                     engine_for(evaluation, worker->schedule->kind) == ENGINE_REFERENCE);
    client->begin(client->context, lane->number, lane->job, evaluation);
    engine_submit(worker->engine, evaluation);
    return true;
}

/* False: the job has ended. */
static bool resume(struct worker *worker, struct lane *lane)
{
    const struct schedule_client *client = &worker->schedule->client;
    struct job *job = lane->job;
    STORE(job->since_ns, worker->charged_ns);
    bool goes_on = client->resume(client->context, lane->number, job);
    STORE(job->since_ns, 0);
    int64_t now_ns = worker->schedule->now_ns();
    charge(job, now_ns - worker->charged_ns);
    worker->charged_ns = now_ns;
    return goes_on;
}

/* What the lane does next for its job: code of it, an evaluation, or nothing more. */
static void carry_on(struct worker *worker, struct lane *lane)
{
    const struct schedule_client *client = &worker->schedule->client;
    struct policy *policy = &worker->schedule->policy;
    struct job *job = lane->job;
    struct evaluation *evaluation;
    bool is_more;
    for (;;) {
        switch (
            job_next(job, lane->number, policy_turn_is_over(policy, job), &evaluation, &is_more)) {
        case JOB_RESUME:
            if (resume(worker, lane))
                continue;
            policy_leave(policy, job, lane->number, JOB_DONE);
            client->finish(client->context, lane->number, job);
            break;
        case JOB_WORK:
            if (is_more)
                policy_open(policy, job);
            if (begin(worker, lane, evaluation))
                return;
            continue;
        case JOB_REST:
            policy_leave(policy, job, lane->number, JOB_YIELDS);
            break;
        case JOB_LEAVE:
            break;
        }
        lane->job = NULL;
        return;
    }
}

/* The lane's evaluation is no longer in the engine. */
static void end(struct worker *worker, struct lane *lane, bool finished)
{
    const struct schedule_client *client = &worker->schedule->client;
    struct evaluation *evaluation = lane->evaluation;
    charge_evaluation(worker, lane);
    lane->evaluation = NULL;
    worker->n_busy--;
    job_return(lane->job, evaluation, finished, client->end, client->context, lane->number);
    carry_on(worker, lane);
}

/* Those that the engine has finished. */
static void end_all(struct worker *worker, struct evaluation *done)
{
    size_t i = 0, n_lane = worker->schedule->n_lane;
    for (struct evaluation *next; done; done = next) {
        next = done->next;
        /* Engines finish those of many lanes in about their order. */
        while (worker->lane[i].evaluation != done)
            i = i + 1 < n_lane ? i + 1 : 0;
        end(worker, &worker->lane[i], true);
    }
}

/* Asks the policy. */
static void fill(struct worker *worker, struct lane *lane)
{
    struct schedule *schedule = worker->schedule;
    struct policy *policy = &schedule->policy;
    struct policy_choice choice;
    enum policy_action action = policy_next(policy, lane->number, &choice);
    lane->has_ended = action == POLICY_END;
    lane->is_asleep = action == POLICY_WAIT;
    if (lane->is_asleep)
        worker->event = choice.event;
    if (lane->has_ended || lane->is_asleep)
        return;
    /* before start(): copying the data is part of a job's cost */
    worker->charged_ns = schedule->now_ns();
    if (action == POLICY_START)
        choice.job = schedule->client.start(schedule->client.context, lane->number, choice.item);
    lane->job = choice.job;
    if (lane->job && action != POLICY_HELP)
        policy_enter(policy, lane->job, lane->number, action == POLICY_START);
    if (lane->job && !(action == POLICY_HELP && begin(worker, lane, choice.evaluation)))
        carry_on(worker, lane);
}

static void work(struct schedule *schedule, size_t i_worker)
{
    struct worker worker = {.schedule = schedule, .engine = schedule->engine[i_worker],
                            .lane = schedule->lane + i_worker * schedule->n_lane};
    const struct engine_turn turn = {.over = wants_change,
                                     .context = &worker,
                                     .heartbeat = schedule->heartbeat
                                                      ? schedule->heartbeat[i_worker]
                                                      : NULL};
    size_t n_lane = schedule->n_lane, n_ended = 0;
    if (schedule->thread)
        counter_set(schedule->thread[i_worker], (uint64_t)process_thread());
    while (n_ended < n_lane) {
        n_ended = 0;
        for (size_t i = 0; i < n_lane; i++) {
            while (should_ask(&worker, &worker.lane[i]))
                fill(&worker, &worker.lane[i]);
            n_ended += worker.lane[i].has_ended;
        }
        if (worker.n_busy == 0) {
            if (n_ended < n_lane)
                policy_wait(&schedule->policy, worker.event);
            continue;
        }
        struct evaluation *done = engine_work(worker.engine, &turn);
        note_work(&worker);
        if (done)
            end_all(&worker, done);
        bool (*leave)(struct engine *, struct evaluation *) =
            atomic_load(&schedule->policy.stopped) ? engine_give_up : engine_withdraw;
        for (size_t i = 0; i < n_lane && !done; i++)
            if (should_leave(&worker, &worker.lane[i]) &&
                leave(worker.engine, worker.lane[i].evaluation))
                end(&worker, &worker.lane[i], false);
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
    struct pool *pool = pool_new(schedule->n_worker + 1, "work", error ? error : (error = &own));
    if (!pool)
        return error->status;
    size_t n_thread = pool_n_thread(pool);
    if (n_thread < 2) {
        pool_join(pool);
        return error_set(error, STATUS_NO_MEMORY,
                         "cannot create a worker thread: raise the limits of processes "
                         "and memory (ulimit -u, -v)");
    }
    schedule->n_worker = n_thread - 1;
    policy_set_n_lane(&schedule->policy, schedule->n_worker * schedule->n_lane);
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

size_t schedule_n_worker(const struct schedule *schedule) { return schedule->n_worker; }

size_t schedule_n_suspended(const struct schedule *schedule)
{
    return atomic_load(&((struct schedule *)(uintptr_t)schedule)->policy.n_waiting);
}
