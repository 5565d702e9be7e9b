/* A shared object without a descriptor.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

STIFFIT_EXPORT const int something_else = 1;
