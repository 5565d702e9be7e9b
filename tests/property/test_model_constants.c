/* Model texts full of extreme constants: huge, tiny, subnormal, at the limits of whole numbers, and
 * operations on them that are not finite. Whatever the constants, a text is read, derived, printed
 * in every notation and turned into C, or refused with messages; and what is built of it ends. The
 * sanitizers watch over the memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "../level.h"
#include "../unit/listing_case.h"

enum { N_TEXT = 1500, N_TEXT_SLOW = 200000 };

struct writer {
    FILE *out;
    uint64_t seed, count;
    size_t n_leaf; /* of leaf[]: what the statement may depend on */
};

enum { FIXED = 3, UNTIL_INPUT = 5, ALL_BUT_OWN = 7, ALL = 8 };
static const char *const leaf[ALL] = {"a", "b", "c", "t", "u", "x", "y", "w"};

static uint64_t below(struct writer *writer, uint64_t n)
{
    return random_below(writer->seed, 1, writer->count++, n);
}

/* The numbers at which a rule about constants can go wrong: where b + 1 is b, where 1/b overflows,
 * where whole numbers end. */
static void write_number(struct writer *writer)
{
    static const char *const number[] = {"0", "1", "2", "3", "0.5", "1.5", "16", "17", "32",
                                         "1e-300", "1e-308", "4.9e-324", "1e-320",
                                         "2.2250738585072014e-308", "1e300", "1e308",
                                         "1.7976931348623157e308", "9007199254740991",
                                         "9007199254740992", "9007199254740993", "1e16", "1e18",
                                         "1e19", "18446744073709551616", "9223372036854775807",
                                         "2147483648", "4294967296", "4503599627370496.5",
                                         "0.9999999999999999", "1.0000000000000002", "1e-17",
                                         "1e-16", "0.1", "1e20", "1e154", "1e155", "1e-154",
                                         "1e-162", "1024", "1023", "-1", "-1e308", "-4.9e-324",
                                         "-9007199254740992", "-0", "(1e308*10)", "(0/0)",
                                         "(-1)^0.5", "(1/0)", "(1e-308/1e10)", "log(0)",
                                         "(-1e308*10)", "pi"};
    static const char *const beside[] = {"", "", "", "", " + 1", " - 1", "*0.5", "*2"};
    const char *one = number[below(writer, sizeof number / sizeof *number)];
    fprintf(writer->out, "(%s%s)", one, beside[below(writer, sizeof beside / sizeof *beside)]);
}

static void write_leaf(struct writer *writer)
{
    if (below(writer, 2))
        write_number(writer);
    else
        fputs(leaf[below(writer, writer->n_leaf)], writer->out);
}

static void write_expression(struct writer *writer, int depth);

static void write_call(struct writer *writer, const char *name, int n, int depth)
{
    fprintf(writer->out, "%s(", name);
    for (int i = 0; i < n; i++) {
        fputs(i ? ", " : "", writer->out);
        write_expression(writer, depth - 1);
    }
    fputc(')', writer->out);
}

/* Powers often: their exponents are what most rules look at. */
static void write_expression(struct writer *writer, int depth)
{
    static const char *const infix[] = {"+", "-", "*", "/", "^", "^", "<", "<=", ">", ">=", "==",
                                        "!=", " and ", " or "};
    static const char *const call[] = {"exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "abs",
                                       "sign", "floor", "ceil", "erf", "erfc", "heaviside",
                                       "cbrt", "log10", "log2", "log1p", "expm1", "asin", "acos",
                                       "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "lgamma"};
    static const char *const call_2[] = {"pow", "atan2", "min", "max"};
    if (depth <= 0) {
        write_leaf(writer);
        return;
    }
    switch (below(writer, 9)) {
    case 0: write_leaf(writer); break;
    case 1: write_call(writer, call[below(writer, sizeof call / sizeof *call)], 1, depth); break;
    case 2: write_call(writer, call_2[below(writer, 4)], 2, depth); break;
    case 3: write_call(writer, "if", 3, depth); break;
    case 4: write_call(writer, "piecewise", 5, depth); break;
    case 5:
        fputs("(", writer->out);
        write_call(writer, below(writer, 2) ? "-" : "not ", 1, depth);
        fputs(")", writer->out);
        break;
    case 6: /* a base with a chain of constant powers */
        fputs("((", writer->out);
        write_expression(writer, depth - 2);
        fputs(")^", writer->out);
        write_number(writer);
        fputc(')', writer->out);
        break;
    default:
        fputc('(', writer->out);
        write_expression(writer, depth - 1);
        fputs(infix[below(writer, sizeof infix / sizeof *infix)], writer->out);
        write_expression(writer, depth - 1);
        fputc(')', writer->out);
    }
}

static void write_statement(struct writer *writer, const char *before, int depth, size_t n_leaf,
                            const char *behind)
{
    writer->n_leaf = n_leaf;
    fputs(before, writer->out);
    write_expression(writer, depth);
    fprintf(writer->out, "%s\n", behind);
}

static char *random_model(uint64_t seed)
{
    char *text = NULL, name[40];
    size_t n = 0;
    struct writer writer = {.out = open_memstream(&text, &n), .seed = seed};
    assert_non_null(writer.out);
    fputs("covariate c\ninput u linear\nparameter b = 1\n", writer.out);
    static const char *const finite[] = {"1e-308", "1e18*2", "-9007199254740992", "4.9e-324",
                                         "1e308", "1/3", "-0"};
    fprintf(writer.out, "parameter a = %s\n", finite[below(&writer, 5)]);
    fprintf(writer.out, "constant k = %s\n", finite[below(&writer, 7)]);
    write_statement(&writer, "w = k + ", 2, ALL_BUT_OWN, "");
    write_statement(&writer, "x(0) = ", 2, FIXED, "");
    fputs("y(0) = b\n", writer.out);
    write_statement(&writer, "x' = ", 4, ALL, "");
    write_statement(&writer, "y' = ", 3, ALL, "");
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "observe h%d = ", i);
        write_statement(&writer, name, 4, ALL, i ? "" : " sd 0.1");
    }
    if (below(&writer, 2))
        write_statement(&writer, "event e when t > c and x < ", 2, ALL, ": x = b");
    if (below(&writer, 2))
        write_statement(&writer, "event f at ", 2, FIXED, ": y = 2");
    if (below(&writer, 2))
        write_statement(&writer, "lag(x) = ", 2, UNTIL_INPUT, "");
    assert_int_equal(fclose(writer.out), 0);
    return text;
}

