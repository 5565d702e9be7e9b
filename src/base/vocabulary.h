/* Functions that return the words of a numbered list, X(number, name, meaning), for the enumerations of results.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_VOCABULARY_H
#define BASE_VOCABULARY_H

#include <stddef.h>

#define VOCABULARY_NAME(number, name, meaning) [number] = #name,
#define VOCABULARY_MEANING(number, name, meaning) [number] = meaning,
#define VOCABULARY_PICK(words, number) \
    ((number) >= 0 && (size_t)(number) < sizeof(words) / sizeof *(words) ? (words)[number] : NULL)

/* Defines WHAT_name and WHAT_meaning; both give NULL beyond the last number. */
#define VOCABULARY(what, LIST) \
    const char *what##_name(int number) \
    { \
        static const char *const words[] = {LIST(VOCABULARY_NAME)}; \
        return VOCABULARY_PICK(words, number); \
    } \
    const char *what##_meaning(int number) \
    { \
        static const char *const words[] = {LIST(VOCABULARY_MEANING)}; \
        return VOCABULARY_PICK(words, number); \
    }

#endif
