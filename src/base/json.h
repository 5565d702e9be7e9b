/* A JSON writer that streams to a FILE: commas, escapes and numbers in one place, without a copy
 * in memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_MAX_DEPTH = 63 };

/* Start with json_begin. One thread at a time. `key` is the name of a member of an object, and
 * NULL in an array and at the top. Calls that make no valid JSON (a member without its key, an
 * end without a beginning) are bugs, and asserted. */
struct json {
    FILE *file;
    int depth;
    /* bit d: whether an array is open at depth d, and whether that level has an item */
    uint64_t is_array, has_item;
    /* set after json_begin: for a script element of HTML, without blanks and with \u003c for < */
    bool in_page;
};

/* Indented by two blanks a level. The file stays the caller's, who checks ferror at the end. */
void json_begin(struct json *json, FILE *file);
/* Ends what is still open, and the line. */
void json_end(struct json *json);

void json_object_begin(struct json *json, const char *key);
void json_object_end(struct json *json);
void json_array_begin(struct json *json, const char *key);
void json_array_end(struct json *json);

/* UTF-8 is copied; each byte that is not part of valid UTF-8 becomes U+FFFD. NULL is null. */
void json_string(struct json *json, const char *key, const char *text);
/* An array of n strings. */
void json_strings(struct json *json, const char *key, const char *const *texts, size_t n);
/* The fewest digits that read back to the same bits, with a point in every locale. NaN and
 * infinities, which JSON lacks, are null. */
void json_number(struct json *json, const char *key, double value);
void json_integer(struct json *json, const char *key, int64_t value);
void json_unsigned(struct json *json, const char *key, uint64_t value);
/* An object of counts: of the numbers from `first` to n - 1, by their names; those that have
 * none are left out. */
void json_counts(struct json *json, const char *key, const char *(*name)(int number), int first,
                 int n, const uint64_t *count);
void json_boolean(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);
