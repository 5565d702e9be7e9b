/* The attempt itself: see prelude.cl.
 * SPDX-License-Identifier: BSD-3-Clause */
/* lanes/kernel_numbers.h */
static double larger(double a, double b) { return a > b ? a : b; }
static double smaller(double a, double b) { return a < b ? a : b; }
static double linear(double a, double b, double x) { return fused(b, x, a); }

static double log2_of(double x)
{
    long raw = as_long(x);
    double exponent = as_double(((raw >> 52) & 0x7ff) | 0x4330000000000000L) - (0x1p52 + 1023);
    double z = as_double((raw & 0xfffffffffffffL) | 0x3ff0000000000000L) - 1.5, q = z * z;
    double low = fused(q, linear(-0.3206318784567584, 0.14250802403350074, z), linear(0.5849627591044448, 0.9617965401665187, z));
    double high = fused(q, linear(-0.02511014095222291, 0.01444035250150204, z),
                        linear(-0.07059455402263097, 0.03761046427796303, z));
    return exponent + fused(q * q, high, low);
}

static double reciprocal_of(double x)
{
    double r = as_double(0x7fde623822fc16e6L - as_long(x));
    r *= fused(-x, r, 2.0);
    return r * fused(-x, r, 2.0);
}

static double rough_reciprocal_of(double x)
{
    double r = as_double(0x7fde623822fc16e6L - as_long(x));
    return r * fused(-x, r, 2.0);
}

static double exp2_of(double x)
{
    double shifted = x + 0x1.8p52, f = x - (shifted - 0x1.8p52);
    long power = (as_long(shifted) + 1023) << 52;
    f *= 0.6931471805599453;
    double series = linear(1.0 / 120, 1.0 / 720, f);
    series = fused(f, series, 1.0 / 24);
    series = fused(f, series, 1.0 / 6);
    series = fused(f, series, 0.5);
    series = fused(f, series, 1.0);
    series = fused(f, series, 1.0);
    return series * as_double(power);
}

/* The time of a stage. */
static double within(__global const double *r, double t) { return smaller(larger(t, D(since)), D(until)); }

static struct point point_of(__global double *r, __global const double *y)
{
    struct point at = {A(now_t), y, A(p), A(covariate), A(work), A(p), A(p), A(p)};
    return at;
}

#define Y(flip) ((flip) ? A(y_other) : A(y))
#define SLOPE(flip) (A(slope) + (flip) * N)
#define SENS(flip) ((flip) ? A(sens_other) : A(sens))
#define SENS_SLOPE(flip) (A(sens_slope) + (flip) * N * NC)
#define STAGE(i) (A(stage) + (i) * (N + 1))
#define DERIVED(i) (A(derived) + (i) * (N_DERIVE + N_CURVE))
#define ENTRY(i) (A(entry) + (i) * N_ENTRY)
#define SENS_STAGE(i) (A(sens_stage) + (i) * N * NC)

/* lanes/lanes.c: turn */
static void turn(__global double *r)
{
    bool is_stiff = L(method) == EXPLICIT, is_early = L(n_step) < FEW_STEPS;
    if (is_stiff) {
        L(is_stiff) = 1;
        D(stiff_from) = is_early ? -INFINITY : fmin(D(t_turn), D(t_calm));
        L(n_explicit) += L(n_attempt);
    } else {
        if (is_early)
            L(is_stiff) = 0;
        L(n_implicit) += L(n_attempt);
    }
    L(n_attempt) = 0;
    L(trouble) = -LASTING;
    L(method) = is_stiff ? IMPLICIT : EXPLICIT;
    D(t_turn) = INFINITY;
    L(patience) = is_stiff ? L(patience_back) : PATIENCE_EXPLICIT;
    if (is_stiff && L(patience_back) < LONG_MAX / 2)
        L(patience_back) *= 2;
    D(log_h) = -INFINITY;
    D(log_error) = 0;
    L(n_sign) = 0;
    L(rejected) = 0;
    D(h) = fmax(D(h), 64 * DBL_EPSILON * fabs(D(t)) + DBL_MIN / DBL_EPSILON);
    L(fresh) = 1;
    L(turned) = 0;
}

