/* Reads clock times and dates, in the orders of NM-TRAN's DATE, DAT1, DAT2 and DAT3.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "import/clock.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *order, *shown;
} dates[] = {{"DATE", "mdy", "month/day/year"},
             {"DAT1", "dmy", "day/month/year"},
             {"DAT2", "ymd", "year/month/day"},
             {"DAT3", "ydm", "year/day/month"}};

void import_clock_find(struct import_clock *clock, const struct csv_reader *reader)
{
    *clock = (struct import_clock){.time = csv_find_column(reader, "TIME"),
                                   .date = CSV_NO_COLUMN,
                                   .first = NAN};
    for (size_t i = 0; i < sizeof dates / sizeof *dates && clock->date == CSV_NO_COLUMN; i++) {
        clock->date = csv_find_column(reader, dates[i].name);
        clock->order = dates[i].order;
    }
}

/* Days since 1970-01-01 of the Gregorian calendar (H. Hinnant, "chrono-compatible low-level date
 * algorithms", 2013). */
static double day_number(int year, int month, int day)
{
    int shifted = year - (month <= 2), era = (shifted >= 0 ? shifted : shifted - 399) / 400,
        of_era = shifted - era * 400;
    int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int leap_days = of_era / 4 - of_era / 100;
    return era * 146097.0 + of_era * 365 + leap_days + of_year - 719468;
}

static int days_of(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && is_leap);
}

/* Three numbers with / or - or . between them, or one: the number of a day. */
static bool read_date(const char *text, const char *order, double *day)
{
    int part[3], end = -1;
    char first[2], second[2];
    if (sscanf(text, "%d%1[-/.]%d%1[-/.]%d%n", &part[0], first, &part[1], second, &part[2], &end) !=
            5 ||
        end < 0 || text[end])
        return csv_parse_double(text, day) && *day == floor(*day);
    if (*order != 'y' && strspn(text, "0123456789") == 4)
        order = "ymd"; /* as ISO 8601 has it */
    int year = part[strchr(order, 'y') - order], month = part[strchr(order, 'm') - order];
    int of_month = part[strchr(order, 'd') - order];
    year += year >= 0 && year < 50 ? 2000 : year >= 50 && year < 100 ? 1900 : 0;
    bool is_date = month >= 1 && month <= 12 && year > 0 && year < 10000 && of_month >= 1 &&
                   of_month <= days_of(year, month);
    if (is_date)
        *day = day_number(year, month, of_month);
    return is_date;
}

/* "14:30" or "14:30:15" in hours. */
static bool read_clock(const char *text, double *hours)
{
    int hour, minute, second = 0, end = -1;
    if (sscanf(text, "%d:%d%n", &hour, &minute, &end) != 2 || end < 0)
        return false;
    if (text[end] == ':') {
        const char *rest = text + end;
        end = -1;
        if (sscanf(rest, ":%d%n", &second, &end) != 1 || end < 0 || rest[end])
            return false;
    } else if (text[end]) {
        return false;
    }
    *hours = hour + minute / 60.0 + second / 3600.0;
    return hour >= 0 && minute >= 0 && minute < 60 && second >= 0 && second < 60;
}

enum status import_clock_time(struct import_clock *clock, const struct csv_reader *reader,
                              bool is_first, double *time, struct error *error)
{
    const char *text = csv_field(reader, clock->time);
    double day = 0;
    bool is_clock = strchr(text, ':') != NULL;
    if (is_clock && !read_clock(text, time))
        return csv_fault(reader, clock->time, error,
                         "'%.40s' is not a time of a day, such as 9:30 or 14:30:15", text);
    enum status status = is_clock ? STATUS_OK : csv_number(reader, clock->time, time, error);
    if (status)
        return status;
    if (clock->date != CSV_NO_COLUMN &&
        !read_date(csv_field(reader, clock->date), clock->order, &day)) {
        const char *shown = dates[0].shown;
        for (size_t i = 0; i < sizeof dates / sizeof *dates; i++)
            shown = dates[i].order == clock->order ? dates[i].shown : shown;
        return csv_fault(reader, clock->date, error,
                         "'%.40s' is not a date: %s, or the number of a day",
                         csv_field(reader, clock->date), shown);
    }
    bool is_relative = is_clock || clock->date != CSV_NO_COLUMN;
    if (!is_first && is_clock != clock->is_clock)
        return csv_fault(reader, clock->time, error,
                         "the individual's times are clock times in some records and numbers in "
                         "others");
    *time += 24 * day;
    if (is_first) {
        clock->is_clock = is_clock;
        clock->first = *time;
    }
    clock->n_relative += is_relative;
    *time -= is_relative ? clock->first : 0;
    return STATUS_OK;
}
