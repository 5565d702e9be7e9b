/* What `stiffit report` writes: a result as one page of HTML.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/output.h"
#include "use/fitted.h"
#include "use/row_filter.h"

enum { REPORT_N_GALLERY = 200 }; /* at most */

struct report_options {
    struct fitted_options files;
    struct row_words rows; /* of `id` only: datasets for the gallery */
    int64_t n_gallery, seed;
    bool full, overwrite;
};

/* Opens the output when there is something to write; the caller finishes it. Without problem or model the page has no curves
 * and residuals, and says why. */
enum status report_write(const struct report_options *options, struct output *output, struct error *error);
