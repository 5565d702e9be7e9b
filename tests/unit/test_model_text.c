/* What the language means: each statement and each construct of expressions, read from text and evaluated as nodes; the
 * expected numbers are C's own, of the same formula written by hand.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "text_case.h"

#include <locale.h>

#define PI 3.14159265358979323846

/* Its names: states y1 = 2, y2 = 3, y3 = 5, parameters p = 0.5, q = 1.5, covariate w = 7, constant c = 10; t = 4. */
static void check_value(const char *expression, double expected)
{
    struct text_case self;
    char text[2000];
    snprintf(text, sizeof text,
             "y1' = 0; y2' = 0; y3' = 0; init y1 = 1, y2 = 1, y3 = 1\nparameter p = 1, q = 1\ncovariate w\n"
             "constant c = 10\nfunction twice(a) = 2*a\nhill(x, k, n) = x^n/(k^n + x^n)\nwith_global(a) = a*p\n"
             "observe result = %s\n", expression);
    text_read_good(&self, text);
    double got = self.value[self.equations->observable[0].value];
    /* Simplification may change the last bits: powers become products, constants are combined. */
    bool equal = got == expected || fabs(got - expected) <= 4e-16 * fabs(expected) || (isnan(got) && isnan(expected));
    if (!equal)
        print_error("%s is %.17g and should be %.17g\n", expression, got, expected);
    assert_true(equal);
    text_end(&self);
}

static void test_numbers(void **state)
{
    (void)state;
    check_value("1", 1);
    check_value("1.", 1);
    check_value(".5", 0.5);
    check_value("1.5e-3", 1.5e-3);
    check_value("1E5", 1e5);
    check_value("1.e+2", 100);
    check_value("0e99999", 0);
    check_value("0.1", 0.1);
    check_value("179769313486231570000e288", 1.7976931348623157e308);
    check_value("4.9406564584124654e-324", 4.9406564584124654e-324);
    check_value("pi", PI);
}

static void test_operators(void **state)
{
    (void)state;
    check_value("y1 + y2*y3", 17);
    check_value("(y1 + y2)*y3", 25);
    check_value("y1 - y2 - y3", -6);
    check_value("y3/y1/y2", 5.0 / 2 / 3);
    check_value("y3/y1*y2", 7.5);
    check_value("-y1^2", -4);
    check_value("(-y1)^2", 4);
    check_value("y1^y2^y1", 512);
    check_value("y1**y2", 8);
    check_value("y1^-y2", 0.125);
    check_value("y1^-y2^y1", 1.0 / 512);
    check_value("2^-3", 0.125);
    check_value("2^-3*4", 0.5);
    check_value("y1*-y2", -6);
    check_value("y1 - -y2", 5);
    check_value("y1 - - - y2", -1);
    check_value("+y1", 2);
    check_value("y1 + +y2", 5);
    check_value("-y1*y2", -6);
    check_value("-y1 + y2", 1);
    check_value("t*y1", 8);
    check_value("time*y1", 8);
    check_value("w + c", 17);
}

static void test_comparisons(void **state)
{
    (void)state;
    check_value("y1 < y2", 1);
    check_value("y2 < y1", 0);
    check_value("y1 > y2", 0);
    check_value("y2 > y1", 1);
    check_value("(y1 <= 2) + (y1 >= 2) + (y1 == 2) + (y1 != 2)", 3);
    check_value("(y1 < 2) + (y1 > 2)", 0);
    check_value("y1 + y2 < y3 + 1", 1);
    check_value("(t > 3)*10", 10);
    check_value("y1 < y2 and y2 < y3", 1);
    check_value("y1 < y2 && y2 > y3", 0);
    check_value("y1 > y2 or y2 < y3", 1);
    check_value("y1 > y2 || y2 > y3", 0);
    check_value("1 or 0 and 0", 1);
    check_value("(1 or 0) and 0", 0);
    check_value("not y1 > y2", 1);
    check_value("not y1", 0);
    check_value("!0", 1);
    check_value("not not y1", 1);
    check_value("not 0 and 0", 0);
    check_value("not (0 and 0)", 1);
    check_value("y1 and -1", 1);
    check_value("y1 == 2 or 1/0 > 1", 1);
}

