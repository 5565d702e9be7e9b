/* Names of wells: a letter or two and a number, perhaps behind the plate's name and a character
 * that is neither letter nor digit: "A1", "H12", "P2_AF48", "plate 3:B07".
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Where the well begins in the name; NULL: it is no well's. */
static inline const char *well_of(const char *name)
{
    const char *end = name + strlen(name), *digits = end, *letters;
    while (digits > name && isdigit((unsigned char)digits[-1]))
        digits--;
    for (letters = digits; letters > name && isalpha((unsigned char)letters[-1]);)
        letters--;
    bool is_behind = letters == name ||
                     (!isalnum((unsigned char)letters[-1]) && (unsigned char)letters[-1] < 128);
    return end - digits >= 1 && end - digits <= 2 && digits - letters >= 1 &&
                   digits - letters <= 2 && is_behind
               ? letters
               : NULL;
}

/* The name with its well written in one way, "A01" as "A1"; other names as they are. NULL: no
 * memory. */
static inline char *well_plain_name(const char *name)
{
    const char *well = well_of(name);
    char *plain = strdup(name), *at = plain ? plain + strlen(plain) : NULL;
    if (!plain || !well)
        return plain;
    const char *digits = well + strcspn(well, "0123456789");
    at = plain + (well - name);
    for (; well < digits; well++)
        *at++ = (char)toupper((unsigned char)*well);
    strcpy(at, digits + (digits[0] == '0' && digits[1]));
    return plain;
}

/* Whether a name means the dataset: the same well ("A1" is "A01") of the same plate, or of any
 * plate if the name has none. */
static inline bool well_means(const char *name, const char *dataset)
{
    const char *a = well_of(name), *b = well_of(dataset);
    size_t n = a ? strcspn(a, "0123456789") : 0, plate = a ? (size_t)(a - name) : 0;
    return a && b && strcspn(b, "0123456789") == n && !strncasecmp(a, b, n) &&
           atoi(a + n) == atoi(b + n) &&
           (plate == 0 || (plate == (size_t)(b - dataset) && !memcmp(name, dataset, plate)));
}
