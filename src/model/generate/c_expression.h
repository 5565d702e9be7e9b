/* Programs in C: the user's text as comments and string literals from which it cannot escape,
 * numbers, expressions, functions.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "model/generate/program.h"
#include "model/lanes_plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* For the inside of a comment, at most COMMENT_MAX characters: printable ASCII without
 * backslashes, comment delimiters and trigraphs. */
enum { COMMENT_MAX = 160 };
void c_comment(FILE *out, const char *text, size_t length);

/* The beginning of each line of a text, for quick access. */
struct c_lines {
    const char **start; /* n + 1 */
    size_t n;
};

/* *lines must be zero; `text` must outlive it, or is NULL. False: out of memory. */
bool c_lines_init(struct c_lines *lines, const char *text);
void c_lines_fini(struct c_lines *lines);
/* Line `number`, from 1, without its end and surrounding blanks; length 0: no such line. */
const char *c_lines_get(const struct c_lines *lines, uint32_t number, size_t *length);

/* "text" with quotes, or 0. Characters that are not plain become octal escapes. */
void c_string(FILE *out, const char *text);

/* A constant of type double that reads back as `number`; negative ones in brackets. */
void c_number(FILE *out, double number);

/* A table of n integers. */
void c_integers(FILE *out, const char *name, const uint32_t *number, size_t n);

/* The tables of a graph, TABLE table_0[], ...: the number of points, x, y, and the slopes. */
void c_tables(const struct graph *graph, const char *storage, FILE *out);

struct c_printer {
    const struct values *values;
    const struct program *program;
    const struct c_lines *lines; /* of the model's text */
    FILE *out;
    enum c_form form;
};

/* Width of c_name in columns. */
program_width_function c_width;
/* The name of a leaf or a named step: a prefix for its kind, then the user's name, so that a
 * user's name never stands alone as an identifier. */
void c_name(const struct c_printer *printer, uint32_t step);
/* The C expression that reads a leaf other than a constant from the function's arguments:
 * "y[3]". */
void c_source(const struct c_printer *printer, const struct step *step);
/* The right-hand side that defines a named step. */
void c_definition(const struct c_printer *printer, uint32_t step);
/* A step as an operand: its name or its expression. */
void c_use(const struct c_printer *printer, uint32_t step);

/* The operations of a program that need a definition, as bits; and definitions of a set of them. */
uint64_t c_helpers_needed(const struct program *program, enum c_form form);
void c_helpers(uint64_t helpers, enum c_form form, FILE *out);

struct c_function {
    const char *name;
    size_t n_out;             /* numbers that it writes */
    enum function_axis row, column;
    bool quotes;              /* the model's lines in comments */
};

enum status c_function(const struct c_printer *printer, const struct c_function *function,
                       struct error *error);

/* The functions of lanes, and their table (emit_lanes.c). After them, LANES_TABLE is the
 * descriptor's pointer to it. */
enum status c_lanes(const struct programs *programs, const struct functions *functions,
                    const struct c_lines *lines, FILE *out, struct error *error);
/* A stage of their integrator, if the model is small enough (emit_stage.c), and its table,
 * lanes_algebra. */
void c_stages(const struct lanes_plan *plan, FILE *out);

/* Bounds of the forcing functions (emit_range.c): forcing_range. */
enum status c_ranges(const struct programs *programs, const struct functions *functions,
                     const struct c_lines *lines, FILE *out, struct error *error);