static void test_choices(void **state)
{
    (void)state;
    check_value("if y1 < y2 then y1 else y2", 2);
    check_value("if y1 > y2 then y1 else y2", 3);
    check_value("if y1 > y2 then 1 else if y2 > y3 then 2 else 3", 3);
    check_value("if y1 < y2 then if y2 > y3 then 1 else 2 else 3", 2);
    check_value("if 0 then 1 else 2 + 3", 5);
    check_value("(if 1 then 1 else 2) + 3", 4);
    check_value("if (y1 < y2) then 4 else 5", 4);
    check_value("if (y1 < y2) and 0 then 4 else 5", 5);
    check_value("if(y1 < y2, y1, y2)", 2);
    check_value("2*if(y1 > y2, y1, y2) + 1", 7);
    check_value("if((y1 > y2), (y1), if(1, 2, 3))", 2);
    check_value("if if 1 then 0 else 1 then 2 else 3", 3);
    check_value("max(if 1 then 5 else 6, 1)", 5);
    check_value("if -0.1 then 1 else 2", 1);
    check_value("piecewise(1, y1 > y2, 2, y1 < y2, 3)", 2);
    check_value("piecewise(1, y1 > y2, 3)", 3);
    check_value("piecewise(1, y1 < y2, 2, y1 < y2, 3)", 1);
    check_value("if y1 < y2 then y1 else log(-1)", 2);
}

static void test_functions(void **state)
{
    (void)state;
    check_value("exp(y1)", exp(2));
    check_value("log(y1) + ln(y2)", log(2) + log(3));
    check_value("log10(y1)", log10(2));
    check_value("log2(y2)", log2(3));
    check_value("log1p(p)", log1p(0.5));
    check_value("expm1(p)", expm1(0.5));
    check_value("sqrt(y1)", sqrt(2));
    check_value("cbrt(y1)", cbrt(2));
    check_value("pow(y1, q)", pow(2, 1.5));
    check_value("sin(y1)", sin(2));
    check_value("cos(y1)", cos(2));
    check_value("tan(y1)", tan(2));
    check_value("asin(p)", asin(0.5));
    check_value("acos(p)", acos(0.5));
    check_value("atan(y1)", atan(2));
    check_value("atan2(y1, -y2)", atan2(2, -3));
    check_value("sinh(p)", sinh(0.5));
    check_value("cosh(p)", cosh(0.5));
    check_value("tanh(p)", tanh(0.5));
    check_value("asinh(y1)", asinh(2));
    check_value("acosh(y1)", acosh(2));
    check_value("atanh(p)", atanh(0.5));
    check_value("erf(p)", erf(0.5));
    check_value("erfc(p)", erfc(0.5));
    check_value("lgamma(q)", lgamma(1.5));
    check_value("lgamma(-q)", lgamma(-1.5));
    check_value("interp(y1, 0, 1, 1.5, 4, 1 + 1.5, 7)", 5.5);
    check_value("interp(y1, 0, 1, 1.5, 4, 2.5, p)", 2.25);
    check_value("abs(-y1)", 2);
    check_value("sign(-y1) + sign(y1)*10 + sign(0*y1)*100", 9);
    check_value("floor(-q)", -2);
    check_value("ceil(q)", 2);
    check_value("min(y2, y1)", 2);
    check_value("min(y2, y1, y3, p)", 0.5);
    check_value("max(y2, y1, y3, p)", 5);
    check_value("heaviside(y1 - 2)", 1);
    check_value("heaviside(y1 - y2)", 0);
    check_value("max(0, log(y1 - 5))", NAN); /* whatever the order of their arguments */
    check_value("max(log(y1 - 5), 0)", NAN);
    check_value("min(0, log(y1 - 5))", NAN);
    check_value("sign(log(y1 - 5))", NAN);
    check_value("heaviside(log(y1 - 5))", NAN);
    check_value("twice(y1)", 4);
    check_value("twice(twice(y1) + twice(1))", 12);
    check_value("hill(y1, y2, 2)", 4.0 / 13);
    check_value("with_global(y2)", 1.5);
    check_value("hill(twice(y1), with_global(y1), 1)", 4.0 / 5);
}

