/* Prints one expression: a loop over a stack of items yet to be printed, so that depth does not
 * matter. The table of operations says how each operation looks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/generate/listing_internal.h"

#include "base/arena.h"

#include <stdlib.h>

enum { LATEX_WIDTH = 90 };

static void push(struct listing *listing, struct item item)
{
    if (array_grow(&listing->stack, listing->n_stack, &listing->room_stack, sizeof item))
        listing->stack[listing->n_stack++] = item;
    else
        listing->failed = true;
}

static void push_text(struct listing *listing, const char *text)
{
    push(listing, (struct item){.text = text});
}

static const char *parenthesis(const struct listing *listing, bool needed, bool opens)
{
    return !needed ? "" : listing->is_latex ? opens ? "\\left(" : "\\right)" : opens ? "(" : ")";
}

/* Items are pushed in the order of reading; the stack gives back the last one first. */
static void reverse(struct listing *listing, size_t begin)
{
    for (size_t i = begin, j = listing->n_stack; i + 1 < j; i++, j--) {
        struct item kept = listing->stack[i];
        listing->stack[i] = listing->stack[j - 1];
        listing->stack[j - 1] = kept;
    }
}

static void put(struct listing *listing, const char *text, FILE *out)
{
    fputs(text, out);
    if (listing->is_latex)
        listing->width += latex_width(text);
}

void listing_number(const struct listing *listing, double value, char text[80])
{
    if (listing->is_latex)
        latex_number(value, text);
    else
        listing_digits(value, text);
}

/* x1, y1, x2, y2, ... */
static void print_table(struct listing *listing, struct graph_table table, FILE *out)
{
    char text[80];
    for (size_t i = 0; i < 2 * table.n; i++) {
        listing_number(listing, (i % 2 ? table.y : table.x)[i / 2], text);
        put(listing, i ? ", " : "", out);
        put(listing, text, out);
    }
}

static void print_leaf(struct listing *listing, const struct graph_node *leaf,
                       const struct item *item, FILE *out)
{
    char text[80];
    enum binding bind = BIND_PRIMARY;
    const char *name = text;
    switch (leaf->op) {
    case GRAPH_CONSTANT:
        bind = listing->is_latex ? latex_number(leaf->value, text) : text_number(leaf->value, text);
        break;
    case GRAPH_STATE: name = listing->name[listing->first[NAME_STATE] + leaf->index]; break;
    case GRAPH_PARAMETER: name = listing->name[listing->first[NAME_PARAMETER] + leaf->index]; break;
    case GRAPH_COVARIATE: name = listing->name[listing->first[NAME_COVARIATE] + leaf->index]; break;
    case GRAPH_TABLE:
        print_table(listing, graph_table_of(listing->equations->graph, leaf->index), out);
        return;
    case GRAPH_INPUT: name = listing->name[listing->first[NAME_INPUT] + leaf->index]; break;
    default: name = "t";
    }
    bool sign = leaf->op == GRAPH_CONSTANT && leaf->value < 0;
    bool enclosed = bind < item->least || (item->plain && sign);
    put(listing, parenthesis(listing, enclosed, true), out);
    put(listing, name, out);
    put(listing, parenthesis(listing, enclosed, false), out);
}

static struct item part(const struct item *whole, node which, uint8_t least)
{
    return (struct item){.which = which, .least = least, .depth = whole->depth};
}

/* Nested choices in the last branch of a choice become one: piecewise(a, c, b, d, otherwise). */
static void push_choices(struct listing *listing, node which, const struct item *item)
{
    const struct graph *graph = listing->equations->graph;
    const struct graph_node *choice = graph_node(graph, which);
    const struct graph_node *last = graph_node(graph, choice->arg[2]);
    bool is_chain = last->op == GRAPH_SELECT && !listing_label_of(listing, choice->arg[2]);
    bool latex = listing->is_latex;
    push_text(listing, latex ? "\\begin{cases} " : is_chain ? "piecewise(" : "if(");
    for (;;) {
        bool condition_first = !latex && !is_chain;
        push(listing, part(item, choice->arg[condition_first ? 0 : 1], BIND_ANY));
        push_text(listing, latex ? " & \\text{if } " : ", ");
        push(listing, part(item, choice->arg[condition_first ? 1 : 0], BIND_ANY));
        push_text(listing, latex ? " \\\\ " : ", ");
        node otherwise = choice->arg[2];
        choice = graph_node(graph, otherwise);
        if (choice->op != GRAPH_SELECT || listing_label_of(listing, otherwise)) {
            push(listing, part(item, otherwise, BIND_ANY));
            break;
        }
    }
    push_text(listing, latex ? " & \\text{otherwise} \\end{cases}" : ")");
}

