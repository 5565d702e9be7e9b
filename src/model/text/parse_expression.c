/* Expressions: operator precedence with a stack of what is incomplete (Dijkstra's shunting yard, 1961), so that
 * neither long nor deep expressions need recursion. The result is postfix code.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/text/expression.h"

#include <math.h>
#include <string.h>

struct instruction *expression_emit(struct expression *e, enum instruction_kind kind, uint32_t offset)
{
    struct reading *reading = e->parser->reading;
    struct instruction *code = list_add(reading, &reading->code, READING_MAX_CODE);
    if (!code) {
        expression_fail(e);
        return NULL;
    }
    code->kind = (uint8_t)kind;
    code->offset = offset;
    return code;
}

struct pending *expression_top(struct expression *e)
{
    struct parser *parser = e->parser;
    return parser->pending.n > e->base ? &parser->pending.item[parser->pending.n - 1] : NULL;
}

struct pending *expression_push(struct expression *e, enum pending_kind kind, uint32_t offset)
{
    struct parser *parser = e->parser;
    struct pending *pending = list_add(parser->reading, &parser->pending, READING_MAX_CODE);
    if (!pending) {
        expression_fail(e);
        return NULL;
    }
    pending->kind = (uint8_t)kind;
    pending->offset = offset;
    if (kind != PENDING_OPERATOR && ++parser->depth > READING_MAX_DEPTH) {
        message_fault(expression_source(e), message_token_at(expression_source(e), offset),
                      "brackets and ifs are nested more than %d deep here: give inner parts a name of their own",
                      READING_MAX_DEPTH);
        expression_fail(e);
        return NULL;
    }
    return pending;
}

/* Takes the top away; an `else` no longer counts as nesting, so that chains of `else if` may be long. */
static void pop(struct expression *e)
{
    struct pending *pending = expression_top(e);
    if (pending->kind != PENDING_OPERATOR && pending->kind != PENDING_ELSE)
        e->parser->depth--;
    e->parser->pending.n--;
}

static void emit_operation(struct expression *e, enum graph_op op, bool swapped, uint32_t offset)
{
    struct instruction *code = expression_emit(e, CODE_OPERATION, offset);
    if (code) {
        code->op = (uint8_t)op;
        code->swapped = swapped;
    }
}

/* Completes operators that bind at least as tightly as `precedence`, and with LOOSEST also ifs whose else has ended. */
static void reduce(struct expression *e, enum precedence precedence)
{
    for (struct pending *pending; (pending = expression_top(e)) && !e->failed; pop(e)) {
        if (pending->kind == PENDING_OPERATOR && pending->precedence >= precedence)
            emit_operation(e, pending->op, pending->swapped, pending->offset);
        else if (pending->kind == PENDING_ELSE && precedence == LOOSEST)
            emit_operation(e, GRAPH_SELECT, false, pending->offset);
        else
            return;
    }
}

struct infix { uint8_t op, precedence; bool swapped; };