/* Everything may be used before it is defined; functions too. */
static void test_order_and_layout(void **state)
{
    (void)state;
    struct text_case self;
    text_read_good(&self, "\xef\xbb\xbf# caf\xc3\xa9\r\nobserve a\r\n"
                          "a = b*c \\ # goes on\r\n  + f(1,\r\n  2 // in brackets\r\n)\r\n\r\n;;b = c + k; c = 3;\r\n"
                          "f(x, y) = x + g(y)\r\nfunction g(x) = x*k\r\nparameter k = 2");
    assert_int_equal(self.messages.n_message, 0);
    const struct equations *equations = self.equations;
    assert_float_equal(self.value[equations->observable[0].value], (3 + 0.5) * 3 + 1 + 2 * 0.5, 0);
    assert_int_equal(equations->n_intermediate, 3);
    for (uint32_t i = 0; i < 3; i++) { /* each after those that it uses: c, b, a */
        char name[2] = {"cba"[i], '\0'};
        assert_string_equal(equations->intermediate[i].name, name);
    }
    assert_int_equal(equations->intermediate[0].line, 8);
    assert_int_equal(equations->intermediate[2].line, 3);
    assert_string_equal(equations->name, "case");
    assert_string_equal(equations->origin, "dir/case.ode");
    text_end(&self);
}

static void test_statements(void **state)
{
    (void)state;
    struct text_case self;
    text_read_good(&self,
                   "model my_model \"what it is: \xc2\xb5\"\n"
                   "time unit \"min\" from 2*c\n"
                   "constant c = 1.5, two = c + 0.5\n"
                   "parameter k = 0.3 in [c - 1.4, inf] scale log10 unit \"1/min\", m = -1\n"
                   "par n = two scale log unit \"\" in [1, 3]\n"
                   "covariate dose unit \"mg\", weight\n"
                   "d/dt(B) = -A\ndA/dt = B\nC' = t\n"
                   "C(0) = dose*k + t unit \"mol/l\"\ninit A = 1, B = 2 unit \"x\"\n"
                   "observe C sd 0.1 + 0.2*C, total = A + B unit \"y\" sd m\nobserve A unit \"z\"\n");
    const struct equations *e = self.equations;
    assert_string_equal(e->name, "my_model");
    assert_string_equal(e->description, "what it is: \xc2\xb5");
    assert_string_equal(e->time_unit, "min");
    assert_float_equal(e->t0, 3, 0);
    assert_int_equal(e->n_parameter, 3);
    assert_string_equal(e->parameter[0].name, "k");
    assert_string_equal(e->parameter[0].unit, "1/min");
    assert_string_equal(e->parameter[0].scale, "log10");
    assert_float_equal(e->parameter[0].start, 0.3, 0);
    assert_float_equal(e->parameter[0].lower, 1.5 - 1.4, 0);
    assert_true(e->parameter[0].upper == INFINITY);
    assert_string_equal(e->parameter[1].scale, "lin");
    assert_null(e->parameter[1].unit);
    assert_float_equal(e->parameter[1].start, -1, 0);
    assert_true(e->parameter[1].lower == -INFINITY && e->parameter[1].upper == INFINITY);
    assert_float_equal(e->parameter[2].start, 2, 0);
    assert_float_equal(e->parameter[2].upper, 3, 0);
    assert_int_equal(e->parameter[2].line, 5);
    assert_int_equal(e->n_covariate, 2);
    assert_string_equal(e->covariate[0].unit, "mg");
    assert_string_equal(e->covariate[1].name, "weight");
    assert_int_equal(e->n_state, 3); /* in the order of their derivatives */
    assert_string_equal(e->state[0].name, "B");
    assert_string_equal(e->state[1].name, "A");
    assert_string_equal(e->state[2].name, "C");
    assert_float_equal(self.value[e->state[0].rhs], -text_y[1], 0);
    assert_float_equal(self.value[e->state[1].rhs], text_y[0], 0);
    assert_float_equal(self.value[e->state[2].rhs], text_t, 0);
    assert_float_equal(self.value[e->state[0].initial], 2, 0);
    assert_float_equal(self.value[e->state[2].initial], 7 * 0.5 + text_t, 0);
    assert_int_equal(e->state[2].rhs_line, 9);
    assert_int_equal(e->state[2].initial_line, 10);
    assert_string_equal(e->state[2].unit, "mol/l");
    assert_int_equal(e->n_observable, 3);
    assert_string_equal(e->observable[0].name, "C");
    assert_string_equal(e->observable[0].unit, "mol/l");
    assert_float_equal(self.value[e->observable[0].noise], 0.1 + 0.2 * text_y[2], 1e-15); /* one rounding */
    assert_string_equal(e->observable[1].name, "total");
    assert_float_equal(self.value[e->observable[1].value], text_y[0] + text_y[1], 0);
    assert_float_equal(self.value[e->observable[1].noise], 1.5, 0);
    assert_true(e->observable[2].noise == NODE_NONE);
    assert_string_equal(e->observable[2].unit, "z");
    text_end(&self);
}

