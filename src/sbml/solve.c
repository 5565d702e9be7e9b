/* Algebraic rules, 0 = formula: each is solved for the one variable that it determines, which then
 * has an assignment rule. A variable can be determined if it may change, but no other rule, event
 * or reaction changes it. Formulas that are linear or linear fractional in it are solved at once;
 * what stands around such a part is inverted from the outside inwards.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sbml/document.h"

#include "sbml/expand.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_DEPTH = 400 };

struct solving {
    struct document *document;
    struct item *x; /* what an equation is solved for */
    /* the part in which x is, and which is solved for first: x itself, or a power or function */
    struct math *core;
    const char *why;  /* why it cannot be solved, or NULL */
    bool together;    /* the equations that are left have as many unknowns as they are */
};

static struct math *fail(struct solving *solving, const char *why)
{
    if (!solving->why)
        solving->why = why;
    return NULL;
}

/* Formulas: NULL stands for a formula that is not there (after a fault) where a pointer is
 * returned. */

static struct math *new_node(struct solving *solving, enum math_kind kind, const char *text,
                             uint32_t n)
{
    struct math *math = math_new(solving->document, kind, text, n);
    return math ? math : fail(solving, "with all functions and rules written out it is too long");
}

static struct math *of_two(struct solving *solving, enum math_kind kind, struct math *a,
                           struct math *b)
{
    struct math *math = a && b ? new_node(solving, kind, NULL, 2) : NULL;
    if (math) {
        math->operand[0] = a;
        math->operand[1] = b;
    }
    return math;
}

static struct math *of_one(struct solving *solving, enum math_kind kind, const char *text,
                           struct math *a)
{
    struct math *math = a ? new_node(solving, kind, text, 1) : NULL;
    if (math)
        math->operand[0] = a;
    return math;
}

static struct math *number(struct solving *solving, double value)
{
    struct math *math = new_node(solving, MATH_NUMBER, NULL, 0);
    if (math)
        math->value = value;
    return math;
}

static bool is_number(const struct math *math, double value)
{
    return math && math->kind == MATH_NUMBER && math->value == value;
}

static struct math *negate(struct solving *solving, struct math *a)
{
    if (!a)
        return NULL;
    if (a->kind == MATH_NUMBER)
        return number(solving, -a->value);
    if (a->kind == MATH_MINUS)
        return a->n == 1 ? a->operand[0]
                         : of_two(solving, MATH_MINUS, a->operand[1], a->operand[0]);
    bool has_sign = a->kind == MATH_PRODUCT && a->n == 2 && is_number(a->operand[0], -1);
    return has_sign ? a->operand[1] : of_one(solving, MATH_MINUS, NULL, a);
}

static struct math *add(struct solving *solving, struct math *a, struct math *b)
{
    if (is_number(a, 0) || is_number(b, 0))
        return is_number(a, 0) ? b : a;
    if (a && b && a->kind == MATH_NUMBER && b->kind == MATH_NUMBER)
        return number(solving, a->value + b->value);
    bool is_negative = b && b->kind == MATH_MINUS && b->n == 1;
    return of_two(solving, is_negative ? MATH_MINUS : MATH_SUM, a,
                  is_negative ? b->operand[0] : b);
}

static struct math *subtract(struct solving *solving, struct math *a, struct math *b)
{
    bool starts_negative = is_number(a, 0) && b && b->kind == MATH_SUM && b->n > 0;
    if (!starts_negative)
        return add(solving, a, negate(solving, b));
    struct math *sum = number(solving, 0); /* 0 - (a + b) as -a - b */
    for (uint32_t k = 0; k < b->n && sum; k++)
        sum = add(solving, sum, negate(solving, b->operand[k]));
    return sum;
}

static struct math *multiply(struct solving *solving, struct math *a, struct math *b)
{
    if (is_number(a, 0) || is_number(b, 1))
        return a;
    if (is_number(b, 0) || is_number(a, 1))
        return b;
    if (a && b && a->kind == MATH_NUMBER && b->kind == MATH_NUMBER)
        return number(solving, a->value * b->value);
    if (is_number(a, -1) || is_number(b, -1))
        return negate(solving, is_number(a, -1) ? b : a);
    return of_two(solving, MATH_PRODUCT, a, b);
}

