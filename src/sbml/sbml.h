/* SBML into model text: reads a file with libSBML and writes the text of stiffit-model(5) that
 * means the same, with a table of what each id of the file is called there. The caller says
 * which ids are to be fitted or vary between experiments.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "base/output.h"

#include <stdbool.h>
#include <stddef.h>

/* What a quantity of the file (parameter, compartment, species) becomes. For one that never
 * changes it is the quantity itself; for one that changes (a species in reactions, the target of
 * a rate rule or of an event) it is its initial value, which gets a name of its own (`initial`
 * below) and replaces an initial assignment. A target of an assignment rule can have no role. A
 * species' initial value is what its id means in formulas: a concentration unless it
 * hasOnlySubstanceUnits. */
enum sbml_role {
    /* the value in the file: a constant, an intermediate or the initial value of a state */
    SBML_AS_IS,
    SBML_AS_PARAMETER, /* a `parameter` of the text */
    SBML_AS_COVARIATE, /* a `covariate`: a number of each experiment */
    /* the value in the file, but a state even if nothing changes it: for events that the caller
     * adds */
    SBML_AS_STATE
};

struct sbml_request {
    /* of a parameter, compartment or species, or "REACTION.ID" of a local parameter */
    const char *id;
    enum sbml_role role;
    /* with SBML_AS_PARAMETER and SBML_AS_COVARIATE: adds a covariate (`is_given` below); where
     * that is 0, the file's own initial value (a number or an initial assignment) holds */
    bool or_file;
    /* a state even if nothing changes it, as with SBML_AS_STATE: for values that are kept after
     * a steady state or that the caller's own events change */
    bool is_changed;
    /* what follows the name in its `parameter` or `covariate` statement, for example "= 0.1 in
     * [1e-5, 1e5] scale log10"; NULL: "= VALUE" of the file (1 if it has none) */
    const char *attributes;
};

struct sbml_options {
    size_t n_request;
    /* an id that the file lacks is a fault (STATUS_BAD_PROBLEM) that names it */
    const struct sbml_request *request;
    /* of other constant and local parameters: SBML_AS_PARAMETER (stiffit import) or SBML_AS_IS */
    enum sbml_role constants;
    size_t n_taken;
    /* names that the caller adds to the text: ids of the file that are among them are renamed.
     * Reserved words are avoided in any case. */
    const char *const *taken;
    /* the caller adds its own; otherwise all species (without any: all states) are observed */
    bool without_observables;
    /* what the caller is going to write: STATUS_USAGE if the file, or one that it refers to, is
     * among them */
    struct outputs outputs;
};

enum sbml_kind { /* what a name is in the text */
    SBML_IS_CONSTANT,     /* a number: `constant`, or an intermediate of constants and parameters */
    SBML_IS_PARAMETER,
    SBML_IS_COVARIATE,
    SBML_IS_STATE,
    /* target of an assignment rule, rate of a reaction, concentration whose amount is a state */
    SBML_IS_INTERMEDIATE,
    SBML_IS_FUNCTION,
    SBML_IS_EVENT
};

/* One id of the file: parameters, local parameters ("REACTION.ID"), compartments, species, named
 * species references, reactions, functions, events. All strings are '\0'-terminated and belong
 * to the table. */
struct sbml_name {
    char *id;       /* in the file */
    char *name;     /* in the text: what formulas write for the id's value at the current time */
    enum sbml_kind kind;
    /* the number in the file, in the unit of the id in formulas; NaN: none or an initial
     * assignment */
    double value;
    /* the parameter or covariate of its (initial) value, as requested; equal to name if it never
     * changes and not or_file; NULL: not requested */
    char *initial;
    /* the covariate that says whether `initial` counts (not 0) or the file's own value (0); else
     * NULL */
    char *is_given;
    char *state;    /* the state that holds it: equal to name, or of the amount; NULL: none */
    /* the state is the id's value times this (the size of its compartment); NULL: they are
     * equal. An event sets the id to VALUE by `STATE = (VALUE)*FACTOR`. */
    char *factor;
    unsigned line;  /* in the file */
};

struct sbml_model {
    /* model text; each statement on its own line, so that more can be appended; without
     * observables if asked */
    char *text;
    char *name;     /* the model's id or name, or NULL */
    size_t n_name;
    struct sbml_name *names; /* sorted by id (strcmp) */
    size_t n_note;
    /* what was assumed ("cell.xml:12: compartment `c`: it has no size: 1 is taken"), without a
     * full stop */
    char **note;
};

/* Translates the file at `path`. Faults (STATUS_BAD_MODEL) name the file, the line, the element
 * and its id: what libSBML reports, and what model text cannot say (algebraic rules that cannot
 * be solved, delay(), fast reactions, packages that are required, ...). Missing files are
 * STATUS_SYSTEM; without libSBML at build STATUS_USAGE says what is missing. Takes Levels 1 to 3
 * of SBML, core, and submodels (package comp).
 * libSBML can exhaust stack and memory on hostile files: call it in a process that may die
 * (contained_run in cli). */
enum status sbml_translate(struct sbml_model *model, const char *path,
                           const struct sbml_options *options, struct error *error);

/* Parses text that begins with the model's, so that faults, which are limits of model text, are
 * found now; the caller frees the equations. STATUS_BAD_MODEL names the file at `path`, and the
 * line and id in it, never the text, which nobody has seen. */
struct equations;
enum status sbml_parse(const struct sbml_model *model, const char *text, const char *path,
                       struct equations **equations, struct error *error);

/* Frees what a model (zeroed or translated) holds. */
void sbml_model_fini(struct sbml_model *model);

/* The entry of an id; NULL: the file has no such id. */
const struct sbml_name *sbml_find(const struct sbml_model *model, const char *id);

/* Whether libSBML was there at build. */
bool sbml_is_built(void);
