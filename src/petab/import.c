/* From a PEtab problem in memory to a problem file: the rows of each experiment.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "petab/import.h"

#include "base/seal.h"
#include "base/words.h"
#include "io/problem/write.h"
#include "model/text/text.h"
#include "petab/lower.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A time that never comes: it is before every experiment. */
static const double NEVER = -1e300;

struct writing {
    struct lowering *it;
    struct petab_keys covariates, substituted;
    size_t *event_covariate;            /* of each event */
    struct substitute *substitute;      /* of the current run */
    size_t n_substitute, room_substitute;
    /* of each run's periods, one after another; SIZE_MAX: none */
    size_t *event;
    size_t *first_event;                /* n_run + 1 */
    struct measurements measured;       /* sorted by runs */
    size_t *first_row;                  /* n_run + 1 */
};

static size_t number_of(struct writing *writing, struct petab_keys *keys, const char *name)
{
    bool is_new;
    return petab_key(writing->it->reader, keys, name, &is_new);
}

/* Puts events and covariates into the text: what the text needs must be known before it is
 * written. */
static void plan_events(struct writing *writing)
{
    struct lowering *it = writing->it;
    size_t n_period = 0;
    writing->first_event = petab_alloc(it->reader, it->n_run + 1, sizeof *writing->first_event);
    for (size_t r = 0; r < it->n_run; r++) {
        writing->first_event[r] = n_period;
        n_period += it->run[r].n_period;
    }
    writing->event = petab_alloc(it->reader, n_period, sizeof *writing->event);
    for (size_t r = 0; r < it->n_run; r++) {
        struct lower_uses uses = {.room = 0};
        for (size_t p = 0; p < it->run[r].n_period; p++)
            writing->event[writing->first_event[r] + p] = lower_event_of(it, &it->run[r], p, &uses);
    }
    for (struct lower_target *target = it->target; target < it->target + it->n_target; target++)
        if (target->is_given)
            number_of(writing, &writing->covariates, target->is_given);
    writing->event_covariate =
        petab_alloc(it->reader, it->n_event, sizeof *writing->event_covariate);
    for (size_t i = 0; i < it->n_event; i++)
        writing->event_covariate[i] = number_of(writing, &writing->covariates, it->event[i].time);
    writing->first_event[it->n_run] = n_period;
}

static void substitute(struct writing *writing, const char *parameter,
                       const struct postfix *value)
{
    struct lowering *it = writing->it;
    size_t by;
    double number;
    uint32_t own = (uint32_t)number_of(writing, &writing->substituted, parameter);
    lower_is_plain(it, value, &by, &number);
    struct substitute given = substitute_none;
    given.parameter = own;
    given.by = by == SIZE_MAX ? EXPERIMENT_NUMBER : (uint32_t)by;
    given.value = by == SIZE_MAX ? number : 0;
    size_t i = 0;
    while (i < writing->n_substitute && writing->substitute[i].parameter != own)
        i++;
    petab_grow(it->reader, &writing->substitute, i, &writing->room_substitute,
               sizeof *writing->substitute);
    writing->substitute[i] = given;
    writing->n_substitute += i == writing->n_substitute;
}

/* Constants, initial values and the values that an event at the beginning gives. */
static void take_period(struct writing *writing, const struct lower_run *run,
                        const struct petab_period *period, bool is_inherited, double *covariate)
{
    struct lowering *it = writing->it;
    size_t by;
    double number;
    for (size_t c = 0; c < period->n_condition; c++) {
        const struct petab_condition *condition = &it->problem->condition[period->condition[c]];
        for (size_t k = 0; k < condition->n; k++) {
            const struct petab_change *change = &condition->change[k];
            const struct lower_target *target = lower_find_target(it, change->target);
            bool begins = target->is_initial && run->steady == SIZE_MAX;
            if (target->changes && is_inherited)
                continue;
            if (!target->changes || begins)
                substitute(writing, target->name, change->value);
            else if (lower_is_plain(it, change->value, &by, &number))
                substitute(writing, target->set, change->value);
            if (begins && target->is_given)
                covariate[number_of(writing, &writing->covariates, target->is_given)] = 1;
        }
    }
}

/* Placeholders that have one value in an experiment. */
static void take_placeholders(struct writing *writing, const struct petab_measurement *row)
{
    const struct petab_observable *observable = &writing->it->problem->observable[row->observable];
    const struct lower_observable *plan = &writing->it->observable[row->observable];
    for (size_t k = 0; k < observable->n_placeholder; k++)
        if (plan->filling[k] == FILL_EXPERIMENT &&
            !(plan->sigma_in_table && k >= observable->n_formula_placeholder))
            substitute(writing, plan->parameter[k], row->override[k]);
}

