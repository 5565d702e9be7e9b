/* Refits of a fit over all datasets: bootstrap replicates, each of which draws datasets, and profiles of shared parameters. All
 * begin at the best fit.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "run/compute/compute.h"
#include "run/plan/best.h"

/* Zero-initialise; joint_refits_fini is always legal. */
struct joint_refits {
    struct refit_starts best; /* where they begin */
    uint32_t *weight;         /* how often each dataset counts */
    uint32_t *drawn;          /* n_drawn: datasets that took part in the best fit; 0: there is none */
    size_t n_drawn;
};

/* From the journal. */
enum status joint_refits_open(struct joint_refits *refits, struct compute *compute, struct error *error);
void joint_refits_fini(struct joint_refits *refits);
/* Run and journal that task, as a record of dataset 0. Also OK if it was stopped: then it has not ended. In a replicate as many
 * datasets are drawn as took part in the best fit. */
enum status joint_refits_replicate(struct joint_refits *refits, struct compute *compute, uint32_t task, bool *journal_gone,
                                   bool *has_ended, struct error *error);
/* One side of a profile (in joint_profile.c): fits of its own, one after another, of which no state is kept. */
enum status joint_refits_profile(struct joint_refits *refits, struct compute *compute, uint32_t task, bool *journal_gone,
                                 bool *has_ended, struct error *error);
