/* Checks of a plugin's descriptor: everything that can be wrong in it without any of its functions being called.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_DESCRIPTOR_H
#define MODEL_DESCRIPTOR_H

#include "base/error.h"

#include <stiffit/model.h>

enum { MODEL_MAX_COUNT = 100000, MODEL_MAX_WORK = 10000000, MODEL_MAX_NONZERO = 100000000, MODEL_MAX_NAME = 255 };

/* Copies what the plugin's header knew of the descriptor into `copy`; the rest becomes zero. ABI version and size are
 * checked before anything else is read. `origin` names the plugin in messages. */
enum status descriptor_copy(struct stiffit_model *copy, const struct stiffit_model *descriptor, const char *origin,
                            struct error *error);

/* STATUS_BAD_MODEL with all faults (up to a dozen), one a line. Reads the plugin's arrays. */
enum status descriptor_check(const struct stiffit_model *abi, const char *origin, struct error *error);

#endif
