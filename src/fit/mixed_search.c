/* The search of a fit with random parameters, and what it says of the population.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed.h"

#include "fit/joint_bytes.h"
#include "fit/joint_internal.h"
#include "fit/matrix.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Standard deviations at the start: of a logarithm, and of others relative to the mean. */
static const double DEVIATION = 0.5, RELATIVE = 0.3;
/* With so many datasets for each estimate their gradients' outer products are the curvature. */
static const double MANY = 10;
enum { MAX_SHORTER = 8 };
/* A stage of the search ends when its steps promise less than this of -log likelihood, if --ftol is
 * the default: the last one within 1e-3 standard errors of the optimum. */
static const double LAST = 2e-7, OTHERS = 1e-3, DEFAULT_TOLERANCE = 1e-9;
/* Steps of the differences for second derivatives, in standard errors: on both sides, or on one
 * where datasets are so many that third derivatives matter little. */
static const double BOTH_SIDES = 0.03, ONE_SIDE = 0.01;
enum { ENOUGH = 200 };
/* A variance of 0 is left if the likelihood rises with a standard deviation of this part of the
 * first one, by more than GAIN. */
static const double PROBE = 0.1, GAIN = 1e-3;

static struct mixed *mixed_of(struct fit_search *search) { return (struct mixed *)search; }

void mixed_factor(const struct mixed *mixed, const double *estimates, double *factor)
{
    size_t r = mixed->progress.r;
    memset(factor, 0, r * r * sizeof *factor);
    for (size_t k = 0; k < mixed->progress.n_factor; k++)
        factor[mixed->row[k] + mixed->column[k] * r] = estimates[mixed->progress.s + k];
}

bool mixed_init(struct joint *joint)
{
    struct mixed *mixed = joint->mixed = arena_calloc(&joint->arena, 1, sizeof *mixed);
    if (mixed)
        mixed->joint = joint;
    return mixed != NULL;
}

static uint8_t group_of(const struct joint *joint, size_t k)
{
    return joint->levels.random[joint->above.list[k].file_index];
}

/* The random parameters, in the file's order, and the factor's entries: those of parameters that
 * are correlated with each other. */
static bool find_random(struct mixed *mixed)
{
    const struct joint *joint = mixed->joint;
    struct arena *arena = &mixed->joint->arena;
    size_t s = joint->above.s, r = 0, n = 0;
    uint32_t *random = mixed->random = arena_calloc(arena, s + 1, sizeof *mixed->random);
    mixed->row = arena_calloc(arena, s * s + 1, sizeof *mixed->row);
    mixed->column = arena_calloc(arena, s * s + 1, sizeof *mixed->column);
    if (!random || !mixed->row || !mixed->column)
        return false;
    for (uint32_t k = 0; k < s; k++) {
        size_t at = r;
        if (!group_of(joint, k))
            continue;
        for (; at > 0 && joint->above.list[random[at - 1]].file_index
                             > joint->above.list[k].file_index; at--)
            random[at] = random[at - 1];
        random[at] = k;
        r++;
    }
    for (uint32_t c = 0; c < r; c++)
        for (uint32_t a = c; a < r; a++) {
            if (group_of(joint, random[a]) != group_of(joint, random[c]))
                continue;
            mixed->row[n] = a;
            mixed->column[n++] = c;
        }
    mixed->progress.r = r;
    mixed->progress.s = s;
    mixed->progress.n_factor = n;
    mixed->m = s + n;
    return true;
}

/* A standard deviation of random parameter a to begin with. */
static double first_deviation(const struct mixed *mixed, size_t a)
{
    const struct joint *joint = mixed->joint;
    const struct joint_above *above = &joint->above.list[mixed->random[a]];
    double mean = fabs(joint->above.theta[mixed->random[a]]);
    if (above->scale != SCALE_LIN)
        return above->scale == SCALE_LOG ? DEVIATION : DEVIATION / log(10);
    return mean > 0 ? RELATIVE * mean : above->start != 0 ? RELATIVE * fabs(above->start) : 1;
}

/* The map of all estimates. */
static bool make_map(struct mixed *mixed)
{
    const struct fit_map *from = &mixed->joint->asker.map;
    struct fit_map *map = &mixed->asker.map;
    struct arena *arena = &mixed->joint->arena;
    size_t m = mixed->m, s = mixed->progress.s;
    *map = (struct fit_map){.n_free = m, .scale = arena_calloc(arena, m + 1, sizeof *map->scale),
                            .file_index = arena_calloc(arena, m + 1, sizeof *map->file_index)};
    if (!map->scale || !map->file_index
        || !ARENA_DOUBLES(arena, {&map->start, m, 1}, {&map->lower, m, 1}, {&map->upper, m, 1},
                          {&map->size, m, 1}))
        return false;
    for (size_t k = 0; k < m; k++) {
        bool is_diagonal = k >= s && mixed->row[k - s] == mixed->column[k - s];
        map->scale[k] = k < s ? from->scale[k] : SCALE_LIN;
        map->lower[k] = k < s ? from->lower[k] : is_diagonal ? 0 : -INFINITY;
        map->upper[k] = k < s ? from->upper[k] : INFINITY;
        map->start[k] = k < s ? mixed->joint->above.theta[k]
                              : is_diagonal ? first_deviation(mixed, mixed->row[k - s]) : 0;
        map->size[k] = k < s ? from->size[k] : first_deviation(mixed, mixed->row[k - s]);
    }
    return true;
}

