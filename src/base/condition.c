/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/condition.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* In the order of the enumeration; longer ones are looked for first. */
static const char *const operators[] = {"<", ">", "<=", ">=", "==", "!="};

const char *condition_operator_text(enum condition_operator comparison)
{
    return operators[comparison];
}

bool condition_holds(enum condition_operator comparison, double x, double y)
{
    bool is_same = isnan(y) ? isnan(x) : x == y;
    switch (comparison) {
    case IS_LESS: return x < y;
    case IS_MORE: return x > y;
    case IS_LESS_OR_SAME: return x <= y;
    case IS_MORE_OR_SAME: return x >= y;
    case IS_SAME: return is_same;
    default: return !is_same;
    }
}

/* The characters up to one of `end`, and then the blanks. A word that is too long becomes "". */
static void take_word(const char **at, const char *end, char *word, size_t size)
{
    size_t n = strcspn(*at, end);
    snprintf(word, size, "%.*s", n < size ? (int)n : 0, *at);
    *at += n;
    *at += strspn(*at, " \t");
}

/* A word, or what is between quotes: 'P 1' or "P 1". */
static void take_quoted(const char **at, const char *end_of_word, char *word, size_t size)
{
    const char quote[2] = {**at, '\0'};
    const char *end = *quote == '\'' || *quote == '"' ? strchr(*at + 1, *quote) : NULL;
    if (!end) {
        take_word(at, end_of_word, word, size);
        return;
    }
    ++*at;
    take_word(at, quote, word, size);
    ++*at;
    *at += strspn(*at, " \t");
}

enum status condition_next(const char **text, struct condition *condition, bool *more,
                           struct error *error)
{
    const char *at = *text + strspn(*text, " \t");
    size_t best = 0;
    take_quoted(&at, " \t<>=!", condition->name, sizeof condition->name);
    for (int i = 0; i < (int)(sizeof operators / sizeof *operators); i++)
        if (!strncmp(at, operators[i], strlen(operators[i])) && strlen(operators[i]) > best) {
            condition->comparison = (enum condition_operator)i;
            best = strlen(operators[i]);
        }
    if (!condition->name[0] || best == 0)
        return error_set(error, STATUS_USAGE,
                         "--where: expected NAME and one of < <= > >= == != at '%.40s'", at);
    at += best;
    at += strspn(at, " \t");
    take_quoted(&at, " \t", condition->word, sizeof condition->word);
    if (*at && (strncmp(at, "and", 3) || !strchr(" \t", at[3])))
        return error_set(error, STATUS_USAGE, "--where: expected 'and' at '%.40s'", at);
    *more = *at != '\0';
    *text = at + (*more ? strlen("and") : 0);
    return STATUS_OK;
}
