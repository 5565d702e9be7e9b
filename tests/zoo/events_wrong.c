/* The same with wrong derivatives and a wrong mask.
 * SPDX-License-Identifier: BSD-3-Clause */
#define OFF 1
#include "events_good.c"
