/* An expression while it is being read: what the reading of values and that of operators share.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_TEXT_EXPRESSION_H
#define MODEL_TEXT_EXPRESSION_H

#include "model/text/parser.h"

/* THEN and ELSE are an `if` that has come so far. */
enum pending_kind { PENDING_OPERATOR, PENDING_BRACKET, PENDING_CALL, PENDING_IF, PENDING_THEN, PENDING_ELSE };

enum precedence { LOOSEST, OR_PRECEDENCE, AND_PRECEDENCE, NOT_PRECEDENCE, COMPARISON, SUM, PRODUCT, SIGN, POWER };

/* One expression being read. */
struct expression {
    struct parser *parser;
    uint32_t base;     /* of the parser's stack: what is below belongs to somebody else */
    bool want_operand; /* else an operator or the end */
    bool ended, failed;
    bool wrong;        /* a fault has been said that does not keep the rest from being read */
};

static inline struct source *expression_source(struct expression *e) { return &e->parser->reading->source; }

/* No more can be made of it. */
static inline void expression_fail(struct expression *e) { e->failed = e->ended = true; }

/* One more instruction; NULL, and the expression has failed, when memory is out. */
struct instruction *expression_emit(struct expression *e, enum instruction_kind kind, uint32_t offset);
/* The innermost thing that is incomplete, or NULL. */
struct pending *expression_top(struct expression *e);
/* Something that is to be completed later; NULL as above. */
struct pending *expression_push(struct expression *e, enum pending_kind kind, uint32_t offset);

/* What a value begins with. */
void expression_operand(struct expression *e);

#endif
