/* Expressions of a program in C: names of values and spelling of operations.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_GENERATE_C_EXPRESSION_H
#define MODEL_GENERATE_C_EXPRESSION_H

#include "model/generate/c_text.h"
#include "model/generate/program.h"

#include <stdio.h>

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

#endif
