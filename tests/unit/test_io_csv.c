/* CSV: every form that people's files have, faults told by line and column, numbers whatever the locale, and Python's
 * csv module as the judge of what is written.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/table/csv.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/stiffit-csv-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int file = mkstemp(path);
    return file < 0 || close(file);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void put_bytes(const char *text, size_t n)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, n, file), n);
    fclose(file);
}

static struct csv_reader *open_text(const char *text)
{
    struct csv_reader *reader;
    struct error error;
    put_bytes(text, strlen(text));
    if (csv_open(&reader, path, &error))
        fail_msg("%s", error.message);
    return reader;
}

/* Fields joined by '|', rows by '/', the header first. */
static void expect(const char *text, const char *joined)
{
    char out[2000] = "";
    bool more;
    struct error error;
    struct csv_reader *reader = open_text(text);
    for (size_t i = 0; i < csv_n_column(reader); i++)
        sprintf(out + strlen(out), "%s%s", i ? "|" : "", csv_column_name(reader, i));
    for (;;) {
        if (csv_next(reader, &more, &error))
            fail_msg("%s", error.message);
        if (!more)
            break;
        for (size_t i = 0; i < csv_n_column(reader); i++)
            sprintf(out + strlen(out), "%s%s", i ? "|" : "/", csv_field(reader, i));
    }
    csv_close(reader);
    assert_string_equal(out, joined);
}

static void expect_fault(const char *text, const char *words)
{
    struct csv_reader *reader;
    struct error error;
    bool more = true;
    enum status status;
    put_bytes(text, strlen(text));
    status = csv_open(&reader, path, &error);
    while (!status && more)
        status = csv_next(reader, &more, &error);
    csv_close(reader);
    assert_int_equal(status, STATUS_BAD_PROBLEM);
    if (!strstr(error.message, words) || !strstr(error.message, path))
        fail_msg("'%s' or the path is not in: %s", words, error.message);
}

static void reads_plain_tables(void **state)
{
    (void)state;
    expect("a,b\n1,2\n3,4\n", "a|b/1|2/3|4");
    expect("a,b\n1,2\n3,4", "a|b/1|2/3|4"); /* no line break at the end */
    expect("a,b\r\n1,2\r\n3,4\r\n", "a|b/1|2/3|4");
    expect("a,b\r1,2\r3,4\r", "a|b/1|2/3|4");
    expect("\xef\xbb\xbf" "a,b\n1,2\n", "a|b/1|2");
    expect("a,b\n,\n1,\n,2\n", "a|b/1|/|2");
    expect("a\n1\n2\n", "a/1/2");
    expect("a,b\n", "a|b");
    expect("a,b", "a|b");
    expect("\n\na,b\n\n1,2\n  \n\r\n3,4\n\n\n", "a|b/1|2/3|4");
    expect(" a , b\t\n 1 ,\t2  \n", "a|b/1|2");
}

static void finds_the_delimiter(void **state)
{
    (void)state;
    expect("a;b;c\n1;2,5;3\n", "a|b|c/1|2,5|3");
    expect("a\tb\n1\t\n\t2\n\t\n", "a|b/1|/|2");
    expect("\"x;y;z\",b\n1,2\n", "x;y;z|b/1|2");
    expect("a b,c\n1 2,3\n", "a b|c/1 2|3");
}

/* What spreadsheets, pandas, R and numpy write around a table. */
static void reads_what_programs_write(void **state)
{
    (void)state;
    expect("a,b\n1,2\n,\n\"\",\n", "a|b/1|2");
    expect("a,b,,\n1,2,,\n3,4\n5,6,,,\n", "a|b/1|2/3|4/5|6");
    expect(",a,b\n0,1,2\n", "|a|b/0|1|2");
    expect("\"\",\"a\"\n\"1\",2\n", "|a/1|2");
    expect("# plate 7, run 3\n\n#\na,b\n1,2\n# the end\n", "a|b/1|2");
    expect("# a note\n#a,b\n1,2\n3,4\n", "a|b/1|2/3|4"); /* numpy.savetxt */
    expect("# x,y\na,b\n1,2\n", "a|b/1|2");
    expect("a,b\n#1,2\n\"#3\",4\n", "a|b/#1|2/#3|4");
    expect("time [h],dose (mg/kg),f(x)\n1,2,3\n", "time|dose|f(x)/1|2|3");
    expect("c [nM],C [uM],[x]\n1,2,3\n", "c [nM]|C [uM]|[x]/1|2|3");
}

