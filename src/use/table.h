/* The CSV table of predictions that several commands print.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef USE_TABLE_H
#define USE_TABLE_H

#include "model/plugin.h"

#include <stdio.h>

/* The long form that `stiffit import` reads: dataset, time, observable, value. */
void table_predictions_head(FILE *file);
void table_predictions(FILE *file, const char *id, const struct model *model, size_t n, const double *time,
                       const uint32_t *observable, const double *value);

#endif
