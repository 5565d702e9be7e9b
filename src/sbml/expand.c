/* SPDX-License-Identifier: BSD-3-Clause */
#include "sbml/expand.h"

#include <string.h>

enum { MOST_NODES = 200000, MOST_DEPTH = 400 };

struct math *math_new(struct document *document, enum math_kind kind, const char *text, uint32_t n)
{
    if (document->n_made++ > MOST_NODES)
        return NULL;
    struct math *math = arena_calloc(&document->arena, 1, sizeof *math);
    if (math && n)
        math->operand = arena_calloc(&document->arena, n, sizeof *math->operand);
    if (!math || (n && !math->operand)) {
        document_no_memory(document);
        return NULL;
    }
    math->kind = kind;
    math->text = text;
    math->n = n;
    return math;
}

static void visit_in(struct document *document, const struct math *math, const struct item *scope,
                     math_visitor *visit, void *context)
{
    struct item *item = math->kind == MATH_NAME ? document_find(document, math->text) : NULL;
    if (math->kind == MATH_TIME || math->kind == MATH_RATE_OF || math->kind == MATH_DELAY)
        visit(context, math, NULL);
    for (size_t k = 0; item && scope && k < scope->n_inner; k++)
        if (!strcmp(scope->inner[k]->id, math->text))
            item = NULL; /* a local parameter hides it */
    if (item && item->search != document->n_search) {
        item->search = document->n_search;
        visit(context, math, item);
        if (item->kind == ITEM_REACTION)
            visit_in(document, item->rule, item, visit, context);
        else if (item->kind < ITEM_REACTION && is_ruled(item))
            visit_in(document, item->rule, NULL, visit, context);
        if (item->form == FORM_AMOUNT) { /* its value is the amount's in the compartment's size */
            const struct math size = {.kind = MATH_NAME, .text = item->compartment->id};
            visit_in(document, &size, NULL, visit, context);
        }
    }
    for (uint32_t k = 0; k < math->n; k++)
        visit_in(document, math->operand[k], scope, visit, context);
}

void math_visit(struct document *document, const struct math *math, math_visitor *visit,
                void *context)
{
    document->n_search++;
    visit_in(document, math, NULL, visit, context);
}

struct sought { const struct item *item; bool found; };
static void compare(void *context, const struct math *math, struct item *item)
{
    struct sought *sought = context;
    sought->found = sought->found || (sought->item ? item == sought->item
                                                   : math->kind == MATH_TIME);
}

bool math_depends(struct document *document, const struct math *math, const struct item *on)
{
    struct sought sought = {on, false};
    math_visit(document, math, compare, &sought);
    return sought.found;
}

/* A function's body with its arguments. */
static struct math *apply(struct document *document, const struct item *function,
                          const struct math *body, struct math **argument, unsigned depth)
{
    for (size_t k = 0; body->kind == MATH_NAME && k < function->n_inner; k++)
        if (!strcmp(function->inner[k]->id, body->text))
            return argument[k];
    struct math *copied =
        depth > MOST_DEPTH ? NULL : math_new(document, body->kind, body->text, body->n);
    if (copied)
        copied->value = body->value;
    for (uint32_t k = 0; copied && k < body->n; k++)
        if (!(copied->operand[k] =
                  apply(document, function, body->operand[k], argument, depth + 1)))
            return NULL;
    return copied;
}

/* The body of the function that is called; NULL, with *why. */
static struct math *body_of(struct document *document, const struct math *call, const char **why)
{
    const struct item *item = document_find(document, call->text);
    if (!item || item->kind != ITEM_FUNCTION || !item->rule || item->n_inner != call->n) {
        *why = "it is an argument of something that is no function of as many arguments";
        return NULL;
    }
    struct math *made = apply(document, item, item->rule, call->operand, 0);
    if (!made)
        *why = "with all functions and rules written out it is too long";
    return made;
}

/* Whether a part of a formula is to be written out. */
struct expanding {
    struct document *document;
    bool all_calls;       /* functions, and nothing else */
    const struct item *on;  /* what depends on it, NULL: on time */
    const char **why;
};

static struct math *write_out(const struct expanding *how, struct math *math, unsigned depth)
{
    struct document *document = how->document;
    if (depth > MOST_DEPTH) {
        *how->why = "it is nested too deep";
        return NULL;
    }
    if (!how->all_calls && !math_depends(document, math, how->on))
        return math;
    struct item *item =
        math->kind == MATH_NAME && !how->all_calls ? document_find(document, math->text) : NULL;
    if (math->kind == MATH_CALL) {
        struct math *made = body_of(document, math, how->why);
        return made ? write_out(how, made, depth + 1) : NULL;
    }
    if (item && item != how->on && item->kind == ITEM_REACTION) {
        *how->why = "it is part of a reaction's rate";
        return NULL;
    }
    if (item && item != how->on && item->kind < ITEM_REACTION && is_ruled(item))
        return write_out(how, item->rule, depth + 1);
    if (math->n == 0)
        return math;
    struct math *copied = math_new(document, math->kind, math->text, math->n);
    if (!copied)
        *how->why = "with all functions and rules written out it is too long";
    for (uint32_t k = 0; copied && k < math->n; k++)
        if (!(copied->operand[k] = write_out(how, math->operand[k], depth + 1)))
            return NULL;
    return copied;
}

struct math *math_write_out(struct document *document, struct math *math, const struct item *on,
                            const char **why)
{
    const struct expanding how = {.document = document, .on = on, .why = why};
    return write_out(&how, math, 0);
}

