/* Expressions: operator precedence with a stack of incomplete items (Dijkstra's shunting yard,
 * 1961), so that neither long nor deep expressions need recursion. The result is postfix code.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/text/parser.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* THEN and ELSE: an `if` up to that word. */
enum pending_kind {
    PENDING_OPERATOR,
    PENDING_BRACKET,
    PENDING_CALL,
    PENDING_IF,
    PENDING_THEN,
    PENDING_ELSE
};

enum precedence {
    LOOSEST,
    OR_PRECEDENCE,
    AND_PRECEDENCE,
    NOT_PRECEDENCE,
    COMPARISON,
    SUM,
    PRODUCT,
    SIGN,
    POWER
};

/* One expression being read. */
struct expression {
    struct parser *parser;
    uint32_t base;     /* of the parser's stack: items below belong to other expressions */
    bool want_operand; /* otherwise an operator or the end */
    bool ended, failed;
    bool wrong;        /* a fault was reported that does not stop reading */
};

static struct source *source_of(struct expression *e) { return &e->parser->reading->source; }

/* Gives the expression up. */
static void fail(struct expression *e) { e->failed = e->ended = true; }

static void refuse(struct expression *e, struct span at, const char *why)
{
    message_fault(source_of(e), at, "%s", why);
    fail(e);
}

static void expect(struct expression *e, const char *expected)
{
    parser_unexpected(e->parser, expected);
    fail(e);
}

/* Adds an instruction; NULL, and a failed expression: out of memory. */
static struct instruction *emit(struct expression *e, enum instruction_kind kind, uint32_t offset)
{
    struct reading *reading = e->parser->reading;
    struct instruction *code = list_add(reading, &reading->code, READING_MAX_CODE);
    if (!code) {
        fail(e);
        return NULL;
    }
    code->kind = (uint8_t)kind;
    code->offset = offset;
    return code;
}

/* The innermost incomplete item, or NULL. */
static struct pending *top_of(struct expression *e)
{
    struct parser *parser = e->parser;
    return parser->pending.n > e->base ? &parser->pending.item[parser->pending.n - 1] : NULL;
}

/* Pushes an item to be completed later; NULL as above. */
static struct pending *push(struct expression *e, enum pending_kind kind, uint32_t offset)
{
    struct parser *parser = e->parser;
    struct pending *pending = list_add(parser->reading, &parser->pending, READING_MAX_CODE);
    if (!pending) {
        fail(e);
        return NULL;
    }
    pending->kind = (uint8_t)kind;
    pending->offset = offset;
    if (kind != PENDING_OPERATOR && ++parser->depth > READING_MAX_DEPTH) {
        message_fault(source_of(e), message_token_at(source_of(e), offset),
                      "brackets and ifs are nested more than %d deep here: give inner parts a name "
                      "of their own",
                      READING_MAX_DEPTH);
        fail(e);
        pending = NULL;
    }
    return pending;
}

/* Pops the top; an `else` no longer counts as nesting, so chains of `else if` may be long. */
static void pop(struct expression *e)
{
    struct pending *pending = top_of(e);
    if (pending->kind != PENDING_OPERATOR && pending->kind != PENDING_ELSE)
        e->parser->depth--;
    e->parser->pending.n--;
}

static void emit_symbol(struct expression *e, enum instruction_kind kind, uint32_t offset,
                        uint32_t symbol, uint32_t n_argument)
{
    struct instruction *code = symbol == NONE ? NULL : emit(e, kind, offset);
    if (code) {
        code->symbol = symbol;
        code->n_argument = n_argument;
    } else {
        fail(e);
    }
}

struct infix { uint8_t op, precedence; bool swapped; };

static void push_operator(struct expression *e, struct infix infix, uint32_t offset)
{
    struct pending *pending = push(e, PENDING_OPERATOR, offset);
    if (pending) {
        pending->op = infix.op;
        pending->precedence = infix.precedence;
        pending->swapped = infix.swapped;
    }
}

/* Completes operators that bind at least as tightly as `precedence`; with LOOSEST also ifs at
 * the end of their else. */
