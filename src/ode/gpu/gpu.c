/* The engine on a GPU: thousands of evaluations of a worker are on the device at once, each at
 * its own time; the host begins them as lanes do, and takes them back when all their rows are
 * answered. What is rare, and few evaluations, which would wait for the device longer than they
 * take, are left to the lanes of the CPU, from the beginning: they give the same bits, so nothing
 * shows but the time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/clock.h"
#include "base/signals.h"
#include "ode/drive.h"
#include "ode/gpu/exchange.h"
#include "ode/gpu/site.h"
#include "ode/outcome.h"
#include "ode/tolerance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Evaluations on the device: of all workers, and of one at least and at most. */
enum { ON_DEVICE = 16384, LEAST_ON_DEVICE = 256, MOST_ON_DEVICE = 4096 };
/* Attempts between two looks at them. */
enum { ATTEMPTS = 16, MORE_NS = 1000000 };

struct gpu_pool {
    struct engine_pool base;
    const struct stiffit_model *abi;
    struct ode_options options;
    struct lanes_plan *plan;
    struct engine_pool *cpu;  /* of lanes */
    size_t n_worker, n_site;
    size_t least;             /* evaluations of a worker, of which fewer are left to the CPU */
    struct site site[DEVICE_MOST]; /* workers use one after the other */
    bool has_monitor;
    struct monitor monitor;   /* protects the rest */
    size_t n_engine;          /* that were made */
    const struct site *lost;  /* the first one that was lost; NULL: none */
    size_t n_done, n_left;    /* evaluations that the device did, or left to the CPU */
    size_t n_few;             /* that did not go there, being few */
    size_t n_lost;            /* workers that lost it */
};

/* A place on the device. */
struct seat {
    struct evaluation *evaluation; /* NULL: free; its `state` is the seat */
    size_t first_row;              /* the first one that the device answers */
    struct exchange_calls begun;   /* until then */
    struct evaluation_course course; /* before it began */
    /* its own simulation, for what happens at stops; NULL: none has needed it yet */
    struct lane *lane;
    bool has_stops;                /* it is in use */
};

/* Evaluations in the order in which they came. */
struct line {
    struct evaluation *first, **end;
};

struct gpu_engine {
    struct engine base;
    struct gpu_pool *pool;
    struct engine *cpu;
    size_t n;                  /* evaluations that were submitted and have not ended */
    size_t n_cpu;              /* of these, in the engine of the CPU */
    struct line for_device, for_cpu;
    struct batch batch;        /* its only seat has the simulation that something happens to */
    struct lane *lane;         /* with which evaluations without stops begin */
    size_t n_done, n_left, n_few; /* not yet counted in the pool */
    bool has_looked;           /* some evaluations wait for the kernel go_on */
    bool is_lost;              /* the device failed: everything goes to the CPU */
    size_t n_busy;             /* seats */
    int64_t began_ns, attempts_ns; /* the device's attempts: when, and how long they may last */
    struct seat *seat;
    struct share share;        /* of a device */
    int32_t *state;            /* n_seat: on the device */
};

/* With the simulation of a seat. */
static struct exchange exchange_of(const struct gpu_engine *own, const struct seat *seat)
{
    return (struct exchange){.record = &own->share.record,
                             .n_column = own->share.size.n_column,
                             .n_row = own->share.size.n_row,
                             .has_doses = own->share.size.has_doses,
                             .lane = seat->has_stops ? seat->lane : own->lane,
                             .is_own = seat->has_stops};
}

static void line_add(struct line *line, struct evaluation *evaluation)
{
    if (!line->first)
        line->end = &line->first;
    evaluation->next = NULL;
    *line->end = evaluation;
    line->end = &evaluation->next;
}

static struct evaluation *line_take(struct line *line)
{
    struct evaluation *first = line->first;
    if (first)
        line->first = first->next;
    return first;
}

/* False: it is not in the line. */
static bool line_remove(struct line *line, const struct evaluation *evaluation)
{
    struct evaluation **link = &line->first;
    while (*link && *link != evaluation)
        link = &(*link)->next;
    if (!*link)
        return false;
    *link = evaluation->next;
    if (!*link)
        line->end = link;
    return true;
}

