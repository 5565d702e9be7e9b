/* The model text of a PEtab problem: SBML with what conditions and parameters ask for, and
 * events for conditions that change states.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "petab/lower.h"

#include "base/words.h"
#include "model/text/token.h"

#include <string.h>

const char *lower_name(struct lowering *it, const char *id)
{
    enum { ROOM = 12 }; /* for a number */
    bool is_new = false, is_long = strlen(id) > TOKEN_MAX_NAME;
    const char *name = is_long ? petab_format(it->reader, "%.*s_1", TOKEN_MAX_NAME - ROOM, id) : id;
    for (unsigned k = 2;; k++) {
        if (!token_reserved(name, strlen(name)) && (name == id || !sbml_find(&it->plain, name))) {
            petab_key(it->reader, &it->taken, name, &is_new);
            if (is_new)
                return name;
        }
        name = is_long ? petab_format(it->reader, "%.*s_%u", TOKEN_MAX_NAME - ROOM, id, k)
                       : petab_format(it->reader, "%s_", name);
    }
}

static void add_request(struct lowering *it, struct sbml_options *options, const char *id,
                        enum sbml_role role, bool or_file, bool is_changed, double value)
{
    struct sbml_request *request = (struct sbml_request *)options->request;
    char number[NUMBER_SIZE];
    size_t i = 0;
    while (i < options->n_request && strcmp(request[i].id, id))
        i++;
    bool is_new = i == options->n_request;
    if (is_new) {
        options->n_request++;
        request[i] =
            (struct sbml_request){.id = id,
                                  .role = role,
                                  .attributes = isnan(value)
                                                    ? NULL
                                                    : petab_format(it->reader, "= %s",
                                                                   number_text(number, value))};
    }
    request[i].or_file = request[i].or_file || (or_file && is_new);
    request[i].is_changed = request[i].is_changed || is_changed;
}

static void own_parameter(struct lowering *it, const char **name, const char *id, double value)
{
    char number[NUMBER_SIZE];
    *name = lower_name(it, id);
    petab_put(&it->text, "parameter %s = %s\n", *name, number_text(number, value));
}

/* Names that only PEtab knows are put into the text first, so that SBML's ids avoid them. */
static void add_own(struct lowering *it)
{
    const struct petab_problem *problem = it->problem;
    petab_put(&it->text, "\n# PEtab\n");
    for (size_t i = 0; i < problem->n_parameter; i++)
        if (!sbml_find(&it->plain, lower_sbml_id(it, problem->parameter[i].id)))
            own_parameter(it, &it->parameter_name[i], problem->parameter[i].id,
                          problem->parameter[i].nominal);
    for (struct lower_target *target = it->target; target < it->target + it->n_target; target++) {
        size_t by = petab_find(&problem->parameters, target->id);
        if (!target->plain && by != SIZE_MAX)
            target->name = it->parameter_name[by];
        else if (!target->plain)
            own_parameter(it, &target->name, target->id, 0);
    }
}

void lower_translate(struct lowering *it)
{
    const struct petab_problem *problem = it->problem;
    struct sbml_options options = {.constants = SBML_AS_IS, .without_observables = true};
    options.request =
        petab_alloc(it->reader, problem->n_parameter + it->n_target, sizeof *options.request);
    it->parameter_name = petab_alloc(it->reader, problem->n_parameter, sizeof *it->parameter_name);
    it->text.reader = it->reader;
    add_own(it);
    for (size_t i = 0; i < problem->n_parameter; i++)
        if (!it->parameter_name[i])
            add_request(it, &options, lower_sbml_id(it, problem->parameter[i].id),
                        SBML_AS_PARAMETER, false, false, problem->parameter[i].nominal);
    for (struct lower_target *target = it->target; target < it->target + it->n_target; target++)
        if (target->plain)
            add_request(it, &options, target->sbml_id,
                        target->changes && !target->is_initial ? SBML_AS_STATE : SBML_AS_PARAMETER,
                        target->is_initial && target->n_given < it->n_run, target->changes, NAN);
    options.n_taken = it->taken.n;
    options.taken = it->taken.key;
    if (sbml_translate(&it->model, problem->files.list[PETAB_MODEL].path[0], &options,
                       &it->reader->error))
        petab_leave_with(it->reader);
    for (size_t i = 0; i < problem->n_parameter; i++)
        if (!it->parameter_name[i])
            it->parameter_name[i] =
                sbml_find(&it->model, lower_sbml_id(it, problem->parameter[i].id))->initial;
    for (struct lower_target *target = it->target; target < it->target + it->n_target; target++) {
        target->model = sbml_find(&it->model, target->sbml_id);
        if (target->model) {
            target->name = target->model->initial;
            target->is_given = target->model->is_given;
        }
    }
    bool is_new;
    for (size_t i = 0; i < it->model.n_name; i++) {
        const struct sbml_name *name = &it->model.names[i];
        const char *const own[] = {name->name, name->initial, name->is_given, name->state};
        for (int k = 0; k < 4; k++)
            if (own[k])
                petab_key(it->reader, &it->taken, own[k], &is_new);
    }
    for (size_t i = 0; i < it->model.n_note; i++)
        petab_note(it->reader, "%s", it->model.note[i]);
}

