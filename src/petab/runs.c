/* From experiments and conditions: which simulations there are, and what conditions change.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "petab/lower.h"

#include "base/words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *conditions_text(struct petab_reader *reader, const struct petab_period *period)
{
    struct petab_text text = {.reader = reader};
    petab_put(&text, "=");
    for (size_t i = 0; i < period->n_condition; i++)
        petab_put(&text, " %zu", period->condition[i]);
    return text.text;
}

static size_t add_run(struct lowering *it, struct lower_run run)
{
    petab_grow(it->reader, &it->run, it->n_run, &it->room_run, sizeof *it->run);
    it->run[it->n_run] = run;
    return it->n_run++;
}

/* The simulation of an experiment, and the one before it, which experiments with the same
 * conditions share. */
static void add_experiment(struct lowering *it, size_t e, struct petab_keys *before)
{
    static const struct petab_period none = {0, 0, NULL};
    const struct petab_experiment *experiment = &it->problem->experiment[e];
    struct lower_run run = {.experiment = e, .steady = SIZE_MAX, .n_period = experiment->n_period,
                            .period = experiment->period};
    if (experiment->n_period && experiment->period[0].time == -INFINITY) {
        bool is_new;
        size_t number =
            petab_key(it->reader, before, conditions_text(it->reader, experiment->period), &is_new);
        /* keys count from 0 in the order of runs that come before, which alone are numbered by
         * them */
        size_t first = it->first_run[it->n_dataset], seen = 0;
        if (is_new)
            add_run(it, (struct lower_run){.experiment = e,
                                           .is_before = true, .steady = SIZE_MAX, .n_period = 1,
                                           .period = experiment->period});
        for (run.steady = first; !it->run[run.steady].is_before || seen++ < number; run.steady++)
            ;
        run.steady -= first;
        run.inherited = it->problem->files.version == 2 ? experiment->period : NULL;
        run.n_period--;
        run.period++;
        if (!run.n_period) {
            run.period = &none;
            run.n_period = 1;
        }
    }
    run.t0 = run.n_period ? run.period[0].time : 0;
    it->run_of[e] = add_run(it, run);
}

void lower_make_runs(struct lowering *it)
{
    struct petab_problem *problem = it->problem;
    struct petab_keys datasets = {.n = 0};
    size_t *dataset = petab_alloc(it->reader, problem->n_experiment, sizeof *dataset);
    bool is_new;
    for (size_t e = 0; e < problem->n_experiment; e++)
        dataset[e] = petab_key(it->reader, &datasets, problem->experiment[e].dataset, &is_new);
    it->run_of = petab_alloc(it->reader, problem->n_experiment, sizeof *it->run_of);
    it->first_run = petab_alloc(it->reader, datasets.n + 1, sizeof *it->first_run);
    it->dataset = datasets.key;
    size_t *first = petab_alloc(it->reader, datasets.n + 1, sizeof *first), *order =
        petab_alloc(it->reader, problem->n_experiment, sizeof *order);
    for (size_t e = 0; e < problem->n_experiment; e++)
        first[dataset[e] + 1]++;
    for (size_t d = 0; d < datasets.n; d++)
        first[d + 1] += first[d];
    size_t *next = petab_alloc(it->reader, datasets.n, sizeof *next);
    memcpy(next, first, datasets.n * sizeof *next);
    for (size_t e = 0; e < problem->n_experiment; e++)
        order[next[dataset[e]]++] = e;
    for (; it->n_dataset < datasets.n; it->n_dataset++) {
        struct petab_keys before = {.n = 0};
        it->first_run[it->n_dataset] = it->n_run;
        for (size_t i = first[it->n_dataset]; i < first[it->n_dataset + 1]; i++)
            add_experiment(it, order[i], &before);
    }
    it->first_run[it->n_dataset] = it->n_run;
    for (size_t i = 0; i < problem->n_measurement; i++) {
        const struct petab_measurement *row = &problem->measurement[i];
        double t0 = it->run[it->run_of[row->experiment]].t0;
        if (row->time < t0)
            petab_fault(it->reader, row->place, "the time %g is before the experiment begins (%g)",
                        row->time, t0);
    }
}

