/* Words of a model text, or of a formula in another language: the tokeniser and the tables of
 * reserved words. Reads forward, one token at a time, and stores none, so memory does not depend
 * on the size of the text.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "model/graph/graph.h"
#include "model/text/message.h"

enum token_kind {
    TOKEN_END, /* of the text */
    TOKEN_BREAK, /* end of a statement */
    TOKEN_NAME,
    TOKEN_NUMBER,
    TOKEN_STRING,
    TOKEN_PLUS,
    TOKEN_MINUS,
    TOKEN_STAR,
    TOKEN_SLASH,
    TOKEN_POWER,
    TOKEN_LESS,
    TOKEN_LESS_EQUAL,
    TOKEN_GREATER,
    TOKEN_GREATER_EQUAL,
    TOKEN_EQUAL_EQUAL,
    TOKEN_NOT_EQUAL,
    TOKEN_AND,
    TOKEN_OR,
    TOKEN_NOT,
    TOKEN_EQUAL,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_OPEN_BRACKET,
    TOKEN_CLOSE_BRACKET,
    TOKEN_COMMA,
    TOKEN_PRIME,
    TOKEN_COLON,
    TOKEN_COLON_EQUAL, /* := */
    TOKEN_UNCLOSED_STRING,
    TOKEN_BAD
};

/* Meanings of reserved words; words with the same meaning share one. */
enum word {
    WORD_NONE,
    WORD_MODEL,
    WORD_TIME_STATEMENT,
    WORD_PARAMETER,
    WORD_CONSTANT,
    WORD_COVARIATE,
    WORD_INIT,
    WORD_FUNCTION,
    WORD_OBSERVE,
    WORD_IF,
    WORD_THEN,
    WORD_ELSE,
    WORD_AND,
    WORD_OR,
    WORD_NOT,
    WORD_IN,
    WORD_SCALE,
    WORD_UNIT,
    WORD_SD,
    WORD_FROM,
    WORD_PRIOR,
    WORD_LIN,
    WORD_TIME,
    WORD_NUMBER, /* its value */
    WORD_INF,    /* in bounds only */
    /* from here on functions */
    WORD_PIECEWISE,
    WORD_FOLD,      /* with any number of arguments */
    WORD_INTERP,
    WORD_OPERATION, /* one operation of the graph */
    WORD_INVERSE,   /* 1/op(x) */
    WORD_OF_INVERSE, /* op(1/x) */
    WORD_LOGARITHM  /* op(x), or op(x)/op(base) with the base as a second argument */
};

struct reserved {
    const char *name;
    enum word word;
    enum graph_op op; /* of functions, and of `if` */
    double value;     /* of WORD_NUMBER */
};
#define RESERVED_OPERATION(name, op) {name, WORD_OPERATION, GRAPH_##op, 0}

/* A language in which formulas are written. Model text is one; those of other files have formulas
 * alone, without comments, and reserve functions' names only before a bracket. */
struct dialect {
    const char *name;             /* in messages */
    const struct reserved *words; /* in the order of strcmp */
    uint32_t n_word;
    bool has_statements;          /* model text */
    bool has_chains;              /* a < b < c is (a < b) < c; otherwise it is refused */
    enum binding or, not;         /* how tightly they bind */
};
extern const struct dialect dialect_model_text;

struct token {
    enum token_kind kind;
    union {
        struct span span;
        struct { uint32_t offset, length; };
    };
    uint32_t line;
    bool after_blank;                /* blanks or a comment precede it */
    bool unclosed;                   /* of a BREAK: brackets are open, but a new statement begins */
    const struct reserved *reserved; /* of a NAME; NULL if it is free */
};

struct lexer {
    const struct dialect *dialect;
    const char *text; /* NUL-terminated */
    uint32_t n_byte, at, line;
    uint32_t n_open;       /* brackets */
    struct source *report; /* receives faults of bytes in comments and strings; NULL: ignored */
};

/* Of model text; for another language set `dialect` then. The text must outlive it. */
void token_begin(struct lexer *lexer, const struct source *source, struct source *report);
void token_next(struct lexer *lexer, struct token *token);

/* characters of a name; ids in files need a little more: NAME_BYTES */
enum { TOKEN_MAX_NAME = 4000 };

/* Of model text: NULL if the name is free. */
const struct reserved *token_reserved(const char *name, size_t length);
const struct reserved *token_reserved_at(size_t index); /* NULL past the last */
/* Whether the word is a built-in function; `if` is not, although it can be called. */
bool token_is_function(const struct reserved *word);
/* Fewest and most arguments of a function or of `if`. */
void token_arity(const struct reserved *function, uint32_t *fewest, uint32_t *most);

bool token_is_name_byte(char c, bool first);

/* The name, number or sign that begins at `offset`. */
struct span message_token_at(const struct source *source, uint32_t offset);
