/* From text to plugin while a call fails: the k-th allocation, opening, write, rename or start of a process, for all k until it
 * comes through; once as a passing fault and once as a lasting one. There is a plugin or an error in words, and nothing
 * stays behind. The calls are replaced by linking functions of their names here.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/build/build.h"
#include "plan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum call { NONE, ALLOCATE, OPENAT, WRITE, RENAMEAT, SPAWN, MKDTEMP, N_CALL };

static int refuse(int number)
{
    errno = number;
    return -1;
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return now(OPENAT) ? refuse(EDQUOT) : (int)syscall(SYS_openat, folder, path, flags, mode);
}

ssize_t write(int file, const void *bytes, size_t n)
{
    return now(WRITE) ? refuse(ENOSPC) : syscall(SYS_write, file, bytes, n);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    return now(RENAMEAT) ? refuse(EIO) : (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
}

extern char **environ;

/* What the real one does for us here. */
int posix_spawnp(pid_t *child, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const *arguments, char *const *environment)
{
    return now(SPAWN) ? EAGAIN : posix_spawn(child, file, actions, attributes, arguments, environment);
}

char *mkdtemp(char *template)
{
    static int number;
    if (now(MKDTEMP)) {
        errno = EACCES;
        return NULL;
    }
    sprintf(template + strlen(template) - 6, "%06d", number++);
    return mkdir(template, 0700) ? NULL : template;
}

#include "failing_allocation.h"

static const char text[] = "parameter k = 1\nobserve y = k*t\n";

struct place {
    char root[60], tmp[80], cache[120], cc[80];
};

/* Entries of a folder, of which `n_entry` are plugins. */
static size_t count_files(const char *folder, size_t *n_entry)
{
    DIR *list = opendir(folder);
    size_t n = 0;
    *n_entry = 0;
    for (struct dirent *entry; list && (entry = readdir(list));) {
        size_t length = strlen(entry->d_name);
        n += entry->d_name[0] != '.';
        *n_entry += length > 3 && !strcmp(entry->d_name + length - 3, ".so");
    }
    if (list)
        closedir(list);
    return n;
}

static void empty_cache(const struct place *place)
{
    char command[200];
    snprintf(command, sizeof command, "rm -rf %s/stiffit", place->root);
    assert_int_equal(system(command), 0);
}

static int setup(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    char self[4096];
    if (!place)
        return -1;
    snprintf(place->root, sizeof place->root, "/tmp/stiffit-build-calls-%ld", (long)getpid());
    snprintf(place->tmp, sizeof place->tmp, "%s/tmp", place->root);
    snprintf(place->cache, sizeof place->cache, "%s/stiffit/models", place->root);
    snprintf(place->cc, sizeof place->cc, "%s/cc", place->root);
    if (mkdir(place->root, 0700) || mkdir(place->tmp, 0700))
        return -1;
    FILE *file = fopen(place->cc, "w");
    if (!file)
        return -1;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    fprintf(file, "#!/bin/sh\ncase \"$*\" in *--version*) echo stand-in; exit 0;; esac\n"
            "while [ \"$1\" != -o ]; do shift; done; exec cp '%s/../../models/decay.so' \"$2\"\n", dirname(self));
    fclose(file);
    setenv("CC", place->cc, 1);
    setenv("TMPDIR", place->tmp, 1);
    setenv("XDG_CACHE_HOME", place->root, 1);
    *state = place;
    return chmod(place->cc, 0700);
}

static int teardown(void **state)
{
    struct place *place = *state;
    char command[200];
    snprintf(command, sizeof command, "rm -rf %s", place->root);
    free(place);
    return system(command);
}

/* Whether it came through without meeting the fault. */
static bool build_with(const struct place *place, enum call call, long k, bool lasting)
{
    struct built built;
    struct error error = {.message = ""};
    size_t n_entry;
    empty_cache(place);
    long before = n_alive;
    plan = (struct plan){.call = call, .countdown = k, .lasting = lasting};
    enum status status = build_model(text, strlen(text), "m.ode", NULL, &built, NULL, &error);
    bool met = plan.met;
    plan.call = NONE;
    if (status == STATUS_OK)
        assert_true(built.n_byte > 1000 && !memcmp(built.bytes, "\177ELF", 4));
    else if (!met || !error.message[0] || error.status != status || status == STATUS_INTERNAL || status == STATUS_STOPPED)
        fail_msg("call %d, %ld: status %d, '%s'", (int)call, k, (int)status, error.message);
    /* Whatever happens in the cache is no reason not to have a plugin. */
    if (call == OPENAT || call == WRITE || call == RENAMEAT)
        assert_int_equal(status, STATUS_OK);
    /* The second process only asks the compiler for its name. */
    if (call == SPAWN || call == MKDTEMP)
        assert_int_equal(status == STATUS_OK, k > 0);
    built_fini(&built);
    long alive = n_alive - before;
    size_t n_left = count_files(place->tmp, &n_entry), n = count_files(place->cache, &n_entry);
    if (alive != 0 || n_left != 0)
        fail_msg("call %d, %ld: status %d; %ld pieces of memory, %zu files are left", (int)call, k, (int)status, alive, n_left);
    assert_int_equal(n, n_entry); /* no lock, no half of anything */
    assert_true(n <= 1 && (met || n == 1));
    return !met;
}

static void every_call_may_fail(void **state)
{
    const struct place *place = *state;
    static const long most = 100000;
    assert_true(build_with(place, NONE, 0, false)); /* what the C library keeps for itself it has now */
    for (int call = NONE + 1; call < N_CALL; call++)
        for (int lasting = 0; lasting < 2; lasting++) {
            long k = 0;
            while (k < most && !build_with(place, (enum call)call, k, lasting))
                k++;
            print_message("call %d, %s: %ld places\n", call, lasting ? "lasting" : "passing", k);
            assert_true(k < most);
#if !REPLACES_MALLOC
            if (call == ALLOCATE)
                continue;
#endif
            assert_true(k > 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(every_call_may_fail, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
