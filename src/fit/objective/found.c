/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/objective/found.h"

#include "base/words.h"

#include <stdio.h>
#include <string.h>

void fit_clear(struct fit_record *record, size_t n_parameter, uint32_t notes)
{
    fit_record_clear(record, n_parameter);
    record->outcome = OUTCOME_not_run;
    record->notes = notes;
    fit_record_zero_work(record);
}

void fit_fail(struct fit_record *record, enum outcome outcome, const char *reason)
{
    record->outcome = outcome;
    record->stop = STOP_none;
    snprintf(record->reason, sizeof record->reason, "%s", reason);
}

void fit_found_put(const struct fit_found *found, const struct fit_options *options,
                   size_t n_parameter, struct fit_record *record)
{
    record->outcome = found->outcome;
    record->stop = found->stop;
    record->optimizer = options->evaluates ? OPTIMIZER_none : found->optimizer;
    record->gradient = found->gradient;
    record->n_iteration = found->n_iteration;
    record->notes = found->notes;
    fit_work_put(&found->used, record);
    if (!outcome_is_success(found->outcome))
        snprintf(record->reason, sizeof record->reason, "%s", found->reason);
    if (!found->p)
        return;
    double rtol = options->accuracy;
    record->rtol = found->tighter == 1 ? rtol : number_decimal(rtol / found->tighter);
    record->objective = found->objective;
    record->gradient_norm = found->gradient_norm;
    record->tight_change = found->tight_change;
    record->tight_decrease = found->tight_decrease;
    memcpy(record->parameter, found->p, n_parameter * sizeof *found->p);
    memcpy(record->at_bound, found->at_bound, n_parameter);
}
