/* Writes the tables of a PEtab problem again, cell by cell, with the nominal values and the
 * simulations of a fit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "petab/export.h"

#include "base/output.h"
#include "io/table/csv.h"
#include "petab/lower.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct petab_export {
    struct petab_reader reader;
    struct petab_problem problem;
    struct lowering it;
    struct petab_table table[N_PETAB_KIND]; /* as the files have them */
    size_t *order, *first_row;              /* as of lower_rows */
    size_t dataset;                         /* where the next one is sought first */
    double *simulation;                     /* by rows of the table */
    bool *is_wanted;
    const char *folder;
    bool overwrite;
    struct output output;
    const struct petab_source *several; /* one for each dataset, read when it is written; or NULL */
};

/* `key`: the list's in the YAML file of version 1; version 2 has a list for parameters, too. */
static const struct { enum petab_kind kind; const char *name, *key;
} files[] = {{PETAB_PARAMETERS, "parameters.tsv", "parameter_file"},
             {PETAB_CONDITIONS, "conditions.tsv", "condition_files"},
             {PETAB_EXPERIMENTS, "experiments.tsv", "experiment_files"},
             {PETAB_OBSERVABLES, "observables.tsv", "observable_files"},
             {PETAB_MEASUREMENTS, "measurements.tsv", "measurement_files"},
             {PETAB_MAPPING, "mapping.tsv", "mapping_files"}};
enum { N_FILE = sizeof files / sizeof *files };

static void open_file(struct petab_export *it, const char *folder, const char *name)
{
    const char *path = petab_format(&it->reader, "%s/%s", folder, name);
    petab_files_spare(&it->reader, &it->problem.files, path);
    if (output_open(&it->output, path, it->overwrite, &it->reader.error))
        petab_leave_with(&it->reader);
}

static void finish_file(struct petab_export *it)
{
    if (output_finish(&it->output, &it->reader.error))
        petab_leave_with(&it->reader);
    output_close(&it->output);
}

static void make_folder(struct petab_export *it, const char *path)
{
    if (mkdir(path, 0777) && (errno != EEXIST || !it->overwrite)) {
        error_system(&it->reader.error, errno, "cannot make the folder '%.300s'%s", path,
                     errno == EEXIST ? " (--overwrite writes into it)" : "");
        petab_leave_with(&it->reader);
    }
}

/* A table without the dataset column. In the column `changed`, which is called `name` there,
 * number[i] replaces the cell of row i unless it is NaN. rows: those to be written; NULL: all. */
struct change {
    const char *changed, *name;
    const double *number;
    const bool *rows;
};

static void write_table(struct petab_export *it, const struct petab_table *table,
                        const char *folder, const char *name, struct change change)
{
    open_file(it, folder, name);
    struct csv_writer csv = {.file = it->output.file, .delimiter = '\t'};
    bool *is_changed = petab_alloc(&it->reader, table->n_column, 1), there = !change.changed;
    const char *skipped = it->problem.dataset_column;
    for (size_t k = 0; k < table->n_column; k++) {
        is_changed[k] = change.changed && !strcmp(table->column[k], change.changed);
        there = there || is_changed[k];
        if (!skipped || strcmp(table->column[k], skipped))
            csv_put_text(&csv, is_changed[k] ? change.name : table->column[k]);
    }
    if (!there)
        csv_put_text(&csv, change.name);
    csv_end_row(&csv);
    for (size_t i = 0; i < table->n_row; i++) {
        if (change.rows && !change.rows[i])
            continue;
        for (size_t k = 0; k < table->n_column; k++)
            if (is_changed[k] && !isnan(change.number[i]))
                csv_put_number(&csv, change.number[i]);
            else if (!skipped || strcmp(table->column[k], skipped))
                csv_put_text(&csv, table->row[i].cell[k]);
        if (!there)
            csv_put_number(&csv, change.number[i]);
        csv_end_row(&csv);
    }
    finish_file(it);
}

