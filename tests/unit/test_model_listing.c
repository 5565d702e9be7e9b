/* How expressions, statements and names look: as model text with as few parentheses as it needs, and as LaTeX. That the text is
 * read as the same expression again is in tests/property.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "listing_case.h"

static const char head[] = "parameter a = 1, b = 2, n = 3, k1 = 4\ncovariate c\nx(0) = 1\nx' = -a*x\n";

/* The formula of `h` in `formula`, which may be followed by other statements. */
static char *shown(const char *formula, enum notation notation)
{
    char text[4000];
    snprintf(text, sizeof text, "%sobserve h = %s\n", head, formula);
    struct equations *equations = listing_parse(text);
    struct listing *listing = listing_new(equations, NULL, notation);
    assert_non_null(listing);
    char *found = listing_of_node(listing, equations->observable[0].value, false);
    listing_free(listing);
    equations_free(equations);
    return found;
}

struct formula {
    const char *written, *expected;
};

static void compare(const struct formula *formula, size_t n, enum notation notation)
{
    for (size_t i = 0; i < n; i++) {
        char *found = shown(formula[i].written, notation);
        assert_string_equal(found, formula[i].expected);
        free(found);
    }
}

/* Expected by hand from the table of precedences in man 5 stiffit-model; x is after a, b, n, k1 and c in the text, so that
 * sums and products keep this order. */
static void parentheses_are_the_needed_ones(void **state)
{
    (void)state;
    static const struct formula formulas[] = {
        {"(a + b) + c", "a + b + c"},
        {"a - (b - c)", "a - (b - c)"},
        {"(a - b) - c", "a - b - c"},
        {"((a*b)*c)/n", "a*b*c/n"},
        {"a/(b*c)", "a/(b*c)"},
        {"a/(b/c)", "a/(b/c)"},
        {"(a + b)*c", "c*(a + b)"}, /* the graph puts leaves first */
        {"-(a*b)", "-a*b"},
        {"-(a + b)", "-(a + b)"},
        {"a^(b^c)", "a^b^c"},
        {"(a^b)^c", "(a^b)^c"},
        {"a^(-b)", "a^(-b)"},
        {"(-a)^b", "(-a)^b"},
        {"-(a^b)", "-a^b"},
        {"a^(b*c)", "a^(b*c)"},
        {"(a*b)^c", "(a*b)^c"},
        {"a^-2.5", "a^-2.5"},
        {"(-2)^a", "(-2)^a"},
        {"2^(-a)", "2^(-a)"},
        {"a + (b + c)", "b + c + a"}, /* a sum may begin with the one within it, which needs no parentheses then */
        {"a*(b*c)", "b*c*a"},
        {"(a + b) + (n + c)", "a + b + (n + c)"},
        {"a*(b + c)", "a*(b + c)"},
        {"2*(a*b)", "2*(a*b)"},
        {"2*a*b", "2*a*b"},
        {"1 + (a + b)", "a + b + 1"},
        {"(a < b) and (b < c)", "a < b and b < c"},
        {"(a and b) or c", "c or a and b"},
        {"a and (b or c)", "a and (b or c)"},
        {"not (a < b)", "not a < b"},
        {"not (a and b)", "not (a and b)"},
        {"(a < b)*c", "c*(a < b)"},
        {"(a < b) < c", "(a < b) < c"},
        {"if a then b else c", "if(a, b, c)"},
        {"if(a, b, if(b, c, n)) + 1", "1 + piecewise(b, a, c, b, n)"},
        {"if(a, if(b, c, n), b)", "if(a, if(b, c, n), b)"},
        {"exp(a + b)", "exp(a + b)"},
        {"min(a, b, c)", "min(min(a, b), c)"},
        {"1/(a*b)", "1/(a*b)"},
        {"-1/a", "-1/a"},
        {"a^2", "a^2"},
        {"a^3", "a^3"},
        {"a^15", "a^15"},
        {"a^16", "a^16"},
        {"a^-3", "1/a^3"},
        {"(a + b)^2", "(a + b)^2"},
        {"a^2*b^2", "a^2*b^2"},
        {"exp(a)^2", "exp(a)^2"},
        {"heaviside(a)", "heaviside(a)"},
        {"a > b", "b < a"},
        {"30000000*a", "3e7*a"},
        {"1e-7*a", "1e-7*a"},
        {"123000*a", "123000*a"},
        {"0.1*a", "0.1*a"},
        {"pi*a", "pi*a"},
        {"log(-1)", "log(-1)"},
    };
    compare(formulas, sizeof formulas / sizeof *formulas, NOTATION_TEXT);
}

