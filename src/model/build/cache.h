/* The compile cache: plugins stored under the hash of everything they depend on, shared by
 * independent processes, perhaps on several machines with one home directory.
 *
 * A folder of files KEY.so, each written under another name and then renamed, each ending with a
 * checksum. The files contain native code that will be run, so a file that another user could
 * have written is ignored. A lock is a file KEY.lock, which its holder touches while it
 * compiles. Locks only save work: entries are correct without them.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "model/build/compile.h"

#include <limits.h>
#include <sys/types.h>

struct cache {
    int folder;           /* its descriptor; -1: no cache */
    char path[PATH_MAX];  /* for messages; also set without a cache, if the path is known */
    int stale_after_ms;   /* a lock without a sign of life for this long is taken over */
};

/* Opens $XDG_CACHE_HOME/stiffit/models or ~/.cache/stiffit/models, and makes it if needed. If it
 * cannot be used, the cache stays empty, and `wait` reports this if it matters. */
void cache_open(struct cache *cache, const struct build_wait *wait);
void cache_close(struct cache *cache);

/* Returns complete entries only. False: there is none that can be trusted. */
bool cache_get(const struct cache *cache, const char key[SHA256_HEX], struct built *built);
/* False: the entry could not be written, and nothing is left of it. */
bool cache_put(const struct cache *cache, const char key[SHA256_HEX], const struct built *built);

enum cache_claim {
    CACHE_HAS_IT,  /* the entry is there, in *built */
    CACHE_LOCKED,  /* we must make it, then call cache_unlock */
    CACHE_NO_LOCK, /* locks do not work here: make it without */
    CACHE_STOPPED  /* a signal asked us to stop */
};

struct cache_lock {
    int file; /* -1: none */
    char name[SHA256_HEX + 8];
    ino_t inode;
};

/* Waits until the entry exists or we may make it. */
enum cache_claim cache_claim(const struct cache *cache, const char key[SHA256_HEX],
                             struct build_wait *wait, struct cache_lock *lock, struct built *built);
/* A sign of life; call this at least every few seconds. */
void cache_touch(const struct cache_lock *lock);
void cache_unlock(const struct cache *cache, struct cache_lock *lock);
