/* Journal files and the processes that write them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/journal/process.h"

#include "base/process.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HOST_NAME = 65 };

static void host_name(char host[HOST_NAME])
{
    char name[257] = "";
    if (gethostname(name, sizeof name - 1) != 0 || !name[0])
        strcpy(name, "host");
    size_t n = strnlen(name, HOST_NAME - 1);
    for (size_t i = 0; i < n; i++)
        host[i] =
            strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-", name[i])
                ? name[i]
                : '_';
    host[n] = '\0';
    if (host[0] == '.')
        host[0] = '_';
}

void journal_name(char name[JOURNAL_NAME], uint64_t random)
{
    char host[HOST_NAME];
    host_name(host);
    /* with host and number it identifies a process for good */
    uint64_t started = process_number(PROCESS_START_TIME);
    if (!started)
        started = (uint64_t)time(NULL);
    snprintf(name, JOURNAL_NAME, "%s-%ld-%" PRIu64 "-%016" PRIx64 ".log", host, (long)getpid(),
             started, random);
}

/* Moves back over (hexadecimal) digits to the '-' before them; NULL if there is no digit. */
static const char *back_over(const char *name, const char *end, bool hexadecimal)
{
    const char *p = end;
    while (p > name &&
           (hexadecimal ? isxdigit((unsigned char)p[-1]) : isdigit((unsigned char)p[-1])))
        p--;
    return p > name && p < end && p[-1] == '-' ? p - 1 : NULL;
}

/* Points to the '-' before the process's number; NULL: not of this form. */
static const char *end_of_host(const char *name)
{
    size_t n = strlen(name);
    if (n < 4 || strcmp(name + n - 4, ".log") != 0)
        return NULL;
    const char *end = name + n - 4, *random = back_over(name, end, true);
    if (!random || end - random != 17)
        return NULL;
    const char *start = back_over(name, random, false);
    const char *pid = start ? back_over(name, start, false) : NULL;
    return pid && pid > name ? pid : NULL;
}

bool journal_is_name(const char *name) { return end_of_host(name) != NULL; }

static bool is_alive(const char *name, const struct stat *file)
{
    char host[HOST_NAME];
    const char *end = end_of_host(name);
    host_name(host);
    if (strlen(host) != (size_t)(end - name) || strncmp(host, name, strlen(host)) != 0)
        return difftime(time(NULL), file->st_mtime) < JOURNAL_SILENT_S;
    struct process_id id;
    char *rest;
    process_self(&id);
    id.number = strtol(end + 1, &rest, 10);
    id.start = strtoull(rest + 1, NULL, 10);
    return !process_is_gone(&id);
}

enum journal_writer journal_find_writer(const char *directory)
{
    enum journal_writer writer = JOURNAL_NO_FILE;
    struct stat found;
    DIR *list = opendir(directory);
    const struct dirent *entry;
    while (list && writer != JOURNAL_IS_WRITTEN && (entry = readdir(list)))
        if (journal_is_name(entry->d_name) &&
            !fstatat(dirfd(list), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) &&
            S_ISREG(found.st_mode))
            writer = is_alive(entry->d_name, &found) ? JOURNAL_IS_WRITTEN : JOURNAL_IS_LEFT;
    if (list)
        closedir(list);
    return writer;
}
