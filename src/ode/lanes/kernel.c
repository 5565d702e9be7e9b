/* One attempt at a step in all lanes. Compiled once for each width of registers (kernel_*.c), in
 * an order of operations that the source fixes, so that all widths give the same bits: the
 * source, not the compiler, says where a multiply and an add are fused.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/lanes/kernel_control.h"
#include "ode/lanes/kernel_dense.h"
#include "ode/lanes/kernel_explicit.h"
#include "ode/lanes/step_implicit.h"

#ifndef KERNEL
#define KERNEL lanes_kernel_plain
#define KERNEL_NAME "plain"
#endif

static void begin_attempt(struct lanes_bank *bank, struct attempt *now, int h)
{
    plan_step(bank, now, h);
    divide_by_step(now);
    for (int i = 1; i < METHOD.n_stage; i++)
        for (int j = 0; j < i; j++)
            now->c[i][j] = METHOD.c[i][j] * now->per_h;
}

/* Factors I/(h gamma) - J, for J among what derive has given. */
static void factorize(const struct lanes_bank *bank, const lanes *derived, part inverse,
                      lanes *factor, int h)
{
    const struct lanes_plan *plan = bank->plan;
    size_t n = plan->n, n_jacobian = (size_t)plan->jacobian.start[n];
    for (size_t k = 0; k < plan->n_factor; k++)
        PART(factor, k) = (part){0};
    for (size_t k = 0; k < n_jacobian; k++)
        PART(factor, plan->place[k]) = -PART(derived, plan->jacobian.term[k].value);
    for (size_t i = 0; i < n; i++)
        PART(factor, plan->diagonal[i]) += inverse;
    for (size_t k = 0; k < n; k++) {
        part *diagonal = &PART(factor, plan->diagonal[plan->order[k]]), reciprocal = 1 / *diagonal;
        *diagonal = reciprocal;
        for (int32_t s = plan->scale_start[k]; s < plan->scale_start[k + 1]; s++)
            PART(factor, plan->scale[s]) *= reciprocal;
        for (int32_t u = plan->update_start[k]; u < plan->update_start[k + 1]; u++) {
            const struct lanes_update *update = &plan->update[u];
            part *target = &PART(factor, update->target);
            *target = fused(-PART(factor, update->left), PART(factor, update->right), *target);
        }
    }
}

#define STAGES(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
static void combine(int i, const struct attempt *now, size_t n, const lanes *x, lanes *const *stage,
                    lanes *moved, lanes *right, int h)
{
#define STAGE(i) \
    case i: \
        combine_stage(i, now, n, x, stage, moved, right, h); \
        break;
    switch (i) {
        STAGES(STAGE)
    }
}

/* sum[c] += sign * number * from[c] for the terms of a row. */
INLINE void add_terms(const struct lanes_rows *rows, size_t row, const lanes *values,
                      const lanes *operand, size_t width, bool minus, part *sum, int h)
{
    const struct lanes_term *end = rows->term + rows->start[row + 1];
    for (const struct lanes_term *term = rows->term + rows->start[row]; term < end; term++) {
        part value = minus ? -PART(values, term->value) : PART(values, term->value);
        const lanes *from = operand + (size_t)term->row * width;
        for (size_t c = 0; c < width; c++)
            sum[c] = fused(value, PART(from, c), sum[c]);
    }
}

INLINE void solve_part(const struct lanes_bank *bank, const lanes *factor, int i, size_t width,
                       const lanes *sens, lanes *right, lanes *out, int h)
{
    const struct lanes_plan *plan = bank->plan;
    for (size_t k = 0; k < plan->n; k++) {
        size_t r = (size_t)plan->order[k];
        lanes *row = right + r * width;
        part sum[8];
        for (size_t c = 0; c < width; c++)
            sum[c] = PART(row, c);
        if (sens)
            add_terms(&plan->forward, r, bank->scratch.derived[i], sens, width, false, sum, h);
        add_terms(&plan->lower, r, factor, right, width, true, sum, h);
        for (size_t c = 0; c < width; c++)
            PART(row, c) = sum[c];
    }
    for (size_t k = plan->n; k-- > 0;) {
        size_t r = (size_t)plan->order[k];
        const lanes *row = right + r * width;
        lanes *to = out + r * width;
        part sum[8], diagonal = PART(factor, plan->diagonal[r]);
        for (size_t c = 0; c < width; c++)
            sum[c] = PART(row, c);
        add_terms(&plan->upper, r, factor, out, width, true, sum, h);
        for (size_t c = 0; c < width; c++)
            PART(to, c) = sum[c] * diagonal;
    }
}

