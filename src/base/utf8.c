/* The first 256 characters of Unicode are those of Latin-1.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/utf8.h"

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

void utf8_from_latin1(const char *text, char *out)
{
    for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
        if (*s >= 0x80)
            *out++ = (char)(0xc0 | *s >> 6);
        *out++ = (char)(*s < 0x80 ? *s : 0x80 | (*s & 0x3f));
    }
    *out = '\0';
}
