/* Distribution functions by continued fractions and series; their inverses by Newton's method
 * within a bracket; order statistics of replicates.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/objective/distribution.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { MAX_TERM = 100000, MAX_NEWTON = 200 };

static const double TINY = 1e-300;

double distribution_normal(double x) { return 0.5 * erfc(-x / sqrt(2.0)); }

/* The continued fraction of the incomplete beta function (Abramowitz & Stegun 26.5.8), by
 * Lentz's method (1976). */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < TINY ? TINY : d);
    double h = d;
    for (int m = 1; m < MAX_TERM; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), step = 1;
        for (int half = 0; half < 2; half++) {
            double term = half ? odd : even;
            d = 1 + term * d;
            c = 1 + term / c;
            d = 1 / (fabs(d) < TINY ? TINY : d);
            c = fabs(c) < TINY ? TINY : c;
            step = c * d;
            h *= step;
        }
        if (fabs(step - 1) < DBL_EPSILON)
            break;
    }
    return h;
}

/* The remainder of Stirling's formula, for x of at least 12 (Abramowitz & Stegun 6.1.41). */
static double stirling_rest(double x)
{
    double r = 1 / (x * x);
    return (1.0 / 12 -
            r * (1.0 / 360 -
                 r * (1.0 / 1260 - r * (1.0 / 1680 - r * (1.0 / 1188 - r * (691.0 / 360360)))))) /
           x;
}

double distribution_log_gamma(double x)
{
    double shift = 0;
    for (; x < 12; x++)
        shift += log(x);
    return (x - 0.5) * log(x) - x + 0.918938533204672741780 + stirling_rest(x) - shift;
}

/* log of gamma(a + b) / (gamma(a) gamma(b)). For large arguments their formulas are subtracted,
 * not the values, which would cancel. */
static double log_inverse_beta(double a, double b)
{
    double large = fmax(a, b), small = fmin(a, b);
    if (large < 12)
        return distribution_log_gamma(a + b) - distribution_log_gamma(a) -
               distribution_log_gamma(b);
    double ratio = (large - 0.5) * log1p(small / large) + small * log(large + small) - small;
    return ratio + stirling_rest(large + small) - stirling_rest(large) -
           distribution_log_gamma(small);
}

/* I_x(a, b); y = 1 - x without cancellation. *front: x y times its slope. */
static double incomplete_beta(double a, double b, double x, double y, double *front)
{
    *front = 0;
    if (!(x > 0))
        return 0;
    if (!(y > 0))
        return 1;
    double log_x = x > y ? log1p(-y) : log(x), log_y = x > y ? log(y) : log1p(-x);
    *front = exp(log_inverse_beta(a, b) + a * log_x + b * log_y);
    if (x < (a + 1) / (a + b + 2))
        return *front * beta_fraction(a, b, x) / a;
    return 1 - *front * beta_fraction(b, a, y) / b;
}

/* P(a, x) of the incomplete gamma function: series below a + 1, continued fraction of the
 * complement above. *front: x times its slope. */
static double incomplete_gamma(double a, double x, double *front)
{
    *front = 0;
    if (!(x > 0))
        return 0;
    *front = exp(a * log(x) - x - distribution_log_gamma(a));
    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (int n = 1; n < MAX_TERM && fabs(term) > DBL_EPSILON * fabs(sum); n++) {
            term *= x / (a + n);
            sum += term;
        }
        return *front * sum;
    }
    double b = x + 1 - a, c = 1 / TINY, d = 1 / b, h = d;
    for (int n = 1; n < MAX_TERM; n++) {
        double term = -n * (n - a);
        b += 2;
        d = 1 / (term * d + b);
        c = b + term / c;
        h *= d * c;
        if (fabs(d * c - 1) < DBL_EPSILON)
            break;
    }
    return 1 - *front * h;
}

/* P(|t| > x) / 2 */
static double t_tail(double x, double freedom, double *front)
{
    double square = x * x, sum = freedom + square;
    return 0.5 * incomplete_beta(0.5 * freedom, 0.5, freedom / sum, square / sum, front);
}

double distribution_t(double x, double freedom)
{
    double front, tail = t_tail(x, freedom, &front);
    return x > 0 ? 1 - tail : tail;
}

static double f_below(double x, double freedom, double freedom_below, double *front)
{
    double above = freedom * x, sum = above + freedom_below;
    return incomplete_beta(0.5 * freedom, 0.5 * freedom_below, above / sum, freedom_below / sum,
                           front);
}

double distribution_f(double x, double freedom, double freedom_below)
{
    double front;
    return f_below(x, freedom, freedom_below, &front);
}

double distribution_chi_square(double x, double freedom)
{
    double front;
    return incomplete_gamma(0.5 * freedom, 0.5 * x, &front);
}

/* A distribution function on x > 0, for the search below; *slope: x times its slope. */
struct distribution {
    double (*value)(const struct distribution *self, double x, double *slope); /* increasing */
    double a, b;
};