/* lanes/kernel_control.h */
static void plan_step(__global double *r)
{
    long i = L(i_time), n_time = L(n_time);
    double next = A(time)[i], later = i + 1 < n_time ? A(time)[i + 1] : INFINITY;
    double before = i > 0 ? A(time)[i - 1] : D(t0);
    double part_of = L(method) == EXPLICIT ? D(part_explicit) : D(part_implicit);
    double t_part = next > before ? (next - before) * part_of : INFINITY;
    double t = D(t), step = D(h), stop = D(t_stop);
    bool lands = next > t && next <= stop && later > t + step;
    double longest = lands ? t_part : INFINITY;
    bool limited = step > longest;
    step = limited ? longest : step;
    double end = lands ? next : stop, left = end - t;
    bool reaches = ROOM_STRETCH * step >= left, halves = !reaches && 2 * step > left;
    step = reaches ? left : !halves ? step : longest < INFINITY ? smaller(step, 0.5 * longest) : 0.5 * left;
    D(now_h) = step;
    L(cut) = reaches || halves || limited;
    D(end) = reaches ? end : t + step;
    L(good) = L(safe) = 1;
    L(sign) = 0;
    L(has_inside) = next < D(end);
}

static void look_for_calm(__global double *r, __global const double *y)
{
    double rtol = D(rtol), tolerance[N];
    bool calm = true;
    for (int i = 0; i < N; i++)
        tolerance[i] = fused(rtol, fabs(y[i]), A(beyond)[i] + TOLERANCE_TINY);
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int k = jacobian_start[i]; k < jacobian_start[i + 1]; k++) {
            double magnitude = fabs(DERIVED(0)[jacobian_value[k]]);
            calm = calm && (jacobian_row[k] != i || magnitude * D(now_h) <= CALM);
            sum = fused(magnitude, tolerance[jacobian_row[k]], sum);
        }
        calm = calm && sum * D(now_h) <= CALM * tolerance[i];
    }
    L(sign) = calm ? SIGN : 0;
}

/* lanes/kernel.c. */
static double released(__global double *r, int i, double inverse, double per_h)
{
    const int last = N_STAGE - 1;
    double u = STAGE(last - 1)[i], own = 0, change = inverse * (STAGE(last)[i] - u);
    for (int k = jacobian_start[i]; k < jacobian_start[i + 1]; k++) {
        int column = jacobian_row[k];
        double entry = DERIVED(0)[jacobian_value[k]];
        change = fused(-entry, STAGE(last)[column], change);
        if (column == i)
            own = entry * u;
    }
    for (int j = 0; j < last - 1; j++)
        change = fused(implicit_c[last - 1][j] * per_h - implicit_c[last][j] * per_h, STAGE(j)[i], change);
    change = fused(-(implicit_c[last][last - 1] * per_h), u, change);
    double size = fabs(u) * inverse, after = fabs(own + change);
    return larger((size + fabs(own)) / (size + after + TOLERANCE_TINY), 1.0);
}

/* A step's end, and its error: the states. */
static void state_end(__global double *r, __global const double *y, __global double *y_new, const double *argument)
{
    double rtol = D(rtol), worst = 0, finite = 0, per_h = 1 / D(now_h), inverse = per_h * (1 / IMPLICIT_GAMMA);
    for (int i = 0; i < N; i++) {
        double error = STAGE(N_STAGE - 1)[i], end = argument[i] + error;
        double size = larger(fabs(y[i]), fabs(end)), beyond = A(beyond)[i];
        double ratio = error * released(r, i, inverse, per_h) * reciprocal_of(fused(rtol, size, beyond + TOLERANCE_TINY));
        y_new[i] = end;
        A(base)[i] = TOLERANCE_EFFECT * rtol * size + beyond;
        worst = larger(ratio * ratio, worst);
        finite += 0 * end;
    }
    D(worst) = worst;
    L(good) = L(good) && finite == 0;
}

/* lanes/kernel.c: find_safe. Overwrites right. */
static bool is_safe(__global double *r, __global const double *y, const double *x, double *right, double inverse)
{
    double correction[N], rtol = D(rtol);
    bool safe = true;
    for (int i = 0; i < N; i++) {
        double sum = fused(-inverse, x[i], right[i]);
        for (int k = jacobian_start[i]; k < jacobian_start[i + 1]; k++)
            sum = fused(DERIVED(0)[jacobian_value[k]], x[jacobian_row[k]], sum);
        right[i] = sum;
    }
    solve(A(factor), right, correction);
    for (int i = 0; i < N; i++) {
        double size = larger(fabs(y[i]), fabs(x[i])), tolerance = fused(rtol, size, A(beyond)[i] + TOLERANCE_TINY);
        safe = safe && fabs(correction[i]) <= UNSAFE * tolerance;
    }
    return safe;
}

