/* Checks a descriptor, which comes from foreign code: nothing in it is used before it is checked
 * here.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/plugin.h"

#include "base/error_kind.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FAULT = 12, MAX_STRUCT_SIZE = 1 << 20 };

/* The faults so far, as lines. */
struct fault_list {
    size_t n;
    char text[1800];
};

static void fault(struct fault_list *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void fault(struct fault_list *list, const char *format, ...)
{
    if (list->n++ >= MAX_FAULT)
        return;
    size_t used = strlen(list->text);
    if (used + 4 >= sizeof list->text)
        return;
    used += (size_t)snprintf(list->text + used, sizeof list->text - used, "\n  ");
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(list->text + used, sizeof list->text - used, format, arguments);
    va_end(arguments);
}

/* Of functions of another number of lanes only the number is kept. */
static enum status copy_lanes(struct model *model, const struct stiffit_lanes *lanes,
                              struct error *error)
{
    /* Fields after what every version has had may be missing. */
    size_t needed = offsetof(struct stiffit_lanes, algebra), size = lanes->struct_size;
    if (size < needed || size > MAX_STRUCT_SIZE)
        return error_set(error, STATUS_BAD_MODEL,
                         "%s: struct_size of the plugin's lanes is %zu, and it must be at least "
                         "%zu",
                         model->path, size, needed);
    model->n_lane = lanes->n_lane;
    model->abi.lanes = NULL;
    if (model->n_lane != STIFFIT_LANES)
        return STATUS_OK;
    model->abi.lanes = model->lanes = calloc(1, sizeof *model->lanes);
    if (!model->lanes)
        return error_set(error, STATUS_NO_MEMORY, "out of memory while loading the model %s",
                         model->path);
    memcpy(model->lanes, lanes, size < sizeof *lanes ? size : sizeof *lanes);
    return STATUS_OK;
}

enum status descriptor_copy(struct model *model, const struct stiffit_model *descriptor,
                            struct error *error)
{
    struct stiffit_model *copy = &model->abi;
    const char *origin = model->path;
    if (descriptor->abi_version != STIFFIT_ABI_VERSION)
        return error_set(error, STATUS_BAD_MODEL,
                         "%s: the plugin was built for version %u of the plugin interface (ABI), "
                         "this program needs "
                         "version %u; compile it again with this program's stiffit/model.h",
                         origin, (unsigned)descriptor->abi_version, STIFFIT_ABI_VERSION);
    size_t size = descriptor->struct_size;
    /* Fields after the required functions may be missing. */
    size_t needed = offsetof(struct stiffit_model, prepare);
    if (size < needed || size > MAX_STRUCT_SIZE)
        return error_set(error, STATUS_BAD_MODEL,
                         "%s: struct_size of the plugin's descriptor is %zu, and it must be at "
                         "least %zu; begin it "
                         "with STIFFIT_MODEL_HEADER",
                         origin, size, needed);
    *copy = (struct stiffit_model){0};
    memcpy(copy, descriptor, size < sizeof *copy ? size : sizeof *copy);
    model->n_lane = 0;
    return copy->lanes ? copy_lanes(model, copy->lanes, error) : STATUS_OK;
}

static bool name_is_valid(const char *name)
{
    if (!isalpha((unsigned char)name[0]) && name[0] != '_')
        return false;
    for (const char *c = name; *c; c++)
        if ((!isalnum((unsigned char)*c) && *c != '_' && *c != '.') || c - name >= MODEL_MAX_NAME)
            return false;
    return true;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum status check_names(struct fault_list *list, const char *field, const char *const *names,
                               size_t n)
{
    if (n == 0)
        return STATUS_OK;
    if (!names) {
        fault(list, "%s is NULL, and there should be %zu names", field, n);
        return STATUS_OK;
    }
    bool all_there = true;
    for (size_t i = 0; i < n; i++) {
        if (!names[i]) {
            fault(list, "%s[%zu] is NULL", field, i);
            all_there = false;
        } else if (!name_is_valid(names[i])) {
            fault(list,
                  "%s[%zu] is \"%.60s\": a name is a letter or _, then letters, digits, _ or . (at "
                  "most %d)",
                  field, i, names[i], MODEL_MAX_NAME);
        }
    }
    if (!all_there)
        return STATUS_OK;
    const char **sorted = malloc(n * sizeof *sorted);
    if (!sorted)
        return STATUS_NO_MEMORY;
    memcpy(sorted, names, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_names);
    for (size_t i = 1; i < n; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0 &&
            (i < 2 || strcmp(sorted[i - 2], sorted[i]) != 0))
            fault(list, "%s has \"%.60s\" more than once", field, sorted[i]);
    free(sorted);
    return STATUS_OK;
}

static void check_count(struct fault_list *list, const char *field, size_t n, size_t least,
                        size_t most)
{
    if (n < least)
        fault(list, "%s is %zu and must be at least %zu", field, n, least);
    if (n > most)
        fault(list, "%s is %zu and can be at most %zu", field, n, most);
}

static void check_functions(struct fault_list *list, const struct stiffit_model *abi)
{
    if (abi->n_state > 0 && !abi->rhs)
        fault(list, "the required function rhs is missing (NULL)");
    if (abi->n_state > 0 && !abi->initial)
        fault(list, "the required function initial is missing (NULL)");
    if (!abi->observe)
        fault(list, "the required function observe is missing (NULL)");
    if ((abi->n_switching > 0 && !abi->switching) || (abi->n_forcing > 0 && !abi->forcing))
        fault(list, "n_%s is set, but the function is missing (NULL)",
              abi->n_switching && !abi->switching ? "switching" : "forcing");
    if (abi->n_event > 0 && abi->n_state == 0)
        fault(list, "n_event is set, but the model has no states that events could assign");
    else if (abi->n_event > 0 && (!abi->event_when || !abi->event_assign))
        fault(list, "n_event is set, but the function event_%s is missing (NULL)",
              abi->event_when ? "assign" : "when");
    if (abi->lanes && abi->n_state == 0)
        fault(list, "lanes is there, but the model has no states");
    else if (abi->lanes && (!abi->lanes->rhs || !abi->lanes->derive || !abi->lanes->curve))
        fault(list, "lanes is there, but its function %s is missing (NULL)",
              !abi->lanes->rhs ? "rhs" : !abi->lanes->derive ? "derive" : "curve");
    if (abi->n_work > 0 && !abi->prepare)
        fault(list, "n_work is %u, but the function prepare that should fill it is missing (NULL)",
              (unsigned)abi->n_work);
}

/* Columns in order, rows within range and increasing. Stops at the first fault, since others
 * would follow from it. The names are those of the arrays. */
static void check_columns(struct fault_list *list, const char *starts, const int32_t *start,
                          const char *rows, const int32_t *row, size_t n_column,
                          const char *row_count, uint32_t n_row)
{
    for (size_t j = 0; j < n_column; j++) {
        int32_t first = start[j], end = start[j + 1];
        if (end < first || end > start[n_column]) {
            fault(list, "%s must not decrease: %s[%zu] = %d, %s[%zu] = %d", starts, starts, j,
                  (int)first, starts, j + 1, (int)end);
            return;
        }
        for (int32_t k = first; k < end; k++) {
            if (row[k] < 0 || row[k] >= (int32_t)n_row) {
                fault(list, "%s[%d] = %d in column %zu is outside 0 ... %s - 1 = %u", rows, (int)k,
                      (int)row[k], j, row_count, (unsigned)(n_row - 1));
                return;
            }
            if (k > first && row[k] <= row[k - 1]) {
                fault(list,
                      "%s must increase within a column: %s[%d] = %d, %s[%d] = %d, column %zu",
                      rows, rows, (int)(k - 1), (int)row[k - 1], rows, (int)k, (int)row[k], j);
                return;
            }
        }
    }
}

static void check_lanes(struct fault_list *list, const struct stiffit_model *abi)
{
    const struct stiffit_lanes *lanes = abi->lanes;
    size_t n_state = abi->n_state, n_parameter = abi->n_parameter;
    const struct {
        const char *starts, *rows;
        const struct stiffit_pattern *pattern;
        size_t n_column;
        bool of_states; /* its rows are states; otherwise observables */
        bool is_there;
    } patterns[] = {
#define PATTERN(name, ...) {"lanes->" #name ".start", "lanes->" #name ".row", &lanes->name, \
    __VA_ARGS__}
        PATTERN(by_state, n_state + 1, true, true),
        PATTERN(by_parameter, n_parameter, true, true),
        PATTERN(curve_state, n_state, true, true),
        PATTERN(curve_parameter, n_parameter, true, true),
        PATTERN(observe_state, n_state, false, lanes->observe),
        PATTERN(observe_parameter, n_parameter, false, lanes->observe),
        PATTERN(noise_state, n_state, false, lanes->noise),
        PATTERN(noise_parameter, n_parameter, false, lanes->noise)};
#undef PATTERN
    if (lanes->noise && (!abi->noise || !lanes->observe))
        fault(list, "lanes has the function noise, and %s",
              abi->noise ? "not observe" : "the model has no noise");
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        const int32_t *start = patterns[i].pattern->start, *row = patterns[i].pattern->row;
        bool of_states = patterns[i].of_states;
        size_t n = patterns[i].n_column;
        if (!patterns[i].is_there)
            continue;
        if (!start || (start[n] > 0 && !row))
            fault(list, "%s is NULL", !start ? patterns[i].starts : patterns[i].rows);
        else if (start[0] != 0 || start[n] > MODEL_MAX_NONZERO)
            fault(list, "%s must begin with 0 and end with at most %d", patterns[i].starts,
                  MODEL_MAX_NONZERO);
        else
            check_columns(list, patterns[i].starts, start, patterns[i].rows, row, n,
                          of_states ? "n_state" : "n_observable",
                          of_states ? abi->n_state : abi->n_observable);
    }
}

