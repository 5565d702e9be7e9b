/* What `stiffit export` writes: rows by fit, by pair of parameters, by measurement, or of a
 * run's profiles, starts and replicates.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/output.h"
#include "use/fitted.h"
#include "use/row_filter.h"

enum export_what {
    EXPORT_FITS,
    EXPORT_PREDICTIONS,
    EXPORT_RESIDUALS,
    EXPORT_DIAGNOSTICS,
    EXPORT_COVARIANCE,
    EXPORT_STARTS,
    EXPORT_PROFILE,
    EXPORT_BOOTSTRAP
};

struct export_options {
    struct fitted_options files;
    struct row_words rows;
    const char *columns;
    const char *petab;      /* a folder for PEtab problems, instead of all else; or NULL */
    /* the PEtab problem, which may have files outside of its folder; NULL: the one that was
     * imported */
    const char *petab_yaml;
    bool overwrite, json, decimal_comma, types_row; /* json: not for measurements and pairs */
    int what; /* enum export_what */
    int64_t n_replicate, seed; /* of diagnostics */
};

/* Whether the model is called. */
bool export_computes(const struct export_options *options);
/* Opens the output when there is something to write; the caller finishes it. */
enum status export_write(const struct export_options *options, struct output *output,
                         struct error *error);
