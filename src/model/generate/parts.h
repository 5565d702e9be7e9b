/* Long functions in parts of bounded length, so that compiling takes time in proportion to the model; values that live
 * across parts go through numbered places.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_GENERATE_PARTS_H
#define MODEL_GENERATE_PARTS_H

#include "model/generate/program.h"

enum { PART_OPERATIONS = 200 };

struct parts {
    uint32_t n_part;   /* at least 1 */
    uint32_t *first;   /* n_part + 1: of its statements */
    uint32_t *place;   /* per step: where other parts find it, or STEP_NONE. A part reads before it writes */
    uint32_t n_place;
    uint32_t *defined; /* per step: the part that computes it */
};

/* *parts is zero on entry; after a failure only parts_fini may be called. STATUS_NO_MEMORY. */
enum status parts_init(struct parts *parts, const struct program *program, struct error *error);
void parts_fini(struct parts *parts);

#endif