/* Solves the factored equations for `width` right-hand sides, to which it adds those of
 * plan->forward for the matrices at `sens`. Overwrites right. */
INLINE void solve(const struct lanes_bank *bank, int i, size_t width, const lanes *sens,
                  lanes *right, lanes *out)
{
    EACH_PART(bank)
        solve_part(bank, bank->scratch.factor, i, width, sens, right, out, h);
}

/* Solves for the states with `factor`, one of the factored matrices. Overwrites right. */
static void solve_states(const struct lanes_bank *bank, const lanes *factor, lanes *right,
                         lanes *out)
{
    if (bank->plan->algebra.solve)
        bank->plan->algebra.solve((const double *)factor, (const double *)right, (double *)out,
                                  bank->n_lane);
    else
        EACH_PART(bank)
            solve_part(bank, factor, 0, 1, NULL, right, out, h);
}

/* The solution for the residual of x, the first stage for `right`. Overwrites right. */
static void refine(const struct lanes_bank *bank, const struct attempt *now, const lanes *x,
                   lanes *right, lanes *correction)
{
    EACH_PART(bank)
        set_residual(bank, &now[h], x, right, h);
    solve_states(bank, bank->scratch.factor, right, correction);
}

/* Stage i of a block of sensitivities. */
INLINE void block_stage(struct lanes_bank *bank, const struct attempt *now,
                        const struct lanes_block *block, size_t width, int i)
{
    size_t n_number = bank->plan->n * width;
    lanes *right = bank->scratch.right;
    const lanes *entries = bank->scratch.entry[i];
    EACH_PART(bank) {
        combine(i, &now[h], n_number, block->sens, block->stage, block->sens + n_number, right, h);
        for (size_t q = 0; q < block->n_entry; q++) {
            const struct stiffit_lanes_entry *entry = &block->entry[q];
            add_entry(bank, entry, PART((const double *)entries + entry->value, 0), right, h);
        }
        infuse(bank, block->minus_rate, n_number, right, h);
    }
    solve(bank, i, width, block->sens, right, block->stage[i]);
}

/* The end of the step of columns first <= c < first + width, and its error. */
INLINE void block_end(const struct lanes_bank *bank, struct attempt *now,
                      const struct lanes_block *block, size_t first, size_t width, int h)
{
    size_t at = bank->by_column ? first * bank->plan->n : 0;
    const lanes *error = block->stage[METHOD.n_stage - 1] + at,
                *unit = bank->unit + block->first + first;
    const lanes *sens = block->sens + at, *moved = sens + bank->plan->n * block->width,
                *base = bank->scratch.base;
    lanes *sens_new = block->sens_new + at;
    part most[8], finite[8], rtol = PART(&bank->tolerance.rtol, 0);
    for (size_t c = 0; c < width; c++)
        most[c] = finite[c] = (part){0};
    for (size_t r = 0, e = 0; r < bank->plan->n; r++)
        for (size_t c = 0; c < width; c++, e++) {
            part off = PART(error, e), end = PART(moved, e) + off;
            part tolerance =
                column_tolerance(rtol, PART(sens, e), end, PART(unit, c), PART(base, r));
            part ratio = off * reciprocal_of(tolerance);
            PART(sens_new, e) = end;
            most[c] = larger(ratio * ratio, most[c]);
            finite[c] = fused((part){0}, end, finite[c]); /* NaN where the end is infinite */
        }
    for (size_t c = 0; c < width; c++) {
        part_mask active = MASK(bank->active, block->first + first + c);
        now->good &= (finite[c] == 0) | ~active;
        now->worst = pick((most[c] > now->worst) & active, most[c], now->worst);
    }
}

