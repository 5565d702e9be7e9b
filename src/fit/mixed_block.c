/* What a dataset contributes to the likelihood of a fit with random parameters, and its
 * derivatives.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed.h"

#include "fit/joint_bytes.h"
#include "fit/joint_internal.h"
#include "fit/lattice.h"
#include "fit/matrix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The mode is found when another step promises less than this of -log likelihood: then it is within
 * 1e-5 of the random effects' standard deviations. What promises less than IDLE and gains nothing
 * is the integrator's noise. */
static const double FOUND = 1e-10, IDLE = 1e-5;
enum { MAX_STEP = 60 };
/* Steps of differences of second derivatives, in natural units of the parameters. */
static const double DIFFERENCE = 3e-3;
/* Points of the stage: with less than these parts of them effective, deviates have heavy tails, and
 * then there are twice as many, up to so many times. */
static const double POOR = 0.5, TOO_FEW = 0.25;
enum { N_SHIFT = 4, MOST_TIMES = 16 };

/* The objective at some random effects: without and with their density. */
struct place {
    double *b;                   /* r */
    double f, with_density;
    double *slope, *information; /* s, s x s: by the parameters above the block */
};

struct local {
    struct joint_work *work;
    struct arena *arena;
    const struct mixed *mixed;
    struct mixed_block *block;
    size_t r, s;
    const double *at;   /* the estimates */
    const uint32_t *random;
    double *factor;     /* r x r: of the population */
    struct place here, there;
    double *hessian, *cholesky; /* r x r: by the random effects */
    double *step, *scratch;     /* r, r x s */
    uint32_t *index;    /* 0 .. r-1 */
    double *shift;      /* s: from the parameters above at their place */
};

static bool make_place(struct place *place, size_t r, size_t s, struct arena *arena)
{
    return ARENA_DOUBLES(arena, {&place->b, r, 1}, {&place->slope, s, 1},
                         {&place->information, s, s});
}

static bool make_local(struct local *local, struct joint_work *work, struct arena *arena)
{
    const struct mixed *mixed = work->joint->mixed;
    size_t r = mixed->progress.r, s = mixed->progress.s;
    *local = (struct local){.work = work, .arena = arena, .mixed = mixed,
                            .block = work->block->mixed, .r = r, .s = s, .at = mixed->at,
                            .random = mixed->random,
                            .index = arena_calloc(arena, r + 1, sizeof *local->index)};
    if (!local->index || !make_place(&local->here, r, s, arena)
        || !make_place(&local->there, r, s, arena)
        || !ARENA_DOUBLES(arena, {&local->factor, r, r}, {&local->hessian, r, r},
                          {&local->cholesky, r, r}, {&local->step, r, 1},
                          {&local->scratch, r, s + r}, {&local->shift, s, 1}))
        return false;
    for (uint32_t a = 0; a < r; a++)
        local->index[a] = a;
    mixed_factor(mixed, mixed->at, local->factor);
    return true;
}

/* The parameters above the block at these random effects, for the model. */
static void set_parameters(struct local *local, const double *b)
{
    struct joint_work *work = local->work;
    for (size_t k = 0; k < local->s; k++)
        work->at.theta[work->order[k]] = local->at[k] + local->shift[k];
    for (size_t a = 0; a < local->r; a++) {
        double *theta = &work->at.theta[work->order[local->random[a]]];
        for (size_t c = 0; c <= a; c++)
            *theta += local->factor[a + c * local->r] * b[c];
    }
}

/* The information of the measurements' rows, A'A. */
static bool take_information(struct local *local, double *information)
{
    struct joint_work *work = local->work;
    const struct fit_objective *objective = &work->asker->objective;
    struct fit_answer answer = fit_point_answer(work->asker, &work->at);
    size_t s = local->s, n_row = fit_objective_n_row(objective);
    bool is_finite = true;
    fit_objective_rows(objective, &answer, CURVATURE_ABOVE, work->rows, work->rhs);
    for (size_t c = 0; c < s; c++)
        for (size_t d = c; d < s; d++) {
            double sum = matrix_dot(n_row, work->rows + work->order[c] * n_row,
                                    work->rows + work->order[d] * n_row);
            information[c + d * s] = information[d + c * s] = sum;
            is_finite = is_finite && isfinite(sum);
        }
    return is_finite;
}

