/* The threads of the scheduler: workers that ask the policy what to do in each lane of their engines, and one that fetches
 * fresh items for them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/schedule.h"

#include "base/clock.h"
#include "base/process.h"
#include "par/pool.h"
#include "run/compute/schedule_policy.h"

#include <stdlib.h>

/* A place for an evaluation in a worker's engine. */
struct lane {
    size_t number;                 /* the policy's */
    struct job *job;               /* NULL: there is none */
    struct evaluation *evaluation; /* of the job, in the engine */
    bool is_asleep, has_ended;     /* what the policy said last; asleep until it has news after `event` */
    uint64_t event;
};

struct worker {
    struct schedule *schedule;
    struct engine *engine;
    struct lane *lane;             /* n_lane */
    size_t n_busy;                 /* evaluations in the engine */
    int64_t charged_ns;            /* jobs have been charged for what was done until then */
};

struct schedule {
    struct policy policy;
    struct schedule_client client;
    size_t n_worker, n_lane;
    struct engine *const *engine;
    struct counter *const *heartbeat, *const *thread;
    struct lane *lane; /* n_worker x n_lane */
    int64_t (*now_ns)(void);
    void (*abandon)(void *context, struct job *job); /* under the policy's monitor until the threads have ended */
    struct pool *pool;
};

struct schedule *schedule_new(const struct schedule_options *options, const struct schedule_client *client,
                              struct error *error)
{
    struct schedule *schedule = aligned_alloc(64, (sizeof *schedule + 63) / 64 * 64);
    struct lane *lane = calloc(options->n_worker, options->n_lane * sizeof *lane);
    if (!schedule || !lane || !policy_init(&schedule->policy, options)) {
        free(schedule);
        free(lane);
        error_set(error, STATUS_NO_MEMORY, "out of memory for a scheduler with %zu workers", options->n_worker);
        return NULL;
    }
    schedule->client = *client;
    schedule->n_worker = options->n_worker;
    schedule->n_lane = options->n_lane;
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

static void charge(struct job *job, int64_t ns) { atomic_fetch_add_explicit(&job->used_ns, ns, memory_order_relaxed); }

/* The engine has worked for all its evaluations alike. */
static void charge_all(struct worker *worker)
{
    int64_t now_ns = worker->schedule->now_ns(), each_ns = (now_ns - worker->charged_ns) / (int64_t)worker->n_busy;
    for (size_t i = 0; i < worker->schedule->n_lane; i++)
        if (worker->lane[i].evaluation)
            charge(worker->lane[i].job, each_ns);
    worker->charged_ns = now_ns;
}

/* A job's keeper continues until its turn is over, other lanes until there is something else to do. */
static bool should_leave(struct worker *worker, const struct lane *lane)
{
    struct policy *policy = &worker->schedule->policy;
    return lane->evaluation && (policy_turn_is_over(policy, lane->job) ||
                                (lane->job->keeper != lane->number && policy_has_better(policy)));
}

static bool should_ask(struct worker *worker, const struct lane *lane)
{
    return !lane->job && !lane->has_ended &&
           (!lane->is_asleep || policy_has_news(&worker->schedule->policy, lane->event));
}

/* Asked by the engine: whether it should let a lane change its evaluation. */
static bool wants_change(void *context)
{
    struct worker *worker = context;
    charge_all(worker);
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
    worker->n_busy++;
    client->begin(client->context, lane->number, lane->job, evaluation);
    engine_submit(worker->engine, evaluation);
    return true;
}

/* False: the job has ended. */
static bool resume(struct worker *worker, struct lane *lane)
{
    const struct schedule_client *client = &worker->schedule->client;
    struct job *job = lane->job;
    job->since_ns = worker->charged_ns;
    bool goes_on = client->resume(client->context, lane->number, job);
    job->since_ns = 0;
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
        switch (job_next(job, lane->number, policy_turn_is_over(policy, job), &evaluation, &is_more)) {
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
    lane->evaluation = NULL;
    worker->n_busy--;
    job_return(lane->job, evaluation, finished, client->end, client->context, lane->number);
    carry_on(worker, lane);
}

/* Those that the engine has finished. */
static void end_all(struct worker *worker, struct evaluation *done)
{
    for (struct evaluation *next; done; done = next) {
        struct lane *lane = worker->lane;
        next = done->next;
        while (lane->evaluation != done)
            lane++;
        end(worker, lane, true);
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
        lane->event = choice.event;
    if (lane->has_ended || lane->is_asleep)
        return;
    worker->charged_ns = schedule->now_ns(); /* before start(): copying the data is part of a job's cost */
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
    const struct engine_turn turn = {.over = wants_change, .context = &worker,
                                     .heartbeat = schedule->heartbeat ? schedule->heartbeat[i_worker] : NULL};
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
                policy_wait(&schedule->policy, worker.lane[0].event);
            continue;
        }
        struct evaluation *done = engine_work(worker.engine, &turn);
        charge_all(&worker);
        if (done)
            end_all(&worker, done);
        for (size_t i = 0; i < n_lane && !done; i++)
            if (should_leave(&worker, &worker.lane[i]) && engine_withdraw(worker.engine, worker.lane[i].evaluation))
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
        return error_set(error, STATUS_SYSTEM, "cannot create a worker thread: raise the limits of processes "
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
