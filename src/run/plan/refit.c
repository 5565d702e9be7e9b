/* The plan of a run's refits, from its options.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/refit.h"

#include "base/sha256.h"
#include "base/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status mark_name(const char *option, const char *name, size_t n,
                             const char *const *names, size_t n_parameter, bool *wanted,
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
    char hint[NEAREST_HINT];
    return error_set(error, STATUS_USAGE, "--%s: there is no parameter '%s'%s", option, text,
                     nearest_hint(hint, "\nDid you mean '", "'?", text, names, n_parameter));
}

enum status refit_mark_names(const char *option, const char *list, const char *const *names,
                             size_t n_parameter, bool *wanted, struct error *error)
{
    enum status status = STATUS_OK;
    for (const char *name = list; !status; name++) {
        size_t n = strcspn(name, ",");
        status = n ? mark_name(option, name, n, names, n_parameter, wanted, error)
                   : error_set(error, STATUS_USAGE,
                               "--%s: a name is empty; it takes NAME[,NAME...] or all", option);
        name += n;
        if (!*name)
            break;
    }
    return status;
}

enum status refit_plan_init(struct refit_plan *plan, const struct recipe *recipe,
                            const char *const *names, const uint8_t *is_common, size_t n_parameter,
                            struct error *error)
{
    *plan = (struct refit_plan){.n_bootstrap = (uint32_t)recipe->n_bootstrap,
                                .bootstrap_kind = (enum bootstrap_kind)recipe->bootstrap_kind,
                                .keep_starts = recipe->keep_starts,
                                .keep_profile = recipe->keep_profile,
                                .keep_bootstrap = recipe->keep_bootstrap};
    if (recipe->keep_profile && !recipe->profile)
        return error_set(error, STATUS_USAGE,
                         "--keep-profile: there are no profiles to keep without --profile");
    if (recipe->keep_bootstrap && !recipe->n_bootstrap)
        return error_set(error, STATUS_USAGE,
                         "--keep-bootstrap: there are no replicates to keep without --bootstrap");
    if (!recipe->profile)
        return STATUS_OK;
    bool *wanted = calloc(n_parameter + 1, sizeof *wanted);
    plan->profile = calloc(n_parameter + 1, sizeof *plan->profile);
    enum status status =
        wanted && plan->profile
            ? refit_mark_names("profile", recipe->profile, names, n_parameter, wanted, error)
            : error_set(error, STATUS_NO_MEMORY, "out of memory for --profile");
    bool is_all = !strcmp(recipe->profile, "all");
    for (size_t i = 0; !status && i < n_parameter; i++) {
        bool is_possible = !is_common || is_common[i];
        if (wanted[i] && is_possible)
            plan->profile[plan->n_profile++] = (uint32_t)i;
        else if (wanted[i] && !is_all)
            status = error_set(error, STATUS_USAGE,
                               "--profile: '%s' has more than one value in a fit of many datasets, "
                               "which has profiles only of what all of them share (--share, "
                               "/parameters/level)",
                               names[i]);
    }
    free(wanted);
    plan->n_review = plan->n_profile > 1 ? 2 * plan->n_profile : 0;
    return status;
}

void refit_plan_fini(struct refit_plan *plan)
{
    free(plan->profile);
    *plan = (struct refit_plan){.n_profile = 0};
}

uint32_t refit_plan_n(const struct refit_plan *plan)
{
    return 2 * plan->n_profile + plan->n_bootstrap + plan->n_review;
}

struct refit refit_plan_get(const struct refit_plan *plan, uint32_t i)
{
    uint32_t first_review = 2 * plan->n_profile + plan->n_bootstrap;
    if (i >= 2 * plan->n_profile && i < first_review)
        return (struct refit){.kind = REFIT_BOOTSTRAP, .replicate = i - 2 * plan->n_profile};
    uint32_t side = i < first_review ? i : i - first_review;
    return (struct refit){.kind = i < first_review ? REFIT_PROFILE : REFIT_REVIEW,
                          .parameter = plan->profile[side / 2],
                          .side = side % 2 ? 1 : -1};
}

static const char *names_text(const uint32_t *index, size_t n, const char *const *names,
                              char *text, size_t size)
{
    struct sha256 hash;
    unsigned char bytes[32];
    char hex[SHA256_HEX];
    size_t used = 0;
    sha256_begin(&hash);
    for (size_t i = 0; i < n; i++) {
        const char *name = names[index[i]];
        sha256_add_string(&hash, name);
        if (used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", i ? "," : "", name);
    }
    sha256_end(&hash, bytes);
    if (used >= size) {
        sha256_hex(bytes, hex);
        snprintf(text, size, "%zu:%.32s", n, hex);
    }
    return n ? text : NULL;
}

const char *refit_names_text(const uint32_t *index, size_t n, const char *const *names,
                             char text[REFIT_PROFILE_TEXT])
{
    return names_text(index, n, names, text, REFIT_PROFILE_TEXT);
}

const char *refit_list_text(const char *list, char *text, size_t size)
{
    return names_text(&(uint32_t){0}, list != NULL, &list, text, size);
}

const char *refit_plan_profile(const struct refit_plan *plan, const char *const *names,
                               char text[REFIT_PROFILE_TEXT])
{
    return refit_names_text(plan->profile, plan->n_profile, names, text);
}
