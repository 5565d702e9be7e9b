/* Times of a NONMEM-style table that are written as a clock shows them, "14:30", with a date in
 * another column.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/csv.h"

struct import_clock {
    size_t time, date;  /* columns; date may be CSV_NO_COLUMN */
    const char *order;  /* of the date's parts, as "mdy" */
    bool is_clock;      /* of the individual that is read: its first time is a clock time */
    double first;       /* its first time, hours */
    /* rows so far whose times are hours since their individual's first record */
    uint64_t n_relative;
};

/* Finds the columns TIME and DATE, DAT1, DAT2 or DAT3. */
void import_clock_find(struct import_clock *clock, const struct csv_reader *reader);
/* The time of a row: what TIME says, or hours since the individual's first record if there is a
 * date, or TIME has a colon. NaN: it is missing. */
enum status import_clock_time(struct import_clock *clock, const struct csv_reader *reader,
                              bool is_first, double *time, struct error *error);
