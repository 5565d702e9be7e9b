/* The losses: elementary functions, each written to stay accurate in the tails, and their table.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/objective/loss.h"

#include "base/random.h"
#include "fit/objective/distribution.h"

#include <math.h>

static const double HALF_LOG_2PI = 0.918938533204672741780;
static const double ROOT_2PI = 2.506628274631000502416, ROOT_HALF = 0.707106781186547524401;
static const double LOG_2 = 0.693147180559945309417, LOG_PI = 1.144729885849400174143;

/* Below this the continued fraction of Mills' ratio is used, because z + hazard would cancel; 60
 * terms give full precision there. */
static const double FAR = -4;
enum { FRACTION_TERMS = 60 };

/* The functions of a distribution; k is its tuning constant. */
struct form {
    void (*fill)(struct fit_loss *loss); /* log_constant and informations */
    struct loss_terms (*at)(double k, double r);
    double (*second)(double k, double r); /* NULL for a loss with a kink */
    double (*quantile)(const struct fit_loss *loss, double u); /* for u up to a half */
};

static void fill_normal(struct fit_loss *loss)
{
    loss->log_constant = HALF_LOG_2PI;
    loss->location_information = 1;
    loss->scale_information = 2;
}

static struct loss_terms at_normal(double k, double r)
{
    (void)k;
    return (struct loss_terms){0.5 * r * r, 1};
}

static double second_normal(double k, double r)
{
    (void)k, (void)r;
    return 1;
}

static double quantile_normal(const struct fit_loss *loss, double u)
{
    (void)loss;
    return distribution_normal_quantile(u);
}

static void fill_laplace(struct fit_loss *loss)
{
    loss->log_constant = LOG_2;
    loss->location_information = loss->scale_information = 1;
}

static struct loss_terms at_laplace(double k, double r)
{
    double rounded = hypot(r, k);
    return (struct loss_terms){rounded, 1 / rounded};
}

static double quantile_laplace(const struct fit_loss *loss, double u)
{
    (void)loss;
    return log(2 * u);
}

/* The density exp(-rho) is normal in the middle with exponential tails: its moments are added
 * piece by piece. */
static void fill_huber(struct fit_loss *loss)
{
    double k = loss->tuning, edge = exp(-0.5 * k * k), middle = ROOT_2PI * erf(k * ROOT_HALF);
    double total = middle + 2 / k * edge;
    loss->log_constant = log(total);
    loss->location_information = middle / total;
    loss->scale_information = (3 * middle + (4 / k - 2 * k) * edge) / total - 1;
}

static struct loss_terms at_huber(double k, double r)
{
    return fabs(r) > k ? (struct loss_terms){k * (fabs(r) - 0.5 * k), k / fabs(r)}
                       : at_normal(k, r);
}

static double second_huber(double k, double r) { return fabs(r) > k ? 0 : 1; }

/* Huber's least favourable distribution: normal between -k and k, exponential tails beyond, each
 * with the mass exp(-k^2 / 2) / (k constant). */
static double quantile_huber(const struct fit_loss *loss, double u)
{
    double k = loss->tuning, constant = exp(loss->log_constant),
           tail = exp(-0.5 * k * k) / (k * constant);
    if (u < tail)
        return (log(u * k * constant) - 0.5 * k * k) / k;
    return distribution_normal_quantile((u - tail) * constant / ROOT_2PI + distribution_normal(-k));
}

static void fill_student(struct fit_loss *loss)
{
    double nu = loss->tuning;
    int sign; /* lgamma would write a global variable */
    loss->log_constant =
        0.5 * (log(nu) + LOG_PI) + lgamma_r(0.5 * nu, &sign) - lgamma_r(0.5 * (nu + 1), &sign);
    loss->location_information = (nu + 1) / (nu + 3);
    loss->scale_information = 2 * nu / (nu + 3);
}

static struct loss_terms at_student(double nu, double r)
{
    return (struct loss_terms){0.5 * (nu + 1) * log1p(r * r / nu), (nu + 1) / (nu + r * r)};
}

static double second_student(double nu, double r)
{
    double sum = nu + r * r;
    return (nu + 1) * (nu - r * r) / (sum * sum);
}

static double quantile_student(const struct fit_loss *loss, double u)
{
    return distribution_t_quantile(u, loss->tuning);
}

