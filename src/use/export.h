/* What the kinds of `stiffit export` share.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef USE_EXPORT_H
#define USE_EXPORT_H

#include "base/output.h"

enum export_what {
    EXPORT_FITS, EXPORT_PREDICTIONS, EXPORT_RESIDUALS, EXPORT_COVARIANCE, EXPORT_STARTS, EXPORT_PROFILE, EXPORT_BOOTSTRAP
};

struct export_options {
    const char *result, *problem, *model, *output, *columns;
    bool trust, overwrite, json;
    int what; /* enum export_what */
    int color;
};

/* All open the output once there is something to write, and leave it to be finished. */
enum status export_fits(const struct export_options *options, struct output *output, struct error *error);
enum status export_rows(const struct export_options *options, struct output *output, struct error *error);
enum status export_kept(const struct export_options *options, struct output *output, struct error *error);

#endif