static struct math *divide(struct solving *solving, struct math *a, struct math *b)
{
    if (is_number(b, 0))
        return fail(solving, "its factor there is 0");
    if (is_number(a, 0) || is_number(b, 1))
        return a;
    if (a && b && a->kind == MATH_NUMBER && b->kind == MATH_NUMBER)
        return number(solving, a->value / b->value);
    return is_number(b, -1) ? negate(solving, a) : of_two(solving, MATH_DIVIDE, a, b);
}

/* What a formula contains. */

static bool has(const struct math *math, const char *id)
{
    bool found = math->kind == MATH_NAME && !strcmp(math->text, id);
    for (uint32_t k = 0; k < math->n && !found; k++)
        found = has(math->operand[k], id);
    return found;
}

/* A variable that only an algebraic rule can determine. */
static bool is_free(const struct item *item, bool may_be_constant)
{
    bool reacts = item->kind == ITEM_SPECIES && item->n_effect && !item->is_boundary;
    return item->kind <= ITEM_REFERENCE && item->kind != ITEM_LOCAL && item->id[0] &&
           (!item->is_constant || may_be_constant) && !item->rule && !item->is_assigned && !reacts;
}

/* The number that a formula of numbers is. */
static bool is_constant(const struct math *math, double *value)
{
    double a = 0, b = 0;
    bool known = math->n <= 2 && (math->n < 1 || is_constant(math->operand[0], &a)) &&
                 (math->n < 2 || is_constant(math->operand[1], &b));
    if (math->kind == MATH_NUMBER)
        *value = math->value;
    else if (math->kind == MATH_MINUS)
        *value = math->n == 1 ? -a : a - b;
    else if (math->kind == MATH_DIVIDE)
        *value = a / b;
    else
        known = false;
    return known;
}

static bool is_same(const struct math *a, const struct math *b)
{
    bool same = a->kind == b->kind && a->n == b->n && !(a->value < b->value) &&
                !(a->value > b->value) && !a->text == !b->text &&
                (!a->text || !strcmp(a->text, b->text));
    for (uint32_t k = 0; k < a->n && same; k++)
        same = is_same(a->operand[k], b->operand[k]);
    return same;
}

/* (a x + b)/(c x + d), with the core for x. Without a denominator c is 0 and d is 1. */
struct ratio { struct math *a, *b, *c, *d; };

static bool is_whole(const struct ratio *ratio)
{
    return ratio->a && ratio->b && ratio->c && ratio->d;
}
static bool is_linear(const struct ratio *ratio) { return is_number(ratio->c, 0); }

static struct ratio scale(struct solving *solving, struct ratio of, struct math *factor)
{
    of.a = multiply(solving, of.a, factor);
    of.b = multiply(solving, of.b, factor);
    return of;
}

static struct ratio add_ratios(struct solving *solving, struct ratio one, struct ratio other)
{
    if (is_linear(&one) && !is_linear(&other)) {
        struct ratio first = one;
        one = other;
        other = first;
    }
    if (!is_linear(&other) && is_same(one.c, other.c) && is_same(one.d, other.d)) {
        one.a = add(solving, one.a, other.a);
        one.b = add(solving, one.b, other.b);
        return one;
    }
    if (!is_linear(&other) || (!is_linear(&one) && !is_number(other.a, 0)))
        return (struct ratio){fail(solving, "it is in several fractions"),
                              NULL, NULL, NULL};
    struct math *more = multiply(solving, other.b, one.c);
    one.a = add(solving, one.a, is_linear(&one) ? other.a : more);
    one.b = add(solving, one.b, multiply(solving, other.b, one.d));
    return one;
}

/* One over it. A linear formula's d is 1, so that it stays one where no x is above. */
static struct ratio inverse(struct ratio of) { return (struct ratio){of.c, of.d, of.a, of.b}; }

static struct ratio ratio_of(struct solving *solving, struct math *math);

static struct ratio quotient(struct solving *solving, struct ratio above, struct ratio below)
{
    bool is_above = !is_number(above.a, 0) || !is_linear(&above),
         is_below = !is_number(below.a, 0) || !is_linear(&below);
    if (!is_below && is_linear(&above)) {
        above.a = divide(solving, above.a, below.b);
        above.b = divide(solving, above.b, below.b);
    } else if (!is_below) {
        above.c = multiply(solving, above.c, below.b);
        above.d = multiply(solving, above.d, below.b);
    } else if (!is_above) {
        above = scale(solving, inverse(below), above.b);
    } else if (is_linear(&above) && is_linear(&below)) {
        above.c = below.a;
        above.d = below.b;
    } else {
        above.a = fail(solving, "it is above and below the lines of fractions");
    }
    return above;
}