size_t *lower_rows(struct lowering *it, size_t **first)
{
    const struct petab_problem *problem = it->problem;
    size_t n = problem->n_measurement, *order = petab_alloc(it->reader, n, sizeof *order);
    size_t *begin = *first = petab_alloc(it->reader, it->n_run + 1, sizeof *begin);
    size_t *next = petab_alloc(it->reader, it->n_run + 1, sizeof *next);
    for (size_t i = 0; i < n; i++)
        begin[it->run_of[problem->measurement[i].experiment] + 1]++;
    for (size_t r = 0; r < it->n_run; r++)
        begin[r + 1] += begin[r];
    memcpy(next, begin, it->n_run * sizeof *next);
    for (size_t i = 0; i < n; i++)
        order[next[it->run_of[problem->measurement[i].experiment]]++] = i;
    return order;
}

const char *lower_sbml_id(const struct lowering *it, const char *id)
{
    size_t i = petab_find(&it->problem->mapping, id);
    return i == SIZE_MAX || !*it->problem->mapped[i] ? id : it->problem->mapped[i];
}

bool lower_is_plain(const struct lowering *it, const struct postfix *value, size_t *by,
                    double *number)
{
    *by = SIZE_MAX;
    *number = NAN;
    const char *name = postfix_name(value);
    if (name)
        return (*by = petab_find(&it->problem->parameters, name)) != SIZE_MAX;
    bool is_number = postfix_is_number(value);
    if (is_number)
        *number = postfix_value(value, NULL, NULL);
    return is_number;
}

/* Marks targets that are mentioned in a formula of the period that changes them: the formula
 * means the old value. */
struct mention {
    struct lowering *it;
    const struct petab_period *period;
};

struct lower_target *lower_find_target(struct lowering *it, const char *id)
{
    for (size_t k = 0; k < it->n_target; k++) {
        /* conditions name their targets in the same order */
        size_t i = (it->next_target + k) % it->n_target;
        if (!strcmp(it->target[i].id, id)) {
            it->next_target = i + 1;
            return &it->target[i];
        }
    }
    return NULL;
}

static void see_mention(void *context, const char *symbol)
{
    const struct mention *mention = context;
    const struct petab_problem *problem = mention->it->problem;
    const struct sbml_name *plain =
        sbml_find(&mention->it->plain, lower_sbml_id(mention->it, symbol));
    /* perhaps from any of them */
    bool is_computed = plain && !plain->state && plain->kind == SBML_IS_INTERMEDIATE;
    for (size_t i = 0; i < mention->period->n_condition; i++) {
        const struct petab_condition *condition =
            &problem->condition[mention->period->condition[i]];
        for (size_t k = 0; k < condition->n; k++) {
            struct lower_target *target =
                lower_find_target(mention->it, condition->change[k].target);
            if (target && (is_computed || !strcmp(target->id, symbol)))
                target->changes = true;
        }
    }
}

/* The states of SBML, and everything that has a formula or changes later, change; other targets
 * are constants. */
static void look_at_change(struct lowering *it, const struct petab_change *change,
                           const struct petab_period *period, bool is_first, bool is_counted)
{
    struct lower_target *target = lower_find_target(it, change->target);
    size_t by;
    double number;
    bool is_plain = lower_is_plain(it, change->value, &by, &number);
    if (is_counted && !is_plain && it->problem->files.version == 1)
        petab_fault(it->reader, change->place,
                    "neither a number nor a parameter of the table of parameters");
    if (!target) {
        petab_grow(it->reader, &it->target, it->n_target, &it->room_target, sizeof *it->target);
        target = &it->target[it->n_target++];
        *target = (struct lower_target){.id = change->target,
                                        .sbml_id = lower_sbml_id(it, change->target),
                                        .place = change->place};
        target->plain = sbml_find(&it->plain, target->sbml_id);
        target->changes = target->plain && target->plain->state;
        if (target->plain && !target->plain->state && target->plain->kind >= SBML_IS_INTERMEDIATE)
            petab_fault(it->reader, change->place,
                        "'%.300s' cannot be changed: the model computes it", change->target);
    }
    target->changes = target->changes || !is_first || !is_plain;
    target->n_given += is_first && is_counted;
    struct mention mention = {it, period};
    if (!is_plain)
        postfix_names(change->value, see_mention, &mention);
}

