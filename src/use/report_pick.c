/* Walks through the result once to pick the fits that a page shows one by one, and counts the
 * others in bins.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/report_parts.h"

#include "base/random.h"
#include "run/plan/selection_request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_AT_ONCE = 4096 };
static const uint64_t max_number = 4000000; /* of a sample for quartiles */
enum { PURPOSE_RANDOM = 11, PURPOSE_FAILED, PURPOSE_POINT, PURPOSE_RESIDUAL };

/* The rows with the largest keys: a heap, the smallest one first. */
struct top {
    size_t n, most;
    struct top_item {
        double key;
        uint64_t row;
    } *item;
};

/* Equal keys: the earlier row is taken. */
static bool is_below(const struct top_item *a, const struct top_item *b)
{
    return a->key < b->key || (a->key == b->key && a->row > b->row);
}

static void top_add(struct top *top, double key, uint64_t row)
{
    struct top_item item = {key, row};
    size_t place, child;
    if (isnan(key) || top->most == 0 || (top->n == top->most && !is_below(&top->item[0], &item)))
        return;
    if (top->n < top->most) {
        for (place = top->n++; place > 0 && is_below(&item, &top->item[(place - 1) / 2]);
             place = (place - 1) / 2)
            top->item[place] = top->item[(place - 1) / 2];
    } else {
        for (place = 0; (child = 2 * place + 1) < top->n; place = child) {
            child += child + 1 < top->n && is_below(&top->item[child + 1], &top->item[child]);
            if (!is_below(&top->item[child], &item))
                break;
            top->item[place] = top->item[child];
        }
    }
    top->item[place] = item;
}

static int compare_items(const void *left, const void *right)
{
    return is_below(left, right) - is_below(right, left);
}

enum { TOP_TABLE = N_REPORT_GROUP, TOP_TABLE_FAILED, TOP_POINT, TOP_RESIDUAL, N_TOP };

struct choice {
    struct top top[N_TOP];
    struct row_filter filter, named;
    double *number[N_COST];
    uint64_t n_number, room, every;
    double median;
};

static void add_pairs(struct report *report, const struct fit_record *record)
{
    int bin[REPORT_N_PAIRED];
    uint64_t *count = report->pair;
    for (size_t j = 0; j < report->n_paired; j++)
        bin[j] = show_bin(&report->summary.parameter[j], record->parameter[j]);
    for (size_t c = 0; c < report->n_paired; c++)
        for (size_t d = c + 1; d < report->n_paired; d++, count += SHOW_N_BIN * SHOW_N_BIN)
            if (bin[c] >= 0 && bin[d] >= 0)
                count[bin[c] * SHOW_N_BIN + bin[d]]++;
}

static void add_fit(struct report *report, struct choice *choice, uint64_t row, bool is_named,
                    const struct fit_record *record)
{
    struct top *top = choice->top;
    bool failed = !outcome_is_success((enum outcome)record->outcome);
    bool same_kind = fit_has_reduced(record) == report->by_reduced;
    double badness = fit_badness(record);
    uint64_t seed = (uint64_t)report->options->seed;
    const double cost[N_COST] = {record->seconds, (double)record->n_evaluation,
                                 (double)record->n_step};
    for (int k = 0; row % choice->every == 0 && choice->n_number < choice->room && k < N_COST; k++)
        choice->number[k][choice->n_number] = cost[k];
    choice->n_number += row % choice->every == 0 && choice->n_number < choice->room;
    top_add(&top[TOP_RESIDUAL], failed ? (double)NAN : random_uniform(seed, PURPOSE_RESIDUAL, row),
            row);
    top_add(&top[TOP_POINT], failed ? (double)NAN : random_uniform(seed, PURPOSE_POINT, row), row);
    top_add(&top[TOP_TABLE], failed ? (double)NAN : isfinite(badness) ? badness : 0, row);
    top_add(&top[TOP_TABLE_FAILED],
            failed ? random_uniform(seed, PURPOSE_FAILED, row) : (double)NAN, row);
    if (is_named)
        top_add(&top[GROUP_named], 0, row);
    top_add(&top[GROUP_failed], failed ? random_uniform(seed, PURPOSE_FAILED, row) : (double)NAN,
            row);
    if (failed)
        return;
    top_add(&top[GROUP_random], random_uniform(seed, PURPOSE_RANDOM, row), row);
    top_add(&top[GROUP_worst], badness, row);
    top_add(&top[GROUP_best], same_kind ? -badness : (double)NAN, row);
    top_add(&top[GROUP_median], same_kind ? -fabs(badness - choice->median) : (double)NAN, row);
    add_pairs(report, record);
}

