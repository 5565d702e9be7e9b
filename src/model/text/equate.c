/* Turns what was read into struct equations: values, checked numbers, copies of names.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/words.h"
#include "model/text/resolve.h"

#include "model/graph/derive.h"
#include "model/graph/equations.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <stiffit/model.h>
#include <string.h>

struct equating {
    struct reading *reading;
    struct machine *machine;
    struct equations *equations;
};

/* A zeroed array of n items that lives as long as the equations. */
static void *array(struct equating *self, size_t n, size_t size)
{
    void *items = arena_calloc(&self->equations->arena, n ? n : 1, size);
    if (!items)
        self->reading->source.no_memory = true;
    return items;
}

/* NULL for an empty span. */
static char *copy(struct equating *self, struct span span)
{
    char *text = span.length ? array(self, (size_t)span.length + 1, 1) : NULL;
    return text ? memcpy(text, self->reading->source.text + span.offset, span.length) : NULL;
}

/* The number of a formula of constants; NAN, after a message, if it has none. */
static double number(struct equating *self, uint32_t which, double otherwise)
{
    if (which == NONE)
        return otherwise;
    node value = evaluate_formula(self->machine, which, false);
    if (value == NODE_NONE)
        return NAN;
    const struct graph_node *constant = graph_node(self->equations->graph, value);
    const struct formula *formula = &self->reading->formulas.item[which];
    bool is_bound = formula->role == ROLE_LOWER || formula->role == ROLE_UPPER;
    bool stated_inf =
        is_bound && formula->n == 1 && self->reading->code.item[formula->first].kind == CODE_NUMBER;
    if (constant->op != GRAPH_CONSTANT || isnan(constant->value) ||
        (isinf(constant->value) && !stated_inf)) {
        message_fault(&self->reading->source,
                      message_token_at(&self->reading->source, formula->offset),
                      "the value of this expression is not a finite number");
        return NAN;
    }
    return constant->value;
}

static void check_bounds(struct equating *self, const struct stated_parameter *stated,
                         const struct equation_parameter *parameter)
{
    struct reading *reading = self->reading;
    struct source *source = &reading->source;
    struct span at = reading->symbols.item[stated->symbol].place;
    bool is_log = strcmp(parameter->scale, "lin") != 0;
    double start = parameter->start, lower = parameter->lower, upper = parameter->upper;
    if (isnan(start) || isnan(lower) || isnan(upper))
        return;
    if (lower > upper || lower == INFINITY || upper == -INFINITY)
        message_fault(source, at,
                      "the bounds [%g, %g] of `%s` hold no value: the lower one comes first", lower,
                      upper, parameter->name);
    else if (is_log && start <= 0 && !(lower > 0))
        message_fault(source, at, "`%s` starts at %g, but on scale %s it must be above 0",
                      parameter->name, start, parameter->scale);
    else if (is_log && (lower < 0 || upper <= 0))
        message_fault(source, at,
                      "on scale %s the bounds of `%s` must not be below 0, and these are [%g, %g]",
                      parameter->scale, parameter->name, lower, upper);
    else if (start < lower || start > upper)
        message_warning(source, at,
                        "`%s` starts at %.10g, outside its bounds [%.10g, %.10g]: fits begin at "
                        "%.10g",
                        parameter->name, start, lower, upper, start < lower ? lower : upper);
}

/* A bound of a uniform prior on the natural scale. */
static double natural(const struct equation_parameter *parameter, double x)
{
    if (!parameter->prior.on_optimizer || strcmp(parameter->scale, "lin") == 0)
        return x;
    return strcmp(parameter->scale, "log10") == 0 ? pow(10, x) : exp(x);
}

