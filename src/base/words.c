/* The nearest match is by edit distance in the restricted form of Damerau (1964): insertions,
 * deletions, exchanges and swapped neighbours.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/words.h"

#include "base/arena.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LENGTH = 63 };

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

/* Twice the distance, so that a difference in case can count as half an edit. */
static unsigned distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    unsigned row[3][MAX_LENGTH + 1];
    for (unsigned j = 0; j <= n_b; j++)
        row[0][j] = 2 * j;
    for (unsigned i = 1; i <= n_a; i++) {
        unsigned *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = 2 * i;
        for (unsigned j = 1; j <= n_b; j++) {
            unsigned char x = (unsigned char)a[i - 1], y = (unsigned char)b[j - 1];
            unsigned change = x == y                                               ? 0
                              : tolower(x) == tolower(y) || (x == '_' && y == '-') ? 1
                                                                                   : 2;
            now[j] = least(last[j - 1] + change, least(last[j], now[j - 1]) + 2);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 2);
        }
    }
    return row[n_a % 3][n_b];
}

const char *nearest_name(const char *name, const char *const *candidates, size_t n_candidate)
{
    size_t n_name = strlen(name);
    const char *best = NULL;
    unsigned best_distance = 0;
    if (n_name == 0 || n_name > MAX_LENGTH)
        return NULL;
    for (size_t i = 0; i < n_candidate; i++) {
        size_t n = candidates[i] ? strlen(candidates[i]) : 0;
        if (n == 0 || n > MAX_LENGTH)
            continue;
        unsigned d = distance(name, n_name, candidates[i], n);
        unsigned limit = 2 * (unsigned)(1 + n_name / 4);
        size_t shorter = n < n_name ? n : n_name;
        if (shorter >= 3 && !strncmp(name, candidates[i], shorter) &&
            d > 0) /* preferred at equal distance */
            d = least(d, limit) - 1;
        if (d <= limit && (!best || d < best_distance)) {
            best = candidates[i];
            best_distance = d;
        }
    }
    return best;
}

const char *nearest_hint(char hint[NEAREST_HINT], const char *before, const char *behind,
                         const char *name, const char *const *candidates, size_t n_candidate)
{
    const char *near = nearest_name(name, candidates, n_candidate);
    snprintf(hint, NEAREST_HINT, "%s%s%s", near ? before : "", near ? near : "",
             near ? behind : "");
    return hint;
}

int words_find(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, names[i]))
            return (int)i;
    return -1;
}

const char *words_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void words_add(char *text, size_t size, const char *format, ...)
{
    size_t used = size ? strlen(text) : 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

bool nearest_is_same(const char *word, const char *other)
{
    for (;; word++, other++) {
        word += strspn(word, "-");
        other += strspn(other, "-");
        if (*word != *other || !*word)
            return *word == *other;
    }
}

char *number_text(char text[NUMBER_SIZE], double value)
{
    /* A double holds any decimal of 15 digits, and 17 digits identify any double: only 15 to 17
     * are worth trying. */
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, NUMBER_SIZE, "%.*g", digits, value);
        if (!isfinite(value) || strtod(text, NULL) == value)
            break;
    }
    char *comma = strchr(text, ',');
    if (comma)
        *comma = '.';
    return text;
}

double number_decimal(double value)
{
    char text[NUMBER_SIZE];
    snprintf(text, sizeof text, "%.15g", value);
    return strtod(text, NULL);
}

int utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    int n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    unsigned low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
    unsigned high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
    if (s[1] < low || s[1] > high)
        return 0;
    for (int i = 2; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

bool utf8_is_valid(const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int n = utf8_length(s);
        if (n == 0)
            return false;
        s += n;
    }
    return true;
}

/* The first 256 characters of Unicode are those of Latin-1. */
void utf8_from_latin1(const char *text, char *out)
{
    for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
        if (*s >= 0x80)
            *out++ = (char)(0xc0 | *s >> 6);
        *out++ = (char)(*s < 0x80 ? *s : 0x80 | (*s & 0x3f));
    }
    *out = '\0';
}

bool utf8_make_valid(struct arena *arena, size_t n, char **text)
{
    for (size_t i = 0; i < n; i++) {
        if (!text[i] || utf8_is_valid(text[i]))
            continue;
        char *converted = arena_alloc(arena, 2 * strlen(text[i]) + 1);
        if (!converted)
            return false;
        utf8_from_latin1(text[i], converted);
        text[i] = converted;
    }
    return true;
}