static const char *refusal(const struct stiffit_model *abi)
{
    static _Thread_local char why[300];
    const char *of_lanes = engine_lanes.refusal(abi);
    if (of_lanes)
        return of_lanes;
    if (abi->lanes->calls) {
        snprintf(why, sizeof why,
                 "calls functions that a GPU does not compute with the same bits: %.200s",
                 abi->lanes->calls);
        return why;
    }
    return !abi->lanes->opencl ? "has no functions for a GPU: it is not from model text" : NULL;
}

/* What the device does not know: stops whose time depends on states, among others. The same for
 * the same evaluation. */
static bool suits_device(const struct gpu_pool *pool, const struct evaluation *evaluation)
{
    const struct stiffit_model *abi = pool->abi;
    const struct ode_task *task = evaluation->task;
    return !abi->n_event && !abi->n_switching && !abi->n_forcing && task->n_time > 0 &&
           task->time[task->n_time - 1] != INFINITY && !evaluation->begin && !evaluation->lenient &&
           !evaluation->adjoint && evaluation->n_sens <= abi->n_parameter;
}

/* The integrator of the beginning. */
static bool start(struct batch *batch, int k)
{
    return lane_start((struct lane *)batch->seat[k], !(batch->live >> k & 1));
}

/* At a stop, it is already in simulation.y. */
static bool state_at(struct simulation *sim, double t)
{
    (void)sim, (void)t;
    return true;
}

static const struct integrator beginner = {.name = "gpu", .width = 1, .closest = LANES_CLOSEST,
                                           .start = start, .state_at = state_at};

static void pool_free(struct engine_pool *base)
{
    struct gpu_pool *pool = (struct gpu_pool *)base;
    for (size_t i = 0; i < DEVICE_MOST; i++)
        site_fini(&pool->site[i]);
    if (pool->has_monitor)
        monitor_fini(&pool->monitor);
    lanes_plan_free(pool->plan);
    engine_pool_free(pool->cpu);
    free(pool);
}

static size_t from_environment(const char *name, size_t standard)
{
    const char *text = getenv(name);
    return text && *text ? strtoul(text, NULL, 10) : standard;
}

/* Of a worker; each costs a suspended fit. STIFFIT_GPU_EVALUATIONS: of all workers. */
static size_t choose_capacity(size_t n_worker)
{
    size_t n = from_environment("STIFFIT_GPU_EVALUATIONS", ON_DEVICE) / n_worker;
    if (n < LEAST_ON_DEVICE)
        return LEAST_ON_DEVICE;
    return n > MOST_ON_DEVICE ? MOST_ON_DEVICE : n;
}

/* False: a device cannot be used. OpenCL loads drivers here, whose compilers (LLVM) install signal
 * handlers when they first compile; the caller's handlers are restored. */
static bool open_sites(struct gpu_pool *pool, struct error *error)
{
    struct device device[DEVICE_MOST];
    struct signals signals;
    size_t n = 0;
    signals_keep(&signals);
    bool good = device_open(pool->options.devices, device, &n, error) == STATUS_OK;
    for (size_t i = 0; i < DEVICE_MOST; i++) /* also what is to be closed */
        pool->site[i].device = device[i];
    pool->n_site = n < pool->n_worker ? n : pool->n_worker;
    for (size_t i = 0; i < pool->n_site && good; i++) {
        size_t n_worker = (pool->n_worker + pool->n_site - 1) / pool->n_site;
        good = device_has_same_bits(&pool->site[i].device, error);
        if (good && !site_init(&pool->site[i], pool->plan, &pool->options, n_worker)) {
            error_set(error, STATUS_NO_MEMORY, "no memory for the engine of a GPU");
            good = false;
        }
    }
    signals_restore(&signals);
    return good;
}

