/* Command-line options as tables: the same table drives parsing, help, completions, the manual
 * and the options in a problem file. Separate from the commands so that it can be tested without
 * them. Prints nothing.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor;

/* The type of the field that an option fills. */
enum option_kind {
    OPTION_FLAG,             /* bool; takes no value */
    OPTION_INTEGER,          /* int64_t */
    OPTION_NUMBER,           /* double; "inf" if max is infinite */
    OPTION_STRING,           /* const char *, points into argv */
    /* int: the index of the word in `choice`; enums have int's size here */
    OPTION_CHOICE,
    OPTION_COUNT_OR_PERCENT, /* struct option_share: N or N% */
    /* double, seconds: a number of seconds, MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS */
    OPTION_DURATION,
    OPTION_LIST              /* struct option_list: may be given several times */
};

struct option_share {
    double value;
    bool percent;
};

struct option_list {
    const char **item; /* n pointers into argv; option_list_fini frees the array */
    size_t n;
};

struct option {
    const char *name;    /* without the dashes */
    char letter;         /* 0: none */
    enum option_kind kind;
    const char *metavar; /* NULL: the words of a choice; VALUE, N, ... by kind */
    size_t offset;       /* of the field in the command's struct of options */
    double min, max;     /* of numbers, inclusive; of a share's count as well */
    bool above_min;      /* the minimum itself is not allowed */
    const char *zero;    /* of a number: a word that means 0, even outside the range; NULL: none */
    const char *const *choice; /* NULL-terminated */
    const char *default_text;  /* for help; NULL: none is shown */
    const char *help;    /* one sentence without a full stop */
    bool in_file;        /* allowed in /options of a problem file */
    bool is_file;        /* completions offer file names */
    bool is_output;      /* a file that is written (spare.h) */
    bool no_shard;       /* an option of `run` that is not allowed for the shards of a job array */
    /* what a change of the option affects: an enum of the command that has the table; 0: none */
    int effect;
};

/* The row of --color; the field is an enum when (terminal.h). */
#define OPTION_COLOR(field_offset) \
    {.name = "color", .kind = OPTION_CHOICE, .offset = (field_offset), \
        .choice = option_when_words, \
     .default_text = "auto", .help = "colours; overrides the environment's NO_COLOR"}
extern const char *const option_when_words[]; /* of enum when */
#define OPTION_DECIMAL_COMMA(field_offset) \
    {.name = "decimal-comma", .kind = OPTION_FLAG, .offset = (field_offset), \
     .help = "CSV with decimal commas, and semicolons between columns"}
#define OPTION_TYPES_ROW(field_offset) \
    {.name = "types-row", .kind = OPTION_FLAG, .offset = (field_offset), \
     .help = "below the header of CSV, a row that says what each column holds: text, integer " \
             "or number"}

struct option_table {
    const struct option *option;
    size_t n; /* at most 64 */
};

#define OPTION_TABLE(array) ((struct option_table){(array), sizeof(array) / sizeof *(array)})

/* The value of a macro as text, for default_text. */
#define OPTION_TEXT(macro) OPTION_QUOTE(macro)
#define OPTION_QUOTE(text) #text

enum { OPTION_MAX_POSITIONAL = 4096 };

/* The words of a command line that are not options. */
struct option_words {
    const char *positional[OPTION_MAX_POSITIONAL];
    size_t n_positional;
    bool help;      /* --help or -h was given; other errors do not matter then */
    uint64_t given; /* bit i: option i of the table was given */
};

/* --name=value, --name value, -jN, -j N, -qv (flags together), --flag; a lone -- ends the
 * options, a lone - is a word. Names cannot be abbreviated. If an option is given twice, the
 * last one counts; a list keeps all; an option whose metavar is WORD[,WORD...] is refused. The
 * message of a STATUS_USAGE gives the fault and, if there is one, the nearest match on a second
 * line. */
enum status option_parse(struct option_table table, void *options, struct option_words *words,
                         size_t max_positional, int argc, char *const *argv, struct error *error);

/* Sets one option from text, for example from /options of a file (there '_' and '-' in names are
 * the same). Does nothing if its bit in `given` is set. An unknown name, or one not allowed in a
 * file, is STATUS_USAGE. The text must live as long as `options`. */
enum status option_apply(struct option_table table, void *options, uint64_t given, const char *name,
                         const char *value, struct error *error);

/* The inverse: writes the option's value as option_parse reads it; "yes" or "no" for a flag, ""
 * for lists and for a string that is NULL. Returns `text`. */
const char *option_print(const struct option *option, const void *options, char *text, size_t size);
/* Goes over all values but lists, for another process of this program; and a checksum of the table,
 * which another one would lay out differently. */
void option_pass(struct cursor *cursor, struct option_table table, void *options);
uint32_t option_layout(struct option_table table);
/* Whether the option has the same value in both structs. */
bool option_is_same(const struct option *option, const void *a, const void *b);
/* NULL if no option has that name. */
const struct option *option_find(struct option_table table, const char *name);

void option_list_fini(struct option_list *list);

/* The whole text as a number, in any locale; false if it is not a number (NaN is not, "inf" and
 * "-inf" are). */
bool option_number(const char *text, double *value);
bool option_integer(const char *text, int64_t *value);
/* Seconds; negative: not a duration. */
double option_duration(const char *text);
/* The name of the option's value in help: its metavar, a choice's words with bars between, or a
 * word for its kind; "" for a flag. Returns `text`, which holds it. */
enum { OPTION_METAVAR = 160 };
const char *option_metavar(const struct option *option, char text[OPTION_METAVAR]);