static void latex_has_fractions_and_roots(void **state)
{
    (void)state;
    static const struct formula formulas[] = {
        {"a/(b + c)", "\\frac{a}{b + c}"},
        {"a*(b/c)", "a \\, \\frac{b}{c}"},
        {"a/(b/c)", "\\frac{a}{b / c}"},
        {"exp(k1/(a/b*c))", "\\exp\\left(\\frac{k_{1}}{c \\, \\left(a / b\\right)}\\right)"}, /* a / b c is two things */
        {"a/(b - a/c)", "\\frac{a}{b - a / c}"},
        {"a/(b*(1/c))", "\\frac{a}{b \\, \\left(1 / c\\right)}"},
        {"a^(-b/c)", "a^{-\\left(b / c\\right)}"},
        {"a*2^b", "a \\cdot 2^{b}"},
        {"(a/b)^c", "\\left(\\frac{a}{b}\\right)^{c}"},
        {"a^(b/c)", "a^{b / c}"},
        {"(a + b)*c", "c \\, \\left(a + b\\right)"},
        {"k1^2", "k_{1}^{2}"},
        {"sqrt(a)", "\\sqrt{a}"},
        {"log(a)", "\\ln\\left(a\\right)"},
        {"1e-7*a", "10^{-7} \\, a"},
        {"1.5e-7*a", "1.5 \\cdot 10^{-7} \\, a"},
        {"2^a", "2^{a}"},
        {"if(a, b, c)", "\\begin{cases} b & \\text{if } a \\\\ c & \\text{otherwise} \\end{cases}"},
        {"a <= b and not c", "a \\le b \\land \\lnot c"},
        {"abs(a)", "\\left|a\\right|"},
    };
    compare(formulas, sizeof formulas / sizeof *formulas, NOTATION_LATEX);
}

static const char whole[] = "constant hour = 3600\n"
                            "parameter ka = 1 unit \"1/h\", Vmax = 2, k_1 = 3, k1 = 4, alpha = 5, EC50 = 6, beta_on = 7\n"
                            "parameter sd0_ = 8\n"
                            "covariate dose\nrate = ka*gut/hour\nsame = ka*gut/hour\n"
                            "gut(0) = dose unit \"mg\"\nblood(0) = 0\n"
                            "gut' = -rate\nblood' = rate - same*Vmax*k_1*k1*EC50*beta_on*sd0_\n"
                            "observe gut sd alpha*gut, signal = alpha*blood unit \"100 %\"\n";

static void statements_are_named_as_in_the_text(void **state)
{
    (void)state;
    struct equations *equations = listing_parse(whole);
    struct listing *listing = listing_new(equations, NULL, NOTATION_TEXT);
    assert_non_null(listing);
    static listing_part *const part[] = {listing_intermediates, listing_initial, listing_rhs, listing_observables};
    static const char *const expected[] = {
        "hour = 3600\nrate = ka*gut/3600\nsame = rate\n", "gut(0) = dose unit \"mg\"\nblood(0) = 0\n",
        "gut' = -rate\nblood' = rate - Vmax*rate*k_1*k1*EC50*beta_on*sd0_\n",
        "observe gut sd alpha*gut unit \"mg\"\nobserve signal = alpha*blood unit \"100 %\"\n"};
    for (int i = 0; i < 4; i++) {
        char *text = listing_text(listing, part[i]);
        assert_string_equal(text, expected[i]);
        free(text);
    }
    listing_free(listing);
    equations_free(equations);
}

static void names_have_subscripts_and_greek_letters(void **state)
{
    (void)state;
    static const char *const expected[] = {"k_{\\mathrm{a}}", "V_{\\mathrm{max}}", "\\mathtt{k\\_1}", "\\mathtt{k1}", "\\alpha",
                                           "\\mathrm{EC}_{50}", "\\beta_{\\mathrm{on}}", "\\mathtt{sd0\\_}"};
    struct equations *equations = listing_parse(whole);
    struct listing *listing = listing_new(equations, NULL, NOTATION_LATEX);
    assert_non_null(listing);
    assert_int_equal(equations->n_parameter, sizeof expected / sizeof *expected);
    for (uint32_t i = 0; i < equations->n_parameter; i++)
        assert_string_equal(listing_parameter(listing, i), expected[i]); /* k_1 and k1 would look the same */
    char *observables = listing_text(listing, listing_observables);
    assert_non_null(strstr(observables, "\\quad [\\text{100 \\%}]"));
    free(observables);
    listing_free(listing);
    equations_free(equations);
}

