/* The faults of single values.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem_datum.h"

#include "io/problem_prior.h"

#include <inttypes.h>
#include <math.h>
#include <stiffit/model.h>
#include <stdio.h>
#include <string.h>

bool datum_parameter_fault(const struct parameter_datum *parameter,
                           const struct problem_message *message)
{
    const char *name = parameter->name;
    double start = parameter->start, lower = parameter->lower, upper = parameter->upper;
    bool is_log = strcmp(parameter->scale, "lin") != 0 && !parameter->is_fixed;
    if (!isfinite(start))
        return FAULT(message, "start of %.60s is %g", name, start);
    if (is_log && start <= 0 && !(lower > 0)) /* otherwise a fit begins at the bound */
        return FAULT(message, "start of %.60s is %g; with scale %s it must be > 0", name, start,
                     parameter->scale);
    if (isnan(lower) || lower == INFINITY)
        return FAULT(message, "lower bound of %.60s is %g", name, lower);
    if (isnan(upper) || upper == -INFINITY || (is_log && upper <= 0))
        return FAULT(message, "upper bound of %.60s is %g%s", name, upper,
                     is_log ? "; it must be > 0" : "");
    if (lower > upper)
        return FAULT(message, "lower bound of %.60s is %g, above its upper bound %g%s", name, lower,
                     upper,
                     prior_has_bounds(parameter->prior) ? " (its uniform prior bounds it, too)"
                                                        : "");
    if (prior_is_positive(parameter->prior) && !parameter->is_fixed && start <= 0)
        return FAULT(message, "start of %.60s is %g; with its %s prior it must be > 0", name, start,
                     prior_word(parameter->prior));
    return false;
}

bool datum_row_fault(const struct row_datum *row, const struct problem_message *message)
{
    double time = row->time, value = row->value, sigma = row->sigma;
    if (isinf(value))
        return FAULT(message, "value is infinite");
    if (isnan(time) || time == -INFINITY)
        return FAULT(message, "time is %s", isnan(time) ? "NaN" : "infinite, before t0");
    if (time < row->t0)
        return FAULT(message, "time is %.17g, before t0 = %.17g", time, row->t0);
    if (sigma <= 0 || isinf(sigma))
        return FAULT(message, "sigma is %g; it must be > 0 and finite (NaN: not known)", sigma);
    if (row->sigma_for && isnan(sigma))
        return FAULT(message, "sigma is not known, and the model has no noise: %.60s needs it",
                     row->sigma_for);
    if (row->censored && row->limit == value)
        return FAULT(message, "limit is %g, as the value; a value that is known is not censored",
                     value);
    if (row->censored && row->censored * (row->limit - value) > 0)
        return FAULT(message, "limit is %g, %s the value %g, but censored is %d: it lies %s",
                     row->limit, row->limit > value ? "above" : "below", value, row->censored,
                     row->limit > value ? "below" : "above");
    if (error_row[row->error].is_log && value <= 0)
        return FAULT(message, "value is %g; with the log-normal errors of %.60s it must be > 0",
                     value, row->observable);
    return false;
}

/* A rate or duration that is left to the model must be there. */
static bool infusion_fault(const struct dose *dose, int infusion_kind, const char *state,
                           const struct problem_message *message)
{
    bool is_rate = dose->rate == DOSE_OF_MODEL;
    if (!is_rate && dose->duration != DOSE_OF_MODEL)
        return false;
    const char *const what = is_rate ? "rate" : "duration";
    return infusion_kind != (is_rate ? STIFFIT_INFUSION_RATE : STIFFIT_INFUSION_DURATION) &&
           FAULT(message, "%s is -1, but the model has no %s(%.60s)", what, what, state);
}

bool datum_dose_fault(const struct dose *dose, double t0, int infusion_kind, const char *state,
                      const struct problem_message *message)
{
    double rate = dose->rate, duration = dose->duration;
    if (!isfinite(dose->time))
        return FAULT(message, "time is %g", dose->time);
    if (dose->time < t0)
        return FAULT(message, "time is %.17g, before t0 = %.17g", dose->time, t0);
    if (!isfinite(dose->amount))
        return FAULT(message, "amount is %g", dose->amount);
    if (!(duration >= 0 && duration < INFINITY) && duration != DOSE_OF_MODEL)
        return FAULT(message, "duration is %g; it must be finite and >= 0", duration);
    if (!(rate >= 0 && rate < INFINITY) && rate != DOSE_OF_MODEL)
        return FAULT(message, "rate is %g; it must be finite and >= 0", rate);
    if (rate != 0 && duration != 0)
        return FAULT(message, "has a rate and a duration; give one of them");
    if (infusion_fault(dose, infusion_kind, state, message))
        return true;
    if (rate == DOSE_OF_MODEL && dose->amount < 0)
        return FAULT(message, "amount is %g; with a rate it must be >= 0", dose->amount);
    if (rate > 0 && !(dose->amount >= 0 && isfinite(dose->amount / rate)))
        return FAULT(message, "amount is %g with rate %g; it must be >= 0", dose->amount, rate);
    if (dose->count == 0 && !dose->steady)
        return FAULT(message, "count is 0, which only steady doses may have");
    if (dose->steady && !(dose->interval > 0 && dose->interval < INFINITY))
        return FAULT(message, "is steady, but has no interval above 0");
    if (dose->count > 1 &&
        !(dose->interval > 0 && isfinite(dose->time + (dose->count - 1.0) * dose->interval)))
        return FAULT(message, "is repeated %" PRIu32 " times, but has no interval above 0",
                     dose->count);
    return false;
}

bool datum_knot_fault(double time, double value, double last,
                      const struct problem_message *message)
{
    if (!isfinite(time) || !isfinite(value))
        return FAULT(message, "%s is %g", isfinite(time) ? "value" : "time",
                     isfinite(time) ? value : time);
    if (time <= last)
        return FAULT(message, "time is %.17g, %s %.17g; times must increase", time,
                     time == last ? "again" : "after", last);
    return false;
}
