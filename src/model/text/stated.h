/* What the statements of a model text say, item by item: symbols, formulas by number, and places.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "model/graph/equations.h"
#include "model/text/message.h"

#include <stdbool.h>
#include <stdint.h>

struct stated_initial {
    uint32_t symbol, formula, line;
    struct span unit, place;
};

/* kind as in equations.h, NULL: none. */
struct stated_prior {
    const char *kind;
    bool on_optimizer;
    uint32_t first, second; /* formulas */
    struct span place;
};

struct stated_parameter {
    uint32_t symbol, start, lower, upper; /* formulas; bounds may be NONE */
    struct span unit;
    const char *scale;
    struct stated_prior prior;
};

/* Of inputs, too. */
struct stated_covariate {
    uint32_t symbol;
    struct span unit;
    bool is_linear;
};

/* A lag time, bioavailability, rate or duration of doses. */
struct stated_dosing {
    uint32_t symbol, formula, line;
    enum dosing_kind kind;
    struct span place;
};

struct stated_assignment {
    uint32_t symbol, formula, line;
    struct span place;
};

/* kind: STIFFIT_EVENT_*; formulas or NONE; its assignments are [first, first + n). */
struct stated_event {
    uint32_t symbol, when, delay, priority, first, n, line;
    uint8_t kind;
};

struct stated_observable {
    uint32_t symbol, sd, line; /* sd: formula or NONE */
    struct span unit, place;
    const char *error;         /* as in equations.h */
};
