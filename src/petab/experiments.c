/* Reads conditions, experiments and measurements of either version. In version 1 an experiment
 * is a pair of conditions, before and after equilibration, that some measurement names.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "petab/problem.h"

#include <stdlib.h>
#include <string.h>

enum { CONDITION, TARGET, VALUE };
static const char *const condition_columns_1[] = {"conditionId", "conditionName"};
static const char *const condition_columns_2[] = {"conditionId", "targetId", "targetValue"};
enum { EXPERIMENT, TIME_OF_PERIOD, CONDITION_OF_PERIOD };
static const char *const experiment_columns[] = {"experimentId", "time", "conditionId"};
enum {
    OBSERVABLE,
    EXPERIMENT_OF_ROW,
    TIME,
    MEASUREMENT,
    OVERRIDES,
    NOISE_OVERRIDES,
    PREEQUILIBRATION,
    N_MEASUREMENT_COLUMN
};
static const char *const measurement_columns_1[] =
    {"observableId",    "simulationConditionId",      "time", "measurement", "observableParameters",
     "noiseParameters", "preequilibrationConditionId"};
static const char *const measurement_columns_2[] = {"observableId",
                                                    "experimentId",
                                                    "time",
                                                    "measurement",
                                                    "observableParameters",
                                                    "noiseParameters"};

struct reading {
    struct petab_reader *reader;
    struct petab_problem *problem;
    struct petab_table conditions, experiments, measurements;
    struct petab_index experiment_rows; /* by experimentId, in the order of the table */
    /* the dataset column of measurements, conditions, experiments; SIZE_MAX: none */
    size_t dataset_of[3];
    size_t room;
    struct petab_index made;            /* experiments by "dataset \t id" */
};

/* A cell that says nothing: what is there stays. */
static bool is_kept(const char *cell)
{
    return !*cell || !strcasecmp(cell, "nan") || !strcmp(cell, "NA");
}

static void add_change(struct reading *it, struct petab_change *change, size_t *n, size_t row,
                       size_t column, const char *target)
{
    struct petab_place place = petab_cell_place(&it->conditions, row, column);
    const struct postfix *value =
        petab_formula(it->reader, place, it->conditions.row[row].cell[column]);
    if (value)
        change[(*n)++] = (struct petab_change){target, value, place};
}

/* A row is a condition; its columns are targets. */
static void take_conditions_1(struct reading *it)
{
    struct petab_problem *problem = it->problem;
    const struct petab_table *table = &it->conditions;
    problem->conditions = petab_table_index(it->reader, table, CONDITION);
    problem->n_condition = table->n_row;
    problem->condition = petab_alloc(it->reader, table->n_row, sizeof *problem->condition);
    for (size_t i = 0; i < table->n_row; i++) {
        struct petab_change *change = petab_alloc(it->reader, table->n_column, sizeof *change);
        struct petab_condition *condition = &problem->condition[i];
        petab_check_id(it->reader, table, i, CONDITION);
        for (size_t k = table->n_known; k < table->n_column; k++)
            if (k != it->dataset_of[1] && !is_kept(table->row[i].cell[k]))
                add_change(it, change, &condition->n, i, k, table->column[k]);
        condition->id = table->row[i].cell[CONDITION];
        condition->change = change;
    }
}

/* A row is a target of a condition. */
static void take_conditions_2(struct reading *it)
{
    struct petab_reader *reader = it->reader;
    struct petab_problem *problem = it->problem;
    const struct petab_table *table = &it->conditions;
    const char **id = petab_alloc(reader, table->n_row, sizeof *id);
    for (size_t i = 0; i < table->n_row; i++) {
        petab_check_id(reader, table, i, CONDITION);
        petab_check_id(reader, table, i, TARGET);
        id[i] = table->row[i].cell[CONDITION];
    }
    struct petab_index rows = petab_index_of(reader, id, table->n_row, sizeof *id);
    problem->condition = petab_alloc(reader, table->n_row, sizeof *problem->condition);
    for (size_t first = 0, last; first < rows.n; first = last) {
        for (last = first; last < rows.n && !strcmp(rows.entry[first].name, rows.entry[last].name);
             last++)
            ;
        struct petab_condition *condition = &problem->condition[problem->n_condition++];
        struct petab_change *change = petab_alloc(reader, last - first, sizeof *change);
        condition->id = rows.entry[first].name;
        condition->change = change;
        for (size_t i = first; i < last; i++) {
            size_t row = rows.entry[i].number;
            const char *target = table->row[row].cell[TARGET];
            for (size_t k = 0; k < condition->n; k++)
                if (!strcmp(change[k].target, target))
                    petab_fault(reader, petab_cell_place(table, row, TARGET),
                                "condition %s changes %s twice", condition->id, target);
            add_change(it, change, &condition->n, row, VALUE, target);
        }
    }
    problem->conditions = petab_index_of(reader, &problem->condition->id, problem->n_condition,
                                         sizeof *problem->condition);
}

