/* Reads clock times and dates, in the orders of NM-TRAN's DATE, DAT1, DAT2 and DAT3.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "import/clock.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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
static bool read_date(const char *text, const char *order, double *day, char shown[DATE_SIZE])
{
    int part[3], end = -1;
    char first[2], second[2];
    if (sscanf(text, "%d%1[-/.]%d%1[-/.]%d%n", &part[0], first, &part[1], second, &part[2], &end) !=
            5 ||
        end < 0 || text[end]) {
        snprintf(shown, DATE_SIZE, "day %.10s", text);
        return csv_parse_double(text, day) && *day == floor(*day);
    }
    if (*order != 'y' && strspn(text, "0123456789") == 4)
        order = "ymd"; /* as ISO 8601 has it */
    int year = part[strchr(order, 'y') - order], month = part[strchr(order, 'm') - order];
    int of_month = part[strchr(order, 'd') - order];
    year += year >= 0 && year <= 50 ? 2000 : year > 50 && year < 100 ? 1900 : 0;
    bool is_date = month >= 1 && month <= 12 && year > 0 && year < 10000 && of_month >= 1 &&
                   of_month <= days_of(year, month);
    if (is_date) {
        *day = day_number(year, month, of_month);
        snprintf(shown, DATE_SIZE, "%04d-%02d-%02d", year, month, of_month);
    }
    return is_date;
}

/* Reads digits and, if it may be a fraction, those behind a point or comma; moves *text behind
 * them. */
static bool read_part(const char **text, bool may_be_fraction, double *number)
{
    char copy[40];
    size_t whole = strspn(*text, "0123456789"), n = whole;
    if (may_be_fraction && ((*text)[n] == '.' || (*text)[n] == ','))
        n += 1 + strspn(*text + n + 1, "0123456789");
    if (whole == 0 || n >= sizeof copy)
        return false;
    snprintf(copy, n + 1, "%s", *text);
    if (n > whole)
        copy[whole] = '.';
    *text += n;
    return csv_parse_double(copy, number);
}

/* Days, which hh:mm:ss follow: "1.", "1:", "1 day, ", "2 days ". */
static bool read_days(const char **text, double *days)
{
    const char *at = *text, *word;
    double number;
    if (!read_part(&at, false, &number))
        return false;
    word = at + strspn(at, " ");
    if (!strncasecmp(word, "day", 3)) {
        at = word + 3 + (word[3] == 's');
        at += *at == ',';
        at += strspn(at, " ");
    } else if (*at == '.' || *at == ':') {
        at++;
    } else {
        return false;
    }
    const char *colon = strchr(at, ':');
    if (!colon || !strchr(colon + 1, ':'))
        return false;
    *text = at;
    *days = number;
    return true;
}

bool import_clock_read(const char *text, double *hours)
{
    double part[3] = {0}, days = 0;
    const char *at = text + strspn(text, " ");
    const double sign = *at == '-' ? -1 : 1;
    at += *at == '-';
    const bool has_days = read_days(&at, &days);
    size_t n = 0;
    do
        if (!read_part(&at, n == 2, &part[n]))
            return false;
    while (++n < 3 && *at == ':' && *++at);
    *hours = sign * (24 * days + part[0] + part[1] / 60 + part[2] / 3600);
    return n > 1 && !*at && part[1] < 60 && part[2] < 60 && (!has_days || (n == 3 && part[0] < 24));
}

/* How many of the unit are an hour; 0: it is none of these. */
static double in_an_hour(const char *unit)
{
    static const struct { const char *name; double number;
    } units[] = {{"s", 3600}, {"sec", 3600}, {"second", 3600}, {"seconds", 3600}, {"min", 60},
                 {"minute", 60}, {"minutes", 60}, {"h", 1}, {"hr", 1}, {"hour", 1}, {"hours", 1},
                 {"d", 1 / 24.0}, {"day", 1 / 24.0}, {"days", 1 / 24.0}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcasecmp(unit, units[i].name))
            return units[i].number;
    return 0;
}

enum status import_clock_elapsed(struct import_elapsed *elapsed, const struct csv_reader *reader,
                                 size_t column, double *time, struct error *error)
{
    const char *text = csv_field(reader, column);
    double factor = *elapsed->unit ? in_an_hour(elapsed->unit) : 1;
    enum status status = STATUS_OK;
    bool is_clock = strchr(text, ':') != NULL;
    if (is_clock && !import_clock_read(text, time))
        return csv_fault(reader, column, error,
                         "'%.40s' is no time since the beginning: write a number, or h:mm:ss, "
                         "d.hh:mm:ss",
                         text);
    if (is_clock && factor == 0)
        return csv_fault(reader, column, error,
                         "'%.40s': the model's unit of time, '%.40s', is not known: write numbers",
                         text, elapsed->unit);
    if (!is_clock)
        status = csv_number(reader, column, time, error);
    if (status)
        return status;
    *time *= is_clock ? factor : 1;
    elapsed->has_clock = elapsed->has_clock || is_clock;
    elapsed->has_number = elapsed->has_number || (!is_clock && fabs(*time) > 0 && isfinite(*time));
    return elapsed->has_clock && elapsed->has_number
               ? csv_fault(reader, column, error,
                           "'%.40s': some times of the table are clock times, h:mm:ss, and others "
                           "are numbers",
                           text)
               : STATUS_OK;
}

void import_clock_say(const struct import_elapsed *elapsed, const char *path,
                      const struct import_options *options)
{
    if (elapsed->has_clock)
        options->say("note: %.300s: times such as 1:30:00 are read in %s%.40s", path,
                     *elapsed->unit ? "the model's unit, " : "hours", elapsed->unit);
}

enum status import_clock_time(struct import_clock *clock, const struct csv_reader *reader,
                              bool is_first, double *time, struct error *error)
{
    const char *text = csv_field(reader, clock->time);
    double day = 0;
    bool is_clock = strchr(text, ':') != NULL;
    if (is_clock && (*text == '-' || !import_clock_read(text, time)))
        return csv_fault(reader, clock->time, error,
                         "'%.40s' is not a time of a day, such as 9:30 or 14:30:15", text);
    enum status status = is_clock ? STATUS_OK : csv_number(reader, clock->time, time, error);
    if (status)
        return status;
    memcpy(clock->last_date, clock->this_date, sizeof clock->last_date);
    if (clock->date != CSV_NO_COLUMN &&
        !read_date(csv_field(reader, clock->date), clock->order, &day, clock->this_date)) {
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
