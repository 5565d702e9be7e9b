/* Objective, gradient and rows from predictions and their derivatives; summary numbers at the
 * end of a search.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/objective/objective.h"

#include "fit/objective/matrix.h"
#include "ode/wide.h"

#include <math.h>
#include <string.h>

/* The share of one measurement in the objective: f and, with the derivatives m' and s' of
 * prediction and noise, the rows
 *   weight m' + cross s' | residual      noise_weight s' | noise_residual
 * whose products with their right-hand sides sum to f'. cross, noise_weight and noise_residual
 * are 0 without a modelled standard deviation. `constant` is the part of f that depends on the
 * standard deviation and the value alone. */
struct row {
    double f, constant, weight, residual, cross, noise_weight, noise_residual;
};

/* Measurements whose terms are computed at once: derivatives are read column by column, in
 * pieces of this length. */
enum { AT_ONCE = 64 };

static size_t count_until(size_t last, size_t first)
{
    return last - first < AT_ONCE ? last - first : AT_ONCE;
}

static size_t count_at(const struct fit_objective *objective, size_t first)
{
    return count_until(objective->n_row, first);
}

/* Whether a row's standard deviation comes from the noise function, so that it has derivatives. */
static bool is_modelled(const struct fit_objective *objective, size_t i)
{
    return objective->has_noise &&
           !(objective->measured.sigma && !isnan(objective->measured.sigma[i]));
}

double fit_objective_sigma(const struct fit_objective *objective, const struct fit_answer *answer,
                           size_t i)
{
    double own = objective->measured.sigma ? objective->measured.sigma[i] : NAN;
    return !isnan(own) ? own : objective->has_noise ? answer->noise[i] : 1;
}

struct censored_terms fit_objective_censored(const struct fit_objective *objective,
                                             const struct fit_answer *answer, size_t i, double r)
{
    double y = objective->measured.value[i],
           limit = objective->measured.limit ? objective->measured.limit[i] : NAN,
           width = fabs(y - limit);
    if (fit_objective_loss(objective, i)->is_log)
        width = limit > 0 ? fabs(log1p((limit - y) / y)) : INFINITY;
    width /= fit_objective_sigma(objective, answer, i);
    return fit_loss_censored(-objective->measured.censored[i] * r, isnan(limit) ? INFINITY : width);
}

/* side: 1 if the value is the upper end of what is possible, -1 if it is the lower one. The ends
 * move by -side slope m' - about s'/s, and apart by -s'/s; the rows are a Cholesky factor of the
 * curvature by these. */
static struct row censored_row(struct censored_terms terms, double slope, double sigma, int side,
                               bool modelled)
{
    double root = sqrt(fmax(terms.curvature, 0));
    struct row row = {.f = terms.loss, .weight = root * slope};
    row.residual = root > 0 ? side * (terms.hazard / root) : 0;
    if (!modelled || !(root > 0))
        return row;
    double mixed = terms.mixed / root, rest = terms.spread_curvature - mixed * mixed,
           spread_root = sqrt(fmax(rest, 0));
    row.cross = side * (root * terms.about + mixed) / sigma;
    row.noise_weight = spread_root / sigma;
    row.noise_residual =
        spread_root > 0 ? -(terms.spread + mixed * terms.hazard / root) / spread_root : 0;
    return row;
}

/* The factors are square roots of the requested curvature. */
static struct row row_at(const struct fit_objective *objective, const struct fit_answer *answer,
                         size_t i, enum fit_curvature curvature)
{
    const struct fit_loss *loss = fit_objective_loss(objective, i);
    bool is_log = loss->is_log, modelled = is_modelled(objective, i);
    double sigma = fit_objective_sigma(objective, answer, i), m = answer->prediction[i],
           y = objective->measured.value[i];
    double slope = 1 / sigma, r = (m - y) * slope;
    if (is_log) {
        r = m > 0 ? log(m / y) * slope : NAN;
        slope /= m;
    }
    int side = objective->measured.censored ? objective->measured.censored[i] : 0;
    if (side)
        return censored_row(fit_objective_censored(objective, answer, i, r), slope, sigma, side,
                            modelled);
    struct loss_terms terms = fit_loss_at(loss, r);
    double root = fit_loss_root(loss, curvature, terms.weight);
    struct row row = {.f = terms.rho, .weight = root * slope, .residual = terms.weight * r / root};
    if (objective->likelihood)
        row.f += row.constant = log(sigma) + loss->log_constant + (is_log ? log(y) : 0);
    if (modelled) {
        double scale_root = sqrt(loss->scale_information);
        row.noise_weight = scale_root / sigma;
        row.noise_residual = (1 - terms.weight * r * r) / scale_root;
    }
    return row;
}