static const struct form forms[N_ERROR] = {
    [ERROR_NORMAL] = {fill_normal, at_normal, second_normal, quantile_normal},
    [ERROR_LOG_NORMAL] = {fill_normal, at_normal, second_normal, quantile_normal},
    [ERROR_LAPLACE] = {fill_laplace, at_laplace, NULL, quantile_laplace},
    [ERROR_LOG_LAPLACE] = {fill_laplace, at_laplace, NULL, quantile_laplace},
    [ERROR_HUBER] = {fill_huber, at_huber, second_huber, quantile_huber},
    [ERROR_STUDENT] = {fill_student, at_student, second_student, quantile_student},
};

struct fit_loss fit_loss_of(enum error_kind error, const double *tuning)
{
    struct fit_loss loss = {.error = error, .is_log = error_row[error].is_log,
                            .has_kink = error_row[error].growth == GROWTH_LINEAR};
    loss.is_far_from_square = loss.has_kink || error == ERROR_HUBER;
    loss.tuning = loss.has_kink ? LOSS_KINK : NAN;
    if (error_tuning[error].letter)
        loss.tuning = tuning ? tuning[error] : error_tuning[error].standard;
    forms[error].fill(&loss);
    return loss;
}

double fit_loss_root(const struct fit_loss *loss, enum fit_curvature curvature, double weight)
{
    if (curvature == CURVATURE_KINKS && loss->is_far_from_square) {
        /* Laplace: rho'' = kink^2 / hypot(r, kink)^3 */
        double width = loss->has_kink ? loss->tuning : 1;
        return width * weight * sqrt(weight);
    }
    return sqrt(curvature == CURVATURE_EXPECTED ? loss->location_information : weight);
}

struct loss_terms fit_loss_at(const struct fit_loss *loss, double r)
{
    return forms[loss->error].at(loss->tuning, r);
}
double fit_loss_rounding(const struct fit_loss *loss, double r)
{
    return loss->has_kink ? fit_loss_at(loss, r).rho - fabs(r) : 0;
}

double fit_loss_second(const struct fit_loss *loss, double r)
{
    return forms[loss->error].second(loss->tuning, r);
}

double fit_loss_quantile(const struct fit_loss *loss, double u)
{
    const struct form *form = &forms[loss->error];
    return u > 0.5 ? -form->quantile(loss, 1 - u) : form->quantile(loss, u);
}

double fit_loss_draw(const struct fit_loss *loss, uint64_t seed, uint64_t stream, uint64_t counter)
{
    if (error_kind_is_square(loss->error))
        return random_normal(seed, stream, counter);
    return fit_loss_quantile(loss, random_uniform(seed, stream, counter));
}

/* 1 / (t + 2 / (t + 3 / (t + ...))), the difference of phi(t) / (1 - Phi(t)) and t (Laplace's
 * continued fraction; Abramowitz & Stegun 26.2.14). */
static double excess(double t)
{
    double fraction = t;
    for (int i = FRACTION_TERMS; i > 1; i--)
        fraction = t + i / fraction;
    return 1 / fraction;
}

static struct censored_terms below_limit(double z)
{
    if (z < FAR) {
        double above = excess(-z), hazard = above - z;
        return (struct censored_terms){.loss = 0.5 * z * z + HALF_LOG_2PI + log(hazard),
                                       .hazard = hazard,
                                       .curvature = hazard * above,
                                       .about = z};
    }
    double tail = 0.5 * erfc(fabs(z) * ROOT_HALF), below = z > 0 ? 1 - tail : tail;
    double hazard = exp(-0.5 * z * z) / (ROOT_2PI * below);
    return (struct censored_terms){.loss = z > 0 ? -log1p(-tail) : -log(tail), .hazard = hazard,
                                   .curvature = hazard * (z + hazard),
                                   .about = z};
}

/* An interval that has zero in it and is wider than WIDE_LEAST: no difference of the terms
 * below cancels. low and high: the densities at its ends, divided by P. */
static struct censored_terms in_the_middle(double z, double width)
{
    double a = z - width, outside = 0.5 * (erfc(z * ROOT_HALF) + erfc(-a * ROOT_HALF)),
           p = 0.5 * (erf(z * ROOT_HALF) + erf(-a * ROOT_HALF));
    double low = exp(-0.5 * a * a) / (ROOT_2PI * p), high = exp(-0.5 * z * z) / (ROOT_2PI * p);
    double moved = low > 0 ? low * width : 0, bend = low > 0 ? low - a : 0;
    return (struct censored_terms){.loss = outside < 0.5 ? -log1p(-outside) : -log(p),
                                   .hazard = high - low,
                                   .curvature = (low - high) * (low - high) + high * z -
                                                (low > 0 ? low * a : 0),
                                   .about = z,
                                   .spread = -moved,
                                   .mixed = -moved * (bend - high),
                                   .spread_curvature = low > 0 ? moved * width * bend : 0};
}

