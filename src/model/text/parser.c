/* Statements of model text: which one it is, what it defines, and how to continue after a fault.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/text/parser.h"

#include <stdlib.h>
#include <string.h>

/* Reads = EXPR to the end of the statement, for a name that becomes one of `kind`. */
static void read_definition(struct parser *parser, const struct token *name, enum symbol_kind kind,
                            enum formula_role role)
{
    struct reading *reading = parser->reading;
    uint32_t which = symbol_of(reading, name->span);
    if (which == NONE)
        return;
    bool defined = symbol_define(reading, which, kind, name->span, name->line);
    uint32_t *state = NULL;
    if (defined && kind == SYMBOL_STATE) {
        state = list_add(reading, &reading->states, READING_MAX_SYMBOL);
        if (!state)
            return;
        *state = which;
        reading->symbols.item[which].index = reading->states.n - 1;
    }
    if (defined && kind == SYMBOL_FUNCTION)
        reading->symbols.item[which].n_argument = parser->argument.n;
    uint32_t formula = parser_equal(parser) ? parser_expression(parser, role) : NONE;
    bool failed = formula == NONE || reading->formulas.item[formula].failed;
    if (defined) {
        reading->symbols.item[which].formula = formula;
        reading->symbols.item[which].failed |= failed;
    }
    if (failed)
        parser_skip(parser, false);
    else
        parser_end(parser, kind == SYMBOL_STATE ? "an operator or the end of the derivative"
                                                : "an operator or the end of the statement");
}

static bool add_argument(struct parser *parser, const struct token *token)
{
    struct reading *reading = parser->reading;
    uint32_t which = token->length && !token->reserved ? symbol_of(reading, token->span) : NONE;
    if (token->length && token->reserved)
        message_fault(&reading->source, token->span,
                      "`%s` is a word of the language and cannot be an argument",
                      token->reserved->name);
    else if (which != NONE && reading->symbols.item[which].argument)
        message_fault(&reading->source, token->span, "two arguments have the same name");
    else if (which != NONE) {
        uint32_t *place = list_add(reading, &parser->argument, READING_MAX_SYMBOL);
        if (!place)
            return false;
        *place = which;
        reading->symbols.item[which].argument = parser->argument.n;
        return true;
    }
    return false;
}

static void forget_arguments(struct parser *parser)
{
    for (uint32_t i = 0; i < parser->argument.n; i++)
        parser->reading->symbols.item[parser->argument.item[i]].argument = 0;
    parser->argument.n = 0;
}

static void read_function(struct parser *parser, const struct token *name)
{
    parser_take(parser); /* the bracket */
    do {
        struct token token = parser_name(parser, "the name of an argument");
        if (add_argument(parser, &token))
            continue;
        symbol_excuse(parser->reading, name->span);
        parser_skip(parser, false);
        forget_arguments(parser);
        return;
    } while (parser_accept(parser, TOKEN_COMMA));
    if (parser_accept(parser, TOKEN_CLOSE)) {
        read_definition(parser, name, SYMBOL_FUNCTION, ROLE_FUNCTION);
    } else {
        parser_unexpected(parser, "a comma or `)`");
        parser_skip(parser, false);
    }
    forget_arguments(parser);
}

static void read_derivative(struct parser *parser, const struct token *name)
{
    struct token second = *parser_peek(parser, 0);
    if (second.kind == TOKEN_PRIME) {
        message_fault(&parser->reading->source, second.span,
                      "second derivatives become two states: `%.*s' = v` and `v' = ...`",
                      SPAN_ARGUMENTS(parser->reading, name->span));
        symbol_excuse(parser->reading, name->span);
        parser_skip(parser, false);
        return;
    }
    read_definition(parser, name, SYMBOL_STATE, ROLE_RHS);
}

/* d/dt(NAME) = or dNAME/dt =, beginning with the token `d`. */
static void read_leibniz(struct parser *parser, const struct token *d)
{
    struct token name = *d;
    parser_take(parser); /* d or dNAME */
    parser_take(parser); /* the slash */
    parser_take(parser); /* dt */
    if (d->length == 1) {
        if (!parser_accept(parser, TOKEN_OPEN)) {
            message_fault(&parser->reading->source, d->span,
                          "a derivative is written `d/dt(NAME) = ...` or `NAME' = ...`");
            parser_skip(parser, false);
            return;
        }
        name = parser_name(parser, "the name of a state");
        if (!name.length || !parser_accept(parser, TOKEN_CLOSE)) {
            if (name.length)
                parser_unexpected(parser, "`)`");
            parser_skip(parser, false);
            return;
        }
    } else {
        name.offset++;
        name.length--;
        if (!token_is_name_byte(parser->reading->source.text[name.offset], true)) {
            message_fault(&parser->reading->source, d->span,
                          "this is not the derivative of a name");
            parser_skip(parser, false);
            return;
        }
    }
    read_derivative(parser, &name);
}

