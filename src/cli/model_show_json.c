/* A model as JSON: sizes, parameters, equations as model text, the Jacobian's pattern,
 * derivatives, costs.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/model_text.h"

#include <stdlib.h>
#include <string.h>

/* An expression as text; `by_name`: by its name if it has one. */
static void put_expression(struct json *json, const struct shown_model *model, const char *key,
                           node which, bool by_name)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (out) {
        (by_name ? listing_expression : listing_definition)(model->listing, which, out);
        fclose(out);
    }
    json_string(json, key, text);
    free(text);
}

static void put_prior(struct json *json, const struct equation_prior *prior)
{
    bool is_uniform = prior->kind && strcmp(prior->kind, "uniform") == 0;
    if (!prior->kind) {
        json_null(json, "prior");
        return;
    }
    json_object_begin(json, "prior");
    json_string(json, "kind", prior->kind);
    json_string(json, "on", prior->on_optimizer ? "optimizer" : "natural");
    json_number(json, is_uniform ? "lower" : "location", prior->first);
    json_number(json, is_uniform ? "upper" : "scale", prior->second);
    json_object_end(json);
}

static void put_parameters(struct json *json, const struct shown_model *model)
{
    const struct equations *equations = model->text.equations;
    json_array_begin(json, "parameters");
    for (uint32_t i = 0; i < equations->n_parameter; i++) {
        const struct equation_parameter *it = &equations->parameter[i];
        char words[64];
        json_object_begin(json, NULL);
        json_string(json, "name", it->name);
        json_number(json, "start", it->start);
        json_number(json, "lower", it->lower);
        json_number(json, "upper", it->upper);
        json_string(json, "scale", it->scale);
        json_string(json, "unit", it->unit);
        json_string(json, "enters", model_use_words(model->functions.parameter_use[i], words));
        put_prior(json, &it->prior);
        json_object_end(json);
    }
    json_array_end(json);
    json_array_begin(json, "covariates");
    for (uint32_t i = 0; i < equations->n_covariate; i++) {
        json_object_begin(json, NULL);
        json_string(json, "name", equations->covariate[i].name);
        json_string(json, "unit", equations->covariate[i].unit);
        json_object_end(json);
    }
    json_array_end(json);
}

static void put_states(struct json *json, const struct shown_model *model)
{
    const struct equations *equations = model->text.equations;
    listing_begin_equations(model->listing);
    json_array_begin(json, "states");
    for (uint32_t i = 0; i < equations->n_state; i++) {
        json_object_begin(json, NULL);
        json_string(json, "name", equations->state[i].name);
        json_string(json, "unit", equations->state[i].unit);
        put_expression(json, model, "initial", equations->state[i].initial, true);
        put_expression(json, model, "rhs", equations->state[i].rhs, true);
        json_object_end(json);
    }
    json_array_end(json);
    json_array_begin(json, "intermediates");
    for (uint32_t i = 0; i < equations->n_intermediate; i++) {
        json_object_begin(json, NULL);
        json_string(json, "name", equations->intermediate[i].name);
        put_expression(json, model, "value", equations->intermediate[i].value, false);
        json_object_end(json);
    }
    json_array_end(json);
}

static void put_observables(struct json *json, const struct shown_model *model)
{
    const struct equations *equations = model->text.equations;
    listing_begin_equations(model->listing);
    json_array_begin(json, "observables");
    for (uint32_t i = 0; i < equations->n_observable; i++) {
        const struct equation_observable *it = &equations->observable[i];
        json_object_begin(json, NULL);
        json_string(json, "name", it->name);
        json_string(json, "unit", it->unit);
        put_expression(json, model, "value", it->value, false);
        json_string(json, "error", it->error);
        if (it->noise != NODE_NONE)
            put_expression(json, model, "sd", it->noise, true);
        json_object_end(json);
    }
    json_array_end(json);
}

static void put_inputs(struct json *json, const struct equations *equations)
{
    json_array_begin(json, "inputs");
    for (uint32_t i = 0; i < equations->n_input; i++) {
        json_object_begin(json, NULL);
        json_string(json, "name", equations->input[i].name);
        json_string(json, "unit", equations->input[i].unit);
        json_boolean(json, "linear", equations->input[i].is_linear);
        json_object_end(json);
    }
    json_array_end(json);
}

