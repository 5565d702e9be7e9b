/* Numbers as text for files. People read them too, so they have no more digits than needed.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *number_text(char text[NUMBER_SIZE], double value)
{
    /* A double holds any decimal of 15 digits, and 17 digits identify any double: only 15 to 17 are worth trying. */
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
