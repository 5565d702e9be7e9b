/* The first result is read whole, the others block by block; datasets meet by their ids.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/compare.h"

#include "fit/objective/distribution.h"
#include "base/id_table.h"
#include "use/compare_fits.h"
#include "use/fit_columns.h"
#include "use/row_filter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_AT_ONCE = 4096 };
static const double SIGNIFICANT = 0.05;
/* Log-likelihoods of the same optimum differ by the tolerances of the fits. */
static const double SAME_OPTIMUM = 1e-3;
/* A count that differs by this much from an integer is none. */
static const double NO_INTEGER = 1e-3;

struct compare_work {
    struct comparison comparison;
    struct result *result[COMPARE_MOST];
    struct compare_fits fits[COMPARE_MOST];
    struct id_table ids;
    struct compare_cell *cell;
    uint64_t capacity;
    double *value, *error;  /* n_parameter of the first result, for each of its fits */
    uint64_t n_first;       /* ids of the first result: these come first */
    struct arena arena;     /* of the populations, and of the datasets' columns */
    struct row_filter filter;
    struct own_value *own;
    struct csv_column *own_column;
    /* of each of the first result's parameters in another result; SIZE_MAX: none */
    size_t *column[COMPARE_MOST];
};

static size_t find_name(const struct result_info *info, const char *name)
{
    for (size_t j = 0; j < info->n_parameter; j++)
        if (!strcmp(info->parameter_name[j], name))
            return j;
    return SIZE_MAX;
}

static bool reserve(struct compare_work *work, uint64_t n)
{
    size_t n_result = work->comparison.n_result;
    if (n <= work->capacity)
        return true;
    uint64_t capacity = n < 1024 ? 1024 : 2 * n;
    struct compare_cell *longer = realloc(work->cell, capacity * n_result * sizeof *longer);
    if (!longer)
        return false;
    memset(longer + work->capacity * n_result, 0,
           (capacity - work->capacity) * n_result * sizeof *longer);
    work->cell = longer;
    size_t n_own = work->comparison.n_own;
    struct own_value *wider = realloc(work->own, (capacity * n_own + 1) * sizeof *wider);
    if (!wider)
        return false;
    work->own = wider;
    work->capacity = capacity;
    return true;
}

/* The columns of a dataset that is new, by the names of the first result's. */
static bool take_own(struct compare_work *work, size_t r, uint32_t row,
                     const struct fit_record *record)
{
    const struct own_columns *first = &result_info(work->result[0])->column,
                             *here = &result_info(work->result[r])->column;
    for (size_t c = 0; c < first->n; c++) {
        int from = own_columns_find(here, first->name[c]);
        struct own_value *to = &work->own[row * first->n + c];
        *to = (struct own_value){.number = NAN, .text = first->is_text[c] ? "" : NULL};
        if (from < 0 || !record->own || here->is_text[from] != first->is_text[c])
            continue;
        *to = record->own[from];
        if (to->text && !(to->text = arena_strdup(&work->arena, to->text)))
            return false;
    }
    return true;
}

/* The measurements of a dataset in a fit of many: its shares of the fitted parameters and of the
 * degrees of freedom together, which are those of its measurements. An unknown sigma counts as a
 * parameter, but takes no degree of freedom. */
static int64_t count_shared(const struct fit_record *record, double k)
{
    /* the criteria differ by k (log(all) - 2) */
    double all = exp((record->bic - record->aic) / k + 2);
    double n_row = k + record->chi_square / record->reduced_chi_square;
    n_row *= record->notes & NOTE_no_model_sigma ? all / (all + 1) : 1;
    return fabs(n_row - round(n_row)) < NO_INTEGER ? (int64_t)round(n_row) : COMPARE_UNKNOWN;
}

static struct compare_cell cell_of(const struct fit_record *record, const struct result_info *info)
{
    struct compare_cell cell = {.is_there = true,
                                .n_row = record->n_freedom,
                                .log_likelihood = record->log_likelihood,
                                .outcome = record->outcome < N_OUTCOME
                                               ? (enum outcome)record->outcome
                                               : OUTCOME_not_run,
                                .aic = record->aic,
                                .aicc = record->aicc,
                                .bic = record->bic,
                                .k = 0.5 * record->aic + record->log_likelihood};
    for (size_t j = 0; j < info->n_parameter;
         j++) /* n_freedom counts those that are neither fixed nor held */
        cell.n_row += record->lack[j] != LACK_fixed && record->lack[j] != LACK_at_bound;
    if (info->is_shared) /* n_freedom is that of all datasets */
        cell.n_row = count_shared(record, cell.k);
    return cell;
}