/* Into memory, so that every byte is made. */
static void print_all(const struct equations *equations, const struct functions *functions)
{
    char *text = NULL;
    size_t n = 0;
    struct error error = {.status = STATUS_OK};
    struct function_cost cost[N_FUNCTION_COST];
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    if (generate_c(equations, functions, out, &error))
        fail_msg("%s", error.message);
    assert_int_equal(generate_listing(equations, functions, NOTATION_TEXT, out, &error), STATUS_OK);
    assert_int_equal(generate_listing(equations, functions, NOTATION_LATEX, out, &error),
                     STATUS_OK);
    assert_int_equal(generate_cost(equations, functions, cost, &error), STATUS_OK);
    assert_int_equal(fclose(out), 0);
    free(text);
}

/* False: the text was refused. */
static bool go_through(const char *text)
{
    struct text_messages messages = {0};
    struct equations *equations = NULL;
    struct functions functions;
    struct error error = {.status = STATUS_OK};
    enum status status = text_parse(text, strlen(text), "case.ode", &equations, &messages, &error);
    text_messages_fini(&messages);
    if (status) {
        assert_int_equal(status, STATUS_BAD_MODEL);
        return false;
    }
    status = functions_derive(equations, &functions, &error);
    if (status == STATUS_OK) {
        print_all(equations, &functions);
        functions_fini(&functions);
    } else {
        assert_int_equal(status, STATUS_BAD_MODEL);
    }
    equations_free(equations);
    return true;
}

static void any_constants_are_read_and_printed(void **state)
{
    (void)state;
    size_t n_good = 0, n = level_is_slow() ? N_TEXT_SLOW : N_TEXT;
    const char *first = getenv("FIRST_SEED");
    uint64_t begin = first ? strtoull(first, NULL, 10) : 1;
    for (uint64_t seed = begin; seed < begin + n; seed++) {
        char *text = random_model(seed);
        if (getenv("SHOW_SEED"))
            fprintf(stderr, "%llu\n", (unsigned long long)seed);
        n_good += go_through(text);
        free(text);
    }
    assert_true(4 * n_good > n); /* else too few get as far as the generators */
}

/* b + 1 is b from 2^53 on, and for some odd numbers of halves below. */
static void powers_end_whatever_their_exponent(void **state)
{
    static const char *const exponent[] = {"4503599627370495.5", "9007199254740990",
                                           "9007199254740991", "9007199254740992",
                                           "9007199254740993", "9007199254740994", "1e16", "1e18",
                                           "1e300", "1.7976931348623157e308"};
    (void)state;
    for (size_t i = 0; i < sizeof exponent / sizeof *exponent; i++) {
        char text[400];
        const char *n = exponent[i];
        snprintf(text, sizeof text,
                 "parameter k = 1\nx(0) = 1\nx' = -k*x\nobserve y = x^%s + x^(%s + 1) + k^-%s\n", n, n, n);
        assert_true(go_through(text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(powers_end_whatever_their_exponent),
                                       cmocka_unit_test(any_constants_are_read_and_printed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