static bool has_kind(const struct math *math, enum math_kind kind)
{
    bool found = math->kind == kind;
    for (uint32_t k = 0; k < math->n && !found; k++)
        found = has_kind(math->operand[k], kind);
    return found;
}

static bool tests_equality(const struct math *math)
{
    bool found = math->kind == MATH_COMPARE && (math->text[0] == '=' || math->text[0] == '!');
    for (uint32_t k = 0; k < math->n && !found; k++)
        found = tests_equality(math->operand[k]);
    return found;
}

/* In a function an equality of time would not be seen to be one. */
static void expand_trigger(struct document *document, struct item *event)
{
    const char *why = NULL;
    const struct expanding how = {.document = document, .all_calls = true, .why = &why};
    struct math *made = event->rule && has_kind(event->rule, MATH_CALL)
                            ? write_out(&how, event->rule, 0) : NULL;
    if (made && tests_equality(made))
        event->rule = made;
    else if (why && document->n_made > MOST_NODES)
        document_fault(document, event->line, "event", event->id, "its trigger: %s", why);
}

/* What keeps a formula from being known at any time. */
static void find_change(void *context, const struct math *math, struct item *item)
{
    const char **what = context;
    bool reacts = item && item->kind == ITEM_SPECIES && item->n_effect && !item->is_boundary &&
                  !item->is_constant;
    bool varies = item && item->initial &&
                  (!item->is_constant || has_kind(item->initial, MATH_TIME));
    if (!item && math->kind != MATH_TIME)
        *what = math->kind == MATH_RATE_OF ? "rateOf" : "delay";
    else if (item && (item->is_rate_rule || item->is_assigned || reacts || varies))
        *what = item->id;
}

/* Replaces time by time - delay. */
static struct math *shift(struct document *document, struct math *math, struct math *delay)
{
    if (!math || math->n == 0) {
        bool is_time = math && math->kind == MATH_TIME;
        struct math *moved = is_time ? math_new(document, MATH_MINUS, NULL, 2) : NULL;
        if (moved) {
            moved->operand[0] = math;
            moved->operand[1] = delay;
        }
        return is_time ? moved : math;
    }
    struct math *copied = math_new(document, math->kind, math->text, math->n);
    for (uint32_t k = 0; copied && k < math->n; k++)
        if (!(copied->operand[k] = shift(document, math->operand[k], delay)))
            return NULL;
    return copied;
}

/* Where a formula stands, for faults. */
struct place { const char *what, *id; const struct item *scope; };

/* A name of a function's or reaction's own in the formula. */
static const char *local_name(const struct item *scope, const struct math *math)
{
    const char *found = NULL;
    for (size_t k = 0; scope && math->kind == MATH_NAME && k < scope->n_inner; k++)
        if (!strcmp(scope->inner[k]->id, math->text))
            found = math->text;
    for (uint32_t k = 0; k < math->n && !found; k++)
        found = local_name(scope, math->operand[k]);
    return found;
}

static struct math *undelay(struct document *document, struct math *math, const struct place *at)
{
    for (uint32_t k = 0; k < math->n && !document->failed; k++)
        math->operand[k] = undelay(document, math->operand[k], at);
    if (math->kind != MATH_DELAY || document->failed)
        return math;
    struct math *of = math->operand[0], *delay = math->operand[1], *made = NULL;
    const char *why = NULL, *what = local_name(at->scope, of);
    if (delay->kind == MATH_NUMBER && delay->value == 0)
        return of;
    if (!what)
        math_visit(document, of, find_change, &what);
    if (!what && !math_depends(document, of, NULL))
        return of;
    if (!what && (made = math_write_out(document, of, NULL, &why)))
        made = shift(document, made, delay);
    if (!made)
        document_fault(document, (unsigned)math->value, at->what, at->id,
                       what ? "the function delay() (values of the past) is supported only of what "
                              "follows from time alone, not of `%.60s`: a chain of reactions in "
                              "between, each of which takes a part of the delay, can stand for it"
                            : "the function delay() (values of the past): %s",
                       what ? what : why ? why : "the formula is too long");
    return made ? made : math;
}

static void undelay_item(struct document *document, struct item *item)
{
    bool has_scope = item->kind == ITEM_REACTION || item->kind == ITEM_FUNCTION;
    const char *word = item_words[item->kind];
    const struct { struct math **math; const char *what; } formulas[] = {
        {&item->rule, item->kind < ITEM_REACTION ? "rule for" : word},
        {&item->initial, "initial assignment to"}, {&item->event.delay, word},
        {&item->event.priority, word}};
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas && !document->failed; i++) {
        const struct place at = {formulas[i].what, item->id, has_scope ? item : NULL};
        if (*formulas[i].math)
            *formulas[i].math = undelay(document, *formulas[i].math, &at);
    }
    for (size_t k = 0; k < item->event.n_assignment && !document->failed; k++) {
        struct assignment *to = &item->event.assignment[k];
        const struct place at = {"event assignment to", to->target->id, NULL};
        to->math = undelay(document, to->math, &at);
    }
}

enum status expand_formulas(struct document *document)
{
    for (size_t i = 0; i < document->n_equation && document->n_delay && !document->failed; i++) {
        const struct place at = {"algebraic rule", NULL, NULL};
        document->equation[i].math = undelay(document, document->equation[i].math, &at);
    }
    for (size_t i = 0; i < document->n_item && !document->failed; i++) {
        struct item *item = document->item[i];
        if (document->n_delay)
            undelay_item(document, item);
        if (item->kind == ITEM_EVENT && !document->failed)
            expand_trigger(document, item);
    }
    return document->failed ? document->error->status : STATUS_OK;
}