static struct engine_pool *pool_new(const struct engine_table *table, const struct model *model,
                                    const struct ode_options *options, size_t n_workspace,
                                    size_t n_worker, struct error *error)
{
    const struct stiffit_model *abi = &model->abi;
    const char *why = table->refusal(abi);
    struct gpu_pool *pool = calloc(1, sizeof *pool);
    bool is_wrong = false;
    if (why) {
        error_set(error, STATUS_BAD_MODEL, "gpu: the model %s %s%s", abi->name, why,
                  engine_lanes.refusal(abi) ? "" : "; use --engine lanes");
        free(pool);
        return NULL;
    }
    if (!pool) {
        error_set(error, STATUS_NO_MEMORY, "no memory for the engine of a GPU");
        return NULL;
    }
    pool->abi = abi;
    pool->options = *options;
    pool->n_worker = n_worker;
    pool->has_monitor = monitor_init(&pool->monitor);
    pool->plan = lanes_plan_new(abi, &is_wrong);
    pool->cpu = pool->plan ? engine_lanes.pool_new(&engine_lanes, model, options, n_workspace,
                                                   n_worker, error)
                           : NULL;
    if (!pool->plan || !pool->has_monitor)
        error_set(error, STATUS_NO_MEMORY, "no memory for the engine of a GPU");
    if (pool->cpu)
        pool->cpu->table = &engine_lanes;
    if (pool->cpu && pool->has_monitor && open_sites(pool, error)) {
        pool->base.capacity = choose_capacity(n_worker);
        pool->least = from_environment("STIFFIT_GPU_LEAST", RECORD_GROUP);
        return &pool->base;
    }
    pool_free(&pool->base);
    return NULL;
}

static bool tell(const struct engine_pool *base, bool is_end, char *line, size_t size)
{
    struct gpu_pool *pool = (struct gpu_pool *)(uintptr_t)base;
    monitor_enter(&pool->monitor);
    size_t n_done = pool->n_done, n_left = pool->n_left, n_few = pool->n_few,
           n_lost = pool->n_lost;
    const struct site *lost = pool->lost;
    monitor_leave(&pool->monitor);
    if (!is_end) {
        size_t n = (size_t)snprintf(line, size, pool->n_site > 1 ? "devices: " : "device: ");
        double n_byte = 0;
        for (size_t i = 0; i < pool->n_site; i++) {
            n += n < size ? (size_t)snprintf(line + n, size - n, "%s; ", pool->site[i].device.name)
                          : 0;
            n_byte += (double)pool->site[i].n_byte;
        }
        if (n < size)
            snprintf(line + n, size - n, "up to %zu evaluations at once, and %.4g MiB",
                     pool->n_worker * pool->base.capacity, n_byte / 0x1p20);
    } else if (n_lost)
        snprintf(line, size,
                 "note: the device was lost (%s: %.200s): %zu of %zu workers went on with lanes on "
                 "the CPU, which give the same bits; the device did %zu evaluations",
                 lost->device.name, *lost->why ? lost->why : "it reported an error", n_lost,
                 pool->n_worker, n_done);
    else
        snprintf(line, size,
                 "device: %zu evaluations; left to the CPU: %zu that were few at a time, and %zu "
                 "that had begun",
                 n_done, n_few, n_left);
    return true;
}

static const char *linear_solver(const struct engine_pool *pool)
{
    (void)pool;
    return "lanes";
}

/* The CPU begins the evaluation of a seat again. */
static void leave_to_cpu(struct gpu_engine *own, struct seat *seat)
{
    struct evaluation *evaluation = seat->evaluation;
    evaluation->state = NULL;
    evaluation->course = seat->course;
    seat->evaluation = NULL;
    line_add(&own->for_cpu, evaluation);
}

/* The device is lost: the CPU begins everything again. */
static void lose_device(struct gpu_engine *own)
{
    own->is_lost = true;
    monitor_enter(&own->pool->monitor);
    own->pool->n_lost++;
    own->pool->lost = own->pool->lost ? own->pool->lost : own->share.site;
    monitor_leave(&own->pool->monitor);
    for (size_t i = 0; own->seat && i < own->pool->base.capacity; i++)
        if (own->seat[i].evaluation)
            leave_to_cpu(own, &own->seat[i]);
    own->n_busy = 0;
    for (struct evaluation *each; (each = line_take(&own->for_device));)
        line_add(&own->for_cpu, each);
    share_release(&own->share);
}

