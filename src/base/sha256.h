/* SHA-256, for the identities of problem, model and options. A thin layer over nettle, whose
 * names are used only here.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <nettle/sha2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_HEX = 65 };

struct sha256 {
    struct sha256_ctx context;
};

void sha256_begin(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const void *data, size_t n);
/* Numbers enter as eight bytes, little-endian, so that the hash is the same on every machine. */
void sha256_add_uint64(struct sha256 *hash, uint64_t value);
/* All NaNs are one value, and -0 is 0. */
void sha256_add_double(struct sha256 *hash, double value);
/* Length and bytes, so that ("ab", "c") and ("a", "bc") differ; NULL differs from "". */
void sha256_add_string(struct sha256 *hash, const char *text);
/* Returns the hash; call sha256_begin before the next use. */
void sha256_end(struct sha256 *hash, unsigned char digest[SHA256_BYTES]);

void sha256_of(const void *data, size_t n, unsigned char digest[SHA256_BYTES]);

/* 64 lower-case digits and a NUL: of a digest; of the hash, which ends; of n bytes. */
void sha256_hex(const unsigned char digest[SHA256_BYTES], char hex[SHA256_HEX]);
void sha256_end_hex(struct sha256 *hash, char hex[SHA256_HEX]);
void sha256_hex_of(const void *data, size_t n, char hex[SHA256_HEX]);
/* The inverse, upper case allowed; false if `hex` is anything but 64 digits. */
bool sha256_from_hex(const char *hex, unsigned char digest[SHA256_BYTES]);
