/* Times, parameters and covariates of simulations from the command line, and tables of predictions.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/simulate.h"

#include "base/values.h"
#include "base/words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status wanted_observables(const struct simulate_options *options,
                                      const struct model *model, unsigned char *wanted,
                                      size_t *n_wanted, struct error *error)
{
    size_t n = model->abi.n_observable;
    memset(wanted, options->observable.n == 0, n);
    for (size_t i = 0; i < options->observable.n; i++) {
        size_t index;
        enum status status = values_name(options->observable.item[i], "observable", "observable",
                                         model->abi.observable_name, n, &index, error);
        if (status)
            return status;
        wanted[index] = 1;
    }
    *n_wanted = 0;
    for (size_t i = 0; i < n; i++)
        *n_wanted += wanted[i];
    return STATUS_OK;
}

enum status simulate_grid_init(struct simulate_grid *grid, const struct simulate_options *options,
                               const struct model *model, bool has_sides, struct error *error)
{
    double *times = NULL;
    size_t n_time, n_wanted, row = 0, n_side = has_sides ? 2 : 1;
    memset(grid, 0, sizeof *grid);
    if (!options->times)
        return error_set(error, STATUS_USAGE,
                         "--times is needed, for example --times 0:10:0.5 or --times 1,2,5");
    grid->t0 = isnan(options->t0) ? model->abi.t0 : options->t0;
    unsigned char *wanted = calloc(model->abi.n_observable, 1);
    enum status status =
        wanted ? STATUS_OK
               : error_set(error, STATUS_NO_MEMORY, "out of memory for the observables");
    if (!status)
        status = values_times(options->times, &times, &n_time, error);
    if (!status)
        status = wanted_observables(options, model, wanted, &n_wanted, error);
    for (size_t i = 0; !status && i < n_time; i++)
        if (times[i] < grid->t0)
            status = error_set(error, STATUS_USAGE,
                               "--times: %.17g lies before the initial time %.17g (--t0 sets it)",
                               times[i], grid->t0);
    if (status)
        goto done;
    grid->n = n_time * n_side * n_wanted;
    grid->n_wanted = n_wanted;
    grid->side = has_sides ? malloc(grid->n + 1) : NULL;
    grid->time = malloc((grid->n + 1) * sizeof *grid->time);
    grid->observable = malloc((grid->n + 1) * sizeof *grid->observable);
    if (!grid->time || !grid->observable || (has_sides && !grid->side)) {
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for %zu rows", grid->n);
        goto done;
    }
    for (size_t i = 0; i < n_time * n_side; i++)
        for (uint32_t j = 0; j < model->abi.n_observable; j++)
            if (wanted[j]) {
                grid->time[row] = times[i / n_side];
                if (has_sides)
                    grid->side[row] = i % 2 ? 1 : -1;
                grid->observable[row++] = j;
            }
done:
    free(times);
    free(wanted);
    return status;
}

void simulate_grid_fini(struct simulate_grid *grid)
{
    free(grid->time);
    free(grid->observable);
    free(grid->side);
    memset(grid, 0, sizeof *grid);
}

/* Of a measurement in a file: time, value, sigma, observable. */
static const double ROW_BYTES = 28, GIB = 1073741824;

void simulate_say_size(const struct simulate_options *options, double n_dataset, double n_row)
{
    char line[160];
    double size = n_dataset * n_row * ROW_BYTES / GIB;
    if (!(size > 1) || options->quiet || !options->files.listener.tell)
        return;
    snprintf(line, sizeof line,
             "note: %.3g measurements in %.3g datasets: the file may take %.3g GiB",
             n_dataset * n_row, n_dataset, size);
    options->files.listener.tell(options->files.listener.context, line);
}

enum status simulate_parameters(const struct simulate_options *options, const struct model *model,
                                double *out, struct error *error)
{
    const struct stiffit_model *abi = &model->abi;
    for (size_t i = 0; i < abi->n_parameter; i++)
        out[i] = abi->parameter_start ? abi->parameter_start[i] : (double)NAN;
    enum status status = values_set(&options->set, "set", "parameter", abi->parameter_name,
                                    abi->n_parameter, out, NULL, error);
    for (size_t i = 0; !status && i < abi->n_parameter; i++)
        if (!isfinite(out[i]))
            status = error_set(error, STATUS_USAGE,
                               "parameter '%s' has no value: give it with --set %s=VALUE",
                               abi->parameter_name[i], abi->parameter_name[i]);
    return status;
}

