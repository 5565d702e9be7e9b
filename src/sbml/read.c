/* Reads an SBML file with libSBML: its elements become items, what refers to ids is resolved,
 * and what libSBML reports is a fault.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sbml/read.h"


#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool sbml_is_built(void)
{
#ifdef HAVE_LIBSBML
    return true;
#else
    return false;
#endif
}

#ifndef HAVE_LIBSBML
enum status document_read(struct document *document, const char *path)
{
    return error_set(document->error, STATUS_USAGE,
                     "%.300s: this stiffit was built without libSBML. Install it (Debian: "
                     "apt-get install libsbml5-dev, or scripts/install-deps), and run make again",
                     path);
}
#else

/* A package that is required matters only where it is used; many programs declare all that they
 * know. */
static enum status check_packages(struct reading *reading, SBMLDocument_t *file)
{
    const struct library *lib = &reading->lib;
    /* Before Level 3 there are none, but libSBML adds its own. */
    const XMLNamespaces_t *spaces =
        reading->document->level > 2 ? lib->SBMLDocument_getNamespaces(file) : NULL;
    for (int i = 0; spaces && i < lib->XMLNamespaces_getLength(spaces); i++) {
        /* ours */
        char *prefix = lib->XMLNamespaces_getPrefix(spaces, i),
             *uri = lib->XMLNamespaces_getURI(spaces, i),
             *text = NULL;
        /* The mathematics of Level 3 Version 2 are supported in any case, elements of `distrib`
         * describe uncertainties, and its functions are refused where a formula calls them. */
        bool is_used = prefix && prefix[0] && uri && !strstr(uri, "/l3v2extendedmath/") &&
                       !strstr(uri, "/distrib/") &&
                       lib->SBMLDocument_isSetPackageRequired(file, prefix) &&
                       lib->SBMLDocument_getPackageRequired(file, prefix) &&
                       (!(text = lib->writeSBMLToString(file)) || blank_has_element(text, prefix));
        if (is_used && strstr(uri, "/comp/") && !reading->is_flat) {
            if (!reading_flatten(reading, file, prefix, text)) {
                spaces = lib->SBMLDocument_getNamespaces(file); /* of the flat model: anew */
                i = -1;
            }
        } else if (is_used) {
            document_fault(reading->document, 0, "package", prefix,
                           "the file uses this package, which is not supported");
        }
        free(text);
        free(prefix);
        free(uri);
    }
    return reading->document->failed ? reading->document->error->status : STATUS_OK;
}

static struct item *add(struct reading *reading, const void *element, enum item_kind kind)
{
    const struct library *lib = &reading->lib;
    struct document *document = reading->document;
    struct item *item = arena_calloc(&document->arena, 1, sizeof *item);
    const char *id = element ? lib->SBase_getIdAttribute((SBase_t *)element) : NULL;
    const char *label = element ? lib->SBase_getName((SBase_t *)element) : NULL;
    if (item) {
        item->id = arena_strdup(&document->arena, id ? id : "");
        item->label = arena_strdup(&document->arena, label ? label : "");
    }
    if (!item || !item->id || !item->label) {
        document_no_memory(document);
        return NULL;
    }
    item->kind = kind;
    item->line = element ? lib->SBase_getLine((const SBase_t *)element) : 0;
    item->value = NAN;
    item->is_constant = true;
    return document_add(document, item) ? NULL : item;
}

static struct math *math_of(struct reading *reading, const ASTNode_t *node, const struct item *item)
{
    return read_math(reading, node, item->line, item_words[item->kind], item->id);
}

static char *copy(struct reading *reading, const char *text)
{
    char *copied = arena_strdup(&reading->document->arena, text ? text : "");
    if (!copied)
        document_no_memory(reading->document);
    return copied;
}