/* The exponent n if a node is *base^n as the graph unrolls whole powers: the product for the
 * lower bits of n, times the square for its highest one. `most` limits the nesting: x^15 has
 * four levels. */
static unsigned whole_power(const struct listing *listing, node which, int most, node *base)
{
    const struct graph_node *it = graph_node(listing->equations->graph, which);
    *base = which;
    if (it->op != GRAPH_MULTIPLY || most == 0)
        return 1;
    node left_base = it->arg[0], right_base = it->arg[1];
    unsigned left = listing_label_of(listing, left_base)
                        ? 1
                        : whole_power(listing, left_base, most - 1, &left_base);
    unsigned right = listing_label_of(listing, right_base)
                         ? 1
                         : whole_power(listing, right_base, most - 1, &right_base);
    if (left > right) {
        unsigned kept = left;
        left = right;
        right = kept;
    }
    bool is_square = (right & (right - 1)) == 0;
    if (left_base == right_base && is_square &&
        (left < right || (left == right && it->arg[0] == it->arg[1]))) {
        *base = left_base;
        return left + right;
    }
    return 1;
}

/* Whether the node is a sum (or, within a product, a product) printed where it is used. */
static bool goes_on(const struct listing *listing, enum graph_op op, node which)
{
    node base;
    enum graph_op inner = graph_node(listing->equations->graph, which)->op;
    if (listing_label_of(listing, which))
        return false;
    return op == GRAPH_ADD ? inner == GRAPH_ADD || inner == GRAPH_SUBTRACT
                           : inner == GRAPH_MULTIPLY && whole_power(listing, which, 4, &base) < 2;
}

/* The graph may reorder arguments: (a + b) + c may become c + (a + b). A number stays in front
 * of a product. */
bool listing_is_swapped(const struct listing *listing, node which)
{
    const struct graph *graph = listing->equations->graph;
    const struct graph_node *it = graph_node(graph, which);
    if (it->op != GRAPH_ADD && it->op != GRAPH_MULTIPLY)
        return false;
    bool is_scaled =
        it->op == GRAPH_MULTIPLY && graph_node(graph, it->arg[0])->op == GRAPH_CONSTANT;
    return !is_scaled && goes_on(listing, it->op, it->arg[1]) &&
           !goes_on(listing, it->op, it->arg[0]);
}

/* Whether it begins with a digit: two adjacent numbers need a sign between them. */
static bool begins_with_number(const struct listing *listing, node which)
{
    for (;;) {
        node base;
        const struct graph_node *it = graph_node(listing->equations->graph, which);
        if (listing_label_of(listing, which))
            return false;
        if (it->op == GRAPH_CONSTANT)
            return it->value >= 0;
        if (it->op == GRAPH_MULTIPLY && whole_power(listing, which, 4, &base) > 1)
            which = base;
        else if (it->op == GRAPH_MULTIPLY)
            which = it->arg[listing_is_swapped(listing, which)];
        else if (it->op == GRAPH_POWER || it->op == GRAPH_POWER_LOG)
            which = it->arg[0];
        else
            return false;
    }
}

static bool push_power(struct listing *listing, const struct item *item)
{
    node base;
    unsigned n = whole_power(listing, item->which, 4, &base);
    static const char *const text[] = {"",   "",    "^2",  "^3",  "^4",  "^5",  "^6",  "^7", "^8",
                                       "^9", "^10", "^11", "^12", "^13", "^14", "^15", "^16"};
    static const char *const latex[] = {"",      "",      "^{2}",  "^{3}",  "^{4}",  "^{5}",
                                        "^{6}",  "^{7}",  "^{8}",  "^{9}",  "^{10}", "^{11}",
                                        "^{12}", "^{13}", "^{14}", "^{15}", "^{16}"};
    if (n < 2 || n > 16)
        return false;
    bool enclosed = item->least > BIND_POWER;
    push_text(listing, parenthesis(listing, enclosed, true));
    push(listing, part(item, base, BIND_PRIMARY));
    push_text(listing, (listing->is_latex ? latex : text)[n]);
    push_text(listing, parenthesis(listing, enclosed, false));
    return true;
}

/* An operation on numbers that was not folded because its result is not finite: -(0/0) differs
 * from (-0)/0 there. */
static bool is_of_numbers(const struct listing *listing, node which)
{
    const struct graph *graph = listing->equations->graph;
    const struct graph_node *it = graph_node(graph, which);
    bool all = graph_n_argument(it->op) > 0;
    for (int i = 0; i < graph_n_argument(it->op); i++)
        all = all && graph_node(graph, it->arg[i])->op == GRAPH_CONSTANT;
    return all;
}

