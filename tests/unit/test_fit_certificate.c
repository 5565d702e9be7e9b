/* The certificate against numbers worked out by hand, with a host whose predictions change when tighter tolerances are asked
 * for; and what becomes of a fit where that evaluation fails.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit_case.h"

#include "fit/statistics/statistics.h"

enum { ROWS = 5 };
/* How far tighter predictions lie from the others, and whether they can be had. */
struct tight_host {
    double shift[ROWS];
    bool fails, cancels, is_wild; /* wild: tighter ones agree with none */
    int n_tight;
    double power; /* of the tolerances, to which steps are in inverse proportion */
};
static struct tight_host tight;

/* Those of a method of order 5. */
static const double ORDER_5 = 0.2;

static int64_t steps(const struct evaluation *evaluation)
{
    return (int64_t)(100 * pow(evaluation->tighter, tight.power));
}

static bool tighten(struct fit_case *self, struct evaluation *evaluation)
{
    (void)self;
    evaluation->n_step = 100; /* up to the tolerances that were asked for */
    if (!(evaluation->tighter > 1))
        return true;
    evaluation->n_step = steps(evaluation);
    tight.n_tight++;
    /* errors in proportion to the tolerances, a tenth of which is `shift` away */
    double part = tight.is_wild ? tight.n_tight % 2 : (1 - 1 / evaluation->tighter) / 0.9;
    for (size_t i = 0; i < ROWS; i++)
        evaluation->prediction[i] += part * tight.shift[i];
    if (tight.fails)
        evaluation->outcome = EVALUATION_ODE_FAILED;
    return !tight.cancels;
}

/* Residuals at the optimum: e, at right angles to 1 and t = 0 ... 4; their squares add up to 14. */
static const double e[ROWS] = {-1, 2, 0, -2, 1};

/* a + b t: all that a certificate says is exact. One state makes it a model that is integrated. */
static struct fit_case *make(uint32_t n_state)
{
    struct stiffit_model model = *test_model("line");
    model.n_state = n_state;
    struct fit_case *self = case_new(&model, ROWS);
    for (int i = 0; i < ROWS; i++)
        self->value[i] = 10 + 3 * i - e[i];
    self->spoil = tighten;
    tight = (struct tight_host){.power = ORDER_5};
    return self;
}

static void test_numbers(void **state)
{
    (void)state;
    struct fit_case *self = make(1);
    double size = 1e-4;
    for (int i = 0; i < ROWS; i++)
        tight.shift[i] = size; /* a moves by as much */
    const struct fit_record *result = case_run(self);
    assert_int_equal(result->outcome, OUTCOME_converged);
    assert_int_equal(tight.n_tight, 1);
    assert_int_equal(result->n_evaluation, self->n_ask);
    assert_true(fabs(result->objective - 5) < 1e-12);
    /* sum (e + d)^2 / 2 - sum e^2 / 2 with sum e = 0; all of which a step takes back */
    assert_true(fabs(result->tight_change - ROWS * size * size / 2) < 1e-14);
    assert_true(fabs(result->tight_decrease - ROWS * size * size / 2) < 1e-14);
    assert_false(result->notes & NOTE_not_certified);
    assert_true(result->rtol == self->options.accuracy);
    self->options.certify = 0;
    tight.n_tight = 0;
    case_run(self);
    assert_int_equal(tight.n_tight, 0);
    assert_true(isnan(result->tight_change) && isnan(result->tight_decrease));
    assert_false(result->notes & NOTE_not_certified);
    case_free(self);
}

/* Another optimum, or another objective with the same optimum: the search goes on at tighter tolerances until they agree, which
 * they do to a tenth each time. The mean square of the residuals is 10/5 = 2. */
static void test_goes_on(void **state)
{
    (void)state;
    for (int known = 1; known >= 0; known--) {
        struct fit_case *self = make(1);
        for (int i = 0; i < ROWS; i++)
            self->sigma[i] = known ? 1 : NAN;
        const double sizes[] = {1e-4, 3e-4}, moves[] = {known ? 0.0085 : 0.012, known ? 0.0095 : 0.0135};
        for (int k = 0; k < 2; k++) {
            for (int i = 0; i < ROWS; i++)
                tight.shift[i] = sizes[k] * e[i]; /* the change, 10 * size, may be 0.001 of 2 */
            const struct fit_record *result = case_run(self);
            assert_int_equal(result->rtol < self->options.accuracy, k);
            assert_true(fabs(result->objective - (k ? 5 * (1 + sizes[k]) * (1 + sizes[k]) : 5)) < 1e-12);
            assert_true(result->tight_decrease < 1e-12 && !(result->notes & NOTE_not_certified));
            for (int i = 0; i < ROWS; i++)
                tight.shift[i] = moves[k]; /* 5/2 move^2 may be 0.0002 of 1 where sigma is known, else of 2 */
            case_run(self);
            assert_int_equal(result->rtol < self->options.accuracy, k);
            assert_true(fabs(result->parameter[0] - (k ? 10 - moves[k] : 10)) < 1e-9);
            assert_false(result->notes & NOTE_not_certified);
        }
        case_free(self);
    }
}