static void reduce(struct expression *e, enum precedence precedence)
{
    for (struct pending *pending; (pending = top_of(e)) && !e->failed; pop(e)) {
        bool is_choice = pending->kind == PENDING_ELSE && precedence == LOOSEST;
        if (!is_choice && (pending->kind != PENDING_OPERATOR || pending->precedence < precedence))
            return;
        struct instruction *code = emit(e, CODE_OPERATION, pending->offset);
        if (code) {
            code->op = is_choice ? GRAPH_SELECT : pending->op;
            code->swapped = pending->swapped;
        }
    }
}

static void read_number(struct expression *e, const struct token *token)
{
    const char *text = e->parser->reading->source.text + token->offset;
    struct instruction *code = emit(e, CODE_NUMBER, token->offset);
    if (!code)
        return;
    code->value = strtod_l(text, NULL, e->parser->c_locale);
    bool is_zero = strspn(text, "0.") == token->length || strchr("eE", text[strspn(text, "0.")]);
    bool wrong = isinf(code->value) || (code->value == 0 && !is_zero);
    e->want_operand = false;
    e->wrong |= wrong;
    if (wrong)
        message_fault(source_of(e), token->span, code->value > 0 ?
                      "this number is too large for a double: the largest is 1.8e308" :
                      "this number is too small for a double: write 0");
}

static void read_call(struct expression *e, const struct token *token,
                      const struct reserved *function)
{
    struct pending *call = push(e, PENDING_CALL, token->offset);
    parser_take(e->parser); /* the bracket */
    if (!call)
        return;
    call->function = function;
    call->symbol = function ? NONE : symbol_of(e->parser->reading, token->span);
    if (!function && call->symbol == NONE)
        fail(e);
}

static void read_plain_name(struct expression *e, const struct token *token)
{
    struct parser *parser = e->parser;
    uint32_t which = symbol_of(parser->reading, token->span);
    uint32_t argument = which == NONE ? 0 : parser->reading->symbols.item[which].argument;
    e->want_operand = false;
    if (argument)
        emit_symbol(e, CODE_ARGUMENT, token->offset, argument - 1, 0);
    else
        emit_symbol(e, CODE_NAME, token->offset, which, 0);
}

static void read_constant_or_time(struct expression *e, const struct token *token)
{
    bool is_pi = token->reserved->word == WORD_PI;
    struct instruction *code = emit(e, is_pi ? CODE_NUMBER : CODE_TIME, token->offset);
    if (code && is_pi)
        code->value = 3.14159265358979323846;
    e->want_operand = false;
}

static void read_not(struct expression *e, const struct token *token)
{
    const struct pending *before = top_of(e);
    if (before && before->kind == PENDING_OPERATOR && before->precedence > NOT_PRECEDENCE)
        refuse(e, token->span,
               "`not` binds less tightly than the operator before it: put `not` and its operand in "
               "parentheses, `(not ...)`");
    else
        push_operator(e, (struct infix){GRAPH_NOT, NOT_PRECEDENCE, false}, token->offset);
}

/* Whether a reserved word may begin a value. */
static bool begins_value(const struct reserved *word, bool is_call)
{
    enum word it = word->word;
    return it == WORD_IF || it == WORD_NOT || it == WORD_PI || it == WORD_TIME ||
           it == WORD_TIME_STATEMENT || (token_is_function(word) && is_call);
}

static void read_name(struct expression *e, const struct token *token)
{
    struct parser *parser = e->parser;
    const struct reserved *word = token->reserved;
    bool is_call = parser_peek(parser, 1)->kind == TOKEN_OPEN;
    if (word && !begins_value(word, is_call)) {
        parser->position = AT_VALUE;
        expect(e, "a value");
        return;
    }
    parser_take(parser);
    if (!word && is_call)
        read_call(e, token, NULL);
    else if (!word)
        read_plain_name(e, token);
    else if (token_is_function(word))
        read_call(e, token, word);
    else if (word->word == WORD_IF)
        push(e, PENDING_IF, token->offset);
    else if (word->word == WORD_NOT)
        read_not(e, token);
    else
        read_constant_or_time(e, token);
}

