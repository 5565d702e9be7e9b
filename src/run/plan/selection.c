/* Selections, with one bit per dataset; by name in one pass over the problem's ids, which need not fit in memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/selection.h"

#include "base/arena.h"
#include "base/sha256.h"
#include "base/words.h"
#include "run/plan/selection_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool selection_has(const struct selection *selection, uint64_t dataset)
{
    return !selection->bit || selection->bit[dataset / 8] >> dataset % 8 & 1;
}

bool selection_wants(const void *selection, uint64_t dataset) { return selection_has(selection, dataset); }

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

enum status selection_open(struct selection *selection, const struct selection_request *request, struct problem *problem,
                           struct error *error)
{
    uint64_t n = problem_info(problem)->n_dataset;
    enum status status = STATUS_OK;
    *selection = (struct selection){.n_dataset = n, .n = n};
    if (!request->only && !request->shard.n)
        return STATUS_OK;
    if (!(selection->bit = calloc((size_t)(n / 8 + 1), 1)))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for a selection of %llu datasets", (unsigned long long)n);
    if (request->only)
        status = selection_by_ids(selection, request->only, problem, error);
    else if (request->cost_from)
        status = selection_by_cost(selection, &request->shard, request->cost_from, problem, error);
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
        snprintf(what, sizeof what, "shard %u of %u%s", k, n, strstr(selection->text, "cost-from=") ? ", dealt by cost" : "");
    else if (!strncmp(selection->text, "only=", 5))
        snprintf(what, sizeof what, "datasets chosen with --only");
    if (strstr(selection->text, "retry="))
        snprintf(what + strlen(what), sizeof what - strlen(what), "%sthose that failed", what[0] ? ", " : "");
    snprintf(text, size, "%s: %llu of %llu datasets", what, (unsigned long long)selection->n,
             (unsigned long long)selection->n_dataset);
    return text;
}

/* A single name that is safe for any file system, or a hash of the list. */
static void name_only(const char *list, char *text, size_t size)
{
    static const char plain[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-";
    struct selection_names names = {0};
    struct sha256 hash;
    char hex[SHA256_HEX];
    if (strlen(list) <= 64 && strspn(list, plain) == strlen(list)) {
        snprintf(text, size, ".only-%s", list);
        return;
    }
    sha256_begin(&hash);
    if (selection_split(&names, list))
        for (size_t i = 0; i < names.n; i++)
            sha256_add_string(&hash, names.name[i]);
    sha256_end_hex(&hash, hex);
    snprintf(text, size, ".only-%.12s", hex);
    selection_names_fini(&names);
}

void selection_suffix(const struct selection_request *request, char *text, size_t size)
{
    text[0] = '\0';
    if (request->only)
        name_only(request->only, text, size);
    else if (request->shard.n)
        snprintf(text, size, ".shard-%u-of-%u", request->shard.k, request->shard.n);
}

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
    char hex[SHA256_HEX];
    uint64_t n = 0;
    sha256_begin(&hash);
    for (uint64_t d = 0; d < selection->n_dataset; d++)
        if (selection_has(selection, d)) {
            sha256_add_uint64(&hash, d);
            n++;
        }
    sha256_end_hex(&hash, hex);
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

enum { MAX_SHARD = 1000000 };

/* Reads decimal digits; returns the position after them, or NULL if there are none or the number is too large. */
static const char *read_number(const char *text, uint32_t *number)
{
    uint64_t value = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++)
        if ((value = 10 * value + (uint64_t)(*p - '0')) > UINT32_MAX)
            return NULL;
    *number = (uint32_t)value;
    return p > text ? p : NULL;
}

static bool from_environment(const char *name, uint32_t *number)
{
    const char *text = getenv(name), *end = text ? read_number(text, number) : NULL;
    return end && !*end;
}

/* Pseudo steps (batch script, external, interactive) have the largest numbers. */
static bool is_step(uint32_t *id) { return from_environment("SLURM_STEP_ID", id) && *id < 0xfffffff0u; }

