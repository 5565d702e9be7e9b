/* Reads the options that choose datasets, and SLURM's environment.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/selection_request.h"

#include "base/sha256.h"
#include "base/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SHARD = 1000000 };

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

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

/* Reads decimal digits; returns the position after them, or NULL if there are none or the number
 * is too large. */
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
static bool is_step(uint32_t *id)
{
    return from_environment("SLURM_STEP_ID", id) && *id < 0xfffffff0u;
}

static enum status from_step(struct shard *shard, uint32_t step, uint32_t n, struct error *error)
{
    uint32_t task, job = 0;
    if (!from_environment("SLURM_PROCID", &task) || task >= n)
        return error_set(error, STATUS_USAGE,
                         "--shard slurm: this is a step of %u tasks, but SLURM_PROCID does not say "
                         "which of them this is",
                         n);
    from_environment("SLURM_JOB_ID", &job);
    shard->k = task + 1;
    shard->n = n;
    snprintf(shard->origin, sizeof shard->origin, "task %u of step %u.%u", task, job, step);
    return STATUS_OK;
}

static enum status from_array(struct shard *shard, struct error *error)
{
    uint32_t id, first, last, count, stride = 1, job = 0;
    if (!from_environment("SLURM_ARRAY_TASK_ID", &id) ||
        !from_environment("SLURM_ARRAY_TASK_MIN", &first) ||
        !from_environment("SLURM_ARRAY_TASK_MAX", &last) ||
        !from_environment("SLURM_ARRAY_TASK_COUNT", &count))
        return error_set(error, STATUS_USAGE,
                         "--shard slurm: the environment of this array task is not complete "
                         "(SLURM_ARRAY_TASK_ID, _MIN, _MAX, _COUNT); use --shard k/K");
    from_environment("SLURM_ARRAY_TASK_STEP", &stride);
    from_environment("SLURM_ARRAY_JOB_ID", &job);
    bool whole = first <= 1 && stride == 1 && last >= first && count == last - first + 1 &&
                 id >= first && id <= last;
    if (!whole)
        return error_set(error, STATUS_USAGE,
                         "--shard slurm: task %u of an array of %u from %u to %u is not part of a "
                         "complete array, which starts at 0 or 1 and has no gaps; for part of an "
                         "array use --shard k/K",
                         id, count, first, last);
    shard->k = id - first + 1;
    shard->n = count;
    snprintf(shard->origin, sizeof shard->origin, "task %u of array %u, which is %u-%u", id, job,
             first, last);
    return STATUS_OK;
}

static enum status from_slurm(struct shard *shard, struct error *error)
{
    uint32_t step = 0, n_task = 0;
    bool in_step = is_step(&step), in_array = getenv("SLURM_ARRAY_TASK_ID") != NULL;
    if (in_step && !from_environment("SLURM_STEP_NUM_TASKS", &n_task) &&
        !from_environment("SLURM_NTASKS", &n_task))
        return error_set(error, STATUS_USAGE,
                         "--shard slurm: this is a step, but SLURM_NTASKS does not say of how many "
                         "tasks");
    if (in_step && in_array && n_task > 1)
        return error_set(error, STATUS_USAGE,
                         "--shard slurm: this is a step of %u tasks within an array: both could be "
                         "meant; use --shard k/K",
                         n_task);
    if (in_array)
        return from_array(shard, error);
    if (in_step)
        return from_step(shard, step, n_task, error);
    return error_set(error, STATUS_USAGE,
                     getenv("SLURM_JOB_ID") ? "--shard slurm: this is neither a step nor an array: "
                                              "start it with srun, or submit an array "
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
            return error_set(error, STATUS_USAGE,
                             "--shard: '%s' is neither k/K (such as 3/8) nor slurm", text);
    }
    if (!status && (shard->n == 0 || shard->n > MAX_SHARD))
        return error_set(error, STATUS_USAGE,
                         "--shard: there must be at least 1 part and at most %d", MAX_SHARD);
    if (!status && (shard->k == 0 || shard->k > shard->n))
        return error_set(error, STATUS_USAGE,
                         "--shard: part %u of %u does not exist: parts are numbered from 1 to %u",
                         shard->k, shard->n, shard->n);
    return status;
}