static void check_uniform(struct source *source, struct span at,
                          const struct equation_parameter *parameter)
{
    const struct equation_prior *prior = &parameter->prior;
    double lower = natural(parameter, prior->first), upper = natural(parameter, prior->second);
    if (!(prior->first < prior->second))
        message_fault(source, at,
                      "the ends %g and %g of the uniform prior of `%s` hold no value: the lower "
                      "one comes first",
                      prior->first, prior->second, parameter->name);
    else if (upper <= parameter->lower || lower >= parameter->upper)
        message_fault(source, at,
                      "the uniform prior of `%s` on [%g, %g] lies outside its bounds [%g, %g]",
                      parameter->name, lower, upper, parameter->lower, parameter->upper);
    else if (parameter->start < lower || parameter->start > upper)
        message_warning(source, at,
                        "`%s` starts at %.10g, outside its uniform prior on [%.10g, %.10g]: fits "
                        "begin at %.10g",
                        parameter->name, parameter->start, lower, upper,
                        parameter->start < lower ? lower : upper);
}

/* Checks the prior against start, bounds and scale: one that cannot be used is a fault. */
static void check_prior(struct source *source, struct span at,
                        const struct equation_parameter *parameter)
{
    const struct equation_prior *prior = &parameter->prior;
    if (!prior->kind || isnan(prior->first) || isnan(prior->second) || isnan(parameter->start))
        return;
    bool is_log_normal = strcmp(prior->kind, "log-normal") == 0;
    if (strcmp(prior->kind, "uniform") == 0)
        check_uniform(source, at, parameter);
    else if (!(prior->second > 0))
        message_fault(source, at,
                      "the second number of the prior of `%s` is its width and must be above 0, "
                      "and this one is %g",
                      parameter->name, prior->second);
    else if (is_log_normal && prior->on_optimizer && strcmp(parameter->scale, "lin") != 0)
        message_fault(source, at,
                      "on scale %s the optimiser sees a logarithm already, which cannot be "
                      "log-normal: leave out "
                      "`on optimizer`, or write `normal`",
                      parameter->scale);
    else if (is_log_normal && parameter->start <= 0)
        message_fault(source, at,
                      "`%s` starts at %g, but with its lognormal prior it must be above 0",
                      parameter->name, parameter->start);
}

static void add_parameters(struct equating *self)
{
    struct reading *reading = self->reading;
    struct equations *equations = self->equations;
    equations->parameter = array(self, reading->parameters.n, sizeof *equations->parameter);
    for (uint32_t i = 0; equations->parameter && i < reading->parameters.n; i++) {
        const struct stated_parameter *stated = &reading->parameters.item[i];
        const struct symbol *symbol = &reading->symbols.item[stated->symbol];
        struct equation_parameter *parameter = &equations->parameter[i];
        equations->n_parameter = i + 1;
        parameter->name = copy(self, symbol->name);
        parameter->unit = copy(self, stated->unit);
        parameter->scale = stated->scale ? stated->scale : "lin";
        parameter->line = symbol->line;
        parameter->start = number(self, stated->start, NAN);
        parameter->lower = number(self, stated->lower, parameter->scale[1] == 'o' ? 0 : -INFINITY);
        parameter->upper = number(self, stated->upper, INFINITY);
        parameter->prior = (struct equation_prior){.kind = stated->prior.kind,
                                                   .on_optimizer = stated->prior.on_optimizer};
        if (stated->prior.kind) {
            parameter->prior.first = number(self, stated->prior.first, NAN);
            parameter->prior.second = number(self, stated->prior.second, NAN);
        }
        if (parameter->name) {
            check_bounds(self, stated, parameter);
            check_prior(&reading->source, stated->prior.place, parameter);
        }
    }
}

static void add_covariates(struct equating *self)
{
    struct reading *reading = self->reading;
    struct equations *equations = self->equations;
    equations->covariate = array(self, reading->covariates.n, sizeof *equations->covariate);
    for (uint32_t i = 0; equations->covariate && i < reading->covariates.n; i++) {
        const struct symbol *symbol = &reading->symbols.item[reading->covariates.item[i].symbol];
        equations->n_covariate = i + 1;
        equations->covariate[i] = (struct equation_covariate){
            copy(self, symbol->name), copy(self, reading->covariates.item[i].unit), symbol->line};
    }
}

