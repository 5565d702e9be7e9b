/* One attempt at a step in all lanes. Compiled once for each width of registers (kernel_*.c), always without fused
 * multiply-adds, and in an order of operations that the source fixes, so that all widths give the same bits.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/lanes/room.h"

#ifndef KERNEL
#define KERNEL lanes_kernel_plain
#define KERNEL_NAME "plain"
#endif

#include <float.h>
#include <math.h>

#define INLINE static inline __attribute__((always_inline))

/* A step grows at most and shrinks at most by these factors (as logarithms to base 2), and is a bit shorter than the error asks. */
#define GROW 2.584962500721156
#define SHRINK 2.321928094887362
#define SAFETY 0.15200309344504995
/* Error by which the controller takes an earlier step's as a lower limit: log2 of 0.01. */
#define LEAST_ERROR -6.643856189774724
/* A first step that fails is far too long. */
#define SHRINK_FIRST 3.321928094887362
/* Elimination without pivoting is safe in a lane if the first stage solves its equations with this relative error. */
#define UNSAFE 1e-9
/* As in tolerance.c. */
#define EFFECT 0.01
#define YOUNG 0.5
#define FLOOR_YOUNG 1e-6
#define TINY (DBL_MIN / DBL_EPSILON)

INLINE lanes spread(double x) { return x - (lanes){0}; }
INLINE lanes select(lanes_mask where, lanes a, lanes b)
{
    return (lanes)(((lanes_mask)a & where) | ((lanes_mask)b & ~where));
}
INLINE lanes magnitude(lanes x) { return (lanes)((lanes_mask)x & INT64_MAX); }
INLINE lanes larger(lanes a, lanes b) { return select(a > b, a, b); }
INLINE lanes smaller(lanes a, lanes b) { return select(a < b, a, b); }

INLINE unsigned bits(lanes_mask where)
{
    unsigned set = 0;
    for (int k = 0; k < N_LANE; k++)
        set |= (unsigned)(where[k] & 1) << k;
    return set;
}

/* log2 of a positive normal number, off by less than 1e-5: enough for step sizes and tolerances. */
INLINE lanes log2_of(lanes x)
{
    lanes_mask raw = (lanes_mask)x;
    /* the exponent, made a number by the bits of 2^52 + exponent */
    lanes exponent = (lanes)(((raw >> 52) & 0x7ff) | 0x4330000000000000) - (0x1p52 + 1023);
    lanes m = (lanes)((raw & 0xfffffffffffff) | 0x3ff0000000000000);
    lanes_mask high = m > 1.4142135623730951;
    m = select(high, m * 0.5, m);
    exponent = select(high, exponent + 1, exponent);
    /* log2 m = 2/ln 2 (z + z^3/3 + z^5/5 + z^7/7 ...), z = (m-1)/(m+1), |z| < 0.172 */
    lanes z = (m - 1) / (m + 1), q = z * z;
    return exponent + z * (2.8853900817779268 + q * (0.9617966939259756 + q * (0.5770780163555854 + q * 0.4121985831111324)));
}

/* 2^x for |x| < 1000, off by less than 1e-6 of it. */
INLINE lanes exp2_of(lanes x)
{
    lanes shifted = x + 0x1.8p52, f = x - (shifted - 0x1.8p52); /* |f| <= 1/2 */
    lanes_mask power = ((lanes_mask)shifted + 1023) << 52;
    f *= 0.6931471805599453;
    lanes series = 1 + f * (1 + f * (0.5 + f * (1.0 / 6 + f * (1.0 / 24 + f * (1.0 / 120 + f * (1.0 / 720))))));
    return series * (lanes)power;
}

/* Factors I/(h gamma) - J. */
static void factorize(struct lanes_room *room, lanes inverse)
{
    const struct lanes_plan *plan = room->plan;
    size_t n = plan->n, n_jacobian = (size_t)plan->jacobian.start[n];
    lanes *factor = room->factor;
    const lanes *derived = room->derived[0];
    for (size_t k = 0; k < plan->n_factor; k++)
        factor[k] = (lanes){0};
    for (size_t k = 0; k < n_jacobian; k++)
        factor[plan->place[k]] = -derived[plan->jacobian.term[k].value];
    for (size_t i = 0; i < n; i++)
        factor[plan->diagonal[i]] += inverse;
    for (size_t k = 0; k < n; k++) {
        lanes *diagonal = &factor[plan->diagonal[plan->order[k]]], reciprocal = 1 / *diagonal;
        *diagonal = reciprocal;
        for (int32_t s = plan->scale_start[k]; s < plan->scale_start[k + 1]; s++)
            factor[plan->scale[s]] *= reciprocal;
        for (int32_t u = plan->update_start[k]; u < plan->update_start[k + 1]; u++)
            factor[plan->update[u].target] -= factor[plan->update[u].left] * factor[plan->update[u].right];
    }
}