bool fit_objective_plain(const struct fit_objective *objective, const struct fit_answer *answer,
                         size_t i, double *r, double *weight, double *value)
{
    if (objective->is_plain) {
        *weight = answer->weight[i];
        *r = answer->residual[i];
        *value = objective->measured.value[i];
        return true;
    }
    bool is_log = fit_objective_loss(objective, i)->is_log;
    double y = objective->measured.value[i], m = answer->prediction[i];
    *weight = 1 / fit_objective_sigma(objective, answer, i);
    *r = (is_log ? log(m / y) : m - y) * *weight;
    *value = is_log ? log(y) : y;
    return !(objective->measured.censored && objective->measured.censored[i]);
}

double fit_objective_rounding(const struct fit_objective *objective,
                              const struct fit_answer *answer)
{
    double r, weight, value, sum = 0;
    for (size_t i = 0; i < objective->n_row; i++) {
        const struct fit_loss *loss = fit_objective_loss(objective, i);
        if (loss->has_kink && fit_objective_plain(objective, answer, i, &r, &weight, &value))
            sum += fit_loss_rounding(loss, r);
    }
    return sum;
}

const char *fit_objective_kind(enum error_kind error, bool likelihood)
{
    return likelihood ? "negative_log_likelihood" : error_row[error].objective;
}

bool fit_objective_is_plain(const struct fit_objective *objective)
{
    bool is_plain =
        !objective->has_noise && !objective->likelihood && !objective->measured.censored;
    for (size_t i = 0; i < objective->n_row && is_plain; i++)
        is_plain = fit_objective_loss(objective, i)->error == ERROR_NORMAL;
    return is_plain;
}

bool fit_objective_has_kinks(const struct fit_objective *objective)
{
    bool any = false;
    for (size_t i = 0; i < objective->n_row && !any && !objective->is_plain; i++)
        any = fit_objective_loss(objective, i)->has_kink;
    for (size_t k = 0; k < objective->n_prior; k++)
        any = any || fit_prior_has_kink(&objective->prior[k].prior);
    return any;
}

static struct prior_terms prior_at(const struct fit_prior_term *term,
                                   const struct fit_answer *answer, double chain,
                                   enum fit_curvature curvature)
{
    return fit_prior_at(&term->prior, answer->theta[term->j], answer->p[term->i], chain, curvature);
}

/* weight and residual of a plain objective's rows */
WIDE static void fill_plain(const struct fit_objective *objective, const struct fit_answer *answer)
{
    const double *m = answer->prediction, *y = objective->measured.value,
                 *sigma = objective->measured.sigma;
    double *weight = answer->weight, *residual = answer->residual;
    EACH (size_t i = 0; i < objective->n_row; i++)
        weight[i] = sigma && sigma[i] == sigma[i] ? 1 / sigma[i] : 1;
    EACH (size_t i = 0; i < objective->n_row; i++)
        residual[i] = (m[i] - y[i]) * weight[i];
}

double fit_objective_value(const struct fit_objective *objective, const struct fit_answer *answer)
{
    double sum = 0;
    if (objective->is_plain) {
        fill_plain(objective, answer);
        sum = 0.5 * matrix_squares(objective->n_row, answer->residual);
    }
    for (size_t i = 0; i < objective->n_row && !objective->is_plain; i++) {
        struct row row = row_at(objective, answer, i, CURVATURE_ABOVE);
        answer->weight[i] = row.weight;
        answer->residual[i] = row.residual;
        sum += row.f;
    }
    for (size_t k = 0; k < objective->n_prior; k++)
        sum += prior_at(&objective->prior[k], answer, 1, CURVATURE_ABOVE).f;
    return sum;
}

