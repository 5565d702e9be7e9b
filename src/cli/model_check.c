/* `stiffit model check`: compares a plugin's derivatives with difference quotients, on several
 * threads at once.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/json.h"
#include "base/outcome.h"
#include "base/output.h"
#include "base/process.h"
#include "cli/command.h"
#include "cli/contain.h"
#include "cli/model_text.h"
#include "model/check.h"
#include "par/pool.h"
#include "base/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct check_call {
    const char *plugin;
    bool json, quiet;
    struct option_list set, covariate;
    int64_t n_point, n_thread, seed;
    double t_span;
    enum when color;
};

#define FIELD(name) offsetof(struct check_call, name)

static const struct option table[] = {
    {.name = "points", .letter = 'n', .kind = OPTION_INTEGER, .offset = FIELD(n_point), .min = 1,
     .max = 1e6,
     .default_text = "12", .help = "number of random points at which the model is checked"},
    {.name = "threads", .letter = 'j', .kind = OPTION_INTEGER, .offset = FIELD(n_thread), .min = 1,
     .max = 256, .default_text = "4",
     .help = "threads that check the model at the same time: all must get the same bits"},
    {.name = "seed", .kind = OPTION_INTEGER, .offset = FIELD(seed), .min = 0, .max = INFINITY,
     .default_text = "1", .help = "seed of the random points"},
    {.name = "span", .kind = OPTION_NUMBER, .metavar = "TIME", .offset = FIELD(t_span), .min = 0,
     .max = 1e300, .above_min = true, .default_text = "guessed from the right-hand side",
     .help = "check at times from the initial time to this much later"},
    {.name = "set", .letter = 's', .kind = OPTION_LIST, .metavar = "NAME=VALUE",
     .offset = FIELD(set), .default_text = "the model's starts, otherwise 1",
     .help = "value of a parameter around which to check; may be repeated"},
    {.name = "covariate", .kind = OPTION_LIST, .metavar = "NAME=VALUE", .offset = FIELD(covariate),
     .default_text = "1", .help = "value of a covariate; may be repeated"},
    {.name = "json", .kind = OPTION_FLAG, .offset = FIELD(json),
     .help = "print the findings as JSON"},
    {.name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = FIELD(quiet),
     .help = "print only the faults"},
    OPTION_COLOR(FIELD(color)),
};

struct checks {
    const struct model *model;
    const struct check_options *options;
    struct check_report *report; /* one per thread */
    struct error *error;
};

static void check_one(void *context, size_t thread)
{
    struct checks *checks = context;
    checks->error[thread].status = STATUS_OK;
    model_check(checks->model, checks->options, &checks->report[thread], &checks->error[thread]);
}

/* The report of the first thread, with the differences that the others found. */
static enum status check_on_threads(const struct check_call *call, const struct model *model,
                                    const struct check_options *options,
                                    struct check_report **report, size_t *n_thread,
                                    struct error *error)
{
    struct checks checks = {.model = model, .options = options};
    struct pool *pool = pool_new((size_t)call->n_thread, "check", error);
    if (!pool)
        return error->status;
    *n_thread = pool_n_thread(pool);
    checks.report = calloc(*n_thread, sizeof *checks.report);
    checks.error = calloc(*n_thread, sizeof *checks.error);
    enum status status = STATUS_OK;
    if (!checks.report || !checks.error)
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for %zu threads", *n_thread);
    else
        pool_run(pool, check_one, &checks);
    process_alarm(0);
    pool_join(pool);
    for (size_t i = 0; !status && i < *n_thread; i++)
        if (checks.error[i].status) {
            *error = checks.error[i];
            status = error->status;
        }
    for (size_t i = 1; !status && i < *n_thread; i++)
        check_report_compare(&checks.report[0], &checks.report[i]);
    free(checks.error);
    *report = checks.report;
    return status;
}

static void print_functions(const struct check_report *report)
{
    printf("  %-18s %10s %10s %13s %12s\n", "function", "calls", "compared", "inconclusive",
           "worst");
    for (int i = 0; i < N_CHECK_FUNCTION; i++) {
        if (report->n_call[i] == 0)
            continue;
        printf("  %-18s %10zu", check_function_name((enum check_function)i), report->n_call[i]);
        if (report->n_compared[i])
            printf(" %10zu %13zu %12.2g", report->n_compared[i], report->n_inconclusive[i],
                   report->worst[i]);
        putchar('\n');
    }
    puts("  (worst: largest difference, as a share of what is allowed)");
}

