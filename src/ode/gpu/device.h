/* A device that programs for OpenCL run on: opened at run time through the system's ICD loader,
 * so that a machine without one needs nothing of it.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "ode/gpu/opencl.h"

#include <stdbool.h>

struct device {
    struct opencl cl;
    void *library;
    cl_handle id, context;
    char name[160];       /* with the driver's version */
    size_t n_byte;        /* the largest buffer */
};

/* Opens devices with double precision, at most DEVICE_MOST: those of a list of numbers or parts of
 * names with commas between, or if it is NULL or empty all GPUs, or if there are none the first
 * other device. GPUs have the first numbers. An error says what is missing; what is open is to be
 * closed then, too. */
enum { DEVICE_MOST = 16 };
enum status device_open(const char *list, struct device device[DEVICE_MOST], size_t *n,
                        struct error *error);
void device_close(struct device *device); /* legal for one that is all zero */

/* A program, compiled for the device; unrolls: loops over stages, if its compiler can. NULL:
 * `error` has the compiler's message. */
cl_handle device_build(const struct device *device, size_t n_text, const char **text, bool unrolls,
                       struct error *error);

/* Whether double precision gives the bits of this CPU: a program of its own tries operations and
 * numbers at the extremes. False: `error` says which operation differs. */
bool device_has_same_bits(const struct device *device, struct error *error);