static bool make(struct mixed *mixed)
{
    struct joint *joint = mixed->joint;
    struct arena *arena = &joint->arena;
    if (!find_random(mixed) || !make_map(mixed))
        return false;
    size_t m = mixed->m;
    if (!rule_init(&mixed->rule, mixed->progress.r, joint->seed, arena))
        return false;
    mixed->asker.problem = &joint->problem;
    mixed->options = *joint->options;
    mixed->asker.options = &mixed->options;
    mixed->asker.accuracy = joint->asker.accuracy;
    mixed->asker.is_near = true; /* the pooled fit was the first step */
    mixed->asker.objective.has_offset = true;
    mixed->search.asker = &mixed->asker;
    mixed->search.best = &mixed->point;
    mixed->search.requested = mixed->asker.accuracy;
    mixed->point.theta = arena_calloc(arena, m + 1, sizeof(double));
    if (!mixed->point.theta || !trust_model_init(&mixed->search.model, &mixed->asker, arena)
        || !ARENA_DOUBLES(arena, {&mixed->point.gradient, m, 1}, {&mixed->trial, m, 1},
                          {&mixed->slope, m, 1}, {&mixed->curvature, m, m},
                          {&mixed->sum, mixed_n_number(m), 1}))
        return false;
    memcpy(mixed->point.theta, mixed->asker.map.start, m * sizeof(double));
    return true;
}

static void numbers_of(const void *context, const struct joint_block *block, double *number)
{
    const struct mixed *mixed = context;
    memcpy(number, block->mixed->number, mixed_n_number(mixed->m) * sizeof *number);
}

static void products_of(const void *context, const struct joint_block *block, double *number)
{
    const struct mixed *mixed = context;
    const double *gradient = block->mixed->number + 1;
    for (size_t c = 0; c < mixed->m; c++)
        for (size_t d = c; d < mixed->m; d++)
            *number++ = gradient[c] * gradient[d];
}

static double error_of(const struct joint_block *block)
{
    return block->mixed->number[0] - block->mixed->value;
}

static double square_of(const struct joint_block *block) { return error_of(block) * error_of(block); }

/* A packed lower triangle as a matrix. */
static void unpack(size_t m, const double *packed, double *matrix)
{
    for (size_t c = 0; c < m; c++)
        for (size_t d = c; d < m; d++)
            matrix[d + c * m] = matrix[c + d * m] = *packed++;
}

/* A pass over all datasets at these estimates. */
static enum asked run(struct mixed *mixed, enum joint_pass pass, const double *estimates)
{
    struct joint *joint = mixed->joint;
    enum joint_went went;
    mixed->at = estimates;
    do
        went = joint_run_pass(joint, pass);
    while (went == JOINT_FEWER);
    if (went != JOINT_COUNTS)
        return ASKED_END;
    size_t culprit = joint->end.culprit;
    if (joint_find_failed(joint)) {
        joint->end.culprit = culprit;
        return ASKED_FAILED;
    }
    if (!joint_totals(joint, mixed_n_number(mixed->m), numbers_of, mixed, mixed->sum))
        return joint_end_short(joint);
    return isfinite(mixed->sum[0]) ? ASKED_OK : ASKED_FAILED;
}

/* The same, at the best estimates. */
static enum asked run_at_best(struct mixed *mixed, enum joint_pass pass)
{
    enum asked asked = run(mixed, pass, mixed->point.theta);
    if (asked == ASKED_FAILED) { /* where it could be evaluated before */
        joint_find_failed(mixed->joint);
        return joint_end(mixed->joint, mixed->joint->end.blame.outcome);
    }
    if (asked != ASKED_OK)
        return asked;
    mixed->point.f = mixed->progress.f = mixed->sum[0];
    memcpy(mixed->point.gradient, mixed->sum + 1, mixed->m * sizeof(double));
    return ASKED_OK;
}

/* What datasets found in the latest pass belongs to the best estimates. */
static void keep_found(struct mixed *mixed)
{
    const struct joint *joint = mixed->joint;
    for (size_t i = 0; i < joint->part.n_active; i++) {
        struct mixed_block *block = joint_active(joint, i)->mixed;
        memcpy(block->mode, block->found, mixed->progress.r * sizeof *block->mode);
        block->value = block->number[0];
    }
}