/* Evaluates the objective at place->b. */
static enum asked evaluate(struct local *local, struct place *place)
{
    struct joint_work *work = local->work;
    struct fit_asker *asker = work->asker;
    set_parameters(local, place->b);
    enum asked asked = fit_ask(asker, asker->accuracy, &work->at, true);
    while (asked == ASKED_END && joint_change_method(work, local->arena)) {
        set_parameters(local, place->b);
        asked = fit_ask(asker, asker->accuracy, &work->at, true);
    }
    if (asked == ASKED_END)
        joint_block_end(work->block, asker->outcome, asker->reason);
    if (asked != ASKED_OK)
        return asked;
    place->f = place->with_density = work->at.f;
    for (size_t a = 0; a < local->r; a++)
        place->with_density += 0.5 * place->b[a] * place->b[a];
    for (size_t k = 0; k < local->s; k++)
        place->slope[k] = work->at.gradient[work->order[k]];
    return take_information(local, place->information)
               ? ASKED_OK
               : fit_asker_miss(asker, OUTCOME_model_failed,
                                "the derivatives of the residuals are too large to be used");
}

/* L'x for the random parameters' entries of x (leading dimension ld apart), n columns. */
static void to_effects(const struct local *local, const double *x, size_t n, double *out)
{
    size_t r = local->r, s = local->s;
    for (size_t k = 0; k < n; k++)
        for (size_t c = 0; c < r; c++) {
            double sum = 0;
            for (size_t a = c; a < r; a++)
                sum += local->factor[a + c * r] * x[local->random[a] + k * s];
            out[c + k * r] = sum;
        }
}

/* I + L'AL for the information A (s x s); and its Cholesky factor. False: it has none. */
static bool set_hessian(struct local *local, const double *information)
{
    size_t r = local->r, s = local->s;
    to_effects(local, information, s, local->scratch);
    for (size_t c = 0; c < r; c++)
        for (size_t d = 0; d < r; d++) {
            double sum = c == d;
            for (size_t a = d; a < r; a++)
                sum += local->scratch[c + local->random[a] * r] * local->factor[a + d * r];
            local->hessian[c + d * r] = sum;
        }
    return matrix_factor(r, local->hessian, r, local->index, local->cholesky);
}

/* The step to the mode from local->here with this damping, and what it promises. */
static double find_step(struct local *local, double damping)
{
    size_t r = local->r;
    double promise = 0;
    for (size_t a = 0; a < r; a++)
        local->hessian[a + a * r] += damping;
    bool is_good = matrix_factor(r, local->hessian, r, local->index, local->cholesky);
    for (size_t a = 0; a < r; a++)
        local->hessian[a + a * r] -= damping;
    to_effects(local, local->here.slope, 1, local->step);
    for (size_t a = 0; a < r; a++)
        local->step[a] = -local->step[a] - local->here.b[a];
    memcpy(local->scratch, local->step, r * sizeof *local->step);
    if (!is_good)
        return NAN;
    matrix_solve_lower(r, local->cholesky, local->step);
    promise = 0.5 * matrix_squares(r, local->step);
    matrix_solve_upper(r, local->cholesky, local->step);
    return promise;
}

/* Finds the mode from local->here.b, and evaluates it: local->here. */
static enum asked find_mode(struct local *local)
{
    size_t r = local->r;
    double damping = 0;
    enum asked asked = evaluate(local, &local->here);
    if (asked == ASKED_FAILED) {
        memset(local->here.b, 0, r * sizeof *local->here.b);
        asked = evaluate(local, &local->here);
    }
    for (int i = 0; asked == ASKED_OK && !local->mixed->holds && i < MAX_STEP; i++) {
        set_hessian(local, local->here.information);
        double promise = find_step(local, damping);
        if (promise <= FOUND)
            break;
        for (size_t a = 0; a < r; a++)
            local->there.b[a] = local->here.b[a] + local->step[a];
        asked = isnan(promise) ? ASKED_FAILED : evaluate(local, &local->there);
        if (asked == ASKED_END)
            return asked;
        double gain = asked == ASKED_OK ? local->here.with_density - local->there.with_density
                                        : -INFINITY;
        asked = ASKED_OK;
        if (gain > 0) {
            struct place here = local->here;
            local->here = local->there;
            local->there = here;
            damping = gain > 0.5 * promise ? 0.1 * damping : damping;
            damping = damping < 1e-3 ? 0 : damping;
        } else if (promise <= IDLE) {
            break;
        }
        if (gain < 0.25 * promise)
            damping = fmax(4 * damping, 1);
    }
    return asked;
}