static void states_implicit(__global double *r)
{
    long flip = L(flip);
    __global const double *y = Y(flip);
    double t = D(t), h = D(now_h), per_h = 1 / h, inverse = per_h * (1 / IMPLICIT_GAMMA), argument[N], right[N], x[N];
    struct point base = point_of(r, y), at = base;
    D(base_t) = within(r, t);
    base.t = A(base_t);
    at.y = A(argument);
    for (int i = 0; i < N_STAGE; i++) {
        for (int e = 0; e < N; e++) {
            double moved = y[e], sum = 0;
            for (int j = 0; j < i; j++) {
                double u = STAGE(j)[e];
                if (i < CHAIN)
                    moved = fused(implicit_a[i][j], u, moved);
                else if (j == i - 1)
                    moved = argument[e] + u;
                sum = fused(implicit_c[i][j] * per_h, u, sum);
            }
            A(argument)[e] = argument[e] = moved;
            right[e] = sum;
        }
        D(now_t) = within(r, t + implicit_alpha[i] * h);
        if (i == 0) {
            lanes_derive(&base, DERIVED(0));
            factorize(DERIVED(0), inverse, A(factor));
        } else {
            lanes_derive(&at, DERIVED(i));
        }
        double direct = implicit_gamma[i] * h;
        for (int e = 0; e < N; e++)
            right[e] += DERIVED(i)[e];
        add_by_time(DERIVED(0), direct, right);
        double first[N];
        for (int e = 0; e < N; e++)
            first[e] = right[e];
        solve(A(factor), right, x);
        for (int e = 0; e < N; e++)
            STAGE(i)[e] = x[e];
        STAGE(i)[N] = direct;
        if (i == 0)
            L(safe) = is_safe(r, y, x, first, inverse);
        if (L(n_column) == 0)
            continue;
        base.direction = STAGE(i);
        lanes_curve(&base, DERIVED(i) + N_DERIVE);
        set_entries(DERIVED(i), ENTRY(i));
    }
    state_end(r, y, Y(1 - flip), argument);
    look_for_calm(r, y);
}

/* Slope i at a point. */
static void state_slope(__global double *r, int i, __global const double *y, __global double *out)
{
    struct point at = point_of(r, y);
    double time = fused(explicit_alpha[i], D(now_h), D(t));
    D(now_t) = within(r, explicit_alpha[i] == 1 ? D(end) : time);
    lanes_derive(&at, DERIVED(i));
    for (int e = 0; e < N; e++)
        out[e] = DERIVED(i)[e];
}

static void states_explicit(__global double *r)
{
    long flip = L(flip);
    __global const double *y = Y(flip);
    double h = D(now_h), rtol = D(rtol), worst = 0, finite = 0, by_state = 0, by_slope = 0, all = 0;
    if (L(fresh))
        state_slope(r, 0, y, SLOPE(flip));
    for (int e = 0; e < N; e++)
        STAGE(0)[e] = SLOPE(flip)[e];
    for (int i = 1; i < N_SLOPE; i++) {
        __global double *argument = i == LAST_SLOPE ? Y(1 - flip) : A(argument);
        for (int e = 0; e < N; e++) {
            double sum = 0;
            for (int j = 0; j < i; j++)
                if (explicit_a[i][j] != 0)
                    sum = fused(explicit_a[i][j], STAGE(j)[e], sum);
            argument[e] = fused(h, sum, y[e]);
        }
        state_slope(r, i, argument, STAGE(i));
    }
    for (int e = 0; e < N; e++) {
        double end = Y(1 - flip)[e], size = larger(fabs(y[e]), fabs(end)), beyond = A(beyond)[e];
        double weight = reciprocal_of(fused(rtol, size, beyond + TOLERANCE_TINY)), sum = 0;
        for (int j = 0; j < N_SLOPE; j++)
            if (explicit_error[j] != 0)
                sum = fused(explicit_error[j], STAGE(j)[e], sum);
        double ratio = h * sum * weight, change = (end - A(argument)[e]) * weight;
        double slopes = (STAGE(LAST_SLOPE)[e] - STAGE(LAST_SLOPE - 1)[e]) * h * weight;
        A(base)[e] = TOLERANCE_EFFECT * rtol * size + beyond;
        worst = larger(ratio * ratio, worst);
        by_state = fused(change, change, by_state);
        by_slope = fused(slopes, slopes, by_slope);
        all = fused(size * weight, size * weight, all);
        finite = fused(0.0, end * ratio, finite);
        SLOPE(1 - flip)[e] = STAGE(LAST_SLOPE)[e];
    }
    D(worst) = worst;
    L(good) = L(good) && finite == 0;
    double square = by_slope / by_state, sixth = square * square * square;
    double error = sixth * sixth * all, accepted = error * D(accepted_explicit);
    bool at_rest = error > AT_REST * AT_REST * worst && accepted > LARGE * LARGE;
    bool seen = rtol * rtol * by_state > SEEN * SEEN, unstable = seen && square > UNSTABLE * UNSTABLE;
    for (int i = 0; i < N; i++)
        for (int k = jacobian_start[i]; k < jacobian_start[i + 1]; k++)
            unstable = unstable || (jacobian_row[k] == i && -DERIVED(LAST_SLOPE)[jacobian_value[k]] * h > UNSTABLE);
    L(sign) = unstable ? SIGN : seen && at_rest ? SLIGHT_SIGN : 0;
}

