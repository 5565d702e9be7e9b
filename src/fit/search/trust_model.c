/* Solves the trust region's subproblem: orthogonal factorisations, the damping for the radius, the
 * box; and the metric, in which lengths have no units, and how radius and reach follow the ratio of
 * actual to predicted decrease.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/search/trust_model.h"

#include "fit/objective/matrix.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MAX_DAMPING_ITERATION = 30, MAX_BOX_DAMPING = 12 };
/* More (1978) keeps the largest column norm forever. With a memory that fades, narrow curved
 * valleys whose derivatives change by decades (NIST's MGH10, Bennett5) take half the steps. */
static const double SCALE_MEMORY = 0.5;
/* A step whose length is within this part of the radius is accepted (More 1978). */
static const double RADIUS_SLACK = 0.1;
/* A step of this part of a parameter's reach is limited by it: bent steps end a little before
 * it. */
static const double LIMITED = 0.9;
/* An acceleration larger than this part of the step is not reliable (Transtrum & Sethna 2012). */
static const double BEND_MOST = 0.75;

/* The reach's first part of the longest valid step. It must then grow fast: with a slow growth,
 * badly determined parameters, which must go far, crept along curved valleys, and fits of a
 * reaction network took half as many evaluations again. */
static const double FIRST_PART = 0.125;

bool trust_model_init(struct trust_model *model, const struct fit_asker *asker, struct arena *arena)
{
    size_t n = asker->map.n_free;
    *model = (struct trust_model){.asker = asker,
                                  .n = n,
                                  .loose = arena_calloc(arena, 2 * n + 1, sizeof *model->loose)};
    if (!model->loose || !trust_curvature_init(&model->curvature, asker, arena) ||
        !ARENA_DOUBLES(arena, {&model->triangle, n, n}, {&model->u, 2 * n, n},
                       {&model->inverse, n, n}, {&model->step, n, 1}, {&model->limit, n, 1},
                       {&model->scale, n, 1}, {&model->low, n, 1}, {&model->high, n, 1},
                       {&model->rhs, n, 1}, {&model->first.s, n, 1}, {&model->first.v, n, n},
                       {&model->other.s, n, 1}, {&model->other.v, n, n},
                       {&model->coefficient, n, 1}, {&model->scratch, n, 6}, {&model->r, n, n}) ||
        !(model->first.column = arena_calloc(arena, n + 1, sizeof *model->loose)) ||
        !(model->other.column = arena_calloc(arena, n + 1, sizeof *model->loose)))
        return false;
    trust_model_forget(model);
    return true;
}

double trust_model_longest_step(enum parameter_scale scale)
{
    return scale == SCALE_LOG ? 4.605170185988091 : scale == SCALE_LOG10 ? 2 : INFINITY;
}

void trust_model_forget(struct trust_model *model)
{
    memset(model->scale, 0, model->n * sizeof *model->scale);
    for (size_t j = 0; j < model->n; j++)
        model->limit[j] = trust_model_longest_step(model->asker->map.scale[j]);
    model->reach = trust_reach_begin(model->asker->is_near);
    trust_model_forget_curvature(model);
}

void trust_model_forget_curvature(struct trust_model *model)
{
    trust_curvature_forget(&model->curvature);
    model->is_current = false;
}

static void pass_singular(struct cursor *cursor, struct trust_singular *singular, size_t n)
{
    FIELD(singular->is_known);
    FIELD(singular->n);
    ARRAY(singular->s, singular->is_known ? n : 0);
    ARRAY(singular->v, singular->is_known ? n * n : 0);
    ARRAY(singular->column, singular->is_known ? n : 0);
}

