/* Checking UTF-8, and converting Latin-1, which old programs wrote.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>

/* Length of the well-formed UTF-8 sequence at `s`, 0 if there is none (Unicode standard, table 3-7). A NUL ends it. */
int utf8_length(const unsigned char *s);
bool utf8_is_valid(const char *text);
/* Writes text of Latin-1 as UTF-8: at most 2 strlen(text) + 1 bytes. */
void utf8_from_latin1(const char *text, char *out);

#endif