/* The states' part of an attempt. */
__kernel void states(__global double *memory, int n_evaluation)
{
    size_t w = get_global_id(0);
    if (w >= (size_t)n_evaluation)
        return;
    __global double *r = memory + w * RECORD;
    L(first_time) = L(last_time) = 0;
    if (L(status) != LIVE)
        return;
    if (L(turned))
        turn(r);
    plan_step(r);
    if (L(method) == IMPLICIT)
        states_implicit(r);
    else
        states_explicit(r);
}

/* Column c of the sensitivities: numbers are NC apart. */
static void column_implicit(__global double *r, long c, __global const short *entry_of)
{
    long flip = L(flip);
    double u[N_STAGE][N], s[N], argument[N], right[N], rtol = D(rtol), per_h = 1 / D(now_h), most = 0, finite = 0;
    double unit = A(unit)[c];
    __global double *end_of = SENS(1 - flip);
    for (int e = 0; e < N; e++)
        s[e] = SENS(flip)[e * NC + c];
UNROLL_STAGES
    for (int i = 0; i < N_STAGE; i++) {
        for (int e = 0; e < N; e++) {
            double moved = s[e], sum = 0;
UNROLL_STAGES
            for (int j = 0; j < i; j++) {
                if (i < CHAIN)
                    moved = fused(implicit_a[i][j], u[j][e], moved);
                else if (j == i - 1)
                    moved = argument[e] + u[j][e];
                sum = fused(implicit_c[i][j] * per_h, u[j][e], sum);
            }
            argument[e] = moved;
            right[e] = sum;
        }
        for (int e = 0; e < N; e++)
            if (entry_of[e] >= 0)
                right[e] += ENTRY(i)[entry_of[e]];
        solve_column(DERIVED(i), A(factor), s, argument, right, u[i]);
    }
    for (int e = 0; e < N; e++) {
        double off = u[N_STAGE - 1][e], end = argument[e] + off, size = larger(fabs(s[e]), fabs(end));
        double ratio = off * reciprocal_of(fused(rtol, size, fused(unit, A(base)[e], TOLERANCE_TINY)));
        end_of[e * NC + c] = end;
        most = larger(ratio * ratio, most);
        finite = fused(0.0, end, finite);
    }
    A(most)[c] = most;
    A(finite)[c] = finite;
    if (L(has_inside))
        for (int i = 0; i < N_STAGE; i++)
            for (int e = 0; e < N; e++)
                SENS_STAGE(i)[e * NC + c] = u[i][e];
}

static void column_explicit(__global double *r, long c, __global const short *entry_of)
{
    long flip = L(flip);
    double k[N_SLOPE][N], s[N], argument[N], rtol = D(rtol), h = D(now_h), most = 0, finite = 0, unit = A(unit)[c];
    for (int e = 0; e < N; e++)
        s[e] = SENS(flip)[e * NC + c];
    if (L(fresh)) {
        slope_of(DERIVED(0), s, k[0]);
        for (int e = 0; e < N; e++) {
            if (entry_of[e] >= 0)
                k[0][e] += DERIVED(0)[FIRST_ENTRY + entry_of[e]];
            SENS_SLOPE(flip)[e * NC + c] = k[0][e];
        }
    } else {
        for (int e = 0; e < N; e++)
            k[0][e] = SENS_SLOPE(flip)[e * NC + c];
    }
UNROLL_STAGES
    for (int i = 1; i < N_SLOPE; i++) {
        for (int e = 0; e < N; e++) {
            double sum = 0;
UNROLL_STAGES
            for (int j = 0; j < i; j++)
                if (explicit_a[i][j] != 0)
                    sum = fused(explicit_a[i][j], k[j][e], sum);
            argument[e] = fused(h, sum, s[e]);
        }
        slope_of(DERIVED(i), argument, k[i]);
        for (int e = 0; e < N; e++)
            if (entry_of[e] >= 0)
                k[i][e] += DERIVED(i)[FIRST_ENTRY + entry_of[e]];
    }
    for (int e = 0; e < N; e++) {
        double end = argument[e], size = larger(fabs(s[e]), fabs(end)), sum = 0;
UNROLL_STAGES
        for (int j = 0; j < N_SLOPE; j++)
            if (explicit_error[j] != 0)
                sum = fused(explicit_error[j], k[j][e], sum);
        double ratio = h * sum * rough_reciprocal_of(fused(rtol, size, fused(unit, A(base)[e], TOLERANCE_TINY)));
        SENS(1 - flip)[e * NC + c] = end;
        SENS_SLOPE(1 - flip)[e * NC + c] = k[LAST_SLOPE][e];
        most = larger(fabs(ratio), most);
        finite = fused(0.0, ratio, finite);
    }
    A(most)[c] = most * most;
    A(finite)[c] = finite;
    if (L(has_inside))
        for (int i = 0; i < N_SLOPE; i++)
            for (int e = 0; e < N; e++)
                SENS_STAGE(i)[e * NC + c] = k[i][e];
}

