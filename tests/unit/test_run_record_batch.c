/* Records that are written together are all in the journal after a flush; those of long fits at once.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "run/compute/record_batch.h"

#include "../journal_helpers.h"

#include <pthread.h>

enum { N_FIT = 3000, N_THREAD = 4 };

static uint64_t count_records(const char *directory, const struct run_identity *identity)
{
    struct journal_reader *reader;
    struct error error;
    assert_int_equal(journal_read(&reader, directory, identity, &error), STATUS_OK);
    uint64_t n = journal_n_record(reader);
    assert_int_equal(journal_n_damaged(reader), 0);
    journal_reader_free(reader);
    return n;
}

struct adder {
    struct record_batch *batch;
    const struct run_identity *identity;
    uint64_t first;
    bool good;
};

static void *add_some(void *context)
{
    struct adder *adder = context;
    struct error error;
    for (uint64_t fit = adder->first; fit < N_FIT; fit += N_THREAD) {
        struct held_record held;
        struct fit_record *record = example_record(&held, adder->identity, fit);
        record->seconds = 1e-5;
        adder->good = adder->good && record_batch_add(adder->batch, record, &error) == STATUS_OK;
    }
    return NULL;
}

static void test_flush(void **state)
{
    (void)state;
    char *directory = scratch_directory();
    struct run_identity identity = example_identity(3, 1);
    struct journal *journal;
    struct record_batch batch;
    struct adder adder[N_THREAD];
    pthread_t thread[N_THREAD];
    struct error error;
    struct held_record held;
    assert_int_equal(journal_open(&journal, directory, &identity, NULL, 0, &error), STATUS_OK);
    assert_true(record_batch_init(&batch, journal));
    struct fit_record *record = example_record(&held, &identity, N_FIT);
    record->seconds = 1e-5;
    assert_int_equal(record_batch_add(&batch, record, &error), STATUS_OK);
    record = example_record(&held, &identity, N_FIT + 1);
    record->seconds = 1; /* it took long */
    assert_int_equal(record_batch_add(&batch, record, &error), STATUS_OK);
    assert_int_equal(count_records(directory, &identity), 1);
    assert_int_equal(record_batch_flush(&batch, &error), STATUS_OK);
    assert_int_equal(count_records(directory, &identity), 2);
    for (uint64_t i = 0; i < N_THREAD; i++) {
        adder[i] = (struct adder){&batch, &identity, i, true};
        assert_int_equal(pthread_create(&thread[i], NULL, add_some, &adder[i]), 0);
    }
    for (int i = 0; i < N_THREAD; i++) {
        pthread_join(thread[i], NULL);
        assert_true(adder[i].good);
    }
    assert_int_equal(record_batch_flush(&batch, &error), STATUS_OK);
    assert_int_equal(count_records(directory, &identity), N_FIT + 2);
    record_batch_fini(&batch);
    journal_close(journal);
    remove_scratch(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_flush)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
