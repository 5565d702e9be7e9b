/* Where a run's result and its journal are, and what may become of a result that is there.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_PLACE_H
#define RUN_PLACE_H

#include "base/error.h"

#include <stdbool.h>

struct place {
    const char *problem;
    char *result, *journal; /* place_fini frees them */
    bool in_place;          /* the result goes into the problem file */
    bool overwrite;         /* a result that is there is replaced ... */
    bool retry_failed;      /* ... or its failed rows are */
};

/* With problem and flags set: result and journal. `output` may be NULL: then the result is PROBLEM<suffix>.result.h5, PROBLEM
 * without .h5. place_fini is legal after a failure. */
enum status place_init(struct place *place, const char *output, const char *suffix, struct error *error);
void place_fini(struct place *place);

#endif