static double *gradient_of(const struct local *local) { return local->block->number + 1; }

/* e_a'M l_f, for the information M of the random parameters in local->there, and l_f, column f of
 * the factor; and l_b'M l_f. */
static double side_product(const struct local *local, size_t a, size_t f)
{
    const double *row = local->there.information + local->random[a] * local->s;
    double sum = 0;
    for (size_t p = f; p < local->r; p++)
        sum += row[local->random[p]] * local->factor[p + f * local->r];
    return sum;
}

static double both_product(const struct local *local, size_t b, size_t f)
{
    double sum = 0;
    for (size_t p = b; p < local->r; p++)
        sum += local->factor[p + b * local->r] * side_product(local, p, f);
    return sum;
}

/* Of entries c and d of the factor, tr(M X M Y)/2, where X and Y are the covariance's derivatives
 * by these: l_b e_a' + e_a l_b' for the entry in row a and column b. */
static double factor_information(const struct local *local, size_t c, size_t d)
{
    const struct mixed *mixed = local->mixed;
    size_t a = mixed->row[c], b = mixed->column[c], e = mixed->row[d], f = mixed->column[d];
    double ae = local->there.information[local->random[a] + local->random[e] * local->s];
    return ae * both_product(local, b, f)
           + side_product(local, a, f) * side_product(local, e, b);
}

/* The expected information of the estimates in a model that is linear around the mode: of means and
 * shared values what is left once the random effects are eliminated, and of the factor's entries
 * that of a normal distribution's covariance. information: of the parameters, s x s. */
static void put_information(struct local *local, const double *information)
{
    size_t r = local->r, s = local->s, m = local->mixed->m;
    double *left = local->there.information, *to = local->block->number + 1 + m;
    double *x = local->scratch; /* G^-1 L'A for I + L'AL = GG' */
    bool is_good = set_hessian(local, information);
    to_effects(local, information, s, x);
    for (size_t k = 0; k < s && is_good; k++)
        matrix_solve_lower(r, local->cholesky, x + k * r);
    for (size_t c = 0; c < s; c++)
        for (size_t d = 0; d < s; d++)
            left[d + c * s] =
                information[d + c * s] - (is_good ? matrix_dot(r, x + c * r, x + d * r) : 0);
    for (size_t c = 0; c < m; c++)
        for (size_t d = c; d < m; d++)
            *to++ = d < s    ? left[d + c * s]
                    : c >= s ? factor_information(local, c - s, d - s)
                             : 0;
}

/* Half the logarithm of the determinant of I + L'AL, whose factor is set. */
static double half_log_det(const struct local *local)
{
    double sum = 0;
    for (size_t a = 0; a < local->r; a++)
        sum += log(local->cholesky[a + a * local->r]);
    return sum;
}

/* What Laplace's approximation needs besides the mode: the covariance of the random parameters given
 * the data, P = L H^-1 L', and by differences around the mode, how P's determinant changes with each
 * parameter, and the true second derivatives. */
struct around {
    double *covariance; /* r x r */
    double *by_det;     /* s: tr(P dA)/2 */
    double *second;     /* s x s: column k by parameter k */
    double *solved;     /* r x r: H^-1 L' */
    double *v, *u, *y;  /* r */
};

static bool make_around(struct around *around, const struct local *local)
{
    size_t r = local->r, s = local->s;
    return ARENA_DOUBLES(local->arena, {&around->covariance, r, r}, {&around->by_det, s, 1},
                         {&around->second, s, s}, {&around->solved, r, r}, {&around->v, r, 1},
                         {&around->u, r, 1}, {&around->y, r, 1});
}

/* After set_hessian at the mode. */
static void set_covariance(const struct local *local, struct around *around)
{
    size_t r = local->r;
    for (size_t a = 0; a < r; a++) {
        double *solved = around->solved + a * r;
        for (size_t c = 0; c < r; c++)
            solved[c] = c <= a ? local->factor[a + c * r] : 0;
        matrix_solve_lower(r, local->cholesky, solved);
        matrix_solve_upper(r, local->cholesky, solved);
        for (size_t e = 0; e < r; e++) {
            double sum = 0;
            for (size_t c = 0; c <= e; c++)
                sum += local->factor[e + c * r] * solved[c];
            around->covariance[e + a * r] = sum;
        }
    }
}

