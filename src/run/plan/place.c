/* Names of results and journals.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status place_init(struct place *place, const char *output, const char *suffix, struct error *error)
{
    const char *problem = place->problem, *left = output ? output : place->problem;
    char right[200];
    size_t n = strlen(left);
    bool is_named = place->in_place || output;
    snprintf(right, sizeof right, "%s.result.h5", suffix);
    if (!is_named && n > 3 && !strcmp(problem + n - 3, ".h5"))
        n -= 3;
    place->result = malloc(n + sizeof right);
    place->journal = malloc(n + sizeof right + sizeof ".journal");
    if (!place->result || !place->journal)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the paths of the result");
    sprintf(place->result, "%.*s%s", (int)n, left, is_named ? "" : right);
    sprintf(place->journal, "%s.journal", place->result);
    return STATUS_OK;
}

void place_fini(struct place *place)
{
    free(place->result);
    free(place->journal);
    place->result = place->journal = NULL;
}
