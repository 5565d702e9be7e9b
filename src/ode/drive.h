/* The driver: what happens between two steps of an integrator, the same for all of them. It begins evaluations, bounds their
 * steps, answers measurements, passes stops, and ends evaluations; an integrator only makes steps and tells states inside of
 * the latest one. A worker's evaluations of one integrator sit side by side in a batch.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "ode/simulation.h"

enum { BATCH_WIDEST = 32 };

/* Seat k is bit k. */
struct batch {
    const struct integrator *integrator;
    struct simulation *seat[BATCH_WIDEST]; /* NULL: free */
    unsigned live;      /* seats whose evaluation goes on */
    unsigned ended;     /* within a step: those whose evaluation has ended, maybe to be followed by another one */
    unsigned finished;  /* seats whose evaluation has ended, and that the caller must clear */
    unsigned attended;  /* live seats with stops or forcing */
};

/* The result of an attempt, by seat. For seats in `moved`, `fell` or `failed` that are attended or measured, simulation.t_before
 * and simulation.t are the ends of the latest step. */
struct integrator_events {
    unsigned moved;    /* the step was accepted */
    unsigned measured; /* and has reached the next measurement */
    unsigned fell;     /* and a state may be below zero; or it is to be looked at for another reason */
    unsigned failed;   /* no further step is possible */
    unsigned spent;    /* the budget of steps is used up */
    unsigned finished; /* the integrator has ended the evaluation */
};

/* What an integrator makes of a step in which a state passed a pole. */
enum step_fate { STEP_STANDS, STEP_IS_REPEATED, STEP_ENDS_EARLIER };

/* Functions that may be NULL say so. Those that return bool return false if the evaluation is finished. States are put into
 * simulation.y: blocks, the state and its sensitivities. */
struct integrator {
    const char *name;
    int width;             /* seats of a batch */
    bool shows_stops;      /* steps with a root are in `fell`, too */

    /* Memory: the plan is shared by a run; a batch is a worker's; a simulation moves between batches. NULL: out of memory,
     * unless `error` is set. batch_new may be NULL: struct batch suffices. */
    void *(*plan_new)(const struct stiffit_model *abi, const struct ode_options *options, struct error *error);
    void (*plan_free)(void *plan);
    const char *(*linear_solver)(const void *plan);
    struct simulation *(*simulation_new)(const void *plan, const struct stiffit_model *abi, const struct ode_options *options);
    void (*simulation_free)(struct simulation *simulation);
    struct batch *(*batch_new)(const void *plan);
    void (*batch_free)(struct batch *batch);

    /* The beginning of an evaluation. prepare chooses the blocks; initial computes the initial state (a code of the model).
     * NULL: those that simulation.h chooses and computes. begin_adjoint takes the place of the rest for evaluations with adjoint;
     * NULL: there are none. */
    bool (*prepare)(struct simulation *simulation);
    int (*initial)(struct simulation *simulation);
    bool (*begin_adjoint)(struct simulation *simulation);
    /* Starts from the state at simulation.t, at the beginning or behind a stop. */
    bool (*start)(struct simulation *simulation);

    /* Seats: a simulation comes in (false: out of memory for all); its state has changed; it no longer moves; it leaves; its
     * counters and time go into the evaluation. NULL: nothing to do. */
    bool (*enter)(struct batch *batch, int k);
    void (*reload)(struct batch *batch, int k);
    void (*rest)(struct batch *batch, int k);
    void (*leave)(struct batch *batch, int k);
    void (*count)(struct batch *batch, int k);

    struct integrator_events (*attempt)(struct batch *batch);

    /* States in the latest step. observe and go_to return seats that they had to end. */
    const double *(*inside)(struct batch *batch, int k, double t); /* without sensitivities, until the next call; or NULL */
    const double *(*at_end)(struct batch *batch, int k);           /* at simulation.t */
    const double *(*at_beginning)(struct batch *batch, int k);     /* at t_before, without sensitivities; or NULL */
    unsigned (*observe)(struct batch *batch, unsigned seats);      /* at the next measurement of each */
    bool (*answer)(struct batch *batch, int k); /* after it: answers the measurement; false: fetch its state. Or NULL */
    void (*fetch)(struct batch *batch, int k);  /* after it, if observe does not put states into simulation.y. Or NULL */
    void (*answered)(struct batch *batch, int k);
    unsigned (*go_to)(struct batch *batch, unsigned seats, unsigned rooted); /* simulation.t; rooted: inside of the step */

    /* After at_end and at_beginning: part of the step that leaves all states above zero, or 1. */
    enum step_fate (*take_back)(struct batch *batch, int k, double part);
    void (*saw_step)(struct batch *batch, int k); /* positive.h has seen it. Or NULL */
    void (*attend)(struct batch *batch, int k);   /* before the next step: what forcing.h says of it. Or NULL */
    /* Looks whether the steady state has come (steady.h); simulation.y is then the steady state. */
    bool (*look_for_steady_state)(struct batch *batch, int k);
    /* After a failure: puts the latest state into simulation.y, and says whether the sizes of states may be the reason. */
    bool (*may_be_sizes)(struct batch *batch, int k);
    bool (*fail)(struct batch *batch, int k); /* true: it can start again from there */
};

/* Begins seat[k]->request. */
void drive_begin(struct batch *batch, int k);
/* Goes on with a simulation that has left another batch. */
void drive_resume(struct batch *batch, int k);
/* One attempt at a step in all live seats, and all that follows from it. */
void drive_step(struct batch *batch);
/* Takes a live simulation out of the batch, to go on later. */
void drive_leave(struct batch *batch, int k);
/* Ends the evaluation of a seat. */
void drive_stop(struct batch *batch, int k, enum evaluation_outcome outcome, const char *why);
