/* Files of answers: what is kept comes back to the bit and in order, what is damaged, foreign or torn never does, and what
 * stands before it is good; two writers of one file do no harm.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/random.h"
#include "io/journal/answers.h"
#include "../journal_helpers.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { FIT = 7, MAX_PAYLOAD = 5000, HEADER = 60, FRAME = 16 };

struct place {
    char *journal, file[400];
    struct run_identity identity;
};

static struct place place_new(void)
{
    struct place place = {.journal = scratch_directory(), .identity = example_identity(2, 3)};
    snprintf(place.file, sizeof place.file, "%s/answers/2-1.log", place.journal); /* fit 7 of 3 tasks each */
    return place;
}

static void place_free(struct place *place)
{
    struct error error;
    assert_int_equal(answers_remove(place->journal, &error), STATUS_OK);
    remove_scratch(place->journal);
}

/* Answer i: its length and its bytes follow from i. */
static size_t payload(uint64_t i, unsigned char *bytes)
{
    size_t n = i % 5 == 0 ? 0 : (size_t)random_below(1, 2, i, MAX_PAYLOAD + 1);
    for (size_t k = 0; k < n; k++)
        bytes[k] = (unsigned char)random_bits(3, i, k);
    return n;
}

/* Reads what is good, up to `most`; the answers are left at the end of it. */
static uint64_t read_good(struct answers *answers, const struct answers_folder *folder, uint64_t most)
{
    unsigned char want[MAX_PAYLOAD];
    const unsigned char *bytes;
    uint64_t i = 0;
    size_t n;
    answers_begin(answers, folder, FIT, MAX_PAYLOAD);
    while (i < most && (bytes = answers_next(answers, &n))) {
        assert_int_equal(n, payload(i, want));
        assert_memory_equal(bytes, want, n);
        i++;
    }
    return i;
}

static void add(struct answers *answers, uint64_t i)
{
    unsigned char bytes[MAX_PAYLOAD];
    size_t n = payload(i, bytes);
    unsigned char *room = answers_add(answers, n);
    assert_non_null(room);
    memcpy(room, bytes, n);
}

static void flush(struct answers *answers)
{
    struct error error;
    assert_int_equal(answers_flush(answers, &error), STATUS_OK);
    assert_int_equal(answers_pending(answers), 0);
}

/* As another process would: goes on behind what is good, in pieces of 7 answers. */
static uint64_t go_on(const struct place *place, uint64_t end)
{
    struct answers answers = {0};
    struct answers_folder *folder = answers_folder_new(place->journal, &place->identity);
    assert_non_null(folder);
    uint64_t n_good = read_good(&answers, folder, UINT64_MAX);
    for (uint64_t i = n_good; i < end; i++) {
        add(&answers, i);
        if (i % 7 == 6)
            flush(&answers);
    }
    flush(&answers);
    answers_fini(&answers);
    answers_folder_free(folder);
    return n_good;
}

