/* Priors: one table of functions. Those about the logarithm u of a positive parameter are
 * functions of u, in which they are convex.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/objective/prior.h"

#include "fit/objective/distribution.h"

#include <math.h>

static const double HALF_LOG_2PI = 0.918938533204672741780;

/* f as a function of v, which is r of x or of u, or u itself; its first derivative, and a
 * curvature > 0. */
struct shape {
    double f, slope, curvature;
};

static struct shape at_square(const struct fit_prior *prior, double v)
{
    (void)prior;
    return (struct shape){0.5 * v * v, v, 1};
}

/* The curvature of a parabola that touches it and is nowhere below it, as for Student's loss
 * with one degree of freedom. */
static struct shape at_cauchy(const struct fit_prior *prior, double v)
{
    (void)prior;
    return (struct shape){log1p(v * v), 2 * v / (1 + v * v), 2 / (1 + v * v)};
}

static double shape_of(const struct fit_prior *prior)
{
    return prior->kind == PRIOR_GAMMA        ? prior->location
           : prior->kind == PRIOR_CHI_SQUARE ? 0.5 * prior->location
                                             : 1;
}

static double scale_of(const struct fit_prior *prior)
{
    return prior->kind == PRIOR_CHI_SQUARE ? 2 : prior->scale;
}

static struct shape at_gamma(const struct fit_prior *prior, double u)
{
    double x = exp(u) / scale_of(prior), k = shape_of(prior) - 1;
    return (struct shape){x - k * u, x - k, x};
}

static struct shape at_rayleigh(const struct fit_prior *prior, double u)
{
    double x = exp(u) / prior->scale, square = x * x;
    return (struct shape){0.5 * square - u, square - 1, 2 * square};
}

static struct shape at_log_uniform(const struct fit_prior *prior, double u)
{
    (void)prior;
    return (struct shape){u, 1, 1};
}

/* P(X <= x) of the untruncated distribution, x at least 0 where it is about u. */
static double below_normal(const struct fit_prior *prior, double x)
{
    return distribution_normal((x - prior->location) / prior->scale);
}

static double below_laplace(const struct fit_prior *prior, double x)
{
    double r = (x - prior->location) / prior->scale;
    return r < 0 ? 0.5 * exp(r) : 1 - 0.5 * exp(-r);
}

static double below_cauchy(const struct fit_prior *prior, double x)
{
    return 0.5 + atan((x - prior->location) / prior->scale) / acos(-1.0);
}

/* Gamma with shape k is half a chi-square of 2 k degrees of freedom. */
static double below_gamma(const struct fit_prior *prior, double x)
{
    return isinf(x) ? 1 : distribution_chi_square(2 * x / scale_of(prior), 2 * shape_of(prior));
}

static double below_rayleigh(const struct fit_prior *prior, double x)
{
    double r = x / prior->scale;
    return -expm1(-0.5 * r * r);
}

static double constant_gamma(const struct fit_prior *prior)
{
    int sign; /* lgamma would write a global variable */
    return lgamma_r(shape_of(prior), &sign) + shape_of(prior) * log(scale_of(prior));
}

/* on_log: f is a function of u, or of r of u; has_r: of r. `below` is a function of x, or of u
 * if both. */
static const struct form {
    bool on_log, has_r, has_kink;
    struct shape (*at)(const struct fit_prior *prior, double v);
    double (*below)(const struct fit_prior *prior, double x);
} forms[N_PRIOR_KIND] = {
    [PRIOR_NORMAL] = {false, true, false, at_square, below_normal},
    [PRIOR_LOG_NORMAL] = {true, true, false, at_square, below_normal},
    [PRIOR_LAPLACE] = {false, true, true, NULL, below_laplace},
    [PRIOR_LOG_LAPLACE] = {true, true, true, NULL, below_laplace},
    [PRIOR_CAUCHY] = {false, true, false, at_cauchy, below_cauchy},
    [PRIOR_LOG_UNIFORM] = {true, false, false, at_log_uniform, NULL},
    [PRIOR_GAMMA] = {true, false, false, at_gamma, below_gamma},
    [PRIOR_CHI_SQUARE] = {true, false, false, at_gamma, below_gamma},
    [PRIOR_EXPONENTIAL] = {true, false, false, at_gamma, below_gamma},
    [PRIOR_RAYLEIGH] = {true, false, false, at_rayleigh, below_rayleigh},
};

bool fit_prior_has_kink(const struct fit_prior *prior) { return forms[prior->kind].has_kink; }

