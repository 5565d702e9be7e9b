/* Structures and arrays as bytes, in this machine's order and as this build lays them out: one
 * function goes over the fields to measure, write and read them.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Goes over fields: measures (to and from NULL), writes, or reads. A value that is NULL is passed over. */
struct cursor {
    unsigned char *to;
    const unsigned char *from;
    size_t at, n; /* reading: the number of bytes */
    bool is_bad;  /* reading: there were not enough */
};

static inline void pass_over(struct cursor *cursor, void *value, size_t n)
{
    if (cursor->from && (cursor->is_bad || n > cursor->n - cursor->at)) {
        cursor->is_bad = true;
        return;
    }
    if (cursor->from && value)
        memcpy(value, cursor->from + cursor->at, n);
    else if (cursor->to && value)
        memcpy(cursor->to + cursor->at, value, n);
    cursor->at += n;
}

#define FIELD(field) pass_over(cursor, &(field), sizeof(field))
#define ARRAY(array, n) pass_over(cursor, array, (n) * sizeof *(array))
