/* `stiffit model show`: a model's equations, their derivatives, sparsity and costs; a plugin's
 * names and functions.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/model_text.h"

#include "base/outcome.h"
#include "cli/command.h"
#include "cli/contain.h"
#include "model/plugin.h"

#include <string.h>

struct show_call {
    const char *path;
    bool equations, sparsity, derivatives, cost, latex, json;
    enum when color;
};

#define FIELD(name) offsetof(struct show_call, name)

static const struct option table[] = {
    {.name = "equations", .kind = OPTION_FLAG, .offset = FIELD(equations),
     .help = "parameters, equations and observables"},
    {.name = "sparsity", .kind = OPTION_FLAG, .offset = FIELD(sparsity),
     .help = "picture of the Jacobian's pattern"},
    {.name = "derivatives", .kind = OPTION_FLAG, .offset = FIELD(derivatives),
     .help = "all derivatives, however many"},
    {.name = "cost", .kind = OPTION_FLAG, .offset = FIELD(cost),
     .help = "operations of each generated function"},
    {.name = "latex", .kind = OPTION_FLAG, .offset = FIELD(latex),
     .help = "equations and derivatives as LaTeX (a part of a document that loads amsmath)"},
    {.name = "json", .kind = OPTION_FLAG, .offset = FIELD(json),
     .help = "print everything as JSON"},
    {.name = "color", .kind = OPTION_CHOICE, .offset = FIELD(color), .choice = option_when_words,
     .default_text = "auto", .help = "colours of messages; overrides the environment's NO_COLOR"},
};

static enum status derive(struct shown_model *model, enum notation notation, struct error *error)
{
    const struct equations *equations = model->text.equations;
    enum status status = functions_derive(equations, &model->functions, error);
    if (!status)
        status = generate_cost(equations, &model->functions, model->cost, error);
    if (status)
        return status;
    model->listing = listing_new(equations, &model->functions, notation);
    return model->listing
               ? STATUS_OK
               : error_set(error, STATUS_NO_MEMORY, "%s: out of memory for the equations as text",
                           model->text.origin);
}

static int show_equations(const struct show_call *call)
{
    struct shown_model model = {.listing = NULL};
    struct error error = {.status = STATUS_OK};
    enum status status = model_text_open(&model.text, call->path, !call->json, call->color, &error);
    if (!status)
        status = derive(&model, call->latex ? NOTATION_LATEX : NOTATION_TEXT, &error);
    if (!status) {
        unsigned parts = (call->equations ? SHOW_EQUATIONS : 0) |
                         (call->sparsity ? SHOW_SPARSITY : 0) |
                         (call->derivatives ? SHOW_DERIVATIVES : 0) | (call->cost ? SHOW_COST : 0);
        if (call->json)
            model_show_json(&model, stdout);
        else
            (call->latex ? model_show_latex : model_show_text)(&model, parts ? parts : SHOW_ALL,
                                                               call->derivatives, stdout);
        if (listing_failed(model.listing))
            status = error_set(&error, STATUS_NO_MEMORY,
                               "%s: out of memory for the equations as text", model.text.origin);
    }
    listing_free(model.listing);
    functions_fini(&model.functions);
    model_text_fini(&model.text);
    return status ? message_error(&error, call->color) : command_close_output(0);
}

static void view_plugin(struct view *view, const struct model *model)
{
    const struct stiffit_model *abi = &model->abi;
    size_t n_error = abi->observable_error ? abi->n_observable : 0;
    const struct {
        const char *name;
        bool there;
    } has[] = {{"jacobian", abi->jacobian},
               {"jacobian_sparse", abi->jacobian_sparse},
               {"rhs_parameter", abi->rhs_parameter},
               {"initial_parameter", abi->initial_parameter},
               {"observe_state", abi->observe_state},
               {"observe_parameter", abi->observe_parameter},
               {"noise", abi->noise},
               {"noise_state", abi->noise_state},
               {"noise_parameter", abi->noise_parameter},
               {"prepare", abi->prepare},
               {"lanes", abi->lanes}};
    const char *words = "";
    for (size_t i = 0; i < sizeof has / sizeof *has; i++)
        if (has[i].there)
            words = view_word(view, "%s%s%s", words, *words ? " " : "", has[i].name);
    view_say(view, "%s%s%s\ncompiled plugin, sha256 %s\n", abi->name,
             abi->description ? ": " : "", abi->description ? abi->description : "",
             model->sha256);
    uint32_t missing = model_missing_derivatives(model);
    VIEW_FACTS(view, fact_word("model", NULL, 0, abi->name),
               fact_word("sha256", NULL, 0, model->sha256),
               fact_count("lanes", NULL, 0, abi->lanes ? STIFFIT_LANES : 0),
               fact_count("missing", NULL, 0, missing));
    view_group(view, NULL, NULL, VIEW_LISTED);
    VIEW_FACTS(view, fact_names("states", "states", abi->state_name, abi->n_state),
               fact_names("parameters", "parameters", abi->parameter_name, abi->n_parameter),
               fact_names("covariates", "covariates", abi->covariate_name, abi->n_covariate),
               fact_names("observables", "observables", abi->observable_name, abi->n_observable),
               fact_names("observable_errors", n_error ? "errors" : NULL, abi->observable_error,
                          n_error),
               fact_word(NULL, "has", 0, words));
    view_end(view);
    if (model->n_lane && !abi->lanes)
        view_say(view, "note: its functions of %u lanes are not used: this program has %d\n",
                 model->n_lane, STIFFIT_LANES);
    for (int bit = 0; bit < 32; bit++)
        if (missing >> bit & 1 && note_meaning(bit))
            view_say(view, "note: %s\n", note_meaning(bit));
}

static int show_plugin(const struct show_call *call)
{
    struct error error = {.status = STATUS_OK};
    struct model model = {.handle = NULL};
    bool wants_equations =
        call->equations || call->sparsity || call->derivatives || call->cost || call->latex;
    enum status status = wants_equations
                             ? error_set(&error, STATUS_BAD_MODEL,
                                         "%s: a compiled plugin: it has no equations", call->path)
                             : model_load(&model, call->path, NULL, &error);
    struct view view = {.n = 0};
    if (!status) {
        view_plugin(&view, &model);
        status = command_print(&view, call->json, &error);
    }
    view_fini(&view);
    model_unload(&model);
    return status ? message_error(&error, call->color) : command_close_output(0);
}

static int show(void *context)
{
    const struct show_call *call = context;
    enum model_file kind;
    struct error error;
    if (model_file_kind(call->path, &kind, &error))
        return message_error(&error, call->color);
    return kind == MODEL_FILE_PLUGIN ? show_plugin(call) : show_equations(call);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct show_call call = {.path = NULL};
    struct option_words words;
    struct error error = {.status = STATUS_OK};
    int code = command_parse(self, &call, &words, 1, argc, argv);
    if (code >= 0)
        return code;
    if (call.latex && call.json) {
        error_set(&error, STATUS_USAGE, "--latex and --json exclude each other");
        return message_usage("model show", &error, call.color);
    }
    call.path = words.positional[0];
    return contained_run(show, &call, call.path, call.color);
}

const struct command command_model_show = {
    .name = "model show", .synopsis = "MODEL.ode|PROBLEM.h5|PLUGIN.so",
    .summary = "equations, derivatives, sparsity and cost of a model",
    .example = "stiffit model show decay.ode\nstiffit model show --latex decay.ode",
    .needs = "model",
    .description =
        "For model text: its parameters, its equations as stiffit reads them, the pattern of the "
        "Jacobian, the derivatives, and the operations of each generated function; options select "
        "among these. A problem file that contains text may be given instead. For a compiled "
        "plugin: its names, and the derivatives that it has.",
    .table = COMMAND_TABLE(table), .run = run};
