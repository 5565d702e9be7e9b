/* Prints a file as JSON.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/show.h"

#include "base/json.h"
#include "base/sha256.h"
#include "use/fit_columns.h"

static const char *const side_name[] = {"lower", "upper"};

void show_problem_json(FILE *file, const struct problem_info *info)
{
    struct json json;
    json_begin(&json, file);
    json_object_begin(&json, NULL);
    json_string(&json, "file", info->path);
    json_string(&json, "kind", "problem");
    json_object_begin(&json, "model");
    json_string(&json, "plugin", info->model.plugin);
    json_unsigned(&json, "embedded_bytes", info->model.bytes ? info->model.n_byte : 0);
    json_string(&json, "source", info->model.source);
    json_string(&json, "sha256", info->model.sha256);
    json_object_end(&json);
    json_unsigned(&json, "datasets", info->n_dataset);
    json_unsigned(&json, "experiments", info->n_experiment);
    json_unsigned(&json, "measurements", info->n_measurement);
    json_unsigned(&json, "doses", info->n_dose);
    json_unsigned(&json, "input_values", info->n_knot);
    json_unsigned(&json, "events", info->n_call);
    json_unsigned(&json, "substitutes", info->n_substitute);
    json_strings(&json, "parameters", info->parameter_name, info->n_parameter);
    json_strings(&json, "levels", info->parameter_level,
                 info->parameter_level ? info->n_level : 0);
    json_strings(&json, "priors", info->parameter_prior,
                 info->parameter_prior ? info->n_parameter : 0);
    json_strings(&json, "covariates", info->covariate_name, info->n_covariate);
    json_strings(&json, "experiment_covariates", info->experiment_covariate_name,
                 info->n_experiment_covariate);
    json_strings(&json, "observables", info->observable_name, info->n_observable);
    json_strings(&json, "observable_errors", info->observable_error, info->n_error);
    json_object_begin(&json, "options");
    for (size_t i = 0; i < info->n_option; i++)
        json_string(&json, info->option_name[i], info->option_value[i]);
    json_object_end(&json);
    json_end(&json);
}

static void put_spread(struct json *json, const struct show_spread *spread)
{
    json_number(json, "min", spread->min);
    json_number(json, "q25", spread->q25);
    json_number(json, "median", spread->median);
    json_number(json, "q75", spread->q75);
    json_number(json, "max", spread->max);
    json_object_begin(json, "histogram");
    json_string(json, "axis", spread->is_log ? "log" : "lin");
    json_number(json, "from", spread->low);
    json_number(json, "to", spread->high);
    json_array_begin(json, "fits");
    for (int i = 0; i < SHOW_N_BIN; i++)
        json_unsigned(json, NULL, spread->bin[i]);
    json_array_end(json);
    json_object_end(json);
}

void show_examples_json(struct json *json, const char *unit, const struct digest_examples *fits)
{
    json_unsigned(json, unit, fits->n);
    json_array_begin(json, "examples");
    for (int k = 0; k < DIGEST_N_EXAMPLE && fits->id[k][0]; k++)
        json_string(json, NULL, fits->id[k]);
    json_array_end(json);
}

static void put_flat(struct json *json, const struct result_info *info,
                     const struct show_summary *summary)
{
    char text[400];
    json_unsigned(json, "fits_with_flat_directions", summary->n_fit_flat);
    json_array_begin(json, "flat_directions");
    for (size_t i = 0; i < summary->n_flat; i++) {
        json_object_begin(json, NULL);
        json_string(json, "combination",
                    show_combination_text(info, summary->flat[i].weight, text, sizeof text));
        show_examples_json(json, "fits", &summary->flat[i].fits);
        json_object_end(json);
    }
    json_array_end(json);
}

static void put_counts(struct json *json, const struct show_summary *summary)
{
    struct fact fact[DIGEST_MOST_FACTS];
    facts_json(json, fact, digest_facts(&summary->digest, fact));
    json_unsigned(json, "converged", summary->digest.by_outcome[OUTCOME_converged]);
    json_counts(json, "status", outcome_name, 0, N_OUTCOME, summary->digest.by_outcome);
    json_counts(json, "stopping_test", stop_name, 1, N_STOP, summary->by_stop);
    json_object_begin(json, "notes");
    for (int bit = 0; bit < 32; bit++)
        if (note_name(bit))
            json_unsigned(json, note_name(bit), summary->digest.noted[bit].n);
    json_object_end(json);
    json_array_begin(json, "failures");
    for (size_t i = 0; i < summary->n_group; i++) {
        const struct show_group *group = &summary->group[i];
        json_object_begin(json, NULL);
        json_string(json, "status", outcome_name(group->outcome));
        json_string(json, "message", group->message);
        show_examples_json(json, "fits", &group->fits);
        json_object_end(json);
    }
    json_array_end(json);
}

static void put_parameters(struct json *json, const struct result_info *info,
                           const struct show_summary *summary)
{
    json_array_begin(json, "parameters");
    for (size_t j = 0; j < info->n_parameter; j++) {
        json_object_begin(json, NULL);
        json_string(json, "name", info->parameter_name[j]);
        json_string(json, "scale", info->parameter_scale ? info->parameter_scale[j] : NULL);
        json_string(json, "unit", info->parameter_unit ? info->parameter_unit[j] : NULL);
        put_spread(json, &summary->parameter[j]);
        json_unsigned(json, "at_lower", summary->parameter[j].n_at_lower);
        json_unsigned(json, "at_upper", summary->parameter[j].n_at_upper);
        json_number(json, "relative_error", summary->parameter[j].error);
        json_counts(json, "error_missing", lack_name, 1, N_LACK, summary->parameter[j].n_lack);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_begin(json, "objective");
    json_string(json, "kind", info->objective_kind);
    put_spread(json, &summary->objective);
    json_object_end(json);
    json_object_begin(json, "reduced_chi_square");
    put_spread(json, &summary->reduced);
    json_object_end(json);
    json_object_begin(json, "r_squared");
    put_spread(json, &summary->r_squared);
    json_object_end(json);
}

static void put_profiles(struct json *json, const struct result_info *info,
                         const struct show_summary *summary)
{
    if (!summary->refits.has_profile) {
        json_null(json, "profiles");
        return;
    }
    json_object_begin(json, "profiles");
    for (size_t j = 0; j < info->n_parameter; j++) {
        json_object_begin(json, info->parameter_name[j]);
        for (int side = 0; side < 2; side++)
            json_counts(json, side_name[side], limit_name, LIMIT_none + 1, N_LIMIT,
                        summary->parameter[j].n_limit[side]);
        json_object_end(json);
    }
    json_object_end(json);
}

static void put_bootstrap(struct json *json, const struct result_info *info,
                          const struct show_summary *summary)
{
    if (!summary->refits.n_bootstrap) {
        json_null(json, "bootstrap");
        return;
    }
    json_object_begin(json, "bootstrap");
    json_unsigned(json, "fits", summary->refits.n_bootstrap);
    json_unsigned(json, "fewest_replicates", (uint64_t)summary->refits.least);
    json_unsigned(json, "most_replicates", (uint64_t)summary->refits.most);
    json_object_begin(json, "error_ratio");
    for (size_t j = 0; j < info->n_parameter; j++)
        json_number(json, info->parameter_name[j], show_error_ratio(&summary->parameter[j]));
    json_object_end(json);
    json_object_end(json);
}

static void put_refits(struct json *json, const struct result_info *info,
                       const struct show_summary *summary)
{
    const struct show_refits *refits = &summary->refits;
    json_object_begin(json, "starts");
    json_unsigned(json, "one_optimum", refits->n_same);
    json_unsigned(json, "several_optima", refits->n_some);
    json_unsigned(json, "best_reached_once", refits->alone.n);
    json_unsigned(json, "others_failed", refits->only.n);
    json_object_end(json);
    put_profiles(json, info, summary);
    put_bootstrap(json, info, summary);
}

static void put_slowest(struct json *json, const struct show_summary *summary)
{
    json_array_begin(json, "slowest");
    for (size_t i = 0; i < summary->n_slow; i++) {
        json_object_begin(json, NULL);
        json_string(json, "id", summary->slow[i].id);
        json_number(json, "seconds", summary->slow[i].seconds);
        json_integer(json, "evaluations", summary->slow[i].n_evaluation);
        json_integer(json, "steps", summary->slow[i].n_step);
        json_string(json, "status", outcome_name(summary->slow[i].outcome));
        json_object_end(json);
    }
    json_array_end(json);
}

void show_result_json(FILE *file, const struct result_info *info,
                      const struct result_population *population,
                      const struct show_summary *summary)
{
    struct json json;
    char hex[SHA256_HEX];
    json_begin(&json, file);
    json_object_begin(&json, NULL);
    json_string(&json, "file", info->path);
    json_string(&json, "kind", "result");
    json_unsigned(&json, "datasets", info->identity.n_dataset);
    json_string(&json, "selection", show_selection(info));
    put_counts(&json, summary);
    if (population)
        show_population_json(&json, population);
    put_parameters(&json, info, summary);
    put_flat(&json, info, summary);
    put_refits(&json, info, summary);
    put_slowest(&json, summary);
    json_object_begin(&json, "provenance");
    for (size_t i = 0; i < info->provenance.n; i++)
        json_string(&json, info->provenance.name[i], info->provenance.value[i]);
    json_unsigned(&json, "seed", info->identity.seed);
    json_unsigned(&json, "starts", info->identity.n_start);
    sha256_hex(info->identity.problem, hex);
    json_string(&json, "problem_sha256", hex);
    json_object_end(&json);
    json_end(&json);
}

/* Every number of one fit in the result. */
void show_fit_json(FILE *file, const struct result *result, const char *id,
                   struct fit_record *record, double *scratch)
{
    const struct result_info *info = result_info(result);
    struct fit_columns columns = {.n = 0};
    struct error ignored;
    struct json json;
    char text[400];
    json_begin(&json, file);
    json_object_begin(&json, NULL);
    if (!fit_columns_choose(&columns, result, NULL, "all,covariance", &ignored))
        fit_columns_json(&columns, info, id, record, &json);
    fit_columns_fini(&columns);
    if (show_correlation(info, record, scratch))
        fit_columns_json_matrix(&json, "correlation", info->n_parameter, scratch);
    if (show_combination(info, record, 1, scratch))
        json_string(&json, "flattest_combination",
                    show_combination_text(info, scratch, text, sizeof text));
    json_array_begin(&json, "flat_combinations");
    for (int number = 1; record->n_flat > 0 && number <= show_n_combination(info, record); number++)
        if (show_combination(info, record, number, scratch))
            json_string(&json, NULL, show_combination_text(info, scratch, text, sizeof text));
    json_array_end(&json);
    json_end(&json);
}
