/* The thread's floating-point environment. Foreign code may change the rounding mode or flush
 * small numbers to zero, which would change all later results of this thread.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <fenv.h>
#include <stdbool.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

/* Round to nearest, no traps, subnormal numbers kept. About 10 ns. */
static inline bool floating_is_default(void)
{
#ifdef __SSE2__
    if ((_mm_getcsr() & ~0x3fu) != 0x1f80) /* all but the sticky flags */
        return false;
#endif
    return fegetround() == FE_TONEAREST;
}

static inline void floating_reset(void) { fesetenv(FE_DFL_ENV); }
