/* The parts of `stiffit model show`.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_MODEL_SHOW_H
#define CLI_MODEL_SHOW_H

#include "cli/model_text.h"
#include "model/generate/generate.h"

/* A model with everything that is computed from it. */
struct shown_model {
    struct model_text text;
    struct functions functions;
    struct function_cost cost[N_FUNCTION_COST];
    struct listing *listing;
};

enum { SHOW_EQUATIONS = 1, SHOW_SPARSITY = 2, SHOW_DERIVATIVES = 4, SHOW_COST = 8, SHOW_ALL = 15 };

/* More derivatives than this are printed only on request. */
enum { SHOW_MOST_DERIVATIVES = 100 };

size_t model_n_derivative(const struct functions *functions);
/* "rhs, initial" for STIFFIT_USE_RHS | STIFFIT_USE_INITIAL. */
const char *model_use_words(unsigned use, char words[64]);

/* parts: SHOW_* bits; is_chosen: the user named them. */
void model_show_text(const struct shown_model *model, unsigned parts, bool is_chosen, FILE *out);
void model_show_latex(const struct shown_model *model, unsigned parts, bool is_chosen, FILE *out);
void model_show_json(const struct shown_model *model, FILE *out);

/* The pattern of a square matrix: one letter per entry or, if it is large, per block of entries. state: its rows. */
void model_show_pattern(const struct graph_matrix *matrix, const struct equation_state *state, FILE *out);

#endif
