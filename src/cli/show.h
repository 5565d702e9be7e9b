/* One fit of a result in detail, as text and as JSON.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "use/show_view.h"

/* scratch: n_parameter x n_parameter. */
enum status show_fit_text(FILE *file, const struct result_info *info, const char *id,
                          const struct fit_record *record, double *scratch, struct error *error);
enum status show_fit_json(FILE *file, const struct result *result, const char *id,
                          struct fit_record *record, double *scratch, struct error *error);
