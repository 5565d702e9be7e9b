/* Functions of lanes that would otherwise be calls of the C library, one lane after the other. They are written in operations
 * that are rounded once, so they have the same bits in registers of any width and on a GPU (where a lane is a number), and do not
 * depend on the system's library. Errors are below 0.7 units in the last place, those of sin and cos below 0.8
 * (tests/property/test_model_mathematics.py). Special values are those of C (annex F).
 *
 * A part between lines of "@@" is printed where a model needs it: emit_lanes.c. The comment is not.
 * SPDX-License-Identifier: BSD-3-Clause */
@@ exponential
/* exp(a + low), where low is below the last bit of a: 2^k exp(r), r = a - k log 2, |r| < 0.35 */
LANES(exp_of)(lanes a, lanes low)
{
    const lanes shift = all(0x1.8p52);
    lanes x = choose(a > 1000.0, all(1000.0), choose(a < -1000.0, all(-1000.0), a));
    lanes k = fused(x, all(0x1.71547652b82fep+0), shift) - shift, halved = fused(k, all(0.5), shift);
    lanes high = fused(-k, all(0x1.62e42fefa2000p-1), x);
    lanes rest = fused(-k, all(0x1.9ef35793c7673p-41), choose(x == a, low, all(0.0)));
    lanes r = high + rest, r2 = r*r, r4 = r2*r2;
    rest += high - r;
    lanes c2 = fused(r, all(1.0/6), all(0.5)), c4 = fused(r, all(1.0/120), all(1.0/24));
    lanes c6 = fused(r, all(1.0/5040), all(1.0/720)), c8 = fused(r, all(1.0/362880), all(1.0/40320));
    lanes c10 = fused(r, all(1.0/39916800), all(1.0/3628800)), c12 = fused(r, all(1.0/6227020800), all(1.0/479001600));
    lanes p = fused(r4, fused(r4, fused(r2, c12, c10), fused(r2, c8, c6)), fused(r2, c4, c2));
    lanes sum = 1.0 + r, value = sum + fused(r2, p, rest + (r - (sum - 1.0)));
    /* two powers of 2, as one may be out of range */
    lanes other = k - (halved - shift) + shift;
    return value*number_of((bits_of(halved) + 1023) << 52)*number_of((bits_of(other) + 1023) << 52);
}

@@ logarithm
/* log(a) as a sum, for positive finite a: e log 2 + log(m), a = 2^e m, m from sqrt(1/2) to sqrt(2);
 * log(m) = 2 atanh(s), s = (m - 1)/(m + 1) */
static inline INLINE void lanes_log_of(lanes a, lanes *high, lanes *low)
{
    lanes normal = choose(a < 0x1p-1022, a*0x1p54, a);
    mask raw = bits_of(normal) + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd);
    lanes e = number_of((raw >> 52 & 0x7ff) | 0x4330000000000000) - choose(a < 0x1p-1022, all(0x1p52 + 1023 + 54), all(0x1p52 + 1023));
    lanes f = number_of((raw & 0xfffffffffffff) + 0x3fe6a09e667f3bcd) - 1.0;
    lanes d = 2.0 + f, d_low = (2.0 - d) + f, inverse = 1.0/d, s = f*inverse;
    lanes s_low = inverse*fused(-s, d_low, fused(-s, d, f));
    lanes z = s*s, z_low = fused(2.0*s, s_low, fused(s, s, -z)), z2 = z*z;
    lanes even = fused(z2, fused(z2, fused(z2, fused(z2, fused(z2, all(1.0/25), all(1.0/21)), all(1.0/17)), all(1.0/13)), all(1.0/9)),
                       all(1.0/5));
    lanes odd = fused(z2, fused(z2, fused(z2, fused(z2, all(1.0/23), all(1.0/19)), all(1.0/15)), all(1.0/11)), all(1.0/7));
    lanes u = z*0x1.5555555555555p-2, v = z2*fused(z, odd, even);
    lanes u_low = fused(z_low, all(1.0/3), fused(z, all(0x1.5555555555555p-56), fused(z, all(0x1.5555555555555p-2), -u)));
    lanes p = u + v, p_low = ((u - p) + v) + u_low;
    lanes g = 2.0*s, h = g*p, h_low = fused(g, p_low, fused(g, p, -h));
    h_low += fused(2.0*s_low, p, 2.0*s_low);
    lanes log_m = g + h, log_m_low = ((g - log_m) + h) + h_low;
    lanes by_2 = e*0x1.62e42fefa2000p-1, sum = by_2 + log_m;
    lanes sum_low = ((by_2 - sum) + log_m) + fused(e, all(0x1.9ef35793c7673p-41), log_m_low);
    *high = sum + sum_low;
    *low = (sum - *high) + sum_low;
}
/* That times c + c_low; or what a logarithm is outside its range. */
LANES(log_by)(lanes a, double c, double c_low)
{
    lanes high, low;
    lanes_log_of(choose((a > 0.0) & (a < INFINITY), a, all(1.0)), &high, &low);
    lanes value = c*high;
    value += fused(all(c), high, -value) + fused(all(c_low), high, c*low);
    return choose(a > 0.0, choose(a < INFINITY, value, a), choose(a == 0.0, all(-INFINITY), all(NAN)));
}

