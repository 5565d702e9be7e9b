/* Statements that define a list: parameters, constants, covariates, initial values, observables;
 * and the attributes of their items.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/text/parser.h"

#include "base/error_kind.h"
#include "base/words.h"

#include <string.h>

static bool stop(struct parser *parser, const char *expected)
{
    parser_unexpected(parser, expected);
    return false;
}

static bool read_unit(struct parser *parser, struct span *unit)
{
    struct token label = *parser_peek(parser, 0);
    if (label.kind != TOKEN_STRING)
        return stop(parser, "a label in double quotes");
    parser_take(parser);
    *unit = (struct span){label.offset + 1, label.length - 2};
    return true;
}

static bool read_scale(struct parser *parser, const char **scale)
{
    static const char *const names[] = {"lin", "log", "log10"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (parser_accept_name(parser, names[i])) {
            *scale = names[i];
            return true;
        }
    return stop(parser, "`lin`, `log` or `log10`");
}

static bool read_formula(struct parser *parser, enum formula_role role, uint32_t *formula)
{
    bool is_bound = role == ROLE_LOWER || role == ROLE_UPPER;
    *formula = is_bound ? parser_bound(parser, role) : parser_expression(parser, role);
    return *formula != NONE && !parser->reading->formulas.item[*formula].failed;
}

static bool read_bounds(struct parser *parser, uint32_t *lower, uint32_t *upper)
{
    if (!parser_accept(parser, TOKEN_OPEN_BRACKET))
        return stop(parser, "`[LOWER, UPPER]`");
    if (!read_formula(parser, ROLE_LOWER, lower))
        return false;
    if (!parser_accept(parser, TOKEN_COMMA))
        return stop(parser, "a comma and the upper bound");
    if (!read_formula(parser, ROLE_UPPER, upper))
        return false;
    bool has_more = parser_peek(parser, 0)->kind == TOKEN_COMMA;
    return parser_accept(parser, TOKEN_CLOSE_BRACKET) ||
           stop(parser, has_more ? "`]` after two bounds (a number has a decimal point)" : "`]`");
}

/* Priors: `prior KIND(A, B) [on optimizer]`. These words are not reserved: models may use them
 * as names. */
static bool read_kind(struct parser *parser, struct stated_prior *prior)
{
    static const struct { const char *word, *kind;
    } kinds[] = {{"normal", "normal"},
                 {"lognormal", "log-normal"},
                 {"laplace", "laplace"},
                 {"uniform", "uniform"}};
    prior->place = parser_peek(parser, 0)->span;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (parser_accept_name(parser, kinds[i].word) ||
            (!strcmp(kinds[i].kind, "log-normal") && parser_accept_log_normal(parser))) {
            prior->kind = kinds[i].kind;
            return true;
        }
    return stop(parser, "`normal(MEAN, SD)`, `lognormal(MEAN, SD)`, `laplace(CENTRE, SCALE)` or "
                        "`uniform(LOWER, UPPER)`");
}

static bool read_prior(struct parser *parser, struct stated_prior *prior)
{
    struct stated_prior read = {.first = NONE, .second = NONE};
    if (!read_kind(parser, &read))
        return false;
    bool is_uniform = strcmp(read.kind, "uniform") == 0;
    if (!parser_accept(parser, TOKEN_OPEN))
        return stop(parser, is_uniform ? "`(LOWER, UPPER)`" : "`(` and two numbers");
    if (!read_formula(parser, is_uniform ? ROLE_LOWER : ROLE_PRIOR, &read.first))
        return false;
    if (!parser_accept(parser, TOKEN_COMMA))
        return stop(parser,
                    is_uniform ? "a comma and the upper end" : "a comma and the second number");
    if (!read_formula(parser, is_uniform ? ROLE_UPPER : ROLE_PRIOR, &read.second))
        return false;
    if (!parser_accept(parser, TOKEN_CLOSE))
        return stop(parser, "`)` after two numbers");
    if (parser_accept_name(parser, "on")) {
        read.on_optimizer = parser_accept_name(parser, "optimizer");
        if (!read.on_optimizer && !parser_accept_name(parser, "natural"))
            return stop(parser, "`optimizer` or `natural`");
    }
    *prior = read;
    return true;
}

/* Takes the distribution of an observable's errors. These words are not reserved either. False:
 * there is none, or it is a fault. */
static bool accept_error(struct parser *parser, const struct attributes *into, bool *failed)
{
    struct token token = *parser_peek(parser, 0);
    char name[READING_SHOWN_NAME + 1] = {0};
    if (into->error && !*into->error && parser_accept_log_normal(parser)) {
        *into->error = error_kind_word[ERROR_LOG_NORMAL];
        return true;
    }
    if (!into->error || token.kind != TOKEN_NAME || token.reserved || token.length >= sizeof name)
        return false;
    memcpy(name, parser->reading->source.text + token.offset, token.length);
    for (int k = 0; k < N_ERROR; k++)
        if (!strcmp(name, error_kind_text_word[k]) && !*into->error) {
            *into->error = error_kind_word[k];
            parser_take(parser);
            return true;
        }
    const char *near = nearest_name(name, error_kind_text_word, N_ERROR);
    *failed = near != NULL;
    if (near && *into->error)
        message_fault(&parser->reading->source, token.span,
                      "the distribution of the errors is already given as %s", *into->error);
    else if (near)
        message_fault(&parser->reading->source, token.span,
                      "`%s` is not an error distribution; did you mean `%s`?", name, near);
    return false;
}

