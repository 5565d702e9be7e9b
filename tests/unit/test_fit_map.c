/* The mapping between fit and model parameters, and random starts, through their headers.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit_case.h"

#include "fit/objective/map.h"
#include "fit/objective/start.h"

static const struct stiffit_model four = {STIFFIT_MODEL_HEADER, .n_parameter = 4, .n_observable = 1};

struct mapped {
    struct fit_case *self;
    struct fit_map map;
    struct arena arena;
    uint32_t notes;
    char reason[160];
    enum outcome outcome;
};

static void map_now(struct mapped *mapped)
{
    mapped->notes = 0;
    mapped->reason[0] = '\0';
    mapped->outcome = fit_map_init(&mapped->map, &mapped->self->problem, false, &mapped->arena, &mapped->notes,
                                   mapped->reason);
}

static int set_up(void **state)
{
    struct mapped *mapped = calloc(1, sizeof *mapped);
    mapped->self = case_new(&four, 1);
    *state = mapped;
    return 0;
}

static int tear_down(void **state)
{
    struct mapped *mapped = *state;
    arena_fini(&mapped->arena);
    case_free(mapped->self);
    free(mapped);
    return 0;
}

/* The file's order is not the model's; fixed and pinned parameters are not free. */
static void test_order(void **state)
{
    struct mapped *mapped = *state;
    struct fit_case *self = mapped->self;
    const uint32_t to_model[4] = {2, 0, 3, 1};
    memcpy(self->to_model, to_model, sizeof to_model);
    for (int i = 0; i < 4; i++)
        self->start[i] = 10 + i;
    self->fixed[1] = 1;                        /* model's 0 */
    self->lower[3] = self->upper[3] = 13.5;    /* model's 1: pinned, its start moves there */
    self->scale[0] = SCALE_LOG10;              /* model's 2 */
    map_now(mapped);
    assert_int_equal(mapped->outcome, OUTCOME_converged);
    assert_int_equal(mapped->map.n_free, 2);
    assert_int_equal(mapped->map.model_index[0], 2);
    assert_int_equal(mapped->map.file_index[0], 0);
    assert_int_equal(mapped->map.model_index[1], 3);
    assert_int_equal(mapped->map.file_index[1], 2);
    assert_int_equal(mapped->notes, NOTE_start_moved);
    double p[4], chain[2], theta[2] = {3, -7};
    assert_true(fit_map_natural(&mapped->map, theta, p));
    assert_true(fabs(p[0] - 1000) < 1e-10 && p[1] == 11 && p[2] == -7 && p[3] == 13.5);
    fit_map_chain(&mapped->map, p, chain);
    assert_true(fabs(chain[0] - 1000 * log(10)) < 1e-8 && chain[1] == 1);
}

static void test_bounds(void **state)
{
    struct mapped *mapped = *state;
    struct fit_case *self = mapped->self;
    self->scale[0] = SCALE_LOG;
    self->lower[0] = -3; /* no bound on this scale */
    self->scale[1] = SCALE_LOG;
    self->lower[1] = 0.1;
    self->upper[1] = 0.3;
    self->start[1] = 7;
    self->scale[2] = SCALE_LOG10;
    self->lower[2] = 1e-300;
    self->start[2] = 0;
    map_now(mapped);
    assert_int_equal(mapped->outcome, OUTCOME_converged);
    assert_true(mapped->map.lower[0] == -INFINITY && mapped->map.upper[0] == INFINITY);
    assert_true(mapped->notes & NOTE_start_moved);
    assert_true(mapped->map.natural_start[1] == 0.3 && mapped->map.natural_start[2] == 1e-300);
    /* exactly the numbers given, on the bounds and beyond them */
    double p[4], theta[4] = {0.5, log(0.1), log10(1e-300), 1};
    assert_true(fit_map_natural(&mapped->map, theta, p));
    assert_true(p[1] == 0.1 && p[2] == 1e-300);
    theta[1] = 12;
    assert_true(fit_map_natural(&mapped->map, theta, p));
    assert_true(p[1] == 0.3);
    /* beyond the range of floating-point numbers */
    theta[0] = 710;
    assert_false(fit_map_natural(&mapped->map, theta, p));
    theta[0] = -800;
    assert_false(fit_map_natural(&mapped->map, theta, p));
    theta[0] = NAN;
    assert_false(fit_map_natural(&mapped->map, theta, p));
}

