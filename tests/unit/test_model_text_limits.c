/* Texts without measure: deep, long, many, endless. Each ends with a model or with a message, in memory that the stack
 * of a small thread would do for. And how messages are printed.
 * test-level: more
 * SPDX-License-Identifier: BSD-3-Clause */
#include "text_case.h"
#include "../level.h"

#include <sys/resource.h>

static const char frame[] = "parameter k = 1; observe o = k\n";

/* A text that grows. */
struct writer {
    char *text;
    size_t n, capacity;
};

static void put(struct writer *writer, const char *format, ...)
{
    va_list arguments;
    char piece[400];
    va_start(arguments, format);
    size_t n = (size_t)vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    assert_true(n < sizeof piece);
    if (writer->n + n + 1 > writer->capacity) {
        writer->capacity = 2 * (writer->n + n + 1);
        writer->text = realloc(writer->text, writer->capacity);
        assert_non_null(writer->text);
    }
    memcpy(writer->text + writer->n, piece, n + 1);
    writer->n += n;
}

static void put_times(struct writer *writer, const char *piece, size_t times)
{
    for (size_t i = 0; i < times; i++)
        put(writer, "%s", piece);
}

/* Reads what was written: so many errors, the first of them so (its beginning; NULL: there is none). */
static void read_written(struct text_case *self, struct writer *writer, size_t n_error, const char *first)
{
    char line[2000];
    text_read_bytes(self, writer->text, writer->n);
    if (first && strncmp(text_say(self, 0, line, sizeof line), first, strlen(first)))
        print_error("says %s\n", line);
    if (first)
        assert_true(!strncmp(text_say(self, 0, line, sizeof line), first, strlen(first)));
    else if (self->status)
        print_error("%s\n", self->error.message);
    assert_int_equal(self->messages.n_error, n_error);
    assert_int_equal(self->status, n_error ? STATUS_BAD_MODEL : STATUS_OK);
    free(writer->text);
    *writer = (struct writer){0};
}

static void expect(struct writer *writer, size_t n_error, const char *first)
{
    struct text_case self;
    read_written(&self, writer, n_error, first);
    text_end(&self);
}

static void test_depth(void **state)
{
    (void)state;
    struct writer w = {0};
    struct text_case self;
    put(&w, "%sobserve x = ", frame);
    put_times(&w, "(", 1000);
    put(&w, "k");
    put_times(&w, ")", 1000);
    read_written(&self, &w, 0, NULL);
    assert_float_equal(self.value[self.equations->observable[1].value], 0.5, 0);
    text_end(&self);
    put(&w, "%sx = ", frame);
    put_times(&w, "(", 1001);
    put(&w, "k");
    put_times(&w, ")", 1001);
    expect(&w, 1, "2:1005+1: error: brackets and ifs are nested more than 1000 deep");
    put(&w, "%sx = ", frame);
    put_times(&w, "exp(", 10000);
    expect(&w, 1, "2:4005+3: error: brackets and ifs are nested");
    put(&w, "%sx = ", frame);
    put_times(&w, "if ", 10000);
    expect(&w, 1, "2:3005+2: error: brackets and ifs are nested");
    put(&w, "%sx = ", frame);
    put_times(&w, "if 1 then ", 10000);
    expect(&w, 1, "2:10005+2: error: brackets and ifs are nested");
    put(&w, "%s", frame);
    put_times(&w, "x = (\n", 10000); /* each a statement of its own */
    expect(&w, 19999, "2:5+1: error: expected a value, but the line ends here (a bracket is still open)");
}

/* What needs no nesting has no limit but that of size. */
static void test_length(void **state)
{
    (void)state;
    struct writer w = {0};
    struct text_case self;
    put(&w, "%sobserve x = ", frame);
    put_times(&w, "1 + ", 250000); /* 1 MB */
    put(&w, "k");
    read_written(&self, &w, 0, NULL);
    assert_float_equal(self.value[self.equations->observable[1].value], 250000.5, 0);
    text_end(&self);
    put(&w, "%sobserve x = ", frame);
    put_times(&w, "-", 1000000);
    put(&w, "k");
    expect(&w, 0, NULL);
    put(&w, "%sobserve x = ", frame);
    put_times(&w, "k^", 100000);
    put(&w, "k");
    expect(&w, 0, NULL);
    put(&w, "%sobserve x = ", frame);
    put_times(&w, "if k > 3 then 1 else ", 20000);
    put(&w, "k");
    expect(&w, 0, NULL);
    put(&w, "%sobserve x = max(", frame);
    put_times(&w, "k, ", 100000);
    put(&w, "k)");
    expect(&w, 0, NULL);
    put(&w, "%sobserve x = 0.", frame);
    put_times(&w, "1", 1000000);
    read_written(&self, &w, 0, NULL);
    assert_float_equal(self.value[self.equations->observable[1].value], 1.0 / 9, 0);
    text_end(&self);
    put(&w, "%sx = ", frame);
    put_times(&w, "a", 1000000);
    expect(&w, 1, "2:5+1000000: error: `aaaa");
}

