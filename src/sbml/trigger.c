/* Conditions of events as functions of time: which comparisons can make one true, and where the
 * integrator can see it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sbml/translation.h"

#include <math.h>

/* Whether a formula does not vary or, `jumps`, changes only by events. */
static bool is_fixed(const struct document *document, const struct math *math, bool jumps)
{
    const struct item *item = math->kind == MATH_NAME ? document_find(document, math->text) : NULL;
    bool is_flag = item && jumps && item->form == FORM_STATE && !item->is_rate_rule
                   && (item->n_effect == 0 || item->is_boundary);
    bool fixed = math->kind != MATH_TIME && math->kind != MATH_RATE_OF && math->kind != MATH_CALL
                 && (math->kind != MATH_NAME || is_flag
                     || (item && item->kind <= ITEM_REFERENCE && item->form <= FORM_FIXED));
    for (uint32_t k = 0; k < math->n && fixed; k++)
        fixed = is_fixed(document, math->operand[k], jumps);
    return fixed;
}

/* How a formula depends on time: its slope's sign if it is linear in time and does not vary
 * otherwise; NAN: in another way. */
static double sign_in_time(const struct document *document, const struct math *math);

/* Of an assignment rule, once: rules of rules would cost a power of two. */
static double sign_of_rule(const struct document *document, struct item *item)
{
    enum { UNKNOWN, OTHER, NONE = 10 }; /* NONE + sign */
    if (item->time_sign == UNKNOWN) {
        double sign = sign_in_time(document, item->rule);
        item->time_sign = isnan(sign) ? OTHER : (uint8_t)(NONE + sign);
    }
    return item->time_sign == OTHER ? NAN : item->time_sign - NONE;
}

static double sign_in_time(const struct document *document, const struct math *math)
{
    struct item *item = math->kind == MATH_NAME ? document_find(document, math->text) : NULL;
    if (math->kind == MATH_TIME)
        return 1;
    if (is_fixed(document, math, false))
        return 0;
    if (item && item->form == FORM_RULE && item->rule)
        return sign_of_rule(document, item);
    double sum = 0, factor = 1;
    bool varies = math->n == 0 || math->kind == MATH_RATE_OF || math->kind == MATH_CALL;
    for (uint32_t k = 0; k < math->n; k++) {
        const struct math *at = math->operand[k];
        double part = sign_in_time(document, at);
        bool is_number = at->kind == MATH_NUMBER,
             is_less = math->kind == MATH_MINUS && (k > 0 || math->n == 1);
        varies = varies || part != 0;
        part = is_less ? -part : part;
        sum = sum * part < 0 ? NAN : sum + part;
        factor = math->kind == MATH_DIVIDE && k == 1 && !is_number
                     ? NAN
                     : factor * (is_number ? copysign(1, at->value) : part);
    }
    if (!varies) /* of rules that do not */
        return 0;
    if (math->kind == MATH_SUM || math->kind == MATH_MINUS)
        return sum > 0 ? 1 : sum < 0 ? -1 : sum;
    bool is_product = math->kind == MATH_PRODUCT || math->kind == MATH_DIVIDE;
    return is_product && factor != 0 ? factor : NAN;
}

/* The sign in time of the difference of two sides, NAN if it is no test of time. */
static double sign_of_sides(const struct document *document, const struct math *math, uint32_t k)
{
    double a = sign_in_time(document, math->operand[k]),
           b = sign_in_time(document, math->operand[k + 1]);
    return a * b > 0 || a == b ? NAN : a - b;
}

bool is_time_test(const struct document *document, const struct math *math)
{
    return math->kind == MATH_COMPARE && math->n == 2 && !isnan(sign_of_sides(document, math, 0));
}

bool has_equality(const struct document *document, const struct math *math)
{
    bool found = math->kind == MATH_COMPARE && (math->text[0] == '=' || math->text[0] == '!')
                 && !is_fixed(document, math, true) && !is_time_test(document, math);
    for (uint32_t k = 0; k < math->n && !found; k++)
        found = has_equality(document, math->operand[k]);
    return found;
}

/* How comparisons can make a trigger true: where both sides are equal, or only beyond; those of
 * time, and others. */
enum { AT_TIME = 1, BEYOND_TIME = 2, AT_VALUE = 4, BEYOND_VALUE = 8 };

static unsigned ways_of(const struct document *document, const struct math *math, bool rises);

static unsigned ways_of_comparison(const struct document *document, const struct math *math,
                                   bool rises)
{
    bool is_equality = math->text[0] == '=' || math->text[0] == '!';
    bool holds_at = is_equality ? math->text[0] == '=' : math->text[1] == '=';
    unsigned ways = 0;
    for (uint32_t k = 0; k + 1 < math->n; k++) {
        double sign = sign_of_sides(document, math, k);
        /* the difference grows as this happens */
        bool wants_more = (math->text[0] == '>') == rises;
        if (!isnan(sign) && !is_equality && (sign > 0) != wants_more)
            continue;
        ways |= holds_at == rises ? (isnan(sign) ? AT_VALUE : AT_TIME)
                                  : (isnan(sign) ? BEYOND_VALUE : BEYOND_TIME);
    }
    return ways;
}

static unsigned ways_of(const struct document *document, const struct math *math, bool rises)
{
    const struct item *function =
        math->kind == MATH_CALL ? document_find(document, math->text) : NULL;
    unsigned ways = 0;
    switch (math->kind) {
    case MATH_COMPARE: return ways_of_comparison(document, math, rises);
    case MATH_NOT: return ways_of(document, math->operand[0], !rises);
    case MATH_CALL:
        return function && function->rule ? ways_of(document, function->rule, rises) : 0;
    case MATH_IMPLIES:
        return ways_of(document, math->operand[0], !rises) |
               ways_of(document, math->operand[1], rises);
    case MATH_AND: case MATH_OR: case MATH_PIECEWISE: case MATH_HELPER:
        for (uint32_t k = 0; k < math->n; k++) {
            ways |= ways_of(document, math->operand[k], rises);
            if (math->kind == MATH_HELPER) /* xor */
                ways |= ways_of(document, math->operand[k], !rises);
        }
        return ways;
    default: return 0;
    }
}

bool is_strict(const struct document *document, const struct item *event)
{
    unsigned ways = ways_of(document, event->rule, true);
    unsigned decisive = ways & (AT_TIME | BEYOND_TIME) ? ways & (AT_TIME | BEYOND_TIME) : ways;
    return decisive && !(decisive & (AT_TIME | AT_VALUE));
}
