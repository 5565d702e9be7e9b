/* Replay: an answer comes back to the bit for the very same request, of every kind, and for no other; quick fits and
 * cheap, large answers cost no file.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "run/compute/replay.h"
#include "../journal_helpers.h"

#include <float.h>

enum { N_MODEL = 3, N_ROW = 4, N_SENS = 2, FIT = 5, N_NUMBER = 2 * N_ROW + 2 * N_ROW * N_SENS + N_SENS };
static const int64_t tenth = REPLAY_WORTH_NS;

/* The experiments of the fit; the last one has fewer rows. */
static const struct ode_task tasks[] = {{.n_row = N_ROW}, {.n_row = N_ROW}, {.n_row = N_ROW - 1}};

/* An evaluation with all the arrays that it may have. */
struct asked {
    struct evaluation evaluation;
    struct evaluation_adjoint adjoint;
    double p[N_MODEL], numbers[N_NUMBER];
    uint32_t sens[N_SENS];
};

enum kind { VALUES, DERIVATIVES, ADJOINT, NOISY, NOISY_ADJOINT, TIGHTER, FAILED, SPENT, LATE, N_KIND };

static void ask(struct asked *asked, enum kind kind, int number)
{
    *asked = (struct asked){.p = {1.0 + number, -0.0, DBL_MIN / 3}, .sens = {0, 2}};
    bool adjoint = kind == ADJOINT || kind == NOISY_ADJOINT, noisy = kind == NOISY || kind == NOISY_ADJOINT;
    double *at = asked->numbers;
    asked->evaluation = (struct evaluation){.task = &tasks[0], .p = asked->p, .n_sens = kind == VALUES ? 0 : N_SENS,
                                            .sens = asked->sens, .max_steps = 1000, .tighter = kind == TIGHTER ? 10 : 0,
                                            .deadline_ns = INT64_MAX, .prediction = at};
    if (noisy)
        asked->evaluation.noise = at + N_ROW;
    asked->evaluation.d_prediction = at + 2 * N_ROW;
    if (noisy)
        asked->evaluation.d_noise = at + 2 * N_ROW + N_ROW * N_SENS;
    asked->adjoint.gradient = at + 2 * N_ROW + 2 * N_ROW * N_SENS;
    if (adjoint)
        asked->evaluation.adjoint = &asked->adjoint;
}

static void answer(struct asked *asked, enum kind kind, int number)
{
    struct evaluation *evaluation = &asked->evaluation;
    bool adjoint = evaluation->adjoint != NULL, failed = kind == FAILED || kind == SPENT || kind == LATE;
    evaluation->outcome = kind == FAILED ? EVALUATION_MODEL_FAILED : kind == SPENT ? EVALUATION_BUDGET
                          : kind == LATE ? EVALUATION_TIMEOUT : EVALUATION_OK;
    if (failed)
        snprintf(evaluation->reason, sizeof evaluation->reason, "the reason of %d%*s", number, number % 150, "");
    evaluation->t_reached = number / 3.0;
    evaluation->n_step = number * INT64_C(10000000000);
    evaluation->n_rhs = 2 + number;
    evaluation->n_jacobian = 3 + number;
    evaluation->n_factor = 4 + number;
    evaluation->crosses = number % 2 == 1;
    for (int i = 0; !failed && i < N_NUMBER; i++) {
        bool is_noise = i >= N_ROW && i < 2 * N_ROW, is_matrix = i >= 2 * N_ROW && i < N_NUMBER - N_SENS;
        bool is_d_noise = is_matrix && i >= 2 * N_ROW + N_ROW * N_SENS, is_gradient = i >= N_NUMBER - N_SENS;
        if ((is_noise && !evaluation->noise) || (is_matrix && (adjoint || evaluation->n_sens == 0)) ||
            (is_d_noise && !evaluation->d_noise) || (is_gradient && !adjoint))
            continue; /* not part of such an answer */
        asked->numbers[i] = (number + 1) / (i + 7.0);
    }
}

struct run_paths {
    char *journal, file[400];
    struct run_identity identity;
    struct replays replays;
    struct replay replay;
};