/* The outer products of the datasets' gradients, less that of their mean. */
static bool take_products(const struct mixed *mixed, double *matrix)
{
    size_t m = mixed->m;
    double *packed = malloc((m * (m + 1) / 2 + 1) * sizeof *packed), n = (double)mixed->joint->part.n_all;
    bool is_good = packed && joint_totals(mixed->joint, m * (m + 1) / 2, products_of, mixed, packed);
    if (is_good)
        unpack(m, packed, matrix);
    for (size_t c = 0; c < m && is_good; c++)
        for (size_t d = 0; d < m; d++)
            matrix[d + c * m] -= mixed->point.gradient[c] * mixed->point.gradient[d] / n;
    free(packed);
    return is_good;
}

static enum asked begin_curvature(struct mixed *mixed)
{
    bool are_many = mixed->progress.phase == MIXED_EXACT
                    && (double)mixed->joint->part.n_all >= MANY * (double)mixed->m;
    if (are_many && !take_products(mixed, mixed->curvature))
        return joint_end_short(mixed->joint);
    if (!are_many)
        unpack(mixed->m, mixed->sum + 1 + mixed->m, mixed->curvature);
    return ASKED_OK;
}

/* The triangle of the curvature, of which a part is added to the diagonal until it has one. */
static bool factor_curvature(const struct mixed *mixed, double *triangle)
{
    size_t m = mixed->m;
    uint32_t *index = malloc((m + 1) * sizeof *index);
    double *lower = malloc((m * m + 1) * sizeof *lower), *matrix = malloc((m * m + 1) * sizeof *matrix);
    bool is_good = false;
    for (double part = 0; index && lower && matrix && !is_good && part < 1e3;
         part = part > 0 ? 10 * part : 1e-10) {
        memcpy(matrix, mixed->curvature, m * m * sizeof *matrix);
        for (uint32_t k = 0; k < m; k++) {
            double *entry = &matrix[k + k * m];
            index[k] = k;
            *entry = *entry > 0 ? *entry * (1 + part) : 0;
            *entry = *entry > 0 ? *entry : 1e-8;
        }
        is_good = matrix_factor(m, matrix, m, index, lower);
    }
    for (size_t c = 0; c < m && is_good; c++)
        for (size_t d = 0; d < m; d++)
            triangle[c + d * m] = d >= c ? lower[d + c * m] : 0;
    free(index);
    free(lower);
    free(matrix);
    return is_good;
}

static enum asked look(struct fit_search *search)
{
    struct mixed *mixed = mixed_of(search);
    struct joint *joint = mixed->joint;
    struct trust_model *model = &search->model;
    size_t m = mixed->m;
    mixed->progress.reach = model->reach;
    mixed->progress.stopping = search->stopping;
    mixed->progress.n_iteration = search->n_iteration;
    joint->above.f = mixed->point.f;
    joint->search.n_iteration = search->n_iteration;
    if (joint->host->keep)
        joint->host->keep(joint->host->context);
    if (!factor_curvature(mixed, model->triangle))
        return ASKED_FAILED;
    for (size_t c = 0; c < m; c++) { /* R'q is the gradient */
        double sum = mixed->point.gradient[c];
        for (size_t i = 0; i < c; i++)
            sum -= model->triangle[i + c * m] * model->rhs[i];
        model->rhs[c] = sum / model->triangle[c + c * m];
    }
    if (!trust_model_adopt(model, &mixed->point))
        return ASKED_FAILED;
    trust_model_step(model, &mixed->point);
    search->stopping.beyond = (struct stopping_beyond){
        .is_there = true, .variance = 1, .misfit = 0.5 * (double)joint->asker.objective.n_row,
        .scale = joint->search.stopping.beyond.scale};
    return ASKED_OK;
}

/* BFGS's correction for the latest step, damped as Powell (1978) does to keep the curvature
 * positive. */
static void improve_curvature(struct mixed *mixed)
{
    size_t m = mixed->m;
    double *b = mixed->curvature, *moved = malloc((3 * m + 1) * sizeof *moved);
    double *change = moved + m, *by = change + m, sy = 0, sbs = 0;
    for (size_t k = 0; moved && k < m; k++)
        moved[k] = mixed->trial[k] - mixed->point.theta[k];
    for (size_t k = 0; moved && k < m; k++) {
        change[k] = mixed->slope[k] - mixed->point.gradient[k];
        by[k] = matrix_dot(m, b + k * m, moved);
        sy += moved[k] * change[k];
        sbs += moved[k] * by[k];
    }
    double part = sy < 0.2 * sbs ? 0.8 * sbs / (sbs - sy) : 1;
    sy = part * sy + (1 - part) * sbs;
    for (size_t c = 0; moved && sbs > 0 && sy > 0 && c < m; c++)
        for (size_t d = 0; d < m; d++) {
            double yc = part * change[c] + (1 - part) * by[c];
            double yd = part * change[d] + (1 - part) * by[d];
            b[d + c * m] += yc * yd / sy - by[c] * by[d] / sbs;
        }
    free(moved);
}