/* Reads the options --WHAT NAME=VALUES for n names, which are entries from `first` on. */
static enum status read_values(struct simulate_covariates *covariates, size_t first,
                               const struct option_list *list, const char *what,
                               const char *const *name, size_t n, struct error *error)
{
    enum status status = values_once(list, what, error);
    for (size_t i = 0; !status && i < list->n; i++) {
        size_t index;
        const char *numbers;
        status = values_find(list->item[i], what, what, name, n, &index, &numbers, error);
        if (status)
            break;
        index += first;
        free(covariates->value[index]); /* said twice in the same way */
        covariates->value[index] = NULL;
        status = values_numbers(numbers, what, &covariates->value[index],
                                &covariates->n_value[index], error);
    }
    for (size_t i = 0; !status && i < n; i++)
        if (!covariates->value[first + i])
            status = error_set(error, STATUS_USAGE,
                               "%s '%s' has no value: give it with --%s %s=VALUE[,VALUE...]", what,
                               name[i], what, name[i]);
    return status;
}

enum status simulate_covariates_init(struct simulate_covariates *covariates,
                                     const struct simulate_options *options,
                                     const struct model *model, struct error *error)
{
    const struct stiffit_model *abi = &model->abi;
    covariates->n = (size_t)abi->n_covariate + abi->n_input;
    covariates->value = calloc(covariates->n + 1, sizeof *covariates->value);
    covariates->n_value = calloc(covariates->n + 1, sizeof *covariates->n_value);
    covariates->input = calloc((size_t)abi->n_input + 1, sizeof *covariates->input);
    if (!covariates->value || !covariates->n_value || !covariates->input)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the covariates");
    for (size_t i = 0; i < abi->n_input; i++)
        covariates->input[i].n = 1;
    enum status status = read_values(covariates, 0, &options->covariate, "covariate",
                                     abi->covariate_name, abi->n_covariate, error);
    if (!status)
        status = read_values(covariates, abi->n_covariate, &options->input, "input",
                             abi->input_name, abi->n_input, error);
    return status;
}

void simulate_covariates_fini(struct simulate_covariates *covariates)
{
    for (size_t i = 0; covariates->value && i < covariates->n; i++)
        free(covariates->value[i]);
    free(covariates->value);
    free(covariates->n_value);
    free(covariates->input);
    memset(covariates, 0, sizeof *covariates);
}

void simulate_covariates_take(struct simulate_covariates *covariates, uint64_t dataset, double *out)
{
    static const double whenever = 0;
    size_t n_input = 0;
    for (size_t i = 0; i < covariates->n; i++)
        out[i] = covariates->value[i][dataset % covariates->n_value[i]];
    while (covariates->input[n_input].n)
        n_input++;
    for (size_t i = 0; i < n_input; i++) {
        covariates->input[i].time = &whenever;
        covariates->input[i].value = &out[covariates->n - n_input + i];
    }
}

void simulate_put_head(struct csv_writer *writer, bool has_experiments,
                       const struct simulate_grid *grid, size_t n_band, const double *band)
{
    char name[NUMBER_SIZE + 1];
    while (csv_head(writer)) {
        csv_put_column(writer, "dataset", CSV_TEXT);
        if (has_experiments)
            csv_put_column(writer, "experiment", CSV_TEXT);
        csv_put_column(writer, "time", CSV_NUMBER);
        if (grid->side)
            csv_put_column(writer, "side", CSV_TEXT);
        csv_put_column(writer, "observable", CSV_TEXT);
        csv_put_column(writer, "value", CSV_NUMBER);
        for (size_t i = 0; i < n_band; i++) {
            name[0] = 'q';
            number_text(name + 1, band[i]);
            csv_put_column(writer, name, CSV_NUMBER);
        }
    }
}

bool simulate_can_jump(const struct stiffit_model *abi)
{
    return abi->n_event > 0 || abi->n_input > 0;
}

