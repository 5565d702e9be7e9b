/* Selects datasets by name, in one pass over the problem's ids, which need not fit in memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/selection_source.h"

#include "base/arena.h"
#include "base/nearest.h"
#include "base/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDS_AT_ONCE = 4096 };

static int compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

bool selection_split(struct selection_names *names, const char *list)
{
    size_t n = 1, kept = 0;
    for (const char *c = list; *c; c++)
        n += *c == ',';
    *names = (struct selection_names){.copy = strdup(list), .name = calloc(n, sizeof *names->name)};
    if (!names->copy || !names->name)
        return false;
    char *rest = names->copy;
    for (char *name; (name = strsep(&rest, ","));)
        names->name[names->n++] = name;
    qsort(names->name, names->n, sizeof *names->name, compare);
    for (size_t i = 0; i < names->n; i++)
        if (i == 0 || strcmp(names->name[i], names->name[i - 1]))
            names->name[kept++] = names->name[i];
    names->n = kept;
    return true;
}

void selection_names_fini(struct selection_names *names)
{
    free(names->copy);
    free(names->name);
    *names = (struct selection_names){.n = 0};
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
    char *const *hit = bsearch(&id, search->names.name, search->names.n, sizeof *search->names.name, compare);
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
    for (uint64_t first = 0, n_dataset = search->selection->n_dataset; !status && first < n_dataset; first += IDS_AT_ONCE) {
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
    error_set(error, STATUS_USAGE, "--only: %s has no dataset '%.200s'%s%.200s%s", problem_info(problem)->path, name,
              near ? "\nDid you mean '" : "", near ? near : "", near ? "'?" : "");
    arena_fini(&arena);
    return error->status;
}

static void describe(struct selection *selection)
{
    struct sha256 hash;
    unsigned char digest[SHA256_BYTES];
    char hex[SHA256_HEX];
    uint64_t n = 0;
    sha256_begin(&hash);
    for (uint64_t d = 0; d < selection->n_dataset; d++)
        if (selection_has(selection, d)) {
            sha256_add_uint64(&hash, d);
            n++;
        }
    sha256_end(&hash, digest);
    sha256_hex(digest, hex);
    snprintf(selection->text, sizeof selection->text, "only=%llu:%.32s", (unsigned long long)n, hex);
}

enum status selection_by_ids(struct selection *selection, const char *list, struct problem *problem, struct error *error)
{
    struct search search = {.whole = list, .i_whole = -1, .selection = selection};
    enum status status = STATUS_NO_MEMORY;
    if (!selection_split(&search.names, list) || !(search.found = calloc(search.names.n, sizeof *search.found)))
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
        describe(selection);
    free(search.found);
    selection_names_fini(&search.names);
    return status;
}
