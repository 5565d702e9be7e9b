/* The compile cache: whole entries or none, nothing that others could have written, and one maker among many processes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model_case.h"

#include "model/build/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static const char key[SHA256_HEX] = "123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0";
static const char other_key[SHA256_HEX] = "023456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0";
enum { NOBODY = 65534 };

struct place {
    char root[100], folder[CASE_PATH], entry[2 * CASE_PATH], lock[2 * CASE_PATH], log[2 * CASE_PATH];
    struct cache cache;
    struct build_wait wait;
    char told[1000];
};

static void hear(void *context, const char *line)
{
    struct place *place = context;
    snprintf(place->told, sizeof place->told, "%s", line);
}

static void reopen(struct place *place)
{
    cache_close(&place->cache);
    place->told[0] = '\0';
    cache_open(&place->cache, &place->wait);
}

static int setup(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    if (!place)
        return -1;
    strcpy(place->root, "/tmp/stiffit-cache-test-XXXXXX");
    if (!mkdtemp(place->root) || chmod(place->root, 0755))
        return -1;
    setenv("XDG_CACHE_HOME", place->root, 1);
    snprintf(place->folder, sizeof place->folder, "%s/stiffit/models", place->root);
    snprintf(place->entry, sizeof place->entry, "%s/%s.so", place->folder, key);
    snprintf(place->lock, sizeof place->lock, "%s/%s.lock", place->folder, key);
    snprintf(place->log, sizeof place->log, "%s/log", place->root);
    const struct build_listener listener = {.tell = hear, .context = place};
    wait_begin(&place->wait, &listener);
    place->cache.folder = -1;
    reopen(place);
    *state = place;
    return 0;
}

static int teardown(void **state)
{
    struct place *place = *state;
    char command[300];
    cache_close(&place->cache);
    wait_end(&place->wait);
    snprintf(command, sizeof command, "chmod -R u+rwx %s; rm -rf %s", place->root, place->root);
    int code = system(command);
    free(place);
    return code;
}

static bool put(const struct place *place)
{
    const struct built built = {.bytes = (void *)(uintptr_t)"a plugin", .n_byte = 8,
                                .compiler = (char *)(uintptr_t)"cc 1: cc -O3"};
    return cache_put(&place->cache, key, &built);
}

static bool has(const struct place *place, const char *which)
{
    struct built built;
    if (!cache_get(&place->cache, which, &built))
        return false;
    assert_int_equal(built.n_byte, 8);
    assert_memory_equal(built.bytes, "a plugin", 8);
    assert_string_equal(built.compiler, "cc 1: cc -O3");
    assert_true(built.from_cache);
    built_fini(&built);
    return true;
}

static size_t count_entries(const char *folder)
{
    DIR *list = opendir(folder);
    assert_non_null(list);
    size_t n = 0;
    for (struct dirent *entry; (entry = readdir(list));)
        n += entry->d_name[0] != '.';
    closedir(list);
    return n;
}

static size_t read_entry(const struct place *place, char *bytes, size_t size)
{
    FILE *file = fopen(place->entry, "rb");
    assert_non_null(file);
    size_t n = fread(bytes, 1, size, file);
    fclose(file);
    return n;
}

static void write_entry(const char *path, const char *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0600), 0);
}

static void entries_come_back(void **state)
{
    struct place *place = *state;
    struct stat about;
    char renamed[2 * CASE_PATH];
    assert_true(place->cache.folder >= 0);
    assert_string_equal(place->cache.path, place->folder);
    assert_int_equal(stat(place->folder, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0700);
    assert_false(has(place, key));
    assert_true(put(place));
    assert_true(has(place, key));
    assert_true(put(place)); /* again: replaced */
    assert_true(has(place, key));
    assert_false(has(place, other_key));
    assert_int_equal(count_entries(place->folder), 1);
    snprintf(renamed, sizeof renamed, "%s/%s.so", place->folder, other_key);
    assert_int_equal(rename(place->entry, renamed), 0);
    assert_false(has(place, other_key)); /* the hash covers the key */
}

