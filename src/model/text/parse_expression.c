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

/* One expression being read. */
struct expression {
    struct parser *parser;
    uint32_t base;     /* of the parser's stack: items below belong to other expressions */
    bool want_operand; /* otherwise an operator or the end */
    bool ended, failed;
    bool wrong;        /* a fault was reported that does not stop reading */
};

static struct source *source_of(struct expression *e) { return &e->parser->reading->source; }
static const struct dialect *dialect_of(const struct expression *e)
{
    return e->parser->lexer.dialect;
}

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

/* Pushes an item to be completed later; NULL after a failure. */
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

struct infix { uint8_t op, bind; bool swapped; }; /* bind: enum binding */

static void push_operator(struct expression *e, struct infix infix, uint32_t offset)
{
    struct pending *pending = push(e, PENDING_OPERATOR, offset);
    if (pending) {
        pending->op = infix.op;
        pending->bind = infix.bind;
        pending->swapped = infix.swapped;
    }
}

/* Completes operators that bind at least as tightly as `bind`; with BIND_ANY also ifs at
 * the end of their else. */
static void reduce(struct expression *e, enum binding bind)
{
    for (struct pending *pending; (pending = top_of(e)) && !e->failed; pop(e)) {
        bool is_choice = pending->kind == PENDING_ELSE && bind == BIND_ANY;
        if (!is_choice && (pending->kind != PENDING_OPERATOR || pending->bind < bind))
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
    bool is_number = token->reserved->word == WORD_NUMBER;
    struct instruction *code = emit(e, is_number ? CODE_NUMBER : CODE_TIME, token->offset);
    if (code && is_number)
        code->value = token->reserved->value;
    e->want_operand = false;
}

static void read_not(struct expression *e, const struct token *token)
{
    const struct pending *before = top_of(e);
    enum binding bind = dialect_of(e)->not;
    if (before && before->kind == PENDING_OPERATOR && before->bind > bind && bind < BIND_SIGN)
        refuse(e, token->span,
               "`not` binds less tightly than the operator before it: put `not` and its operand in "
               "parentheses, `(not ...)`");
    else
        push_operator(e, (struct infix){GRAPH_NOT, (uint8_t)bind, false}, token->offset);
}

/* Whether a reserved word may begin a value. */
static bool begins_value(const struct reserved *word, bool is_call)
{
    enum word it = word->word;
    return it == WORD_IF || it == WORD_NOT || it == WORD_NUMBER || it == WORD_TIME ||
           it == WORD_TIME_STATEMENT || (token_is_function(word) && is_call);
}

static void read_name(struct expression *e, const struct token *token)
{
    struct parser *parser = e->parser;
    const struct reserved *word = token->reserved;
    bool is_call = parser_peek(parser, 1)->kind == TOKEN_OPEN;
    if (!is_call && !dialect_of(e)->has_statements && token_is_function(word))
        word = NULL;
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
            push_operator(e, (struct infix){GRAPH_NEGATE, BIND_SIGN, false}, token.offset);
        return;
    default:
        parser->position = AT_VALUE;
        expect(e, "a value");
    }
}

/* The token's operator; bind BIND_ANY: none. */
static struct infix infix_of(const struct dialect *dialect, const struct token *token)
{
    static const struct infix infixes[] = {[TOKEN_PLUS] = {GRAPH_ADD, BIND_SUM, false},
                                           [TOKEN_MINUS] = {GRAPH_SUBTRACT, BIND_SUM, false},
                                           [TOKEN_STAR] = {GRAPH_MULTIPLY, BIND_PRODUCT, false},
                                           [TOKEN_SLASH] = {GRAPH_DIVIDE, BIND_PRODUCT, false},
                                           [TOKEN_POWER] = {GRAPH_POWER, BIND_POWER, false},
                                           [TOKEN_LESS] = {GRAPH_LESS, BIND_COMPARISON, false},
                                           [TOKEN_LESS_EQUAL] = {GRAPH_LESS_EQUAL, BIND_COMPARISON,
                                                                 false},
                                           [TOKEN_GREATER] = {GRAPH_LESS, BIND_COMPARISON, true},
                                           [TOKEN_GREATER_EQUAL] = {GRAPH_LESS_EQUAL,
                                                                    BIND_COMPARISON, true},
                                           [TOKEN_EQUAL_EQUAL] = {GRAPH_EQUAL, BIND_COMPARISON,
                                                                  false},
                                           [TOKEN_NOT_EQUAL] = {GRAPH_NOT_EQUAL, BIND_COMPARISON,
                                                                false},
                                           [TOKEN_AND] = {GRAPH_AND, BIND_AND, false},
                                           [TOKEN_OR] = {GRAPH_OR, BIND_OR, false},
                                           [TOKEN_BAD] = {0, BIND_ANY, false}};
    enum word word = token->reserved ? token->reserved->word : WORD_NONE;
    struct infix infix =
        infixes[word == WORD_AND ? TOKEN_AND : word == WORD_OR ? TOKEN_OR : token->kind];
    if (infix.op == GRAPH_OR)
        infix.bind = (uint8_t)dialect->or;
    return infix;
}

