/* A recursive-descent parser of PEtab's math expressions, and one table of functions for
 * computing and writing them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "petab/math.h"

#include "base/words.h"
#include "io/csv.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 200, MAX_NODE = 20000 };

typedef double (*one)(double);

/* least, most: numbers of arguments. text: model text, where $ stands for the argument, or for
 * the first and second of two; with more arguments, or where it is NULL, it is a call of `name`.
 * f: of one argument; value_of_two has the others. */
struct petab_function {
    const char *name;
    size_t least, most;
    const char *text;
    one f;
};

static double cot(double x) { return 1 / tan(x); }
static double sec(double x) { return 1 / cos(x); }
static double csc(double x) { return 1 / sin(x); }
static double arccot(double x) { return atan(1 / x); }
static double arcsec(double x) { return acos(1 / x); }
static double arccsc(double x) { return asin(1 / x); }
static double coth(double x) { return 1 / tanh(x); }
static double sech(double x) { return 1 / cosh(x); }
static double csch(double x) { return 1 / sinh(x); }
static double arccoth(double x) { return atanh(1 / x); }
static double arcsech(double x) { return acosh(1 / x); }
static double arccsch(double x) { return asinh(1 / x); }
static double sign(double x) { return isnan(x) ? x : (double)((x > 0) - (x < 0)); }
static double not(double x) { return x == 0; }
static double minus(double x) { return -x; }

static const struct petab_function functions[] = {{"exp", 1, 1, NULL, exp},
                                                  {"ln", 1, 1, "log($)", log},
                                                  {"log", 1, 2, "log($)", log},
                                                  {"log10", 1, 1, NULL, log10},
                                                  {"log2", 1, 1, NULL, log2},
                                                  {"sqrt", 1, 1, NULL, sqrt},
                                                  {"abs", 1, 1, NULL, fabs},
                                                  {"sign", 1, 1, NULL, sign},
                                                  {"sin", 1, 1, NULL, sin},
                                                  {"cos", 1, 1, NULL, cos},
                                                  {"tan", 1, 1, NULL, tan},
                                                  {"cot", 1, 1, "(1/tan($))", cot},
                                                  {"sec", 1, 1, "(1/cos($))", sec},
                                                  {"csc", 1, 1, "(1/sin($))", csc},
                                                  {"arcsin", 1, 1, "asin($)", asin},
                                                  {"arccos", 1, 1, "acos($)", acos},
                                                  {"arctan", 1, 1, "atan($)", atan},
                                                  {"arccot", 1, 1, "atan(1/$)", arccot},
                                                  {"arcsec", 1, 1, "acos(1/$)", arcsec},
                                                  {"arccsc", 1, 1, "asin(1/$)", arccsc},
                                                  {"sinh", 1, 1, NULL, sinh},
                                                  {"cosh", 1, 1, NULL, cosh},
                                                  {"tanh", 1, 1, NULL, tanh},
                                                  {"coth", 1, 1, "(1/tanh($))", coth},
                                                  {"sech", 1, 1, "(1/cosh($))", sech},
                                                  {"csch", 1, 1, "(1/sinh($))", csch},
                                                  {"arcsinh", 1, 1, "asinh($)", asinh},
                                                  {"arccosh", 1, 1, "acosh($)", acosh},
                                                  {"arctanh", 1, 1, "atanh($)", atanh},
                                                  {"arccoth", 1, 1, "atanh(1/$)", arccoth},
                                                  {"arcsech", 1, 1, "acosh(1/$)", arcsech},
                                                  {"arccsch", 1, 1, "asinh(1/$)", arccsch},
                                                  {"pow", 2, 2, NULL, NULL},
                                                  {"min", 2, SIZE_MAX, NULL, NULL},
                                                  {"max", 2, SIZE_MAX, NULL, NULL},
                                                  {"piecewise", 3, SIZE_MAX, NULL, NULL},
                                                  {NULL, 0, 0, NULL, NULL}};

/* Operators in groups of equal precedence, from the lowest; in a group, a prefix follows what it
 * is a prefix of. */
static const struct petab_function operators[][7] = {
    {{"&&", 2, 2, "($ and $)", NULL}, {"||", 2, 2, "($ or $)", NULL}},
    {{"<=", 2, 2, "($ <= $)", NULL}, {">=", 2, 2, "($ >= $)", NULL}, {"==", 2, 2, "($ == $)", NULL},
     {"!=", 2, 2, "($ != $)", NULL}, {"<", 2, 2, "($ < $)", NULL}, {">", 2, 2, "($ > $)", NULL}},
    {{"+", 2, 2, "($ + $)", NULL}, {"-", 2, 2, "($ - $)", NULL}},
    {{"*", 2, 2, "($*$)", NULL}, {"/", 2, 2, "($/$)", NULL}},
};
enum { N_LEVEL = sizeof operators / sizeof *operators };
static const struct petab_function power = {"^", 2, 2, "($^$)", NULL},
                                   negative = {"-", 1, 1, "(-$)", minus},
                                   negation = {"!", 1, 1, "(not $)", not };

