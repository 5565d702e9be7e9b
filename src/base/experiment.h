/* What happens in an experiment beside its measurements: doses, and inputs that vary in time. Problem files, blocks of
 * datasets, fits and evaluations use these structs.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* An amount that enters a state at once or, if duration > 0, at a constant rate; `count` times, `interval` apart. */
struct dose {
    double time, amount, duration;
    double interval;  /* > 0 if count > 1 */
    uint32_t count;   /* >= 1 */
    uint32_t target;  /* index of the state: the file's, in memory the model's */
};

/* The knots of one input, in increasing order of time; n >= 1. */
struct input {
    size_t n;
    const double *time, *value;
};

/* A model parameter that does not have the fit parameter of its name in this experiment. */
struct substitute {
    uint32_t parameter; /* the model's */
    uint32_t by;        /* index of the file's parameter; EXPERIMENT_NUMBER: the value */
    double value;
};
#define EXPERIMENT_NUMBER UINT32_MAX

/* No experiment: where the index of one at whose steady state another begins may stand. */
#define EXPERIMENT_NONE UINT32_MAX
