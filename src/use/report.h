/* What `stiffit report` writes: a result as one page of HTML.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/output.h"
#include "use/report_options.h"

/* Opens the output when there is something to write; the caller finishes it. Without problem or
 * model the page has no curves and residuals, and says why. */
enum status report_write(const struct report_options *options, struct output *output,
                         struct error *error);