struct parser {
    struct petab_reader *reader;
    struct petab_place place;
    const char *text, *at;
    int depth;
    size_t n_node;
    bool failed;
};

static const struct petab_math *fail(struct parser *parser, const char *what)
{
    if (!parser->failed)
        petab_fault(parser->reader, parser->place,
                    *parser->at ? "%s at '%.30s' in '%.200s'" : "%s at the end%s of '%.200s'", what,
                    parser->at, parser->text);
    parser->failed = true;
    return NULL;
}

static void skip_blanks(struct parser *parser)
{
    while (isspace((unsigned char)*parser->at))
        parser->at++;
}

static bool accept(struct parser *parser, const char *sign)
{
    skip_blanks(parser);
    size_t n = strlen(sign);
    if (strncmp(parser->at, sign, n))
        return false;
    if (sign[0] == '*' && !sign[1] && parser->at[1] == '*') /* ** is a power */
        return false;
    parser->at += n;
    return true;
}

static const struct petab_math *make(struct parser *parser, struct petab_math math)
{
    if (++parser->n_node > MAX_NODE) /* a sum is as deep as it is long */
        return fail(parser, "this is too long");
    struct petab_math *made = petab_alloc(parser->reader, 1, sizeof *made);
    *made = math;
    return made;
}

static const struct petab_math *call(struct parser *parser, const struct petab_function *function,
                                     size_t n, const struct petab_math *const *argument)
{
    const struct petab_math **copy = petab_alloc(parser->reader, n, sizeof *copy);
    for (size_t i = 0; i < n; i++)
        if (!(copy[i] = argument[i]))
            return NULL;
    return make(parser, (struct petab_math){.kind = MATH_CALL,
                                            .function = function, .n = n, .argument = copy});
}

static const struct petab_math *parse_level(struct parser *parser, int level);

static const struct petab_math *parse_call(struct parser *parser, const char *name)
{
    const struct petab_function *function = functions;
    const struct petab_math **argument = NULL;
    size_t n = 0, room = 0;
    while (function->name && strcmp(function->name, name))
        function++;
    if (!function->name) {
        petab_fault(parser->reader, parser->place,
                    "'%.300s' is not a function of PEtab, in '%.200s'", name, parser->text);
        parser->failed = true;
        return NULL;
    }
    do {
        petab_grow(parser->reader, &argument, n, &room, sizeof *argument);
        if (!(argument[n++] = parse_level(parser, 0)))
            return NULL;
    } while (accept(parser, ","));
    if (!accept(parser, ")"))
        return fail(parser, "a ')' is missing");
    if (n < function->least || n > function->most || (function->least == 3 && n % 2 == 0))
        return fail(parser, petab_format(parser->reader, "%s has a wrong number of arguments (%zu)",
                                         name, n));
    return call(parser, function, n, argument);
}

static const struct petab_math *parse_primary(struct parser *parser)
{
    skip_blanks(parser);
    const char *from = parser->at;
    if (accept(parser, "(")) {
        const struct petab_math *inner = parse_level(parser, 0);
        return inner && !accept(parser, ")") ? fail(parser, "a ')' is missing") : inner;
    }
    if (isdigit((unsigned char)*from) || (*from == '.' && isdigit((unsigned char)from[1]))) {
        const char *to = from + strspn(from, "0123456789.");
        if (*to == 'e' || *to == 'E') {
            const char *digits = to + 1 + (to[1] == '+' || to[1] == '-');
            to = isdigit((unsigned char)*digits) ? digits + strspn(digits, "0123456789") : to;
        }
        double number;
        parser->at = to;
        if (!csv_parse_double(petab_format(parser->reader, "%.*s", (int)(to - from), from),
                              &number))
            return fail(parser, "this is not a number");
        return make(parser, (struct petab_math){.kind = MATH_NUMBER, .number = number});
    }
    if (!isalpha((unsigned char)*from) && *from != '_')
        return fail(parser, "an operand is missing");
    while (isalnum((unsigned char)*parser->at) || *parser->at == '_')
        parser->at++;
    const char *name = petab_format(parser->reader, "%.*s", (int)(parser->at - from), from);
    if (accept(parser, "("))
        return parse_call(parser, name);
    static const char *const words[] = {"true", "false", "inf", "True", "False"};
    static const double values[] = {1, 0, INFINITY, 1, 0};
    int word = words_find(name, words, sizeof words / sizeof *words);
    return make(parser, word >= 0 ? (struct petab_math){.kind = MATH_NUMBER, .number = values[word]}
                                  : (struct petab_math){.kind = MATH_SYMBOL, .symbol = name});
}

