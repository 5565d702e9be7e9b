/* Model text for the commands: reads it, and reports what is wrong with it; and the parts of
 * `stiffit model show`.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/json.h"
#include "base/terminal.h"
#include "model/generate/generate.h"
#include "model/plugin.h"

struct model_text {
    char *text;
    size_t n_byte;
    char *origin;                /* its name in messages */
    struct equations *equations; /* after model_text_parse */
    struct text_messages messages;
};

enum model_file { MODEL_FILE_TEXT, MODEL_FILE_PLUGIN, MODEL_FILE_HDF5 };

/* Judges by the first bytes. STATUS_SYSTEM: cannot be read. "-" is text. */
enum status model_file_kind(const char *path, enum model_file *kind, struct error *error);

/* Reads the text of a file, of standard input ("-") or of a problem file that contains it.
 * Zero-initialise. */
enum status model_text_read(struct model_text *text, const char *path, struct error *error);
/* STATUS_BAD_MODEL: there are errors. The messages list them; `error` has only their number. */
enum status model_text_parse(struct model_text *text, struct error *error);
/* Both, and shows the errors and, with `warn`, the warnings. */
enum status model_text_open(struct model_text *text, const char *path, bool warn, enum when color,
                            struct error *error);
void model_text_fini(struct model_text *text);

/* Loads a command's model: a plugin, text, or a problem file that contains text. Shows a text's
 * errors with their lines and, unless `quiet`, what takes long; with `warn` also warnings. */
enum status model_text_load(struct model *model, const char *path, bool warn, bool quiet,
                            enum when color, struct error *error);

/* Prints errors and warnings with their lines on standard error: a build_show of
 * model/build/build.h; context: an enum when. */
void model_text_show(void *context, const struct text_messages *messages, const char *text,
                     size_t n_byte, const char *origin);
/* Writes errors and warnings as an array "messages" of the open object, for editors. */
void model_text_put_messages(const struct model_text *text, struct json *json);

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

/* The pattern of a square matrix: one letter per entry or, if it is large, per block of entries.
 * state: its rows. */
void model_show_pattern(const struct graph_matrix *matrix, const struct equation_state *state,
                        FILE *out);
