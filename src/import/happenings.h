/* What the tables of `stiffit import` say beside measurements and constants: doses, inputs, events, substitutes.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "import/tables.h"

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
enum status import_doses(struct import_happenings *happenings, const struct import_options *options,
                         const struct import_owners *owners, const struct model *model, const double *t0, struct error *error);
enum status import_inputs(struct import_happenings *happenings, const struct import_options *options,
                          const struct import_owners *owners, const struct model *model, struct error *error);
enum status import_events(struct import_happenings *happenings, const struct import_options *options,
                          const struct import_owners *owners, const struct model *model, const double *t0, struct error *error);
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
enum status import_substitutes_read(struct import_substitutes *into, const struct import_options *options,
                                    const struct import_rows *rows, const size_t *first,
                                    const struct model *model, struct error *error);
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
