/* Resolves names and finds the order of definitions. All walks have a stack of their own, so
 * chains of definitions may be long.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/text/resolve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void unknown_name(struct reading *reading, struct symbol *symbol, struct span at,
                         bool as_function)
{
    struct name_text near = {""};
    const char *hint = slip_name_hint(reading, symbol->name, as_function);
    if (!hint && message_is_kept(&reading->source))
        near = symbol_nearest(reading, symbol->name, as_function ? SEEK_FUNCTION : SEEK_VALUE);
    if (hint)
        message_fault(&reading->source, at, "%s`%.*s` is not defined: %s",
                      as_function ? "the function " : "", SPAN_ARGUMENTS(reading, symbol->name),
                      hint);
    else
        message_fault(&reading->source, at, "%s`%.*s` is not defined%s%s%s",
                      as_function ? "the function " : "", SPAN_ARGUMENTS(reading, symbol->name),
                      near.text[0] ? "; did you mean `" : "", near.text, near.text[0] ? "`?" : "");
    symbol->failed = true; /* report it once */
}

/* Whether the name may be used here. */
static bool check_name(struct reading *reading, const struct instruction *code)
{
    struct symbol *symbol = &reading->symbols.item[code->symbol];
    struct source *source = &reading->source;
    bool is_call = code->kind == CODE_CALL;
    if (symbol->kind == SYMBOL_UNKNOWN && symbol->failed)
        return false;
    struct span at = {code->offset, symbol->name.length};
    if (symbol->kind == SYMBOL_UNKNOWN) {
        unknown_name(reading, symbol, at, is_call);
        return false;
    }
    if (is_call && symbol->kind != SYMBOL_FUNCTION) {
        if (symbol->kind == SYMBOL_STATE)
            message_fault(source, at,
                          "`%.*s` is a state, not a function: write `%.*s` for its value now, a "
                          "`*` for a product; "
                          "an initial value that is needed in formulas gets a name of its own",
                          SPAN_ARGUMENTS(reading, symbol->name),
                          SPAN_ARGUMENTS(reading, symbol->name));
        else
            message_fault(source, at,
                          "`%.*s` is %s, not a function: is a `*` missing before the bracket?",
                          SPAN_ARGUMENTS(reading, symbol->name), symbol_kind_name(symbol->kind));
        return false;
    }
    if (!is_call && symbol->kind == SYMBOL_EVENT) {
        message_fault(source, at, "`%.*s` is an event, which has no value",
                      SPAN_ARGUMENTS(reading, symbol->name));
        return false;
    }
    if (!is_call && symbol->kind == SYMBOL_FUNCTION) {
        message_fault(source, at, "`%.*s` is a function: it needs its arguments in parentheses",
                      SPAN_ARGUMENTS(reading, symbol->name));
        return false;
    }
    if (is_call && !symbol->failed && code->n_argument != symbol->n_argument) {
        message_fault(source, at, "`%.*s` takes %u argument%s, not %u (it is defined in line %u)",
                      SPAN_ARGUMENTS(reading, symbol->name), (unsigned)symbol->n_argument,
                      symbol->n_argument == 1 ? "" : "s", (unsigned)code->n_argument,
                      (unsigned)symbol->line);
        return false;
    }
    return true;
}

/* The name before a `=` that is to be a state. */
static void check_target(struct reading *reading, uint32_t which, struct span place,
                         const char *what)
{
    struct symbol *symbol = &reading->symbols.item[which];
    if (symbol->failed || symbol->kind == SYMBOL_STATE)
        return;
    if (symbol->kind == SYMBOL_UNKNOWN)
        unknown_name(reading, symbol, place, false);
    else
        message_fault(&reading->source, place, "`%.*s` is %s: only states have %s",
                      SPAN_ARGUMENTS(reading, place), symbol_kind_name(symbol->kind), what);
}