static void check_pattern(struct fault_list *list, const struct stiffit_model *abi)
{
    if (!abi->jacobian_sparse)
        return;
    if (!abi->column_start || (abi->n_nonzero > 0 && !abi->row_index)) {
        fault(list, "jacobian_sparse is set, but its pattern (column_start, row_index) is NULL");
        return;
    }
    if (abi->column_start[0] != 0 || abi->column_start[abi->n_state] != (int32_t)abi->n_nonzero) {
        fault(list,
              "column_start must begin with 0 and end with n_nonzero = %u; it begins with %d and "
              "ends with %d",
              (unsigned)abi->n_nonzero, (int)abi->column_start[0],
              (int)abi->column_start[abi->n_state]);
        return;
    }
    check_columns(list, "column_start", abi->column_start, "row_index", abi->row_index,
                  abi->n_state, "n_state", abi->n_state);
}

static bool is_among(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; word && i < n; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

/* A number that the prior of parameter i needs; NaN and a fault if it is missing. */
static double prior_number(struct fault_list *list, const struct stiffit_model *abi, size_t i,
                           const char *field, const double *numbers)
{
    if (!numbers || isnan(numbers[i]))
        fault(list, "parameter %s: its %s prior needs parameter_prior_%s, which is %s",
              abi->parameter_name[i], abi->parameter_prior[i], field, numbers ? "NaN" : "NULL");
    return numbers ? numbers[i] : NAN;
}

static void check_prior(struct fault_list *list, const struct stiffit_model *abi, size_t i)
{
    static const char *const kinds[] = {"none", "normal", "log-normal", "laplace", "uniform"};
    static const char *const places[] = {"natural", "optimizer"};
    const char *name = abi->parameter_name[i], *kind = abi->parameter_prior[i];
    const char *on = abi->parameter_prior_on ? abi->parameter_prior_on[i] : places[0];
    const char *scale = abi->parameter_scale ? abi->parameter_scale[i] : "lin";
    if (!is_among(kind, kinds, sizeof kinds / sizeof *kinds))
        fault(list,
              "parameter %s: its prior is %.30s and must be \"none\", \"normal\", \"log-normal\", "
              "\"laplace\" or \"uniform\"",
              name, kind ? kind : "NULL");
    else if (!is_among(on, places, sizeof places / sizeof *places))
        fault(list,
              "parameter %s: its parameter_prior_on is %.30s and must be \"natural\" or "
              "\"optimizer\"",
              name, on ? on : "NULL");
    else if (strcmp(kind, "uniform") == 0) {
        double lower = prior_number(list, abi, i, "lower", abi->parameter_prior_lower);
        double upper = prior_number(list, abi, i, "upper", abi->parameter_prior_upper);
        if (lower >= upper)
            fault(list, "parameter %s: the ends %g and %g of its uniform prior hold no value", name,
                  lower, upper);
    } else if (strcmp(kind, "none") != 0) {
        double location = prior_number(list, abi, i, "location", abi->parameter_prior_location);
        double width = prior_number(list, abi, i, "scale", abi->parameter_prior_scale);
        if (isinf(location) || width <= 0 || isinf(width))
            fault(list,
                  "parameter %s: its %s prior has location %g and scale %g; both must be finite "
                  "and the scale above 0",
                  name, kind, location, width);
        if (strcmp(kind, "log-normal") == 0 && strcmp(on, "optimizer") == 0 && scale &&
            strcmp(scale, "lin") != 0)
            fault(list,
                  "parameter %s: its log-normal prior is on the optimizer's scale, which is a "
                  "logarithm already",
                  name);
    }
}

static void check_error(struct fault_list *list, const char *name, const char *word)
{
    if (!word ||
        (!is_among(word, error_kind_word, N_ERROR) && strcmp(word, error_kind_default) != 0))
        fault(list,
              "observable %s: its observable_error is %.30s and must be " ERROR_QUOTED " or "
                                                                                       "\"default"
                                                                                       "\"",
              name, word ? word : "NULL");
}

static void check_default(struct fault_list *list, const struct stiffit_model *abi, size_t i)
{
    const char *name = abi->parameter_name[i];
    double start = abi->parameter_start ? abi->parameter_start[i] : NAN;
    double lower = abi->parameter_lower ? abi->parameter_lower[i] : -INFINITY;
    double upper = abi->parameter_upper ? abi->parameter_upper[i] : INFINITY;
    const char *scale = abi->parameter_scale ? abi->parameter_scale[i] : "lin";
    if (abi->parameter_start && !isfinite(start))
        fault(list, "parameter %s: its start is %g, which is not finite", name, start);
    if (isnan(lower) || isnan(upper) || lower > upper || lower == INFINITY || upper == -INFINITY)
        fault(list, "parameter %s: its bounds [%g, %g] hold no value", name, lower, upper);
    static const char *const scales[] = {"lin", "log", "log10"};
    if (!is_among(scale, scales, sizeof scales / sizeof *scales)) {
        fault(list,
              "parameter %s: its scale is %s%.30s%s and must be \"lin\", \"log\" or \"log10\"",
              name, scale ? "\"" : "", scale ? scale : "NULL", scale ? "\"" : "");
    } else if (scale[1] == 'o') {
        if (start <= 0 &&
            !(lower > 0)) /* otherwise it is moved onto the bound, as in a problem file */
            fault(list, "parameter %s: its scale is %s, but its start %g is not above 0", name,
                  scale, start);
        if (upper <= 0 || (lower < 0 && isfinite(lower)))
            fault(list,
                  "parameter %s: its scale is %s, but its bounds [%g, %g] are not those of a "
                  "positive number",
                  name, scale, lower, upper);
    }
    unsigned use = abi->parameter_use ? abi->parameter_use[i] : 0;
    if (use & ~(unsigned)(STIFFIT_USE_RHS | STIFFIT_USE_INITIAL | STIFFIT_USE_OBSERVE |
                          STIFFIT_USE_NOISE | STIFFIT_USE_EVENT))
        fault(list,
              "parameter %s: parameter_use is 0x%x, which has bits that this version does not know",
              name, use);
}

static void check_needs(struct fault_list *list, const struct stiffit_model *abi)
{
    const uint32_t most[] = {
        [STIFFIT_NEED_NOTHING] = 1, [STIFFIT_NEED_STATE] = abi->n_state,
        [STIFFIT_NEED_PARAMETER] = abi->n_parameter,
        [STIFFIT_NEED_COVARIATE] = abi->n_covariate, [STIFFIT_NEED_INPUT] = abi->n_input,
        [STIFFIT_NEED_TIME] = 1, [STIFFIT_NEED_POSITIVE_PARAMETER] = abi->n_parameter,
        [STIFFIT_NEED_POSITIVE_COVARIATE] = abi->n_covariate};
    const int32_t *start = abi->nonnegative_start;
    if (start && !abi->nonnegative_need)
        fault(list, "nonnegative_start is there, but nonnegative_need is NULL");
    for (uint32_t i = 0; start && abi->nonnegative_need && i < abi->n_state; i++) {
        if (start[i] < 0 || start[i] > start[i + 1]) {
            fault(list, "nonnegative_start falls from %d to %d, or is below 0", (int)start[i],
                  (int)start[i + 1]);
            return;
        }
        for (int32_t k = start[i]; k < start[i + 1]; k++) {
            const struct stiffit_need *need = &abi->nonnegative_need[k];
            if (need->kind >= sizeof most / sizeof *most || need->index >= most[need->kind])
                fault(list, "nonnegative_need[%d] has kind %u and index %u, which do not exist",
                      (int)k, (unsigned)need->kind, (unsigned)need->index);
        }
    }
}

enum status descriptor_check(const struct stiffit_model *abi, const char *origin,
                             struct error *error)
{
    struct fault_list list = {0};
    check_count(&list, "n_state", abi->n_state, 0, MODEL_MAX_COUNT);
    check_count(&list, "n_parameter", abi->n_parameter, 1, MODEL_MAX_COUNT);
    check_count(&list, "n_observable", abi->n_observable, 1, MODEL_MAX_COUNT);
    check_count(&list, "n_covariate", abi->n_covariate, 0, MODEL_MAX_COUNT);
    check_count(&list, "n_work", abi->n_work, 0, MODEL_MAX_WORK);
    check_count(&list, "n_switching", abi->n_switching, 0, MODEL_MAX_WORK);
    check_count(&list, "n_forcing", abi->n_forcing, 0, MODEL_MAX_WORK);
    check_count(&list, "n_input", abi->n_input, 0, MODEL_MAX_COUNT);
    check_count(&list, "n_event", abi->n_event, 0, MODEL_MAX_COUNT);
    check_count(&list, "n_nonzero", abi->n_nonzero, 0, MODEL_MAX_NONZERO);
    if (!(abi->max_step >= 0))
        fault(&list, "max_step is %g; it must be above 0, or 0 if nothing is said", abi->max_step);
    if (!abi->name || !*abi->name)
        fault(&list, "name is NULL or empty");
    check_functions(&list, abi);
    bool counts_are_sane = list.n == 0;
    if (counts_are_sane) {
        struct { const char *field; const char *const *names; size_t n; } groups[] = {
            {"state_name", abi->state_name, abi->n_state},
            {"parameter_name", abi->parameter_name, abi->n_parameter},
            {"observable_name", abi->observable_name, abi->n_observable},
            {"covariate_name", abi->covariate_name, abi->n_covariate},
            {"input_name", abi->input_name, abi->n_input},
            {"event_name", abi->event_name, abi->n_event},
        };
        for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
            if (check_names(&list, groups[i].field, groups[i].names, groups[i].n) != STATUS_OK)
                return error_set(error, STATUS_NO_MEMORY,
                                 "out of memory while checking the model %s", origin);
        for (uint32_t i = 0; list.n == 0 && i < abi->n_input; i++)
            if (is_among(abi->input_name[i], abi->covariate_name, abi->n_covariate))
                fault(&list, "%.60s is an input and a covariate", abi->input_name[i]);
        for (uint32_t i = 0; i < abi->n_event && abi->event_kind; i++)
            if (abi->event_kind[i] &
                ~(unsigned)(STIFFIT_EVENT_TIMED | STIFFIT_EVENT_INITIALLY_FALSE |
                            STIFFIT_EVENT_CAN_LAPSE | STIFFIT_EVENT_EARLY_VALUES |
                            STIFFIT_EVENT_FIRST | STIFFIT_EVENT_AFTER))
                fault(&list,
                      "event_kind[%u] is 0x%x, which has bits that this version does not know",
                      (unsigned)i, abi->event_kind[i]);
        for (uint32_t i = 0; i < abi->n_state && abi->infusion_kind; i++)
            if (abi->infusion_kind[i] > STIFFIT_INFUSION_DURATION)
                fault(&list, "infusion_kind[%u] is %u, which this version does not know",
                      (unsigned)i, abi->infusion_kind[i]);
        check_needs(&list, abi);
        if (abi->infusion_kind && !abi->infusion)
            fault(&list, "infusion_kind is there, but infusion is NULL");
        check_pattern(&list, abi);
        if (abi->lanes)
            check_lanes(&list, abi);
    }
    if (list.n == 0)
        for (size_t i = 0; i < abi->n_parameter; i++)
            check_default(&list, abi, i);
    for (size_t i = 0; list.n == 0 && abi->parameter_prior && i < abi->n_parameter; i++)
        check_prior(&list, abi, i);
    for (size_t i = 0; list.n == 0 && abi->observable_error && i < abi->n_observable; i++)
        check_error(&list, abi->observable_name[i], abi->observable_error[i]);
    if (list.n == 0)
        return STATUS_OK;
    char more[60] = "";
    if (list.n > MAX_FAULT)
        snprintf(more, sizeof more, "\n  and %zu more", list.n - MAX_FAULT);
    return error_set(error, STATUS_BAD_MODEL,
                     "%s: the model's descriptor is wrong; correct it and compile again:%s%s",
                     origin, list.text, more);
}