static size_t count_priors(const struct stiffit_model *abi)
{
    size_t n = 0;
    for (size_t i = 0; abi->parameter_prior && i < abi->n_parameter; i++)
        n += strcmp(abi->parameter_prior[i], "none") != 0;
    return n;
}

static void print_text(const struct check_call *call, const struct model *model,
                       const struct check_report *report, size_t n_thread)
{
    bool color = terminal_color(stdout, call->color);
    for (size_t i = 0; i < report->n_finding; i++)
        printf("%swrong%s %s\n", color ? "\033[31m" : "", color ? "\033[0m" : "",
               report->finding[i].text);
    if (report->n_dropped)
        printf("and %zu more\n", report->n_dropped);
    if (call->quiet)
        return;
    printf("%s: states %u, parameters %u, observables %u; checked at %zu points on each of %zu "
           "threads\n",
           model->abi.name, model->abi.n_state, model->abi.n_parameter, model->abi.n_observable,
           report->n_point, n_thread);
    print_functions(report);
    size_t n_prior = count_priors(&model->abi);
    if (n_prior)
        printf("  priors on %zu parameter%s\n", n_prior, n_prior == 1 ? "" : "s");
    uint32_t missing = model_missing_derivatives(model);
    for (int bit = 0; bit < 32; bit++)
        if (missing >> bit & 1 && note_meaning(bit))
            printf("  note: %s\n", note_meaning(bit));
    if (report->has_hidden_input)
        puts("  note: the right-hand side depends on time, and the model has neither `forcing` nor "
             "max_step: the integrator "
             "may step over short changes");
    printf("%s: %zu %s\n", call->plugin, report->n_finding + report->n_dropped,
           report->n_finding + report->n_dropped == 1 ? "fault" : "faults");
}

static void put_findings(struct json *json, const struct check_report *report)
{
    static const char *const kinds[] = {"derivative", "pattern",    "mask",   "impure",
                                        "unwritten",  "overrun",    "failed", "invalid",
                                        "lanes",      "environment"};
    json_array_begin(json, "findings");
    for (size_t i = 0; i < report->n_finding; i++) {
        const struct check_finding *finding = &report->finding[i];
        json_object_begin(json, NULL);
        json_string(json, "kind",
                    (size_t)finding->kind < sizeof kinds / sizeof *kinds ? kinds[finding->kind]
                                                                         : "other");
        json_string(json, "function", check_function_name(finding->function));
        json_string(json, "row", finding->row);
        json_string(json, "column", finding->column);
        json_number(json, "t", finding->t);
        json_number(json, "got", finding->got);
        json_number(json, "expected", finding->expected);
        json_number(json, "error", finding->error);
        json_unsigned(json, "more", finding->n_more);
        json_string(json, "text", finding->text);
        json_object_end(json);
    }
    json_array_end(json);
}

static void print_json(const struct check_call *call, const struct model *model,
                       const struct check_report *report, size_t n_thread)
{
    struct json json;
    json_begin(&json, stdout);
    json_object_begin(&json, NULL);
    json_string(&json, "plugin", call->plugin);
    json_string(&json, "model", model->abi.name);
    json_string(&json, "sha256", model->sha256);
    json_unsigned(&json, "priors", count_priors(&model->abi));
    json_unsigned(&json, "points", report->n_point);
    json_unsigned(&json, "threads", n_thread);
    json_unsigned(&json, "faults", report->n_finding + report->n_dropped);
    json_boolean(&json, "hidden_input", report->has_hidden_input);
    put_findings(&json, report);
    json_object_begin(&json, "functions");
    for (int i = 0; i < N_CHECK_FUNCTION; i++) {
        json_object_begin(&json, check_function_name((enum check_function)i));
        json_unsigned(&json, "calls", report->n_call[i]);
        json_unsigned(&json, "compared", report->n_compared[i]);
        json_unsigned(&json, "inconclusive", report->n_inconclusive[i]);
        json_object_end(&json);
    }
    json_object_end(&json);
    json_end(&json);
}

