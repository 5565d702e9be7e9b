/* SHA-256 over nettle: feeding numbers and strings in one canonical form, and hexadecimal.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/sha256.h"

#include "base/bytes.h"

#include <math.h>
#include <string.h>

void sha256_begin(struct sha256 *hash) { nettle_sha256_init(&hash->context); }

void sha256_add(struct sha256 *hash, const void *data, size_t n)
{
    if (n)
        nettle_sha256_update(&hash->context, n, data);
}

void sha256_add_uint64(struct sha256 *hash, uint64_t value)
{
    unsigned char bytes[8];
    bytes_put_64(bytes, value);
    sha256_add(hash, bytes, sizeof bytes);
}

void sha256_add_double(struct sha256 *hash, double value)
{
    uint64_t bits;
    value = isnan(value) ? (double)NAN : value == 0 ? 0.0 : value;
    memcpy(&bits, &value, sizeof bits);
    if (isnan(value))
        bits = UINT64_C(
            0x7ff8000000000000); /* the sign and payload of NAN are the compiler's choice */
    sha256_add_uint64(hash, bits);
}

void sha256_add_string(struct sha256 *hash, const char *text)
{
    size_t n = text ? strlen(text) : 0;
    sha256_add_uint64(hash, text ? n : UINT64_MAX);
    sha256_add(hash, text, n);
}

void sha256_end(struct sha256 *hash, unsigned char digest[SHA256_BYTES])
{
    nettle_sha256_digest(&hash->context, SHA256_BYTES, digest);
}

void sha256_of(const void *data, size_t n, unsigned char digest[SHA256_BYTES])
{
    struct sha256 hash;
    sha256_begin(&hash);
    sha256_add(&hash, data, n);
    sha256_end(&hash, digest);
}

void sha256_hex(const unsigned char digest[SHA256_BYTES], char hex[SHA256_HEX])
{
    for (int i = 0; i < SHA256_BYTES; i++) {
        hex[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    hex[SHA256_HEX - 1] = '\0';
}

void sha256_end_hex(struct sha256 *hash, char hex[SHA256_HEX])
{
    unsigned char digest[SHA256_BYTES];
    sha256_end(hash, digest);
    sha256_hex(digest, hex);
}

void sha256_hex_of(const void *data, size_t n, char hex[SHA256_HEX])
{
    unsigned char digest[SHA256_BYTES];
    sha256_of(data, n, digest);
    sha256_hex(digest, hex);
}

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

bool sha256_from_hex(const char *hex, unsigned char digest[SHA256_BYTES])
{
    if (strlen(hex) != SHA256_HEX - 1)
        return false;
    for (int i = 0; i < SHA256_BYTES; i++) {
        int high = hex_value(hex[2 * i]), low = hex_value(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        digest[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}
