/* What is counted of the fits of a result, in one pass over their records: by a run while it writes
 * them, and by the commands that read a result. Its facts are listed in digest_facts.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/view.h"
#include "io/file/fit_record.h"

enum { DIGEST_N_EXAMPLE = 3, DIGEST_ID = 64, DIGEST_N_NOTE = 32 };

/* The first few ids of a group of fits. */
struct digest_examples {
    uint64_t n;
    char id[DIGEST_N_EXAMPLE][DIGEST_ID];
};

/* Positive numbers: a few are kept, more are counted by their logarithms; in any order. */
enum { DIGEST_N_EXACT = 1000, DIGEST_PER_DECADE = 128, DIGEST_FIRST = -12, DIGEST_LAST = 20,
       DIGEST_N_BIN = (DIGEST_LAST - DIGEST_FIRST) * DIGEST_PER_DECADE };
struct digest_spread {
    uint64_t n, bin[DIGEST_N_BIN];
    double first[DIGEST_N_EXACT], least, most;
};

/* Whole numbers: small ones are counted one by one, so that their quantiles are exact. */
enum { DIGEST_N_SMALL = 2048 };
struct digest_counts {
    uint64_t n, small[DIGEST_N_SMALL];
    struct digest_spread large;
};

struct digest {
    uint64_t n_fit, by_outcome[N_OUTCOME];
    struct digest_examples failed[N_OUTCOME];     /* of the failures of each kind */
    struct digest_examples noted[DIGEST_N_NOTE];  /* with that bit of enum note */
    uint64_t n_doubtful;                          /* successes with a note of NOTE_DOUBTFUL */
    /* converged, with a bound that holds a parameter */
    uint64_t n_at_bound;
    uint64_t n_no_sigma, n_known;                 /* measurements without a sigma; successes all of
                                                   * whose measurements have one */
    struct digest_spread reduced, unexplained;    /* reduced chi-square, or 1 - R squared
                                                   * (fit/objective/goodness.h) */
    struct digest_counts evaluations;             /* of each fit */
    uint64_t n_evaluation, n_step;
    double seconds;                               /* of the workers, summed */
};

void digest_add(struct digest *digest, const char *id, const struct fit_record *record,
                size_t n_parameter);
void digest_add_example(struct digest_examples *examples, const char *id);
uint64_t digest_n_failed(const struct digest *digest);

/* Sorts n finite numbers. A quantile of sorted ones, n >= 1: linear interpolation between order
 * statistics, R's type 7, NumPy's default. */
void digest_sort(double *number, size_t n);
double digest_sorted_quantile(const double *sorted, size_t n, double share);
/* A quantile; of more than DIGEST_N_EXACT numbers within the width of a bin, 1.8 %. NaN: there are
 * no numbers. */
double digest_quantile(const struct digest_spread *spread, double share);
/* The mean of the two numbers in the middle. Numbers from DIGEST_N_SMALL on are known as above. */
double digest_median(const struct digest_counts *counts);

/* Adds all facts to the open group. */
void digest_facts(struct view *view, const struct digest *digest);