/* Reads the beginning of a value. */
static void read_operand(struct expression *e)
{
    struct parser *parser = e->parser;
    struct token token = *parser_peek(parser, 0);
    struct pending *pending = top_of(e);
    switch (token.kind) {
    case TOKEN_NAME:
        read_name(e, &token);
        return;
    case TOKEN_NUMBER: case TOKEN_NOT:
        parser_take(parser);
        if (token.kind == TOKEN_NOT)
            read_not(e, &token);
        else
            read_number(e, &token);
        return;
    case TOKEN_OPEN: {
        bool after_if = pending && pending->kind == PENDING_IF &&
                        pending->offset + 2 <= token.offset &&
                        parser->last_end == pending->offset + 2;
        pending = push(e, PENDING_BRACKET, token.offset);
        if (pending)
            pending->after_if = after_if;
        parser_take(parser);
        return;
    }
    case TOKEN_MINUS: case TOKEN_PLUS:
        parser_take(parser);
        if (token.kind == TOKEN_MINUS)
            push_operator(e, (struct infix){GRAPH_NEGATE, SIGN, false}, token.offset);
        return;
    default:
        parser->position = AT_VALUE;
        expect(e, "a value");
    }
}

/* The token's operator; precedence LOOSEST: none. */
static struct infix infix_of(const struct token *token)
{
    static const struct infix infixes[] = {[TOKEN_PLUS] = {GRAPH_ADD, SUM, false},
                                           [TOKEN_MINUS] = {GRAPH_SUBTRACT, SUM, false},
                                           [TOKEN_STAR] = {GRAPH_MULTIPLY, PRODUCT, false},
                                           [TOKEN_SLASH] = {GRAPH_DIVIDE, PRODUCT, false},
                                           [TOKEN_POWER] = {GRAPH_POWER, POWER, false},
                                           [TOKEN_LESS] = {GRAPH_LESS, COMPARISON, false},
                                           [TOKEN_LESS_EQUAL] = {GRAPH_LESS_EQUAL, COMPARISON,
                                                                 false},
                                           [TOKEN_GREATER] = {GRAPH_LESS, COMPARISON, true},
                                           [TOKEN_GREATER_EQUAL] = {GRAPH_LESS_EQUAL, COMPARISON,
                                                                    true},
                                           [TOKEN_EQUAL_EQUAL] = {GRAPH_EQUAL, COMPARISON, false},
                                           [TOKEN_NOT_EQUAL] = {GRAPH_NOT_EQUAL, COMPARISON, false},
                                           [TOKEN_AND] = {GRAPH_AND, AND_PRECEDENCE, false},
                                           [TOKEN_OR] = {GRAPH_OR, OR_PRECEDENCE, false},
                                           [TOKEN_BAD] = {0, LOOSEST, false}};
    enum word word = token->reserved ? token->reserved->word : WORD_NONE;
    return infixes[word == WORD_AND ? TOKEN_AND : word == WORD_OR ? TOKEN_OR : token->kind];
}

static void read_infix(struct expression *e, struct infix infix)
{
    struct token token = parser_take(e->parser);
    /* A power does not complete a power to its left: powers group to the right. It binds
     * tightest. */
    reduce(e, infix.precedence == POWER ? POWER + 1
                                        : infix.precedence + (infix.precedence == COMPARISON));
    const struct pending *before = top_of(e);
    if (infix.precedence == COMPARISON && before && before->kind == PENDING_OPERATOR &&
        before->precedence == COMPARISON) {
        refuse(e, token.span,
               "comparisons cannot be chained: write `a < b and b < c` for `a < b < c`");
        return;
    }
    push_operator(e, infix, token.offset);
    e->want_operand = true;
}