/* A parameter on a logarithmic scale is positive, so its lower bound is 0 if none is given. */
static void test_log_scale_has_lower_bound(void **state)
{
    (void)state;
    struct text_case self;
    text_read_good(&self, "parameter k = 1 scale log\nobserve a = k\n");
    assert_float_equal(self.equations->parameter[0].lower, 0, 0);
    text_end(&self);
}

/* An argument hides whatever else has its name. */
static void test_arguments_hide(void **state)
{
    (void)state;
    struct text_case self;
    text_read_good(&self, "parameter k = 1, m = 2\nf(k) = k*m\nobserve a = f(10) + k\n");
    assert_float_equal(self.value[self.equations->observable[0].value], 10 * 1.5 + 0.5, 0);
    text_end(&self);
}

static void test_d_and_dt_are_free(void **state)
{
    (void)state;
    struct text_case self;
    text_read_good(&self, "parameter d = 1, dt = 2\nobserve a = d/dt\nda = d/dt*(d) + dt\nx = da/dt\nobserve x\n");
    assert_float_equal(self.value[self.equations->observable[0].value], 0.5 / 1.5, 1e-16);
    assert_float_equal(self.value[self.equations->observable[1].value], (0.5 / 1.5 * 0.5 + 1.5) / 1.5, 4e-16);
    text_end(&self);
}

static void test_names_of_files(void **state)
{
    (void)state;
    static const struct { const char *origin, *name; } cases[] = {
        {"a/b/decay.ode", "decay"}, {"van-der-pol.ode", "van_der_pol"}, {"2state.ode", "_2state"}, {"x", "x"},
        {"caf\xc3\xa9.ode", "caf__"}, {".ode", "_ode"}, {"dir/", "model"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = "parameter k = 1\nobserve a = k\n";
        struct text_messages messages = {0};
        struct equations *equations;
        struct error error;
        assert_int_equal(text_parse(text, strlen(text), cases[i].origin, &equations, &messages, &error), STATUS_OK);
        assert_string_equal(equations->name, cases[i].name);
        equations_free(equations);
        text_messages_fini(&messages);
    }
}

/* Numbers have a point, whatever the user's locale writes. */
static void test_locale(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    bool found = false;
    for (size_t i = 0; !found && i < sizeof names / sizeof *names; i++)
        found = setlocale(LC_ALL, names[i]);
    if (!found) {
        print_message("no locale with a decimal comma is installed: skipped\n");
        skip();
    }
    check_value("1.5 + .25", 1.75);
    setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_operators), cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_choices), cmocka_unit_test(test_functions), cmocka_unit_test(test_order_and_layout),
        cmocka_unit_test(test_statements), cmocka_unit_test(test_log_scale_has_lower_bound),
        cmocka_unit_test(test_arguments_hide), cmocka_unit_test(test_d_and_dt_are_free),
        cmocka_unit_test(test_names_of_files), cmocka_unit_test(test_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