struct context {
    struct lowering *it;
    struct petab_place place;
    const struct lower_variant *variant;
    bool is_noise;
};

static const char *name_of(void *given, const char *symbol);

/* The formula as part of another one. */
static const char *text_of(struct context *context, const struct postfix *formula)
{
    struct petab_text text = {.reader = context->it->reader};
    petab_put(&text, formula->n > 1 ? "(" : "");
    petab_formula_put(&text, formula, name_of, context);
    petab_put(&text, formula->n > 1 ? ")" : "");
    return text.text;
}

/* What a placeholder of the observable stands for; NULL: it is none. */
static const char *placeholder_text(struct context *context, const char *symbol)
{
    const struct lower_variant *variant = context->variant;
    const struct petab_observable *observable =
        &context->it->problem->observable[variant->observable];
    const struct lower_observable *plan = &context->it->observable[variant->observable];
    for (size_t k = 0; k < observable->n_placeholder; k++)
        if (!strcmp(symbol, observable->placeholder[k])) {
            struct context outside = {context->it, context->place, NULL, false};
            return plan->filling[k] == FILL_EXPERIMENT ? plan->parameter[k]
                                                       : text_of(&outside, variant->override[k]);
        }
    return NULL;
}

static const char *observable_text(struct context *context, size_t i)
{
    const struct lower_variant *variant = context->variant;
    if (variant && variant->observable == i && context->is_noise)
        return variant->name;
    struct lower_observable *plan = &context->it->observable[i];
    if (plan->is_open) {
        petab_fault(context->it->reader, context->place,
                    "observables depend on each other in a circle");
        return "0";
    }
    plan->is_open = true;
    const char *text = text_of(context, context->it->problem->observable[i].formula);
    plan->is_open = false;
    return text;
}

static const char *name_of(void *given, const char *symbol)
{
    struct context *context = given;
    struct lowering *it = context->it;
    const struct petab_problem *problem = it->problem;
    const char *text = context->variant ? placeholder_text(context, symbol) : NULL;
    size_t i = petab_find(&problem->parameters, symbol);
    if (text)
        return text;
    const struct sbml_name *name = sbml_find(&it->model, lower_sbml_id(it, symbol));
    if (name && name->kind < SBML_IS_FUNCTION)
        return name->name;
    if (i != SIZE_MAX)
        return it->parameter_name[i];
    const struct lower_target *target = lower_find_target(it, symbol);
    if (target && target->name)
        return target->name;
    if (!strcmp(symbol, "time"))
        return "t";
    if (context->variant && (i = petab_find(&problem->observables, symbol)) != SIZE_MAX)
        return observable_text(context, i);
    petab_fault(it->reader, context->place,
                "'%.300s' is not known: it is neither in the model nor a parameter%s", symbol,
                petab_hint(it->reader, &problem->parameters, symbol));
    return "0";
}

void lower_put(struct lowering *it, struct petab_text *out, const struct postfix *formula,
               struct petab_place place, const struct lower_variant *variant, bool is_noise)
{
    struct context context = {it, place, variant, is_noise};
    petab_formula_put(out, formula, name_of, &context);
}

/* One assignment of an event, in terms of ids. */
struct assignment {
    const struct sbml_name *model;
    const char *value;
    struct petab_place place;
};

/* Whether a rule of the model computes what has this name in the text. */
static bool is_computed(const struct lowering *it, const char *name)
{
    size_t i = 0;
    while (i < it->model.n_name && strcmp(it->model.names[i].name, name))
        i++;
    return i < it->model.n_name && it->model.names[i].kind == SBML_IS_INTERMEDIATE;
}