static void read_function(struct reading *reading, const FunctionDefinition_t *from)
{
    const struct library *lib = &reading->lib;
    struct document *document = reading->document;
    struct item *item = add(reading, from, ITEM_FUNCTION);
    unsigned n = lib->FunctionDefinition_getNumArguments(from);
    if (!item)
        return;
    item->rule = math_of(reading, lib->FunctionDefinition_getBody(from), item);
    item->inner = arena_calloc(&document->arena, n + 1, sizeof *item->inner);
    for (unsigned k = 0; k < n && item->inner; k++) {
        struct item *argument = item->inner[k] =
            arena_calloc(&document->arena, 1, sizeof *argument);
        if (!argument ||
            !(argument->id = copy(reading, lib->ASTNode_getName(
                                               lib->FunctionDefinition_getArgument(from, k)))))
            break;
        item->n_inner++;
    }
    if (item->n_inner < n)
        document_no_memory(document);
}

static void read_compartment(struct reading *reading, Compartment_t *from)
{
    const struct library *lib = &reading->lib;
    struct item *item = add(reading, from, ITEM_COMPARTMENT);
    if (!item)
        return;
    /* Without dimensions there is no size in Levels 1 and 2; in Level 3 it has one as others
     * have. */
    item->is_amount = reading->document->level < 3 &&
                      lib->Compartment_isSetSpatialDimensions(from) &&
                      lib->Compartment_getSpatialDimensionsAsDouble(from) == 0;
    if (lib->Compartment_isSetSize(from))
        item->value = lib->Compartment_getSize(from);
    item->is_constant = lib->Compartment_getConstant(from);
}

static void read_species(struct reading *reading, const Species_t *from)
{
    const struct library *lib = &reading->lib;
    struct document *document = reading->document;
    struct item *item = add(reading, from, ITEM_SPECIES);
    if (!item)
        return;
    const char *compartment = lib->Species_getCompartment(from);
    item->compartment = document_find(document, compartment ? compartment : "");
    if (!item->compartment || item->compartment->kind != ITEM_COMPARTMENT) {
        document_fault(document, item->line, "species", item->id, "`%.100s` is no compartment",
                       compartment ? compartment : "");
        return;
    }
    item->is_amount = lib->Species_getHasOnlySubstanceUnits(from) || item->compartment->is_amount;
    item->value_is_amount = lib->Species_isSetInitialAmount(from);
    if (item->value_is_amount)
        item->value = lib->Species_getInitialAmount(from);
    else if (lib->Species_isSetInitialConcentration(from))
        item->value = lib->Species_getInitialConcentration(from);
    item->is_boundary = lib->Species_getBoundaryCondition(from);
    item->is_constant = lib->Species_getConstant(from);
    item->conversion_factor = copy(reading, lib->Species_getConversionFactor(from));
}

static void read_parameter(struct reading *reading, Parameter_t *from, enum item_kind kind,
                           struct item *reaction)
{
    const struct library *lib = &reading->lib;
    struct item *item = add(reading, from, kind);
    if (!item)
        return;
    if (lib->Parameter_isSetValue(from))
        item->value = lib->Parameter_getValue(from);
    item->is_nan = isnan(item->value) && lib->Parameter_isSetValue(from);
    if (reaction)
        reaction->inner[reaction->n_inner++] = item;
    else
        item->is_constant = lib->Parameter_getConstant(from);
}

static void read_reference(struct reading *reading, struct item *reaction,
                           const SpeciesReference_t *from, double sign)
{
    const struct library *lib = &reading->lib;
    struct document *document = reading->document;
    const char *id = lib->SpeciesReference_getSpecies(from);
    struct item *species = document_find(document, id ? id : ""),
                *item = add(reading, from, ITEM_REFERENCE);
    if (!item)
        return;
    if (!species || species->kind != ITEM_SPECIES) {
        document_fault(document, item->line, "reaction", reaction->id, "`%.100s` is no species",
                       id ? id : "");
        return;
    }
    /* may have rules */
    item->is_constant = document->level > 2 && lib->SpeciesReference_getConstant(from);
    if (lib->SpeciesReference_isSetStoichiometryMath(from)) {
        item->rule =
            math_of(reading,
                    lib->StoichiometryMath_getMath(
                        lib->SpeciesReference_getStoichiometryMath((SpeciesReference_t *)from)),
                    reaction);
        if (!item->rule)
            document_fault(document, item->line, "reaction", reaction->id,
                           "the stoichiometryMath of `%.100s` is empty", id);
    } else if (lib->SpeciesReference_isSetStoichiometry(from)) {
        item->value = lib->SpeciesReference_getStoichiometry(from);
        if (document->level < 3)
            item->value /= lib->SpeciesReference_getDenominator(from);
    } else if (document->level < 3) {
        item->value = 1;
    }
    if (!array_grow(&species->effect, species->n_effect, &species->room, sizeof *species->effect))
        document_no_memory(document);
    else
        species->effect[species->n_effect++] = (struct effect){reaction, item, sign};
}

