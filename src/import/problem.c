/* A problem file from tables and a model: reads the tables, writes what they hold, and reads the
 * file as a run does.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "import/happenings.h"

#include "base/values.h"
#include "base/words.h"
#include "import/format.h"
#include "import/plugin_reference.h"
#include "io/problem/problem.h"
#include "io/problem/write.h"

#include <stdlib.h>
#include <string.h>

/* All that the new file gets. */
struct contents {
    struct import_rows rows;
    struct import_subjects subjects;
    struct import_happenings happenings;
    struct import_widened widened;
};

static enum status add_datasets(struct problem_writer *writer, const struct contents *contents,
                                const struct model *model, struct error *error)
{
    const struct import_rows *rows = &contents->rows;
    const struct import_owners *owners = &rows->owners;
    const struct import_subjects *subjects = &contents->subjects;
    const struct import_happenings *happenings = &contents->happenings;
    uint32_t *order = NULL, *first = NULL,
             *place = calloc((size_t)owners->experiment.n + 1, sizeof *place);
    enum status status = place
                             ? import_owners_order(owners, &order, &first, error)
                             : error_set(error, STATUS_NO_MEMORY,
                                         "out of memory for %u experiments", owners->experiment.n);
    for (uint32_t k = 0; !status && k < owners->experiment.n; k++)
        place[order[k]] = k;
    for (uint32_t d = 0; !status && d < owners->dataset.n; d++)
        for (uint32_t k = first[d]; !status && k < first[d + 1]; k++) {
            uint32_t e = order[k], source = subjects->steady ? subjects->steady[e] : ID_NONE;
            struct problem_dataset dataset = {
                .id = k == first[d] ? owners->dataset.id[d] : NULL,
                .experiment =
                    {.id = import_experiment_id(owners, e),
                     .steady = source == ID_NONE ? EXPERIMENT_NONE : place[source] - first[d],
                     .t0 = subjects->t0[e],
                     .covariate = subjects->covariate + e * subjects->n_covariate,
                     .input = happenings->input + e * model->abi.n_input},
                .parameters = {.start = subjects->has_start
                                            ? subjects->start + d * subjects->n_parameter : NULL,
                               .fixed = subjects->has_fixed
                                            ? subjects->fixed + d * subjects->n_parameter : NULL},
                .own = subjects->own.value
                           ? subjects->own.value + d * subjects->own.column.n
                           : NULL,
                .n_row = rows->first[e + 1] - rows->first[e],
                .measured = measurements_from(&rows->measured, rows->first[e])};
            struct experiment *is = &dataset.experiment;
            is->dose = import_happenings_of(happenings, RECORD_DOSE, e, &is->n_dose);
            is->call = import_happenings_of(happenings, RECORD_CALL, e, &is->n_call);
            is->substitute =
                import_happenings_of(happenings, RECORD_SUBSTITUTE, e, &is->n_substitute);
            status = problem_writer_add(writer, &dataset, error);
        }
    free(order);
    free(first);
    free(place);
    return status;
}

/* The errors of each observable from --error, which the caller frees; NULL without --error. */
static enum status choose_errors(const struct import_options *options,
                                 const struct stiffit_model *abi, const char ***words,
                                 struct error *error)
{
    if (options->error.n > 0 && !(*words = malloc(abi->n_observable * sizeof **words)))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %u observables",
                         abi->n_observable);
    for (uint32_t k = 0; *words && k < abi->n_observable; k++)
        (*words)[k] = error_kind_default;
    enum status status = values_once(&options->error, "error", error);
    for (size_t i = 0; !status && i < options->error.n; i++) {
        size_t index;
        const char *word;
        status = values_find(options->error.item[i], "error", "observable", abi->observable_name,
                             abi->n_observable, &index, &word, error);
        if (status)
            return status;
        int kind = error_kind_of(word);
        if (kind < 0 && strcmp(word, error_kind_default))
            return error_set(error, STATUS_USAGE,
                             "--error: '%.100s' is not one of " ERROR_WORDS ", default", word);
        (*words)[index] = kind < 0 ? error_kind_default : error_kind_word[kind];
    }
    return status;
}

/* Reads the written file as a run does, before it gets its name: what a run would complain about is
 * reported now, and no file is left that a run would refuse. */
