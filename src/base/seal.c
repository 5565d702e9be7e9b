/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/seal.h"

#include "base/sha256.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char before[] = "\nmade by stiffit, which replaces this file while it is unchanged: ";
enum { N_BEFORE = sizeof before - 1, N_LINE = N_BEFORE + SHA256_HEX }; /* with a line break */

/* The line for the first n bytes. False: they cannot be read. */
static bool line_of(FILE *file, long n, char line[N_LINE + 1])
{
    unsigned char buffer[1 << 14];
    struct sha256 hash;
    char hex[SHA256_HEX];
    sha256_begin(&hash);
    rewind(file);
    while (n > 0) {
        size_t want = n < (long)sizeof buffer ? (size_t)n : sizeof buffer;
        if (fread(buffer, 1, want, file) != want)
            return false;
        sha256_add(&hash, buffer, want);
        n -= (long)want;
    }
    sha256_end_hex(&hash, hex);
    snprintf(line, N_LINE + 1, "%s%s\n", before, hex);
    return true;
}

static long size_of(FILE *file)
{
    struct stat about;
    return file && !fstat(fileno(file), &about) && S_ISREG(about.st_mode) ? (long)about.st_size
                                                                          : -1;
}

enum status seal_put(const char *path, struct error *error)
{
    char line[N_LINE + 1];
    FILE *file = fopen(path, "r+b");
    long size = size_of(file);
    errno = 0;
    bool good = size >= 0 && line_of(file, size, line) && !fseek(file, 0, SEEK_END)
                && fwrite(line, 1, N_LINE, file) == N_LINE;
    int number = errno;
    if (file && fclose(file)) {
        number = errno;
        good = false;
    }
    return good ? STATUS_OK : error_system(error, number, "cannot write '%.300s'", path);
}

bool seal_holds(const char *path)
{
    char line[N_LINE + 1], found[N_LINE];
    FILE *file = fopen(path, "rb");
    long size = size_of(file);
    bool holds = size >= N_LINE && !fseek(file, size - N_LINE, SEEK_SET)
                 && fread(found, 1, N_LINE, file) == N_LINE
                 && !memcmp(found, before, N_BEFORE)
                 && line_of(file, size - N_LINE, line) && !memcmp(found, line, N_LINE);
    if (file)
        fclose(file);
    return holds;
}
