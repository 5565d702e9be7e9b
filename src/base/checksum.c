/* Folds 64 bytes at a time by carry-less multiplication, then 16, and reduces the rest by
 * Barrett's method (Gopal and others, Fast CRC Computation for Generic Polynomials Using
 * PCLMULQDQ Instruction, Intel 2009; the constants are those of its bit-reflected form for the
 * polynomial 0x104c11db7).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/checksum.h"

#include <zlib.h>

#if defined(__x86_64__)
#define FOLDS 1
#include <immintrin.h>
#else
#define FOLDS 0
#endif

#if FOLDS
enum { PIECE = 16, WIDE = 64 };

#define FAST __attribute__((target("pclmul,sse4.1")))

FAST static inline __m128i load(const unsigned char *bytes)
{
    return _mm_loadu_si128((const __m128i *)(const void *)bytes);
}

/* x moved on by the distance of k, and what is there. */
FAST static inline __m128i fold(__m128i x, __m128i k, __m128i next)
{
    __m128i low = _mm_clmulepi64_si128(x, k, 0x00), high = _mm_clmulepi64_si128(x, k, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/* n: a multiple of 16, at least 64. `state`: the checksum without its final complement. */
FAST static uint32_t fold_all(uint32_t state, const unsigned char *bytes, size_t n)
{
    const __m128i by_64 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4),
                  by_16 = _mm_set_epi64x(0xccaa009e, 0x1751997d0);
    const __m128i by_4 = _mm_set_epi64x(0, 0x163cd6124),
                  barrett = _mm_set_epi64x(0x1f7011641, 0x1db710641);
    const __m128i low_32 = _mm_setr_epi32(-1, 0, -1, 0);
    __m128i x[4];
    for (int k = 0; k < 4; k++)
        x[k] = load(bytes + k * PIECE);
    x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128((int)state));
    for (bytes += WIDE, n -= WIDE; n >= WIDE; bytes += WIDE, n -= WIDE)
        for (int k = 0; k < 4; k++)
            x[k] = fold(x[k], by_64, load(bytes + k * PIECE));
    for (int k = 1; k < 4; k++)
        x[0] = fold(x[0], by_16, x[k]);
    for (; n >= PIECE; bytes += PIECE, n -= PIECE)
        x[0] = fold(x[0], by_16, load(bytes));
    /* 128 bits to 64, then to 32 */
    __m128i left = _mm_xor_si128(_mm_clmulepi64_si128(x[0], by_16, 0x10), _mm_srli_si128(x[0], 8));
    left = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(left, low_32), by_4, 0x00),
                         _mm_srli_si128(left, 4));
    __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(left, low_32), barrett, 0x10);
    quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low_32), barrett, 0x00);
    return (uint32_t)_mm_extract_epi32(_mm_xor_si128(quotient, left), 1);
}

static size_t fold_most(uint32_t *before, const unsigned char *bytes, size_t n)
{
    size_t folded = n / PIECE * PIECE;
    if (n < WIDE || !__builtin_cpu_supports("pclmul") || !__builtin_cpu_supports("sse4.1"))
        return 0;
    *before = ~fold_all(~*before, bytes, folded);
    return folded;
}
#else
static size_t fold_most(uint32_t *before, const unsigned char *bytes, size_t n)
{
    (void)before, (void)bytes, (void)n;
    return 0;
}
#endif

uint32_t checksum(uint32_t before, const unsigned char *bytes, size_t n)
{
    size_t done = fold_most(&before, bytes, n);
    return done < n ? (uint32_t)crc32_z(before, bytes + done, n - done) : before;
}
