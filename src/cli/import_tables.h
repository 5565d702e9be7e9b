/* The tables that `stiffit import` reads, in memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "base/experiment.h"
#include "base/measurements.h"
#include "cli/import.h"
#include "io/csv.h"
#include "use/id_table.h"

/* Counts numbers with which a dataset cannot be fitted, for a message. They are kept: the dataset's row in the result will say
 * so. */
struct import_faults {
    uint64_t n;
    struct error first;
};
void import_say_encoding(const struct csv_reader *reader, const char *path); /* for text that is not UTF-8 */
void import_faults_add(struct import_faults *faults, const struct csv_reader *reader, size_t column, const char *what);

/* Datasets and their experiments, in the order of their first rows; zero-initialise. Without experiments each dataset is one,
 * whose id is "". */
struct import_owners {
    struct id_table dataset, experiment; /* the second one's ids contain the dataset's */
    uint32_t *dataset_of;                /* of each experiment */
    size_t room;
    bool has_experiments;
};
/* The experiment's number, which is added if it is new; or ID_NO_MEMORY. */
uint32_t import_owner_add(struct import_owners *owners, const char *dataset, const char *experiment);
/* The experiment's number, or ID_NONE. */
uint32_t import_owner_find(const struct import_owners *owners, const char *dataset, const char *experiment);
const char *import_experiment_id(const struct import_owners *owners, uint32_t experiment);
/* The experiments of one dataset after another: those of dataset d are order[first[d]] to order[first[d + 1] - 1]. free
 * both. */
enum status import_owners_order(const struct import_owners *owners, uint32_t **order, uint32_t **first, struct error *error);
void import_owners_fini(struct import_owners *owners);
/* Columns of a table that name a row's owner; CSV_NO_COLUMN: there is none. */
struct import_owner_columns {
    size_t dataset, experiment;
};
enum status import_find_owner(const struct csv_reader *reader, const char *path, const struct import_owners *owners,
                              struct import_owner_columns *columns, struct error *error);
/* ID_NONE: the row's experiment has no measurements. */
uint32_t import_row_owner(const struct csv_reader *reader, const struct import_owners *owners,
                          const struct import_owner_columns *columns);

/* Measurements in the file's order; zero-initialise. */
struct import_rows {
    struct import_owners owners;
    struct measurements measured;
    void *block;       /* its arrays */
    uint32_t *owner;   /* of each row: an experiment */
    size_t n, capacity;
    struct import_faults faults;
};
/* needs_experiment: a column `experiment` is needed; otherwise it is used where it exists. */
enum status import_measurements(struct import_rows *rows, const char *path, const struct model *model, bool needs_experiment,
                                struct error *error);
/* One more row of missing values; import_rows_end then gives it its owner. */
enum status import_rows_begin(struct import_rows *rows, struct measurements *row, struct error *error);
void import_rows_end(struct import_rows *rows, uint32_t owner);
/* Sorts the rows by experiment, keeping their order within each. first: n experiments + 1 offsets; free(*first). */
enum status import_sort(struct import_rows *rows, size_t **first, struct error *error);
void import_rows_fini(struct import_rows *rows);

/* What belongs to experiments and datasets; zero-initialise. */
struct import_subjects {
    size_t n_covariate, n_parameter;
    bool has_t0, has_start, has_steady;
    double *t0;        /* n experiments */
    double *covariate; /* n experiments x n_covariate, the model's order */
    double *start;     /* n datasets x n_parameter, the model's order */
    uint32_t *steady;  /* n experiments: the one at whose steady state it begins, or ID_NONE; NULL: none does */
    uint64_t n_unused[2]; /* datasets, experiments of the tables without measurements */
    struct import_faults faults;
};
/* Adds experiments at whose steady states others begin, which need no measurements; before the rows are sorted. */
enum status import_steady_read(struct import_rows *rows, const char *path, struct error *error);
/* `start` (n_parameter) is used for starts that the table of datasets lacks. A covariate of the model that is in no table is a
 * fault. */
enum status import_subjects_read(struct import_subjects *subjects, const struct import_options *options,
                                 const struct import_owners *owners, const struct model *model, const double *start,
                                 struct error *error);
void import_subjects_fini(struct import_subjects *subjects);

/* Doses and knots of inputs with their experiments; zero-initialise. */
struct import_dose {
    uint32_t owner;
    struct dose dose;
};
struct import_knot {
    uint32_t owner, input;
    double time, value;
    uint64_t line;
};
struct import_call {
    uint32_t owner;
    struct event_call call;
    uint64_t line;
};
struct import_happenings {
    struct import_dose *dose;
    struct import_knot *knot;
    struct import_call *call;
    size_t n_dose, room_dose, n_knot, room_knot, n_call, room_call;
    uint64_t n_unused;      /* rows of experiments without measurements */
    /* once sorted: */
    struct dose *sorted;    /* by experiments */
    size_t *first_dose;     /* n experiments + 1 */
    struct input *input;    /* n experiments x n_input */
    double *time, *value;   /* of the knots */
    struct event_call *sorted_call; /* by experiments, in order of time */
    size_t *first_call;     /* n experiments + 1 */
};
/* t0: of each experiment. */
enum status import_doses(struct import_happenings *happenings, const char *path, const struct import_owners *owners,
                         const struct model *model, const double *t0, struct error *error);
enum status import_inputs(struct import_happenings *happenings, const char *path, const struct import_owners *owners,
                          const struct model *model, struct error *error);
enum status import_events(struct import_happenings *happenings, const char *path, const struct import_owners *owners,
                          const struct model *model, const double *t0, struct error *error);
enum status import_add_dose(struct import_happenings *happenings, uint32_t owner, struct dose dose, struct error *error);
enum status import_add_knot(struct import_happenings *happenings, struct import_knot knot, struct error *error);
enum status import_happenings_sort(struct import_happenings *happenings, const char *path, size_t n_experiment,
                                   size_t n_input, struct error *error);
void import_happenings_fini(struct import_happenings *happenings);

/* Parameters of the model that have others, or numbers, in parts of the data; zero-initialise. */
struct import_substitute {
    uint32_t owner;
    uint64_t line;
    struct substitute given; /* by: of the names below */
};
struct import_substitutes {
    struct import_substitute *row;
    size_t n, room;
    uint64_t n_unused;
    struct id_table by;     /* names that stand for parameters of the model */
    uint32_t *place;        /* of each: its index among the file's parameters */
    struct arena arena;
    struct model wide;      /* the model, but with the file's parameters */
    /* once sorted, by experiments: */
    struct substitute *sorted; /* by: index among the file's parameters */
    size_t *first;          /* n experiments + 1 */
    bool has_times, has_rows;
};
/* After import_sort, whose offsets `first` are. */
enum status import_substitutes_read(struct import_substitutes *into, const char *path, const struct import_rows *rows,
                                    const size_t *first, const struct model *model, struct error *error);
/* Makes `wide`, also without rows. A name that the model does not have begins as the parameter for which it first stands; a
 * parameter of the model for which others stand in all experiments is left out. */
enum status import_substitutes_widen(struct import_substitutes *into, const struct model *model, size_t n_experiment,
                                     struct error *error);
enum status import_substitutes_sort(struct import_substitutes *into, const char *path, const double *t0, size_t n_experiment,
                                    struct error *error);
void import_substitutes_fini(struct import_substitutes *into);

/* A NONMEM-style table fills all of it; rows are not sorted yet. */
enum status import_nonmem(struct import_rows *rows, struct import_subjects *subjects, struct import_happenings *happenings,
                          const struct import_options *options, const struct model *model, struct error *error);
