/* Tables of options: every way to write an option, limits, nearest matches, and what a file may set.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/option.h"
#include "base/words.h"

#include <locale.h>
#include <math.h>

struct sample {
    bool loud, quiet;
    int64_t n;
    double rate;
    const char *name, *only;
    int color;
    struct option_share share;
    struct option_list set;
};

static const char *const colors[] = {"red", "green", "blue", NULL};

#define FIELD(name) offsetof(struct sample, name)

static const struct option table[] = {
    {.name = "loud", .letter = 'l', .kind = OPTION_FLAG, .offset = FIELD(loud)},
    {.name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = FIELD(quiet), .in_file = true},
    {.name = "number", .letter = 'n', .kind = OPTION_INTEGER, .offset = FIELD(n), .min = -5, .max = 100, .in_file = true},
    {.name = "max-rate", .letter = 'r', .kind = OPTION_NUMBER, .offset = FIELD(rate), .min = 0, .max = INFINITY,
     .above_min = true, .in_file = true},
    {.name = "name", .kind = OPTION_STRING, .offset = FIELD(name)},
    {.name = "color", .letter = 'c', .kind = OPTION_CHOICE, .offset = FIELD(color), .choice = colors, .in_file = true},
    {.name = "accept", .kind = OPTION_COUNT_OR_PERCENT, .offset = FIELD(share), .min = 0, .max = INFINITY, .in_file = true},
    {.name = "set", .letter = 's', .kind = OPTION_LIST, .offset = FIELD(set)},
    {.name = "only", .kind = OPTION_STRING, .metavar = "ID[,ID...]", .offset = FIELD(only)},
};

static struct sample sample;
static struct option_words words;
static struct error error;

static enum status parse(size_t max_positional, const char *a, const char *b, const char *c, const char *d)
{
    const char *all[] = {a, b, c, d};
    int argc = 0;
    while (argc < 4 && all[argc])
        argc++;
    option_list_fini(&sample.set);
    memset(&sample, 0, sizeof sample);
    memset(&error, 0, sizeof error);
    return option_parse(OPTION_TABLE(table), &sample, &words, max_positional, argc, (char *const *)(uintptr_t)all, &error);
}

static void assert_usage(const char *expected)
{
    assert_int_equal(error.status, STATUS_USAGE);
    assert_string_equal(error.message, expected);
}

static void every_way_to_write_a_value(void **state)
{
    (void)state;
    static const char *const ways[][2] = {{"--number=7", NULL}, {"--number", "7"}, {"-n7", NULL}, {"-n", "7"}, {"-n=7", NULL}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        assert_int_equal(parse(0, ways[i][0], ways[i][1], NULL, NULL), STATUS_OK);
        assert_int_equal(sample.n, 7);
        assert_int_equal(words.given, 1 << 2);
    }
    assert_int_equal(parse(0, "-n", "-3", "--number", "1e2"), STATUS_OK);
    assert_int_equal(sample.n, 100); /* the last one counts */
    assert_int_equal(parse(0, "--only=a,b", "--only", "c", NULL), STATUS_USAGE); /* the first words would be dropped */
    assert_usage("--only is given twice: write --only a,b,c");
    assert_int_equal(parse(0, "-lqn5", NULL, NULL, NULL), STATUS_OK);
    assert_true(sample.loud && sample.quiet && sample.n == 5);
    assert_int_equal(words.given, 7);
    assert_int_equal(parse(0, "--name=", "--color", "blue", NULL), STATUS_OK);
    assert_string_equal(sample.name, "");
    assert_int_equal(sample.color, 2);
    assert_int_equal(parse(0, "--name", "--color", NULL, NULL), STATUS_OK); /* a value may look like an option */
    assert_string_equal(sample.name, "--color");
}