static bool read_attribute(struct parser *parser, enum word word, const struct attributes *into)
{
    switch (word) {
    case WORD_UNIT: return read_unit(parser, into->unit);
    case WORD_SCALE: return read_scale(parser, into->scale);
    case WORD_IN: return read_bounds(parser, into->lower, into->upper);
    case WORD_PRIOR: return read_prior(parser, into->prior);
    case WORD_SD:
        if (parser_peek(parser, 0)->kind == TOKEN_EQUAL) {
            message_fault(&parser->reading->source, parser_peek(parser, 0)->span,
                          "`sd` takes no `=`: write `sd 0.1`");
            return false;
        }
        return read_formula(parser, ROLE_SD, into->sd);
    default: return read_formula(parser, ROLE_T0, into->from);
    }
}

bool parser_attributes(struct parser *parser, const struct attributes *into)
{
    unsigned seen = 0;
    bool failed = false;
    for (;;) {
        while (!failed && accept_error(parser, into, &failed))
            ;
        if (failed)
            return false;
        struct token token = *parser_peek(parser, 0);
        enum word word = token.reserved ? token.reserved->word : WORD_NONE;
        const void *const target[] =
            {[WORD_UNIT] = into->unit, [WORD_SCALE] = into->scale, [WORD_IN] = into->lower,
             [WORD_SD] = into->sd,     [WORD_FROM] = into->from,   [WORD_PRIOR] = into->prior};
        if (word < WORD_IN || word > WORD_PRIOR)
            return true;
        bool fits = target[word];
        if (!fits || seen & 1u << word) {
            message_fault(&parser->reading->source, token.span,
                          fits ? "`%s` appears twice" : "`%s` does not belong here",
                          token.reserved->name);
            return false;
        }
        seen |= 1u << word;
        parser_take(parser);
        if (!read_attribute(parser, word, into))
            return false;
    }
}

/* After an item of a list: true if another follows. `good`: the item was understood. */
static bool next_item(struct parser *parser, bool good)
{
    if (reading_is_over(parser->reading))
        return false;
    if (!good)
        parser_skip(parser, true);
    const struct token token = *parser_peek(parser, 0);
    if (parser_accept(parser, TOKEN_COMMA))
        return true;
    if (token.kind == TOKEN_BREAK || token.kind == TOKEN_END)
        return false;
    enum token_kind next = parser_peek(parser, 1)->kind;
    if (token.kind == TOKEN_NAME && !token.reserved && next == TOKEN_EQUAL) {
        message_fault(&parser->reading->source, token.span, "a comma is missing before `%.*s`",
                      SPAN_ARGUMENTS(parser->reading, token.span));
        return true;
    }
    parser_unexpected(parser, "a comma or the end of the statement");
    parser_skip(parser, true);
    return parser_accept(parser, TOKEN_COMMA);
}

/* Reads a name and defines it; NONE, after a message: there is none. */
static uint32_t define_next(struct parser *parser, enum symbol_kind kind, const char *what,
                            bool *defined)
{
    struct token name = parser_name(parser, what);
    uint32_t symbol = name.length ? symbol_of(parser->reading, name.span) : NONE;
    *defined = symbol != NONE && symbol_define(parser->reading, symbol, kind, name.span, name.line);
    return symbol;
}

/* Adds what was read to its list; false when memory is out. */
#define KEEP(reading, list, read) \
    (list_add(reading, list, READING_MAX_SYMBOL) && ((list)->item[(list)->n - 1] = (read), true))

void parser_parameters(struct parser *parser)
{
    struct reading *reading = parser->reading;
    bool good, defined;
    do {
        struct stated_parameter read = {.start = NONE, .lower = NONE, .upper = NONE};
        read.symbol = define_next(parser, SYMBOL_PARAMETER, "the name of a parameter", &defined);
        good = read.symbol != NONE && parser_equal(parser);
        good = good && read_formula(parser, ROLE_START, &read.start);
        struct attributes attributes = {.unit = &read.unit,
                                        .scale = &read.scale, .lower = &read.lower,
                                        .upper = &read.upper, .prior = &read.prior};
        good = good && parser_attributes(parser, &attributes);
        if (defined && KEEP(reading, &reading->parameters, read))
            reading->symbols.item[read.symbol].index = reading->parameters.n - 1;
    } while (next_item(parser, good));
}

