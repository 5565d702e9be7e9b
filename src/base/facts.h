/* Facts about a result: each is made once, in a list, and printed as text, JSON and HTML by the
 * same three functions, so that a new fact needs one line in its list.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/json.h"

#include <stddef.h>

enum fact_kind { FACT_COUNT, FACT_NUMBER };

struct fact {
    const char *key;     /* its member in JSON */
    const char *text;    /* behind its value: "integrator steps"; with a unit "s of computing" */
    const char *unit;    /* or NULL */
    const char *meaning; /* a clause for people; or NULL */
    enum fact_kind kind;
    double value;        /* a count is exact up to 2^53; NaN: not known */
    bool is_told;        /* text has a sentence of its own for it */
};

/* Members of the open object, in the list's order. */
void facts_json(struct json *json, const struct fact *fact, size_t n);
/* "  12 evaluations, 0.5 s of computing" and a line break: those that are known and not told
 * elsewhere. */
void facts_text(FILE *file, const struct fact *fact, size_t n);
/* Rows of a table with three columns: what it is, value, meaning. */
void facts_html(FILE *file, const struct fact *fact, size_t n);
