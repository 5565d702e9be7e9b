/* Of many processes that want the same entry, one makes it; the others wait, but not for one that has died.
 *
 * Network file systems support O_EXCL reliably (NFS from version 3 on), but not locks. A lock file is taken over by renaming
 * it: of several processes that try, one succeeds. A process that renames a lock made meanwhile notices this by its content and
 * puts it back. At worst two processes compile the same model.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/build/cache.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HOLDER_SIZE = 400, FIRST_POLL_MS = 10, LAST_POLL_MS = 250, MAX_VANISHED = 200 };

/* Host, PID namespace, process and time: they identify a holder, and show whether one on this machine is alive. */
static void describe_self(char holder[HOLDER_SIZE])
{
    char host[200] = "", space[64] = "-";
    gethostname(host, sizeof host - 1);
    host[strcspn(host, " \n")] = '\0';
    ssize_t n = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    if (n > 0)
        space[n] = '\0';
    snprintf(holder, HOLDER_SIZE, "%s %s %ld %lld\n", host[0] ? host : "-", space, (long)getpid(), (long long)clock_now_ns());
}

/* Dead, but not yet waited for by its parent; it may stay so for ever if process 1 of a container is not a real init. */
static bool is_zombie(long process)
{
    char path[40], line[200] = "";
    snprintf(path, sizeof path, "/proc/%ld/stat", process);
    FILE *file = fopen(path, "re");
    bool read = file && fgets(line, sizeof line, file);
    const char *state = strrchr(line, ')'); /* after the program's name, which may contain anything */
    if (file)
        fclose(file);
    return read && state && state[1] == ' ' && (state[2] == 'Z' || state[2] == 'X');
}

/* Whether the holder was a process of this machine (and PID namespace) and has ended. */
static bool is_gone(const char *holder)
{
    char self[HOLDER_SIZE], host[200], space[64], own_host[200], own_space[64];
    long process, own;
    describe_self(self);
    return sscanf(holder, "%199s %63s %ld", host, space, &process) == 3 &&
           sscanf(self, "%199s %63s %ld", own_host, own_space, &own) == 3 && !strcmp(host, own_host) &&
           !strcmp(space, own_space) && process > 0 &&
           ((kill((pid_t)process, 0) != 0 && errno == ESRCH) || is_zombie(process));
}

struct look {
    char holder[HOLDER_SIZE];
    struct timespec touched;
    ino_t inode;
};

/* Network file systems ask the server if the file is opened, but not if its times are queried by name. */
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
           before->touched.tv_nsec != now->touched.tv_nsec || strcmp(before->holder, now->holder) != 0;
}

static bool try_lock(const struct cache *cache, struct cache_lock *lock)
{
    char self[HOLDER_SIZE];
    struct stat about;
    lock->file = openat(cache->folder, lock->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (lock->file < 0)
        return false;
    describe_self(self);
    ssize_t n = write(lock->file, self, strlen(self)); /* on a full disk the lock is anonymous, which does no harm */
    (void)n;
    lock->inode = fstat(lock->file, &about) == 0 ? about.st_ino : 0;
    return true;
}

/* Removes the lock that looked like `stale`. False: not possible here. */
static bool steal(const struct cache *cache, const char *name, const struct look *stale)
{
    char aside[SHA256_HEX + 80];
    struct look taken;
    snprintf(aside, sizeof aside, "%s.%lx-%llx.stale", name, (unsigned long)getpid(), (unsigned long long)clock_now_ns());
    if (!look_at(cache, name, &taken) || is_alive(stale, &taken))
        return true; /* another process was faster */
    if (renameat(cache->folder, name, cache->folder, aside) != 0)
        return errno == ENOENT;
    if (look_at(cache, aside, &taken) && is_alive(stale, &taken)) {
        int put_back = linkat(cache->folder, aside, cache->folder, name, 0);
        (void)put_back; /* another process has locked meanwhile and goes first */
    }
    unlinkat(cache->folder, aside, 0);
    return true;
}

static void tell_of(struct build_wait *wait, const char *holder)
{
    char line[300], host[200];
    long process;
    if (sscanf(holder, "%199s %*s %ld", host, &process) != 2)
        return;
    snprintf(line, sizeof line, "waiting for process %ld on %s, which is compiling this model", process, host);
    wait_tell_if_long(wait, line);
}

enum cache_claim cache_claim(const struct cache *cache, const char key[SHA256_HEX], struct build_wait *wait,
                             struct cache_lock *lock, struct built *built)
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
            /* The entry may have appeared between the check and the lock. */
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
        idle_ms += poll_ms; /* counted, not measured: time during which we were stopped ourselves says nothing about others */
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
    /* If it was taken over, the lock with this name belongs to another process. */
    if (fstatat(cache->folder, lock->name, &about, AT_SYMLINK_NOFOLLOW) == 0 && about.st_ino == lock->inode)
        unlinkat(cache->folder, lock->name, 0);
}
