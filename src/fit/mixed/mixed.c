/* What a fit with random parameters keeps: the estimates' layout, its state, and records.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/mixed.h"

#include "base/cursor.h"
#include "base/memory.h"
#include "fit/mixed/hills.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Standard deviations at the start: of a logarithm, and of others relative to the mean. */
static const double DEVIATION = 0.5, RELATIVE = 0.3;

void mixed_factor(const struct mixed *mixed, const double *estimates, double *factor)
{
    size_t r = mixed->progress.r;
    memset(factor, 0, r * r * sizeof *factor);
    for (size_t k = 0; k < mixed->progress.n_factor; k++)
        factor[mixed->row[k] + mixed->column[k] * r] = estimates[mixed->progress.s + k];
}

static uint8_t group_of(const struct mixed *mixed, size_t k)
{
    return mixed->levels.random[mixed->joint->above.list[k].file_index];
}

static bool is_occasion(const struct mixed *mixed, size_t k)
{
    return mixed->levels.occasion
           && mixed->levels.occasion[mixed->joint->above.list[k].file_index];
}

/* Adds parameter k to a list of n, in the file's order. */
static void insert(const struct joint *joint, uint32_t *list, size_t n, uint32_t k)
{
    for (; n > 0 && joint->above.list[list[n - 1]].file_index > joint->above.list[k].file_index;
         n--)
        list[n] = list[n - 1];
    list[n] = k;
}

/* The random parameters, in the file's order, and the factor's entries: those of parameters that
 * are correlated with each other. */
static bool find_random(struct mixed *mixed)
{
    const struct joint *joint = mixed->joint;
    struct arena *arena = mixed->joint->arena;
    size_t s = joint->above.s, r = 0, q = 0, n = 0;
    uint32_t *random = mixed->random = arena_calloc(arena, 2 * s + 1, sizeof *mixed->random);
    mixed->row = arena_calloc(arena, s * s + s + 1, sizeof *mixed->row);
    mixed->column = arena_calloc(arena, s * s + s + 1, sizeof *mixed->column);
    if (!random || !mixed->row || !mixed->column)
        return false;
    for (uint32_t k = 0; k < s; k++)
        if (group_of(mixed, k))
            insert(joint, random, r++, k);
    for (uint32_t k = 0; k < s; k++)
        if (is_occasion(mixed, k))
            insert(joint, random + r, q++, k);
    for (uint32_t c = 0; c < r; c++)
        for (uint32_t a = c; a < r; a++) {
            if (group_of(mixed, random[a]) != group_of(mixed, random[c]))
                continue;
            mixed->row[n] = a;
            mixed->column[n++] = c;
        }
    for (uint32_t a = 0; a < q; a++)
        mixed->row[n + a] = mixed->column[n + a] = (uint32_t)r + a;
    mixed->progress.q = q;
    mixed->progress.r = r;
    mixed->progress.s = s;
    mixed->progress.n_factor = n;
    mixed->m = s + n + q;
    return true;
}

bool mixed_is_fixed(const struct mixed *mixed, size_t k)
{
    return mixed->joint->above.list[k].lower == mixed->joint->above.list[k].upper;
}

size_t mixed_n_estimate(const struct mixed *mixed)
{
    size_t n = mixed->m;
    for (size_t k = 0; k < mixed->progress.s; k++)
        n -= mixed_is_fixed(mixed, k);
    return n;
}

double mixed_first_deviation(const struct mixed *mixed, const double *theta, size_t a)
{
    const struct joint_above *above = &mixed->joint->above.list[mixed->random[a]];
    double mean = fabs(theta[mixed->random[a]]);
    if (above->scale != SCALE_LIN)
        return above->scale == SCALE_LOG ? DEVIATION : DEVIATION / log(10);
    return mean > 0 ? RELATIVE * mean : above->start != 0 ? RELATIVE * fabs(above->start) : 1;
}

