/* Observables of the text: how placeholders are filled, and the statements.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "petab/lower.h"

#include "base/words.h"

#include <string.h>

/* Overrides are numbers or names of parameters. */
static bool is_same(const struct postfix *a, const struct postfix *b)
{
    const char *name = postfix_name(a), *other = postfix_name(b);
    return name && other ? !strcmp(name, other)
                   : postfix_is_number(a) && postfix_is_number(b) &&
                         postfix_value(a, NULL, NULL) == postfix_value(b, NULL, NULL);
}

static void see_other(void *context, const char *symbol)
{
    const struct petab_observable *observable = ((void **)context)[0];
    bool *any = ((void **)context)[1];
    bool found = false;
    for (size_t k = 0; k < observable->n_placeholder; k++)
        found = found || !strcmp(observable->placeholder[k], symbol);
    *any = *any || !found;
}

/* Whether the noise formula has no other symbols than its placeholders. */
static bool is_noise_closed(const struct petab_observable *observable)
{
    bool any = false;
    void *context[] = {(void *)observable, &any};
    postfix_names(observable->noise, see_other, context);
    return !any;
}

static void plan_observables(struct lowering *it)
{
    struct petab_problem *problem = it->problem;
    size_t by;
    double number;
    it->observable = petab_alloc(it->reader, problem->n_observable, sizeof *it->observable);
    for (size_t i = 0; i < problem->n_observable; i++) {
        struct lower_observable *plan = &it->observable[i];
        size_t n = problem->observable[i].n_placeholder;
        plan->filling = petab_alloc(it->reader, n, sizeof *plan->filling);
        plan->same = petab_alloc(it->reader, n, sizeof *plan->same);
        plan->parameter = petab_alloc(it->reader, n, sizeof *plan->parameter);
        plan->sigma_in_table = n > problem->observable[i].n_formula_placeholder &&
                               is_noise_closed(&problem->observable[i]);
    }
    /* the last override of each placeholder within the current experiment: rows of one need not
     * be adjacent */
    struct petab_keys seen = {.n = 0}, wrong = {.n = 0}; /* the same wrong name is reported once */
    const struct postfix **first = NULL;
    size_t room = 0;
    for (size_t r = 0; r < problem->n_measurement; r++) {
        const struct petab_measurement *row = &problem->measurement[r];
        const struct petab_observable *observable = &problem->observable[row->observable];
        struct lower_observable *plan = &it->observable[row->observable];
        for (size_t k = 0; k < observable->n_placeholder; k++) {
            const struct postfix *value = row->override[k];
            bool is_new;
            if (!lower_is_plain(it, value, &by, &number)) {
                const char *name = postfix_name(value);
                bool is_noise = k >= observable->n_formula_placeholder;
                struct petab_place place = {row->place.file, row->place.line,
                                            is_noise ? "noiseParameters" : "observableParameters"};
                petab_key(it->reader, &wrong,
                          petab_format(it->reader, "%d %s", is_noise, name ? name : ""), &is_new);
                if (!is_new)
                    continue;
                petab_fault(it->reader, place,
                            name ? "'%.300s' is neither a number nor in the table of parameters%s"
                                 : "%s%sa formula is neither a number nor a parameter",
                            name ? name : "",
                            name ? petab_hint(it->reader, &it->problem->parameters, name) : "");
                continue;
            }
            plan->sigma_in_table =
                plan->sigma_in_table && (k < observable->n_formula_placeholder || by == SIZE_MAX);
            if (!plan->same[k])
                plan->same[k] = value;
            if (plan->filling[k] == FILL_SAME && !is_same(plan->same[k], value))
                plan->filling[k] = FILL_EXPERIMENT;
            size_t number_of = petab_key(it->reader, &seen,
                                         petab_format(it->reader, "%zu %zu %zu", row->experiment,
                                                      row->observable, k),
                                         &is_new);
            petab_grow(it->reader, &first, number_of, &room, sizeof *first);
            if (is_new)
                first[number_of] = value;
            else if (!is_same(first[number_of], value))
                plan->filling[k] = FILL_VARIANT;
        }
    }
}

