/* The parser's tokens, with lookahead, and skipping of text that was not understood.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/text/parser.h"

#include <string.h>

const struct token *parser_peek(struct parser *parser, uint32_t k)
{
    while (parser->n_ahead <= k) {
        token_next(&parser->lexer,
                   &parser->ahead[(parser->first + parser->n_ahead) % PARSER_AHEAD]);
        parser->n_ahead++;
    }
    return &parser->ahead[(parser->first + k) % PARSER_AHEAD];
}

struct token parser_take(struct parser *parser)
{
    struct token token = *parser_peek(parser, 0);
    if (token.kind == TOKEN_END)
        return token;
    parser->first = (parser->first + 1) % PARSER_AHEAD;
    parser->n_ahead--;
    parser->last_end = token.offset + token.length;
    parser->position = AT_ANYTHING;
    parser->n_open += token.kind == TOKEN_OPEN || token.kind == TOKEN_OPEN_BRACKET;
    parser->n_open -=
        parser->n_open > 0 && (token.kind == TOKEN_CLOSE || token.kind == TOKEN_CLOSE_BRACKET);
    if (token.kind == TOKEN_BREAK)
        parser->n_open = 0;
    return token;
}

bool parser_accept(struct parser *parser, enum token_kind kind)
{
    if (parser_peek(parser, 0)->kind != kind)
        return false;
    parser_take(parser);
    return true;
}

static bool token_is(const struct parser *parser, const struct token *token, const char *text)
{
    return token->kind == TOKEN_NAME && token->length == strlen(text) &&
           !memcmp(parser->reading->source.text + token->offset, text, token->length);
}

bool parser_is_name(struct parser *parser, uint32_t k, const char *name)
{
    return token_is(parser, parser_peek(parser, k), name);
}

bool parser_accept_name(struct parser *parser, const char *name)
{
    if (!parser_is_name(parser, 0, name))
        return false;
    parser_take(parser);
    return true;
}

bool parser_accept_log_normal(struct parser *parser)
{
    static const char word[] = "log-normal";
    const struct source *source = &parser->reading->source;
    uint32_t begin = parser_peek(parser, 0)->offset, length = sizeof word - 1;
    const struct token *last = parser_peek(parser, 2);
    if (last->kind != TOKEN_NAME || last->offset + last->length != begin + length ||
        memcmp(source->text + begin, word, length))
        return false;
    for (int k = 0; k < 3; k++)
        parser_take(parser);
    return true;
}

bool parser_is_word(struct parser *parser, uint32_t k, enum word word)
{
    const struct token *token = parser_peek(parser, k);
    return token->reserved && token->reserved->word == word;
}

void parser_skip(struct parser *parser, bool to_comma)
{
    for (;;) {
        enum token_kind kind = parser_peek(parser, 0)->kind;
        bool at_comma = to_comma && parser->n_open == 0 && kind == TOKEN_COMMA;
        if (kind == TOKEN_END || kind == TOKEN_BREAK || at_comma)
            return;
        struct token passed = parser_take(parser);
        enum token_kind next = parser_peek(parser, 0)->kind;
        if (passed.kind == TOKEN_NAME &&
            (next == TOKEN_EQUAL || next == TOKEN_PRIME || next == TOKEN_COLON_EQUAL))
            symbol_excuse(parser->reading, passed.span);
    }
}