static void pass_current(struct cursor *cursor, struct trust_model *model)
{
    size_t n = model->n;
    uint8_t which = !model->singular ? 0 : model->singular == &model->first ? 1 : 2;
    FIELD(model->length);
    FIELD(model->promise);
    FIELD(model->is_restricted);
    FIELD(model->n_loose);
    FIELD(model->is_inverted);
    FIELD(model->promised_free);
    FIELD(model->damping);
    ARRAY(model->triangle, n * n);
    ARRAY(model->rhs, n);
    ARRAY(model->step, n);
    ARRAY(model->low, n);
    ARRAY(model->high, n);
    ARRAY(model->loose, n);
    ARRAY(model->coefficient, n);
    ARRAY(model->inverse, model->is_inverted ? n * n : 0);
    pass_singular(cursor, &model->first, n);
    pass_singular(cursor, &model->other, n);
    FIELD(which);
    model->singular = which == 0 ? NULL : which == 1 ? &model->first : &model->other;
}

void trust_model_pass(struct cursor *cursor, struct trust_model *model)
{
    struct trust_curvature *curvature = &model->curvature;
    FIELD(model->reach);
    FIELD(model->is_current);
    FIELD(curvature->is_used);
    FIELD(curvature->has_any);
    ARRAY(model->scale, model->n);
    ARRAY(model->limit, model->n);
    ARRAY(curvature->s, curvature->has_any ? model->n * model->n : 0);
    if (model->is_current)
        pass_current(cursor, model);
}

double trust_model_reach(const struct trust_model *model, size_t j)
{
    return fmin(model->limit[j],
                model->reach.part * trust_model_longest_step(model->asker->map.scale[j]));
}

bool trust_model_is_limited(const struct trust_model *model)
{
    for (size_t j = 0; j < model->n && model->reach.part < 1; j++)
        if (fabs(model->step[j]) >=
            LIMITED * model->reach.part * trust_model_longest_step(model->asker->map.scale[j]))
            return true;
    return false;
}

void trust_model_limit(struct trust_model *model, const struct fit_point *point, size_t j,
                       double limit)
{
    const struct fit_map *map = &model->asker->map;
    model->limit[j] = fmin(limit, trust_model_longest_step(map->scale[j]));
    model->low[j] = fmax(map->lower[j] - point->theta[j], -trust_model_reach(model, j));
    model->high[j] = fmin(map->upper[j] - point->theta[j], trust_model_reach(model, j));
    model->promised_free = NAN;
}

void trust_model_forget_singular(struct trust_model *model)
{
    model->first.is_known = model->other.is_known = false;
    model->promised_free = NAN;
    model->singular = NULL;
}

/* The parameter's own size on the optimiser's scale: a factor of e where that is logarithmic. */
static double size_of(const struct trust_model *model, const struct fit_point *point, size_t j)
{
    enum parameter_scale scale = model->asker->map.scale[j];
    return scale == SCALE_LOG     ? 1
           : scale == SCALE_LOG10 ? 0.4342944819032518 /* log10(e) */
                                  : fabs(point->theta[j]);
}

/* Moves every parameter with an influence by its own size. */
static double first_radius(const struct trust_model *model, const struct fit_point *point)
{
    double sum = 0;
    for (size_t j = 0; j < model->n; j++) {
        double size = size_of(model, point, j);
        if (model->scale[j] > 0)
            sum += model->scale[j] * size * model->scale[j] * size;
    }
    return sum > 0 ? sqrt(sum) : INFINITY;
}

/* Any positive number serves as the metric of a column of zeros; this one does not depend on
 * units: a step of the parameter's size is as long as the longest one of the others'. */
static void replace_zeros(struct trust_model *model, const struct fit_point *point)
{
    double most = 0;
    for (size_t j = 0; j < model->n; j++)
        most = fmax(most, model->scale[j] * size_of(model, point, j));
    for (size_t j = 0; j < model->n; j++) {
        double size = size_of(model, point, j);
        if (!(model->scale[j] > 0))
            model->scale[j] = most > 0 && size > 0 ? -most / size : -1;
    }
}

