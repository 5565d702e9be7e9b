/* Standard errors from the observed information: where the measurement errors are censored, have a modelled scale or are not
 * normal, against R's survreg and differences of R's densities on straight lines (tests/unit/fit_information.R prints them).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit_case.h"


enum { ROWS = 24, MOST = 4 };
/* Where R's numbers are of differences, their error is up to 2e-6. */
static const double TOLERANCE = 5e-6;

static const double value[ROWS] = {2.24,   1.9002, 2.3488, 1.8895,  1.4547,  1.4249,  0.9735,  0.5531,
                                   0.567,  0.8325, 1.0543, 1.0597,  0.8007,  0.3312,  -0.1874, -0.4801,
                                   -0.3274, -0.0343, -0.1942, -0.1859, 0.1312, -0.6034, -0.5746, -1.3671};

struct information_case {
    struct fit_case *fit;
    int8_t censored[ROWS];
    double limit[ROWS];
};

/* R's numbers: optimum, objective, standard errors. */
struct reference {
    const char *name;
    enum error_kind error;
    double low, high, sigma; /* limits beyond which values are censored; 0: sigma is modelled */
    /* c is fitted; two values are outliers; every second value is only known to lie in its cell */
    bool grows, shifted, in_cells;
    double best[MOST], objective, standard_error[MOST];
};

static const struct reference references[] = {
    {"left", ERROR_NORMAL, 0.3, INFINITY, 0, false, false, false, {2.16247507746, -0.289314548533, 0.309765637042},
     4.58732719591, {0.149185357968, 0.0353071368553, 0.0572020374591}},
    {"right", ERROR_NORMAL, -INFINITY, 1.6, 0, false, false, false, {1.99683135551, -0.252388636364, 0.335073287434},
     8.34581191925, {0.159130647692, 0.0225629979331, 0.0528484269487}},
    {"both", ERROR_NORMAL, 0.3, 1.6, 0, false, false, false, {2.06788974801, -0.27141765363, 0.298337229409},
     4.83975450884, {0.209561751704, 0.0456445840394, 0.0681115065849}},
    {"log-normal", ERROR_LOG_NORMAL, 0.3, 1.6, 0, false, false, false, {2.06788974801, -0.27141765363, 0.298337229409},
     13.8913545088, {0.209561751704, 0.0456445840394, 0.0681115065849}},
    {"student", ERROR_STUDENT, -INFINITY, INFINITY, 0, false, true, false, {2.13496678819, -0.26694123627, 0.405706817069},
     23.45275104, {0.177201305537, 0.0264029661816, 0.0849961304503}},
    {"huber, known", ERROR_HUBER, -INFINITY, INFINITY, 0.5, false, true, false,
     {2.17002888169, -0.275844970471}, 18.8463266652, {0.208529310249, 0.0316257887286}},
    {"student, known", ERROR_STUDENT, -INFINITY, INFINITY, 0.5, false, true, false,
     {2.14364790134, -0.269349699768}, 17.0180314732, {0.208904521255, 0.0310022411785}},
    {"growing", ERROR_NORMAL, -INFINITY, INFINITY, 0, true, false, false,
     {2.09191738463, -0.265328962992, 0.28881985241, 0.00912176222541}, 8.14907340869,
     {0.131528622455, 0.0217424544029, 0.102924391766, 0.0173879863815}},
    {"cells", ERROR_NORMAL, 0.3, INFINITY, 0, false, false, true, {1.9334919359, -0.233330018662, 0.333057069168},
     12.8173635893, {0.154750777363, 0.0267931996326, 0.0676406492671}},
    {"log-normal cells", ERROR_LOG_NORMAL, 0.3, INFINITY, 0, false, false, true,
     {1.9334919359, -0.233330018662, 0.333057069168}, 20.8084635893, {0.154750777363, 0.0267931996326, 0.0676406492671}},
    {"cells, known", ERROR_NORMAL, -INFINITY, INFINITY, 0.3, false, false, true, {1.98476280368, -0.249924264409},
     15.0032872639, {0.133624138499, 0.0196019810476}},
    {"growing, cells", ERROR_NORMAL, -INFINITY, INFINITY, 0, true, false, true,
     {2.03039667595, -0.257814651923, 0.133232265707, 0.0391833943948}, 13.3434260205,
     {0.114788572885, 0.0240592490883, 0.1435405074, 0.0305515808691}},
    {"growing, left", ERROR_NORMAL, 0.3, INFINITY, 0, true, false, false,
     {2.22135603093, -0.312100163974, 0.21551249717, 0.0280081502765}, 4.42207574847,
     {0.139938355955, 0.0463912989062, 0.131353537571, 0.0407863341804}},
};

