/* Bootstrap replicates of a fit over all datasets: each draws datasets, and begins at the best fit.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "run/compute/compute.h"
#include "run/plan/best.h"

/* Zero-initialise; replicates_fini is always legal. */
struct replicates {
    struct refit_starts best; /* where they begin */
    uint32_t *weight;         /* how often each dataset was drawn */
    uint32_t *drawn;          /* n_drawn: datasets that took part in the best fit; 0: there is none */
    size_t n_drawn;
};

/* From the journal. */
enum status replicates_open(struct replicates *replicates, struct compute *compute, struct error *error);
void replicates_fini(struct replicates *replicates);
/* Sets the weights for that task: as many datasets are drawn as took part in the best fit. */
void replicates_draw(struct replicates *replicates, uint64_t seed, uint32_t task);
/* The record of a replicate that has ended, that of dataset 0: only shared parameters have values for all datasets. */
enum status replicates_write(struct compute *compute, struct error *error);
