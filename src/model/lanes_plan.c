/* Orders the pivots by Markowitz' rule on the diagonal (the fewest products next), without
 * regard to values: the kernel notices in which lanes that is not safe, and makes their steps
 * smaller, which lets the diagonal dominate.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/lanes_plan.h"

#include <stdlib.h>
#include <string.h>

static bool is_right(const struct stiffit_pattern *p, size_t n_column, size_t n_row)
{
    if (!p->start || p->start[0] != 0)
        return false;
    for (size_t j = 0; j < n_column; j++) {
        if (p->start[j + 1] < p->start[j])
            return false;
        for (int32_t k = p->start[j]; k < p->start[j + 1]; k++)
            if (p->row[k] < 0 || (size_t)p->row[k] >= n_row ||
                (k > p->start[j] && p->row[k] <= p->row[k - 1]))
                return false;
    }
    return true;
}

static bool rows_new(struct lanes_rows *rows, size_t n, size_t n_term)
{
    rows->start = calloc(n + 1, sizeof *rows->start);
    rows->term = calloc(n_term + 1, sizeof *rows->term);
    return rows->start && rows->term;
}

static void rows_free(struct lanes_rows *rows)
{
    free(rows->start);
    free(rows->term);
}

/* The first columns of a pattern, whose rows and values are numbered from these on. */
struct columns {
    const struct stiffit_pattern *pattern;
    size_t n_column, row, value;
};

/* The entries of some patterns, whose rows differ, by row. */
static bool by_row(struct lanes_rows *rows, size_t n_row, size_t n_list, const struct columns *list)
{
    size_t n_term = 0;
    for (size_t i = 0; i < n_list; i++)
        n_term += (size_t)list[i].pattern->start[list[i].n_column];
    if (!rows_new(rows, n_row, n_term))
        return false;
    for (const struct columns *each = list; each < list + n_list; each++)
        for (int32_t k = 0; k < each->pattern->start[each->n_column]; k++)
            rows->start[each->row + (size_t)each->pattern->row[k] + 1]++;
    for (size_t i = 0; i < n_row; i++)
        rows->start[i + 1] += rows->start[i];
    for (const struct columns *each = list; each < list + n_list; each++)
        for (size_t j = each->n_column; j-- > 0;)
            for (int32_t k = each->pattern->start[j]; k < each->pattern->start[j + 1]; k++)
                rows->term[--rows->start[each->row + (size_t)each->pattern->row[k] + 1]] =
                    (struct lanes_term){(int32_t)each->value + k, (int32_t)j};
    /* start[r+1] is now where row r begins */
    memmove(rows->start, rows->start + 1, n_row * sizeof *rows->start);
    rows->start[n_row] = (int32_t)n_term;
    return true;
}

/* Joins the terms of J and of the curvature. */
static bool list_forward(struct lanes_plan *plan, const struct lanes_rows *curvature)
{
    const struct lanes_rows *jacobian = &plan->jacobian;
    size_t n = plan->n;
    int32_t at = 0;
    if (!rows_new(&plan->forward, n, (size_t)(jacobian->start[n] + curvature->start[n])))
        return false;
    for (size_t r = 0; r < n; r++) {
        for (int32_t k = jacobian->start[r]; k < jacobian->start[r + 1]; k++)
            plan->forward.term[at++] =
                (struct lanes_term){jacobian->term[k].value, jacobian->term[k].row + (int32_t)n};
        for (int32_t k = curvature->start[r]; k < curvature->start[r + 1]; k++)
            plan->forward.term[at++] =
                (struct lanes_term){curvature->term[k].value + (int32_t)plan->n_derive,
                                    curvature->term[k].row};
        plan->forward.start[r + 1] = at;
    }
    return true;
}