void parser_constants(struct parser *parser)
{
    bool good, defined;
    do {
        uint32_t formula = NONE;
        uint32_t symbol = define_next(parser, SYMBOL_CONSTANT, "the name of a constant", &defined);
        good = symbol != NONE && parser_equal(parser);
        good = good && read_formula(parser, ROLE_CONSTANT, &formula);
        if (defined) {
            parser->reading->symbols.item[symbol].formula = formula;
            parser->reading->symbols.item[symbol].failed |= !good;
        }
    } while (next_item(parser, good));
}

/* `linear` or `constant`: how an input goes from one knot to the next. False: it is not said
 * here. */
static bool accept_course(struct parser *parser, bool *is_linear)
{
    *is_linear = parser_accept_name(parser, "linear");
    bool is_constant = !*is_linear && parser_is_word(parser, 0, WORD_CONSTANT);
    if (is_constant)
        parser_take(parser);
    return *is_linear || is_constant;
}

void parser_covariates(struct parser *parser, bool are_inputs)
{
    struct reading *reading = parser->reading;
    bool good, defined;
    do {
        struct stated_covariate read = {.symbol = NONE};
        read.symbol =
            define_next(parser, are_inputs ? SYMBOL_INPUT : SYMBOL_COVARIATE,
                        are_inputs ? "the name of an input" : "the name of a covariate", &defined);
        const struct token next = *parser_peek(parser, 0);
        if (defined && next.kind == TOKEN_EQUAL) {
            message_fault(&reading->source, next.span,
                          "%s has no value here: each dataset has its own; for a number "
                          "common to all, write `constant NAME = VALUE`",
                          are_inputs ? "an input" : "a covariate");
            good = false;
        } else {
            bool is_said = !are_inputs || accept_course(parser, &read.is_linear);
            good = read.symbol != NONE &&
                   parser_attributes(parser, &(struct attributes){.unit = &read.unit});
            if (!is_said)
                accept_course(parser, &read.is_linear);
        }
        if (defined && (are_inputs ? KEEP(reading, &reading->inputs, read)
                                   : KEEP(reading, &reading->covariates, read)))
            reading->symbols.item[read.symbol].index =
                (are_inputs ? reading->inputs.n : reading->covariates.n) - 1;
    } while (next_item(parser, good));
}

bool parser_initial_value(struct parser *parser, const struct token *name)
{
    struct reading *reading = parser->reading;
    struct stated_initial read = {.formula = NONE, .line = name->line, .place = name->span};
    read.symbol = symbol_of(reading, name->span);
    bool good = read.symbol != NONE && parser_equal(parser);
    good = good && read_formula(parser, ROLE_INITIAL, &read.formula);
    good = good && parser_attributes(parser, &(struct attributes){.unit = &read.unit});
    if (read.symbol == NONE)
        return false;
    struct symbol *symbol = &reading->symbols.item[read.symbol];
    if (symbol->initial != NONE) {
        message_fault(&reading->source, name->span,
                      "the initial value of `%.*s` is given twice, first in line %u",
                      SPAN_ARGUMENTS(reading, name->span),
                      (unsigned)reading->initials.item[symbol->initial].line);
        return good;
    }
    symbol->initial = reading->initials.n;
    return KEEP(reading, &reading->initials, read) && good;
}

void parser_initials(struct parser *parser)
{
    struct token name;
    do {
        name = parser_name(parser, "the name of a state");
    } while (next_item(parser, name.length && parser_initial_value(parser, &name)));
}

void parser_observables(struct parser *parser)
{
    struct reading *reading = parser->reading;
    bool good;
    do {
        struct token name = parser_name(parser, "a name for what is measured");
        enum token_kind next = parser_peek(parser, 0)->kind;
        good = name.length && !name.reserved && next != TOKEN_OPEN &&
               (next < TOKEN_PLUS || next == TOKEN_LESS || next > TOKEN_NOT);
        if (name.length && !good)
            message_fault(&reading->source, name.span,
                          "an expression that is observed needs a name: `observe NAME = EXPR`");
        struct stated_observable read = {.symbol = NONE,
                                         .sd = NONE, .line = name.line, .place = name.span};
        read.symbol = good ? symbol_of(reading, name.span) : NONE;
        good = read.symbol != NONE;
        if (good && (next == TOKEN_EQUAL || next == TOKEN_COLON_EQUAL || next == TOKEN_LESS)) {
            uint32_t formula = NONE;
            good = parser_equal(parser) && read_formula(parser, ROLE_VALUE, &formula);
            if (symbol_define(reading, read.symbol, SYMBOL_INTERMEDIATE, name.span, name.line)) {
                reading->symbols.item[read.symbol].formula = formula;
                reading->symbols.item[read.symbol].failed = !good;
            }
        }
        good = good && parser_attributes(parser, &(struct attributes){.unit = &read.unit,
                                                                      .sd = &read.sd,
                                                                      .error = &read.error});
        good = (read.symbol == NONE || KEEP(reading, &reading->observables, read)) && good;
    } while (next_item(parser, good));
}