static void check_targets(struct reading *reading)
{
    for (uint32_t i = 0; i < reading->dosings.n; i++) {
        const struct stated_dosing *dosing = &reading->dosings.item[i];
        char what[40];
        snprintf(what, sizeof what, "a %s", dosing_words[dosing->kind].noun);
        check_target(reading, dosing->symbol, dosing->place, what);
    }
    for (uint32_t i = 0; i < reading->assignments.n; i++)
        check_target(reading, reading->assignments.item[i].symbol,
                     reading->assignments.item[i].place, "values that an event can change");
}

void resolve_names(struct reading *reading)
{
    for (uint32_t i = 0; i < reading->formulas.n; i++) {
        struct formula *formula = &reading->formulas.item[i];
        for (uint32_t k = 0; k < formula->n; k++) {
            const struct instruction *code = &reading->code.item[formula->first + k];
            if ((code->kind == CODE_NAME || code->kind == CODE_CALL) && !check_name(reading, code))
                formula->failed = true;
        }
    }
    for (uint32_t i = 0; i < reading->observables.n; i++) {
        const struct stated_observable *observable = &reading->observables.item[i];
        struct symbol *symbol = &reading->symbols.item[observable->symbol];
        if (symbol->failed)
            continue;
        if (symbol->kind == SYMBOL_UNKNOWN)
            unknown_name(reading, symbol, observable->place, false);
        else if (symbol->kind == SYMBOL_FUNCTION)
            message_fault(&reading->source, observable->place,
                          "a function cannot be observed: write `observe NAME = EXPR`");
        else if (symbol->kind == SYMBOL_EVENT)
            message_fault(&reading->source, observable->place, "an event cannot be observed");
    }
    check_targets(reading);
}

/* A symbol in progress, its next instruction, and the lowest depth to which something at or
 * above it leads back. If that is its own depth or less, it is part of a cycle (as in Tarjan's
 * algorithm, 1972). */
struct visit { uint32_t symbol, next, back; };

struct visits { LIST(struct visit) stack; };

static bool begin_visit(struct reading *reading, struct visits *visits, uint32_t which)
{
    struct visit *visit = list_add(reading, &visits->stack, READING_MAX_SYMBOL);
    if (!visit)
        return false;
    struct symbol *symbol = &reading->symbols.item[which];
    *visit = (struct visit){which, 0, NONE};
    symbol->mark = MARK_OPEN;
    symbol->index = visits->stack.n - 1;
    symbol->is_constant = true;
    if (symbol->formula == NONE || reading->formulas.item[symbol->formula].failed)
        symbol->failed = true;
    return true;
}

/* The symbols from depth `first` on form a cycle, which the name at `offset` closes. */
static void report_cycle(struct reading *reading, const struct visits *visits, uint32_t first,
                         uint32_t offset)
{
    enum { MAX_TOLD = 8 };
    char text[MAX_TOLD * (READING_SHOWN_NAME + 20) + 100] = "";
    size_t used = 0;
    uint32_t n = visits->stack.n - first;
    for (uint32_t i = 0; i < n && i < MAX_TOLD; i++) {
        const struct symbol *symbol = &reading->symbols.item[visits->stack.item[first + i].symbol];
        used += (size_t)snprintf(text + used, sizeof text - used, "`%.*s` needs ",
                                 SPAN_ARGUMENTS(reading, symbol->name));
    }
    const struct symbol *symbol = &reading->symbols.item[visits->stack.item[first].symbol];
    struct span at = {offset, symbol->name.length};
    if (n > MAX_TOLD)
        snprintf(text + used, sizeof text - used, "... (%u more) needs ", (unsigned)(n - MAX_TOLD));
    message_fault(&reading->source, at, "%s: %s`%.*s`",
                  symbol->kind == SYMBOL_FUNCTION ? "a function may not call itself"
                                                  : "a circular definition",
                  text, SPAN_ARGUMENTS(reading, symbol->name));
}

/* The innermost symbol needs one that is in progress. One cycle through a symbol is reported. */
static void lead_back(struct reading *reading, struct visits *visits, const struct symbol *to,
                      uint32_t offset)
{
    struct visit *visit = &visits->stack.item[visits->stack.n - 1];
    if (visit->back == NONE)
        report_cycle(reading, visits, to->index, offset);
    if (visit->back == NONE || to->index < visit->back)
        visit->back = to->index;
}