/* The trial's estimates become the best ones. */
static void take(struct mixed *mixed, double f)
{
    memcpy(mixed->point.theta, mixed->trial, mixed->m * sizeof(double));
    memcpy(mixed->point.gradient, mixed->slope, mixed->m * sizeof(double));
    mixed->point.f = mixed->progress.f = f;
    keep_found(mixed);
}

/* Of the trial, by values or, where noise hides these, by the gradients at both ends. */
static double find_decrease(struct mixed *mixed, double f)
{
    struct fit_search *search = &mixed->search;
    struct trust_model *model = &search->model;
    const struct fit_point trial = {.theta = mixed->trial, .gradient = mixed->slope};
    double by_value = mixed->point.f - f,
           by_slopes = stopping_by_slopes(mixed->m, &mixed->point, &trial);
    if (!stopping_is_hidden(&search->stopping, model->promise, &mixed->point, by_value, by_slopes))
        return by_value;
    double before = trust_model_decrement(model, mixed->point.gradient);
    bool is_flatter = !(trust_model_decrement(model, mixed->slope) > 0.5 * before);
    return stopping_by_gradient(&search->stopping, by_value, by_slopes, is_flatter);
}

static enum asked step(struct fit_search *search)
{
    struct mixed *mixed = mixed_of(search);
    struct trust_model *model = &search->model;
    size_t m = mixed->m;
    double decrease = -INFINITY, slope = 0;
    trust_model_target(model, &mixed->point, mixed->trial);
    enum asked asked = run(mixed, JOINT_MIXED, mixed->trial);
    if (asked == ASKED_END)
        return ASKED_END;
    double f = mixed->sum[0];
    if (asked == ASKED_OK) {
        memcpy(mixed->slope, mixed->sum + 1, m * sizeof(double));
        decrease = find_decrease(mixed, f);
        for (size_t k = 0; k < m; k++)
            slope += mixed->point.gradient[k] * (mixed->trial[k] - mixed->point.theta[k]);
        if (decrease > -10 * model->promise)
            improve_curvature(mixed);
    }
    search->n_iteration++;
    trust_reach_adapt(&model->reach, model->length, model->is_restricted,
                      trust_model_is_limited(model), decrease / model->promise,
                      trust_radius_part(slope, decrease), 2);
    if (decrease > 0)
        take(mixed, f);
    stopping_note(&search->stopping, model, &mixed->point, decrease);
    return ASKED_OK;
}

static bool has_budget(const struct fit_search *search)
{
    (void)search;
    return false; /* for loose steps */
}

static enum asked go_on(struct fit_search *search, enum outcome outcome)
{
    (void)search;
    (void)outcome;
    return ASKED_FAILED;
}

static const struct fit_search_method method = {.look = look, .step = step,
                                                .has_budget = has_budget, .go_on = go_on};

/* Whether a variance of 0 is a saddle: tries a small one. */
static enum asked leave_zeros(struct mixed *mixed, bool *has_left)
{
    size_t s = mixed->progress.s;
    enum asked asked = ASKED_OK;
    *has_left = false;
    for (size_t k = s; k < mixed->m && asked != ASKED_END; k++) {
        size_t a = mixed->row[k - s];
        if (a != mixed->column[k - s] || mixed->point.theta[k] != 0)
            continue;
        memcpy(mixed->trial, mixed->point.theta, mixed->m * sizeof(double));
        mixed->trial[k] = PROBE * first_deviation(mixed, a);
        asked = run(mixed, JOINT_MIXED, mixed->trial);
        if (asked != ASKED_OK || !(mixed->sum[0] < mixed->point.f - GAIN))
            continue;
        memcpy(mixed->slope, mixed->sum + 1, mixed->m * sizeof(double));
        take(mixed, mixed->sum[0]);
        *has_left = true;
    }
    return asked;
}

static void set_tolerance(struct mixed *mixed)
{
    const struct joint *joint = mixed->joint;
    bool is_last = mixed->progress.finer || joint->options->likelihood == LIKELIHOOD_LAPLACE;
    double n = fmax(1, (double)joint->asker.objective.n_row);
    mixed->options.f_tolerance = joint->options->f_tolerance / DEFAULT_TOLERANCE
                                 * (is_last ? LAST : OTHERS) / (0.5 * n);
}

