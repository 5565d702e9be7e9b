/* Selections, with one bit per dataset; by name in one pass over the problem's ids, which need
 * not fit in memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/selection.h"

#include "base/arena.h"
#include "base/sha256.h"
#include "base/words.h"
#include "run/plan/selection_cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool selection_has(const struct selection *selection, uint64_t dataset)
{
    return !selection->bit || selection->bit[dataset / 8] >> dataset % 8 & 1;
}

bool selection_wants(const void *selection, uint64_t dataset)
{
    return selection_has(selection, dataset);
}

static void count(struct selection *selection)
{
    selection->n = 0;
    for (uint64_t d = 0; d < selection->n_dataset; d++)
        selection->n += selection_has(selection, d);
}

void selection_fini(struct selection *selection)
{
    free(selection->bit);
    selection->bit = NULL;
}

void selection_narrow(struct selection *selection, unsigned char *bit, const char *words)
{
    size_t used = strlen(selection->text);
    for (uint64_t i = 0; selection->bit && i < selection->n_dataset / 8 + 1; i++)
        bit[i] &= selection->bit[i];
    free(selection->bit);
    selection->bit = bit;
    snprintf(selection->text + used, sizeof selection->text - used, "%s%s", used ? " " : "", words);
    count(selection);
}

static void interleave(struct selection *selection, const struct shard *shard)
{
    for (uint64_t d = shard->k - 1; d < selection->n_dataset; d += shard->n)
        selection_set(selection->bit, d);
    snprintf(selection->text, sizeof selection->text, "shard=%u/%u", shard->k, shard->n);
}

enum { IDS_AT_ONCE = 4096 };

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct search {
    struct selection_names names;
    bool *found;          /* of the names */
    const char *whole;    /* the list itself may be a name */
    int64_t i_whole;      /* its row; -1: it is not a name */
    struct selection *selection;
};

static void look_at(struct search *search, uint64_t dataset, const char *id)
{
    char *const *hit =
        bsearch(&id, search->names.name, search->names.n, sizeof *search->names.name, compare);
    if (!strcmp(id, search->whole))
        search->i_whole = (int64_t)dataset;
    if (!hit)
        return;
    search->found[hit - search->names.name] = true;
    selection_set(search->selection->bit, dataset);
}

static enum status look_at_all(struct search *search, struct problem *problem, struct error *error)
{
    struct arena arena = {0};
    enum status status = STATUS_OK;
    for (uint64_t first = 0, n_dataset = search->selection->n_dataset; !status && first < n_dataset;
         first += IDS_AT_ONCE) {
        size_t n = n_dataset - first < IDS_AT_ONCE ? (size_t)(n_dataset - first) : IDS_AT_ONCE;
        arena_reset(&arena);
        char **id = arena_calloc(&arena, n, sizeof *id);
        status = id ? problem_read_ids(problem, first, n, &arena, id, error)
                    : error_set(error, STATUS_NO_MEMORY, "out of memory for %zu ids", n);
        for (size_t i = 0; !status && i < n; i++)
            look_at(search, first + i, id[i]);
    }
    arena_fini(&arena);
    return status;
}

static enum status not_there(const char *name, struct problem *problem, struct error *error)
{
    uint64_t n_dataset = problem_info(problem)->n_dataset;
    size_t n = n_dataset < IDS_AT_ONCE ? (size_t)n_dataset : IDS_AT_ONCE;
    struct arena arena = {0};
    struct error ignored;
    char **id = arena_calloc(&arena, n + 1, sizeof *id);
    bool read = id && !problem_read_ids(problem, 0, n, &arena, id, &ignored);
    const char *near = read ? nearest_name(name, (const char *const *)id, n) : NULL;
    error_set(error, STATUS_USAGE, "--only: %s has no dataset '%.200s'%s%.200s%s",
              problem_info(problem)->path, name, near ? "\nDid you mean '" : "", near ? near : "",
              near ? "'?" : "");
    arena_fini(&arena);
    return error->status;
}

static void describe_ids(struct selection *selection)
{
    struct sha256 hash;
    char hex[SHA256_HEX];
    uint64_t n = 0;
    sha256_begin(&hash);
    for (uint64_t d = 0; d < selection->n_dataset; d++)
        if (selection_has(selection, d)) {
            sha256_add_uint64(&hash, d);
            n++;
        }
    sha256_end_hex(&hash, hex);
    snprintf(selection->text, sizeof selection->text, "only=%llu:%.32s", (unsigned long long)n,
             hex);
}

/* --only: names between commas, or one name with commas in it. STATUS_USAGE if there is no such
 * dataset. */
static enum status select_ids(struct selection *selection, const char *list,
                              struct problem *problem, struct error *error)
{
    struct search search = {.whole = list, .i_whole = -1, .selection = selection};
    enum status status = STATUS_NO_MEMORY;
    if (!selection_split(&search.names, list) ||
        !(search.found = calloc(search.names.n, sizeof *search.found)))
        error_set(error, status, "out of memory for --only");
    else
        status = look_at_all(&search, problem, error);
    if (!status && search.i_whole >= 0) {
        memset(selection->bit, 0, (size_t)(selection->n_dataset / 8 + 1));
        selection_set(selection->bit, (uint64_t)search.i_whole);
    }
    for (size_t i = 0; !status && search.i_whole < 0 && i < search.names.n; i++)
        if (!search.found[i])
            status = not_there(search.names.name[i], problem, error);
    if (!status)
        describe_ids(selection);
    free(search.found);
    selection_names_fini(&search.names);
    return status;
}

enum status selection_open(struct selection *selection, const struct selection_request *request,
                           struct problem *problem, struct error *error)
{
    uint64_t n = problem_info(problem)->n_dataset;
    enum status status = STATUS_OK;
    *selection = (struct selection){.n_dataset = n, .n = n};
    if (!request->only && !request->shard.n)
        return STATUS_OK;
    if (!(selection->bit = calloc((size_t)(n / 8 + 1), 1)))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for a selection of %llu datasets",
                         (unsigned long long)n);
    if (request->only)
        status = select_ids(selection, request->only, problem, error);
    else if (request->cost_from)
        status = selection_by_cost(&request->shard, request->cost_from, problem, selection->bit,
                                   selection->text, error);
    else
        interleave(selection, &request->shard);
    count(selection);
    return status;
}

const char *selection_retry_words(const char *text)
{
    const char *words = strstr(text, "retry=");
    return words ? words : "";
}

bool selection_is_shard(const char *text, uint32_t *k, uint32_t *n)
{
    return sscanf(text, "shard=%u/%u", k, n) == 2 && *k > 0 && *k <= *n;
}

const char *selection_describe(const struct selection *selection, char *text, size_t size)
{
    uint32_t k, n;
    char what[80] = "";
    text[0] = '\0';
    if (!selection->bit)
        return text;
    if (selection_is_shard(selection->text, &k, &n))
        snprintf(what, sizeof what, "shard %u of %u%s", k, n,
                 strstr(selection->text, "cost-from=") ? ", dealt by cost" : "");
    else if (!strncmp(selection->text, "only=", 5))
        snprintf(what, sizeof what, "datasets chosen with --only");
    if (strstr(selection->text, "retry="))
        snprintf(what + strlen(what), sizeof what - strlen(what), "%sthose that failed",
                 what[0] ? ", " : "");
    snprintf(text, size, "%s: %llu of %llu datasets", what, (unsigned long long)selection->n,
             (unsigned long long)selection->n_dataset);
    return text;
}