double trust_model_promise_single(const struct trust_model *model, const struct fit_point *point)
{
    double most = 0;
    for (size_t j = 0; j < model->n; j++) {
        double g = point->gradient[j];
        if (!fit_point_is_held(&model->asker->map, point, j) && g != 0)
            most = fmax(most, 0.5 * g * g / matrix_squares(j + 1, model->triangle + j * model->n));
    }
    return most;
}

bool trust_model_adopt(struct trust_model *model, const struct fit_point *point)
{
    size_t n = model->n;
    bool first = !(model->reach.radius < INFINITY), finite = true;
    for (size_t j = 0; j < n; j++) {
        double norm = sqrt(matrix_squares(j + 1, model->triangle + j * n));
        finite = finite && isfinite(norm) && isfinite(model->rhs[j]);
        model->scale[j] = fmax(fmax(SCALE_MEMORY * model->scale[j], norm), 0);
        trust_model_limit(model, point, j, model->limit[j]);
    }
    replace_zeros(model, point);
    if (first)
        model->reach.radius = first_radius(model, point);
    trust_model_forget_singular(model);
    model->is_current = true;
    return finite;
}

/* The step in the coordinates of the singular vectors for one damping; returns its length. */
static double damped(const struct trust_model *model, double damping, double *p)
{
    double sum = 0, least = DBL_EPSILON * (double)model->n * model->singular->s[0];
    for (size_t i = 0; i < model->n_loose; i++) {
        double s = model->singular->s[i];
        p[i] = s > least || damping > 0 ? -s * model->coefficient[i] / (s * s + damping) : 0;
        sum += p[i] * p[i];
    }
    return sqrt(sum);
}

/* The damping whose step is as long as the radius (Newton's iteration on 1/length, More 1978); 0
 * if none is needed. */
static double find_damping(const struct trust_model *model, double radius, double *p)
{
    const double *s = model->singular->s, *coefficient = model->coefficient;
    double length = damped(model, 0, p), low = 0, high = 0;
    if (length <= (1 + RADIUS_SLACK) * radius)
        return 0;
    for (size_t i = 0; i < model->n_loose; i++)
        high += s[i] * coefficient[i] * s[i] * coefficient[i];
    high = sqrt(high) / radius;
    double damping = 1e-3 * high;
    for (int i = 0; i < MAX_DAMPING_ITERATION; i++) {
        length = damped(model, damping, p);
        if (fabs(length - radius) <= RADIUS_SLACK * radius)
            break;
        *(length > radius ? &low : &high) = damping;
        double slope = 0;
        for (size_t k = 0; k < model->n_loose; k++)
            slope -= p[k] * p[k] / (s[k] * s[k] + damping);
        damping -= length / radius * (length - radius) / (slope / length);
        if (!(damping > low && damping < high))
            damping = fmax(1e-3 * high, sqrt(low * high));
    }
    return damping;
}

static bool is_loose(const struct trust_model *model, size_t j)
{
    for (size_t c = 0; c < model->n_loose; c++)
        if (model->loose[c] == j)
            return true;
    return false;
}

/* The loose columns in the metric of scale, m >= n rows apart, and their right-hand side for the
 * others' step. */
static void take_loose(const struct trust_model *model, const double *step, size_t m,
                       double *columns, double *right)
{
    size_t n = model->n;
    memcpy(right, model->rhs, n * sizeof *right);
    for (size_t j = 0; j < n; j++) {
        double held = step[j] != 0 && !is_loose(model, j) ? step[j] : 0;
        for (size_t i = 0; held != 0 && i <= j; i++)
            right[i] += model->triangle[i + j * n] * held;
    }
    for (size_t c = 0; c < model->n_loose; c++)
        for (size_t i = 0, j = model->loose[c]; i < n; i++)
            columns[i + c * m] = model->triangle[i + j * n] / model->scale[j];
}

/* Decomposes the loose columns; the right-hand side's coefficients, for the others' step, go to
 * `coefficient` (or NULL). */
