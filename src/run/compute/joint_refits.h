/* Refits of a fit over many datasets: bootstrap replicates, each of which draws datasets, and
 * profiles of shared parameters. All begin at the best fit. Every rank does the same, with its own
 * datasets; rank 0 has the journal. Inside a search.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "run/compute/compute.h"

struct search;

/* Zero-initialise; joint_refits_fini is always legal. Datasets are those of the fit, from 0. */
struct joint_refits {
    size_t n, n_dataset, first, n_own; /* parameters; datasets; this process's */
    double *start, *rtol;     /* n_own x n, n_own: the best fit */
    uint32_t *drawn;          /* n_drawn, of all ranks: datasets that took part in the best fit; 0: there is none */
    size_t n_drawn;
    uint32_t *all_weights;    /* of all ranks: how often each dataset counts */
    uint32_t *weight;         /* n_own of these */
};

/* From the journal of rank 0. */
enum status joint_refits_open(struct search *search, struct error *error);
void joint_refits_fini(struct joint_refits *refits);
/* After a fit: the record of the first dataset that takes part, which has what all have in common, into a record with arrays.
 * False: memory is out, or the ranks are lost. */
bool joint_refits_record(struct search *search, struct fit_record *record);
/* Run and journal that task, as a record of the fit's first dataset. Also OK if it was stopped: then it has not ended. In a
 * replicate as many datasets are drawn as took part in the best fit. */
enum status joint_refits_replicate(struct search *search, uint32_t task, bool *has_ended, struct error *error);
/* One side of a profile (in joint_profile.c): fits of its own, one after another, of which no state is kept. */
enum status joint_refits_profile(struct search *search, uint32_t task, bool *has_ended, struct error *error);
