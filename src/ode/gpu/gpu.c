/* The engine on a GPU: thousands of evaluations of a worker are on the device at once, each at
 * its own time; the host begins them as lanes do, and takes them back when all their rows are
 * answered. What is rare is left to the lanes of the CPU, from the beginning: they give the same
 * bits, so nothing shows but the time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/clock.h"
#include "ode/drive.h"
#include "ode/gpu/device.h"
#include "ode/gpu/exchange.h"
#include "ode/outcome.h"
#include "ode/tolerance.h"
#include "par/monitor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char gpu_prelude[], gpu_kernel[];

/* Evaluations on the device: of all workers, and of one at least and at most. */
enum { ON_DEVICE = 16384, LEAST_ON_DEVICE = 256, MOST_ON_DEVICE = 4096 };
/* Attempts between two looks at them; records that are copied at once. */
enum { ATTEMPTS = 16, MOST_COPIED = 256 };
/* Of models with more states, unrolled stages take compilers long, and fill no registers. */
enum { MOST_UNROLLED = 8 };
/* The device's memory that all workers may use, as a part of its largest buffer. */
#define MEMORY_SHARE 0.9

#define KERNELS(X) X(states) X(columns) X(conclude) X(rows) X(go_on) X(load) X(store) X(report)
enum {
#define KERNEL_NUMBER(name) KERNEL_##name,
    KERNELS(KERNEL_NUMBER)
#undef KERNEL_NUMBER
    N_KERNEL
};

struct gpu_pool {
    struct engine_pool base;
    const struct stiffit_model *abi;
    struct ode_options options;
    struct lanes_plan *plan;
    struct engine_pool *cpu;  /* of lanes */
    size_t n_worker;
    struct device device;
    size_t n_byte;            /* of the device's memory, for all workers */
    struct monitor monitor;   /* protects the rest */
    struct record_size size;  /* of the program */
    cl_handle program;
    char why[300];            /* the first loss; "": none */
    size_t n_done, n_left, n_lost; /* evaluations that the device did, or left to the CPU;
                                    * workers that lost it */
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
    size_t n_cpu;              /* evaluations in it */
    struct line for_device, for_cpu;
    struct batch batch;        /* its only seat has the simulation that something happens to */
    struct lane *lane;         /* with which evaluations without stops begin */
    size_t n_done, n_left;     /* not yet counted in the pool */
    bool has_looked;           /* some evaluations wait for the kernel go_on */
    bool is_lost;              /* the device failed: everything goes to the CPU */
    size_t n_seat, n_busy;
    struct seat *seat;
    struct record_size size;
    struct record record;
    cl_handle program, queue, kernel[N_KERNEL], memory, copied, which, status, entries;
    double *copy;              /* MOST_COPIED parts of records: */
    size_t n_copied;           /* numbers */
    int32_t *number, *state;   /* MOST_COPIED; n_seat */
};