static void gpu_free(struct engine *base)
{
    struct gpu_engine *own = (struct gpu_engine *)base;
    share_release(&own->share);
    if (own->lane)
        lane_free(&own->lane->sim);
    for (size_t i = 0; own->seat && i < own->pool->base.capacity; i++)
        if (own->seat[i].lane)
            lane_free(&own->seat[i].lane->sim);
    if (own->cpu)
        engine_free(own->cpu);
    free(own->seat);
    free(own->share.number);
    free(own->state);
    free(own);
}

static struct engine *gpu_new(struct engine_pool *base, struct error *error)
{
    struct gpu_pool *pool = (struct gpu_pool *)base;
    struct gpu_engine *own = calloc(1, sizeof *own);
    if (!own) {
        error_set(error, STATUS_NO_MEMORY, "no memory for a worker's engine");
        return NULL;
    }
    own->pool = pool;
    monitor_enter(&pool->monitor);
    own->share.site = &pool->site[pool->n_engine++ % pool->n_site];
    monitor_leave(&pool->monitor);
    own->share.most = pool->base.capacity;
    own->batch = (struct batch){.integrator = &beginner};
    own->lane = (struct lane *)lane_new(NULL, pool->abi, &pool->options);
    own->seat = calloc(pool->base.capacity, sizeof *own->seat);
    own->share.number = calloc(MOST_COPIED, sizeof *own->share.number);
    own->state = calloc(pool->base.capacity, sizeof *own->state);
    bool good = own->lane && own->seat && own->share.number && own->state;
    if (!good)
        error_set(error, STATUS_NO_MEMORY, "no memory for a worker's engine");
    own->cpu = good ? engine_new(pool->cpu, error) : NULL;
    if (own->cpu)
        return &own->base;
    gpu_free(&own->base);
    return NULL;
}

static void submit(struct engine *base, struct evaluation *evaluation)
{
    struct gpu_engine *own = (struct gpu_engine *)base;
    bool is_for_device = !own->is_lost && !evaluation->state && suits_device(own->pool, evaluation);
    own->n++;
    line_add(is_for_device ? &own->for_device : &own->for_cpu, evaluation);
}

/* What a seat's simulation has called. */
static struct exchange_calls calls_of(const struct simulation *sim)
{
    return (struct exchange_calls){sim->model.n_rhs, sim->model.n_jacobian, sim->n_factor};
}

/* The simulation for an evaluation in a seat. NULL: no memory. */
static struct lane *take_lane(struct gpu_engine *own, struct seat *seat,
                              const struct evaluation *evaluation)
{
    const struct gpu_pool *pool = own->pool;
    seat->has_stops = ode_has_stops(pool->abi, evaluation->task);
    if (seat->has_stops && !seat->lane)
        seat->lane = (struct lane *)lane_new(NULL, pool->abi, &pool->options);
    return exchange_of(own, seat).lane;
}

/* Begins an evaluation in a free seat. False: it has ended, or is for the CPU. */
static bool begin(struct gpu_engine *own, struct seat *seat, struct evaluation *evaluation,
                  double *to, struct line *done)
{
    struct lane *lane = take_lane(own, seat, evaluation);
    struct simulation *sim = &lane->sim;
    seat->course = evaluation->course;
    seat->evaluation = evaluation;
    if (!lane) {
        leave_to_cpu(own, seat);
        return false;
    }
    sim->request = evaluation;
    own->batch.seat[0] = sim;
    if (!drive_begin(&own->batch)) {
        seat->evaluation = NULL;
        line_add(done, evaluation);
        return false;
    }
    if (sim->forcing || sim->is_watched || sim->blocks.is_pace) {
        leave_to_cpu(own, seat);
        return false;
    }
    evaluation->state = seat;
    seat->first_row = sim->rows.i_row;
    seat->begun = calls_of(sim);
    const struct exchange exchange = exchange_of(own, seat);
    exchange_put(&exchange, false, to);
    return true;
}

/* Whether the program has room for an evaluation. */
static bool fits(const struct gpu_engine *own, const struct evaluation *evaluation)
{
    return own->share.program && evaluation->task->n_time <= own->share.size.n_time &&
           evaluation->task->n_row <= own->share.size.n_row &&
           (own->share.size.has_doses || !evaluation->task->experiment.n_dose) &&
           (own->share.size.has_states || lane_rows_are_simple(own->pool->abi, evaluation));
}

