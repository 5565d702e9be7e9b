/* A file as JSON.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/show_text.h"

#include "base/json.h"
#include "base/sha256.h"

static void put_text(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    json_string(json, text);
}

static void put_count(struct json *json, const char *key, uint64_t n)
{
    json_key(json, key);
    json_unsigned(json, n);
}

static void put_number(struct json *json, const char *key, double number)
{
    json_key(json, key);
    json_number(json, number);
}

static void put_names(struct json *json, const char *key, const char *const *names, size_t n)
{
    json_key(json, key);
    json_array_begin(json);
    for (size_t i = 0; i < n; i++)
        json_string(json, names[i]);
    json_array_end(json);
}

void show_problem_json(FILE *file, const struct problem_info *info)
{
    struct json json;
    json_begin(&json, file, true);
    json_object_begin(&json);
    put_text(&json, "file", info->path);
    put_text(&json, "kind", "problem");
    json_key(&json, "model");
    json_object_begin(&json);
    put_text(&json, "plugin", info->model_plugin);
    put_count(&json, "embedded_bytes", info->model_bytes ? info->n_model_byte : 0);
    put_text(&json, "source", info->model_source);
    put_text(&json, "sha256", info->model_sha256);
    json_object_end(&json);
    put_count(&json, "datasets", info->n_dataset);
    put_count(&json, "measurements", info->n_measurement);
    put_names(&json, "parameters", info->parameter_name, info->n_parameter);
    put_names(&json, "priors", info->parameter_prior, info->parameter_prior ? info->n_parameter : 0);
    put_names(&json, "covariates", info->covariate_name, info->n_covariate);
    put_names(&json, "observables", info->observable_name, info->n_observable);
    put_names(&json, "observable_errors", info->observable_error, info->n_error);
    json_key(&json, "options");
    json_object_begin(&json);
    for (size_t i = 0; i < info->n_option; i++)
        put_text(&json, info->option_name[i], info->option_value[i]);
    json_object_end(&json);
    json_object_end(&json);
    json_end(&json);
}

static void put_spread(struct json *json, const struct show_spread *spread)
{
    put_number(json, "min", spread->min);
    put_number(json, "q25", spread->q25);
    put_number(json, "median", spread->median);
    put_number(json, "q75", spread->q75);
    put_number(json, "max", spread->max);
    json_key(json, "histogram");
    json_object_begin(json);
    put_text(json, "axis", spread->is_log ? "log" : "lin");
    put_number(json, "from", spread->low);
    put_number(json, "to", spread->high);
    json_key(json, "fits");
    json_array_begin(json);
    for (int i = 0; i < SHOW_N_BIN; i++)
        json_unsigned(json, spread->bin[i]);
    json_array_end(json);
    json_object_end(json);
}

static void put_examples(struct json *json, const struct show_examples *fits)
{
    put_count(json, "fits", fits->n);
    json_key(json, "examples");
    json_array_begin(json);
    for (int k = 0; k < SHOW_N_EXAMPLE && fits->id[k][0]; k++)
        json_string(json, fits->id[k]);
    json_array_end(json);
}

static void put_flat(struct json *json, const struct result_info *info, const struct show_summary *summary)
{
    char text[400];
    put_count(json, "fits_with_flat_directions", summary->n_fit_flat);
    json_key(json, "flat_directions");
    json_array_begin(json);
    for (size_t i = 0; i < summary->n_flat; i++) {
        json_object_begin(json);
        put_text(json, "combination", show_combination_text(info, summary->flat[i].weight, text, sizeof text));
        put_examples(json, &summary->flat[i].fits);
        json_object_end(json);
    }
    json_array_end(json);
}

static void put_counts(struct json *json, const struct show_summary *summary)
{
    put_count(json, "fits", summary->n_fit);
    put_count(json, "converged", summary->n_success);
    json_key(json, "status");
    json_object_begin(json);
    for (int i = 0; i < N_OUTCOME; i++)
        put_count(json, outcome_name((enum outcome)i), summary->by_outcome[i]);
    json_object_end(json);
    json_key(json, "stopping_test");
    json_object_begin(json);
    for (int i = 1; i < N_STOP; i++)
        put_count(json, stop_name(i), summary->by_stop[i]);
    json_object_end(json);
    json_key(json, "notes");
    json_object_begin(json);
    for (int bit = 0; bit < 32; bit++)
        if (note_name(bit))
            put_count(json, note_name(bit), summary->by_note[bit].n);
    json_object_end(json);
    json_key(json, "failures");
    json_array_begin(json);
    for (size_t i = 0; i < summary->n_group; i++) {
        const struct show_group *group = &summary->group[i];
        json_object_begin(json);
        put_text(json, "status", outcome_name(group->outcome));
        put_text(json, "message", group->message);
        put_examples(json, &group->fits);
        json_object_end(json);
    }
    json_array_end(json);
}

static void put_parameters(struct json *json, const struct result_info *info, const struct show_summary *summary)
{
    json_key(json, "parameters");
    json_array_begin(json);
    for (size_t j = 0; j < info->n_parameter; j++) {
        json_object_begin(json);
        put_text(json, "name", info->parameter_name[j]);
        put_text(json, "scale", info->parameter_scale ? info->parameter_scale[j] : NULL);
        put_text(json, "unit", info->parameter_unit ? info->parameter_unit[j] : NULL);
        put_spread(json, &summary->parameter[j]);
        put_count(json, "at_lower", summary->parameter[j].n_at_lower);
        put_count(json, "at_upper", summary->parameter[j].n_at_upper);
        put_number(json, "relative_error", summary->parameter[j].error);
        json_key(json, "error_missing");
        json_object_begin(json);
        for (int k = 1; k < N_LACK; k++)
            put_count(json, lack_name(k), summary->parameter[j].n_lack[k]);
        json_object_end(json);
        json_object_end(json);
    }
    json_array_end(json);
    json_key(json, "objective");
    json_object_begin(json);
    put_text(json, "kind", info->objective_kind);
    put_spread(json, &summary->objective);
    json_object_end(json);
}

static void put_slowest(struct json *json, const struct show_summary *summary)
{
    put_number(json, "seconds", summary->seconds);
    json_key(json, "slowest");
    json_array_begin(json);
    for (size_t i = 0; i < summary->n_slow; i++) {
        json_object_begin(json);
        put_text(json, "id", summary->slow[i].id);
        put_number(json, "seconds", summary->slow[i].seconds);
        json_key(json, "evaluations");
        json_integer(json, summary->slow[i].n_evaluation);
        json_key(json, "steps");
        json_integer(json, summary->slow[i].n_step);
        put_text(json, "status", outcome_name(summary->slow[i].outcome));
        json_object_end(json);
    }
    json_array_end(json);
}

void show_result_json(FILE *file, const struct result_info *info, const struct show_summary *summary)
{
    struct json json;
    char hex[SHA256_HEX];
    json_begin(&json, file, true);
    json_object_begin(&json);
    put_text(&json, "file", info->path);
    put_text(&json, "kind", "result");
    put_count(&json, "datasets", info->identity.n_dataset);
    put_text(&json, "selection", show_selection(info));
    put_counts(&json, summary);
    put_parameters(&json, info, summary);
    put_flat(&json, info, summary);
    show_refits_json(&json, info, summary);
    put_slowest(&json, summary);
    json_key(&json, "provenance");
    json_object_begin(&json);
    for (size_t i = 0; i < info->provenance.n; i++)
        put_text(&json, info->provenance.name[i], info->provenance.value[i]);
    put_count(&json, "seed", info->identity.seed);
    put_count(&json, "starts", info->identity.n_start);
    sha256_hex(info->identity.problem, hex);
    put_text(&json, "problem_sha256", hex);
    json_object_end(&json);
    json_object_end(&json);
    json_end(&json);
}