struct search {
    const char *id;
    bool found;
};

static void see_symbol(void *context, const char *symbol)
{
    struct search *search = context;
    search->found = search->found || !strcmp(symbol, search->id);
}

/* Whether a formula of an observable or its noise, a measurement or a condition mentions this
 * id. */
static bool is_mentioned(const struct petab_problem *problem, const char *id)
{
    struct search search = {id, false};
    for (size_t i = 0; i < problem->n_observable && !search.found; i++) {
        postfix_names(problem->observable[i].formula, see_symbol, &search);
        postfix_names(problem->observable[i].noise, see_symbol, &search);
    }
    for (size_t i = 0; i < problem->n_measurement && !search.found; i++)
        for (size_t k = 0;
             k < problem->observable[problem->measurement[i].observable].n_placeholder; k++)
            if (problem->measurement[i].override[k])
                postfix_names(problem->measurement[i].override[k], see_symbol, &search);
    for (size_t i = 0; i < problem->n_condition && !search.found; i++)
        for (size_t k = 0; k < problem->condition[i].n; k++)
            postfix_names(problem->condition[i].change[k].value, see_symbol, &search);
    return search.found;
}

/* Parameters of the table are quantities of the model that have a value of their own, or names
 * that formulas use. */
static void check_parameters(struct lowering *it)
{
    const struct petab_problem *problem = it->problem;
    for (size_t i = 0; i < problem->n_parameter; i++) {
        const struct petab_parameter *parameter = &problem->parameter[i];
        struct petab_place place = {parameter->place.file, parameter->place.line, "parameterId"};
        const struct sbml_name *plain = sbml_find(&it->plain, lower_sbml_id(it, parameter->id));
        if (plain && !plain->state && plain->kind >= SBML_IS_INTERMEDIATE)
            petab_fault(it->reader, place, "'%.300s' is no parameter: the model computes it",
                        parameter->id);
        else if (!plain && parameter->estimate && !is_mentioned(problem, parameter->id))
            petab_note(it->reader, "%s:%" PRIu64 ": nothing uses %s", place.file, place.line,
                       parameter->id);
    }
}

void lower_find_targets(struct lowering *it)
{
    const struct petab_problem *problem = it->problem;
    check_parameters(it);
    for (int pass = 0; pass < 2; pass++) /* the second one knows all targets */
        for (size_t r = 0; r < it->n_run; r++)
            for (size_t p = 0; p < it->run[r].n_period; p++) {
                const struct petab_period *period = &it->run[r].period[p];
                for (size_t c = 0; c < period->n_condition; c++) {
                    const struct petab_condition *condition =
                        &problem->condition[period->condition[c]];
                    for (size_t k = 0; k < condition->n; k++)
                        look_at_change(it, &condition->change[k], period, p == 0, pass == 0);
                }
            }
    for (struct lower_target *target = it->target; target < it->target + it->n_target; target++) {
        size_t own = petab_find(&problem->parameters, target->id);
        if (problem->files.version == 2)
            target->place.column = "targetId";
        if (own != SIZE_MAX && problem->parameter[own].estimate)
            petab_fault(it->reader, target->place,
                        "%.300s is estimated (%s:%" PRIu64 "): conditions cannot set it, too",
                        target->id, words_file(problem->parameter[own].place.file),
                        problem->parameter[own].place.line);
        if (!target->plain && own == SIZE_MAX && !is_mentioned(problem, target->id))
            petab_fault(it->reader, target->place,
                        "there is no '%.300s': neither the model nor a formula has it", target->id);
        else if (!target->plain && target->changes)
            petab_fault(it->reader, target->place,
                        "'%.300s' is not in the model: it can only be a number or a parameter, "
                        "from the beginning",
                        target->id);
        /* a constant that the model computes once, where no condition gives it a value */
        if (target->plain && isnan(target->plain->value) && target->n_given < it->n_run)
            target->changes = true;
        target->is_initial = target->changes && problem->files.version == 1;
    }
}
