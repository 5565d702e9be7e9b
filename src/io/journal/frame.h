/* Frames: the typed, checksummed pieces of which every append-only file of a run is made. What a
 * run leaves for a process to come (its plan, the records of its fits, the state of a search) is
 * the payload of one. Everything is little-endian:
 *
 *   frame  "STF" and the letter of its type, u32 number, u32 length, u32 crc, payload[length]
 *
 * The first frame of a file is of type FRAME_RUN, and its number is the format: its crc is the
 * CRC-32 of the 12 bytes before it and the payload. That of every other frame continues the first
 * one's, so that no frame of another file counts.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a frame holds. A new kind is one more row here; journal_keep writes it. */
enum frame_type {
    FRAME_RUN = 'J',       /* whose file it is (io/journal/run_identity.h), and the run's plan */
    FRAME_RECORD = 'R',    /* of a fit: io/journal/record_frame.h */
    FRAME_STATE = 'S',     /* of the fits of a task: io/journal/states.h */
    FRAME_POPULATION = 'P' /* io/result/mixed_result.h; the highest number counts */
};

enum { FRAME_HEAD = 16, FRAME_FORMAT = 4 };

struct frame {
    enum frame_type type;
    uint32_t number;
    size_t length; /* of the payload, which is at FRAME_HEAD */
};

/* Completes the frame whose payload is there already; seed: the first frame's crc, 0 for itself.
 * Returns its size. */
size_t frame_seal(unsigned char *bytes, enum frame_type type, uint32_t number, size_t length,
                  uint32_t seed);
/* Reads the head of what may be a frame. False: there are fewer than FRAME_HEAD bytes, or they are
 * something else. */
bool frame_look(const unsigned char *bytes, size_t n, struct frame *frame);
/* Whether all of it is there, in n bytes, and undamaged. */
bool frame_is_good(const unsigned char *bytes, size_t n, const struct frame *frame, uint32_t seed);
/* The crc of a good frame: the seed of those that follow a first one. */
uint32_t frame_crc(const unsigned char *bytes);