/* A stage of columns by the model's function, for matrices by column. */
static void columns_stage(const struct lanes_bank *bank, const struct attempt *now,
                          const struct lanes_block *block, int i)
{
    const struct lanes_scratch *scratch = &bank->scratch;
    size_t n_number = bank->plan->n * block->width;
    lanes *argument = block->sens + n_number;
    EACH_PART(bank)
        combine(i, &now[h], n_number, block->sens, block->stage, argument, scratch->right, h);
    const struct stiffit_lanes_columns stage =
        {.derived = (const double *)scratch->derived[i], .factor = (const double *)scratch->factor,
         .entry = (const double *)scratch->entry[i], .sens = (const double *)block->sens,
         .argument = (const double *)argument, .right = (double *)scratch->right,
         .out = (double *)block->stage[i],
         .minus_rate = bank->outside.infused ? (const double *)block->minus_rate : NULL,
         .of_rank = bank->n_share > 1 ? (const double *)bank->of_rank : NULL, .place = block->entry,
         .n_place = (int32_t)block->n_entry, .n_column = (int32_t)block->width,
         .n_lane = bank->n_lane};
    bank->plan->algebra.columns(&stage);
}

/* i: a stage; n_stage: the end. */
#define WIDTHS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define BLOCK(width) \
    static void block_##width(struct lanes_bank *bank, struct attempt *now, \
        const struct lanes_block *block, int i) \
    { \
        if (i < METHOD.n_stage) \
            block_stage(bank, now, block, width, i); \
        else \
            EACH_PART(bank) block_end(bank, &now[h], block, 0, width, h); \
    }
WIDTHS(BLOCK)
#define BY_WIDTH(width) [width] = block_##width,
static void (*const block_by_row[])(struct lanes_bank *, struct attempt *,
                                    const struct lanes_block *, int) = {WIDTHS(BY_WIDTH)};

static void block_do(struct lanes_bank *bank, struct attempt *now, const struct lanes_block *block,
                     int i)
{
    if (!bank->by_column)
        block_by_row[block->width](bank, now, block, i);
    else if (i < METHOD.n_stage)
        columns_stage(bank, now, block, i);
    else
        EACH_PART(bank)
            for (size_t c = 0; c < block->width; c++)
                block_end(bank, &now[h], block, c, 1, h);
}

/* Stage i of the states after `combine`: u_i, and what the sensitivities need of it.
 * base->direction: u_i. */
static void state_stage(const struct lanes_bank *bank, struct attempt *now,
                        const struct stiffit_lanes_point *at,
                        const struct stiffit_lanes_point *base, int i)
{
    const struct lanes_plan *plan = bank->plan;
    const struct stiffit_lanes *model = plan->lanes;
    const struct lanes_scratch *scratch = &bank->scratch;
    size_t n = plan->n;
    lanes *right = scratch->right, *derived = scratch->derived[i], *curved = scratch->curved[i];
    /* derive, not rhs, even without columns: their last bits differ, and other lanes may have
     * columns */
    model->derive(at, (double *)derived);
    if (i == 0)
        EACH_PART(bank)
            factorize(bank, scratch->derived[0], now[h].inverse, scratch->factor, h);
    EACH_PART(bank) {
        part direct = PART(scratch->stage[i], n);
        for (size_t k = 0; k < n; k++)
            PART(right, k) += PART(derived, k);
        infuse(bank, bank->outside.minus_rate, n, right, h);
        for (const struct lanes_term *term = plan->by_time; term < plan->by_time + plan->n_time;
             term++)
            PART(right, term->row) =
                fused(direct, PART(scratch->derived[0], term->value), PART(right, term->row));
        for (size_t k = 0; k < n && i == 0; k++)
            PART(scratch->base, k) = PART(right, k);
    }
    solve_states(bank, scratch->factor, right, scratch->stage[i]);
    if (bank->n_column == 0)
        return;
    model->curve(base, (double *)curved);
    EACH_PART(bank)
        for (size_t k = 0; k < plan->n_entry; k++) {
            const struct lanes_entry *entry = &plan->entry[k];
            part value = PART(derived, entry->value);
            PART(scratch->entry[i], k) =
                entry->curve < 0 ? value : value + PART(curved, entry->curve);
        }
}