void fit_objective_slopes(const struct fit_objective *objective, const struct fit_answer *answer,
                          double *by_prediction, double *by_noise)
{
    for (size_t i = 0; i < objective->n_row; i++)
        by_prediction[i] = answer->residual[i] * answer->weight[i];
    for (size_t i = 0; objective->has_noise && i < objective->n_row; i++) {
        struct row row = row_at(objective, answer, i, CURVATURE_ABOVE);
        by_noise[i] = row.cross * row.residual + row.noise_weight * row.noise_residual;
    }
}

void fit_objective_add_priors(const struct fit_objective *objective,
                              const struct fit_answer *answer, double *gradient)
{
    for (size_t k = 0; k < objective->n_prior; k++) {
        size_t j = objective->prior[k].j;
        struct prior_terms terms =
            prior_at(&objective->prior[k], answer, answer->chain[j], CURVATURE_ABOVE);
        gradient[j] += terms.row * terms.rhs;
    }
}

void fit_objective_gradient(const struct fit_objective *objective, const struct fit_answer *answer,
                            double *gradient)
{
    size_t n_row = objective->n_row;
    for (size_t j = 0; j < answer->n; j++)
        gradient[j] = matrix_product(n_row, answer->weight, answer->d_prediction + j * n_row,
                                     answer->residual);
    for (size_t first = 0; objective->has_noise && first < n_row; first += AT_ONCE) {
        double slope[AT_ONCE];
        for (size_t i = 0; i < count_at(objective, first); i++) {
            struct row row = row_at(objective, answer, first + i, CURVATURE_ABOVE);
            slope[i] = row.cross * row.residual + row.noise_weight * row.noise_residual;
        }
        for (size_t j = 0; j < answer->n; j++)
            for (size_t i = 0; i < count_at(objective, first); i++)
                gradient[j] +=
                    slope[i] != 0 ? slope[i] * answer->d_noise[first + i + j * n_row] : 0;
    }
    for (size_t j = 0; j < answer->n; j++)
        gradient[j] *= answer->chain[j];
    fit_objective_add_priors(objective, answer, gradient);
}

size_t fit_objective_n_row(const struct fit_objective *objective)
{
    return fit_objective_n_row_of(objective, 0, objective->n_row);
}

size_t fit_objective_n_row_of(const struct fit_objective *objective, size_t first, size_t last)
{
    return (objective->has_noise ? 2 : 1) * (last - first) +
           (last == objective->n_row ? objective->n_prior : 0);
}

/* Rows of the predictions, with their right-hand sides; rows of the noise are `above` before
 * them. */
struct rows_place {
    size_t above, stride;
    double *a, *b;
};

/* Adds the noise to the rows of n measurements from `first` on. */
static void add_noise(const struct fit_objective *objective, const struct fit_answer *answer,
                      size_t first, size_t n, const struct row *row, struct rows_place place)
{
    const ptrdiff_t above = (ptrdiff_t)place.above;
    for (size_t j = 0; j < answer->n; j++)
        for (size_t i = 0; i < n; i++) {
            double ds = answer->d_noise[first + i + j * objective->n_row] * answer->chain[j],
                   *at = place.a + i + j * place.stride;
            *at += row[i].cross * ds;
            at[-above] = row[i].noise_weight * ds;
        }
    for (size_t i = 0; i < n; i++)
        place.b[(ptrdiff_t)i - above] = row[i].noise_residual;
}

/* In the last of `stride` rows. */
static void add_priors(const struct fit_objective *objective, const struct fit_answer *answer,
                       enum fit_curvature curvature, size_t stride, double *a, double *b)
{
    size_t first = stride - objective->n_prior;
    for (size_t k = 0; k < objective->n_prior; k++) {
        size_t own = objective->prior[k].j;
        struct prior_terms terms =
            prior_at(&objective->prior[k], answer, answer->chain[own], curvature);
        for (size_t j = 0; j < answer->n; j++)
            a[first + k + j * stride] = j == own ? terms.row : 0;
        b[first + k] = terms.rhs;
    }
}