static void decompose(struct trust_model *model, const double *step, struct trust_singular *to,
                      double *coefficient)
{
    double *right = model->scratch;
    take_loose(model, step, model->n, model->u, right);
    matrix_singular(model->n, model->n_loose, model->u, right, to->s, to->v);
    for (size_t c = 0; c < model->n_loose && coefficient; c++)
        coefficient[c] = to->s[c] > 0 ? right[c] : 0;
    memcpy(to->column, model->loose, model->n_loose * sizeof *to->column);
    to->n = model->n_loose;
    to->is_known = true;
}

/* Puts the minimum over the loose parameters for the damping into `aim`, by an orthogonal
 * factorisation, which is many times cheaper than the singular values: for parameters that are
 * held and released one after another. */
static void aim_directly(struct trust_model *model, const double *step, double *aim)
{
    size_t n = model->n, k = model->n_loose, m = model->damping > 0 ? n + k : n;
    double *right = model->scratch, *place = aim + n; /* right: 2 n */
    take_loose(model, step, m, model->u, right);
    for (size_t c = 0; c < k && m > n; c++) {
        memset(model->u + c * m + n, 0, k * sizeof *model->u);
        model->u[c * m + n + c] = sqrt(model->damping);
        right[n + c] = 0;
    }
    matrix_least(m, k, model->u, right, model->r, place);
    for (size_t c = 0; c < k; c++)
        aim[c] = -right[c] / model->scale[model->loose[c]];
}

/* Puts the minimum over the loose parameters for the damping into `aim`, from the singular
 * vectors' coordinates p. */
static void aim_at(const struct trust_model *model, const double *p, double *aim)
{
    for (size_t c = 0; c < model->n_loose; c++) {
        double sum = 0;
        for (size_t k = 0; k < model->n_loose; k++)
            sum += model->singular->v[c + k * model->n_loose] * p[k];
        aim[c] = sum / model->scale[model->loose[c]];
    }
}

/* Moves towards `aim` as far as the box allows; parameters that meet its border are no longer
 * loose. True: one did. */
static bool go_towards(struct trust_model *model, const double *aim, double *step)
{
    double part = 1;
    for (size_t c = 0; c < model->n_loose; c++) {
        size_t j = model->loose[c];
        double border = aim[c] < model->low[j]    ? model->low[j]
                        : aim[c] > model->high[j] ? model->high[j]
                                                  : aim[c];
        if (border != aim[c])
            part = fmin(part, (border - step[j]) / (aim[c] - step[j]));
    }
    size_t count = 0;
    for (size_t c = 0; c < model->n_loose; c++) {
        size_t j = model->loose[c];
        double place = part < 1 ? step[j] + part * (aim[c] - step[j]) : aim[c];
        bool leaves = aim[c] < model->low[j] || aim[c] > model->high[j];
        double border = aim[c] < model->low[j] ? model->low[j] : model->high[j];
        if (leaves && (border - step[j]) / (aim[c] - step[j]) <= part)
            step[j] = border;
        else {
            step[j] = place < model->low[j]    ? model->low[j]
                      : place > model->high[j] ? model->high[j]
                                               : place;
            model->loose[count++] = (uint32_t)j;
        }
    }
    bool met = count < model->n_loose;
    model->n_loose = count;
    return met;
}

