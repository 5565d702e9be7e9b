/* Functions of lanes that would otherwise be calls of the C library, one lane after the other. They are written in operations
 * that are rounded once, so they have the same bits in registers of any width and on a GPU (where a lane is a number), and do not
 * depend on the system's library. Errors are below 0.7 units in the last place, those of sin and cos below 0.8
 * (tests/property/test_model_mathematics.py). Special values are those of C (annex F).
 *
 * A part after a line with "@@" is printed where a model needs it (c_expression.c), the parts "logarithm", "angle" and "gamma" also
 * for numbers, as one lane; graph/gamma.c includes them so. This comment is not printed.
 * SPDX-License-Identifier: BSD-3-Clause */
/* @@ numbers */
/* What these functions are written in, for one number. */
#define lanes double
#define mask int64_t
#define INLINE
#define LANES(name) static inline double number_##name
static inline int64_t number_bits(double value) { union { double value; int64_t bits; } both = {.value = value}; return both.bits; }
static inline double number_of_bits(int64_t bits) { union { int64_t bits; double value; } both = {.bits = bits}; return both.value; }
#define all(value) (value)
#define opposite(which) (!(which))
#define choose(which, a, b) ((which) ? (a) : (b))
#define bits_of(value) number_bits(value)
#define number_of(bits) number_of_bits(bits)
#define fused(a, b, c) fma(a, b, c)
#define lanes_exp_of number_exp_of
#define lanes_log_of number_log_of
#define lanes_log_by number_log_by
#define lanes_sin_of number_sin_of
#define lanes_beyond_whole number_beyond_whole
#define lanes_log_gamma_positive number_log_gamma_positive

/* @@ exponential */
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

/* @@ logarithm */
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

/* @@ power */
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

/* @@ angle */
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

/* @@ gamma */
/* log Gamma(y), y > 0. Up to 8: log Gamma(2 + d), |d| <= 1/2, by its series (Abramowitz and Stegun 1964, 6.1.33), with 1 - Euler's
 * constant in two parts, and the logarithm of what Gamma(x + 1) = x Gamma(x) gives for the rest; beyond, Stirling's series (6.1.41).
 * Nothing cancels but the two near 1 and 2, where both are small. */
LANES(log_gamma_positive)(lanes y)
{
    const double series[] = {
        0x1.4a34cc4a60fa6p-2, -0x1.13e001a557607p-4, 0x1.51322ac7d8483p-6, -0x1.e404fc218f5f2p-8, 0x1.7add6eadb6c30p-9,
        -0x1.38ac5c2bf8e08p-10, 0x1.0b36af86396e9p-11, -0x1.d3fd4c76d2fc8p-13, 0x1.a127b0f17d65ap-14, -0x1.78de5bd7c81efp-15,
        0x1.580dcee66eb02p-16, -0x1.3cbc963ce2243p-17, 0x1.2597a39f34aacp-18, -0x1.11b2eb7679541p-19, 0x1.0064cdeb22f0fp-20,
        -0x1.e2600d93cfd2fp-22, 0x1.c76bbb3f07a4dp-23, -0x1.af5a6cbbf8a97p-24, 0x1.99b93c2070b0fp-25, -0x1.862c734df3eacp-26,
        0x1.7469daccfadcdp-27, -0x1.6434a8447aeadp-28, 0x1.555a877ffd2c3p-29, -0x1.47b1679258d0ep-30, 0x1.3b15d2b2fc10cp-31,
        -0x1.2f69a9fabe3e0p-32};
    const double stirling[] = {1.0/12, -1.0/360, 1.0/1260, -1.0/1680, 1.0/1188, -691.0/360360, 1.0/156, -3617.0/122400,
                               43867.0/244188, -174611.0/125400};
    lanes x = choose(y < 8.0, y, all(2.0)), product = all(1.0), high, low;
    for (int i = 0; i < 6; i++) {
        lanes less = x - 1.0;
        product = choose(x < 2.5, product, product*less);
        x = choose(x < 2.5, x, less);
    }
    lanes d = choose(x < 0.5, x, choose(x < 1.5, x - 1.0, x - 2.0)), d2 = d*d, even = all(series[24]), odd = all(series[25]);
    for (int i = 22; i >= 0; i -= 2) {
        even = fused(d2, even, all(series[i]));
        odd = fused(d2, odd, all(series[i + 1]));
    }
    lanes near = d*0x1.b0ee6072093cep-2, near_low = fused(d, all(0x1.b0ee6072093cep-2), -near);
    near_low += d*fused(d, fused(d, odd, even), all(0x1.6cb90701fbfabp-58));
    lanes_log_of(choose(y < 8.0, choose(y < 0.5, fused(y, y, y), choose(y < 1.5, y, product)), y), &high, &low);
    /* far: (y - 1/2)(log y - 1) + log(2 pi)/2 - 1/2 + ... */
    lanes less = high - 1.0, middle = y - 0.5, inverse = 1.0/choose(y < 8.0, all(8.0), y), z = inverse*inverse, rest = all(stirling[9]);
    for (int i = 8; i >= 0; i--)
        rest = fused(z, rest, all(stirling[i]));
    lanes far = middle*less, far_low = fused(middle, less, -far) + middle*(((high - less) - 1.0) + low);
    far_low += fused(inverse, rest, all(0x1.3494bc9001442p-56));
    mask is_below = (mask)(y < 1.5);
    lanes a = choose(y < 8.0, near, far), b = choose(y < 8.0, choose(is_below, -high, high), all(0x1.acfe390c97d69p-2));
    lanes c = choose(y < 8.0, near_low + choose(is_below, -low, low), far_low);
    lanes sum = a + b, part = sum - a, value = sum + (((a - (sum - part)) + (b - part)) + c);
    return choose(y <= 0x1.754d9278b51a7p+1014, value, all(INFINITY));
}
/* a minus the nearest whole number, exactly */
LANES(beyond_whole)(lanes a)
{
    lanes size = number_of(bits_of(a) & INT64_MAX), whole = (size + 0x1p52) - 0x1p52;
    lanes rest = choose(size < 0x1p52, size - whole, all(0.0));
    return choose(a < 0.0, -rest, rest);
}
/* log |Gamma(a)|; for a < 0 by Gamma(a) Gamma(-a) = -pi/(a sin(pi a)), and Gamma(a) Gamma(1 - a) = pi/sin(pi a) near 0 */
LANES(log_gamma_of)(lanes a)
{
    lanes r = lanes_beyond_whole(a), sine = lanes_sin_of(r*0x1.921fb54442d18p+1, 0), high, low;
    mask is_negative = (mask)(a < 0.0), is_near = (mask)(a > -0.5), is_number = (mask)((a < INFINITY) & (a > -INFINITY));
    lanes y = choose(is_negative, choose(is_near, 1.0 - a, -a), a);
    lanes size = number_of(bits_of(sine) & INT64_MAX)*choose(is_near, all(1.0), -a);
    mask is_pole = (mask)(a == 0.0) | (is_negative & (mask)(r == 0.0));
    y = choose(is_number & opposite(is_pole), y, all(1.0));
    lanes value = lanes_log_gamma_positive(y);
    lanes_log_of(choose(is_number & is_negative & opposite(is_pole), size, all(1.0)), &high, &low);
    lanes reflected = ((0x1.250d048e7a1bdp+0 - high) - value) + (0x1.7abf2ad8d5088p-57 - low);
    value = choose(is_negative, reflected, value);
    return choose(a != a, a, choose(is_number & opposite(is_pole), value, all(INFINITY)));
}
/* The derivative of order n of digamma, n <= 8: by its recurrence up to x >= 12 + n, then its asymptotic series (6.4.11); for a < 0
 * by reflection (6.4.7), where derivatives of the cotangent c are polynomials in it: c' = -pi (1 + c^2). Digamma itself changes its
 * sign, so its sum and logarithm have two parts. */
