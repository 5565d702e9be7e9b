/* Objective, gradient and rows from predictions and their derivatives.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/objective.h"

#include "fit/objective_row.h"

#include <math.h>

const char *fit_objective_kind(enum error_kind error, bool likelihood)
{
    if (likelihood)
        return "negative_log_likelihood";
    return error == ERROR_LAPLACE   ? "laplace_loss"
           : error == ERROR_HUBER   ? "huber_loss"
           : error == ERROR_STUDENT ? "student_loss"
                                    : "half_sum_of_squares";
}

bool fit_objective_has_kinks(const struct fit_objective *objective)
{
    bool any = false;
    for (size_t i = 0; i < objective->n_row && !any; i++)
        any = fit_objective_loss(objective, i)->error == ERROR_LAPLACE;
    for (size_t k = 0; k < objective->n_prior; k++)
        any = any || objective->prior[k].prior.kind == PRIOR_LAPLACE;
    return any;
}

static struct prior_terms prior_at(const struct fit_prior_term *term, const struct fit_answer *answer, double chain,
                                   enum fit_curvature curvature)
{
    return fit_prior_at(&term->prior, answer->theta[term->j], answer->p[term->i_model], chain, curvature);
}

double fit_objective_value(const struct fit_objective *objective, const struct fit_answer *answer)
{
    double sum = 0;
    for (size_t i = 0; i < objective->n_row; i++) {
        struct objective_row row = objective_row_at(objective, answer, i, CURVATURE_ABOVE);
        answer->weight[i] = row.weight;
        answer->residual[i] = row.residual;
        sum += row.f;
    }
    for (size_t k = 0; k < objective->n_prior; k++)
        sum += prior_at(&objective->prior[k], answer, 1, CURVATURE_ABOVE).f;
    return sum;
}

void fit_objective_slopes(const struct fit_objective *objective, const struct fit_answer *answer, double *by_prediction,
                          double *by_noise)
{
    for (size_t i = 0; i < objective->n_row; i++)
        by_prediction[i] = answer->residual[i] * answer->weight[i];
    for (size_t i = 0; objective->has_noise && i < objective->n_row; i++) {
        struct objective_row row = objective_row_at(objective, answer, i, CURVATURE_ABOVE);
        by_noise[i] = row.cross * row.residual + row.noise_weight * row.noise_residual;
    }
}

void fit_objective_add_priors(const struct fit_objective *objective, const struct fit_answer *answer, double *gradient)
{
    for (size_t k = 0; k < objective->n_prior; k++) {
        size_t j = objective->prior[k].j;
        struct prior_terms terms = prior_at(&objective->prior[k], answer, answer->chain[j], CURVATURE_ABOVE);
        gradient[j] += terms.row * terms.rhs;
    }
}

void fit_objective_gradient(const struct fit_objective *objective, const struct fit_answer *answer, double *gradient)
{
    const double *w = answer->weight, *r = answer->residual;
    size_t n_row = objective->n_row;
    for (size_t j = 0; j < answer->n; j++) {
        const double *dm = answer->d_prediction + j * n_row;
        gradient[j] = 0;
        for (size_t i = 0; i < n_row; i++)
            gradient[j] += r[i] * (dm[i] * w[i]);
    }
    for (size_t i = 0; objective->has_noise && i < n_row; i++) {
        struct objective_row row = objective_row_at(objective, answer, i, CURVATURE_ABOVE);
        double slope = row.cross * row.residual + row.noise_weight * row.noise_residual;
        for (size_t j = 0; j < answer->n && slope != 0; j++)
            gradient[j] += slope * answer->d_noise[i + j * n_row];
    }
    for (size_t j = 0; j < answer->n; j++)
        gradient[j] *= answer->chain[j];
    fit_objective_add_priors(objective, answer, gradient);
}

size_t fit_objective_n_row(const struct fit_objective *objective)
{
    return (objective->has_noise ? 2 : 1) * objective->n_row + objective->n_prior;
}

/* What the noise adds to the rows of one measurement. */
static void add_noise(const struct fit_objective *objective, const struct fit_answer *answer, size_t i,
                      const struct objective_row *row, double *a, double *b)
{
    size_t n_row = objective->n_row, stride = fit_objective_n_row(objective);
    for (size_t j = 0; j < answer->n; j++) {
        double ds = answer->d_noise[i + j * n_row] * answer->chain[j];
        a[i + j * stride] += row->cross * ds;
        a[n_row + i + j * stride] = row->noise_weight * ds;
    }
    b[n_row + i] = row->noise_residual;
}

