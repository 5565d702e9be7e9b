/* Fills in the outcomes of evaluations.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/outcome.h"

#include <stdio.h>

bool outcome_set(struct simulation *sim, enum evaluation_outcome outcome)
{
    struct evaluation *evaluation = sim->evaluation;
    evaluation->outcome = outcome;
    evaluation->n_rhs = sim->model.n_rhs;
    evaluation->n_jacobian = sim->model.n_jacobian;
    evaluation->n_factor = sim->n_factor;
    if (outcome == EVALUATION_OK)
        evaluation->reason[0] = '\0';
    return false;
}

bool outcome_model_failed(struct simulation *sim)
{
    const struct model_failure *failure = &sim->model.failure;
    const char *what = failure->fatal        ? "gave up"
                       : failure->not_finite ? "gave numbers that are not finite"
                                             : "failed";
    snprintf(sim->evaluation->reason, sizeof sim->evaluation->reason,
             "the model's %s %s at t = %.6g", failure->where ? failure->where : "function", what,
             failure->t);
    return outcome_set(sim, EVALUATION_MODEL_FAILED);
}

bool outcome_fail(struct simulation *sim, enum evaluation_outcome outcome, const char *why)
{
    struct evaluation *evaluation = sim->evaluation;
    snprintf(evaluation->reason, sizeof evaluation->reason, "%s at t = %.6g", why,
             evaluation->t_reached);
    return outcome_set(sim, outcome);
}

bool outcome_integrator_failed(struct simulation *sim, const char *why)
{
    struct evaluation *evaluation = sim->evaluation;
    snprintf(evaluation->reason, sizeof evaluation->reason, "%s at t = %.6g%s", why,
             evaluation->t_reached,
             sim->tolerance.atol > 0 ? "" : "; if tiny states are the cause, --atol helps");
    return outcome_set(sim, EVALUATION_ODE_FAILED);
}

bool outcome_fell(struct simulation *sim, size_t state)
{
    struct evaluation *evaluation = sim->evaluation;
    snprintf(evaluation->reason, sizeof evaluation->reason,
             "%s crosses zero downwards at t = %.6g, where its slope is not "
             "negative: a pole there is too close to zero for rtol and atol",
             sim->abi->state_name[state], evaluation->t_reached);
    return outcome_set(sim, EVALUATION_ODE_FAILED);
}
