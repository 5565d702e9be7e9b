/* The options of `stiffit run`: what help calls a default is the default, and what a file may set is what a fit depends on.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run/plan/recipe_text.h"
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

/* A value of the option that is not its default. */
static const char *other_value(const struct option *option)
{
    size_t n = 0;
    switch (option->kind) {
    case OPTION_FLAG:
        return "1";
    case OPTION_CHOICE:
        while (option->choice[n + 1])
            n++;
        return strcmp(option->choice[n], option->default_text) ? option->choice[n] : option->choice[0];
    case OPTION_NUMBER:
        return "0.05";
    case OPTION_STRING:
        return !strcmp(option->name, "shard") ? "1/2" : "x";
    default:
        return "7";
    }
}

/* Every option of the table is changed: what is described changes where its row says that results do, and only there, and the
 * description reads back as what it describes. */
static void the_description_follows_the_table(void **state)
{
    (void)state;
    static const struct recipe_uses none;
    struct recipe_uses all = {true, true, {false}};
    static struct option_words words;
    struct option_table table = run_options_table();
    char before[RECIPE_TEXT], now[RECIPE_TEXT], again[RECIPE_TEXT], bare[RECIPE_TEXT];
    size_t n_conditional = 0, n_tuned = 0;
    for (int k = 0; k < N_ERROR; k++) {
        all.error[k] = true;
        n_tuned += error_tuning[k].option != NULL;
    }
    options = run_options_default;
    options.recipe.fit.max_evaluations = 1000; /* 0.1.0's default */
    recipe_print(&options.recipe, &all, before);
    recipe_print(&options.recipe, &none, bare);
    assert_string_equal(bare, "stiffit=0.1.0 starts=1 rtol=1e-07 atol=auto linear-solver=auto error=normal "
                        "optimizer=auto gradient=auto ftol=1e-09 gtol=1e-06 max-evaluations=1000 max-steps=100000 "
                        "max-total-steps=10000000 max-seconds=inf"); /* as 0.1.0 has it */
    for (size_t i = 0; i < table.n; i++) {
        const struct option *option = &table.option[i];
        const char *const no_text = NULL;
        bool is_text = option->kind == OPTION_STRING;
        char word[100];
        char *argument[] = {word};
        struct recipe back;
        struct recipe_uses counted;
        snprintf(word, sizeof word, option->kind == OPTION_FLAG ? "--%s" : "--%s=%s", option->name, other_value(option));
        options = run_options_default;
        options.recipe.fit.max_evaluations = 1000;
        assert_int_equal(option_parse(table, &options, &words, 1, 1, argument, &error), STATUS_OK);
        assert_in_range(option->effect, RUN_SHOWN, RUN_REFITS);
        recipe_print(&options.recipe, &all, now);
        assert_int_equal(strcmp(now, before) != 0, option->effect >= RUN_FITS);
        if (is_text) /* names may be told by a hash, devices are this machine's */
            memcpy((char *)&options + option->offset, &no_text, sizeof no_text);
        recipe_read(&back, &counted, now);
        recipe_print(&options.recipe, &counted, now);
        recipe_print(&back, &counted, again);
        assert_string_equal(again, now);
        back.seed = options.recipe.seed;
        back.ode.device_memory = options.recipe.ode.device_memory; /* this machine's, too */
        assert_memory_equal(&back, &options.recipe, sizeof back);
        recipe_print(&options.recipe, &none, now);
        n_conditional += option->effect >= RUN_FITS && !is_text && !strcmp(now, bare);
    }
    assert_int_equal(n_conditional, 2 + n_tuned); /* the fields of struct recipe_uses */
}

/* Giving every option its default_text changes nothing. */
static void defaults_are_what_help_says(void **state)
{
    (void)state;
    struct run_options untouched;
    struct option_table table = run_options_table();
    size_t n = 0;
    untouched = run_options_default;
    for (size_t i = 0; i < table.n; i++) {
        const struct option *option = &table.option[i];
        double number;
        bool is_value = option->kind == OPTION_CHOICE ||
                        (option->default_text && option_number(option->default_text, &number));
        options = run_options_default;
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
    assert_true(isinf(untouched.recipe.fit.max_seconds)); /* "no limit" */
    assert_int_equal(untouched.n_thread, 0);       /* all that this process may use */
}

/* What results depend on, and what is accepted of them. */
static void a_file_may_set_what_results_depend_on(void **state)
{
    (void)state;
    struct option_table table = run_options_table();
    options = run_options_default;
    for (size_t i = 0; i < table.n; i++) {
        const struct option *option = &table.option[i];
        bool may = option->effect >= RUN_FITS || !strcmp(option->name, "seed") || !strcmp(option->name, "accept-failed") ||
                   !strcmp(option->name, "strict") || !strcmp(option->name, "max-crashes");
        assert_int_equal(option->in_file, may);
        assert_int_equal(run_options_apply(&options, option->name, other_value(option), &error),
                         may ? STATUS_OK : STATUS_USAGE);
    }
    assert_int_equal(options.recipe.error, N_ERROR - 1); /* the last word */
    assert_int_equal(options.recipe.ode.linear_solver, LINEAR_KLU);
    assert_true(options.recipe.ode.rtol == 0.05);
    assert_true(options.shown.accept_failed.value == 7 && !options.shown.accept_failed.percent);
}

static void the_command_line_goes_before_the_file(void **state)
{
    (void)state;
    assert_int_equal(parse("x.h5", "--starts=7", "--accept-failed=2%"), STATUS_OK);
    assert_int_equal(run_options_apply(&options, "starts", "3", &error), STATUS_OK);
    assert_int_equal(run_options_apply(&options, "accept_failed", "3", &error), STATUS_OK);
    assert_int_equal(run_options_apply(&options, "seed", "3", &error), STATUS_OK);
    assert_int_equal(options.recipe.n_start, 7);
    assert_true(options.shown.accept_failed.value == 2 && options.shown.accept_failed.percent);
    assert_int_equal(options.recipe.seed, 3);
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
    assert_true(options.recipe.seed == INT64_MAX);
    assert_int_equal(parse(NULL, NULL, NULL), STATUS_USAGE);
    assert_int_equal(parse("x.h5", "--in-place", "-oy.h5"), STATUS_USAGE);
    assert_int_equal(parse("--help", NULL, NULL), STATUS_OK);
    assert_true(help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_what_help_says),
        cmocka_unit_test(the_description_follows_the_table),
        cmocka_unit_test(a_file_may_set_what_results_depend_on),
        cmocka_unit_test(the_command_line_goes_before_the_file),
        cmocka_unit_test(limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