/* Steps at one likelihood, from the best estimates, whose numbers are known. */
static enum outcome search_on(struct mixed *mixed, bool is_under_way)
{
    struct fit_search *search = &mixed->search;
    enum outcome outcome;
    bool has_left = false;
    set_tolerance(mixed);
    do {
        if (!is_under_way) {
            stopping_init(&search->stopping, &mixed->asker);
            trust_model_forget(&search->model);
        }
        is_under_way = false;
        outcome = fit_search_run(search, true);
        if (mixed->joint->end.is_cut)
            return mixed->joint->asker.outcome;
        if (outcome == OUTCOME_converged && leave_zeros(mixed, &has_left) == ASKED_END)
            return mixed->joint->asker.outcome;
    } while (has_left && search->n_iteration < 1000);
    return outcome;
}

/* From the pooled fit to Laplace's likelihood there; with smaller variances if that cannot be
 * evaluated. */
static enum asked begin_laplace(struct mixed *mixed)
{
    struct joint *joint = mixed->joint;
    enum asked asked = ASKED_FAILED;
    mixed->progress.phase = MIXED_LAPLACE;
    for (int i = 0; i < MAX_SHORTER && asked == ASKED_FAILED; i++) {
        asked = run(mixed, JOINT_MIXED, mixed->point.theta);
        for (size_t k = mixed->progress.s; asked == ASKED_FAILED && k < mixed->m; k++)
            mixed->point.theta[k] *= 0.5;
    }
    if (asked == ASKED_FAILED) {
        joint_find_failed(joint);
        return joint_end(joint, joint->end.blame.outcome);
    }
    if (asked == ASKED_END)
        return asked;
    memcpy(mixed->trial, mixed->point.theta, mixed->m * sizeof(double));
    memcpy(mixed->slope, mixed->sum + 1, mixed->m * sizeof(double));
    take(mixed, mixed->sum[0]);
    return begin_curvature(mixed);
}

/* At the best estimates, where datasets choose their levels, or take the next ones. */
static enum asked begin_points(struct mixed *mixed, unsigned finer)
{
    mixed->progress.phase = MIXED_EXACT;
    mixed->progress.finer = finer;
    mixed->chooses = finer == 0;
    enum asked asked = run_at_best(mixed, JOINT_MIXED);
    mixed->chooses = false;
    if (asked != ASKED_OK)
        return asked;
    keep_found(mixed);
    return finer ? ASKED_OK : begin_curvature(mixed);
}

/* With the datasets' levels, then with finer ones. */
static enum outcome search_exact(struct mixed *mixed, bool is_under_way)
{
    unsigned finer = is_under_way ? mixed->progress.finer : 0;
    enum outcome outcome = OUTCOME_converged;
    for (; finer <= MIXED_FINER && outcome_is_success(outcome); finer++) {
        if (!is_under_way && begin_points(mixed, finer) != ASKED_OK)
            return mixed->joint->asker.outcome;
        outcome = search_on(mixed, is_under_way);
        is_under_way = false;
        if (mixed->joint->end.is_cut)
            return mixed->joint->asker.outcome;
    }
    return outcome;
}

/* What another process has left: its numbers at the best estimates, once more. */
static enum asked resume(struct mixed *mixed)
{
    struct joint *joint = mixed->joint;
    struct cursor cursor = {.from = joint->saved.bytes, .at = mixed->saved, .n = SIZE_MAX};
    mixed_pass_search(&cursor, mixed);
    for (size_t i = 0; i < joint->n_block; i++) {
        struct joint_block *block = &joint->block[i];
        if (!block->mixed)
            block->mixed = mixed_block_new(mixed);
        if (!block->mixed)
            return joint_end_short(joint);
        cursor.at = block->memory.saved_mixed;
        mixed_pass_block(&cursor, mixed, block->mixed);
    }
    mixed->search.model.reach = mixed->progress.reach;
    mixed->search.stopping = mixed->progress.stopping;
    mixed->search.stopping.asker = &mixed->asker;
    mixed->search.n_iteration = mixed->progress.n_iteration;
    mixed->holds = true;
    enum asked asked = run_at_best(mixed, JOINT_MIXED);
    mixed->holds = false;
    return asked;
}

void mixed_pass_search(struct cursor *cursor, struct mixed *mixed)
{
    size_t m = mixed->progress.s + mixed->progress.n_factor;
    ARRAY(mixed->point.theta, m);
    ARRAY(mixed->curvature, m * m);
    ARRAY(mixed->search.model.scale, m);
}

/* The estimates that a bound holds, or a variance of 0: `loose` lists the others. */
static size_t find_loose(const struct mixed *mixed, uint32_t *loose)
{
    size_t n = 0, s = mixed->progress.s;
    for (uint32_t k = 0; k < mixed->m; k++) {
        bool is_zero = k >= s && mixed->asker.map.lower[k] == 0 && mixed->point.theta[k] == 0;
        if (!is_zero && !fit_point_is_held(&mixed->asker.map, &mixed->point, k))
            loose[n++] = k;
    }
    return n;
}

