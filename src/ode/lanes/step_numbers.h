/* Functions of numbers that the steps need. Files step_*.h are what the lanes of a CPU and a GPU
 * share: C for both, in the words of kernel_numbers.h; as text they are a part of the program
 * for a GPU (ode/gpu/prelude.cl has the words there), where a part is one number. There are no
 * static variables in them, and no pointers to pointers.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_LANES_STEP_NUMBERS_H
#define ODE_LANES_STEP_NUMBERS_H

#include "ode/lanes/kernel_numbers.h"

INLINE part linear(double a, double b, part x) { return fused(spread(b), x, spread(a)); }

/* log2 of a positive normal number, off by less than 2e-5: enough for step sizes and tolerances. */
INLINE part log2_of(part x)
{
    part_mask raw = bits_of(x);
    /* the exponent, made a number by the bits of 2^52 + exponent */
    part exponent = number_of(((raw >> 52) & 0x7ff) | 0x4330000000000000) - (0x1p52 + 1023);
    part z = number_of((raw & 0xfffffffffffff) | 0x3ff0000000000000) - 1.5, q = z * z;
    /* log2(1.5 + z), |z| <= 1/2: interpolated at Chebyshev's points */
    part low = fused(q, linear(-0.3206318784567584, 0.14250802403350074, z),
                     linear(0.5849627591044448, 0.9617965401665187, z));
    part high = fused(q, linear(-0.02511014095222291, 0.01444035250150204, z),
                      linear(-0.07059455402263097, 0.03761046427796303, z));
    return exponent + fused(q * q, high, low);
}

/* 1/x for 0 < x < 1e300, off by less than 3e-4 of it: enough for error tests. */
INLINE part reciprocal_of(part x)
{
    part r = number_of(0x7fde623822fc16e6 - bits_of(x)); /* off by 0.12 */
    r *= fused(-x, r, spread(2));
    return r * fused(-x, r, spread(2));
}

/* 1/x, off by less than 2 % of it: enough for the error tests of many numbers. Not finite if x is
 * infinite. */
INLINE part rough_reciprocal_of(part x)
{
    part r = number_of(0x7fde623822fc16e6 - bits_of(x));
    return r * fused(-x, r, spread(2));
}

/* 2^x for |x| < 1000, off by less than 1e-6 of it. */
INLINE part exp2_of(part x)
{
    part shifted = x + 0x1.8p52, f = x - (shifted - 0x1.8p52); /* |f| <= 1/2 */
    part_mask power = (bits_of(shifted) + 1023) << 52;
    f *= 0.6931471805599453;
    part series = linear(1.0 / 120, 1.0 / 720, f);
    series = fused(f, series, spread(1.0 / 24));
    series = fused(f, series, spread(1.0 / 6));
    series = fused(f, series, spread(0.5));
    series = fused(f, series, spread(1));
    series = fused(f, series, spread(1));
    return series * number_of(power);
}

#endif
