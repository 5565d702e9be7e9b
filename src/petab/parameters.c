/* Reads the table of parameters of either version.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "petab/problem.h"

#include "base/words.h"

#include <inttypes.h>
#include <string.h>

enum { ID, ESTIMATE, NOMINAL, LOWER, UPPER, PRIOR, PRIOR_PARAMETERS, N_COLUMN_2 };
enum { SCALE = N_COLUMN_2, DRAW, DRAW_PARAMETERS, N_COLUMN_1 };
static const char *const columns_1[N_COLUMN_1] = {"parameterId",
                                                  "estimate",
                                                  "nominalValue",
                                                  "lowerBound",
                                                  "upperBound",
                                                  "objectivePriorType",
                                                  "objectivePriorParameters",
                                                  "parameterScale",
                                                  "initializationPriorType",
                                                  "initializationPriorParameters"};
static const char *const columns_2[N_COLUMN_2] = {"parameterId",    "estimate",
                                                  "nominalValue",   "lowerBound",
                                                  "upperBound",     "priorDistribution",
                                                  "priorParameters"};

/* PEtab's names of priors, and what they are in a problem file. first: where the first of n
 * numbers goes (0 location, 1 scale, 2 lower); the second follows. */
static const struct prior_name {
    const char *name, *word;
    bool on_optimizer;
    size_t first, n;
} priors[] = {{"normal", "normal", false, 0, 2},
              {"laplace", "laplace", false, 0, 2},
              {"uniform", "uniform", false, 2, 2},
              {"log-normal", "log-normal", false, 0, 2},
              {"logNormal", "log-normal", false, 0, 2},
              {"log-laplace", "log-laplace", false, 0, 2},
              {"logLaplace", "log-laplace", false, 0, 2},
              {"log-uniform", "log-uniform", false, 2, 2},
              {"cauchy", "cauchy", false, 0, 2},
              {"gamma", "gamma", false, 0, 2},
              {"chisquare", "chi-square", false, 0, 1},
              {"exponential", "exponential", false, 1, 1},
              {"rayleigh", "rayleigh", false, 1, 1},
              {"parameterScaleNormal", "normal", true, 0, 2},
              {"parameterScaleLaplace", "laplace", true, 0, 2},
              {"parameterScaleUniform", "uniform", true, 2, 2}};
enum { N_PRIOR = sizeof priors / sizeof *priors };

/* NaN is a fault already. */
static void check_prior(struct petab_reader *reader, struct petab_place place,
                        const struct petab_parameter *parameter)
{
    const double *number = parameter->prior_number;
    bool is_shape = !strcmp(parameter->prior, "gamma") || !strcmp(parameter->prior, "chi-square");
    bool is_natural = !strcmp(parameter->prior_on, "natural");
    if (number[1] <= 0 || (is_shape && number[0] <= 0))
        petab_fault(reader, place, "%s of %s must be positive",
                    number[1] <= 0 ? "the scale" : "the first number", parameter->prior);
    else if (number[2] >= number[3])
        petab_fault(reader, place, "the lower end is not below the upper one");
    else if (!strcmp(parameter->prior, "log-uniform") && number[2] <= 0)
        petab_fault(reader, place, "the ends of log-uniform must be positive");
    else if (is_natural && parameter->estimate &&
             (number[2] >= parameter->upper || number[3] <= parameter->lower))
        petab_fault(reader, place, "the prior and the bounds have no value in common");
}