static void read_unknown(struct parser *parser)
{
    struct reading *reading = parser->reading;
    struct token token = *parser_peek(parser, 0), next = *parser_peek(parser, 1);
    const char *hint = token.kind == TOKEN_NAME ? slip_statement_hint(reading, &token) : NULL;
    if (hint) {
        message_fault(&reading->source, token.span, "`%.*s` begins no statement: %s",
                      SPAN_ARGUMENTS(reading, token.span), hint);
    } else if (token.kind != TOKEN_NAME || token.reserved) {
        parser_unexpected(parser, "a statement");
    } else if (next.kind == TOKEN_NAME) {
        struct name_text near = symbol_nearest(reading, token.span, SEEK_STATEMENT);
        message_fault(&reading->source, token.span, "`%.*s` begins no statement%s%s%s",
                      SPAN_ARGUMENTS(reading, token.span), near.text[0] ? "; did you mean `" : "",
                      near.text, near.text[0] ? "`?" : "");
    } else {
        parser_take(parser);
        symbol_excuse(reading, token.span);
        if (next.kind == TOKEN_MINUS && parser_peek(parser, 1)->kind == TOKEN_GREATER)
            message_fault(&reading->source, (struct span){next.offset, 2},
                          "reactions are not supported: write the rate of change of each state, "
                          "`NAME' = ...`");
        else if (next.kind == TOKEN_COLON)
            message_fault(&reading->source, token.span,
                          "an event is `event NAME at TIME: STATE = EXPR, ...` or `event NAME when "
                          "CONDITION: STATE = EXPR, "
                          "...`; a reaction is written as the rate of change of each state");
        else
            parser_unexpected(parser, "`=`, `'` or `(0)` after the name");
    }
    parser_skip(parser, false);
}

static bool is_zero(struct parser *parser, const struct token *token)
{
    const char *p = parser->reading->source.text + token->offset;
    return token->kind == TOKEN_NUMBER && strspn(p, "0.") == token->length;
}

static void read_by_name(struct parser *parser)
{
    struct token name = *parser_peek(parser, 0), second = *parser_peek(parser, 1);
    struct token third = *parser_peek(parser, 2), fourth = *parser_peek(parser, 3);
    const char *text = parser->reading->source.text;
    bool is_other_event =
        parser_is_name(parser, 0, "at") && fourth.kind != TOKEN_COMMA && fourth.kind != TOKEN_CLOSE;
    if (second.kind == TOKEN_SLASH && parser_is_name(parser, 2, "dt") && text[name.offset] == 'd') {
        read_leibniz(parser, &name);
    } else if (second.kind == TOKEN_PRIME) {
        parser_take(parser);
        parser_take(parser);
        read_derivative(parser, &name);
    } else if (second.kind == TOKEN_OPEN && is_zero(parser, &third) && fourth.kind == TOKEN_CLOSE) {
        for (int i = 0; i < 4; i++)
            parser_take(parser);
        if (parser_initial_value(parser, &name))
            parser_end(parser, "an operator, `unit` or the end of the statement");
        else
            parser_skip(parser, false);
    } else if (second.kind == TOKEN_OPEN && third.kind == TOKEN_NAME && !is_other_event) {
        parser_take(parser);
        read_function(parser, &name);
    } else if (second.kind == TOKEN_EQUAL || second.kind == TOKEN_COLON_EQUAL ||
               second.kind == TOKEN_EQUAL_EQUAL ||
               (second.kind == TOKEN_LESS && third.kind == TOKEN_MINUS)) {
        parser_take(parser);
        read_definition(parser, &name, SYMBOL_INTERMEDIATE, ROLE_VALUE);
    } else {
        read_unknown(parser);
    }
}

static void read_model(struct parser *parser, const struct token *word)
{
    struct reading *reading = parser->reading;
    struct token name = parser_name(parser, "the name of the model");
    if (!name.length) {
        parser_skip(parser, false);
        return;
    }
    if (reading->name.length)
        message_fault(&reading->source, word->span, "the model has a name already, in line %u",
                      (unsigned)reading->name_line);
    else if (name.length > TOKEN_MAX_NAME)
        message_fault(&reading->source, name.span, "this name is longer than %d characters",
                      TOKEN_MAX_NAME);
    reading->name = name.span;
    reading->name_line = name.line;
    struct token label = *parser_peek(parser, 0);
    if (parser_accept(parser, TOKEN_STRING))
        reading->description = (struct span){label.offset + 1, label.length - 2};
    parser_end(parser, "a description in double quotes or the end of the statement");
}