/* Chooses order[k..n-1] and marks the fill in `filled` (n x n, row by row). */
static void eliminate(struct lanes_plan *plan, bool *filled, bool *done)
{
    size_t n = plan->n;
    for (size_t k = 0; k < n; k++) {
        size_t best = n, best_cost = SIZE_MAX;
        for (size_t i = 0; i < n; i++) {
            size_t in_row = 0, in_column = 0;
            for (size_t j = 0; j < n && !done[i]; j++)
                if (!done[j] && j != i) {
                    in_row += filled[i * n + j];
                    in_column += filled[j * n + i];
                }
            if (!done[i] && in_row * in_column < best_cost) {
                best = i;
                best_cost = in_row * in_column;
            }
        }
        plan->order[k] = (int32_t)best;
        done[best] = true;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n && !done[i] && filled[i * n + best]; j++)
                if (!done[j] && filled[best * n + j])
                    filled[i * n + j] = true;
    }
}

/* Numbers the factors; number[i * n + j] is that of entry (i, j), or -1. */
static bool list_factors(struct lanes_plan *plan, const bool *filled, int32_t *number)
{
    size_t n = plan->n, n_lower = 0, n_upper = 0, n_update = 0;
    for (size_t i = 0; i < n * n; i++)
        number[i] = filled[i] ? (int32_t)plan->n_factor++ : -1;
    if (!rows_new(&plan->lower, n, plan->n_factor) || !rows_new(&plan->upper, n, plan->n_factor))
        return false;
    int32_t *at = calloc(n + 1, sizeof *at); /* position of each row in the order */
    plan->scale_start = calloc(n + 1, sizeof *plan->scale_start);
    plan->scale = calloc(plan->n_factor + 1, sizeof *plan->scale);
    plan->update_start = calloc(n + 1, sizeof *plan->update_start);
    if (!at || !plan->scale_start || !plan->scale || !plan->update_start) {
        free(at);
        return false;
    }
    for (size_t k = 0; k < n; k++)
        at[plan->order[k]] = (int32_t)k;
    for (size_t i = 0; i < n; i++) {
        plan->diagonal[i] = number[i * n + i];
        plan->lower.start[i] = (int32_t)n_lower;
        plan->upper.start[i] = (int32_t)n_upper;
        for (size_t k = 0; k < n; k++) {
            int32_t j = plan->order[k], entry = number[i * n + (size_t)j];
            if (entry >= 0 && at[i] > (int32_t)k)
                plan->lower.term[n_lower++] = (struct lanes_term){entry, j};
            else if (entry >= 0 && at[i] < (int32_t)k)
                plan->upper.term[n_upper++] = (struct lanes_term){entry, j};
        }
    }
    plan->lower.start[n] = (int32_t)n_lower;
    plan->upper.start[n] = (int32_t)n_upper;
    free(at);
    for (int pass = 0; pass < 2; pass++) { /* counts, then fills */
        size_t n_scale = n_update = 0;
        for (size_t k = 0; k < n; k++) {
            size_t pivot = (size_t)plan->order[k];
            plan->scale_start[k] = (int32_t)n_scale;
            plan->update_start[k] = (int32_t)n_update;
            for (size_t later = k + 1; later < n; later++) {
                size_t i = (size_t)plan->order[later];
                int32_t left = number[i * n + pivot];
                if (left < 0)
                    continue;
                plan->scale[n_scale++] = left;
                for (int32_t u = plan->upper.start[pivot]; u < plan->upper.start[pivot + 1]; u++) {
                    const struct lanes_term *right = &plan->upper.term[u];
                    if (pass == 1)
                        plan->update[n_update] =
                            (struct lanes_update){number[i * n + (size_t)right->row], left,
                                                  right->value};
                    n_update++;
                }
            }
        }
        plan->scale_start[n] = (int32_t)n_scale;
        plan->update_start[n] = (int32_t)n_update;
        if (pass == 0 && !(plan->update = calloc(n_update + 1, sizeof *plan->update)))
            return false;
    }
    return true;
}

static bool plan_factors(struct lanes_plan *plan)
{
    size_t n = plan->n;
    bool *filled = calloc(n * n + n + 1, sizeof *filled);
    int32_t *number = calloc(n * n + 1, sizeof *number);
    plan->order = calloc(n + 1, sizeof *plan->order);
    plan->diagonal = calloc(n + 1, sizeof *plan->diagonal);
    plan->place = calloc((size_t)plan->jacobian.start[n] + 1, sizeof *plan->place);
    bool good = filled && number && plan->order && plan->diagonal && plan->place;
    if (good) {
        for (size_t i = 0; i < n; i++) {
            filled[i * n + i] = true;
            for (int32_t k = plan->jacobian.start[i]; k < plan->jacobian.start[i + 1]; k++)
                filled[i * n + (size_t)plan->jacobian.term[k].row] = true;
        }
        eliminate(plan, filled, filled + n * n);
        good = list_factors(plan, filled, number);
    }
    for (size_t i = 0; good && i < n; i++)
        for (int32_t k = plan->jacobian.start[i]; k < plan->jacobian.start[i + 1]; k++)
            plan->place[k] = number[i * n + (size_t)plan->jacobian.term[k].row];
    free(filled);
    free(number);
    return good;
}

