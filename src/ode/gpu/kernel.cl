/* The attempt itself: see prelude.cl.
 * SPDX-License-Identifier: BSD-3-Clause */
/* A number of the evaluation, by its name in struct lanes_bank; the model's pointer to an array of them. */
#define OF(path) (bank->path[h])
#define FROM(array) ((__global double *)(array) + h)
#define METHOD_NOW (OF(method) == METHOD_IMPLICIT ? &lanes_method : &lanes_explicit)
enum { N_STAGE = 8 };

static __global struct lanes_bank *bank_of(__global double *memory, size_t w)
{
    return (__global struct lanes_bank *)(memory + w / GROUP * GROUP * RECORD);
}
static __global struct bank_columns *columns_of(__global double *memory, size_t w)
{
    return (__global struct bank_columns *)(memory + w / GROUP * GROUP * RECORD + GROUP * N_BANK) + w % GROUP;
}

/* Where the model's functions are evaluated; the inputs of a stage are behind those at the beginning of the step. */
static struct point point_of(__global struct lanes_bank *bank, __global double *t, __global lanes *y, int h)
{
    __global double *p = FROM(bank->p), *input = FROM(bank->scratch.input + N_IN);
    struct point at = {t, FROM(y), p, FROM(bank->covariate), FROM(bank->work), p, input, FROM(bank->outside.input_slope)};
    return at;
}

/* lanes/lanes.c: turn */
static void turn(__global struct lanes_bank *bank, int h)
{
    bool is_stiff = OF(method) == METHOD_EXPLICIT, is_early = OF(control.n_step) < FEW_STEPS;
    if (is_stiff) {
        OF(is_stiff) = 1;
        OF(stiff_from) = is_early ? -INFINITY : fmin(OF(control.t_turn), OF(control.t_calm));
        OF(n_explicit) += OF(control.n_attempt);
    } else {
        if (is_early)
            OF(is_stiff) = 0;
        OF(n_implicit) += OF(control.n_attempt);
    }
    OF(control.n_attempt) = 0;
    OF(control.trouble) = -LASTING;
    OF(method) = is_stiff ? METHOD_IMPLICIT : METHOD_EXPLICIT;
    OF(control.t_turn) = INFINITY;
    OF(control.by_accepted) = PART(bank->accepted, OF(method));
    OF(control.patience) = is_stiff ? OF(patience_back) : PATIENCE_EXPLICIT;
    if (is_stiff && OF(patience_back) < LONG_MAX / 2)
        OF(patience_back) *= 2;
    OF(control.log_h) = -INFINITY;
    OF(control.log_error) = 0;
    OF(control.n_sign) = 0;
    OF(control.rejected) = 0;
    OF(h) = fmax(OF(h), 64 * DBL_EPSILON * fabs(OF(t)) + DBL_MIN / DBL_EPSILON);
    OF(fresh) = 1;
    OF(turned) = 0;
}

/* The next measurements (lanes/gang.c: gang_look_ahead). */
static void look_ahead(__global struct lanes_bank *bank, int h)
{
    long i = OF(i_time);
    double next = PART(bank->time, i), before = i > 0 ? PART(bank->time, i - 1) : OF(t0);
    OF(t_next) = next;
    OF(t_later) = i + 1 < OF(n_time) ? PART(bank->time, i + 1) : INFINITY;
    OF(t_part) = next > before ? (next - before) * PART(bank->part_of, OF(method)) : INFINITY;
}

/* An attempt is several kernels. */
static void put_attempt(__global struct lanes_bank *bank, struct attempt *now, int h)
{
    OF(now.h) = now->h;
    OF(now.end) = now->end;
    OF(now.cut) = now->cut;
    OF(now.worst) = now->worst;
    OF(now.good) = now->good;
    OF(now.safe) = now->safe;
    OF(now.sign) = now->sign;
    OF(now.ends) = now->ends;
}
static struct attempt take_attempt(__global struct lanes_bank *bank, int h)
{
    struct attempt now;
    now.h = OF(now.h);
    divide_by_step(&now);
    now.end = OF(now.end);
    now.cut = OF(now.cut);
    now.worst = OF(now.worst);
    now.good = OF(now.good);
    now.safe = OF(now.safe);
    now.sign = OF(now.sign);
    now.ends = OF(now.ends);
    return now;
}