/* Signs bind less than powers, whose exponents may have signs. */
static const struct petab_math *parse_sign(struct parser *parser)
{
    const struct petab_math *argument[2], *made;
    if (++parser->depth > MAX_DEPTH) {
        parser->depth--;
        return fail(parser, "this is nested too deeply");
    }
    if (accept(parser, "+")) {
        made = parse_sign(parser);
    } else if (accept(parser, "-")) {
        argument[0] = parse_sign(parser);
        made = call(parser, &negative, 1, argument);
    } else if (accept(parser, "!")) {
        argument[0] = parse_sign(parser);
        made = call(parser, &negation, 1, argument);
    } else {
        made = argument[0] = parse_primary(parser);
        if (made && (accept(parser, "^") || accept(parser, "**"))) {
            argument[1] = parse_sign(parser);
            made = call(parser, &power, 2, argument);
        }
    }
    parser->depth--;
    return made;
}

static const struct petab_math *parse_level(struct parser *parser, int level)
{
    if (level == N_LEVEL)
        return parse_sign(parser);
    const struct petab_math *left = parse_level(parser, level + 1);
    for (bool more = true; left && more;) {
        more = false;
        for (const struct petab_function *o = operators[level]; o->name && !more; o++)
            if (accept(parser, o->name)) {
                const struct petab_math *const argument[] = {left, parse_level(parser, level + 1)};
                left = call(parser, o, 2, argument);
                more = true;
            }
    }
    return left;
}

const struct petab_math *petab_math_parse(struct petab_reader *reader, struct petab_place place,
                                          const char *text)
{
    struct parser parser = {.reader = reader, .place = place, .text = text, .at = text};
    const struct petab_math *math = parse_level(&parser, 0);
    skip_blanks(&parser);
    if (math && *parser.at)
        return fail(&parser, "the expression ends before its text");
    return math;
}

void petab_math_symbols(const struct petab_math *math,
                        void (*see)(void *context, const char *symbol), void *context)
{
    if (math->kind == MATH_SYMBOL)
        see(context, math->symbol);
    for (size_t i = 0; i < math->n; i++)
        petab_math_symbols(math->argument[i], see, context);
}

bool petab_math_is_number(const struct petab_math *math)
{
    bool is_number = math->kind != MATH_SYMBOL;
    for (size_t i = 0; i < math->n; i++)
        is_number = is_number && petab_math_is_number(math->argument[i]);
    return is_number;
}

static double value_of_two(const char *name, double a, double b)
{
    if (name[0] == 'm')
        return name[1] == 'i' ? fmin(a, b) : fmax(a, b);
    if (name[0] == 'l')
        return log(a) / log(b);
    if (name[0] == 'p' || name[0] == '^')
        return pow(a, b);
    bool equal = name[1] == '=';
    switch (name[0]) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    case '/': return a / b;
    case '&': return a != 0 && b != 0;
    case '|': return a != 0 || b != 0;
    case '<': return equal ? a <= b : a < b;
    case '>': return equal ? a >= b : a > b;
    case '=': return a == b;
    default: return a != b;
    }
}

double petab_math_value(const struct petab_math *math,
                        double (*value_of)(void *context, const char *symbol), void *context)
{
    if (math->kind != MATH_CALL)
        return math->kind == MATH_NUMBER ? math->number : value_of(context, math->symbol);
    double value = petab_math_value(math->argument[0], value_of, context);
    if (math->n == 1)
        return math->function->f(value);
    if (math->function->least == 3) { /* piecewise: the first true condition */
        for (size_t i = 1; i < math->n; i += 2) {
            if (petab_math_value(math->argument[i], value_of, context) != 0)
                return value;
            value = petab_math_value(math->argument[i + 1], value_of, context);
        }
        return value;
    }
    for (size_t i = 1; i < math->n; i++)
        value = value_of_two(math->function->name, value,
                             petab_math_value(math->argument[i], value_of, context));
    return value;
}

static void put_number(struct petab_text *out, double number)
{
    char text[NUMBER_SIZE];
    if (isinf(number)) /* model text has no infinite numbers */
        petab_put(out, number > 0 ? "(-log(0))" : "log(0)");
    else
        petab_put(out, number < 0 ? "(%s)" : "%s", number_text(text, number));
}

void petab_math_put(struct petab_text *out, const struct petab_math *math,
                    const char *(*name_of)(void *context, const char *symbol), void *context)
{
    if (math->kind == MATH_NUMBER)
        put_number(out, math->number);
    else if (math->kind == MATH_SYMBOL)
        petab_put(out, "%s", name_of(context, math->symbol));
    if (math->kind != MATH_CALL)
        return;
    const char *pattern =
        math->n == 2 && math->function->least == 1 ? "(log($)/log($))" : math->function->text;
    size_t i = 0;
    for (const char *p = pattern; p && *p; p++)
        if (*p == '$')
            petab_math_put(out, math->argument[i++], name_of, context);
        else
            petab_put(out, "%c", *p);
    if (pattern)
        return;
    petab_put(out, "%s(", math->function->name);
    for (; i < math->n; i++) {
        petab_put(out, "%s", i ? ", " : "");
        petab_math_put(out, math->argument[i], name_of, context);
    }
    petab_put(out, ")");
}