static void add_priors(const struct fit_objective *objective, const struct fit_answer *answer, enum fit_curvature curvature,
                       double *a, double *b)
{
    size_t stride = fit_objective_n_row(objective), first = stride - objective->n_prior;
    for (size_t k = 0; k < objective->n_prior; k++) {
        size_t own = objective->prior[k].j;
        struct prior_terms terms = prior_at(&objective->prior[k], answer, answer->chain[own], curvature);
        for (size_t j = 0; j < answer->n; j++)
            a[first + k + j * stride] = j == own ? terms.row : 0;
        b[first + k] = terms.rhs;
    }
}

static void build_rows(const struct fit_objective *objective, const struct fit_answer *answer, enum fit_curvature curvature,
                       double *a, double *b)
{
    size_t n_row = objective->n_row, stride = fit_objective_n_row(objective);
    bool kept = curvature == CURVATURE_ABOVE;
    for (size_t i = 0; i < n_row; i++)
        b[i] = kept ? answer->weight[i] : objective_row_at(objective, answer, i, curvature).weight;
    for (size_t j = 0; j < answer->n; j++) {
        double *column = a + j * stride, chain = answer->chain[j];
        const double *dm = answer->d_prediction + j * n_row;
        for (size_t i = 0; i < n_row; i++)
            column[i] = dm[i] * b[i] * chain;
    }
    for (size_t i = 0; i < n_row; i++) {
        b[i] = answer->residual[i];
        if (kept && !objective->has_noise)
            continue;
        struct objective_row row = objective_row_at(objective, answer, i, curvature);
        b[i] = row.residual;
        if (objective->has_noise)
            add_noise(objective, answer, i, &row, a, b);
    }
    add_priors(objective, answer, curvature, a, b);
}

void fit_objective_rows(const struct fit_objective *objective, const struct fit_answer *answer, double *a, double *b)
{
    build_rows(objective, answer, CURVATURE_ABOVE, a, b);
}

void fit_objective_kink_rows(const struct fit_objective *objective, const struct fit_answer *answer, double *a, double *b)
{
    build_rows(objective, answer, CURVATURE_KINKS, a, b);
}

void fit_objective_information(const struct fit_objective *objective, const struct fit_answer *answer, double *a, double *b)
{
    build_rows(objective, answer, CURVATURE_EXPECTED, a, b);
}

double fit_objective_row_product(const struct fit_objective *objective, const struct fit_answer *answer, size_t j,
                                 const double *x)
{
    const double *dm = answer->d_prediction + j * objective->n_row;
    double sum = 0;
    for (size_t i = 0; i < objective->n_row; i++)
        sum += dm[i] * answer->weight[i] * x[i];
    return sum * answer->chain[j];
}

double fit_objective_scale(const struct fit_objective *objective)
{
    double sum = 0;
    for (size_t i = 0; i < objective->n_row; i++) {
        double sigma = objective->measured.sigma && !isnan(objective->measured.sigma[i]) ? objective->measured.sigma[i] : 1;
        double value = fit_objective_loss(objective, i)->error == ERROR_LOG_NORMAL ? 1 : objective->measured.value[i];
        sum += 0.5 * (value / sigma) * (value / sigma);
    }
    return sum;
}