static void reads_quoted_fields(void **state)
{
    (void)state;
    expect("a,b\n\"1,5\",\"say \"\"hi\"\"\"\n", "a|b/1,5|say \"hi\"");
    expect("a,b\n\"two\nlines\",\"\"\n\"\"\"\",x\n", "a|b/two\nlines|/\"|x");
    expect("a,b\n \" kept \" , x\n", "a|b/ kept |x");
    expect("a,b\nit's 5\" long,\"x\"\n", "a|b/it's 5\" long|x");
    expect("a,b\n\"crlf\r\ninside\",1\r\n", "a|b/crlf\r\ninside|1");
    expect("\"a\",\"b \"\n1,2\n", "a|b /1|2");
}

static void faults_name_line_and_column(void **state)
{
    (void)state;
    expect_fault("a,b\n1,2\n3\n", ":3: there are 1 fields where the first line names 2 columns");
    expect_fault("a,b\n1,2,3\n", ":2: there are 3 fields");
    expect_fault("a,b\n\"x\ny\",2\n\n1\n", ":5: there are 1");
    expect_fault("a,b\n1,\"open\n2,3\n", ":2: a quote that begins in this row is never closed");
    expect_fault("a,b\n1,\"x\"y\n", ":2: column 'b': there is text after the closing quote");
    expect_fault("a,b,a\n", "columns 1 and 3 have the same name, 'a'");
    expect_fault("a,,b\n", "column 2 has no name");
    expect_fault("a,b\n1,c,2\n", "row.names = FALSE");
    expect_fault("# only this\n", "is empty");
    expect_fault("", "is empty");
    expect_fault("\n \n\n", "is empty");
    expect_fault("\xff\xfe" "a", "UTF-16");
}

static void zero_bytes_and_endless_rows_are_refused(void **state)
{
    (void)state;
    struct csv_reader *reader;
    struct error error;
    put_bytes("a\0b\n", 4);
    assert_int_equal(csv_open(&reader, path, &error), STATUS_BAD_PROBLEM);
    assert_non_null(strstr(error.message, "zero byte"));
    assert_int_equal(csv_open(&reader, "/dev/zero", &error), STATUS_BAD_PROBLEM);
    char *text = malloc(CSV_MAX_ROW + 10);
    memset(text, 'x', CSV_MAX_ROW + 10);
    put_bytes(text, CSV_MAX_ROW + 10);
    assert_int_equal(csv_open(&reader, path, &error), STATUS_BAD_PROBLEM);
    assert_non_null(strstr(error.message, "longer than"));
    put_bytes(text, CSV_MAX_ROW - 1);
    assert_int_equal(csv_open(&reader, path, &error), STATUS_OK);
    assert_int_equal(strlen(csv_column_name(reader, 0)), CSV_MAX_ROW - 1);
    csv_close(reader);
    free(text);
}

static void unreadable_files_are_named(void **state)
{
    (void)state;
    struct csv_reader *reader;
    struct error error;
    assert_int_equal(csv_open(&reader, "/no/such/file.csv", &error), STATUS_SYSTEM);
    assert_null(reader);
    assert_non_null(strstr(error.message, "/no/such/file.csv"));
    assert_int_equal(csv_open(&reader, "/tmp", &error), STATUS_SYSTEM);
}

static void columns_are_found_by_name(void **state)
{
    (void)state;
    struct csv_reader *reader = open_text("Dataset,time,TIME,value\n1,2,3,4\n");
    struct error error;
    bool found;
    assert_int_equal(csv_find_column(reader, "dataset"), 0);
    assert_int_equal(csv_find_column(reader, "time"), 1);
    assert_int_equal(csv_find_column(reader, "TIME"), 2);
    assert_int_equal(csv_find_column(reader, "Time"), CSV_NO_COLUMN); /* which of the two? */
    assert_int_equal(csv_find_column(reader, "value"), 3);
    assert_int_equal(csv_lacks(reader, &error, "there is no column '%s'", "sigma"),
                     STATUS_BAD_PROBLEM);
    assert_non_null(strstr(error.message,
                           "there is no column 'sigma'; the columns are: Dataset, time, TIME, value"));
    /* another name of a column: the file's own column of that name no longer has it */
    assert_int_equal(csv_alias(reader, "value", "TIME", &found, &error), STATUS_OK);
    assert_true(found);
    assert_int_equal(csv_find_column(reader, "Value"), 2);
    assert_int_equal(csv_find_column(reader, "TIME"), 2);
    assert_int_equal(csv_alias(reader, "sigma", "sd", &found, &error), STATUS_OK);
    assert_false(found);
    assert_int_equal(csv_alias(reader, "value", "dataset", &found, &error), STATUS_BAD_PROBLEM);
    csv_close(reader);
}

