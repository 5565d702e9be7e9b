/* What a report is to show.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "use/fitted.h"
#include "use/row_filter.h"

enum { REPORT_N_GALLERY = 200 }; /* at most */

struct report_options {
    struct fitted_options files;
    struct row_words rows; /* of `id` only: datasets for the gallery */
    int64_t n_gallery, seed;
    int64_t n_replicate;   /* of each dataset, to check a population */
    bool full, overwrite;
};
