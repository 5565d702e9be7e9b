/* Journals for tests: a scratch directory, an identity, and records that follow from their fit number alone, so that
 * they can be checked after reading. Include after cmocka.h.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_JOURNAL_HELPERS_H
#define TESTS_JOURNAL_HELPERS_H

#include "io/journal/journal.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HELD_PARAMETERS = 32, HELD_ARRAYS = 22 };

/* Room for HELD_PARAMETERS in every array that a record has. */
struct held_record {
    struct fit_record record;
    double arrays[HELD_PARAMETERS * (HELD_PARAMETERS + HELD_ARRAYS)];
};

static inline struct fit_record *hold_record(struct held_record *held)
{
    assert_true(fit_record_array_bytes(HELD_PARAMETERS) <= sizeof held->arrays);
    memset(held, 0, sizeof *held);
    fit_record_set_arrays(&held->record, HELD_PARAMETERS, held->arrays);
    return &held->record;
}

/* Every number of every column is another one. */
static inline void fill_columns(struct fit_record *record, uint64_t fit, size_t n_parameter)
{
    for (int i = 0; i < N_FIT_COLUMN; i++) {
        unsigned char *values = fit_column_values((enum fit_column)i, record);
        size_t size = fit_kind_size(fit_columns[i].kind);
        const char *(*name)(int number) = fit_kind_names(fit_columns[i].kind);
        int n_name = 0;
        while (name && name(n_name))
            n_name++;
        for (size_t k = 0; k < fit_column_width((enum fit_column)i, n_parameter); k++) {
            double number = (double)fit * 1e-3 + 64 * i + (double)k / 1024;
            int64_t integer = (int64_t)(fit * 1000003 + (uint64_t)i) - 40;
            unsigned char byte = (unsigned char)((fit + (uint64_t)i + k) % (name ? (uint64_t)n_name : 256));
            memcpy(values + k * size, size == 1 ? (void *)&byte : fit_columns[i].kind == FIT_DOUBLE ? (void *)&number
                                                                                                    : &integer, size);
        }
    }
}

static inline char *scratch_directory(void)
{
    const char *base = getenv("TMPDIR");
    char *path = malloc(260);
    snprintf(path, 260, "%.200s/stiffit-test-XXXXXX", base && *base ? base : "/tmp");
    assert_non_null(mkdtemp(path));
    return path;
}

/* The directory and the files in it (no folders). */
static inline void remove_scratch(char *directory)
{
    DIR *list = opendir(directory);
    struct dirent *entry;
    while (list && (entry = readdir(list)))
        unlinkat(dirfd(list), entry->d_name, 0);
    if (list)
        closedir(list);
    assert_int_equal(rmdir(directory), 0);
    free(directory);
}

static inline struct run_identity example_identity(uint32_t n_parameter, uint32_t n_start)
{
    struct run_identity identity = {.seed = 1, .n_dataset = 1000000, .n_start = n_start, .n_parameter = n_parameter,
                                    .description = "rtol=1e-6 atol=1e-10"};
    for (int i = 0; i < 32; i++) {
        identity.problem[i] = (unsigned char)i;
        identity.model[i] = (unsigned char)(100 + i);
        identity.options[i] = (unsigned char)(200 + i);
    }
    return identity;
}

/* Reasons have all lengths from 0 to 159. */
static inline struct fit_record *example_record(struct held_record *held, const struct run_identity *identity,
                                                uint64_t fit)
{
    struct fit_record *record = hold_record(held);
    assert_true(identity->n_parameter <= HELD_PARAMETERS);
    fill_columns(record, fit, identity->n_parameter);
    record->dataset = fit / identity->n_start;
    record->start = (uint32_t)(fit % identity->n_start);
    record->outcome = (uint8_t)(fit % N_OUTCOME);
    record->notes = (uint32_t)(fit * 2654435761u);
    record->objective = 1.0 / (double)(fit + 3);
    record->gradient_norm = (double)fit * 1e-9;
    record->seconds = (double)fit * 0.001;
    record->n_iteration = (int64_t)fit;
    record->n_evaluation = (int64_t)fit * 3;
    record->n_step = -(int64_t)fit;
    for (uint32_t i = 0; i < identity->n_parameter; i++) {
        record->parameter[i] = (double)fit + i / 7.0;
        record->at_bound[i] = (int8_t)((fit + i) % 3 - 1);
    }
    memset(record->reason, 'a' + (int)(fit % 26), fit % 160);
    return record;
}

static inline void write_journal(const char *directory, const struct run_identity *identity, uint64_t first,
                                 uint64_t end)
{
    struct journal *journal;
    struct error error;
    assert_int_equal(journal_open(&journal, directory, identity, NULL, 0, &error), STATUS_OK);
    for (uint64_t fit = first; fit < end; fit++) {
        struct held_record held;
        assert_int_equal(journal_append(journal, example_record(&held, identity, fit), &error), STATUS_OK);
    }
    journal_close(journal);
}

static inline struct journal_reader *read_journal(const char *directory, const struct run_identity *identity)
{
    struct journal_reader *reader;
    struct error error;
    if (journal_read(&reader, directory, identity, &error))
        fail_msg("%s", error.message);
    return reader;
}

static inline void expect_columns(struct fit_record *found, struct fit_record *expected, size_t n_parameter)
{
    for (int i = 0; i < N_FIT_COLUMN; i++) {
        size_t n = fit_column_width((enum fit_column)i, n_parameter) * fit_kind_size(fit_columns[i].kind);
        if (memcmp(fit_column_values((enum fit_column)i, found), fit_column_values((enum fit_column)i, expected), n))
            fail_msg("%s differs", fit_columns[i].path);
    }
}

static inline void expect_record(struct journal_reader *reader, const struct run_identity *identity, uint64_t fit)
{
    struct held_record held, back;
    struct fit_record *expected = example_record(&held, identity, fit), *found = hold_record(&back);
    struct error error;
    assert_true(journal_has(reader, fit));
    if (!journal_get(reader, fit, found, &error))
        fail_msg("fit %llu is not there: %s", (unsigned long long)fit, error.message);
    assert_int_equal(found->dataset, expected->dataset);
    expect_columns(found, expected, identity->n_parameter);
    assert_string_equal(found->reason, expected->reason);
}

/* The first file of the directory whose name ends in .log: its path, to be freed. */
static inline char *only_file(const char *directory)
{
    DIR *list = opendir(directory);
    struct dirent *entry;
    char *path = NULL;
    while (list && !path && (entry = readdir(list)))
        if (strstr(entry->d_name, ".log") && asprintf(&path, "%s/%s", directory, entry->d_name) < 0)
            path = NULL;
    if (list)
        closedir(list);
    assert_non_null(path);
    return path;
}

static inline unsigned char *read_only_file(const char *directory, size_t *n)
{
    char *path = only_file(directory);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *n = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*n);
    assert_int_equal(fread(bytes, 1, *n, file), *n);
    fclose(file);
    free(path);
    return bytes;
}

/* Puts n bytes in place of what the directory's only journal file holds. */
static inline void replace_only_file(const char *directory, const unsigned char *bytes, size_t n)
{
    char *path = only_file(directory);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    free(path);
}

#endif