/* lanes/kernel.c: factorize_end, error_at_end, confirm */
static void factorize_end(__global struct lanes_bank *bank, struct attempt *now, int h)
{
    factorize(FROM(bank->scratch.derived[N_STAGE - 1]), now->inverse, FROM(bank->scratch.factor_end));
}
static __global lanes *error_at_end(__global struct lanes_bank *bank, __global lanes *x, int h)
{
    solve(FROM(bank->scratch.factor_end), FROM(bank->scratch.right), FROM(bank->scratch.error));
    correct(bank, x, bank->scratch.error, h);
    return bank->scratch.error;
}
static void confirm(__global struct lanes_bank *bank, struct attempt *now, int h)
{
    part_mask large = must_confirm(bank, now, bank->scratch.right, h);
    if (large || now->ends)
        factorize_end(bank, now, h);
    if (large)
        judge_end(bank, now, large, error_at_end(bank, bank->scratch.stage[N_STAGE - 1], h), h);
}

static void states_implicit(__global struct lanes_bank *bank, struct attempt *now, int h)
{
    struct point base = point_of(bank, FROM(bank->now.base_t), bank->y, h);
    struct point at = point_of(bank, FROM(bank->now.t), bank->scratch.argument, h);
    __global double *factor = FROM(bank->scratch.factor), *first = FROM(bank->scratch.derived[0]);
    __global lanes *right = bank->scratch.right;
    base.input = FROM(bank->scratch.input);
    divide_by_step(now);
    set_time(bank, OF(t), &bank->now.base_t, bank->scratch.input, h);
    for (int i = 0; i < METHOD.n_stage; i++) {
        __global double *derived = FROM(bank->scratch.derived[i]);
        combine_stage(i, now, N, bank->y, bank->scratch.stage, bank->scratch.argument, right, h);
        set_time(bank, OF(t) + METHOD.alpha[i] * now->h, &bank->now.t, bank->scratch.input + N_IN, h);
        double direct = METHOD.gamma_i[i] * now->h;
        if (i == 0) {
            lanes_derive(&base, derived);
            factorize(derived, now->inverse, factor);
        } else {
            lanes_derive(&at, derived);
        }
        for (int e = 0; e < N; e++)
            PART(right, e) += PART(bank->scratch.derived[i], e);
        infuse(bank, bank->outside.minus_rate, N, right, h);
        add_by_time(first, direct, FROM(right));
        for (int e = 0; e < N && i == 0; e++)
            PART(bank->scratch.base, e) = PART(right, e);
        solve(factor, FROM(right), FROM(bank->scratch.stage[i]));
        PART(bank->scratch.stage[i], N) = direct;
        if (i == 0) {
            set_residual(bank, now, bank->scratch.stage[0], bank->scratch.base, h);
            solve(factor, FROM(bank->scratch.base), FROM(right));
            find_safe(bank, now, bank->scratch.stage[0], right, h);
        }
        if (OF(n_column) == 0)
            continue;
        base.direction = FROM(bank->scratch.stage[i]);
        lanes_curve(&base, derived + N_DERIVE * GROUP);
        set_entries(derived, FROM(bank->scratch.entry[i]));
    }
    state_end(bank, now, h);
    confirm(bank, now, h);
}

/* Slope i at a point. */
static void state_slope(__global struct lanes_bank *bank, struct attempt *now, int i, __global lanes *y, int h)
{
    struct point at = point_of(bank, FROM(bank->now.t), y, h);
    set_time(bank, slope_time(bank, now, i, h), &bank->now.t, bank->scratch.input + N_IN, h);
    lanes_derive(&at, FROM(bank->scratch.derived[i]));
    for (int e = 0; e < N; e++)
        PART(bank->scratch.stage[i], e) = PART(bank->scratch.derived[i], e);
    infuse(bank, bank->outside.minus_rate, N, bank->scratch.stage[i], h);
}

