/* The table of the true parameters of simulated datasets: a row of them for each.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "use/simulate.h"

/* Zero-initialise. Without --truth the functions do nothing. */
struct simulate_truth {
    struct output output;
    struct csv_writer writer;
    size_t n; /* parameters */
};
/* With its head: n names. */
enum status simulate_truth_open(struct simulate_truth *truth,
                                const struct simulate_options *options, const char *const *name,
                                size_t n, struct error *error);
void simulate_truth_put(struct simulate_truth *truth, const char *id, const double *p);
enum status simulate_truth_finish(struct simulate_truth *truth, struct error *error);
/* Legal after a failure. */
void simulate_truth_close(struct simulate_truth *truth);