static void read_infix(struct expression *e, struct infix infix)
{
    struct token token = parser_take(e->parser);
    /* A power does not complete a power to its left: powers group to the right. It binds
     * tightest. */
    bool is_refused = infix.bind == BIND_COMPARISON && !dialect_of(e)->has_chains;
    reduce(e, infix.bind + (infix.bind == BIND_POWER || is_refused));
    const struct pending *before = top_of(e);
    if (is_refused && before && before->kind == PENDING_OPERATOR &&
        before->bind == BIND_COMPARISON) {
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
    reduce(e, BIND_ANY);
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

/* Whether a function of the language has so many arguments; if not, it is reported. */
static bool check_arity(struct expression *e, const struct pending *call)
{
    uint32_t fewest, most, n = call->n_argument;
    bool is_piecewise = call->function->word == WORD_PIECEWISE,
         is_interp = call->function->word == WORD_INTERP;
    token_arity(call->function, &fewest, &most);
    if (n >= fewest && n <= most && !((is_piecewise || is_interp) && n % 2 == 0))
        return true;
    struct span at = message_token_at(source_of(e), call->offset);
    e->wrong = true;
    if (is_piecewise)
        message_fault(source_of(e), at,
                      "`piecewise` takes value, condition, ..., and a value for all other cases at "
                      "the end: an odd number of arguments, at least 3, and these are %u",
                      (unsigned)n);
    else if (is_interp)
        message_fault(source_of(e), at,
                      "`interp` takes x and two or more points, `interp(x, x1, y1, x2, y2, ...)`: "
                      "an odd number of arguments, at least 5, and these are %u",
                      (unsigned)n);
    else
        message_fault(source_of(e), at, "`%s` takes %s%u argument%s, not %u", call->function->name,
                      fewest == most         ? ""
                      : most == UINT32_MAX ? "at least "
                                           : "at most ",
                      (unsigned)(most == UINT32_MAX ? fewest : most), most == 1 ? "" : "s",
                      (unsigned)n);
    return false;
}

static void emit_operation(struct expression *e, enum graph_op op, uint32_t offset)
{
    struct instruction *code = emit(e, CODE_OPERATION, offset);
    if (code)
        code->op = (uint8_t)op;
}

/* An argument has ended. */
static void finish_argument(struct expression *e, struct pending *call)
{
    call->n_argument++;
    if (call->function && call->function->word == WORD_LOGARITHM)
        emit_operation(e, call->function->op, call->offset);
}

static void finish_call(struct expression *e, const struct pending *call)
{
    if (!call->function) { /* its arguments are counted when all functions are known */
        emit_symbol(e, CODE_CALL, call->offset, call->symbol, call->n_argument);
        return;
    }
    if (!check_arity(e, call))
        return; /* and go on reading: more may be wrong */
    enum word word = call->function->word;
    struct instruction *code;
    switch (word) {
    case WORD_FOLD: case WORD_PIECEWISE: case WORD_INTERP:
        code = emit(e,
                    word == WORD_FOLD        ? CODE_FOLD
                    : word == WORD_PIECEWISE ? CODE_PIECEWISE
                                             : CODE_INTERP,
                    call->offset);
        if (code) {
            code->op = (uint8_t)call->function->op;
            code->n_argument = call->n_argument;
        }
        return;
    case WORD_LOGARITHM: /* of each argument it is there already */
        if (call->n_argument == 2)
            emit_operation(e, GRAPH_DIVIDE, call->offset);
        return;
    default:
        if (word == WORD_OF_INVERSE)
            emit_operation(e, GRAPH_RECIPROCAL, call->offset);
        emit_operation(e, call->function->op, call->offset);
        if (word == WORD_INVERSE)
            emit_operation(e, GRAPH_RECIPROCAL, call->offset);
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
    reduce(e, BIND_ANY);
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
    if (closed.kind == PENDING_CALL) {
        finish_argument(e, &closed);
        finish_call(e, &closed);
    }
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
    finish_argument(e, pending);
    parser_take(e->parser);
    e->want_operand = true;
}

/* Reads what may follow a value. */
static void read_after_operand(struct expression *e)
{
    struct token token = *parser_peek(e->parser, 0);
    struct infix infix = infix_of(dialect_of(e), &token);
    e->parser->position = AT_OPERATOR;
    enum word word = token.reserved ? token.reserved->word : WORD_NONE;
    if (infix.bind != BIND_ANY) {
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