static void make(struct information_case *self, const struct reference *reference)
{
    memset(self, 0, sizeof *self);
    bool is_exponential = reference->error == ERROR_LOG_NORMAL; /* the model predicts exp(a + b t) */
    struct stiffit_model model = *test_model(is_exponential ? "exponential-with-noise" : "line-with-noise");
    if (reference->sigma > 0)
        model.noise = NULL;
    struct fit_case *fit = self->fit = case_new(&model, ROWS);
    for (int i = 0; i < ROWS; i++) {
        double y = value[i] + (reference->shifted && i == 4 ? 3 : reference->shifted && i == 16 ? -2.5 : 0);
        self->censored[i] = (int8_t)(y < reference->low ? 1 : y > reference->high ? -1 : 0);
        y = fmax(reference->low, fmin(reference->high, y));
        self->limit[i] = NAN;
        if (reference->in_cells && i % 2 == 0) { /* the value is the upper end or the lower one, in turn */
            double low = 0.8 * floor(value[i] / 0.8), high = low + 0.8;
            self->censored[i] = i % 4 ? -1 : 1;
            y = i % 4 ? low : high;
            self->limit[i] = is_exponential ? exp(i % 4 ? high : low) : i % 4 ? high : low;
        }
        fit->value[i] = is_exponential ? exp(y) : y;
        fit->time[i] = 0.5 * i;
        fit->sigma[i] = reference->sigma > 0 ? reference->sigma : NAN;
    }
    bool any = isfinite(reference->low) || isfinite(reference->high) || reference->in_cells;
    fit->problem.measured.censored = any ? self->censored : NULL;
    fit->problem.measured.limit = reference->in_cells ? self->limit : NULL;
    fit->loss[0] = fit_loss_of(reference->error, NULL);
    fit->options.f_tolerance = 1e-15;
    fit->options.g_tolerance = 1e-11;
    const double start[MOST] = {1.9, -0.2, 0.4, reference->grows ? 0.01 : 0};
    memcpy(fit->start, start, sizeof start);
    fit->lower[2] = 1e-3;
    fit->scale[2] = SCALE_LOG; /* errors do not depend on it */
    fit->fixed[2] = reference->sigma > 0;
    fit->fixed[3] = !reference->grows;
    fit->options.statistics = true;
}

static void near(const char *name, double found, double expected, double tolerance)
{
    if (!(fabs(found - expected) <= tolerance * fabs(expected)))
        fail_msg("%s: %.12g, not %.12g", name, found, expected);
}

static size_t n_fitted(const struct reference *reference)
{
    return reference->sigma > 0 ? 2 : reference->grows ? 4 : 3;
}

static void test_against_r(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof references / sizeof *references; k++) {
        const struct reference *reference = &references[k];
        struct information_case self;
        make(&self, reference);
        if (case_run(self.fit)->outcome != OUTCOME_converged)
            fail_msg("%s: %s", reference->name, self.fit->result.reason);
        near(reference->name, self.fit->result.objective, reference->objective, 1e-9);
        for (size_t j = 0; j < n_fitted(reference); j++) {
            near(reference->name, self.fit->parameter[j], reference->best[j], TOLERANCE);
            near(reference->name, self.fit->result.standard_error[j], reference->standard_error[j], TOLERANCE);
        }
        assert_false(self.fit->result.notes & NOTE_expected_information);
        case_free(self.fit);
    }
}

/* The eigenvalues are of the same matrix: their product is the determinant of the covariance's inverse. */
static void test_eigenvalues(void **state)
{
    (void)state;
    const struct reference *reference = &references[2];
    struct information_case self;
    make(&self, reference);
    self.fit->scale[2] = SCALE_LIN;
    assert_int_equal(case_run(self.fit)->outcome, OUTCOME_converged);
    const double *v = self.fit->result.covariance;
    double determinant = v[0] * (v[5] * v[10] - v[6] * v[9]) - v[4] * (v[1] * v[10] - v[2] * v[9])
                         + v[8] * (v[1] * v[6] - v[2] * v[5]);
    const double *eigenvalue = self.fit->result.eigenvalue;
    near("determinant", eigenvalue[0] * eigenvalue[1] * eigenvalue[2] * determinant, 1, 1e-9);
    case_free(self.fit);
}

/* Two groups of values far apart under Student's errors of a tiny scale: halfway between them the objective has a maximum. It
 * is stationary, so that a fit that starts there ends there. */
static void test_not_positive_definite(void **state)
{
    (void)state;
    const struct reference *reference = &references[6];
    struct information_case self;
    make(&self, reference);
    for (int i = 0; i < ROWS; i++)
        self.fit->value[i] = i % 2 ? 5 : -5;
    self.fit->start[0] = self.fit->start[1] = 0;
    self.fit->fixed[1] = 1;
    const struct fit_record *result = case_run(self.fit);
    assert_true(self.fit->parameter[0] == 0);
    assert_true(result->notes & NOTE_expected_information);
    /* the expected information is (nu + 1) / (nu + 3) per measurement */
    near("expected", self.fit->result.standard_error[0], 0.5 / sqrt(ROWS * 5 / 7.0), 1e-12);
    case_free(self.fit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_r), cmocka_unit_test(test_eigenvalues),
                                       cmocka_unit_test(test_not_positive_definite)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