static void damaged_entries_are_not_believed(void **state)
{
    struct place *place = *state;
    char bytes[500];
    assert_true(put(place));
    size_t n = read_entry(place, bytes, sizeof bytes);
    assert_int_equal(n, 8 + 12 + 116);
    for (size_t length = 0; length < n; length++) {
        write_entry(place->entry, bytes, length);
        assert_false(has(place, key));
    }
    for (size_t i = 0; i < n; i++) {
        bytes[i] ^= 1;
        write_entry(place->entry, bytes, n);
        if (has(place, key))
            fail_msg("byte %zu changed and nobody saw it", i);
        bytes[i] ^= 1;
    }
    write_entry(place->entry, bytes, n);
    assert_true(has(place, key));
    memset(bytes, 0, sizeof bytes); /* as a power failure leaves them */
    write_entry(place->entry, bytes, n);
    assert_false(has(place, key));
    assert_true(put(place));
    assert_true(has(place, key));
}

static void hostile_entries_are_not_believed(void **state)
{
    struct place *place = *state;
    char bytes[500], aside[CASE_PATH];
    assert_true(put(place));
    size_t n = read_entry(place, bytes, sizeof bytes);
    assert_int_equal(chmod(place->entry, 0620), 0);
    assert_false(has(place, key));
    assert_int_equal(chmod(place->entry, 0602), 0);
    assert_false(has(place, key));
    assert_int_equal(chmod(place->entry, 0600), 0);
    assert_true(has(place, key));
    snprintf(aside, sizeof aside, "%s/elsewhere", place->root);
    write_entry(aside, bytes, n);
    unlink(place->entry);
    assert_int_equal(symlink(aside, place->entry), 0);
    assert_false(has(place, key));
    unlink(place->entry);
    assert_int_equal(mkfifo(place->entry, 0600), 0); /* must not be waited for */
    assert_false(has(place, key));
    unlink(place->entry);
    assert_int_equal(mkdir(place->entry, 0700), 0);
    assert_false(has(place, key));
    assert_false(put(place));
    rmdir(place->entry);
    assert_true(put(place));
    if (geteuid() == 0) {
        assert_int_equal(chown(place->entry, NOBODY, NOBODY), 0);
        assert_false(has(place, key));
        assert_true(put(place)); /* the folder is ours: theirs is replaced */
        assert_true(has(place, key));
    }
}

static void folders_of_others_are_not_used(void **state)
{
    struct place *place = *state;
    assert_true(put(place));
    static const mode_t modes[] = {0770, 0707, 01777};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(chmod(place->folder, modes[i]), 0);
        reopen(place);
        assert_true(place->cache.folder < 0);
        assert_non_null(strstr(place->told, place->folder));
        assert_false(has(place, key));
        assert_false(put(place));
    }
    assert_int_equal(chmod(place->folder, 0755), 0);
    reopen(place);
    assert_true(has(place, key));
    if (geteuid() == 0) {
        assert_int_equal(chown(place->folder, NOBODY, NOBODY), 0);
        reopen(place);
        assert_true(place->cache.folder < 0);
        assert_true(place->told[0] != '\0');
        assert_int_equal(chown(place->folder, 0, 0), 0);
    }
    setenv("XDG_CACHE_HOME", "build/tests/relative", 1);
    char *home = strdup(getenv("HOME") ? getenv("HOME") : "/");
    setenv("HOME", place->root, 1);
    reopen(place);
    assert_non_null(strstr(place->cache.path, "/.cache/stiffit/models"));
    assert_true(put(place));
    unsetenv("HOME");
    reopen(place);
    assert_true(place->cache.folder < 0);
    assert_true(place->told[0] == '\0'); /* nothing to be mended */
    assert_int_not_equal(access("build/tests/relative", F_OK), 0);
    setenv("HOME", home, 1);
    free(home);
}

/* Root may write anywhere, so it becomes somebody else for a moment. */
static void read_only_folders_are_read(void **state)
{
    struct place *place = *state;
    struct cache_lock lock;
    struct built built;
    bool root = geteuid() == 0;
    assert_true(put(place));
    if (root) {
        assert_int_equal(chown(place->folder, NOBODY, NOBODY), 0);
        assert_int_equal(chown(place->entry, NOBODY, NOBODY), 0);
    }
    char parent[CASE_PATH];
    snprintf(parent, sizeof parent, "%s/stiffit", place->root);
    assert_int_equal(chmod(parent, 0755), 0);
    assert_int_equal(chmod(place->folder, 0500), 0);
    if (root)
        assert_int_equal(seteuid(NOBODY), 0);
    reopen(place);
    bool usable = place->cache.folder >= 0, found = has(place, key), written = put(place);
    enum cache_claim there = cache_claim(&place->cache, key, &place->wait, &lock, &built);
    built_fini(&built);
    enum cache_claim other = cache_claim(&place->cache, other_key, &place->wait, &lock, &built);
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_true(usable);
    assert_true(found);
    assert_false(written);
    assert_int_equal(there, CACHE_HAS_IT);
    assert_int_equal(other, CACHE_NO_LOCK);
}

