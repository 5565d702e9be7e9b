/* The compile cache: plugins by the hash of all that they depend on, shared by processes that know nothing of each
 * other, perhaps on several machines with one home directory.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A folder of files KEY.so, each written under another name and renamed, each with a checksum at its end. It is native
 * code that will be run: so nothing is believed that any other user could have written. A lock is a file KEY.lock that
 * its holder touches while it compiles; locks only save work, and an entry is whole whatever becomes of them. */
#ifndef MODEL_BUILD_CACHE_H
#define MODEL_BUILD_CACHE_H

#include "model/build/compile.h"

#include <limits.h>
#include <sys/types.h>

struct cache {
    int folder;           /* its descriptor; -1: there is no cache */
    char path[PATH_MAX];  /* for messages; also where there is none, if it is known */
    int stale_after_ms;   /* a lock without a sign of life for so long is taken over */
};

/* $XDG_CACHE_HOME/stiffit/models or ~/.cache/stiffit/models, made if it is not there. Where it cannot be used, `cache`
 * is one that never has anything; if that is worth a word, `wait` tells it. */
void cache_open(struct cache *cache, const struct build_wait *wait);
void cache_close(struct cache *cache);

/* Whole entries only. False: there is none that may be believed. */
bool cache_get(const struct cache *cache, const char key[SHA256_HEX], struct built *built);
/* False: it could not be written, and nothing is left of it. */
bool cache_put(const struct cache *cache, const char key[SHA256_HEX], const struct built *built);

enum cache_claim {
    CACHE_HAS_IT,  /* the entry is there, in *built */
    CACHE_LOCKED,  /* it is ours to be made, then cache_unlock */
    CACHE_NO_LOCK, /* locks cannot be had here: to be made without */
    CACHE_STOPPED  /* somebody has asked us to stop */
};

struct cache_lock {
    int file; /* -1: none */
    char name[SHA256_HEX + 8];
    ino_t inode;
};

/* Waits until the entry is there or may be made by us. */
enum cache_claim cache_claim(const struct cache *cache, const char key[SHA256_HEX], struct build_wait *wait,
                             struct cache_lock *lock, struct built *built);
/* The sign of life; to be called at least every few seconds. */
void cache_touch(const struct cache_lock *lock);
void cache_unlock(const struct cache *cache, struct cache_lock *lock);

#endif
