/* Kinds of data in a table of measurements: pyPESTO's columns measurementType, censoringBounds and
 * measurementCategory, which are no part of PEtab but change what a row means.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "petab/problem.h"

#include "io/table/csv.h"

#include <string.h>
#include <strings.h>

struct petab_kinds petab_find_kinds(const struct petab_table *table)
{
    return (struct petab_kinds){
        .table = table, .type = petab_column_of(table, "measurementType"),
        .bounds = petab_column_of(table, "censoringBounds"),
        .category = petab_column_of(table, "measurementCategory"),
        .transformation = petab_column_of(table, "observableTransformation"),
        .distribution = petab_column_of(table, "noiseDistribution")};
}

/* "" for a column that is not there, and for what pandas writes for a missing cell. */
static const char *cell_of(const struct petab_kinds *kinds, size_t row, size_t column)
{
    const char *cell = column == SIZE_MAX ? "" : kinds->table->row[row].cell[column];
    return !strcasecmp(cell, "nan") || !strcmp(cell, "NA") ? "" : cell;
}

/* A fault that other rows have for the same reason, too. */
static void refuse_once(struct petab_reader *reader, struct petab_kinds *kinds, size_t row,
                        size_t column, const char *reason)
{
    bool is_new;
    petab_key(reader, &kinds->refused, reason, &is_new);
    if (is_new)
        petab_fault(reader, petab_cell_place(kinds->table, row, column), "%s", reason);
}

/* The n bounds of a censored row. False: there is a fault. */
static bool read_bounds(struct petab_reader *reader, const struct petab_kinds *kinds, size_t row,
                        size_t n_wanted, double *bound)
{
    size_t n;
    const char *cell = cell_of(kinds, row, kinds->bounds);
    const char **part = petab_split(reader, cell, &n);
    size_t column = kinds->bounds == SIZE_MAX ? kinds->type : kinds->bounds;
    bool good = n == n_wanted;
    for (size_t i = 0; i < n && good; i++)
        good = csv_parse_double(part[i], &bound[i]) && !isnan(bound[i]);
    if (good && n == 2 && !(bound[0] < bound[1]))
        good = false;
    if (!good)
        petab_fault(reader, petab_cell_place(kinds->table, row, column),
                    n_wanted == 1 ? "a %s row needs one number in censoringBounds, not '%.100s'"
                                  : "an %s row needs its lower and its upper bound in "
                                    "censoringBounds, with a semicolon between, not '%.100s'",
                    cell_of(kinds, row, kinds->type), cell);
    return good;
}

static void read_censored(struct petab_reader *reader, const struct petab_kinds *kinds, size_t row,
                          bool is_left, bool is_right, struct petab_measurement *measurement)
{
    double bound[2] = {-INFINITY, INFINITY};
    size_t n = is_left || is_right ? 1 : 2;
    if (!read_bounds(reader, kinds, row, n, is_right || n == 2 ? bound : bound + 1))
        return;
    bool has_upper = bound[1] < INFINITY;
    if (!has_upper && bound[0] == -INFINITY)
        petab_fault(reader, petab_cell_place(kinds->table, row, kinds->bounds),
                    "one bound must be finite");
    measurement->censored = has_upper ? 1 : -1;
    measurement->value = bound[has_upper];
    measurement->limit = has_upper && bound[0] > -INFINITY ? bound[0] : NAN;
}

/* Older tables of measurements say of each row what the table of observables says of all. */
static void check_distribution(struct petab_reader *reader, struct petab_kinds *kinds, size_t row,
                               size_t column, const char *is, const char *id)
{
    const char *cell = cell_of(kinds, row, column);
    if (*cell && strcmp(cell, is) != 0)
        refuse_once(reader, kinds, row, column,
                    petab_format(reader,
                                 "'%.60s' is not what the table of observables, where this "
                                 "column belongs, says of %.200s ('%.60s'): change it there",
                                 cell, id, is));
}

void petab_read_kind(struct petab_reader *reader, const struct petab_problem *problem,
                     struct petab_kinds *kinds, size_t row, struct petab_measurement *measurement)
{
    const char *type = cell_of(kinds, row, kinds->type);
    bool is_left = !strcmp(type, "left-censored"), is_right = !strcmp(type, "right-censored"),
         is_censored = is_left || is_right || !strcmp(type, "interval-censored");
    if (measurement->observable != SIZE_MAX) {
        const struct petab_observable *of = &problem->observable[measurement->observable];
        check_distribution(reader, kinds, row, kinds->transformation, of->transformation, of->id);
        check_distribution(reader, kinds, row, kinds->distribution, of->distribution, of->id);
    }
    if (is_censored)
        read_censored(reader, kinds, row, is_left, is_right, measurement);
    else if (*type && strcmp(type, "quantitative") != 0)
        refuse_once(reader, kinds, row, kinds->type,
                    petab_format(reader,
                                 "%.60s data have no likelihood here; left-censored, "
                                 "right-censored, interval-censored and plain rows (an empty "
                                 "cell) do", type));
    else if (*cell_of(kinds, row, kinds->bounds))
        petab_fault(reader, petab_cell_place(kinds->table, row, kinds->bounds),
                    "a row with bounds needs a measurementType: left-censored, right-censored or "
                    "interval-censored");
    else if (*cell_of(kinds, row, kinds->category))
        refuse_once(reader, kinds, row, kinds->category,
                    "a category is of ordinal data, which have no likelihood here");
}
