/* base/view: one view as text, JSON and HTML.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/view.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs those above */
#include <cmocka.h>

static char *text;
static size_t n_text;

static FILE *open_text(void)
{
    free(text);
    text = NULL;
    return open_memstream(&text, &n_text);
}

static const char *printed(const struct view *view, bool is_json)
{
    struct error error;
    FILE *file = open_text();
    assert_int_equal(view_put(view, is_json, file, &error), STATUS_OK);
    fclose(file);
    return text;
}

static const char *page_of(const struct view *view)
{
    FILE *file = open_text();
    view_page(view, file);
    fclose(file);
    return text;
}

/* Rows in an array, and a row behind the table that is an object of its own. */
static void test_table(void **state)
{
    (void)state;
    static const char *const id[] = {"A7", "B2"};
    struct view view = {.n = 0};
    view_group(&view, NULL, "Not printed: it is empty", VIEW_PLAIN);
    view_table(&view, "none", "Nor this", VIEW_PLAIN);
    view_end(&view);
    view_end(&view);
    view_table(&view, "rows", "Rows", VIEW_PLAIN);
    VIEW_ROW(&view, fact_word("name", "name", -6, "k"), fact_number("x", "x", 8, 3, 1.23456),
             fact_word(NULL, "note", -1, "<a>"),
             ((struct fact){"ids", "", .kind = FACT_EXAMPLES, .how = FACT_BELOW, .width = -1, .n = 2,
                            .names = id}));
    VIEW_ROW(&view, fact_word("name", "name", -6, "a longer name"),
             fact_number("x", "x", 8, 3, (double)NAN), fact_word(NULL, "note", -1, ""));
    VIEW_ROW(&view, fact_word(NULL, "", -6, "for people"));
    view_end(&view);
    view_row(&view, "last", VIEW_PLAIN);
    VIEW_FACTS(&view, fact_word(NULL, "", -6, "last"), fact_number("x", "x", 8, 3, 2));
    view_end(&view);
    assert_string_equal(printed(&view, false), "\nRows\n"
                                               "  name                 x  note\n"
                                               "  k                 1.23  <a>\n"
                                               "                          e.g. A7, B2\n"
                                               "  a longer name        -\n"
                                               "  for people\n"
                                               "  last                 2\n");
    assert_string_equal(printed(&view, true),
                        "{\n  \"none\": [],\n  \"rows\": [\n    {\n      \"name\": \"k\",\n"
                        "      \"x\": 1.23456,\n      \"ids\": [\n        \"A7\",\n        \"B2\"\n"
                        "      ]\n    },\n    {\n      \"name\": \"a longer name\",\n"
                        "      \"x\": null\n    }\n  ],\n  \"last\": {\n    \"x\": 2\n  }\n}\n");
    assert_string_equal(page_of(&view),
                        "<div class=scroll><table><caption>Rows</caption><thead><tr>"
                        "<th scope=col>name</th><th scope=col>x</th><th scope=col>note</th>"
                        "<th scope=col></th></tr></thead><tbody>\n"
                        "<tr><td class=id>k</td><td class=n>1.235</td><td>&lt;a&gt;</td>"
                        "<td>A7, B2</td></tr>\n"
                        "<tr><td class=id>a longer name</td><td class=n>&ndash;</td><td></td></tr>\n"
                        "<tr><td class=id>for people</td></tr>\n"
                        "<tr><td class=id>last</td><td class=n>2</td></tr>\n</tbody></table></div>\n");
    view_fini(&view);
}

static void test_long_tables_are_cut(void **state)
{
    (void)state;
    struct view view = {.n = 0};
    view_table(&view, "rows", NULL, VIEW_BARE);
    for (int i = 0; i < 103; i++)
        VIEW_ROW(&view, fact_count("i", "", 4, i));
    view_end(&view);
    assert_non_null(strstr(printed(&view, false), "    99\n  and 3 more (--json has all)\n"));
    assert_non_null(strstr(printed(&view, true), "\"i\": 102"));
    view_fini(&view);
}

static void test_listed(void **state)
{
    (void)state;
    static const char *const name[] = {"k", "A"};
    struct view view = {.n = 0};
    view_group(&view, NULL, NULL, VIEW_LISTED);
    VIEW_FACTS(&view, fact_count("datasets", "datasets", 0, 3),
               fact_names("parameters", "parameters", name, 2),
               fact_word("sha256", "sha256", 0, NULL));
    view_end(&view);
    assert_string_equal(printed(&view, false), "datasets     3\nparameters   2: k A\n");
    assert_non_null(strstr(printed(&view, true), "\"sha256\": null"));
    view_fini(&view);
}

/* Facts on one line; a seed of 64 bits keeps its last digit. */
static void test_line_of_facts(void **state)
{
    (void)state;
    struct view view = {.n = 0};
    view_group(&view, NULL, NULL, VIEW_PLAIN);
    VIEW_FACTS(&view, fact_count("n", "fits", 0, 3), fact_word("by", "by lanes", 0, "solved"),
               ((struct fact){"seed", "as seed", .kind = FACT_DIGITS, .word = "9007199254740993"}));
    view_end(&view);
    assert_string_equal(printed(&view, false),
                        "  3 fits, solved by lanes, 9007199254740993 as seed\n");
    assert_string_equal(printed(&view, true),
                        "{\n  \"n\": 3,\n  \"by\": \"solved\",\n"
                        "  \"seed\": 9007199254740993\n}\n");
    view_fini(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_long_tables_are_cut),
        cmocka_unit_test(test_listed),
        cmocka_unit_test(test_line_of_facts),
    };
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(text);
    return n_failed;
}
