/* Numbers as little-endian bytes of files, whatever the machine's order.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Both return what is behind. */
static inline unsigned char *bytes_put_32(unsigned char *out, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        out[i] = (unsigned char)(value >> (8 * i));
    return out + 4;
}

static inline unsigned char *bytes_put_64(unsigned char *out, uint64_t value)
{
    return bytes_put_32(bytes_put_32(out, (uint32_t)value), (uint32_t)(value >> 32));
}

static inline uint32_t bytes_get_32(const unsigned char *in)
{
    return (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

static inline uint64_t bytes_get_64(const unsigned char *in)
{
    return bytes_get_32(in) | (uint64_t)bytes_get_32(in + 4) << 32;
}

/* The number at *in, which is advanced past it. */
static inline uint32_t bytes_take_32(const unsigned char **in)
{
    *in += 4;
    return bytes_get_32(*in - 4);
}

static inline uint64_t bytes_take_64(const unsigned char **in)
{
    *in += 8;
    return bytes_get_64(*in - 8);
}

/* n numbers of `size` bytes each, of any type, from memory to a file's bytes or the other way.
 * Every evaluation of every fit passes here, so where the machine's bytes are those of the file
 * they are just copied. */
static inline void bytes_copy(void *to, const void *from, size_t n, size_t size)
{
    unsigned char *out = to;
    const unsigned char *in = from;
    if (n == 0)
        return;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(out, in, n * size);
#else
    for (size_t i = 0; i < n * size; i += size)
        for (size_t k = 0; k < size; k++)
            out[i + k] = in[i + size - 1 - k];
#endif
}

/* Returns what is behind. */
static inline unsigned char *bytes_put(unsigned char *out, const void *values, size_t n,
                                       size_t size)
{
    bytes_copy(out, values, n, size);
    return out + n * size;
}

/* Advances *in past them; NULL: they are not wanted. */
static inline void bytes_take(const unsigned char **in, void *values, size_t n, size_t size)
{
    if (values)
        bytes_copy(values, *in, n, size);
    *in += n * size;
}
