/* A plugin of another version of the interface; nothing behind the first number may be touched.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

struct foreign { uint32_t abi_version, struct_size; const void *poison[64]; };

/* Under the name that every plugin exports, but not with its type. */
STIFFIT_EXPORT extern const struct foreign foreign_model __asm__("stiffit_model");
const struct foreign foreign_model = {
    STIFFIT_ABI_VERSION + 98, sizeof(struct foreign), {(const void *)1, (const void *)1}};
