/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/effects.h"

#include "fit/objective/matrix.h"

#include <math.h>
#include <string.h>

/* The mode is found when another step promises less than this of -log likelihood: then it is within
 * 1e-5 of the random effects' standard deviations. The first step is taken unless it promises less
 * than AT_ONCE: modes that stay behind when the estimates move a little are errors of one sign in
 * all datasets. Values say little of steps that promise less than IDLE. */
static const double FOUND = 1e-10, AT_ONCE = 1e-15, IDLE = 1e-4, MOST_DAMPING = 1e6;
enum { MAX_STEP = 60 };
/* In standard deviations of the random effects: a mode so far away is doubtful. */
static const double FAR = 5;
/* Modes are different if a random effect is by so many deviations. */
static const double OTHER_MODE = 1e-2;
/* A mode is another one if -log density differs by this. */
static const double DIFFERENT = 1e-4;

/* Of effects_known: with rough sums less, since scores of the curve are rougher. */
static const double WELL_KNOWN = 1, ROUGHLY_KNOWN = 0.1;

static bool make_place(struct effects_place *place, size_t r, size_t s, size_t n_experiment,
                       struct arena *arena)
{
    place->course = arena_calloc(arena, n_experiment, sizeof *place->course);
    if (!place->course)
        return false;
    return ARENA_DOUBLES(arena, {&place->b, r, 1}, {&place->slope, s, 1},
                         {&place->information, s, s});
}

size_t effects_count(const struct joint_work *work)
{
    const struct mixed_progress *progress = &mixed_of_joint(work->joint)->progress;
    return progress->r + progress->q * work->asker->problem->n_experiment;
}

/* The factor of all random effects: of the dataset's, and behind it standard deviations of those of
 * the experiments. */
static void set_factor(struct effects *local)
{
    const struct mixed *mixed = local->mixed;
    const struct mixed_progress *progress = &mixed->progress;
    size_t n = 0, r = local->r;
    for (uint32_t a = 0; a < r; a++) {
        local->index[a] = a;
        local->random[a] = a < progress->r ? mixed->random[a]
                                           : (uint32_t)(progress->s + a - progress->r);
    }
    for (; n < progress->n_factor; n++) {
        local->row[n] = mixed->row[n];
        local->column[n] = mixed->column[n];
        local->estimate[n] = (uint32_t)(progress->s + n);
    }
    for (uint32_t a = (uint32_t)progress->r; a < r; a++, n++) {
        local->row[n] = local->column[n] = a;
        local->estimate[n] =
            (uint32_t)(progress->s + progress->n_factor + (a - progress->r) % progress->q);
    }
    for (size_t k = 0; k < n; k++)
        local->factor[local->row[k] + local->column[k] * r] = local->at[local->estimate[k]];
}

static void set_variables(struct effects *local)
{
    const struct mixed_progress *progress = &local->mixed->progress;
    uint64_t left_out = progress->left_out, now[2] = {~left_out, left_out & local->mixed->probed};
    size_t r = progress->r, n = 0;
    for (int k = 0; k < 2; k++) {
        for (uint32_t a = 0; a < local->r; a++)
            if (now[k] & mixed_bit(a < r ? a : r + (a - r) % progress->q))
                local->variable[n++] = a;
        local->n_shaped = k == 0 ? n : local->n_shaped;
    }
    local->n_variable = n;
}

bool effects_make(struct effects *local, struct joint_work *work, struct arena *arena)
{
    const struct mixed *mixed = mixed_of_joint(work->joint);
    const struct mixed_progress *progress = &mixed->progress;
    size_t r = effects_count(work), n_occasion = r - progress->r, s = progress->s + n_occasion,
           n = progress->n_factor + n_occasion, m = s + n,
           n_experiment = work->asker->problem->n_experiment,
           n_moved = progress->q * n_experiment > 0 ? n_experiment : 0;
    uint32_t *indices = arena_calloc(arena, 3 * (r + n) + 1, sizeof *indices);
    *local = (struct effects){.work = work, .arena = arena, .mixed = mixed,
                            .block = mixed_block_of(work->block), .r = r, .s = s, .m = m,
                            .at = mixed->at, .index = indices, .random = indices + r,
                            .row = indices + 2 * r, .column = indices + 2 * r + n,
                            .estimate = indices + 2 * r + 2 * n,
                            .variable = indices + 2 * r + 3 * n};
    if (!indices || !make_place(&local->here, r, s, n_experiment, arena)
        || !make_place(&local->there, r, s, n_experiment, arena)
        || !ARENA_DOUBLES(arena, {&local->factor, r, r}, {&local->hessian, r, r},
                          {&local->cholesky, r, r}, {&local->step, r, 1},
                          {&local->scratch, r, s + r}, {&local->shift, s, 1},
                          {&local->gradient, m, 1}, {&local->matrix, m, (m + 1) / 2 + 1},
                          {&local->by_experiment, n_moved, work->asker->map.n_free}))
        return false;
    work->at.by_experiment = n_moved ? local->by_experiment : NULL;
    set_factor(local);
    set_variables(local);
    return true;
}