/* Whether rows first... of the grid, before what happens at their time, are the same as those
 * after it. */
static bool is_smooth(const struct simulate_grid *grid, const double *prediction, size_t first)
{
    bool is_same = true;
    for (size_t i = first; i < first + grid->n_wanted; i++)
        is_same =
            is_same && (prediction[i] == prediction[i + grid->n_wanted] || isnan(prediction[i]));
    return is_same;
}

void simulate_put_rows(struct csv_writer *writer, const struct simulate_rows *rows,
                       const struct model *model, const struct simulate_grid *grid)
{
    bool is_single = false;
    for (size_t i = 0; i < grid->n; i++) {
        bool is_after = grid->side && grid->side[i] > 0;
        if (grid->side && i % (2 * grid->n_wanted) == 0)
            is_single = is_smooth(grid, rows->prediction, i);
        if (is_single && is_after)
            continue;
        csv_put_text(writer, rows->id);
        if (rows->experiment)
            csv_put_text(writer, rows->experiment);
        csv_put_number(writer, grid->time[i]);
        if (grid->side)
            csv_put_text(writer, is_single ? "" : is_after ? "after" : "before");
        csv_put_text(writer, model->abi.observable_name[grid->observable[i]]);
        csv_put_number(writer, rows->value[i]);
        for (size_t k = 0; k < rows->n_band; k++)
            csv_put_number(writer, rows->band[k * grid->n + i]);
        csv_end_row(writer);
    }
}

enum status simulate_table(const struct simulate_options *options, const struct model *model,
                           struct output *output, struct simulate_made *made, struct error *error)
{
    struct predictor predictor = {.model = NULL};
    struct simulate_grid grid = {.n = 0};
    struct simulate_covariates covariates = {.n = 0};
    char reason[160];
    size_t n_number = (size_t)model->abi.n_parameter + model->abi.n_covariate + model->abi.n_input;
    double *prediction = NULL, *p = calloc(n_number + 1, sizeof *p),
           *covariate = p + model->abi.n_parameter;
    enum status status = p ? STATUS_OK
                           : error_set(error, STATUS_NO_MEMORY, "out of memory for %u parameters",
                                       model->abi.n_parameter);
    if (!status)
        status = simulate_grid_init(&grid, options, model, simulate_can_jump(&model->abi), error);
    if (!status)
        status = simulate_covariates_init(&covariates, options, model, error);
    if (!status)
        status = simulate_parameters(options, model, p, error);
    if (!status)
        status = predictor_init(&predictor, model, &options->ode, 10000000, error);
    predictor.keeps_infinite = true;
    if (!status && !(prediction = malloc((grid.n + 1) * sizeof *prediction)))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for %zu rows", grid.n);
    if (!status) /* before the model is called: it may print */
        status = output_open(output, options->files.output, options->overwrite, error);
    if (!status) {
        simulate_covariates_take(&covariates, 0, covariate);
        const struct predictor_rows rows = {.experiment = {.t0 = grid.t0, .covariate = covariate,
                                                           .input = covariates.input},
                                            .p = p, .n = grid.n,
                                            .measured = {.time = grid.time,
                                                         .side = grid.side,
                                                         .observable = grid.observable}};
        if (!predictor_run(&predictor, &rows, prediction, NULL, reason))
            status = error_set(error, STATUS_BAD_MODEL,
                               "the model cannot be simulated at these parameters: %s", reason);
    }
    if (!status) {
        *made = (struct simulate_made){.n_dataset = 1, .n_row = grid.n};
        for (size_t i = 0; i < grid.n; i++)
            made->n_lost += isnan(prediction[i]);
        struct csv_writer writer = {.file = output->file, .decimal_comma = options->decimal_comma,
                                    .types_row = options->types_row};
        const struct simulate_rows rows = {
            .id = "simulated", .prediction = prediction, .value = prediction};
        simulate_put_head(&writer, false, &grid, 0, NULL);
        simulate_put_rows(&writer, &rows, model, &grid);
    }
    predictor_fini(&predictor);
    simulate_grid_fini(&grid);
    simulate_covariates_fini(&covariates);
    free(p);
    free(prediction);
    return status;
}
