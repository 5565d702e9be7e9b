/* Entries of the compile cache: their paths, whether another user could have written them, and whether they are complete.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/build/cache.h"

#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The end of an entry, of fixed length: the lengths of plugin and description, and a hash of key, plugin and description. The
 * plugin comes first, so the loader accepts the file as it is. */
#define TRAILER "\nstiffit-model-1 %016zx %016zx %s\n"
enum { TRAILER_SIZE = 17 + 17 + 17 + 64 + 1, MAX_ENTRY = 300 << 20, STALE_AFTER_MS = 60000, DAY_S = 86400, KEPT_DAYS = 90 };

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
    wait_tell(wait, "note: %s is not used as compile cache: others than you could have written to it (to be mended by "
              "chmod 700, or by XDG_CACHE_HOME naming another place)", cache->path);
}

void cache_close(struct cache *cache)
{
    if (cache->folder >= 0)
        close(cache->folder);
    cache->folder = -1;
}

static void hash_entry(const char *key, const void *plugin, size_t n_plugin, const char *words, size_t n_word,
                       char hex[SHA256_HEX])
{
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;
    sha256_begin(&hash);
    sha256_add_string(&hash, key);
    sha256_add_uint64(&hash, n_plugin);
    sha256_add(&hash, plugin, n_plugin);
    sha256_add_uint64(&hash, n_word);
    sha256_add(&hash, words, n_word);
    sha256_end(&hash, digest);
    sha256_hex(digest, hex);
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
        ssize_t n = writes ? write(file, bytes + done, n_byte - done) : read(file, bytes + done, n_byte - done);
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
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && is_ours(&about) && about.st_size <= MAX_ENTRY &&
        (bytes = malloc((size_t)about.st_size + 1)) && move_all(file, bytes, (size_t)about.st_size, false))
        found = take_apart(bytes, (size_t)about.st_size, key, built);
    if (found && time(NULL) - about.st_mtime > DAY_S)
        futimens(file, NULL); /* still in use */
    if (!found)
        free(bytes);
    close(file);
    return found;
}

/* Removes entries that nobody has used for long, and files left by killed processes. Runs now and then: for some values of the
 * key, which is as good as random. */
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
        bool is_entry = n == 67 && !strcmp(entry->d_name + 64, ".so"), is_rest = n > 64 && !is_entry;
        struct stat about;
        if ((is_entry || is_rest) && fstatat(cache->folder, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(about.st_mode) && now - about.st_mtime > (is_entry ? KEPT_DAYS : 1) * DAY_S)
            unlinkat(cache->folder, entry->d_name, 0);
    }
    if (list)
        closedir(list);
}

bool cache_put(const struct cache *cache, const char key[SHA256_HEX], const struct built *built)
{
    char name[SHA256_HEX + 8], temporary[SHA256_HEX + 60], trailer[TRAILER_SIZE + 1], hex[SHA256_HEX];
    size_t n_word = built->compiler ? strlen(built->compiler) : 0;
    if (cache->folder < 0)
        return false;
    snprintf(name, sizeof name, "%s.so", key);
    snprintf(temporary, sizeof temporary, "%s.%lx-%llx.tmp", key, (unsigned long)getpid(), (unsigned long long)clock_now_ns());
    hash_entry(key, built->bytes, built->n_byte, built->compiler, n_word, hex);
    snprintf(trailer, sizeof trailer, TRAILER, built->n_byte, n_word, hex);
    int file = openat(cache->folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return false;
    /* No fsync: an entry torn by a power failure fails its checksum and is made again. Network file systems report a full disk
     * at close. */
    bool written = move_all(file, built->bytes, built->n_byte, true) &&
                   move_all(file, built->compiler, n_word, true) && move_all(file, trailer, TRAILER_SIZE, true);
    written = close(file) == 0 && written;
    if (written && renameat(cache->folder, temporary, cache->folder, name) == 0) {
        sweep(cache, key);
        return true;
    }
    unlinkat(cache->folder, temporary, 0);
    return false;
}
