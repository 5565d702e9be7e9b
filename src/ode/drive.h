/* The driver: makes an engine of an integrator. It has the pool of simulations and a batch of
 * seats for each worker, and does what happens between two steps, the same for all integrators:
 * it begins evaluations, bounds their steps, answers measurements, passes stops, and ends
 * evaluations. An integrator only makes steps and tells states inside of the latest one. A
 * worker's evaluations of one integrator sit side by side in a batch.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/engine.h"
#include "ode/simulation.h"

enum { BATCH_WIDEST = 32 };
/* The seats of a mask, or its lanes, the lowest first; a loop's `break` would not end it. */
#define EACH_SEAT(k, seats) \
    for (unsigned k##_left = (seats), k##_first = 1; k##_left; \
         k##_left &= k##_left - 1, k##_first = 1) \
        for (int k = __builtin_ctz(k##_left); k##_first; k##_first = 0)

/* Seat k is bit k. */
struct batch {
    const struct integrator *integrator;
    struct simulation *seat[BATCH_WIDEST]; /* NULL: free */
    unsigned live;      /* seats whose evaluation goes on */
    /* within a step: those whose evaluation has ended, maybe to be followed by another one */
    unsigned ended;
    unsigned finished;  /* seats whose evaluation has ended, and that the caller must clear */
    unsigned attended;  /* live seats with stops or forcing */
    uint64_t n_seat, n_held; /* as in struct engine */
};

/* The result of an attempt, by seat. For seats in `moved`, `fell` or `failed` that are attended or
 * measured, simulation.t_before and simulation.t are the ends of the latest step. */
struct integrator_events {
    unsigned moved;    /* the step was accepted; not said of seats that nobody attends */
    unsigned measured; /* and has reached the next measurement */
    unsigned fell;     /* and a state may be below zero */
    unsigned failed;   /* no further step is possible */
    unsigned exhausted; /* the budget of steps is used up */
    unsigned finished; /* the integrator has ended the evaluation */
};

/* An integrator. Functions that may be NULL say so. Those that return bool return false if the
 * evaluation is finished, unless they say otherwise. */
struct integrator {
    const char *name;
    int width;      /* seats of a batch */
    double closest; /* the least distance, relative to the times, from the beginning of an
                     * integration to its end */

    /* The plan is shared by a run; a simulation moves between batches. NULL: out of memory,
     * unless `error` is set. */
    void *(*plan_new)(const struct stiffit_model *abi, const struct ode_options *options,
                      struct error *error);
    void (*plan_free)(void *plan);
    const char *(*linear_solver)(const void *plan);
    struct simulation *(*simulation_new)(const void *plan, const struct stiffit_model *abi,
                                         const struct ode_options *options);
    void (*simulation_free)(struct simulation *simulation);

    /* The beginning of an evaluation. prepare makes the integrator ready and may change the
     * blocks (NULL: it need not); initial computes the initial state (a code of the model; NULL:
     * as blocks.h does). begin_adjoint takes the place of the rest for evaluations with adjoint;
     * NULL: there are none. */
    bool (*prepare)(struct simulation *simulation);
    int (*initial)(struct simulation *simulation);
    bool (*begin_adjoint)(struct simulation *simulation);
    /* Starts seat k from the state at simulation.t, at the beginning or, if it is live, behind a
     * stop. */
    bool (*start)(struct batch *batch, int k);

    struct integrator_events (*attempt)(struct batch *batch);
    /* The state and its sensitivities at a time of the latest step, into simulation.y; and
     * without sensitivities, valid until the next call, or NULL. */
    bool (*state_at)(struct simulation *simulation, double t);
    const double *(*inside)(struct batch *batch, int k, double t);
    /* Looks whether the steady state has come (steady.h): true, and it is in simulation.y. NULL:
     * it never does. */
    bool (*look_for_steady_state)(struct batch *batch, int k);
    /* After a failure: puts the latest state into simulation.y, and says whether the sizes of
     * states may be the reason. NULL: they are not. fail says whether it can start again from
     * there. */
    bool (*may_be_sizes)(struct batch *batch, int k);
    bool (*fail)(struct batch *batch, int k);

    const struct integrator_seats *seats; /* NULL: there is one, which needs none of these */
};

/* What an integrator of several evaluations side by side does for its seats. */
struct integrator_seats {
    struct batch *(*batch_new)(const void *plan); /* NULL: out of memory */
    void (*batch_free)(struct batch *batch);
    /* A simulation goes on that has left another batch (false: there is no memory for it);
     * its state has changed; it leaves; its counters and time go into the evaluation. */
    bool (*enter)(struct batch *batch, int k);
    void (*reload)(struct batch *batch, int k);
    void (*leave)(struct batch *batch, int k);
    void (*count)(struct batch *batch, int k);
    /* Answers the next measurement of each of these seats, in its latest step. Returns those
     * whose evaluation is finished. */
    unsigned (*answer)(struct batch *batch, unsigned seats);
    /* States in the latest step, without sensitivities. at_end: at simulation.t. at_beginning:
     * at t_before. */
    const double *(*at_end)(struct batch *batch, int k);
    const double *(*at_beginning)(struct batch *batch, int k);
    /* Puts the states at simulation.t into simulation.y; rooted: those inside of the step. */
    void (*go_to)(struct batch *batch, unsigned seats, unsigned rooted);
    /* Takes a step back of which only a part leaves all states above zero, to make a shorter
     * one. False: it stands. */
    bool (*take_back)(struct batch *batch, int k, double part);
    void (*saw_step)(struct batch *batch, int k); /* positive.h has seen it */
    /* before the next step: what forcing.h says of it */
    void (*attend)(struct batch *batch, int k);
    /* of attempts for n evaluations, as of an engine */
    uint32_t (*cost)(const void *plan, size_t n);
};

/* The beginning of an integration at simulation.t: how far it goes, and looks at steady states
 * and inputs. Before each integrator.start; for integrators that start again by themselves. */
void drive_set_out(struct simulation *simulation, double closest);
/* Begins the request of seat 0, for an engine that integrates elsewhere. False: it has ended. */
bool drive_begin(struct batch *batch);
/* Makes happen what is due at the next stop of seat 0, which it has reached: simulation.y is the
 * state there; measurements before it are answered. False: it has ended, or begins_anew. */
bool drive_pass_stop(struct batch *batch);

/* The functions of an engine made of an integrator. */
struct engine_pool *drive_pool_new(const struct engine_table *table, const struct model *model,
                                   const struct ode_options *options, size_t n_workspace,
                                   size_t n_worker, struct error *error);
void drive_pool_free(struct engine_pool *pool);
const char *drive_linear_solver(const struct engine_pool *pool);
uint32_t drive_cost(const struct engine_pool *pool, size_t n);
struct engine *drive_new(struct engine_pool *pool, struct error *error);
void drive_free(struct engine *engine);
void drive_submit(struct engine *engine, struct evaluation *evaluation);
struct evaluation *drive_work(struct engine *engine, const struct engine_turn *turn);
bool drive_withdraw(struct engine *engine, struct evaluation *evaluation);
void drive_discard(struct engine_pool *pool, struct evaluation *evaluation);

/* Its table, with so many seats; functions of struct engine_table, or NULL. */
#define ENGINE_OF_SEATS(own, width, own_refusal, is_only_plain, own_suits) \
    {.capacity = width, .integrator = own, .refusal = own_refusal, .only_plain = is_only_plain, \
     .suits = own_suits, .pool_new = drive_pool_new, .pool_free = drive_pool_free, \
     .linear_solver = drive_linear_solver, .cost = drive_cost, .engine_new = drive_new, \
     .engine_free = drive_free, .submit = drive_submit, .work = drive_work, \
         .withdraw = drive_withdraw, \
     .discard = drive_discard}