/* Begins evaluations in free seats, as long as the program has room for them. heartbeat: of the
 * worker. False: the device is lost. */
static bool fill_seats(struct gpu_engine *own, struct counter *heartbeat, struct line *done)
{
    size_t n = 0, at = 0, n_input;
    while (own->n < own->pool->least && own->for_device.first) {
        line_add(&own->for_cpu, line_take(&own->for_device));
        own->n_few++;
    }
    if (own->for_device.first && !fits(own, own->for_device.first) && own->n_busy == 0) {
        const struct evaluation *first = own->for_device.first;
        const struct record_size least = {
            .n_time = first->task->n_time, .n_row = first->task->n_row,
            .has_doses = first->task->experiment.n_dose > 0,
            .has_states = !lane_rows_are_simple(own->pool->abi, first)};
        if (!share_prepare(&own->share, &least, heartbeat))
            return false;
    }
    n_input = record_copied(&own->share.record.input);
    while (own->for_device.first && fits(own, own->for_device.first) &&
           own->n_busy + n < own->share.n_seat) {
        while (own->seat[at].evaluation)
            at++;
        struct evaluation *evaluation = line_take(&own->for_device);
        if (!begin(own, &own->seat[at], evaluation, own->share.copy + n * n_input, done))
            continue;
        own->share.number[n++] = (int32_t)at;
        if (n == MOST_COPIED) {
            if (!share_copy(&own->share, true, n, &own->share.record.input))
                return false;
            own->n_busy += n;
            n = 0;
        }
    }
    own->n_busy += n;
    return n == 0 || share_copy(&own->share, true, n, &own->share.record.input);
}

/* Attempts in all seats, and what has become of the evaluations. */
static bool advance(struct gpu_engine *own)
{
    const struct share *share = &own->share;
    size_t n = share->n_seat;
    own->began_ns = clock_now_ns();
    while (n > 1 && !own->seat[n - 1].evaluation)
        n--;
    size_t n_column = n * share->size.n_column;
    bool good = !own->has_looked ||
                (share_run(share, KERNEL_go_on, n) && share_run(share, KERNEL_rows, n_column));
    own->has_looked = false;
    for (int i = 0; i < ATTEMPTS && good; i++)
        good = share_run(share, KERNEL_states, n) && share_run(share, KERNEL_columns, n_column) &&
               share_run(share, KERNEL_conclude, n) && share_run(share, KERNEL_rows, n_column);
    return good && share_run(share, KERNEL_report, n) &&
           share->site->device.cl.clFlush(share->queue) == 0;
}

/* The simulation of a seat as it began, if it has no stops: that is pure. */
static void begin_again(struct gpu_engine *own, const struct seat *seat)
{
    if (seat->has_stops)
        return;
    own->lane->sim.request = seat->evaluation;
    own->batch.seat[0] = &own->lane->sim;
    (void)drive_begin(&own->batch);
    seat->evaluation->course = seat->course;
}

/* The evaluation of a seat has ended on the device. head, answer: these parts of its record. */
static void end(struct gpu_engine *own, struct seat *seat, const double *head, const double *answer,
                struct line *done)
{
    const struct record *at = &own->share.record;
    struct evaluation *evaluation = seat->evaluation;
    const struct exchange exchange = exchange_of(own, seat);
    const struct exchange_rows rows = {evaluation, seat->first_row, evaluation->task->n_row};
    bool is_done = exchange_long(head, at->status) == GPU_DONE;
    if (is_done && !lane_rows_are_simple(own->pool->abi, evaluation))
        begin_again(own, seat);
    is_done = is_done && exchange_answer(&exchange, rows, answer);
    own->n_busy--;
    *(is_done ? &own->n_done : &own->n_left) += 1;
    if (!is_done) {
        leave_to_cpu(own, seat);
        return;
    }
    const struct exchange_calls calls = exchange_count(at, head);
    seat->evaluation = NULL;
    evaluation->state = NULL;
    evaluation->outcome = EVALUATION_OK;
    evaluation->reason[0] = '\0';
    evaluation->t_reached = head[at->t];
    evaluation->n_step = exchange_long(head, at->n_step);
    evaluation->n_rhs = seat->begun.n_rhs + calls.n_rhs;
    evaluation->n_jacobian = seat->begun.n_jacobian + calls.n_jacobian;
    evaluation->n_factor = seat->begun.n_factor + calls.n_factor;
    evaluation->course = exchange_course(at, head);
    line_add(done, evaluation);
}

