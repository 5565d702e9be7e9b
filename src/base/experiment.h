/* What happens in an experiment beside its measurements: doses, inputs that vary in time, events,
 * and new parameters. The columns of each are listed once: CSV tables, problem files, their
 * identity, blocks of datasets, fits and evaluations use these structs. A new column needs a line
 * in its list, and code where it has an effect.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/column.h"

/* Field, name in tables and files, type (below), presence, what a missing value means, least and
 * most of whole numbers, set in the identity (base/column.h: give a new column a new set), meaning;
 * of an INDEX what it is one of. */

/* An amount that enters a state at once or, if there is a duration or a rate, at a constant rate;
 * `count` times, `interval` apart. Of the amount the model's bioavailability arrives: with a
 * duration at a smaller rate, with a rate for a shorter time. At most one of duration and rate is
 * not 0; DOSE_OF_MODEL: what the model gives for the state. The interval is above 0 if count > 1 or
 * if the dose is steady. The target is the file's index, in memory the model's. Of doses that
 * are due at one time those of a smaller side come first. */
#define DOSE_LIST(X) \
    X(time, "time", NUMBER, NEEDED, NAN, 0, 0, 0, "its time") \
    X(amount, "amount", NUMBER, NEEDED, NAN, 0, 0, 0, "how much enters the state") \
    X(duration, "duration", NUMBER, ALWAYS, 0, 0, 0, 0, "how long it takes, instead of a rate") \
    X(interval, "interval", NUMBER, ALWAYS, 0, 0, 0, 0, "time between repeated ones") \
    X(count, "count", WHOLE, ALWAYS, 1, 0, UINT32_MAX, 0, "how many doses there are") \
    X(target, "target", INDEX, ALWAYS, 0, 0, 0, 0, "state") \
    X(rate, "rate", NUMBER, SOMETIMES, 0, 0, 0, 1, "amount per time") \
    X(steady, "steady", FLAG, SOMETIMES, 0, DOSE_SINGLE, DOSE_ADDS, 1, \
      "1: at steady state, 2: added to what is there, 0: neither") \
    X(side, "side", FLAG, SOMETIMES, 0, 0, 126, 2, \
      "0 to 126: measurements at its time follow it if their side is greater")
#define DOSE_OF_MODEL (-1.0)

/* A value of an input at a time, between which inputs vary. */
#define KNOT_LIST(X) \
    X(time, "time", NUMBER, NEEDED, NAN, 0, 0, 0, "its time") \
    X(value, "value", NUMBER, NEEDED, NAN, 0, 0, 0, "the input from then on") \
    X(input, "input", INDEX, ALWAYS, 0, 0, 0, 0, "input")

/* An event that happens because the data say so. */
#define CALL_LIST(X) \
    X(time, "time", NUMBER, NEEDED, NAN, 0, 0, 0, "its time") \
    X(event, "event", INDEX, ALWAYS, 0, 0, 0, 0, "event")

/* A model parameter that does not have the fit parameter of its name in this experiment, or in a
 * part of it. by: an index of the file's parameters, or EXPERIMENT_NUMBER: the value. time: from
 * then on; -INFINITY: from the beginning. row: the measurement for which alone it holds, counted
 * within the experiment, or EXPERIMENT_NONE: all. */
#define SUBSTITUTE_LIST(X) \
    X(parameter, "parameter", INDEX, ALWAYS, 0, 0, 0, 0, "parameter") \
    X(by, "by", INDEX, ALWAYS, -1, -1, 0, 0, "parameter") \
    X(value, "value", NUMBER, ALWAYS, NAN, 0, 0, 1, "the number if `by` is -1") \
    X(time, "time", NUMBER, SOMETIMES, -INFINITY, 0, 0, 2, "from when on it holds") \
    X(row, "measurement", ROW, SOMETIMES, -1, -1, INT64_C(1) << 53, 2, \
      "the row of /measurements for which alone it holds, or -1")
#define EXPERIMENT_NUMBER UINT32_MAX
/* No experiment, where the index of one at whose steady state another begins may stand; or no
 * row. */
#define EXPERIMENT_NONE UINT32_MAX

typedef double record_NUMBER;
typedef uint32_t record_WHOLE, record_INDEX, record_ROW;
typedef uint8_t record_FLAG;
#define EXPERIMENT_FIELD(field, name, type, presence, none, least, most, set, meaning)             \
    record_##type field;
