/* Names and meanings of optimisers, gradients and stopping tests.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/method.h"

#include "base/vocabulary.h"

VOCABULARY(stop, STOP_LIST)
VOCABULARY(optimizer, OPTIMIZER_LIST)
VOCABULARY(gradient, GRADIENT_LIST)
