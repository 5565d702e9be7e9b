/* Times that are written as a clock shows them: in a NONMEM-style table those of a day, "14:30",
 * with a date in another column; in other tables those since the beginning, "26:30:00".
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "import/import.h"
#include "io/table/csv.h"

enum { DATE_SIZE = 20 };

struct import_clock {
    size_t time, date;  /* columns; date may be CSV_NO_COLUMN */
    const char *order;  /* of the date's parts, as "mdy" */
    bool is_clock;      /* of the individual that is read: its first time is a clock time */
    double first;       /* its first time, hours */
    /* as they were read, of this row and of the one before: "2050-12-31" or "day 7" */
    char this_date[DATE_SIZE], last_date[DATE_SIZE];
    /* rows so far whose times are hours since their individual's first record */
    uint64_t n_relative;
};

/* Finds the columns TIME and DATE, DAT1, DAT2 or DAT3. */
void import_clock_find(struct import_clock *clock, const struct csv_reader *reader);
/* The time of a row: what TIME says, or hours since the individual's first record if there is a
 * date, or TIME has a colon. NaN: it is missing. */
enum status import_clock_time(struct import_clock *clock, const struct csv_reader *reader,
                              bool is_first, double *time, struct error *error);

/* h:mm, h:mm:ss with any number of hours, d.hh:mm:ss, d:hh:mm:ss, "d days hh:mm:ss"; seconds may
 * have a fraction. False: it is none of these. */
bool import_clock_read(const char *text, double *hours);

/* The times of a table that is not in NONMEM's style; `unit` is the model's, or "". */
struct import_elapsed {
    const char *unit;
    bool has_clock, has_number;
};
/* A time in the model's unit, from a number in that unit or from a clock time, which are hours if
 * the model has no unit. NaN: it is missing. STATUS_BAD_PROBLEM also if a table has both. */
enum status import_clock_elapsed(struct import_elapsed *elapsed, const struct csv_reader *reader,
                                 size_t column, double *time, struct error *error);
/* After the table: a note if it has clock times. */
void import_clock_say(const struct import_elapsed *elapsed, const char *path,
                      const struct import_options *options);