static void states_explicit(__global struct lanes_bank *bank, struct attempt *now, int h)
{
    if (OF(fresh))
        state_slope(bank, now, 0, bank->y, h);
    for (int e = 0; e < N && !OF(fresh) && OF(advanced); e++)
        PART(bank->scratch.stage[0], e) = PART(bank->scratch.stage[LAST_SLOPE], e);
    for (int i = 1; i < N_SLOPE; i++) {
        __global lanes *argument = i == LAST_SLOPE ? bank->y_before : bank->scratch.argument;
        advance_stage(i, now->h, N, bank->y, bank->scratch.stage, argument, h);
        state_slope(bank, now, i, argument, h);
    }
    weigh_states(bank, now, h);
}

/* The states' part of an attempt. */
__kernel void states(__global double *memory, int n_evaluation)
{
    size_t w = get_global_id(0);
    __global struct lanes_bank *bank = bank_of(memory, w);
    int h = w % GROUP;
    if (w >= (size_t)n_evaluation)
        return;
    OF(first_time) = OF(last_time) = 0;
    if (OF(status) != LIVE)
        return;
    struct attempt now;
    if (OF(turned))
        turn(bank, h);
    look_ahead(bank, h);
    plan_step(bank, &now, h);
    if (OF(method) == METHOD_IMPLICIT)
        states_implicit(bank, &now, h);
    else
        states_explicit(bank, &now, h);
    put_attempt(bank, &now, h);
}

/* step_stops.h: infuse, for column c. */
static void infuse_column(__global struct lanes_bank *bank, __global struct bank_columns *own, long c, double *to, int h)
{
    if (IS_INFUSED(bank))
        for (int e = 0; e < N; e++)
            to[e] -= own->minus_rate_of[e][c];
}

/* lanes/kernel.c: confirm_block, for a column. x: its estimated error. */
static double confirm_column(__global struct lanes_bank *bank, double *x, double *s, __global double *sens_new, double unit, long c,
                             int h)
{
    double right[N], error[N], worst = 0, finite = 0, rtol = OF(tolerance.rtol);
    for (int e = 0; e < N; e++) {
        right[e] = 0;
        for (int k = jacobian_start[e]; k < jacobian_start[e + 1]; k++) {
            double change =
                PART(bank->scratch.derived[N_STAGE - 1], jacobian_value[k]) - PART(bank->scratch.derived[0], jacobian_value[k]);
            right[e] = fused(change, x[jacobian_row[k]], right[e]);
        }
    }
    solve_end(FROM(bank->scratch.factor_end), right, error);
    for (int e = 0; e < N; e++) {
        error[e] += x[e];
        double ratio =
            error[e] * reciprocal_of(column_tolerance(rtol, s[e], sens_new[e * NC + c], unit, PART(bank->scratch.base, e)));
        worst = larger(ratio * ratio, worst);
        finite += 0 * error[e];
    }
    return finite == 0 ? worst : 1e30;
}

