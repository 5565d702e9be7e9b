/* Integers as little-endian bytes of files, whatever the machine's order.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdint.h>

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

/* The same, and advances *in past them. */
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

#endif