LANES(polygamma_of)(int n, lanes a)
{
    const double bernoulli[] = {1.0/6, -1.0/30, 1.0/42, -1.0/30, 5.0/66, -691.0/2730, 7.0/6, -3617.0/510, 43867.0/798};
    mask is_negative = (mask)(a < 0.0);
    lanes from = choose(is_negative, 1.0 - a, a), x = from, sum = all(0.0), sum_low = all(0.0), series = all(0.0), scale = all(1.0);
    double least = 12.0 + n, factorial = 1.0, polynomial[11] = {0.0, 1.0}, pi = 0x1.921fb54442d18p+1;
    for (int i = 0; i < 12 + n; i++) {
        lanes inverse = 1.0/x, power = inverse, low = inverse*fused(-x, inverse, all(1.0));
        for (int k = 0; k < n; k++)
            power *= inverse;
        power = choose(x < least, power, all(0.0));
        lanes next = sum + power, part = next - sum;
        sum_low += ((sum - (next - part)) + (power - part)) + choose(x < least, low, all(0.0));
        sum = next;
        x = choose(x < least, from + (i + 1.0), x);
    }
    lanes inverse = 1.0/x, z = inverse*inverse, cotangent = all(0.0);
    for (int i = 8; i >= 0; i--) {
        double coefficient = n == 0 ? bernoulli[i]/(2*i + 2) : bernoulli[i];
        for (int k = 1; k < n; k++)
            coefficient *= 2*i + 2 + k;
        series = fused(z, series, all(coefficient));
    }
    for (int k = 1; k < n; k++)
        factorial *= k; /* (n - 1)! */
    for (int k = 0; k < n; k++)
        scale *= inverse;
    lanes value = scale*fused(z, series, fused(0.5*inverse, all(n == 0 ? 1.0 : n*factorial), all(n == 0 ? 0.0 : factorial)));
    lanes high, low;
    lanes_log_of(choose(x < INFINITY, x, all(1.0)), &high, &low);
    lanes digamma = choose(sum < INFINITY, (high - sum) + ((low - sum_low) - value), -sum);
    value = n == 0 ? choose(x < INFINITY, digamma, x) : n % 2 == 0 ? -(value + n*factorial*sum) : value + n*factorial*sum;
    /* d^n cot(pi a)/da^n = pi^n times the polynomial */
    for (int k = 0; k < n; k++) {
        double before = 0.0;
        for (int i = 0; i <= k + 2; i++) {
            double now = polynomial[i];
            polynomial[i] = -((i + 1)*polynomial[i + 1] + (i > 0 ? (i - 1)*before : 0.0));
            before = now;
        }
        pi *= 0x1.921fb54442d18p+1;
    }
    lanes r = lanes_beyond_whole(a), beside = 0.5 - number_of(bits_of(r) & INT64_MAX);
    lanes c = lanes_sin_of(beside*0x1.921fb54442d18p+1, 0)/lanes_sin_of(r*0x1.921fb54442d18p+1, 0);
    for (int i = n + 1; i >= 0; i--)
        cotangent = fused(cotangent, c, all(polynomial[i]));
    return choose(is_negative, (n % 2 == 0 ? value : -value) - pi*cotangent, value);
}

/* @@ numbers_end */
#undef lanes
#undef mask
#undef INLINE
#undef LANES
#undef all
#undef opposite
#undef choose
#undef bits_of
#undef number_of
#undef fused
#undef lanes_exp_of
#undef lanes_log_of
#undef lanes_log_by
#undef lanes_sin_of
#undef lanes_beyond_whole
#undef lanes_log_gamma_positive
#undef TURNS
