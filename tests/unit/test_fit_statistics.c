/* The statistics of a fit against R 4.2: nls, vcov, AIC, BIC, and quantiles of t (tests/unit/fit_statistics.R prints the
 * numbers). Then what R refuses: bounds, directions without influence, too few measurements.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit_case.h"


enum { ROWS = 12 };
/* R's derivatives are difference quotients: good to 7 digits or better. */
static const double TOLERANCE = 1e-6;

static const double value[ROWS] = {3.2, 2.2182, 1.6354, 1.3148, 1.0311, 0.7081,
                                   0.4686, 0.4161, 0.4569, 0.4136, 0.2644, 0.1639};
static const double second[ROWS] = {2.55, 2.1552, 2.0446, 1.8044, 1.7888, 1.6358,
                                    1.6555, 1.5589, 1.582, 1.5282, 1.5379, 1.5206};

struct statistics_case {
    struct fit_case *fit;
    const struct fit_record *s; /* what the fit filled */
};

/* n rows of the data, sigma unknown, near the optimum. */
static struct statistics_case *make(const struct stiffit_model *model, size_t n)
{
    struct statistics_case *self = calloc(1, sizeof *self);
    assert_non_null(self);
    struct fit_case *fit = self->fit = case_new(model, n);
    for (size_t i = 0; i < n; i++) {
        fit->row_observable[i] = i >= ROWS;
        fit->time[i] = 0.5 * (double)(i % ROWS);
        fit->value[i] = i < ROWS ? value[i] : second[i - ROWS];
        fit->sigma[i] = NAN;
    }
    fit->start[0] = 3;
    fit->start[1] = 0.7;
    fit->start[2] = 0.2;
    /* converges linearly, and the parameters are wanted to 6 digits */
    fit->options.f_tolerance = 1e-15;
    fit->options.g_tolerance = 0;
    fit->options.statistics = true;
    self->s = &fit->result;
    return self;
}

static void free_case(struct statistics_case *self)
{
    case_free(self->fit);
    free(self);
}

static void run(struct statistics_case *self)
{
    const struct fit_record *result = case_run(self->fit);
    if (result->outcome != OUTCOME_converged)
        fail_msg("%s: %s", outcome_name(result->outcome), result->reason);
}

static void near(double found, double expected)
{
    if (!(fabs(found - expected) <= TOLERANCE * fabs(expected)))
        fail_msg("%.12g, not %.12g", found, expected);
}

static void all_near(const double *found, size_t n, const double *expected)
{
    for (size_t i = 0; i < n; i++)
        near(found[i], expected[i]);
}

/* Without degrees of freedom it is that for a sigma of 1. */
static bool has_covariance(uint8_t lack) { return lack == LACK_none || lack == LACK_freedom; }

static void expect_lack(const struct statistics_case *self, size_t n, const uint8_t *lack)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(self->s->lack[i], lack[i]);
        assert_int_equal(isnan(self->s->standard_error[i]), lack[i] != LACK_none);
        assert_int_equal(isnan(self->s->interval_lower[i]) && isnan(self->s->interval_upper[i]), lack[i] != LACK_none);
        for (size_t j = 0; j < n; j++)
            assert_int_equal(isnan(self->s->covariance[i + j * n]), !has_covariance(lack[i]) || !has_covariance(lack[j]));
    }
}

static void test_unknown_sigma(void **state)
{
    (void)state;
    struct statistics_case *self = make(test_model("decay-above"), ROWS);
    run(self);
    const struct fit_record *s = self->s;
    all_near(self->fit->parameter, 3, (const double[]){2.97440270632, 0.681689852, 0.180448207487});
    all_near(self->s->standard_error, 3, (const double[]){0.0778448375158, 0.0474390172619, 0.0570931809048});
    all_near(self->s->interval_lower, 3, (const double[]){2.79830544955, 0.574375339305, 0.051294459356});
    all_near(self->s->interval_upper, 3, (const double[]){3.15049996309, 0.789004364695, 0.309601955617});
    all_near(self->s->covariance, 9, (const double[]){0.006059818727860, -0.000372255192493, -0.00207374268336,
                                                   -0.000372255192493, 0.002250460358770, 0.00224950666638,
                                                   -0.00207374268336, 0.00224950666638, 0.00325963130583});
    all_near(self->s->eigenvalue, 3, (const double[]){25.2310513308, 1.6906719395, 0.837675792327});
    all_near(self->s->flattest, 3, (const double[]){0.799389107262, -0.280658829597, -0.531232224700});
    near(s->residual_error, 0.0796244053291);
    near(s->chi_square, 0.0570604133161);
    near(s->aic, -22.1280912768);
    near(s->aicc, -16.4138055625);
    near(s->bic, -20.1884646777);
    near(s->r_squared, 0.993935081018);
    assert_int_equal(s->n_freedom, 9);
    assert_int_equal(s->n_flat, 0);
    assert_true(s->notes & NOTE_no_model_sigma);
    expect_lack(self, 3, (const uint8_t[]){0, 0, 0});
    free_case(self);
}