/* Tolerances down to a tenth miss the same part of the predictions. */
static bool share_error(struct fit_case *self, struct evaluation *evaluation)
{
    (void)self;
    double part = evaluation->tighter < 50 ? 0.1 * (1 - 1 / evaluation->tighter) / 0.9 : 1;
    evaluation->n_step = evaluation->tighter > 1 ? steps(evaluation) : 100;
    tight.n_tight += evaluation->tighter > 1;
    for (size_t i = 0; i < ROWS; i++)
        evaluation->prediction[i] += part * tight.shift[i];
    return true;
}

/* Two integrations of nearly the same steps may share an error of ten times their difference. Where a change as large as that
 * would not confirm the optimum (over 0.001 of 2), a third one is asked for; it finds ten times the change, and the search goes
 * on. */
static void test_same_steps(void **state)
{
    (void)state;
    const double sizes[] = {1e-4, 3e-4, 3e-4}, powers[] = {0.01, 0.01, ORDER_5};
    const bool finds[] = {false, true, false};
    for (int k = 0; k < 3; k++) {
        struct fit_case *self = make(1);
        self->spoil = share_error;
        for (int i = 0; i < ROWS; i++)
            tight.shift[i] = sizes[k] * e[i]; /* of which a tenth is seen at first */
        tight.power = powers[k];
        const struct fit_record *result = case_run(self);
        assert_int_equal(result->rtol < self->options.accuracy, finds[k]);
        assert_true(fabs(fabs(result->tight_change) - (finds[k] ? 0 : sizes[k])) < 1e-6);
        assert_false(result->notes & NOTE_not_certified);
        case_free(self);
    }
}

/* The fit begins OFF from the optimum in a. Its steps, the `n_noisy` first of them, meet an error at right angles to what they
 * gain, which is larger than that: the search ends at once. */
static const double OFF = 1e-3, SHIFT = 0.1;
static int n_noisy;

/* The first certificate, of f = (10 + 5 OFF^2) / 2, finds the same f in another place: (1 + k) e and OFF + SHIFT in place of e
 * and OFF. So nothing but a decrease of 5/2 (OFF + SHIFT)^2 is missing, which other tolerances do not explain. */
static bool hide_gain(struct fit_case *self, struct evaluation *evaluation)
{
    bool is_tight = evaluation->tighter > 1, is_start = evaluation->p[0] == self->start[0];
    double k = sqrt(1 + 0.5 * OFF * OFF - 0.5 * (OFF + SHIFT) * (OFF + SHIFT)) - 1;
    tight.n_tight += is_tight;
    evaluation->n_step = is_tight ? steps(evaluation) : 100;
    bool is_certificate = is_tight && tight.n_tight == 1, is_noisy = !is_tight && !is_start && n_noisy > 0;
    for (int i = 0; i < ROWS; i++)
        evaluation->prediction[i] += is_certificate ? k * e[i] + SHIFT : is_noisy ? 2 * OFF * (i - 2) : 0;
    n_noisy -= is_noisy;
    return true;
}

/* Where the certificate promises more than errors explain, another search at the same tolerances is to find it. If it moves,
 * however little it gains, its end has a certificate of its own; if not, tolerances are tightened without another one. */
static void test_repeats(void **state)
{
    (void)state;
    for (int moves = 1; moves >= 0; moves--) {
        struct fit_case *self = make(1);
        self->spoil = hide_gain;
        self->options.is_near = true; /* without steps at loose tolerances */
        self->start[0] = 10 + OFF;
        self->start[1] = 3;
        for (int i = 0; i < ROWS; i++)
            self->sigma[i] = 1;
        n_noisy = moves ? 1 : 2;
        const struct fit_record *result = case_run(self);
        assert_int_equal(result->outcome, OUTCOME_converged);
        assert_int_equal(n_noisy, 0);
        assert_true(fabs(result->parameter[0] - 10) < 1e-9);
        assert_false(result->notes & NOTE_not_certified);
        assert_int_equal(result->rtol < self->options.accuracy, !moves);
        /* two certificates; where tolerances are tightened, the best point and the end of a step in between */
        assert_int_equal(tight.n_tight, moves ? 2 : 4);
        case_free(self);
    }
}