/* Column c of the sensitivities: numbers are NC apart. */
static void column_implicit(__global struct lanes_bank *bank, __global struct bank_columns *own, long c,
                            __global const short *entry_of, int h)
{
    __global double *sens = OF(flip) ? own->sens_other[0] : own->sens[0];
    __global double *sens_new = OF(flip) ? own->sens[0] : own->sens_other[0];
    double u[N_STAGE][N], s[N], argument[N], right[N], rtol = OF(tolerance.rtol), per_h = 1 / OF(now.h), most = 0, finite = 0;
    double unit = own->unit[c];
    for (int e = 0; e < N; e++)
        s[e] = sens[e * NC + c];
UNROLL_STAGES
    for (int i = 0; i < N_STAGE; i++) {
        for (int e = 0; e < N; e++) {
            double moved = s[e], sum = 0;
UNROLL_STAGES
            for (int j = 0; j < i; j++) {
                if (i < METHOD.chain)
                    moved = fused(METHOD.a[i][j], u[j][e], moved);
                else if (j == i - 1)
                    moved = argument[e] + u[j][e];
                sum = fused(METHOD.c[i][j] * per_h, u[j][e], sum);
            }
            argument[e] = moved;
            right[e] = sum;
        }
        for (int e = 0; e < N; e++)
            if (entry_of[e] >= 0)
                right[e] += PART(bank->scratch.entry[i], entry_of[e]);
        infuse_column(bank, own, c, right, h);
        solve_column(FROM(bank->scratch.derived[i]), FROM(bank->scratch.factor), s, argument, right, u[i]);
    }
    for (int e = 0; e < N; e++) {
        double off = u[N_STAGE - 1][e], end = argument[e] + off;
        double ratio = off * reciprocal_of(column_tolerance(rtol, s[e], end, unit, PART(bank->scratch.base, e)));
        sens_new[e * NC + c] = end;
        most = larger(ratio * ratio, most);
        finite = fused(0.0, end, finite);
    }
    if (OF(now.ends))
        most = larger(most, confirm_column(bank, u[N_STAGE - 1], s, sens_new, unit, c, h));
    own->most[c] = most;
    own->finite[c] = finite;
    if (OF(t_next) < OF(now.end))
        for (int i = 0; i < N_STAGE; i++)
            for (int e = 0; e < N; e++)
                own->stage[i * N + e][c] = u[i][e];
}

static void column_explicit(__global struct lanes_bank *bank, __global struct bank_columns *own, long c,
                            __global const short *entry_of, int h)
{
    __global double *sens = OF(flip) ? own->sens_other[0] : own->sens[0];
    __global double *sens_new = OF(flip) ? own->sens[0] : own->sens_other[0];
    double k[N_SLOPE][N], s[N], argument[N], rtol = OF(tolerance.rtol), step = OF(now.h), most = 0, finite = 0;
    double unit = own->unit[c];
    __global double *slope = OF(flip) ? own->slope_other[0] : own->slope[0];
    __global double *slope_new = OF(flip) ? own->slope[0] : own->slope_other[0];
    for (int e = 0; e < N; e++)
        s[e] = sens[e * NC + c];
    if (OF(fresh)) {
        slope_of(FROM(bank->scratch.derived[0]), s, k[0]);
        for (int e = 0; e < N; e++) {
            if (entry_of[e] >= 0)
                k[0][e] += PART(bank->scratch.derived[0], FIRST_ENTRY + entry_of[e]);
        }
        infuse_column(bank, own, c, k[0], h);
        for (int e = 0; e < N; e++)
            slope[e * NC + c] = k[0][e];
    } else {
        for (int e = 0; e < N; e++)
            k[0][e] = slope[e * NC + c];
    }
UNROLL_STAGES
    for (int i = 1; i < N_SLOPE; i++) {
        for (int e = 0; e < N; e++) {
            double sum = 0;
UNROLL_STAGES
            for (int j = 0; j < i; j++)
                if (EXPLICIT.a[i][j] != 0)
                    sum = fused(EXPLICIT.a[i][j], k[j][e], sum);
            argument[e] = fused(step, sum, s[e]);
        }
        slope_of(FROM(bank->scratch.derived[i]), argument, k[i]);
        for (int e = 0; e < N; e++)
            if (entry_of[e] >= 0)
                k[i][e] += PART(bank->scratch.derived[i], FIRST_ENTRY + entry_of[e]);
        infuse_column(bank, own, c, k[i], h);
    }
    for (int e = 0; e < N; e++) {
        double end = argument[e], sum = 0;
UNROLL_STAGES
        for (int j = 0; j < N_SLOPE; j++)
            if (EXPLICIT.error[j] != 0)
                sum = fused(EXPLICIT.error[j], k[j][e], sum);
        double tolerance = column_tolerance(rtol, s[e], end, unit, PART(bank->scratch.base, e));
        double ratio = step * sum * rough_reciprocal_of(tolerance);
        sens_new[e * NC + c] = end;
        slope_new[e * NC + c] = k[LAST_SLOPE][e];
        most = larger(fabs(ratio), most);
        finite = fused(0.0, ratio, finite);
    }
    own->most[c] = most * most;
    own->finite[c] = finite;
    if (OF(t_next) < OF(now.end))
        for (int i = 0; i < N_SLOPE; i++)
            for (int e = 0; e < N; e++)
                own->stage[i * N + e][c] = k[i][e];
}