/* The columns' part of an attempt. entries: the number of each row's entry of df/dp, by id, or -1. */
__kernel void columns(__global double *memory, __global const short *entries, int n_evaluation)
{
    size_t w = get_global_id(0) / NC;
    long c = (long)(get_global_id(0) % NC);
    if (w >= (size_t)n_evaluation)
        return;
    __global double *r = memory + w * RECORD;
    if (L(status) != LIVE || c >= L(n_column))
        return;
    __global const short *entry_of = entries + LONGS(id)[c] * N;
    if (L(method) == IMPLICIT)
        column_implicit(r, c, entry_of);
    else
        column_explicit(r, c, entry_of);
}

/* lanes/kernel.c: check_inside */
static double check_inside(__global double *r)
{
    long flip = L(flip);
    __global const double *y = Y(flip), *y_new = Y(1 - flip);
    double h = D(now_h), per_h = 1 / h, slope[N], f[N], x[N], rtol = D(rtol), worst = 0, finite = 0;
    struct point at = point_of(r, A(argument));
    if (!(L(good) && L(safe) && D(worst) <= 1 && L(has_inside)))
        return D(worst);
    D(now_t) = within(r, D(t) + 0.5 * h);
    for (int i = 0; i < N; i++) {
        double before = y[i], after = y_new[i], inner = 0, by_s = 0;
        for (int k = IMPLICIT_DENSE; k-- > 0;) {
            double sum = 0;
            for (int j = 0; j < N_STAGE; j++)
                sum = fused(implicit_dense[k][j], STAGE(j)[i], sum);
            by_s = 0.5 * by_s + inner;
            inner = 0.5 * inner + sum;
        }
        A(argument)[i] = 0.5 * (before + after) + 0.25 * inner;
        slope[i] = (after - before + 0.25 * by_s) * per_h;
    }
    lanes_rhs(&at, A(scratch));
    for (int i = 0; i < N; i++)
        f[i] = A(scratch)[i] - slope[i];
    solve(A(factor), f, x);
    for (int i = 0; i < N; i++) {
        double size = larger(fabs(y[i]), fabs(y_new[i]));
        double weight = reciprocal_of(fused(rtol, size, A(beyond)[i] + TOLERANCE_TINY));
        double ratio = x[i] * released(r, i, per_h * (1 / IMPLICIT_GAMMA), per_h) * weight;
        worst = larger(ratio * ratio, worst);
        finite += 0 * x[i];
    }
    worst = finite == 0 ? worst * (1 / (ACCEPTED_INSIDE * ACCEPTED_INSIDE)) : 1e30;
    return larger(D(worst), worst);
}

