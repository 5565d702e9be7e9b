/* A sound model that the loader never lets go of, as it holds a symbol of which a process has one: C++ plugins
 * have such symbols.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

__asm__(".data\n.globl zoo_unique\n.type zoo_unique, %gnu_unique_object\n.size zoo_unique, 8\n"
        "zoo_unique: .quad 0\n.text\n");
extern const double zoo_unique;

static int rhs(const struct stiffit_point *at, double *ydot)
{
    ydot[0] = zoo_unique - at->p[0] * at->y[0];
    return STIFFIT_OK;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("never_unloaded"), .rhs = rhs};
