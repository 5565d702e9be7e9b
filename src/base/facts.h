/* Facts: a number or a word with its names, made once and printed by every printer of a view
 * (base/view.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fact_kind {
    FACT_NUMBER,   /* value; NaN: not known */
    FACT_COUNT,    /* value, a whole number, exact up to 2^53 */
    FACT_TRUTH,    /* value, 0 or 1; for JSON */
    FACT_WORD,     /* word; NULL: there is none */
    FACT_DIGITS,   /* word: a whole number that may be beyond 2^53 */
    FACT_NAMES,    /* n names; text says how many */
    FACT_EXAMPLES, /* n names of more things: text begins with "e.g." */
    FACT_BINS,     /* n counts; for JSON */
    FACT_LIST,     /* n numbers; for JSON */
    FACT_MATRIX    /* n x n numbers; for JSON */
};

/* Printers that leave a fact out, and how text sets it: bits. */
enum { FACT_NOT_IN_TEXT = 1, FACT_NOT_IN_PAGE = 2, FACT_BELOW = 4 };

struct fact {
    const char *key;     /* its member in JSON; NULL: not in JSON */
    /* behind its value, "integrator steps", with a unit "s of workers' time"; in a row the head of
     * its column; NULL: for JSON alone */
    const char *text;
    const char *unit;    /* or NULL */
    const char *meaning; /* a clause for people; or NULL */
    enum fact_kind kind;
    double value;
    unsigned how;        /* FACT_NOT_IN_TEXT, FACT_NOT_IN_PAGE; FACT_BELOW: on a line of its own */
    /* of a column in text: at least so wide, below 0 aligned to the left, 0: not in text */
    int width;
    int digits;          /* in text: significant ones of a number; the most names, 0: all */
    const char *word;
    size_t n;
    const char *const *names;
    const uint64_t *bins;
    const double *matrix; /* or list */
};

static inline struct fact fact_number(const char *key, const char *text, int width, int digits,
                                      double value)
{
    return (struct fact){key, text, .value = value, .width = width, .digits = digits};
}

static inline struct fact fact_count(const char *key, const char *text, int width, int64_t n)
{
    return (struct fact){key, text, .kind = FACT_COUNT, .value = (double)n, .width = width};
}

static inline struct fact fact_word(const char *key, const char *text, int width, const char *word)
{
    return (struct fact){key, text, .kind = FACT_WORD, .word = word, .width = width};
}

static inline struct fact fact_names(const char *key, const char *text, const char *const *names,
                                     size_t n)
{
    return (struct fact){key, text, .kind = FACT_NAMES, .n = n, .names = names};
}

static inline struct fact fact_matrix(const char *key, const double *matrix, size_t n)
{
    return (struct fact){key, .kind = FACT_MATRIX, .n = n, .matrix = matrix};
}

static inline struct fact fact_list(const char *key, const double *number, size_t n)
{
    return (struct fact){key, .kind = FACT_LIST, .n = n, .matrix = number};
}

static inline struct fact fact_truth(const char *key, bool is_true)
{
    return (struct fact){key, .kind = FACT_TRUTH, .value = is_true};
}

/* Whether it is printed without decimals: counts, and numbers whose exponents nobody wants. */
static inline bool fact_is_whole(const struct fact *fact)
{
    double size = fact->value < 0 ? -fact->value : fact->value;
    return fact->kind == FACT_COUNT || (size >= 1e3 && size < 1e15);
}

/* With these bits of `how`. */
static inline struct fact fact_how(unsigned how, struct fact fact)
{
    fact.how |= how;
    return fact;
}

/* With a meaning; and one that text has a sentence of its own for. */
static inline struct fact fact_meant(const char *meaning, struct fact fact)
{
    fact.meaning = meaning;
    return fact;
}

static inline struct fact fact_told(const char *meaning, struct fact fact)
{
    return fact_how(FACT_NOT_IN_TEXT, fact_meant(meaning, fact));
}
