/* Text and numbers as a report's page takes them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/report_parts.h"

#include "base/words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void report_text(FILE *file, const char *text)
{
    static const char special[] = "&<>\"'";
    static const char *const entity[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int n = utf8_length(s);
        const char *found = n == 1 ? strchr(special, *s) : NULL;
        if (found)
            fputs(entity[found - special], file);
        else if (n == 0 || (*s < 0x20 && !strchr("\t\n", *s)) || *s == 0x7f ||
                 (*s == 0xc2 && s[1] < 0xa0))
            fputs("\xef\xbf\xbd", file);
        else
            fwrite(s, 1, (size_t)n, file);
        s += n ? n : 1;
    }
}

void report_number(FILE *file, double value)
{
    if (isfinite(value))
        fprintf(file, "<td class=n>%.4g</td>", value);
    else
        fputs("<td class=n>&ndash;</td>", file);
}

double report_rounded(double value)
{
    char text[40];
    if (!isfinite(value))
        return value;
    snprintf(text, sizeof text, "%.5e", value);
    return strtod(text, NULL);
}