struct dose { DOSE_LIST(EXPERIMENT_FIELD) };
struct knot { KNOT_LIST(EXPERIMENT_FIELD) };
struct event_call { CALL_LIST(EXPERIMENT_FIELD) };
struct substitute { SUBSTITUTE_LIST(EXPERIMENT_FIELD) };

#define DOSE_NUMBER(field, name, type, presence, none, least, most, set, meaning) DOSE_##field,
enum { DOSE_LIST(DOSE_NUMBER) N_DOSE_COLUMN };
#define KNOT_NUMBER(field, name, type, presence, none, least, most, set, meaning) KNOT_##field,
enum { KNOT_LIST(KNOT_NUMBER) N_KNOT_COLUMN };
#define CALL_NUMBER(field, name, type, presence, none, least, most, set, meaning) CALL_##field,
enum { CALL_LIST(CALL_NUMBER) N_CALL_COLUMN };
#define SUBSTITUTE_NUMBER(field, name, type, presence, none, least, most, set, meaning) \
    SUBSTITUTE_##field,
enum { SUBSTITUTE_LIST(SUBSTITUTE_NUMBER) N_SUBSTITUTE_COLUMN };

enum record_kind { RECORD_DOSE, RECORD_KNOT, RECORD_CALL, RECORD_SUBSTITUTE, N_RECORD };
extern const struct record_info record_info[N_RECORD];
/* All its values missing. */
extern const struct dose dose_none;
extern const struct substitute substitute_none;

/* A steady dose has been given for ever before its time, at the same interval, and the states
 * are then those of the periodic trajectory: whatever was before is dropped, or they are added
 * to it. CONTINUES: they are the states at the beginning already; only evaluations of one period
 * have it. */
enum dose_steady { DOSE_SINGLE, DOSE_RESETS, DOSE_ADDS, DOSE_CONTINUES };

/* Whether the interval of a repeated or steady dose, if it has one above 0, changes its first and
 * its last time: else repetitions fall onto one time. */
bool dose_is_apart(const struct dose *dose);

/* The knots of one input, in increasing order of time; n >= 1. */
struct input {
    size_t n;
    const double *time, *value;
};

/* An experiment but for its measurements, in the model's terms: from tables and files through
 * blocks of datasets and fits to the evaluation. */
struct experiment {
    const char *id;             /* "" or NULL where a dataset is one experiment */
    /* the one at whose steady state it begins, counted within the dataset; or EXPERIMENT_NONE */
    uint32_t steady;
    double t0;
    const double *covariate;    /* n_covariate of the model */
    size_t n_dose, n_call, n_substitute;
    const struct dose *dose;    /* in order of their (first) times, none before t0 */
    const struct event_call *call; /* in order of time, none before t0 */
    const struct substitute *substitute;
    const struct input *input;  /* n_input of the model */
};
/* What it has by itself: the columns of /experiments, and of BOTH also those of /datasets where a
 * dataset is one experiment. Field, name, type, where, meaning. They are written in this order. */
#define CONSTANT_LIST(X) \
    X(id, "id", TEXT, BOTH, "its name") \
    X(steady, "steady", INDEX, ONE, \
      "the experiment of its dataset at whose steady state it begins, or -1") \
    X(t0, "t0", NUMBER, BOTH, "initial time, one for all or one each") \
    X(covariate, "covariates", NUMBERS, BOTH, "a number for each of covariate_names")
#define CONSTANT_NUMBER(field, name, type, where, meaning) CONSTANT_##field,
enum { CONSTANT_LIST(CONSTANT_NUMBER) N_CONSTANT };
/* by_dataset: datasets have it, too. width: 0 for a number of each covariate. */
extern const struct column_info constant_columns[N_CONSTANT];

struct arena;
/* A copy of all that it has. False: out of memory. */
bool experiment_copy(struct experiment *to, const struct experiment *from, size_t n_covariate,
                     size_t n_input, struct arena *arena);

/* The PEtab problem that a problem file was made from, with what import was told; or the problems
 * of its n datasets. */
struct petab_source {
    const char *yaml, *model, *dataset_column; /* or NULL */
    const char *sha256;                        /* of its tables and model; or NULL */
    size_t n;
    const char *const *of;                     /* n, or NULL */
};