static void find_moved(struct compare_work *work, size_t r, uint32_t row, const char *id,
                       const struct fit_record *record)
{
    const struct result_info *info = result_info(work->result[0]);
    for (size_t j = 0; j < info->n_parameter; j++) {
        size_t there = work->column[r][j], at = row * info->n_parameter + j;
        if (there == SIZE_MAX || isnan(record->parameter[there]) || isnan(work->value[at]) ||
            isnan(work->error[at]))
            continue;
        struct compare_moved *moved = &work->comparison.moved[(r - 1) * info->n_parameter + j];
        moved->n++;
        if (fabs(record->parameter[there] - work->value[at]) > work->error[at])
            digest_add_example(&moved->fits, id);
    }
}

static enum status take_row(struct compare_work *work, size_t r, const char *id,
                            const struct fit_record *record, struct error *error)
{
    const struct result_info *info = result_info(work->result[r]);
    struct compare_total *total = &work->comparison.total[r];
    bool is_selected = !work->filter.is_open,
         is_out = is_selected && (r == 0 ? !row_filter_takes(&work->filter, id, record)
                                         : id_table_find(&work->ids, id) == ID_NONE);
    uint32_t n_before = work->ids.n, row = is_out ? ID_NONE : id_table_add(&work->ids, id);
    if (row == ID_NO_MEMORY || !compare_fits_add(&work->fits[r], row, record) ||
        (!is_out && !reserve(work, (uint64_t)row + 1)) ||
        (!is_out && row == n_before && !take_own(work, r, row, record)))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the fits of %s", info->path);
    if (is_out)
        return STATUS_OK;
    struct compare_cell *cell = &work->cell[row * work->comparison.n_result + r];
    *cell = cell_of(record, info);
    total->n_fit++;
    total->n_converged += outcome_is_success(cell->outcome);
    if (r == 0) {
        memcpy(work->value + row * info->n_parameter, record->parameter,
               info->n_parameter * sizeof *work->value);
        memcpy(work->error + row * info->n_parameter, record->standard_error,
               info->n_parameter * sizeof *work->error);
    } else if (row < work->n_first && outcome_is_success(cell->outcome)
               && outcome_is_success(work->cell[row * work->comparison.n_result].outcome)) {
        find_moved(work, r, row, id, record);
    }
    return STATUS_OK;
}

static enum status read_result(struct compare_work *work, size_t r, struct error *error)
{
    struct result_block block = {0};
    enum status status = STATUS_OK;
    result_ignore(work->result[r], FIT_COLUMN_COVARIANCE);
    while (!status && result_next(work->result[r], &block, ROWS_AT_ONCE, &status, error))
        for (size_t i = 0; i < block.n && !status; i++)
            status = take_row(work, r, block.id[i], &block.record[i], error);
    result_block_fini(&block);
    if (r == 0)
        work->n_first = work->ids.n;
    return status;
}