static uint64_t count_good(const struct place *place)
{
    struct answers answers = {0};
    struct answers_folder *folder = answers_folder_new(place->journal, &place->identity);
    uint64_t n = read_good(&answers, folder, UINT64_MAX);
    answers_fini(&answers);
    answers_folder_free(folder);
    return n;
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

static void answers_come_back_across_processes(void **state)
{
    (void)state;
    struct place place = place_new();
    assert_int_equal(go_on(&place, 0), 0);
    assert_int_not_equal(access(place.file, F_OK), 0); /* nothing to keep, no file */
    for (uint64_t n = 0; n < 200; n += 23)
        assert_int_equal(go_on(&place, n + 23), n);
    place_free(&place);
}

static void other_fits_have_other_files(void **state)
{
    (void)state;
    struct place place = place_new();
    struct answers answers = {0};
    size_t n;
    go_on(&place, 9);
    struct answers_folder *folder = answers_folder_new(place.journal, &place.identity);
    assert_int_equal(answers_folder_n(folder), 1);
    for (uint64_t fit = 0; fit < 20; fit++) {
        answers_begin(&answers, folder, fit, MAX_PAYLOAD);
        assert_true((answers_next(&answers, &n) != NULL) == (fit == FIT));
    }
    answers_begin(&answers, NULL, FIT, MAX_PAYLOAD);
    assert_null(answers_next(&answers, &n));
    assert_null(answers_add(&answers, 1));
    assert_int_equal(answers_pending(&answers), 0);
    answers_drop(&answers);
    assert_int_equal(access(place.file, F_OK), 0);
    answers_fini(&answers);
    answers_folder_free(folder);
    place_free(&place);
}

static void a_refused_answer_and_those_behind_it_are_replaced(void **state)
{
    (void)state;
    struct place place = place_new();
    struct answers answers = {0};
    go_on(&place, 30);
    struct answers_folder *folder = answers_folder_new(place.journal, &place.identity);
    assert_int_equal(read_good(&answers, folder, 12), 12);
    answers_refuse(&answers); /* the one that was given last: number 11 */
    size_t n;
    assert_null(answers_next(&answers, &n));
    unsigned char *room = answers_add(&answers, 3);
    memcpy(room, "new", 3);
    flush(&answers);
    answers_begin(&answers, folder, FIT, MAX_PAYLOAD);
    for (int i = 0; i < 11; i++)
        assert_non_null(answers_next(&answers, &n));
    const unsigned char *bytes = answers_next(&answers, &n);
    assert_int_equal(n, 3);
    assert_memory_equal(bytes, "new", 3);
    assert_null(answers_next(&answers, &n));
    answers_fini(&answers);
    answers_folder_free(folder);
    place_free(&place);
}

/* Every length: what is whole comes back, and what is added goes behind it. */
static void a_torn_end_is_cut_off(void **state)
{
    (void)state;
    struct place place = place_new();
    go_on(&place, 6);
    unsigned char *bytes;
    size_t n = read_file(place.file, &bytes), end[7] = {HEADER}, n_whole;
    for (int i = 0; i < 6; i++) {
        unsigned char scratch[MAX_PAYLOAD];
        end[i + 1] = end[i] + FRAME + payload((uint64_t)i, scratch);
    }
    assert_int_equal(end[6], n);
    for (size_t cut = 0; cut <= n; cut += cut < 100 || n - cut < 40 ? 1 : 37) {
        write_file(place.file, bytes, cut);
        for (n_whole = 0; n_whole < 6 && end[n_whole + 1] <= cut; n_whole++)
            ;
        assert_int_equal(go_on(&place, 8), n_whole);
        assert_int_equal(count_good(&place), 8);
    }
    free(bytes);
    place_free(&place);
}

/* Bits flipped, bytes set, pieces moved: read_good checks that what comes back is right, whatever comes back. */
static void damage_never_gives_wrong_answers(void **state)
{
    (void)state;
    struct place place = place_new();
    go_on(&place, 12);
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
        case 3: memcpy(other + n, bytes + from, n - from); length = 2 * n - from; break; /* a piece again at the end */
        default: memmove(other + at, bytes + at + 1, --length - at); break;
        }
        write_file(place.file, other, length);
        n_less += count_good(&place) < 12;
        if (trial % 50 == 0) { /* and it can be gone on with */
            go_on(&place, 14);
            assert_int_equal(count_good(&place), 14);
        }
    }
    assert_true(n_less > 350); /* nearly all damage hits something that counts, but for case 3 */
    free(other);
    free(bytes);
    place_free(&place);
}

static void another_run_or_fit_has_no_answers_here(void **state)
{
    (void)state;
    struct place place = place_new();
    for (int what = 0; what < 6; what++) {
        struct run_identity mine = place.identity;
        go_on(&place, 5);
        assert_int_equal(count_good(&place), 5);
        switch (what) {
        case 0: place.identity.problem[31] ^= 1; break;
        case 1: place.identity.model[0] ^= 128; break;
        case 2: place.identity.options[5]++; break;
        case 3: place.identity.seed++; break;
        case 4: place.identity.n_dataset--; break;
        default: place.identity.n_parameter++; break;
        }
        assert_int_equal(count_good(&place), 0);
        assert_int_equal(go_on(&place, 4), 0); /* takes its place */
        assert_int_equal(count_good(&place), 4);
        place.identity = mine;
        assert_int_equal(count_good(&place), 0);
    }
    strcpy(place.identity.description, "the words do not count");
    assert_int_equal(go_on(&place, 3), 0);
    place.identity.description[0] = 'T';
    assert_int_equal(count_good(&place), 3);
    char moved[sizeof place.file];
    snprintf(moved, sizeof moved, "%s/answers/2-0.log", place.journal);
    assert_int_equal(rename(place.file, moved), 0);
    struct answers answers = {0};
    struct answers_folder *folder = answers_folder_new(place.journal, &place.identity);
    size_t n;
    answers_begin(&answers, folder, FIT - 1, MAX_PAYLOAD);
    assert_null(answers_next(&answers, &n));
    answers_fini(&answers);
    answers_folder_free(folder);
    place_free(&place);
}

/* Two processes that make the same fit: both append, in whatever order. */
static void two_writers_do_no_harm(void **state)
{
    (void)state;
    struct place place = place_new();
    go_on(&place, 4);
    struct answers_folder *folder = answers_folder_new(place.journal, &place.identity);
    struct answers one = {0}, two = {0};
    assert_int_equal(read_good(&one, folder, UINT64_MAX), 4);
    assert_int_equal(read_good(&two, folder, UINT64_MAX), 4);
    for (uint64_t i = 4, j = 4; i < 60; i++) {
        add(&one, i);
        if (i % 3 == 0)
            flush(&one);
        for (; j < i && i % 7 == 0; j++)
            add(&two, j);
        if (i % 14 == 0)
            flush(&two);
    }
    flush(&one);
    flush(&two);
    uint64_t n_good = count_good(&place);
    assert_true(n_good >= 57);
    assert_int_equal(go_on(&place, 80), n_good); /* a third one cuts off nothing that it has read */
    assert_int_equal(count_good(&place), 80);
    answers_drop(&one); /* it has ended there */
    add(&two, 58);
    flush(&two); /* does not bring the file back */
    assert_int_not_equal(access(place.file, F_OK), 0);
    assert_null(answers_add(&two, 1));
    answers_fini(&one);
    answers_fini(&two);
    answers_folder_free(folder);
    place_free(&place);
}