/* The inverse of the rows and columns `index` of a matrix. False: it is not positive definite. */
static bool invert(size_t m, const double *matrix, size_t k, const uint32_t *index, double *factor,
                   double *inverse)
{
    if (!matrix_factor(m, matrix, k, index, factor))
        return false;
    for (size_t c = 0; c < k; c++) {
        double *x = inverse + c * k;
        memset(x, 0, k * sizeof *x);
        x[c] = 1;
        matrix_solve_lower(k, factor, x);
        matrix_solve_upper(k, factor, x);
    }
    return true;
}

/* What the errors are computed from: m x m each but the indices. */
struct errors {
    size_t n;
    uint32_t *loose;
    double *second, *products, *inverse, *factor, *work;
    double *estimate_by; /* derivatives of the result's estimates by those of the search */
};

/* Second derivatives of the objective at the best estimates, by differences of the gradient. */
static enum asked differ(struct mixed *mixed, struct errors *errors)
{
    size_t m = mixed->m;
    bool is_one_sided = mixed->joint->part.n_all >= ENOUGH;
    double part = is_one_sided ? ONE_SIDE : BOTH_SIDES;
    bool is_good = invert(m, mixed->curvature, errors->n, errors->loose, errors->factor,
                          errors->inverse);
    mixed->progress.finer = 0; /* enough for two or three digits */
    enum asked asked = is_one_sided ? run(mixed, JOINT_MIXED, mixed->point.theta) : ASKED_OK;
    if (asked != ASKED_OK)
        return asked;
    memcpy(mixed->slope, mixed->sum + 1, m * sizeof(double));
    for (size_t c = 0; c < errors->n; c++) {
        uint32_t k = errors->loose[c];
        double *column = errors->second + k * m, width = 0;
        double variance = is_good ? errors->inverse[c + c * errors->n]
                                  : 1 / fmax(mixed->curvature[k + k * m], DBL_MIN);
        memset(column, 0, m * sizeof *column);
        for (int side = 1; side >= (is_one_sided ? 0 : -1); side--) {
            const double *gradient = mixed->slope;
            double h = side ? part * sqrt(variance) : 0;
            if (side == 0 && !is_one_sided)
                continue;
            memcpy(mixed->trial, mixed->point.theta, m * sizeof(double));
            mixed->trial[k] += side * h;
            if (side != 0) {
                asked = run(mixed, JOINT_MIXED, mixed->trial);
                if (asked != ASKED_OK)
                    return asked;
                gradient = mixed->sum + 1;
            }
            width += h;
            for (size_t j = 0; j < m; j++)
                column[j] += (side > 0 ? 1 : -1) * gradient[j];
        }
        for (size_t j = 0; j < m; j++)
            column[j] /= width;
    }
    for (size_t c = 0; c < m; c++)
        for (size_t d = 0; d < c; d++)
            errors->second[d + c * m] = errors->second[c + d * m] =
                0.5 * (errors->second[d + c * m] + errors->second[c + d * m]);
    return ASKED_OK;
}

/* The place of covariance entry k in the result's estimates; means and shared values are in the
 * file's order there. */
static size_t place_of(const struct mixed *mixed, size_t k)
{
    const struct mixed_result *result = &mixed->result;
    size_t s = mixed->progress.s;
    if (k >= s)
        return result->r + (k - s);
    for (size_t a = 0; a < result->r; a++)
        if (mixed->random[a] == k)
            return a;
    size_t at = result->m - result->s;
    while (result->shared[at - (result->m - result->s)] != mixed->joint->above.list[k].file_index)
        at++;
    return at;
}

/* How the result's estimates change with the search's: covariances L L' with the factor. */
static void set_derivatives(const struct mixed *mixed, const double *factor, double *by)
{
    size_t m = mixed->m, s = mixed->progress.s, r = mixed->progress.r;
    memset(by, 0, m * m * sizeof *by);
    for (size_t k = 0; k < s; k++)
        by[place_of(mixed, k) + k * m] = 1;
    for (size_t e = 0; e < m - s; e++)
        for (size_t k = 0; k < m - s; k++) {
            size_t i = mixed->row[e], j = mixed->column[e], a = mixed->row[k], c = mixed->column[k];
            by[place_of(mixed, s + e) + (s + k) * m] =
                (i == a ? factor[j + c * r] : 0) + (j == a ? factor[i + c * r] : 0);
        }
}

