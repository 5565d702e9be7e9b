/* A device with the program that it runs for a model, which several workers share; and a worker's
 * share of it: a queue, and records of its evaluations.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/evaluation.h"
#include "ode/gpu/device.h"
#include "ode/gpu/record.h"
#include "par/monitor.h"

/* Records that are copied at once. */
enum { MOST_COPIED = 256 };

#define KERNELS(X) X(states) X(columns) X(conclude) X(rows) X(go_on) X(load) X(store) X(report)
enum gpu_kernel {
#define KERNEL_NUMBER(name) KERNEL_##name,
    KERNELS(KERNEL_NUMBER)
#undef KERNEL_NUMBER
    N_KERNEL
};

struct site {
    struct device device;
    const struct lanes_plan *plan;
    bool follows_sizes;       /* options.atol is 0 */
    size_t n_worker;          /* that use it */
    size_t n_byte;            /* of the device's memory, for all of these */
    bool has_monitor;
    struct monitor monitor;   /* protects the rest */
    bool is_building, is_unbuildable; /* a program, outside the monitor; it could not be built */
    struct record_size size;  /* of the program */
    cl_handle program;        /* NULL: not yet built */
    char why[300];            /* the first loss; "": none */
};

struct share {
    struct site *site;
    size_t most;               /* seats; fewer once memory was short */
    size_t n_seat;
    struct record_size size;
    struct record record;
    cl_handle program, queue, kernel[N_KERNEL], memory, copied, which, status, entries;
    double *copy;              /* MOST_COPIED parts of records: */
    size_t n_copied;           /* numbers */
    int32_t *number;           /* MOST_COPIED: their seats; the caller's */
};

/* Of a site whose device is open. False: no memory. site_fini is legal then. */
bool site_init(struct site *site, const struct lanes_plan *plan, const struct ode_options *options,
               size_t n_worker);
void site_fini(struct site *site); /* closes the device; legal for one that is all zero */

/* Makes a worker's share anew, for records at least as large as that. The worker's heartbeat
 * (NULL: none) goes on while the driver builds a program. False: the device cannot be used; the
 * site says why. */
bool share_prepare(struct share *share, const struct record_size *least,
                   struct counter *heartbeat);
void share_release(struct share *share);
/* The following are false if the device is lost. */
bool share_run(const struct share *share, enum gpu_kernel kernel, size_t n_item);
/* Copies a part of n records, which are in `number`, between `copy` and the device. */
bool share_copy(struct share *share, bool is_load, size_t n, const struct record_part *part);
/* The status of each seat, after KERNEL_report. */
bool share_read_status(const struct share *share, int32_t *status);