static void derivatives_have_rows_and_columns(void **state)
{
    (void)state;
    struct equations *equations = listing_parse("parameter k = 1, A = 2, s = 1\ny(0) = A\ny' = -k*y\nobserve h = 2*y sd s*h\n");
    struct functions functions = {0};
    struct error error;
    assert_int_equal(functions_derive(equations, &functions, &error), STATUS_OK);
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    assert_int_equal(generate_listing(equations, &functions, NOTATION_TEXT, out, &error), STATUS_OK);
    fclose(out);
    assert_string_equal(text, "y(0) = A\ny' = -k*y\nobserve h = 2*y sd s*h\n"
                              "d y'/d y = -k\nd y'/d k = -y\nd y(0)/d A = 1\nd h/d y = 2\n"
                              "d sd(h)/d y = 2*s\nd sd(h)/d s = h\n");
    free(text);
    functions_fini(&functions);
    equations_free(equations);
}

/* Reads what is printed for `text`; its letters. */
static size_t reread(const char *text)
{
    struct equations *equations = listing_parse(text);
    struct listing *listing = listing_new(equations, NULL, NOTATION_TEXT);
    assert_non_null(listing);
    char *intermediates = listing_text(listing, listing_intermediates), *observables = listing_text(listing,
                                                                                                    listing_observables);
    size_t n = strlen(intermediates) + strlen(observables);
    char *again = malloc(n + 100);
    assert_non_null(again);
    sprintf(again, "parameter a = 1, b = 2\n%s%s", intermediates, observables);
    equations_free(listing_parse(again));
    free(again);
    free(observables);
    free(intermediates);
    listing_free(listing);
    equations_free(equations);
    return n;
}

/* f60 is a sum of 2^60 terms if nothing is shared. */
static void shared_expressions_are_printed_once(void **state)
{
    (void)state;
    char text[20000];
    size_t n = (size_t)sprintf(text, "parameter a = 1, b = 2\nobserve h = f60\nf0 = sin(a) + b\n");
    for (int i = 1; i <= 60; i++)
        n += (size_t)sprintf(text + n, "f%d = cos(f%d)*f%d + f%d^b\n", i, i - 1, i - 1, i - 1);
    assert_in_range(reread(text), 60 * 10, 60 * 60);
    n = (size_t)sprintf(text, "parameter a = 1, b = 2\nf0(p) = sin(p) + b\n"); /* the same without names */
    for (int i = 1; i <= 12; i++)
        n += (size_t)sprintf(text + n, "f%d(p) = cos(f%d(p))*f%d(p) + f%d(p)^b\n", i, i - 1, i - 1, i - 1);
    sprintf(text + n, "observe h = f12(a)\n");
    assert_in_range(reread(text), 12 * 10, 12 * 100); /* of 3^12 without sharing */
}

static void long_and_deep_expressions_are_printed(void **state)
{
    (void)state;
    enum { N_TERM = 20000, N_LEVEL = 900 };
    char *text = malloc(N_TERM * 20);
    assert_non_null(text);
    size_t n = (size_t)sprintf(text, "parameter a = 1, b = 2\nobserve h = b");
    for (int i = 0; i < N_TERM; i++)
        n += (size_t)sprintf(text + n, " + a^%d.5", i + 17);
    text[n++] = '\n';
    text[n] = '\0';
    assert_in_range(reread(text), N_TERM * 8, N_TERM * 16);
    n = (size_t)sprintf(text, "parameter a = 1, b = 2\nobserve h = "); /* a - (b + (a - (b + ...))), cosines between */
    for (int i = 0; i < N_LEVEL; i++)
        n += (size_t)sprintf(text + n, i % 3 ? "(a - b*" : "cos(");
    n += (size_t)sprintf(text + n, "a");
    memset(text + n, ')', N_LEVEL);
    text[n + N_LEVEL] = '\n';
    text[n + N_LEVEL + 1] = '\0';
    assert_in_range(reread(text), N_LEVEL * 4, N_LEVEL * 8);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parentheses_are_the_needed_ones),
        cmocka_unit_test(latex_has_fractions_and_roots),
        cmocka_unit_test(statements_are_named_as_in_the_text),
        cmocka_unit_test(names_have_subscripts_and_greek_letters),
        cmocka_unit_test(derivatives_have_rows_and_columns),
        cmocka_unit_test(shared_expressions_are_printed_once),
        cmocka_unit_test(long_and_deep_expressions_are_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