static void read_reaction(struct reading *reading, Reaction_t *from)
{
    const struct library *lib = &reading->lib;
    struct document *document = reading->document;
    struct item *item = add(reading, from, ITEM_REACTION);
    KineticLaw_t *law = lib->Reaction_getKineticLaw(from);
    unsigned n_local = law ? lib->KineticLaw_getNumParameters(law) : 0;
    if (!item)
        return;
    if (document->level < 3 || (document->level == 3 && document->version == 1))
        if (lib->Reaction_getFast(from))
            document_fault(document, item->line, "reaction", item->id,
                           "fast reactions (fast=\"true\") are not supported: let it be slow, with "
                           "a rate that is large beside the others");
    item->rule = law ? math_of(reading, lib->KineticLaw_getMath(law), item) : NULL;
    if (!item->rule)
        document_fault(document, item->line, "reaction", item->id,
                       "it has no kinetic law: give it one (flux balances, as of package fbc, say "
                       "nothing about times)");
    item->inner = arena_calloc(&document->arena, n_local + 1, sizeof *item->inner);
    if (!item->inner)
        document_no_memory(document);
    for (unsigned k = 0; k < n_local && !document->failed; k++)
        read_parameter(reading, lib->KineticLaw_getParameter(law, k), ITEM_LOCAL, item);
    for (unsigned k = 0; k < lib->Reaction_getNumReactants(from) && !document->failed; k++)
        read_reference(reading, item, lib->Reaction_getReactant(from, k), -1);
    for (unsigned k = 0; k < lib->Reaction_getNumProducts(from) && !document->failed; k++)
        read_reference(reading, item, lib->Reaction_getProduct(from, k), 1);
}

/* What a rule, an initial assignment or an event sets. */
static struct item *target(struct reading *reading, const char *id, unsigned line, const char *what,
                           bool is_initial)
{
    struct document *document = reading->document;
    struct item *item = document_find(document, id ? id : "");
    if (!item)
        document_fault(document, line, what, id, "there is nothing with this id");
    else if (item->kind == ITEM_REACTION || item->kind == ITEM_FUNCTION || item->kind == ITEM_EVENT)
        document_fault(document, line, what, id, "a %s has no value that can be set",
                       item_words[item->kind]);
    else if (document->level == 1)
        item->is_constant = false; /* its files cannot say so, libSBML says constant="true" */
    else if (item->is_constant && !is_initial)
        document_fault(document, line, what, id, "this %s is constant (constant=\"true\")",
                       item_words[item->kind]);
    return document->failed ? NULL : item;
}

/* Since Level 3 Version 2 what sets something may have no formula, and then sets nothing. */
static void note_empty(struct document *document, const struct item *item, const char *what,
                       unsigned line)
{
    if (!document->failed)
        document_note(document, item, "%s of it in line %u has no formula and is ignored", what,
                      line);
}

static void read_equation(struct reading *reading, const Rule_t *from, unsigned line)
{
    struct document *document = reading->document;
    struct math *math =
        read_math(reading, reading->lib.Rule_getMath(from), line, "algebraic rule", NULL);
    if (!math) /* says nothing */
        return;
    if (array_grow(&document->equation, document->n_equation, &document->equation_room,
                   sizeof *document->equation))
        document->equation[document->n_equation++] = (struct equation){.math = math, .line = line};
    else
        document_no_memory(document);
}