static double half_trace(const struct local *local, const double *covariance,
                         const double *information)
{
    double sum = 0;
    for (size_t a = 0; a < local->r; a++)
        for (size_t e = 0; e < local->r; e++)
            sum += covariance[a + e * local->r]
                   * information[local->random[a] + local->random[e] * local->s];
    return 0.5 * sum;
}

static double difference_of(const struct local *local, size_t k)
{
    size_t j = local->work->order[k], r = local->r;
    double size = fit_map_size(&local->work->asker->map, j, local->at[k]), squares = 0;
    for (size_t a = 0; a < r; a++)
        for (size_t c = 0; local->random[a] == k && c <= a; c++)
            squares += local->factor[a + c * r] * local->factor[a + c * r];
    size = fmax(size, sqrt(squares));
    return DIFFERENCE * (size > 0 ? size : 1);
}

/* Parameter k of those above the block. A side that cannot be evaluated is replaced by the mode. */
static enum asked differ(struct local *local, struct around *around, size_t k)
{
    size_t s = local->s;
    double h = difference_of(local, k), width = 0;
    double *second = around->second + k * s;
    memcpy(local->there.b, local->here.b, local->r * sizeof *local->here.b);
    around->by_det[k] = 0;
    for (int side = 1; side >= -1; side -= 2) {
        local->shift[k] = side * h;
        enum asked asked = evaluate(local, &local->there);
        local->shift[k] = 0;
        if (asked == ASKED_END)
            return ASKED_END;
        const struct place *place = asked == ASKED_OK ? &local->there : &local->here;
        width += asked == ASKED_OK ? h : 0;
        around->by_det[k] += side * half_trace(local, around->covariance, place->information);
        for (size_t j = 0; j < s; j++)
            second[j] = (side > 0 ? 0 : second[j]) + side * place->slope[j];
    }
    around->by_det[k] = width > 0 ? around->by_det[k] / width : 0;
    for (size_t j = 0; j < s; j++)
        second[j] = width > 0 ? second[j] / width : local->here.information[j + k * s];
    return ASKED_OK;
}

/* The gradient of the value, which contains half the log determinant of H: by the estimates with
 * the mode where it is, and by the mode, which moves by -H~^-1 times the mixed second derivatives
 * with the true H~. */
static void put_gradient(struct local *local, struct around *around)
{
    const struct mixed *mixed = local->mixed;
    size_t r = local->r, s = local->s;
    double *gradient = gradient_of(local);
    for (size_t a = 0; a < r; a++)
        around->v[a] = around->by_det[local->random[a]];
    for (size_t k = 0; k < mixed->m - s; k++) { /* S L H^-1, before H is replaced */
        size_t a = mixed->row[k], c = mixed->column[k];
        double sum = 0;
        for (size_t e = 0; e < r; e++)
            sum += local->here.information[local->random[a] + local->random[e] * s]
                   * around->solved[c + e * r];
        gradient[s + k] = sum;
    }
    for (size_t c = 0; c < r; c++) {
        around->y[c] = 0;
        for (size_t a = c; a < r; a++)
            around->y[c] += local->factor[a + c * r] * around->v[a];
    }
    if (!set_hessian(local, around->second))
        set_hessian(local, local->here.information);
    matrix_solve_lower(r, local->cholesky, around->y);
    matrix_solve_upper(r, local->cholesky, around->y);
    for (size_t a = 0; a < r; a++) {
        around->u[a] = 0;
        for (size_t c = 0; c <= a; c++)
            around->u[a] += local->factor[a + c * r] * around->y[c];
    }
    for (size_t k = 0; k < s; k++) {
        double by_mode = 0;
        for (size_t a = 0; a < r; a++)
            by_mode += around->u[a] * around->second[local->random[a] + k * s];
        around->by_det[k] -= by_mode;
        gradient[k] = local->here.slope[k] + around->by_det[k];
    }
    for (size_t k = 0; k < mixed->m - s; k++) {
        size_t a = mixed->row[k], c = mixed->column[k];
        gradient[s + k] += local->here.b[c] * gradient[local->random[a]]
                           - around->y[c] * local->here.slope[local->random[a]];
    }
}