/* A stage of states by the model's function. */
static void states_stage(const struct lanes_bank *bank, const lanes *inverse,
                         const struct stiffit_lanes_point *at,
                         const struct stiffit_lanes_point *base, int i)
{
    const struct lanes_scratch *scratch = &bank->scratch;
    const struct stiffit_lanes_states stage =
        {.at = at, .base = base, .inverse = i == 0 ? (const double *)inverse : NULL,
         .direct = (const double *)(scratch->stage[i] + bank->plan->n),
         .minus_rate = bank->outside.infused ? (const double *)bank->outside.minus_rate : NULL,
         .first = (const double *)scratch->derived[0], .right = (double *)scratch->right,
         .derived = (double *)scratch->derived[i], .curved = (double *)scratch->curved[i],
         .entry = (double *)scratch->entry[i], .factor = (double *)scratch->factor,
         .correction = (double *)scratch->base, .out = (double *)scratch->stage[i],
         .n_lane = bank->n_lane, .has_columns = bank->n_column > 0};
    bank->plan->algebra.states(&stage);
}

/* Where the model's functions are evaluated. Set once: copies of what was just written in parts
 * would wait for it. */
struct points {
    lanes t, t_stage, inverse; /* inverse: 1/(h gamma) */
    struct stiffit_lanes_point base, stage;
};

static void set_points(const struct lanes_bank *bank, struct points *points)
{
    points->base =
        (struct stiffit_lanes_point){.t = (const double *)&points->t,
                                     .y = (const double *)bank->y, .p = (const double *)bank->p,
                                     .covariate = (const double *)bank->covariate,
                                     .work = (const double *)bank->work,
                                     .input = (const double *)bank->scratch.input,
                                     .input_slope = (const double *)bank->outside.input_slope};
    points->stage =
        (struct stiffit_lanes_point){.t = (const double *)&points->t_stage,
                                     .y = (const double *)bank->scratch.argument,
                                     .p = (const double *)bank->p,
                                     .covariate = (const double *)bank->covariate,
                                     .work = (const double *)bank->work,
                                     .input = (const double *)(bank->scratch.input +
                                                               bank->plan->abi->n_input),
                                     .input_slope = (const double *)bank->outside.input_slope};
}

/* Stage i of the states. */
static void stage_do(struct lanes_bank *bank, struct attempt *now, struct points *points, int i)
{
    const struct lanes_scratch *scratch = &bank->scratch;
    size_t n = bank->plan->n;
    lanes *input = scratch->input + bank->plan->abi->n_input;
    EACH_PART(bank) {
        combine(i, &now[h], n, bank->y, scratch->stage, scratch->argument, scratch->right, h);
        set_time(bank, PART(&bank->t, 0) + METHOD.alpha[i] * now[h].h, &points->t_stage, input, h);
        PART(scratch->stage[i], n) = METHOD.gamma_i[i] * now[h].h;
    }
    points->base.direction = (const double *)scratch->stage[i];
    if (bank->plan->algebra.states)
        states_stage(bank, &points->inverse, &points->stage, &points->base, i);
    else
        state_stage(bank, now, &points->stage, &points->base, i);
    if (i == 0) {
        refine(bank, now, scratch->stage[0], scratch->base, scratch->argument);
        EACH_PART(bank)
            find_safe(bank, &now[h], scratch->stage[0], scratch->argument, h);
    }
}

/* Factors the matrix of the step's end. */
static void factorize_end(const struct lanes_bank *bank, const struct attempt *now)
{
    const struct lanes_scratch *scratch = &bank->scratch;
    EACH_PART(bank)
        factorize(bank, scratch->derived[METHOD.n_stage - 1], now[h].inverse, scratch->factor_end,
                  h);
}

/* What the matrix of the end makes of x, an estimated error with its change in scratch.right
 * (step_implicit.h). */
static const lanes *error_at_end(const struct lanes_bank *bank, const lanes *x)
{
    const struct lanes_scratch *scratch = &bank->scratch;
    lanes *error = scratch->right + bank->plan->n;
    solve_states(bank, scratch->factor_end, scratch->right, error);
    EACH_PART(bank)
        correct(bank, x, error, h);
    return error;
}

/* Confirms the errors of states. Returns whether those of sensitivities must be confirmed. */
static bool confirm(const struct lanes_bank *bank, struct attempt *now)
{
    part_mask large[N_PART];
    unsigned any = 0, ends = 0;
    EACH_PART(bank) {
        large[h] = must_confirm(bank, &now[h], bank->scratch.right, h);
        any |= bits(large[h] | now[h].ends);
    }
    if (!any)
        return false;
    factorize_end(bank, now);
    const lanes *error = error_at_end(bank, bank->scratch.stage[METHOD.n_stage - 1]);
    EACH_PART(bank) {
        judge_end(bank, &now[h], large[h], error, h);
        ends |= bits(now[h].ends);
    }
    return ends;
}

