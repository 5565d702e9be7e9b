/* Values in expressions: numbers, names, calls, brackets, signs.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/text/expression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void read_number(struct expression *e, const struct token *token)
{
    const char *text = e->parser->reading->source.text + token->offset;
    struct instruction *code = expression_emit(e, CODE_NUMBER, token->offset);
    if (!code)
        return;
    code->value = strtod_l(text, NULL, e->parser->c_locale);
    bool is_zero = strspn(text, "0.") == token->length || strchr("eE", text[strspn(text, "0.")]);
    e->want_operand = false;
    e->wrong |= isinf(code->value) || (code->value == 0 && !is_zero);
    if (isinf(code->value) || (code->value == 0 && !is_zero))
        message_fault(expression_source(e), token->span, "this number is too %s for a double: %s",
                      code->value > 0 ? "large" : "small", code->value > 0 ? "the largest is 1.8e308" : "write 0");
}

static void read_call(struct expression *e, const struct token *token, const struct reserved *function)
{
    struct pending *call = expression_push(e, PENDING_CALL, token->offset);
    parser_take(e->parser); /* the bracket */
    if (!call)
        return;
    call->function = function;
    if (!function) {
        uint32_t symbol = symbol_of(e->parser->reading, token->span);
        expression_top(e)->symbol = symbol;
        if (symbol == NONE)
            expression_fail(e);
    }
}

static void read_plain_name(struct expression *e, const struct token *token)
{
    struct parser *parser = e->parser;
    const char *text = parser->reading->source.text;
    e->want_operand = false;
    for (uint32_t i = 0; i < parser->n_argument; i++) {
        struct span argument = parser->argument[i];
        if (argument.length == token->length && !memcmp(text + argument.offset, text + token->offset, token->length)) {
            struct instruction *code = expression_emit(e, CODE_ARGUMENT, token->offset);
            if (code)
                code->symbol = i;
            return;
        }
    }
    uint32_t symbol = symbol_of(parser->reading, token->span);
    struct instruction *code = symbol == NONE ? NULL : expression_emit(e, CODE_NAME, token->offset);
    if (code)
        code->symbol = symbol;
    else
        expression_fail(e);
}

static void read_constant_or_time(struct expression *e, const struct token *token)
{
    bool is_pi = token->reserved->word == WORD_PI;
    struct instruction *code = expression_emit(e, is_pi ? CODE_NUMBER : CODE_TIME, token->offset);
    if (code && is_pi)
        code->value = 3.14159265358979323846;
    e->want_operand = false;
}

static void read_not(struct expression *e, const struct token *token)
{
    const struct pending *before = expression_top(e);
    if (before && before->kind == PENDING_OPERATOR && before->precedence > NOT_PRECEDENCE) {
        message_fault(expression_source(e), token->span,
                      "`not` binds less tightly than what stands before it: put it in parentheses with "
                      "what it denies, `(not ...)`");
        expression_fail(e);
        return;
    }
    struct pending *pending = expression_push(e, PENDING_OPERATOR, token->offset);
    if (pending) {
        pending->op = GRAPH_NOT;
        pending->precedence = NOT_PRECEDENCE;
    }
}

/* Whether a reserved word may stand where a value begins. */
static bool begins_value(const struct reserved *word, bool is_call)
{
    switch (word->word) {
    case WORD_IF: case WORD_NOT: case WORD_PI: case WORD_TIME: case WORD_TIME_STATEMENT:
        return true;
    default:
        return token_is_function(word) && is_call;
    }
}

static void read_name(struct expression *e, const struct token *token)
{
    struct parser *parser = e->parser;
    const struct reserved *word = token->reserved;
    bool is_call = parser_peek(parser, 1)->kind == TOKEN_OPEN;
    if (word && !begins_value(word, is_call)) {
        parser->position = AT_VALUE;
        parser_unexpected(parser, "a value");
        expression_fail(e);
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
        expression_push(e, PENDING_IF, token->offset);
    else if (word->word == WORD_NOT)
        read_not(e, token);
    else
        read_constant_or_time(e, token);
}

/* What a value begins with. */
void expression_operand(struct expression *e)
{
    struct parser *parser = e->parser;
    struct token token = *parser_peek(parser, 0);
    struct pending *pending = expression_top(e);
    switch (token.kind) {
    case TOKEN_NUMBER:
        parser_take(parser);
        read_number(e, &token);
        return;
    case TOKEN_NAME:
        read_name(e, &token);
        return;
    case TOKEN_NOT:
        parser_take(parser);
        read_not(e, &token);
        return;
    case TOKEN_OPEN: {
        bool after_if = pending && pending->kind == PENDING_IF && pending->offset + 2 <= token.offset &&
                        parser->last_end == pending->offset + 2;
        pending = expression_push(e, PENDING_BRACKET, token.offset);
        if (pending)
            pending->after_if = after_if;
        parser_take(parser);
        return;
    }
    case TOKEN_MINUS:
    case TOKEN_PLUS:
        parser_take(parser);
        pending = token.kind == TOKEN_MINUS ? expression_push(e, PENDING_OPERATOR, token.offset) : NULL;
        if (pending) {
            pending->op = GRAPH_NEGATE;
            pending->precedence = SIGN;
        }
        return;
    default:
        parser->position = AT_VALUE;
        parser_unexpected(parser, "a value");
        expression_fail(e);
    }
}