static void add_states(struct equating *self)
{
    struct reading *reading = self->reading;
    struct equations *equations = self->equations;
    equations->state = array(self, reading->states.n, sizeof *equations->state);
    for (uint32_t i = 0; equations->state && i < reading->states.n; i++) {
        const struct symbol *symbol = &reading->symbols.item[reading->states.item[i]];
        struct equation_state *state = &equations->state[i];
        equations->n_state = i + 1;
        state->name = copy(self, symbol->name);
        state->rhs_line = symbol->line;
        state->rhs = evaluate_formula(self->machine, symbol->formula, true);
        if (symbol->initial == NONE) {
            message_fault(&reading->source, symbol->place,
                          "the state `%.*s` has no initial value: add `%.*s(0) = ...`",
                          SPAN_ARGUMENTS(reading, symbol->name),
                          SPAN_ARGUMENTS(reading, symbol->name));
            continue;
        }
        const struct stated_initial *initial = &reading->initials.item[symbol->initial];
        state->unit = copy(self, initial->unit);
        state->initial_line = initial->line;
        state->initial = evaluate_formula(self->machine, initial->formula, false);
    }
}

static void check_sd(struct equating *self, const struct stated_observable *stated, node sd)
{
    if (sd == NODE_NONE)
        return;
    const struct graph_node *constant = graph_node(self->equations->graph, sd);
    if (constant->op == GRAPH_CONSTANT && !(constant->value > 0 && isfinite(constant->value)))
        message_fault(&self->reading->source,
                      message_token_at(&self->reading->source,
                                       self->reading->formulas.item[stated->sd].offset),
                      "a standard deviation must be above 0 and finite, and this one is %g",
                      constant->value);
}

/* Finds names observed twice; `seen` has a bit for each symbol. */
static void check_observed_twice(struct equating *self, const uint32_t *seen,
                                 const struct stated_observable *stated)
{
    uint32_t line = seen[stated->symbol];
    if (line)
        message_fault(&self->reading->source, stated->place,
                      "`%.*s` is observed twice, first in line %u",
                      SPAN_ARGUMENTS(self->reading, stated->place), (unsigned)line);
}

static void add_observables(struct equating *self)
{
    struct reading *reading = self->reading;
    struct equations *equations = self->equations;
    uint32_t *seen = array(self, reading->symbols.n, sizeof *seen);
    equations->observable = array(self, reading->observables.n, sizeof *equations->observable);
    for (uint32_t i = 0; seen && equations->observable && i < reading->observables.n; i++) {
        const struct stated_observable *stated = &reading->observables.item[i];
        const struct symbol *symbol = &reading->symbols.item[stated->symbol];
        struct equation_observable *observable = &equations->observable[i];
        equations->n_observable = i + 1;
        check_observed_twice(self, seen, stated);
        seen[stated->symbol] = stated->line;
        struct span unit = stated->unit;
        if (!unit.length && symbol->kind == SYMBOL_STATE && symbol->initial != NONE)
            unit = reading->initials.item[symbol->initial].unit;
        observable->name = copy(self, symbol->name);
        observable->unit = copy(self, unit);
        observable->line = stated->line;
        observable->value = symbol->failed ? NODE_NONE : symbol->value;
        observable->error = stated->error;
        observable->noise = evaluate_formula(self->machine, stated->sd, false);
        check_sd(self, stated, observable->noise);
    }
}

static void add_inputs(struct equating *self)
{
    struct reading *reading = self->reading;
    struct equations *equations = self->equations;
    equations->input = array(self, reading->inputs.n, sizeof *equations->input);
    for (uint32_t i = 0; equations->input && i < reading->inputs.n; i++) {
        const struct stated_covariate *stated = &reading->inputs.item[i];
        const struct symbol *symbol = &reading->symbols.item[stated->symbol];
        equations->n_input = i + 1;
        equations->input[i] =
            (struct equation_input){copy(self, symbol->name), copy(self, stated->unit),
                                    stated->is_linear, symbol->line};
    }
}

