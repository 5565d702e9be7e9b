/* A plugin that talks: on standard output, when it is loaded, called and unloaded.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

#include <stdio.h>

__attribute__((constructor)) static void hello(void) { puts("prints: loaded"); }
__attribute__((destructor)) static void farewell(void) { puts("prints: unloaded"); }

static int initial(const struct stiffit_point *at, double *y)
{
    puts("prints: called");
    fflush(stdout);
    return zoo_initial(at, y);
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("prints"), .initial = initial};