static void words_between_options(void **state)
{
    (void)state;
    assert_int_equal(parse(3, "a", "-l", "-", "--"), STATUS_OK);
    assert_int_equal(words.n_positional, 2);
    assert_string_equal(words.positional[1], "-");
    assert_int_equal(parse(3, "--", "-l", "--help", NULL), STATUS_OK);
    assert_int_equal(words.n_positional, 2);
    assert_false(sample.loud || words.help);
    assert_int_equal(parse(1, "a", "b", NULL, NULL), STATUS_USAGE);
    assert_usage("unexpected argument 'b'");
}

static void help_goes_before_faults(void **state)
{
    (void)state;
    assert_int_equal(parse(0, "--nonsense", "--help", NULL, NULL), STATUS_OK);
    assert_true(words.help);
    assert_int_equal(parse(0, "-h", NULL, NULL, NULL), STATUS_OK);
    assert_true(words.help);
    assert_int_equal(parse(0, "-l", NULL, NULL, NULL), STATUS_OK);
    assert_false(words.help);
}

static void faults_name_the_nearest_match(void **state)
{
    (void)state;
    parse(0, "--colour=red", NULL, NULL, NULL);
    assert_usage("unknown option --colour\nDid you mean --color?");
    parse(0, "--zzzzzz", NULL, NULL, NULL);
    assert_usage("unknown option --zzzzzz");
    parse(0, "--color", "gren", NULL, NULL);
    assert_usage("--color: 'gren' is not one of red, green, blue\nDid you mean green?");
    parse(0, "-x", NULL, NULL, NULL);
    assert_usage("unknown option -x");
    parse(0, "--numb", "4", NULL, NULL); /* no abbreviations */
    assert_usage("unknown option --numb\nDid you mean --number?");
}

