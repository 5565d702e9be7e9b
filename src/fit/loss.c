/* Losses: elementary functions, each written so that it keeps its digits far out.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/loss.h"

#include <math.h>

static const double HALF_LOG_2PI = 0.918938533204672741780;
static const double ROOT_2PI = 2.506628274631000502416, ROOT_HALF = 0.707106781186547524401;
static const double LOG_2 = 0.693147180559945309417, LOG_PI = 1.144729885849400174143;

/* Below this the continued fraction of Mills' ratio is used: 60 terms give all digits there, and erfc(z) would cancel. */
static const double FAR = -4;
enum { FRACTION_TERMS = 60 };

/* The density exp(-rho) has normal flesh and exponential tails: moments piece by piece. */
static void fill_huber(struct fit_loss *loss)
{
    double k = loss->tuning, edge = exp(-0.5 * k * k), middle = ROOT_2PI * erf(k * ROOT_HALF);
    double total = middle + 2 / k * edge;
    loss->log_constant = log(total);
    loss->location_information = middle / total;
    loss->scale_information = (3 * middle + (4 / k - 2 * k) * edge) / total - 1;
}

static void fill_student(struct fit_loss *loss)
{
    double nu = loss->tuning;
    int sign; /* lgamma would write a global variable */
    loss->log_constant = 0.5 * (log(nu) + LOG_PI) + lgamma_r(0.5 * nu, &sign) - lgamma_r(0.5 * (nu + 1), &sign);
    loss->location_information = (nu + 1) / (nu + 3);
    loss->scale_information = 2 * nu / (nu + 3);
}

struct fit_loss fit_loss_of(enum error_kind error, double huber_k, double student_nu)
{
    struct fit_loss loss = {.error = error, .tuning = NAN, .log_constant = HALF_LOG_2PI, .location_information = 1,
                            .scale_information = 2};
    if (error == ERROR_LAPLACE) {
        loss.log_constant = LOG_2;
        loss.scale_information = 1;
    } else if (error == ERROR_HUBER) {
        loss.tuning = huber_k;
        fill_huber(&loss);
    } else if (error == ERROR_STUDENT) {
        loss.tuning = student_nu;
        fill_student(&loss);
    }
    return loss;
}

struct loss_terms fit_loss_laplace(double r)
{
    double rounded = hypot(r, LOSS_KINK);
    return (struct loss_terms){rounded, 1 / rounded};
}

double fit_loss_root(enum fit_curvature curvature, bool is_laplace, double weight, double expected)
{
    if (curvature == CURVATURE_KINKS && is_laplace)
        return LOSS_KINK * weight * sqrt(weight); /* rho'' = kink^2 / hypot(r, kink)^3 */
    return sqrt(curvature == CURVATURE_EXPECTED ? expected : weight);
}

struct loss_terms fit_loss_at(const struct fit_loss *loss, double r)
{
    double k = loss->tuning;
    switch (loss->error) {
    case ERROR_LAPLACE:
        return fit_loss_laplace(r);
    case ERROR_HUBER:
        if (fabs(r) > k)
            return (struct loss_terms){k * (fabs(r) - 0.5 * k), k / fabs(r)};
        break;
    case ERROR_STUDENT:
        return (struct loss_terms){0.5 * (k + 1) * log1p(r * r / k), (k + 1) / (k + r * r)};
    default:
        break;
    }
    return (struct loss_terms){0.5 * r * r, 1};
}

double fit_loss_second(const struct fit_loss *loss, double r)
{
    double k = loss->tuning, sum = k + r * r;
    if (loss->error == ERROR_STUDENT)
        return (k + 1) * (k - r * r) / (sum * sum);
    return loss->error == ERROR_HUBER && fabs(r) > k ? 0 : 1;
}

/* 1 / (t + 2 / (t + 3 / (t + ...))): what phi(t) / (1 - Phi(t)) exceeds t by (Laplace's continued fraction; Abramowitz &
 * Stegun 26.2.14). */
static double excess(double t)
{
    double fraction = t;
    for (int i = FRACTION_TERMS; i > 1; i--)
        fraction = t + i / fraction;
    return 1 / fraction;
}

struct censored_terms fit_loss_censored(double z)
{
    if (z < FAR) {
        double above = excess(-z), hazard = above - z;
        return (struct censored_terms){0.5 * z * z + HALF_LOG_2PI + log(hazard), hazard, hazard * above};
    }
    double tail = 0.5 * erfc(fabs(z) * ROOT_HALF), below = z > 0 ? 1 - tail : tail;
    double hazard = exp(-0.5 * z * z) / (ROOT_2PI * below);
    return (struct censored_terms){z > 0 ? -log1p(-tail) : -log(tail), hazard, hazard * (z + hazard)};
}