/* The columns' part of an attempt. entries: the number of each row's entry of df/dp, by id, or -1. */
__kernel void columns(__global double *memory, __global const short *entries, int n_evaluation)
{
    size_t w = get_global_id(0) / NC;
    long c = (long)(get_global_id(0) % NC);
    __global struct lanes_bank *bank = bank_of(memory, w);
    __global struct bank_columns *own = columns_of(memory, w);
    int h = w % GROUP;
    if (w >= (size_t)n_evaluation || OF(status) != LIVE || c >= OF(n_column))
        return;
    __global const short *entry_of = entries + own->id[c] * N;
    if (OF(method) == METHOD_IMPLICIT)
        column_implicit(bank, own, c, entry_of, h);
    else
        column_explicit(bank, own, c, entry_of, h);
}

/* lanes/kernel.c: check_inside */
static void check_inside(__global struct lanes_bank *bank, struct attempt *now, int h)
{
    struct point at = point_of(bank, FROM(bank->now.t), bank->scratch.argument, h);
    if (!needs_middle(bank, now, h))
        return;
    set_time(bank, OF(t) + 0.5 * now->h, &bank->now.t, bank->scratch.input + N_IN, h);
    set_middle(bank, now, h);
    lanes_rhs(&at, FROM(bank->scratch.right));
    infuse(bank, bank->outside.minus_rate, N, bank->scratch.right, h);
    for (int i = 0; i < N; i++)
        PART(bank->scratch.right, i) -= PART(bank->scratch.base, i);
    solve(FROM(bank->scratch.factor), FROM(bank->scratch.right), FROM(bank->scratch.argument));
    judge_middle(bank, now, 1, bank->scratch.argument, h);
    struct change found = set_change(bank, now, bank->scratch.argument, BY_INSIDE, bank->scratch.right, h);
    if (!found.large || !(now->worst <= 1))
        return;
    factorize_end(bank, now, h);
    judge_middle(bank, now, 1, error_at_end(bank, bank->scratch.argument, h), h);
}

/* tolerance.c: tolerance_look, without its last part. True: this is needed. */
static bool look(__global struct lanes_bank *bank, int h)
{
    long i_time = OF(i_time), n_time = OF(n_time), grows = 0;
    double t = OF(t);
    for (int i = 0; i < N; i++)
        grows |= tolerance_grows(PART(bank->tolerance.size, i), PART(bank->tolerance.reach, i));
    OF(grows) = grows;
    if (!grows)
        return false;
    while (i_time + 1 < n_time && PART(bank->time, i_time) <= t)
        i_time++;
    double span = PART(bank->time, i_time) - t;
    span = span > 0 ? span : INFINITY;
    for (int i = 0; i < N; i++) {
        double tolerance = OF(tolerance.rtol) * fabs(PART(bank->y, i)) + PART(bank->tolerance.beyond, i);
        double reach = PART(bank->tolerance.reach, i), age = t - PART(bank->tolerance.born, i);
        if (tolerance_grows(PART(bank->tolerance.size, i), reach) &&
            tolerance_is_due(tolerance, span, age, reach, PART(bank->tolerance.noise, i)))
            return true;
    }
    return false;
}

