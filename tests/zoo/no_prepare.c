/* Work space that nobody fills.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("no_prepare"), .n_work = 3};