/* Frees the held parameter whose slope points inward most, if any. */
static bool release(struct trust_model *model, double *step)
{
    size_t n = model->n, freed = n;
    double *row = model->scratch, steepest = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        row[i] = model->rhs[i];
        for (size_t j = i; j < n; j++)
            row[i] += model->triangle[i + j * n] * step[j];
        size += model->rhs[i] * model->rhs[i];
    }
    for (size_t j = 0; j < n; j++) {
        double slope = model->damping * model->scale[j] * model->scale[j] * step[j];
        for (size_t i = 0; i <= j; i++)
            slope += model->triangle[i + j * n] * row[i];
        slope /= fabs(model->scale[j]);
        bool inward = (step[j] <= model->low[j] && slope < 0 && model->high[j] > model->low[j])
                      || (step[j] >= model->high[j] && slope > 0 && model->high[j] > model->low[j]);
        if (inward && fabs(slope) > steepest && !is_loose(model, j)) {
            steepest = fabs(slope);
            freed = j;
        }
    }
    if (freed == n || !(steepest > 1e-14 * sqrt(size)))
        return false;
    size_t place = model->n_loose++;
    for (; place > 0 && model->loose[place - 1] > freed; place--)
        model->loose[place] = model->loose[place - 1];
    model->loose[place] = (uint32_t)freed;
    return true;
}

static double promise_of(const struct trust_model *model, const double *step)
{
    size_t n = model->n;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double row = 0;
        for (size_t j = i; j < n; j++)
            row += model->triangle[i + j * n] * step[j];
        sum += row * (model->rhs[i] + 0.5 * row);
    }
    return -sum;
}

double trust_model_length(const struct trust_model *model, const double *step)
{
    double sum = 0;
    for (size_t j = 0; j < model->n; j++)
        sum += model->scale[j] * step[j] * model->scale[j] * step[j];
    return sqrt(sum);
}

/* Holds parameters on a bound whose slope points outward. */
static void find_loose(struct trust_model *model, const struct fit_point *point)
{
    model->n_loose = 0;
    for (size_t j = 0; j < model->n; j++) {
        double slope = point->gradient[j];
        if (!((model->low[j] >= 0 && slope >= 0) || (model->high[j] <= 0 && slope <= 0)))
            model->loose[model->n_loose++] = (uint32_t)j;
    }
}

/* The minimum in the box for the model's damping, by an active set (Stark & Parker 1995), from
 * no step at all. True: a bound is active. */
static bool solve_box(struct trust_model *model, const struct fit_point *point, double *step)
{
    size_t n = model->n;
    double *p = model->scratch + 2 * n, *aim = model->scratch + 3 * n;
    bool met = false;
    find_loose(model, point);
    memset(step, 0, n * sizeof *step);
    for (size_t round = 0; round < 3 * n + 3; round++) {
        if (model->singular) {
            damped(model, model->damping, p);
            aim_at(model, p, aim);
        } else
            aim_directly(model, step, aim);
        if (!go_towards(model, aim, step) && !release(model, step))
            break;
        met = true;
        model->singular = NULL;
    }
    return met;
}

/* If bounds are active, the damping found without them may be far too large, sometimes too
 * small. The length within the box also decreases with the damping, so bisection on a
 * logarithmic scale finds it. */
static void adapt_damping(struct trust_model *model, const struct fit_point *point, double radius,
                          double *step)
{
    double low = 0, high = INFINITY, first = model->damping, least = 0;
    for (size_t i = 0; i < model->n; i++)
        least = fmax(least, fabs(point->gradient[i]) / model->scale[i]);
    least *= 1e-3 / radius;
    for (int i = 0; i < MAX_BOX_DAMPING; i++) {
        double length = trust_model_length(model, step);
        if (length > (1 + RADIUS_SLACK) * radius)
            low = model->damping;
        else if (length < (1 - RADIUS_SLACK) * radius && model->damping > 0)
            high = model->damping;
        else
            return;
        if (high < INFINITY)
            model->damping = low > 0 ? sqrt(low * high) : i == 0 ? 0 : 0.1 * high;
        else
            model->damping = fmax(4 * low, fmax(least, 1e-3 * first));
        solve_box(model, point, step);
    }
    /* A shorter step in the same direction is also within the box. */
    double length = trust_model_length(model, step);
    for (size_t j = 0; j < model->n && length > (1 + RADIUS_SLACK) * radius; j++)
        step[j] *= radius / length;
}