/* Lanes in which x solves (inverse I - J) x = right only roughly. */
static lanes_mask unsafe(const struct lanes_room *room, lanes inverse, const lanes *x, const lanes *right)
{
    const struct lanes_rows *rows = &room->plan->jacobian;
    const lanes *derived = room->derived[0];
    lanes_mask bad = {0};
    for (size_t i = 0; i < room->plan->n; i++) {
        lanes product = inverse * x[i], off = right[i] - product, sum = magnitude(right[i]) + magnitude(product);
        for (int32_t k = rows->start[i]; k < rows->start[i + 1]; k++) {
            product = derived[rows->term[k].value] * x[rows->term[k].row];
            off += product;
            sum += magnitude(product);
        }
        bad |= ~(magnitude(off) <= UNSAFE * sum);
    }
    return bad;
}

/* Solves for `width` right-hand sides, rows of which are made by the caller: `row` of `x`, up to `width`, after its terms of L. */
INLINE void solve_back(const struct lanes_room *room, size_t width, const lanes *x, lanes *out)
{
    const struct lanes_plan *plan = room->plan;
    const lanes *factor = room->factor;
    for (size_t k = plan->n; k-- > 0;) {
        size_t i = (size_t)plan->order[k];
        lanes sum[8];
        for (size_t c = 0; c < width; c++)
            sum[c] = x[i * width + c];
        for (int32_t u = plan->upper.start[i]; u < plan->upper.start[i + 1]; u++) {
            const lanes entry = factor[plan->upper.term[u].value], *from = out + (size_t)plan->upper.term[u].row * width;
            for (size_t c = 0; c < width; c++)
                sum[c] -= entry * from[c];
        }
        lanes diagonal = factor[plan->diagonal[i]];
        for (size_t c = 0; c < width; c++)
            out[i * width + c] = sum[c] * diagonal;
    }
}

/* Numbers of one attempt that its parts share. */
struct attempt {
    lanes h, inverse;                /* inverse: 1/(h gamma) */
    lanes c[METHOD_STAGES];          /* c_ij / h of the current stage */
    struct stiffit_lanes_point at;   /* the beginning of the step */
    lanes worst;                     /* the largest mean square of a block's errors over their tolerances */
    lanes_mask good;                 /* all is finite so far */
};

INLINE void set_c(const struct lanes_method *method, int i, struct attempt *now)
{
    for (int j = 0; j < i; j++)
        now->c[j] = method->c[i][j] / now->h;
}

/* The argument of stage i for x: into moved, which holds that of stage i - 1; returns where it is. */
INLINE const lanes *argument_of(const struct lanes_method *method, int i, size_t n, const lanes *x, lanes *const *stage, lanes *moved)
{
    if (i == 0)
        return x;
    if (i >= method->chain) {
        for (size_t e = 0; e < n; e++)
            moved[e] += stage[i - 1][e];
        return moved;
    }
    for (size_t e = 0; e < n; e++) {
        lanes sum = x[e];
        for (int j = 0; j < i; j++)
            sum += method->a[i][j] * stage[j][e];
        moved[e] = sum;
    }
    return moved;
}