/* Takes evaluations that have ended out of their seats, n of them: those in own->share.number. */
static bool take(struct gpu_engine *own, size_t n, struct line *done)
{
    size_t n_head = record_copied(&own->share.record.head),
           n_answer = record_copied(&own->share.record.answer);
    double *head = malloc((n * n_head + 1) * sizeof *head);
    bool good = head && share_copy(&own->share, false, n, &own->share.record.head);
    if (good)
        memcpy(head, own->share.copy, n * n_head * sizeof *head);
    good = good && share_copy(&own->share, false, n, &own->share.record.answer);
    for (size_t i = 0; i < n && good; i++)
        end(own, &own->seat[own->share.number[i]], head + i * n_head,
            own->share.copy + i * n_answer, done);
    free(head);
    return good;
}

/* For what a run says at its end. */
static void add_counts(struct gpu_engine *own)
{
    if (!own->n_done && !own->n_left && !own->n_few)
        return;
    monitor_enter(&own->pool->monitor);
    own->pool->n_done += own->n_done;
    own->pool->n_left += own->n_left;
    own->pool->n_few += own->n_few;
    monitor_leave(&own->pool->monitor);
    own->n_done = own->n_left = own->n_few = 0;
}

/* What happens at the stop that the evaluation of a seat has reached. record: its input, and to
 * where it is put if the device goes on. False: it does not. */
static bool pass_stop(struct gpu_engine *own, struct seat *seat, const double *record,
                      const double *answer, double *to, struct line *done)
{
    const struct exchange exchange = exchange_of(own, seat);
    struct evaluation *evaluation = seat->evaluation;
    struct simulation *sim = &exchange.lane->sim;
    size_t i_time = (size_t)exchange_long(record, own->share.record.i_time);
    const struct exchange_rows rows = {
        evaluation, seat->first_row,
        (size_t)exchange_long(record, own->share.record.row_of + i_time)};
    bool goes_on = false, is_done = false, turned = exchange_long(record, own->share.record.turned);
    if (exchange_answer(&exchange, rows, answer)) {
        exchange_resume(&exchange, record);
        own->batch.seat[0] = sim;
        goes_on = drive_pass_stop(&own->batch) && !sim->is_watched;
        is_done = own->batch.ended;
    }
    if (goes_on) {
        seat->first_row = sim->rows.i_row;
        seat->begun = calls_of(sim);
        exchange_put(&exchange, turned, to);
        return true;
    }
    own->n_busy--;
    *(is_done ? &own->n_done : &own->n_left) += 1;
    if (is_done) {
        seat->evaluation = NULL;
        evaluation->state = NULL;
        line_add(done, evaluation);
    } else {
        leave_to_cpu(own, seat);
    }
    return false;
}

/* pass_stop for n seats, in own->share.number. */
static bool pass_stops(struct gpu_engine *own, size_t n, struct line *done)
{
    size_t n_input = record_copied(&own->share.record.input),
           n_answer = record_copied(&own->share.record.answer), n_on = 0;
    double *input = malloc((n * n_input + 1) * sizeof *input);
    bool good = input && share_copy(&own->share, false, n, &own->share.record.input);
    if (good)
        memcpy(input, own->share.copy, n * n_input * sizeof *input);
    good = good && share_copy(&own->share, false, n, &own->share.record.answer);
    for (size_t i = 0; i < n && good; i++)
        if (pass_stop(own, &own->seat[own->share.number[i]], input + i * n_input,
                      own->share.copy + i * n_answer, input + n_on * n_input, done))
            own->share.number[n_on++] = own->share.number[i];
    if (good)
        memcpy(own->share.copy, input, n_on * n_input * sizeof *input);
    free(input);
    return good && (n_on == 0 || share_copy(&own->share, true, n_on, &own->share.record.input));
}

