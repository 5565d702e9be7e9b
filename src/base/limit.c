/* Names and meanings of limits.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/limit.h"

#include "base/vocabulary.h"

VOCABULARY(limit, LIMIT_LIST)