/* The covariance to begin with, column-major, in its factor's place: L L' from the top. */
static void factor_start(const struct mixed *mixed, const double *deviation, double *factor)
{
    const struct joint *joint = mixed->joint;
    size_t r = mixed->progress.r, n = joint->n_parameter;
    memset(factor, 0, r * r * sizeof *factor);
    for (size_t j = 0; j < r; j++)
        for (size_t i = j; i < r; i++) {
            uint32_t a = joint->above.list[mixed->random[i]].file_index;
            uint32_t b = joint->above.list[mixed->random[j]].file_index;
            double sum = i == j ? 1 : mixed->levels.correlation
                                          ? mixed->levels.correlation[a * n + b] : 0;
            for (size_t k = 0; k < j; k++)
                sum -= factor[i + k * r] * factor[j + k * r];
            factor[i + j * r] = i == j ? sqrt(fmax(sum, 0)) : sum / factor[j + j * r];
        }
    for (size_t j = 0; j < r; j++)
        for (size_t i = j; i < r; i++)
            factor[i + j * r] *= deviation[i];
}

void mixed_first_factor(const struct mixed *mixed, double *estimates)
{
    const struct joint *joint = mixed->joint;
    size_t s = mixed->progress.s, r = mixed->progress.r, n = mixed->progress.n_factor;
    double *deviation = mixed->start + r * r;
    for (size_t a = 0; a < r + mixed->progress.q; a++) {
        uint32_t file = joint->above.list[mixed->random[a]].file_index;
        const double *given = a < r ? mixed->levels.deviation : mixed->levels.by_experiment;
        deviation[a] = given && !isnan(given[file]) ? given[file]
                                                    : mixed_first_deviation(mixed, estimates, a);
    }
    factor_start(mixed, deviation, mixed->start);
    for (size_t k = 0; k < n; k++)
        estimates[s + k] = mixed->start[mixed->row[k] + mixed->column[k] * r];
    for (size_t o = 0; o < mixed->progress.q; o++)
        estimates[s + n + o] = deviation[r + o];
    mixed_clear_columns(mixed, estimates);
}

void mixed_take_given(const struct mixed *mixed, double *estimates)
{
    memcpy(estimates, mixed->joint->asker.map.start, mixed->progress.s * sizeof *estimates);
    mixed_first_factor(mixed, estimates);
}

void mixed_clear_columns(const struct mixed *mixed, double *estimates)
{
    size_t r = mixed->progress.r, s = mixed->progress.s;
    double *factor = mixed->start;
    mixed_factor(mixed, estimates, factor);
    for (size_t c = 0; c < r; c++)
        for (size_t j = c + 1; j < r && factor[c + c * r] == 0; j++) {
            double below = factor[j + c * r], diagonal = factor[j + j * r];
            double length = hypot(below, diagonal);
            for (size_t i = j; i < r && below != 0; i++) { /* a rotation of the two columns */
                double left = factor[i + c * r], right = factor[i + j * r];
                factor[i + c * r] = i == j ? 0 : (diagonal * left - below * right) / length;
                factor[i + j * r] = i == j ? length : (below * left + diagonal * right) / length;
            }
        }
    for (size_t k = 0; k < mixed->progress.n_factor; k++)
        estimates[s + k] = factor[mixed->row[k] + mixed->column[k] * r];
}

uint64_t mixed_zero_columns(const struct mixed *mixed, const double *estimates)
{
    uint64_t zeros = 0, others = 0;
    for (size_t k = mixed->progress.s; k < mixed->m; k++) {
        uint64_t bit = mixed_bit(mixed->column[k - mixed->progress.s]);
        zeros |= estimates[k] == 0 ? bit : 0;
        others |= estimates[k] != 0 ? bit : 0;
    }
    return zeros & ~others;
}

size_t mixed_count_columns(const struct mixed *mixed)
{
    size_t n = 0;
    for (size_t c = 0; c < mixed->progress.r + mixed->progress.q; c++)
        n += !(mixed->progress.left_out & mixed_bit(c));
    return n;
}