static enum status open_all(struct compare_work *work, const char *const *path, struct error *error)
{
    struct comparison *comparison = &work->comparison;
    size_t n_result = comparison->n_result;
    for (size_t r = 0; r < n_result; r++) {
        enum status status = result_open(&work->result[r], path[r], error);
        if (status)
            return status;
        const struct result_info *info = result_info(work->result[r]),
                                 *first = result_info(work->result[0]);
        const char *model = provenance_fact(&info->provenance, "model_name");
        comparison->total[r] =
            (struct compare_total){.info = info, .path = info->path, .model = model ? model : ""};
        work->column[r] = calloc(first->n_parameter + 1, sizeof *work->column[r]);
        for (size_t j = 0; work->column[r] && j < first->n_parameter; j++)
            work->column[r][j] = find_name(info, first->parameter_name[j]);
        if (!work->column[r] || !compare_fits_init(&work->fits[r], info))
            return error_set(error, STATUS_NO_MEMORY, "out of memory for %s", path[r]);
    }
    const struct result_info *info = result_info(work->result[0]);
    comparison->parameter_name = info->parameter_name;
    comparison->n_own = info->column.n;
    comparison->own_column = work->own_column =
        calloc(info->column.n + 1, sizeof *work->own_column);
    for (size_t c = 0; work->own_column && c < info->column.n; c++)
        work->own_column[c] = (struct csv_column){info->column_label[c],
                                                  info->column.is_text[c] ? CSV_TEXT : CSV_NUMBER};
    comparison->n_moved = (n_result - 1) * info->n_parameter;
    comparison->nested = calloc(n_result * n_result, sizeof *comparison->nested);
    comparison->change = calloc(n_result * N_OUTCOME * N_OUTCOME, sizeof *comparison->change);
    comparison->moved = calloc(comparison->n_moved + 1, sizeof *comparison->moved);
    work->value = malloc((info->n_fit * info->n_parameter + 1) * sizeof *work->value);
    work->error = malloc((info->n_fit * info->n_parameter + 1) * sizeof *work->error);
    if (!work->own_column || !comparison->nested || !comparison->change || !comparison->moved ||
        !work->value || !work->error)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %s", info->path);
    for (size_t i = 0; i < comparison->n_moved; i++) {
        comparison->moved[i].other = 1 + i / info->n_parameter;
        comparison->moved[i].parameter = i % info->n_parameter;
    }
    return STATUS_OK;
}

static enum status read_populations(struct compare_work *work, struct error *error)
{
    struct comparison *comparison = &work->comparison;
    size_t n = comparison->n_result;
    enum status status = STATUS_OK;
    for (size_t r = 0; r < n && !status; r++)
        status = result_population_read(&comparison->population[r], work->result[r], &work->arena,
                                        error);
    comparison->ratio = calloc(n * n, sizeof *comparison->ratio);
    if (!status && !comparison->ratio)
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for %zu results", n);
    for (size_t s = 0; s < n && !status; s++)
        for (size_t l = 0; l < n; l++) {
            struct compare_ratio *ratio = &comparison->ratio[comparison->n_ratio];
            const struct result_population *small = comparison->population[s];
            const struct result_population *large = comparison->population[l];
            if (!small || !large || !compare_ratio_init(ratio, small, large))
                continue;
            ratio->small = s;
            ratio->large = l;
            comparison->n_ratio++;
        }
    return status;
}

static const struct compare_cell *cells_of(const struct comparison *comparison, uint64_t id)
{
    return comparison->cell + id * comparison->n_result;
}

static bool all_converged(const struct comparison *comparison, uint64_t id, bool *have_criteria)
{
    const struct compare_cell *cell = cells_of(comparison, id);
    bool all = true;
    *have_criteria = true;
    for (size_t r = 0; r < comparison->n_result; r++) {
        all = all && cell[r].is_there && outcome_is_success(cell[r].outcome);
        *have_criteria = *have_criteria && isfinite(cell[r].aic);
    }
    return all;
}

static bool is_compared(const struct comparison *comparison, uint64_t id)
{
    const struct compare_cell *cell = cells_of(comparison, id);
    bool have_criteria, same = all_converged(comparison, id, &have_criteria) && have_criteria;
    for (size_t r = 0, known = 0; r < comparison->n_result; r++)
        if (cell[r].n_row != COMPARE_UNKNOWN) {
            same = same &&
                   (cell[known].n_row == COMPARE_UNKNOWN || cell[r].n_row == cell[known].n_row);
            known = r;
        }
    return same;
}

/* The measurements of a dataset that is compared, which are the same in all results. */
static double rows_of(const struct comparison *comparison, uint64_t id)
{
    for (size_t r = 0; r < comparison->n_result; r++)
        if (cells_of(comparison, id)[r].n_row != COMPARE_UNKNOWN)
            return (double)cells_of(comparison, id)[r].n_row;
    return NAN;
}

/* If some results are fits over many datasets, criteria whose penalty depends on the number of
 * measurements are comparable only if that is the same in all: in each result all datasets that
 * are compared count as one fit, of which each has its share. */
