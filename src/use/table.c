/* Predictions in long form.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/table.h"

#include "io/csv.h"

void table_predictions_head(FILE *file) { fputs("dataset,time,observable,value\n", file); }

void table_predictions(FILE *file, const char *id, const struct model *model, size_t n, const double *time,
                       const uint32_t *observable, const double *value)
{
    struct csv_writer writer = {.file = file};
    for (size_t i = 0; i < n; i++) {
        csv_put_text(&writer, id);
        csv_put_number(&writer, time[i]);
        csv_put_text(&writer, model->abi.observable_name[observable[i]]);
        csv_put_number(&writer, value[i]);
        csv_end_row(&writer);
    }
}