/* The point to check around: the starts (or 1) and covariates of 1, changed by --set and
 * --covariate. */
static enum status choose_values(const struct check_call *call, const struct model *model,
                                 double *p, double *covariate, struct error *error)
{
    const struct stiffit_model *abi = &model->abi;
    for (size_t i = 0; i < abi->n_parameter; i++)
        p[i] = abi->parameter_start ? abi->parameter_start[i] : 1;
    for (size_t i = 0; i < abi->n_covariate; i++)
        covariate[i] = 1;
    enum status status = values_set(&call->set, "set", "parameter", abi->parameter_name,
                                    abi->n_parameter, p, NULL, error);
    if (!status)
        status = values_set(&call->covariate, "covariate", "covariate", abi->covariate_name,
                            abi->n_covariate, covariate, NULL, error);
    return status;
}

static int check(void *context)
{
    const struct check_call *call = context;
    struct error error = {.status = STATUS_OK};
    struct model model = {.handle = NULL};
    struct check_report *report = NULL;
    size_t n_thread = 0;
    FILE *output = standard_output_keep();
    if (model_text_load(&model, call->plugin, false, true, call->color, &error)) {
        standard_output_restore(output);
        return message_error(&error, call->color);
    }
    double *p = calloc((size_t)model.abi.n_parameter + model.abi.n_covariate + 1, sizeof *p);
    enum status status = p ? choose_values(call, &model, p, p + model.abi.n_parameter, &error)
                           : error_set(&error, STATUS_NO_MEMORY, "out of memory for %u parameters",
                                       model.abi.n_parameter);
    if (!status) {
        const struct check_options options = {.seed = (uint64_t)call->seed,
                                              .n_point = (size_t)call->n_point, .p = p,
                                              .covariate = p + model.abi.n_parameter,
                                              .t_span = call->t_span,
                                              .alarm_s = process_hang_seconds()};
        status = check_on_threads(call, &model, &options, &report, &n_thread, &error);
    }
    int code = 0;
    standard_output_restore(output);
    if (status) {
        code = message_usage("model check", &error, call->color);
    } else {
        (call->json ? print_json : print_text)(call, &model, report, n_thread);
        code = command_close_output(report->n_finding > 0 ? status_exit_code(STATUS_BAD_MODEL) : 0);
    }
    free(report);
    free(p);
    output = standard_output_keep();
    model_unload(&model); /* the report points to names in the model */
    standard_output_restore(output);
    return code;
}

/* Shows all errors and warnings of a text, as other commands do; a plugin made from it reports
 * only the first. */
static int tell_text(const struct check_call *call)
{
    struct model_text text = {.text = NULL};
    struct error error = {.status = STATUS_OK};
    enum model_file kind;
    struct stat info;
    if (stat(call->plugin, &info) || !S_ISREG(info.st_mode) ||
        model_file_kind(call->plugin, &kind, &error) || kind == MODEL_FILE_PLUGIN)
        return 0; /* loading reports the fault */
    enum status status =
        model_text_open(&text, call->plugin, !call->json && !call->quiet, call->color, &error);
    model_text_fini(&text);
    return status ? message_error(&error, call->color) : 0;
}

static int check_contained(void *context)
{
    int code = tell_text(context);
    return code ? code : check(context);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct check_call call = {.n_point = 12, .n_thread = 4, .seed = 1};
    struct option_words words;
    int code = command_parse(self, &call, &words, 1, argc, argv);
    if (code < 0) {
        call.plugin = words.positional[0];
        code = contained_run(check_contained, &call, call.plugin, call.color);
    }
    option_list_fini(&call.set);
    option_list_fini(&call.covariate);
    return code;
}

const struct command command_model_check = {
    .name = "model check", .synopsis = "MODEL.ode|PROBLEM.h5|PLUGIN.so",
    .summary = "check a model's derivatives, purity and thread safety",
    .example = "stiffit model check build/models/robertson.so",
    .needs = "model",
    .description =
        "Compares every derivative that the model has with extrapolated differences at random "
        "points and times, its masks and its sparse pattern with what its functions do, and each "
        "function with itself, on several threads at once. Says which entry of which derivative "
        "is wrong, and where. Exit code 0: no fault; 3: faults.",
    .table = COMMAND_TABLE(table), .run = run};
