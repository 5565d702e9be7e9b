/* Which call of a kind fails: the one that a countdown comes to, and maybe all later ones. The programs here replace calls,
 * which ask now().
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>

static struct plan {
    int call;       /* the program's enum call */
    int way;        /* how it fails: the program's enum way, if it has one */
    long countdown; /* fails when it comes to 0 ... */
    bool lasting;   /* ... and ever after */
    bool met;
} plan;

static bool now(int call)
{
    if (plan.call != call || plan.countdown > 0) {
        plan.countdown -= plan.call == call;
        return false;
    }
    if (plan.met && !plan.lasting)
        return false;
    plan.met = true;
    return true;
}
