/* The parser of model text: statements, lists of definitions, expressions. Shared by its files.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "model/text/resolve.h"

#include <locale.h>

enum { PARSER_AHEAD = 8 }; /* tokens of lookahead */

/* An operator, bracket or call with operands still to come. */
struct pending {
    uint8_t kind, op, bind;
    bool swapped, after_if;
    uint32_t offset;
    uint32_t symbol, n_argument;
    const struct reserved *function;
};

/* What is expected next, if known. */
enum position { AT_ANYTHING, AT_VALUE, AT_OPERATOR };

struct parser {
    struct reading *reading;
    struct lexer lexer;
    struct token ahead[PARSER_AHEAD];
    uint32_t first, n_ahead;
    uint32_t last_end;  /* end of the last token taken */
    uint32_t n_open;    /* open brackets since the beginning of the statement */
    enum position position;
    locale_t c_locale;  /* numbers have a decimal point in any locale */
    LIST(struct pending) pending;
    uint32_t depth;
    LIST(uint32_t) argument; /* symbols: of the function whose body is being read */
};

/* k < PARSER_AHEAD; valid until the next call */
const struct token *parser_peek(struct parser *parser, uint32_t k);
struct token parser_take(struct parser *parser);
bool parser_accept(struct parser *parser, enum token_kind kind);
bool parser_accept_name(struct parser *parser, const char *name); /* a word that is not reserved */
/* Whether token k from here on is this name, or this reserved word. Takes nothing. */
bool parser_is_name(struct parser *parser, uint32_t k, const char *name);
bool parser_is_word(struct parser *parser, uint32_t k, enum word word);
/* `log-normal`, which is three tokens. */
bool parser_accept_log_normal(struct parser *parser);
/* Skips to the end of the statement, or to a comma between items of a list. Names that would
 * have been defined there count as failed, so that they are not reported as unknown. */
void parser_skip(struct parser *parser, bool to_comma);
/* Reports that the next token makes no sense here, with a hint if it comes from another
 * language. */
void parser_unexpected(struct parser *parser, const char *expected);
/* The replacement for another language's first word of a statement; NULL: unknown. */
const char *slip_statement_hint(const struct reading *reading, const struct token *token);

/* Reads one expression, as far as it goes, and returns its formula, whose `failed` is set after
 * a fault. NONE: the reading is over. */
uint32_t parser_expression(struct parser *parser, enum formula_role role);
/* parser_expression for a bound, which may be `inf` or `-inf`. */
uint32_t parser_bound(struct parser *parser, enum formula_role role);

/* Reads the whole text. */
void parser_run(struct reading *reading);

/* Statements that are lists, after their first word. */
void parser_parameters(struct parser *parser);
void parser_constants(struct parser *parser);
void parser_covariates(struct parser *parser, bool are_inputs);
void parser_initials(struct parser *parser);
void parser_observables(struct parser *parser);
/* `lag(STATE) = ...` and the like, an event: whole statements, of which no word is taken yet. */
void parser_dosing(struct parser *parser, enum dosing_kind kind);
void parser_event(struct parser *parser);
/* An initial value from its `=` on; false: a fault. */
bool parser_initial_value(struct parser *parser, const struct token *name);
/* Reads the attributes that follow: unit into *unit, scale into *scale, and so on; NULL: not
 * allowed here. */
struct attributes {
    struct span *unit;
    const char **scale;
    uint32_t *lower, *upper, *sd, *from;
    struct stated_prior *prior;
    const char **error; /* of an observable, as in equations.h */
};
bool parser_attributes(struct parser *parser, const struct attributes *attributes);
/* Expects the end of the statement. */
void parser_end(struct parser *parser, const char *expected);
/* Expects `=`; reports what other languages use instead. */
bool parser_equal(struct parser *parser);
/* Reads a name to be defined; length 0, after a message: there is none. */
struct token parser_name(struct parser *parser, const char *what);