static void read_time(struct parser *parser, const struct token *word)
{
    struct reading *reading = parser->reading;
    if (reading->time_line) {
        message_fault(&reading->source, word->span,
                      "there is a `time` statement already, in line %u",
                      (unsigned)reading->time_line);
        parser_skip(parser, false);
        return;
    }
    reading->time_line = word->line;
    if (parser_attributes(parser,
                          &(struct attributes){.unit = &reading->time_unit, .from = &reading->t0}))
        parser_end(parser, "`from`, `unit` or the end of the statement");
    else
        parser_skip(parser, false);
}

static void read_function_statement(struct parser *parser)
{
    struct token name = parser_name(parser, "the name of a function");
    if (name.length && parser_peek(parser, 0)->kind == TOKEN_OPEN) {
        read_function(parser, &name);
        return;
    }
    if (name.length)
        parser_unexpected(parser, "`(` and the arguments");
    parser_skip(parser, false);
}

/* Whether the statement `WORD(NAME) = ...` has NAME on its right-hand side, too. It is a
 * function of NAME then: no property of a state's doses depends on that state. */
static bool is_function_of_name(const struct parser *parser)
{
    struct parser ahead = *parser;
    const char *text = parser->reading->source.text;
    ahead.lexer.report = NULL;
    parser_take(&ahead);
    parser_take(&ahead);
    struct token name = parser_take(&ahead), token;
    do {
        token = parser_take(&ahead);
        if (token.kind == TOKEN_NAME && token.length == name.length &&
            !memcmp(text + token.offset, text + name.offset, name.length))
            return true;
    } while (token.kind != TOKEN_BREAK && token.kind != TOKEN_END);
    return false;
}

/* Statements that begin with a word which is not reserved: models may use it as a name. */
static bool read_by_free_word(struct parser *parser)
{
    bool has_name = parser_peek(parser, 1)->kind == TOKEN_NAME;
    bool is_call = parser_peek(parser, 1)->kind == TOKEN_OPEN &&
                   parser_peek(parser, 2)->kind == TOKEN_NAME &&
                   parser_peek(parser, 3)->kind == TOKEN_CLOSE;
    int kind = 0;
    while (kind < N_DOSING && !parser_is_name(parser, 0, dosing_words[kind].word))
        kind++;
    if (has_name && parser_accept_name(parser, "input"))
        parser_covariates(parser, true);
    else if (has_name && parser_is_name(parser, 0, "event"))
        parser_event(parser);
    else if (is_call && kind < N_DOSING && !is_function_of_name(parser))
        parser_dosing(parser, (enum dosing_kind)kind);
    else
        return false;
    return true;
}

static void read_statement(struct parser *parser)
{
    if (read_by_free_word(parser))
        return;
    struct token first = *parser_peek(parser, 0);
    enum token_kind next = parser_peek(parser, 1)->kind;
    bool is_target = next == TOKEN_EQUAL || next == TOKEN_PRIME || next == TOKEN_COLON_EQUAL;
    enum word word = first.reserved && !is_target ? first.reserved->word : WORD_NONE;
    if (word >= WORD_MODEL && word <= WORD_OBSERVE)
        parser_take(parser);
    switch (word) {
    case WORD_MODEL: read_model(parser, &first); break;
    case WORD_TIME_STATEMENT: read_time(parser, &first); break;
    case WORD_PARAMETER: parser_parameters(parser); break;
    case WORD_CONSTANT: parser_constants(parser); break;
    case WORD_COVARIATE: parser_covariates(parser, false); break;
    case WORD_INIT: parser_initials(parser); break;
    case WORD_OBSERVE: parser_observables(parser); break;
    case WORD_FUNCTION: read_function_statement(parser); break;
    default:
        if (first.kind == TOKEN_NAME)
            read_by_name(parser);
        else
            read_unknown(parser);
    }
}

void parser_run(struct reading *reading)
{
    struct parser parser = {.reading = reading,
                            .c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
    token_begin(&parser.lexer, &reading->source, &reading->source);
    reading->t0 = NONE;
    if (!parser.c_locale)
        reading->source.no_memory = true;
    while (!reading_is_over(reading)) {
        enum token_kind kind = parser_peek(&parser, 0)->kind;
        if (kind == TOKEN_END)
            break;
        if (kind == TOKEN_BREAK)
            parser_take(&parser);
        else
            read_statement(&parser);
    }
    free(parser.pending.item);
    free(parser.argument.item);
    if (parser.c_locale)
        freelocale(parser.c_locale);
}