/* Of the random parameters: the mode, or another centre, and a covariance of the random effects. */
static void describe(const struct local *local, const double *effects, const double *covariance)
{
    size_t r = local->r;
    for (size_t a = 0; a < r; a++) {
        local->block->mean[a] = local->at[local->random[a]];
        for (size_t c = 0; c <= a; c++)
            local->block->mean[a] += local->factor[a + c * r] * effects[c];
        local->block->deviation[a] = sqrt(fmax(covariance[a + a * r], 0));
    }
}

static enum asked laplace(struct local *local)
{
    struct around around;
    struct mixed_block *block = local->block;
    memcpy(local->here.b, block->mode, local->r * sizeof *block->mode);
    if (!make_around(&around, local)) {
        joint_block_end(local->work->block, OUTCOME_out_of_memory, "no memory for this dataset");
        return ASKED_END;
    }
    enum asked asked = find_mode(local);
    if (asked != ASKED_OK)
        return asked;
    if (!set_hessian(local, local->here.information))
        return fit_asker_miss(local->work->asker, OUTCOME_model_failed,
                              "the derivatives of the residuals are too large to be used");
    memcpy(block->found, local->here.b, local->r * sizeof *block->found);
    block->number[0] = local->here.with_density + half_log_det(local);
    block->variance = 0;
    block->effective = NAN;
    set_covariance(local, &around);
    describe(local, local->here.b, around.covariance);
    for (size_t k = 0; k < local->s && asked != ASKED_END; k++)
        asked = differ(local, &around, k);
    if (asked == ASKED_END)
        return ASKED_END;
    put_gradient(local, &around);
    put_information(local, local->here.information);
    return ASKED_OK;
}

/* Where the stage's points will be: around the mode, with Gauss and Newton's curvature there. */
static enum asked place(struct local *local)
{
    struct mixed_block *block = local->block;
    size_t r = local->r;
    double n = N_SHIFT * (double)block->n_point;
    memcpy(local->here.b, block->mode, r * sizeof *block->mode);
    enum asked asked = find_mode(local);
    if (asked != ASKED_OK)
        return asked;
    if (!set_hessian(local, local->here.information))
        return fit_asker_miss(local->work->asker, OUTCOME_model_failed,
                              "the derivatives of the residuals are too large to be used");
    memcpy(block->mode, local->here.b, r * sizeof *block->mode);
    memcpy(block->found, local->here.b, r * sizeof *block->found);
    memcpy(block->centre, local->here.b, r * sizeof *block->centre);
    memcpy(block->factor, local->cholesky, r * r * sizeof *block->factor);
    uint32_t base = local->mixed->n_point;
    if (block->n_point && block->is_heavy && block->effective < TOO_FEW * n
        && block->n_point < MOST_TIMES * base)
        block->n_point *= 2;
    block->is_heavy = block->is_heavy || (block->n_point && block->effective < POOR * n);
    block->n_point = block->n_point > base ? block->n_point : base;
    return ASKED_OK;
}

/* Sums over points, each times its weight exp(logarithm - most). */
struct sums {
    double most, weight, squares;
    double each[N_SHIFT];
    double *gradient, *information; /* m, s x s */
    double *effects, *products;     /* r, r x r: of b - centre */
};

static void rescale(struct sums *sums, const struct local *local, double logarithm)
{
    size_t r = local->r, s = local->s;
    double by = exp(sums->most - logarithm);
    sums->most = logarithm;
    sums->weight *= by;
    sums->squares *= by * by;
    for (size_t v = 0; v < N_SHIFT; v++)
        sums->each[v] *= by;
    for (size_t k = 0; k < local->mixed->m; k++)
        sums->gradient[k] *= by;
    for (size_t k = 0; k < s * s; k++)
        sums->information[k] *= by;
    for (size_t k = 0; k < r; k++)
        sums->effects[k] *= by;
    for (size_t k = 0; k < r * r; k++)
        sums->products[k] *= by;
}

