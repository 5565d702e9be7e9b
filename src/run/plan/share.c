/* Resolves names of shared parameters, and refuses what a fit over all datasets cannot do yet.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/share.h"

#include "run/plan/refit.h"

#include <stdlib.h>
#include <string.h>

static enum status refuse(const char *what, struct error *error)
{
    return error_set(error, STATUS_USAGE, "%s: not with shared parameters (--share, /parameters/level) yet, which make one "
                     "fit of all datasets", what);
}

static enum status check_options(const struct run_options *options, struct error *error)
{
    const struct recipe *recipe = &options->recipe;
    const struct {
        const char *name;
        bool is_given;
    } refused[] = {{"--starts", recipe->n_start > 1}, {"--warm-start", recipe->warm_start != 0},
                   {"--profile", recipe->profile != NULL}, {"--bootstrap", recipe->n_bootstrap > 0},
                   {"--only", options->select.only != NULL}, {"--shard", options->select.shard_text != NULL},
                   {"--retry-failed", options->retry_failed}, {"--trace", options->trace != NULL},
                   {"--keep-starts", recipe->keep_starts},
                   {"--optimizer lbfgs", recipe->fit.optimizer == OPTIMIZER_lbfgs},
                   {"--gradient adjoint", recipe->fit.gradient == GRADIENT_adjoint}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].is_given)
            return refuse(refused[i].name, error);
    return STATUS_OK;
}

enum status share_open(struct share *share, struct run_options *options, const struct problem *problem, struct error *error)
{
    size_t n = problem_n_parameter(problem), length = 1;
    const char *const *names = problem_parameter_name(problem);
    bool *wanted = calloc(n + 1, sizeof *wanted);
    share->index = calloc(n + 1, sizeof *share->index);
    share->is_shared = calloc(n + 1, 1);
    enum status status = wanted && share->index && share->is_shared ? STATUS_OK
                             : error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", n);
    for (size_t i = 0; !status && i < n && !options->recipe.share; i++)
        wanted[i] = problem_is_shared(problem, i);
    if (!status && options->recipe.share)
        status = refit_mark_names("share", options->recipe.share, names, n, wanted, error);
    for (size_t i = 0; !status && i < n; i++) {
        if (!wanted[i])
            continue;
        share->index[share->n++] = (uint32_t)i;
        share->is_shared[i] = 1;
        length += strlen(names[i]) + 1;
    }
    free(wanted);
    if (!status && share->n == 0 && options->recipe.leave_out_failed)
        return error_set(error, STATUS_USAGE, "--leave-out-failed: no parameter is shared (--share, /parameters/level), so no "
                         "dataset fails because of another");
    if (status || share->n == 0)
        return status;
    if (!(share->text = calloc(length, 1)))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", n);
    for (size_t i = 0; i < share->n; i++)
        strcat(strcat(share->text, i ? "," : ""), names[share->index[i]]);
    options->recipe.share = share->text;
    share->leaves_out = options->recipe.leave_out_failed;
    return check_options(options, error);
}

void share_fini(struct share *share)
{
    free(share->index);
    free(share->is_shared);
    free(share->text);
    *share = (struct share){.n = 0};
}
