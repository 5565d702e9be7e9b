/* Summarises a result in one pass, to be shown as text or as JSON.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "base/outcome.h"
#include "fit/statistics/digest.h"
#include "use/row_filter.h"

enum {
    SHOW_N_GROUP = 24,
    SHOW_N_SLOWEST = 5,
    SHOW_ID_LENGTH = 64,
    SHOW_N_BIN = 24,
    SHOW_N_FLAT = 8
};

/* Fits that ended alike: same status, same message up to the numbers in it. */
struct show_group {
    enum outcome outcome;
    char message[160]; /* of the first fit */
    bool differs;      /* other fits have other numbers in it */
    struct digest_examples fits;
};

/* Converged fits whose data do not determine the same combination of parameters. */
struct show_flat {
    struct digest_examples fits;
    double *weight; /* n_parameter: summed relative changes (see show_combination_text) */
};

struct show_slow {
    char id[SHOW_ID_LENGTH];
    double seconds;
    int64_t n_evaluation, n_step;
    enum outcome outcome;
};

/* Over the successful fits; NaN: none. */
struct show_spread {
    double min, q25, median, q75, max;
    double error;                   /* median of the relative standard errors */
    uint64_t n_at_lower, n_at_upper, n_lack[N_LACK];
    uint64_t n_limit[2][N_LIMIT];   /* of a parameter: how its profiles ended, below and above */
    /* of a parameter: sum of log(bootstrap error / standard error) of n_ratio fits */
    double log_ratio;
    uint64_t n_ratio;
    bool is_log;                    /* the histogram's axis is logarithmic */
    bool is_cut;                    /* what is far outside is cut off */
    double low, high;               /* of the axis */
    uint64_t bin[SHOW_N_BIN];
};

/* Successful fits by the result of their starts: all at one optimum, some elsewhere, only the
 * best one, or the others failed; those with bootstrap replicates, and the fewest and most of
 * these. */
struct show_refits {
    uint64_t n_same, n_some;
    struct digest_examples alone, only;
    bool has_profile;
    uint64_t n_bootstrap;
    int64_t least, most;
};

struct show_summary {
    struct digest digest;
    uint64_t n_success, n_sampled; /* n_sampled: fits used for the quartiles */
    uint64_t by_stop[N_STOP];
    size_t n_group;
    struct show_group group[SHOW_N_GROUP];
    uint64_t n_other;          /* unsuccessful fits beyond those groups */
    size_t n_slow;
    struct show_slow slow[SHOW_N_SLOWEST];
    size_t n_flat;
    struct show_flat flat[SHOW_N_FLAT];
    uint64_t n_fit_flat, n_other_flat; /* fits with flat directions; those beyond the groups */
    double *weights;           /* of the groups */
    struct show_refits refits;
    struct show_spread objective;
    /* of the fits that each of them judges (fit/objective/goodness.h) */
    struct show_spread reduced, r_squared;
    struct show_spread *parameter; /* n_parameter of the result */
};

/* Reads the whole result once, in blocks, and counts the rows that `rows` selects.
 * show_summary_fini is legal after a failure. */
enum status show_summarise(struct result *result, const struct row_words *rows,
                           struct show_summary *summary, struct error *error);
void show_summary_fini(struct show_summary *summary);
/* All but `error` and what is counted, of the finite ones of n numbers, which it sorts; is_log:
 * a logarithmic axis, if all are above 0. */
void show_fill_spread(struct show_spread *spread, double *numbers, uint64_t n, bool is_log);
/* The bin of a value on the spread's axis; -1: outside. */
int show_bin(const struct show_spread *spread, double value);

/* A parameter with a smaller weight in a direction is not named. */
#define SHOW_NAMED 0.1
/* show_flat.c: the record's flattest direction or, if there are several flat ones with no
 * parameters in common, number 1, 2, ...; into weight[n_parameter], in relative changes of the
 * parameters, with length 1 and its first large entry positive. False: it has none. */
bool show_combination(const struct result_info *info, const struct fit_record *record, int number,
                      double *weight);
/* The number of such directions, at least 1. */
int show_n_combination(const struct result_info *info, const struct fit_record *record);
/* "0.71 log p2 - 0.70 log p3": the main terms. Returns `text`. */
const char *show_combination_text(const struct result_info *info, const double *weight, char *text,
                                  size_t size);

/* From the record's covariance, n_parameter x n_parameter; NaN: unknown. False: there is no
 * covariance. */
bool show_correlation(const struct result_info *info, const struct fit_record *record,
                      double *correlation);
/* Geometric mean of bootstrap error / standard error; NaN: none. */
double show_error_ratio(const struct show_spread *spread);
/* The datasets that a partial result covers, in words; NULL: all. */
const char *show_selection(const struct result_info *info);
