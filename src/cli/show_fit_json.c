/* One fit as JSON: every number that the result holds of it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/show_text.h"

#include "use/fit_columns.h"

#include <string.h>

void show_fit_json(FILE *file, const struct result *result, const char *id, struct fit_record *record, double *scratch)
{
    const struct result_info *info = result_info(result);
    struct fit_columns columns;
    struct error ignored;
    struct json json;
    char text[400];
    json_begin(&json, file, true);
    json_object_begin(&json);
    if (!fit_columns_choose(&columns, result, NULL, "all,covariance", &ignored))
        fit_columns_json(&columns, info, id, record, &json);
    if (show_correlation(info, record, scratch)) {
        json_key(&json, "correlation");
        fit_columns_json_matrix(&json, info->n_parameter, scratch);
    }
    if (show_combination(info, record, 1, scratch)) {
        json_key(&json, "flattest_combination");
        json_string(&json, show_combination_text(info, scratch, text, sizeof text));
    }
    json_key(&json, "flat_combinations");
    json_array_begin(&json);
    for (int number = 1; record->n_flat > 0 && number <= show_n_combination(info, record); number++)
        if (show_combination(info, record, number, scratch))
            json_string(&json, show_combination_text(info, scratch, text, sizeof text));
    json_array_end(&json);
    json_object_end(&json);
    json_end(&json);
}