/* The start comes back to the bit, whatever log and exp round it to. */
static void test_start_exact(void **state)
{
    struct mapped *mapped = *state;
    for (int k = 0; k < 4; k++)
        mapped->self->scale[k] = k % 2 ? SCALE_LOG : SCALE_LOG10;
    for (int trial = 1; trial < 200; trial++) {
        double p[4];
        for (int k = 0; k < 4; k++)
            mapped->self->start[k] = (k + 1) * trial * 0.00137;
        map_now(mapped);
        assert_true(fit_map_natural(&mapped->map, mapped->map.start, p));
        assert_memory_equal(p, mapped->self->start, sizeof p);
    }
}

static void test_nonsense(void **state)
{
    struct mapped *mapped = *state;
    struct fit_case *self = mapped->self;
    const struct { double start, lower, upper; enum parameter_scale scale; } cases[] = {
        {NAN, -1, 1, SCALE_LIN}, {INFINITY, -1, 1, SCALE_LIN}, {0, 1, -1, SCALE_LIN}, {0, NAN, 1, SCALE_LIN},
        {0, 0, NAN, SCALE_LIN}, {0, INFINITY, INFINITY, SCALE_LIN}, {-1, -INFINITY, INFINITY, SCALE_LOG},
        {0, 0, 5, SCALE_LOG10}, {1, -5, -1, SCALE_LOG},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        self->start[2] = cases[k].start;
        self->lower[2] = cases[k].lower;
        self->upper[2] = cases[k].upper;
        self->scale[2] = cases[k].scale;
        map_now(mapped);
        assert_int_equal(mapped->outcome, OUTCOME_bad_data);
        assert_true(mapped->reason[0] != '\0');
    }
}

static void draw(const struct fit_map *map, const struct fit_prior *prior, uint64_t seed, uint64_t dataset, uint32_t number,
                 uint32_t n_row, double *theta)
{
    const struct fit_start start = {.seed = seed, .dataset = dataset, .number = number, .n_start = n_row + 1};
    fit_start_theta(&start, map, prior, theta);
}

static void test_hypercube(void **state)
{
    struct mapped *mapped = *state;
    struct fit_case *self = mapped->self;
    self->lower[0] = -5;
    self->upper[0] = 3;
    self->scale[1] = SCALE_LOG10;
    self->lower[1] = 1e-4;
    self->upper[1] = 1e4;
    self->scale[2] = SCALE_LOG; /* window: a decade each way around 1 */
    self->start[3] = 20;        /* window: 0 to 40 */
    map_now(mapped);
    const double low[4] = {-5, -4, -log(10), 0}, high[4] = {3, 4, log(10), 40};
    enum { ROWS = 97 };
    unsigned char hit[4][ROWS] = {{0}};
    double theta[4], again[4];
    for (uint32_t k = 1; k <= ROWS; k++) {
        draw(&mapped->map, NULL, 5, 77, k, ROWS, theta);
        for (int j = 0; j < 4; j++) {
            int stratum = (int)floor((theta[j] - low[j]) / (high[j] - low[j]) * ROWS);
            assert_in_range(stratum, 0, ROWS - 1);
            hit[j][stratum]++;
        }
        draw(&mapped->map, NULL, 5, 77, k, ROWS, again);
        assert_memory_equal(theta, again, sizeof theta);
        draw(&mapped->map, NULL, 5, 78, k, ROWS, again);
        assert_memory_not_equal(theta, again, sizeof theta);
        draw(&mapped->map, NULL, 6, 77, k, ROWS, again);
        assert_memory_not_equal(theta, again, sizeof theta);
    }
    for (int j = 0; j < 4; j++)
        for (int k = 0; k < ROWS; k++)
            assert_int_equal(hit[j][k], 1);
    /* coordinates are shuffled differently: the strata of two of them do not go together */
    int together = 0;
    for (uint32_t k = 1; k <= ROWS; k++) {
        draw(&mapped->map, NULL, 5, 77, k, ROWS, theta);
        together += (int)((theta[0] + 5) / 8 * ROWS) == (int)((theta[1] + 4) / 8 * ROWS);
    }
    assert_true(together < 10); /* one expected */
    draw(&mapped->map, NULL, 5, 77, 0, ROWS, theta);
    assert_memory_equal(theta, mapped->map.start, sizeof theta);
}