static void numbers_are_read_and_faults_placed(void **state)
{
    (void)state;
    struct csv_reader *reader = open_text("a,b\n\n1e-3,\"1,5\"\n");
    struct error error;
    double value;
    bool more;
    assert_int_equal(csv_next(reader, &more, &error), STATUS_OK);
    assert_int_equal(csv_line(reader), 3);
    assert_int_equal(csv_number(reader, 0, &value, &error), STATUS_OK);
    assert_true(value == 1e-3);
    assert_int_equal(csv_number(reader, 1, &value, &error), STATUS_BAD_PROBLEM);
    assert_non_null(strstr(error.message, ":3: column 'b': '1,5' is not a number: decimals are written with a point"));
    csv_close(reader);
    reader = open_text("a;b\n-1,5e2;,25\n1.5;2\n"); /* a decimal comma, and then a point */
    assert_int_equal(csv_next(reader, &more, &error), STATUS_OK);
    assert_int_equal(csv_number(reader, 0, &value, &error), STATUS_OK);
    assert_true(value == -150);
    assert_int_equal(csv_number(reader, 1, &value, &error), STATUS_OK);
    assert_true(value == 0.25);
    assert_int_equal(csv_next(reader, &more, &error), STATUS_OK);
    assert_int_equal(csv_number(reader, 0, &value, &error), STATUS_BAD_PROBLEM);
    csv_close(reader);
}

static void parses_decimal_numbers_only(void **state)
{
    (void)state;
    const struct { const char *text; double value; } good[] = {
        {"0", 0}, {"-0.5", -0.5}, {"+1", 1}, {".5", 0.5}, {"5.", 5}, {"1e3", 1000}, {"1E-3", 0.001}, {" 7 ", 7},
        {"\t7", 7}, {"inf", INFINITY}, {"-Inf", -INFINITY}, {"Infinity", INFINITY}, {"1e-400", 0},
        {"0.1", 0.1}, {"123456789012345678901234567890", 123456789012345678901234567890.0}};
    const char *const missing[] = {"", " ", ".", "NA", "na", "N/A", "NaN", "nan", " NA "};
    const char *const bad[] = {"x", "1x", "1 2", "1,5", "0x10", "1e999", "-1e999", "--1", "1e", "nan(1)", "in", "TRUE",
                               "1d3", "-NA", "1..2"};
    double value;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(csv_parse_double(good[i].text, &value));
        assert_memory_equal(&value, &good[i].value, sizeof value);
    }
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        value = 1;
        assert_true(csv_parse_double(missing[i], &value));
        assert_true(isnan(value));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (csv_parse_double(bad[i], &value))
            fail_msg("'%s' was read as %g", bad[i], value);
}

static void the_locale_does_not_matter(void **state)
{
    (void)state;
    const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    const char *set = NULL;
    double value;
    for (size_t i = 0; i < sizeof names / sizeof *names && !set; i++)
        set = setlocale(LC_ALL, names[i]);
    if (!set)
        skip();
    assert_true(csv_parse_double("1.5", &value));
    assert_true(value == 1.5);
    assert_false(csv_parse_double("1,5", &value));
    char *text;
    size_t n;
    struct csv_writer writer = {.file = open_memstream(&text, &n)};
    csv_put_number(&writer, 0.5);
    fclose(writer.file);
    assert_string_equal(text, "0.5");
    free(text);
    setlocale(LC_ALL, "C");
}