/* Confirms the errors of a block's sensitivities. */
static void confirm_block(const struct lanes_bank *bank, struct attempt *now,
                          const struct lanes_block *block)
{
    const struct lanes_scratch *scratch = &bank->scratch;
    size_t n = bank->plan->n;
    lanes *x = scratch->argument;
    for (size_t c = 0; c < block->width; c++) {
        EACH_PART(bank) {
            for (size_t i = 0; i < n; i++)
                PART(x, i) = PART(block->stage[METHOD.n_stage - 1], lanes_place(bank, block, i, c));
            set_change(bank, &now[h], x, spread(0), scratch->right, h);
        }
        const lanes *error = error_at_end(bank, x);
        EACH_PART(bank) {
            part worst = spread(0), finite = spread(0);
            part_mask where = now[h].ends & MASK(bank->active, block->first + c);
            for (size_t i = 0; i < n; i++) {
                size_t e = lanes_place(bank, block, i, c);
                part tolerance = column_tolerance(
                    PART(&bank->tolerance.rtol, 0), PART(block->sens, e), PART(block->sens_new, e),
                    PART(bank->unit, block->first + c), PART(scratch->base, i));
                part ratio = PART(error, i) * reciprocal_of(tolerance);
                worst = larger(ratio * ratio, worst);
                finite += 0 * PART(error, i);
            }
            worst = pick(finite == 0, worst, spread(1e30));
            now[h].worst = pick(where, larger(now[h].worst, worst), now[h].worst);
        }
    }
}

/* Looks at the middle of the step (step_implicit.h). */
static void check_inside(struct lanes_bank *bank, struct attempt *now, struct points *points)
{
    part_mask inside[N_PART];
    unsigned any = 0;
    size_t n = bank->plan->n;
    lanes *f = bank->scratch.right, *input = bank->scratch.input + bank->plan->abi->n_input;
    EACH_PART(bank) {
        inside[h] = needs_middle(bank, &now[h], h);
        any |= bits(inside[h]);
    }
    if (!any)
        return;
    EACH_PART(bank) {
        set_time(bank, PART(&bank->t, 0) + 0.5 * now[h].h, &points->t_stage, input, h);
        set_middle(bank, &now[h], h);
    }
    bank->plan->lanes->rhs(&points->stage, (double *)f);
    EACH_PART(bank) {
        infuse(bank, bank->outside.minus_rate, n, f, h);
        for (size_t i = 0; i < n; i++)
            PART(f, i) -= PART(bank->scratch.base, i);
    }
    solve_states(bank, bank->scratch.factor, f, bank->scratch.argument);
    any = 0;
    EACH_PART(bank) {
        judge_middle(bank, &now[h], inside[h], bank->scratch.argument, h);
        struct change found =
            set_change(bank, &now[h], bank->scratch.argument, spread(BY_INSIDE), f, h);
        inside[h] &= found.large & (now[h].worst <= 1);
        any |= bits(inside[h]);
    }
    if (!any)
        return;
    factorize_end(bank, now);
    const lanes *error = error_at_end(bank, bank->scratch.argument);
    EACH_PART(bank)
        judge_middle(bank, &now[h], inside[h], error, h);
}

/* An attempt in which the model's function makes all stages. */
struct stages {
    const struct lanes_bank *bank;
    const struct attempt *now;
    struct points *points;
    struct stiffit_lanes_states states;
};

static void begin_stage(void *context, int32_t i)
{
    struct stages *stages = context;
    const struct lanes_bank *bank = stages->bank;
    const struct lanes_scratch *scratch = &bank->scratch;
    size_t n = bank->plan->n;
    lanes *input = scratch->input + bank->plan->abi->n_input;
    EACH_PART(bank) {
        const struct attempt *now = &stages->now[h];
        combine(i, now, n, bank->y, scratch->stage, scratch->argument, scratch->right, h);
        set_time(bank, PART(&bank->t, 0) + METHOD.alpha[i] * now->h, &stages->points->t_stage,
                 input, h);
        PART(scratch->stage[i], n) = METHOD.gamma_i[i] * now->h;
        for (size_t b = 0; b < bank->n_block; b++) {
            const struct lanes_block *block = &bank->block[b];
            size_t n_number = n * block->width;
            combine(i, now, n_number, block->sens, block->stage, block->sens + n_number,
                    bank->right + n * block->first, h);
        }
    }
    stages->states.inverse = i == 0 ? (const double *)&stages->points->inverse : NULL;
    bool is_kept = i <= INSIDE || i == METHOD.n_stage - 1;
    stages->states.derived = is_kept ? (double *)scratch->derived[i] : NULL;
    stages->states.out = (double *)scratch->stage[i];
    stages->states.direct = (const double *)(scratch->stage[i] + n);
    for (size_t b = 0; b < bank->n_block; b++)
        bank->columns[b].out = (double *)bank->block[b].stage[i];
}

