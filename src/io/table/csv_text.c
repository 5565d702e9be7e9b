/* What the text of a table means, apart from the reader: its delimiter, its header, its numbers.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/table/csv.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

char csv_find_delimiter(const char *header)
{
    static const char candidates[] = ",;\t";
    size_t count[3] = {0}, n_word = 0;
    bool quoted = false, in_word = false, is_unit = false;
    for (const char *p = header; *p; p++) {
        const char *found = strchr(candidates, *p);
        bool is_blank = !quoted && strchr(" \t\r\n", *p);
        quoted = quoted != (*p == '"');
        if (found && !quoted)
            count[found - candidates]++;
        /* "conc [mg/L]" is one column */
        is_unit = is_unit || (!quoted && (*p == '[' || *p == '('));
        n_word += !is_blank && !in_word;
        in_word = !is_blank;
    }
    int best = 0;
    for (int i = 1; i < 3; i++)
        if (count[i] > count[best])
            best = i;
    return count[best] == 0 && n_word > 1 && !is_unit ? ' ' : candidates[best];
}

/* Counts the fields of a row's text, and those that are numbers. */
static size_t count_fields(const char *text, char delimiter, size_t *n_number)
{
    size_t n = 1, length = 0;
    char field[64];
    bool quoted = false, is_blank_between = delimiter == ' ';
    *n_number = 0;
    text += is_blank_between ? strspn(text, " \t") : 0;
    for (const char *p = text;; p++) {
        quoted = quoted != (*p == '"');
        bool ends = !*p || *p == '\n' || (*p == delimiter && !quoted);
        if (!ends && length < sizeof field - 1)
            field[length++] = *p;
        if (!ends)
            continue;
        double number;
        field[length] = '\0';
        length = 0;
        *n_number += csv_parse_double(field, &number) && isfinite(number);
        const char *next = p + (is_blank_between ? strspn(p, " \t\r\n") : 1);
        if (*p != delimiter || !*p || (is_blank_between && !*next))
            return n;
        p = next - 1;
        n++;
    }
}

bool csv_is_header_of(const char *comment, const char *row)
{
    size_t n_number, n_below;
    char delimiter = csv_find_delimiter(comment);
    size_t n = count_fields(comment, delimiter, &n_number);
    return n > 1 && n_number == 0 && count_fields(row, delimiter, &n_below) == n && n_below > 0;
}

void csv_drop_unit(char *name)
{
    size_t n = strlen(name);
    char *unit = n && name[n - 1] == ']'   ? strrchr(name, '[')
                 : n && name[n - 1] == ')' ? strrchr(name, '(')
                                           : NULL;
    if (!unit || unit == name || (*unit == '(' && unit[-1] != ' '))
        return;
    while (unit > name && unit[-1] == ' ')
        unit--;
    *unit = '\0';
}

bool csv_parse_double(const char *text, double *value)
{
    static const char *const missing[] = {"", ".", "NA", "N/A", "NaN"};
    const char *begin = text + strspn(text, " \t");
    size_t n = strlen(begin);
    while (n > 0 && (begin[n - 1] == ' ' || begin[n - 1] == '\t'))
        n--;
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        if (strlen(missing[i]) == n && !strncasecmp(missing[i], begin, n)) {
            *value = NAN;
            return true;
        }
    if (memchr(begin, 'x', n) || memchr(begin, 'X', n))
        return false;
    /* glibc returns a permanent object: cheap */
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale)
        return false;
    char *end;
    double number = strtod_l(begin, &end, c_locale);
    freelocale(c_locale);
    bool infinite_text = n > 0 && strpbrk(begin, "iI") != NULL;
    if (end != begin + n || isnan(number) || (isinf(number) && !infinite_text))
        return false;
    *value = number;
    return true;
}

bool csv_parse_fortran(const char *text, double *value)
{
    char number[64];
    size_t n = strspn(text, " \t"), digits = n + strspn(text + n, "+-");
    size_t end = digits + strspn(text + digits, "0123456789.");
    bool has_letter = text[end] && strchr("EeDd", text[end]);
    const char *exponent = text + end + has_letter;
    bool has_sign = *exponent == '+' || *exponent == '-';
    if (digits > n + 1 || end == digits || !isdigit((unsigned char)exponent[has_sign]) ||
        (!has_letter && !has_sign))
        return false;
    int length = snprintf(number, sizeof number, "%.*se%s", (int)(end - n), text + n, exponent);
    return length < (int)sizeof number && csv_parse_double(number, value);
}
