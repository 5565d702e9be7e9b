/* Programs in C: text of the user's as comments and string literals that it can never leave, numbers, expressions, functions.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_GENERATE_C_EXPRESSION_H
#define MODEL_GENERATE_C_EXPRESSION_H

#include "model/generate/program.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* For the inside of a comment, at most COMMENT_MAX characters: printable ASCII without backslash, and no comment's end or
 * beginning, no trigraph. */
enum { COMMENT_MAX = 160 };
void c_comment(FILE *out, const char *text, size_t length);

/* Where the lines of a text begin, so that each is found at once. */
struct c_lines {
    const char **start; /* n + 1 */
    size_t n;
};

/* *lines is zero on entry; `text` must live as long, or is NULL. False: out of memory. */
bool c_lines_init(struct c_lines *lines, const char *text);
void c_lines_fini(struct c_lines *lines);
/* Line `number`, from 1, without its end and without blanks around it; length 0 where there is none. */
const char *c_lines_get(const struct c_lines *lines, uint32_t number, size_t *length);

/* "text" with quotes, or 0. Whatever is not plain becomes an octal escape. */
void c_string(FILE *out, const char *text);

/* A constant of type double that reads back as `number`. Negative ones in brackets. */
void c_number(FILE *out, double number);

struct c_printer {
    const struct values *values;
    const struct program *program;
    const struct c_lines *lines; /* of the model's text */
    FILE *out;
};

/* Columns of c_name. */
program_width_function c_width;
/* The name of a leaf or a named step: a prefix for its kind, then the user's name. So no name of the user's is ever an
 * identifier by itself. */
void c_name(const struct c_printer *printer, uint32_t step);
/* What reads a leaf other than a constant from the function's arguments: "y[3]". */
void c_source(const struct c_printer *printer, const struct step *step);
/* The right-hand side that defines a named step. */
void c_definition(const struct c_printer *printer, uint32_t step);
/* A step where it is used: its name or its expression. */
void c_use(const struct c_printer *printer, uint32_t step);

/* The operations that C lacks and a program has, as bits; and definitions of a set of them. */
uint64_t c_helpers_needed(const struct program *program);
void c_helpers(uint64_t helpers, FILE *out);

struct c_function {
    const char *name;
    size_t n_out;             /* numbers that it writes */
    enum function_axis row, column;
    bool quotes;              /* the model's lines in comments */
};

enum status c_function(const struct c_printer *printer, const struct c_function *function, struct error *error);

#endif