static void stages_do(struct lanes_bank *bank, struct attempt *now, struct points *points)
{
    const struct lanes_scratch *scratch = &bank->scratch;
    size_t n = bank->plan->n;
    struct stages stages = {.bank = bank,
                            .now = now, .points = points,
                            .states = {.at = &points->stage,
                                       .base = &points->base,
                                       .first = (const double *)scratch->derived[0],
                                       .minus_rate = bank->outside.infused
                                                         ? (const double *)bank->outside.minus_rate
                                                         : NULL,
                                       .right = (double *)scratch->right,
                                       .factor = (double *)scratch->factor,
                                       .correction = (double *)scratch->base,
                                       .n_lane = bank->n_lane, .has_columns = bank->n_column > 0}};
    for (size_t b = 0; b < bank->n_block; b++) {
        const struct lanes_block *block = &bank->block[b];
        bank->columns[b] =
            (struct stiffit_lanes_columns){.sens = (const double *)block->sens,
                                           .argument =
                                               (const double *)(block->sens + n * block->width),
                                           .minus_rate = bank->outside.infused
                                                             ? (const double *)block->minus_rate
                                                             : NULL,
                                           .of_rank = bank->n_share > 1
                                                          ? (const double *)bank->of_rank
                                                          : NULL,
                                           .place = block->entry,
                                           .which = block->which,
                                           .right = (double *)(bank->right + n * block->first),
                                           .n_place = (int32_t)block->n_entry,
                                           .n_column = (int32_t)block->width,
                                           .n_lane = bank->n_lane};
    }
    const struct stiffit_lanes_stages all = {.begin = begin_stage,
                                             .context = &stages, .states = &stages.states,
                                             .block = bank->columns, .n_stage = METHOD.n_stage,
                                             .n_block = (int32_t)bank->n_block};
    bank->plan->algebra.stages(&all);
    EACH_PART(bank)
        find_safe(bank, &now[h], scratch->stage[0], scratch->base, h);
}

static struct lanes_events attempt(struct lanes_bank *bank)
{
    struct attempt now[N_PART];
    struct points points;
    set_points(bank, &points);
    EACH_PART(bank) {
        set_time(bank, PART(&bank->t, 0), &points.t, bank->scratch.input, h);
        begin_attempt(bank, &now[h], h);
        PART(&points.inverse, 0) = now[h].inverse;
    }
    /* With one block, its work fills the gaps that the states' dependencies leave; more blocks
     * do not fit the cache together. */
    bool is_done = bank->plan->algebra.stages, together = is_done || bank->n_block == 1;
    if (is_done)
        stages_do(bank, now, &points);
    for (int i = 0; i < METHOD.n_stage && !is_done; i++) {
        stage_do(bank, now, &points, i);
        if (together)
            block_do(bank, now, bank->block, i);
    }
    EACH_PART(bank)
        state_end(bank, &now[h], h);
    bool ends = confirm(bank, now);
    for (size_t b = 0; b < bank->n_block; b++) {
        for (int i = together ? METHOD.n_stage : 0; i <= METHOD.n_stage; i++)
            block_do(bank, now, &bank->block[b], i);
        if (ends)
            confirm_block(bank, now, &bank->block[b]);
    }

    agree(bank, now);
    EACH_PART(bank)
        now[h].worst *= PART(&bank->control.by_accepted, 0);
    check_inside(bank, now, &points);
    return conclude(bank, now, &METHOD);
}

extern const struct lanes_kernel KERNEL;
const struct lanes_kernel KERNEL = {KERNEL_NAME,
                                    N_LANE / N_PART,
                                    {attempt_explicit, attempt},
                                    {inside_explicit, inside_implicit},
                                    drop_vanished,
                                    observe};