/* The observable of the text for a measurement. */
static size_t variant_of(struct lowering *it, const struct petab_measurement *row,
                         struct petab_keys *keys)
{
    const struct petab_observable *observable = &it->problem->observable[row->observable];
    const struct lower_observable *plan = &it->observable[row->observable];
    struct petab_text key = {.reader = it->reader};
    bool is_new;
    petab_put(&key, "%zu", row->observable);
    for (size_t k = 0; k < observable->n_placeholder; k++) {
        bool counts = !(plan->sigma_in_table && k >= observable->n_formula_placeholder);
        const char *name = postfix_name(row->override[k]);
        if (counts && plan->filling[k] == FILL_VARIANT && name)
            petab_put(&key, " %s", name);
        else if (counts && plan->filling[k] == FILL_VARIANT)
            petab_put(&key, " %.17g", postfix_value(row->override[k], NULL, NULL));
    }
    size_t number = petab_key(it->reader, keys, key.text, &is_new);
    if (is_new) {
        petab_grow(it->reader, &it->variant, number, &it->room_variant, sizeof *it->variant);
        it->n_variant = number + 1;
        size_t own = ++it->observable[row->observable].n_variant;
        const char *name = strchr(key.text, ' ')
                               ? petab_format(it->reader, "%s__%zu", observable->id, own)
                               : observable->id;
        it->variant[number] =
            (struct lower_variant){row->observable, row->override, lower_name(it, name)};
    }
    return number;
}

static void put_observable(struct lowering *it, const struct lower_variant *variant)
{
    static const struct { const char *petab, *text;
    } words[] = {{"normal", "normal"},
                 {"log-normal", "lognormal"},
                 {"laplace", "laplace"},
                 {"log-laplace", "loglaplace"}};
    const struct petab_observable *observable = &it->problem->observable[variant->observable];
    size_t word = 0;
    while (strcmp(words[word].petab, observable->error))
        word++;
    petab_put(&it->text, "observe %s = ", variant->name);
    struct petab_place place = {observable->place.file, observable->place.line,
                                "observableFormula"};
    lower_put(it, &it->text, observable->formula, place, variant, false);
    place.column = "noiseFormula";
    petab_put(&it->text, " %s", words[word].text);
    if (!it->observable[variant->observable].sigma_in_table) {
        bool has_factor = observable->noise_factor != 1;
        petab_put(&it->text, has_factor ? " sd (" : " sd ");
        lower_put(it, &it->text, observable->noise, place, variant, true);
        petab_put(&it->text, has_factor ? ")*log(10)" : "");
    }
    petab_put(&it->text, "\n");
}

void lower_observables(struct lowering *it)
{
    struct petab_problem *problem = it->problem;
    struct petab_keys keys = {.n = 0};
    plan_observables(it);
    petab_check(it->reader);
    it->variant_of = petab_alloc(it->reader, problem->n_measurement, sizeof *it->variant_of);
    for (size_t r = 0; r < problem->n_measurement; r++)
        it->variant_of[r] = variant_of(it, &problem->measurement[r], &keys);
    for (size_t i = 0; i < problem->n_observable; i++)
        for (size_t k = 0; k < problem->observable[i].n_placeholder; k++)
            if (it->observable[i].filling[k] == FILL_EXPERIMENT &&
                !(it->observable[i].sigma_in_table &&
                  k >= problem->observable[i].n_formula_placeholder)) {
                bool is_taken = sbml_find(&it->model, problem->observable[i].placeholder[k]);
                it->observable[i].parameter[k] =
                    lower_name(it, petab_format(it->reader, "%s%s",
                                                problem->observable[i].placeholder[k],
                                                is_taken ? "_value" : ""));
                petab_put(&it->text, "parameter %s = 1\n", it->observable[i].parameter[k]);
            }
    for (size_t i = 0; i < it->n_variant; i++)
        put_observable(it, &it->variant[i]);
}