/* Gauss and Legendre's nodes and weights on [-1, 1]; the other half are mirrored. */
enum { HALF_OF_NODES = 6, NODES = 2 * HALF_OF_NODES };
static const double node_at[HALF_OF_NODES] = {0.125233408511468915472, 0.367831498998180193753,
                                              0.587317954286617447297, 0.769902674194304687037,
                                              0.904117256370474856678, 0.981560634246719250691};
static const double node_weight[HALF_OF_NODES] = {
    0.249147045813402785001, 0.233492536538354808761, 0.203167426723065921749,
    0.160078328543346226335, 0.106939325995318430960, 0.0471753363865118271946};

/* What is narrower is integrated, wherever it is. Pieces whose density changes by exp(PIECE)
 * have full precision with 12 nodes; what lies FADED below the highest one adds nothing. */
static const double WIDE_LEAST = 2, PIECE = 4, FADED = 40;
enum { MOST_NODES = 11 * NODES };

/* Nodes v in [0, width], and shares of P of the values z - v there: their weights times
 * exp(z v - v^2 / 2), the density over that at z, divided by their sum, which is returned. */
static double integrate(double z, double width, size_t n, double *v, double *share)
{
    double half = 0.5 * width / (double)n, sum = 0;
    for (size_t i = 0; i < n * NODES; i++) {
        size_t k = i % NODES, part = i / NODES, at = k < HALF_OF_NODES ? k : NODES - 1 - k;
        double from_middle = k < HALF_OF_NODES ? -node_at[at] : node_at[at];
        v[i] = half * ((double)(2 * part + 1) + from_middle);
        sum += share[i] = half * node_weight[at] * exp(v[i] * (z - 0.5 * v[i]));
    }
    for (size_t i = 0; i < n * NODES; i++)
        share[i] /= sum;
    return sum;
}

/* Moments of the normal distribution truncated to the interval give the derivatives (Louis 1982):
 * with t = z - v and q = -t v, the slopes are the means of t and q - 1. */
static struct censored_terms by_integration(double z, double width, double range)
{
    double v[MOST_NODES], share[MOST_NODES];
    size_t n = range > PIECE ? (size_t)ceil(range / PIECE) : 1;
    double sum = integrate(z, width, n, v, share), mean_v = 0, mean_q = 0, mean_square = 0;
    double vv = 0, vq = 0, qq = 0;
    for (size_t i = 0; i < n * NODES; i++) {
        mean_v += share[i] * v[i];
        mean_q += share[i] * v[i] * (v[i] - z);
        mean_square += share[i] * v[i] * v[i];
    }
    for (size_t i = 0; i < n * NODES; i++) {
        double dv = v[i] - mean_v, dq = v[i] * (v[i] - z) - mean_q;
        vv += share[i] * dv * dv;
        vq += share[i] * dv * dq;
        qq += share[i] * dq * dq;
    }
    return (struct censored_terms){.loss = 0.5 * z * z + HALF_LOG_2PI - log(sum),
                                   .hazard = mean_v - z,
                                   .curvature = 1 - vv,
                                   .about = z,
                                   .spread = mean_q - 1,
                                   .mixed = vq - mean_v,
                                   .spread_curvature = 1 + mean_square - qq};
}

/* Where the interval's middle is not above zero. */
static struct censored_terms within(double z, double width)
{
    if (z > 0 && width > WIDE_LEAST)
        return in_the_middle(z, width);
    double range = width * (0.5 * width - z);
    return z <= 0 && !(range < FADED) ? below_limit(z) : by_integration(z, width, range);
}

struct censored_terms fit_loss_censored(double z, double width)
{
    if (width == INFINITY)
        return below_limit(z);
    if (!(z - 0.5 * width > 0))
        return within(z, width);
    struct censored_terms terms = within(width - z, width); /* mirrored */
    terms.hazard = -terms.hazard;
    terms.about = -terms.about;
    terms.mixed = -terms.mixed;
    return terms;
}
