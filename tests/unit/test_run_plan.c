/* Plans written into a journal's folder and read back: printing the options is the inverse of parsing them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../journal_helpers.h"
#include "run/plan/run_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct error error;

static enum status parse(struct run_options *options, const char *const *words, int n)
{
    bool help;
    return run_options_parse(options, n, (char *const *)(uintptr_t)words, &help, &error);
}

/* Every option, one by one, and what only goes with another. */
static void printed_options_are_parsed_again(void **state)
{
    (void)state;
    static const char *const words[][2] = {
        {"-ox y.h5", NULL}, {"--in-place", NULL}, {"--overwrite", NULL}, {"--restart", NULL}, {"--retry-failed", NULL},
        {"--only=a,b c", NULL}, {"--shard=3/8", "--cost-from=r.h5"}, {"-mx.ode", "--portable"}, {"--trust", "-j3"},
        {"--starts=7", "--seed=9223372036854775807"}, {"--warm-start=pilot", "--profile=all"},
        {"--bootstrap=40", "--bootstrap-kind=parametric"}, {"--keep-starts", "--keep-profile"}, {"--keep-bootstrap", NULL},
        {"--share=k", "--max-step=0.5"}, {"--share=k", "--leave-out-failed"},
        {"--random=k,V", "--random-covariance=diagonal"}, {"--likelihood=laplace", NULL},
        {"--accept-failed=0.1%", NULL}, {"--accept-failed=3", NULL}, {"--rtol=3e-9", "--atol=0.1"},
        {"--linear-solver=klu", "--error=huber"}, {"--huber-k=2", "--student-nu=5.5"},
        {"--optimizer=lbfgs", "--engine=cvodes"},
        {"--gradient=adjoint", "--ftol=0"}, {"--gtol=1e-7", "--certify=no"}, {"--max-evaluations=5", "--max-steps=6"},
        {"--max-total-steps=1e6", "--max-seconds=0.3"}, {"--time-limit=1-00:00:01", "--max-crashes=0"},
        {"--trace=-", "--only=a"}, {"--json", "-q"},
        {"--evaluate", NULL}, {"--strict", NULL}, {"--progress=never", "--color=always"},
        {"--", "-p.h5"}};
    const struct option_table table = run_options_table();
    uint64_t seen = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *given[] = {words[i][0], words[i][1], "p.h5"};
        bool has_dash = !strcmp(words[i][0], "--");
        if (!words[i][1])
            given[1] = "p.h5";
        struct run_options before, after;
        char *argv[8];
        size_t n_byte;
        int n = 0;
        assert_int_equal(parse(&before, given, words[i][1] && !has_dash ? 3 : 2), STATUS_OK);
        char *printed = run_options_words(&before, &n_byte);
        assert_non_null(printed);
        for (size_t at = 0; at < n_byte; at += strlen(printed + at) + 1)
            argv[n++] = printed + at;
        assert_int_equal(parse(&after, (const char *const *)argv, n), STATUS_OK);
        for (size_t k = 0; k < table.n; k++)
            assert_true(option_is_same(&table.option[k], &before, &after));
        assert_string_equal(after.problem, has_dash ? "-p.h5" : "p.h5");
        assert_int_equal(after.select.shard.k, before.select.shard.k);
        assert_int_equal(after.given & ~before.given, 0);
        seen |= after.given;
        free(printed);
    }
    for (size_t k = 0; k < table.n; k++)
        assert_true(seen >> k & 1);
}

static unsigned char *read_bytes(const char *path, size_t *n)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    *n = (size_t)about.st_size;
    unsigned char *bytes = calloc(*n + 1, 1);
    FILE *file = fopen(path, "rb");
    assert_true(bytes && file && fread(bytes, *n, 1, file) == 1);
    fclose(file);
    return bytes;
}

static void write_bytes(const char *path, const unsigned char *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(!n || fwrite(bytes, n, 1, file) == 1);
    assert_int_equal(fclose(file), 0);
}

static void assert_refused(const char *directory)
{
    struct run_plan plan;
    assert_int_equal(run_plan_read(&plan, directory, &error), STATUS_SYSTEM);
    run_plan_fini(&plan);
}

static void a_plan_comes_back(void **state)
{
    (void)state;
    static const char *const words[] = {"folder/p.h5", "--starts=3", "--rtol=1e-9", "--in-place", "-q", "--profile=k"};
    char *directory = scratch_directory(), path[4200];
    struct run_options options;
    struct run_plan plan = {.identity = example_identity(3, 3)}, back;
    assert_int_equal(parse(&options, words, 6), STATUS_OK);
    plan.paths.journal = strdup(directory);
    plan.selection.n_dataset = plan.identity.n_dataset;
    size_t n_bit = (size_t)plan.identity.n_dataset / 8 + 1;
    plan.selection.bit = calloc(n_bit, 1);
    assert_non_null(plan.selection.bit);
    plan.selection.bit[0] = 1 << 1 | 1 << 4;
    strcpy(plan.identity.selection, "only=2:abc");
    assert_int_equal(run_plan_write(&plan, &options, &error), STATUS_OK);
    assert_int_equal(run_plan_read(&back, directory, &error), STATUS_OK);
    assert_true(identity_equal(&back.identity, &plan.identity));
    assert_true(back.recipe.n_start == 3 && back.recipe.ode.rtol == 1e-9 && back.shown.quiet && back.paths.in_place);
    assert_string_equal(back.recipe.profile, "k");
    assert_string_equal(back.paths.result, "folder/p.h5");
    assert_string_equal(back.paths.journal, "folder/p.h5.journal");
    assert_string_equal(back.selection.text, "only=2:abc");
    assert_true(back.selection.n == 2 && selection_has(&back.selection, 4) && !selection_has(&back.selection, 0));
    run_plan_fini(&back);
    snprintf(path, sizeof path, "%s/" JOURNAL_PLAN, directory);
    assert_int_equal(run_plan_write(&plan, &options, &error), STATUS_OK);
    size_t size;
    unsigned char *bytes = read_bytes(path, &size);
    for (size_t n = 0; n < size; n += n < 1500 ? 37 : 4099) { /* cut short; one bit changed; and one byte more */
        write_bytes(path, bytes, n);
        assert_refused(directory);
        bytes[n] ^= 4;
        write_bytes(path, bytes, size);
        assert_refused(directory);
        bytes[n] ^= 4;
    }
    write_bytes(path, bytes, size + 1);
    assert_refused(directory);
    free(bytes);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_refused(directory);
    assert_int_equal(run_plan_write(&plan, &options, &error), STATUS_SYSTEM);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(run_plan_write(&plan, &options, &error), STATUS_OK);
    assert_int_equal(journal_remove(directory, &error), STATUS_OK); /* the plan belongs to it */
    assert_int_equal(run_plan_read(&back, directory, &error), STATUS_SYSTEM);
    run_plan_fini(&back);
    run_plan_fini(&plan);
    free(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printed_options_are_parsed_again),
        cmocka_unit_test(a_plan_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