static void faults_of_values(void **state)
{
    (void)state;
    static const struct { const char *option, *value, *message; } cases[] = {
        {"--number", "101", "--number: '101' is not a whole number of at least -5 and at most 100"},
        {"--number", "-6", "--number: '-6' is not a whole number of at least -5 and at most 100"},
        {"--number", "1.5", "--number: '1.5' is not a whole number of at least -5 and at most 100"},
        {"--number", "", "--number: '' is not a whole number of at least -5 and at most 100"},
        {"--number", "99999999999999999999", "--number: '99999999999999999999' is not a whole number of at least -5 and at "
         "most 100"},
        {"--max-rate", "0", "--max-rate: '0' is not a number above 0"},
        {"--max-rate", "nan", "--max-rate: 'nan' is not a number above 0"},
        {"--max-rate", "1e999", "--max-rate: '1e999' is not a number above 0"},
        {"--max-rate", "1,5", "--max-rate: '1,5' is not a number above 0"},
        {"--accept", "1.5", "--accept: '1.5' is not a whole number or a percentage (such as 5 or 0.1%) of at least 0"},
        {"--accept", "101%", "--accept: '101%' is not a whole number or a percentage (such as 5 or 0.1%) of at least 0"},
        {"--accept", "%", "--accept: '%' is not a whole number or a percentage (such as 5 or 0.1%) of at least 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        parse(0, cases[i].option, cases[i].value, NULL, NULL);
        assert_usage(cases[i].message);
    }
    parse(0, "-n", NULL, NULL, NULL);
    assert_usage("--number needs a value (N)");
    parse(0, "--loud=1", NULL, NULL, NULL);
    assert_usage("--loud takes no value");
}

static void shares_lists_and_infinity(void **state)
{
    (void)state;
    assert_int_equal(parse(0, "--accept=0.5%", "-sa=1", "-s", "b=2"), STATUS_OK);
    assert_true(sample.share.percent && sample.share.value == 0.5);
    assert_int_equal(sample.set.n, 2);
    assert_string_equal(sample.set.item[0], "a=1");
    assert_string_equal(sample.set.item[1], "b=2");
    assert_int_equal(parse(0, "--accept", "12", "--max-rate=inf", NULL), STATUS_OK);
    assert_true(!sample.share.percent && sample.share.value == 12 && isinf(sample.rate));
    option_list_fini(&sample.set);
}

/* With a comma as the decimal sign, strtod would stop at the point. The locale need not exist on this machine. */
static void numbers_do_not_depend_on_the_locale(void **state)
{
    (void)state;
    double value = 0;
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C.UTF-8"};
    for (size_t i = 0; i < sizeof locales / sizeof *locales; i++)
        if (setlocale(LC_ALL, locales[i]))
            break;
    bool good = option_number("1.5e-3", &value);
    setlocale(LC_ALL, "C");
    assert_true(good);
    assert_true(value == 1.5e-3);
}

static void options_from_a_file(void **state)
{
    (void)state;
    const struct option_table t = OPTION_TABLE(table);
    memset(&sample, 0, sizeof sample);
    assert_int_equal(option_apply(t, &sample, 0, "max_rate", "2.5", &error), STATUS_OK);
    assert_true(sample.rate == 2.5);
    assert_int_equal(option_apply(t, &sample, 1 << 3, "max-rate", "3", &error), STATUS_OK);
    assert_true(sample.rate == 2.5); /* the command line has given it */
    assert_int_equal(option_apply(t, &sample, 0, "quiet", "1", &error), STATUS_OK);
    assert_true(sample.quiet);
    assert_int_equal(option_apply(t, &sample, 0, "quiet", "yes", &error), STATUS_USAGE);
    assert_int_equal(option_apply(t, &sample, 0, "number", "1000", &error), STATUS_USAGE);
    assert_int_equal(option_apply(t, &sample, 0, "loud", "1", &error), STATUS_USAGE);
    assert_non_null(strstr(error.message, "on the command line only"));
    assert_int_equal(option_apply(t, &sample, 0, "max_rat", "1", &error), STATUS_USAGE);
    assert_string_equal(error.message, "there is no option 'max_rat'; did you mean 'max-rate'?");
}

static void nearest_names(void **state)
{
    (void)state;
    static const char *const names[] = {"dose", "temperature", NULL, "k_on", "k_off"};
    const size_t n = sizeof names / sizeof *names;
    assert_string_equal(nearest_name("Dose", names, n), "dose");
    assert_string_equal(nearest_name("dsoe", names, n), "dose");
    assert_string_equal(nearest_name("temprature", names, n), "temperature");
    assert_string_equal(nearest_name("temp", names, n), "temperature");
    assert_string_equal(nearest_name("k_of", names, n), "k_off");
    assert_string_equal(nearest_name("k-on", names, n), "k_on");
    assert_null(nearest_name("pressure", names, n));
    assert_null(nearest_name("", names, n));
    char longest[5000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_null(nearest_name(longest, names, n));
}

/* As sbatch's manual lists them, but for plain numbers, which are seconds here. */
static void test_durations(void **state)
{
    (void)state;
    static const struct { const char *text; double seconds; } good[] = {
        {"90", 90}, {"0.5", 0.5}, {"1e3", 1000}, {"1:30", 90}, {"90:00", 5400}, {"2:00:00", 7200}, {"1-0", 86400},
        {"1-12", 129600},
        {"2-12:30", 217800}, {"2-12:30:05", 217805}, {"00:00:01", 1}, {"inf", INFINITY}};
    static const char *const bad[] = {"", ":", "1:", ":1", "1-", "-1", "-", "1:2:3:4", "1-2:3:4:5", "1-2-3", "1:2-3", "1.5:00",
                                      "x", "1d", "1:x", "nan", "1:00s", "99999999999999999999:00"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(option_duration(good[i].text) == good[i].seconds);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_true(option_duration(bad[i]) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations),
        cmocka_unit_test(every_way_to_write_a_value),
        cmocka_unit_test(words_between_options),
        cmocka_unit_test(help_goes_before_faults),
        cmocka_unit_test(faults_name_the_nearest_match),
        cmocka_unit_test(faults_of_values),
        cmocka_unit_test(shares_lists_and_infinity),
        cmocka_unit_test(numbers_do_not_depend_on_the_locale),
        cmocka_unit_test(options_from_a_file),
        cmocka_unit_test(nearest_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