static void control(__global double *r, bool accepted, double worst)
{
    bool has_slopes = L(method) == EXPLICIT;
    double share = has_slopes ? 1.0 / (EXPLICIT_ORDER + 1) : 1.0 / (IMPLICIT_ORDER + 1);
    double grow = has_slopes ? GROW_EXPLICIT : GROW;
    double h = D(now_h), planned = D(h), last_h = D(log_h);
    bool rejected = L(rejected), good = L(good);
    worst = good && L(safe) ? worst : 1e30;
    worst = larger(smaller(worst, 1e30), 1e-30);
    double log_error = 0.5 * log2_of(worst), log_h = log2_of(h), shrink = share * log_error + SAFETY;
    double trend = last_h - log_h + share * (2 * log_error - D(log_error)) + SAFETY;
    shrink = accepted ? larger(shrink, trend) : shrink;
    if (has_slopes)
        shrink += (SHARE_BELOW - share) * smaller(log_error - FAR_BELOW, 0.0);
    shrink = larger(smaller(shrink, SHRINK), -grow);
    shrink = accepted && rejected ? larger(shrink, 0.0) : shrink;
    shrink = !accepted && last_h < -DBL_MAX && !rejected ? SHRINK_FIRST : shrink;
    double next = h * exp2_of(-shrink);
    next = accepted && L(cut) && next < planned ? planned : next;
    D(h) = next > D(longest) ? D(longest) : next;
    D(log_h) = accepted ? log_h : last_h;
    D(log_error) = accepted ? larger(log_error, LEAST_ERROR) : D(log_error);
    L(rejected) = !accepted;
    L(n_attempt) += 1;
    L(n_step) += accepted;
    if (!good)
        L(trouble) = L(n_attempt);
}

static void follow_sizes(__global double *r, __global const double *before, __global const double *after)
{
    double t = D(t), step = D(now_h), rtol = D(rtol), fraction = D(fraction), at_rest = D(at_rest);
    bool is_relative = L(is_relative);
    for (int i = 0; i < N; i++) {
        double y = after[i], now = fabs(y), size = larger(A(size)[i], now), guess = A(guess)[i], reach = A(reach)[i];
        double age = t - A(born)[i];
        bool grows = fabs(y - before[i]) * age >= TOLERANCE_YOUNG * step * now;
        guess = grows || size <= TOLERANCE_REST * reach ? guess : 0;
        bool young = guess > 0;
        double s = young && guess > size ? guess : size, least = (young ? TOLERANCE_FRACTION : fraction) * s;
        double log_now = log2_of(larger(now, TOLERANCE_TINY)), log_s = log2_of(larger(s, TOLERANCE_TINY));
        double wanted = exp2_of(0.75 * log_now + 0.25 * log_s);
        wanted = now < s && (young || !is_relative) ? larger(wanted, now) : now;
        double beyond = rtol * (larger(wanted, least) - now);
        beyond = size < TOLERANCE_GROWN * reach ? larger(beyond, TOLERANCE_ROUNDING * reach) : beyond;
        beyond = larger(beyond, TOLERANCE_NOISE * A(noise)[i]);
        beyond = size > 0 ? beyond : larger(beyond, at_rest * guess);
        A(size)[i] = size;
        A(guess)[i] = guess;
        A(beyond)[i] = beyond;
    }
}

/* tolerance.c: tolerance_look, without its last part. True: this is needed. */
static bool look(__global double *r, __global const double *y)
{
    long i_time = L(i_time), n_time = L(n_time), grows = 0;
    double t = D(t);
    for (int i = 0; i < N; i++)
        grows |= A(size)[i] < TOLERANCE_GROWN * A(reach)[i];
    L(grows) = grows;
    if (!grows)
        return false;
    while (i_time + 1 < n_time && A(time)[i_time] <= t)
        i_time++;
    double span = A(time)[i_time] - t;
    span = span > 0 ? span : INFINITY;
    for (int i = 0; i < N; i++) {
        double tolerance = D(rtol) * fabs(y[i]) + A(beyond)[i], by = span / (t - A(born)[i]);
        double reach = A(reach)[i] * fmax(1.0, by * by);
        if (A(size)[i] < TOLERANCE_GROWN * A(reach)[i] && (A(noise)[i] > 0 || !(TOLERANCE_ROUNDING * reach < TOLERANCE_DUE * tolerance)))
            return true;
    }
    return false;
}

/* Weights of what lies inside of a step (lanes/kernel_dense.h). */
static void weigh(__global const double *r, double t_next, double *weight, double *before, double *s)
{
    *s = t_next == D(t) ? 1.0 : (t_next - D(t_before)) / D(h_used);
    *before = 1 - *s;
    bool is_implicit = L(method) == IMPLICIT;
    for (int j = 0; j < N_SLOPE; j++) {
        double inner = 0;
        if (is_implicit) {
            for (int k = IMPLICIT_DENSE; k-- > 0 && j < N_STAGE;)
                inner = inner * *s + implicit_dense[k][j];
        } else {
            for (int k = EXPLICIT_DENSE; k-- > 0;)
                inner = inner * *s + explicit_dense[k][j];
        }
        weight[j] = *s * (1 - *s) * inner;
        if (!is_implicit)
            weight[j] *= D(h_used);
    }
}

