/* Several PEtab problems of one model, each of which is a dataset: the same observables and
 * parameters, with their own nominal values, conditions and measurements.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "petab/problem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_same_file(struct petab_reader *reader, const char *a, const char *b)
{
    if (!strcmp(petab_absolute(reader, a), petab_absolute(reader, b)))
        return true;
    FILE *file[2] = {fopen(a, "rb"), fopen(b, "rb")};
    bool same = file[0] && file[1];
    for (int c = 0; same && c != EOF;)
        same = (c = getc(file[0])) == getc(file[1]);
    for (int k = 0; k < 2; k++)
        if (file[k])
            fclose(file[k]);
    return same;
}

static void need_same_files(struct petab_reader *reader, const struct petab_files *first,
                            const struct petab_files *other, enum petab_kind kind, const char *what)
{
    const struct petab_list *a = &first->list[kind], *b = &other->list[kind];
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++)
        same = is_same_file(reader, a->path[i], b->path[i]);
    if (!same)
        petab_fault(reader, (struct petab_place){other->yaml, 0, NULL},
                    "%s differ from those of %s: problems that become "
                    "datasets of one file must have the same ones",
                    what, first->yaml);
}

static bool is_same_number(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static void need_same_parameter(struct petab_reader *reader, struct petab_parameter *first,
                                const struct petab_parameter *other)
{
    const char *what =
        strcmp(first->id, other->id) != 0             ? "id"
        : first->estimate != other->estimate          ? "estimate"
        : !first->estimate                            ? NULL
        : strcmp(first->scale, other->scale) != 0     ? "parameterScale"
        : !is_same_number(first->lower, other->lower) ? "lowerBound"
        : !is_same_number(first->upper, other->upper) ? "upperBound"
        : strcmp(first->prior, other->prior) || strcmp(first->prior_on, other->prior_on) ? "prior"
                                                                                         : NULL;
    for (int k = 0; !what && k < 4; k++)
        if (!is_same_number(first->prior_number[k], other->prior_number[k]))
            what = "prior";
    if (what)
        petab_fault(reader, other->place,
                    "the %s of %s is not that of %s:%zu: only nominal values may differ between "
                    "problems that become datasets of one file",
                    what, other->id, first->place.file, (size_t)first->place.line);
    if (!strcmp(other->scale, "lin")) /* a constant that is not positive */
        first->scale = other->scale;
}

static const double *nominal_values(struct petab_reader *reader,
                                    const struct petab_problem *problem)
{
    double *value = petab_alloc(reader, problem->n_parameter, sizeof *value);
    for (size_t i = 0; i < problem->n_parameter; i++)
        value[i] = problem->parameter[i].nominal;
    return value;
}

static void *join(struct petab_reader *reader, const void *a, size_t n, const void *b, size_t m,
                  size_t size)
{
    char *both = petab_alloc(reader, n + m, size);
    if (n)
        memcpy(both, a, n * size);
    if (m)
        memcpy(both + n * size, b, m * size);
    return both;
}

/* Appends what the other problem measures. */
static void append(struct petab_reader *reader, struct petab_problem *to,
                   const struct petab_problem *other)
{
    size_t n = to->n_experiment;
    to->condition = join(reader, to->condition, to->n_condition, other->condition,
                         other->n_condition, sizeof *to->condition);
    to->experiment = join(reader, to->experiment, n, other->experiment, other->n_experiment,
                          sizeof *to->experiment);
    to->measurement = join(reader, to->measurement, to->n_measurement, other->measurement,
                           other->n_measurement, sizeof *to->measurement);
    for (size_t e = n; e < n + other->n_experiment; e++) {
        struct petab_experiment *experiment = &to->experiment[e];
        struct petab_period *period =
            join(reader, experiment->period, experiment->n_period, NULL, 0, sizeof *period);
        for (size_t p = 0; p < experiment->n_period; p++) {
            size_t *condition = join(reader, period[p].condition, period[p].n_condition, NULL, 0,
                                     sizeof *condition);
            for (size_t c = 0; c < period[p].n_condition; c++)
                condition[c] += to->n_condition;
            period[p].condition = condition;
        }
        experiment->period = period;
    }
    for (size_t i = to->n_measurement; i < to->n_measurement + other->n_measurement; i++)
        to->measurement[i].experiment += n;
    to->n_condition += other->n_condition;
    to->n_experiment += other->n_experiment;
    to->n_measurement += other->n_measurement;
}

