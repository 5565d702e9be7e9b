/* The check value of the standard (ISO 3309: "123456789"), and zlib's sums for all lengths, places and beginnings.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/checksum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void test_check_value(void **state)
{
    (void)state;
    assert_int_equal(checksum(0, (const unsigned char *)"123456789", 9), 0xcbf43926);
    assert_int_equal(checksum(0, NULL, 0), 0);
}

static void test_as_zlib(void **state)
{
    (void)state;
    unsigned char bytes[600];
    uint32_t word = 1;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)((word = word * 1664525 + 1013904223) >> 24);
    for (size_t n = 0; n <= 500; n++)
        for (size_t first = 0; first < 70; first += 7)
            for (int k = 0; k < 2; k++) {
                uint32_t before = k ? word * (uint32_t)n : 0;
                assert_int_equal(checksum(before, bytes + first, n), crc32(before, bytes + first, (uInt)n));
            }
    uint32_t parts = checksum(checksum(0, bytes, 211), bytes + 211, 389);
    assert_int_equal(parts, checksum(0, bytes, 600));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_check_value), cmocka_unit_test(test_as_zlib)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
