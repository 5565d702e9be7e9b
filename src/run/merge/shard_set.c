/* The files of shards: names and numbers, and how many datasets are in them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/merge/shard_set.h"

#include "base/words.h"
#include "io/file/durable.h"
#include "io/journal/process.h"
#include "io/result/result.h"
#include "run/finish/obsolete.h"
#include "run/plan/run_plan.h"
#include "run/plan/selection.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct run_paths paths_of(const char *problem, const char *output, uint32_t k, uint32_t n)
{
    const struct selection_request request = {.shard = {.k = k, .n = n}};
    struct run_paths paths = {.problem = problem};
    struct error ignored;
    if (run_paths_init(&paths, output, &request, &ignored))
        run_paths_fini(&paths);
    return paths;
}

char *shard_result_path(const char *problem, uint32_t k, uint32_t n)
{
    struct run_paths paths = paths_of(problem, NULL, k, n);
    free(paths.journal);
    return paths.result;
}

char *shard_journal_path(const char *problem, uint32_t k, uint32_t n)
{
    struct run_paths paths = paths_of(problem, NULL, k, n);
    free(paths.result);
    return paths.journal;
}

/* The n of a name "STEM.shard-k-of-n.result.h5" or "...result.h5.journal"; 0: it is something
 * else. */
static uint32_t shards_of_name(const char *name, const char *stem, size_t n_stem)
{
    uint32_t k, n;
    int end = 0;
    if (strncmp(name, stem, n_stem) ||
        sscanf(name + n_stem, ".shard-%u-of-%u.result.h5%n", &k, &n, &end) != 2 || !end)
        return 0;
    const char *rest = name + n_stem + end;
    return (!*rest || !strcmp(rest, ".journal")) && k > 0 && k <= n && n <= SHARD_SET_MAX ? n : 0;
}

enum status shard_set_find(const char *problem, uint32_t *n, struct error *error)
{
    char folder[DURABLE_PATH];
    const char *stem = words_file(problem);
    size_t n_stem = strlen(stem);
    if (n_stem > 3 && !strcmp(stem + n_stem - 3, ".h5"))
        n_stem -= 3;
    *n = 0;
    enum status status = destination_parent(problem, folder, error);
    if (status)
        return status;
    DIR *list = opendir(folder);
    if (!list)
        return error_system(error, errno, "cannot look for shards in '%s'", folder);
    const struct dirent *entry;
    while (!status && (entry = readdir(list))) {
        uint32_t found = shards_of_name(entry->d_name, stem, n_stem);
        if (found && *n && found != *n)
            status = error_set(error, STATUS_USAGE,
                               "%s: its folder has results of %u shards and of %u: choose with "
                               "--shards",
                               problem, *n < found ? *n : found, *n < found ? found : *n);
        else if (found)
            *n = found;
    }
    closedir(list);
    return status;
}

enum { ROWS_AT_ONCE = 4096 };

static enum status count_result(struct shard_progress *progress, const char *path,
                                struct error *error)
{
    struct result *result = NULL;
    struct result_block block = {0};
    enum status status = result_open(&result, path, error);
    if (!status)
        result_read_only(result, FIT_COLUMN_STATUS, FIT_COLUMN_STATUS);
    while (!status && result_next(result, &block, ROWS_AT_ONCE, &status, error))
        for (size_t i = 0; i < block.n; i++)
            progress->n_failed += !outcome_is_success((enum outcome)block.record[i].outcome);
    if (!status) {
        uint64_t n_row = result_info(result)->n_fit;
        progress->is_known = true;
        progress->n_dataset = progress->n_finished = n_row;
        progress->n_fit = n_row * identity_n_task(&result_info(result)->identity);
    }
    result_block_fini(&block);
    result_close(result);
    return status;
}

/* Counts a dataset if all its starts exist and, if one of them succeeded, all its refits. */
static enum status count_dataset(struct shard_progress *progress, struct journal_reader *journal,
                                 uint64_t dataset, struct error *error)
{
    const struct run_identity *identity = journal_identity(journal);
    struct fit_record record = {0};
    bool success = false, complete = true;
    error->status = STATUS_OK;
    for (uint32_t i = 0; i < identity->n_start && complete; i++) {
        complete = journal_get_task(journal, dataset, i, &record, error);
        success = success || (complete && outcome_is_success((enum outcome)record.outcome));
    }
    for (uint32_t i = 0; i < identity->n_refit && success && complete; i++)
        complete = journal_has(journal, identity_fit(identity, dataset, identity->n_start + i));
    progress->n_finished += complete;
    progress->n_failed += complete && !success;
    return error->status;
}