/* The step that nothing restricts, by the triangle's inverse. False: there is none, or the
 * triangle is badly conditioned. */
static bool solve_free(const struct trust_model *model, double radius, double *inverse,
                       double *step)
{
    size_t n = model->n;
    memset(step, 0, n * sizeof *step);
    if (model->n_loose < n ||
        matrix_invert(n, model->triangle, model->scale, inverse) <= MATRIX_WELL_CONDITIONED)
        return false;
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j <= k; j++)
            step[j] -= inverse[j + k * n] * model->rhs[k];
    bool is_inside = trust_model_length(model, step) <= (1 + RADIUS_SLACK) * radius;
    for (size_t j = 0; j < n; j++)
        is_inside = is_inside && step[j] >= model->low[j] && step[j] <= model->high[j];
    return is_inside;
}

/* Solves for the damping that the radius requires. */
static void solve(struct trust_model *model, const struct fit_point *point)
{
    double *step = model->step;
    model->damping = 0;
    model->is_restricted = model->is_inverted = false;
    find_loose(model, point);
    if (!model->first.is_known && solve_free(model, model->reach.radius, model->inverse, step)) {
        model->is_inverted = true;
        return;
    }
    memset(step, 0, model->n * sizeof *step);
    if (!model->first.is_known)
        decompose(model, step, &model->first, model->coefficient);
    model->singular = &model->first;
    model->damping = find_damping(model, model->reach.radius, model->scratch + 2 * model->n);
    model->is_restricted = model->damping > 0;
    if (!solve_box(model, point, step))
        return;
    model->is_restricted = true;
    if (model->reach.radius < INFINITY)
        adapt_damping(model, point, model->reach.radius, step);
}

void trust_model_step(struct trust_model *model, const struct fit_point *point)
{
    solve(model, point);
    model->promise = promise_of(model, model->step);
    model->length = trust_model_length(model, model->step);
}

double trust_model_promise_free(struct trust_model *model, const struct fit_point *point)
{
    size_t n = model->n, n_loose = model->n_loose;
    double *step = model->scratch + 5 * n, damping = model->damping;
    const struct trust_singular *singular = model->singular;
    if (!isnan(model->promised_free))
        return model->promised_free;
    memcpy(model->loose + n, model->loose, n_loose * sizeof *model->loose);
    model->damping = 0;
    model->singular = NULL;
    find_loose(model, point);
    if (!solve_free(model, INFINITY, model->u, step))
        solve_box(model, point, step);
    memcpy(model->loose, model->loose + n, n_loose * sizeof *model->loose);
    model->n_loose = n_loose;
    model->damping = damping;
    model->singular = singular;
    return model->promised_free = promise_of(model, step);
}

/* Singular values and vectors of the loose columns, unless the inverse is there. */
static void need_singular(struct trust_model *model)
{
    struct trust_singular *other = &model->other;
    if (model->is_inverted || model->singular)
        return;
    if (!other->is_known || other->n != model->n_loose
        || memcmp(other->column, model->loose, other->n * sizeof *other->column) != 0)
        decompose(model, model->step, other, NULL);
    model->singular = other;
}