static void make_comparable(struct compare_work *work)
{
    const struct comparison *comparison = &work->comparison;
    bool any = false;
    double n_all = 0, k[COMPARE_MOST] = {0};
    for (size_t r = 0; r < comparison->n_result; r++)
        any = any || result_info(work->result[r])->is_shared;
    for (uint64_t id = 0; id < comparison->n_id && any; id++) {
        if (!is_compared(comparison, id))
            continue;
        n_all += rows_of(comparison, id);
        for (size_t r = 0; r < comparison->n_result; r++)
            k[r] += cells_of(comparison, id)[r].k;
    }
    for (uint64_t id = 0; id < comparison->n_id && any; id++)
        for (size_t r = 0; r < comparison->n_result && is_compared(comparison, id); r++) {
            struct compare_cell *cell = &work->cell[id * comparison->n_result + r];
            double left = n_all - k[r] - 1, more = 2 * k[r] * (k[r] + 1) / left;
            cell->bic = cell->aic + cell->k * (log(n_all) - 2);
            cell->aicc = left > 0 ? cell->aic + more * rows_of(comparison, id) / n_all : NAN;
        }
}

static void add_totals(struct comparison *comparison, uint64_t id)
{
    const struct compare_cell *cell = cells_of(comparison, id);
    size_t by_aic = 0, by_bic = 0;
    for (size_t r = 0; r < comparison->n_result; r++) {
        struct compare_total *total = &comparison->total[r];
        total->k += cell[r].k;
        total->log_likelihood += cell[r].log_likelihood;
        total->aic += cell[r].aic;
        total->aicc += cell[r].aicc;
        total->bic += cell[r].bic;
        by_aic = cell[r].aic < cell[by_aic].aic ? r : by_aic;
        by_bic = cell[r].bic < cell[by_bic].bic ? r : by_bic;
    }
    comparison->total[by_aic].n_least_aic++;
    comparison->total[by_bic].n_least_bic++;
    comparison->n_compared++;
}

double compare_tail(double statistic, double freedom)
{
    return fmax(1 - distribution_chi_square(fmax(statistic, 0), freedom), 1e-15);
}

/* Tests the sets of datasets in turn. False: out of memory. */
static bool test_nested(const struct comparison *comparison, struct compare_nested *nested,
                        const struct compare_sets *sets)
{
    const struct components *set = &sets->set;
    if (!(nested->p = malloc((comparison->n_id + 1) * sizeof *nested->p)))
        return false;
    for (uint32_t c = 0; c < set->n; c++) {
        const uint32_t *member = components_members(set, c);
        size_t n = components_size(set, c);
        double statistic = 0, freedom = 0, p = NAN;
        bool is_whole = true;
        for (size_t i = 0; i < n; i++) {
            const struct compare_cell *cell = cells_of(comparison, member[i]);
            is_whole = is_whole && !sets->is_cut[c] && is_compared(comparison, member[i]);
            if (sets->is_cut[c] && is_compared(comparison, member[i]))
                digest_add_example(&nested->cut, comparison->id[member[i]]);
            statistic += 2 * (cell[nested->large].log_likelihood -
                              cell[nested->small].log_likelihood);
            freedom += cell[nested->large].k - cell[nested->small].k;
        }
        freedom = round(freedom); /* a dataset's share of a fit is no whole number */
        if (is_whole && freedom > 0) {
            p = compare_tail(statistic, freedom);
            nested->n++;
            nested->n_significant += p < SIGNIFICANT;
            nested->statistic += statistic;
            nested->freedom += freedom;
            if (statistic < -SAME_OPTIMUM)
                digest_add_example(&nested->worse, comparison->id[member[0]]);
        }
        for (size_t i = 0; i < n; i++)
            nested->p[member[i]] = p;
    }
    return true;
}