static enum status check_written(const struct import_options *options, const char *written,
                                 const char *path, const struct model *model, struct error *error)
{
    struct problem *problem = NULL;
    const struct problem_expectation expectation = problem_expectation_of(&model->abi);
    unsigned char hash[32];
    uint64_t n_bad = 0;
    enum status status = problem_open(&problem, written, error);
    if (!status)
        status = problem_validate(problem, &expectation, hash, &n_bad, error);
    if (!status && !options->quiet && options->measurements) {
        const struct problem_info *info = problem_info(problem);
        const struct { uint64_t n; const char *what;
        } counts[] = {{info->has_experiments ? info->n_experiment : 0, "experiment"},
                      {info->n_dose, "dose"},
                      {info->n_knot, "input value"},
                      {info->n_call, "event"},
                      {info->n_substitute, "substitute"}};
        char more[120] = "";
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            if (counts[i].n)
                words_add(more, sizeof more, ", %llu %s%s", (unsigned long long)counts[i].n,
                          counts[i].what, plural(counts[i].n));
        options->say("%.300s: %llu dataset%s%s, %llu measurement%s, %u parameter%s", path,
                     (unsigned long long)info->n_dataset, plural(info->n_dataset), more,
                     (unsigned long long)info->n_measurement, plural(info->n_measurement),
                     (unsigned)info->n_parameter, plural(info->n_parameter));
        if (n_bad)
            options->say("note: %llu dataset%s cannot be fitted as %s: bad_data in the result, "
                         "with the reason",
                         (unsigned long long)n_bad, plural(n_bad),
                         n_bad == 1 ? "it is" : "they are");
    }
    problem_close(problem);
    size_t n = strlen(written);
    if (status && !strncmp(error->message, written, n)) { /* by the name that it would have got */
        const struct error fault = *error;
        error_set(error, status, "%.300s (not written)%s", path, fault.message + n);
    }
    return status;
}

/* The name of the table of measurements in messages. */
static const char *line_file(const char *path)
{
    return !path ? NULL : strcmp(path, "-") ? words_file(path) : "standard input";
}

static enum status write_problem(const struct import_options *options, const char *path,
                                 const struct model *model,
                                 const struct import_parameters *parameters,
                                 const char *const *error_words, const struct contents *contents,
                                 struct error *error)
{
    const struct stiffit_model *abi = &contents->widened.model.abi;
    const struct import_rows *rows = &contents->rows;
    const struct import_subjects *subjects = &contents->subjects;
    struct plugin_reference reference = {.path = NULL};
    struct problem_writer *writer = NULL;
    const char *written;
    struct problem_header header = {
        .parameters = parameters->is,
        .by_dataset = (subjects->has_start ? PARAMETER_BIT(start) : 0) |
                      (subjects->has_fixed ? PARAMETER_BIT(fixed) : 0),
        .n_covariate = abi->n_covariate,
        .covariate_name = abi->covariate_name,
        .column = subjects->own.column,
        .n_observable = abi->n_observable,
        .observable_name = abi->observable_name,
        .observable_error = error_words,
        .has_t0 = subjects->has_t0,
        .has_experiments = rows->owners.has_experiments,
        .has_steady = subjects->has_steady,
        .n_target = abi->n_state,
        .target_name = abi->state_name,
        .n_input = abi->n_input,
        .input_name = abi->input_name,
        .n_event = abi->n_event,
        .event_name = abi->event_name,
        .n_substituted = model->abi.n_parameter,
        .substituted_name = model->abi.parameter_name,
        .line_file = line_file(options->measurements)};
    header.parameters.unit = NULL;
    if (!parameters->has_prior)
        header.parameters.prior = NULL;
    enum status status =
        plugin_reference_init(&reference, model, options->model, options->embed, error);
    if (!status) {
        header.model = plugin_reference_model(&reference);
        status = problem_writer_open(&writer, path, options->overwrite, &header, error);
    }
    if (!status)
        status = add_datasets(writer, contents, model, error);
    if (!status)
        status = problem_writer_complete(writer, &written, error);
    if (!status)
        status = check_written(options, written, path, model, error);
    if (!status)
        status = problem_writer_finish(writer, error);
    problem_writer_close(writer);
    plugin_reference_fini(&reference);
    return status;
}

static void say_faults(const struct import_options *options, const struct import_faults *faults)
{
    if (faults->n == 1)
        options->say("note: %s", faults->first.message);
    else if (faults->n)
        options->say("note: %s (the first of %llu such fields)", faults->first.message,
                     (unsigned long long)faults->n);
}

static void say_unused(const struct import_options *options, uint64_t n, const char *what,
                       const char *path)
{
    if (n > 0)
        options->say("note: %llu %s%s of %.100s without measurements left out",
                     (unsigned long long)n, what, plural(n), path);
}

