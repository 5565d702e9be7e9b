/* What the tables of `stiffit import` say beside measurements and constants: doses, inputs, events,
 * substitutes.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "import/tables.h"

/* A row of a table of doses, inputs or events. */
struct import_record {
    uint32_t owner;
    uint64_t line;
    union {
        struct dose dose;
        struct knot knot;
        struct event_call call;
    } is;
};
/* Doses, knots of inputs and events with their experiments; zero-initialise. */
struct import_happenings {
    struct import_records {
        struct import_record *row;
        size_t n, room;
        /* once sorted: */
        void *sorted;       /* the structs, by experiments; events in order of time */
        size_t *first;      /* n experiments + 1 */
    } of[N_RECORD];         /* none of substitutes */
    uint64_t n_unused;      /* rows of experiments without measurements */
    struct input *input;    /* once sorted: n experiments x n_input */
    double *time, *value;   /* of the knots */
};
/* Reads the table of a kind, if there is one. t0: of each experiment. */
enum status import_happenings_read(struct import_happenings *happenings, enum record_kind kind,
                                   const struct import_options *options,
                                   const struct import_owners *owners, const struct model *model,
                                   const double *t0, struct error *error);
/* Adds a row; its struct is to be set. NULL: no memory. */
struct import_record *import_record_add(struct import_happenings *happenings, enum record_kind kind,
                                        uint32_t owner, struct error *error);
enum status import_happenings_sort(struct import_happenings *happenings, const char *path,
                                   size_t n_experiment, size_t n_input, struct error *error);
/* The n rows of an experiment. */
const void *import_happenings_of(const struct import_happenings *happenings, enum record_kind kind,
                                 size_t experiment, size_t *n);
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
enum status import_substitutes_read(struct import_substitutes *into,
                                    const struct import_options *options,
                                    const struct import_rows *rows, const size_t *first,
                                    const struct model *model, struct error *error);
/* Makes `wide`, also without rows. A name that the model does not have begins as the parameter for
 * which it first stands; a parameter of the model for which others stand in all experiments is left
 * out. */
enum status import_substitutes_widen(struct import_substitutes *into, const struct model *model,
                                     size_t n_experiment, struct error *error);
enum status import_substitutes_sort(struct import_substitutes *into, const char *path,
                                    const double *t0, size_t n_experiment, struct error *error);
void import_substitutes_fini(struct import_substitutes *into);

/* A NONMEM-style table fills all of it; rows are not sorted yet. */
enum status import_nonmem(struct import_rows *rows, struct import_subjects *subjects,
                          struct import_happenings *happenings,
                          const struct import_options *options, const struct model *model,
                          struct error *error);
