/* Steady doses, and infusions whose rate or duration is the model's: linear models against closed forms, superposition to
 * infinity; others against many doses one after the other.
 * test-level: both
 * SPDX-License-Identifier: BSD-3-Clause */
#include "../level.h"
#include "ode_stops_case.h"

/* modelled-infusions: p = ka, ke, lag, F, rate or duration of infusions; lag and F are those of the depot. */
static struct stiffit_model chain;
static int load_chain(void **state)
{
    (void)state;
    chain = *test_model("modelled-infusions");
    chain.infusion_kind = NULL; /* either, as the dose says */
    return 0;
}

static const struct dose *told; /* to the closed form */
static size_t n_told;
static double beyond; /* repetitions before a steady dose that matter */

/* The effect of a unit that entered the depot or the other state, `age` ago, and that of a unit rate since then. */
static void add_effect(const double *p, bool is_depot, double age, double amount, bool is_rate, double *out)
{
    double ka = p[0], ke = p[1], a = exp(-ka * age), e = exp(-ke * age);
    if (is_rate) {
        a = -expm1(-ka * age) / ka;
        e = -expm1(-ke * age) / ke;
    }
    out[0] += is_depot ? amount * a : 0;
    out[1] += is_depot ? amount * ka / (ka - ke) * (e - a) : amount * e;
}

static void chain_closed(const double *p, double t, int side, double *out)
{
    out[0] = out[1] = 0;
    for (size_t i = 0; i < n_told; i++) {
        const struct dose *dose = &told[i];
        bool is_depot = dose->target == 0, dropped = dose->steady && !is_past(t, side, dose->time);
        for (size_t j = i + 1; j < n_told; j++)
            dropped = dropped || (told[j].steady == DOSE_RESETS && is_past(t, side, told[j].time));
        for (double k = dose->steady ? -beyond : 0; k < dose->count && !dropped; k++) {
            double begin = dose->time + k * dose->interval + (is_depot ? p[2] : 0);
            double amount = dose->amount * (is_depot ? p[3] : 1);
            double duration = dose->duration == DOSE_OF_MODEL ? p[4] : dose->duration;
            double rate = dose->rate == DOSE_OF_MODEL ? p[4] : dose->rate;
            duration = rate > 0 ? amount / rate : duration;
            if (!is_past(t, side, begin))
                continue;
            add_effect(p, is_depot, t - begin, duration > 0 ? amount / duration : amount, duration > 0, out);
            if (duration > 0 && t > begin + duration)
                add_effect(p, is_depot, t - begin - duration, -amount / duration, true, out);
        }
    }
}

#define TELL(p_, doses, n_time_, time_, side_, beyond_) do { \
        told = doses; \
        n_told = sizeof doses / sizeof *doses; \
        beyond = beyond_; \
        const struct story s = {.model = &chain, .p = p_, .closed = chain_closed, .n_dose = n_told, .dose = doses, \
                                .n_time = n_time_, .time = time_, .side = side_, .tolerance = 1e-7}; \
        tell(&s); \
    } while (0)

