/* Expressions of a program in C: names of values and spelling of operations.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_GENERATE_C_EXPRESSION_H
#define MODEL_GENERATE_C_EXPRESSION_H

#include "model/generate/c_text.h"
#include "model/generate/program.h"

#include <stdio.h>

/* Functions of ours that an operation may need, as bits. */
enum { C_SIGN = 1, C_POWER_LOG = 2, C_MINIMUM = 4, C_MAXIMUM = 8, C_HEAVISIDE = 16 };

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

/* Those that a program calls, and the C of a set of them. */
unsigned c_helpers_needed(const struct program *program);
void c_helpers(unsigned helpers, FILE *out);

#endif