static void check_written_and_read(bool decimal_comma)
{
    static const char *const texts[] = {"plain", "", "a,b", "say \"hi\"", "two\nlines", "cr\rhere", " blank ", "tab\t",
                                        "semi;", "\xc3\xa9", "NA", "\""};
    enum { N = sizeof texts / sizeof *texts };
    const double values[] = {0.1, -1e-300, 5e-324, 1.7976931348623157e308, NAN, INFINITY, -INFINITY, 1.0 / 3, 1e22,
                             -0.0, 3, 7};
    struct error error;
    bool more;
    double value;
    struct csv_writer writer = {.file = fopen(path, "w"), .decimal_comma = decimal_comma};
    csv_put_text(&writer, "text");
    csv_put_text(&writer, "number");
    csv_put_text(&writer, "integer");
    csv_end_row(&writer);
    for (size_t i = 0; i < N; i++) {
        csv_put_text(&writer, texts[i]);
        csv_put_number(&writer, values[i]);
        csv_put_integer(&writer, INT64_MIN + (int64_t)i);
        csv_end_row(&writer);
    }
    assert_int_equal(fclose(writer.file), 0);
    struct csv_reader *reader;
    assert_int_equal(csv_open(&reader, path, &error), STATUS_OK);
    for (size_t i = 0; i < N; i++) {
        if (csv_next(reader, &more, &error) || !more)
            fail_msg("row %zu: %s", i, error.message);
        assert_string_equal(csv_field(reader, 0), texts[i]);
        assert_int_equal(csv_number(reader, 1, &value, &error), STATUS_OK);
        if (isnan(values[i]))
            assert_true(isnan(value));
        else
            assert_memory_equal(&value, &values[i], sizeof value);
        assert_int_equal(strtoll(csv_field(reader, 2), NULL, 10), INT64_MIN + (int64_t)i);
    }
    assert_int_equal(csv_next(reader, &more, &error), STATUS_OK);
    assert_false(more);
    csv_close(reader);
    if (system("/usr/bin/python3 -c pass") != 0)
        return;
    char command[800];
    snprintf(command, sizeof command,
             "/usr/bin/python3 -c \"import csv; r = list(csv.reader(open('%s', newline=''), delimiter='%s'));"
             "t = ['plain', '', 'a,b', 'say \\\"hi\\\"', 'two\\nlines', 'cr\\rhere', ' blank ', 'tab\\t', "
             "'semi;', '\\u00e9', 'NA', '\\\"']; assert [x[0] for x in r[1:]] == t, r; assert r[1][1] == '0%s1'\"",
             path, decimal_comma ? ";" : ",", decimal_comma ? "," : ".");
    assert_int_equal(system(command), 0);
}

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    check_written_and_read(false);
    check_written_and_read(true);
}

static void a_single_column_keeps_its_empty_rows(void **state)
{
    (void)state;
    struct csv_writer writer = {.file = fopen(path, "w")};
    csv_put_text(&writer, "a");
    csv_end_row(&writer);
    csv_put_text(&writer, "");
    csv_end_row(&writer);
    csv_put_text(&writer, "x");
    csv_end_row(&writer);
    fclose(writer.file);
    struct csv_reader *reader;
    bool more;
    assert_int_equal(csv_open(&reader, path, NULL), STATUS_OK);
    assert_int_equal(csv_next(reader, &more, NULL), STATUS_OK);
    assert_true(more);
    assert_string_equal(csv_field(reader, 0), "");
    assert_int_equal(csv_next(reader, &more, NULL), STATUS_OK);
    assert_string_equal(csv_field(reader, 0), "x");
    csv_close(reader);
}

static void standard_input_is_read(void **state)
{
    (void)state;
    struct csv_reader *reader;
    struct error error;
    bool more;
    put_bytes("a,b\n1,x\n2\n", 10);
    assert_non_null(freopen(path, "r", stdin));
    assert_int_equal(csv_open(&reader, "-", &error), STATUS_OK);
    assert_int_equal(csv_next(reader, &more, &error), STATUS_OK);
    assert_string_equal(csv_field(reader, 1), "x");
    assert_int_equal(csv_next(reader, &more, &error), STATUS_BAD_PROBLEM);
    assert_non_null(strstr(error.message, "standard input:3:"));
    csv_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_plain_tables),
        cmocka_unit_test(finds_the_delimiter),
        cmocka_unit_test(reads_what_programs_write),
        cmocka_unit_test(reads_quoted_fields),
        cmocka_unit_test(faults_name_line_and_column),
        cmocka_unit_test(zero_bytes_and_endless_rows_are_refused),
        cmocka_unit_test(unreadable_files_are_named),
        cmocka_unit_test(columns_are_found_by_name),
        cmocka_unit_test(numbers_are_read_and_faults_placed),
        cmocka_unit_test(parses_decimal_numbers_only),
        cmocka_unit_test(the_locale_does_not_matter),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(a_single_column_keeps_its_empty_rows),
        cmocka_unit_test(standard_input_is_read),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