static const double at[] = {0, 1, 3, 5, 11, 12, 12, 12, 12.5, 13, 20, 24, 24.5, 30, 37, 49, 60};
static const int8_t at_side[] = {0, 0, 0, 0, 0, -1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
enum { N_AT = 17 };

/* What was before is dropped; lags below and above the interval; the steady dose is repeated, or not given any more. */
static void test_bolus(void **state)
{
    (void)state;
    const struct dose doses[] = {{.time = 0, .amount = 100, .interval = 5, .count = 9},
                                 {.time = 12, .amount = 80, .interval = 8, .count = 3, .steady = DOSE_RESETS},
                                 {.time = 13.2, .amount = 7, .count = 1, .target = 1}};
    const struct dose last[] = {{.time = 12, .amount = 80, .interval = 8, .count = 0, .steady = DOSE_RESETS}};
    const struct dose at_start[] = {{.time = 0, .amount = 80, .interval = 8, .count = 1, .steady = DOSE_RESETS}};
    const double p[] = {1.2, 0.15, 0.7, 0.8, 1}, late[] = {1.2, 0.15, 21.3, 0.8, 1};
    TELL(p, doses, N_AT, at, at_side, 60);
    TELL(late, doses, N_AT, at, at_side, 60);
    TELL(p, last, N_AT, at, at_side, 60);
    TELL(p, at_start, N_AT, at, at_side, 60);
    TELL(late, at_start, N_AT, at, at_side, 60);
}

/* Infusions shorter and longer than the interval, by duration and by rate; and a constant one, turned off at its time. */
static void test_infusions(void **state)
{
    (void)state;
    const struct dose shorter[] = {{.time = 12, .amount = 80, .duration = 3, .interval = 8, .count = 2, .steady = DOSE_RESETS}};
    const struct dose equal[] = {{.time = 12, .amount = 80, .duration = 8, .interval = 8, .count = 2, .steady = DOSE_RESETS}};
    const struct dose longer[] = {{.time = 12, .amount = 80, .duration = 19, .interval = 8, .count = 2, .steady = DOSE_RESETS}};
    const struct dose by_rate[] = {{.time = 12, .amount = 80, .rate = 3.1, .interval = 8, .count = 2, .steady = DOSE_RESETS}};
    const struct dose constant[] = {{.time = 1, .amount = 50, .count = 1, .target = 1},
                                    {.time = 12, .amount = 10, .duration = 5, .interval = 5, .target = 1,
                                     .steady = DOSE_RESETS}};
    const double p[] = {1.2, 0.15, 0.7, 0.8, 1};
    TELL(p, shorter, N_AT, at, at_side, 60);
    TELL(p, equal, N_AT, at, at_side, 60);
    TELL(p, longer, N_AT, at, at_side, 60);
    TELL(p, by_rate, N_AT, at, at_side, 60);
    TELL(p, constant, N_AT, at, at_side, 60);
}

/* The model gives rates and durations, whose derivatives move the ends of infusions. */
static void test_modelled(void **state)
{
    (void)state;
    const struct dose single[] = {{.time = 0, .amount = 80, .duration = DOSE_OF_MODEL, .interval = 8, .count = 3},
                                  {.time = 5, .amount = 20, .rate = DOSE_OF_MODEL, .count = 1, .target = 1}};
    const struct dose by_length[] = {{.time = 12, .amount = 80, .duration = DOSE_OF_MODEL, .interval = 8, .count = 2,
                                      .steady = DOSE_RESETS}};
    const struct dose by_rate[] = {{.time = 12, .amount = 80, .rate = DOSE_OF_MODEL, .interval = 8, .count = 2,
                                    .steady = DOSE_RESETS}};
    const double p[] = {1.2, 0.15, 0.7, 0.8, 3.4}, longer[] = {1.2, 0.15, 0.7, 0.8, 20.3};
    TELL(p, single, N_AT, at, at_side, 60);
    TELL(p, by_length, N_AT, at, at_side, 60);
    TELL(longer, by_length, N_AT, at, at_side, 60);
    TELL(p, by_rate, N_AT, at, at_side, 60);
}

/* Two steady doses, a morning and an evening one, are added up; and at one time. */
static void test_superposition(void **state)
{
    (void)state;
    const struct dose day[] = {{.time = 0, .amount = 80, .interval = 24, .count = 2, .steady = DOSE_RESETS},
                               {.time = 12, .amount = 30, .interval = 24, .count = 2, .target = 1, .steady = DOSE_ADDS}};
    const struct dose both[] = {{.time = 12, .amount = 1, .count = 1},
                                {.time = 12, .amount = 80, .interval = 24, .count = 2, .steady = DOSE_RESETS},
                                {.time = 12, .amount = 30, .interval = 6, .count = 2, .target = 1, .steady = DOSE_ADDS},
                                {.time = 12, .amount = 2, .count = 1}};
    const double p[] = {1.2, 0.15, 0.7, 0.8, 1};
    TELL(p, day, N_AT, at, at_side, 60);
    if (!level_is_quick())
        TELL(p, both, N_AT, at, at_side, 60);
}

/* A half-life of 200 intervals: errors of one interval count 300 times. */
static void test_slow(void **state)
{
    (void)state;
    const struct dose doses[] = {{.time = 12, .amount = 80, .interval = 1, .count = 30, .steady = DOSE_RESETS}};
    const double p[] = {1.2, 0.0034657359027997264, 0.7, 0.8, 1};
    TELL(p, doses, N_AT, at, at_side, 20000);
}

/* saturable-complex: the drug is the third state; p = Vmax, Km, total. */
static void test_saturable(void **state)
{
    (void)state;
    enum { BEFORE = 400 };
    const struct stiffit_model *saturable = test_model("saturable-complex");
    const double p[] = {10, 4, 3}, interval = 8, t0 = BEFORE * interval, time[] = {t0, t0 + 1, t0 + 3, t0 + 8, t0 + 30};
    const int8_t side[] = {1, 0, 0, 0, 0};
    for (int k = 0; k < 2; k++) {
        const struct dose one_by_one = {.amount = 60, .duration = k ? 11 : 0, .interval = interval, .count = BEFORE + 1,
                                        .target = 2};
        struct dose steady = one_by_one;
        steady.time = t0;
        steady.count = 1;
        steady.steady = DOSE_RESETS;
        const struct story simulated = {.model = saturable, .p = p, .n_dose = 1, .dose = &one_by_one, .n_time = 5,
                                        .time = time, .side = side};
        struct story s = simulated;
        struct ode_case a, b;
        s.dose = &steady;
        begin(&a, &simulated, &tight);
        begin(&b, &s, &tight);
        b.task.experiment.t0 = t0;
        ode_case_run(&a);
        ode_case_run(&b);
        for (size_t i = 0; i < a.n_row; i++) {
            assert_close(b.prediction[i], a.prediction[i], 1e-7 * (1 + fabs(a.prediction[i])), "value", i, 0);
            for (size_t j = 0; j < 3; j++) {
                double exact = a.d_prediction[i + j * a.n_row];
                assert_close(b.d_prediction[i + j * a.n_row], exact, 1e-6 * (1 + fabs(exact)), "derivative", i, j);
            }
        }
        assert_true(b.evaluation.n_step < a.evaluation.n_step / 5);
        ode_case_fini(&a);
        ode_case_fini(&b);
    }
}

/* More than Vmax takes away: a failed evaluation, soon, with its reason. So is a state that only grows. */
static void test_none(void **state)
{
    (void)state;
    const struct dose dose = {.time = 5, .amount = 90, .interval = 8, .count = 1, .target = 2, .steady = DOSE_RESETS};
    const double p[] = {10, 4, 3}, time[] = {0, 10};
    const struct story s = {.model = test_model("saturable-complex"), .p = p, .n_dose = 1, .dose = &dose, .n_time = 2,
                            .time = time};
    struct ode_case c;
    begin(&c, &s, &tight);
    engine_evaluate(c.engine, &c.evaluation);
    assert_int_equal(c.evaluation.outcome, EVALUATION_ODE_FAILED);
    assert_non_null(strstr(c.evaluation.reason, "no periodic state of the steady doses at t = 5: from one interval to the "
                                                "next, c changes by 1"));
    assert_true(c.evaluation.n_step > 0 && c.evaluation.n_step < 20000);
    /* the budget is that of all intervals together */
    c.evaluation.max_steps = 50;
    engine_evaluate(c.engine, &c.evaluation);
    assert_int_equal(c.evaluation.outcome, EVALUATION_BUDGET);
    assert_non_null(strstr(c.evaluation.reason, "no periodic state of the steady doses within the budget"));
    /* nor with parameters that have changed */
    const double phase[] = {5}, twice[] = {10, 4, 3, 10, 4, 3};
    const uint32_t sens[] = {0, 1, 2, 0, 1, 2};
    c.task.n_phase = 1;
    c.task.phase = phase;
    c.evaluation.p = twice;
    c.evaluation.sens = sens;
    engine_evaluate(c.engine, &c.evaluation);
    assert_int_equal(c.evaluation.outcome, EVALUATION_MODEL_FAILED);
    assert_non_null(strstr(c.evaluation.reason, "after a change of parameters"));
    ode_case_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bolus), cmocka_unit_test(test_infusions),
                                       cmocka_unit_test(test_modelled), cmocka_unit_test(test_superposition),
                                       cmocka_unit_test(test_slow), cmocka_unit_test(test_saturable),
                                       cmocka_unit_test(test_none)};
    return cmocka_run_group_tests(tests, load_chain, NULL);
}