static bool end_visit(struct reading *reading, struct visits *visits)
{
    uint32_t depth = --visits->stack.n;
    struct visit visit = visits->stack.item[depth];
    struct symbol *symbol = &reading->symbols.item[visit.symbol];
    symbol->mark = MARK_DONE;
    symbol->failed |= visit.back != NONE;
    if (visit.back != NONE && visit.back < depth && visits->stack.item[depth - 1].back > visit.back)
        visits->stack.item[depth - 1].back = visit.back;
    uint32_t *place = list_add(reading, &reading->order, READING_MAX_SYMBOL);
    if (place)
        *place = visit.symbol;
    return place;
}

/* Passes the properties of a used symbol on to its user. */
static void inherit(struct reading *reading, struct symbol *user, uint32_t which)
{
    const struct symbol *used = &reading->symbols.item[which];
    uint32_t state = used->kind == SYMBOL_STATE ? which : used->state;
    if (user->state == NONE)
        user->state = state;
    user->is_constant &=
        used->kind == SYMBOL_CONSTANT || (used->kind == SYMBOL_FUNCTION && used->is_constant);
    user->failed |= used->failed;
}

static bool has_formula(const struct symbol *symbol)
{
    return symbol->kind == SYMBOL_CONSTANT || symbol->kind == SYMBOL_INTERMEDIATE ||
           symbol->kind == SYMBOL_FUNCTION;
}

/* Continues with the symbol on top of the stack; false: out of memory. */
static bool go_on(struct reading *reading, struct visits *visits)
{
    struct visit *visit = &visits->stack.item[visits->stack.n - 1];
    struct symbol *symbol = &reading->symbols.item[visit->symbol];
    static const struct formula nothing;
    const struct formula *formula =
        symbol->formula == NONE ? &nothing : &reading->formulas.item[symbol->formula];
    for (; !(formula->failed) && visit->next < formula->n; visit->next++) {
        const struct instruction *code = &reading->code.item[formula->first + visit->next];
        if (code->kind == CODE_TIME)
            symbol->is_constant = false;
        if (code->kind != CODE_NAME && code->kind != CODE_CALL)
            continue;
        const struct symbol *used = &reading->symbols.item[code->symbol];
        if (has_formula(used) && used->mark == MARK_NEW)
            return begin_visit(reading, visits, code->symbol);
        if (has_formula(used) && used->mark == MARK_OPEN)
            lead_back(reading, visits, used, code->offset);
        inherit(reading, symbol, code->symbol);
    }
    return end_visit(reading, visits);
}

void resolve_order(struct reading *reading)
{
    struct visits visits = {{0}};
    bool good = true;
    for (uint32_t i = 0; good && i < reading->symbols.n; i++) {
        const struct symbol *symbol = &reading->symbols.item[i];
        if (!has_formula(symbol) || symbol->mark != MARK_NEW)
            continue;
        good = begin_visit(reading, &visits, i);
        while (good && visits.stack.n > 0)
            good = go_on(reading, &visits);
    }
    free(visits.stack.item);
}

/* Checks a name in a formula of constants. */
static void check_constant_name(struct reading *reading, struct formula *formula,
                                const struct instruction *code)
{
    const struct symbol *symbol =
        code->kind == CODE_TIME ? NULL : &reading->symbols.item[code->symbol];
    const char *hint = "";
    if (symbol && (symbol->failed || symbol->kind == SYMBOL_CONSTANT ||
                   (symbol->kind == SYMBOL_FUNCTION && symbol->is_constant)))
        return;
    if (symbol && symbol->kind == SYMBOL_INTERMEDIATE)
        hint = symbol->is_constant ? ": make it a constant, `constant NAME = ...`" : "";
    struct span at = message_token_at(&reading->source, code->offset);
    message_fault(&reading->source, at,
                  "`%.*s` is %s: only numbers and constants are allowed here%s",
                  SPAN_ARGUMENTS(reading, at), symbol ? symbol_kind_name(symbol->kind) : "the time",
                  hint);
    formula->failed = true;
}

