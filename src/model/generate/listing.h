/* Expressions and equations of a model for people: as model text or as LaTeX. Unlike generate_c, it prints formulas that can be
 * read one by one, with the model's names.
 *
 * An expression has as few parentheses as possible: printed model text gives the same node when it is read again (except
 * POWER_LOG, which the language lacks, and non-finite numbers). An intermediate appears as its name. Temporaries (w1, w2, ...;
 * another letter if the model has such names) replace parts that would make formulas explode: large expressions used several
 * times, and huge or deeply nested ones.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_GENERATE_LISTING_H
#define MODEL_GENERATE_LISTING_H

#include "model/generate/generate.h"

#include <stdio.h>

struct listing;

enum notation { NOTATION_TEXT, NOTATION_LATEX };

/* `functions` may be NULL: no derivatives. Both must outlive the listing. NULL: out of memory. */
struct listing *listing_new(const struct equations *equations, const struct functions *functions, enum notation notation);
void listing_free(struct listing *listing); /* NULL is legal */

/* Call this before printing equations: temporaries that only derivatives need are then not used. */
void listing_begin_equations(struct listing *listing);
void listing_begin_derivatives(struct listing *listing); /* the default */

/* One expression, by its name if it has one. */
void listing_expression(struct listing *listing, node which, FILE *out);
/* The expression that a name stands for. */
void listing_definition(struct listing *listing, node which, FILE *out);

/* Statements, one per line; model text can be read again, once parameters and covariates are added. In LaTeX they are rows of
 * an align environment, which is printed too. */
void listing_intermediates(struct listing *listing, FILE *out);
void listing_initial(struct listing *listing, FILE *out);
void listing_rhs(struct listing *listing, FILE *out);
void listing_observables(struct listing *listing, FILE *out);
/* Entries of one derivative, column by column. listing_temporaries prints the temporaries of all derivatives. */
void listing_derivative(struct listing *listing, enum model_function function, FILE *out);
void listing_temporaries(struct listing *listing, FILE *out);

/* All temporaries, those of the equations first: their nodes, which listing_expression prints as names. */
size_t listing_n_temporary(const struct listing *listing);
node listing_temporary(const struct listing *listing, size_t i);

/* The i-th name as printed: in LaTeX with subscripts and Greek letters. */
const char *listing_parameter(const struct listing *listing, uint32_t i);
const char *listing_covariate(const struct listing *listing, uint32_t i);

/* A number in the notation. */
void listing_number(const struct listing *listing, double value, char text[80]);
/* Text with LaTeX's special characters escaped; unchanged in model text. */
void listing_label(const struct listing *listing, const char *text, FILE *out);

/* Whether memory ran out while printing, so that the output is incomplete. */
bool listing_failed(const struct listing *listing);

#endif