static void copy_model(struct petab_export *it, const char *folder)
{
    char buffer[1 << 14];
    const char *path = it->problem.files.list[PETAB_MODEL].path[0];
    open_file(it, folder, "model.xml");
    FILE *model = fopen(path, "rb");
    if (!model) {
        error_system(&it->reader.error, errno, "cannot read '%.300s'", path);
        petab_leave_with(&it->reader);
    }
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, model)) > 0;)
        fwrite(buffer, 1, n, it->output.file);
    bool failed = ferror(model);
    fclose(model);
    if (failed)
        petab_leave(&it->reader, STATUS_SYSTEM, "cannot read '%.300s'", path);
    finish_file(it);
}

static void write_yaml(struct petab_export *it, const char *folder)
{
    const struct petab_files *from = &it->problem.files;
    bool is_2 = from->version == 2;
    open_file(it, folder, "problem.yaml");
    FILE *out = it->output.file;
    if (is_2) {
        fputs("format_version: 2.0.0\nparameter_files: [parameters.tsv]\nmodel_files:\n  '", out);
        for (const char *c = from->model_id ? from->model_id : "model"; *c; c++)
            fprintf(out, *c == '\'' ? "''" : "%c", *c);
        fputs("':\n    language: sbml\n    location: model.xml\n", out);
    } else {
        fputs("format_version: 1\nparameter_file: parameters.tsv\nproblems:\n- sbml_files: "
              "[model.xml]\n",
              out);
    }
    for (size_t i = 1; i < N_FILE; i++)
        if (from->list[files[i].kind].n)
            fprintf(out, "%s%s: [%s]\n", is_2 ? "" : "  ", files[i].key, files[i].name);
    finish_file(it);
}

/* In the words of the solutions of PEtab's test suite. */
static void write_solution(struct petab_export *it, const char *folder, const struct petab_fit *fit)
{
    open_file(it, folder, "solution.yaml");
    fprintf(it->output.file, "llh: %.17g\nchi2: %.17g\n", fit->llh, fit->chi2);
    if (!isnan(fit->log_prior))
        fprintf(it->output.file, "unnorm_log_posterior: %.17g\n", fit->llh + fit->log_prior);
    fprintf(it->output.file, "simulation_files: [simulations.tsv]\n");
    finish_file(it);
}

/* Puts the simulations in the order of the table. */
static void take_rows(struct petab_export *it, const struct petab_fit *fit, size_t d)
{
    const struct petab_problem *problem = &it->problem;
    const size_t *first_run = it->it.first_run;
    size_t first = it->first_row[first_run[d]], n = it->first_row[first_run[d + 1]] - first;
    bool same = n == fit->n && fit->n_parameter == problem->n_parameter;
    memset(it->is_wanted, 0, problem->n_measurement);
    for (size_t i = 0; same && i < n; i++) {
        size_t row = it->order[first + i];
        double value = problem->measurement[row].value;
        same = value == fit->value[i] || (isnan(value) && isnan(fit->value[i]));
        it->simulation[row] = fit->simulation[i];
        it->is_wanted[row] = true;
    }
    if (!same)
        petab_leave(&it->reader, STATUS_BAD_PROBLEM, "'%.300s' has changed since it was imported",
                    problem->files.yaml);
}

static size_t find_dataset(struct petab_export *it, const char *id)
{
    for (size_t k = 0; k < it->it.n_dataset; k++) {
        size_t d = (it->dataset + k) % it->it.n_dataset;
        if (!strcmp(*it->it.dataset[d] ? it->it.dataset[d] : "petab", id)) {
            it->dataset = d + 1;
            return d;
        }
    }
    petab_leave(&it->reader, STATUS_BAD_PROBLEM, "'%.300s' has no dataset '%.300s' any more",
                it->problem.files.yaml, id);
}

/* The folder of a dataset. */
static const char *folder_of(struct petab_export *it, const struct petab_fit *fit)
{
    if (strchr(fit->id, '/') || *fit->id == '.')
        petab_leave(&it->reader, STATUS_BAD_PROBLEM, "the dataset '%.300s' cannot name a folder",
                    fit->id);
    return petab_format(&it->reader, "%s/%s", it->folder, fit->id);
}