/* record: the input of the evaluation's. */
static void look(struct gpu_engine *own, const struct seat *seat, double *record)
{
    const struct exchange exchange = exchange_of(own, seat);
    begin_again(own, seat);
    exchange_look(&exchange, record);
}

/* look for n seats, in own->share.number. */
static bool look_at(struct gpu_engine *own, size_t n, struct line *done)
{
    size_t n_input = record_copied(&own->share.record.input);
    (void)done;
    own->has_looked = true;
    if (!share_copy(&own->share, false, n, &own->share.record.input))
        return false;
    for (size_t i = 0; i < n; i++)
        look(own, &own->seat[own->share.number[i]], own->share.copy + i * n_input);
    return share_copy(&own->share, true, n, &own->share.record.input);
}

/* What is to be done with seats of these states. False: the device is lost. */
static bool (*const act[N_GPU_STATUS])(struct gpu_engine *own, size_t n, struct line *done) = {
    [GPU_UNCERTAIN] = look_at, [GPU_STOPPED] = pass_stops, [GPU_DONE] = take, [GPU_FELL] = take,
    [GPU_FAILED] = take,       [GPU_SPENT] = take,         [GPU_ODD] = take};

/* Does something with the seats for which it is to be done, some at a time. */
static bool each_seat(struct gpu_engine *own,
                      bool (*what)(struct gpu_engine *own, size_t n, struct line *done),
                      struct line *done)
{
    size_t n = 0;
    bool good = true;
    for (size_t i = 0; i < own->share.n_seat && good; i++) {
        if (own->seat[i].evaluation && act[own->state[i]] == what)
            own->share.number[n++] = (int32_t)i;
        if (n == MOST_COPIED || (n && i + 1 == own->share.n_seat)) {
            good = what(own, n, done);
            n = 0;
        }
    }
    return good;
}

/* The device's status, and how long its next attempts may be taken to last: nearly as long as
 * these, or less if it was ready before the CPU was; not much longer than was thought, as a
 * driver may have compiled meanwhile. */
static bool read_status(struct gpu_engine *own)
{
    int64_t asked_ns = clock_now_ns();
    bool good = share_read_status(&own->share, own->state);
    int64_t now_ns = clock_now_ns(), used_ns = now_ns - own->began_ns;
    bool was_ready = now_ns - asked_ns < used_ns / 16;
    int64_t next_ns = (was_ready ? own->attempts_ns : used_ns) / 8 * 7,
            most_ns = 2 * own->attempts_ns + MORE_NS;
    own->attempts_ns = next_ns < most_ns ? next_ns : most_ns;
    return good;
}

/* False: the device is lost. */
static bool take_ended(struct gpu_engine *own, struct line *done)
{
    return read_status(own) && each_seat(own, look_at, done) &&
           each_seat(own, pass_stops, done) && each_seat(own, take, done);
}

static bool always(void *context)
{
    (void)context;
    return true;
}

/* A turn of the CPU's engine. */
static void take_turn(struct gpu_engine *own, const struct engine_turn *turn, struct line *done)
{
    while (own->for_cpu.first && own->n_cpu < engine_lanes.capacity) {
        engine_submit(own->cpu, line_take(&own->for_cpu));
        own->n_cpu++;
    }
    if (own->n_cpu == 0)
        return;
    struct evaluation *ended = engine_work(own->cpu, turn);
    for (struct evaluation *next; ended; ended = next) {
        next = ended->next;
        line_add(done, ended);
        own->n_cpu--;
    }
}

/* What is for the CPU: until the turn is over if it is all, else while the device makes its
 * attempts. */
static void work_on_cpu(struct gpu_engine *own, const struct engine_turn *turn, struct line *done)
{
    const struct engine_turn look = {.over = always, .heartbeat = turn ? turn->heartbeat : NULL};
    bool is_all = own->n_busy == 0 && !own->for_device.first && !done->first;
    do
        take_turn(own, is_all ? turn : &look, done);
    while (own->n_busy && (own->n_cpu || own->for_cpu.first) &&
           clock_now_ns() < own->began_ns + own->attempts_ns);
}

