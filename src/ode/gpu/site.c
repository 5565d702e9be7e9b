/* Builds programs, and runs their kernels.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/gpu/site.h"

#include "par/pool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char gpu_prelude[], gpu_kernel[];

/* Between two signs of life while a program is built, and how many of them: ten minutes. */
enum { BEAT_MS = 200, MOST_BEATS = 3000 };
/* Of models with more states, unrolled stages take compilers long, and fill no registers. */
enum { MOST_UNROLLED = 8 };
/* The device's memory that all workers may use, as a part of its largest buffer. */
#define MEMORY_SHARE 0.9

bool site_init(struct site *site, const struct lanes_plan *plan, const struct ode_options *options,
               size_t n_worker)
{
    double most = MEMORY_SHARE * (double)site->device.n_byte;
    site->n_byte = (size_t)(options->device_memory > 0 ? fmin(most, 0x1p20 * options->device_memory)
                                                       : most);
    site->plan = plan;
    site->follows_sizes = options->atol == 0;
    site->n_worker = n_worker;
    site->has_monitor = monitor_init(&site->monitor);
    return site->has_monitor;
}

void site_fini(struct site *site)
{
    if (site->program)
        site->device.cl.clReleaseProgram(site->program);
    if (site->has_monitor)
        monitor_fini(&site->monitor);
    device_close(&site->device);
    *site = (struct site){0};
}

/* The next power of two. */
static size_t round_up(size_t n, size_t least)
{
    while (least < n)
        least *= 2;
    return least;
}