/* Stage i of the states: u_i, and what the sensitivities need of it. */
static void state_stage(struct lanes_room *room, struct attempt *now, int i)
{
    const struct lanes_plan *plan = room->plan;
    const struct lanes_method *method = plan->method;
    size_t n = plan->n;
    const lanes *y = argument_of(method, i, n, room->y, room->stage, room->argument), *slope = room->derived[i];
    lanes t = room->t + method->alpha[i] * now->h, *right = room->right, *x = room->slope, *factor = room->factor;
    struct stiffit_lanes_point at = now->at;
    at.t = (const double *)&t;
    at.y = (const double *)y;
    if (i > 0 && room->n_column > 0)
        plan->lanes->derive(&at, (double *)room->derived[i]);
    else if (i > 0)
        plan->lanes->rhs(&at, (double *)room->derived[i]);
    set_c(method, i, now);
    lanes direct = method->gamma_i[i] * now->h;
    for (size_t k = 0; k < n; k++) {
        lanes sum = slope[k] + direct * room->by_time[k];
        for (int j = 0; j < i; j++)
            sum += now->c[j] * room->stage[j][k];
        right[k] = sum;
    }
    for (size_t k = 0; k < n; k++) {
        size_t r = (size_t)plan->order[k];
        lanes sum = right[r];
        for (int32_t l = plan->lower.start[r]; l < plan->lower.start[r + 1]; l++)
            sum -= factor[plan->lower.term[l].value] * x[plan->lower.term[l].row];
        x[r] = sum;
    }
    solve_back(room, 1, x, room->stage[i]);
    if (i == 0)
        now->good &= ~unsafe(room, now->inverse, room->stage[0], right);
    if (room->n_column == 0)
        return;
    lanes *direction = x;
    for (size_t k = 0; k < n; k++)
        direction[k] = room->stage[i][k];
    direction[n] = direct;
    at = now->at;
    at.direction = (const double *)direction;
    plan->lanes->curve(&at, (double *)room->curved[i]);
    for (size_t k = 0; k < plan->n_entry; k++) {
        const struct lanes_entry *entry = &plan->entry[k];
        lanes value = room->derived[i][entry->value];
        room->entry[i][k] = entry->curve < 0 ? value : value + room->curved[i][entry->curve];
    }
}

/* Stage i of a block of sensitivities. */
INLINE void block_stage(struct lanes_room *room, struct attempt *now, struct lanes_block *block, size_t width, int i)
{
    const struct lanes_plan *plan = room->plan;
    const struct lanes_method *method = plan->method;
    size_t n = plan->n;
    const lanes *sens = block->sens, *derived = room->derived[i], *curved = room->curved[i], *factor = room->factor;
    const lanes *moved = argument_of(method, i, n * width, sens, block->stage, room->moved);
    lanes *x = room->right;
    set_c(method, i, now);
    for (size_t k = 0; k < n; k++) {
        size_t r = (size_t)plan->order[k];
        lanes sum[8];
        for (size_t c = 0; c < width; c++)
            sum[c] = (lanes){0};
        for (int j = 0; j < i; j++) {
            lanes factor_j = now->c[j];
            const lanes *from = block->stage[j] + r * width;
            for (size_t c = 0; c < width; c++)
                sum[c] += factor_j * from[c];
        }
        for (int32_t q = plan->jacobian.start[r]; q < plan->jacobian.start[r + 1]; q++) {
            lanes entry = derived[plan->jacobian.term[q].value];
            const lanes *from = moved + (size_t)plan->jacobian.term[q].row * width;
            for (size_t c = 0; c < width; c++)
                sum[c] += entry * from[c];
        }
        for (int32_t q = plan->curvature.start[r]; q < plan->curvature.start[r + 1]; q++) {
            lanes entry = curved[plan->curvature.term[q].value];
            const lanes *from = sens + (size_t)plan->curvature.term[q].row * width;
            for (size_t c = 0; c < width; c++)
                sum[c] += entry * from[c];
        }
        for (int32_t l = plan->lower.start[r]; l < plan->lower.start[r + 1]; l++) {
            lanes entry = factor[plan->lower.term[l].value];
            const lanes *from = x + (size_t)plan->lower.term[l].row * width;
            for (size_t c = 0; c < width; c++)
                sum[c] -= entry * from[c];
        }
        for (size_t c = 0; c < width; c++)
            x[r * width + c] = sum[c];
        for (int32_t q = block->entry_start[r]; q < block->entry_start[r + 1]; q++)
            x[r * width + (size_t)block->entry[q].row] += room->entry[i][block->entry[q].value];
    }
    solve_back(room, width, x, block->stage[i]);
}

/* All stages of a block, and its error. */
INLINE void block_step(struct lanes_room *room, struct attempt *now, struct lanes_block *block, size_t width)
{
    size_t n = room->plan->n;
    int n_stage = room->plan->method->n_stage;
    for (int i = 0; i < n_stage; i++)
        block_stage(room, now, block, width, i);
    const lanes *error = block->stage[n_stage - 1], *moved = room->moved, *unit = room->unit + block->first;
    lanes sum[8];
    for (size_t c = 0; c < width; c++)
        sum[c] = (lanes){0};
    for (size_t r = 0; r < n; r++)
        for (size_t c = 0; c < width; c++) {
            size_t e = r * width + c;
            lanes end = moved[e] + error[e];
            lanes tolerance = room->rtol * magnitude(block->sens[e]) + unit[c] * room->base[r] + TINY;
            lanes ratio = error[e] / tolerance;
            block->sens_new[e] = end;
            sum[c] += ratio * ratio + 0 * end; /* NaN where the end is infinite */
        }
    for (size_t c = 0; c < width; c++) {
        lanes_mask active = room->active[block->first + c];
        now->good &= (sum[c] < INFINITY) | ~active;
        now->worst = select((sum[c] > now->worst) & active, sum[c], now->worst);
    }
}