static struct ratio ratio_of_product(struct solving *solving, const struct math *math)
{
    struct ratio made = {NULL, NULL, NULL, NULL};
    struct math *factor = number(solving, 1);
    for (uint32_t k = 0; k < math->n; k++) {
        struct math *at = math->operand[k];
        if (!has(at, solving->x->id)) {
            factor = multiply(solving, factor, at);
        } else if (made.a) {
            fail(solving, "it is in several factors");
            return (struct ratio){NULL, NULL, NULL, NULL};
        } else {
            made = ratio_of(solving, at);
            if (!is_whole(&made))
                return made;
        }
    }
    return scale(solving, made, factor);
}

/* Incomplete (some NULL) if the formula is not of this kind. */
static struct ratio ratio_of(struct solving *solving, struct math *math)
{
    const struct ratio none = {NULL, NULL, NULL, NULL};
    struct math *zero = number(solving, 0), *one = number(solving, 1);
    if (!has(math, solving->x->id))
        return (struct ratio){zero, math, zero, one};
    if (math->kind == MATH_PRODUCT)
        return ratio_of_product(solving, math);
    if (math->kind == MATH_SUM || math->kind == MATH_MINUS) {
        struct ratio sum = {zero, zero, zero, one};
        for (uint32_t k = 0; k < math->n; k++) {
            struct ratio part = ratio_of(solving, math->operand[k]);
            if (!is_whole(&part))
                return none;
            if (math->kind == MATH_MINUS && (k > 0 || math->n == 1))
                part = scale(solving, part, number(solving, -1));
            sum = add_ratios(solving, sum, part);
            if (!is_whole(&sum))
                return none;
        }
        return sum;
    }
    if (math->kind == MATH_DIVIDE) {
        struct ratio above = ratio_of(solving, math->operand[0]),
                     below = is_whole(&above) ? ratio_of(solving, math->operand[1]) : none;
        return is_whole(&below) ? quotient(solving, above, below) : none;
    }
    if (!solving->core)
        solving->core = math;
    if (!is_same(math, solving->core)) {
        fail(solving, "it is in several terms that are not alike");
        return none;
    }
    return (struct ratio){one, zero, zero, one};
}

/* From the outside inwards: the formula is equal to `value`, in which x is not. */
static struct math *solve(struct solving *solving, struct math *math, struct math *value,
                          unsigned depth);

/* Which root of a square or an absolute value: the sign of x is that of its value in the file;
 * compartments and species are not negative. 0: it is not known. */
static int sign_of(const struct solving *solving, const struct math *base)
{
    const struct item *x = solving->x;
    if (base->kind != MATH_NAME)
        return 0;
    return x->value > 0 ? 1 : x->value < 0 ? -1 : x->kind != ITEM_PARAMETER;
}

static struct math *solve_power(struct solving *solving, struct math *math, struct math *value,
                                unsigned depth)
{
    struct math *base = math->operand[0], *exponent = math->operand[1];
    double power = 0;
    if (has(base, solving->x->id) && has(exponent, solving->x->id))
        return fail(solving, "it is in a base and in its exponent");
    if (!has(base, solving->x->id)) /* base^f(x) */
        return solve(solving, exponent,
                     divide(solving, of_one(solving, MATH_FUNCTION, "log", value),
                            of_one(solving, MATH_FUNCTION, "log", base)), depth);
    bool is_exact = is_constant(exponent, &power);
    if (is_exact && power == 0)
        return fail(solving, "its power there is 0");
    bool is_odd = is_exact && fabs(fmod(power, 2)) == 1,
         is_even = is_exact && fmod(power, 2) == 0;
    int sign = is_exact && !is_odd && !is_even ? 1 : sign_of(solving, base);
    struct math *root = of_two(solving, MATH_POWER, value,
                               divide(solving, number(solving, 1), exponent));
    if (is_odd && root) { /* the root has the value's sign */
        root->kind = MATH_HELPER;
        root->text = "odd_root";
        root->operand[1] = exponent;
    } else if (sign == 0 || (sign < 0 && !is_even)) {
        return fail(solving, "there it is in a power, which two values can have the same of, and "
                             "the file gives no value that tells its sign");
    } else if (sign < 0) {
        root = negate(solving, root);
    }
    return root ? solve(solving, base, root, depth) : NULL;
}

