/* Pilots: a fixed few of the datasets, spread evenly, that are fitted first. The median of what they found is where the
 * others start.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_PILOT_H
#define RUN_PILOT_H

#include "fit/fit.h"
#include "io/journal.h"

enum { PILOT_MAX = 32 };

/* Whether the dataset is one: 32 of them, or half of the datasets where that is less. */
bool pilot_is(uint64_t n_dataset, uint64_t dataset);
uint64_t pilot_count(uint64_t n_dataset);
uint64_t pilot_dataset(uint64_t n_dataset, uint64_t i);

struct pilots;
/* NULL: out of memory. `scale`: n_parameter, must outlive it. */
struct pilots *pilots_new(size_t n_parameter, const enum parameter_scale *scale);
void pilots_free(struct pilots *pilots);
/* From the journal, which holds all pilots' first starts: STATUS_SYSTEM if it does so no more. Ready unless none of them
 * converged. */
enum status pilots_gather(struct pilots *pilots, struct journal_reader *journal, const struct run_identity *identity,
                          struct error *error);
bool pilots_are_ready(const struct pilots *pilots);

/* The median (of each parameter, on the optimiser's scale) as a start of this problem: what is fixed stays, what the bounds
 * exclude is moved onto them. */
void pilot_start(const struct pilots *pilots, const struct fit_problem *problem, double *start);
/* Whether a fit is no worse than pilots are: its objective per measurement at most the worst pilot's plus three times that
 * one's distance from the pilots' median. */
bool pilot_is_like(const struct pilots *pilots, double objective, size_t n_row);

#endif
