/* Several combinations that data do not know at once: which parameters they are made of, which belong together, and one
 * direction of each, along which no prediction changes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit_case.h"


enum { ROWS = 12, N = 8 };

/* flat-directions: the product of the first three is known, and that of 3 and 4, and 5; 6 has no influence, 7 next to none.
 * Times are in hours, so that parameters weigh differently. */
static const struct stiffit_model *curve(void) { return test_model("flat-directions"); }

struct flat_case {
    struct fit_case *fit;
};

static void make(struct flat_case *self, enum parameter_scale scale)
{
    static const double start[N] = {2, 30, 0.05, 0.5, 0.8, 1, 4, 1};
    memset(self, 0, sizeof *self);
    struct fit_case *fit = self->fit = case_new(curve(), ROWS);
    memcpy(fit->start, start, sizeof start);
    for (int i = 0; i < ROWS; i++) {
        struct stiffit_point at = {.t = fit->time[i] = 0.4 * i, .p = start};
        case_value(curve(), curve()->observe, &at, &fit->value[i]);
        fit->value[i] += 0.02 * sin(5.0 * i);
        fit->sigma[i] = 0.02;
    }
    for (int j = 0; j < N; j++)
        fit->scale[j] = scale;
    fit->fixed[7] = 1;
    fit->options.statistics = true;
}

static void expect_groups(const struct flat_case *self, const int8_t *expected)
{
    for (int j = 0; j < N; j++)
        if (self->fit->result.flat_group[j] != expected[j])
            fail_msg("parameter %d: group %d, not %d", j, self->fit->result.flat_group[j], expected[j]);
}

/* Derivative of the first prediction that t = 0.4 i, row i, has along the direction of one group, over the largest that one of
 * its parameters has on its own. */
static double change_along(const struct flat_case *self, int8_t group, double t)
{
    double slopes[N], sum = 0, largest = 0;
    case_value(curve(), curve()->observe_parameter, &(struct stiffit_point){.t = t, .p = self->fit->parameter}, slopes);
    for (int j = 0; j < N; j++) {
        if (self->fit->result.flat_group[j] != group)
            continue;
        double chain = self->fit->scale[j] == SCALE_LOG ? self->fit->parameter[j] : 1;
        double part = slopes[j] * chain * self->fit->result.flattest[j];
        sum += part;
        largest = fmax(largest, fabs(part));
    }
    return largest > 0 ? fabs(sum) / largest : 0;
}

static void test_groups(void **state)
{
    (void)state;
    static const int8_t groups[N] = {1, 1, 1, 2, 2, 0, 3, 0};
    for (int scale = SCALE_LIN; scale <= SCALE_LOG; scale++) {
        struct flat_case self;
        make(&self, (enum parameter_scale)scale);
        assert_int_equal(case_run(self.fit)->outcome, OUTCOME_converged);
        assert_int_equal(self.fit->result.n_flat, 4); /* two of three, one of two, one */
        expect_groups(&self, groups);
        double length = 0;
        for (int j = 0; j < N; j++) {
            assert_int_equal(self.fit->result.lack[j], j == 7 ? LACK_fixed : groups[j] ? LACK_flat : LACK_none);
            length += j < 7 ? self.fit->result.flattest[j] * self.fit->result.flattest[j] : 0;
        }
        assert_true(fabs(length - 1) < 1e-12);
        assert_true(self.fit->result.flattest[5] == 0);
        /* 1e-11 is the accuracy of derivatives here, 1e-3 what is said to be no part */
        for (int8_t group = 1; group <= 2; group++)
            for (double t = 0; t < 4; t += 0.8)
                assert_true(change_along(&self, group, t) < 1e-6);
        /* each group has the same weight: each direction could stand alone */
        const struct fit_record *record = &self.fit->result;
        for (int8_t group = 1; group <= 3; group++) {
            double part = 0;
            for (int j = 0; j < 7; j++)
                part += record->flat_group[j] == group ? record->flattest[j] * record->flattest[j] : 0;
            assert_true(fabs(part - 1.0 / 3) < 1e-9);
        }
        case_free(self.fit);
    }
}

/* A parameter without influence and another that is known, but worse than anything: directions of their own. */
static void test_wide_open_beside_flat(void **state)
{
    (void)state;
    struct flat_case self;
    make(&self, SCALE_LIN);
    self.fit->fixed[7] = 0;
    self.fit->lower[7] = -100;
    self.fit->upper[7] = 100;
    for (int i = 0; i < ROWS; i++) /* without errors, which would drive it to a bound */
        case_value(curve(), curve()->observe, &(struct stiffit_point){.t = self.fit->time[i], .p = self.fit->start},
                   &self.fit->value[i]);
    self.fit->fixed[1] = self.fit->fixed[2] = self.fit->fixed[3] = 1;
    assert_int_equal(case_run(self.fit)->outcome, OUTCOME_converged);
    expect_groups(&self, (const int8_t[]){0, 0, 0, 0, 0, 0, 1, 2});
    assert_int_equal(self.fit->result.n_flat, 2);
    assert_int_equal(self.fit->result.lack[6], LACK_flat);
    assert_int_equal(self.fit->result.lack[7], LACK_flat);
    const double *error = self.fit->result.standard_error;
    assert_true(error[0] > 0 && error[4] > 0 && error[5] > 0);
    case_free(self.fit);
}

static void test_nothing_flat(void **state)
{
    (void)state;
    struct flat_case self;
    make(&self, SCALE_LOG);
    self.fit->fixed[1] = self.fit->fixed[2] = self.fit->fixed[3] = self.fit->fixed[6] = 1;
    assert_int_equal(case_run(self.fit)->outcome, OUTCOME_converged);
    expect_groups(&self, (const int8_t[N]){0});
    assert_int_equal(self.fit->result.n_flat, 0);
    case_free(self.fit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_groups), cmocka_unit_test(test_wide_open_beside_flat),
                                       cmocka_unit_test(test_nothing_flat)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
