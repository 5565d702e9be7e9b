/* Names are followed link by link, as the kernel's protected_symlinks does it, but for all folders
 * that others may write to.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/destination.h"

#include "base/process.h"
#include "base/words.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_LINKS = 40, MAX_NAME_TRIES = 1000, KEPT_OF_NAME = 180, DAY_S = 86400 };

enum status destination_parent(const char *path, char parent[DESTINATION_PATH], struct error *error)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (n >= DESTINATION_PATH)
        return error_set(error, STATUS_SYSTEM, "the path '%.100s...' is too long", path);
    memcpy(parent, n ? path : ".", n ? n : 1);
    parent[n ? n : 1] = '\0';
    return STATUS_OK;
}

/* Whether somebody else may have put it into a folder where everybody can. */
static bool is_planted(const struct stat *found, const char *path)
{
    char parent[DESTINATION_PATH];
    struct stat folder;
    struct error ignored;
    if (found->st_uid == geteuid() || found->st_uid == 0)
        return false;
    return destination_parent(path, parent, &ignored) || stat(parent, &folder) ||
           (folder.st_mode & S_IWOTH && found->st_uid != folder.st_uid);
}

static enum status refuse_planted(const char *path, const char *what, const struct stat *found,
                                  struct error *error)
{
    return error_set(error, STATUS_SYSTEM,
                     "%s: another user (number %ld) made this %s in a folder that everybody may "
                     "write to. Remove it, or choose another folder",
                     path, (long)found->st_uid, what);
}

/* A link of the system to an open file, which must not be opened anew: that would cut it, or lose
 * the place in it. */
