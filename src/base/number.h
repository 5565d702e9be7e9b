/* Numbers as text for files: the fewest digits that read back to the same bits.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STIFFIT_BASE_NUMBER_H
#define STIFFIT_BASE_NUMBER_H

#include <stddef.h>

enum { NUMBER_SIZE = 32 };

/* 0.1 is "0.1", not "0.10000000000000001"; a point in every locale. Not finite: "nan", "inf", "-inf". Returns text. */
char *number_text(char text[NUMBER_SIZE], double value);

/* Rounded to 15 digits: 1e-9 if binary division gave 9.999999999999999e-10. */
double number_decimal(double value);

#endif
