/* Tells obsolete journals by the times of their files.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/finish/obsolete.h"

#include "io/result/result.h"
#include "run/plan/selection.h"
#include "run/plan/selection_retry.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int64_t written_ns(const struct stat *file)
{
    return (int64_t)file->st_mtim.tv_sec * INT64_C(1000000000) + (int64_t)file->st_mtim.tv_nsec;
}

int64_t obsolete_last_write_ns(const char *journal_path)
{
    int64_t last = 0;
    struct stat found;
    DIR *list = opendir(journal_path);
    const struct dirent *entry;
    while (list && (entry = readdir(list)))
        if (!fstatat(dirfd(list), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) &&
            S_ISREG(found.st_mode) && written_ns(&found) > last)
            last = written_ns(&found);
    if (list)
        closedir(list);
    return last;
}

bool obsolete_is(const char *result_path, const char *journal_path)
{
    struct stat result, journal;
    return !stat(result_path, &result) && !stat(journal_path, &journal) &&
           S_ISDIR(journal.st_mode) && obsolete_last_write_ns(journal_path) <= written_ns(&result);
}

void obsolete_drop(const char *result_path, const char *journal_path,
                   const struct run_identity *identity)
{
    struct journal_reader *journal = NULL;
    struct error ignored;
    if (obsolete_is(result_path, journal_path) &&
        !journal_read(&journal, journal_path, identity, &ignored))
        journal_remove(journal_path, &ignored);
    journal_reader_free(journal);
}

enum status obsolete_drop_retried(const char *result_path, const char *journal_path,
                                  struct error *error)
{
    struct result *result = NULL;
    struct journal_reader *journal = NULL;
    struct error ignored;
    bool is_obsolete = false, is_read = !journal_read(&journal, journal_path, NULL, &ignored);
    const struct run_identity *identity = is_read ? journal_identity(journal) : NULL;
    if (identity && !result_open(&result, result_path, &ignored)) {
        const struct result_info *info = result_info(result);
        char name[40];
        snprintf(name, sizeof name, "retry_%u_selection", selection_n_retry(info));
        const char *last = provenance_fact(&info->provenance, name);
        const char *now = selection_retry_words(identity->selection);
        is_obsolete = identity_equal(identity, &info->identity) || (last && !strcmp(last, now));
    } else if (is_read && !identity) { /* a process was killed while it began it, or removed it */
        is_obsolete = journal_n_record(journal) == 0;
    }
    journal_reader_free(journal);
    result_close(result);
    return is_obsolete ? journal_remove(journal_path, error) : STATUS_OK;
}
