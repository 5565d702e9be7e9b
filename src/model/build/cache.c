/* Entries of the compile cache: where they are, who may have written them, and whether they are
 * whole; and their locks: of the processes that want the same entry one makes it, and the others
 * wait, but never for a process that has died.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * O_EXCL is what a network file system can be relied on for (NFS from version 3 on); its locks
 * are not. A stale lock file is taken over by renaming it away: of several processes that try,
 * one succeeds. If the renamed file turns out to be a new lock, made in between, its content
 * shows this and it is put back. At worst two processes compile the same model. */
#include "model/build/cache.h"

#include "base/clock.h"
#include "base/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The end of an entry, of fixed length: the lengths of plugin and description, and a hash of
 * key, plugin and description. The plugin comes first, so the loader accepts the file as it is. */
#define TRAILER "\nstiffit-model-1 %016zx %016zx %s\n"
enum {
    TRAILER_SIZE = 17 + 17 + 17 + 64 + 1,
    MAX_ENTRY = 300 << 20,
    STALE_AFTER_MS = 60000,
    DAY_S = 86400,
    KEPT_DAYS = 90
};

/* Whether only we (and root) can have written the file. */
static bool is_ours(const struct stat *about)
{
    return about->st_uid == geteuid() && (about->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* mkdir -p, with mode 0700 for new folders. */
static bool make_folders(char *path)
{
    for (char *slash = path + 1; *slash; slash++) {
        if (*slash != '/')
            continue;
        *slash = '\0';
        bool made = mkdir(path, 0700) == 0 || errno == EEXIST || errno == EROFS || errno == EACCES;
        *slash = '/';
        if (!made)
            return false;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

void cache_open(struct cache *cache, const struct build_wait *wait)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct stat about;
    *cache = (struct cache){.folder = -1, .stale_after_ms = STALE_AFTER_MS};
    int n = 0;
    if (base && base[0] == '/') /* the specification says to ignore relative paths */
        n = snprintf(cache->path, sizeof cache->path, "%s/stiffit/models", base);
    else if (home && home[0] == '/')
        n = snprintf(cache->path, sizeof cache->path, "%s/.cache/stiffit/models", home);
    if (n <= 0 || n >= (int)sizeof cache->path) {
        cache->path[0] = '\0';
        return;
    }
    if (!make_folders(cache->path))
        return;
    int folder = open(cache->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return;
    if (fstat(folder, &about) == 0 && is_ours(&about)) {
        cache->folder = folder;
        return;
    }
    close(folder);
    wait_tell(wait,
              "note: %s is not used as compile cache: other users can write to it (use chmod 700, "
              "or set XDG_CACHE_HOME "
              "to another folder)",
              cache->path);
}

void cache_close(struct cache *cache)
{
    if (cache->folder >= 0)
        close(cache->folder);
    cache->folder = -1;
}

static void hash_entry(const char *key, const void *plugin, size_t n_plugin, const char *words,
                       size_t n_word, char hex[SHA256_HEX])
{
    struct sha256 hash;
    sha256_begin(&hash);
    sha256_add_string(&hash, key);
    sha256_add_uint64(&hash, n_plugin);
    sha256_add(&hash, plugin, n_plugin);
    sha256_add_uint64(&hash, n_word);
    sha256_add(&hash, words, n_word);
    sha256_end_hex(&hash, hex);
}

/* Splits the bytes of a whole file, which then belong to `built`. */
static bool take_apart(char *bytes, size_t n_byte, const char *key, struct built *built)
{
    size_t n_plugin, n_word;
    char hex[SHA256_HEX], trailer[TRAILER_SIZE + 1], expected[TRAILER_SIZE + 1];
    if (n_byte < TRAILER_SIZE)
        return false;
    memcpy(trailer, bytes + n_byte - TRAILER_SIZE, TRAILER_SIZE);
    trailer[TRAILER_SIZE] = '\0';
    if (sscanf(trailer, "\nstiffit-model-1 %16zx %16zx", &n_plugin, &n_word) != 2)
        return false;
    n_byte -= TRAILER_SIZE;
    if (n_plugin == 0 || n_plugin > n_byte || n_word != n_byte - n_plugin)
        return false;
    hash_entry(key, bytes, n_plugin, bytes + n_plugin, n_word, hex);
    snprintf(expected, sizeof expected, TRAILER, n_plugin, n_word, hex);
    if (memcmp(trailer, expected, TRAILER_SIZE) != 0)
        return false;
    built->compiler = malloc(n_word + 1);
    if (!built->compiler)
        return false;
    memcpy(built->compiler, bytes + n_plugin, n_word);
    built->compiler[n_word] = '\0';
    built->bytes = bytes;
    built->n_byte = n_plugin;
    built->from_cache = true;
    return true;
}

/* Reads or writes all bytes. */
static bool move_all(int file, char *bytes, size_t n_byte, bool writes)
{
    for (size_t done = 0; done < n_byte;) {
        ssize_t n = writes ? write(file, bytes + done, n_byte - done)
                           : read(file, bytes + done, n_byte - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

bool cache_get(const struct cache *cache, const char key[SHA256_HEX], struct built *built)
{
    char name[SHA256_HEX + 8], *bytes = NULL;
    struct stat about;
    bool found = false;
    *built = (struct built){.bytes = NULL};
    if (cache->folder < 0)
        return false;
    snprintf(name, sizeof name, "%s.so", key);
    int file = openat(cache->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return false;
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && is_ours(&about) &&
        about.st_size <= MAX_ENTRY && (bytes = malloc((size_t)about.st_size + 1)) &&
        move_all(file, bytes, (size_t)about.st_size, false))
        found = take_apart(bytes, (size_t)about.st_size, key, built);
    if (found && time(NULL) - about.st_mtime > DAY_S)
        futimens(file, NULL); /* still in use */
    if (!found)
        free(bytes);
    close(file);
    return found;
}

/* Removes entries that nobody has used for long, and files left by killed processes. Runs now
 * and then: for some values of the key, which is as good as random. */
static void sweep(const struct cache *cache, const char *key)
{
    int copy = key[0] == '0' ? openat(cache->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
    time_t now = time(NULL);
    struct dirent *entry;
    if (!list && copy >= 0)
        close(copy);
    while (list && (entry = readdir(list))) {
        size_t n = strlen(entry->d_name);
        bool is_entry = n == 67 && !strcmp(entry->d_name + 64, ".so"),
             is_rest = n > 64 && !is_entry;
        struct stat about;
        if ((is_entry || is_rest) &&
            fstatat(cache->folder, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(about.st_mode) && now - about.st_mtime > (is_entry ? KEPT_DAYS : 1) * DAY_S)
            unlinkat(cache->folder, entry->d_name, 0);
    }
    if (list)
        closedir(list);
}

bool cache_put(const struct cache *cache, const char key[SHA256_HEX], const struct built *built)
{
    char name[SHA256_HEX + 8], temporary[SHA256_HEX + 60], trailer[TRAILER_SIZE + 1],
        hex[SHA256_HEX];
    size_t n_word = built->compiler ? strlen(built->compiler) : 0;
    if (cache->folder < 0)
        return false;
    snprintf(name, sizeof name, "%s.so", key);
    snprintf(temporary, sizeof temporary, "%s.%lx-%llx.tmp", key, (unsigned long)getpid(),
             (unsigned long long)clock_now_ns());
    hash_entry(key, built->bytes, built->n_byte, built->compiler, n_word, hex);
    snprintf(trailer, sizeof trailer, TRAILER, built->n_byte, n_word, hex);
    int file = openat(cache->folder, temporary,
                      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return false;
    /* No fsync: an entry torn by a power failure fails its checksum and is made again. Network
     * file systems report a full disk at close. */
    bool written = move_all(file, built->bytes, built->n_byte, true) &&
                   move_all(file, built->compiler, n_word, true) &&
                   move_all(file, trailer, TRAILER_SIZE, true);
    written = close(file) == 0 && written;
    if (written && renameat(cache->folder, temporary, cache->folder, name) == 0) {
        sweep(cache, key);
        return true;
    }
    unlinkat(cache->folder, temporary, 0);
    return false;
}

enum { HOLDER_SIZE = 400, FIRST_POLL_MS = 10, LAST_POLL_MS = 250, MAX_VANISHED = 200 };

/* The process and the time: they identify the holder of a lock, and show whether a holder on this
 * machine is alive. */
static void describe_self(char holder[HOLDER_SIZE])
{
    struct process_id self;
    char name[PROCESS_NAME];
    process_self(&self);
    process_print(&self, name);
    snprintf(holder, HOLDER_SIZE, "%s %lld\n", name, (long long)clock_now_ns());
}

static bool is_gone(const char *holder)
{
    struct process_id id;
    return process_scan(holder, &id) && process_is_gone(&id);
}

struct look {
    char holder[HOLDER_SIZE];
    struct timespec touched;
    ino_t inode;
};

/* Opening it, instead of asking for its times by name, makes network file systems ask the
 * server. */
static bool look_at(const struct cache *cache, const char *name, struct look *look)
{
    struct stat about;
    int file = openat(cache->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    memset(look, 0, sizeof *look);
    if (file < 0)
        return false;
    if (fstat(file, &about) == 0) {
        look->touched = about.st_mtim;
        look->inode = about.st_ino;
    }
    ssize_t n = read(file, look->holder, HOLDER_SIZE - 1);
    look->holder[n > 0 ? n : 0] = '\0';
    close(file);
    return true;
}

static bool is_alive(const struct look *before, const struct look *now)
{
    return before->inode != now->inode || before->touched.tv_sec != now->touched.tv_sec ||
           before->touched.tv_nsec != now->touched.tv_nsec ||
           strcmp(before->holder, now->holder) != 0;
}

static bool try_lock(const struct cache *cache, struct cache_lock *lock)
{
    char self[HOLDER_SIZE];
    struct stat about;
    lock->file = openat(cache->folder, lock->name,
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (lock->file < 0)
        return false;
    describe_self(self);
    /* a full disk: then nobody knows who we are, that is all */
    ssize_t n = write(lock->file, self, strlen(self));
    (void)n;
    lock->inode = fstat(lock->file, &about) == 0 ? about.st_ino : 0;
    return true;
}

/* Takes the lock away that looked like `stale`. False: that is not possible here. */
static bool steal(const struct cache *cache, const char *name, const struct look *stale)
{
    char aside[SHA256_HEX + 80];
    struct look taken;
    snprintf(aside, sizeof aside, "%s.%lx-%llx.stale", name, (unsigned long)getpid(),
             (unsigned long long)clock_now_ns());
    if (!look_at(cache, name, &taken) || is_alive(stale, &taken))
        return true; /* somebody was faster */
    if (renameat(cache->folder, name, cache->folder, aside) != 0)
        return errno == ENOENT;
    if (look_at(cache, aside, &taken) && is_alive(stale, &taken)) {
        int put_back = linkat(cache->folder, aside, cache->folder, name, 0);
        /* fails if another process has made a lock by now; that one has precedence */
        (void)put_back;
    }
    unlinkat(cache->folder, aside, 0);
    return true;
}

static void tell_of(struct build_wait *wait, const char *holder)
{
    char line[300];
    struct process_id id;
    if (!process_scan(holder, &id))
        return;
    snprintf(line, sizeof line, "waiting for process %ld on %s, which is compiling this model",
             id.number, id.host);
    wait_tell_if_long(wait, line);
}

enum cache_claim cache_claim(const struct cache *cache, const char key[SHA256_HEX],
                             struct build_wait *wait, struct cache_lock *lock, struct built *built)
{
    struct look before = {.inode = 0}, now;
    int idle_ms = 0, poll_ms = FIRST_POLL_MS, n_vanished = 0;
    *built = (struct built){.bytes = NULL};
    lock->file = -1;
    if (cache->folder < 0)
        return CACHE_NO_LOCK;
    snprintf(lock->name, sizeof lock->name, "%s.lock", key);
    while (!wait_is_stopped(wait)) {
        if (cache_get(cache, key, built))
            return CACHE_HAS_IT;
        if (try_lock(cache, lock)) {
            /* It may have appeared between the look and the lock. */
            if (!cache_get(cache, key, built))
                return CACHE_LOCKED;
            cache_unlock(cache, lock);
            return CACHE_HAS_IT;
        }
        if (errno != EEXIST)
            return CACHE_NO_LOCK;
        if (!look_at(cache, lock->name, &now)) {
            if (++n_vanished > MAX_VANISHED)
                return CACHE_NO_LOCK;
        } else if (is_alive(&before, &now)) {
            before = now;
            idle_ms = 0;
        }
        if (idle_ms >= cache->stale_after_ms || is_gone(now.holder)) {
            if (!steal(cache, lock->name, &now))
                return CACHE_NO_LOCK;
            idle_ms = 0;
            continue;
        }
        tell_of(wait, now.holder);
        if (!wait_ms(wait, poll_ms))
            break;
        /* counted, not by a clock: time in which we were stopped ourselves says nothing of
         * others */
        idle_ms += poll_ms;
        poll_ms = poll_ms * 3 / 2 < LAST_POLL_MS ? poll_ms * 3 / 2 : LAST_POLL_MS;
    }
    return CACHE_STOPPED;
}

void cache_touch(const struct cache_lock *lock)
{
    if (lock->file >= 0)
        futimens(lock->file, NULL);
}

void cache_unlock(const struct cache *cache, struct cache_lock *lock)
{
    struct stat about;
    if (lock->file < 0)
        return;
    close(lock->file);
    lock->file = -1;
    /* If it has been taken over, the one of this name is another's. */
    if (fstatat(cache->folder, lock->name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
        about.st_ino == lock->inode)
        unlinkat(cache->folder, lock->name, 0);
}
