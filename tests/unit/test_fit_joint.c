/* Fits over many datasets: linear problems against dense algebra, bounds by their conditions, and searches that another process
 * continues after any pass.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit_case.h"

#include "base/random.h"
#include "fit/joint/joint.h"

enum { N_BLOCK = 11, N_ROW = 9, P = 4, MOST = N_BLOCK * P };
static const uint8_t is_shared[P] = {1, 0, 1, 0}, one_group[P] = {1, 0, 2, 0}, two_groups[P] = {2, 0, 3, 2};
static const uint8_t only_group[P] = {0, 2, 2, 0};
static const uint8_t own_rates[P] = {0, 0, 1, 0}; /* own steps that miss what they promise, and are shortened */
static const uint8_t crossed[P] = {2, 0, 3, 0}, grouped[P] = {2, 0, 2, 0};
static const uint32_t plate[N_BLOCK] = {0, 1, 2, 0, 1, 2, 3, 3, 0, 1, 2}, batch[N_BLOCK] = {0, 0, 1, 1, 0, 1, 1, 0, 0, 1, 0};
static const uint32_t *const columns[] = {plate, batch};
static const size_t n_groups[] = {4, 2};
static const struct joint_levels all_levels[] = {
    {.level = is_shared},
    {.level = one_group, .n_column = 1, .group = columns, .n_group = n_groups},
    {.level = two_groups, .n_column = 2, .group = columns, .n_group = n_groups},
    {.level = only_group, .n_column = 1, .group = columns, .n_group = n_groups}};
/* Only parameters with the same start and bounds everywhere. */
static const struct joint_levels hard_levels[] = {
    {.level = is_shared},
    {.level = one_group, .n_column = 1, .group = columns, .n_group = n_groups},
    {.level = crossed, .n_column = 2, .group = columns, .n_group = n_groups},
    {.level = grouped, .n_column = 1, .group = columns, .n_group = n_groups},
    {.level = own_rates}};
enum { N_LEVELS = sizeof all_levels / sizeof *all_levels, N_HARD = sizeof hard_levels / sizeof *hard_levels };

static const struct stiffit_model *line, *decay;
static int load(void **state)
{
    (void)state;
    line = test_model("linear");
    decay = test_model("decay-and-wave");
    return 0;
}

static void line_slopes(double t, const double *p, double *slopes)
{
    assert_int_equal(case_value(line, line->observe_parameter, &(struct stiffit_point){.t = t, .p = p}, slopes), STIFFIT_OK);
}

/* A decay whose level is not to be computed below -40. */
static int decay_above(const struct stiffit_point *at, double *h)
{
    int code = decay->observe(at, h);
    return at->p[3] < -40 ? STIFFIT_RECOVERABLE : code;
}

struct many {
    struct fit_case *block[N_BLOCK];
    struct joint joint;
    const struct joint_levels *levels;
    int n_pass, n_step;   /* passes; steps between which the state may be saved */
    int stop;             /* the step at which the state is saved, and the search stops; 0: none */
    unsigned char *bytes; /* n_byte: that state */
    size_t n_byte;
};

static void make(struct many *many, const struct stiffit_model *abi, const double truth[P], uint64_t seed)
{
    *many = (struct many){.levels = &all_levels[0]};
    for (size_t i = 0; i < N_BLOCK; i++) {
        struct fit_case *block = many->block[i] = case_new(abi, N_ROW);
        double p[P], d[P];
        for (size_t k = 0; k < P; k++)
            p[k] = truth[k] * (is_shared[k] ? 1 : 1 + 0.3 * random_normal(seed, i, k));
        for (size_t r = 0; r < N_ROW; r++) {
            struct stiffit_point at = {.t = block->time[r], .p = p};
            abi->observe(&at, d);
            block->value[r] = d[0] + 0.1 * random_normal(seed, i, 10 + r);
            block->sigma[r] = 0.1;
        }
        block->problem.dataset = i;
        block->options.statistics = true;
    }
}

static void begin(struct many *many)
{
    struct fit_case *first = many->block[0];
    assert_true(joint_init(&many->joint, &first->options, &first->model, N_BLOCK, P, many->levels, first->scale,
                           NULL));
}

