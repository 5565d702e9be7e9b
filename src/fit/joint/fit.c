/* The entry: from a problem to a filled record.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/fit.h"

#include "fit/joint/one.h"
#include "fit/objective/found.h"
#include "fit/objective/unit.h"

void fit_run(const struct fit_problem *problem, const struct fit_options *options,
             const struct fit_host *host, struct arena *arena, struct fit_record *record)
{
    if (!fit_unit_is_open(problem)) {
        joint_one_run(problem, options, host, arena, record);
    } else if (!fit_unit_find(problem, options, host, arena, record, joint_one_run)) {
        fit_clear(record, problem->n_parameter, problem->notes);
        fit_fail(record, OUTCOME_out_of_memory, "no memory for this fit");
    }
}