static void check_initial_name(struct reading *reading, struct formula *formula,
                               const struct instruction *code)
{
    const struct symbol *symbol = &reading->symbols.item[code->symbol];
    struct span at = {code->offset, symbol->name.length};
    if (symbol->failed || (symbol->kind != SYMBOL_STATE && symbol->state == NONE))
        return;
    if (symbol->kind == SYMBOL_STATE)
        message_fault(&reading->source, at,
                      "`%.*s` is a state: an initial value may depend on parameters, covariates, "
                      "constants and time only",
                      SPAN_ARGUMENTS(reading, at));
    else
        message_fault(&reading->source, at,
                      "`%.*s` depends on the state `%.*s`: an initial value may depend on "
                      "parameters, covariates, constants and time only",
                      SPAN_ARGUMENTS(reading, at),
                      SPAN_ARGUMENTS(reading, reading->symbols.item[symbol->state].name));
    formula->failed = true;
}

void resolve_roles(struct reading *reading)
{
    for (uint32_t i = 0; i < reading->formulas.n; i++) {
        struct formula *formula = &reading->formulas.item[i];
        for (uint32_t k = 0; !formula->failed && k < formula->n; k++) {
            const struct instruction *code = &reading->code.item[formula->first + k];
            bool is_name = code->kind == CODE_NAME || code->kind == CODE_CALL;
            if (formula->role >= ROLE_CONSTANT && (is_name || code->kind == CODE_TIME))
                check_constant_name(reading, formula, code);
            else if (formula->role == ROLE_INITIAL && is_name)
                check_initial_name(reading, formula, code);
        }
    }
    for (uint32_t i = 0; i < reading->order.n; i++) { /* constants that depend on something else */
        struct symbol *symbol = &reading->symbols.item[reading->order.item[i]];
        if (symbol->kind == SYMBOL_CONSTANT && symbol->formula != NONE)
            symbol->failed |= reading->formulas.item[symbol->formula].failed;
    }
}

struct marking {
    LIST(uint32_t) stack;
    bool derivative;
};

static void mark_formula(struct reading *reading, struct marking *marking, uint32_t which)
{
    if (which == NONE)
        return;
    const struct formula *formula = &reading->formulas.item[which];
    for (uint32_t k = 0; k < formula->n; k++) {
        const struct instruction *code = &reading->code.item[formula->first + k];
        if (code->kind != CODE_NAME && code->kind != CODE_CALL)
            continue;
        struct symbol *symbol = &reading->symbols.item[code->symbol];
        bool *mark = marking->derivative ? &symbol->in_derivative : &symbol->used;
        if (*mark)
            continue;
        *mark = true;
        uint32_t *waiting =
            has_formula(symbol) ? list_add(reading, &marking->stack, READING_MAX_SYMBOL) : NULL;
        if (waiting)
            *waiting = code->symbol;
    }
}

static void mark_below(struct reading *reading, struct marking *marking)
{
    while (marking->stack.n > 0)
        mark_formula(reading, marking,
                     reading->symbols.item[marking->stack.item[--marking->stack.n]].formula);
}

void resolve_use(struct reading *reading)
{
    struct marking marking = {.derivative = true};
    for (uint32_t i = 0; i < reading->states.n; i++)
        mark_formula(reading, &marking, reading->symbols.item[reading->states.item[i]].formula);
    mark_below(reading, &marking);
    marking.derivative = false;
    for (uint32_t i = 0; i < reading->observables.n; i++) {
        struct symbol *symbol = &reading->symbols.item[reading->observables.item[i].symbol];
        symbol->used = true;
        if (has_formula(symbol))
            mark_formula(reading, &marking, symbol->formula);
    }
    for (uint32_t i = 0; i < reading->formulas.n; i++) { /* a formula with a role is a result */
        enum formula_role role = reading->formulas.item[i].role;
        if (role != ROLE_VALUE && role != ROLE_FUNCTION && role != ROLE_CONSTANT)
            mark_formula(reading, &marking, i);
    }
    mark_below(reading, &marking);
    free(marking.stack.item);
}
