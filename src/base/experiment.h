/* What happens in an experiment beside its measurements: doses, inputs that vary in time, events, and new parameters. Problem
 * files, blocks of datasets, fits and evaluations use these structs.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* An amount that enters a state at once or, if there is a duration or a rate, at a constant rate; `count` times, `interval`
 * apart. Of the amount the model's bioavailability arrives: with a duration at a smaller rate, with a rate for a shorter
 * time. */
struct dose {
    double time, amount;
    double duration, rate; /* at most one of them is not 0; DOSE_OF_MODEL: what the model gives for the state */
    double interval;  /* > 0 if count > 1 or if it is steady */
    uint32_t count;   /* >= 1; if it is steady >= 0 */
    uint32_t target;  /* index of the state: the file's, in memory the model's */
    uint8_t steady;   /* enum dose_steady */
};
#define DOSE_OF_MODEL (-1.0)

/* A steady dose has been given for ever before its time, at the same interval, and the states are then those of the periodic
 * trajectory: whatever was before is dropped, or they are added to it. CONTINUES: they are the states at the beginning already;
 * only evaluations of one period have it. */
enum dose_steady { DOSE_SINGLE, DOSE_RESETS, DOSE_ADDS, DOSE_CONTINUES };

/* The knots of one input, in increasing order of time; n >= 1. */
struct input {
    size_t n;
    const double *time, *value;
};

/* A model parameter that does not have the fit parameter of its name in this experiment, or in a part of it. */
struct substitute {
    uint32_t parameter; /* the model's */
    uint32_t by;        /* index of the file's parameter; EXPERIMENT_NUMBER: the value */
    double value;
    double time;        /* from then on; -INFINITY: from the beginning */
    uint32_t row;       /* the measurement for which alone it holds, counted within the experiment; EXPERIMENT_NONE: all */
};
#define EXPERIMENT_NUMBER UINT32_MAX

/* An event that happens because the data say so. */
struct event_call {
    double time;
    uint32_t event; /* the model's */
};

/* No experiment, where the index of one at whose steady state another begins may stand; or no row. */
#define EXPERIMENT_NONE UINT32_MAX

/* The PEtab problem that a problem file was made from, with what import was told; or the problems of its n datasets. */
struct petab_source {
    const char *yaml, *model, *dataset_column; /* or NULL */
    const char *sha256;                        /* of its tables and model; or NULL */
    size_t n;
    const char *const *of;                     /* n, or NULL */
};
