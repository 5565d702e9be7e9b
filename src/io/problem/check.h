/* What may be wrong with a value of a dataset, wherever it comes from: a problem file, or a caller
 * of libstiffit. Each function writes the fault without its place, "time is nan", and returns
 * whether there is one; a caller says where.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error_kind.h"
#include "base/experiment.h"
#include "base/prior.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a fault is written; DATUM_FAULT bytes are enough. */
struct problem_message {
    char *text;
    size_t size;
};
enum { DATUM_FAULT = 300 };
/* Writes it; true. */
#define FAULT(message, ...) (snprintf((message)->text, (message)->size, __VA_ARGS__), true)

struct parameter_datum {
    const char *name, *scale; /* lin, log, log10 */
    double start, lower, upper;
    bool is_fixed;
    enum prior_kind prior;    /* one with bounds has tightened lower and upper */
};
bool datum_parameter_fault(const struct parameter_datum *parameter,
                           const struct problem_message *message);

/* A measurement that has a value. */
struct row_datum {
    double time, value, sigma, t0, limit;
    int8_t censored;
    const char *observable;
    enum error_kind error;
    const char *sigma_for;    /* what needs the sigma to be known; NULL: nothing */
};
bool datum_row_fault(const struct row_datum *row, const struct problem_message *message);

/* infusion_kind: what the model has for the state, as in stiffit/model.h. */
bool datum_dose_fault(const struct dose *dose, double t0, int infusion_kind, const char *state,
                      const struct problem_message *message);
/* last: the time of the input's knot before it; NaN: it is the first. */
bool datum_knot_fault(double time, double value, double last,
                      const struct problem_message *message);

struct problem;
struct problem_block;
/* Writes the first fault of dataset d of a block into `text`; false if there is none. For the
 * problem reader. */
bool problem_dataset_fault(const struct problem *problem, const struct problem_block *block,
                           size_t d, char *text, size_t size);