/* Weights of what lies inside of the latest step, at its i-th measurement (lanes/gang.c: gang_set_times). */
static struct weights weights_at(__global struct lanes_bank *bank, long i, int h)
{
    double t = PART(bank->time, i), s = t == OF(t) ? 1.0 : (t - OF(t_before)) / OF(h_used);
    struct weights weights;
    weigh_inside(METHOD_NOW, s, OF(h_used), &weights);
    weights.at_end = s == 1;
    return weights;
}

/* What the host answers rows from, but for columns. */
static void show(__global struct lanes_bank *bank, long i, int h)
{
    for (int e = 0; e < N; e++) {
        PART(bank->at_time[i], e) = PART(bank->inside[i], e);
        PART(bank->size_at[i], e) = PART(bank->tolerance.size, e);
        PART(bank->guess_at[i], e) = PART(bank->tolerance.guess, e);
        PART(bank->beyond_at[i], e) = PART(bank->tolerance.beyond, e);
    }
}

/* The states and the values of observables at a measurement in the latest step. Answers its rows, but for derivatives. */
static void answer(__global struct lanes_bank *bank, int h)
{
    long i = OF(i_time);
    struct weights weights = weights_at(bank, i, h);
    interpolate(METHOD_NOW, &weights, N, 1, bank->y_before, bank->y, bank->scratch.stage, bank->inside[i], h);
    if (HAS_STATES && OF(by_host)) {
        show(bank, i, h);
        return;
    }
    struct point at = point_of(bank, FROM(bank->now.t), bank->inside[i], h);
    OF(now.t) = PART(bank->time, i);
    set_inputs(bank, OF(now.t), bank->scratch.input + N_IN, h);
    lanes_observe(&at, FROM(bank->values[i]));
#if N_KIND > 1
    lanes_noise(&at, FROM(bank->values[i] + N_OBSERVE));
#endif
    for (int k = 0; k < N_KIND; k++)
        for (long row = PART(bank->row_of, i); row < PART(bank->row_of, i + 1); row++) {
            long o = PART(bank->observable, row);
            double value = PART(bank->values[i], k * N_OBSERVE + o);
            PART(bank->seen[k], row) = value;
            PART(bank->excess[k], row) = excess_of(bank, k * N_OBSERVABLE + o, value, bank->values[i], h);
        }
}

/* positive.c, for states that went below zero in the latest step: whether the step certainly stands and needs no watch, because
 * their slopes led there. A slope that is small beside the fall may have another sign on the CPU. */
static bool may_fall(__global struct lanes_bank *bank, int h)
{
    struct point at = point_of(bank, FROM(bank->now.t), bank->scratch.argument, h);
    OF(now.t) = OF(t_before);
    set_inputs(bank, OF(now.t), bank->scratch.input + N_IN, h);
    for (int i = 0; i < N; i++) {
        double before = PART(bank->y_before, i), after = PART(bank->y, i);
        if (!(after < 0 && !(before < 0)))
            continue;
        for (int e = 0; e < N; e++)
            PART(bank->scratch.argument, e) = e == i ? 0 : PART(bank->y_before, e);
        lanes_rhs(&at, FROM(bank->scratch.right));
        infuse(bank, bank->outside.minus_rate, N, bank->scratch.right, h);
        if (!(PART(bank->scratch.right, i) < -0.01 * (before - after) / OF(h_used)))
            return false;
        double error = OF(tolerance.rtol) * before + PART(bank->tolerance.beyond, i);
        OF(n_rhs) += 1 + (before > 0 && -after > POSITIVE_ERRORS * error); /* as often as the CPU calls it */
    }
    return true;
}

/* Answers what the latest step has reached; what the driver does after an attempt (drive.c). */
static void follow_up(__global struct lanes_bank *bank, int h)
{
    bool is_stopped = OF(t) >= OF(next_stop); /* measurements there are answered by the host */
    OF(first_time) = OF(last_time) = OF(i_time);
    while (is_stopped ? PART(bank->time, OF(i_time)) < OF(t) : PART(bank->time, OF(i_time)) <= OF(t)) {
        answer(bank, h);
        OF(i_time) += 1;
        OF(last_time) = OF(i_time);
        if (OF(i_time) == OF(n_time)) {
            OF(status) = DONE;
            return;
        }
        if (OF(grows) && look(bank, h)) {
            OF(status) = UNCERTAIN;
            return;
        }
    }
    if (is_stopped)
        OF(status) = STOPPED;
    else if (is_stuck(bank, h) && OF(method) == METHOD_IMPLICIT)
        OF(status) = FAILED;
    else if (is_spent(bank, h))
        OF(status) = SPENT;
}