/* The map of all estimates. */
static bool make_map(struct mixed *mixed)
{
    const struct fit_map *from = &mixed->joint->asker.map;
    struct fit_map *map = &mixed->asker.map;
    struct arena *arena = mixed->joint->arena;
    size_t m = mixed->m, s = mixed->progress.s;
    const double *theta = mixed->joint->above.theta;
    *map = (struct fit_map){.n_free = m, .scale = arena_calloc(arena, m + 1, sizeof *map->scale),
                            .file_index = arena_calloc(arena, m + 1, sizeof *map->file_index)};
    size_t n_random = mixed->progress.r + mixed->progress.q;
    if (!map->scale || !map->file_index ||
        !ARENA_DOUBLES(arena, {&mixed->start, n_random + 1, n_random}) ||
        !ARENA_DOUBLES(arena, {&map->start, m, 1}, {&map->lower, m, 1}, {&map->upper, m, 1},
                       {&map->size, m, 1}))
        return false;
    for (size_t k = 0; k < m; k++) {
        bool is_diagonal = k >= s && mixed->row[k - s] == mixed->column[k - s];
        double size = k < s ? 0 : mixed_first_deviation(mixed, theta, mixed->row[k - s]);
        map->scale[k] = k < s ? from->scale[k] : SCALE_LIN;
        map->lower[k] = k < s ? from->lower[k] : is_diagonal ? 0 : -INFINITY;
        map->upper[k] = k < s ? from->upper[k] : INFINITY;
        map->start[k] = k < s ? theta[k] : 0;
        map->size[k] = k < s ? from->size[k] : size;
    }
    for (size_t k = 0; k < s && mixed->joint->held; k++)
        if (mixed->joint->held[from->file_index[k]])
            map->lower[k] = map->upper[k] = map->start[k];
    mixed_first_factor(mixed, map->start);
    return true;
}

bool mixed_make(struct mixed *mixed)
{
    struct joint *joint = mixed->joint;
    struct arena *arena = joint->arena;
    if (!find_random(mixed) || !make_map(mixed))
        return false;
    size_t m = mixed->m;
    if (!rule_init(&mixed->rule, joint->seed, arena))
        return false;
    mixed->asker.is_exact = joint->asker.is_exact;
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
                          {&mixed->slope, m, 1}, {&mixed->prior_slope, m, 1},
                          {&mixed->prior_curvature, m, 1}, {&mixed->kept, m, MIXED_ENDS + 1},
                          {&mixed->curvature, m, m}, {&mixed->second, m, m},
                          {&mixed->sum, mixed_n_number(m) + 1, 1}))
        return false;
    memcpy(mixed->point.theta, mixed->asker.map.start, m * sizeof(double));
    return true;
}

void mixed_pass_search(struct cursor *cursor, struct joint *joint)
{
    struct mixed *mixed = mixed_of_joint(joint);
    const struct mixed_progress *progress = &mixed->progress;
    FIELD(mixed->progress);
    size_t m = progress->s + progress->n_factor + progress->q;
    ARRAY(mixed->point.theta, m);
    ARRAY(mixed->kept, m * (MIXED_ENDS + 1));
    ARRAY(mixed->curvature, m * m);
    ARRAY(mixed->second, m * m);
    ARRAY(mixed->search.model.scale, m);
}

/* How many numbers the shape of so many random effects may have, or of fewer of them. */
static size_t most_shape(size_t n_effect)
{
    return shape_size(n_effect < SHAPE_MOST ? n_effect : SHAPE_MOST);
}

/* Sets the pointers of a block whose n_effect and n_experiment are set, hills last. Returns the
 * bytes of all but these. */
static size_t place(const struct mixed *mixed, struct mixed_block *block)
{
    size_t n = block->n_effect, r = mixed->progress.r;
    double *next = (double *)(block + 1);
    block->mode = next;
    block->found = next += n;
    block->end = next += n;
    block->shape = next += n;
    block->mean = next += most_shape(n);
    block->deviation = next += r;
    block->number = next += r;
    block->hill_at = next += mixed_n_number(mixed->m);
    block->course = (struct evaluation_course *)(next + mixed->m);
    block->found_course = block->course + 2 * block->n_experiment;
    block->hill = (double *)(block->found_course + 2 * block->n_experiment);
    return (size_t)((char *)block->hill - (char *)block);
}

