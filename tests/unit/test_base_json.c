/* The JSON writer: exact texts; numbers are read back with strtod.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/json.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct output {
    char *text;
    size_t n;
    FILE *file;
    struct json json;
};

static struct output *begin(void)
{
    static struct output output;
    output.file = open_memstream(&output.text, &output.n);
    assert_non_null(output.file);
    json_begin(&output.json, output.file);
    return &output;
}

static void expect(struct output *output, const char *text)
{
    json_end(&output->json);
    fclose(output->file);
    assert_string_equal(output->text, text);
    free(output->text);
}

static void writes_groups(void **state)
{
    (void)state;
    struct output *o = begin();
    json_object_begin(&o->json, NULL);
    json_array_begin(&o->json, "a");
    json_integer(&o->json, NULL, -5);
    json_unsigned(&o->json, NULL, UINT64_MAX);
    json_boolean(&o->json, NULL, true);
    json_null(&o->json, NULL);
    json_array_end(&o->json);
    json_object_begin(&o->json, "b");
    json_object_end(&o->json);
    json_array_begin(&o->json, "c");
    json_array_begin(&o->json, NULL);
    json_array_end(&o->json);
    json_string(&o->json, NULL, NULL);
    json_array_end(&o->json);
    json_object_end(&o->json);
    expect(o, "{\n  \"a\": [\n    -5,\n    18446744073709551615,\n    true,\n    null\n  ],\n  \"b\": {},\n"
              "  \"c\": [\n    [],\n    null\n  ]\n}\n");
}

static void indents(void **state)
{
    (void)state;
    struct output *o = begin();
    json_object_begin(&o->json, NULL);
    json_array_begin(&o->json, "a");
    json_integer(&o->json, NULL, 1);
    json_integer(&o->json, NULL, 2);
    json_array_end(&o->json);
    json_array_begin(&o->json, "b");
    json_array_end(&o->json);
    json_object_end(&o->json);
    expect(o, "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": []\n}\n");
}

static void writes_single_values(void **state)
{
    (void)state;
    struct output *o = begin();
    json_string(&o->json, NULL, "x");
    expect(o, "\"x\"\n");
}

static void escapes_strings(void **state)
{
    (void)state;
    struct output *o = begin();
    json_string(&o->json, NULL, "\"\\/\b\f\n\r\t\x01\x1f\x7f end");
    expect(o, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f end\"\n");
}

static void passes_utf8_and_replaces_what_is_none(void **state)
{
    (void)state;
    /* Valid: 2, 3 and 4 bytes, the last code point. Invalid: a lone continuation, overlong forms, a surrogate, beyond
     * the last code point, sequences cut short in the middle and at the end. */
    const struct { const char *in, *out; } cases[] = {
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf",
         "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf"},
        {"a\x80z", "a\xef\xbf\xbdz"},
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xe0\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xff", "\xef\xbf\xbd"},
        {"\xe2\x82z", "\xef\xbf\xbd\xef\xbf\xbdz"},
        {"\xf0\x9f\x98", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc3", "\xef\xbf\xbd"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[100];
        struct output *o = begin();
        json_string(&o->json, NULL, cases[i].in);
        snprintf(text, sizeof text, "\"%s\"\n", cases[i].out);
        expect(o, text);
    }
}

static void writes_numbers_that_read_back(void **state)
{
    (void)state;
    const double values[] = {0.1, -1e-300, 5e-324, 1.7976931348623157e308, 1.0 / 3, 123456789, 0.0};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct output *o = begin();
        json_number(&o->json, NULL, values[i]);
        json_end(&o->json);
        fclose(o->file);
        double back = strtod(o->text, NULL);
        assert_memory_equal(&back, &values[i], sizeof back);
        free(o->text);
    }
}

static void has_no_number_for_what_is_none(void **state)
{
    (void)state;
    struct output *o = begin();
    json_array_begin(&o->json, NULL);
    json_number(&o->json, NULL, NAN);
    json_number(&o->json, NULL, INFINITY);
    json_number(&o->json, NULL, -INFINITY);
    json_array_end(&o->json);
    expect(o, "[\n  null,\n  null,\n  null\n]\n");
}

static void writes_a_point_in_any_locale(void **state)
{
    (void)state;
    const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    const char *set = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !set; i++)
        set = setlocale(LC_NUMERIC, names[i]);
    if (!set)
        skip();
    struct output *o = begin();
    json_number(&o->json, NULL, 0.5);
    expect(o, "0.5\n");
    setlocale(LC_NUMERIC, "C");
}

/* All that is open at the end is closed there. */
static void nests_to_its_limit(void **state)
{
    (void)state;
    struct output *o = begin();
    int n_begin = 0, n_end = 0;
    for (int i = 0; i < JSON_MAX_DEPTH; i++)
        json_array_begin(&o->json, NULL);
    json_array_end(&o->json);
    json_end(&o->json);
    fclose(o->file);
    for (const char *c = o->text; *c; c++) {
        n_begin += *c == '[';
        n_end += *c == ']';
        assert_true(strchr("[] \n", *c) != NULL);
    }
    assert_int_equal(n_begin, JSON_MAX_DEPTH);
    assert_int_equal(n_end, JSON_MAX_DEPTH);
    free(o->text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_groups),
        cmocka_unit_test(indents),
        cmocka_unit_test(writes_single_values),
        cmocka_unit_test(escapes_strings),
        cmocka_unit_test(passes_utf8_and_replaces_what_is_none),
        cmocka_unit_test(writes_numbers_that_read_back),
        cmocka_unit_test(has_no_number_for_what_is_none),
        cmocka_unit_test(writes_a_point_in_any_locale),
        cmocka_unit_test(nests_to_its_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
