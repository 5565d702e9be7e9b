/* Rows with the model's noise in lanes: values and derivatives against closed forms, without a call of the functions for one
 * lane; the same bits whatever is in other lanes; a noise that is not above 0 fails where a row needs it, and there alone.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode_side.h"

/* x' = -k x, x(0) = 1. Observed: u = x/V with noise a + b u, and w = x + a with noise b - low t. */
enum { K, V, A, B, N_P };
enum { N_TIME = 6, N_ROW = 13, W = STIFFIT_LANES };
static int n_call; /* of observe, noise and their derivatives for one lane, but for the initial time */

static int rhs(const struct stiffit_point *at, double *f)
{
    f[0] = -at->p[K] * at->y[0];
    return STIFFIT_OK;
}
static int initial(const struct stiffit_point *at, double *y)
{
    (void)at;
    y[0] = 1;
    return STIFFIT_OK;
}

/* out: u, w; d u / d x, d w / d x; d u / d V, d w / d a. The same for the noise, where d w / d x is 0: a and b, and b of w. */
static void observe_at(double x, const double p[N_P], double out[6])
{
    const double numbers[] = {x / p[V], x + p[A], 1 / p[V], 1, -x / p[V] / p[V], 1};
    memcpy(out, numbers, sizeof numbers);
}
static void noise_at(double x, double t, double low, const double p[N_P], double out[7])
{
    const double numbers[] = {p[A] + p[B] * x / p[V], p[B] - low * t, p[B] / p[V], -p[B] * x / p[V] / p[V], 1, x / p[V], 1};
    memcpy(out, numbers, sizeof numbers);
}

static void look(const struct stiffit_point *at, double observed[6], double noise[7])
{
    n_call += at->t > 0;
    observe_at(at->y[0], at->p, observed);
    noise_at(at->y[0], at->t, at->covariate[0], at->p, noise);
}
static int observe(const struct stiffit_point *at, double *h)
{
    double observed[6], noise[7];
    look(at, observed, noise);
    memcpy(h, observed, 2 * sizeof *h);
    return STIFFIT_OK;
}
static int observe_state(const struct stiffit_point *at, double *H)
{
    double observed[6], noise[7];
    look(at, observed, noise);
    memcpy(H, observed + 2, 2 * sizeof *H);
    return STIFFIT_OK;
}
static int observe_parameter(const struct stiffit_point *at, double *H)
{
    double observed[6], noise[7];
    look(at, observed, noise);
    memset(H, 0, 2 * N_P * sizeof *H);
    H[2 * V] = observed[4];
    H[2 * A + 1] = observed[5];
    return STIFFIT_OK;
}
static int noise(const struct stiffit_point *at, double *s)
{
    double observed[6], numbers[7];
    look(at, observed, numbers);
    memcpy(s, numbers, 2 * sizeof *s);
    return STIFFIT_OK;
}
static int noise_state(const struct stiffit_point *at, double *S)
{
    double observed[6], numbers[7];
    look(at, observed, numbers);
    S[0] = numbers[2];
    S[1] = 0;
    return STIFFIT_OK;
}
static int noise_parameter(const struct stiffit_point *at, double *S)
{
    double observed[6], numbers[7];
    look(at, observed, numbers);
    memset(S, 0, 2 * N_P * sizeof *S);
    S[2 * V] = numbers[3];
    S[2 * A] = numbers[4];
    S[2 * B] = numbers[5];
    S[2 * B + 1] = numbers[6];
    return STIFFIT_OK;
}

static void lanes_rhs(const struct stiffit_lanes_point *at, double *out)
{
    for (int k = 0; k < W; k++)
        out[k] = -at->p[W * K + k] * at->y[k];
}
static void lanes_derive(const struct stiffit_lanes_point *at, double *out)
{
    lanes_rhs(at, out);
    for (int k = 0; k < W; k++) {
        out[W + k] = -at->p[W * K + k];
        out[2 * W + k] = -at->y[k];
    }
}
static void lanes_curve(const struct stiffit_lanes_point *at, double *out)
{
    for (int k = 0; k < W; k++)
        out[k] = -at->direction[k];
}
static void lanes_observe(const struct stiffit_lanes_point *at, double *out)
{
    for (int k = 0; k < W; k++) {
        const double p[N_P] = {0, at->p[V * W + k], at->p[A * W + k], at->p[B * W + k]};
        double numbers[6];
        observe_at(at->y[k], p, numbers);
        for (int i = 0; i < 6; i++)
            out[i * W + k] = numbers[i];
    }
}
static void lanes_noise(const struct stiffit_lanes_point *at, double *out)
{
    for (int k = 0; k < W; k++) {
        const double p[N_P] = {0, at->p[V * W + k], at->p[A * W + k], at->p[B * W + k]};
        double numbers[7];
        noise_at(at->y[k], at->t[k], at->covariate[k], p, numbers);
        for (int i = 0; i < 7; i++)
            out[i * W + k] = numbers[i];
    }
}