WIDE static void scale(size_t n, double factor, const double *weight, const double *x, double *to)
{
    EACH (size_t i = 0; i < n; i++)
        to[i] = x[i] * weight[i] * factor;
}

void fit_objective_rows(const struct fit_objective *objective, const struct fit_answer *answer,
                        enum fit_curvature curvature, double *a, double *b)
{
    fit_objective_rows_of(objective, answer, curvature, 0, objective->n_row, a, b);
}

void fit_objective_rows_of(const struct fit_objective *objective, const struct fit_answer *answer,
                           enum fit_curvature curvature, size_t first, size_t last, double *a,
                           double *b)
{
    size_t n = last - first, above = objective->has_noise ? n : 0,
           stride = fit_objective_n_row_of(objective, first, last);
    bool kept = curvature == CURVATURE_ABOVE || objective->is_plain;
    if (last == objective->n_row)
        add_priors(objective, answer, curvature, stride, a, b);
    a += above;
    b += above;
    for (size_t i = 0; i < n && !kept; i++)
        b[i] = row_at(objective, answer, first + i, curvature).weight;
    for (size_t j = 0; j < answer->n; j++)
        scale(n, answer->chain[j], kept ? answer->weight + first : b,
              answer->d_prediction + first + j * objective->n_row, a + j * stride);
    memcpy(b, answer->residual + first, n * sizeof *b);
    for (size_t done = 0; done < n && (!kept || objective->has_noise); done += AT_ONCE) {
        struct row row[AT_ONCE];
        size_t count = count_until(n, done);
        for (size_t i = 0; i < count; i++) {
            row[i] = row_at(objective, answer, first + done + i, curvature);
            b[done + i] = row[i].residual;
        }
        if (objective->has_noise)
            add_noise(objective, answer, first + done, count, row,
                      (struct rows_place){above, stride, a + done, b + done});
    }
}

double fit_objective_row_product(const struct fit_objective *objective,
                                 const struct fit_answer *answer, size_t j, const double *x)
{
    size_t n_row = objective->n_row;
    return matrix_product(n_row, answer->weight, answer->d_prediction + j * n_row, x) *
           answer->chain[j];
}

double fit_objective_scale(const struct fit_objective *objective, const struct fit_answer *answer)
{
    double sum = 0;
    for (size_t i = 0; i < objective->n_row; i++) {
        double sigma = fit_objective_sigma(objective, answer, i);
        double value = fit_objective_loss(objective, i)->is_log ? 1 : objective->measured.value[i];
        sum += 0.5 * (value / sigma) * (value / sigma);
    }
    return sum;
}

/* A factor c on all sigmas divides distances by c and squares by c^2: distances / c + squares /
 * c^2 = count. */
double fit_objective_common_scale(const struct fit_criteria *criteria, double count)
{
    double half = 0.5 * (criteria->distances / count),
           squares = criteria->chi_square - criteria->distances;
    return half + hypot(half, sqrt(squares / count));
}

double fit_objective_deviance(const struct fit_criteria *criteria, double n_row,
                              const struct fit_criteria *all, double n_all)
{
    double mean = all->chi_square / n_all, own = criteria->chi_square / n_row;
    if (all->scaling == 0 || n_row == 0)
        return criteria->deviance;
    return all->scaling * n_row * (log(mean) + (own == mean ? 1 : own / mean)) +
           criteria->constants;
}

static uint32_t observable_of(const struct fit_objective *objective, size_t i)
{
    return objective->measured.observable ? objective->measured.observable[i] : 0;
}

/* What describes the plain residuals of an observable. */
struct observed {
    double weight, sum, sizes, squares, before; /* before: the latest residual but 0 */
};
/* Observables that share a pass over the rows. */
enum { OBSERVABLES_AT_ONCE = 16 };

/* Adds n observables from `first` on, and the sums of squares about the weighted means of their
 * values. */