/* Reads the tables, or the one that has all of it, and sorts what they hold; chooses the parameters
 * on the way. */
static enum status read_contents(struct contents *contents, const struct import_options *options,
                                 const struct model *model, struct import_parameters *parameters,
                                 struct error *error)
{
    struct import_rows *rows = &contents->rows;
    struct import_happenings *happenings = &contents->happenings;
    const struct model *wide = &contents->widened.model;
    const struct import_owners *owners = &rows->owners;
    enum status status = STATUS_OK;
    const struct import_format *format = import_format_of(options);
    if (format)
        status = format->read(rows, &contents->subjects, happenings, options, model, error);
    else if (options->measurements)
        status = import_measurements(rows, options, model, error);
    else
        status = import_simulated(rows, options, error);
    if (!status && options->experiments)
        status = import_steady_read(rows, options, &model->abi, error);
    if (!status)
        status = import_sort(rows, error);
    if (!status)
        status = import_happenings_read(happenings, RECORD_SUBSTITUTE, options, rows,
                                        model, NULL, error);
    if (!status)
        status = import_widen(&contents->widened, happenings, model, owners->experiment.n, error);
    if (!status)
        status = import_parameters_choose(parameters, options, wide, model, error);
    /* the model's own priors know its names only */
    parameters->has_prior = parameters->has_prior ||
                            (happenings->of[RECORD_SUBSTITUTE].n && wide->abi.parameter_prior);
    if (!status && !format)
        status = import_subjects_read(&contents->subjects, options, &rows->owners, wide,
                                      parameters->is.start, parameters->is.fixed, error);
    const double *t0 = contents->subjects.t0;
    for (int kind = 0; kind <= RECORD_CALL && !status; kind++)
        status = import_happenings_read(happenings, (enum record_kind)kind, options, rows,
                                        model, t0, error);
    if (!status)
        status = import_happenings_sort(happenings, options, contents->widened.place, t0,
                                        owners->experiment.n, model->abi.n_input, error);
    if (!status && !contents->subjects.has_start)
        status = import_parameters_check(parameters, &wide->abi, false, error);
    return status;
}

static void say_contents(const struct contents *contents, const struct import_options *options)
{
    const char *const path[] = {options->doses, options->inputs, options->events,
                                options->substitutes};
    const char *only = "the tables";
    size_t n = 0;
    for (size_t i = 0; i < sizeof path / sizeof *path; i++)
        if (path[i])
            only = n++ == 0 ? path[i] : "the tables";
    uint64_t n_unused = contents->happenings.n_unused;
    say_unused(options, contents->subjects.n_unused[0], "dataset", options->datasets);
    say_unused(options, contents->subjects.n_unused[1], "experiment", options->experiments);
    if (n_unused > 0)
        options->say(
            "note: %llu row%s of %.100s left out (datasets or experiments %s)",
            (unsigned long long)n_unused, plural(n_unused), only,
            options->measurements ? "without measurements" : "that are not simulated");
    say_faults(options, &contents->rows.faults);
    say_faults(options, &contents->subjects.faults);
}

enum status import_tables(const struct import_options *asked, const struct model *model,
                          const char *path, struct error *error)
{
    struct import_options with = *asked, *options = &with;
    bool *found = with.found = calloc(asked->column.n + 1, sizeof *found);
    with.formats = import_formats;
    struct import_parameters parameters = {.block = NULL};
    struct contents contents = {.widened = {.place = NULL}};
    const char **error_words = NULL;
    enum status status = found ? choose_errors(options, &model->abi, &error_words, error)
                               : error_set(error, STATUS_NO_MEMORY, "out of memory");
    if (!status)
        status = read_contents(&contents, options, model, &parameters, error);
    if (!status && options->id && !found[0])
        options->say("note: --id: no table has a column '%.*s'",
                     (int)strcspn(options->id, ","), options->id);
    for (size_t i = 0; i < options->column.n && !status; i++)
        if (!found[1 + i])
            status = error_set(error, STATUS_USAGE, "--column: no table has a column '%.100s'",
                               strchr(options->column.item[i], '=') + 1);
    if (!status && !options->quiet)
        say_contents(&contents, options);
    if (!status)
        status = write_problem(options, path, model, &parameters, error_words, &contents, error);
    import_happenings_fini(&contents.happenings);
    import_subjects_fini(&contents.subjects);
    arena_fini(&contents.widened.arena);
    import_rows_fini(&contents.rows);
    free(error_words);
    free(found);
    import_parameters_fini(&parameters);
    return status;
}
