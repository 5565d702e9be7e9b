/* What the tables of `stiffit import` say beside measurements and constants: doses, inputs, events,
 * substitutes.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "import/tables.h"

/* A row of a table of doses, inputs, events or substitutes. */
struct import_record {
    uint32_t owner;
    uint64_t line;
    union {
        struct dose dose;
        struct knot knot;
        struct event_call call;
        struct substitute substitute; /* by: of `by` until it is sorted */
    } is;
};
/* What happens, with its experiments; zero-initialise. */
struct import_happenings {
    struct import_records {
        struct import_record *row;
        size_t n, room;
        /* once sorted: */
        void *sorted;       /* the structs, by experiments; events in order of time */
        size_t *first;      /* n experiments + 1 */
    } of[N_RECORD];
    struct id_table by;     /* names that stand for parameters of the model */
    uint64_t n_unused;      /* rows of experiments without measurements */
    struct input *input;    /* once sorted: n experiments x n_input */
    double *time, *value;   /* of the knots */
};
/* Reads the table of a kind, if there is one, after the rows are sorted. t0: of each experiment, or
 * NULL for substitutes, which are read first. */
enum status import_happenings_read(struct import_happenings *happenings, enum record_kind kind,
                                   const struct import_options *options, struct import_rows *rows,
                                   const struct model *model, const double *t0,
                                   struct error *error);
/* Adds a row; its struct is to be set. NULL: no memory. */
struct import_record *import_record_add(struct import_happenings *happenings, enum record_kind kind,
                                        uint32_t owner, struct error *error);
/* place: of each name of `by`, its index among the file's parameters. */
enum status import_happenings_sort(struct import_happenings *happenings,
                                   const struct import_options *options, const uint32_t *place,
                                   const double *t0, size_t n_experiment, size_t n_input,
                                   struct error *error);
/* The n rows of an experiment. */
const void *import_happenings_of(const struct import_happenings *happenings, enum record_kind kind,
                                 size_t experiment, size_t *n);
void import_happenings_fini(struct import_happenings *happenings);

/* The model, but with the parameters of the new file; zero-initialise. */
struct import_widened {
    struct model model;
    uint32_t *place; /* of each name that stands for others: its index among the file's */
    struct arena arena;
};
/* Widens the model by the names of substitutes, if there are any. A name that the model does not
 * have begins as the parameter for which it first stands; a parameter of the model for which others
 * stand in all experiments is left out. */
enum status import_widen(struct import_widened *into, const struct import_happenings *happenings,
                         const struct model *model, size_t n_experiment, struct error *error);