/* Fractions within fractions and in exponents are printed inline; in a product they need
 * parentheses, because a / b c is ambiguous. */
static struct form form_of(const struct listing *listing, enum graph_op op, unsigned depth)
{
    static const struct form flat_divide = {{"", " / ", "", NULL},
                                            BIND_QUOTIENT,
                                            {BIND_PRODUCT, BIND_POWER},
                                            true};
    static const struct form flat_reciprocal = {{"1 / ", "", NULL, NULL},
                                                BIND_QUOTIENT,
                                                {BIND_POWER},
                                                true};
    if (!listing->is_latex)
        return graph_operations[op].text;
    return depth > 0 && op == GRAPH_DIVIDE ? flat_divide
           : depth > 0 && op == GRAPH_RECIPROCAL ? flat_reciprocal : graph_operations[op].latex;
}

static void push_operation(struct listing *listing, const struct graph_node *it,
                           const struct item *item)
{
    struct form form = form_of(listing, it->op, item->depth);
    bool enclosed = form.bind < item->least || (item->plain && it->op == GRAPH_NEGATE);
    bool is_sum = it->op == GRAPH_ADD || it->op == GRAPH_SUBTRACT;
    bool may_break = item->may_break && is_sum && !enclosed;
    int n = it->op == GRAPH_POWER_LOG ? 3 : graph_n_argument(it->op);
    node arg[3] = {it->arg[0], it->arg[1], it->op == GRAPH_POWER_LOG ? it->arg[0] : it->arg[2]};
    if (listing_is_swapped(listing, item->which)) {
        arg[0] = it->arg[1];
        arg[1] = it->arg[0];
    }
    if (it->op == GRAPH_NEGATE && is_of_numbers(listing, it->arg[0]))
        form.least[0] = BIND_PRIMARY;
    push_text(listing, parenthesis(listing, enclosed, true));
    for (int i = 0; i < n; i++) {
        bool times_number = listing->is_latex && it->op == GRAPH_MULTIPLY && i == 1 &&
                            begins_with_number(listing, arg[1]);
        push(listing, (struct item){.text = times_number ? " \\cdot " : form.piece[i],
                                    .may_break = may_break && i == 1});
        struct item next = part(item, arg[i], form.least[i]);
        next.plain = i == 0 ? (item->plain && !enclosed && form.piece[0][0] == '\0') ||
                                  it->op == GRAPH_NEGATE
                            : form.plain_right;
        if (it->op == GRAPH_RECIPROCAL || it->op == GRAPH_DIVIDE ||
            (i == 1 && it->op == GRAPH_POWER))
            next.depth = (uint8_t)(item->depth < 9 ? item->depth + 1 : 9);
        next.may_break = may_break && i == 0;
        push(listing, next);
    }
    push_text(listing, form.piece[n]);
    push_text(listing, parenthesis(listing, enclosed, false));
}

static void print_node(struct listing *listing, const struct item *item, FILE *out)
{
    uint32_t label = item->is_open ? 0 : listing_label_of(listing, item->which);
    if (label > listing->n_name) {
        listing_print_temporary(listing, label - listing->n_name - 1, out);
        return;
    }
    if (label) {
        put(listing, listing->name[label - 1], out);
        return;
    }
    const struct graph_node it = *graph_node(listing->equations->graph, item->which);
    if (graph_n_argument(it.op) == 0) {
        print_leaf(listing, &it, item, out);
        return;
    }
    size_t begin = listing->n_stack;
    if (it.op == GRAPH_SELECT) {
        bool enclosed = listing->is_latex && item->least > BIND_ANY;
        push_text(listing, parenthesis(listing, enclosed, true));
        push_choices(listing, item->which, item);
        push_text(listing, parenthesis(listing, enclosed, false));
    } else if (it.op != GRAPH_MULTIPLY || !push_power(listing, item)) {
        push_operation(listing, &it, item);
    }
    reverse(listing, begin);
}

void listing_print(struct listing *listing, struct item first, FILE *out)
{
    listing->n_stack = 0;
    push(listing, first);
    while (listing->n_stack > 0 && !listing->failed) {
        struct item item = listing->stack[--listing->n_stack];
        if (!item.text) {
            print_node(listing, &item, out);
            continue;
        }
        if (item.may_break && listing->is_latex && listing->width > LATEX_WIDTH) {
            fputs(" \\\\\n  &\\quad", out);
            listing->width = 0;
        }
        put(listing, item.text, out);
    }
}

void listing_expression(struct listing *listing, node which, FILE *out)
{
    listing_print(listing, (struct item){.which = which}, out);
}

void listing_definition(struct listing *listing, node which, FILE *out)
{
    listing_print(listing, (struct item){.which = which, .is_open = true}, out);
}