static void name_dataset(struct petab_problem *problem, const char *name)
{
    for (size_t e = 0; e < problem->n_experiment; e++)
        problem->experiment[e].dataset = name;
}

/* The name of the file without its ending or, `by_folder`, of its folder. */
static const char *name_of(struct petab_reader *reader, const char *yaml, bool by_folder)
{
    char *path = petab_strdup(reader, petab_absolute(reader, yaml)), *slash = strrchr(path, '/');
    if (by_folder && slash) {
        *slash = '\0';
        slash = strrchr(path, '/');
    }
    char *name = slash ? slash + 1 : path, *ending = by_folder ? NULL : strrchr(name, '.');
    if (ending)
        *ending = '\0';
    return name;
}

static const char **name_all(struct petab_reader *reader, const char *const *yaml, size_t n)
{
    const char **name = petab_alloc(reader, n, sizeof *name);
    for (int by_folder = 0; by_folder < 2; by_folder++) {
        struct petab_keys keys = {.n = 0};
        bool is_new = true;
        size_t k = 0;
        for (; k < n && is_new; k++)
            petab_key(reader, &keys, name[k] = name_of(reader, yaml[k], by_folder), &is_new);
        if (is_new)
            return name;
        if (by_folder)
            petab_leave(reader, STATUS_USAGE,
                        "'%.300s': neither the names of the files nor those of their folders tell "
                        "the problems apart, which name datasets: rename some",
                        yaml[k - 1]);
    }
    return name;
}

void petab_problems_read(struct petab_reader *reader, struct petab_problem *problem,
                         const char *const *yaml, size_t n, const char *model, bool outside)
{
    petab_files_read(reader, &problem->files, yaml[0], model, outside);
    petab_problem_read(reader, problem);
    if (n == 1)
        return;
    const char **name = name_all(reader, yaml, n);
    problem->nominal = petab_alloc(reader, n, sizeof *problem->nominal);
    problem->nominal[0] = nominal_values(reader, problem);
    name_dataset(problem, name[0]);
    for (size_t k = 1; k < n; k++) {
        struct petab_problem other = {.n_observable = problem->n_observable,
                                      .observable = problem->observable,
                                      .observables = problem->observables,
                                      .mapping = problem->mapping, .mapped = problem->mapped,
                                      .placeholders = problem->placeholders};
        petab_files_read(reader, &other.files, yaml[k], model, outside);
        if (other.files.version != problem->files.version)
            petab_fault(reader, (struct petab_place){yaml[k], 0, NULL},
                        "is of version %d, but %s is of version %d", other.files.version, yaml[0],
                        problem->files.version);
        need_same_files(reader, &problem->files, &other.files, PETAB_MODEL,
                        "the files of the model");
        need_same_files(reader, &problem->files, &other.files, PETAB_OBSERVABLES,
                        "the tables of observables");
        need_same_files(reader, &problem->files, &other.files, PETAB_MAPPING,
                        "the tables of mappings");
        petab_check(reader);
        petab_read_parameters(reader, &other);
        if (other.n_parameter != problem->n_parameter)
            petab_fault(reader, (struct petab_place){yaml[k], 0, NULL},
                        "has %zu parameters, and %s has %zu", other.n_parameter, yaml[0],
                        problem->n_parameter);
        for (size_t i = 0; i < other.n_parameter && i < problem->n_parameter; i++)
            need_same_parameter(reader, &problem->parameter[i], &other.parameter[i]);
        petab_check(reader);
        petab_read_experiments(reader, &other);
        petab_check(reader);
        problem->nominal[k] = nominal_values(reader, &other);
        name_dataset(&other, name[k]);
        append(reader, problem, &other);
    }
}