/* With the simulation of a seat. */
static struct exchange exchange_of(const struct gpu_engine *own, const struct seat *seat)
{
    return (struct exchange){.record = &own->record,
                             .n_column = own->size.n_column,
                             .has_doses = own->size.has_doses,
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
    bool is_plain = !abi->n_event && !abi->n_switching && !abi->n_forcing && !task->n_variant &&
                    !(task->n_time && task->time[task->n_time - 1] == INFINITY) &&
                    !evaluation->begin && !evaluation->end && !evaluation->lenient &&
                    !evaluation->adjoint && task->n_time > 0 &&
                    !(evaluation->noise && abi->noise) && evaluation->n_sens <= abi->n_parameter;
    for (size_t k = 0; is_plain && k < evaluation->n_sens; k++)
        is_plain = evaluation->sens[k] != ODE_NONE;
    return is_plain;
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
    if (pool->program)
        pool->device.cl.clReleaseProgram(pool->program);
    device_close(&pool->device);
    monitor_fini(&pool->monitor);
    lanes_plan_free(pool->plan);
    engine_pool_free(pool->cpu);
    free(pool);
}

/* STIFFIT_GPU_MEMORY: MiB, for programs that share a device, and for tests. */
static size_t allowed_memory(const struct device *device)
{
    const char *text = getenv("STIFFIT_GPU_MEMORY");
    double most = MEMORY_SHARE * (double)device->n_byte;
    return (size_t)(text && *text ? fmin(most, fmax(0, 0x1p20 * strtod(text, NULL))) : most);
}

/* Of a worker; each costs a suspended fit. STIFFIT_GPU_EVALUATIONS: of all workers. */
static size_t choose_capacity(size_t n_worker)
{
    const char *text = getenv("STIFFIT_GPU_EVALUATIONS");
    size_t n = text && *text ? strtoul(text, NULL, 10) : ON_DEVICE;
    n /= n_worker;
    return n < LEAST_ON_DEVICE ? LEAST_ON_DEVICE : n > MOST_ON_DEVICE ? MOST_ON_DEVICE : n;
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
    if (!pool || !monitor_init(&pool->monitor)) {
        free(pool);
        error_set(error, STATUS_NO_MEMORY, "no memory for the engine of a GPU");
        return NULL;
    }
    pool->abi = abi;
    pool->options = *options;
    pool->n_worker = n_worker;
    pool->plan = lanes_plan_new(abi, &is_wrong);
    pool->cpu = pool->plan ? engine_lanes.pool_new(&engine_lanes, model, options, n_workspace,
                                                   n_worker, error)
                           : NULL;
    if (!pool->plan)
        error_set(error, STATUS_NO_MEMORY, "no memory for the engine of a GPU");
    if (pool->cpu)
        pool->cpu->table = &engine_lanes;
    if (pool->cpu && device_open(&pool->device, error) == STATUS_OK &&
        device_has_same_bits(&pool->device, error)) {
        pool->n_byte = allowed_memory(&pool->device);
        pool->base.capacity = choose_capacity(n_worker);
        return &pool->base;
    }
    pool_free(&pool->base);
    return NULL;
}

static bool tell(const struct engine_pool *base, bool is_end, char *line, size_t size)
{
    struct gpu_pool *pool = (struct gpu_pool *)(uintptr_t)base;
    monitor_enter(&pool->monitor);
    size_t n_done = pool->n_done, n_left = pool->n_left, n_lost = pool->n_lost;
    monitor_leave(&pool->monitor);
    if (!is_end)
        snprintf(line, size, "device: %s; up to %zu evaluations at once, and %.0f MiB",
                 pool->device.name, pool->n_worker * pool->base.capacity,
                 (double)pool->n_byte / 0x1p20);
    else if (n_lost)
        snprintf(line, size,
                 "note: the device was lost (%s): %zu of %zu workers went on with lanes on the "
                 "CPU, which give the "
                 "same bits; the device did %zu evaluations",
                 *pool->why ? pool->why : "it reported an error", n_lost, pool->n_worker, n_done);
    else
        snprintf(line, size,
                 "device: %zu evaluations; %zu more were left to the CPU after they had begun",
                 n_done, n_left);
    return true;
}

static const char *linear_solver(const struct engine_pool *pool)
{
    (void)pool;
    return "lanes";
}

/* The next power of two. */
static size_t round_up(size_t n, size_t least)
{
    while (least < n)
        least *= 2;
    return least;
}

/* The text of the program for records of a size. NULL: out of memory. */
static char *write_part(const struct gpu_pool *pool, const struct record_size *size, bool is_head)
{
    char *text = NULL;
    size_t n_text;
    FILE *out = open_memstream(&text, &n_text);
    if (!out)
        return NULL;
    if (is_head)
        record_text(pool->plan, size, pool->options.atol == 0, out);
    else
        record_algebra(pool->plan, out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* Makes the pool's program at least as large as that; other workers keep theirs. False: it
 * cannot be built. */
static bool enlarge_program(struct gpu_pool *pool, const struct record_size *least,
                            struct error *error)
{
    struct record_size size = {
        .n_column = pool->abi->n_parameter,
        .n_time = round_up(least->n_time, pool->size.n_time ? pool->size.n_time : 8),
        .n_row = round_up(least->n_row, pool->size.n_row ? pool->size.n_row : 16),
        .has_doses = least->has_doses || pool->size.has_doses};
    if (pool->program && size.n_time == pool->size.n_time && size.n_row == pool->size.n_row &&
        size.has_doses == pool->size.has_doses)
        return true;
    bool unrolls = pool->plan->n <= MOST_UNROLLED;
    char *head = write_part(pool, &size, true), *algebra = write_part(pool, &size, false);
    size_t n_piece = 0, n = 0;
    while (pool->abi->lanes->opencl[n_piece])
        n_piece++;
    const char **text = calloc(n_piece + 4, sizeof *text);
    cl_handle program = NULL;
    if (head && algebra && text) {
        text[n++] = head;
        text[n++] = gpu_prelude;
        for (size_t i = 0; i < n_piece; i++)
            text[n++] = pool->abi->lanes->opencl[i];
        text[n++] = algebra;
        text[n++] = gpu_kernel;
        program = device_build(&pool->device, n, text, unrolls, error);
    }
    free(text);
    free(head);
    free(algebra);
    if (!program)
        return false;
    /* kernels that others have made of the old one keep it */
    if (pool->program)
        pool->device.cl.clReleaseProgram(pool->program);
    pool->program = program;
    pool->size = size;
    return true;
}

static void release_device(struct gpu_engine *own)
{
    const struct opencl *cl = &own->pool->device.cl;
    cl_handle *const buffers[] = {&own->memory, &own->copied, &own->which, &own->status,
                                  &own->entries};
    if (own->queue)
        cl->clFinish(own->queue);
    for (int i = 0; i < N_KERNEL; i++)
        if (own->kernel[i])
            cl->clReleaseKernel(own->kernel[i]);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        if (*buffers[i])
            cl->clReleaseMemObject(*buffers[i]);
        *buffers[i] = NULL;
    }
    memset(own->kernel, 0, sizeof own->kernel);
    if (own->queue)
        cl->clReleaseCommandQueue(own->queue);
    own->queue = NULL;
    free(own->copy);
    own->copy = NULL;
    own->program = NULL;
}

static bool set_argument(const struct gpu_engine *own, int kernel, uint32_t i, size_t size,
                         const void *value)
{
    return own->pool->device.cl.clSetKernelArg(own->kernel[kernel], i, size, value) == 0;
}

/* Arguments that stay the same. */
static bool set_arguments(struct gpu_engine *own)
{
    int32_t n = (int32_t)own->n_seat;
    bool good = true;
    for (int i = 0; i < N_KERNEL; i++)
        good = good && set_argument(own, i, 0, sizeof own->memory, &own->memory);
    good = good && set_argument(own, KERNEL_states, 1, sizeof n, &n) &&
           set_argument(own, KERNEL_conclude, 1, sizeof n, &n) &&
           set_argument(own, KERNEL_rows, 1, sizeof n, &n) &&
           set_argument(own, KERNEL_go_on, 1, sizeof n, &n) &&
           set_argument(own, KERNEL_columns, 2, sizeof n, &n) &&
           set_argument(own, KERNEL_report, 2, sizeof n, &n);
    good = good && set_argument(own, KERNEL_columns, 1, sizeof own->entries, &own->entries) &&
           set_argument(own, KERNEL_report, 1, sizeof own->status, &own->status) &&
           set_argument(own, KERNEL_load, 1, sizeof own->which, &own->which) &&
           set_argument(own, KERNEL_load, 2, sizeof own->copied, &own->copied) &&
           set_argument(own, KERNEL_store, 1, sizeof own->which, &own->which) &&
           set_argument(own, KERNEL_store, 2, sizeof own->copied, &own->copied);
    return good;
}

static bool write_entries(struct gpu_engine *own)
{
    const struct gpu_pool *pool = own->pool;
    size_t n = pool->abi->n_parameter * pool->plan->n;
    int16_t *entry = calloc(n, sizeof *entry);
    if (!entry)
        return false;
    record_entries(pool->plan, pool->abi->n_parameter, entry);
    const struct opencl *cl = &pool->device.cl;
    int32_t code = cl->clEnqueueWriteBuffer(own->queue, own->entries, 1, 0, n * sizeof *entry,
                                            entry, 0, NULL, NULL);
    free(entry);
    return code == 0;
}

/* A record of zeros is idle. */
static bool clear_records(struct gpu_engine *own, size_t n_byte)
{
    size_t n_part = own->n_copied * sizeof(double), n = 0;
    bool good = true;
    memset(own->copy, 0, n_part);
    for (size_t at = 0; at < n_byte && good; at += n) {
        n = n_byte - at < n_part ? n_byte - at : n_part;
        good = own->pool->device.cl.clEnqueueWriteBuffer(own->queue, own->memory, 1, at, n,
                                                         own->copy, 0, NULL, NULL) == 0;
    }
    return good;
}

static const char *const kernel_name[N_KERNEL] = {
#define KERNEL_NAME(name) #name,
    KERNELS(KERNEL_NAME)
#undef KERNEL_NAME
};

/* Makes the worker's part of the device, with the pool's program. */
static bool make_device(struct gpu_engine *own)
{
    struct gpu_pool *pool = own->pool;
    const struct opencl *cl = &pool->device.cl;
    int32_t code = 0;
    own->program = pool->program;
    own->size = pool->size;
    own->record = record_of(pool->plan, &own->size);
    size_t n_byte = (own->record.n_room + own->record.n_columns) * RECORD_GROUP * sizeof(double);
    size_t n_fit = pool->n_byte / pool->n_worker / n_byte * RECORD_GROUP;
    size_t n_input = record_copied(&own->record.input),
           n_answer = record_copied(&own->record.answer);
    own->n_seat = n_fit < pool->base.capacity ? n_fit : pool->base.capacity;
    own->n_copied = MOST_COPIED * (n_input > n_answer ? n_input : n_answer);
    n_byte *= (own->n_seat + RECORD_GROUP - 1) / RECORD_GROUP;
    own->copy = malloc(own->n_copied * sizeof *own->copy);
    own->queue = cl->clCreateCommandQueue(pool->device.context, pool->device.id, 0, &code);
    if (own->n_seat == 0 || !own->copy || !own->queue)
        return false;
    struct {
        cl_handle *buffer;
        size_t n_byte;
    } const buffers[] = {{&own->memory, n_byte},
                         {&own->copied, own->n_copied * sizeof(double)},
                         {&own->which, MOST_COPIED * sizeof(int32_t)},
                         {&own->status, own->n_seat * sizeof(int32_t)},
                         {&own->entries, pool->abi->n_parameter * pool->plan->n * sizeof(int16_t)}};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (!(*buffers[i].buffer = cl->clCreateBuffer(pool->device.context, CL_MEM_READ_WRITE,
                                                      buffers[i].n_byte, NULL, &code)))
            return false;
    for (int i = 0; i < N_KERNEL; i++)
        if (!(own->kernel[i] = cl->clCreateKernel(own->program, kernel_name[i], &code)))
            return false;
    return set_arguments(own) && write_entries(own) && clear_records(own, n_byte);
}

/* Puts an evaluation's size into the program. False: the device cannot be used. */
static bool prepare_device(struct gpu_engine *own, const struct record_size *least)
{
    struct gpu_pool *pool = own->pool;
    struct error error = {0};
    release_device(own);
    monitor_enter(&pool->monitor);
    bool is_built = enlarge_program(pool, least, &error), good = is_built && make_device(own);
    if (!good && !*pool->why)
        snprintf(pool->why, sizeof pool->why, "%s",
                 is_built ? "its memory is too small" : error.message);
    monitor_leave(&pool->monitor);
    return good;
}

static bool run_kernel(const struct gpu_engine *own, int kernel, size_t n_item)
{
    size_t n_group = RECORD_GROUP; /* work-items beyond the last one do nothing */
    n_item = (n_item + n_group - 1) / n_group * n_group;
    return own->pool->device.cl.clEnqueueNDRangeKernel(own->queue, own->kernel[kernel], 1, NULL,
                                                       &n_item, &n_group, 0, NULL, NULL) == 0;
}

/* Copies a part of n records, which are in own->number. */
static bool copy_records(struct gpu_engine *own, bool is_load, size_t n,
                         const struct record_part *part)
{
    const struct opencl *cl = &own->pool->device.cl;
    int kernel = is_load ? KERNEL_load : KERNEL_store;
    size_t n_number = record_copied(part), n_byte = n * n_number * sizeof(double);
    const int32_t argument[] = {(int32_t)n, (int32_t)n_number, (int32_t)part->first,
                                (int32_t)part->n, (int32_t)part->first_of_columns};
    bool good = cl->clEnqueueWriteBuffer(own->queue, own->which, 1, 0, n * sizeof(int32_t),
                                         own->number, 0, NULL, NULL) == 0;
    if (is_load)
        good = good && cl->clEnqueueWriteBuffer(own->queue, own->copied, 1, 0, n_byte, own->copy, 0,
                                                NULL, NULL) == 0;
    for (uint32_t i = 0; i < sizeof argument / sizeof *argument; i++)
        good = good && set_argument(own, kernel, 3 + i, sizeof *argument, &argument[i]);
    good = good && run_kernel(own, kernel, n * n_number);
    return good && (is_load || cl->clEnqueueReadBuffer(own->queue, own->copied, 1, 0, n_byte,
                                                       own->copy, 0, NULL, NULL) == 0);
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
    monitor_leave(&own->pool->monitor);
    for (size_t i = 0; own->seat && i < own->pool->base.capacity; i++)
        if (own->seat[i].evaluation)
            leave_to_cpu(own, &own->seat[i]);
    own->n_busy = 0;
    for (struct evaluation *each; (each = line_take(&own->for_device));)
        line_add(&own->for_cpu, each);
    release_device(own);
}

static void gpu_free(struct engine *base)
{
    struct gpu_engine *own = (struct gpu_engine *)base;
    release_device(own);
    if (own->lane)
        lane_free(&own->lane->sim);
    for (size_t i = 0; own->seat && i < own->pool->base.capacity; i++)
        if (own->seat[i].lane)
            lane_free(&own->seat[i].lane->sim);
    if (own->cpu)
        engine_free(own->cpu);
    free(own->seat);
    free(own->number);
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
    own->batch = (struct batch){.integrator = &beginner};
    own->lane = (struct lane *)lane_new(NULL, pool->abi, &pool->options);
    own->seat = calloc(pool->base.capacity, sizeof *own->seat);
    own->number = calloc(MOST_COPIED, sizeof *own->number);
    own->state = calloc(pool->base.capacity, sizeof *own->state);
    bool good = own->lane && own->seat && own->number && own->state;
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
    return own->program && evaluation->task->n_time <= own->size.n_time &&
           evaluation->task->n_row <= own->size.n_row &&
           (own->size.has_doses || !evaluation->task->n_dose);
}

/* Begins evaluations in free seats, as long as the program has room for them. False: the device
 * is lost. */
static bool fill_seats(struct gpu_engine *own, struct line *done)
{
    size_t n = 0, at = 0, n_input;
    if (own->for_device.first && !fits(own, own->for_device.first) && own->n_busy == 0) {
        const struct ode_task *task = own->for_device.first->task;
        const struct record_size least = {
            .n_time = task->n_time, .n_row = task->n_row, .has_doses = task->n_dose > 0};
        if (!prepare_device(own, &least))
            return false;
    }
    n_input = record_copied(&own->record.input);
    while (own->for_device.first && fits(own, own->for_device.first) &&
           own->n_busy + n < own->n_seat) {
        while (own->seat[at].evaluation)
            at++;
        struct evaluation *evaluation = line_take(&own->for_device);
        if (!begin(own, &own->seat[at], evaluation, own->copy + n * n_input, done))
            continue;
        own->number[n++] = (int32_t)at;
        if (n == MOST_COPIED) {
            if (!copy_records(own, true, n, &own->record.input))
                return false;
            own->n_busy += n;
            n = 0;
        }
    }
    own->n_busy += n;
    return n == 0 || copy_records(own, true, n, &own->record.input);
}

/* Attempts in all seats, and what has become of the evaluations. */
static bool advance(struct gpu_engine *own)
{
    size_t n = own->n_seat;
    while (n > 1 && !own->seat[n - 1].evaluation)
        n--;
    size_t n_column = n * own->size.n_column;
    bool good = !own->has_looked ||
                (run_kernel(own, KERNEL_go_on, n) && run_kernel(own, KERNEL_rows, n_column));
    own->has_looked = false;
    for (int i = 0; i < ATTEMPTS && good; i++)
        good = run_kernel(own, KERNEL_states, n) && run_kernel(own, KERNEL_columns, n_column) &&
               run_kernel(own, KERNEL_conclude, n) && run_kernel(own, KERNEL_rows, n_column);
    return good && run_kernel(own, KERNEL_report, n) &&
           own->pool->device.cl.clFlush(own->queue) == 0;
}

/* The evaluation of a seat has ended on the device. head, answer: these parts of its record. */
static void end(struct gpu_engine *own, struct seat *seat, const double *head, const double *answer,
                struct line *done)
{
    const struct record *at = &own->record;
    struct evaluation *evaluation = seat->evaluation;
    const struct exchange exchange = exchange_of(own, seat);
    const struct exchange_rows rows = {evaluation, seat->first_row, evaluation->task->n_row};
    bool is_done = exchange_long(head, at->status) == GPU_DONE &&
                   exchange_take_answer(&exchange, rows, answer) &&
                   !exchange_asks_relative(&exchange, rows, answer);
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

/* Takes evaluations that have ended out of their seats, n of them: those in own->number. */
static bool take(struct gpu_engine *own, size_t n, struct line *done)
{
    size_t n_head = record_copied(&own->record.head), n_answer = record_copied(&own->record.answer);
    double *head = malloc((n * n_head + 1) * sizeof *head);
    bool good = head && copy_records(own, false, n, &own->record.head);
    if (good)
        memcpy(head, own->copy, n * n_head * sizeof *head);
    good = good && copy_records(own, false, n, &own->record.answer);
    for (size_t i = 0; i < n && good; i++)
        end(own, &own->seat[own->number[i]], head + i * n_head, own->copy + i * n_answer, done);
    free(head);
    monitor_enter(&own->pool->monitor);
    own->pool->n_done += own->n_done;
    own->pool->n_left += own->n_left;
    monitor_leave(&own->pool->monitor);
    own->n_done = own->n_left = 0;
    return good;
}

/* What happens at the stop that the evaluation of a seat has reached. record: its input, and to
 * where it is put if the device goes on. False: it does not. */
static bool pass_stop(struct gpu_engine *own, struct seat *seat, const double *record,
                      const double *answer, double *to, struct line *done)
{
    const struct exchange exchange = exchange_of(own, seat);
    struct evaluation *evaluation = seat->evaluation;
    struct simulation *sim = &exchange.lane->sim;
    size_t i_time = (size_t)exchange_long(record, own->record.i_time);
    const struct exchange_rows rows = {
        evaluation, seat->first_row, (size_t)exchange_long(record, own->record.row_of + i_time)};
    bool goes_on = false, is_done = false, turned = exchange_long(record, own->record.turned);
    if (exchange_take_answer(&exchange, rows, answer) &&
        !exchange_asks_relative(&exchange, rows, answer)) {
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

/* The same for n seats, in own->number. */
static bool pass_stops(struct gpu_engine *own, size_t n, struct line *done)
{
    size_t n_input = record_copied(&own->record.input),
           n_answer = record_copied(&own->record.answer), n_on = 0;
    double *input = malloc((n * n_input + 1) * sizeof *input);
    bool good = input && copy_records(own, false, n, &own->record.input);
    if (good)
        memcpy(input, own->copy, n * n_input * sizeof *input);
    good = good && copy_records(own, false, n, &own->record.answer);
    for (size_t i = 0; i < n && good; i++)
        if (pass_stop(own, &own->seat[own->number[i]], input + i * n_input,
                      own->copy + i * n_answer, input + n_on * n_input, done))
            own->number[n_on++] = own->number[i];
    if (good)
        memcpy(own->copy, input, n_on * n_input * sizeof *input);
    free(input);
    return good && (n_on == 0 || copy_records(own, true, n_on, &own->record.input));
}

/* record: the input of the evaluation's. */
static void look(struct gpu_engine *own, const struct seat *seat, double *record)
{
    const struct exchange exchange = exchange_of(own, seat);
    struct evaluation *evaluation = seat->evaluation;
    if (!exchange.is_own) {
        exchange.lane->sim.request = evaluation;
        own->batch.seat[0] = &exchange.lane->sim;
        (void)drive_begin(&own->batch); /* as before: it is pure */
        evaluation->course = seat->course;
    }
    exchange_look(&exchange, record);
}

/* The same for n seats, in own->number. */
static bool look_at(struct gpu_engine *own, size_t n, struct line *done)
{
    size_t n_input = record_copied(&own->record.input);
    (void)done;
    own->has_looked = true;
    if (!copy_records(own, false, n, &own->record.input))
        return false;
    for (size_t i = 0; i < n; i++)
        look(own, &own->seat[own->number[i]], own->copy + i * n_input);
    return copy_records(own, true, n, &own->record.input);
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
    for (size_t i = 0; i < own->n_seat && good; i++) {
        if (own->seat[i].evaluation && act[own->state[i]] == what)
            own->number[n++] = (int32_t)i;
        if (n == MOST_COPIED || (n && i + 1 == own->n_seat)) {
            good = what(own, n, done);
            n = 0;
        }
    }
    return good;
}

/* False: the device is lost. */
static bool take_ended(struct gpu_engine *own, struct line *done)
{
    return own->pool->device.cl.clEnqueueReadBuffer(own->queue, own->status, 1, 0,
                                                    own->n_seat * sizeof(int32_t), own->state, 0,
                                                    NULL, NULL) == 0 &&
           each_seat(own, look_at, done) && each_seat(own, pass_stops, done) &&
           each_seat(own, take, done);
}

static bool always(void *context)
{
    (void)context;
    return true;
}

/* What is for the CPU: until the turn is over if it is all, else for a moment. */
static void work_on_cpu(struct gpu_engine *own, const struct engine_turn *turn, struct line *done)
{
    const struct engine_turn look = {.over = always, .heartbeat = turn ? turn->heartbeat : NULL};
    bool is_all = own->n_busy == 0 && !own->for_device.first && !done->first;
    while (own->for_cpu.first && own->n_cpu < engine_lanes.capacity) {
        engine_submit(own->cpu, line_take(&own->for_cpu));
        own->n_cpu++;
    }
    if (own->n_cpu == 0)
        return;
    struct evaluation *ended = engine_work(own->cpu, is_all ? turn : &look);
    for (struct evaluation *next; ended; ended = next) {
        next = ended->next;
        line_add(done, ended);
        own->n_cpu--;
    }
}

/* Deadlines are the CPU's, which ends what comes too late. */
static void check_deadlines(struct gpu_engine *own)
{
    int64_t now = INT64_MIN;
    struct evaluation *late = NULL;
    for (struct evaluation *each = own->for_device.first; each && !late; each = each->next) {
        now = each->deadline_ns == INT64_MAX || now != INT64_MIN ? now : clock_now_ns();
        late = each->deadline_ns != INT64_MAX && now >= each->deadline_ns ? each : NULL;
    }
    if (late && line_remove(&own->for_device, late))
        line_add(&own->for_cpu, late);
}

static struct evaluation *work(struct engine *base, const struct engine_turn *turn)
{
    struct gpu_engine *own = (struct gpu_engine *)base;
    struct line done = {0};
    while (!done.first &&
           (own->n_busy || own->n_cpu || own->for_device.first || own->for_cpu.first)) {
        bool good = own->is_lost || fill_seats(own, &done);
        bool is_advanced = good && !own->is_lost && own->n_busy;
        good = good && (!is_advanced || advance(own));
        if (good)
            work_on_cpu(own, turn, &done);
        good = good && (!is_advanced || take_ended(own, &done));
        if (!good)
            lose_device(own);
        base->n_seat += own->n_seat * ATTEMPTS;
        base->n_held += own->n_busy * ATTEMPTS;
        check_deadlines(own);
        if (turn && turn->heartbeat)
            counter_set(turn->heartbeat, counter_get(turn->heartbeat) + 1);
        if (!done.first && turn && turn->over(turn->context))
            return NULL;
    }
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
    if (line_remove(&own->for_device, evaluation) || line_remove(&own->for_cpu, evaluation))
        return true;
    bool is_out = engine_withdraw(own->cpu, evaluation);
    own->n_cpu -= is_out;
    return is_out;
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
    .withdraw = withdraw, .discard = discard};