static bool run_pass(void *context)
{
    struct many *many = context;
    if (many->bytes)
        return false;
    many->n_pass++;
    for (size_t k = 0; k < N_BLOCK; k++) {
        size_t i = (k * 7 + 3) % N_BLOCK; /* in any order */
        arena_reset(&many->block[i]->arena);
        joint_block_run(&many->joint, i, &many->block[i]->problem, &many->block[i]->host, &many->block[i]->arena);
    }
    return true;
}

static void keep(void *context)
{
    struct many *many = context;
    if (++many->n_step == many->stop)
        assert_non_null(many->bytes = joint_save(&many->joint, &many->n_byte));
}

/* False: it was stopped. */
static bool run(struct many *many)
{
    const struct joint_host host = {.run_pass = run_pass, .keep = keep, .fit_alone = fit_run, .context = many};
    many->n_pass = many->n_step = 0;
    return joint_search(&many->joint, &host);
}

static void record_all(struct many *many)
{
    for (size_t i = 0; i < N_BLOCK; i++)
        joint_record(&many->joint, i, &many->block[i]->result);
}

static void drop(struct many *many)
{
    joint_fini(&many->joint);
    for (size_t i = 0; i < N_BLOCK; i++)
        case_free(many->block[i]);
}

/* Column of parameter k of block i in the dense problem: each parameter has room for N_BLOCK values. */
static size_t column_of(const struct many *many, size_t i, size_t k)
{
    size_t level = many->levels->level[k];
    return N_BLOCK * k + (level == 0 ? i : level == 1 ? 0 : many->levels->group[level - 2][i]);
}

/* The dense normal matrix, its right-hand side for the data, and the inverse by Gauss and Jordan. */
static void dense(const struct many *many, double inverse[MOST][MOST], double solution[MOST])
{
    static double a[MOST][2 * MOST];
    double right[MOST] = {0};
    memset(a, 0, sizeof a);
    for (size_t i = 0; i < N_BLOCK; i++)
        for (size_t r = 0; r < N_ROW; r++) {
            double d[P], zero[P] = {0};
            line_slopes(many->block[i]->time[r], zero, d);
            for (size_t k = 0; k < P; k++) {
                right[column_of(many, i, k)] += 100 * d[k] * many->block[i]->value[r];
                for (size_t l = 0; l < P; l++)
                    a[column_of(many, i, k)][column_of(many, i, l)] += 100 * d[k] * d[l];
            }
        }
    for (size_t c = 0; c < MOST; c++) {
        a[c][MOST + c] = 1;
        a[c][c] = a[c][c] > 0 ? a[c][c] : 1; /* a place that no value has */
    }
    for (size_t c = 0; c < MOST; c++) { /* positive definite: no pivoting needed */
        double pivot = a[c][c];
        for (size_t k = 0; k < 2 * MOST; k++)
            a[c][k] /= pivot;
        for (size_t r = 0; r < MOST; r++) {
            double factor = r == c ? 0 : a[r][c];
            for (size_t k = 0; k < 2 * MOST && factor != 0; k++)
                a[r][k] -= factor * a[c][k];
        }
    }
    for (size_t r = 0; r < MOST; r++) {
        solution[r] = 0;
        for (size_t c = 0; c < MOST; c++) {
            inverse[r][c] = a[r][MOST + c];
            solution[r] += inverse[r][c] * right[c];
        }
    }
}

