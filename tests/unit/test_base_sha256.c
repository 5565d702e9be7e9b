/* SHA-256: the standard's own examples (FIPS 180-2, appendix B), and that canonical feeding tells different inputs
 * apart.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/sha256.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char million_a[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

static void agrees_with_the_standard(void **state)
{
    (void)state;
    unsigned char digest[SHA256_BYTES];
    char hex[SHA256_HEX];
    sha256_of("abc", 3, digest);
    sha256_hex(digest, hex);
    assert_string_equal(hex, abc);
    struct sha256 hash;
    sha256_begin(&hash);
    for (int i = 0; i < 100000; i++)
        sha256_add(&hash, "aaaaaaaaaa", 10);
    sha256_add(&hash, NULL, 0);
    sha256_end(&hash, digest);
    sha256_hex(digest, hex);
    assert_string_equal(hex, million_a);
}

static void hex_is_read_back(void **state)
{
    (void)state;
    unsigned char digest[SHA256_BYTES], back[SHA256_BYTES];
    char hex[SHA256_HEX + 1];
    sha256_of("x", 1, digest);
    sha256_hex(digest, hex);
    assert_true(sha256_from_hex(hex, back));
    assert_memory_equal(digest, back, sizeof digest);
    hex[3] = (char)(hex[3] >= 'a' ? hex[3] - 32 : hex[3]);
    assert_true(sha256_from_hex(hex, back));
    assert_memory_equal(digest, back, sizeof digest);
    hex[40] = 'g';
    assert_false(sha256_from_hex(hex, back));
    assert_false(sha256_from_hex("", back));
    memset(hex, '0', sizeof hex - 1);
    hex[sizeof hex - 1] = '\0';
    assert_false(sha256_from_hex(hex, back));
}

static void hash_strings(const char *a, const char *b, unsigned char digest[SHA256_BYTES])
{
    struct sha256 hash;
    sha256_begin(&hash);
    sha256_add_string(&hash, a);
    sha256_add_string(&hash, b);
    sha256_end(&hash, digest);
}

static void hash_double(double value, unsigned char digest[SHA256_BYTES])
{
    struct sha256 hash;
    sha256_begin(&hash);
    sha256_add_double(&hash, value);
    sha256_end(&hash, digest);
}

static void feeding_is_canonical(void **state)
{
    (void)state;
    unsigned char a[SHA256_BYTES], b[SHA256_BYTES];
    hash_strings("ab", "c", a);
    hash_strings("a", "bc", b);
    assert_memory_not_equal(a, b, sizeof a);
    hash_strings("", "x", a);
    hash_strings(NULL, "x", b);
    assert_memory_not_equal(a, b, sizeof a);
    hash_double(0.0, a);
    hash_double(-0.0, b);
    assert_memory_equal(a, b, sizeof a);
    hash_double(NAN, a);
    hash_double(-NAN, b);
    assert_memory_equal(a, b, sizeof a);
    hash_double(1.0, a);
    hash_double(nextafter(1.0, 2.0), b);
    assert_memory_not_equal(a, b, sizeof a);
    /* 1.0 is 3ff0000000000000, written from its low end. */
    unsigned char c[SHA256_BYTES];
    sha256_of("\0\0\0\0\0\0\xf0\x3f", 8, c);
    assert_memory_equal(a, c, sizeof a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_standard),
        cmocka_unit_test(hex_is_read_back),
        cmocka_unit_test(feeding_is_canonical),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