@@ power
LANES(power_of)(lanes a, lanes b)
{
    const lanes huge = all(0x1p52);
    lanes x = number_of(bits_of(a) & INT64_MAX), size = number_of(bits_of(b) & INT64_MAX), halved = 0.5*size, high, low;
    mask is_whole = (mask)((size >= huge) | ((size + huge) - huge == size));
    mask is_odd = is_whole & (mask)((halved < huge) & ((halved + huge) - huge != halved));
    lanes_log_of(choose((x > 0.0) & (x < INFINITY), x, all(1.0)), &high, &low);
    lanes product = b*high, value = lanes_exp_of(product, fused(b, low, fused(b, high, -product)));
    value = choose(x == 0.0, choose(b < 0.0, all(INFINITY), all(0.0)), value);
    value = choose(x == INFINITY, choose(b < 0.0, all(0.0), all(INFINITY)), value);
    value = choose((a < 0.0) & (a > -INFINITY) & opposite(is_whole), all(NAN), value);
    value = choose((bits_of(a) < 0) & is_odd, -value, value);
    value = choose((a != a) | (b != b), a + b, value);
    return choose((b == 0.0) | (a == 1.0) | ((x == 1.0) & (size == INFINITY)), all(1.0), value);
}

@@ angle
/* sin(x + quarters pi/2), by Taylor's series around the nearest multiple k of pi/2, which is subtracted in four parts; the
 * products of three are exact up to TURNS. */
#define TURNS 1e6
LANES(sin_of)(lanes x, int quarters)
{
    const lanes shift = all(0x1.8p52);
    lanes turned = fused(x, all(0x1.45f306dc9c883p-1), shift), k = turned - shift;
    mask quarter = bits_of(turned) + quarters;
    lanes w = fused(-k, all(0x1.921fb54400000p+0), x), r = fused(-k, all(0x1.0b4611a600000p-34), w);
    lanes part = fused(-k, all(0x1.0b4611a600000p-34), w - r), rest = fused(-k, all(0x1.3198a2e000000p-69), part);
    lanes last = fused(-k, all(0x1.b839a252049c1p-104), fused(-k, all(0x1.3198a2e000000p-69), part - rest));
    lanes near = r + rest, low = ((r - near) + rest) + last, z = near*near, z2 = z*z;
    lanes odd = fused(z2, fused(z2, fused(z2, all(-1.0/1307674368000), all(-1.0/39916800)), all(-1.0/5040)), all(-1.0/6));
    lanes even = fused(z2, fused(z2, fused(z2, all(1.0/355687428096000), all(1.0/6227020800)), all(1.0/362880)), all(1.0/120));
    lanes sine = near + fused(near*z, fused(z, even, odd), fused(-0.5*z, low, low));
    even = fused(z2, fused(z2, fused(z2, all(1.0/20922789888000), all(1.0/479001600)), all(1.0/40320)), all(1.0/24));
    odd = fused(z2, fused(z2, fused(z2, all(-1.0/6402373705728000), all(-1.0/87178291200)), all(-1.0/3628800)), all(-1.0/720));
    lanes most = fused(all(-0.5), z, all(1.0));
    lanes square_low = fused(near, near, -z), less = fused(all(0.5), square_low, near*low);
    lanes cosine = most + fused(z2, fused(z, odd, even), fused(all(-0.5), z, 1.0 - most) - less);
    lanes value = choose((quarter & 1) != 0, cosine, sine);
    return choose((quarter & 2) != 0, -value, value);
}