/* The text of the program for records of a size. NULL: out of memory. */
static char *write_part(const struct site *site, const struct record_size *size, bool is_head)
{
    char *text = NULL;
    size_t n_text;
    FILE *out = open_memstream(&text, &n_text);
    if (!out)
        return NULL;
    if (is_head)
        record_text(site->plan, size, site->follows_sizes, out);
    else
        record_algebra(site->plan, out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* The program for records of a size. NULL: it cannot be built. */
static cl_handle build_program(const struct site *site, const struct record_size *size,
                               struct error *error)
{
    bool unrolls = site->plan->n <= MOST_UNROLLED;
    char *head = write_part(site, size, true), *algebra = write_part(site, size, false);
    size_t n_piece = 0, n = 0;
    while (site->plan->abi->lanes->opencl[n_piece])
        n_piece++;
    const char **text = calloc(n_piece + 4, sizeof *text);
    cl_handle program = NULL;
    if (head && algebra && text) {
        text[n++] = head;
        text[n++] = gpu_prelude;
        for (size_t i = 0; i < n_piece; i++)
            text[n++] = site->plan->abi->lanes->opencl[i];
        text[n++] = algebra;
        text[n++] = gpu_kernel;
        program = device_build(&site->device, n, text, unrolls, error);
    } else {
        error_set(error, STATUS_NO_MEMORY, "out of memory for its program");
    }
    free(text);
    free(head);
    free(algebra);
    return program;
}

/* A program that a thread of its own builds. */
struct building {
    struct site *site;
    struct record_size size;
    struct error error;
    cl_handle program;
    bool has_ended; /* in the site's monitor */
};

static void build(void *context, size_t thread)
{
    struct building *own = context;
    (void)thread;
    own->program = build_program(own->site, &own->size, &own->error);
    monitor_enter(&own->site->monitor);
    own->has_ended = true;
    monitor_notify(&own->site->monitor);
    monitor_leave(&own->site->monitor);
}

/* Inside the monitor: waits while a flag there has a value. A driver may compile for longer than
 * a model may be silent: the worker shows that it lives, but not for ever. */
static void wait_while(struct site *site, const bool *flag, bool value, struct counter *heartbeat)
{
    for (int i = 0; *flag == value; i++) {
        monitor_wait(&site->monitor, BEAT_MS);
        if (heartbeat && i < MOST_BEATS)
            counter_set(heartbeat, counter_get(heartbeat) + 1);
    }
}

/* Makes the program at least as large as that; other workers keep theirs. Inside the monitor,
 * which it leaves meanwhile. False: it cannot be built. */
static bool enlarge_program(struct site *site, const struct record_size *least,
                            struct counter *heartbeat, struct error *error)
{
    wait_while(site, &site->is_building, true, heartbeat);
    struct building own = {
        .site = site,
        .size = {.n_column = site->plan->abi->n_parameter,
                 .n_time = round_up(least->n_time, site->size.n_time ? site->size.n_time : 8),
                 .n_row = round_up(least->n_row, site->size.n_row ? site->size.n_row : 16),
                 .has_doses = least->has_doses || site->size.has_doses,
                 .has_states = least->has_states || site->size.has_states}};
    if (site->program && own.size.n_time == site->size.n_time &&
        own.size.n_row == site->size.n_row && own.size.has_doses == site->size.has_doses &&
        own.size.has_states == site->size.has_states)
        return true;
    struct pool *thread = site->is_unbuildable ? NULL : pool_new(1, "build", error);
    if (!thread)
        return false;
    site->is_building = true;
    pool_run(thread, build, &own);
    wait_while(site, &own.has_ended, false, heartbeat);
    site->is_building = false;
    monitor_notify(&site->monitor);
    pool_join(thread);
    *error = own.error;
    site->is_unbuildable = !own.program;
    if (!own.program)
        return false;
    /* kernels that others have made of the old one keep it */
    if (site->program)
        site->device.cl.clReleaseProgram(site->program);
    site->program = own.program;
    site->size = own.size;
    return true;
}

void share_release(struct share *own)
{
    const struct opencl *cl = &own->site->device.cl;
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

static bool set_argument(const struct share *own, int kernel, uint32_t i, size_t size,
                         const void *value)
{
    return own->site->device.cl.clSetKernelArg(own->kernel[kernel], i, size, value) == 0;
}

/* Arguments that stay the same. */
static bool set_arguments(struct share *own)
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

static bool write_entries(struct share *own)
{
    const struct site *site = own->site;
    size_t n = site->plan->abi->n_parameter * site->plan->n;
    int16_t *entry = calloc(n, sizeof *entry);
    if (!entry)
        return false;
    record_entries(site->plan, site->plan->abi->n_parameter, entry);
    const struct opencl *cl = &site->device.cl;
    int32_t code = cl->clEnqueueWriteBuffer(own->queue, own->entries, 1, 0, n * sizeof *entry,
                                            entry, 0, NULL, NULL);
    free(entry);
    return code == 0;
}

/* A record of zeros is idle. */
static bool clear_records(struct share *own, size_t n_byte)
{
    size_t n_part = own->n_copied * sizeof(double), n = 0;
    bool good = true;
    memset(own->copy, 0, n_part);
    for (size_t at = 0; at < n_byte && good; at += n) {
        n = n_byte - at < n_part ? n_byte - at : n_part;
        good = own->site->device.cl.clEnqueueWriteBuffer(own->queue, own->memory, 1, at, n,
                                                         own->copy, 0, NULL, NULL) == 0;
    }
    return good;
}

static const char *const kernel_name[N_KERNEL] = {
#define KERNEL_NAME(name) #name,
    KERNELS(KERNEL_NAME)
#undef KERNEL_NAME
};

/* Makes the worker's part of the device, with the site's program. */
static bool make_part(struct share *own)
{
    struct site *site = own->site;
    const struct opencl *cl = &site->device.cl;
    int32_t code = 0;
    own->program = site->program;
    own->size = site->size;
    own->record = record_of(site->plan, &own->size);
    size_t n_byte = (own->record.n_bank + own->record.n_columns) * RECORD_GROUP * sizeof(double);
    size_t n_fit = site->n_byte / site->n_worker / n_byte * RECORD_GROUP;
    size_t n_entry = site->plan->abi->n_parameter * site->plan->n,
           n_input = record_copied(&own->record.input),
           n_answer = record_copied(&own->record.answer);
    own->n_seat = n_fit < own->most ? n_fit : own->most;
    own->n_copied = MOST_COPIED * (n_input > n_answer ? n_input : n_answer);
    n_byte *= (own->n_seat + RECORD_GROUP - 1) / RECORD_GROUP;
    own->copy = malloc(own->n_copied * sizeof *own->copy);
    own->queue = cl->clCreateCommandQueue(site->device.context, site->device.id, 0, &code);
    if (own->n_seat == 0 || !own->copy || !own->queue)
        return false;
    struct {
        cl_handle *buffer;
        size_t n_byte;
    } const buffers[] = {{&own->memory, n_byte},
                         {&own->copied, own->n_copied * sizeof(double)},
                         {&own->which, MOST_COPIED * sizeof(int32_t)},
                         {&own->status, own->n_seat * sizeof(int32_t)},
                         {&own->entries, n_entry * sizeof(int16_t)}};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (!(*buffers[i].buffer = cl->clCreateBuffer(site->device.context, CL_MEM_READ_WRITE,
                                                      buffers[i].n_byte, NULL, &code)))
            return false;
    for (int i = 0; i < N_KERNEL; i++)
        if (!(own->kernel[i] = cl->clCreateKernel(own->program, kernel_name[i], &code)))
            return false;
    return set_arguments(own) && write_entries(own) && clear_records(own, n_byte);
}

bool share_prepare(struct share *own, const struct record_size *least,
                   struct counter *heartbeat)
{
    struct site *site = own->site;
    struct error error = {0};
    share_release(own);
    monitor_enter(&site->monitor);
    bool is_built = enlarge_program(site, least, heartbeat, &error),
         good = is_built && make_part(own);
    /* other programs may have taken memory, too */
    while (is_built && !good && own->n_seat > RECORD_GROUP) {
        own->most = own->n_seat / 2;
        share_release(own);
        good = make_part(own);
    }
    if (!good && !*site->why)
        snprintf(site->why, sizeof site->why, "%s",
                 is_built ? "its memory is too small" : error.message);
    monitor_leave(&site->monitor);
    return good;
}

bool share_run(const struct share *own, enum gpu_kernel kernel, size_t n_item)
{
    size_t n_group = RECORD_GROUP; /* work-items beyond the last one do nothing */
    n_item = (n_item + n_group - 1) / n_group * n_group;
    return own->site->device.cl.clEnqueueNDRangeKernel(own->queue, own->kernel[kernel], 1, NULL,
                                                       &n_item, &n_group, 0, NULL, NULL) == 0;
}

bool share_copy(struct share *own, bool is_load, size_t n, const struct record_part *part)
{
    const struct opencl *cl = &own->site->device.cl;
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
    good = good && share_run(own, kernel, n * n_number);
    return good && (is_load || cl->clEnqueueReadBuffer(own->queue, own->copied, 1, 0, n_byte,
                                                       own->copy, 0, NULL, NULL) == 0);
}

bool share_read_status(const struct share *own, int32_t *status)
{
    return own->site->device.cl.clEnqueueReadBuffer(own->queue, own->status, 1, 0,
                                                    own->n_seat * sizeof *status, status, 0, NULL,
                                                    NULL) == 0;
}