/* Whether one of them is no concentration in a compartment that changes. */
static bool sets_others(const struct assignment *assignment, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any = any || !assignment[i].model->factor;
    return any;
}

static const char *new_value(const struct assignment *assignment, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(assignment[i].model->name, name))
            return assignment[i].value;
    return NULL;
}

/* The states: amounts follow their compartment, in whose terms values are concentrations; those
 * of species that nothing assigns keep their concentrations when the compartment changes. */
static const char *assignments_text(struct lowering *it, const struct assignment *assignment,
                                    size_t n)
{
    struct petab_text text = {.reader = it->reader};
    for (size_t i = 0; i < n; i++) {
        const char *factor = assignment[i].model->factor,
                   *other = factor ? new_value(assignment, n, factor) : NULL;
        if (factor && !other && is_computed(it, factor) && sets_others(assignment, n))
            petab_fault(it->reader, assignment[i].place,
                        "the condition sets a concentration and other things, and a rule "
                        "computes the size of its compartment `%.300s`, perhaps from them",
                        factor);
        petab_put(&text, "%s%s = ", i ? ", " : "", assignment[i].model->state);
        petab_put(&text, factor ? "(%s)*(%s)" : "%s", assignment[i].value, other ? other : factor);
    }
    for (size_t k = 0; k < it->model.n_name; k++) {
        const struct sbml_name *name = &it->model.names[k];
        const char *other =
            name->factor && name->state ? new_value(assignment, n, name->factor) : NULL;
        if (other && !new_value(assignment, n, name->name))
            petab_put(&text, ", %s = %s*(%s)", name->state, name->name, other);
    }
    return text.text;
}

size_t lower_event_of(struct lowering *it, const struct lower_run *run, size_t p,
                      struct lower_uses *uses)
{
    const struct petab_period *period = &run->period[p];
    struct assignment *assignment = NULL;
    size_t n = 0, room = 0, by;
    double number;
    for (size_t c = 0; c < period->n_condition; c++) {
        const struct petab_condition *condition = &it->problem->condition[period->condition[c]];
        for (size_t k = 0; k < condition->n; k++) {
            const struct petab_change *change = &condition->change[k];
            struct lower_target *target = lower_find_target(it, change->target);
            if (!target->changes || !target->model ||
                (p == 0 && target->is_initial && run->steady == SIZE_MAX))
                continue;
            struct petab_text value = {.reader = it->reader};
            bool is_set = p == 0 && lower_is_plain(it, change->value, &by, &number);
            if (is_set && !target->set)
                own_parameter(it, &target->set, petab_format(it->reader, "%s_set", target->id), 0);
            if (is_set)
                petab_put(&value, "%s", target->set);
            else
                lower_put(it, &value, change->value, change->place, NULL, false);
            if (new_value(assignment, n, target->model->name))
                petab_fault(it->reader, change->place,
                            "conditions at the same time change '%.300s' twice", target->id);
            petab_grow(it->reader, &assignment, n, &room, sizeof *assignment);
            assignment[n++] = (struct assignment){target->model, value.text, change->place};
        }
    }
    if (!n)
        return SIZE_MAX;
    const char *text = assignments_text(it, assignment, n);
    bool is_new;
    size_t own = petab_key(it->reader, &uses->texts, text, &is_new);
    petab_grow(it->reader, &uses->count, own, &uses->room, sizeof *uses->count);
    /* an event happens once in an experiment */
    uses->count[own] = is_new ? 1 : uses->count[own] + 1;
    size_t event = petab_key(it->reader, &it->events,
                             petab_format(it->reader, "%zu %s", uses->count[own], text), &is_new);
    if (is_new) {
        petab_grow(it->reader, &it->event, it->n_event, &it->room_event, sizeof *it->event);
        struct lower_event *made = &it->event[it->n_event++];
        const char *id = it->problem->condition[period->condition[0]].id;
        made->name = lower_name(it, uses->count[own] == 1 ? petab_format(it->reader, "set_%s", id)
                                                          : petab_format(it->reader, "set_%s_%zu",
                                                                         id, uses->count[own]));
        made->time = lower_name(it, petab_format(it->reader, "time_of_%s", made->name));
        petab_put(&it->text, "covariate %s\nevent %s at %s before others: %s\n", made->time,
                  made->name, made->time, text);
    }
    return event;
}