/* Chains of a hundred thousand definitions: nothing recurses along them. */
static void test_chains(void **state)
{
    (void)state;
    enum { N = 100000 };
    struct writer w = {0};
    struct text_case self;
    put(&w, "%sobserve x = a0\n", frame);
    for (int i = 0; i < N; i++)
        put(&w, "a%d = a%d + 1\n", i, i + 1);
    put(&w, "a%d = k\n", N);
    read_written(&self, &w, 0, NULL);
    assert_float_equal(self.value[self.equations->observable[1].value], N + 0.5, 0);
    text_end(&self);
    put(&w, "%sobserve x = a0\n", frame);
    for (int i = 0; i <= N; i++)
        put(&w, "a%d = a%d + 1\n", i, i < N ? i + 1 : 0);
    expect(&w, 1, "100003:11+2: error: a circular definition: `a0` needs `a1` needs");
    put(&w, "%s", frame); /* a hundred thousand circles through a0: one is told */
    for (int i = 0; i < N; i++)
        put(&w, "a%d = a%d + a0 + a%d\n", i, i + 1, i / 2);
    put(&w, "a%d = k\n", N);
    expect(&w, 1, "100001:20+2: error: a circular definition: `a0` needs `a1` needs");
    put(&w, "%sobserve x = f0(k)\n", frame);
    for (int i = 0; i < N; i++)
        put(&w, "f%d(a) = f%d(a + 1)\n", i, i + 1);
    put(&w, "f%d(a) = a\n", N);
    read_written(&self, &w, 0, NULL);
    assert_float_equal(self.value[self.equations->observable[1].value], N + 0.5, 0);
    text_end(&self);
}

static void test_expansion(void **state)
{
    (void)state;
    struct writer w = {0};
    put(&w, "%sf0(a) = a + k\nobserve x = f60(k)\n", frame);
    for (int i = 1; i <= 60; i++)
        put(&w, "f%d(a) = f%d(a) + f%d(a*%d)\n", i, i - 1, i - 1, i);
    expect(&w, 1, "3:13+3: error: the model is too large: its functions expand");
}

static void test_many_names(void **state)
{
    (void)state;
    enum { N = 100000 };
    struct writer w = {0};
    put(&w, "%s", frame);
    for (int i = 0; i < N; i++)
        put(&w, "n%d = 1\nm%d = n%d + q%d\n", i, i, i, i); /* a hundred thousand unknown ones */
    expect(&w, N, "3:11+2: error: `q0` is not defined; did you mean `n0`?");
    put(&w, "%s", frame);
    for (int i = 0; i < N; i++)
        put(&w, "parameter n%d = q%d\n", i, i);
    expect(&w, 1, "0:0+1: error: the model is too large: at most 100000 states");
#ifdef __SANITIZE_ADDRESS__ /* ten million numbers and names take it ten seconds; the way out is the same */
    if (!level_is_slow())
        return;
#endif
    put(&w, "%s", frame);
    for (int i = 0; i < 600000; i++)
        put(&w, "a%d = b%d\n", i, i);
    expect(&w, 1, "0:0+1: error: the model is too large: at most 1048576 names");
    put(&w, "%sx = ", frame);
    for (int i = 0; i < 1000000; i++)
        put_times(&w, "1+1+1+1+1+", 1);
    expect(&w, 1, "0:0+1: error: the model is too large: at most 1048576 names and 8388608 numbers");
}

static void test_many_errors(void **state)
{
    (void)state;
    struct writer w = {0};
    struct text_case self;
    put_times(&w, "+\n", 1000000);
    read_written(&self, &w, 1000000, "1:1+1: error: expected a statement, found `+`");
    assert_int_equal(self.messages.n_message, TEXT_MAX_MESSAGES);
    assert_int_equal(self.messages.n_dropped, 1000000 - TEXT_MAX_MESSAGES);
    assert_string_equal(self.error.message,
                        "dir/case.ode:1:1: expected a statement, found `+` (and 999999 more errors)");
    text_end(&self);
}