#define WIDTHS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define STEP(width) \
    static void block_step_##width(struct lanes_room *room, struct attempt *now, struct lanes_block *block) \
    { \
        block_step(room, now, block, width); \
    }
WIDTHS(STEP)
#define ROW(width) [width] = block_step_##width,
static void (*const block_steps[])(struct lanes_room *, struct attempt *, struct lanes_block *) = {WIDTHS(ROW)};

/* The states' tolerances minus rtol |y| after a step of h; see follow_sizes in tolerance.c. */
INLINE void follow_sizes(struct lanes_room *room, lanes h, lanes_mask moved)
{
    lanes age = room->t - room->t0;
    for (size_t i = 0; i < room->plan->n; i++) {
        lanes now = magnitude(room->y[i]), size = larger(room->size[i], now), guess = room->guess[i];
        lanes_mask grows = magnitude(room->y[i] - room->y_before[i]) * age >= YOUNG * h * now;
        guess = select(grows | ~moved, guess, (lanes){0});
        lanes_mask young = guess > 0;
        lanes s = select(young & (guess > size), guess, size), part = select(young, spread(FLOOR_YOUNG), room->fraction);
        lanes wanted = exp2_of(0.75 * log2_of(larger(now, spread(TINY))) + 0.25 * log2_of(larger(s, spread(TINY))));
        wanted = select((now < s) & (young | ~room->is_relative), larger(wanted, now), now);
        lanes beyond = room->rtol * (larger(wanted, part * s) - now);
        beyond = select(size > 0, beyond, larger(beyond, room->at_rest * guess));
        room->size[i] = size;
        room->guess[i] = guess;
        room->beyond[i] = select(moved, beyond, room->beyond[i]);
    }
}

/* The next step's length: the smaller one of what the error asks for and of what its trend does (Gustafsson 1994). */
INLINE void control(struct lanes_room *room, struct attempt *now, lanes h, lanes_mask accepted, lanes_mask stopped)
{
    double part = 1.0 / (room->plan->method->order_error + 1);
    lanes worst = select(now->good, now->worst, spread(1e30));
    worst = larger(smaller(worst, spread(1e30)), spread(1e-30));
    lanes log_error = 0.5 * log2_of(worst), log_h = log2_of(h);
    lanes shrink = part * log_error + SAFETY;
    lanes trend = room->log_h - log_h + part * (2 * log_error - room->log_error) + SAFETY;
    shrink = select(accepted, larger(shrink, trend), shrink); /* log_h is -inf before the first step */
    shrink = larger(smaller(shrink, spread(SHRINK)), spread(-GROW));
    shrink = select(accepted & room->rejected, larger(shrink, (lanes){0}), shrink);
    shrink = select(~accepted, larger(shrink, spread(-SAFETY)), shrink);
    shrink = select(~accepted & (room->log_h < -DBL_MAX) & ~room->rejected, spread(SHRINK_FIRST), shrink);
    lanes next = h * exp2_of(-shrink);
    /* a step that was cut to end at a stop says nothing against the planned one */
    next = select(accepted & stopped & (next < room->h), room->h, next);
    room->h = select(room->live, next, room->h);
    room->log_h = select(accepted, log_h, room->log_h);
    room->log_error = select(accepted, larger(log_error, spread(LEAST_ERROR)), room->log_error);
    room->rejected = ~accepted & room->live;
    room->trouble = (room->trouble & now->good) | (room->n_attempt & ~now->good);
}

static void swap(lanes **a, lanes **b)
{
    lanes *old = *a;
    *a = *b;
    *b = old;
}

/* Moves the lanes whose step is accepted. */
INLINE void move(struct lanes_room *room, lanes_mask accepted)
{
    size_t n = room->plan->n;
    for (size_t i = 0; i < n; i++)
        room->y_before[i] = select(accepted, room->y_before[i], room->y[i]);
    swap(&room->y, &room->y_before);
    for (size_t b = 0; b < room->n_block; b++) {
        struct lanes_block *block = &room->block[b];
        size_t n_number = n * block->width;
        if (bits(accepted) != (1u << N_LANE) - 1)
            for (size_t e = 0; e < n_number; e++)
                block->sens_new[e] = select(accepted, block->sens_new[e], block->sens[e]);
        swap(&block->sens, &block->sens_new);
    }
}