static void read_prior(struct petab_reader *reader, const struct petab_problem *problem,
                       const struct petab_table *table, size_t row,
                       struct petab_parameter *parameter)
{
    const char *name = table->row[row].cell[PRIOR], *names[N_PRIOR];
    size_t n;
    const char **number = petab_split(reader, table->row[row].cell[PRIOR_PARAMETERS], &n);
    parameter->prior = "none";
    parameter->prior_on = "natural";
    for (int k = 0; k < 4; k++)
        parameter->prior_number[k] = NAN;
    for (size_t i = 0; i < N_PRIOR; i++)
        names[i] = priors[i].name;
    if (!*name) { /* a uniform prior between the bounds, which needs no mention in version 1 */
        if (problem->files.version == 2 && isfinite(parameter->lower) &&
            isfinite(parameter->upper)) {
            parameter->prior = "uniform";
            parameter->prior_number[2] = parameter->lower;
            parameter->prior_number[3] = parameter->upper;
        }
        return;
    }
    int i = words_find(name, names, N_PRIOR);
    if (i < 0) {
        char hint[NEAREST_HINT];
        petab_fault(reader, petab_cell_place(table, row, PRIOR),
                    "'%.300s' is not a prior of PEtab%s", name,
                    strlen(name) < 64
                        ? nearest_hint(hint, "; did you mean '", "'?", name, names, N_PRIOR)
                        : "");
        return;
    }
    if (n == 0 && priors[i].first == 2) /* a uniform prior between the bounds */
        return;
    if (n != priors[i].n) {
        petab_fault(reader, petab_cell_place(table, row, PRIOR_PARAMETERS),
                    "%s has %zu number%s, not %zu", name, priors[i].n, priors[i].n == 1 ? "" : "s",
                    n);
        return;
    }
    parameter->has_prior = true;
    parameter->prior = priors[i].word;
    parameter->prior_on = priors[i].on_optimizer ? "optimizer" : "natural";
    for (size_t k = 0; k < n; k++) {
        const struct postfix *formula =
            petab_formula(reader, petab_cell_place(table, row, PRIOR_PARAMETERS), number[k]);
        if (formula && postfix_is_number(formula))
            parameter->prior_number[priors[i].first + k] = postfix_value(formula, NULL, NULL);
        else if (formula)
            petab_fault(reader, petab_cell_place(table, row, PRIOR_PARAMETERS),
                        "'%.300s' is not a number", number[k]);
    }
    check_prior(reader, petab_cell_place(table, row, PRIOR_PARAMETERS), parameter);
}

/* Starts are drawn from the objective's priors, and evenly between the bounds without one: a
 * column that asks for others is not silently ignored. */
static void note_draws(struct petab_reader *reader, const struct petab_table *table,
                       const struct petab_problem *problem)
{
    const struct petab_row *first = NULL;
    size_t n = 0;
    for (size_t i = 0; i < table->n_row; i++) {
        const struct petab_row *row = &table->row[i];
        const char *const *cell = row->cell;
        bool same = !strcmp(cell[DRAW], cell[PRIOR]) &&
                    !strcmp(cell[DRAW_PARAMETERS], cell[PRIOR_PARAMETERS]);
        bool even = !*cell[PRIOR] && !*cell[DRAW_PARAMETERS] &&
                    !strcmp(cell[DRAW], "parameterScaleUniform");
        if (!problem->parameter[i].estimate || !*cell[DRAW] || same || even)
            continue;
        n++;
        first = first ? first : row;
    }
    if (n)
        petab_note(reader,
                   "%s:%" PRIu64 ": starts of %s%s are not drawn from the initializationPriorType: "
                   "see stiffit-petab(7)",
                   first->file, first->line, first->cell[ID],
                   n > 1
                       ? petab_format(reader, " and %zu more parameter%s", n - 1, n > 2 ? "s" : "")
                       : "");
}

static bool read_flag(struct petab_reader *reader, const struct petab_table *table, size_t row)
{
    static const char *const words[] = {"true",  "True",  "TRUE",  "1", "1.0",
                                        "false", "False", "FALSE", "0", "0.0"};
    const char *cell = table->row[row].cell[ESTIMATE];
    int i = words_find(cell, words, sizeof words / sizeof *words);
    if (i < 0)
        petab_fault(reader, petab_cell_place(table, row, ESTIMATE),
                    "'%.300s' is not true or false (1 or 0)", cell);
    return i >= 0 && i < 5;
}

/* The optimiser's scale. Version 2 leaves it open: positive bounds ask for a logarithm. */
static const char *choose_scale(struct petab_reader *reader, const struct petab_problem *problem,
                                const struct petab_table *table, size_t row,
                                const struct petab_parameter *parameter)
{
    static const char *const words[] = {"lin", "log", "log10"};
    if (problem->files.version == 2)
        return parameter->lower > 0 ? words[2] : words[0];
    const char *cell = table->row[row].cell[SCALE];
    int i = *cell ? words_find(cell, words, 3) : 0;
    if (i < 0)
        petab_fault(reader, petab_cell_place(table, row, SCALE),
                    "'%.300s' is not lin, log or log10", cell);
    if (i > 0 && !parameter->estimate && !(parameter->nominal > 0))
        return words[0]; /* it does not matter, and 0 has no logarithm */
    bool is_lost = parameter->nominal <= 0 && !(parameter->lower > 0); /* else it is moved there */
    if (i > 0 && parameter->estimate && is_lost)
        petab_fault(reader, petab_cell_place(table, row, NOMINAL),
                    "must be positive with the scale %s, or the lower bound must be", words[i]);
    if (i > 0 && parameter->estimate && parameter->upper <= 0)
        petab_fault(reader, petab_cell_place(table, row, UPPER),
                    "must be positive with the scale %s", words[i]);
    if (i > 0 && parameter->estimate && parameter->lower < 0)
        petab_fault(reader, petab_cell_place(table, row, LOWER),
                    "must not be negative with the scale %s", words[i]);
    return words[i < 0 ? 0 : i];
}