static void read_rule(struct reading *reading, const Rule_t *from)
{
    const struct library *lib = &reading->lib;
    struct document *document = reading->document;
    unsigned line = lib->SBase_getLine((const SBase_t *)from);
    if (lib->Rule_isAlgebraic(from)) {
        read_equation(reading, from, line);
        return;
    }
    struct item *item = target(reading, lib->Rule_getVariable(from), line, "rule for", false);
    if (!item)
        return;
    if (item->rule) {
        document_fault(document, line, "rule for", item->id,
                       "it has another rule or a stoichiometryMath");
        return;
    }
    item->rule = read_math(reading, lib->Rule_getMath(from), line, "rule for", item->id);
    item->is_rate_rule = item->rule && lib->Rule_isRate(from);
    if (!item->rule)
        note_empty(document, item, "a rule", line);
}

static void read_initial(struct reading *reading, const InitialAssignment_t *from)
{
    const struct library *lib = &reading->lib;
    struct document *document = reading->document;
    unsigned line = lib->SBase_getLine((const SBase_t *)from);
    struct item *item = target(reading, lib->InitialAssignment_getSymbol(from), line,
                               "initial assignment to", true);
    if (!item)
        return;
    if (item->initial) {
        document_fault(document, line, "initial assignment to", item->id, "it has another one");
        return;
    }
    item->initial = read_math(reading, lib->InitialAssignment_getMath(from), line,
                              "initial assignment to", item->id);
    if (!item->initial)
        note_empty(document, item, "an initial assignment", line);
}

static void read_event(struct reading *reading, Event_t *from)
{
    const struct library *lib = &reading->lib;
    struct document *document = reading->document;
    struct item *item = add(reading, from, ITEM_EVENT);
    unsigned n = lib->Event_getNumEventAssignments(from);
    const Trigger_t *trigger = lib->Event_getTrigger(from);
    struct assignment *assignment = arena_calloc(&document->arena, n + 1, sizeof *assignment);
    if (!item || !assignment) {
        document_no_memory(document);
        return;
    }
    item->event.assignment = assignment;
    if (trigger) {
        item->rule = math_of(reading, lib->Trigger_getMath(trigger), item);
        item->event.initially_false = document->level > 2 && !lib->Trigger_getInitialValue(trigger);
        item->event.can_lapse = document->level > 2 && !lib->Trigger_getPersistent(trigger);
    }
    if (!item->rule && !document->failed) {
        document_note(document, item, "it has no trigger and never happens");
        item->rule = arena_calloc(&document->arena, 1, sizeof *item->rule);
        if (!item->rule) {
            document_no_memory(document);
            return;
        }
        item->rule->kind = MATH_NUMBER; /* 0: false */
    }
    item->event.early_values = lib->Event_getUseValuesFromTriggerTime(from);
    item->event.delay = lib->Event_getDelay(from)
                      ? math_of(reading, lib->Delay_getMath(lib->Event_getDelay(from)), item)
                      : NULL;
    item->event.priority =
        lib->Event_getPriority(from)
            ? math_of(reading, lib->Priority_getMath(lib->Event_getPriority(from)), item)
            : NULL;
    for (unsigned k = 0; k < n && !document->failed; k++) {
        EventAssignment_t *each = lib->Event_getEventAssignment(from, k);
        struct assignment *to = &item->event.assignment[item->event.n_assignment];
        to->line = lib->SBase_getLine((const SBase_t *)each);
        to->target = target(reading, lib->EventAssignment_getVariable(each), to->line,
                            "event assignment to", false);
        if (!to->target)
            return;
        to->math = read_math(reading, lib->EventAssignment_getMath(each), to->line,
                             "event assignment to", to->target->id);
        if (to->math) {
            to->target->is_assigned = true;
            item->event.n_assignment++;
        } else {
            note_empty(document, to->target, "an event's assignment", to->line);
        }
    }
}