/* Entries of df/dp with those of the second derivatives. False: out of memory, or one of the
 * latter is not among the former. */
static bool list_entries(struct lanes_plan *plan, size_t n_state, size_t n_curve_state,
                         bool *is_wrong)
{
    const struct stiffit_pattern *first = &plan->lanes->by_parameter,
                                 *second = &plan->lanes->curve_parameter;
    size_t n_parameter = plan->abi->n_parameter;
    plan->entry = calloc((size_t)first->start[n_parameter] + 1, sizeof *plan->entry);
    if (!plan->entry)
        return false;
    for (size_t j = 0; j < n_parameter; j++) {
        int32_t other = second->start[j], end = second->start[j + 1];
        for (int32_t k = first->start[j]; k < first->start[j + 1]; k++) {
            bool both = other < end && second->row[other] == first->row[k];
            plan->entry[plan->n_entry++] =
                (struct lanes_entry){first->row[k], (int32_t)j, (int32_t)(plan->n + n_state) + k,
                                     both ? (int32_t)n_curve_state + other++ : -1};
        }
        *is_wrong = *is_wrong || other < end;
    }
    return !*is_wrong;
}

/* Entries of observables and of their noise that are in use directly, by parameter. */
static bool list_direct(struct lanes_plan *plan, const struct columns *by_parameter)
{
    struct lanes_rows *direct = &plan->direct;
    size_t n_term = 0, n_parameter = plan->abi->n_parameter, at = 0;
    for (size_t k = 0; k < plan->n_kind; k++)
        n_term += (size_t)by_parameter[k].pattern->start[n_parameter];
    if (!rows_new(direct, plan->n_kind * n_parameter, n_term))
        return false;
    for (const struct columns *each = by_parameter; each < by_parameter + plan->n_kind; each++)
        for (size_t j = 0; j < n_parameter; j++, at++) {
            int32_t end = direct->start[at];
            for (int32_t e = each->pattern->start[j]; e < each->pattern->start[j + 1]; e++)
                direct->term[end++] =
                    (struct lanes_term){(int32_t)each->value + e, each->pattern->row[e]};
            direct->start[at + 1] = end;
        }
    return true;
}

static bool list_observe(struct lanes_plan *plan, bool *is_wrong)
{
    const struct stiffit_lanes *lanes = plan->lanes;
    size_t n = plan->n, n_h = plan->abi->n_observable, n_parameter = plan->abi->n_parameter,
           n_value = 0;
    struct columns by_state[] = {{&lanes->observe_state, n, 0, 0}, {&lanes->noise_state, n, 0, 0}},
                   by_parameter[] = {{&lanes->observe_parameter, n_parameter, 0, 0},
                                     {&lanes->noise_parameter, n_parameter, 0, 0}};
    plan->n_kind = lanes->noise ? 2 : 1;
    for (size_t k = 0; k < plan->n_kind; k++) {
        *is_wrong = !is_right(by_state[k].pattern, n, n_h) ||
                    !is_right(by_parameter[k].pattern, n_parameter, n_h);
        if (*is_wrong)
            return false;
        by_state[k].row = k * n_h;
        by_state[k].value = n_value + n_h;
        by_parameter[k].value = by_state[k].value + (size_t)by_state[k].pattern->start[n];
        n_value = by_parameter[k].value + (size_t)by_parameter[k].pattern->start[n_parameter];
        plan->n_observe = k == 0 ? n_value : plan->n_observe;
    }
    plan->n_values = n_value;
    return by_row(&plan->observe, plan->n_kind * n_h, plan->n_kind, by_state) &&
           list_direct(plan, by_parameter);
}

