/* `stiffit import MODEL.xml`: model text from SBML.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/import.h"

#include "base/output.h"
#include "base/process.h"
#include "cli/command.h"
#include "cli/contain.h"
#include "cli/model_text.h"
#include "import/format.h"
#include "sbml/sbml.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What a file may cost that was made to cost much: memory, and time on the processor in units of
 * process_hang_seconds(), a minute. A model of 10,000 reactions needs a tenth of it. */
enum { MOST_HANGS = 2, MOST_GIB = 4 };

bool import_is_sbml(const char *path)
{
    const char *ending = strrchr(path, '.');
    return ending && (!strcasecmp(ending, ".xml") || !strcasecmp(ending, ".sbml"));
}

/* "x.xml" -> "x.ode"; free it. */
static char *default_output(const char *path)
{
    size_t n = (size_t)(strrchr(path, '.') - path);
    char *made = malloc(n + sizeof ".ode");
    if (made)
        snprintf(made, n + sizeof ".ode", "%.*s.ode", (int)n, path);
    return made;
}

/* Reads the text as a build does, in order to report now what a build would complain about: the
 * text is not written then. */
static enum status check_text(const struct sbml_model *model, const char *from, const char *path,
                              bool quiet, struct error *error)
{
    struct equations *equations = NULL;
    enum status status = sbml_parse(model, model->text, from, &equations, error);
    if (!status && !quiet && strcmp(path, "-"))
        message_say("%s: %u state%s, %u parameter%s, %u observable%s", path,
                    (unsigned)equations->n_state, plural(equations->n_state),
                    (unsigned)equations->n_parameter, plural(equations->n_parameter),
                    (unsigned)equations->n_observable, plural(equations->n_observable));
    equations_free(equations);
    return status;
}

static enum status translate(const struct import_options *options, const char *path,
                             struct error *error)
{
    struct sbml_model model = {.text = NULL};
    struct output output = {.file = NULL};
    struct sbml_request *request = calloc(options->estimate.n + 1, sizeof *request);
    struct sbml_options how = {.n_request = options->estimate.n, .request = request,
                               .constants = options->estimate.n ? SBML_AS_IS : SBML_AS_PARAMETER,
                               .outputs = {1, &path}};
    for (size_t i = 0; request && i < options->estimate.n; i++)
        request[i] =
            (struct sbml_request){.id = options->estimate.item[i], .role = SBML_AS_PARAMETER};
    enum status status = request ? sbml_translate(&model, options->measurements, &how, error)
                                 : error_set(error, STATUS_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < model.n_note && !options->quiet; i++)
        message_say("note: %s", model.note[i]);
    if (!status)
        status = check_text(&model, options->measurements, path, options->quiet, error);
    if (!status)
        status = output_open(&output, path, options->overwrite, error);
    if (!status) {
        fputs(model.text, output.file);
        status = output_finish(&output, error);
    }
    output_close(&output);
    sbml_model_fini(&model);
    free(request);
    return status;
}

static int work(void *context)
{
    const struct import_options *options = context;
    struct error error = {.status = STATUS_OK};
    char *path = options->output ? strdup(options->output) : default_output(options->measurements);
    contained_limit(MOST_HANGS * process_hang_seconds(), MOST_GIB);
    enum status status = path ? spare_file(path, options->measurements, &error)
                              : error_set(&error, STATUS_NO_MEMORY, "out of memory");
    if (!status)
        status = translate(options, path, &error);
    free(path);
    return status ? message_error(&error, options->color) : command_close_output(0);
}

int import_sbml(struct import_options *options)
{
    struct error error = {.status = STATUS_OK};
    const struct import_format *format = import_format_of(options);
    const struct { bool is_given; const char *name;
    } others[] = {{options->model, "model"},
                  {options->datasets, "datasets"},
                  {options->experiments, "experiments"},
                  {options->doses, "doses"},
                  {options->inputs, "inputs"},
                  {options->parameters, "parameters"},
                  {format, format ? format->name : ""},
                  {options->embed, "embed"},
                  {options->start.n, "start"},
                  {options->lower.n, "lower"},
                  {options->upper.n, "upper"},
                  {options->scale.n, "scale"},
                  {options->fix.n, "fix"},
                  {options->error.n, "error"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].is_given) {
            error_set(&error, STATUS_USAGE, "--%s: is for tables of measurements, and %s is SBML",
                      others[i].name, options->measurements);
            return message_usage("import", &error, options->color);
        }
    return contained_sbml(work, options, options->measurements, options->color);
}
