/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/header.h"

#include "base/version.h"
#include "io/file/hdf5_file.h"
#include "ode/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { MAX_FACT = 20, FACT_LENGTH = 1200 };

struct attribute {
    const char *name, *value;
};

struct attributes {
    struct arena *arena;
    size_t n;
    struct attribute fact[MAX_FACT];
};

static void add_fact(struct attributes *facts, const char *name, const char *value)
{
    const char *kept = facts->n < MAX_FACT && value ? arena_strdup(facts->arena, value) : NULL;
    if (kept)
        facts->fact[facts->n++] = (struct attribute){name, kept};
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

static void gather(struct attributes *facts, const struct campaign *campaign,
                   const struct run_options *options)
{
    char text[FACT_LENGTH];
    struct utsname system;
    const struct problem_info *info = problem_info(campaign->problem);
    add_fact(facts, "version", STIFFIT_VERSION);
    add_fact(facts, "command_line", options->command_line);
    add_fact(facts, "options", campaign->plan.identity.description);
    if (*selection_describe(&campaign->plan.selection, text, sizeof text))
        add_fact(facts, "selection", text);
    add_fact(facts, "problem_file", info->path);
    add_fact(facts, "model_name", campaign->model.abi.name);
    add_fact(facts, "model_file", campaign->model.path);
    add_fact(facts, "model_sha256", campaign->model.sha256);
    add_fact(facts, "model_compiler", campaign->model.compiler);
    /* Text that came from a file of its own is kept, so that the result is complete without it. */
    if (campaign->model.source && (options->model || !info->model.source) &&
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
        snprintf(text, sizeof text, "%zu of %llu", campaign_sample_size(campaign),
                 (unsigned long long)campaign->n_dataset);
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

static int compare_facts(const void *a, const void *b)
{
    return strcmp(((const struct attribute *)a)->name, ((const struct attribute *)b)->name);
}

/* In the order in which a file lists its attributes. */
static bool put_facts(struct provenance *provenance, struct attributes *facts)
{
    const char **text = arena_calloc(facts->arena, 2 * facts->n + 1, sizeof *text);
    qsort(facts->fact, facts->n, sizeof *facts->fact, compare_facts);
    for (size_t i = 0; text && i < facts->n; i++) {
        text[i] = facts->fact[i].name;
        text[facts->n + i] = facts->fact[i].value;
    }
    *provenance = (struct provenance){facts->n, text, text + facts->n};
    return text;
}

enum status header_make(struct result_header *header, const struct campaign *campaign,
                        const struct run_options *options, struct arena *arena, struct error *error)
{
    struct attributes facts = {.arena = arena};
    const struct stiffit_model *model = &campaign->model.abi;
    const char **unit = arena_calloc(arena, campaign->n_parameter + 1, sizeof *unit);
    gather(&facts, campaign, options);
    *header = (struct result_header){.n_parameter = campaign->n_parameter,
                                     .parameter_name = problem_parameter_name(campaign->problem),
                                     .parameter_scale = problem_parameter_scale(campaign->problem),
                                     .parameter_unit = unit,
                                     .objective_kind = campaign->objective_kind,
                                     .identity = campaign->plan.identity};
    if (!unit || !put_facts(&header->provenance, &facts))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the result's header");
    for (size_t i = 0; i < campaign->n_parameter; i++) {
        uint32_t k = campaign->to_model[i];
        bool is_known = model->parameter_unit && k != PROBLEM_NOT_OF_MODEL;
        unit[i] = is_known && model->parameter_unit[k] ? model->parameter_unit[k] : "";
    }
    return STATUS_OK;
}