/* `then` or `else`: advances the innermost open `if`. */
static void read_branch(struct expression *e, enum pending_kind from, enum pending_kind to)
{
    struct parser *parser = e->parser;
    reduce(e, LOOSEST);
    struct pending *pending = top_of(e);
    if (e->failed)
        return;
    if (!pending || pending->kind != from) {
        refuse(e, parser_peek(parser, 0)->span,
               to == PENDING_THEN ? "`then` without an `if` before it"
                                  : "`else` without a `then` before it");
        return;
    }
    const struct pending *before = parser->pending.n > e->base + 1 ? pending - 1 : NULL;
    if (to == PENDING_THEN && before && before->kind == PENDING_OPERATOR) {
        refuse(e, message_token_at(source_of(e), pending->offset),
               "an `if` inside a formula needs parentheses around it: `(if ... then ... else "
               "...)`");
        return;
    }
    pending->kind = (uint8_t)to;
    parser->depth -= to == PENDING_ELSE;
    parser_take(parser);
    e->want_operand = true;
}

static void finish_call(struct expression *e, const struct pending *call)
{
    struct reading *reading = e->parser->reading;
    if (!call->function) { /* its arguments are counted when all functions are known */
        emit_symbol(e, CODE_CALL, call->offset, call->symbol, call->n_argument);
        return;
    }
    uint32_t fewest, most;
    enum word word = call->function->word;
    token_arity(call->function, &fewest, &most);
    bool is_piecewise = word == WORD_PIECEWISE,
         fits = call->n_argument >= fewest && call->n_argument <= most;
    if (!fits || (is_piecewise && call->n_argument % 2 == 0)) {
        struct span at = message_token_at(&reading->source, call->offset);
        e->wrong = true;
        if (is_piecewise)
            message_fault(&reading->source, at,
                          "`piecewise` takes value, condition, ..., and a value for all other "
                          "cases at the end: an odd number of arguments, at least 3, and these are "
                          "%u",
                          (unsigned)call->n_argument);
        else
            message_fault(&reading->source, at, "`%s` takes %s%u argument%s, not %u",
                          call->function->name, fewest == most ? "" : "at least ", (unsigned)fewest,
                          fewest == 1 ? "" : "s", (unsigned)call->n_argument);
        return; /* and go on reading: more may be wrong */
    }
    enum instruction_kind kind = is_piecewise        ? CODE_PIECEWISE
                                 : word == WORD_FOLD ? CODE_FOLD
                                                     : CODE_OPERATION;
    struct instruction *code = emit(e, kind, call->offset);
    if (code) {
        code->op = (uint8_t)call->function->op;
        code->n_argument = call->n_argument;
    }
}

/* Reports what an open item lacks. */
static void complain_open(struct expression *e, const struct pending *pending)
{
    struct span at = message_token_at(source_of(e), pending->offset);
    if (pending->kind == PENDING_IF) {
        if (parser_peek(e->parser, 0)->kind != TOKEN_EQUAL)
            e->parser->position = AT_ANYTHING;
        expect(e, "`then`");
    } else {
        refuse(e, at,
               pending->kind == PENDING_THEN ? "this `if` has no `else`: give the value for when "
                                               "the condition is "
                                               "false"
                                             : "the bracket that opens here is never closed");
    }
}

/* Completes everything before a bracket or comma; returns the item to which it belongs. NULL:
 * the expression has ended. */
static struct pending *complete(struct expression *e)
{
    reduce(e, LOOSEST);
    struct pending *pending = e->failed ? NULL : top_of(e);
    e->ended = e->ended || !pending;
    return pending;
}

static void read_close(struct expression *e)
{
    const struct pending *pending = complete(e);
    if (!pending)
        return;
    struct pending closed = *pending;
    if (closed.kind != PENDING_BRACKET && closed.kind != PENDING_CALL) {
        complain_open(e, &closed);
        return;
    }
    parser_take(e->parser);
    pop(e);
    closed.n_argument++;
    if (closed.kind == PENDING_CALL)
        finish_call(e, &closed);
}