/* What the columns have found. */
static void add_columns(__global struct lanes_bank *bank, __global struct bank_columns *own, struct attempt *now, int h)
{
    for (long c = 0; c < OF(n_column); c++)
        if (own->active[c]) {
            now->good = now->good && own->finite[c] == 0;
            now->worst = own->most[c] > now->worst ? own->most[c] : now->worst;
        }
}

/* The new numbers go where the old ones were, and the reverse. */
static void move(__global struct lanes_bank *bank, int h)
{
    OF(flip) = 1 - OF(flip);
    for (int i = 0; i < N; i++) {
        double before = PART(bank->y, i);
        PART(bank->y, i) = PART(bank->y_before, i);
        PART(bank->y_before, i) = before;
    }
}

/* Ends an attempt, and answers what it has reached. */
__kernel void conclude(__global double *memory, int n_evaluation)
{
    size_t w = get_global_id(0);
    __global struct lanes_bank *bank = bank_of(memory, w);
    int h = w % GROUP;
    if (w >= (size_t)n_evaluation || OF(status) != LIVE)
        return;
    struct attempt now = take_attempt(bank, h);
    add_columns(bank, columns_of(memory, w), &now, h);
    bool is_implicit = OF(method) == METHOD_IMPLICIT;
    now.worst *= is_implicit ? OF(control.by_accepted) : by_explicit(bank, &now, h);
    if (is_implicit)
        check_inside(bank, &now, h);
    bool accepted = now.good && now.safe && now.worst <= 1;
    control(bank, &now, accepted, METHOD_NOW, h);
    OF(fresh) = 0;
    advance_time(bank, &now, accepted, h);
    if (accepted)
        move(bank, h);
    if (accepted && FOLLOWS_SIZES)
        follow_sizes(bank, now.h, 1, h);
    OF(turned) = is_turned(bank, h) || (!is_implicit && is_stuck(bank, h));
    if (accepted && has_fallen(bank, h) && !may_fall(bank, h))
        OF(status) = FELL;
    else
        follow_up(bank, h);
}

/* Goes on where the host has estimated the reach of states. */
__kernel void go_on(__global double *memory, int n_evaluation)
{
    size_t w = get_global_id(0);
    __global struct lanes_bank *bank = bank_of(memory, w);
    int h = w % GROUP;
    if (w >= (size_t)n_evaluation)
        return;
    OF(first_time) = OF(last_time) = 0;
    if (OF(status) != LOOKED)
        return;
    OF(status) = LIVE;
    follow_up(bank, h);
}

/* The derivative by column c of kind k of an observable; NaN if what comes by way of the states is not finite. */
static double derived_of(__global double *values, int k, long o, __global struct bank_columns *own, long c, double *column)
{
    double sum = 0, odd;
    int seen = k * N_OBSERVABLE + o, list = k * N_PARAMETER + own->id[c];
    for (int e = observe_start[seen]; e < observe_start[seen + 1]; e++)
        sum = fused(get(values, observe_value[e], 0), column[observe_row[e]], sum);
    odd = own->active[c] ? 0 * sum : 0;
    sum = own->active[c] ? sum : 0;
    for (int e = direct_start[list]; e < direct_start[list + 1]; e++)
        if (direct_row[e] == o)
            sum += get(values, direct_value[e], 0);
    return odd == 0 ? sum : NAN;
}