bool fit_prior_has_offset(const struct fit_prior *prior)
{
    const struct form *form = &forms[prior->kind];
    bool is_shape_1 = prior->kind == PRIOR_EXPONENTIAL; /* of Gamma's */
    return form->on_log && !is_shape_1 && (form->has_kink || !form->has_r);
}

struct prior_terms fit_prior_at(const struct fit_prior *prior, double theta, double p, double chain,
                                enum fit_curvature curvature)
{
    const struct form *form = &forms[prior->kind];
    double x = prior->on_optimizer ? theta : p, slope = prior->on_optimizer ? 1 : chain;
    double scale = form->has_r ? prior->scale : 1, location = form->has_r ? prior->location : 0,
           u = 0;
    if (form->on_log) {
        slope /= x;
        u = x = x > 0 ? log(x) : NAN;
    }
    if (prior->kind == PRIOR_LOG_NORMAL) /* u is part of the square */
        location -= scale * scale;
    double v = (x - location) / scale, row = slope / scale;
    if (form->has_kink) {
        static const struct fit_loss laplace = {.error = ERROR_LAPLACE,
                                                .has_kink = true,
                                                .is_far_from_square = true,
                                                .location_information = 1,
                                                .tuning = LOSS_KINK};
        struct loss_terms terms = fit_loss_at(&laplace, v);
        double root = fit_loss_root(&laplace, curvature, terms.weight),
               more = form->on_log ? scale : 0;
        return (struct prior_terms){terms.rho + (form->on_log ? u : 0), root * row,
                                    (terms.weight * v + more) / root,
                                    fit_loss_rounding(&laplace, v)};
    }
    if (!form->at) /* uniform */
        return (struct prior_terms){.f = 0};
    struct shape shape = form->at(prior, v);
    double root = sqrt(shape.curvature);
    return (struct prior_terms){shape.f, root * row, shape.slope / root, 0};
}

double fit_prior_below(const struct fit_prior *prior, double x)
{
    const struct form *form = &forms[prior->kind];
    x = form->on_log ? fmax(x, 0) : x;
    if (!form->below)
        return form->on_log ? log(x) : x;
    return form->below(prior, form->on_log && form->has_r ? log(x) : x);
}

/* log P(X > x), without cancellation and underflow: symmetric kinds for r = (x - location) /
 * scale >= 0. */
static double log_above(const struct fit_prior *prior, double x)
{
    switch (prior->kind) {
    case PRIOR_NORMAL:
    case PRIOR_LOG_NORMAL: return isinf(x) ? -INFINITY : -fit_loss_censored(-x, INFINITY).loss;
    case PRIOR_LAPLACE: case PRIOR_LOG_LAPLACE: return log(0.5) - x;
    case PRIOR_CAUCHY: return log(atan2(1, x) / acos(-1.0));
    case PRIOR_RAYLEIGH: return -0.5 * x / prior->scale * (x / prior->scale);
    default: return -x / prior->scale; /* exponential */
    }
}

/* log P(lower <= X <= upper) */
static double log_mass(const struct fit_prior *prior, double lower, double upper)
{
    const struct form *form = &forms[prior->kind];
    bool has_tail = prior->kind == PRIOR_RAYLEIGH || prior->kind == PRIOR_EXPONENTIAL;
    double low = form->on_log ? fmax(lower, 0) : lower, high = upper;
    if (form->has_r) {
        low = ((form->on_log ? log(low) : low) - prior->location) / prior->scale;
        high = ((form->on_log ? log(high) : high) - prior->location) / prior->scale;
        has_tail = low > 0 || high < 0;
        double mirrored = -low;
        low = high < 0 ? -high : low;
        high = high < 0 ? mirrored : high;
    }
    if (!has_tail)
        return log(fit_prior_below(prior, upper) - fit_prior_below(prior, lower));
    double above = log_above(prior, low);
    return above + log1p(-exp(log_above(prior, high) - above));
}

double fit_prior_constant(const struct fit_prior *prior, double lower, double upper)
{
    const struct form *form = &forms[prior->kind];
    if (!form->below)
        return log(fit_prior_below(prior, upper) - fit_prior_below(prior, lower));
    double constant = prior->kind == PRIOR_CAUCHY     ? log(acos(-1.0) * prior->scale)
                      : form->has_kink                ? log(2 * prior->scale)
                      : form->has_r                   ? HALF_LOG_2PI + log(prior->scale)
                      : prior->kind == PRIOR_RAYLEIGH ? 2 * log(prior->scale)
                                                      : constant_gamma(prior);
    if (prior->kind == PRIOR_LOG_NORMAL)
        constant += prior->location - 0.5 * prior->scale * prior->scale; /* what the square lacks */
    return constant + log_mass(prior, lower, upper);
}