/* What a formula may not depend on: leaves. */
enum { ON_STATE = 1 << GRAPH_STATE, ON_INPUT = 1 << GRAPH_INPUT, ON_TIME = 1 << GRAPH_TIME };

/* The value of a formula; NODE_NONE, after a message, if it depends on what it must not. */
static node value_free_of(struct equating *self, uint32_t which, unsigned leaves, const char *what)
{
    static const struct { unsigned leaf; const char *name; } names[] = {
        {ON_STATE, "a state"}, {ON_INPUT, "an input"}, {ON_TIME, "time"}};
    node value = evaluate_formula(self->machine, which, false);
    unsigned found = value == NODE_NONE ? 0 : evaluate_dependence(self->machine, value) & leaves;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (found & names[i].leaf) {
            message_fault(&self->reading->source,
                          message_token_at(&self->reading->source,
                                           self->reading->formulas.item[which].offset),
                          "this depends on %s: %s may depend on parameters, covariates%s constants "
                          "only",
                          names[i].name, what, leaves & ON_TIME ? " and" : ", inputs, time and");
            return NODE_NONE;
        }
    return value;
}

static void add_dosings(struct equating *self)
{
    struct reading *reading = self->reading;
    struct equations *equations = self->equations;
    uint32_t *seen = array(self, N_DOSING * (size_t)reading->states.n, sizeof *seen); /* lines */
    equations->dosing = array(self, reading->dosings.n, sizeof *equations->dosing);
    for (uint32_t i = 0; seen && equations->dosing && i < reading->dosings.n; i++) {
        const struct stated_dosing *stated = &reading->dosings.item[i];
        const struct symbol *symbol = &reading->symbols.item[stated->symbol];
        if (symbol->kind != SYMBOL_STATE)
            continue;
        uint32_t *lines = &seen[N_DOSING * symbol->index], *line = &lines[stated->kind];
        bool is_infusion = stated->kind == DOSING_RATE || stated->kind == DOSING_DURATION;
        uint32_t other =
            is_infusion ? lines[stated->kind == DOSING_RATE ? DOSING_DURATION : DOSING_RATE] : 0;
        char what[40];
        snprintf(what, sizeof what, "a %s", dosing_words[stated->kind].noun);
        if (*line)
            message_fault(&reading->source, stated->place,
                          "the %s of `%.*s` is given twice, first in line %u",
                          dosing_words[stated->kind].noun, SPAN_ARGUMENTS(reading, stated->place),
                          (unsigned)*line);
        if (other)
            message_fault(&reading->source, stated->place,
                          "`%.*s` has both a rate and a duration of infusions, the other one "
                          "in line %u: each follows from the other",
                          SPAN_ARGUMENTS(reading, stated->place), (unsigned)other);
        *line = stated->line;
        node value = value_free_of(self, stated->formula, ON_STATE, what);
        equations->dosing[equations->n_dosing++] =
            (struct equation_dosing){symbol->index, stated->line, stated->kind, value};
    }
}

/* `seen`: for each state 1 + the last event that assigns it. */
static void add_assignments(struct equating *self, uint32_t i_event,
                            const struct stated_event *stated, uint32_t *seen)
{
    struct reading *reading = self->reading;
    struct equation_event *event = &self->equations->event[i_event];
    event->assignment = array(self, stated->n, sizeof *event->assignment);
    for (uint32_t k = stated->first; event->assignment && k < stated->first + stated->n; k++) {
        const struct stated_assignment *read = &reading->assignments.item[k];
        const struct symbol *symbol = &reading->symbols.item[read->symbol];
        if (symbol->kind != SYMBOL_STATE)
            continue;
        if (seen[symbol->index] == i_event + 1)
            message_fault(&reading->source, read->place, "the event assigns `%.*s` twice",
                          SPAN_ARGUMENTS(reading, read->place));
        seen[symbol->index] = i_event + 1;
        node value = evaluate_formula(self->machine, read->formula, false);
        event->assignment[event->n_assignment++] =
            (struct equation_assignment){symbol->index, read->line, value};
    }
}

