/* Settings that `stiffit import` copied into the problem file from the model of that time. With
 * another model, that model's defaults replace them, and the differences are listed for the
 * user. Separate from problem/match.c, which knows only one model.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/words.h"
#include "io/problem/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const int table_of[] = {[FROM_MODEL_START] = PARAMETER_start,
                               [FROM_MODEL_LOWER] = PARAMETER_lower,
                               [FROM_MODEL_UPPER] = PARAMETER_upper};

double problem_scale_number(const char *scale)
{
    return strcmp(scale, "log10") == 0 ? 2 : strcmp(scale, "log") == 0 ? 1 : 0;
}

/* A deleted table was not the user's choice. */
static bool is_from_model(const struct problem *problem, size_t i, int which)
{
    double imported = problem->table[PARAMETER_from_model].vector[i * N_FROM_MODEL + (size_t)which];
    const char *const *scale = problem->table[PARAMETER_scale].text;
    if (which == FROM_MODEL_SCALE)
        return scale ? problem_scale_number(scale[i]) == imported : !isnan(imported);
    const double *vector = problem->table[table_of[which]].vector;
    return vector ? vector[i] == imported : !isnan(imported);
}

static bool is_all_from_model(const struct problem *problem, size_t i)
{
    for (int which = 0; which < N_FROM_MODEL; which++)
        if (!is_from_model(problem, i, which))
            return false;
    return true;
}

void problem_open_adopted(struct problem *problem)
{
    struct problem_table *table = &problem->table[PARAMETER_from_model];
    const struct hdf5_column *column = &table->column;
    const size_t n = problem->info.n_parameter;
    if (!problem->info.parameter_name || !column->dataset)
        return;
    /* An earlier version stored the bits without the numbers: the file's values are used. */
    if (column->n_row == n && column->width == 1)
        return;
    problem->adopted.is_on = column->n_row == n && table->vector;
    if (column->n_row != n || column->width != N_FROM_MODEL)
        faults_add(&problem->faults,
                   "%s: %zu x %d numbers are expected (parameters x start, lower, upper, scale)",
                   column->path, n, N_FROM_MODEL);
}

static void say(struct problem *problem, const char *text)
{
    size_t used = strlen(problem->adopted.changes), size = sizeof problem->adopted.changes;
    if (used + strlen(text) + 8 < size)
        snprintf(problem->adopted.changes + used, size - used, "%s%s", used ? ", " : "", text);
    else if (used < 4 || strcmp(problem->adopted.changes + used - 3, "..."))
        snprintf(problem->adopted.changes + (used < size - 6 ? used : size - 6), 6, ", ...");
}

static void say_name(struct problem *problem, const char *what, const char *name)
{
    char text[120];
    snprintf(text, sizeof text, "%s%.60s", what, name);
    say(problem, text);
}

/* Lists the parameters: the file's, without those that only the old model had, then new ones.
 * from[i] is the index in the file, or SIZE_MAX. */
static size_t list_parameters(struct problem *problem, const struct problem_expectation *model,
                              const char **name, size_t *from)
{
    const struct problem_info *info = &problem->info;
    size_t n = 0;
    for (size_t i = 0; i < info->n_parameter; i++) {
        bool is_there =
            words_find(info->parameter_name[i], model->parameter.name, model->parameter.n) >= 0;
        if (!is_there && is_all_from_model(problem, i)) {
            say_name(problem, "no parameter ", info->parameter_name[i]);
            continue;
        }
        from[n] = i;
        name[n++] = info->parameter_name[i];
    }
    for (size_t j = 0; j < model->parameter.n; j++) {
        if (words_find(model->parameter.name[j], info->parameter_name, info->n_parameter) >= 0)
            continue;
        say_name(problem, "new parameter ", model->parameter.name[j]);
        from[n] = SIZE_MAX;
        name[n++] = model->parameter.name[j];
    }
    return n;
}

/* The zeros of new ones are replaced below. */
static bool move_table(struct problem *problem, enum parameter_column column, size_t n,
                       const size_t *from)
{
    struct problem_table *table = &problem->table[column];
    const double *old = table->vector;
    const size_t width = parameter_columns[column].width;
    const char **text = NULL;
    if (!old && (column != PARAMETER_scale || !table->text))
        return true;
    if (old &&
        !(table->vector = arena_calloc(&problem->arena, n + 1, width * sizeof *table->vector)))
        return false;
    if (!old && !(text = arena_calloc(&problem->arena, n + 1, sizeof *text)))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (text)
            text[i] = from[i] == SIZE_MAX ? "lin" : table->text[from[i]];
        else if (from[i] != SIZE_MAX)
            memcpy(table->vector + i * width, old + from[i] * width, width * sizeof *old);
    }
    table->text = text ? text : table->text;
    table->n = n;
    return true;
}

