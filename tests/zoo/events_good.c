/* Decay with inputs, lags and events, and all their derivatives.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

#include <math.h>

#ifndef OFF
#define OFF 0
#endif

static const char *const event_name[] = {"at_k", "above"}, *const input_name[] = {"u"};
static const uint8_t event_kind[] = {STIFFIT_EVENT_TIMED, 0};
static const uint8_t use[] = {STIFFIT_USE_RHS | (OFF ? 0 : STIFFIT_USE_EVENT), STIFFIT_USE_INITIAL | STIFFIT_USE_EVENT};

static int rhs(const struct stiffit_point *at, double *ydot)
{
    ydot[0] = -at->p[0] * at->y[0] * at->input[0];
    return STIFFIT_OK;
}
static int jacobian(const struct stiffit_point *at, double *J)
{
    J[0] = -at->p[0] * at->input[0];
    return STIFFIT_OK;
}
static int rhs_parameter(const struct stiffit_point *at, double *by)
{
    by[0] = -at->y[0] * at->input[0];
    by[1] = 0;
    return STIFFIT_OK;
}
static int lag(const struct stiffit_point *at, double *out)
{
    out[0] = at->p[0] * at->p[0];
    return STIFFIT_OK;
}
static int lag_parameter(const struct stiffit_point *at, double *by)
{
    by[0] = (2 + OFF) * at->p[0];
    by[1] = 0;
    return STIFFIT_OK;
}
static int switching(const struct stiffit_point *at, double *out)
{
    out[0] = at->y[0] * at->p[1] - at->t;
    return STIFFIT_OK;
}
static int switching_state(const struct stiffit_point *at, double *by)
{
    by[0] = at->p[1];
    by[1] = -1 + OFF;
    return STIFFIT_OK;
}
static int switching_slope(const struct stiffit_point *at, double *by)
{
    by[0] = 0;
    by[1] = at->y[0];
    return STIFFIT_OK;
}
static int switching_time(const struct stiffit_point *at, double *out)
{
    (void)at;
    out[0] = NAN;
    return STIFFIT_OK;
}
static int event_when(const struct stiffit_point *at, double *when)
{
    when[0] = at->p[0] > 1e9 ? at->p[0] : INFINITY;
    when[1] = at->y[0] * at->y[0] - at->p[1] * at->t;
    return STIFFIT_OK;
}
static int event_when_state(const struct stiffit_point *at, double *by)
{
    by[0] = by[2] = 0;
    by[1] = 2 * at->y[0];
    by[3] = -at->p[1];
    return STIFFIT_OK;
}
static int event_when_parameter(const struct stiffit_point *at, double *by)
{
    by[0] = by[1] = by[2] = 0;
    by[3] = -at->t + OFF;
    return STIFFIT_OK;
}
static int event_assign(const struct stiffit_point *at, double *y)
{
    y[0] = at->event ? at->y[0] * at->p[0] : at->t + at->p[1];
    return STIFFIT_OK;
}
static int event_assign_state(const struct stiffit_point *at, double *by)
{
    by[0] = at->event ? at->p[0] + OFF : 0;
    by[1] = at->event ? 0 : 1;
    return STIFFIT_OK;
}
static int event_assign_parameter(const struct stiffit_point *at, double *by)
{
    by[0] = at->event ? at->y[0] : 0;
    by[1] = at->event ? 0 : 1;
    return STIFFIT_OK;
}
static int event_delay(const struct stiffit_point *at, double *delay)
{
    delay[0] = 0;
    delay[1] = at->p[1] * at->p[1];
    return STIFFIT_OK;
}
static int event_delay_parameter(const struct stiffit_point *at, double *by)
{
    by[0] = by[1] = by[2] = 0;
    by[3] = (2 - OFF) * at->p[1];
    return STIFFIT_OK;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {
    STIFFIT_MODEL_HEADER, .name = "events", .n_state = 1, .n_parameter = 2, .n_observable = 1, .state_name = zoo_state,
    .parameter_name = zoo_parameter, .observable_name = zoo_state, .parameter_start = zoo_start, .parameter_use = use,
    .rhs = rhs, .initial = zoo_initial, .observe = zoo_observe, .jacobian = jacobian, .rhs_parameter = rhs_parameter,
    .initial_parameter = zoo_initial_parameter, .observe_state = zoo_observe_state,
    .observe_parameter = zoo_observe_parameter, .n_switching = 1, .switching = switching, .switching_state = switching_state,
    .switching_slope = switching_slope, .switching_time = switching_time, .n_input = 1, .input_name = input_name, .n_event = 2,
    .event_name = event_name, .event_kind = event_kind, .event_when = event_when, .event_when_state = event_when_state,
    .event_when_parameter = event_when_parameter, .event_assign = event_assign, .event_assign_state = event_assign_state,
    .event_assign_parameter = event_assign_parameter, .event_delay = event_delay,
    .event_delay_parameter = event_delay_parameter, .lag = lag, .lag_parameter = lag_parameter};