static void put_event(struct json *json, const struct shown_model *model,
                      const struct equation_event *it)
{
    json_object_begin(json, NULL);
    json_string(json, "name", it->name);
    put_expression(json, model, it->kind & STIFFIT_EVENT_TIMED ? "at" : "when", it->condition,
                   true);
    if (it->delay != NODE_NONE)
        put_expression(json, model, "delay", it->delay, true);
    if (it->priority != NODE_NONE)
        put_expression(json, model, "priority", it->priority, true);
    json_boolean(json, "initially_false", it->kind & STIFFIT_EVENT_INITIALLY_FALSE);
    json_boolean(json, "can_lapse", it->kind & STIFFIT_EVENT_CAN_LAPSE);
    json_boolean(json, "early_values", it->kind & STIFFIT_EVENT_EARLY_VALUES);
    json_boolean(json, "before_others", it->kind & STIFFIT_EVENT_FIRST);
    json_boolean(json, "after_measurements", it->kind & STIFFIT_EVENT_AFTER);
    json_object_begin(json, "assigns");
    for (uint32_t k = 0; k < it->n_assignment; k++)
        put_expression(json, model, model->text.equations->state[it->assignment[k].state].name,
                       it->assignment[k].value, true);
    json_object_end(json);
    json_object_end(json);
}

static void put_events(struct json *json, const struct shown_model *model)
{
    const struct equations *equations = model->text.equations;
    listing_begin_equations(model->listing);
    for (int kind = 0; kind < N_DOSING; kind++) {
        json_object_begin(json, dosing_words[kind].word);
        for (uint32_t i = 0; i < equations->n_dosing; i++)
            if ((int)equations->dosing[i].kind == kind)
                put_expression(json, model, equations->state[equations->dosing[i].state].name,
                               equations->dosing[i].value, true);
        json_object_end(json);
    }
    json_array_begin(json, "events");
    for (uint32_t i = 0; i < equations->n_event; i++)
        put_event(json, model, &equations->event[i]);
    json_array_end(json);
}

/* Entries of one function: row, column, formula. */
static void put_entries(struct json *json, const struct shown_model *model,
                        const struct graph_matrix *matrix)
{
    json_array_begin(json, "entries");
    for (size_t j = 0; j < matrix->n_column && matrix->n_entry; j++)
        for (uint32_t k = matrix->column_start[j]; k < matrix->column_start[j + 1]; k++) {
            json_object_begin(json, NULL);
            json_unsigned(json, "row", matrix->row[k]);
            json_unsigned(json, "column", j);
            put_expression(json, model, "value", matrix->entry[k], true);
            json_object_end(json);
        }
    json_array_end(json);
}

static void put_cost(struct json *json, const struct function_cost *cost)
{
    json_unsigned(json, "additions", cost->n_add);
    json_unsigned(json, "multiplications", cost->n_multiply);
    json_unsigned(json, "divisions", cost->n_divide);
    json_unsigned(json, "calls", cost->n_call);
    json_unsigned(json, "other", cost->n_other);
    json_unsigned(json, "temporaries", cost->n_temporary);
    json_unsigned(json, "alive", cost->n_alive);
}

static void put_functions(struct json *json, const struct shown_model *model)
{
    json_object_begin(json, "functions");
    for (int f = 0; f < N_MODEL_FUNCTION; f++) {
        const struct graph_matrix *matrix = &model->functions.of[f];
        json_object_begin(json, model_functions[f].name);
        json_unsigned(json, "rows", matrix->n_row);
        json_unsigned(json, "columns", matrix->n_column);
        put_cost(json, &model->cost[f]);
        put_entries(json, model, matrix);
        json_object_end(json);
    }
    json_object_end(json);
    /* computed once per evaluation */
    json_object_begin(json, "prepare");
    json_unsigned(json, "results", model->cost[COST_prepare].n_result);
    put_cost(json, &model->cost[COST_prepare]);
    json_object_end(json);
}

static void put_temporaries(struct json *json, const struct shown_model *model)
{
    listing_begin_derivatives(model->listing);
    json_array_begin(json, "temporaries");
    for (size_t i = 0; i < listing_n_temporary(model->listing); i++) {
        json_object_begin(json, NULL);
        put_expression(json, model, "name", listing_temporary(model->listing, i), true);
        put_expression(json, model, "value", listing_temporary(model->listing, i), false);
        json_object_end(json);
    }
    json_array_end(json);
}

void model_show_json(const struct shown_model *model, FILE *out)
{
    const struct equations *equations = model->text.equations;
    struct json json;
    json_begin(&json, out);
    json_object_begin(&json, NULL);
    json_string(&json, "model", equations->name);
    json_string(&json, "description", equations->description);
    json_string(&json, "time_unit", equations->time_unit);
    json_number(&json, "t0", equations->t0);
    json_unsigned(&json, "lanes", model->functions.lanes.are_there ? STIFFIT_LANES : 0);
    put_parameters(&json, model);
    put_inputs(&json, equations);
    put_states(&json, model);
    put_events(&json, model);
    put_observables(&json, model);
    put_temporaries(&json, model);
    put_functions(&json, model);
    model_text_put_messages(&model->text, &json);
    json_end(&json);
}