bool trust_model_bend(struct trust_model *model, const struct fit_point *point,
                      const double *second)
{
    size_t k = model->n_loose;
    double *slope = model->scratch, *p = model->scratch + 2 * model->n;
    struct fit_answer answer = fit_point_answer(model->asker, point);
    double size = 0;
    need_singular(model);
    for (size_t c = 0; c < k; c++)
        slope[c] =
            fit_objective_row_product(&model->asker->objective, &answer, model->loose[c], second) /
            model->scale[model->loose[c]];
    for (size_t i = 0; i < k; i++) {
        double sum = 0, s = model->singular->s[i];
        for (size_t c = 0; c < k; c++)
            sum += model->singular->v[c + i * k] * slope[c];
        bool flat =
            !(s > DBL_EPSILON * (double)model->n * model->singular->s[0]) && model->damping == 0;
        p[i] = flat ? 0 : -0.5 * sum / (s * s + model->damping);
        size += p[i] * p[i];
    }
    /* size is that of half the acceleration; the limit applies to twice its length over the
     * step's. */
    if (!(4 * sqrt(size) <= BEND_MOST * model->length) || k == 0)
        return false;
    aim_at(model, p, slope);
    for (size_t c = 0; c < k; c++) {
        size_t j = model->loose[c];
        double bent = model->step[j] + slope[c];
        model->step[j] = bent < model->low[j]    ? model->low[j]
                         : bent > model->high[j] ? model->high[j]
                                                 : bent;
    }
    return true;
}

double trust_model_decrement(struct trust_model *model, const double *gradient)
{
    size_t k = model->n_loose;
    double sum = 0;
    need_singular(model);
    for (size_t i = 0; model->is_inverted && i < k; i++) {
        double projection = 0;
        for (size_t j = 0; j <= i; j++)
            projection += model->inverse[j + i * k] * gradient[j];
        sum += projection * projection;
    }
    for (size_t i = 0; !model->is_inverted && i < k; i++) {
        double projection = 0, s = model->singular->s[i];
        for (size_t c = 0; c < k; c++)
            projection += model->singular->v[c + i * k] * gradient[model->loose[c]] /
                          model->scale[model->loose[c]];
        if (s > DBL_EPSILON * (double)model->n * model->singular->s[0])
            sum += projection / s * (projection / s);
    }
    return 0.5 * sum;
}

void trust_model_target(const struct trust_model *model, const struct fit_point *point,
                        double *theta)
{
    const struct fit_map *map = &model->asker->map;
    for (size_t j = 0; j < model->n; j++) {
        bool to_lower =
            model->step[j] <= model->low[j] && model->low[j] == map->lower[j] - point->theta[j];
        bool to_upper =
            model->step[j] >= model->high[j] && model->high[j] == map->upper[j] - point->theta[j];
        double value = point->theta[j] + model->step[j];
        if (to_lower || value < map->lower[j])
            value = map->lower[j];
        else if (to_upper || value > map->upper[j])
            value = map->upper[j];
        theta[j] = value;
    }
}

/* The numbers are MINPACK's (More, Garbow, Hillstrom 1980, lmder), but the first one. */
double trust_radius_part(double slope, double decrease)
{
    static const double UNKNOWN = 0.25, LEAST = 0.1, MOST = 0.5;
    if (!isfinite(decrease))
        return UNKNOWN;
    return decrease < 0 ? fmin(MOST, fmax(LEAST, 0.5 * slope / (slope + decrease))) : MOST;
}

struct trust_reach trust_reach_begin(bool is_near)
{
    return (struct trust_reach){.radius = INFINITY, .part = is_near ? 1 : FIRST_PART, .lost = 1};
}

void trust_reach_grow(struct trust_reach *reach, double by)
{
    reach->part = fmin(1, by * reach->part);
}

enum trust_radius trust_reach_adapt(struct trust_reach *reach, double length, bool is_restricted,
                                    double by, double ratio, double part)
{
    static const double LOST_MOST = 1024;
    double *radius = &reach->radius;
    if (!(ratio >= TRUST_RATIO_POOR)) {
        *radius = part * fmin(*radius, length);
        reach->lost = ratio == -INFINITY ? fmin(reach->lost / part, LOST_MOST) : 1;
        return TRUST_RADIUS_SHRINKS;
    }
    trust_reach_grow(reach, by);
    if (ratio <= TRUST_RATIO_GOOD && is_restricted)
        return TRUST_RADIUS_STAYS;
    *radius = fmax(*radius, 2 * reach->lost * length);
    reach->lost = 1;
    return TRUST_RADIUS_GROWS;
}