/* FNV-1a */
static uint64_t hash(uint64_t key, const void *list, size_t n_number)
{
    for (size_t k = 0; k < n_number; k++)
        key = (key ^ (uint32_t)((const int32_t *)list)[k]) * 0x100000001b3;
    return key;
}

static uint64_t key_of(const struct lanes_plan *plan)
{
    const struct lanes_rows *rows[] = {&plan->jacobian, &plan->forward, &plan->lower, &plan->upper};
    enum { VERSION = 3 }; /* of the functions of struct stiffit_lanes_algebra */
    uint64_t key = hash(0xcbf29ce484222325 + VERSION, plan->order, plan->n);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        key = hash(key, rows[i]->start, plan->n + 1);
        key = hash(key, rows[i]->term, 2 * (size_t)rows[i]->start[plan->n]);
    }
    key = hash(key, plan->place, (size_t)plan->jacobian.start[plan->n]);
    key = hash(key, plan->diagonal, plan->n);
    key = hash(key, plan->scale, (size_t)plan->scale_start[plan->n]);
    key = hash(key, plan->by_time, 2 * plan->n_time);
    key = hash(key, plan->entry, 4 * plan->n_entry);
    return hash(key, plan->update, 3 * (size_t)plan->update_start[plan->n]);
}

struct lanes_plan *lanes_plan_new(const struct stiffit_model *abi, bool *is_wrong)
{
    const struct stiffit_lanes *lanes = abi->lanes;
    struct lanes_plan *plan = calloc(1, sizeof *plan);
    size_t n = abi->n_state, n_parameter = abi->n_parameter;
    *is_wrong =
        !is_right(&lanes->by_state, n + 1, n) || !is_right(&lanes->by_parameter, n_parameter, n) ||
        !is_right(&lanes->curve_state, n, n) || !is_right(&lanes->curve_parameter, n_parameter, n);
    if (!plan || *is_wrong)
        goto failed;
    size_t n_state = (size_t)lanes->by_state.start[n + 1],
           n_curve_state = (size_t)lanes->curve_state.start[n];
    *plan = (struct lanes_plan){.abi = abi, .lanes = lanes, .n = n};
    plan->n_derive = n + n_state + (size_t)lanes->by_parameter.start[n_parameter];
    plan->n_curve = n_curve_state + (size_t)lanes->curve_parameter.start[n_parameter];
    plan->n_time = n_state - (size_t)lanes->by_state.start[n];
    plan->by_time = calloc(plan->n_time + 1, sizeof *plan->by_time);
    struct lanes_rows curvature = {0};
    const struct columns by_state = {&lanes->by_state, n, 0, n},
                         curve = {&lanes->curve_state, n, 0, 0};
    bool good = plan->by_time && by_row(&plan->jacobian, n, 1, &by_state) &&
                by_row(&curvature, n, 1, &curve) &&
                list_forward(plan, &curvature) && plan_factors(plan) &&
                list_entries(plan, n_state, n_curve_state, is_wrong) &&
                (!lanes->observe || list_observe(plan, is_wrong));
    rows_free(&curvature);
    if (!good)
        goto failed;
    for (size_t k = 0; k < plan->n_time; k++) {
        size_t from = (size_t)lanes->by_state.start[n] + k;
        plan->by_time[k] = (struct lanes_term){(int32_t)(n + from), lanes->by_state.row[from]};
    }
    plan->key = key_of(plan);
    if (lanes->algebra && lanes->algebra->key == plan->key)
        plan->algebra = *lanes->algebra;
    return plan;
failed:
    lanes_plan_free(plan);
    return NULL;
}

void lanes_plan_free(struct lanes_plan *plan)
{
    if (!plan)
        return;
    struct lanes_rows *rows[] = {&plan->jacobian, &plan->forward, &plan->lower, &plan->upper,
                                 &plan->observe,  &plan->direct};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        rows_free(rows[i]);
    free(plan->by_time);
    free(plan->entry);
    free(plan->order);
    free(plan->diagonal);
    free(plan->place);
    free(plan->scale_start);
    free(plan->scale);
    free(plan->update_start);
    free(plan->update);
    free(plan);
}