static void what_grows_too_large_goes(void **state)
{
    (void)state;
    struct place place = place_new();
    struct answers answers = {0};
    struct answers_folder *folder = answers_folder_new(place.journal, &place.identity);
    answers_begin(&answers, folder, FIT, 10000000);
    assert_null(answers_add(&answers, 10000001)); /* more than was said */
    answers_begin(&answers, folder, FIT, 10000000);
    int n = 0;
    for (unsigned char *room; n < 20 && (room = answers_add(&answers, 10000000)); n++) {
        memset(room, n, 10000000);
        flush(&answers);
    }
    assert_int_equal(n, ANSWERS_LIMIT / 10000000 + 1);
    assert_int_not_equal(access(place.file, F_OK), 0);
    answers_fini(&answers);
    answers_folder_free(folder);
    place_free(&place);
}

static void odd_things_in_the_folder_are_left_alone(void **state)
{
    (void)state;
    static const char *const names[] = {"1-0.txt", "01-0.log", "1-0.log.log", "x-0.log", "1-9.log",
                                        "99999999999999999999-0.log", "-1-0.log", " 1-0.log", "1-+0.log"};
    struct place place = place_new();
    struct error error;
    char path[500];
    go_on(&place, 3);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/answers/%s", place.journal, names[i]);
        write_file(path, (const unsigned char *)"mine", 4);
    }
    struct answers_folder *folder = answers_folder_new(place.journal, &place.identity);
    assert_int_equal(answers_folder_n(folder), 1);
    answers_folder_free(folder);
    assert_int_equal(answers_remove(place.journal, &error), STATUS_SYSTEM);
    assert_non_null(strstr(error.message, "answers"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/answers/%s", place.journal, names[i]);
        assert_int_equal(unlink(path), 0);
    }
    place_free(&place);
}

/* A directory, a dangling link or a pipe in the file's place: no answers, an error when they are written, no hang. */
static void what_is_no_file_is_not_written_to(void **state)
{
    (void)state;
    struct place place = place_new();
    char nowhere[400];
    snprintf(nowhere, sizeof nowhere, "%s/nowhere", place.journal);
    go_on(&place, 1);
    for (int what = 0; what < 3; what++) {
        struct answers answers = {0};
        struct error error;
        unlink(place.file);
        assert_int_equal(what == 0   ? mkdir(place.file, 0777)
                         : what == 1 ? symlink(nowhere, place.file)
                                     : mkfifo(place.file, 0666), 0);
        struct answers_folder *folder = answers_folder_new(place.journal, &place.identity);
        assert_int_equal(read_good(&answers, folder, UINT64_MAX), 0);
        add(&answers, 0);
        assert_int_equal(answers_flush(&answers, &error), STATUS_SYSTEM);
        assert_non_null(strstr(error.message, "2-1.log"));
        assert_null(answers_add(&answers, 1)); /* nothing more is tried */
        assert_int_not_equal(access(nowhere, F_OK), 0);
        answers_fini(&answers);
        answers_folder_free(folder);
        if (what == 0)
            assert_int_equal(rmdir(place.file), 0);
    }
    unlink(place.file);
    place_free(&place);
}

static void without_a_journal_nothing_is_kept_or_said(void **state)
{
    (void)state;
    struct place place = place_new();
    struct answers answers = {0};
    struct error error;
    struct answers_folder *folder = answers_folder_new("/proc/nonexistent/journal", &place.identity);
    assert_int_equal(answers_folder_n(folder), 0);
    answers_begin(&answers, folder, FIT, MAX_PAYLOAD);
    add(&answers, 0);
    assert_int_equal(answers_flush(&answers, &error), STATUS_OK);
    assert_null(answers_add(&answers, 1));
    assert_int_equal(answers_remove("/proc/nonexistent/journal", &error), STATUS_OK);
    answers_fini(&answers);
    answers_folder_free(folder);
    place_free(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_come_back_across_processes),
        cmocka_unit_test(other_fits_have_other_files),
        cmocka_unit_test(a_refused_answer_and_those_behind_it_are_replaced),
        cmocka_unit_test(a_torn_end_is_cut_off),
        cmocka_unit_test(damage_never_gives_wrong_answers),
        cmocka_unit_test(another_run_or_fit_has_no_answers_here),
        cmocka_unit_test(two_writers_do_no_harm),
        cmocka_unit_test(what_grows_too_large_goes),
        cmocka_unit_test(odd_things_in_the_folder_are_left_alone),
        cmocka_unit_test(what_is_no_file_is_not_written_to),
        cmocka_unit_test(without_a_journal_nothing_is_kept_or_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