/* One of several problems. */
static void put_alone(struct petab_export *it, const struct petab_fit *fit)
{
    const struct petab_source *several = it->several;
    const struct petab_source source = {.yaml = fit->number < several->n ? several->of[fit->number]
                                                                         : "",
                                        .model = several->model};
    struct petab_fit alone = *fit;
    struct petab_export *one;
    alone.id = "petab";
    enum status status = petab_export_open(&one, &source, false, folder_of(it, fit), it->overwrite,
                                           &it->reader.error);
    if (!status)
        status = petab_export_put(one, &alone, &it->reader.error);
    petab_export_close(one);
    if (status)
        petab_leave_with(&it->reader);
}

static void put(struct petab_export *it, const struct petab_fit *fit)
{
    const char *folder = it->problem.dataset_column ? folder_of(it, fit) : it->folder;
    take_rows(it, fit, find_dataset(it, fit->id));
    if (folder != it->folder)
        make_folder(it, folder);
    double *nominal = petab_alloc(&it->reader, fit->n_parameter, sizeof *nominal);
    for (size_t i = 0; i < fit->n_parameter; i++)
        nominal[i] = it->problem.parameter[i].estimate ? fit->parameter[i] : NAN;
    for (size_t i = 0; i < N_FILE; i++)
        if (it->problem.files.list[files[i].kind].n)
            write_table(it, &it->table[files[i].kind], folder, files[i].name,
                        files[i].kind == PETAB_PARAMETERS
                            ? (struct change){"nominalValue", "nominalValue", nominal, NULL}
                        : files[i].kind == PETAB_MEASUREMENTS
                            ? (struct change){.rows = it->is_wanted}
                            : (struct change){0});
    write_table(it, &it->table[PETAB_MEASUREMENTS], folder, "simulations.tsv",
                (struct change){"measurement", "simulation", it->simulation, it->is_wanted});
    copy_model(it, folder);
    write_solution(it, folder, fit);
    write_yaml(it, folder);
}

static void read_all(struct petab_export *it, const struct petab_source *source, bool outside)
{
    struct petab_reader *reader = &it->reader;
    petab_files_read(reader, &it->problem.files, source->yaml, source->model, outside);
    it->problem.dataset_column = source->dataset_column;
    petab_problem_read(reader, &it->problem);
    lower_make_runs(&it->it);
    petab_check(reader);
    for (size_t i = 0; i < N_FILE; i++)
        petab_table_read(reader, &it->table[files[i].kind], &it->problem.files.list[files[i].kind],
                         NULL, 0, 0);
    it->order = lower_rows(&it->it, &it->first_row);
    it->simulation = petab_alloc(reader, it->problem.n_measurement, sizeof *it->simulation);
    it->is_wanted = petab_alloc(reader, it->problem.n_measurement, 1);
}

enum status petab_export_open(struct petab_export **made, const struct petab_source *source,
                              bool outside, const char *folder, bool overwrite, struct error *error)
{
    struct petab_export *it = *made = calloc(1, sizeof *it);
    if (!it)
        return error_set(error, STATUS_NO_MEMORY, "out of memory");
    it->it = (struct lowering){.reader = &it->reader, .problem = &it->problem};
    it->folder = folder;
    it->overwrite = overwrite;
    if (!setjmp(it->reader.out)) {
        const char *const *yaml = source->n ? source->of : &source->yaml;
        if (source->sha256 &&
            strcmp(petab_hash(&it->reader, yaml, source->n ? source->n : 1, source->model, outside),
                   source->sha256))
            petab_leave(&it->reader, STATUS_BAD_PROBLEM,
                        "'%.300s' or a file that %s has changed since it was imported", yaml[0],
                        source->n > 1 ? "another of these problems names" : "it names");
        it->several = source->n ? source : NULL;
        if (!it->several)
            read_all(it, source, outside);
        make_folder(it, folder);
        return STATUS_OK;
    }
    *error = it->reader.error;
    return error->status;
}

enum status petab_export_put(struct petab_export *it, const struct petab_fit *fit,
                             struct error *error)
{
    if (!setjmp(it->reader.out)) {
        (it->several ? put_alone : put)(it, fit);
        return STATUS_OK;
    }
    *error = it->reader.error;
    return error->status;
}

void petab_export_close(struct petab_export *it)
{
    if (!it)
        return;
    output_close(&it->output);
    petab_reader_fini(&it->reader);
    free(it);
}