static void a_full_disk_leaves_nothing(void **state)
{
    struct place *place = *state;
    struct rlimit before, few = {.rlim_cur = 50};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    few.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    bool written = put(place);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_false(written);
    assert_int_equal(count_entries(place->folder), 0);
    assert_true(put(place));
}

/* What a process does that needs the entry; making it takes `ms` and leaves a line in the log. */
static bool obtain(struct place *place, int ms)
{
    struct cache_lock lock;
    struct built built;
    enum cache_claim claim = cache_claim(&place->cache, key, &place->wait, &lock, &built);
    built_fini(&built);
    if (claim == CACHE_LOCKED) {
        int log = open(place->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
        bool logged = write(log, "x", 1) == 1;
        close(log);
        for (; ms > 0; ms -= 50) {
            wait_ms(&place->wait, 50);
            cache_touch(&lock);
        }
        bool done = put(place) && logged;
        cache_unlock(&place->cache, &lock);
        return done;
    }
    return claim == CACHE_HAS_IT && has(place, key);
}

static off_t n_made(const struct place *place)
{
    struct stat about;
    return stat(place->log, &about) == 0 ? about.st_size : 0;
}

static void start_many(struct place *place, int n, int ms)
{
    enum { MOST = 100 };
    pid_t child[MOST];
    assert_true(n <= MOST);
    for (int i = 0; i < n; i++)
        if ((child[i] = fork()) == 0)
            _exit(obtain(place, ms) ? 0 : 1);
    for (int i = 0; i < n; i++) {
        int how = -1;
        assert_true(child[i] > 0);
        while (waitpid(child[i], &how, 0) < 0)
            assert_int_equal(errno, EINTR);
        assert_int_equal(how, 0);
    }
}

static void one_of_a_hundred_makes_it(void **state)
{
    struct place *place = *state;
    start_many(place, 100, 400);
    assert_int_equal(n_made(place), 1);
    assert_int_equal(count_entries(place->folder), 1); /* no lock is left */
    start_many(place, 10, 400);
    assert_int_equal(n_made(place), 1);
}

static void write_lock(const struct place *place, const char *holder) { write_entry(place->lock, holder, strlen(holder)); }

static void the_dead_are_not_waited_for(void **state)
{
    struct place *place = *state;
    struct cache_lock lock;
    struct built built;
    int how;
    pid_t child = fork();
    if (child == 0) {
        cache_claim(&place->cache, key, &place->wait, &lock, &built);
        kill(getpid(), SIGKILL);
    }
    siginfo_t end;
    assert_int_equal(waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT), 0); /* dead, and still there */
    assert_int_equal(access(place->lock, F_OK), 0);
    char holder[500] = "";
    FILE *file = fopen(place->lock, "r");
    assert_non_null(file);
    assert_non_null(fgets(holder, sizeof holder, file));
    fclose(file);
    place->cache.stale_after_ms = 3600 * 1000; /* would be waited for here if it were taken for alive */
    assert_int_equal(cache_claim(&place->cache, key, &place->wait, &lock, &built), CACHE_LOCKED);
    cache_unlock(&place->cache, &lock);
    write_lock(place, holder); /* and one that has really gone */
    assert_int_equal(waitpid(child, &how, 0), child);
    start_many(place, 20, 200);
    assert_in_range(n_made(place), 1, 2); /* two: a lock that is taken away anew in the moment of the takeover */
    assert_int_equal(count_entries(place->folder), 1);
}

static void silent_holders_elsewhere_are_taken_over(void **state)
{
    static const char *const holders[] = {"another-host pid:[1] 17 23\n", "", "\xff\xfe not what we write"};
    struct place *place = *state;
    for (size_t i = 0; i < sizeof holders / sizeof *holders; i++) {
        struct cache_lock lock;
        struct built built;
        write_lock(place, holders[i]);
        place->cache.stale_after_ms = 300;
        assert_int_equal(cache_claim(&place->cache, key, &place->wait, &lock, &built), CACHE_LOCKED);
        assert_int_equal(count_entries(place->folder), 1);
        cache_unlock(&place->cache, &lock);
        assert_int_equal(count_entries(place->folder), 0);
    }
}

