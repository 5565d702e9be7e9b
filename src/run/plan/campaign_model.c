/* Decides whether native code from a data file may run.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/campaign.h"

#include "model/text/text.h"
#include "run/plan/trust.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* OK: these bytes may run. */
static enum status admit(const void *bytes, size_t n_byte, const struct model_choice *choice, const char *who,
                         const char *trustee, struct error *error)
{
    unsigned char digest[SHA256_BYTES];
    char sha256[SHA256_HEX];
    struct trust_list list = {.n = 0};
    struct error reason = {.message = ""};
    if (choice->trust)
        return STATUS_OK;
    sha256_of(bytes, n_byte, digest);
    sha256_hex(digest, sha256);
    enum status status = trust_read(&list, &reason);
    bool trusted = !status && trust_has(&list, sha256);
    trust_fini(&list);
    if (trusted)
        return STATUS_OK;
    return error_set(error, STATUS_BAD_MODEL, "%s, which runs only with your permission: add --trust for this run, use "
                                              "`stiffit trust %s` to trust it from now on, or give your own copy with --model "
                                              "PLUGIN.so%s%s", who,
                     trustee, status ? ". The list of trusted models cannot be used: " : "", reason.message);
}

enum status campaign_load_named(struct model *model, const char *path, const char *expected_sha256,
                                const struct model_choice *choice, const char *who, const char *trustee,
                                struct error *error)
{
    char *bytes = NULL;
    size_t n_byte = 0;
    *model = (struct model){.handle = NULL};
    enum status status = model_read(path, &bytes, &n_byte, error);
    if (!status && kind_is_model_text(bytes, n_byte, path)) {
        status = model_load_text(model, bytes, n_byte, path, expected_sha256, &choice->build, error);
    } else if (!status) {
        status = admit(bytes, n_byte, choice, who, trustee, error);
        if (!status)
            status = model_load_bytes(model, bytes, n_byte, path, expected_sha256, error);
    }
    free(bytes);
    return status;
}

static enum status load_path(struct model *model, const struct problem *problem, const struct model_choice *choice,
                             struct error *error)
{
    const struct problem_info *info = problem_info(problem);
    char who[1400], *path = problem_model_path(problem);
    if (!path)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the model's path");
    snprintf(who, sizeof who, "%.600s: /model@plugin names native code (%.600s)", info->path, info->model_plugin);
    enum status status = campaign_load_named(model, path, info->model_sha256, choice, who, info->path, error);
    if (status && access(path, R_OK))
        error_context(error, "%.600s: its /model@plugin is not available; give a copy with --model, or make the file with "
                             "`stiffit import --embed`", info->path);
    free(path);
    return status;
}

enum status campaign_load_model(struct model *model, const struct problem *problem, const struct model_choice *choice,
                                struct error *error)
{
    const struct problem_info *info = problem_info(problem);
    char origin[700], who[800];
    if (choice->given)
        return model_load_with(model, choice->given, NULL, &choice->build, error);
    if (info->model_plugin)
        return load_path(model, problem, choice, error);
    if (info->model_source) {
        char *source = problem_source_origin(problem);
        enum status status = source ? model_load_text(model, info->model_source, strlen(info->model_source), source,
                                                      info->model_sha256, &choice->build, error)
                                    : error_set(error, STATUS_NO_MEMORY, "out of memory for the model's name");
        free(source);
        return status;
    }
    if (!info->model_bytes)
        return error_set(error, STATUS_BAD_MODEL, "%s: the file names no model (/model/source, /model@plugin or "
                         "/model/plugin); give one with --model MODEL.ode", info->path);
    snprintf(origin, sizeof origin, "%.600s:/model/plugin", info->path);
    snprintf(who, sizeof who, "%.600s: /model/plugin holds native code", info->path);
    enum status status = admit(info->model_bytes, info->n_model_byte, choice, who, info->path, error);
    return status ? status
                  : model_load_bytes(model, info->model_bytes, info->n_model_byte, origin, info->model_sha256, error);
}
