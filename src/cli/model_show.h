/* What `stiffit model show` prints, in parts.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_MODEL_SHOW_H
#define CLI_MODEL_SHOW_H

#include "cli/model_text.h"
#include "model/generate/generate.h"

/* A model with all that is computed from it. */
struct shown_model {
    struct model_text text;
    struct functions functions;
    struct function_cost cost[N_FUNCTION_COST];
    struct listing *listing;
};

enum { SHOW_EQUATIONS = 1, SHOW_SPARSITY = 2, SHOW_DERIVATIVES = 4, SHOW_COST = 8, SHOW_ALL = 15 };

/* More derivatives than these are printed only when they are asked for. */
enum { SHOW_MOST_DERIVATIVES = 100 };

size_t model_n_derivative(const struct functions *functions);
/* "rhs, initial" for STIFFIT_USE_RHS | STIFFIT_USE_INITIAL. */
const char *model_use_words(unsigned use, char words[64]);

/* parts: SHOW_* bits; is_chosen: they were asked for by name. */
void model_show_text(const struct shown_model *model, unsigned parts, bool is_chosen, FILE *out);
void model_show_latex(const struct shown_model *model, unsigned parts, bool is_chosen, FILE *out);
void model_show_json(const struct shown_model *model, FILE *out);

/* The pattern of a square matrix as letters: a letter an entry, or a block of entries where it is large. state: its rows. */
void model_show_pattern(const struct graph_matrix *matrix, const struct equation_state *state, FILE *out);

#endif