static void read_comma(struct expression *e)
{
    struct pending *pending = complete(e);
    if (!pending)
        return;
    if (pending->kind == PENDING_BRACKET && pending->after_if) {
        /* if(C, A, B): the bracket belongs to a call */
        uint32_t offset = pending[-1].offset;
        pop(e);
        pop(e);
        pending = push(e, PENDING_CALL, offset);
        if (!pending)
            return;
        pending->function = token_reserved("if", 2);
    }
    if (pending->kind != PENDING_CALL) {
        if (pending->kind == PENDING_BRACKET)
            expect(e, "`)`");
        else
            complain_open(e, pending);
        return;
    }
    pending->n_argument++;
    parser_take(e->parser);
    e->want_operand = true;
}

/* Reads what may follow a value. */
static void read_after_operand(struct expression *e)
{
    struct token token = *parser_peek(e->parser, 0);
    struct infix infix = infix_of(&token);
    e->parser->position = AT_OPERATOR;
    enum word word = token.reserved ? token.reserved->word : WORD_NONE;
    if (infix.precedence != LOOSEST) {
        read_infix(e, infix);
    } else if (token.kind == TOKEN_CLOSE) {
        read_close(e);
    } else if (token.kind == TOKEN_COMMA) {
        read_comma(e);
    } else if (word == WORD_THEN) {
        read_branch(e, PENDING_IF, PENDING_THEN);
    } else if (word == WORD_ELSE) {
        read_branch(e, PENDING_THEN, PENDING_ELSE);
    } else {
        const struct pending *pending = complete(e);
        bool at_end = token.kind == TOKEN_END || token.kind == TOKEN_BREAK;
        if (pending && (at_end || pending->kind == PENDING_IF))
            complain_open(e, pending);
        else if (pending)
            expect(e,
                   pending->kind == PENDING_THEN ? "an operator or `else`" : "an operator or `)`");
    }
}

static uint32_t new_formula(struct parser *parser, enum formula_role role)
{
    struct reading *reading = parser->reading;
    const struct token *token = parser_peek(parser, 0);
    struct formula *formula = list_add(reading, &reading->formulas, READING_MAX_CODE);
    if (!formula)
        return NONE;
    *formula = (struct formula){.first = reading->code.n,
                                .offset = token->offset, .line = token->line,
                                .role = (uint8_t)role};
    return reading->formulas.n - 1;
}

uint32_t parser_expression(struct parser *parser, enum formula_role role)
{
    struct reading *reading = parser->reading;
    uint32_t which = new_formula(parser, role);
    if (which == NONE)
        return NONE;
    struct expression e = {.parser = parser, .base = parser->pending.n, .want_operand = true};
    uint32_t depth = parser->depth;
    while (!e.ended && !reading_is_over(reading)) {
        if (e.want_operand)
            read_operand(&e);
        else
            read_after_operand(&e);
    }
    parser->pending.n = e.base;
    parser->depth = depth;
    struct formula *formula = &reading->formulas.item[which];
    if (!e.failed)
        parser->position = AT_OPERATOR;
    formula->failed = e.failed || e.wrong || reading_is_over(reading);
    if (formula->failed)
        reading->code.n = formula->first;
    formula->n = reading->code.n - formula->first;
    return which;
}

uint32_t parser_bound(struct parser *parser, enum formula_role role)
{
    bool negative = parser_peek(parser, 0)->kind == TOKEN_MINUS;
    bool has_sign = negative || parser_peek(parser, 0)->kind == TOKEN_PLUS;
    if (!parser_is_word(parser, has_sign, WORD_INF))
        return parser_expression(parser, role);
    struct reading *reading = parser->reading;
    uint32_t which = new_formula(parser, role);
    if (has_sign)
        parser_take(parser);
    uint32_t offset = parser_take(parser).offset;
    struct instruction *code =
        which == NONE ? NULL : list_add(reading, &reading->code, READING_MAX_CODE);
    if (!code)
        return NONE;
    code->kind = CODE_NUMBER;
    code->offset = offset;
    code->value = negative ? -INFINITY : INFINITY;
    reading->formulas.item[which].n = 1;
    return which;
}

