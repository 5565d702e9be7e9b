/* Options and plans as other processes get them: to the bit, or not at all.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../journal_helpers.h"
#include "run/plan/run_plan.h"
#include "run/supervise/board.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct error error;

static enum status parse(struct run_options *options, const char *const *words, int n)
{
    bool help;
    return run_options_parse(options, n, (char *const *)(uintptr_t)words, &help, &error);
}

/* Every option, one by one, and what only goes with another: through the memory of a supervisor. */
static void options_come_back(void **state)
{
    (void)state;
    static const char *const words[][2] = {
        {"-ox y.h5", NULL}, {"--in-place", NULL}, {"--overwrite", NULL}, {"--restart", NULL}, {"--retry-failed", NULL},
        {"--only=a,b c", NULL}, {"--shard=3/8", "--cost-from=r.h5"}, {"-mx.ode", "--portable"}, {"--trust", "-j3"},
        {"--starts=7", "--seed=9223372036854775807"}, {"--warm-start=pilot", "--profile=all"},
        {"--bootstrap=40", "--bootstrap-kind=parametric"}, {"--keep-starts", "--keep-profile"}, {"--keep-bootstrap", NULL},
        {"--share=k", "--max-step=0.5"}, {"--share=k", "--leave-out-failed"},
        {"--random=k,V", "--random-covariance=diagonal"}, {"--likelihood-error=0.2", NULL},
        {"--likelihood=laplace", "--random-deviation=k=0.3"},
        {"--accept-failed=0.1%", NULL}, {"--accept-failed=3", NULL}, {"--rtol=3e-9", "--atol=0.1"},
        {"--linear-solver=klu", "--error=huber"}, {"--huber-k=2", "--student-nu=5.5"},
        {"--optimizer=lbfgs", "--engine=cvodes"},
        {"--gradient=adjoint", "--ftol=0"}, {"--gtol=1e-7", "--certify=no"}, {"--max-evaluations=5", "--max-steps=6"},
        {"--max-total-steps=1e6", "--max-seconds=0.3"}, {"--time-limit=1-00:00:01", "--max-crashes=0"},
        {"--trace=-", "--only=a"}, {"--json", "-q"},
        {"--evaluate", NULL}, {"--engine=gpu", "--devices=0"}, {"--engine=gpu", "--device-memory=512"},
        {"--strict", NULL}, {"--progress=never", "--color=always"},
        {"--", "-p.h5"}};
    const struct option_table table = run_options_table();
    uint64_t seen = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *given[] = {words[i][0], words[i][1], "p.h5"};
        bool has_dash = !strcmp(words[i][0], "--");
        if (!words[i][1])
            given[1] = "p.h5";
        struct run_options before, after;
        size_t n_byte;
        assert_int_equal(parse(&before, given, words[i][1] && !has_dash ? 3 : 2), STATUS_OK);
        before.command_line = "stiffit run";
        unsigned char *bytes = run_options_bytes(&before, &n_byte);
        struct board *board = bytes ? board_new(bytes, n_byte) : NULL;
        assert_non_null(board);
        assert_true(run_options_take(&after));
        for (size_t k = 0; k < table.n; k++)
            assert_true(option_is_same(&table.option[k], &before, &after));
        assert_string_equal(after.problem, has_dash ? "-p.h5" : "p.h5");
        assert_string_equal(after.command_line, "stiffit run");
        assert_int_equal(after.select.shard.k, before.select.shard.k);
        assert_true(after.given == before.given);
        seen |= after.given;
        free(after.memory);
        board_free(board);
        for (size_t n = 0; n < n_byte; n += 7) { /* of another program, or cut short */
            board = board_new(bytes, n);
            assert_non_null(board);
            assert_false(run_options_take(&after));
            free(after.memory);
            board_free(board);
        }
        free(bytes);
    }
    for (size_t k = 0; k < table.n; k++)
        assert_true(seen >> k & 1);
    struct run_options none;
    assert_false(run_options_take(&none));
    free(none.memory);
}

static const char *const names[] = {"k", "V", ""}, *const texts[] = {"a fact", ""};
static const struct result_header header = {
    .n_parameter = 3, .parameter_name = names, .parameter_scale = names, .parameter_unit = names,
    .objective_kind = "half_sum_of_squares", .provenance = {2, texts, texts}};

