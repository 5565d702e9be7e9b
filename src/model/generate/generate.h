/* The back ends: what is printed from the equations of a model and their derivatives, as C or
 * for people.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "model/graph/functions.h"

#include <stdio.h>

/* Part of every key of the compile cache: increase it with each change of the generated code. */
#define GENERATOR_VERSION 17

/* The C source of a plugin (include/stiffit/model.h): complete and readable; its bytes depend
 * only on the arguments. Check ferror(file) for write errors. STATUS_NO_MEMORY otherwise. */
enum status generate_c(const struct equations *equations, const struct functions *functions,
                       FILE *out, struct error *error);

/* Statements of C, and of OpenCL, that factor h I - J as the plan says; h is a local variable.
 * They read `derived` by get, and write `factor` by put (emit_lanes.c, ode/gpu/prelude.cl). */
struct lanes_plan;
void generate_factorization(const struct lanes_plan *plan, FILE *out);

/* Operations of one function of the generated plugin, after sharing. */
struct function_cost {
    /* n_call: exp, pow, ...; n_other: comparisons, choices */
    size_t n_add, n_multiply, n_divide, n_call, n_other;
    /* named temporaries; the most alive at once */
    size_t n_temporary, n_alive;
    size_t n_result;                                     /* computed numbers: non-zero entries */
};
/* The last one is the cost of `prepare`, which computes once per evaluation what depends only on
 * parameters and covariates. */
enum { COST_prepare = N_MODEL_FUNCTION, N_FUNCTION_COST };
enum status generate_cost(const struct equations *equations, const struct functions *functions,
                          struct function_cost cost[N_FUNCTION_COST], struct error *error);

/* Expressions and equations of a model for people: as model text or as LaTeX. Unlike generate_c
 * the listing has formulas that can be read one by one, with the names of the model. An
 * expression is printed with as few parentheses as it needs: model text that comes out gives the
 * same node when it is read again (but for POWER_LOG, which the language has not, and numbers
 * that are not finite). Where a node is an intermediate, its name stands for it. Temporaries
 * (w1, w2, ...; another letter where the model has such names) stand for what would make
 * formulas explode: large expressions that are used several times, and huge or deeply nested
 * ones. */
struct listing;

enum notation { NOTATION_TEXT, NOTATION_LATEX };

/* `functions` may be NULL: no derivatives then. Both must outlive the listing. NULL when memory
 * is out. */
struct listing *listing_new(const struct equations *equations, const struct functions *functions,
                            enum notation notation);
void listing_free(struct listing *listing); /* NULL is legal */

/* Before what belongs to an equation: names of temporaries that only derivatives need do not
 * appear in it. */
void listing_begin_equations(struct listing *listing);
void listing_begin_derivatives(struct listing *listing); /* so it begins */

/* One expression; by its name if it has one. */
void listing_expression(struct listing *listing, node which, FILE *out);
/* The expression that a name stands for. */
void listing_definition(struct listing *listing, node which, FILE *out);

/* Statements, a line each: as model text they can be read again (parameters and covariates are
 * not among them). With LaTeX they are rows of an align environment, which is there too. */
void listing_intermediates(struct listing *listing, FILE *out);
void listing_initial(struct listing *listing, FILE *out);
void listing_rhs(struct listing *listing, FILE *out);
void listing_observables(struct listing *listing, FILE *out);
/* Lag times, bioavailabilities and events. */
void listing_events(struct listing *listing, FILE *out);
/* Entries of one derivative, column by column. Temporaries of all derivatives come with
 * listing_temporaries. */
void listing_derivative(struct listing *listing, enum model_function function, FILE *out);
void listing_temporaries(struct listing *listing, FILE *out);

/* All temporaries, those of the equations first: their nodes, which listing_expression names. */
size_t listing_n_temporary(const struct listing *listing);
node listing_temporary(const struct listing *listing, size_t i);

/* The i-th name as it is printed: LaTeX names have their subscripts and Greek letters. */
const char *listing_parameter(const struct listing *listing, uint32_t i);
const char *listing_covariate(const struct listing *listing, uint32_t i);
const char *listing_input(const struct listing *listing, uint32_t i);

/* A number in the notation. */
void listing_number(const struct listing *listing, double value, char text[80]);
/* Text with what LaTeX would take for commands escaped; model text as it is. */
void listing_label(const struct listing *listing, const char *text, FILE *out);

/* Whether memory ran out while printing: what was printed is incomplete then. */
bool listing_failed(const struct listing *listing);
