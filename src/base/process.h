/* What the kernel says of this process.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdint.h>

/* Fields of /proc/self/stat (proc(5)). */
enum process_field { PROCESS_N_THREAD = 20, PROCESS_START_TIME = 22 };

/* 0 where there is no such file. */
uint64_t process_number(enum process_field field);