/* Fits with random parameters have tests of their own (use/compare_population.h). */
static enum status test_all_nested(struct compare_work *work, struct error *error)
{
    struct comparison *comparison = &work->comparison;
    uint32_t n_id = (uint32_t)comparison->n_id;
    bool *is_in = calloc((size_t)n_id + 1, sizeof *is_in), is_good = is_in != NULL;
    for (uint32_t id = 0; is_good && id < n_id; id++)
        is_in[id] = is_compared(comparison, id);
    for (size_t r = 0; is_good && r < comparison->n_result; r++)
        is_good = compare_fits_end(&work->fits[r], n_id);
    for (size_t i = 0; is_good && i < comparison->n_result * comparison->n_result; i++) {
        size_t s = i / comparison->n_result, l = i % comparison->n_result;
        const struct compare_fits *small = &work->fits[s], *large = &work->fits[l];
        struct compare_sets sets;
        if (comparison->population[s] || comparison->population[l] ||
            !compare_fits_are_nested(small, large))
            continue;
        struct compare_nested *nested = &comparison->nested[comparison->n_nested++];
        *nested = (struct compare_nested){.small = s, .large = l,
                                          .is_joint = small->is_joint || large->is_joint};
        is_good = compare_sets_init(&sets, small, large, is_in, n_id) &&
                  test_nested(comparison, nested, &sets);
        compare_sets_fini(&sets);
    }
    free(is_in);
    return is_good ? STATUS_OK
                   : error_set(error, STATUS_NO_MEMORY,
                               "out of memory for the tests of %u datasets", (unsigned)n_id);
}

static void add_changes(struct comparison *comparison, uint64_t id)
{
    const struct compare_cell *cell = cells_of(comparison, id);
    for (size_t r = 1; r < comparison->n_result; r++) {
        struct compare_change *change = comparison->change;
        if (cell[r].is_there != cell[0].is_there || cell[r].outcome == cell[0].outcome)
            continue;
        while (change->fits.n && !(change->other == r && change->from == cell[0].outcome &&
                                   change->to == cell[r].outcome))
            change++;
        change->other = r;
        change->from = cell[0].outcome;
        change->to = cell[r].outcome;
        comparison->n_change += change->fits.n == 0;
        digest_add_example(&change->fits, comparison->id[id]);
    }
}

static void fill_weights(const struct comparison *comparison, const double *aic, double *weight)
{
    double least = INFINITY, sum = 0;
    for (size_t r = 0; r < comparison->n_result; r++)
        least = fmin(least, aic[r]);
    for (size_t r = 0; r < comparison->n_result; r++)
        sum += weight[r] = exp(-0.5 * (aic[r] - least));
    for (size_t r = 0; r < comparison->n_result; r++)
        weight[r] /= sum;
}

void compare_weights(const struct comparison *comparison, uint64_t id, double weight[COMPARE_MOST])
{
    double aic[COMPARE_MOST];
    bool compared = is_compared(comparison, id);
    for (size_t r = 0; r < comparison->n_result; r++)
        aic[r] = compared ? cells_of(comparison, id)[r].aic : (double)NAN;
    fill_weights(comparison, aic, weight);
}

static enum status summarise(struct compare_work *work, struct error *error)
{
    struct comparison *comparison = &work->comparison;
    size_t n_result = comparison->n_result, n_moved = 0;
    double aic[COMPARE_MOST], weight[COMPARE_MOST] = {0};
    make_comparable(work);
    for (uint64_t id = 0; id < comparison->n_id; id++) {
        bool compared = is_compared(comparison, id), have_criteria,
             converged = all_converged(comparison, id, &have_criteria);
        comparison->n_no_criteria += converged && !have_criteria;
        comparison->n_other_data += converged && have_criteria && !compared;
        add_changes(comparison, id);
        if (compared)
            add_totals(comparison, id);
    }
    for (size_t r = 0; r < n_result; r++)
        aic[r] = comparison->total[r].aic;
    fill_weights(comparison, aic, weight);
    for (size_t r = 0; r < n_result; r++)
        comparison->total[r].weight = weight[r];
    for (size_t i = 0; i < comparison->n_moved; i++)
        if (comparison->moved[i].fits.n)
            comparison->moved[n_moved++] = comparison->moved[i];
    comparison->n_moved = n_moved;
    return test_all_nested(work, error);
}

