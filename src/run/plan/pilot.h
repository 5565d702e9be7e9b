/* Pilots: a few datasets, spread evenly, that are fitted first. The others start at the median
 * of the pilots' parameters.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint/one.h"
#include "fit/joint/pilot.h"
#include "io/journal/journal.h"

enum { PILOT_MAX = FIT_PILOT_MOST };

/* Whether the dataset is a pilot. There are 32 pilots, or half as many as datasets if that is
 * less. */
bool pilot_is(uint64_t n_dataset, uint64_t dataset);
uint64_t pilot_count(uint64_t n_dataset);
uint64_t pilot_dataset(uint64_t n_dataset, uint64_t i);

struct pilots;
/* NULL: out of memory. `scale`: n_parameter, must outlive it. */
struct pilots *pilots_new(size_t n_parameter, const enum parameter_scale *scale);
void pilots_free(struct pilots *pilots);
/* Computes the median from the journal, which must hold the first starts of all pilots;
 * STATUS_SYSTEM if it no longer does. Ready unless none of them converged. */
enum status pilots_gather(struct pilots *pilots, struct journal_reader *journal,
                          const struct run_identity *identity, struct error *error);
bool pilots_are_ready(const struct pilots *pilots);

/* The median (of each parameter, on the optimiser's scale) as a start of this problem. Fixed
 * parameters keep their values; others are moved onto their bounds if they lie outside. */
void pilot_start(const struct pilots *pilots, const struct fit_problem *problem, double *start);
/* Whether a fit is as good as the pilots: its objective per measurement is at most the largest
 * one of the pilots plus three times its distance from their median. */
bool pilot_is_like(const struct pilots *pilots, double objective, size_t n_row);