static bool is_truth(const struct equating *self, node value)
{
    return graph_operations[graph_node(self->equations->graph, value)->op].facts & IS_TRUTH;
}

/* `t > X` with an X that does not move: at that time. It is simpler, and happens at t0 too. */
static void use_time(struct equating *self, struct equation_event *event)
{
    const struct graph_node *it = graph_node(self->equations->graph, event->condition);
    bool is_later =
        it->op == GRAPH_LESS && graph_node(self->equations->graph, it->arg[1])->op == GRAPH_TIME;
    if (!is_later || event->kind & (STIFFIT_EVENT_INITIALLY_FALSE | STIFFIT_EVENT_CAN_LAPSE) ||
        evaluate_dependence(self->machine, it->arg[0]) & (ON_STATE | ON_INPUT | ON_TIME))
        return;
    event->kind |= STIFFIT_EVENT_TIMED;
    event->condition = event->when = it->arg[0];
}

/* A condition of constants, as of a switch that is off, never becomes true; or it does at t0,
 * and only then. Other numbers are times for which `at` was meant. Returns a condition of time. */
static node without_constant(struct equating *self, const struct stated_event *stated, node when)
{
    struct graph *graph = self->equations->graph;
    const struct graph_node *it = graph_node(graph, when);
    bool is_true = it->op == GRAPH_CONSTANT && it->value == 1;
    if (!is_true && !(it->op == GRAPH_CONSTANT && it->value == 0))
        return when;
    bool is_start = is_true && stated->kind & STIFFIT_EVENT_INITIALLY_FALSE;
    message_warning(&self->reading->source,
                    message_token_at(&self->reading->source,
                                     self->reading->formulas.item[stated->when].offset),
                    "this condition never changes: the event %s",
                    is_start ? "happens at the initial time" : "never happens");
    return graph_binary(graph, GRAPH_LESS, graph_constant(graph, is_start ? -1e300 : 1e300),
                        graph_leaf(graph, GRAPH_TIME, 0));
}

static void add_events(struct equating *self)
{
    struct reading *reading = self->reading;
    struct equations *equations = self->equations;
    uint32_t n = reading->events.n, *seen = array(self, reading->states.n, sizeof *seen);
    node *trigger = array(self, n, sizeof *trigger), *condition = array(self, n, sizeof *condition);
    equations->event = array(self, n, sizeof *equations->event);
    for (uint32_t i = 0; seen && trigger && condition && equations->event && i < n; i++) {
        const struct stated_event *stated = &reading->events.item[i];
        const struct symbol *symbol = &reading->symbols.item[stated->symbol];
        struct equation_event *event = &equations->event[i];
        bool is_called = stated->when == NONE, is_timed = stated->kind & STIFFIT_EVENT_TIMED;
        *event = (struct equation_event){.name = copy(self, symbol->name),
                                         .kind = stated->kind,
                                         .line = stated->line};
        equations->n_event = i + 1;
        node when = is_called ? graph_constant(equations->graph,
                                               INFINITY) /* the data alone make it happen */
                              : evaluate_formula(self->machine, stated->when, false);
        if (when != NODE_NONE && is_timed && !is_called && is_truth(self, when))
            message_fault(&reading->source,
                          message_token_at(&reading->source,
                                           reading->formulas.item[stated->when].offset),
                          "a time follows `at`; with a condition the event is `event %s when ...`",
                          event->name);
        else if (when != NODE_NONE && is_timed && !is_called)
            when = value_free_of(self, stated->when, ON_STATE | ON_INPUT | ON_TIME,
                                 "the time of an event");
        else if (when != NODE_NONE && !is_timed)
            when = without_constant(self, stated, when);
        event->condition = event->when = condition[i] = when != NODE_NONE ? when : 0;
        event->delay = evaluate_formula(self->machine, stated->delay, false);
        event->priority = evaluate_formula(self->machine, stated->priority, false);
        add_assignments(self, i, stated, seen);
        if (!is_timed && when != NODE_NONE)
            use_time(self, event);
    }
    if (reading_is_over(reading) || reading->source.messages->n_error || !n)
        return;
    if (!timing_triggers(equations->graph, condition, n, trigger))
        reading->source.no_memory = true;
    for (uint32_t i = 0; i < n && !reading->source.no_memory; i++) {
        uint32_t when = reading->events.item[i].when;
        if (when == NONE)
            continue;
        struct span at = message_token_at(&reading->source, reading->formulas.item[when].offset);
        bool is_timed = equations->event[i].kind & STIFFIT_EVENT_TIMED;
        if (!is_timed && graph_node(equations->graph, condition[i])->op == GRAPH_CONSTANT)
            message_fault(&reading->source, at,
                          "this condition never changes, so the event never happens; a time "
                          "follows `at`");
        else if (!is_timed && trigger[i] == NODE_NONE)
            message_fault(&reading->source, at,
                          "an event needs a condition that compares with `<`, `<=`, `>` or `>=`; "
                          "these can be combined with `and`, `or` and `not`");
        else if (!is_timed)
            equations->event[i].when = trigger[i];
    }
}