enum status compare_read(struct compare_work **work, const char *const *path, size_t n,
                         const char *where, struct error *error)
{
    *work = calloc(1, sizeof **work);
    if (!*work)
        return error_set(error, STATUS_NO_MEMORY, "out of memory");
    struct comparison *comparison = &(*work)->comparison;
    comparison->n_result = n < COMPARE_MOST ? n : COMPARE_MOST;
    if (n < 2 || n > COMPARE_MOST)
        return error_set(error, STATUS_USAGE, "2 to %d results are compared, not %zu", COMPARE_MOST,
                         n);
    enum status status = open_all(*work, path, error);
    if (!status)
        status = row_filter_init(&(*work)->filter, &(struct row_words){.where = where},
                                 (*work)->result[0], error);
    if (!status)
        status = read_populations(*work, error);
    for (size_t r = 0; r < n && !status; r++)
        status = read_result(*work, r, error);
    comparison->n_id = (*work)->ids.n;
    comparison->id = (*work)->ids.id;
    comparison->cell = (*work)->cell;
    comparison->own = (*work)->own;
    return status ? status : summarise(*work, error);
}

const struct comparison *compare_get(const struct compare_work *work) { return &work->comparison; }

void compare_free(struct compare_work *work)
{
    if (!work)
        return;
    for (size_t r = 0; r < work->comparison.n_result; r++) {
        compare_fits_fini(&work->fits[r]);
        result_close(work->result[r]);
        free(work->column[r]);
    }
    for (size_t i = 0; i < work->comparison.n_nested; i++)
        free(work->comparison.nested[i].p);
    free(work->comparison.nested);
    free(work->comparison.change);
    free(work->comparison.moved);
    free(work->comparison.ratio);
    arena_fini(&work->arena);
    free(work->value);
    free(work->error);
    free(work->cell);
    free(work->own);
    free(work->own_column);
    row_filter_fini(&work->filter);
    id_table_fini(&work->ids);
    free(work);
}

static void put_head(struct csv_writer *writer, struct csv_column column, size_t number)
{
    char text[64];
    snprintf(text, sizeof text, "%s_%zu", column.name, number);
    csv_put_column(writer, text, column.type);
}

static void put_columns(const struct comparison *comparison, struct csv_writer *writer)
{
    static const struct csv_column head[] = {{"status", CSV_TEXT},
                                             {"parameters", CSV_NUMBER},
                                             {"log_likelihood", CSV_NUMBER},
                                             {"aic", CSV_NUMBER},
                                             {"aicc", CSV_NUMBER},
                                             {"bic", CSV_NUMBER},
                                             {"aic_weight", CSV_NUMBER}};
    csv_put_column(writer, "id", CSV_TEXT);
    for (size_t c = 0; c < comparison->n_own; c++)
        csv_put_column(writer, comparison->own_column[c].name, comparison->own_column[c].type);
    for (size_t r = 0; r < comparison->n_result; r++)
        for (size_t i = 0; i < sizeof head / sizeof *head; i++)
            put_head(writer, head[i], r + 1);
    for (size_t i = 0; i < comparison->n_nested; i++) {
        char text[64];
        snprintf(text, sizeof text, "p_%zu_in_%zu", comparison->nested[i].small + 1,
                 comparison->nested[i].large + 1);
        csv_put_column(writer, text, CSV_NUMBER);
    }
}

static void put_own(struct csv_writer *writer, const struct own_value *value)
{
    if (value->text)
        csv_put_text(writer, value->text);
    else
        csv_put_number(writer, value->number);
}

void compare_csv(const struct comparison *comparison, struct csv_writer *writer)
{
    double weight[COMPARE_MOST] = {0};
    while (csv_head(writer))
        put_columns(comparison, writer);
    for (uint64_t id = 0; id < comparison->n_id && !ferror(writer->file); id++) {
        const struct compare_cell *cell = cells_of(comparison, id);
        compare_weights(comparison, id, weight);
        csv_put_text(writer, comparison->id[id]);
        for (size_t c = 0; c < comparison->n_own; c++)
            put_own(writer, &comparison->own[id * comparison->n_own + c]);
        for (size_t r = 0; r < comparison->n_result; r++) {
            const double number[] = {cell[r].k,   cell[r].log_likelihood,
                                     cell[r].aic, cell[r].aicc,
                                     cell[r].bic, weight[r]};
            csv_put_text(writer, cell[r].is_there ? outcome_name((int)cell[r].outcome) : "");
            for (size_t i = 0; i < sizeof number / sizeof *number; i++)
                csv_put_number(writer, cell[r].is_there ? number[i] : (double)NAN);
        }
        for (size_t i = 0; i < comparison->n_nested; i++)
            csv_put_number(writer, comparison->nested[i].p[id]);
        csv_end_row(writer);
    }
}