/* The point at local->here, with the logarithm of its weight. */
static void add_point(struct sums *sums, const struct local *local, size_t shift, double logarithm)
{
    const struct mixed *mixed = local->mixed;
    const struct place *here = &local->here;
    size_t r = local->r, s = local->s;
    if (!(logarithm > -INFINITY))
        return;
    if (logarithm > sums->most)
        rescale(sums, local, logarithm);
    double weight = exp(logarithm - sums->most);
    sums->weight += weight;
    sums->squares += weight * weight;
    sums->each[shift] += weight;
    for (size_t k = 0; k < s; k++)
        sums->gradient[k] += weight * here->slope[k];
    for (size_t k = 0; k < mixed->m - s; k++)
        sums->gradient[s + k] +=
            weight * here->slope[local->random[mixed->row[k]]] * here->b[mixed->column[k]];
    for (size_t k = 0; k < s * s; k++)
        sums->information[k] += weight * here->information[k];
    for (size_t a = 0; a < r; a++) {
        double by = weight * (here->b[a] - local->block->centre[a]);
        sums->effects[a] += by;
        for (size_t e = 0; e < r; e++)
            sums->products[e + a * r] += by * (here->b[e] - local->block->centre[e]);
    }
}

/* Evaluates the stage's points; the weight of each is the integrand over the points' density. */
static enum asked add_points(struct local *local, struct sums *sums)
{
    const struct joint *joint = local->work->joint;
    struct mixed_block *block = local->block;
    size_t r = local->r, number = (size_t)(local->work->block - joint->block);
    double x[LATTICE_MOST], *b = local->here.b, constant = 0;
    struct lattice lattice;
    enum asked asked = ASKED_OK;
    for (size_t a = 0; a < r; a++)
        constant += lattice_log_density(0, false) - log(block->factor[a + a * r]);
    for (size_t v = 0; v < N_SHIFT && asked != ASKED_END; v++) {
        lattice_init(&lattice, block->n_point, r, joint->seed, joint->ranks.first + number, v);
        for (size_t k = 0; k < block->n_point && asked != ASKED_END; k++) {
            double logarithm = constant;
            lattice_point(&lattice, k, x);
            for (size_t a = 0; a < r; a++) {
                b[a] = lattice_deviate(x[a], block->is_heavy);
                logarithm -= lattice_log_density(b[a], block->is_heavy);
            }
            matrix_solve_upper(r, block->factor, b);
            for (size_t a = 0; a < r; a++)
                b[a] += block->centre[a];
            asked = evaluate(local, &local->here);
            if (asked == ASKED_OK)
                add_point(sums, local, v, logarithm - local->here.with_density);
        }
    }
    return asked;
}

/* The conditional mean and covariance, L Cov(b) L'. */
static void describe_sample(const struct local *local, const struct sums *sums)
{
    size_t r = local->r;
    double *effects = sums->effects, *products = sums->products, *covariance = local->hessian;
    for (size_t a = 0; a < r; a++)
        effects[a] /= sums->weight;
    for (size_t a = 0; a < r; a++)
        for (size_t e = 0; e < r; e++)
            products[e + a * r] = products[e + a * r] / sums->weight - effects[e] * effects[a];
    for (size_t a = 0; a < r; a++) {
        double sum = 0;
        for (size_t c = 0; c <= a; c++)
            for (size_t d = 0; d <= a; d++)
                sum += local->factor[a + c * r] * products[d + c * r] * local->factor[a + d * r];
        covariance[a + a * r] = sum;
        effects[a] += local->block->centre[a];
    }
    describe(local, effects, covariance);
}

static enum asked sample(struct local *local)
{
    struct mixed_block *block = local->block;
    size_t r = local->r, s = local->s, m = local->mixed->m;
    double n = N_SHIFT * (double)block->n_point, spread = 0;
    struct sums sums = {.most = -INFINITY};
    if (!ARENA_DOUBLES(local->arena, {&sums.gradient, m, 1}, {&sums.information, s, s},
                       {&sums.effects, r, 1}, {&sums.products, r, r})) {
        joint_block_end(local->work->block, OUTCOME_out_of_memory, "no memory for this dataset");
        return ASKED_END;
    }
    if (add_points(local, &sums) == ASKED_END)
        return ASKED_END;
    if (!(sums.weight > 0))
        return ASKED_FAILED;
    for (size_t v = 0; v < N_SHIFT; v++)
        spread += (sums.each[v] - sums.weight / N_SHIFT) * (sums.each[v] - sums.weight / N_SHIFT);
    memcpy(block->found, block->mode, r * sizeof *block->found);
    block->number[0] = -(sums.most + log(sums.weight / n));
    block->variance = spread * N_SHIFT / (N_SHIFT - 1) / (sums.weight * sums.weight);
    block->effective = sums.weight * sums.weight / sums.squares;
    for (size_t k = 0; k < m; k++)
        gradient_of(local)[k] = sums.gradient[k] / sums.weight;
    for (size_t k = 0; k < s * s; k++)
        sums.information[k] /= sums.weight;
    describe_sample(local, &sums);
    put_information(local, sums.information);
    return ASKED_OK;
}

