/* Findings of the model check as text, and its table of the model's functions.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/check_call.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SHAPES_ROW(name, field, row, column, base, at_time) {#field, AXIS_##row, AXIS_##column, \
    CHECK_##base, at_time},
static const struct check_shape shapes[N_CHECK_FUNCTION] = {
    CHECK_FUNCTIONS(SHAPES_ROW, SHAPES_ROW)};

const struct check_shape *check_shape(enum check_function function) { return &shapes[function]; }
const char *check_function_name(enum check_function function) { return shapes[function].name; }

size_t check_axis_size(const struct stiffit_model *abi, enum check_axis axis)
{
    switch (axis) {
    case AXIS_WORK: return abi->n_work;
    case AXIS_STATE: return abi->n_state;
    case AXIS_PARAMETER: return abi->n_parameter;
    case AXIS_OBSERVABLE: return abi->n_observable;
    case AXIS_SWITCHING: return abi->n_switching;
    case AXIS_FORCING: return abi->n_forcing;
    case AXIS_EVENT: return abi->n_event;
    case AXIS_POINT: return (size_t)abi->n_state + 1;
    default: return 1;
    }
}

size_t check_size(const struct stiffit_model *abi, enum check_function function)
{
    if (function == CHECK_JACOBIAN_SPARSE)
        return abi->n_nonzero;
    return check_axis_size(abi, shapes[function].row) *
           check_axis_size(abi, shapes[function].column);
}

stiffit_function *check_pointer(const struct stiffit_model *abi, enum check_function function)
{
#define POINTER(name, field, ...) abi->field,
#define NO_POINTER(...) NULL,
    stiffit_function *const functions[] = {CHECK_FUNCTIONS(POINTER, NO_POINTER)};
    enum check_axis row = shapes[function].row;
    bool is_empty = (row == AXIS_SWITCHING || row == AXIS_FORCING || row == AXIS_EVENT) &&
                    check_axis_size(abi, row) == 0;
    return is_empty ? NULL : functions[function];
}

bool check_may_be_infinite(enum check_function function)
{
    enum check_function base = shapes[function].base;
    return base == CHECK_PREPARE || base == CHECK_SWITCHING_TIME || base == CHECK_EVENT_WHEN ||
           base == CHECK_EVENT_PRIORITY;
}

bool check_is_of_lanes(enum check_function function)
{
    return (function >= CHECK_LANES_RHS && function <= CHECK_LANES_CHANGE) ||
           function >= CHECK_LANES_BY_STATE;
}

bool check_is_there(const struct stiffit_model *abi, enum check_function function)
{
    if (!check_is_of_lanes(function))
        return check_pointer(abi, function) != NULL;
    return abi->lanes && (shapes[function].base != CHECK_OBSERVE || abi->lanes->observe) &&
           (shapes[function].base != CHECK_NOISE || abi->lanes->noise);
}

static const char *axis_name(const struct stiffit_model *abi, enum check_axis axis, int64_t index)
{
    static const char *const time[] = {"t"};
    if (axis == AXIS_POINT)
        return axis_name(abi, index < abi->n_state ? AXIS_STATE : AXIS_TIME,
                         index < abi->n_state ? index : 0);
    const char *const *names = axis == AXIS_STATE        ? abi->state_name
                               : axis == AXIS_PARAMETER  ? abi->parameter_name
                               : axis == AXIS_OBSERVABLE ? abi->observable_name
                               : axis == AXIS_EVENT      ? abi->event_name
                               : axis == AXIS_TIME       ? time
                                                         : NULL;
    return names && index >= 0 ? names[index] : NULL;
}

/* "d rhs[y2] / d y3", "rhs[y2]" or "rhs". */
static void entry_text(char *text, size_t size, enum check_function function,
                       const struct check_finding *finding)
{
    const struct check_shape *shape = check_shape(function);
    if (finding->row && finding->column)
        snprintf(text, size, "d %s[%.60s] / d %.60s", shapes[shape->base].name, finding->row,
                 finding->column);
    else if (finding->column)
        snprintf(text, size, "d %s / d %.60s", shapes[shape->base].name, finding->column);
    else if (finding->row)
        snprintf(text, size, "%s[%.60s]", shape->name, finding->row);
    else
        snprintf(text, size, "the result");
}