static void run_paths_init(struct run_paths *paths)
{
    memset(paths, 0, sizeof *paths);
    paths->journal = scratch_directory();
    paths->identity = example_identity(N_MODEL, 1);
    snprintf(paths->file, sizeof paths->file, "%s/answers/%d-0.log", paths->journal, FIT);
    assert_true(replays_init(&paths->replays, paths->journal, &paths->identity));
    replay_begin(&paths->replay, &paths->replays, FIT, N_MODEL, tasks, 3);
}

/* As in the next process. */
static void again(struct run_paths *paths)
{
    replays_look(&paths->replays, paths->journal, &paths->identity);
    replay_begin(&paths->replay, &paths->replays, FIT, N_MODEL, tasks, 3);
}

static void run_paths_fini(struct run_paths *paths)
{
    struct error error;
    replay_fini(&paths->replay);
    replays_fini(&paths->replays);
    assert_int_equal(answers_remove(paths->journal, &error), STATUS_OK);
    remove_scratch(paths->journal);
}

static bool has_file(const struct run_paths *paths) { return access(paths->file, F_OK) == 0; }

/* Answers `number` of each kind, as if computed at so many tenths of a second. */
static void compute(struct run_paths *paths, int number, int64_t elapsed_ns)
{
    struct asked asked;
    ask(&asked, (enum kind)(number % N_KIND), number);
    answer(&asked, (enum kind)(number % N_KIND), number);
    replay_keep(&paths->replay, &asked.evaluation, elapsed_ns);
}

static void expect(struct run_paths *paths, int number, int64_t elapsed_ns)
{
    struct asked asked, want;
    int64_t elapsed = -1;
    enum kind kind = (enum kind)(number % N_KIND);
    ask(&asked, kind, number);
    want = asked;
    answer(&want, kind, number);
    assert_true(replay_answer(&paths->replay, &(struct evaluation *){&asked.evaluation}, 1, &elapsed));
    assert_int_equal(elapsed, elapsed_ns);
    assert_int_equal(asked.evaluation.outcome, want.evaluation.outcome);
    assert_int_equal(asked.evaluation.crosses, want.evaluation.crosses);
    assert_string_equal(asked.evaluation.reason, want.evaluation.reason);
    assert_memory_equal(&asked.evaluation.t_reached, &want.evaluation.t_reached, sizeof(double));
    assert_memory_equal(&asked.evaluation.n_step, &want.evaluation.n_step, 4 * sizeof(int64_t));
    assert_memory_equal(asked.numbers, want.numbers, sizeof want.numbers); /* and what is no part of it stays 0 */
}

static void expect_unknown(struct run_paths *paths, int number)
{
    struct asked asked;
    int64_t elapsed;
    ask(&asked, (enum kind)(number % N_KIND), number);
    assert_false(replay_answer(&paths->replay, &(struct evaluation *){&asked.evaluation}, 1, &elapsed));
}

static void every_kind_of_answer_comes_back(void **state)
{
    (void)state;
    struct run_paths paths;
    run_paths_init(&paths);
    for (int i = 0; i < 3 * N_KIND; i++) {
        expect_unknown(&paths, i);
        compute(&paths, i, tenth * (i + 1));
    }
    again(&paths);
    for (int i = 0; i < 3 * N_KIND; i++)
        expect(&paths, i, tenth * (i + 1));
    expect_unknown(&paths, 3 * N_KIND);
    assert_int_equal(counter_get(&paths.replays.n_replayed), 3 * N_KIND);
    compute(&paths, 3 * N_KIND, tenth * (3 * N_KIND + 1));
    again(&paths);
    for (int i = 0; i < 3 * N_KIND + 1; i++)
        expect(&paths, i, tenth * (i + 1));
    replay_end(&paths.replay);
    assert_false(has_file(&paths));
    run_paths_fini(&paths);
}

static void change(struct asked *asked, int what)
{
    struct evaluation *evaluation = &asked->evaluation;
    switch (what) {
    case 0: asked->p[0] = 1.0 + DBL_EPSILON; break;
    case 1: asked->p[1] = 0.0; break; /* it was -0 */
    case 2: asked->p[2] *= 2; break;
    case 3: evaluation->n_sens = 1; break;
    case 4: evaluation->n_sens = 0; break;
    case 5: asked->sens[1] = 1; break;
    case 6: evaluation->max_steps = 999; break;
    case 7: evaluation->tighter = 10; break;
    case 8: evaluation->adjoint = &asked->adjoint; break;
    case 9: evaluation->noise = asked->numbers + N_ROW; break;
    case 10: evaluation->d_prediction = NULL; break;
    case 11: evaluation->d_noise = asked->numbers; break;
    case 12: evaluation->task = &tasks[1]; break;
    default: asked->evaluation.task = &tasks[2]; break;
    }
}

