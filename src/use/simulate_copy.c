/* SPDX-License-Identifier: BSD-3-Clause */
#include "use/simulate_copy.h"

#include "base/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The options of the new file: what the errors need, and what is random. */
enum { N_OTHER = 4 };
struct said {
    size_t n;
    const char *name[N_OTHER + N_ERROR], *value[N_OTHER + N_ERROR];
    char word[N_ERROR][40], number[N_ERROR][NUMBER_SIZE];
};

static void say(struct said *said, const char *name, const char *value)
{
    if (!value)
        return;
    said->name[said->n] = name;
    said->value[said->n++] = value;
}

/* New data are fitted with the same errors as the old. */
static void say_errors(struct simulate_copy *copy, const struct fitted *fitted, struct said *said)
{
    const struct recipe *recipe = &fitted->recipe;
    bool any[N_ERROR] = {false};
    for (uint32_t k = 0; k < fitted->model.abi.n_observable; k++) {
        enum error_kind kind = fitted->errors.loss[k].error;
        copy->error_word[k] = error_kind_word[kind];
        any[kind] = true;
    }
    say(said, "error", recipe->error != ERROR_NORMAL ? error_kind_word[recipe->error] : NULL);
    for (int k = 0; k < N_ERROR; k++) {
        if (!any[k] || !error_tuning[k].option)
            continue;
        snprintf(said->word[k], sizeof said->word[k], "%s", error_tuning[k].option);
        for (char *dash; (dash = strchr(said->word[k], '-')) != NULL;)
            *dash = '_'; /* attributes of /options are written with underscores */
        say(said, said->word[k], number_text(said->number[k], recipe->tuning[k]));
    }
}

static enum status refer_to_model(struct simulate_copy *copy, const struct fitted *fitted,
                                  const struct simulate_options *options, struct error *error)
{
    const struct problem_info *info = problem_info(fitted->problem);
    if (info->model.bytes && !options->files.model && !fitted->model.source)
        return plugin_reference_embed(&copy->reference, info->model.bytes, info->model.n_byte,
                                      error);
    return plugin_reference_init(&copy->reference, &fitted->model, fitted->model.path,
                                 options->embed, error);
}

/* Covariates of the model are written as such. */
static enum status choose_columns(struct simulate_copy *copy, const struct result_info *info,
                                  const struct stiffit_model *abi, struct error *error)
{
    size_t n = info->column.n;
    const char **name = calloc(n + 1, sizeof *name);
    bool *is_text = calloc(n + 1, sizeof *is_text);
    copy->column = (struct own_columns){0, name, is_text, info->column.is_ordered};
    copy->column_from = calloc(n + 1, sizeof *copy->column_from);
    copy->own = calloc(n + 1, sizeof *copy->own);
    if (!name || !is_text || !copy->column_from || !copy->own)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu columns", n);
    for (size_t c = 0; c < n; c++) {
        if (words_find(info->column.name[c], abi->covariate_name, abi->n_covariate) >= 0)
            continue;
        name[copy->column.n] = info->column.name[c];
        is_text[copy->column.n] = info->column.is_text[c];
        copy->column_from[copy->column.n++] = c;
    }
    return STATUS_OK;
}

enum status simulate_copy_open(struct simulate_copy *copy, const struct fitted *fitted,
                               const struct simulate_options *options,
                               const struct simulate_copy_parameters *parameters,
                               struct error *error)
{
    const struct problem_info *info = problem_info(fitted->problem);
    const struct stiffit_model *abi = &fitted->model.abi;
    enum status status = refer_to_model(copy, fitted, options, error);
    if (!status)
        status = choose_columns(copy, result_info(fitted->result), abi, error);
    copy->error_word = calloc(abi->n_observable + 1, sizeof *copy->error_word);
    if (!status && !copy->error_word)
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for %u observables",
                           (unsigned)abi->n_observable);
    if (status)
        return status;
    struct problem_header header = {
        .model = plugin_reference_model(&copy->reference),
        .parameters = parameters->is,
        .by_dataset = parameters->is.start ? 0 : PARAMETER_BIT(start) | PARAMETER_BIT(fixed),
        .n_covariate = abi->n_covariate, .covariate_name = abi->covariate_name,
        .column = copy->column,
        .n_observable = abi->n_observable, .observable_name = abi->observable_name, .has_t0 = true,
        .has_experiments = info->has_experiments, .has_steady = info->has_steady,
        .n_target = abi->n_state, .target_name = abi->state_name, .n_input = abi->n_input,
        .input_name = abi->input_name, .n_event = abi->n_event, .event_name = abi->event_name,
        .n_substituted = abi->n_parameter, .substituted_name = abi->parameter_name};
    header.parameters.n = problem_n_parameter(fitted->problem);
    header.parameters.name = problem_parameter_name(fitted->problem);
    header.parameters.scale = problem_parameter_scale(fitted->problem);
    struct said said = {.n = 0};
    say_errors(copy, fitted, &said);
    say(&said, "random", parameters->random);
    say(&said, "share", parameters->share);
    say(&said, "random_covariance", parameters->random_covariance);
    header.n_option = said.n;
    header.option_name = said.name;
    header.option_value = said.value;
    header.observable_error =
        info->observable_error || abi->observable_error ? copy->error_word : NULL;
    return problem_writer_open(&copy->writer, options->files.output, options->overwrite, &header,
                               error);
}

enum status simulate_copy_add(struct simulate_copy *copy, const struct fitted_dataset *data,
                              const char *id, double *value,
                              const struct parameters *start, struct error *error)
{
    const struct problem_block *block = data->block;
    enum status status = STATUS_OK;
    for (size_t c = 0; data->record->own && c < copy->column.n; c++)
        copy->own[c] = data->record->own[copy->column_from[c]];
    for (size_t e = data->first; !status && e < data->end; e++) {
        size_t row = block->row[e];
        struct problem_dataset dataset = {
            .id = e == data->first ? id : NULL, .experiment = block->experiment[e],
            .own = data->record->own ? copy->own : NULL,
            .parameters = start ? *start : (struct parameters){.n = 0},
            .n_row = block->row[e + 1] - row, .measured = measurements_from(&block->measured, row)};
        dataset.measured.value = value + row - block->row[data->first];
        dataset.measured.censored = NULL; /* all values are drawn */
        dataset.measured.limit = NULL;
        status = problem_writer_add(copy->writer, &dataset, error);
    }
    return status;
}

void simulate_copy_close(struct simulate_copy *copy)
{
    problem_writer_close(copy->writer);
    plugin_reference_fini(&copy->reference);
    free(copy->error_word);
    free(copy->column_from);
    free(copy->own);
    free((void *)copy->column.name);
    free((void *)copy->column.is_text);
    *copy = (struct simulate_copy){.writer = NULL};
}
