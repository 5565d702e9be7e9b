/* The files of shards: names and numbers.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/merge/shard_set.h"

#include "io/durable.h"
#include "run/plan/place.h"
#include "run/plan/selection.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *shard_result_path(const char *problem, uint32_t k, uint32_t n)
{
    struct selection_request request = {.shard = {.k = k, .n = n}};
    struct place place = {.problem = problem};
    struct error ignored;
    char suffix[120];
    selection_suffix(&request, suffix, sizeof suffix);
    if (place_init(&place, NULL, suffix, &ignored))
        place_fini(&place);
    free(place.journal);
    return place.result;
}

char *shard_journal_path(const char *problem, uint32_t k, uint32_t n)
{
    char *path = shard_result_path(problem, k, n), *longer = path ? realloc(path, strlen(path) + sizeof ".journal") : NULL;
    if (longer)
        return strcat(longer, ".journal");
    free(path);
    return NULL;
}

/* The n of a name "STEM.shard-k-of-n.result.h5" or "...result.h5.journal"; 0: it is something else. */
static uint32_t shards_of_name(const char *name, const char *stem, size_t n_stem)
{
    uint32_t k, n;
    int end = 0;
    if (strncmp(name, stem, n_stem) || sscanf(name + n_stem, ".shard-%u-of-%u.result.h5%n", &k, &n, &end) != 2 || !end)
        return 0;
    const char *rest = name + n_stem + end;
    return (!*rest || !strcmp(rest, ".journal")) && k > 0 && k <= n && n <= SHARD_SET_MAX ? n : 0;
}

enum status shard_set_find(const char *problem, uint32_t *n, struct error *error)
{
    char folder[DURABLE_PATH];
    const char *slash = strrchr(problem, '/'), *stem = slash ? slash + 1 : problem;
    size_t n_stem = strlen(stem);
    if (n_stem > 3 && !strcmp(stem + n_stem - 3, ".h5"))
        n_stem -= 3;
    *n = 0;
    enum status status = durable_parent(problem, folder, error);
    if (status)
        return status;
    DIR *list = opendir(folder);
    if (!list)
        return error_system(error, errno, "cannot look for shards in '%s'", folder);
    const struct dirent *entry;
    while (!status && (entry = readdir(list))) {
        uint32_t found = shards_of_name(entry->d_name, stem, n_stem);
        if (found && *n && found != *n)
            status = error_set(error, STATUS_USAGE, "%s: beside it are results of %u shards and of %u: say which with --shards",
                               problem, *n < found ? *n : found, *n < found ? found : *n);
        else if (found)
            *n = found;
    }
    closedir(list);
    return status;
}