static struct lanes_events attempt(struct lanes_room *room)
{
    const struct lanes_plan *plan = room->plan;
    const struct lanes_method *method = plan->method;
    size_t n = plan->n;
    int last = method->n_stage - 1;
    lanes left = room->t_stop - room->t, h = room->h;
    lanes_mask reaches = 1.01 * h >= left, halves = ~reaches & (2 * h > left);
    h = select(reaches, left, select(halves, 0.5 * left, h));
    h = select(room->live, h, room->h);
    struct attempt now = {.h = h, .inverse = 1 / (method->gamma * h), .good = ~(lanes_mask){0}};
    now.at = (struct stiffit_lanes_point){.t = (const double *)&room->t, .y = (const double *)room->y,
                                          .p = (const double *)room->p, .covariate = (const double *)room->covariate,
                                          .work = (const double *)room->work};
    plan->lanes->derive(&now.at, (double *)room->derived[0]);
    for (size_t i = 0; i < n; i++)
        room->by_time[i] = (lanes){0};
    for (size_t k = 0; k < plan->n_time; k++)
        room->by_time[plan->by_time[k].row] = room->derived[0][plan->by_time[k].value];
    factorize(room, now.inverse);
    for (int i = 0; i <= last; i++)
        state_stage(room, &now, i);
    for (size_t i = 0; i < n; i++) {
        lanes error = room->stage[last][i], end = room->argument[i] + error, now_size = magnitude(room->y[i]);
        lanes ratio = error / (room->rtol * now_size + room->beyond[i] + TINY);
        room->y_before[i] = end;
        room->base[i] = EFFECT * room->rtol * now_size + room->beyond[i];
        now.worst += ratio * ratio + 0 * end;
    }
    now.good &= now.worst < INFINITY;
    for (size_t b = 0; b < room->n_block; b++)
        block_steps[room->block[b].width](room, &now, &room->block[b]);
    now.worst = now.worst / (double)n;

    lanes_mask accepted = now.good & (now.worst <= 1) & room->live;
    control(room, &now, h, accepted, reaches | halves);
    room->t_before = room->t;
    room->h_used = h;
    room->t = select(accepted, select(reaches, room->t_stop, room->t + h), room->t);
    move(room, accepted);
    if (room->follows_sizes)
        follow_sizes(room, h, accepted);
    room->n_attempt -= room->live;
    room->n_step -= accepted;

    struct lanes_events events = {.moved = bits(accepted)};
    events.measured = bits(accepted & (room->t >= room->t_next));
    lanes_mask fell = room->watched;
    for (size_t i = 0; i < n; i++)
        fell |= (room->y[i] < 0) & ~(room->y_before[i] < 0);
    events.fell = bits(accepted & fell);
    events.underflow = bits(room->live & ~(room->h > 4 * DBL_EPSILON * magnitude(room->t) + DBL_MIN));
    events.spent = bits(room->live & (room->n_step >= room->max_steps));
    return events;
}

/* One matrix of rows of `width` at s; out: its columns, n numbers each. */
INLINE void interpolate(const struct lanes_method *method, size_t n, size_t width, lanes s, const lanes *before, const lanes *after,
                        lanes *const *stage, lanes *out)
{
    lanes rest = 1 - s;
    for (size_t r = 0; r < n; r++)
        for (size_t c = 0; c < width; c++) {
            size_t e = r * width + c;
            lanes inner = {0};
            for (int k = method->n_dense; k-- > 0;) {
                lanes sum = {0};
                for (int j = 0; j < method->n_stage; j++)
                    sum += method->dense[k][j] * stage[j][e];
                inner = inner * s + sum;
            }
            out[c * n + r] = rest * before[e] + s * (after[e] + rest * inner);
        }
}

static void inside(const struct lanes_room *room, const lanes *at, lanes *out)
{
    const struct lanes_method *method = room->plan->method;
    size_t n = room->plan->n;
    interpolate(method, n, 1, *at, room->y_before, room->y, room->stage, out);
    for (size_t b = 0; b < room->n_block; b++) {
        const struct lanes_block *block = &room->block[b];
        interpolate(method, n, block->width, *at, block->sens_new, block->sens, block->stage, out + n * (1 + block->first));
    }
}

extern const struct lanes_kernel KERNEL;
const struct lanes_kernel KERNEL = {KERNEL_NAME, attempt, inside};