static const int32_t by_y[] = {0, 1, 1}, by_k[] = {0, 1, 1, 1, 1}, none[] = {0, 0}, rows[] = {0, 1}, both[] = {0, 2},
                     one[] = {0, 1}, observe_columns[] = {0, 0, 1, 2, 2}, noise_columns[] = {0, 0, 1, 2, 4},
                     noise_rows[] = {0, 0, 0, 1};
static const struct stiffit_lanes lanes = {
    .struct_size = sizeof(struct stiffit_lanes), .n_lane = W, .rhs = lanes_rhs, .derive = lanes_derive, .curve = lanes_curve,
    .by_state = {by_y, rows}, .by_parameter = {by_k, rows}, .curve_state = {none, rows}, .curve_parameter = {by_k, rows},
    .observe = lanes_observe, .observe_state = {both, rows}, .observe_parameter = {observe_columns, rows},
    .noise = lanes_noise, .noise_state = {one, rows}, .noise_parameter = {noise_columns, noise_rows}};
static const struct stiffit_model model = {
    STIFFIT_MODEL_HEADER, .name = "noisy", .n_state = 1, .n_parameter = N_P, .n_observable = 2, .n_covariate = 1, .rhs = rhs,
    .initial = initial, .observe = observe, .observe_state = observe_state, .observe_parameter = observe_parameter,
    .noise = noise, .noise_state = noise_state, .noise_parameter = noise_parameter};

static const double times[N_TIME] = {0, 0.3, 0.5, 1, 2, 4};

struct request {
    struct evaluation evaluation;
    struct ode_task task;
    uint32_t sens[N_P];
    double p[N_P], low, row_sigma[N_ROW];
    double prediction[N_ROW], noise[N_ROW], d_prediction[N_ROW * N_P], d_noise[N_ROW * N_P];
};

/* Both observables at all times, u twice at the last one; two rows have a sigma. */
static void request_init(struct request *r, const double p[N_P], double low)
{
    static const uint32_t row_time[N_ROW] = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5},
                          row_observable[N_ROW] = {0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0};
    memset(r, 0, sizeof *r);
    memcpy(r->p, p, sizeof r->p);
    r->low = low;
    for (uint32_t j = 0; j < N_P; j++)
        r->sens[j] = j;
    for (size_t i = 0; i < N_ROW; i++)
        r->row_sigma[i] = i == 5 ? 2.5 : i == 10 ? 0.7 : (double)NAN;
    r->task = (struct ode_task){.experiment.covariate = &r->low, .n_time = N_TIME, .time = times, .n_row = N_ROW,
                                .row_time = row_time, .row_observable = row_observable, .row_sigma = r->row_sigma};
    r->evaluation = (struct evaluation){.task = &r->task, .p = r->p, .n_sens = N_P, .sens = r->sens, .max_steps = 100000,
                                        .deadline_ns = INT64_MAX, .prediction = r->prediction, .noise = r->noise,
                                        .d_prediction = r->d_prediction, .d_noise = r->d_noise};
}

/* What the closed form says of row i: value and derivatives of an observable, or of its noise. */
static void expect(const struct request *r, size_t i, bool of_noise, double *value, double d[N_P])
{
    const double *p = r->p;
    double t = times[r->task.row_time[i]], x = exp(-p[K] * t), x_k = -t * x;
    bool is_w = r->task.row_observable[i], is_own = !isnan(r->row_sigma[i]);
    memset(d, 0, N_P * sizeof *d);
    *value = of_noise ? (is_w ? p[B] - r->low * t : p[A] + p[B] * x / p[V]) : is_w ? x + p[A] : x / p[V];
    if (!of_noise) {
        d[K] = is_w ? x_k : x_k / p[V];
        d[V] = is_w ? 0 : -x / p[V] / p[V];
        d[A] = is_w;
    } else if (is_own) {
        *value = r->row_sigma[i];
    } else if (is_w) {
        d[B] = 1;
    } else {
        d[K] = p[B] * x_k / p[V];
        d[V] = -p[B] * x / p[V] / p[V];
        d[A] = 1;
        d[B] = x / p[V];
    }
}

/* column[j]: where derivatives by parameter j are added. 1e-7: some hundred steps at rtol 1e-9. */
static void assert_right(const struct request *r, const uint32_t column[N_P])
{
    for (size_t of_noise = 0; of_noise < 2; of_noise++)
        for (size_t i = 0; i < N_ROW; i++) {
            double value, d[N_P], sum[N_P] = {0};
            expect(r, i, of_noise, &value, d);
            for (size_t s = 0; s < r->evaluation.n_sens; s++)
                sum[column[s]] += d[r->sens[s]];
            assert_close((of_noise ? r->noise : r->prediction)[i], value, 1e-7, "value", of_noise, i);
            for (size_t c = 0; c < N_P; c++)
                assert_close((of_noise ? r->d_noise : r->d_prediction)[i + c * N_ROW], sum[c], 1e-7, "derivative", i, c);
        }
}

static const double usual[N_P] = {1.3, 2.5, 0.2, 0.4};