static void read_model(struct reading *reading, Model_t *model)
{
    const struct library *lib = &reading->lib;
    struct document *document = reading->document;
#define EACH(Many, One, action) \
    for (unsigned i = 0; i < lib->Model_getNum##Many(model) && !document->failed; i++) \
        action(reading, lib->Model_get##One(model, i))
#define PARAMETER(reading, from) read_parameter(reading, from, ITEM_PARAMETER, NULL)
    document->id = copy(reading, lib->SBase_getIdAttribute((SBase_t *)model));
    document->label = copy(reading, lib->SBase_getName((SBase_t *)model));
    document->conversion_factor = copy(reading, lib->Model_getConversionFactor(model));
    EACH(FunctionDefinitions, FunctionDefinition, read_function);
    EACH(Compartments, Compartment, read_compartment);
    EACH(Species, Species, read_species);
    EACH(Parameters, Parameter, PARAMETER);
    EACH(Reactions, Reaction, read_reaction);
    EACH(Rules, Rule, read_rule);
    EACH(InitialAssignments, InitialAssignment, read_initial);
    EACH(Events, Event, read_event);
    unsigned n_constraint = lib->Model_getNumConstraints(model);
    if (n_constraint) {
        struct item about = {.kind = ITEM_PARAMETER,
                             .line =
                                 lib->SBase_getLine((SBase_t *)lib->Model_getConstraint(model, 0))};
        document_note(document, &about, "%u constraint%s not checked", n_constraint,
                      n_constraint == 1 ? " is" : "s are");
    }
}

/* The whole file and a '\0', which the caller frees; NULL: it cannot be read as text. */
static char *read_whole(const char *path)
{
    FILE *from = fopen(path, "rb"), *to = NULL;
    char buffer[1 << 14], *text = NULL;
    size_t size;
    bool good = from && (to = open_memstream(&text, &size));
    for (size_t n; good && (n = fread(buffer, 1, sizeof buffer, from)) > 0;)
        good = fwrite(buffer, 1, n, to) == n && !memchr(buffer, '\0', n);
    good = good && !ferror(from);
    if (from)
        fclose(from);
    if (to && fclose(to))
        good = false;
    if (!good)
        free(text);
    return good ? text : NULL;
}

/* NULL: out of memory. */
static SBMLDocument_t *read_file(const struct library *lib, const char *path)
{
    SBMLDocument_t *file = NULL;
    char *text = read_whole(path);
    size_t mark = text && !strncmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
    /* libSBML puts a declaration in front of what does not begin like this. */
    bool is_xml = text && (!strncmp(text + mark, "<?xml version=", 14) ||
                           strncmp(text + mark, "<?xml", 5) != 0);
    char *blanked = is_xml ? blank_besides(text + mark) : NULL;
    file = blanked ? lib->readSBMLFromString(blanked) : lib->readSBMLFromFile(path);
    free(blanked);
    free(text);
    return file;
}

enum status document_read(struct document *document, const char *path)
{
    struct reading reading = {.document = document, .path = path};
    SBMLDocument_t *file = NULL;
    if (access(path, R_OK))
        return error_system(document->error, errno, "%.300s", path);
    enum status status = library_open(&reading.lib, document->error);
    const struct library *lib = &reading.lib;
    if (!status && !(file = read_file(lib, path)))
        status = document_no_memory(document);
    if (!status)
        status = reading_check(&reading, file);
    if (!status) {
        document->level = lib->SBMLDocument_getLevel(file);
        document->version = lib->SBMLDocument_getVersion(file);
        status = check_packages(&reading, file);
    }
    if (!status && !lib->SBMLDocument_getModel(file))
        status = document_fault(document, 0, "", NULL, "it has no model");
    if (!status) {
        /* The general checks take hours for 100 rules each of which uses the one before it
         * (libSBML 5.19): what they find that would do harm is found here and by the parser of
         * model text. Units and the like do not matter. */
        static const SBMLErrorCategory_t without[] = {LIBSBML_CAT_GENERAL_CONSISTENCY,
                                                      LIBSBML_CAT_UNITS_CONSISTENCY,
                                                      LIBSBML_CAT_SBO_CONSISTENCY,
                                                      LIBSBML_CAT_MODELING_PRACTICE,
                                                      LIBSBML_CAT_OVERDETERMINED_MODEL};
        for (size_t i = 0; i < sizeof without / sizeof *without; i++)
            lib->SBMLDocument_setConsistencyChecks(file, without[i], 0);
        lib->SBMLDocument_checkConsistency(file);
        status = reading_check(&reading, file);
    }
    if (!status) {
        read_model(&reading, lib->SBMLDocument_getModel(file));
        status = document->failed ? document->error->status : STATUS_OK;
    }
    if (file)
        lib->SBMLDocument_free(file);
    return status;
}
#endif
