/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/objective/goodness.h"

#include "fit/objective/distribution.h"

#include <math.h>

static const double POOR_PROBABILITY = 1e-6;
static const double CHANCE = 0.01;           /* that a curve explains so much of pure noise */
static const double LEFT = 0.5;              /* of the variance about a constant */
/* of the values' root mean square: a constant describes what is closer */
static const double SCATTER = 0.1;
/* of the values' root mean square: smaller residuals matter to nobody, and may be the
 * integrator's */
static const double VISIBLE = 0.01;
static const double NEGLIGIBLE = 1e-17;

bool fit_is_judged_by_chi_square(const struct fit_record *record)
{
    return !(record->notes & NOTE_no_model_sigma) && !(record->n_own_noise > 0);
}

bool fit_has_reduced(const struct fit_record *record)
{
    return fit_is_judged_by_chi_square(record) && isfinite(record->reduced_chi_square);
}

double fit_badness(const struct fit_record *record)
{
    return fit_has_reduced(record) ? record->reduced_chi_square : 1 - record->r_squared;
}

/* P(X <= k) of n tosses of a coin, for k below n / 2. */
static double coins(size_t k, size_t n)
{
    double term = exp(distribution_log_gamma((double)n + 1) -
                      distribution_log_gamma((double)k + 1) -
                      distribution_log_gamma((double)(n - k) + 1) - (double)n * log(2));
    double sum = 0;
    for (; term > NEGLIGIBLE * sum; k--) {
        sum += term;
        if (k == 0)
            break;
        term *= (double)k / (double)(n - k + 1);
    }
    return sum;
}

static bool keeps_signs(const struct fit_criteria *criteria)
{
    size_t k = criteria->n_change, n = criteria->n_neighbour;
    return 2 * k < n && coins(k, n) < POOR_PROBABILITY;
}

/* Whether a constant for each observable describes the data as well, up to chance. */
static bool explains_nothing(const struct fit_criteria *criteria, double n_row, double freedom)
{
    double n_constant = (double)criteria->n_constant,
           n_more = fmax(n_row - freedom - n_constant, 1);
    double left = criteria->squares / freedom,
           total = criteria->total_squares / (n_row - n_constant);
    double ratio = (criteria->total_squares - criteria->squares) / n_more / left;
    return left > LEFT * total && !(ratio > distribution_f_quantile(1 - CHANCE, n_more, freedom));
}

bool fit_goodness_is_poor(const struct fit_criteria *criteria, bool is_known, double n_row,
                          double freedom)
{
    if (!(freedom > 0))
        return false;
    if (is_known)
        return !(1 - distribution_chi_square(criteria->chi_square, freedom) >= POOR_PROBABILITY);
    double scatter = criteria->squares / criteria->sizes;
    return (scatter > VISIBLE * VISIBLE && keeps_signs(criteria))
           || (scatter > SCATTER * SCATTER && explains_nothing(criteria, n_row, freedom));
}