/* Where no two tolerances agree, it says so, and at last that no confirmation was had. */
static void test_never_agrees(void **state)
{
    (void)state;
    struct fit_case *self = make(1);
    for (int i = 0; i < ROWS; i++)
        tight.shift[i] = 0.1;
    tight.is_wild = true;
    const struct fit_record *result = case_run(self);
    assert_true(result->notes & NOTE_not_certified);
    assert_true(result->n_evaluation < 60 && result->rtol >= 1e-12);
    case_free(self);
}

/* Moving across a bound that holds a parameter is no gain. */
static void test_bound(void **state)
{
    (void)state;
    struct fit_case *self = make(1);
    self->start[1] = self->lower[1] = 4;
    self->upper[1] = 9;
    for (int i = 0; i < ROWS; i++)
        tight.shift[i] = 1e-4 * i - 2e-4; /* b would go down by 1e-4 */
    const struct fit_record *result = case_run(self);
    assert_int_equal(result->at_bound[1], -1);
    assert_true(result->tight_decrease < 1e-12);
    assert_true(fabs(result->tight_change) > 1e-5);
    case_free(self);
}

/* As tighten, with errors in proportion to all tolerances. */
static bool improve(struct fit_case *self, struct evaluation *evaluation)
{
    tight.n_tight += evaluation->tighter > 1;
    for (size_t i = 0; i < ROWS; i++)
        evaluation->prediction[i] += tight.shift[i] / evaluation->tighter;
    evaluation->n_step = steps(evaluation);
    (void)self;
    return true;
}

/* The last tightening of the tolerances, from 1e-5 to 1e-6, is as good as a certificate if it changed little, and if it changed
 * the steps. */
static void test_landing(void **state)
{
    (void)state;
    struct fit_case *self = make(1);
    self->spoil = improve;
    self->options.accuracy = 1e-6;
    const double sizes[] = {1e-5, 1e-5, 1e-2}, powers[] = {0.2, 0.05, 0.2};
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < ROWS; i++)
            tight.shift[i] = sizes[k];
        tight.power = powers[k];
        tight.n_tight = 0;
        const struct fit_record *result = case_run(self);
        assert_int_equal(result->outcome, OUTCOME_converged);
        assert_false(result->notes & NOTE_not_certified);
        assert_true(k > 0 ? tight.n_tight > 0 : tight.n_tight == 0);
        double size = (k > 0 ? 0.9 : 9) * sizes[k]; /* in n_row residuals at right angles to e: see test_numbers */
        if (k < 2)
            assert_true(fabs(result->tight_change - ROWS * size * size / 2) < 1e-13);
    }
    case_free(self);
}

static void test_failures(void **state)
{
    (void)state;
    struct fit_case *self = make(1);
    tight.fails = true;
    const struct fit_record *result = case_run(self);
    assert_int_equal(result->outcome, OUTCOME_converged);
    assert_string_equal(result->reason, "");
    assert_true(isnan(result->tight_change) && (result->notes & NOTE_not_certified));
    tight.fails = false;
    /* The least budget that allows the search allows nothing more. */
    int64_t n = 0;
    do {
        self->options.max_evaluations = ++n;
        case_run(self);
    } while (result->outcome == OUTCOME_budget);
    assert_int_equal(result->outcome, OUTCOME_converged);
    assert_int_equal(result->n_evaluation, n);
    assert_true(isnan(result->tight_change) && (result->notes & NOTE_not_certified));
    self->options.max_evaluations = 1000;
    tight.cancels = true; /* what the result says is ignored then; nothing more is asked */
    tight.n_tight = 0;
    case_run(self);
    assert_int_equal(tight.n_tight, 1);
    /* A fit that did not converge has no certificate. */
    tight = (struct tight_host){.power = ORDER_5};
    self->options.max_evaluations = 1;
    assert_int_equal(case_run(self)->outcome, OUTCOME_budget);
    assert_int_equal(tight.n_tight, 0);
    case_free(self);
}

/* Nothing is integrated: there is nothing to be had by asking again. */
static void test_closed_form(void **state)
{
    (void)state;
    struct fit_case *self = make(0);
    const struct fit_record *result = case_run(self);
    assert_int_equal(tight.n_tight, 0);
    assert_true(result->tight_change == 0 && result->tight_decrease >= 0 && result->tight_decrease < 1e-12);
    assert_false(result->notes & NOTE_not_certified);
    case_free(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers), cmocka_unit_test(test_goes_on),
                                       cmocka_unit_test(test_same_steps), cmocka_unit_test(test_repeats),
                                       cmocka_unit_test(test_never_agrees), cmocka_unit_test(test_bound),
                                       cmocka_unit_test(test_failures), cmocka_unit_test(test_landing),
                                       cmocka_unit_test(test_closed_form)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
