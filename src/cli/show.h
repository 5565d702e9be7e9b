/* What is in a file, gathered once and shown as text or as JSON.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "base/error.h"
#include "base/outcome.h"
#include "io/result.h"

enum { SHOW_N_GROUP = 24, SHOW_N_EXAMPLE = 3, SHOW_N_SLOWEST = 5, SHOW_ID_LENGTH = 64 };

/* Fits that ended alike: same status, same message but for the numbers in it. */
struct show_group {
    enum outcome outcome;
    uint64_t n;
    char message[160]; /* of the first one */
    char example[SHOW_N_EXAMPLE][SHOW_ID_LENGTH];
};

struct show_slow {
    char id[SHOW_ID_LENGTH];
    double seconds;
    int64_t n_evaluation, n_step;
    enum outcome outcome;
};

struct show_spread {
    double min, q25, median, q75, max; /* of the successful fits; NaN where there is none */
    uint64_t n_at_lower, n_at_upper;
};

struct show_summary {
    uint64_t n_fit, n_success, n_sampled; /* n_sampled: fits that the quartiles were taken from */
    uint64_t by_outcome[N_OUTCOME], by_note[32];
    size_t n_group;
    struct show_group group[SHOW_N_GROUP];
    uint64_t n_other;          /* unsuccessful fits beyond those groups */
    size_t n_slow;
    struct show_slow slow[SHOW_N_SLOWEST];
    double seconds;
    struct show_spread objective;
    struct show_spread *parameter; /* n_parameter of the result */
};

/* Reads the whole result once, in blocks. show_summary_fini is legal after a failure. */
enum status show_summarise(struct result *result, struct show_summary *summary, struct error *error);
void show_summary_fini(struct show_summary *summary);

#endif