void effects_set(struct effects *local, const double *b)
{
    struct joint_work *work = local->work;
    const struct mixed_progress *progress = &local->mixed->progress;
    size_t r = local->r, n = work->asker->map.n_free;
    for (size_t k = 0; k < progress->s; k++)
        work->at.theta[work->order[k]] = local->at[k] + local->shift[k];
    for (size_t a = 0; a < progress->r; a++) {
        double *theta = &work->at.theta[work->order[local->random[a]]];
        for (size_t c = 0; c <= a; c++)
            *theta += local->factor[a + c * r] * b[c];
    }
    for (size_t a = progress->r; a < r; a++) {
        size_t e = (a - progress->r) / progress->q, o = (a - progress->r) % progress->q;
        local->by_experiment[work->order[local->mixed->random[progress->r + o]] + e * n] =
            local->factor[a + a * r] * b[a] + local->shift[local->random[a]];
    }
}

/* Adds the information of rows, A'A, and what they give to the gradient, A'c. Those of an
 * experiment, e, also have columns of what it adds to its parameters. */
static void add_rows(const struct effects *local, size_t n_row, size_t e,
                     struct effects_place *place)
{
    const struct joint_work *work = local->work;
    const struct mixed_progress *progress = &local->mixed->progress;
    size_t s = local->s, q = progress->q;
    for (size_t c = 0; c < progress->s + q; c++) {
        bool is_added = c >= progress->s;
        size_t above = is_added ? local->mixed->random[progress->r + c - progress->s] : c;
        size_t place_c = is_added ? c + e * q : c;
        const double *column = work->rows + work->order[above] * n_row;
        if (is_added)
            place->slope[place_c] += matrix_dot(n_row, column, work->rhs);
        for (size_t d = c; d < progress->s + q; d++) {
            size_t other = d < progress->s ? d
                : local->mixed->random[progress->r + d - progress->s];
            size_t place_d = d < progress->s ? d : d + e * q;
            double sum = matrix_dot(n_row, column, work->rows + work->order[other] * n_row);
            place->information[place_c + place_d * s] += sum;
            if (place_c != place_d)
                place->information[place_d + place_c * s] += sum;
        }
    }
}

/* The gradient and, unless some parameters have no derivatives, the information of the
 * measurements' rows. */
static bool take_rows(struct effects *local, struct effects_place *place)
{
    struct joint_work *work = local->work;
    const struct fit_asker *asker = work->asker;
    const struct fit_objective *objective = &asker->objective;
    struct fit_answer answer = fit_point_answer(asker, &work->at);
    size_t s = local->s, n_experiment = asker->problem->n_experiment;
    place->rounding =
        fit_objective_has_kinks(objective) ? fit_objective_rounding(objective, &answer) : 0;
    bool has_all = asker->map.is_wanted == NULL;
    memset(place->information, 0, s * s * sizeof *place->information);
    memset(place->slope, 0, s * sizeof *place->slope);
    for (size_t k = 0; k < local->mixed->progress.s; k++)
        place->slope[k] = work->at.gradient[work->order[k]];
    if (!work->at.by_experiment && has_all) {
        fit_objective_rows(objective, &answer, CURVATURE_ABOVE, work->rows, work->rhs);
        add_rows(local, fit_objective_n_row(objective), 0, place);
    }
    for (size_t e = 0; work->at.by_experiment && e < n_experiment; e++) {
        size_t first = asker->first_row[e], last = asker->first_row[e + 1];
        fit_objective_rows_of(objective, &answer, CURVATURE_ABOVE, first, last, work->rows,
                              work->rhs);
        add_rows(local, fit_objective_n_row_of(objective, first, last), e, place);
    }
    for (size_t k = 0; k < s * s; k++)
        if (!isfinite(place->information[k]))
            return false;
    return true;
}