static struct run_plan example_plan(struct run_options *options)
{
    static const char *const words[] = {"folder/p.h5", "--starts=3", "--rtol=1e-9", "--in-place", "-q", "--profile=k"};
    struct run_plan plan = {.identity = example_identity(3, 3)};
    assert_int_equal(parse(options, words, 6), STATUS_OK);
    plan.selection.n_dataset = plan.identity.n_dataset;
    plan.selection.bit = calloc((size_t)plan.identity.n_dataset / 8 + 1, 1);
    assert_non_null(plan.selection.bit);
    plan.selection.bit[0] = 1 << 1 | 1 << 4;
    strcpy(plan.identity.selection, "only=2:abc");
    return plan;
}

/* As a process that computes begins its file of the journal. */
static void begin(const char *directory, const struct run_plan *plan, const unsigned char *bytes, size_t n)
{
    struct journal *journal;
    assert_int_equal(journal_open(&journal, directory, &plan->identity, bytes, n, &error), STATUS_OK);
    journal_close(journal);
}

static enum status read_plan(struct run_plan *plan, const char *directory)
{
    struct journal_reader *reader = read_journal(directory, NULL);
    enum status status = run_plan_read(plan, reader, directory, &error);
    journal_reader_free(reader);
    return status;
}

static void a_plan_comes_back(void **state)
{
    (void)state;
    char *directory = scratch_directory();
    struct run_options options;
    struct run_plan plan = example_plan(&options), back;
    size_t n;
    unsigned char *bytes = run_plan_encode(&plan, &options, &header, &n);
    assert_non_null(bytes);
    begin(directory, &plan, bytes, n);
    assert_int_equal(read_plan(&back, directory), STATUS_OK);
    assert_true(identity_equal(&back.identity, &plan.identity));
    assert_true(back.recipe.n_start == 3 && back.recipe.ode.rtol == 1e-9 && back.shown.quiet && back.paths.in_place);
    assert_string_equal(back.recipe.profile, "k");
    assert_string_equal(back.paths.result, "folder/p.h5");
    assert_string_equal(back.paths.journal, "folder/p.h5.journal");
    assert_string_equal(back.selection.text, "only=2:abc");
    assert_true(back.selection.n == 2 && selection_has(&back.selection, 4) && !selection_has(&back.selection, 0));
    assert_string_equal(back.header.objective_kind, "half_sum_of_squares");
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(back.header.parameter_unit[i], names[i]);
    assert_string_equal(provenance_fact(&back.header.provenance, "a fact"), "a fact");
    run_plan_fini(&back);
    options.recipe.n_start = 4; /* of a process that begins later, which counts */
    unsigned char *later = run_plan_encode(&plan, &options, &header, &n);
    begin(directory, &plan, later, n);
    begin(directory, &plan, NULL, 0);
    assert_int_equal(read_plan(&back, directory), STATUS_OK);
    assert_true(back.recipe.n_start == 4);
    run_plan_fini(&back);
    free(later);
    free(bytes);
    run_plan_fini(&plan);
    remove_scratch(directory);
}

/* Cut short, or laid out by another program; what damages a file is the journal's business. */
static void a_plan_that_is_not_ours_is_refused(void **state)
{
    (void)state;
    struct run_options options;
    struct run_plan plan = example_plan(&options), back;
    size_t n;
    unsigned char *bytes = run_plan_encode(&plan, &options, &header, &n);
    for (size_t cut = 0; cut < n; cut += cut < 2000 ? 37 : 40009) {
        char *directory = scratch_directory();
        begin(directory, &plan, bytes, cut);
        assert_int_equal(read_plan(&back, directory), STATUS_SYSTEM);
        run_plan_fini(&back);
        remove_scratch(directory);
    }
    bytes[0] ^= 1; /* the options' layout */
    char *directory = scratch_directory();
    begin(directory, &plan, bytes, n);
    assert_int_equal(read_plan(&back, directory), STATUS_SYSTEM);
    assert_non_null(strstr(error.message, "another version"));
    run_plan_fini(&back);
    remove_scratch(directory);
    free(bytes);
    run_plan_fini(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_come_back),
        cmocka_unit_test(a_plan_comes_back),
        cmocka_unit_test(a_plan_that_is_not_ours_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