/* now: the time, once it has been asked for; else INT64_MIN. */
static bool is_late(const struct evaluation *evaluation, int64_t *now)
{
    if (evaluation->deadline_ns == INT64_MAX)
        return false;
    *now = *now == INT64_MIN ? clock_now_ns() : *now;
    return *now >= evaluation->deadline_ns;
}

/* What comes too late is given to the CPU, which ends it. On the device it goes on in its seat
 * until another evaluation takes that. */
static void check_deadlines(struct gpu_engine *own)
{
    int64_t now = INT64_MIN;
    struct evaluation *late = NULL;
    for (struct evaluation *each = own->for_device.first; each && !late; each = each->next)
        late = is_late(each, &now) ? each : NULL;
    if (late && line_remove(&own->for_device, late))
        line_add(&own->for_cpu, late);
    for (size_t i = 0; i < own->share.n_seat && own->n_busy; i++)
        if (own->seat[i].evaluation && is_late(own->seat[i].evaluation, &now)) {
            leave_to_cpu(own, &own->seat[i]);
            own->n_busy--;
            own->n_left++;
        }
}

static struct evaluation *work(struct engine *base, const struct engine_turn *turn)
{
    struct gpu_engine *own = (struct gpu_engine *)base;
    struct line done = {0};
    while (!done.first &&
           (own->n_busy || own->n_cpu || own->for_device.first || own->for_cpu.first)) {
        bool good = own->is_lost || fill_seats(own, turn ? turn->heartbeat : NULL, &done);
        bool is_advanced = good && !own->is_lost && own->n_busy;
        good = good && (!is_advanced || advance(own));
        if (good)
            work_on_cpu(own, turn, &done);
        good = good && (!is_advanced || take_ended(own, &done));
        if (!good)
            lose_device(own);
        base->n_seat += is_advanced ? own->share.n_seat * ATTEMPTS : 0;
        base->n_held += own->n_busy * ATTEMPTS;
        check_deadlines(own);
        add_counts(own);
        if (turn && turn->heartbeat)
            counter_set(turn->heartbeat, counter_get(turn->heartbeat) + 1);
        if (!done.first && turn && turn->over(turn->context))
            return NULL;
    }
    for (const struct evaluation *each = done.first; each; each = each->next)
        own->n--;
    return done.first;
}

static bool is_on_device(const struct gpu_engine *own, const struct evaluation *evaluation)
{
    const struct seat *seat = evaluation->state;
    return seat >= own->seat && seat < own->seat + own->pool->base.capacity;
}

/* What is on the device stays there. */
static bool withdraw(struct engine *base, struct evaluation *evaluation)
{
    struct gpu_engine *own = (struct gpu_engine *)base;
    if (is_on_device(own, evaluation))
        return false;
    bool is_waiting = line_remove(&own->for_device, evaluation) ||
                      line_remove(&own->for_cpu, evaluation);
    bool is_out = !is_waiting && engine_withdraw(own->cpu, evaluation);
    own->n_cpu -= is_out;
    own->n -= is_waiting || is_out;
    return is_waiting || is_out;
}

/* On the device it goes on in its seat until another evaluation takes that. */
static bool give_up(struct engine *base, struct evaluation *evaluation)
{
    struct gpu_engine *own = (struct gpu_engine *)base;
    struct seat *seat = evaluation->state;
    if (!is_on_device(own, evaluation))
        return withdraw(base, evaluation);
    seat->evaluation = NULL;
    evaluation->state = NULL;
    own->n_busy--;
    own->n--;
    return true;
}

static void discard(struct engine_pool *base, struct evaluation *evaluation)
{
    engine_discard(((struct gpu_pool *)base)->cpu, evaluation);
}

const struct engine_table engine_gpu = {
    .capacity = MOST_ON_DEVICE, .refusal = refusal, .like = &engine_lanes,
    .only_plain = true, .pool_new = pool_new,
    .pool_free = pool_free,
    .tell = tell, .linear_solver = linear_solver,
    .engine_new = gpu_new, .engine_free = gpu_free, .submit = submit, .work = work,
    .withdraw = withdraw, .give_up = give_up, .discard = discard};