/* The operator that the token is; precedence LOOSEST: none. */
static struct infix infix_of(const struct token *token)
{
    enum word word = token->reserved ? token->reserved->word : WORD_NONE;
    switch (token->kind) {
    case TOKEN_PLUS: return (struct infix){GRAPH_ADD, SUM, false};
    case TOKEN_MINUS: return (struct infix){GRAPH_SUBTRACT, SUM, false};
    case TOKEN_STAR: return (struct infix){GRAPH_MULTIPLY, PRODUCT, false};
    case TOKEN_SLASH: return (struct infix){GRAPH_DIVIDE, PRODUCT, false};
    case TOKEN_POWER: return (struct infix){GRAPH_POWER, POWER, false};
    case TOKEN_LESS: return (struct infix){GRAPH_LESS, COMPARISON, false};
    case TOKEN_LESS_EQUAL: return (struct infix){GRAPH_LESS_EQUAL, COMPARISON, false};
    case TOKEN_GREATER: return (struct infix){GRAPH_LESS, COMPARISON, true};
    case TOKEN_GREATER_EQUAL: return (struct infix){GRAPH_LESS_EQUAL, COMPARISON, true};
    case TOKEN_EQUAL_EQUAL: return (struct infix){GRAPH_EQUAL, COMPARISON, false};
    case TOKEN_NOT_EQUAL: return (struct infix){GRAPH_NOT_EQUAL, COMPARISON, false};
    case TOKEN_AND: return (struct infix){GRAPH_AND, AND_PRECEDENCE, false};
    case TOKEN_OR: return (struct infix){GRAPH_OR, OR_PRECEDENCE, false};
    default:
        return word == WORD_AND ? (struct infix){GRAPH_AND, AND_PRECEDENCE, false}
               : word == WORD_OR ? (struct infix){GRAPH_OR, OR_PRECEDENCE, false} : (struct infix){0, LOOSEST, false};
    }
}

static void read_infix(struct expression *e, struct infix infix)
{
    struct token token = parser_take(e->parser);
    /* What is to the left of a power may not be completed by it: powers group to the right, and it binds tightest. */
    reduce(e, infix.precedence == POWER ? POWER + 1 : infix.precedence + (infix.precedence == COMPARISON));
    const struct pending *before = expression_top(e);
    if (infix.precedence == COMPARISON && before && before->kind == PENDING_OPERATOR &&
        before->precedence == COMPARISON) {
        message_fault(expression_source(e), token.span,
                      "comparisons cannot be chained: write `a < b and b < c` for `a < b < c`");
        expression_fail(e);
        return;
    }
    struct pending *pending = expression_push(e, PENDING_OPERATOR, token.offset);
    if (pending) {
        pending->op = infix.op;
        pending->precedence = infix.precedence;
        pending->swapped = infix.swapped;
    }
    e->want_operand = true;
}

/* `then` or `else`: moves the innermost open `if` on. */
static void read_branch(struct expression *e, enum pending_kind from, enum pending_kind to)
{
    struct parser *parser = e->parser;
    reduce(e, LOOSEST);
    struct pending *pending = expression_top(e);
    if (e->failed)
        return;
    if (!pending || pending->kind != from) {
        bool is_then = to == PENDING_THEN;
        message_fault(expression_source(e), parser_peek(parser, 0)->span, "`%s` without %s before it",
                      is_then ? "then" : "else", is_then ? "an `if`" : "a `then`");
        expression_fail(e);
        return;
    }
    const struct pending *before = parser->pending.n > e->base + 1 ? pending - 1 : NULL;
    if (to == PENDING_THEN && before && before->kind == PENDING_OPERATOR) {
        message_fault(expression_source(e), message_token_at(expression_source(e), pending->offset),
                      "an `if` inside a formula needs parentheses around it: `(if ... then ... else ...)`");
        expression_fail(e);
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
        struct instruction *code = expression_emit(e, CODE_CALL, call->offset);
        if (code) {
            code->symbol = call->symbol;
            code->n_argument = call->n_argument;
        }
        return;
    }
    uint32_t fewest, most;
    enum word word = call->function->word;
    token_arity(call->function, &fewest, &most);
    bool exact = fewest == most, odd = call->n_argument % 2;
    if (word == WORD_PIECEWISE && (call->n_argument < fewest || !odd)) {
        e->wrong = true;
        message_fault(&reading->source, message_token_at(&reading->source, call->offset),
                      "`piecewise` takes value, condition, ..., and a value for all other cases at the end: an odd "
                      "number of arguments, at least 3, and these are %u", (unsigned)call->n_argument);
        return;
    }
    if (call->n_argument < fewest || call->n_argument > most) {
        e->wrong = true;
        message_fault(&reading->source, message_token_at(&reading->source, call->offset),
                      "`%s` takes %s%u argument%s, not %u", call->function->name, exact ? "" : "at least ",
                      (unsigned)fewest, fewest == 1 ? "" : "s", (unsigned)call->n_argument);
        return; /* and go on reading: more may be wrong */
    }
    if (word == WORD_MIN || word == WORD_MAX || word == WORD_PIECEWISE) {
        struct instruction *code = expression_emit(e, word == WORD_PIECEWISE ? CODE_PIECEWISE : CODE_FOLD,
                                                   call->offset);
        if (code) {
            code->op = word == WORD_MIN ? GRAPH_MIN : word == WORD_MAX ? GRAPH_MAX : GRAPH_SELECT;
            code->n_argument = call->n_argument;
        }
    } else {
        emit_operation(e, word == WORD_IF ? GRAPH_SELECT : call->function->op, false, call->offset);
    }
}

