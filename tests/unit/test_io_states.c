/* Files of states: what was written last comes back to the bit; what is damaged, foreign or torn never does; two writers of one
 * file do no harm.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/random.h"
#include "io/journal/states.h"
#include "../journal_helpers.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { FIT = 7, MOST = 5000 };

struct place {
    char *journal, file[400];
    struct run_identity identity;
};

static struct place place_new(void)
{
    struct place place = {.journal = scratch_directory(), .identity = example_identity(2, 3)};
    snprintf(place.file, sizeof place.file, "%s/states/2-1.state", place.journal); /* fit 7 of 3 tasks each */
    return place;
}

static void place_free(struct place *place)
{
    struct error error;
    assert_int_equal(states_remove(place->journal, &error), STATUS_OK);
    remove_scratch(place->journal);
}

/* State i: its length and its bytes follow from i. */
static size_t payload(uint64_t i, unsigned char *bytes)
{
    size_t n = i % 5 == 0 ? 0 : (size_t)random_below(1, 2, i, MOST + 1);
    for (size_t k = 0; k < n; k++)
        bytes[k] = (unsigned char)random_bits(3, i, k);
    return n;
}

static enum status keep(const struct states_folder *folder, uint64_t i, bool *is_there)
{
    unsigned char bytes[STATES_HEAD + MOST];
    struct error error;
    size_t n = payload(i, bytes + STATES_HEAD);
    enum status status = states_write(folder, FIT, is_there, bytes, n, true, &error);
    assert_true(!status || strstr(error.message, "states/2-1."));
    return status;
}

/* As another process would. */
static void write_state(const struct place *place, uint64_t i)
{
    struct states_folder *folder = states_folder_new(place->journal, &place->identity);
    bool is_there = states_has(folder, FIT);
    assert_int_equal(keep(folder, i, &is_there), STATUS_OK);
    assert_true(is_there);
    states_folder_free(folder);
}

static bool has_state(const struct place *place, uint64_t i)
{
    unsigned char want[MOST];
    size_t n, n_want = payload(i, want);
    struct states_folder *folder = states_folder_new(place->journal, &place->identity);
    unsigned char *bytes = states_read(folder, FIT, &n);
    bool is_good = bytes && n == n_want && memcmp(bytes, want, n) == 0;
    assert_true(is_good || !bytes);
    free(bytes);
    states_folder_free(folder);
    return is_good;
}

static size_t read_file(const char *path, unsigned char **bytes)
{
    int file = open(path, O_RDONLY);
    struct stat found;
    assert_true(file >= 0 && fstat(file, &found) == 0);
    *bytes = malloc((size_t)found.st_size + 1);
    assert_int_equal(read(file, *bytes, (size_t)found.st_size), found.st_size);
    close(file);
    return (size_t)found.st_size;
}

static void write_file(const char *path, const unsigned char *bytes, size_t n)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, n), n);
    close(file);
}

static void the_last_state_comes_back(void **state)
{
    (void)state;
    struct place place = place_new();
    assert_int_not_equal(access(place.file, F_OK), 0); /* nothing to keep, no file */
    for (uint64_t i = 0; i < 30; i++) {
        write_state(&place, i);
        assert_true(has_state(&place, i));
    }
    struct states_folder *folder = states_folder_new(place.journal, &place.identity);
    size_t n;
    for (uint64_t fit = 0; fit < 20; fit++) {
        assert_int_equal(states_has(folder, fit), fit == FIT);
        unsigned char *bytes = states_read(folder, fit, &n);
        assert_true((bytes != NULL) == (fit == FIT));
        free(bytes);
    }
    states_drop(folder, FIT);
    states_drop(folder, FIT);
    assert_int_not_equal(access(place.file, F_OK), 0);
    states_folder_free(folder);
    place_free(&place);
}

/* Bits flipped, bytes set, pieces moved, the end cut off: has_state checks that what comes back is right. */
static void damage_never_gives_another_state(void **state)
{
    (void)state;
    struct place place = place_new();
    write_state(&place, 12);
    unsigned char *bytes;
    size_t n = read_file(place.file, &bytes);
    unsigned char *other = malloc(2 * n);
    uint64_t n_less = 0;
    for (uint64_t trial = 0; trial < 600; trial++) {
        size_t at = (size_t)random_below(9, trial, 0, n), from = (size_t)random_below(9, trial, 1, n), length = n;
        memcpy(other, bytes, n);
        switch (trial % 5) {
        case 0: other[at] ^= (unsigned char)(1u << (trial / 5 % 8)); break;
        case 1: memset(other + at, trial % 2 ? 255 : 0, n - at < 4 ? n - at : 4); break;
        case 2: memmove(other + at, bytes + from, n - (at > from ? at : from)); break;
        case 3: length = at; break;
        default: memmove(other + at, bytes + at + 1, --length - at); break;
        }
        write_file(place.file, other, length);
        n_less += !has_state(&place, 12);
        if (trial % 50 == 0) { /* and another one can be written */
            write_state(&place, 14);
            assert_true(has_state(&place, 14));
        }
    }
    assert_true(n_less > 580);
    write_file(place.file, bytes, n);
    memcpy(other, bytes, n);
    memcpy(other + n, bytes, n);
    write_file(place.file, other, 2 * n); /* what stands before the end is good */
    assert_true(has_state(&place, 12));
    free(other);
    free(bytes);
    place_free(&place);
}

