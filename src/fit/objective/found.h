/* What a search found, for the columns of /fits: of a fit of one dataset, or of a dataset in a fit
 * of many. Separate from the statistics, which are about the best point.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/objective/types.h"
#include "fit/objective/work.h"

struct fit_found {
    enum outcome outcome;
    enum stop_test stop;
    enum optimizer optimizer;
    enum gradient_method gradient;
    int64_t n_iteration;
    struct fit_work used;
    uint32_t notes;
    const char *reason;       /* of an outcome that is no success */
    /* Of the best point; p NULL: there is none. */
    const double *p;          /* n_parameter */
    const int8_t *at_bound;   /* n_parameter, as in the record */
    double objective, gradient_norm, tighter;
    double tight_change, tight_decrease; /* of the certificate; NaN: it says nothing */
};

/* Resets a record: no outcome, no best point, no work. */
void fit_clear(struct fit_record *record, size_t n_parameter, uint32_t notes);
/* There is no result. */
void fit_fail(struct fit_record *record, enum outcome outcome, const char *reason);
/* Writes these columns of a cleared record. */
void fit_found_put(const struct fit_found *found, const struct fit_options *options,
                   size_t n_parameter, struct fit_record *record);