/* Standard errors by the delta method, which at the same optimum are those of the natural scale; intervals are made on the
 * logarithm's. The information matrix is the logarithm's (log10: both axes by ln 10). */
static void test_log_scales(void **state)
{
    (void)state;
    const double ln10 = log(10);
    for (int decades = 0; decades < 2; decades++) {
        struct statistics_case *self = make(test_model("decay-above"), ROWS);
        for (int j = 0; j < 3; j++)
            self->fit->scale[j] = decades ? SCALE_LOG10 : SCALE_LOG;
        run(self);
        double by = decades ? ln10 * ln10 : 1;
        all_near(self->s->standard_error, 3, (const double[]){0.0778448375158, 0.0474390172619, 0.0570931809048});
        all_near(self->s->interval_lower, 3, (const double[]){exp(1.03083901002), exp(-0.540604749289), exp(-2.42805010473)});
        all_near(self->s->interval_upper, 3, (const double[]){exp(1.14924748492), exp(-0.225756228319), exp(-0.996572863767)});
        near(self->s->covariance[5], 0.00224950666638);
        all_near(self->s->eigenvalue, 3, (const double[]){by * 20.8597814834, by * 3.74861804842, by * 0.0611741628409});
        all_near(self->s->flattest, 3, (const double[]){-0.0371998271446, 0.1819491869410, 0.9826040231100});
        free_case(self);
    }
}

static void test_known_sigma(void **state)
{
    (void)state;
    struct statistics_case *self = make(test_model("decay-above"), ROWS);
    for (int i = 0; i < ROWS; i++)
        self->fit->sigma[i] = 0.05 + 0.02 * (i % 3);
    run(self);
    const struct fit_record *s = self->s;
    all_near(self->fit->parameter, 3, (const double[]){2.98618183775, 0.690976678035, 0.194258449645});
    all_near(self->s->standard_error, 3, (const double[]){0.0594624107391, 0.0375928889243, 0.0475574452527});
    all_near(self->s->interval_lower, 3, (const double[]){2.86963765426, 0.617295969669, 0.101047569753});
    all_near(self->s->interval_upper, 3, (const double[]){3.10272602123, 0.764657386402, 0.287469329537});
    all_near(self->s->eigenvalue, 3, (const double[]){5894.00852749, 590.361222461, 187.014737336});
    near(s->chi_square, 14.7028657629);
    near(s->residual_error, 1.27814386961);
    near(s->aic, -21.7461127933);
    near(s->bic, -20.291392844);
    near(s->aicc, -21.7461127933 + 2 * 3 * 4 / 8.0);
    near(s->r_squared, 0.99480949622);
    assert_false(s->notes & NOTE_no_model_sigma);
    /* One that is missing makes all of them relative. */
    self->fit->sigma[5] = NAN;
    run(self);
    assert_true(s->notes & NOTE_no_model_sigma);
    free_case(self);
}

/* Held by a fixing or by a bound: both are R's fit without that parameter. */
static void test_held_parameters(void **state)
{
    (void)state;
    for (int bound = 0; bound < 2; bound++) {
        struct statistics_case *self = make(test_model("decay-above"), ROWS);
        self->fit->start[2] = 0.3;
        if (bound)
            self->fit->lower[2] = 0.3;
        else
            self->fit->fixed[2] = 1;
        run(self);
        all_near(self->fit->parameter, 3, (const double[]){2.89626914539, 0.770381533844, 0.3});
        all_near(self->s->standard_error, 2, (const double[]){0.0833950431588, 0.0377228117246});
        all_near(self->s->interval_lower, 2, (const double[]){2.71045340967, 0.686329871434});
        near(self->s->covariance[1], 0.00177318112967);
        near(self->s->aic, -18.8844904348);
        all_near(self->s->eigenvalue, 2, (const double[]){9.77721105199, 1.18177704086});
        assert_true(isnan(self->s->eigenvalue[2]) && isnan(self->s->flattest[2]));
        assert_int_equal(self->s->n_freedom, 10);
        assert_int_equal(self->fit->result.at_bound[2], bound ? -1 : 0);
        expect_lack(self, 3, (const uint8_t[]){0, 0, bound ? LACK_at_bound : LACK_fixed});
        free_case(self);
    }
}