enum asked effects_evaluate(struct effects *local, struct effects_place *place)
{
    struct joint_work *work = local->work;
    struct fit_asker *asker = work->asker;
    size_t bytes = asker->problem->n_experiment * sizeof *place->course;
    memcpy(place->course, asker->course, bytes);
    effects_set(local, place->b);
    enum asked asked = fit_ask(asker, asker->accuracy, &work->at, true);
    while (joint_change_method(work, asked, local->arena)) {
        memcpy(place->course, asker->course, bytes);
        effects_set(local, place->b);
        asked = fit_ask(asker, asker->accuracy, &work->at, true);
    }
    if (asked == ASKED_END)
        joint_block_end(work->block, asker->outcome, asker->reason);
    if (asked != ASKED_OK)
        return asked;
    place->f = place->with_density = work->at.f;
    for (size_t a = 0; a < local->r; a++)
        place->with_density += 0.5 * place->b[a] * place->b[a];
    return take_rows(local, place)
               ? ASKED_OK
               : fit_asker_miss(asker, OUTCOME_model_failed,
                                "the derivatives of the residuals are too large to be used");
}

void effects_by(const struct effects *local, const double *x, size_t n, double *out)
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

const uint32_t *effects_moved_by(const struct effects *local, size_t j, const double *b, double *by)
{
    *by = j < local->s ? 1 : b[local->column[j - local->s]];
    if (j >= local->s)
        return &local->random[local->row[j - local->s]];
    for (size_t a = 0; a < local->r; a++)
        if (local->random[a] == j)
            return &local->random[a];
    return NULL;
}

bool effects_hessian(struct effects *local, const double *information)
{
    size_t r = local->r, s = local->s;
    effects_by(local, information, s, local->scratch);
    for (size_t c = 0; c < r; c++)
        for (size_t d = 0; d < r; d++) {
            double sum = c == d;
            for (size_t a = d; a < r; a++)
                sum += local->scratch[c + local->random[a] * r] * local->factor[a + d * r];
            local->hessian[c + d * r] = sum;
        }
    return matrix_factor(r, local->hessian, r, local->index, local->cholesky);
}

double effects_promise(const struct effects *local, const struct effects_place *place, double *step)
{
    size_t r = local->r;
    effects_by(local, place->slope, 1, step);
    for (size_t a = 0; a < r; a++)
        step[a] = -step[a] - place->b[a];
    matrix_solve_lower(r, local->cholesky, step);
    return 0.5 * matrix_squares(r, step);
}

/* Factors the Hessian at local->here with this damping. */
static bool damp(struct effects *local, double damping)
{
    size_t r = local->r;
    for (size_t a = 0; a < r; a++)
        local->hessian[a + a * r] += damping;
    bool is_good = matrix_factor(r, local->hessian, r, local->index, local->cholesky);
    for (size_t a = 0; a < r; a++)
        local->hessian[a + a * r] -= damping;
    return is_good;
}

enum asked effects_climb(struct effects *local)
{
    size_t r = local->r;
    double damping = 0;
    local->is_on_kink = false;
    enum asked asked = effects_evaluate(local, &local->here);
    if (asked == ASKED_FAILED) {
        memset(local->here.b, 0, r * sizeof *local->here.b);
        asked = effects_evaluate(local, &local->here);
    }
    for (int i = 0; asked == ASKED_OK && !local->mixed->holds && i < MAX_STEP; i++) {
        bool is_good = effects_hessian(local, local->here.information) && damp(local, damping);
        double promise = is_good ? effects_promise(local, &local->here, local->step) : (double)NAN;
        local->is_on_kink = promise * (1 + damping) > IDLE;
        if (promise <= (i == 0 ? AT_ONCE : FOUND) || !(damping < MOST_DAMPING))
            break;
        matrix_solve_upper(r, local->cholesky, local->step);
        for (size_t a = 0; a < r; a++)
            local->there.b[a] = local->here.b[a] + local->step[a];
        asked = is_good ? effects_evaluate(local, &local->there) : ASKED_FAILED;
        if (asked == ASKED_END)
            return asked;
        double gain = asked == ASKED_OK ? local->here.with_density - local->there.with_density
                                        : -INFINITY;
        if (asked == ASKED_OK && promise <= IDLE)
            gain = promise - effects_promise(local, &local->there, local->step);
        asked = ASKED_OK;
        if (gain > 0) {
            struct effects_place here = local->here;
            local->here = local->there;
            local->there = here;
        }
        if (gain < 0.25 * promise)
            damping = fmax(4 * damping, 0.5);
        else if (gain > 0.75 * promise)
            damping = damping < 0.1 ? 0 : 0.25 * damping;
    }
    return asked;
}

