/* SPDX-License-Identifier: BSD-3-Clause */
#include "io/journal/frame.h"

#include "base/bytes.h"
#include "base/checksum.h"

enum { AT_TYPE = 3, AT_NUMBER = 4, AT_LENGTH = 8, AT_CRC = 12 };
static const unsigned char magic[AT_TYPE] = {'S', 'T', 'F'};

static uint32_t crc_of(const unsigned char *bytes, size_t length, uint32_t seed)
{
    return checksum(checksum(seed, bytes, AT_CRC), bytes + FRAME_HEAD, length);
}

size_t frame_seal(unsigned char *bytes, enum frame_type type, uint32_t number, size_t length,
                  uint32_t seed)
{
    memcpy(bytes, magic, sizeof magic);
    bytes[AT_TYPE] = (unsigned char)type;
    bytes_put_32(bytes_put_32(bytes + AT_NUMBER, number), (uint32_t)length);
    bytes_put_32(bytes + AT_CRC, crc_of(bytes, length, seed));
    return FRAME_HEAD + length;
}

bool frame_look(const unsigned char *bytes, size_t n, struct frame *frame)
{
    if (n < FRAME_HEAD || memcmp(bytes, magic, sizeof magic) != 0)
        return false;
    *frame = (struct frame){(enum frame_type)bytes[AT_TYPE], bytes_get_32(bytes + AT_NUMBER),
                            bytes_get_32(bytes + AT_LENGTH)};
    return true;
}

bool frame_is_good(const unsigned char *bytes, size_t n, const struct frame *frame, uint32_t seed)
{
    return n - FRAME_HEAD >= frame->length &&
           crc_of(bytes, frame->length, seed) == frame_crc(bytes);
}

uint32_t frame_crc(const unsigned char *bytes) { return bytes_get_32(bytes + AT_CRC); }