/* Nothing is fitted. */
static void test_all_fixed(void **state)
{
    (void)state;
    struct statistics_case *self = make(test_model("decay-above"), ROWS);
    memset(self->fit->fixed, 1, 3);
    run(self);
    expect_lack(self, 3, (const uint8_t[]){LACK_fixed, LACK_fixed, LACK_fixed});
    assert_int_equal(self->s->n_freedom, ROWS);
    assert_int_equal(self->s->n_flat, 0);
    assert_true(self->s->chi_square > 0);
    free_case(self);
}

/* The product is known, its factors are not, the fourth has no influence: k has R's error, the others a reason. */
static void test_rank_deficient(void **state)
{
    (void)state;
    for (int log_scale = 0; log_scale < 2; log_scale++) {
        struct statistics_case *self = make(test_model("decay-of-product-and-idle"), ROWS);
        const double start[4] = {1.5, 2, 0.6, 1};
        memcpy(self->fit->start, start, sizeof start);
        for (int j = 0; j < 4 && log_scale; j++)
            self->fit->scale[j] = SCALE_LOG;
        run(self);
        near(self->fit->parameter[0] * self->fit->parameter[1], 3.081635319);
        near(self->fit->parameter[2], 0.567959498732);
        /* With 8 degrees of freedom, as R would count 4 parameters: the residual error is larger than that of two. */
        near(self->s->standard_error[2], 0.0260144347486 * sqrt(10 / 8.0));
        expect_lack(self, 4, (const uint8_t[]){LACK_flat, LACK_flat, LACK_none, LACK_flat});
        assert_int_equal(self->s->n_flat, 2);
        assert_true(self->fit->result.notes & NOTE_flat_direction);
        /* The two of the product against each other, or the fourth: nothing of k. */
        assert_true(fabs(self->s->flattest[2]) < 1e-6);
        self->fit->fixed[3] = 1;
        run(self);
        assert_int_equal(self->s->n_flat, 1);
        double b = self->fit->parameter[0], c = self->fit->parameter[1], length = hypot(b, c);
        double expected[2] = {b / length, -c / length};
        if (log_scale)
            expected[0] = sqrt(0.5), expected[1] = -sqrt(0.5);
        double sign = self->s->flattest[0] < 0 ? -1 : 1;
        all_near((const double[]){sign * self->s->flattest[0], sign * self->s->flattest[1]}, 2, expected);
        near(self->s->standard_error[2], 0.0260144347486 * sqrt(10 / 9.0));
        expect_lack(self, 4, (const uint8_t[]){LACK_flat, LACK_flat, LACK_none, LACK_fixed});
        free_case(self);
    }
}

/* A direction that is known, but so badly that the number means nothing: on a logarithmic scale beyond ten decades, within
 * bounds beyond ten times what they leave. */
static void test_wide_open(void **state)
{
    (void)state;
    struct statistics_case *self = make(test_model("decay-above"), ROWS);
    for (int i = 0; i < ROWS; i++)
        self->fit->sigma[i] = 1e3;
    run(self); /* b = 0.18 +- 717 on a linear scale without bounds: that is what it is */
    expect_lack(self, 3, (const uint8_t[]){0, 0, 0});
    near(self->s->standard_error[2], 717.031174912);
    assert_int_equal(self->s->n_flat, 0);
    self->fit->lower[2] = -30;
    self->fit->upper[2] = 30;
    run(self);
    expect_lack(self, 3, (const uint8_t[]){0, 0, LACK_flat});
    near(self->s->standard_error[0], 977.650472792);
    assert_int_equal(self->s->n_flat, 1);
    self->fit->upper[2] = 50; /* 717 < 10 (50 + 30) */
    run(self);
    expect_lack(self, 3, (const uint8_t[]){0, 0, 0});
    self->fit->upper[2] = INFINITY;
    self->fit->lower[2] = 0;
    self->fit->scale[2] = SCALE_LOG10; /* +- 1726 decades */
    run(self);
    expect_lack(self, 3, (const uint8_t[]){0, 0, LACK_flat});
    near(self->s->standard_error[1], 595.784886126);
    free_case(self);
}

