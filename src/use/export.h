/* What `stiffit export` writes: rows of fits, of pairs of parameters, of measurements, of what a run kept.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef USE_EXPORT_H
#define USE_EXPORT_H

#include "base/output.h"
#include "use/fitted.h"

enum export_what {
    EXPORT_FITS, EXPORT_PREDICTIONS, EXPORT_RESIDUALS, EXPORT_COVARIANCE, EXPORT_STARTS, EXPORT_PROFILE, EXPORT_BOOTSTRAP
};

struct export_options {
    struct fitted_options files;
    const char *columns;
    bool overwrite, json; /* json: not of measurements and pairs */
    int what; /* enum export_what */
};

/* Opens the output once there is something to write, and leaves it to be finished. */
enum status export_write(const struct export_options *options, struct output *output, struct error *error);

#endif
