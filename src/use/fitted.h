/* A result with its problem and model: all that is needed to predict at best fits.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/problem/problem.h"
#include "io/result/result.h"
#include "model/build/compile.h"
#include "run/plan/recipe.h"
#include "use/predictor.h"

struct occasions;
struct result_population;

struct fitted_options {
    const char *result;
    const char *problem; /* NULL: the result's own, or the one that it names */
    const char *model;   /* NULL: that of the problem or the result, if trusted */
    const char *output;  /* the output file: refused if it is one of the inputs. NULL: none */
    bool trust;
    struct build_listener listener;
};

/* The options of a command's table that find the model and the data; `files` is the offset of a
 * struct fitted_options. */
#define FITTED_OPTION_ROWS(files) \
    {.name = "problem", .kind = OPTION_STRING, .metavar = "FILE", .is_file = true, \
     .offset = (files) + offsetof(struct fitted_options, problem), .default_text = \
         "the problem that the result names", \
     .help = "the problem that the result was made from"}, \
    {.name = "model", .letter = 'm', .kind = OPTION_STRING, .metavar = "MODEL", .is_file = true, \
     .offset = (files) + offsetof(struct fitted_options, model), .default_text = \
         "the model that was fitted", \
     .help = "the model, text (.ode) or a plugin (.so), whose code is run"}, \
    {.name = "trust", .kind = OPTION_FLAG, .offset = (files) + offsetof(struct fitted_options, \
        trust), \
     .help = "run the native code that the result or its problem names or embeds"}

struct fitted {
    struct result *result;       /* NULL: the problem's starts take the place of best fits */
    struct fit_record given;     /* without a result: the dataset's */
    struct recipe recipe;        /* of the run that made the result; without one the default */
    struct problem *problem;
    struct model model;
    struct predictor predictor;
    enum engine_kind engine;     /* of the fits, and now */
    struct residual_kind errors; /* those of the fit */
    struct problem_block data;
    struct result_block fits;
    uint64_t i_data, i_fit; /* next rows within the blocks */
    struct arena arena;     /* of fitted_rows */
    struct predictor_rows before;
    size_t n_room;              /* of fitted_predict */
    double *prediction, *noise;
    struct arena of_population, of_occasions;
    const struct result_population *population; /* NULL: no parameter is random */
    size_t *occasion;           /* q: the file's parameters that vary between experiments; and */
    struct occasions *occasions; /* what these add (use/occasions.h), NULL until it is needed */
};

/* One dataset with its fit; valid until the next call. */
struct fitted_dataset {
    const char *id, *fault;         /* fault: why the data is bad, or NULL */
    const struct fit_record *record; /* parameters in the file's order */
    const struct problem_block *block;
    size_t row;                     /* of the dataset within the block */
    size_t first, end;              /* its experiments within the block */
    const double *p;                /* the file's order; NULL: the dataset has no best fit */
    /* The parameters of each experiment, (end - first) x n_parameter. NULL: those of the record,
     * to which experiments add their most probable effects (use/occasions.h). */
    const double *by_experiment;
};

/* STATUS_USAGE if `output` is the problem or the model that the result names. No command may
 * replace these, even one that does not read them; and they need not be readable: they may be
 * damaged, or not trusted. */
enum status fitted_spare(const struct result_info *info, const char *output, struct error *error);
/* Checks that the problem contains the data that were fitted. Informs the listener if the model
 * is not the one that was fitted. fitted_close is legal after a failure and on a zeroed struct. */
enum status fitted_open(struct fitted *fitted, const struct fitted_options *options,
                        struct error *error);
/* A problem alone, with this model, which is taken over: its starts are the parameters. */
enum status fitted_open_given(struct fitted *fitted, const char *problem, struct model *model,
                              const struct ode_options *ode, struct error *error);
void fitted_close(struct fitted *fitted);
/* The next dataset in the file's order; *more is false at the end. */
enum status fitted_next(struct fitted *fitted, struct fitted_dataset *dataset, bool *more,
                        struct error *error);
/* The measurements of experiment e of the block, as they are predicted in the fit. Valid until
 * the next call. */
struct predictor_rows fitted_rows(struct fitted *fitted, const struct fitted_dataset *dataset,
                                  size_t e);

/* fitted_rows without effects of experiments, unless by_experiment has them. */
struct predictor_rows fitted_rows_at(struct fitted *fitted, const struct fitted_dataset *dataset,
                                     size_t e);

/* Predictions and the model's noise (NaN: it has none) at all measurements of the dataset, in
 * their order, into the arrays of `fitted`; valid until the next call. *predicted is false if
 * they cannot be computed; they are NaN then. */
enum status fitted_predict(struct fitted *fitted, const struct fitted_dataset *dataset,
                           bool *predicted, struct error *error);
/* How the residuals of the dataset counted in its fit. */
struct residual_kind fitted_errors(const struct fitted *fitted,
                                   const struct fitted_dataset *dataset);