/* Starts are quantiles of the priors between the bounds: one in each of ROWS strata of equal probability. Distribution
 * functions from their definitions. */
static double normal(double x) { return 0.5 * erfc(-x / sqrt(2.0)); }
static double of_normal(double theta) { return normal((theta - 1) / 0.5); }
static double of_natural(double theta) { return normal((exp(theta) - 1) / 0.5); }
static double of_laplace(double theta) { return theta < 2 ? 0.5 * exp((theta - 2) / 3) : 1 - 0.5 * exp(-(theta - 2) / 3); }
static double of_rayleigh(double theta) { return theta > 0 ? 1 - exp(-theta * theta / 8) : 0; }
static double of_exponential(double theta) { return theta > 0 ? 1 - exp(-theta / 4) : 0; }
static double of_log_uniform(double theta) { return theta > 0 ? log(theta) : -INFINITY; }
static double of_uniform(double theta) { return theta; }

static void test_priors(void **state)
{
    (void)state;
    enum { ROWS = 50 };
    const struct {
        struct fit_prior prior;
        enum parameter_scale scale;
        double lower, upper, (*of)(double theta);
    } cases[] = {
        {{PRIOR_NORMAL, false, 1, 0.5}, SCALE_LIN, -INFINITY, INFINITY, of_normal},
        {{PRIOR_NORMAL, false, 1, 0.5}, SCALE_LIN, 0.9, 5, of_normal},
        {{PRIOR_NORMAL, false, 1, 0.5}, SCALE_LOG, 0.5, 2, of_natural},
        {{PRIOR_NORMAL, true, 1, 0.5}, SCALE_LOG, 1e-9, INFINITY, of_normal},
        {{PRIOR_LOG_NORMAL, false, 1, 0.5}, SCALE_LOG, 1e-9, 1e9, of_normal},
        {{PRIOR_LAPLACE, false, 2, 3}, SCALE_LIN, -INFINITY, 7, of_laplace},
        {{PRIOR_RAYLEIGH, false, 0, 2}, SCALE_LIN, 0, INFINITY, of_rayleigh},
        {{PRIOR_EXPONENTIAL, false, 0, 4}, SCALE_LIN, -1e300, INFINITY, of_exponential},
        {{PRIOR_LOG_UNIFORM, false, 0, 0}, SCALE_LIN, 0.01, 100, of_log_uniform},
        {{PRIOR_UNIFORM, false, 0, 0}, SCALE_LIN, -3, 100, of_uniform},
        {{PRIOR_NORMAL, false, 1e6, 1}, SCALE_LIN, 0, 1, of_uniform}, /* no probability between the bounds: evenly */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t index = 0;
        double ends[2] = {cases[i].lower, cases[i].upper}, start = 0.95, theta;
        enum parameter_scale scale = cases[i].scale;
        for (int k = 0; k < 2 && scale == SCALE_LOG; k++)
            ends[k] = log(ends[k]);
        struct fit_map map = {.n_free = 1, .file_index = &index, .model_index = &index, .scale = &scale, .start = &start,
                              .lower = &ends[0], .upper = &ends[1]};
        unsigned char hit[ROWS] = {0};
        double first = cases[i].of(ends[0]), last = cases[i].of(ends[1]);
        for (uint32_t k = 1; k <= ROWS; k++) {
            draw(&map, &cases[i].prior, 5, 77, k, ROWS, &theta);
            assert_true(theta >= ends[0] && theta <= ends[1]);
            double place = (cases[i].of(theta) - first) / (last - first) * ROWS;
            assert_true(place > -1e-9 && place < ROWS + 1e-9);
            hit[place < 0 ? 0 : place >= ROWS ? ROWS - 1 : (int)place]++;
        }
        for (int k = 0; k < ROWS; k++)
            if (hit[k] != 1)
                fail_msg("case %zu: %d starts in stratum %d", i, hit[k], k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bounds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_start_exact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nonsense, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hypercube, set_up, tear_down),
        cmocka_unit_test(test_priors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