static void test_size(void **state)
{
    (void)state;
    struct text_case self;
    char *text = malloc(TEXT_MAX_BYTES + 1);
    assert_non_null(text);
    memset(text, '\n', TEXT_MAX_BYTES + 1);
    text_read_bytes(&self, text, TEXT_MAX_BYTES + 1);
    assert_int_equal(self.status, STATUS_BAD_MODEL);
    assert_non_null(strstr(self.error.message, "too large"));
    assert_null(self.equations);
    text_end(&self);
    memcpy(text + TEXT_MAX_BYTES - strlen(frame), frame, strlen(frame));
    text_read_bytes(&self, text, TEXT_MAX_BYTES);
    assert_int_equal(self.status, STATUS_OK);
    assert_int_equal(self.equations->parameter[0].line, TEXT_MAX_BYTES - strlen(frame) + 1);
    text_end(&self);
    free(text);
}

/* Bytes that are no text at all. */
static void test_bytes(void **state)
{
    (void)state;
    struct text_case self;
    char all[256 * 256 * 2];
    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (char)(i % 2 ? i / 2 : i / 512);
    text_read_bytes(&self, all, sizeof all);
    assert_int_equal(self.status, STATUS_BAD_MODEL);
    text_end(&self);
    text_read_bytes(&self, "k = 1\0x' = 2", 12);
    assert_int_equal(self.status, STATUS_BAD_MODEL);
    assert_int_equal(self.messages.message[0].column, 6);
    text_end(&self);
    text_read_bytes(&self, "", 0);
    assert_int_equal(self.status, STATUS_BAD_MODEL);
    text_end(&self);
}

static void check_print(const char *text, bool color, const char *expected)
{
    struct text_case self;
    char *printed = NULL;
    size_t n = 0;
    text_read(&self, text);
    FILE *out = open_memstream(&printed, &n);
    assert_non_null(out);
    text_messages_print(&self.messages, text, strlen(text), "a.ode", color, out);
    fclose(out);
    if (strcmp(printed, expected))
        print_error("printed\n%s\nand not\n%s\n", printed, expected);
    assert_string_equal(printed, expected);
    free(printed);
    text_end(&self);
}

static void test_print(void **state)
{
    (void)state;
    check_print("parameter k = 1\r\nobserve y\r\n\ty = -kk*k # \xc3\xa9\xff\r\n", false,
                "a.ode:3:7: error: `kk` is not defined; did you mean `k`?\n"
                "     y = -kk*k # \xc3\xa9?\n"
                "          ^~\n"
                "a.ode:3:15: error: the byte 0xff in this comment is not a printable character in UTF-8: save the file as "
                "UTF-8\n"
                "     y = -kk*k # \xc3\xa9?\n"
                "                  ^\n");
    check_print("\xef\xbb\xbfmodel \xc3\xa9", true,
                "a.ode:1:7: \033[1;31merror:\033[0m unexpected `\xc3\xa9`: only comments and labels may contain characters "
                "beyond ASCII\n"
                "    model \xc3\xa9\n"
                "          \033[1;32m^\033[0m\n");
}

/* Of a long line what is around the place; nothing in the text can steer the terminal. */
static void test_print_long_line(void **state)
{
    (void)state;
    char text[2000] = "parameter k = 1; observe o = k; x = ";
    for (int i = 0; i < 100; i++)
        strcat(text, "10 + ");
    strcat(text, "qq + ");
    for (int i = 0; i < 100; i++)
        strcat(text, "20 + ");
    check_print(strcat(text, "1\x1b[2J"), false,
                "a.ode:1:537: error: `qq` is not defined\n"
                "    ...10 + 10 + 10 + 10 + 10 + 10 + 10 + 10 + 10 + 10 + 10 + 10 + qq + 20 + 20 + 20 + 20 + 20 + 20 "
                "+ 20 + 20 + "
                "20 + ...\n"
                "                                                                   ^~\n"
                "a.ode:1:1043: error: expected an operator or the end of the statement, found byte 0x1b\n"
                "    ...0 + 20 + 20 + 20 + 20 + 20 + 20 + 20 + 20 + 20 + 20 + 20 + 1?[2J\n"
                "                                                                   ^\n");
}

int main(void)
{
    struct rlimit small = {1 << 20, 1 << 20}; /* of stack: what recursion would need, it has not */
    setrlimit(RLIMIT_STACK, &small);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_depth), cmocka_unit_test(test_length), cmocka_unit_test(test_chains),
        cmocka_unit_test(test_expansion), cmocka_unit_test(test_many_names), cmocka_unit_test(test_many_errors),
        cmocka_unit_test(test_size), cmocka_unit_test(test_bytes), cmocka_unit_test(test_print),
        cmocka_unit_test(test_print_long_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
