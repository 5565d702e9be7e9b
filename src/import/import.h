/* A problem file from tables and a model: its options, and the parameters of the new file.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "base/experiment.h"
#include "base/option.h"
#include "base/output.h"
#include "base/parameters.h"
#include "base/terminal.h"
#include "model/plugin.h"

/* Formats of one table that has all of it: measurements, doses, inputs and covariates. A format is
 * a file of this folder with its struct import_format (format.h), and a row here: a word, which is
 * also its flag, and the flag's help. */
#define IMPORT_FORMATS(FORMAT) \
    FORMAT(nonmem, "the table is in NONMEM's style: rows of doses and measurements by ID and TIME")
#define IMPORT_FORMAT_ENUM(word, help) IMPORT_FORMAT_##word,
enum { IMPORT_FORMATS(IMPORT_FORMAT_ENUM) N_IMPORT_FORMAT };

/* PEtab problems, of which the first one is the options' `measurements`. */
struct petab_words {
    const char *const *yaml;
    size_t n;
    /* The import is a run's first step: only notes are said, and without `overwrite` an existing
     * file is replaced only if a run has made it and nobody has changed it. */
    bool is_for_run;
    struct outputs outputs; /* what the run writes later; no file that is read may be among it */
};

struct import_options {
    /* measurements NULL: none; the problem is to be simulated until last_time, and its parameters
     * are fixed */
    double last_time;
    const char *measurements, *datasets, *experiments, *doses, *inputs, *events, *substitutes,
        *parameters, *model, *output;
    const char *dataset_column, *id;
    struct petab_words petab;
    bool embed, overwrite, quiet, locf, units_row, outside, datasets_in_columns;
    /* 1 + column.n flags, set if a table has the columns `id`, or that of an item of `column`; or
     * NULL */
    bool *found;
    const char *where; /* condition for rows of measurements; NULL: all are read */
    /* hears a note, or what was written */
    void (*say)(const char *format, ...) __attribute__((format(printf, 1, 2)));
    struct option_list fix, start, lower, upper, scale, error, cmt, observables, ignore, missing,
        estimate, column;
    enum when color;
    bool is_format[N_IMPORT_FORMAT];
    const struct import_format *const *formats; /* all, set by import_tables */
};

/* Reads the tables and writes the problem file `path`; what a run would complain about is a
 * fault, and no file is left then. */
enum status import_tables(const struct import_options *options, const struct model *model,
                          const char *path, struct error *error);

/* Whether the model gives the rate or the duration that the dose leaves to it. */
bool import_has_infusion(const struct model *model, const struct dose *dose);

/* The parameters of the new file, in the model's order. Words but those of levels are constants. */
struct import_parameters {
    /* all columns; level NULL: the table has none */
    struct parameters is;
    void *block;         /* its arrays */
    struct arena levels; /* their words */
    /* the table has priors; the arrays then include the model's for parameters without one */
    bool has_prior;
};
/* The parameters of `model` (the model itself, or widened by those that substitute others),
 * changed by the table --parameters and then by the other options. Zero-initialise. */
enum status import_parameters_choose(struct import_parameters *parameters,
                                     const struct import_options *options,
                                     const struct model *model, const struct model *itself,
                                     struct error *error);
/* per_dataset: starts may come from the table of datasets, so a missing one is not a fault yet. */
enum status import_parameters_check(const struct import_parameters *parameters,
                                    const struct stiffit_model *abi, bool per_dataset,
                                    struct error *error);
void import_parameters_fini(struct import_parameters *parameters);
