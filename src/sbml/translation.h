/* Translates a read SBML document to model text: shared by the files that decide what becomes
 * what and that write it.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "sbml/document.h"

#include <stdio.h>

/* Parts of the text, in their order. */
enum section {
    SECTION_HEAD,
    SECTION_PARAMETERS,
    SECTION_CONSTANTS,
    SECTION_FUNCTIONS,
    SECTION_RULES,
    SECTION_REACTIONS,
    SECTION_INITIALS,
    SECTION_STATES,
    SECTION_EVENTS,
    SECTION_OBSERVABLES,
    N_SECTION
};

struct translation {
    struct document *document;
    const struct sbml_options *options;
    void *names; /* tree of the names in use */
    /* The text is written twice: the first time tells what else must be defined (initial values,
     * rates, functions). */
    unsigned pass;
    FILE *section[N_SECTION];
    bool without_parameter; /* the file has none */
    size_t n_used;          /* parameters that formulas use */
    const char *avogadro;
    unsigned avogadro_pass;
    struct helper_use { const char *name; unsigned pass; } helper[5];
};

/* A formula being written, and where it stands. */
struct writer {
    struct translation *translation;
    FILE *out;
    const struct item *scope; /* the reaction or function whose local names hold; or NULL */
    bool is_initial;          /* names mean values at the initial time */
    bool is_trigger;          /* equality is written by comparisons whose changes are seen */
    const struct item *about; /* for faults */
};

/* How tight an operator binds, as in the grammar of model text. */
enum level {
    LEVEL_ANY,
    LEVEL_OR,
    LEVEL_AND,
    LEVEL_NOT,
    LEVEL_COMPARE,
    LEVEL_SUM,
    LEVEL_PRODUCT,
    LEVEL_SIGN,
    LEVEL_POWER,
    LEVEL_PRIMARY
};

/* Whether the number in the file is a species' amount and its id means a concentration, or the
 * other way round. */
static inline bool converts_initial(const struct item *item)
{
    return item->kind == ITEM_SPECIES && item->value_is_amount != item->is_amount &&
           !item->compartment->is_amount;
}

/* decide.c */
/* Gives every item its role, form and name. */
enum status decide(struct translation *translation);
/* A name that nothing has, made from `wanted`; it is then in use. NULL, after the fault: out of
 * memory. */
const char *new_name(struct translation *translation, const char *wanted);
void names_fini(struct translation *translation);
/* The item that a name in a formula means; NULL: none. */
const struct item *find_in_scope(const struct document *document, const struct item *scope,
                                 const char *id);

/* formula.c: a formula, in parentheses if it binds less than `level`. */
void write_math(const struct writer *writer, const struct math *math, enum level level);
void write_number(FILE *out, double value, enum level level);
/* An item's value at the initial time, and what a formula writes for it. */
void write_initial(const struct writer *writer, const struct item *item, enum level level);
const char *initial_text(struct translation *translation, const struct item *item);
/* The rate of change of an item: what the equation of a state has, and what a formula writes. */
void write_rate(const struct writer *writer, struct item *item);
void write_rate_of(const struct writer *writer, struct item *item);

/* trigger.c */
/* Whether an event's condition is false at the very time at which it becomes true, as `time > 1`
 * is. */
bool is_strict(const struct document *document, const struct item *event);
/* `time == X` with an X that does not vary, or something like it: the integrator stops there. */
bool is_time_test(const struct document *document, const struct math *math);
/* Whether the formula tests moving values for equality, over which the integrator steps. */
bool has_equality(const struct document *document, const struct math *math);

/* write.c, write_event.c */
enum status write_text(struct translation *translation, char **text);
void write_event(struct translation *translation, const struct item *event);

/* line.c */
/* A statement: its text goes to the stream that begin_line returns, and with end_line to a
 * section, with a comment. */
struct line { FILE *out; char *text; size_t size; };
struct writer begin_line(struct translation *translation, struct line *line,
                         const struct item *about);
void end_line(struct translation *translation, struct line *line, enum section section,
              const char *comment);
/* What the file calls an item, where the text does not say it. */
const char *comment_of(struct translation *translation, const struct item *item);
/* What authors call something, as a comment or a label can hold it: at most `most` bytes of
 * characters that can be printed, with `quote` for double quotes. */
void put_label(FILE *out, const char *text, size_t most, char quote);
