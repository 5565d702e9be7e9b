/* Prints facts.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/facts.h"

#include <math.h>

void facts_json(struct json *json, const struct fact *fact, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (fact[i].kind == FACT_COUNT && !isnan(fact[i].value))
            json_unsigned(json, fact[i].key, (uint64_t)fact[i].value);
        else
            json_number(json, fact[i].key, fact[i].value);
}

/* Whether it is printed without decimals: counts, and numbers whose exponents nobody wants. */
static bool is_whole(const struct fact *fact)
{
    double size = fabs(fact->value);
    return fact->kind == FACT_COUNT || (size >= 1e3 && size < 1e15);
}

void facts_text(FILE *file, const struct fact *fact, size_t n)
{
    const char *before = "  ";
    for (size_t i = 0; i < n; i++) {
        if (fact[i].is_told || isnan(fact[i].value))
            continue;
        if (is_whole(&fact[i]))
            fprintf(file, "%s%.0f ", before, fact[i].value);
        else
            fprintf(file, "%s%.3g ", before, fact[i].value);
        if (fact[i].unit)
            fprintf(file, "%s of ", fact[i].unit);
        fputs(fact[i].text, file);
        before = ", ";
    }
    if (*before == ',')
        fputc('\n', file);
}

void facts_html(FILE *file, const struct fact *fact, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (isnan(fact[i].value))
            continue;
        fprintf(file, "<tr><td>%s</td><td class=n>", fact[i].text);
        fprintf(file, is_whole(&fact[i]) ? "%.0f" : "%.4g", fact[i].value);
        if (fact[i].unit)
            fprintf(file, " %s", fact[i].unit);
        fprintf(file, "</td><td>%s</td></tr>\n", fact[i].meaning ? fact[i].meaning : "");
    }
}
