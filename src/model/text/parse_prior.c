/* Priors: `prior KIND(A, B) [on optimizer]` behind a parameter, and what of it cannot be meant. Separate because the words in
 * it are words here alone, so that models may use them as names.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/text/parser.h"

#include <string.h>

static bool stop(struct parser *parser, const char *expected)
{
    parser_unexpected(parser, expected);
    return false;
}

static bool accept_name(struct parser *parser, const char *name)
{
    struct token token = *parser_peek(parser, 0);
    if (token.kind != TOKEN_NAME || token.length != strlen(name) ||
        memcmp(parser->reading->source.text + token.offset, name, token.length))
        return false;
    parser_take(parser);
    return true;
}

static bool read_kind(struct parser *parser, struct stated_prior *prior)
{
    static const struct { const char *word, *kind; } kinds[] = {
        {"normal", "normal"}, {"lognormal", "log-normal"}, {"laplace", "laplace"}, {"uniform", "uniform"}};
    prior->place = parser_peek(parser, 0)->span;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (accept_name(parser, kinds[i].word) || (!strcmp(kinds[i].kind, "log-normal") && parser_accept_log_normal(parser))) {
            prior->kind = kinds[i].kind;
            return true;
        }
    return stop(parser, "`normal(MEAN, SD)`, `lognormal(MEAN, SD)`, `laplace(CENTRE, SCALE)` or `uniform(LOWER, UPPER)`");
}

static bool read_number(struct parser *parser, bool is_end, enum formula_role end, uint32_t *formula)
{
    *formula = is_end ? parser_bound(parser, end) : parser_expression(parser, ROLE_PRIOR);
    return *formula != NONE && !parser->reading->formulas.item[*formula].failed;
}

bool parser_prior(struct parser *parser, struct stated_prior *prior)
{
    struct stated_prior read = {.first = NONE, .second = NONE};
    if (!read_kind(parser, &read))
        return false;
    bool is_uniform = strcmp(read.kind, "uniform") == 0;
    if (!parser_accept(parser, TOKEN_OPEN))
        return stop(parser, is_uniform ? "`(LOWER, UPPER)`" : "`(` and two numbers");
    if (!read_number(parser, is_uniform, ROLE_LOWER, &read.first))
        return false;
    if (!parser_accept(parser, TOKEN_COMMA))
        return stop(parser, is_uniform ? "a comma and the upper end" : "a comma and the second number");
    if (!read_number(parser, is_uniform, ROLE_UPPER, &read.second))
        return false;
    if (!parser_accept(parser, TOKEN_CLOSE))
        return stop(parser, "`)` after two numbers");
    if (accept_name(parser, "on")) {
        read.on_optimizer = accept_name(parser, "optimizer");
        if (!read.on_optimizer && !accept_name(parser, "natural"))
            return stop(parser, "`optimizer` or `natural`");
    }
    *prior = read;
    return true;
}