static void write_text(struct check_finding *finding)
{
    char entry[160];
    const char *name = shapes[finding->function].name;
    double t = finding->t;
    size_t size = sizeof finding->text;
    entry_text(entry, sizeof entry, finding->function, finding);
    switch (finding->kind) {
    case CHECK_DERIVATIVE:
        snprintf(finding->text, size,
                 "%s: %s at t = %.6g: the model says %.9g, differences say %.9g +- %.1g", name,
                 entry, t, finding->got, finding->expected, finding->error);
        break;
    case CHECK_PATTERN:
        snprintf(finding->text, size,
                 "%s: %s at t = %.6g is not in the pattern, but differences say %.9g +- %.1g", name,
                 entry, t, finding->expected, finding->error);
        break;
    case CHECK_MASK:
        snprintf(finding->text, size,
                 "parameter_use: %.60s changes %s, but its mask lacks STIFFIT_USE_%s",
                 finding->column, name,
                 finding->function == CHECK_RHS       ? "RHS"
                 : finding->function == CHECK_INITIAL ? "INITIAL"
                 : finding->function == CHECK_OBSERVE ? "OBSERVE"
                 : finding->function == CHECK_NOISE   ? "NOISE"
                                                      : "EVENT");
        break;
    case CHECK_IMPURE:
        snprintf(finding->text, size,
                 "%s: %s at t = %.6g: the same inputs gave %.17g, then %.17g%s; a function must "
                 "keep no state and read nothing but its inputs",
                 name, entry, t, finding->expected, finding->got,
                 check_is_of_lanes(finding->function) ? " in another lane, beside others" : "");
        break;
    case CHECK_LANES:
        snprintf(finding->text, size, "%s: %s at t = %.6g: lanes say %.17g, %s says %.17g", name,
                 entry, t, finding->got, check_function_name(shapes[finding->function].base),
                 finding->expected);
        break;
    case CHECK_UNWRITTEN:
        snprintf(finding->text, size, "%s: %s is not written; every entry must be, zeros too", name,
                 entry);
        break;
    case CHECK_OVERRUN:
        snprintf(finding->text, size,
                 "%s: it writes outside of its output (before its beginning, beyond its end or "
                 "into its inputs)",
                 name);
        break;
    case CHECK_FAILED:
        snprintf(finding->text, size, "%s: at t = %.6g it returns %s", name, t,
                 finding->got == STIFFIT_FATAL ? "STIFFIT_FATAL" :
                 "STIFFIT_RECOVERABLE or numbers that are not finite");
        break;
    case CHECK_ENVIRONMENT:
        snprintf(finding->text, size,
                 "%s: it changes the floating-point environment (rounding mode, traps); a function "
                 "must leave it as it finds it",
                 name);
        break;
    case CHECK_INVALID:
        if (finding->function == CHECK_NOISE && finding->row)
            snprintf(finding->text, size,
                     "%s: %s at t = %.6g is %.9g, and a standard deviation must be above 0", name,
                     entry, t, finding->got);
        else
            snprintf(finding->text, size,
                     "%s: it returns %d, which is not STIFFIT_OK, STIFFIT_RECOVERABLE or "
                     "STIFFIT_FATAL",
                     name, (int)finding->got);
        break;
    }
}

void check_add(struct check_report *report, const struct stiffit_model *abi,
               const struct check_finding *found, int64_t row, int64_t column)
{
    const struct check_shape *shape = &shapes[found->function];
    struct check_finding finding = *found;
    finding.row = axis_name(abi, shape->row, row);
    finding.column =
        axis_name(abi, found->kind == CHECK_MASK ? AXIS_PARAMETER : shape->column, column);
    for (size_t i = 0; i < report->n_finding; i++) {
        struct check_finding *old = &report->finding[i];
        if (old->kind == found->kind && old->function == found->function &&
            old->row == finding.row && old->column == finding.column) {
            old->n_more++;
            return;
        }
    }
    if (report->n_finding == CHECK_MAX_FINDING) {
        report->n_dropped++;
        return;
    }
    write_text(&finding);
    report->finding[report->n_finding++] = finding;
}

static void add_thread_finding(struct check_report *report, enum check_function function)
{
    static const struct stiffit_model no_names = {0};
    size_t before = report->n_finding;
    check_add(report, &no_names,
              &(struct check_finding){.kind = CHECK_IMPURE, .function = function, .t = NAN,
                                      .got = NAN, .expected = NAN},
              CHECK_NO_INDEX, CHECK_NO_INDEX);
    if (report->n_finding > before)
        snprintf(report->finding[before].text, sizeof report->finding[before].text,
                 "%s: several threads at once got different bits than one thread; a function must "
                 "keep no state",
                 shapes[function].name);
}

const struct check_finding *check_report_certain(const struct check_report *report)
{
    for (size_t i = 0; i < report->n_finding; i++) {
        enum check_kind kind = report->finding[i].kind;
        if ((kind == CHECK_DERIVATIVE || kind == CHECK_PATTERN || kind == CHECK_MASK) &&
            report->finding[i].n_more > 0)
            return &report->finding[i];
    }
    return NULL;
}

/* These three determine the points at which everything is called: if one differs, the others are
 * called at other points. */
size_t check_report_compare(struct check_report *report, const struct check_report *other)
{
    static const enum check_function leading[] = {CHECK_PREPARE, CHECK_INITIAL, CHECK_RHS};
    for (size_t i = 0; i < sizeof leading / sizeof *leading; i++) {
        if (report->fingerprint[leading[i]] != other->fingerprint[leading[i]]) {
            add_thread_finding(report, leading[i]);
            return 1;
        }
    }
    size_t n = 0;
    for (int f = 0; f < N_CHECK_FUNCTION; f++) {
        if (report->fingerprint[f] != other->fingerprint[f]) {
            add_thread_finding(report, f);
            n++;
        }
    }
    return n;
}