static void another_run_or_fit_has_no_state_here(void **state)
{
    (void)state;
    struct place place = place_new();
    for (int what = 0; what < 6; what++) {
        struct run_identity mine = place.identity;
        write_state(&place, 1);
        switch (what) {
        case 0: place.identity.problem[31] ^= 1; break;
        case 1: place.identity.model[0] ^= 128; break;
        case 2: place.identity.options[5]++; break;
        case 3: place.identity.seed++; break;
        case 4: place.identity.n_dataset--; break;
        default: place.identity.n_parameter++; break;
        }
        assert_false(has_state(&place, 1));
        write_state(&place, 2); /* takes its place */
        assert_true(has_state(&place, 2));
        place.identity = mine;
        assert_false(has_state(&place, 2));
    }
    write_state(&place, 1);
    strcpy(place.identity.description, "the words do not count");
    assert_true(has_state(&place, 1));
    char moved[sizeof place.file];
    snprintf(moved, sizeof moved, "%s/states/2-0.state", place.journal);
    assert_int_equal(rename(place.file, moved), 0);
    struct states_folder *folder = states_folder_new(place.journal, &place.identity);
    size_t n;
    assert_true(states_has(folder, FIT - 1));
    assert_null(states_read(folder, FIT - 1, &n));
    states_folder_free(folder);
    place_free(&place);
}

/* Two processes that make the same fit, until one of them has ended it. */
static void two_writers_do_no_harm(void **state)
{
    (void)state;
    struct place place = place_new();
    struct states_folder *folder = states_folder_new(place.journal, &place.identity);
    bool one = false, two = false;
    for (uint64_t i = 0; i < 20; i++) {
        assert_int_equal(keep(folder, i, i % 3 ? &one : &two), STATUS_OK);
        assert_true(has_state(&place, i));
    }
    states_drop(folder, FIT);
    assert_int_equal(keep(folder, 20, &two), STATUS_OK); /* does not bring the file back */
    assert_false(two);
    assert_int_not_equal(access(place.file, F_OK), 0);
    states_folder_free(folder);
    place_free(&place);
}

static void odd_things_in_the_folder_are_left_alone(void **state)
{
    (void)state;
    static const char *const names[] = {"1-0.txt", "01-0.state", "1-0.state.state", "x-0.state", "1-9.state", "1-0.",
                                        "99999999999999999999-0.state", "-1-0.state", " 1-0.state", "1-+0.state", "1-0.007"};
    struct place place = place_new();
    struct error error;
    char path[500];
    write_state(&place, 3);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/states/%s", place.journal, names[i]);
        write_file(path, (const unsigned char *)"mine", 4);
    }
    struct states_folder *folder = states_folder_new(place.journal, &place.identity);
    assert_true(states_has(folder, FIT));
    states_folder_free(folder);
    assert_int_equal(states_remove(place.journal, &error), STATUS_SYSTEM);
    assert_non_null(strstr(error.message, "states"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/states/%s", place.journal, names[i]);
        assert_int_equal(unlink(path), 0);
    }
    snprintf(path, sizeof path, "%s/states/2-1.77", place.journal); /* left by a process that died while it wrote */
    write_file(path, (const unsigned char *)"STFJ and more", 13);
    place_free(&place);
}

/* A directory, a dangling link or a pipe in the file's place: no state is read, and there is no hang. The latter two are
 * replaced. */
static void what_is_no_file_is_not_read(void **state)
{
    (void)state;
    struct place place = place_new();
    char nowhere[400];
    snprintf(nowhere, sizeof nowhere, "%s/nowhere", place.journal);
    write_state(&place, 1);
    for (int what = 0; what < 3; what++) {
        unlink(place.file);
        assert_int_equal(what == 0   ? mkdir(place.file, 0777)
                         : what == 1 ? symlink(nowhere, place.file)
                                     : mkfifo(place.file, 0666), 0);
        struct states_folder *folder = states_folder_new(place.journal, &place.identity);
        bool is_there = states_has(folder, FIT);
        assert_false(has_state(&place, 1));
        assert_int_equal(keep(folder, 2, &is_there), what == 0 ? STATUS_SYSTEM : STATUS_OK);
        assert_int_equal(has_state(&place, 2), what > 0);
        assert_int_not_equal(access(nowhere, F_OK), 0);
        states_folder_free(folder);
        if (what == 0)
            assert_int_equal(rmdir(place.file), 0);
    }
    place_free(&place);
}

static void without_a_journal_nothing_is_kept_or_said(void **state)
{
    (void)state;
    struct place place = place_new();
    struct error error;
    bool is_there = false;
    struct states_folder *folder = states_folder_new("/proc/nonexistent/journal", &place.identity);
    assert_false(states_has(folder, 0));
    assert_int_equal(keep(folder, 0, &is_there), STATUS_OK);
    assert_false(is_there);
    assert_int_equal(states_remove("/proc/nonexistent/journal", &error), STATUS_OK);
    states_folder_free(folder);
    place_free(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_state_comes_back),
        cmocka_unit_test(damage_never_gives_another_state),
        cmocka_unit_test(another_run_or_fit_has_no_state_here),
        cmocka_unit_test(two_writers_do_no_harm),
        cmocka_unit_test(odd_things_in_the_folder_are_left_alone),
        cmocka_unit_test(what_is_no_file_is_not_read),
        cmocka_unit_test(without_a_journal_nothing_is_kept_or_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
