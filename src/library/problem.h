/* What is behind the handles of libstiffit, and what its files call of each other.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/objective/dataset.h"
#include "io/problem/prior.h"
#include "ode/alone.h"
#include "run/plan/run_options.h"

#include <stiffit/stiffit.h>

struct stiffit_system {
    struct model model;
};

/* One dataset in memory; its parameters are the model's. */
struct library_data {
    struct stiffit_parameter *parameter; /* n_parameter of the model */
    struct experiment experiment;        /* of the following; n 0 of an input: not given */
    double *covariate;                   /* n_covariate of the model; NaN: not given */
    struct input *input;                 /* n_input of the model */
    size_t n_row, n_room;
    struct measurements measured;        /* the columns of LIBRARY_COLUMNS, in `rows` */
    void *rows;
    size_t n_dose_room;
    struct dose *dose;                   /* in the order of the calls */
};
#define LIBRARY_COLUMNS \
    (MEASUREMENT_BIT(time) | MEASUREMENT_BIT(value) | MEASUREMENT_BIT(sigma) | \
     MEASUREMENT_BIT(observable) | MEASUREMENT_BIT(censored) | MEASUREMENT_BIT(side))

struct library_file; /* file.c */

/* What follows from data and options; made when it is needed (library_prepare). */
struct library_ready {
    struct fit_setting setting;          /* its arrays are the arena's, or the file's */
    const struct problem_prior *prior;   /* in memory: n_parameter, or NULL */
    struct fit_loss *loss;               /* in memory */
    enum parameter_scale *scale;         /* in memory */
    struct fit_options fit;
    struct ode_alone alone;
    struct arena arena;
};

struct stiffit_problem {
    const struct stiffit_system *system; /* NULL: the model of the file */
    struct run_options options;          /* given: those set by the caller */
    struct arena words;                  /* of the options */
    struct library_data data;
    struct library_file *file;           /* NULL: in memory, or it must be opened */
    size_t n_dataset, n_parameter;       /* of a file */
    struct library_ready ready;          /* without an engine: it must be made */
    bool is_changed;                     /* since it was made */
    struct arena arena;                  /* of one evaluation or fit */
};

/* data.c: the dataset as a block, whose arrays are the arena's. STATUS_BAD_PROBLEM: it cannot be
 * used. With `is_fit` false its measurements and starts do not matter. */
enum status library_data_block(const struct stiffit_problem *problem, bool is_fit,
                               struct problem_block *block, struct arena *arena,
                               struct error *error);
enum status library_data_init(struct stiffit_problem *problem, struct error *error);
void library_data_fini(struct stiffit_problem *problem);

/* file.c: the campaign of the file, open with the options; *setting and *fit point into it. */
enum status library_file_open(struct library_file **file, struct run_options *options,
                              struct error *error);
void library_file_close(struct library_file *file);
size_t library_file_n_dataset(const struct library_file *file);
void library_file_prepare(const struct library_file *file, struct fit_setting *setting,
                          struct fit_options *fit, struct ode_options *ode);
/* The block that has a dataset, and its row there; STATUS_USAGE: there is no such dataset. */
enum status library_file_block(struct library_file *file, size_t dataset,
                               const struct problem_block **block, size_t *row,
                               struct error *error);

/* ready.c: makes problem->ready. */
enum status library_prepare(struct stiffit_problem *problem, struct error *error);
void library_unprepare(struct stiffit_problem *problem);
/* The problem of one dataset for its start `number`, in problem->arena, after library_prepare. A
 * dataset of a file with a fault: *fault says which. */
enum status library_dataset(struct stiffit_problem *problem, size_t dataset, uint32_t number,
                            bool is_fit, struct fit_problem *out, const char **fault,
                            struct error *error);

/* Whether an argument that the function needs is NULL; then `error` is STATUS_USAGE. */
bool library_is_null(const void *argument, const char *function, const char *name,
                     struct error *error);
/* Gives the caller a status: copies `from` to `error` unless it is NULL. */
int library_give(enum status status, const struct error *from, struct stiffit_error *error);
