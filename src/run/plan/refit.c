/* The plan of a run's refits, from its options.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/refit.h"

#include "base/nearest.h"
#include "base/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES_TEXT = 300 }; /* longer lists are told by their hash */

static enum status mark_name(const char *name, size_t n, const char *const *names, size_t n_parameter, bool *wanted,
                             struct error *error)
{
    char text[128];
    snprintf(text, sizeof text, "%.*s", (int)(n < sizeof text ? n : sizeof text - 1), name);
    for (size_t i = 0; i < n_parameter; i++)
        if (strlen(names[i]) == n && !memcmp(names[i], name, n)) {
            wanted[i] = true;
            return STATUS_OK;
        }
    if (!strcmp(text, "all")) {
        memset(wanted, true, n_parameter);
        return STATUS_OK;
    }
    const char *near = nearest_name(text, names, n_parameter);
    return error_set(error, STATUS_USAGE, near ? "--profile: there is no parameter '%s'\nDid you mean '%s'?"
                                               : "--profile: there is no parameter '%s'", text, near);
}

static enum status mark_profiles(const char *list, const char *const *names, size_t n_parameter, bool *wanted,
                                 struct error *error)
{
    enum status status = STATUS_OK;
    for (const char *name = list; !status; name++) {
        size_t n = strcspn(name, ",");
        status = n ? mark_name(name, n, names, n_parameter, wanted, error)
                   : error_set(error, STATUS_USAGE, "--profile: a name is empty; it takes NAME[,NAME...] or all");
        name += n;
        if (!*name)
            break;
    }
    return status;
}

enum status refit_plan_init(struct refit_plan *plan, const struct run_options *options, const char *const *names,
                            size_t n_parameter, struct error *error)
{
    *plan = (struct refit_plan){.n_bootstrap = (uint32_t)options->n_bootstrap,
                                .bootstrap_kind = (enum bootstrap_kind)options->bootstrap_kind,
                                .keep_starts = options->keep_starts, .keep_profile = options->keep_profile,
                                .keep_bootstrap = options->keep_bootstrap};
    if (options->keep_profile && !options->profile)
        return error_set(error, STATUS_USAGE, "--keep-profile: there are no profiles to keep without --profile");
    if (options->keep_bootstrap && !options->n_bootstrap)
        return error_set(error, STATUS_USAGE, "--keep-bootstrap: there are no replicates to keep without --bootstrap");
    if (!options->profile)
        return STATUS_OK;
    bool *wanted = calloc(n_parameter + 1, sizeof *wanted);
    plan->profile = calloc(n_parameter + 1, sizeof *plan->profile);
    enum status status = wanted && plan->profile ? mark_profiles(options->profile, names, n_parameter, wanted, error)
                                                 : error_set(error, STATUS_NO_MEMORY, "out of memory for --profile");
    for (size_t i = 0; !status && i < n_parameter; i++)
        if (wanted[i])
            plan->profile[plan->n_profile++] = (uint32_t)i;
    free(wanted);
    return status;
}

void refit_plan_fini(struct refit_plan *plan)
{
    free(plan->profile);
    *plan = (struct refit_plan){.n_profile = 0};
}

uint32_t refit_plan_n(const struct refit_plan *plan) { return 2 * plan->n_profile + plan->n_bootstrap; }

struct refit refit_plan_get(const struct refit_plan *plan, uint32_t i)
{
    if (i < 2 * plan->n_profile)
        return (struct refit){.kind = REFIT_PROFILE, .parameter = plan->profile[i / 2], .side = i % 2 ? 1 : -1};
    return (struct refit){.kind = REFIT_BOOTSTRAP, .replicate = i - 2 * plan->n_profile};
}

/* The names, or the hash of them where they are many. */
static void describe_names(const struct refit_plan *plan, const char *const *names, char *text, size_t size)
{
    struct sha256 hash;
    unsigned char bytes[32];
    char hex[SHA256_HEX];
    size_t used = 0;
    sha256_begin(&hash);
    for (uint32_t i = 0; i < plan->n_profile; i++) {
        const char *name = names[plan->profile[i]];
        sha256_add_string(&hash, name);
        if (used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", i ? "," : "", name);
    }
    sha256_end(&hash, bytes);
    if (used < size)
        return;
    sha256_hex(bytes, hex);
    snprintf(text, size, "%u:%.32s", plan->n_profile, hex);
}

void refit_plan_describe(const struct refit_plan *plan, const char *const *names, char *text, size_t size)
{
    static const char *const kinds[] = {"auto", "residual", "parametric"};
    char list[MAX_NAMES_TEXT], profile[MAX_NAMES_TEXT + 16] = "", bootstrap[64] = "";
    if (plan->n_profile) {
        describe_names(plan, names, list, sizeof list);
        snprintf(profile, sizeof profile, " profile=%s", list);
    }
    if (plan->n_bootstrap)
        snprintf(bootstrap, sizeof bootstrap, " bootstrap=%u bootstrap-kind=%s", plan->n_bootstrap,
                 kinds[plan->bootstrap_kind]);
    snprintf(text, size, "%s%s%s%s%s", profile, bootstrap, plan->keep_starts ? " keep-starts=yes" : "",
             plan->keep_profile ? " keep-profile=yes" : "", plan->keep_bootstrap ? " keep-bootstrap=yes" : "");
}