/* Errors of the result's estimates from a covariance of the search's loose ones. */
static void put_errors(const struct mixed *mixed, const struct errors *errors,
                       const double *covariance, double *error, double *matrix)
{
    size_t m = mixed->m, n = errors->n;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0, own = 0;
            for (size_t c = 0; c < n; c++) {
                double by = errors->estimate_by[i + errors->loose[c] * m];
                own += fabs(by);
                for (size_t d = 0; d < n && by != 0; d++)
                    sum += by * covariance[c + d * n] * errors->estimate_by[j + errors->loose[d] * m];
            }
            sum = covariance == NULL || own == 0 ? NAN : sum;
            if (i == j)
                error[i] = sqrt(sum);
            if (matrix)
                matrix[i + j * m] = matrix[j + i * m] = sum;
        }
}

static bool make_errors(const struct mixed *mixed, struct errors *errors, struct arena *arena)
{
    size_t m = mixed->m;
    errors->loose = arena_calloc(arena, m + 1, sizeof *errors->loose);
    return errors->loose
           && ARENA_DOUBLES(arena, {&errors->second, m, m}, {&errors->products, m, m},
                            {&errors->inverse, m, m}, {&errors->factor, m, m},
                            {&errors->work, m, 3 * m}, {&errors->estimate_by, m, m});
}

static void set_missing(double *numbers, size_t n)
{
    for (size_t k = 0; k < n; k++)
        numbers[k] = NAN;
}

/* Standard errors from the second derivatives, from the outer products, and robust ones. */
static void find_errors(struct mixed *mixed, struct errors *errors)
{
    struct mixed_result *result = &mixed->result;
    size_t m = mixed->m, n = errors->n;
    double *left = errors->work, *robust = left + m * m, *inverse = errors->inverse;
    bool has_second = invert(m, errors->second, n, errors->loose, errors->factor, inverse);
    set_missing(result->standard_error, m);
    set_missing(result->error_covariance, m * m);
    set_missing(result->by_scores, m);
    set_missing(result->sandwich, m);
    if (has_second) {
        put_errors(mixed, errors, inverse, result->standard_error, result->error_covariance);
        for (size_t c = 0; c < n; c++)
            for (size_t d = 0; d < n; d++) {
                double sum = 0;
                for (size_t e = 0; e < n; e++)
                    sum += errors->products[errors->loose[c] + errors->loose[e] * m] * inverse[e + d * n];
                left[c + d * n] = sum;
            }
        for (size_t c = 0; c < n; c++)
            for (size_t d = 0; d < n; d++)
                robust[c + d * n] = matrix_dot(n, inverse + c * n, left + d * n);
        put_errors(mixed, errors, robust, result->sandwich, NULL);
    }
    if (mixed->joint->part.n_all > n
        && invert(m, errors->products, n, errors->loose, errors->factor, inverse))
        put_errors(mixed, errors, inverse, result->by_scores, NULL);
}

/* The ratio of the largest to the smallest eigenvalue of the estimates' correlation matrix. */
static double condition_of(const struct mixed_result *result, struct arena *arena)
{
    size_t m = result->m, n = 0;
    double *matrix, *values, *vectors;
    uint32_t *known = arena_calloc(arena, m + 1, sizeof *known);
    if (!known || !ARENA_DOUBLES(arena, {&matrix, m, m}, {&values, m, 1}, {&vectors, m, m}))
        return NAN;
    for (uint32_t k = 0; k < m; k++)
        if (result->standard_error[k] > 0)
            known[n++] = k;
    for (size_t c = 0; c < n; c++)
        for (size_t d = 0; d < n; d++)
            matrix[d + c * n] = result->error_covariance[known[d] + known[c] * m]
                                / (result->standard_error[known[c]] * result->standard_error[known[d]]);
    if (n == 0)
        return NAN;
    matrix_singular(n, n, matrix, NULL, values, vectors);
    return values[0] / values[n - 1];
}

static void means_of(const void *context, const struct joint_block *block, double *number)
{
    size_t r = ((const struct mixed *)context)->progress.r;
    for (size_t a = 0; a < r; a++) {
        double by = block->mixed->mean[a] - ((const struct mixed *)context)->result.mean[a];
        number[a] = by;
        number[r + a] = by * by;
    }
}