static struct math *solve_function(struct solving *solving, struct math *math, struct math *value,
                                   unsigned depth)
{
    static const char *const pairs[][2] = {{"exp", "log"},   {"log", "exp"},   {"sinh", "asinh"},
                                           {"asinh", "sinh"}, {"tanh", "atanh"}, {"atanh", "tanh"},
                                           {"asin", "sin"},  {"acos", "cos"},  {"atan", "tan"},
                                           {"acosh", "cosh"}};
    struct math *inner = math->operand[0];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && math->n == 1; i++)
        if (!strcmp(math->text, pairs[i][0]))
            return solve(solving, inner, of_one(solving, MATH_FUNCTION, pairs[i][1], value), depth);
    if (!strcmp(math->text, "abs") && sign_of(solving, inner))
        return solve(solving, inner,
                     sign_of(solving, inner) < 0 ? negate(solving, value) : value, depth);
    return fail(solving, "there it is in a function whose inverse has several values");
}

static struct math *solve_pieces(struct solving *solving, const struct math *math,
                                 struct math *value, unsigned depth)
{
    struct math *made = new_node(solving, MATH_PIECEWISE, NULL, math->n);
    for (uint32_t k = 0; made && k < math->n; k++) {
        bool is_condition = k % 2 == 1;
        struct math *at = math->operand[k];
        if (is_condition && has(at, solving->x->id))
            return fail(solving, "a condition depends on it");
        if (!(made->operand[k] = is_condition ? at : solve(solving, at, value, depth)))
            return NULL;
    }
    return made;
}

/* A root of the second operand, whose degree is the first, or a logarithm with its base; with one
 * operand of degree 2, with base 10. */
static struct math *solve_root(struct solving *solving, struct math *math, struct math *value,
                               unsigned depth)
{
    bool is_root = math->kind == MATH_ROOT;
    struct math *inner = math->operand[math->n - 1],
                *by = math->n == 2 ? math->operand[0] : number(solving, is_root ? 2 : 10);
    if (by && has(by, solving->x->id))
        return fail(solving, "it is a root's degree or a logarithm's base");
    return solve(solving, inner,
                 of_two(solving, MATH_POWER, is_root ? value : by, is_root ? by : value), depth);
}

static struct math *solve(struct solving *solving, struct math *math, struct math *value,
                          unsigned depth)
{
    solving->core = NULL;
    if (value && depth > MOST_DEPTH)
        return fail(solving, "it is nested too deep");
    if (value && !has(math, solving->x->id))
        return fail(solving, "a part of the rule does not depend on it");
    struct ratio at = value ? ratio_of(solving, math) : (struct ratio){NULL, NULL, NULL, NULL};
    struct math *core = solving->core;
    if (!is_whole(&at) || solving->document->failed)
        return NULL;
    value = divide(solving, subtract(solving, multiply(solving, value, at.d), at.b),
                   subtract(solving, at.a, multiply(solving, value, at.c)));
    if (!value || core->kind == MATH_NAME)
        return value;
    switch (core->kind) {
    case MATH_ROOT: case MATH_LOG: return solve_root(solving, core, value, depth + 1);
    case MATH_POWER: return solve_power(solving, core, value, depth + 1);
    case MATH_FUNCTION: return solve_function(solving, core, value, depth + 1);
    case MATH_PIECEWISE: return solve_pieces(solving, core, value, depth + 1);
    default: return fail(solving, "it is in a part that cannot be inverted");
    }
}

/* The free variables of an equation. */
struct unknowns {
    struct item *item[8], *valueless;
    size_t n, n_valueless;
    bool may_be_constant; /* parameters that are said to be constant count, too */
};
static void collect(void *context, const struct math *math, struct item *item)
{
    struct unknowns *unknowns = context;
    (void)math;
    if (!item || !is_free(item, unknowns->may_be_constant && item->kind == ITEM_PARAMETER))
        return;
    if (unknowns->n < sizeof unknowns->item / sizeof *unknowns->item)
        unknowns->item[unknowns->n] = item;
    unknowns->n++;
    if (isnan(item->value) && !item->initial) {
        unknowns->n_valueless++;
        unknowns->valueless = item;
    }
}

static struct unknowns unknowns_of(struct document *document, const struct math *math)
{
    struct unknowns unknowns = {.n = 0};
    math_visit(document, math, collect, &unknowns);
    if (unknowns.n == 0 && document->level == 1) { /* whose files cannot say what is constant */
        unknowns.may_be_constant = true;
        math_visit(document, math, collect, &unknowns);
    }
    return unknowns;
}

