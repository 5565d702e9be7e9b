/* Which rows of a result a command is about: --id, --failed, --status and --where.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/condition.h"
#include "base/option.h"
#include "io/result/result.h"
#include "run/plan/selection_request.h"

/* As they were given; NULL or false: not. */
struct row_words {
    /* names between commas, and the whole list as a name that has commas in it */
    const char *id;
    const char *status; /* words of enum outcome between commas */
    const char *where;  /* comparisons, joined by " and ": NAME OPERATOR NUMBER|WORD */
    bool failed;        /* all that did not converge */
};

/* The options of a command's table; `words` is the offset of a struct row_words. */
#define OPTION_ROWS(words) \
    {.name = "failed", .kind = OPTION_FLAG, .offset = (words) + offsetof(struct row_words, \
        failed), \
     .help = "only datasets whose fits did not converge"}, \
    {.name = "status", .kind = OPTION_STRING, .metavar = "STATUS[,STATUS...]", \
     .offset = (words) + offsetof(struct row_words, status), .help = \
         "only datasets whose fits ended like this"}, \
    OPTION_WHERE((words) + offsetof(struct row_words, where), \
                 "only datasets for which this holds: comparisons of a column of /fits, of the " \
                 "table of datasets or a parameter with a number or word, joined by and: " \
                 "'chi_square > 20 and notes == poor_fit'")
/* Of a command that takes only this one. */
#define OPTION_WHERE(place, words) \
    {.name = "where", .kind = OPTION_STRING, .metavar = "CONDITION", .offset = (place), \
     .help = (words)}

enum { ROW_N_CONDITION = 16 };
struct row_condition {
    int column;           /* enum fit_column, or FIT_OWN + c (use/fit_columns.h) */
    size_t parameter;     /* of a column with a number for each */
    enum condition_operator comparison;
    double value;         /* also the number of a word; of notes the bit */
    char *text;           /* of a column of texts; free it */
};

struct row_filter {
    const struct result_info *info;
    bool is_open;             /* every row is taken */
    uint32_t outcomes;        /* bit i: enum outcome i is taken */
    struct selection_names names;
    bool *found;              /* of the names */
    char *path;               /* the result's: it may be closed before row_filter_end */
    const char *whole;        /* the list as one name, if it has commas */
    bool has_whole;
    size_t n_condition;
    struct row_condition condition[ROW_N_CONDITION];
    uint64_t n_taken;
};

/* result NULL: there is none, and `words` has ids alone.
 * STATUS_USAGE, with the nearest match: an unknown name or word. row_filter_fini is legal after
 * a failure. */
enum status row_filter_init(struct row_filter *filter, const struct row_words *words,
                            const struct result *result, struct error *error);
/* Whether the row is taken; counts those that are. */
bool row_filter_takes(struct row_filter *filter, const char *id, const struct fit_record *record);
/* Whether no later row can be taken: the only id was found. */
bool row_filter_is_done(const struct row_filter *filter);
/* After the last row: STATUS_USAGE if an id was named that no row has, or if none of the rows named
 * was taken. */
enum status row_filter_end(const struct row_filter *filter, const struct row_words *words,
                           struct error *error);
void row_filter_fini(struct row_filter *filter);
