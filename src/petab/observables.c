/* Reads the table of observables of either version, and the table of mappings.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "petab/problem.h"

#include "base/words.h"

#include <string.h>

enum { ID, FORMULA, NOISE, DISTRIBUTION, TRANSFORMATION, N_COLUMN_1 };
enum { PLACEHOLDERS = TRANSFORMATION, NOISE_PLACEHOLDERS, N_COLUMN_2 };
static const char *const columns_1[] = {"observableId", "observableFormula", "noiseFormula",
                                        "noiseDistribution", "observableTransformation"};
static const char *const columns_2[] = {"observableId",           "observableFormula",
                                        "noiseFormula",           "noiseDistribution",
                                        "observablePlaceholders", "noisePlaceholders"};

/* What a distribution is called, on a scale, and the error that it is. */
static const struct distribution {
    const char *transformation, *name, *error;
    double factor;
} distributions[] = {{"lin", "normal", "normal", 1},
                     {"lin", "laplace", "laplace", 1},
                     {"lin", "log-normal", "log-normal", 1},
                     {"lin", "log-laplace", "log-laplace", 1},
                     {"log", "normal", "log-normal", 1},
                     {"log", "laplace", "log-laplace", 1},
                     {"log10", "normal", "log-normal", 2.302585092994045684018},
                     {"log10", "laplace", "log-laplace", 2.302585092994045684018}};

static void read_distribution(struct petab_reader *reader, const struct petab_problem *problem,
                              const struct petab_table *table, size_t row,
                              struct petab_observable *observable)
{
    bool is_1 = problem->files.version == 1;
    const char *name = table->row[row].cell[DISTRIBUTION];
    const char *transformation = is_1 ? table->row[row].cell[TRANSFORMATION] : "lin";
    name = *name ? name : "normal";
    transformation = *transformation ? transformation : "lin";
    observable->distribution = name;
    observable->transformation = transformation;
    for (size_t i = 0; i < sizeof distributions / sizeof *distributions; i++)
        if (!strcmp(name, distributions[i].name) &&
            !strcmp(transformation, distributions[i].transformation) &&
            (!is_1 || strncmp(name, "log-", 4))) {
            observable->error = distributions[i].error;
            observable->noise_factor = distributions[i].factor;
            return;
        }
    petab_fault(reader, petab_cell_place(table, row, DISTRIBUTION),
                "'%.40s'%s%.40s is not a distribution of PEtab %s", name,
                is_1 ? " with the transformation " : "", is_1 ? transformation : "",
                is_1 ? "1 (normal or laplace, with lin, log or log10)"
                     : "2 (normal, log-normal, laplace or log-laplace)");
}

/* Collects placeholders of version 1, which have a form: PREFIX, a number from 1, _ and the
 * observable's id. */
struct search {
    struct petab_reader *reader;
    const char *prefix, *id;
    size_t most;
};

static void see_placeholder(void *context, const char *symbol)
{
    struct search *search = context;
    size_t n = strlen(search->prefix), number = 0;
    if (strncmp(symbol, search->prefix, n))
        return;
    const char *p = symbol + n;
    for (; *p >= '0' && *p <= '9' && number < 1000; p++)
        number = 10 * number + (size_t)(*p - '0');
    if (number > 0 && *p == '_' && !strcmp(p + 1, search->id) && number > search->most)
        search->most = number;
}

static const char **find_placeholders(struct petab_reader *reader, const struct postfix *formula,
                                      const char *prefix, const char *id, size_t *n)
{
    struct search search = {reader, prefix, id, 0};
    if (formula)
        postfix_names(formula, see_placeholder, &search);
    *n = search.most;
    const char **name = petab_alloc(reader, *n, sizeof *name);
    for (size_t i = 0; i < *n; i++)
        name[i] = petab_format(reader, "%s%zu_%s", prefix, i + 1, id);
    return name;
}

static void read_placeholders(struct petab_reader *reader, const struct petab_problem *problem,
                              const struct petab_table *table, size_t row,
                              struct petab_observable *observable)
{
    bool is_1 = problem->files.version == 1;
    size_t n[2];
    const char **part[2] = {is_1 ? find_placeholders(reader, observable->formula,
                                                     "observableParameter", observable->id, &n[0])
                                 : petab_split(reader, table->row[row].cell[PLACEHOLDERS], &n[0]),
                            is_1 ? find_placeholders(reader, observable->noise, "noiseParameter",
                                                     observable->id, &n[1])
                                 : petab_split(reader, table->row[row].cell[NOISE_PLACEHOLDERS],
                                               &n[1])};
    const char **all = petab_alloc(reader, n[0] + n[1], sizeof *all);
    for (size_t i = 0; i < n[0]; i++)
        all[i] = part[0][i];
    for (size_t i = 0; i < n[1]; i++)
        all[n[0] + i] = part[1][i];
    observable->n_formula_placeholder = n[0];
    observable->n_placeholder = n[0] + n[1];
    observable->placeholder = all;
}

static void read_row(struct petab_reader *reader, const struct petab_problem *problem,
                     const struct petab_table *table, size_t row,
                     struct petab_observable *observable)
{
    const char *const *cell = table->row[row].cell;
    petab_check_id(reader, table, row, ID);
    *observable = (struct petab_observable){.id = cell[ID],
                                            .place = petab_cell_place(table, row, SIZE_MAX),
                                            .error = "normal", .noise_factor = 1};
    observable->formula =
        petab_formula(reader, petab_cell_place(table, row, FORMULA), cell[FORMULA]);
    observable->noise = petab_formula(reader, petab_cell_place(table, row, NOISE),
                                         *cell[NOISE] ? cell[NOISE] : "1");
    if (observable->noise && postfix_is_number(observable->noise) &&
        !(postfix_value(observable->noise, NULL, NULL) > 0))
        petab_fault(reader, petab_cell_place(table, row, NOISE), "must be positive");
    read_distribution(reader, problem, table, row, observable);
    read_placeholders(reader, problem, table, row, observable);
}

static void read_mapping(struct petab_reader *reader, struct petab_problem *problem)
{
    static const char *const columns[] = {"petabEntityId", "modelEntityId", "name"};
    struct petab_table table;
    petab_table_read(reader, &table, &problem->files.list[PETAB_MAPPING], columns, 3, 2);
    petab_table_note(reader, &table, NULL, 0, NULL);
    problem->mapped = petab_alloc(reader, table.n_row, sizeof *problem->mapped);
    for (size_t i = 0; i < table.n_row; i++)
        problem->mapped[i] = table.row[i].cell[1];
    problem->mapping = petab_table_index(reader, &table, 0);
}

void petab_read_observables(struct petab_reader *reader, struct petab_problem *problem)
{
    bool is_1 = problem->files.version == 1;
    struct petab_table table;
    petab_table_read(reader, &table, &problem->files.list[PETAB_OBSERVABLES],
                     is_1 ? columns_1 : columns_2, is_1 ? N_COLUMN_1 : N_COLUMN_2, FORMULA + 1);
    petab_table_refuse(reader, &table, (is_1 ? columns_2 : columns_1) + TRANSFORMATION,
                       is_1 ? 2 : 1, is_1 ? 2 : 1);
    static const char *const legal[] = {"observableName"};
    petab_table_note(reader, &table, legal, 1, NULL);
    problem->n_observable = table.n_row;
    problem->observable = petab_alloc(reader, table.n_row, sizeof *problem->observable);
    for (size_t i = 0; i < table.n_row; i++)
        read_row(reader, problem, &table, i, &problem->observable[i]);
    problem->observables = petab_table_index(reader, &table, ID);
    read_mapping(reader, problem);
}
