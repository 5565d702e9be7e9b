/* What an SBML file says, without libSBML: read.c makes it, the other files of this folder
 * translate it.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "sbml/math.h"
#include "sbml/sbml.h"

enum item_kind {
    ITEM_PARAMETER,
    ITEM_LOCAL,
    ITEM_COMPARTMENT,
    ITEM_SPECIES,
    ITEM_REFERENCE,
    ITEM_REACTION,
    ITEM_FUNCTION,
    ITEM_EVENT
};
extern const char *const item_words[]; /* "parameter" */

/* How a quantity's value comes about. */
enum item_form {
    FORM_NUMBER, /* a number, parameter or covariate */
    FORM_FIXED,  /* an expression that does not change */
    FORM_RULE,   /* an assignment rule */
    FORM_STATE,  /* is a state */
    FORM_AMOUNT  /* a concentration; its amount is a state, as its compartment's size changes */
};

struct item;
struct effect { /* of a reaction on a species */
    const struct item *reaction;
    struct item *reference;
    double sign;
};

struct assignment { /* of an event */
    struct item *target;
    const char *target_id;
    struct math *math;
    unsigned line;
};

/* What an event has besides its trigger. */
struct event {
    struct math *delay, *priority;
    bool initially_false, can_lapse;
    bool early_values; /* the assigned values are those of the moment when it was triggered */
    struct assignment *assignment;
    size_t n_assignment;
};

/* Anything with an id (references may have none). */
struct item {
    enum item_kind kind;
    const char *id, *label; /* label: the attribute `name`, or "" */
    unsigned line;
    /* Quantities. */
    double value;           /* NaN: none */
    bool is_nan;            /* the file says NaN */
    bool is_constant, is_boundary;
    /* a species whose id means an amount; a compartment without a size, in which all do */
    bool is_amount;
    bool value_is_amount;
    struct item *compartment;
    const char *conversion_factor; /* "": none */
    struct math *initial;   /* initial assignment, or NULL */
    /* or a reaction's kinetic law, a function's body, an event's trigger; or NULL */
    struct math *rule;
    bool is_rate_rule, is_assigned; /* is_assigned: by events */
    struct effect *effect;
    size_t n_effect, room;
    /* Reactions (local parameters), functions (arguments). */
    struct item **inner;
    size_t n_inner;
    struct event event;
    /* The translation. */
    const struct sbml_request *request;
    enum sbml_role role;
    enum item_form form;
    const char *name, *state;    /* in the text */
    /* of the parameter or covariate of its role, as in struct sbml_name */
    const char *given_name, *is_given_name;
    /* of its initial value and its rate; NULL: not needed so far */
    const char *initial_name, *rate_name;
    bool is_wanted;                         /* a function or reference that formulas use */
    /* in which the initial value, the function has been written */
    unsigned initial_pass, pass;
    uint8_t mark;                           /* of the search for circles */
    /* the latest one that has seen it (document.n_search) */
    unsigned search;
    bool initial_has_time;
    uint8_t time_sign; /* sign_of_rule in formula.c */
};

/* An algebraic rule: the formula is 0. */
struct equation {
    struct math *math;
    unsigned line;
    bool is_solved;
};

struct document {
    struct arena arena;
    const char *file; /* for messages */
    unsigned level, version;
    const char *id, *label, *conversion_factor;
    /* in the order functions, compartments, species, parameters, reactions with what they hold,
     * events */
    struct item **item;
    size_t n_item, room;
    void *by_id;        /* tree of items */
    struct equation *equation;
    size_t n_equation, equation_room;
    char **note;
    size_t n_note, note_room;
    unsigned n_search;
    size_t n_delay, n_made; /* uses of delay(); formulas that were made of others */
    struct outputs outputs; /* the files that are read must not be among them */
    struct error *error; /* the first fault */
    bool failed;
};

/* Reads a file into a document that is zeroed but for `file` and `error`. document_fini in any
 * case. */
enum status document_read(struct document *document, const char *path);
void document_fini(struct document *document);
/* Appends an item; a fault if another one has its id. */
enum status document_add(struct document *document, struct item *item);
/* NULL: there is none with this id. */
struct item *document_find(const struct document *document, const char *id);
/* "FILE:LINE: WHAT `ID`: ...". The first fault counts; returns its status. */
enum status document_fault(struct document *document, unsigned line, const char *what,
                           const char *id, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
enum status document_no_memory(struct document *document);
void document_note(struct document *document, const struct item *about, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* In the document's arena; NULL, after the fault: out of memory. */
char *document_format(struct document *document, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* solve.c: algebraic rules. */

/* Gives each variable that an algebraic rule determines an assignment rule, with a note. A fault
 * names the first rule that determines nothing, or that cannot be solved. */
enum status solve_equations(struct document *document);
