/* The numbers in the rule for tolerances, and when it asks for a new estimate: for tolerance.c,
 * and for the kernels of lanes and of a GPU, which follow the same rule.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <float.h>
#include <math.h>
#include <stdbool.h>

/* The absolute tolerance of a state that crosses zero, as a part of its size. */
#define TOLERANCE_FRACTION 1e-6
/* A state that starts at zero is young, with a guessed size, as long as it grows at least like
 * this power of time. */
#define TOLERANCE_YOUNG 0.5
/* A state up to this part of its reach (tolerance.c) is at rest: rounding errors. */
#define TOLERANCE_REST 1e-12
/* The part of its reach that a state is guessed to attain at least, since estimates of a reach
 * are rather too large. Up to this part its tolerance is at least ROUNDING times its reach: the
 * states that drive it are known no better. */
#define TOLERANCE_GROWN 1e-3
#define TOLERANCE_ROUNDING (4 * DBL_EPSILON)
/* A tolerance is at least this many times the noise of the state (tolerance.c). */
#define TOLERANCE_NOISE 4
/* Weights must be finite. */
#define TOLERANCE_TINY (DBL_MIN / DBL_EPSILON)
/* The effect of a relative change of a parameter on a state is that change times the
 * sensitivity. An effect below this part of the state is computed only as accurately as if it
 * were that part. Otherwise sensitivities by parameters of fast rates (vdpol's epsilon, whose
 * effects are a millionth of the states) would need more accuracy than the slopes of the states,
 * from which they are computed, and steps would shrink to the fast scale. */
#define TOLERANCE_EFFECT 0.01
/* A new estimate of a reach is worth its price if the one so far, TOLERANCE_ROUNDING times that,
 * is at least this part of the present tolerance, or would be if it grew like the span's square. */
#define TOLERANCE_DUE 0.1

/* Whether a state is far from its reach. */
static inline bool tolerance_grows(double size, double reach)
{
    return size < TOLERANCE_GROWN * reach;
}

/* Whether the tolerance of a growing state of this age depends, or may depend until the end of
 * the span, on an estimate. tolerance: at present. */
static inline bool tolerance_is_due(double tolerance, double span, double age, double reach,
                                    double noise)
{
    double by = span / age, later = reach * fmax(1.0, by * by);
    return noise > 0 || !(TOLERANCE_ROUNDING * later < TOLERANCE_DUE * tolerance);
}