static void test_closed_form(void **state)
{
    (void)state;
    static struct request r;
    static const uint32_t all[N_P] = {K, V, A, B}, joined[N_P] = {K, V, V, K}, first[N_P] = {0, 1};
    struct side s;
    side_init(&s, &engine_lanes, &model, &lanes, 1e-9, 1);
    n_call = 0;
    for (int kind = 0; kind < 4; kind++) {
        request_init(&r, usual, 0.01);
        if (kind == 1) /* two parameters of the fit are two of the model each */
            r.evaluation.column = joined;
        if (kind == 2) { /* nothing of these goes by way of the states */
            r.evaluation.n_sens = 2;
            r.sens[0] = A;
            r.sens[1] = B;
        }
        if (kind == 3) {
            r.evaluation.n_sens = 0;
            r.evaluation.d_prediction = r.evaluation.d_noise = NULL;
        }
        engine_evaluate(s.engine, &r.evaluation);
        assert_int_equal(r.evaluation.outcome, EVALUATION_OK);
        assert_right(&r, kind == 1 ? joined : kind == 2 ? first : all);
    }
    assert_int_equal(n_call, 0);
    side_fini(&s);
}

/* Without a function of lanes for the noise the others serve, one lane after the other. */
static void test_without_noise_in_lanes(void **state)
{
    (void)state;
    static struct request r;
    static const uint32_t all[N_P] = {K, V, A, B};
    struct stiffit_lanes older = lanes;
    struct side s;
    older.noise = NULL;
    side_init(&s, &engine_lanes, &model, &older, 1e-9, 1);
    request_init(&r, usual, 0.01);
    n_call = 0;
    engine_evaluate(s.engine, &r.evaluation);
    assert_int_equal(r.evaluation.outcome, EVALUATION_OK);
    assert_right(&r, all);
    assert_true(n_call > 0);
    side_fini(&s);
}

/* With some the noise of w falls to 0 at t = 2, of which some have sigmas instead from there on. */
enum { N_COMPANY = 40 };
static bool fails(int i) { return i % 5 == 2; }
static void company_init(struct request *r, int i)
{
    double p[N_P] = {1.3 + 0.2 * i, 2.5 + 0.1 * (i % 3), 0.2, 0.4};
    request_init(r, p, i % 5 == 2 || i % 5 == 4 ? 0.2 : 0.01);
    for (size_t row = 8; i % 5 == 4 && row < N_ROW; row++)
        if (r->task.row_observable[row] == 1)
            r->row_sigma[row] = 0.3;
    r->evaluation.n_sens = (size_t)(N_P - i % 3);
    for (uint32_t j = 0; j < r->evaluation.n_sens; j++)
        r->sens[j] = j + (uint32_t)(i % 3);
}

static void assert_same(const struct request *a, const struct request *b)
{
    assert_int_equal(a->evaluation.outcome, b->evaluation.outcome);
    assert_string_equal(a->evaluation.reason, b->evaluation.reason);
    assert_int_equal(a->evaluation.n_step, b->evaluation.n_step);
    if (a->evaluation.outcome == EVALUATION_OK)
        assert_true(!memcmp(a->prediction, b->prediction, sizeof a->prediction) &&
                    !memcmp(a->noise, b->noise, sizeof a->noise) &&
                    !memcmp(a->d_prediction, b->d_prediction, sizeof a->d_prediction) &&
                    !memcmp(a->d_noise, b->d_noise, sizeof a->d_noise));
}

static void test_company(void **state)
{
    (void)state;
    static struct request alone[N_COMPANY], r[N_COMPANY];
    struct side s;
    side_init(&s, &engine_lanes, &model, &lanes, 1e-9, 1);
    for (int i = 0; i < N_COMPANY; i++) {
        company_init(&alone[i], i);
        engine_evaluate(s.engine, &alone[i].evaluation);
        assert_int_equal(alone[i].evaluation.outcome, fails(i) ? EVALUATION_MODEL_FAILED : EVALUATION_OK);
        if (fails(i))
            assert_non_null(strstr(alone[i].evaluation.reason, "noise (it must be above 0)"));
    }
    for (int n_together = 2; n_together <= 8; n_together += 3) {
        int next = 0, n_done = 0, n_flying = 0;
        for (int i = 0; i < N_COMPANY; i++)
            company_init(&r[i], i);
        while (n_done < N_COMPANY) {
            /* in another order: 7 and 40 have no common divisor */
            for (; n_flying < n_together && next < N_COMPANY; next++, n_flying++)
                engine_submit(s.engine, &r[next * 7 % N_COMPANY].evaluation);
            struct evaluation *e = engine_work(s.engine, NULL);
            assert_non_null(e);
            for (; e; e = e->next, n_flying--)
                n_done++;
        }
        for (int i = 0; i < N_COMPANY; i++)
            assert_same(&alone[i], &r[i]);
    }
    side_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_closed_form), cmocka_unit_test(test_without_noise_in_lanes),
                                       cmocka_unit_test(test_company)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
