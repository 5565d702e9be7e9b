/* Refits of a fit over many datasets: profiles of shared parameters, their reviews, and bootstrap
 * replicates, each of which draws datasets. The best fit is the subject of the code that refits a
 * single dataset (fit/subject.h). Every rank does the same, with the parameters of its own
 * datasets; rank 0 has the journal. Inside a search.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/subject.h"
#include "run/compute/compute.h"

struct search;

/* Zero-initialise; joint_refits_fini is always legal. Datasets are those of the fit, from 0. */
struct joint_refits {
    struct fit_subject subject;   /* of this process's datasets; without its calls */
    struct arena arena;
    size_t n_dataset, first;      /* of all processes; those of the processes before this one */
    size_t n_own;                 /* this process's datasets; the subject has one at least */
    double *start, *lower, *upper, *rtol; /* n_own x n, n_own: the best fit and its bounds */
    uint8_t *fixed;
    /* Of all ranks: the n_drawn datasets that took part in the best fit; 0: there is none. */
    uint32_t *drawn;
    size_t n_drawn;
    uint32_t *all_weights;        /* of all ranks: how often each dataset counts */
    uint32_t *weight;             /* n_own of these; NULL: it is not open */
    /* Where the profiles' sides ended, as far as they have (run/plan/review.h). */
    double *profile_end;
};

/* From the journal of rank 0. */
enum status joint_refits_open(struct search *search, struct error *error);
void joint_refits_fini(struct joint_refits *refits);
/* Runs and journals that task, as a record of the fit's first dataset. Also OK if it was
 * stopped: then it has not ended. Only replicates keep a state from which another process
 * continues. */
enum status joint_refits_run(struct search *search, uint32_t task, bool *has_ended,
                             struct error *error);