#define N_INSIDE (L(method) == IMPLICIT ? N_STAGE : N_SLOPE)

/* The states and the values of observables at a measurement in the latest step. Answers its rows, but for derivatives. */
static void answer(__global double *r)
{
    long i = L(i_time), flip = L(flip), n_stage = N_INSIDE;
    __global double *y = A(inside) + i * N, *values = A(values) + i * N_OBSERVE;
    double weight[N_SLOPE], before, s;
    weigh(r, A(time)[i], weight, &before, &s);
    for (int e = 0; e < N; e++) {
        double end = Y(flip)[e], sum = fused(before, Y(1 - flip)[e], s * end);
        for (int j = 0; j < n_stage && s != 1; j++)
            sum = fused(weight[j], STAGE(j)[e], sum);
        y[e] = s == 1 ? end : sum;
    }
    struct point at = point_of(r, y);
    D(now_t) = A(time)[i];
    lanes_observe(&at, values);
    for (long row = LONGS(row_of)[i]; row < LONGS(row_of)[i + 1]; row++) {
        long o = LONGS(observable)[row];
        double excess = 0 * values[o];
        for (int k = observe_start[o]; k < observe_start[o + 1]; k++) {
            double effect = fabs(values[observe_value[k]]) * A(beyond)[observe_row[k]];
            excess += A(guess)[observe_row[k]] == 0 ? effect : 0;
        }
        A(prediction)[row] = values[o];
        A(excess)[row] = excess;
    }
}

/* positive.c, for states that went below zero in the latest step: whether the step certainly stands and needs no watch, because
 * their slopes led there. A slope that is small beside the fall may have another sign on the CPU. */
static bool may_fall(__global double *r, __global const double *before, __global const double *after)
{
    struct point at = point_of(r, A(argument));
    D(now_t) = D(t_before);
    for (int i = 0; i < N; i++) {
        if (!(after[i] < 0 && !(before[i] < 0)))
            continue;
        for (int e = 0; e < N; e++)
            A(argument)[e] = e == i ? 0 : before[e];
        lanes_rhs(&at, A(scratch));
        if (!(A(scratch)[i] < -0.01 * (before[i] - after[i]) / D(h_used)))
            return false;
        bool is_far = before[i] > 0 && -after[i] > POSITIVE_ERRORS * (D(rtol) * before[i] + A(beyond)[i]);
        L(n_rhs) += 1 + is_far; /* as often as the CPU calls it */
    }
    return true;
}

/* Answers what the latest step has reached; what the driver does after an attempt (drive.c). */
static void follow_up(__global double *r)
{
    __global const double *y = Y(L(flip));
    L(first_time) = L(last_time) = L(i_time);
    while (A(time)[L(i_time)] <= D(t)) {
        answer(r);
        L(i_time) += 1;
        L(last_time) = L(i_time);
        if (L(i_time) == L(n_time)) {
            L(status) = DONE;
            return;
        }
        if (L(grows) && look(r, y)) {
            L(status) = UNCERTAIN;
            return;
        }
    }
    bool failed = !(D(h) > 4 * DBL_EPSILON * fabs(D(t)) + DBL_MIN);
    if (failed && L(method) == IMPLICIT)
        L(status) = FAILED;
    else if (L(n_step) >= L(max_steps))
        L(status) = SPENT;
}

/* Ends an attempt, and answers what it has reached. */
__kernel void conclude(__global double *memory, int n_evaluation)
{
    size_t w = get_global_id(0);
    if (w >= (size_t)n_evaluation)
        return;
    __global double *r = memory + w * RECORD;
    if (L(status) != LIVE)
        return;
    double worst = D(worst);
    bool good = L(good);
    for (long c = 0; c < L(n_column); c++)
        if (LONGS(active)[c]) {
            good = good && A(finite)[c] == 0;
            worst = A(most)[c] > worst ? A(most)[c] : worst;
        }
    L(good) = good;
    bool is_implicit = L(method) == IMPLICIT;
    double by = is_implicit ? D(accepted_implicit) : D(accepted_explicit);
    D(worst) = worst * (is_implicit || !L(has_inside) ? by : by * D(by_inside));
    worst = is_implicit ? check_inside(r) : D(worst);
    bool accepted = good && L(safe) && worst <= 1;
    control(r, accepted, worst);
    L(fresh) = 0;
    D(t_before) = D(t);
    D(h_used) = D(now_h);
    D(t) = accepted ? D(end) : D(t);
    D(t_calm) = L(sign) ? D(t_calm) : D(t);
    long less = L(sign) || !accepted ? 0 : L(n_sign) < NO_SIGN ? L(n_sign) : NO_SIGN;
    L(n_sign) = L(n_sign) + L(sign) - less;
    if (accepted) {
        L(flip) = 1 - L(flip);
        if (FOLLOWS_SIZES)
            follow_sizes(r, Y(1 - L(flip)), Y(L(flip)));
    }
    /* what the driver looks at (drive.c) */
    __global const double *y = Y(L(flip)), *y_before = Y(1 - L(flip));
    bool fell = false, failed = !(D(h) > 4 * DBL_EPSILON * fabs(D(t)) + DBL_MIN);
    for (int i = 0; i < N; i++)
        fell = fell || (y[i] < 0 && !(y_before[i] < 0));
    L(turned) = L(n_sign) >= L(patience) || (!is_implicit && (D(t) >= D(t_turn) || failed));
    if (accepted && fell && !may_fall(r, y_before, y))
        L(status) = FELL;
    else
        follow_up(r);
}