/* Climbs from `from`. The higher mode of this and `kept`, whose -log density is *value, becomes
 * `kept`; local->here is where the climb ended. ASKED_FAILED: it cannot be evaluated. */
static enum asked climb_from(struct effects *local, const double *from, double *kept, double *value)
{
    size_t r = local->r;
    memmove(local->here.b, from, r * sizeof *from);
    enum asked asked = effects_climb(local);
    if (asked == ASKED_OK && local->here.with_density < *value - DIFFERENT) {
        memcpy(kept, local->here.b, r * sizeof *kept);
        *value = local->here.with_density;
    }
    return asked;
}

/* A mode many deviations away may be one of several, from where the search's earlier estimates have
 * led; the mode that is found from the mean replaces it if it is higher. */
static enum asked find_mode(struct effects *local)
{
    static const double mean[RULE_MOST] = {0};
    size_t r = local->r;
    double mode[RULE_MOST], value = INFINITY;
    enum asked asked = climb_from(local, local->here.b, mode, &value);
    if (asked != ASKED_OK || local->mixed->holds ||
        !(matrix_squares(r, local->here.b) > FAR * FAR))
        return asked;
    asked = climb_from(local, mean, mode, &value);
    if (asked == ASKED_END || (asked == ASKED_OK && !memcmp(mode, local->here.b, r * sizeof *mode)))
        return asked;
    memcpy(local->here.b, mode, r * sizeof *mode);
    return effects_evaluate(local, &local->here);
}

/* Whether predictions may have kinks: parameters may move what happens across a measurement. */
static bool may_have_kinks(const struct fit_asker *asker)
{
    const struct stiffit_model *abi = &asker->problem->model->abi;
    bool may = abi->n_switching > 0 || (abi->n_state && abi->n_event);
    for (size_t e = 0; e < asker->problem->n_experiment; e++)
        may = may || (asker->problem->task[e].experiment.n_dose && (abi->lag || abi->infusion));
    return may;
}

/* Where the mode lies on a kink, the derivatives of one side jump from one estimate to the next:
 * difference quotients, which have those of both, then take their place in this pass. */
static bool leave_sides(struct effects *local)
{
    struct fit_asker *asker = local->work->asker;
    if (!local->is_on_kink || asker->accuracy.gradient == GRADIENT_differences
        || !may_have_kinks(asker))
        return false;
    asker->meets_jump = true;
    local->sided = asker->accuracy.gradient;
    memcpy(local->here.b, local->block->mode, local->r * sizeof *local->here.b);
    local->has_left_sides = joint_change_method(local->work, ASKED_END, local->arena);
    return local->has_left_sides;
}

enum asked effects_find_mode(struct effects *local)
{
    struct mixed_block *block = local->block;
    size_t n = block->n_experiment, bytes = n * sizeof *block->course;
    bool holds = local->mixed->holds;
    if (holds) /* evaluations follow what they followed in the process that found the mode */
        memcpy(local->work->asker->course, block->course, bytes);
    local->is_on_kink = holds && block->is_on_kink;
    leave_sides(local);
    enum asked asked = find_mode(local);
    if (asked == ASKED_OK && leave_sides(local))
        asked = find_mode(local);
    if (asked != ASKED_OK)
        return asked;
    block->found_on_kink = local->has_left_sides;
    if (holds)
        memcpy(local->work->asker->course, block->course + n, bytes);
    memcpy(block->found_course, local->here.course, bytes);
    memcpy(block->found_course + n, local->work->asker->course, bytes);
    return ASKED_OK;
}

double effects_known(const struct effects *local)
{
    return local->mixed->progress.is_rough ? ROUGHLY_KNOWN : WELL_KNOWN;
}

bool effects_are_apart(size_t r, const double *b, const double *other)
{
    double most = 0;
    for (size_t a = 0; a < r; a++)
        most = fmax(most, fabs(b[a] - other[a]));
    return most >= OTHER_MODE;
}

double effects_half_log_det(size_t r, const double *factor)
{
    double sum = 0;
    for (size_t a = 0; a < r; a++)
        sum += log(factor[a + a * r]);
    return sum;
}

enum asked effects_end_short(const struct effects *local)
{
    joint_block_end(local->work->block, OUTCOME_out_of_memory, "no memory for this dataset");
    return ASKED_END;
}