/* Solves an equation for x, which gets a rule. False: it cannot be, for solving->why. */
static bool determine(struct solving *solving, struct equation *equation, struct item *x)
{
    struct document *document = solving->document;
    solving->x = x;
    solving->why = NULL;
    struct math *whole = math_write_out(document, equation->math, x, &solving->why);
    struct math *found = whole ? solve(solving, whole, number(solving, 0), 0) : NULL;
    if (!found || document->failed)
        return false;
    x->rule = found;
    x->is_constant = false;
    x->initial = NULL;
    x->is_rate_rule = false;
    equation->is_solved = true;
    document_note(document, x, "the algebraic rule in line %u is solved for it", equation->line);
    return true;
}

/* An equation's names, for messages. */
static char *list_of(struct document *document, const struct unknowns *unknowns)
{
    char *text = document_format(document, "`%.60s`", unknowns->item[0]->id);
    size_t room = sizeof unknowns->item / sizeof *unknowns->item;
    for (size_t i = 1; i < unknowns->n && i < room && text; i++)
        text = document_format(document, "%s%s `%.60s`", text,
                               i + 1 == unknowns->n ? " or" : ",", unknowns->item[i]->id);
    if (unknowns->n > room && text)
        text = document_format(document, "%s or others", text);
    return text;
}

static enum status refuse(struct solving *solving, const struct equation *equation)
{
    struct document *document = solving->document;
    struct unknowns unknowns = unknowns_of(document, equation->math);
    if (unknowns.n == 0)
        return document_fault(document, equation->line, "algebraic rule", NULL,
                              "rules, reactions and events determine all that may change in it, so "
                              "that it can determine nothing: remove it, or what else sets the "
                              "variable that it is to determine");
    char *list = list_of(document, &unknowns);
    if (!list)
        return document->error->status;
    if (unknowns.n > 1 && solving->together)
        return document_fault(document, equation->line, "algebraic rule", NULL,
                              "it and others after it cannot be solved together for %s: %s. Write "
                              "assignment rules instead", list,
                              solving->why ? solving->why : "they are not linear");
    if (unknowns.n > 1)
        return document_fault(document, equation->line, "algebraic rule", NULL,
                              "which of %s it determines is not said: make the others constant "
                              "(constant=\"true\"), or write an assignment rule instead", list);
    return document_fault(document, equation->line, "algebraic rule", NULL,
                          "it cannot be solved for %s: %s. Write an assignment rule for %s, or a "
                          "rate rule (the derivative of the algebraic rule) with its initial value",
                          list, solving->why ? solving->why : "it is not linear in it", list);
}

/* One equation that can be solved now: of one unknown; or with `any` of any of its unknowns,
 * which the others then lose. */
static bool determine_next(struct solving *solving, bool any)
{
    struct document *document = solving->document;
    for (size_t i = 0; i < document->n_equation && !document->failed; i++) {
        struct equation *equation = &document->equation[i];
        if (equation->is_solved)
            continue;
        struct unknowns unknowns = unknowns_of(document, equation->math);
        size_t n = unknowns.n < 8 ? unknowns.n : 8;
        struct item *one = unknowns.n == 1 ? unknowns.item[0]
                           : unknowns.n_valueless == 1 ? unknowns.valueless : NULL;
        if (one && determine(solving, equation, one))
            return true;
        for (size_t k = 0; any && k < n; k++)
            if (determine(solving, equation, unknowns.item[k]))
                return true;
    }
    return false;
}

/* Whether there are as many unknowns as equations: then each of them is determined. */
static bool is_square(struct document *document, size_t n_left)
{
    struct math *all = math_new(document, MATH_SUM, NULL, (uint32_t)n_left);
    size_t n = 0;
    for (size_t i = 0; i < document->n_equation && all; i++)
        if (!document->equation[i].is_solved)
            all->operand[n++] = document->equation[i].math;
    return all && unknowns_of(document, all).n == n_left;
}

enum status solve_equations(struct document *document)
{
    struct solving solving = {.document = document};
    size_t n_left = document->n_equation;
    for (bool found = true; n_left && found && !document->failed; n_left -= found) {
        found = determine_next(&solving, false);
        solving.together = !found && n_left > 1 && is_square(document, n_left);
        found = found || (solving.together && determine_next(&solving, true));
    }
    for (size_t i = 0; i < document->n_equation && !document->failed; i++)
        if (!document->equation[i].is_solved)
            return refuse(&solving, &document->equation[i]);
    return document->failed ? document->error->status : STATUS_OK;
}
