/* Structures and arrays as bytes, in this machine's order and as this build lays them out: one
 * function goes over the fields to measure, write and read them.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Goes over fields: measures (to and from NULL), writes, or reads. A value that is NULL is
 * passed over. */
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

/* A text or NULL. One that is read points into the bytes. */
static inline void pass_text(struct cursor *cursor, const char **text)
{
    size_t n = cursor->from || !*text ? 0 : strlen(*text) + 1;
    pass_over(cursor, &n, sizeof n);
    if (!cursor->from) {
        pass_over(cursor, (void *)(uintptr_t)*text, n);
        return;
    }
    const char *found = (const char *)cursor->from + cursor->at;
    cursor->is_bad =
        cursor->is_bad || n > cursor->n - cursor->at || (n > 0 && found[n - 1] != '\0');
    *text = n > 0 && !cursor->is_bad ? found : NULL;
    cursor->at += cursor->is_bad ? 0 : n;
}

#define FIELD(field) pass_over(cursor, &(field), sizeof(field))
#define ARRAY(array, n) pass_over(cursor, array, (n) * sizeof *(array))