/* A process elsewhere that touches its lock for longer than the limit, and then is done. */
static void the_living_are_waited_for(void **state)
{
    struct place *place = *state;
    struct cache_lock lock;
    struct built built;
    write_lock(place, "another-host pid:[1] 17 23\n");
    place->cache.stale_after_ms = 1500;
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 40; i++) {
            nanosleep(&(struct timespec){.tv_nsec = 100 * 1000000}, NULL);
            utimensat(AT_FDCWD, place->lock, NULL, 0);
        }
        bool done = put(place);
        unlink(place->lock);
        _exit(!done);
    }
    assert_int_equal(cache_claim(&place->cache, key, &place->wait, &lock, &built), CACHE_HAS_IT);
    built_fini(&built);
    assert_non_null(strstr(place->told, "waiting for process 17 on another-host"));
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
}

static void a_lock_that_was_lost_is_not_removed(void **state)
{
    struct place *place = *state;
    struct cache_lock lock;
    struct built built;
    assert_int_equal(cache_claim(&place->cache, key, &place->wait, &lock, &built), CACHE_LOCKED);
    char aside[3 * CASE_PATH];
    snprintf(aside, sizeof aside, "%s.aside", place->lock);
    assert_int_equal(rename(place->lock, aside), 0);
    write_lock(place, "another-host pid:[1] 17 23\n");
    cache_touch(&lock);
    cache_unlock(&place->cache, &lock);
    assert_int_equal(access(place->lock, F_OK), 0);
}

static volatile sig_atomic_t n_signal;
static void on_signal(int number) { (void)number, n_signal++; }

static void a_stop_ends_the_wait(void **state)
{
    struct place *place = *state;
    struct cache_lock lock;
    struct built built;
    wait_end(&place->wait);
    signal(SIGTERM, on_signal);
    wait_begin(&place->wait, NULL);
    write_lock(place, "another-host pid:[1] 17 23\n");
    raise(SIGTERM); /* blocked so far */
    assert_int_equal(n_signal, 0);
    assert_int_equal(cache_claim(&place->cache, key, &place->wait, &lock, &built), CACHE_STOPPED);
    assert_int_equal(access(place->lock, F_OK), 0);
    wait_end(&place->wait);
    assert_int_equal(n_signal, 1);
    signal(SIGTERM, SIG_DFL);
    wait_begin(&place->wait, NULL);
}

static void set_age(const char *path, int days)
{
    struct timespec times[2] = {{.tv_sec = time(NULL) - days * 86400}};
    times[1] = times[0];
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void old_entries_go(void **state)
{
    static const char *const names[] = {"a.so", "b.so", "c.lock", "d.12-34.tmp"}; /* after 63 digits */
    static const int days[] = {91, 89, 2, 2};
    struct place *place = *state;
    char path[2 * CASE_PATH];
    const struct built built = {.bytes = (void *)(uintptr_t)"a plugin", .n_byte = 8, .compiler = (char *)(uintptr_t)"cc"};
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%.63s%s", place->folder, key, names[i]);
        write_entry(path, "x", 1);
        set_age(path, days[i]);
    }
    snprintf(path, sizeof path, "%s/README", place->folder); /* not ours */
    write_entry(path, "x", 1);
    set_age(path, 1000);
    assert_true(put(place));
    assert_int_equal(count_entries(place->folder), 6); /* this key does not sweep */
    set_age(place->entry, 80);
    assert_true(has(place, key)); /* and so it is young again */
    struct stat about;
    assert_int_equal(stat(place->entry, &about), 0);
    assert_true(time(NULL) - about.st_mtime < 86400);
    assert_true(cache_put(&place->cache, other_key, &built));
    assert_int_equal(count_entries(place->folder), 4); /* both entries, the younger one, README */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(entries_come_back), TEST(damaged_entries_are_not_believed), TEST(hostile_entries_are_not_believed),
        TEST(folders_of_others_are_not_used), TEST(read_only_folders_are_read), TEST(a_full_disk_leaves_nothing),
        TEST(one_of_a_hundred_makes_it), TEST(the_dead_are_not_waited_for), TEST(silent_holders_elsewhere_are_taken_over),
        TEST(the_living_are_waited_for), TEST(a_lock_that_was_lost_is_not_removed), TEST(a_stop_ends_the_wait),
        TEST(old_entries_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