static void another_request_gets_no_answer_and_is_computed(void **state)
{
    (void)state;
    for (int what = 0; what < 14; what++) {
        struct run_paths paths;
        struct asked asked;
        int64_t elapsed;
        run_paths_init(&paths);
        for (int i = 0; i < 4; i++) {
            ask(&asked, DERIVATIVES, i == 2 ? 0 : i);
            answer(&asked, DERIVATIVES, i);
            replay_keep(&paths.replay, &asked.evaluation, tenth * (i + 1));
        }
        again(&paths);
        for (int i = 0; i < 2; i++) {
            ask(&asked, DERIVATIVES, i);
            assert_true(replay_answer(&paths.replay, &(struct evaluation *){&asked.evaluation}, 1, &elapsed));
        }
        ask(&asked, DERIVATIVES, 0);
        change(&asked, what);
        assert_false(replay_answer(&paths.replay, &(struct evaluation *){&asked.evaluation}, 1, &elapsed));
        ask(&asked, DERIVATIVES, 0); /* from there on nothing is believed */
        assert_false(replay_answer(&paths.replay, &(struct evaluation *){&asked.evaluation}, 1, &elapsed));
        answer(&asked, DERIVATIVES, 77);
        replay_keep(&paths.replay, &asked.evaluation, tenth * 9);
        again(&paths);
        for (int i = 0; i < 3; i++) {
            ask(&asked, DERIVATIVES, i % 2);
            assert_true(replay_answer(&paths.replay, &(struct evaluation *){&asked.evaluation}, 1, &elapsed));
        }
        assert_int_equal(asked.evaluation.n_rhs, 79);
        assert_int_equal(elapsed, tenth * 9);
        ask(&asked, DERIVATIVES, 3);
        assert_false(replay_answer(&paths.replay, &(struct evaluation *){&asked.evaluation}, 1, &elapsed));
        run_paths_fini(&paths);
    }
}

static void quick_fits_have_no_file(void **state)
{
    (void)state;
    struct run_paths paths;
    run_paths_init(&paths);
    for (int i = 0; i < 50; i++)
        compute(&paths, i, tenth / 51 * i);
    assert_false(has_file(&paths));
    replay_leave(&paths.replay, tenth - 1);
    assert_false(has_file(&paths));
    replay_leave(&paths.replay, tenth); /* given up in the middle, as at a stop */
    assert_true(has_file(&paths));
    again(&paths);
    for (int i = 0; i < 50; i++)
        expect(&paths, i, tenth / 51 * i);
    run_paths_fini(&paths);
}

static void the_file_is_written_once_in_a_tenth_of_a_second(void **state)
{
    (void)state;
    struct run_paths paths;
    run_paths_init(&paths);
    for (int i = 0; i < 25; i++)
        compute(&paths, i, tenth / 10 * (i + 1)); /* written behind the 10th and the 20th */
    again(&paths);
    for (int i = 0; i < 20; i++)
        expect(&paths, i, tenth / 10 * (i + 1));
    expect_unknown(&paths, 20);
    run_paths_fini(&paths);
}

/* Rows enough that few answers fill the memory. */
static void keep_large(struct run_paths *paths, int n, int64_t each_ns)
{
    enum { N = 4096 };
    double *numbers = calloc(N, sizeof *numbers), p[N_MODEL] = {1, 2, 3};
    const struct ode_task task = {.n_row = N};
    replay_begin(&paths->replay, &paths->replays, FIT, N_MODEL, &task, 1);
    for (int i = 0; i < n; i++) {
        const struct evaluation evaluation = {.task = &task, .p = p, .prediction = numbers};
        replay_keep(&paths->replay, &evaluation, each_ns * (i + 1));
    }
    free(numbers);
}

static void large_answers_are_kept_as_far_as_they_are_worth_it(void **state)
{
    (void)state;
    struct run_paths paths;
    run_paths_init(&paths);
    keep_large(&paths, 100, 100000); /* 32 KiB each 0.1 ms: computing them anew is as quick */
    assert_false(has_file(&paths));
    assert_null(paths.replay.answers.folder);
    assert_true(paths.replay.answers.capacity <= 1 << 20);
    keep_large(&paths, 100, 5000000); /* each 5 ms */
    assert_true(has_file(&paths));
    assert_true(paths.replay.answers.capacity <= 1 << 20);
    run_paths_fini(&paths);
}

