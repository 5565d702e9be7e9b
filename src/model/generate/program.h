/* One function of a plugin as a list of statements: which values get a name, which are written
 * in place, and in which order. Independent of the printed language: another back end (say, the
 * same function over W lanes) prints the same programs with its own leaves and operations.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "model/generate/values.h"

/* A step's operation is that of a node, or PROGRAM_WORK: a leaf that `prepare` left in at->work.
 * A POWER_LOG step has other arguments than the node: a^b and log(a), so that both are shared.
 * It is their product, but 0 if a^b is 0. */
enum { PROGRAM_WORK = N_GRAPH_OP };
#define STEP_NONE UINT32_MAX

struct step {
    int op;
    /* computed by a statement of its own; otherwise written where it is used */
    bool is_named;
    union {
        double constant;
        uint32_t index;   /* of the other leaves; slot of PROGRAM_WORK */
        uint32_t arg[3];  /* steps, with smaller numbers */
    };
    value source;
    uint32_t label;       /* intermediate, or VALUE_NONE */
    uint32_t number;      /* in the name of a value without a label, from 1 */
    uint32_t n_use;
    uint32_t width;       /* approximate width of its expression in columns */
    uint32_t n_operation; /* in its expression, including parts written in place */
};

/* One result of the function: out[slot]. */
struct program_output {
    size_t slot;
    uint32_t row, column;       /* of its matrix */
    value value;
    uint32_t step;              /* filled by program_build */
};

struct statement {
    bool is_store;   /* of output `which`; otherwise the definition of step `which` */
    uint32_t which;
};

struct program {
    struct step *step;
    struct program_output *output;
    struct statement *statement;
    uint32_t n_step, n_output, n_statement, n_temporary;
};

/* Width of the name of a leaf or of a labelled step. */
typedef uint32_t program_width_function(const struct values *values, const struct step *step);

enum { PROGRAM_WIDTH = 88 }; /* width of an expression above which parts of it get names */

/* Who runs a program: `prepare` fills at->work, the others load values from there. */
enum program_kind { PROGRAM_PREPARE, PROGRAM_SCALAR, PROGRAM_LANES };

/* Takes ownership of `output` (n_output, on the heap). Zero-initialise *program; after a failure
 * only program_fini may be called. STATUS_NO_MEMORY. */
enum status program_build(const struct values *values, struct program_output *output,
                          uint32_t n_output, enum program_kind kind, program_width_function *width,
                          struct program *program, struct error *error);
void program_fini(struct program *program);

/* Number of a step's arguments: 0 for leaves. */
static inline int step_n_argument(const struct step *step)
{
    return step->op == PROGRAM_WORK ? 0 : graph_n_argument((enum graph_op)step->op);
}

/* Calls `visit` for each step that statement `i` reads by name or as a leaf, as often as it is
 * written. */
typedef void program_visit_function(void *context, uint32_t step);
void program_visit(const struct program *program, const struct statement *statement,
                   program_visit_function *visit, void *context);
/* Notes for each step that is read when that is: a visitor. */
struct lives {
    uint32_t *last; /* per step */
    uint32_t now;
};
void program_note_read(void *context, uint32_t step);

/* With fewer states, or a larger share of non-zero entries, a dense solver is faster than a
 * sparse one (measured in ode/linear.c), and there is no sparse Jacobian. */
enum { SPARSE_FROM = 10 };
#define SPARSE_FILL 0.5

/* The functions of struct stiffit_lanes. */
enum { LANES_rhs, LANES_derive, LANES_curve, LANES_observe, LANES_noise, N_LANES_FUNCTION };

struct programs {
    struct values values;
    struct program prepare;               /* out[slot of at->work] */
    /* out[row + column*n_row]; empty if all entries are zero */
    struct program of[N_MODEL_FUNCTION];
    /* n_event x N_EVENT_FUNCTION, by event; of[] of these functions is empty */
    struct program *event;
    struct program range;                 /* out[row] of forcing, then of its derivatives by time */
    /* out[entry], one matrix after the other; empty if there are no lanes */
    struct program lanes[N_LANES_FUNCTION];
    size_t n_event;
    /* the Jacobian's slots are the entries of the pattern, in order */
    bool is_sparse;
};

/* *programs is zero on entry; after a failure only programs_fini may be called.
 * STATUS_NO_MEMORY. */
enum status programs_init(struct programs *programs, const struct equations *equations,
                          const struct functions *functions, program_width_function *width,
                          struct error *error);
void programs_fini(struct programs *programs);