/* Goes on where the host has estimated the reach of states. */
__kernel void go_on(__global double *memory, int n_evaluation)
{
    size_t w = get_global_id(0);
    if (w >= (size_t)n_evaluation)
        return;
    __global double *r = memory + w * RECORD;
    L(first_time) = L(last_time) = 0;
    if (L(status) != LOOKED)
        return;
    L(status) = LIVE;
    follow_up(r);
}

/* The derivatives of the rows that the latest attempt has answered. */
__kernel void rows(__global double *memory, int n_evaluation)
{
    size_t w = get_global_id(0) / NC;
    long c = (long)(get_global_id(0) % NC);
    if (w >= (size_t)n_evaluation)
        return;
    __global double *r = memory + w * RECORD;
    if (L(first_time) >= L(last_time) || c >= L(n_column))
        return;
    long flip = L(flip), j = LONGS(id)[c], n_stage = N_INSIDE;
    double share = D(rtol) * D(fraction), square = share * share, weight[N_SLOPE], before, s, odd = 0, column[N];
    bool active = LONGS(active)[c];
    for (long i = L(first_time); i < L(last_time); i++) {
        __global const double *y = A(inside) + i * N, *values = A(values) + i * N_OBSERVE;
        weigh(r, A(time)[i], weight, &before, &s);
        for (int e = 0; e < N; e++) {
            double end = SENS(flip)[e * NC + c], sum = fused(before, SENS(1 - flip)[e * NC + c], s * end);
            for (int k = 0; k < n_stage && s != 1; k++)
                sum = fused(weight[k], SENS_STAGE(k)[e * NC + c], sum);
            double sens = s == 1 ? end : sum, least = square * A(size)[e];
            bool vanished = FOLLOWS_SIZES && fabs(y[e]) <= least && fabs(sens) <= least * A(unit)[c];
            column[e] = vanished ? 0 : sens;
        }
        for (long row = LONGS(row_of)[i]; row < LONGS(row_of)[i + 1]; row++) {
            long o = LONGS(observable)[row];
            double sum = 0;
            for (int k = observe_start[o]; k < observe_start[o + 1]; k++)
                sum = fused(values[observe_value[k]], column[observe_row[k]], sum);
            odd += active ? 0 * sum : 0;
            sum = active ? sum : 0;
            for (int k = direct_start[j]; k < direct_start[j + 1]; k++)
                if (direct_row[k] == o)
                    sum += values[DIRECT + k];
            odd += 0 * sum;
            A(derivative)[row * NC + c] = sum;
        }
    }
    if (odd != 0)
        L(status) = ODD;
}

/* Copies records, whose numbers are in `which`, from or to a buffer of n_number each; the first `first` numbers of a record
 * are left out. */
__kernel void load(__global double *memory, __global const int *which, __global const double *from, int n, int n_number, int first)
{
    size_t k = get_global_id(0);
    if (k < (size_t)n * n_number)
        memory[(size_t)which[k / n_number] * RECORD + first + k % n_number] = from[k];
}
__kernel void store(__global const double *memory, __global const int *which, __global double *to, int n, int n_number, int first)
{
    size_t k = get_global_id(0);
    if (k < (size_t)n * n_number)
        to[k] = memory[(size_t)which[k / n_number] * RECORD + first + k % n_number];
}
/* The status of each evaluation. */
__kernel void report(__global const double *memory, __global int *status, int n_evaluation)
{
    size_t w = get_global_id(0);
    __global const double *r = memory + w * RECORD;
    if (w < (size_t)n_evaluation)
        status[w] = (int)((__global const long *)r)[O_status];
}