static void add_intermediates(struct equating *self)
{
    struct reading *reading = self->reading;
    struct equations *equations = self->equations;
    equations->intermediate = array(self, reading->order.n, sizeof *equations->intermediate);
    for (uint32_t i = 0; equations->intermediate && i < reading->order.n; i++) {
        const struct symbol *symbol = &reading->symbols.item[reading->order.item[i]];
        if (symbol->kind != SYMBOL_FUNCTION)
            equations->intermediate[equations->n_intermediate++] = (struct equation_intermediate){
                copy(self, symbol->name), symbol->value, symbol->line};
    }
}

/* The file's name, without folder and ending, made a name of the language. */
static char *name_of_origin(struct equating *self, const char *origin)
{
    const char *base = words_file(origin);
    size_t n = strlen(base);
    if (n > 4 && !strcmp(base + n - 4, ".ode"))
        n -= 4;
    if (n > READING_SHOWN_NAME - 1)
        n = READING_SHOWN_NAME - 1;
    char *name = array(self, n + 8, 1);
    if (!name)
        return NULL;
    bool needs_first = n > 0 && base[0] >= '0' && base[0] <= '9';
    name[0] = '_';
    for (size_t i = 0; i < n; i++)
        name[needs_first + i] = token_is_name_byte(base[i], false) ? base[i] : '_';
    if (n == 0)
        memcpy(name, "model", 6);
    return name;
}

struct equations *equate(struct reading *reading, const char *origin)
{
    struct equating self = {.reading = reading, .equations = calloc(1, sizeof *self.equations)};
    struct equations *equations = self.equations;
    if (!equations) {
        reading->source.no_memory = true;
        return NULL;
    }
    equations->graph = graph_new();
    equations->origin = array(&self, strlen(origin) + 1, 1);
    if (equations->origin)
        strcpy(equations->origin, origin);
    if (equations->graph && equations->origin)
        self.machine = machine_new(reading, equations->graph);
    else
        reading->source.no_memory = true;
    if (self.machine) {
        evaluate_symbols(self.machine);
        equations->name =
            reading->name.length ? copy(&self, reading->name) : name_of_origin(&self, origin);
        equations->description = copy(&self, reading->description);
        equations->time_unit = copy(&self, reading->time_unit);
        equations->t0 = number(&self, reading->t0, 0);
        add_parameters(&self);
        add_covariates(&self);
        add_states(&self);
        add_inputs(&self);
        add_observables(&self);
        add_intermediates(&self);
        add_dosings(&self);
        add_events(&self);
    }
    machine_free(self.machine);
    return equations;
}