/* x > 0 with value(x) = target: Newton's method inside a bracket that only shrinks. */
static double find(const struct distribution *self, double target, double guess)
{
    double low = 0, high = INFINITY, x = guess;
    for (int i = 0; i < MAX_NEWTON; i++) {
        double slope, f = self->value(self, x, &slope) - target, next = x - x * f / slope;
        if (f == 0 || fabs(next - x) <= 4 * DBL_EPSILON * x)
            return x;
        *(f > 0 ? &high : &low) = x;
        if (!(next > low && next < high))
            next = high < INFINITY ? 0.5 * (low + high) : 2 * x;
        x = next;
    }
    return x;
}

/* Minus the upper tails, so that small ones keep their digits. */
static double above_normal(const struct distribution *self, double x, double *slope)
{
    (void)self;
    *slope = 0.398942280401432677940 * x * exp(-0.5 * x * x);
    return -0.5 * erfc(x / sqrt(2.0));
}

static double above_t(const struct distribution *self, double x, double *slope)
{
    return -t_tail(x, self->a, slope);
}

static double below_f(const struct distribution *self, double x, double *slope)
{
    return f_below(x, self->a, self->b, slope);
}

static double below_chi(const struct distribution *self, double x, double *slope)
{
    return incomplete_gamma(0.5 * self->a, 0.5 * x, slope);
}

/* The limiting cases that all have in common. True: *answer is set. */
static bool at_border(double p, double low, double *answer)
{
    *answer = p == 0 ? low : p == 1 ? INFINITY : NAN;
    return !(p > 0 && p < 1);
}

/* guess: of the quantile above a half */
static double symmetric(const struct distribution *self, double p, double guess)
{
    double answer;
    if (at_border(p, -INFINITY, &answer))
        return answer;
    return p == 0.5 ? 0 : p < 0.5 ? -find(self, -p, guess) : find(self, -(1 - p), guess);
}

/* The normal quantile to 5e-4 (Abramowitz & Stegun 26.2.23). */
static double guess_normal(double p)
{
    double t = sqrt(-2 * log(fmin(p, 1 - p)));
    double x = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                       (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    return fmax(x, 1e-3);
}

double distribution_normal_quantile(double p)
{
    if (p == 0.975) /* for intervals of 95 %: every fit asks for it */
        return 0x1.f5c0331eeff84p+0;
    return symmetric(&(struct distribution){above_normal, 0, 0}, p, guess_normal(p));
}

double distribution_t_quantile(double p, double freedom)
{
    /* Abramowitz & Stegun 26.7.5 */
    double z = guess_normal(p), guess = z + z * (z * z + 1) / (4 * freedom);
    return symmetric(&(struct distribution){above_t, freedom, 0}, p, guess);
}

double distribution_f_quantile(double p, double freedom, double freedom_below)
{
    double answer;
    return at_border(p, 0, &answer)
               ? answer
               : find(&(struct distribution){below_f, freedom, freedom_below}, p, 1);
}

double distribution_chi_square_quantile(double p, double freedom)
{
    double answer;
    return at_border(p, 0, &answer)
               ? answer
               : find(&(struct distribution){below_chi, freedom, 0}, p, freedom);
}

/* If more than this part of the replicates have no standard error, the rest are no fair sample. */
static const double MOST_WITHOUT_ERROR = 0.1;

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double fit_interval_quantile(const double *sorted, size_t n, double p)
{
    double rank = p * (double)(n + 1), whole = floor(rank);
    /* Rounding must not keep (n + 1) p from being whole: 0.025 * 40. */
    if (fabs(rank - rint(rank)) < 1e-9 * rank)
        rank = whole = rint(rank);
    if (!(rank >= 1) || !(rank <= (double)n))
        return NAN;
    size_t i = (size_t)whole;
    double part = rank - whole;
    return part > 0 ? sorted[i - 1] + part * (sorted[i] - sorted[i - 1]) : sorted[i - 1];
}

struct fit_interval fit_interval_percentile(double *estimate, size_t n, double confidence)
{
    double tail = 0.5 - 0.5 * confidence;
    qsort(estimate, n, sizeof *estimate, compare);
    return (struct fit_interval){fit_interval_quantile(estimate, n, tail),
                                 fit_interval_quantile(estimate, n, 1 - tail)};
}

struct fit_interval fit_interval_studentised(double estimate, double error, const double *estimates,
                                             const double *errors, size_t n, double confidence,
                                             double *scratch)
{
    double tail = 0.5 - 0.5 * confidence;
    size_t n_known = 0;
    for (size_t b = 0; b < n; b++) {
        double t = (estimates[b] - estimate) / errors[b];
        if (isfinite(t))
            scratch[n_known++] = t;
    }
    if (!isfinite(error) || (double)(n - n_known) > MOST_WITHOUT_ERROR * (double)n)
        return (struct fit_interval){NAN, NAN};
    qsort(scratch, n_known, sizeof *scratch, compare);
    return (struct fit_interval){estimate -
                                     error * fit_interval_quantile(scratch, n_known, 1 - tail),
                                 estimate - error * fit_interval_quantile(scratch, n_known, tail)};
}

double fit_interval_deviation(const double *numbers, size_t n)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += (numbers[i] - mean) / (double)(i + 1);
    for (size_t i = 0; i < n; i++)
        squares += (numbers[i] - mean) * (numbers[i] - mean);
    return n > 1 ? sqrt(squares / (double)(n - 1)) : NAN;
}