/* One Gauss-Newton step solves a linear problem; parameters and standard errors are those of the dense one. */
static void test_linear(void **state)
{
    static double inverse[MOST][MOST];
    double solution[MOST];
    (void)state;
    for (size_t l = 0; l < N_LEVELS; l++) {
        struct many all, *many = &all;
        make(many, line, (const double[]){2, -1, 0.5, 3}, 1);
        many->levels = &all_levels[l];
        begin(many);
        assert_true(run(many));
        record_all(many);
        dense(many, inverse, solution);
        assert_true(many->n_pass <= 6);
        bool is_value[MOST] = {false};
        int64_t n_value = 0;
        for (size_t i = 0; i < N_BLOCK; i++) {
            const struct fit_record *record = &many->block[i]->result;
            assert_int_equal(record->outcome, OUTCOME_converged);
            for (size_t k = 0; k < P; k++) {
                size_t c = column_of(many, i, k);
                n_value += !is_value[c];
                is_value[c] = true;
                assert_true(fabs(record->parameter[k] - solution[c]) < 1e-9 * fmax(1, fabs(solution[c])));
                assert_int_equal(record->lack[k], LACK_none);
                assert_true(fabs(record->standard_error[k] / sqrt(inverse[c][c]) - 1) < 1e-8);
            }
        }
        for (size_t i = 0; i < N_BLOCK; i++)
            assert_int_equal(many->block[i]->result.n_freedom, N_BLOCK * N_ROW - n_value);
        drop(many);
    }
}

/* The gradient of a whole line by parameter k of block i (or of all, for shared ones). */
static double gradient_of(const struct many *many, size_t block, size_t k)
{
    double sum = 0;
    for (size_t i = is_shared[k] ? 0 : block; i < (is_shared[k] ? N_BLOCK : block + 1); i++)
        for (size_t r = 0; r < N_ROW; r++) {
            double d[P], h;
            struct stiffit_point at = {.t = many->block[i]->time[r], .p = many->block[i]->result.parameter};
            line->observe(&at, &h);
            line_slopes(at.t, at.p, d);
            sum += 100 * d[k] * (h - many->block[i]->value[r]);
        }
    return sum;
}

/* Bounds on own and shared parameters: the conditions of Karush, Kuhn and Tucker, which have one solution. */
static void test_bounds(void **state)
{
    (void)state;
    for (uint64_t seed = 2; seed < 12; seed++) {
        struct many many;
        size_t n_held = 0;
        make(&many, line, (const double[]){2, -1, 0.5, 3}, seed);
        for (size_t i = 0; i < N_BLOCK; i++) {
            many.block[i]->upper[3] = 1.4;
            many.block[i]->lower[1] = -0.9;
            many.block[i]->start[1] = -0.5;
            many.block[i]->upper[0] = seed % 2 ? 1.9 : 4;
            many.block[i]->start[0] = 1.5;
        }
        begin(&many);
        assert_true(run(&many));
        record_all(&many);
        for (size_t i = 0; i < N_BLOCK; i++)
            for (size_t k = 0; k < P; k++) {
                const struct fit_case *block = many.block[i];
                double g = gradient_of(&many, i, k);
                int8_t bound = block->result.at_bound[k];
                n_held += bound != 0;
                assert_true(bound >= 0 || (g >= 0 && block->result.parameter[k] == block->lower[k]));
                assert_true(bound <= 0 || (g <= 0 && block->result.parameter[k] == block->upper[k]));
                assert_true(bound != 0 || fabs(g) < 1e-5);
            }
        assert_true(n_held > 0);
        drop(&many);
    }
}

/* Blocks that say nothing of one or both of their parameters change nothing for the others. */
static void test_flat_blocks(void **state)
{
    struct many many;
    (void)state;
    make(&many, line, (const double[]){2, -1, 0.5, 3}, 20);
    for (size_t r = 0; r < N_ROW; r++)
        many.block[4]->time[r] = 0; /* h = p1 */
    begin(&many);
    assert_true(run(&many));
    record_all(&many);
    double mean = 0;
    for (size_t r = 0; r < N_ROW; r++)
        mean += many.block[4]->value[r] / N_ROW;
    const struct fit_record *flat = &many.block[4]->result;
    assert_int_equal(flat->lack[3], LACK_flat);
    assert_int_equal(flat->lack[1], LACK_none);
    assert_true(fabs(flat->parameter[1] - mean) < 1e-10);
    assert_true(fabs(flat->standard_error[1] - 0.1 / 3) < 1e-10);
    assert_true(flat->parameter[3] == 1); /* its start */
    assert_int_equal(many.block[0]->result.lack[0], LACK_none);
    for (size_t i = 0; i < N_BLOCK; i++)
        for (size_t k = 0; k < P; k++)
            assert_true(fabs(gradient_of(&many, i, k)) < 1e-5);
    drop(&many);
}

