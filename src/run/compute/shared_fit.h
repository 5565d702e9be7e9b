/* The fits over many datasets of a run: one for each component of the datasets that share
 * parameters. They run side by side: each is plain sequential code on a coroutine, which only the
 * main thread resumes, and which is suspended while the workers evaluate its blocks. So no fit
 * waits for another's last evaluations. With several ranks all of them take a step when all have
 * evaluated, so that every rank meets the others in the same order.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "run/compute/compute.h"

struct coroutine;
struct joint_refits;

/* WANTS: its blocks are to be fed; RUNS: workers have them; PARKED: some are suspects, which are
 * tried alone. */
enum shared_state { SHARED_READY, SHARED_WANTS, SHARED_RUNS, SHARED_PARKED, SHARED_ENDED };

struct shared_fit {
    struct campaign_fit fit;   /* the first field: campaign->fit_of leads here */
    struct compute *compute;
    struct coroutine *coroutine;
    enum shared_state state;
    const struct joint_request *request; /* of the fit under way; NULL: it is a start */
    struct joint_refits *refits; /* NULL: not open */
    uint64_t n_wanted;         /* blocks of the pass */
    struct counter n_done, n_put_off; /* blocks done, including those put off; those put off */
    struct counter is_short;   /* of the fit under way: a worker found no memory for a block */
    /* failed allocations of this thread before the fit (base/memory.h) */
    uint64_t n_failed;
    int64_t n_pass;            /* of the fit under way */
    struct keeper keeper;      /* of the task under way; rank 0's */
    unsigned char *loaded;     /* with other ranks: what an earlier process has left of the fit */
    struct counter used_ns;    /* computing of this process for the task */
    bool is_due;               /* a state is to be kept after this pass */
    enum status status;        /* once it has ended */
    struct error error;
};

struct shared_fits {
    struct shared_fit **live;  /* n_live, by component */
    size_t n_live, next;       /* next: the component that begins next */
    bool is_stopping;
    struct {                   /* in the journal (io/result/mixed_result.h) */
        uint32_t n_start;      /* the starts that it covers */
        unsigned char *bytes;  /* n; NULL: none of them has a population */
        size_t n;
        double objective;      /* NaN: none */
    } population;
    uint64_t n_before, n_ended; /* fits that an earlier process ended, and all that have ended */
};

/* How a fit begins. */
struct joint_request {
    /* Of this process's blocks: how often each counts; 0: it does not take part. */
    const uint32_t *weight;
    struct fit_options options;
    const double *start;        /* blocks of this process x n parameters */
    const uint8_t *held;        /* likewise, instead of the file's `fixed`; NULL: the file's */
    const uint8_t *held_above;  /* n parameters: joint->held */
    const double *rtol;         /* blocks of this process */
    bool keeps;                 /* writes the fit's state, from which another process continues */
};

/* On its coroutine: the fit of that task, a start (request: NULL) or a refit, until joint_record
 * can tell. Also OK if it was stopped: then *has_ended is false. STATUS_NO_MEMORY: some part of
 * the fit found no memory, and nothing of it may be believed. */
enum status shared_run_fit(struct shared_fit *shared, uint32_t task,
                       const struct joint_request *request, bool *has_ended, struct error *error);
/* Whether some part of the fit under way, or of its records, found no memory. */
bool shared_is_short(const struct shared_fit *shared);
/* Reads the population that an earlier process has found. */
enum status shared_read_population(struct compute *compute, struct error *error);

/* On its coroutine: all tasks of the component, its starts and refits, one after another. Also OK
 * if it was stopped. */
enum status shared_run_tasks(struct shared_fit *shared, struct error *error);
/* Whether an earlier process has written all records of that task of a component, by this process's
 * journal. */
bool shared_is_written(const struct compute *compute, size_t component, uint32_t task);

/* Refits, on the fit's coroutine. Sets shared->refits from the journal of rank 0. */
enum status joint_refits_open(struct shared_fit *shared, struct error *error);
void joint_refits_free(struct joint_refits *refits);
/* Whether there is a best fit to refit. */
bool joint_refits_exist(const struct joint_refits *refits);
/* Runs and journals that task, as a record of the fit's first dataset. Also OK if it was
 * stopped: then it has not ended. Only replicates keep a state from which another process
 * continues. */
enum status joint_refits_run(struct shared_fit *shared, uint32_t task, bool *has_ended,
                             struct error *error);
