/* Refits: the tasks of a dataset that begin at its best fit. Lists them and describes each.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "fit/refits/bootstrap.h"
#include "run/plan/recipe.h"

/* Constant during a run. A dataset's refits are numbered: below and above for each profiled
 * parameter, then the replicates, then reviews of the profiles' sides, which need the others'
 * ends and so come last. */
struct refit_plan {
    uint32_t n_profile, n_bootstrap, n_review;
    uint32_t *profile; /* n_profile parameters, the file's order, increasing */
    enum bootstrap_kind bootstrap_kind;
    bool keep_starts, keep_profile, keep_bootstrap;
};

enum refit_kind { REFIT_PROFILE, REFIT_BOOTSTRAP, REFIT_REVIEW };

struct refit {
    enum refit_kind kind;
    uint32_t parameter; /* of a profile, or of the one that is reviewed */
    int side;           /* -1 below, 1 above */
    uint32_t replicate;
};

/* STATUS_USAGE where a name is unknown or options do not fit together; refit_plan_fini is legal
 * after a failure. `is_common`: of fits over many datasets, whether a parameter has one value in
 * each, as a profile must; otherwise NULL. */
enum status refit_plan_init(struct refit_plan *plan, const struct recipe *recipe,
                            const char *const *names, const uint8_t *is_common, size_t n_parameter,
                            struct error *error);
void refit_plan_fini(struct refit_plan *plan);
/* The number of refits of a dataset, and refit i. */
uint32_t refit_plan_n(const struct refit_plan *plan);
struct refit refit_plan_get(const struct refit_plan *plan, uint32_t i);
/* Marks the parameters of a list NAME[,NAME...] or all, which `option` gave. */
enum status refit_mark_names(const char *option, const char *list, const char *const *names,
                             size_t n_parameter, bool *wanted, struct error *error);
/* n parameters in the file's order as such a list, or a hash where it would be long; NULL: there
 * are none. */
enum { REFIT_PROFILE_TEXT = 300 };
const char *refit_names_text(const uint32_t *index, size_t n, const char *const *names,
                             char text[REFIT_PROFILE_TEXT]);
/* A text that is such a list already, or NULL, or its hash where it is long, in `size` bytes, at
 * least 60. */
const char *refit_list_text(const char *list, char *text, size_t size);
const char *refit_plan_profile(const struct refit_plan *plan, const char *const *names,
                               char text[REFIT_PROFILE_TEXT]);