/* The number that a symbol of a noise formula stands for in a row. */
static double override_value(void *context, const char *symbol)
{
    const struct petab_measurement *row = ((const void **)context)[0];
    const struct petab_observable *observable = ((const void **)context)[1];
    for (size_t k = 0; k < observable->n_placeholder; k++)
        if (!strcmp(symbol, observable->placeholder[k]))
            return postfix_value(row->override[k], NULL, NULL);
    return NAN;
}

static void fill_row(struct writing *writing, size_t at, const struct petab_measurement *row)
{
    struct lowering *it = writing->it;
    const struct petab_observable *observable = &it->problem->observable[row->observable];
    const void *context[] = {row, observable};
    writing->measured.time[at] = row->time;
    writing->measured.value[at] = row->value;
    writing->measured.observable[at] = (uint32_t)it->variant_of[row - it->problem->measurement];
    writing->measured.line[at] = (uint32_t)row->place.line;
    writing->measured.sigma[at] = NAN;
    writing->measured.censored[at] = row->censored;
    writing->measured.limit[at] = row->limit;
    if (it->observable[row->observable].sigma_in_table) {
        double sigma =
            postfix_value(observable->noise, override_value, context) * observable->noise_factor;
        if (!(sigma > 0))
            petab_fault(it->reader, row->place, "the noise formula gives %g, which is not positive",
                        sigma);
        writing->measured.sigma[at] = sigma;
    }
}

static size_t *sort_rows(struct writing *writing)
{
    struct lowering *it = writing->it;
    size_t n = it->problem->n_measurement, *order = lower_rows(it, &writing->first_row);
    unsigned columns = MEASUREMENT_BIT(time) | MEASUREMENT_BIT(value) | MEASUREMENT_BIT(sigma) |
                       MEASUREMENT_BIT(observable) | MEASUREMENT_BIT(censored) |
                       MEASUREMENT_BIT(limit) | MEASUREMENT_BIT(line);
    writing->measured =
        measurements_place(columns, n, petab_alloc(it->reader, measurements_bytes(columns, n), 1));
    for (size_t i = 0; i < n; i++)
        fill_row(writing, i, &it->problem->measurement[order[i]]);
    return order;
}

/* An id of a dataset or experiment; cut, and with its number, where a problem file has no room. */
static const char *short_id(struct petab_reader *reader, const char *id, size_t number)
{
    enum { ROOM = 40 };
    return strlen(id) < NAME_BYTES - ROOM
               ? id
               : petab_format(reader, "%.*s_%zu", NAME_BYTES - 2 * ROOM, id, number);
}

static void add_run(struct writing *writing, struct problem_writer *writer, size_t d, size_t r,
                    const size_t *order, double *covariate)
{
    struct lowering *it = writing->it;
    const struct lower_run *run = &it->run[r];
    const struct petab_experiment *experiment = &it->problem->experiment[run->experiment];
    writing->n_substitute = 0;
    for (size_t i = 0; i < writing->covariates.n; i++)
        covariate[i] = 0;
    for (size_t i = 0; i < it->n_event; i++)
        covariate[writing->event_covariate[i]] = NEVER;
    for (size_t p = 0; p < run->n_period; p++)
        if (writing->event[writing->first_event[r] + p] != SIZE_MAX)
            covariate[writing->event_covariate[writing->event[writing->first_event[r] + p]]] =
                run->is_before ? 0 : run->period[p].time;
    if (run->inherited)
        take_period(writing, run, run->inherited, true, covariate);
    take_period(writing, run, &run->period[0], false, covariate);
    for (size_t i = writing->first_row[r]; i < writing->first_row[r + 1]; i++)
        take_placeholders(writing, &it->problem->measurement[order[i]]);
    const char *id =
        *experiment->id ? short_id(it->reader, experiment->id, r - it->first_run[d]) : "default";
    const struct problem_dataset row =
        {.id = r > it->first_run[d] ? NULL
               : *it->dataset[d]    ? short_id(it->reader, it->dataset[d], d)
                                    : "petab",
         .parameters = {.start = it->problem->nominal ? it->problem->nominal[d] : NULL},
         .experiment =
             {.id = run->is_before ? petab_format(it->reader, "before %s", id) : id,
              .t0 = run->is_before ? 0 : run->t0, .covariate = covariate,
              .steady = run->steady == SIZE_MAX ? EXPERIMENT_NONE : (uint32_t)run->steady,
              .n_substitute = writing->n_substitute, .substitute = writing->substitute},
         .n_row = writing->first_row[r + 1] - writing->first_row[r],
         .measured = measurements_from(&writing->measured, writing->first_row[r])};
    if (problem_writer_add(writer, &row, &it->reader->error))
        petab_leave_with(it->reader);
}