/* Extends the file's tables to the new list; new entries come from the model. */
static void move_tables(struct problem *problem, size_t n, const char *const *name,
                        const size_t *from)
{
    const char **copy = arena_calloc(&problem->arena, n + 1, sizeof *copy);
    if (problem->arena.failed)
        return;
    for (size_t i = 0; i < n; i++)
        copy[i] = arena_strdup(&problem->arena, name[i]); /* the model may be closed first */
    for (int c = 0; c < N_PARAMETER_COLUMN; c++)
        if (!move_table(problem, (enum parameter_column)c, n, from))
            return;
    problem->info.parameter_name = copy;
    problem->info.n_parameter = n;
    problem->adopted.has_other_parameters = true;
}

static void adopt_number(struct problem *problem, int which, size_t i, double value,
                         const char *what)
{
    double *vector = problem->table[which].vector;
    char text[160];
    if (!vector || vector[i] == value || (isnan(vector[i]) && isnan(value)))
        return;
    snprintf(text, sizeof text, "%s of %.60s %g (was %g)", what, problem->info.parameter_name[i],
             value, vector[i]);
    vector[i] = value;
    say(problem, text);
}

static void adopt_values(struct problem *problem, const struct problem_expectation *model,
                         size_t n_old)
{
    size_t n = problem->info.n_parameter;
    struct problem_table *file_scale = &problem->table[PARAMETER_scale];
    const char **scale = arena_calloc(&problem->arena, n + 1, sizeof *scale);
    if (problem->arena.failed)
        return;
    for (size_t i = 0; i < n; i++) {
        char text[160], *end = problem->adopted.changes + strlen(problem->adopted.changes);
        int j =
            words_find(problem->info.parameter_name[i], model->parameter.name, model->parameter.n);
        double lower =
            j >= 0 && model->parameter.lower ? model->parameter.lower[j] : -(double)INFINITY;
        double upper =
            j >= 0 && model->parameter.upper ? model->parameter.upper[j] : (double)INFINITY;
        const char *of_model = j >= 0 && model->parameter.scale ? model->parameter.scale[j] : "lin";
        scale[i] = file_scale->text ? file_scale->text[i] : of_model;
        if (j >= 0 && is_from_model(problem, i, FROM_MODEL_SCALE) &&
            strcmp(scale[i], of_model) != 0) {
            snprintf(text, sizeof text, "scale of %.60s %s (was %s)",
                     problem->info.parameter_name[i], of_model, scale[i]);
            scale[i] = of_model;
            say(problem, text);
        }
        if (j >= 0 && is_from_model(problem, i, FROM_MODEL_START) && model->parameter.start)
            adopt_number(problem, PARAMETER_start, i, model->parameter.start[j], "start");
        if (j >= 0 && is_from_model(problem, i, FROM_MODEL_LOWER))
            adopt_number(problem, PARAMETER_lower, i, lower, "lower");
        if (j >= 0 && is_from_model(problem, i, FROM_MODEL_UPPER))
            adopt_number(problem, PARAMETER_upper, i, upper, "upper");
        if (i >= n_old && problem->adopted.has_other_parameters)
            *end = '\0'; /* already listed as new */
    }
    if (file_scale->text)
        file_scale->text = scale;
}

void problem_adopt(struct problem *problem, const struct problem_expectation *model)
{
    if (!problem->adopted.is_on || problem->matched)
        return;
    size_t n_file = problem->info.n_parameter, most = n_file + model->parameter.n + 1, n_old = 0;
    const char **name = arena_calloc(&problem->arena, most, sizeof *name);
    size_t *from = arena_calloc(&problem->arena, most, sizeof *from);
    if (problem->arena.failed)
        return;
    size_t n = list_parameters(problem, model, name, from);
    bool is_same = n == n_file;
    for (size_t i = 0; i < n; i++) {
        is_same = is_same && from[i] == i;
        n_old += from[i] != SIZE_MAX;
    }
    /* Tables by dataset and priors belong to the old parameters: with others they are faults, as
     * always. */
    bool is_fixed_list = problem->info.parameter_prior != NULL;
    for (int k = 0; k < N_PARAMETER_COLUMN; k++)
        is_fixed_list = is_fixed_list || problem->table[k].per_dataset;
    if (!is_same && is_fixed_list)
        problem->adopted.changes[0] = '\0';
    if (!is_same && !is_fixed_list)
        move_tables(problem, n, name, from);
    adopt_values(problem, model, n_old);
}

const char *problem_changes(const struct problem *problem) { return problem->adopted.changes; }
bool problem_has_other_parameters(const struct problem *problem)
{
    return problem->adopted.has_other_parameters;
}