/* As many measurements as parameters: the curve goes through them, and only a known sigma says how well they are known. */
static void test_no_freedom(void **state)
{
    (void)state;
    struct statistics_case *self = make(test_model("decay-above"), 3);
    run(self);
    expect_lack(self, 3, (const uint8_t[]){LACK_freedom, LACK_freedom, LACK_freedom});
    assert_int_equal(self->s->n_freedom, 0);
    assert_int_equal(self->s->n_flat, 0);
    assert_true(isnan(self->s->residual_error) && isnan(self->s->aicc));
    for (int i = 0; i < 3; i++)
        self->fit->sigma[i] = 0.1;
    run(self);
    expect_lack(self, 3, (const uint8_t[]){0, 0, 0});
    /* The curve through three points at 0, h, 2h: x = exp(-k h) = (y2 - y1) / (y1 - y0), A = (y0 - y1) / (1 - x), b = y0 - A.
     * Errors by differentiating that. */
    double d0 = value[0] - value[1], d1 = value[1] - value[2], x = d1 / d0, h = 0.5, k = -log(x) / h;
    double by_k[3] = {1 / d0 / h, -1 / d0 / h - 1 / d1 / h, 1 / d1 / h};
    near(self->fit->parameter[1], k);
    near(self->s->standard_error[1], 0.1 * sqrt(by_k[0] * by_k[0] + by_k[1] * by_k[1] + by_k[2] * by_k[2]));
    free_case(self);
    /* Fewer than parameters: one direction is flat on top. */
    self = make(test_model("decay-above"), 2);
    run(self);
    assert_int_equal(self->s->n_flat, 1);
    assert_int_equal(self->s->n_freedom, -1);
    assert_true(isnan(self->s->standard_error[0]) && isnan(self->s->standard_error[1]) && isnan(self->s->standard_error[2]));
    assert_true(fabs(self->s->eigenvalue[2]) < 1e-12);
    free_case(self);
}

/* A standard deviation that is fitted: the maximum of the likelihood has sqrt(rss / n), its errors follow from the expected
 * information, and it counts in AIC as R's nls counts it. */
static void test_modelled_noise(void **state)
{
    (void)state;
    struct statistics_case *self = make(test_model("decay-with-noise"), ROWS);
    run(self);
    all_near(self->fit->parameter, 3, (const double[]){3.081635319, 0.567959498732, 0.0939501099407});
    all_near(self->s->standard_error, 3, (const double[]){0.0779288866347, 0.023747821221, 0.0191774858861});
    near(self->s->aic, -16.7052683932);
    near(self->s->bic, -15.2505484438);
    near(self->s->chi_square, ROWS);
    assert_int_equal(self->s->n_freedom, ROWS - 3);
    assert_false(self->s->notes & NOTE_no_model_sigma);
    assert_true(fabs(self->s->covariance[2]) < 1e-9 && fabs(self->s->covariance[5]) < 1e-9);
    free_case(self);
}

static void test_two_observables(void **state)
{
    (void)state;
    struct statistics_case *self = make(test_model("decay-observed-twice"), 2 * ROWS);
    self->fit->start[2] = 1.5;
    run(self);
    all_near(self->fit->parameter, 3, (const double[]){3.09056176939, 0.572460506493, 1.4561571508});
    all_near(self->s->standard_error, 3, (const double[]){0.0652934363214, 0.0198404497225, 0.0242913520152});
    near(self->s->aic, -48.9719288545);
    near(self->s->bic, -44.2597135331);
    near(self->s->r_squared, 0.987568633779);
    free_case(self);
}

/* The file's order is not the model's. */
static void test_permutation(void **state)
{
    (void)state;
    struct statistics_case *self = make(test_model("decay-above"), ROWS);
    const uint32_t to_model[3] = {2, 0, 1};
    const double start[3] = {0.2, 3, 0.7};
    memcpy(self->fit->to_model, to_model, sizeof to_model);
    memcpy(self->fit->start, start, sizeof start);
    run(self);
    all_near(self->s->standard_error, 3, (const double[]){0.0570931809048, 0.0778448375158, 0.0474390172619});
    near(self->s->covariance[1], -0.00207374268336);
    near(self->s->covariance[5], -0.000372255192493);
    near(self->s->flattest[1], 0.799389107262);
    free_case(self);
}

/* A fit without a best point has no numbers at all. */
static bool spoil(struct fit_case *self, struct evaluation *evaluation)
{
    (void)self;
    evaluation->outcome = EVALUATION_MODEL_FAILED;
    return true;
}

static void test_no_best_point(void **state)
{
    (void)state;
    struct statistics_case *self = make(test_model("decay-above"), ROWS);
    self->fit->spoil = spoil;
    assert_int_equal(case_run(self->fit)->outcome, OUTCOME_model_failed);
    expect_lack(self, 3, (const uint8_t[]){LACK_not_run, LACK_not_run, LACK_not_run});
    assert_int_equal(self->s->n_freedom, -1);
    assert_int_equal(self->s->n_flat, -1);
    assert_true(isnan(self->s->aic) && isnan(self->s->chi_square) && isnan(self->s->eigenvalue[0]));
    free_case(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown_sigma), cmocka_unit_test(test_log_scales), cmocka_unit_test(test_known_sigma),
        cmocka_unit_test(test_held_parameters), cmocka_unit_test(test_all_fixed), cmocka_unit_test(test_rank_deficient),
        cmocka_unit_test(test_wide_open), cmocka_unit_test(test_no_freedom), cmocka_unit_test(test_modelled_noise),
        cmocka_unit_test(test_two_observables), cmocka_unit_test(test_permutation), cmocka_unit_test(test_no_best_point)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
