/* The provenance of a run, gathered where the model is loaded, and stored in an ordinary result file without rows.
 * Distinguishes journals that are left over from those in use.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/finish/skeleton.h"

#include "base/version.h"
#include "io/hdf5_file.h"
#include "ode/library.h"
#include "run/plan/campaign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { MAX_FACT = 20, FACT_LENGTH = 1200 };

struct facts {
    size_t n;
    const char *name[MAX_FACT];
    char *value[MAX_FACT];
};

static char *skeleton_path(const char *journal_path)
{
    static const char name[] = "/header.h5";
    char *path = malloc(strlen(journal_path) + sizeof name);
    if (path)
        sprintf(path, "%s%s", journal_path, name);
    return path;
}

static void add_fact(struct facts *facts, const char *name, const char *value)
{
    if (facts->n < MAX_FACT && value && (facts->value[facts->n] = strdup(value)))
        facts->name[facts->n++] = name;
}

static void cpu_name(char *text, size_t size)
{
    snprintf(text, size, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[512];
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "model name", 10) && strchr(line, ':')) {
            snprintf(text, size, "%s", strchr(line, ':') + 2);
            text[strcspn(text, "\n")] = '\0';
            break;
        }
    if (file)
        fclose(file);
}

static void gather(struct facts *facts, const struct campaign *campaign, const char *command_line, bool is_model_given)
{
    char text[FACT_LENGTH];
    struct utsname system;
    const struct problem_info *info = problem_info(campaign->problem);
    add_fact(facts, "version", STIFFIT_VERSION);
    add_fact(facts, "command_line", command_line);
    add_fact(facts, "options", campaign->plan.identity.description);
    if (*selection_describe(&campaign->plan.selection, text, sizeof text))
        add_fact(facts, "selection", text);
    add_fact(facts, "problem_file", info->path);
    add_fact(facts, "model_name", campaign->model.abi.name);
    add_fact(facts, "model_file", campaign->model.path);
    add_fact(facts, "model_sha256", campaign->model.sha256);
    add_fact(facts, "model_compiler", campaign->model.compiler);
    /* Text that came from a file of its own is kept, so that the result is complete without it. */
    if (campaign->model.source && (is_model_given || !info->model_source) &&
        strlen(campaign->model.source) <= RESULT_MAX_PROVENANCE)
        add_fact(facts, "model_source", campaign->model.source);
    if (gethostname(text, sizeof text) == 0)
        add_fact(facts, "host", text);
    if (uname(&system) == 0) {
        snprintf(text, sizeof text, "%s %s %s", system.sysname, system.release, system.machine);
        add_fact(facts, "system", text);
    }
    char objective[OBJECTIVE_TEXT];
    campaign_objective_text(campaign, objective);
    add_fact(facts, "objective", objective);
    cpu_name(text, sizeof text);
    add_fact(facts, "cpu", text);
    if (campaign_is_shared(campaign)) {
        snprintf(text, sizeof text, "%zu of %llu", campaign_sample_size(campaign), (unsigned long long)campaign->n_dataset);
        add_fact(facts, "first_steps_datasets", text);
    }
    add_fact(facts, "engine", engine_word[campaign->fit.engine]);
    ode_library(text, sizeof text);
    add_fact(facts, "integrator", text);
    io_library(text, sizeof text);
    add_fact(facts, "file_library", text);
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc))
        add_fact(facts, "started", text);
}

enum status skeleton_write(const struct campaign *campaign, const char *command_line, bool is_model_given,
                           struct error *error)
{
    struct facts facts = {.n = 0};
    struct result_writer *writer = NULL;
    const struct stiffit_model *model = &campaign->model.abi;
    const char **unit = calloc(campaign->n_parameter, sizeof *unit);
    char *path = skeleton_path(campaign->plan.paths.journal);
    enum status status = STATUS_OK;
    if (!path || !unit) {
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for the result's header");
        goto done;
    }
    gather(&facts, campaign, command_line, is_model_given);
    for (size_t i = 0; i < campaign->n_parameter; i++) {
        uint32_t k = campaign->to_model[i];
        const char *own = model->parameter_unit && k != PROBLEM_NOT_OF_MODEL ? model->parameter_unit[k] : NULL;
        unit[i] = own ? own : "";
    }
    const struct result_header header = {
        .n_parameter = campaign->n_parameter,
        .parameter_name = problem_parameter_name(campaign->problem),
        .parameter_scale = problem_parameter_scale(campaign->problem),
        .parameter_unit = unit,
        .objective_kind = campaign->objective_kind,
        .identity = campaign->plan.identity,
        .is_alone = true,
        .provenance = {.n = facts.n, .name = facts.name, .value = (const char *const *)facts.value}};
    status = result_writer_open(&writer, path, NULL, &header, error);
    if (!status)
        status = result_writer_finish(writer, error);
done:
    result_writer_close(writer);
    for (size_t i = 0; i < facts.n; i++)
        free(facts.value[i]);
    free(unit);
    free(path);
    return status;
}

enum status skeleton_open(const char *journal_path, struct result **skeleton, struct error *error)
{
    char *path = skeleton_path(journal_path);
    if (!path)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the result's header");
    enum status status = result_open_header(skeleton, path, error);
    free(path);
    return status;
}

bool skeleton_is_there(const char *journal_path)
{
    char *path = skeleton_path(journal_path);
    bool there = !path || access(path, F_OK) == 0;
    free(path);
    return there;
}

void skeleton_remove(const char *journal_path)
{
    char *path = skeleton_path(journal_path);
    if (path)
        unlink(path);
    free(path);
}