/* The mode for the record. */
static void keep(struct local *local)
{
    struct joint_work *work = local->work;
    const struct fit_map *map = &work->asker->map;
    struct joint_block *block = work->block;
    set_parameters(local, local->block->found);
    block->kept.is_there = fit_map_natural(map, work->at.theta, block->kept.p);
    fit_map_at_bound(map, block->kept.p, block->kept.at_bound);
    fit_map_chain(map, block->kept.p, local->shift);
    for (size_t k = 0; k < local->s; k++)
        block->chain[k] = local->shift[work->order[k]];
    memset(local->shift, 0, local->s * sizeof *local->shift);
    block->best.f = local->block->number[0];
}

void mixed_block_pass(struct joint_work *work, struct arena *arena)
{
    struct joint_block *block = work->block;
    const struct joint *joint = work->joint;
    struct local local;
    if (!block->mixed)
        block->mixed = mixed_block_new(joint->mixed);
    if (!block->mixed || !make_local(&local, work, arena)) {
        joint_block_end(block, OUTCOME_out_of_memory, "no memory for this dataset");
        return;
    }
    work->asker->start_f = 0; /* one failure does not show that lanes cannot integrate the model */
    bool is_laplace = joint->pass == JOINT_LAPLACE
                      || (joint->pass == JOINT_TELL
                          && joint->mixed->progress.phase == MIXED_LAPLACE);
    enum asked asked = is_laplace                   ? laplace(&local)
                       : joint->pass == JOINT_PLACE ? place(&local)
                                                    : sample(&local);
    block->has_failed = asked != ASKED_OK;
    if (asked == ASKED_FAILED) {
        block->failure = work->asker->failure;
        snprintf(block->reason, sizeof block->reason, "%s", work->asker->reason);
    }
    if (asked == ASKED_OK && joint->pass == JOINT_TELL)
        keep(&local);
}

struct mixed_block *mixed_block_new(const struct mixed *mixed)
{
    size_t r = mixed->progress.r, n_number = mixed_n_number(mixed->m);
    struct mixed_block *block =
        calloc(1, sizeof *block + (5 * r + r * r + n_number) * sizeof(double));
    if (!block)
        return NULL;
    double *next = (double *)(block + 1);
    block->mode = next;
    block->found = next += r;
    block->centre = next += r;
    block->mean = next += r;
    block->deviation = next += r;
    block->factor = next += r;
    block->number = next + r * r;
    return block;
}

void mixed_pass_block(struct cursor *cursor, const struct mixed *mixed, struct mixed_block *block)
{
    struct mixed_block none = {.mode = NULL}, *to = block ? block : &none;
    size_t r = mixed->progress.r;
    ARRAY(to->mode, r);
    ARRAY(to->centre, r);
    ARRAY(to->factor, r * r);
    FIELD(to->effective);
    FIELD(to->n_point);
    FIELD(to->is_heavy);
}

void mixed_record(const struct joint *joint, size_t i, struct fit_record *record)
{
    const struct mixed *mixed = joint->mixed;
    const struct mixed_result *result = &mixed->result;
    const struct joint_block *block = &joint->block[i];
    const struct mixed_block *own = block->mixed;
    if (!own || !mixed->has_result || block->is_out)
        return;
    for (size_t k = 0; k < result->s; k++)
        for (size_t j = 0; j < mixed->progress.s; j++)
            if (block->file_index[j] == result->shared[k])
                record->standard_error[result->shared[k]] =
                    fabs(block->chain[j]) * result->standard_error[result->m - result->s + k];
    for (size_t a = 0; a < result->r; a++) {
        size_t j = mixed->random[a];
        record->standard_error[result->random[a]] = fabs(block->chain[j]) * own->deviation[a];
    }
}