static void what_depends_on_the_moment_is_not_kept(void **state)
{
    (void)state;
    struct run_paths paths;
    struct asked asked;
    run_paths_init(&paths);
    compute(&paths, 0, tenth);
    ask(&asked, DERIVATIVES, 1);
    asked.evaluation.outcome = EVALUATION_NO_MEMORY;
    replay_keep(&paths.replay, &asked.evaluation, 2 * tenth);
    compute(&paths, 1, 3 * tenth);
    again(&paths);
    expect(&paths, 0, tenth);
    expect(&paths, 1, 3 * tenth);
    expect_unknown(&paths, 2);
    run_paths_fini(&paths);
}

/* Three are asked for at once and answered last to first; the next process gets two of them and computes the third. */
static void answers_in_any_order(void **state)
{
    (void)state;
    struct run_paths paths;
    struct asked asked[3];
    struct evaluation *const all[3] = {&asked[0].evaluation, &asked[1].evaluation, &asked[2].evaluation};
    int64_t elapsed;
    run_paths_init(&paths);
    for (int i = 2; i > 0; i--)
        compute(&paths, i, tenth * (4 - i));
    again(&paths);
    for (int i = 0; i < 3; i++)
        ask(&asked[i], (enum kind)i, i);
    assert_true(replay_answer(&paths.replay, all, 3, &elapsed));
    assert_true(asked[2].evaluation.is_finished && !asked[1].evaluation.is_finished);
    assert_int_equal(asked[2].evaluation.n_rhs, 4);
    assert_true(replay_answer(&paths.replay, all, 3, &elapsed));
    assert_true(asked[1].evaluation.is_finished && !asked[0].evaluation.is_finished);
    assert_int_equal(asked[1].evaluation.n_rhs, 3);
    assert_false(replay_answer(&paths.replay, all, 3, &elapsed));
    run_paths_fini(&paths);
}

static void trouble_is_told_once_and_stops_nothing(void **state)
{
    (void)state;
    struct run_paths paths;
    struct error error;
    char path[300];
    run_paths_init(&paths);
    snprintf(path, sizeof path, "%s/answers", paths.journal);
    FILE *file = fopen(path, "w"); /* in the folder's place */
    assert_non_null(file);
    fclose(file);
    assert_false(replays_tell(&paths.replays, &error));
    for (int i = 0; i < 5; i++) {
        compute(&paths, i, tenth * (i + 1));
        replay_begin(&paths.replay, &paths.replays, FIT + 1 + (uint64_t)i, N_MODEL, tasks, 3);
    }
    assert_true(replays_tell(&paths.replays, &error));
    assert_non_null(strstr(error.message, path));
    assert_false(replays_tell(&paths.replays, &error));
    assert_null(paths.replay.answers.folder); /* nothing is tried any more */
    unlink(path);
    run_paths_fini(&paths);
}

static void without_a_place_there_is_nothing(void **state)
{
    (void)state;
    struct replay replay = {0};
    struct asked asked;
    int64_t elapsed;
    replay_begin(&replay, NULL, FIT, N_MODEL, tasks, 3);
    ask(&asked, DERIVATIVES, 1);
    assert_false(replay_answer(&replay, &(struct evaluation *){&asked.evaluation}, 1, &elapsed));
    answer(&asked, DERIVATIVES, 1);
    replay_keep(&replay, &asked.evaluation, 5 * tenth);
    replay_leave(&replay, 5 * tenth);
    replay_end(&replay);
    replay_fini(&replay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_answer_comes_back),
        cmocka_unit_test(another_request_gets_no_answer_and_is_computed),
        cmocka_unit_test(quick_fits_have_no_file),
        cmocka_unit_test(the_file_is_written_once_in_a_tenth_of_a_second),
        cmocka_unit_test(large_answers_are_kept_as_far_as_they_are_worth_it),
        cmocka_unit_test(what_depends_on_the_moment_is_not_kept),
        cmocka_unit_test(answers_in_any_order),
        cmocka_unit_test(trouble_is_told_once_and_stops_nothing),
        cmocka_unit_test(without_a_place_there_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
