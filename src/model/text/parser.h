/* The parser of model text: statements, lists of definitions, expressions. What its files share.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_TEXT_PARSER_H
#define MODEL_TEXT_PARSER_H

#include "model/text/resolve.h"

#include <locale.h>

enum { PARSER_AHEAD = 8 }; /* tokens that can be looked at */

/* An operator, bracket or call whose operands are not complete yet. */
struct pending {
    uint8_t kind, op, precedence;
    bool swapped, after_if;
    uint32_t offset;
    uint32_t symbol, n_argument;
    const struct reserved *function;
};

/* What should stand next, where that is known. */
enum position { AT_ANYTHING, AT_VALUE, AT_OPERATOR };

struct parser {
    struct reading *reading;
    struct lexer lexer;
    struct token ahead[PARSER_AHEAD];
    uint32_t first, n_ahead;
    uint32_t last_end;  /* where the token taken last ends */
    uint32_t n_open;    /* brackets between the beginning of the statement and there */
    enum position position;
    locale_t c_locale;  /* numbers have a point whatever the user's locale */
    LIST(struct pending) pending;
    uint32_t depth;
    struct span argument[READING_MAX_ARGUMENT]; /* of the function whose body is being read */
    uint32_t n_argument;
};

const struct token *parser_peek(struct parser *parser, uint32_t k); /* k < PARSER_AHEAD; valid until the next call */
struct token parser_take(struct parser *parser);
bool parser_accept(struct parser *parser, enum token_kind kind);
bool parser_accept_name(struct parser *parser, const char *name); /* a word that is none elsewhere */
bool parser_is_word(struct parser *parser, uint32_t k, enum word word);
/* `log-normal`, which is three tokens. */
bool parser_accept_log_normal(struct parser *parser);
/* Passes everything up to the end of the statement, or to a comma between items of a list. Names that would have been
 * defined there count as failed, so that nobody misses them. */
void parser_skip(struct parser *parser, bool to_comma);
/* The next token makes no sense here. Says so, in the words of the language that it may come from. */
void parser_unexpected(struct parser *parser, const char *expected);
/* What to write instead of a first word of a statement that other languages have; NULL if it is none. */
const char *slip_statement_hint(const struct reading *reading, const struct token *token);

/* One expression, up to what cannot go on with it. The formula's number; its `failed` says whether it was understood.
 * NONE when the reading is over. */
uint32_t parser_expression(struct parser *parser, enum formula_role role);
/* The same for a bound, where `inf` and `-inf` may stand. */
uint32_t parser_bound(struct parser *parser, enum formula_role role);

/* The whole text. */
void parser_run(struct reading *reading);

/* Statements that are lists: after their first word. */
void parser_parameters(struct parser *parser);
void parser_constants(struct parser *parser);
void parser_covariates(struct parser *parser);
void parser_initials(struct parser *parser);
void parser_observables(struct parser *parser);
/* One initial value from its `=` on; false if it was not understood. */
bool parser_initial_value(struct parser *parser, const struct token *name);
/* Attributes that stand next: unit into *unit, scale into *scale, and so on; NULL where one does not belong. */
struct attributes {
    struct span *unit;
    const char **scale;
    uint32_t *lower, *upper, *sd, *from;
    struct stated_prior *prior;
    const char **error; /* of an observable, as in equations.h */
};
bool parser_attributes(struct parser *parser, const struct attributes *attributes);
/* The end of a statement must come now. */
void parser_end(struct parser *parser, const char *expected);
/* `=` or, with a complaint, what others write for it. */
bool parser_equal(struct parser *parser);
/* A name to be defined; length 0 if there is none, which has been said then. */
struct token parser_name(struct parser *parser, const char *what);

#endif