/* An engine whose bits depend on what the evaluation before has found. */
static bool ask_in_course(void *context, struct evaluation *const *evaluations, size_t n)
{
    bool good = true;
    for (size_t k = 0; k < n && good; k++) {
        struct evaluation *evaluation = evaluations[k];
        good = case_ask(context, &evaluation, 1);
        for (size_t i = 0; good && evaluation->course.is_stiff && i < evaluation->task->n_row; i++)
            evaluation->prediction[i] *= 1 + 1e-9;
        evaluation->course.is_stiff = true;
    }
    return good;
}

/* Starts from which steps are rejected, shortened and stopped by bounds, and cannot be evaluated. */
static void make_hard(struct many *many, const struct joint_levels *levels, enum optimizer optimizer)
{
    struct stiffit_model model = *decay;
    model.observe = decay_above;
    make(many, &model, (const double[]){0.7, 5, 0.3, 1}, 30);
    for (size_t i = 0; i < N_BLOCK; i++) {
        many->block[i]->lower[0] = 1e-3;
        many->block[i]->upper[0] = 1e3;
        many->block[i]->start[0] = 8;
        many->block[i]->scale[0] = SCALE_LOG;
        many->block[i]->start[3] = i % 3 ? 1 : -39;
        many->block[i]->upper[1] = i % 2 ? 5 : 50;
        many->block[i]->host.ask = ask_in_course;
        many->block[i]->options.optimizer = optimizer;
        many->block[i]->options.is_near = levels->level == own_rates; /* leaps would leave short steps nothing to do */
    }
    many->levels = levels;
}

/* After each step (by L-BFGS: each leg) in turn, another search continues from the bytes of this one, to the same bits. */
static void resume_everywhere(const struct joint_levels *levels, enum optimizer optimizer)
{
    struct many whole;
    make_hard(&whole, levels, optimizer);
    begin(&whole);
    assert_true(run(&whole));
    record_all(&whole);
    assert_int_equal(whole.block[0]->result.outcome, OUTCOME_converged);
    assert_true(whole.n_step > (optimizer == OPTIMIZER_lbfgs ? 3 : 4));
    for (int k = 1; k <= whole.n_step; k++) {
        struct many first, second;
        make_hard(&first, levels, optimizer);
        begin(&first);
        first.joint.start.n_redrawn = 2;
        first.stop = k;
        assert_false(run(&first));
        drop(&first);
        make_hard(&second, levels, optimizer);
        begin(&second);
        assert_false(joint_load(&second.joint, first.bytes, first.n_byte - 1));
        joint_fini(&second.joint);
        begin(&second);
        assert_true(joint_load(&second.joint, first.bytes, first.n_byte));
        assert_int_equal(second.joint.start.n_redrawn, 2);
        assert_true(run(&second));
        assert_int_equal(first.n_pass + second.n_pass, whole.n_pass + 1);
        assert_int_equal(k - 1 + second.n_step, whole.n_step);
        record_all(&second);
        for (size_t i = 0; i < N_BLOCK; i++) {
            struct fit_record *a = &whole.block[i]->result, *b = &second.block[i]->result;
            a->seconds = b->seconds = 0;
            assert_memory_equal(whole.block[i]->arrays, second.block[i]->arrays, fit_record_array_bytes(P));
            assert_true(a->objective == b->objective && a->n_evaluation == b->n_evaluation && a->notes == b->notes);
            assert_true(a->outcome == b->outcome && a->stop == b->stop && a->gradient_norm == b->gradient_norm);
            assert_true(a->n_iteration == b->n_iteration && a->tight_decrease == b->tight_decrease);
        }
        drop(&second);
        free(first.bytes);
    }
    drop(&whole);
}

static void test_resumed(void **state)
{
    (void)state;
    for (size_t l = 0; l < N_HARD; l++) {
        resume_everywhere(&hard_levels[l], OPTIMIZER_none);
        resume_everywhere(&hard_levels[l], OPTIMIZER_lbfgs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_linear), cmocka_unit_test(test_bounds),
                                       cmocka_unit_test(test_flat_blocks), cmocka_unit_test(test_resumed)};
    return cmocka_run_group_tests(tests, load, NULL);
}
