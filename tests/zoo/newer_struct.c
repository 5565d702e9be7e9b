/* A descriptor of a newer header, longer than ours: it must load, and what we do not know is left out.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

struct newer { struct stiffit_model known; const char *unknown[100]; };

STIFFIT_EXPORT extern const struct newer newer_model __asm__("stiffit_model");
const struct newer newer_model = {{ZOO_MODEL("newer_struct"), .struct_size = sizeof(struct newer)}, {"new", "fields"}};