static enum status prepare(struct report *report, struct choice *choice, struct error *error)
{
    const struct report_options *options = report->options;
    const struct show_summary *summary = &report->summary;
    struct row_words words = options->rows;
    size_t share = (size_t)options->n_gallery / 6,
           n_failed = (size_t)(summary->digest.n_fit - summary->n_success);
    const size_t most[N_TOP] = {[GROUP_named] = REPORT_N_GALLERY,
                                [GROUP_worst] =
                                    2 * share + (n_failed < share ? share - n_failed : 0),
                                [GROUP_failed] = share,
                                [GROUP_best] = share,
                                [GROUP_median] = share,
                                [GROUP_random] = (size_t)options->n_gallery - 5 * share,
                                [TOP_TABLE] =
                                    REPORT_N_TABLE -
                                    (n_failed < REPORT_N_FAILED ? n_failed : REPORT_N_FAILED),
                                [TOP_TABLE_FAILED] = REPORT_N_FAILED,
                                [TOP_POINT] = REPORT_N_POINT,
                                [TOP_RESIDUAL] = REPORT_N_RESIDUAL};
    bool have_room = true;
    words.id = NULL;
    report->all_rows = options->full || summary->digest.n_fit <= REPORT_N_ALL;
    report->by_reduced = isfinite(summary->reduced.median);
    choice->median = report->by_reduced ? summary->reduced.median : 1 - summary->r_squared.median;
    for (size_t k = 0; k < N_TOP; k++) {
        bool is_whole = k < N_REPORT_GROUP && k != GROUP_named &&
                        summary->digest.n_fit <= (uint64_t)options->n_gallery;
        choice->top[k].most = is_whole ? (size_t)summary->digest.n_fit : most[k];
        choice->top[k].item = malloc((choice->top[k].most + 1) * sizeof *choice->top[k].item);
        have_room = have_room && choice->top[k].item;
    }
    for (choice->every = 1; report->info->n_fit / choice->every > max_number;)
        choice->every++;
    choice->room = report->info->n_fit / choice->every + 1;
    for (int k = 0; k < N_COST; k++) {
        choice->number[k] = malloc(choice->room * sizeof(double));
        have_room = have_room && choice->number[k];
    }
    size_t n =
        report->info->n_parameter < REPORT_N_PAIRED ? report->info->n_parameter : REPORT_N_PAIRED;
    report->n_paired = report->all_rows ? 0 : n;
    report->pair = calloc(n * n * SHOW_N_BIN * SHOW_N_BIN + 1, sizeof *report->pair);
    if (!have_room || !report->pair)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %llu fits",
                         (unsigned long long)report->info->n_fit);
    enum status status = row_filter_init(&choice->filter, &words, report->fitted.result, error);
    return status ? status : row_filter_init(&choice->named, &options->rows, report->fitted.result,
                                             error);
}

static int compare_picks(const void *left, const void *right)
{
    const struct report_pick *a = left, *b = right;
    return (a->row > b->row) - (a->row < b->row);
}

/* Joins the lists into one, in order of rows. */
static enum status join(struct report *report, struct choice *choice, struct error *error)
{
    static const unsigned why[N_TOP] = {[TOP_TABLE] = PICKED_TABLE,
                                        [TOP_TABLE_FAILED] = PICKED_TABLE,
                                        [TOP_POINT] = PICKED_POINT,
                                        [TOP_RESIDUAL] = PICKED_RESIDUAL};
    size_t n = 0, n_kept = 0;
    for (size_t k = 0; k < N_TOP; k++)
        n += choice->top[k].n;
    struct report_pick *pick = report->pick = malloc((n + 1) * sizeof *pick);
    if (!pick)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu rows", n);
    n = 0;
    for (size_t k = 0; k < N_TOP; k++) {
        size_t n_static = k == TOP_TABLE          ? REPORT_N_STATIC * 3 / 4
                          : k == TOP_TABLE_FAILED ? REPORT_N_STATIC / 4
                                                  : 0;
        qsort(choice->top[k].item, choice->top[k].n, sizeof *choice->top[k].item, compare_items);
        for (size_t i = choice->top[k].n; i-- > 0;)
            pick[n++] =
                (struct report_pick){choice->top[k].item[i].row,
                                     (why[k] ? why[k] : 1u << k) |
                                         (choice->top[k].n - i <= n_static ? PICKED_STATIC : 0)};
    }
    qsort(pick, n, sizeof *pick, compare_picks);
    for (size_t i = 0; i < n; i++) {
        if (n_kept > 0 && pick[n_kept - 1].row == pick[i].row)
            pick[n_kept - 1].why |= pick[i].why;
        else
            pick[n_kept++] = pick[i];
    }
    report->n_pick = n_kept;
    return STATUS_OK;
}

enum status report_choose(struct report *report, struct error *error)
{
    struct choice choice = {.n_number = 0};
    struct result_block block = {0};
    enum status status = prepare(report, &choice, error);
    while (!status && result_next(report->fitted.result, &block, ROWS_AT_ONCE, &status, error))
        for (size_t i = 0; i < block.n; i++) {
            bool is_named = report->options->rows.id
                            && row_filter_takes(&choice.named, block.id[i], &block.record[i]);
            if (row_filter_takes(&choice.filter, block.id[i], &block.record[i]))
                add_fit(report, &choice, block.first + i, is_named, &block.record[i]);
        }
    if (!status && report->options->rows.id)
        status = row_filter_end(&choice.named, &report->options->rows, error);
    for (int k = 0; !status && k < N_COST; k++)
        show_fill_spread(&report->cost[k], choice.number[k], choice.n_number, true);
    if (!status)
        status = join(report, &choice, error);
    for (size_t k = 0; k < N_TOP; k++)
        free(choice.top[k].item);
    for (int k = 0; k < N_COST; k++)
        free(choice.number[k]);
    row_filter_fini(&choice.filter);
    row_filter_fini(&choice.named);
    result_block_fini(&block);
    return status;
}
