/* The options of `stiffit run`: what help calls a default is the default, and what a file may set is what a fit depends on.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run/plan/run_options.h"

#include <math.h>

static struct run_options options;
static struct error error;
static bool help;

static enum status parse(const char *a, const char *b, const char *c)
{
    const char *all[] = {a, b, c};
    int argc = 0;
    while (argc < 3 && all[argc])
        argc++;
    return run_options_parse(&options, argc, (char *const *)(uintptr_t)all, &help, &error);
}

/* Giving every option its default_text changes nothing. */
static void defaults_are_what_help_says(void **state)
{
    (void)state;
    struct run_options untouched;
    struct option_table table = run_options_table();
    size_t n = 0;
    run_options_init(&untouched);
    for (size_t i = 0; i < table.n; i++) {
        const struct option *option = &table.option[i];
        double number;
        bool is_value = option->kind == OPTION_CHOICE ||
                        (option->default_text && option_number(option->default_text, &number));
        run_options_init(&options);
        if (option->kind == OPTION_FLAG || !is_value)
            continue;
        assert_non_null(option->default_text);
        char text[200];
        snprintf(text, sizeof text, "--%s=%s", option->name, option->default_text);
        assert_int_equal(parse("x.h5", text, NULL), STATUS_OK);
        options.problem = NULL;
        options.given = 0;
        assert_memory_equal(&options, &untouched, sizeof options);
        n++;
    }
    assert_true(n >= 13);
    assert_true(isinf(untouched.fit.max_seconds)); /* "no limit" */
    assert_int_equal(untouched.n_thread, 0);       /* all that this process may use */
}

/* The identity of a run is made of most of these: an option that is not among them must not change results. */
static void a_file_may_set_what_results_depend_on(void **state)
{
    (void)state;
    static const char *const allowed[][2] = {
        {"starts", "1"}, {"seed", "1"}, {"accept-failed", "1"}, {"rtol", "0.001"}, {"atol", "1"}, {"linear-solver", "klu"},
        {"error", "student"}, {"huber-k", "1"}, {"student-nu", "1"}, {"optimizer", "lbfgs"}, {"gradient", "forward"},
        {"ftol", "1"}, {"gtol", "1"}, {"certify", "no"}, {"max-evaluations", "1"}, {"max-steps", "1"}, {"max-total-steps", "1"},
        {"max-seconds", "1"}, {"portable", "1"}, {"warm-start", "pilot"}, {"profile", "k"}, {"bootstrap", "1"},
        {"bootstrap-kind", "parametric"}, {"keep-starts", "1"}, {"keep-profile", "1"}, {"keep-bootstrap", "1"},
        {"max-crashes", "1"}};
    struct option_table table = run_options_table();
    size_t n = 0;
    for (size_t i = 0; i < table.n; i++)
        n += table.option[i].in_file;
    assert_int_equal(n, sizeof allowed / sizeof *allowed);
    run_options_init(&options);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(run_options_apply(&options, allowed[i][0], allowed[i][1], &error), STATUS_OK);
    assert_int_equal(options.error, ERROR_STUDENT);
    assert_int_equal(options.ode.linear_solver, LINEAR_KLU);
    assert_true(options.ode.rtol == 0.001 && options.shown.accept_failed.value == 1 && !options.shown.accept_failed.percent);
    assert_int_equal(run_options_apply(&options, "trust", "1", &error), STATUS_USAGE); /* never from a data file */
    assert_int_equal(run_options_apply(&options, "model", "x.so", &error), STATUS_USAGE);
}

static void the_command_line_goes_before_the_file(void **state)
{
    (void)state;
    assert_int_equal(parse("x.h5", "--starts=7", "--accept-failed=2%"), STATUS_OK);
    assert_int_equal(run_options_apply(&options, "starts", "3", &error), STATUS_OK);
    assert_int_equal(run_options_apply(&options, "accept_failed", "3", &error), STATUS_OK);
    assert_int_equal(run_options_apply(&options, "seed", "3", &error), STATUS_OK);
    assert_int_equal(options.n_start, 7);
    assert_true(options.shown.accept_failed.value == 2 && options.shown.accept_failed.percent);
    assert_int_equal(options.seed, 3);
    assert_string_equal(options.problem, "x.h5");
}

static void limits(void **state)
{
    (void)state;
    static const char *const bad[] = {"--rtol=0", "--rtol=1", "--atol=0", "--atol=inf", "--ftol=-1", "--starts=0", "--seed=-1",
                                      "--threads=-1", "--max-seconds=0", "--max-steps=0", "--gtol=nan"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(parse("x.h5", bad[i], NULL), STATUS_USAGE);
    assert_int_equal(parse("x.h5", "--max-seconds=inf", "--seed=9223372036854775807"), STATUS_OK);
    assert_true(options.seed == INT64_MAX);
    assert_int_equal(parse(NULL, NULL, NULL), STATUS_USAGE);
    assert_int_equal(parse("x.h5", "--in-place", "-oy.h5"), STATUS_USAGE);
    assert_int_equal(parse("--help", NULL, NULL), STATUS_OK);
    assert_true(help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_what_help_says),
        cmocka_unit_test(a_file_may_set_what_results_depend_on),
        cmocka_unit_test(the_command_line_goes_before_the_file),
        cmocka_unit_test(limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