/* The number of a condition; SIZE_MAX after a fault. */
static size_t need_condition(struct reading *it, const struct petab_table *table, size_t row,
                             size_t column)
{
    const char *id = table->row[row].cell[column];
    size_t i = petab_find(&it->problem->conditions, id);
    if (i == SIZE_MAX)
        petab_fault(it->reader, petab_cell_place(table, row, column),
                    "there is no condition '%.300s'%s", id,
                    petab_hint(it->reader, &it->problem->conditions, id));
    return i;
}

static int compare_periods(const void *a, const void *b)
{
    const struct petab_period *x = a, *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

/* Conditions of the same period must not change the same targets. */
static void refuse_same_targets(struct reading *it, const struct petab_period *period, size_t added)
{
    const struct petab_condition *other = &it->problem->condition[added];
    for (size_t i = 0; i < period->n_condition; i++) {
        const struct petab_condition *condition = &it->problem->condition[period->condition[i]];
        for (size_t a = 0; a < condition->n; a++)
            for (size_t b = 0; b < other->n; b++)
                if (!strcmp(condition->change[a].target, other->change[b].target))
                    petab_fault(it->reader, other->change[b].place,
                                "conditions %s and %s at the same time change '%.300s' twice",
                                condition->id, other->id, other->change[b].target);
    }
}

static void set_periods(struct reading *it, struct petab_experiment *experiment,
                        struct petab_period *period, size_t n)
{
    qsort(period, n, sizeof *period, compare_periods);
    size_t n_period = 0;
    for (size_t i = 0; i < n; i++) {
        struct petab_period *last = n_period ? &period[n_period - 1] : NULL;
        if (!last || last->time != period[i].time) {
            period[n_period++] = period[i];
            continue;
        }
        size_t *both =
            petab_alloc(it->reader, last->n_condition + period[i].n_condition, sizeof *both);
        for (size_t k = 0; k < period[i].n_condition; k++)
            refuse_same_targets(it, last, period[i].condition[k]);
        for (size_t k = 0; k < last->n_condition; k++)
            both[k] = last->condition[k];
        for (size_t k = 0; k < period[i].n_condition; k++)
            both[last->n_condition + k] = period[i].condition[k];
        last->condition = both;
        last->n_condition += period[i].n_condition;
    }
    experiment->period = period;
    experiment->n_period = n_period;
}

static void add_period(struct reading *it, struct petab_period *period, size_t *n, double time,
                       size_t condition)
{
    size_t *list = petab_alloc(it->reader, 1, sizeof *list);
    list[0] = condition;
    period[(*n)++] = (struct petab_period){time, condition != SIZE_MAX, list};
}

static void make_experiment_1(struct reading *it, struct petab_experiment *experiment, size_t row)
{
    const struct petab_table *table = &it->measurements;
    struct petab_period *period = petab_alloc(it->reader, 2, sizeof *period);
    size_t n = 0;
    if (*table->row[row].cell[PREEQUILIBRATION])
        add_period(it, period, &n, -INFINITY, need_condition(it, table, row, PREEQUILIBRATION));
    add_period(it, period, &n, 0, need_condition(it, table, row, EXPERIMENT_OF_ROW));
    set_periods(it, experiment, period, n);
}

static void make_experiment_2(struct reading *it, struct petab_experiment *experiment, size_t row)
{
    const struct petab_table *table = &it->experiments;
    const char *id = it->measurements.row[row].cell[EXPERIMENT_OF_ROW];
    const struct petab_index *rows = &it->experiment_rows;
    size_t first = 0, n = 0;
    if (!*id) { /* the model as it is */
        static const struct petab_period always = {0, 0, NULL};
        experiment->n_period = 1;
        experiment->period = &always;
        return;
    }
    for (size_t high = rows->n; first < high;) {
        size_t middle = first + (high - first) / 2;
        if (strcmp(rows->entry[middle].name, id) < 0)
            first = middle + 1;
        else
            high = middle;
    }
    size_t last = first;
    while (last < rows->n && !strcmp(rows->entry[last].name, id))
        last++;
    struct petab_period *period = petab_alloc(it->reader, last - first, sizeof *period);
    for (size_t i = first; i < last; i++) {
        size_t own = rows->entry[i].number;
        double time = petab_number(it->reader, table, own, TIME_OF_PERIOD, NAN);
        if (isnan(time) || time == INFINITY)
            petab_fault(it->reader, petab_cell_place(table, own, TIME_OF_PERIOD),
                        "a number or -inf is needed");
        add_period(it, period, &n, time,
                   *table->row[own].cell[CONDITION_OF_PERIOD]
                       ? need_condition(it, table, own, CONDITION_OF_PERIOD)
                       : SIZE_MAX);
    }
    if (!n)
        petab_fault(it->reader, petab_cell_place(&it->measurements, row, EXPERIMENT_OF_ROW),
                    "there is no experiment '%.300s'%s", id, petab_hint(it->reader, rows, id));
    if (n)
        set_periods(it, experiment, period, n);
}

/* The subject of a measurement, from whichever table has the column. */
static const char *dataset_of(struct reading *it, size_t row)
{
    const struct petab_table *table = &it->measurements;
    if (it->dataset_of[0] != SIZE_MAX)
        return table->row[row].cell[it->dataset_of[0]];
    const char *id = table->row[row].cell[EXPERIMENT_OF_ROW];
    bool is_1 = it->problem->files.version == 1;
    size_t column = it->dataset_of[is_1 ? 1 : 2];
    const struct petab_table *other = is_1 ? &it->conditions : &it->experiments;
    size_t at = column == SIZE_MAX
                    ? SIZE_MAX
                    : petab_find(is_1 ? &it->problem->conditions : &it->experiment_rows, id);
    return at == SIZE_MAX ? "" : other->row[at].cell[column];
}

static size_t experiment_of(struct reading *it, struct petab_keys *keys, size_t row)
{
    struct petab_problem *problem = it->problem;
    bool is_1 = problem->files.version == 1;
    const char **cell = it->measurements.row[row].cell, *dataset = dataset_of(it, row);
    const char *before = is_1 ? cell[PREEQUILIBRATION] : "";
    bool is_new;
    size_t number =
        petab_key(it->reader, keys,
                  petab_format(it->reader, "%s\t%s\t%s", dataset, before, cell[EXPERIMENT_OF_ROW]),
                  &is_new);
    if (!is_new)
        return number;
    petab_grow(it->reader, &problem->experiment, number, &it->room, sizeof *problem->experiment);
    struct petab_experiment *experiment = &problem->experiment[number];
    problem->n_experiment = number + 1;
    *experiment = (struct petab_experiment){.dataset = dataset};
    experiment->id = *before
                         ? petab_format(it->reader, "%s after %s", cell[EXPERIMENT_OF_ROW], before)
                         : cell[EXPERIMENT_OF_ROW];
    if (is_1)
        make_experiment_1(it, experiment, row);
    else
        make_experiment_2(it, experiment, row);
    return number;
}

static void take_overrides(struct reading *it, size_t row, struct petab_measurement *measurement)
{
    const struct petab_observable *observable = &it->problem->observable[measurement->observable];
    const size_t want[2] = {observable->n_formula_placeholder,
                            observable->n_placeholder - observable->n_formula_placeholder};
    const struct postfix **all = petab_alloc(it->reader, observable->n_placeholder, sizeof *all);
    size_t at = 0;
    for (int k = 0; k < 2; k++) {
        size_t n;
        const char **part =
            petab_split(it->reader, it->measurements.row[row].cell[k ? NOISE_OVERRIDES : OVERRIDES],
                        &n);
        struct petab_place place =
            petab_cell_place(&it->measurements, row, k ? NOISE_OVERRIDES : OVERRIDES);
        if (n != want[k])
            petab_fault(it->reader, place, "%zu value%s for the %zu placeholder%s of %s", n,
                        n == 1 ? "" : "s", want[k], want[k] == 1 ? "" : "s", observable->id);
        for (size_t i = 0; i < want[k]; i++)
            all[at++] = i < n ? petab_formula(it->reader, place, part[i]) : NULL;
    }
    measurement->override = all;
}

static void take_measurements(struct reading *it)
{
    struct petab_reader *reader = it->reader;
    struct petab_problem *problem = it->problem;
    const struct petab_table *table = &it->measurements;
    struct petab_keys keys = {.n = 0};
    struct petab_kinds kinds = petab_find_kinds(table);
    problem->measurement = petab_alloc(reader, table->n_row, sizeof *problem->measurement);
    problem->n_measurement = table->n_row;
    for (size_t i = 0; i < table->n_row; i++) {
        struct petab_measurement *row = &problem->measurement[i];
        const char *id = table->row[i].cell[OBSERVABLE];
        *row = (struct petab_measurement){.observable = petab_find(&problem->observables, id),
                                          .number = i,
                                          .time = petab_number(reader, table, i, TIME, NAN),
                                          .value = petab_number(reader, table, i, MEASUREMENT, NAN),
                                          .limit = NAN,
                                          .place = petab_cell_place(table, i, SIZE_MAX),
                                          .experiment = experiment_of(it, &keys, i)};
        petab_read_kind(reader, problem, &kinds, i, row);
        if (isinf(row->value))
            petab_fault(reader, petab_cell_place(table, i, MEASUREMENT), "must be finite");
        if (isnan(row->time) || row->time == -INFINITY)
            petab_fault(reader, petab_cell_place(table, i, TIME), "a number or inf is needed");
        if (row->observable == SIZE_MAX)
            petab_fault(reader, petab_cell_place(table, i, OBSERVABLE),
                        "there is no observable '%.300s'%s", id,
                        petab_hint(reader, &problem->observables, id));
        else
            take_overrides(it, i, row);
    }
    if (!table->n_row)
        petab_fault(reader,
                    (struct petab_place){problem->files.list[PETAB_MEASUREMENTS].path[0], 0, NULL},
                    "there are no measurements");
}

/* In version 1 all other columns of conditions are targets. */
static void note_columns(struct reading *it)
{
    static const char *const of_measurements[] = {
        "datasetId",       "replicateId",         "modelId",          "measurementType",
        "censoringBounds", "measurementCategory", "noiseDistribution", "observableTransformation"};
    static const char *const of_conditions[] = {"conditionName"};
    static const char *const of_experiments[] = {"experimentName"};
    const char *used = it->problem->dataset_column;
    petab_table_note(it->reader, &it->measurements, of_measurements,
                     sizeof of_measurements / sizeof *of_measurements, used);
    petab_table_note(it->reader, &it->experiments, of_experiments, 1, used);
    if (it->problem->files.version == 2)
        petab_table_note(it->reader, &it->conditions, of_conditions, 1, used);
}

void petab_read_experiments(struct petab_reader *reader, struct petab_problem *problem)
{
    struct reading it = {.reader = reader, .problem = problem};
    bool is_1 = problem->files.version == 1;
    const struct petab_list *list = problem->files.list;
    petab_table_read(reader, &it.conditions, &list[PETAB_CONDITIONS],
                     is_1 ? condition_columns_1 : condition_columns_2, is_1 ? 2 : 3, is_1 ? 1 : 3);
    petab_table_read(reader, &it.experiments, &list[PETAB_EXPERIMENTS], experiment_columns, 3, 3);
    petab_table_read(reader, &it.measurements, &list[PETAB_MEASUREMENTS],
                     is_1 ? measurement_columns_1 : measurement_columns_2,
                     is_1 ? N_MEASUREMENT_COLUMN : PREEQUILIBRATION, MEASUREMENT + 1);
    if (!is_1)
        petab_table_refuse(reader, &it.measurements, &measurement_columns_1[PREEQUILIBRATION], 1,
                           1);
    const struct petab_table *const tables[] = {&it.measurements, &it.conditions, &it.experiments};
    bool there = !problem->dataset_column;
    for (int k = 0; k < 3; k++) {
        it.dataset_of[k] = problem->dataset_column
                               ? petab_column_of(tables[k], problem->dataset_column)
                               : SIZE_MAX;
        there = there || it.dataset_of[k] != SIZE_MAX;
    }
    if (!there)
        petab_leave(reader, STATUS_USAGE,
                    "--dataset-column: no table of measurements, conditions or experiments has a "
                    "column '%.300s'",
                    problem->dataset_column);
    note_columns(&it);
    const char **id = petab_alloc(reader, it.experiments.n_row, sizeof *id);
    for (size_t i = 0; i < it.experiments.n_row; i++)
        id[i] = it.experiments.row[i].cell[EXPERIMENT];
    it.experiment_rows = petab_index_of(reader, id, it.experiments.n_row, sizeof *id);
    if (is_1)
        take_conditions_1(&it);
    else
        take_conditions_2(&it);
    take_measurements(&it);
}

void petab_problem_read(struct petab_reader *reader, struct petab_problem *problem)
{
    petab_read_parameters(reader, problem);
    petab_read_observables(reader, problem);
    petab_check(reader); /* overrides need the observables' placeholders */
    petab_read_experiments(reader, problem);
    petab_check(reader);
}