struct mixed_block *mixed_block_new(const struct mixed *mixed, size_t n_effect,
                                    size_t n_experiment, size_t n_hill)
{
    struct mixed_block sizes = {.n_effect = n_effect, .n_experiment = n_experiment};
    size_t n_byte = place(mixed, &sizes) + hills_size(n_effect, n_hill) * sizeof(double);
    struct mixed_block *block = memory_calloc(1, n_byte);
    if (!block)
        return NULL;
    block->n_effect = n_effect;
    block->n_experiment = n_experiment;
    block->n_hill = n_hill;
    place(mixed, block);
    return block;
}

struct mixed_block *mixed_block_with(const struct mixed *mixed, struct mixed_block *block,
                                     size_t n_hill)
{
    struct mixed_block *more =
        mixed_block_new(mixed, block->n_effect, block->n_experiment, n_hill);
    if (!more)
        return NULL;
    memcpy(more, block, place(mixed, block));
    place(mixed, more);
    more->n_hill = n_hill;
    free(block);
    return more;
}

enum { MOST_EXPERIMENTS = 1 << 24 }; /* of a dataset, in a state that can be this fit's */

bool mixed_pass_block(struct cursor *cursor, const struct joint *joint, void **kept)
{
    struct mixed_block none = {.mode = NULL}, *to = kept && *kept ? *kept : &none;
    size_t n = to->n_effect, n_experiment = to->n_experiment, n_hill = to->n_hill;
    FIELD(n);
    FIELD(n_experiment);
    FIELD(n_hill);
    if (cursor->is_bad || n > RULE_MOST || n_experiment > MOST_EXPERIMENTS || n_hill > HILLS_MOST)
        return false;
    if (kept && !*kept && cursor->from) /* what another process has left */
        to = *kept = mixed_block_new(mixed_of_joint(joint), n, n_experiment, n_hill);
    if (!to)
        return false;
    ARRAY(to->mode, n);
    ARRAY(to->end, n);
    ARRAY(to->course, 2 * n_experiment);
    ARRAY(to->shape, most_shape(n));
    ARRAY(to->hill, hills_size(n, n_hill));
    ARRAY(to->hill_at, mixed_of_joint(joint)->m);
    FIELD(to->is_on_kink);
    FIELD(to->needs_hills);
    FIELD(to->level);
    FIELD(to->n_left);
    FIELD(to->settled);
    FIELD(to->value);
    return true;
}

void mixed_record(const struct joint *joint, size_t i, struct fit_record *record)
{
    const struct mixed *mixed = mixed_of_joint(joint);
    const struct mixed_result *result = &mixed->result;
    const struct joint_block *block = &joint->block[i];
    const struct mixed_block *own = mixed_block_of(block);
    if (!own || !mixed->has_result || block->is_out)
        return;
    record->minus_2_log_likelihood = 2 * (own->number[0] - own->rounding);
    record->effective_points = own->effective;
    /* Trials that failed did no harm where all points of the likelihood can be evaluated. */
    if (!own->misses && outcome_is_success((enum outcome)record->outcome))
        record->notes &= ~(uint32_t)NOTE_failed_evaluations;
    for (size_t k = 0; k < result->s; k++)
        for (size_t j = 0; j < mixed->progress.s; j++)
            if (block->file_index[j] == result->shared[k])
                record->standard_error[result->shared[k]] =
                    fabs(block->chain[j]) * result->standard_error[result->m - result->s + k];
    for (size_t a = 0; a < result->r; a++) {
        uint32_t file = result->random[a];
        record->random_mean[file] = own->mean[a];
        record->random_deviation[file] = own->deviation[a];
        record->standard_error[file] = fabs(block->chain[mixed->random[a]]) * own->deviation[a];
    }
}
