/* A model as JSON: sizes, parameters, equations as model text, the Jacobian's pattern, derivatives, costs.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/model_show.h"

#include <stdlib.h>
#include <string.h>

static void put_text(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    json_string(json, text);
}

static void put_number(struct json *json, const char *key, double value)
{
    json_key(json, key);
    json_number(json, value);
}

static void put_count(struct json *json, const char *key, size_t n)
{
    json_key(json, key);
    json_unsigned(json, n);
}

/* An expression as text; `by_name`: by its name if it has one. */
static void put_expression(struct json *json, const struct shown_model *model, const char *key, node which, bool by_name)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (out) {
        (by_name ? listing_expression : listing_definition)(model->listing, which, out);
        fclose(out);
    }
    put_text(json, key, text);
    free(text);
}

static void put_prior(struct json *json, const struct equation_prior *prior)
{
    bool is_uniform = prior->kind && strcmp(prior->kind, "uniform") == 0;
    json_key(json, "prior");
    if (!prior->kind) {
        json_null(json);
        return;
    }
    json_object_begin(json);
    put_text(json, "kind", prior->kind);
    put_text(json, "on", prior->on_optimizer ? "optimizer" : "natural");
    put_number(json, is_uniform ? "lower" : "location", prior->first);
    put_number(json, is_uniform ? "upper" : "scale", prior->second);
    json_object_end(json);
}

static void put_parameters(struct json *json, const struct shown_model *model)
{
    const struct equations *equations = model->text.equations;
    json_key(json, "parameters");
    json_array_begin(json);
    for (uint32_t i = 0; i < equations->n_parameter; i++) {
        const struct equation_parameter *it = &equations->parameter[i];
        char words[64];
        json_object_begin(json);
        put_text(json, "name", it->name);
        put_number(json, "start", it->start);
        put_number(json, "lower", it->lower);
        put_number(json, "upper", it->upper);
        put_text(json, "scale", it->scale);
        put_text(json, "unit", it->unit);
        put_text(json, "enters", model_use_words(model->functions.parameter_use[i], words));
        put_prior(json, &it->prior);
        json_object_end(json);
    }
    json_array_end(json);
    json_key(json, "covariates");
    json_array_begin(json);
    for (uint32_t i = 0; i < equations->n_covariate; i++) {
        json_object_begin(json);
        put_text(json, "name", equations->covariate[i].name);
        put_text(json, "unit", equations->covariate[i].unit);
        json_object_end(json);
    }
    json_array_end(json);
}

static void put_states(struct json *json, const struct shown_model *model)
{
    const struct equations *equations = model->text.equations;
    listing_begin_equations(model->listing);
    json_key(json, "states");
    json_array_begin(json);
    for (uint32_t i = 0; i < equations->n_state; i++) {
        json_object_begin(json);
        put_text(json, "name", equations->state[i].name);
        put_text(json, "unit", equations->state[i].unit);
        put_expression(json, model, "initial", equations->state[i].initial, true);
        put_expression(json, model, "rhs", equations->state[i].rhs, true);
        json_object_end(json);
    }
    json_array_end(json);
    json_key(json, "intermediates");
    json_array_begin(json);
    for (uint32_t i = 0; i < equations->n_intermediate; i++) {
        json_object_begin(json);
        put_text(json, "name", equations->intermediate[i].name);
        put_expression(json, model, "value", equations->intermediate[i].value, false);
        json_object_end(json);
    }
    json_array_end(json);
}

static void put_observables(struct json *json, const struct shown_model *model)
{
    const struct equations *equations = model->text.equations;
    listing_begin_equations(model->listing);
    json_key(json, "observables");
    json_array_begin(json);
    for (uint32_t i = 0; i < equations->n_observable; i++) {
        const struct equation_observable *it = &equations->observable[i];
        json_object_begin(json);
        put_text(json, "name", it->name);
        put_text(json, "unit", it->unit);
        put_expression(json, model, "value", it->value, false);
        put_text(json, "error", it->error);
        if (it->noise != NODE_NONE)
            put_expression(json, model, "sd", it->noise, true);
        json_object_end(json);
    }
    json_array_end(json);
}

/* Entries of one function: row, column, formula. */
static void put_entries(struct json *json, const struct shown_model *model, const struct graph_matrix *matrix)
{
    json_key(json, "entries");
    json_array_begin(json);
    for (size_t j = 0; j < matrix->n_column && matrix->n_entry; j++)
        for (uint32_t k = matrix->column_start[j]; k < matrix->column_start[j + 1]; k++) {
            json_object_begin(json);
            put_count(json, "row", matrix->row[k]);
            put_count(json, "column", j);
            put_expression(json, model, "value", matrix->entry[k], true);
            json_object_end(json);
        }
    json_array_end(json);
}

static void put_cost(struct json *json, const struct function_cost *cost)
{
    put_count(json, "additions", cost->n_add);
    put_count(json, "multiplications", cost->n_multiply);
    put_count(json, "divisions", cost->n_divide);
    put_count(json, "calls", cost->n_call);
    put_count(json, "other", cost->n_other);
    put_count(json, "temporaries", cost->n_temporary);
    put_count(json, "alive", cost->n_alive);
}

static void put_functions(struct json *json, const struct shown_model *model)
{
    json_key(json, "functions");
    json_object_begin(json);
    for (int f = 0; f < N_MODEL_FUNCTION; f++) {
        const struct graph_matrix *matrix = &model->functions.of[f];
        json_key(json, model_function_name((enum model_function)f));
        json_object_begin(json);
        put_count(json, "rows", matrix->n_row);
        put_count(json, "columns", matrix->n_column);
        put_cost(json, &model->cost[f]);
        put_entries(json, model, matrix);
        json_object_end(json);
    }
    json_object_end(json);
    json_key(json, "prepare"); /* computed once per evaluation */
    json_object_begin(json);
    put_count(json, "results", model->cost[COST_prepare].n_result);
    put_cost(json, &model->cost[COST_prepare]);
    json_object_end(json);
}

static void put_temporaries(struct json *json, const struct shown_model *model)
{
    listing_begin_derivatives(model->listing);
    json_key(json, "temporaries");
    json_array_begin(json);
    for (size_t i = 0; i < listing_n_temporary(model->listing); i++) {
        json_object_begin(json);
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
    json_begin(&json, out, true);
    json_object_begin(&json);
    put_text(&json, "model", equations->name);
    put_text(&json, "description", equations->description);
    put_text(&json, "time_unit", equations->time_unit);
    put_number(&json, "t0", equations->t0);
    put_parameters(&json, model);
    put_states(&json, model);
    put_observables(&json, model);
    put_temporaries(&json, model);
    put_functions(&json, model);
    json_key(&json, "messages");
    model_text_put_messages(&model->text, &json);
    json_object_end(&json);
    json_end(&json);
}