static void fill_parameters(struct lowering *it, struct problem_header *header)
{
    const struct petab_problem *problem = it->problem;
    size_t n = problem->n_parameter;
    struct parameters is = parameters_place(n, petab_alloc(it->reader, parameters_bytes(n), 1));
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        const struct petab_parameter *from = &problem->parameter[i];
        const struct { enum parameter_column column; double is; } number[] =
            {{PARAMETER_start, from->nominal}, {PARAMETER_lower, from->lower},
             {PARAMETER_upper, from->upper}, {PARAMETER_fixed, !from->estimate}};
        const struct { enum parameter_column column; const char *is; } text[] =
            {{PARAMETER_name, it->parameter_name[i]}, {PARAMETER_scale, from->scale},
             {PARAMETER_prior, from->prior}, {PARAMETER_prior_on, from->prior_on}};
        for (size_t k = 0; k < sizeof number / sizeof *number; k++)
            parameters_set(&is, number[k].column, i, number[k].is);
        for (size_t k = 0; k < sizeof text / sizeof *text; k++)
            parameters_set_text(&is, text[k].column, i, text[k].is);
        for (int k = 0; k < N_PRIOR_NUMBER; k++)
            parameters_set(&is, (enum parameter_column)(PARAMETER_PRIORS + k), i,
                           from->prior_number[k]);
        any = any || from->has_prior;
    }
    is.unit = is.level = NULL;
    is.from_model = NULL;
    is.prior = any ? is.prior : NULL;
    header->parameters = is;
    header->by_dataset = problem->nominal ? PARAMETER_BIT(start) : 0;
}

static void write_file(struct writing *writing, struct problem_writer **writer, const char *output,
                       const struct petab_options *options, const char *const *yaml, size_t n_yaml)
{
    struct lowering *it = writing->it;
    struct petab_reader *reader = it->reader;
    const struct petab_problem *problem = it->problem;
    const char **observable = petab_alloc(reader, it->n_variant, sizeof *observable);
    for (size_t i = 0; i < it->n_variant; i++)
        observable[i] = it->variant[i].name;
    size_t *order = sort_rows(writing);
    petab_check(reader);
    /* every parameter that may be substituted, before the header is written */
    for (const struct lower_target *target = it->target; target < it->target + it->n_target;
         target++) {
        if (target->name)
            number_of(writing, &writing->substituted, target->name);
        if (target->set)
            number_of(writing, &writing->substituted, target->set);
    }
    for (size_t i = 0; i < problem->n_observable; i++)
        for (size_t k = 0; k < problem->observable[i].n_placeholder; k++)
            if (it->observable[i].parameter[k])
                number_of(writing, &writing->substituted, it->observable[i].parameter[k]);
    const struct petab_list *tables = &problem->files.list[PETAB_MEASUREMENTS];
    const char **origin = petab_alloc(reader, n_yaml, sizeof *origin);
    for (size_t k = 0; k < n_yaml; k++)
        origin[k] = petab_absolute(reader, yaml[k]);
    struct problem_header header =
        {.model = {.source = petab_format(reader, "%s%s", it->model.text, it->text.text),
                   .name = "petab"},
         .n_covariate = writing->covariates.n, .covariate_name = writing->covariates.key,
         .n_observable = it->n_variant, .observable_name = observable,
         .has_t0 = true, .has_experiments = true, .has_steady = true,
         .n_substituted = writing->substituted.n, .substituted_name = writing->substituted.key,
         .line_file = tables->n == 1 && n_yaml == 1 ? words_file(tables->path[0]) : NULL,
         .petab = {.yaml = n_yaml == 1 ? origin[0] : NULL,
                   .n = n_yaml == 1 ? 0 : n_yaml, .of = origin,
                   .dataset_column = options->dataset_column,
                   .sha256 = petab_hash(reader, yaml, n_yaml, options->model, options->outside),
                   .model = options->model ? petab_absolute(reader, options->model) : NULL}};
    fill_parameters(it, &header);
    /* limits of model text are found before anything is written */
    struct equations *equations = NULL;
    enum status status =
        sbml_parse(&it->model, header.model.source, problem->files.list[PETAB_MODEL].path[0],
                   &equations, &reader->error);
    equations_free(equations);
    if (status || problem_writer_open(writer, output, options->overwrite, &header, &reader->error))
        petab_leave_with(reader);
    double *covariate = petab_alloc(reader, writing->covariates.n, sizeof *covariate);
    for (size_t d = 0; d < it->n_dataset; d++)
        for (size_t r = it->first_run[d]; r < it->first_run[d + 1]; r++)
            add_run(writing, *writer, d, r, order, covariate);
    petab_check(reader);
    const char *temporary;
    if (problem_writer_complete(*writer, &temporary, &reader->error) ||
        (options->seals && seal_put(temporary, &reader->error)) ||
        problem_writer_finish(*writer, &reader->error))
        petab_leave_with(reader);
}