static bool is_descriptor(const char *path, int *descriptor)
{
    static const char *const folder[] = {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"};
    bool is_out = !strcmp(path, "/dev/stdout"), is_err = !strcmp(path, "/dev/stderr");
    *descriptor = is_out ? STDOUT_FILENO : is_err ? STDERR_FILENO : -1;
    for (size_t i = 0; i < sizeof folder / sizeof *folder; i++) {
        size_t n = strlen(folder[i]), n_digit = 0;
        if (!strncmp(path, folder[i], n))
            n_digit = strspn(path + n, "0123456789");
        if (n_digit > 0 && n_digit < 8 && !path[n + n_digit])
            *descriptor = atoi(path + n);
    }
    bool is_device = !strncmp(path, "/dev/", 5) && !strchr(path + 5, '/');
    return *descriptor >= 0 || is_device || !strncmp(path, "/proc/", 6);
}

/* Replaces the path of a link by what it leads to. */
static enum status follow(char path[DESTINATION_PATH], struct error *error)
{
    char target[DESTINATION_PATH], joined[2 * DESTINATION_PATH];
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (n < 0)
        return error_system(error, errno, "%s: cannot be followed", path);
    target[n] = '\0';
    const char *slash = target[0] == '/' ? NULL : strrchr(path, '/');
    snprintf(joined, sizeof joined, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, target);
    if (strlen(joined) >= DESTINATION_PATH)
        return error_set(error, STATUS_SYSTEM, "%s: leads to a path that is too long", path);
    strcpy(path, joined);
    return STATUS_OK;
}

static enum status judge(struct destination *destination, const struct stat *found,
                         const char *path, struct error *error)
{
    const char *what = S_ISDIR(found->st_mode)    ? "a directory"
                       : S_ISSOCK(found->st_mode) ? "a socket"
                       : S_ISBLK(found->st_mode)  ? "a disk"
                                                  : NULL;
    if (what)
        return error_set(error, STATUS_SYSTEM, "%s: is %s: choose the name of a file", path, what);
    destination->kind = S_ISREG(found->st_mode) ? DESTINATION_FILE : DESTINATION_STREAM;
    if (S_ISFIFO(found->st_mode) && is_planted(found, destination->path))
        return refuse_planted(path, "pipe", found, error);
    return STATUS_OK;
}

enum status destination_find(struct destination *destination, const char *path, struct error *error)
{
    struct stat found;
    *destination = (struct destination){.kind = DESTINATION_NEW, .descriptor = -1};
    if (strlen(path) >= sizeof destination->path)
        return error_set(error, STATUS_SYSTEM, "the path '%.100s...' is too long", path);
    strcpy(destination->path, path);
    for (int i = 0; i < MAX_LINKS; i++) {
        /* What is wrong with the folder shows when it is written to. */
        if (lstat(destination->path, &found) != 0)
            return errno == ENOENT || errno == ENOTDIR || errno == EACCES
                       ? STATUS_OK : error_system(error, errno, "%s: cannot be written", path);
        if (!S_ISLNK(found.st_mode))
            return judge(destination, &found, path, error);
        if (is_descriptor(destination->path, &destination->descriptor)) {
            destination->kind = DESTINATION_STREAM;
            return STATUS_OK;
        }
        if (is_planted(&found, destination->path))
            return refuse_planted(destination->path, "link", &found, error);
        enum status status = follow(destination->path, error);
        if (status)
            return status;
    }
    return error_system(error, ELOOP, "%s: cannot be written", path);
}

enum status destination_find_file(struct destination *destination, const char *path,
                                  struct error *error)
{
    enum status status = destination_find(destination, path, error);
    if (status || destination->kind != DESTINATION_STREAM)
        return status;
    return error_set(error, STATUS_SYSTEM,
                     "%s: is a device or a pipe, which is kept: an HDF5 file needs the name of a "
                     "regular file",
                     path);
}

/* Whether our own new files have this owner, as on file systems that map owners (NFS for root,
 * CIFS, containers). */
static bool is_our_owner_there(const char *path, uid_t owner)
{
    char parent[DESTINATION_PATH], probe[DESTINATION_PATH + 40];
    struct stat made;
    struct error ignored;
    if (destination_parent(path, parent, &ignored))
        return false;
    snprintf(probe, sizeof probe, "%s/.stiffit-owner-XXXXXX", parent);
    if (!mkdtemp(probe))
        return false;
    bool is_same = lstat(probe, &made) == 0 && made.st_uid == owner;
    rmdir(probe);
    return is_same;
}

enum status destination_check_folder(const char *path, const char *what, struct error *error)
{
    struct stat found;
    if (lstat(path, &found) != 0)
        return errno == ENOENT ? STATUS_OK
                               : error_system(error, errno, "cannot use %s '%s'", what, path);
    if (S_ISLNK(found.st_mode) && is_planted(&found, path))
        return refuse_planted(path, "link", &found, error);
    if (S_ISLNK(found.st_mode) && stat(path, &found) != 0)
        return error_system(error, errno, "cannot use %s '%s', a link", what, path);
    if (!S_ISDIR(found.st_mode))
        return error_set(error, STATUS_SYSTEM,
                         "'%s' should be %s, but it is a file: rename it, or choose another output",
                         path, what);
    if (found.st_uid == geteuid() || found.st_uid == 0 || is_our_owner_there(path, found.st_uid))
        return STATUS_OK;
    return error_set(error, STATUS_SYSTEM,
                     "'%s' should be %s, but it belongs to another user (number %ld), who could "
                     "change what is in it. Remove or rename it, or choose another folder",
                     path, what, (long)found.st_uid);
}

enum status destination_folder(const char *path, const char *what, struct error *error)
{
    struct stat found;
    char parent[DESTINATION_PATH];
    enum status status = destination_check_folder(path, what, error);
    if (!status)
        status = destination_parent(path, parent, error);
    if (status)
        return status;
    if (mkdir(path, 0777) == 0)
        return STATUS_OK;
    if (errno == EEXIST) /* since another process was faster, look again */
        return destination_check_folder(path, what, error);
    int failure = errno;
    if (stat(parent, &found) != 0)
        return error_system(error, failure, "cannot make %s '%s': there is no directory '%s'", what,
                            path, parent);
    return error_system(error, failure,
                        "cannot make %s '%s' (do you have permission to write to '%s'?)", what,
                        path, parent);
}

/* Whether the end of a temporary name, of that age, says that nobody will finish the file. Until
 * 0.1.0 names had only the process and a number. */
static bool is_left(const char *end, const struct process_id *self, time_t age_s)
{
    struct process_id owner = *self;
    unsigned place = process_place(self);
    unsigned long long start = 0;
    long number;
    int n_read = 0;
    if (sscanf(end, "%8x-%ld-%llu-%*[0-9A-Za-z]%n", &place, &owner.number, &start, &n_read) != 3 ||
        n_read == 0 || end[n_read]) {
        n_read = 0;
        if (sscanf(end, "%ld-%ld%n", &owner.number, &number, &n_read) != 2 || end[n_read])
            return false;
        place = process_place(self);
        start = 0;
    }
    owner.start = start;
    /* Of a process elsewhere it is not known: on another machine, or in a container that may be
     * gone. */
    return place == process_place(self) ? process_is_gone(&owner) : age_s > DAY_S;
}

static void sweep(const char *parent, const char *name)
{
    char begin[KEPT_OF_NAME + 16];
    struct dirent *entry;
    struct process_id self;
    struct stat found;
    DIR *list = opendir(parent);
    if (!list)
        return;
    size_t n_begin = (size_t)snprintf(begin, sizeof begin, ".%.*s.tmp-", KEPT_OF_NAME, name);
    process_self(&self);
    while ((entry = readdir(list)))
        if (!strncmp(entry->d_name, begin, n_begin) &&
            fstatat(dirfd(list), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(found.st_mode) &&
            is_left(entry->d_name + n_begin, &self, time(NULL) - found.st_mtime))
            unlinkat(dirfd(list), entry->d_name, 0);
    closedir(list);
}

void destination_sweep(const char *path)
{
    char parent[DESTINATION_PATH];
    struct error ignored;
    if (!destination_parent(path, parent, &ignored))
        sweep(parent, words_file(path));
}

enum status destination_temporary(const char *path, char **temporary, struct error *error)
{
    char parent[DESTINATION_PATH];
    struct stat found;
    struct process_id self;
    *temporary = NULL;
    enum status status = destination_parent(path, parent, error);
    if (status)
        return status;
    if (stat(parent, &found) != 0 || access(parent, W_OK | X_OK) != 0)
        return error_system(error, errno, "cannot write '%s' into the directory '%s'", path,
                            parent);
    const char *name = words_file(path);
    size_t size = strlen(parent) + KEPT_OF_NAME + 100;
    char *made = malloc(size);
    if (!made)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the name of a file");
    sweep(parent, name);
    process_self(&self);
    for (int i = 0; i < MAX_NAME_TRIES; i++) {
        snprintf(made, size, "%s/.%.*s.tmp-%08" PRIx32 "-%ld-%" PRIu64 "-%d", parent, KEPT_OF_NAME,
                 name, process_place(&self), self.number, self.start, i);
        if (lstat(made, &found) != 0 && errno == ENOENT) {
            *temporary = made;
            return STATUS_OK;
        }
    }
    status = error_system(error, errno, "cannot make a temporary file beside '%s'", path);
    free(made);
    return status;
}

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about;
    (void)kind;
    (void)place;
    remove(path);
    return 0;
}

void destination_scratch_remove(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void sweep_folders(const char *parent, const char *name, const struct process_id *self)
{
    char path[2 * DESTINATION_PATH];
    struct dirent *entry;
    struct stat found;
    DIR *list = opendir(parent);
    size_t n_name = strlen(name);
    while (list && (entry = readdir(list))) {
        if (strncmp(entry->d_name, name, n_name) || entry->d_name[n_name] != '-' ||
            fstatat(dirfd(list), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISDIR(found.st_mode) || found.st_uid != geteuid() ||
            !is_left(entry->d_name + n_name + 1, self, time(NULL) - found.st_mtime))
            continue;
        snprintf(path, sizeof path, "%s/%s", parent, entry->d_name);
        destination_scratch_remove(path);
    }
    if (list)
        closedir(list);
}

bool destination_scratch(const char *parent, const char *name, char path[DESTINATION_PATH])
{
    struct process_id self;
    process_self(&self);
    sweep_folders(parent, name, &self);
    /* A name is used once: dlopen would return the object that a file of that name held before. */
    int n = snprintf(path, DESTINATION_PATH, "%s/%s-%08" PRIx32 "-%ld-%" PRIu64 "-XXXXXX", parent,
                     name, process_place(&self), self.number, self.start);
    if (n >= DESTINATION_PATH)
        errno = ENAMETOOLONG;
    else if (mkdtemp(path))
        return true;
    path[0] = '\0';
    return false;
}