static void add_observables(const struct fit_objective *objective, const struct fit_answer *answer,
                            uint32_t first, uint32_t n, struct fit_criteria *criteria)
{
    struct observed all[OBSERVABLES_AT_ONCE];
    size_t n_neighbour = 0, n_change = 0;
    double r, root, value;
    memset(all, 0, n * sizeof *all);
    for (size_t i = 0; i < objective->n_row; i++) {
        uint32_t number = observable_of(objective, i) - first;
        if (number >= n || !fit_objective_plain(objective, answer, i, &r, &root, &value))
            continue;
        struct observed *one = &all[number];
        double size = fit_objective_loss(objective, i)->is_log ? root : root * value;
        one->weight += root * root;
        one->sum += root * root * value;
        one->sizes += size * size;
        /* Signs are random: without branches. */
        n_neighbour += (size_t)(one->before != 0) & (size_t)(r != 0);
        n_change += (size_t)(((one->before < 0) & (r > 0)) | ((one->before > 0) & (r < 0)));
        one->before = r != 0 ? r : one->before;
    }
    criteria->n_neighbour += n_neighbour;
    criteria->n_change += n_change;
    for (uint32_t k = 0; k < n; k++)
        all[k].sum /= all[k].weight; /* the mean */
    for (size_t i = 0; i < objective->n_row; i++) {
        uint32_t number = observable_of(objective, i) - first;
        if (number >= n || !fit_objective_plain(objective, answer, i, &r, &root, &value))
            continue;
        double deviation = (value - all[number].sum) * root;
        all[number].squares += deviation * deviation;
    }
    for (uint32_t k = 0; k < n; k++) {
        criteria->n_constant += all[k].weight > 0;
        criteria->sizes += all[k].sizes;
        criteria->total_squares += all[k].squares;
    }
}

/* Products in this range have lost nothing to underflow or overflow. */
static const double PRODUCT_LEAST = 1e-290, PRODUCT_MOST = 1e290;

/* The sums over all rows of a plain objective, whose weights and residuals are known: the same
 * as below, with one logarithm for a product of many standard deviations. */
static void add_plain(const struct fit_objective *objective, const struct fit_answer *answer,
                      struct fit_criteria *criteria)
{
    double product = 1, constants = 0, squares = 0;
    for (size_t i = 0; i < objective->n_row; i++) {
        double r = answer->residual[i];
        squares += r * r;
        constants += fit_objective_loss(objective, i)->log_constant;
        double sigma = fit_objective_sigma(objective, answer, i), next = product * sigma;
        bool is_exact = next > PRODUCT_LEAST && next < PRODUCT_MOST;
        constants += is_exact ? 0 : log(product) + log(sigma);
        product = is_exact ? next : 1;
    }
    constants += log(product);
    criteria->deviance = squares + 2 * constants;
    criteria->chi_square = criteria->squares = squares;
    criteria->constants = 2 * constants;
    criteria->scaling = 1;
}

static void add_rows(const struct fit_objective *objective, const struct fit_answer *answer,
                     struct fit_criteria *criteria)
{
    struct fit_objective full = *objective;
    size_t n_square = 0, n_kink = 0;
    full.likelihood = true;
    for (size_t i = 0; i < objective->n_row; i++) {
        double r, weight, value;
        struct row row = row_at(&full, answer, i, CURVATURE_ABOVE);
        criteria->deviance += 2 * row.f;
        const struct fit_loss *loss = fit_objective_loss(objective, i);
        n_square += error_kind_is_square(loss->error);
        n_kink += loss->has_kink;
        if (!fit_objective_plain(objective, answer, i, &r, &weight, &value))
            continue;
        struct loss_terms terms = fit_loss_at(loss, r);
        criteria->deviance -= 2 * fit_loss_rounding(loss, r);
        criteria->chi_square += terms.weight * r * r;
        criteria->distances += loss->has_kink ? terms.weight * r * r : 0;
        criteria->squares += r * r;
        /* Not f - rho, which has lost its digits if residuals are large. */
        criteria->constants += 2 * row.constant;
    }
    criteria->scaling = n_kink == objective->n_row ? 2 : n_square == objective->n_row;
}

