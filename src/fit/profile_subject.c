/* What profile.c asks of a subject, and the subject that is a fit of one dataset.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/profile.h"

#include "fit/fit.h"
#include "fit/unit.h"

#include <string.h>

double fit_profile_prior(const struct fit_profile_subject *subject, size_t parameter, double theta, double natural)
{
    const struct fit_prior *prior = subject->prior ? &subject->prior[parameter] : NULL;
    bool has_term = prior && prior->kind != PRIOR_NONE && prior->kind != PRIOR_UNIFORM;
    return has_term ? fit_prior_at(prior, theta, natural, 1, CURVATURE_ABOVE).f : 0;
}

bool fit_profile_holds(const struct fit_profile_subject *subject, const uint8_t *fixed, const double *parameter,
                       int8_t *at_bound)
{
    size_t n = subject->n_parameter;
    bool holds = false;
    for (size_t i = 0; i < n; i++) {
        size_t n_lower = 0, n_upper = 0;
        for (size_t k = i; k < subject->n_copy * n; k += n) {
            bool is_free = !fixed[k] && subject->lower[k] < subject->upper[k];
            n_lower += is_free && parameter[k] <= subject->lower[k];
            n_upper += is_free && parameter[k] >= subject->upper[k];
        }
        bool is_held = 2 * (n_lower + n_upper) > subject->n_copy;
        holds = holds || is_held;
        at_bound[i] = 0;
        if (is_held)
            at_bound[i] = n_lower > n_upper ? -1 : 1;
    }
    return holds;
}

/* A fit of one dataset. */
struct single {
    struct fit_problem problem;
    const struct fit_host *host;
    struct arena *scratch;
};

static void fit_single(void *context, const double *start, const uint8_t *fixed, double unit, const struct fit_options *options,
                       double *end, struct fit_record *record)
{
    struct single *single = context;
    single->problem.start = start;
    single->problem.fixed = fixed;
    single->problem.unit = unit;
    arena_reset(single->scratch);
    fit_run(&single->problem, options, single->host, single->scratch, record);
    memcpy(end, record->parameter, single->problem.n_parameter * sizeof *end);
}

void fit_profile_run(const struct fit_problem *problem, const struct fit_options *options, const struct fit_host *host,
                     struct arena *arena, struct arena *scratch, const struct fit_profile_request *request,
                     struct fit_record *result, struct fit_profile *profile)
{
    struct single single = {.problem = *problem, .host = host, .scratch = scratch};
    bool may_jump = problem->model->abi.n_switching > 0; /* then a fit that meets a jump takes differences after its first
                                                          * evaluation: two evaluations for each parameter */
    bool differs = options->gradient == GRADIENT_differences || may_jump;
    const struct fit_profile_subject subject = {
        .n_parameter = problem->n_parameter, .n_copy = 1, .n_row = fit_problem_n_row(problem), .start = problem->start,
        .lower = problem->lower, .upper = problem->upper, .fixed = problem->fixed, .scale = problem->scale,
        .prior = problem->prior, .has_open_unit = fit_unit_is_open(problem),
        .max_look = 1 + (differs ? may_jump + 2 * (int64_t)problem->n_parameter : 0), .fit = fit_single, .context = &single};
    single.problem.start_number = 0;
    fit_profile_follow(&subject, options, arena, request, result, profile);
}