/* The derivatives by column c of the rows that the latest attempt has answered. */
static void answer_column(__global struct lanes_bank *bank, __global struct bank_columns *own, long c, int h)
{
    long n_stage = METHOD_NOW->n_stage;
    double share = OF(tolerance.rtol) * OF(tolerance.fraction), square = share * share, odd = 0, column[N];
    __global double *after = OF(flip) ? own->sens_other[0] : own->sens[0];
    __global double *before = OF(flip) ? own->sens[0] : own->sens_other[0];
    for (long i = OF(first_time); i < OF(last_time); i++) {
        struct weights weights = weights_at(bank, i, h);
        __global double *values = FROM(bank->values[i]);
        for (int e = 0; e < N; e++) {
            double end = after[e * NC + c], sum = fused(weights.before, before[e * NC + c], weights.after * end);
            for (int k = 0; k < n_stage && !weights.at_end; k++)
                sum = fused(weights.stage[k], own->stage[k * N + e][c], sum);
            double sens = weights.at_end ? end : sum, least = square * PART(bank->tolerance.size, e);
            bool vanished = fabs(PART(bank->inside[i], e)) <= least && fabs(sens) <= least * own->unit[c];
            column[e] = FOLLOWS_SIZES && vanished ? 0 : sens;
        }
        if (HAS_STATES && OF(by_host)) {
            for (int e = 0; e < N; e++)
                own->sens_at[i * N + e][c] = column[e];
            continue;
        }
        for (int k = 0; k < N_KIND; k++)
            for (long row = PART(bank->row_of, i); row < PART(bank->row_of, i + 1); row++) {
                double derived = derived_of(values, k, PART(bank->observable, row), own, c, column);
                odd += k == 0 ? 0 * derived : 0; /* the host looks whether a noise is wanted */
                own->derivative[k * N_ROW + row][c] = derived;
            }
    }
    if (odd != 0)
        OF(status) = ODD;
}

/* What follows an attempt in each column. */
__kernel void rows(__global double *memory, int n_evaluation)
{
    size_t w = get_global_id(0) / NC;
    long c = (long)(get_global_id(0) % NC);
    __global struct lanes_bank *bank = bank_of(memory, w);
    __global struct bank_columns *own = columns_of(memory, w);
    int h = w % GROUP;
    if (w >= (size_t)n_evaluation || c >= OF(n_column))
        return;
    if (OF(first_time) < OF(last_time))
        answer_column(bank, own, c, h);
    if (OF(status) == STOPPED && OF(flip)) /* the host looks for them there */
        for (int e = 0; e < N; e++)
            own->sens[e][c] = own->sens_other[e][c];
}

/* Number k of a part of a record (gpu/record.h): n numbers of the bank from `first` on, then those of the columns. */
static __global double *place_of(__global double *memory, size_t w, size_t k, int first, int n, int first_of_columns)
{
    __global double *group = memory + w / GROUP * GROUP * RECORD;
    return k < (size_t)n ? group + (first + k) * GROUP + w % GROUP
                         : (__global double *)columns_of(memory, w) + first_of_columns + (k - n);
}
/* Copies that part of records, whose numbers are in `which`, from or to a buffer of n_number each. */
__kernel void load(__global double *memory, __global const int *which, __global const double *from, int n_record, int n_number,
                   int first, int n, int first_of_columns)
{
    size_t k = get_global_id(0);
    if (k < (size_t)n_record * n_number)
        *place_of(memory, which[k / n_number], k % n_number, first, n, first_of_columns) = from[k];
}
__kernel void store(__global double *memory, __global const int *which, __global double *to, int n_record, int n_number,
                    int first, int n, int first_of_columns)
{
    size_t k = get_global_id(0);
    if (k < (size_t)n_record * n_number)
        to[k] = *place_of(memory, which[k / n_number], k % n_number, first, n, first_of_columns);
}
/* The status of each evaluation. */
__kernel void report(__global double *memory, __global int *status, int n_evaluation)
{
    size_t w = get_global_id(0);
    __global struct lanes_bank *bank = bank_of(memory, w);
    int h = w % GROUP;
    if (w < (size_t)n_evaluation)
        status[w] = (int)OF(status);
}