struct fit_criteria fit_objective_criteria(const struct fit_objective *objective,
                                           const struct fit_answer *answer, uint32_t n_observable)
{
    struct fit_criteria criteria = {.total_squares = 0};
    for (uint32_t first = 0; first < n_observable; first += OBSERVABLES_AT_ONCE)
        add_observables(objective, answer, first,
                        n_observable - first < OBSERVABLES_AT_ONCE ? n_observable - first
                                                                   : OBSERVABLES_AT_ONCE,
                        &criteria);
    if (objective->is_plain && objective->n_row > 0)
        add_plain(objective, answer, &criteria);
    else
        add_rows(objective, answer, &criteria);
    return criteria;
}

/* Second derivatives of one measurement's share minus their expectation, possibly negative:
 * twice by prediction, by prediction and noise, twice by noise. For log-normal errors,
 * `prediction` is the logarithm. */
struct excess {
    double mm, ms, ss;
};

/* f = rho(r) + log s with r' = slope m' - r/s s': what the derivatives of r itself add if s is
 * modelled. by_scale: rho'(r) r. */
static struct excess by_noise(double slope_of_rho, double by_scale, double slope, double sigma)
{
    return (struct excess){0, -slope_of_rho * slope / sigma, 2 * by_scale / (sigma * sigma)};
}

static struct excess excess_at(const struct fit_objective *objective,
                               const struct fit_answer *answer, size_t i)
{
    const struct fit_loss *loss = fit_objective_loss(objective, i);
    if (loss->has_kink)
        return (struct excess){0};
    bool modelled = is_modelled(objective, i);
    double r, root, value, sigma = fit_objective_sigma(objective, answer, i);
    bool censored = !fit_objective_plain(objective, answer, i, &r, &root, &value);
    double slope = loss->is_log ? root / answer->prediction[i] : root;
    if (censored && !modelled) /* its row already has the second derivative by r */
        return (struct excess){0};
    if (censored) { /* and those by its ends */
        struct censored_terms terms = fit_objective_censored(objective, answer, i, r);
        return by_noise(objective->measured.censored[i] * terms.hazard,
                        terms.spread - terms.hazard * terms.about, slope, sigma);
    }
    double bend = fit_loss_second(loss, r), rho_slope = fit_loss_at(loss, r).weight * r;
    struct excess excess = {0};
    if (modelled)
        excess = by_noise(rho_slope, rho_slope * r, slope, sigma);
    excess.mm = (bend - loss->location_information) * slope * slope;
    if (modelled) {
        excess.ms -= bend * r * slope / sigma;
        excess.ss += (bend * r * r - 1 - loss->scale_information) / (sigma * sigma);
    }
    return excess;
}

bool fit_objective_has_excess(const struct fit_objective *objective)
{
    bool any = false;
    for (size_t i = 0; i < objective->n_row && !any; i++) {
        const struct fit_loss *loss = fit_objective_loss(objective, i);
        any = !loss->has_kink && (objective->has_noise || !error_kind_is_square(loss->error));
    }
    return any;
}

void fit_objective_excess(const struct fit_objective *objective, const struct fit_answer *answer,
                          double *excess)
{
    size_t n = answer->n, n_row = objective->n_row;
    memset(excess, 0, n * n * sizeof *excess);
    for (size_t first = 0; first < n_row; first += AT_ONCE) {
        double by_m[AT_ONCE], by_s[AT_ONCE];
        struct excess row[AT_ONCE];
        size_t n_at = count_at(objective, first);
        const double *m = answer->d_prediction + first,
                     *s = objective->has_noise ? answer->d_noise + first : NULL;
        for (size_t i = 0; i < n_at; i++)
            row[i] = excess_at(objective, answer, first + i);
        for (size_t j = 0; j < n; j++) {
            for (size_t i = 0; i < n_at; i++) {
                double mj = m[i + j * n_row], sj = s ? s[i + j * n_row] : 0;
                by_m[i] = row[i].mm * mj + row[i].ms * sj;
                by_s[i] = row[i].ms * mj + row[i].ss * sj;
            }
            for (size_t k = 0; k <= j; k++)
                excess[k + j * n] += matrix_dot(n_at, by_m, m + k * n_row) +
                                     (s ? matrix_dot(n_at, by_s, s + k * n_row) : 0);
        }
    }
    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k <= j; k++)
            excess[j + k * n] = excess[k + j * n] *= answer->chain[j] * answer->chain[k];
}