/* Reads the number of datasets from the plan of the run. For a deal by costs no other source is
 * available here. */
static void read_number(struct shard_progress *progress, const struct journal_reader *journal,
                        const char *path)
{
    struct run_plan plan;
    struct error ignored;
    if (run_plan_read(&plan, journal, path, &ignored) == STATUS_OK) {
        progress->is_known = true;
        progress->n_dataset = plan.selection.n;
    }
    run_plan_fini(&plan);
}

static enum status count_journal(struct shard_progress *progress, const char *path, uint32_t k,
                                 uint32_t n, struct error *error)
{
    struct journal_reader *journal = NULL;
    enum status status = journal_read(&journal, path, NULL, error);
    const struct run_identity *identity = status ? NULL : journal_identity(journal);
    if (identity) {
        bool by_words =
            strstr(identity->selection, "cost-from=") || strstr(identity->selection, "retry=");
        /* dealt in turn */
        uint64_t first = by_words || !n ? 0 : k - 1, step = by_words || !n ? 1 : n;
        uint64_t n_task = identity_n_task(identity), fit = journal_next(journal, 0);
        while (fit != UINT64_MAX && !status) {
            /* the number of datasets comes from the journal and may be wrong */
            uint64_t d = fit / n_task;
            if (d % step == first)
                status = count_dataset(progress, journal, d, error);
            fit = journal_next(journal, (d + 1) * n_task);
        }
        progress->n_fit = journal_n_record(journal);
        if (by_words) {
            read_number(progress, journal, path);
        } else {
            progress->is_known = true;
            progress->n_dataset =
                identity->n_dataset > first ? (identity->n_dataset - first - 1) / step + 1 : 0;
        }
    }
    progress->last = (time_t)(obsolete_last_write_ns(path) / INT64_C(1000000000));
    journal_reader_free(journal);
    return status;
}

/* No process appends when all is fitted and the result is being made from the journal: at most
 * this time ago. */
enum { FINISHING_S = 60 };

static enum shard_state state_of(const struct shard_progress *progress, const char *journal)
{
    bool is_fitted = progress->is_known && progress->n_finished >= progress->n_dataset;
    bool is_finishing = is_fitted && difftime(time(NULL), progress->last) < FINISHING_S;
    enum journal_writer writer = journal_find_writer(journal);
    if (writer == JOURNAL_NO_FILE)
        return SHARD_WAITING;
    return is_finishing || writer == JOURNAL_IS_WRITTEN ? SHARD_RUNNING : SHARD_STOPPED;
}

/* Whether there is a result. The problem itself may be its file: --in-place. */
static bool has_result(const char *problem, const char *result, struct stat *found)
{
    struct stat of_problem;
    if (stat(result, found) != 0)
        return false;
    bool in_place = stat(problem, &of_problem) == 0 && of_problem.st_dev == found->st_dev &&
                    of_problem.st_ino == found->st_ino;
    return !in_place || result_is_there(result);
}

enum status shard_look(struct shard_progress *progress, const char *problem, const char *output,
                       uint32_t k, uint32_t n, struct error *error)
{
    struct stat found;
    enum status status = STATUS_OK;
    struct run_paths paths = paths_of(problem, output, k, n);
    const char *result = paths.result, *journal = paths.journal;
    *progress = (struct shard_progress){.state = SHARD_WAITING};
    if (!result) {
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for the paths of shards");
    } else if (stat(journal, &found) == 0 &&
               !(has_result(problem, result, &found) && obsolete_is(result, journal))) {
        /* also while another result is being replaced */
        status = count_journal(progress, journal, k, n, error);
        progress->state = state_of(progress, journal);
        /* The journal is removed once the result exists. */
        if (!status && stat(journal, &found) != 0 && has_result(problem, result, &found))
            progress->state = SHARD_COMPLETE;
    } else if (has_result(problem, result, &found)) {
        progress->state = SHARD_COMPLETE;
    }
    if (!status && progress->state == SHARD_COMPLETE) {
        *progress = (struct shard_progress){.state = SHARD_COMPLETE, .last = found.st_mtime};
        status = count_result(progress, result, error);
    }
    run_paths_fini(&paths);
    return status;
}