static void read_row(struct petab_reader *reader, const struct petab_problem *problem,
                     const struct petab_table *table, size_t row, struct petab_parameter *parameter)
{
    petab_check_id(reader, table, row, ID);
    *parameter =
        (struct petab_parameter){.id = table->row[row].cell[ID],
                                 .place = petab_cell_place(table, row, SIZE_MAX),
                                 .lower = petab_number(reader, table, row, LOWER, -INFINITY),
                                 .upper = petab_number(reader, table, row, UPPER, INFINITY),
                                 .nominal = petab_number(reader, table, row, NOMINAL, NAN),
                                 .estimate = read_flag(reader, table, row)};
    if (!parameter->estimate && isnan(parameter->nominal))
        petab_fault(reader, petab_cell_place(table, row, NOMINAL),
                    "is needed where a parameter is not estimated");
    if (isinf(parameter->nominal))
        petab_fault(reader, petab_cell_place(table, row, NOMINAL), "must be finite");
    if (parameter->estimate && (parameter->lower == INFINITY || parameter->upper == -INFINITY))
        petab_fault(reader,
                    petab_cell_place(table, row, parameter->lower == INFINITY ? LOWER : UPPER),
                    "leaves no values");
    else if (parameter->estimate && parameter->lower > parameter->upper)
        petab_fault(reader, petab_cell_place(table, row, LOWER), "is above the upper bound");
    parameter->scale = choose_scale(reader, problem, table, row, parameter);
    read_prior(reader, problem, table, row, parameter);
    if (!parameter->estimate) { /* its bounds need not make sense, and it is in no posterior */
        parameter->lower = -INFINITY;
        parameter->upper = INFINITY;
        parameter->prior = "none";
        parameter->has_prior = false;
    } else if (parameter->nominal <= 0 && strcmp(parameter->scale, "lin") && parameter->lower > 0) {
        petab_note(reader, "%s:%zu: the nominal value %g of %s has no logarithm: it starts at its "
                   "lower bound %g", parameter->place.file, (size_t)parameter->place.line,
                   parameter->nominal, parameter->id, parameter->lower);
        parameter->nominal = parameter->lower;
    } else if (isnan(parameter->nominal)) {
        bool is_log = strcmp(parameter->scale, "lin") && parameter->lower > 0;
        double middle = is_log ? sqrt(parameter->lower) * sqrt(parameter->upper)
                               : 0.5 * (parameter->lower + parameter->upper);
        parameter->nominal = isfinite(middle)             ? middle
                             : isfinite(parameter->lower) ? parameter->lower + 1
                                                          : 1;
        petab_note(reader, "%s:%zu: %s has no nominal value: it starts in the middle of its bounds",
                   parameter->place.file, (size_t)parameter->place.line, parameter->id);
    }
}

void petab_read_parameters(struct petab_reader *reader, struct petab_problem *problem)
{
    bool is_1 = problem->files.version == 1;
    struct petab_table table;
    petab_table_read(reader, &table, &problem->files.list[PETAB_PARAMETERS],
                     is_1 ? columns_1 : columns_2, is_1 ? N_COLUMN_1 : N_COLUMN_2, NOMINAL);
    petab_table_refuse(reader, &table, (is_1 ? columns_2 : columns_1) + PRIOR, 2, is_1 ? 2 : 1);
    static const char *const legal[] = {"parameterName"};
    petab_table_note(reader, &table, legal, 1, NULL);
    problem->n_parameter = table.n_row;
    problem->parameter = petab_alloc(reader, table.n_row, sizeof *problem->parameter);
    for (size_t i = 0; i < table.n_row; i++)
        read_row(reader, problem, &table, i, &problem->parameter[i]);
    if (is_1)
        note_draws(reader, &table, problem);
    problem->parameters = petab_table_index(reader, &table, ID);
    if (!table.n_row)
        petab_fault(reader,
                    (struct petab_place){problem->files.list[PETAB_PARAMETERS].path[0], 0, NULL},
                    "there are no parameters");
}
