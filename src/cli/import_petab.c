/* `stiffit import PROBLEM.yaml`: a problem file from a PEtab problem.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/import.h"

#include "base/output.h"
#include "base/seal.h"
#include "cli/command.h"
#include "cli/contain.h"
#include "cli/model_text.h"
#include "import/format.h"
#include "petab/import.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a problem may cost that was made to cost much. */
enum { MOST_CPU_S = 600, MOST_GIB = 8 };

bool import_is_petab(const char *path) { return petab_is_yaml(path); }

/* "x.yaml" -> "x" and the ending; free it. */
static char *default_output(const char *path, const char *ending)
{
    size_t n = (size_t)(strrchr(path, '.') - path), size = n + strlen(ending) + 1;
    char *made = malloc(size);
    if (made)
        snprintf(made, size, "%.*s%s", (int)n, path, ending);
    return made;
}

static enum status write_problem(const struct import_options *options, const char *path,
                                 struct error *error)
{
    struct petab_report report = {.n_fault = 0};
    const struct petab_words *petab = &options->petab;
    const struct petab_options how = {.model = options->model,
                                      .dataset_column = options->dataset_column,
                                      .outside = options->outside,
                                      .overwrite = options->overwrite || petab->is_for_run,
                                      .outputs = petab->outputs, .seals = petab->is_for_run};
    enum status status = petab_import(petab->yaml, petab->n, path, &how, &report, error);
    for (size_t i = 0; report.n_fault > 1 && i < report.n_fault; i++)
        message_say("%s", report.fault[i]);
    for (size_t i = 0; !options->quiet && i < report.n_note;
         i++) /* also after a fault, which they may explain */
        message_say("note: %s", report.note[i]);
    if (!status && !options->quiet && !options->petab.is_for_run)
        message_say("%.300s: %zu dataset%s, %zu experiment%s, %zu measurement%s, %zu parameter%s",
                    path, report.n_dataset, plural(report.n_dataset), report.n_experiment,
                    plural(report.n_experiment), report.n_measurement, plural(report.n_measurement),
                    report.n_parameter, plural(report.n_parameter));
    petab_report_fini(&report);
    return status;
}

/* STATUS_SYSTEM if the output exists, and a run has not made it or somebody has changed it. */
static enum status check_made(const struct import_options *options, const char *path,
                              struct error *error)
{
    if (!options->petab.is_for_run || options->overwrite || access(path, F_OK) || seal_holds(path))
        return STATUS_OK;
    return error_set(error, STATUS_SYSTEM,
                     "%.300s exists, and is not as a run made it from %.300s: it was changed "
                     "since, or made in another way. It is kept: fit this file (stiffit run "
                     "%.300s), move it away, or replace it with --overwrite",
                     path, options->measurements, path);
}

static int work(void *context)
{
    const struct import_options *options = context;
    struct error error = {.status = STATUS_OK};
    char *path =
        options->output ? strdup(options->output) : default_output(options->measurements, ".h5");
    contained_limit(MOST_CPU_S, MOST_GIB);
    enum status status = path ? STATUS_OK : error_set(&error, STATUS_NO_MEMORY, "out of memory");
    for (size_t k = 0; !status && k < options->petab.n; k++)
        status = spare_file(path, options->petab.yaml[k], &error);
    if (!status)
        status = check_made(options, path, &error);
    if (!status)
        status = write_problem(options, path, &error);
    free(path);
    return status ? message_error(&error, options->color) : 0;
}

int import_petab(struct import_options *options)
{
    struct error error = {.status = STATUS_OK};
    const struct import_format *format = import_format_of(options);
    const struct { bool is_given; const char *name;
    } others[] = {{options->datasets, "datasets"},     {options->experiments, "experiments"},
                  {options->doses, "doses"},           {options->inputs, "inputs"},
                  {options->parameters, "parameters"}, {format, format ? format->name : ""},
                  {options->embed, "embed"},           {options->start.n, "start"},
                  {options->lower.n, "lower"},         {options->upper.n, "upper"},
                  {options->scale.n, "scale"},         {options->fix.n, "fix"},
                  {options->error.n, "error"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].is_given) {
            error_set(&error, STATUS_USAGE,
                      "--%s: is for tables of measurements, and %s is a PEtab problem",
                      others[i].name, options->measurements);
            return message_usage("import", &error, options->color);
        }
    for (size_t k = 0; k < options->petab.n; k++)
        if (!petab_is_yaml(options->petab.yaml[k])) {
            error_set(&error, STATUS_USAGE, "%s: is no PEtab problem (.yaml), as %s is",
                      options->petab.yaml[k], options->measurements);
            return message_usage("import", &error, options->color);
        }
    if (options->petab.n > 1 && (!options->output || options->dataset_column)) {
        error_set(&error, STATUS_USAGE,
                  options->output ? "--dataset-column: each of several problems is a dataset itself"
                                  : "--output is needed for several problems");
        return message_usage("import", &error, options->color);
    }
    return contained_run(work, options, options->measurements, options->color);
}

char *import_petab_path(const char *yaml) { return default_output(yaml, ".petab.h5"); }

int import_petab_for_run(const char *yaml, const char *path, const struct outputs *outputs,
                         bool overwrite, bool quiet, enum when color)
{
    struct import_options options = {.measurements = yaml, .petab = {&yaml, 1, true, *outputs},
                                     .output = path, .overwrite = overwrite, .quiet = quiet,
                                     .color = color};
    return contained_run(work, &options, yaml, color);
}