static enum status from_step(struct shard *shard, uint32_t step, uint32_t n, struct error *error)
{
    uint32_t task, job = 0;
    if (!from_environment("SLURM_PROCID", &task) || task >= n)
        return error_set(error, STATUS_USAGE, "--shard slurm: this is a step of %u tasks, but SLURM_PROCID does not say which "
                         "of them this is", n);
    from_environment("SLURM_JOB_ID", &job);
    shard->k = task + 1;
    shard->n = n;
    snprintf(shard->origin, sizeof shard->origin, "task %u of step %u.%u", task, job, step);
    return STATUS_OK;
}

static enum status from_array(struct shard *shard, struct error *error)
{
    uint32_t id, first, last, count, stride = 1, job = 0;
    if (!from_environment("SLURM_ARRAY_TASK_ID", &id) || !from_environment("SLURM_ARRAY_TASK_MIN", &first) ||
        !from_environment("SLURM_ARRAY_TASK_MAX", &last) || !from_environment("SLURM_ARRAY_TASK_COUNT", &count))
        return error_set(error, STATUS_USAGE, "--shard slurm: the environment of this array task is not complete "
                         "(SLURM_ARRAY_TASK_ID, _MIN, _MAX, _COUNT); use --shard k/K");
    from_environment("SLURM_ARRAY_TASK_STEP", &stride);
    from_environment("SLURM_ARRAY_JOB_ID", &job);
    bool whole = first <= 1 && stride == 1 && last >= first && count == last - first + 1 && id >= first && id <= last;
    if (!whole)
        return error_set(error, STATUS_USAGE, "--shard slurm: task %u of an array of %u from %u to %u is not part of a "
                                              "complete array, which starts at 0 or 1 and has no gaps; for part of an array "
                                              "use --shard k/K", id,
                         count, first, last);
    shard->k = id - first + 1;
    shard->n = count;
    snprintf(shard->origin, sizeof shard->origin, "task %u of array %u, which is %u-%u", id, job, first, last);
    return STATUS_OK;
}

static enum status from_slurm(struct shard *shard, struct error *error)
{
    uint32_t step = 0, n_task = 0;
    bool in_step = is_step(&step), in_array = getenv("SLURM_ARRAY_TASK_ID") != NULL;
    if (in_step && !from_environment("SLURM_STEP_NUM_TASKS", &n_task) && !from_environment("SLURM_NTASKS", &n_task))
        return error_set(error, STATUS_USAGE, "--shard slurm: this is a step, but SLURM_NTASKS does not say of how many tasks");
    if (in_step && in_array && n_task > 1)
        return error_set(error, STATUS_USAGE, "--shard slurm: this is a step of %u tasks within an array: both could be "
                                              "meant; use --shard k/K", n_task);
    if (in_array)
        return from_array(shard, error);
    if (in_step)
        return from_step(shard, step, n_task, error);
    return error_set(error, STATUS_USAGE, getenv("SLURM_JOB_ID")
                     ? "--shard slurm: this is neither a step nor an array: start it with srun, or submit an array "
                       "(sbatch --array=1-8)"
                     : "--shard slurm: this is not a SLURM job");
}

enum status shard_parse(struct shard *shard, const char *text, struct error *error)
{
    *shard = (struct shard){.k = 0};
    enum status status = STATUS_OK;
    if (!strcmp(text, "slurm")) {
        status = from_slurm(shard, error);
    } else {
        const char *p = read_number(text, &shard->k);
        if (!p || *p != '/' || !(p = read_number(p + 1, &shard->n)) || *p)
            return error_set(error, STATUS_USAGE, "--shard: '%s' is neither k/K (such as 3/8) nor slurm", text);
    }
    if (!status && (shard->n == 0 || shard->n > MAX_SHARD))
        return error_set(error, STATUS_USAGE, "--shard: there must be at least 1 part and at most %d", MAX_SHARD);
    if (!status && (shard->k == 0 || shard->k > shard->n))
        return error_set(error, STATUS_USAGE, "--shard: part %u of %u does not exist: parts are numbered from 1 to %u",
                         shard->k, shard->n, shard->n);
    return status;
}