static void take_outputs(struct petab_reader *reader, const char *output,
                         const struct outputs *others)
{
    const char **path = petab_alloc(reader, others->n + 1, sizeof *path);
    path[0] = output;
    for (size_t i = 0; i < others->n; i++)
        path[1 + i] = others->path[i];
    reader->outputs = (struct outputs){1 + others->n, path};
}

static char **copy_texts(const char *const *text, size_t *n)
{
    char **copy = calloc(*n + 1, sizeof *copy);
    for (size_t i = 0; copy && i < *n; i++)
        copy[i] = strdup(text[i]);
    *n = copy ? *n : 0;
    return copy;
}

enum status petab_import(const char *const *yaml, size_t n, const char *output,
                         const struct petab_options *options, struct petab_report *report,
                         struct error *error)
{
    struct petab_reader *reader = calloc(1, sizeof *reader);
    struct petab_problem *problem = calloc(1, sizeof *problem);
    struct lowering *it = calloc(1, sizeof *it);
    struct problem_writer *volatile writer = NULL;
    volatile enum status status = STATUS_OK;
    if (!reader || !problem || !it) {
        status = error_set(error, STATUS_NO_MEMORY, "out of memory");
    } else if (!setjmp(reader->out)) {
        struct writing writing = {.it = it};
        *it = (struct lowering){.reader = reader, .problem = problem};
        problem->dataset_column = options->dataset_column;
        take_outputs(reader, output, &options->outputs);
        petab_problems_read(reader, problem, yaml, n, options->model, options->outside);
        const struct sbml_options plain = {.constants = SBML_AS_IS, .without_observables = true,
                                           .outputs = reader->outputs};
        if (sbml_translate(&it->plain, problem->files.list[PETAB_MODEL].path[0], &plain,
                           &reader->error))
            petab_leave_with(reader);
        lower_make_runs(it);
        lower_find_targets(it);
        petab_check(reader);
        lower_translate(it);
        lower_observables(it);
        plan_events(&writing);
        petab_check(reader);
        write_file(&writing, (struct problem_writer **)&writer, output, options, yaml, n);
        report->n_dataset = it->n_dataset;
        report->n_experiment = problem->n_experiment;
        report->n_measurement = problem->n_measurement;
        report->n_parameter = problem->n_parameter;
    } else {
        *error = reader->error;
        status = reader->error.status;
    }
    if (reader) {
        report->n_note = reader->n_note;
        report->note = copy_texts(reader->note, &report->n_note);
        report->n_fault = reader->n_fault < PETAB_MAX_FAULT ? reader->n_fault : PETAB_MAX_FAULT;
        report->fault = copy_texts(reader->fault, &report->n_fault);
    }
    problem_writer_close(writer);
    if (it) {
        sbml_model_fini(&it->plain);
        sbml_model_fini(&it->model);
    }
    if (reader)
        petab_reader_fini(reader);
    free(it);
    free(problem);
    free(reader);
    return status;
}

void petab_report_fini(struct petab_report *report)
{
    for (size_t i = 0; i < report->n_note; i++)
        free(report->note[i]);
    for (size_t i = 0; i < report->n_fault; i++)
        free(report->fault[i]);
    free(report->note);
    free(report->fault);
}

bool petab_is_yaml(const char *path)
{
    const char *ending = strrchr(path, '.');
    return ending && (!strcasecmp(ending, ".yaml") || !strcasecmp(ending, ".yml"));
}