/* What a marker that is still open lacks. */
static void complain_open(struct expression *e, const struct pending *pending)
{
    struct span at = message_token_at(expression_source(e), pending->offset);
    if (pending->kind == PENDING_IF) {
        if (parser_peek(e->parser, 0)->kind != TOKEN_EQUAL)
            e->parser->position = AT_ANYTHING;
        parser_unexpected(e->parser, "`then`");
    } else if (pending->kind == PENDING_THEN) {
        message_fault(expression_source(e), at,
                      "this `if` has no `else`: say what the value is where the condition does not hold");
    } else {
        message_fault(expression_source(e), at, "the bracket that opens here is never closed");
    }
    expression_fail(e);
}

static void read_close(struct expression *e)
{
    reduce(e, LOOSEST);
    struct pending *pending = expression_top(e);
    if (e->failed || !pending) {
        e->ended = true;
        return;
    }
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
    reduce(e, LOOSEST);
    struct pending *pending = expression_top(e);
    if (e->failed || !pending) {
        e->ended = true;
        return;
    }
    if (pending->kind == PENDING_BRACKET && pending->after_if) { /* if(C, A, B): the bracket is that of a call */
        uint32_t offset = pending[-1].offset;
        pop(e);
        pop(e);
        pending = expression_push(e, PENDING_CALL, offset);
        if (!pending)
            return;
        pending->function = token_reserved("if", 2);
    }
    if (pending->kind != PENDING_CALL) {
        if (pending->kind == PENDING_BRACKET)
            parser_unexpected(e->parser, "`)`");
        else
            complain_open(e, pending);
        expression_fail(e);
        return;
    }
    pending->n_argument++;
    parser_take(e->parser);
    e->want_operand = true;
}

/* What may follow a value. */
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
        reduce(e, LOOSEST);
        struct pending *pending = expression_top(e);
        e->ended = true;
        if (!pending || e->failed)
            return;
        bool at_end = token.kind == TOKEN_END || token.kind == TOKEN_BREAK;
        if (at_end || pending->kind == PENDING_IF)
            complain_open(e, pending);
        else
            parser_unexpected(e->parser,
                              pending->kind == PENDING_THEN ? "an operator or `else`" : "an operator or `)`");
        expression_fail(e);
    }
}

static uint32_t new_formula(struct parser *parser, enum formula_role role)
{
    struct reading *reading = parser->reading;
    const struct token *token = parser_peek(parser, 0);
    struct formula *formula = list_add(reading, &reading->formulas, READING_MAX_CODE);
    if (!formula)
        return NONE;
    *formula = (struct formula){.first = reading->code.n, .offset = token->offset, .line = token->line,
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
            expression_operand(&e);
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
    struct instruction *code = which == NONE ? NULL : list_add(reading, &reading->code, READING_MAX_CODE);
    if (!code)
        return NONE;
    code->kind = CODE_NUMBER;
    code->offset = offset;
    code->value = negative ? -INFINITY : INFINITY;
    reading->formulas.item[which].n = 1;
    return which;
}