/* Mean, covariance, shared values, and shrinkage. */
static enum asked put_estimates(struct mixed *mixed, const double *factor, struct arena *arena)
{
    struct mixed_result *result = &mixed->result;
    const struct joint *joint = mixed->joint;
    size_t r = result->r, s = mixed->progress.s, n_shared = 0;
    double n = (double)joint->part.n_all, *sum;
    if (!ARENA_DOUBLES(arena, {&sum, 2 * r, 1}))
        return joint_end_short(mixed->joint);
    for (size_t a = 0; a < r; a++) {
        result->random[a] = joint->above.list[mixed->random[a]].file_index;
        result->mean[a] = mixed->point.theta[mixed->random[a]];
    }
    for (size_t a = 0; a < r; a++)
        for (size_t e = 0; e < r; e++)
            for (size_t c = 0; c < r; c++)
                result->covariance[e + a * r] += factor[e + c * r] * factor[a + c * r];
    for (size_t k = 0; k < mixed->m - s; k++)
        result->is_estimated[mixed->row[k] + mixed->column[k] * r] =
            result->is_estimated[mixed->column[k] + mixed->row[k] * r] = 1;
    for (uint32_t j = 0; j < joint->n_parameter; j++)
        for (size_t k = 0; k < s; k++)
            if (joint->above.list[k].file_index == j && !joint->levels.random[j]) {
                result->shared[n_shared] = j;
                result->value[n_shared++] = mixed->point.theta[k];
            }
    if (!joint_totals(joint, 2 * r, means_of, mixed, sum))
        return joint_end_short(mixed->joint);
    for (size_t a = 0; a < r; a++) {
        double mean = sum[a] / n, variance = (sum[r + a] - n * mean * mean) / fmax(n - 1, 1);
        double population = result->covariance[a + a * r];
        result->shrinkage[a] = population > 0 ? 1 - variance / population : NAN;
    }
    return ASKED_OK;
}

static enum asked conclude(struct mixed *mixed, enum outcome outcome)
{
    struct joint *joint = mixed->joint;
    struct mixed_result *result = &mixed->result;
    struct arena *arena = &joint->arena;
    struct errors errors = {.n = 0};
    size_t r = mixed->progress.r, m = mixed->m;
    double *factor;
    *result = (struct mixed_result){.r = r, .s = mixed->progress.s - r, .m = m};
    if (!mixed_result_init(result, arena) || !make_errors(mixed, &errors, arena)
        || !ARENA_DOUBLES(arena, {&factor, r, r}))
        return joint_end_short(joint);
    errors.n = find_loose(mixed, errors.loose);
    enum asked asked = joint->options->statistics ? differ(mixed, &errors) : ASKED_FAILED;
    bool has_errors = asked == ASKED_OK;
    mixed->progress.finer = MIXED_FINEST;
    if (asked != ASKED_END)
        asked = run_at_best(mixed, JOINT_TELL);
    mixed_factor(mixed, mixed->point.theta, factor);
    if (asked == ASKED_OK)
        asked = put_estimates(mixed, factor, arena);
    if (asked != ASKED_OK)
        return asked;
    if (!take_products(mixed, errors.products))
        return joint_end_short(joint);
    set_derivatives(mixed, factor, errors.estimate_by);
    if (has_errors)
        find_errors(mixed, &errors);
    else
        set_missing(result->standard_error, m);
    result->minus_2_log_likelihood = 2 * mixed->point.f;
    if (mixed->progress.phase == MIXED_EXACT)
        result->likelihood_error =
            2 * fmax(fabs(joint_total(joint, error_of)), sqrt(joint_total(joint, square_of)));
    result->condition = condition_of(result, arena);
    result->n_dataset = joint->part.n_all;
    result->n_left_out = joint->ranks.n_block - joint->part.n_all;
    result->n_row = joint->asker.objective.n_row;
    result->likelihood = mixed->progress.phase == MIXED_EXACT ? LIKELIHOOD_EXACT : LIKELIHOOD_LAPLACE;
    result->outcome = (int)outcome;
    result->n_iteration = mixed->search.n_iteration;
    mixed->has_result = true;
    return ASKED_OK;
}

enum outcome mixed_search(struct joint *joint, enum stop_test *stop)
{
    struct mixed *mixed = joint->mixed;
    bool is_resumed = mixed->progress.phase != MIXED_POOLED;
    bool is_exact = mixed->progress.phase == MIXED_EXACT;
    enum asked asked = make(mixed) ? ASKED_OK : joint_end_short(joint);
    mixed->search.method = &method;
    if (asked == ASKED_OK)
        asked = is_resumed ? resume(mixed) : begin_laplace(mixed);
    enum outcome outcome = joint->asker.outcome;
    if (asked == ASKED_OK && !is_exact)
        outcome = search_on(mixed, is_resumed);
    if (asked == ASKED_OK && !joint->end.is_cut && joint->options->likelihood == LIKELIHOOD_EXACT
        && (is_exact || outcome_is_success(outcome)))
        outcome = search_exact(mixed, is_exact);
    if (asked != ASKED_OK || joint->end.is_cut)
        return joint->asker.outcome;
    *stop = mixed->search.stopping.met;
    snprintf(joint->asker.reason, sizeof joint->asker.reason, "%s", mixed->asker.reason);
    return conclude(mixed, outcome) == ASKED_OK ? outcome : joint->asker.outcome;
}
