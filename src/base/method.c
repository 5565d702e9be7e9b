/* Names and meanings of how fits are made.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/method.h"

#include "base/vocabulary.h"

VOCABULARY(stop, STOP_LIST)
VOCABULARY(optimizer, OPTIMIZER_LIST)
VOCABULARY(gradient, GRADIENT_LIST)
