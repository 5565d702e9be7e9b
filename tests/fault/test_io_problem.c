/* Truncated problem files, and what is no HDF5 file: each is refused with a message. (Some files with changed bytes crash HDF5
 * or make it loop for ever; that this is contained is shown by a stand-in, tests/e2e/stand_ins.py.)
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../problem_helpers.h"
#include "io/problem/write.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_CUTS = 150 };

static char folder[64], path[128];
static unsigned char *bytes;
static size_t n_byte;

static enum status read_everything(struct error *error)
{
    struct problem *problem;
    struct problem_block block = {0};
    unsigned char hash[32];
    uint64_t n_bad;
    struct problem_expectation more = expectation; /* the observables' names serve for states and inputs, too */
    more.n_state = more.n_input = 1;
    more.state_name = more.input_name = model_observables;
    enum status status = problem_open(&problem, path, error);
    if (!status)
        status = problem_validate(problem, &more, hash, &n_bad, error);
    while (!status) {
        status = problem_read(problem, &block, 16, 100, error);
        if (block.n == 0)
            break;
    }
    problem_block_fini(&block);
    problem_close(problem);
    return status;
}

static void write_file(const unsigned char *data, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, n), (ssize_t)n);
    close(fd);
}

static void expect(enum status expected, const char *text)
{
    struct error error = {0};
    assert_int_equal(read_everything(&error), expected);
    if (!strstr(error.message, text))
        fail_msg("\"%s\" does not say \"%s\"", error.message, text);
}

static void test_truncated(void **state)
{
    (void)state;
    for (size_t i = 1; i < N_CUTS; i++) { /* HDF5 compares the end of the file with its superblock */
        write_file(bytes, i < 20 ? i : n_byte * i / N_CUTS);
        expect(STATUS_BAD_PROBLEM, path);
    }
}

static void test_no_hdf5_at_all(void **state)
{
    (void)state;
    unlink(path);
    expect(STATUS_SYSTEM, "No such file");
    write_file(bytes, 0);
    expect(STATUS_BAD_PROBLEM, "is empty, not an HDF5 file");
    write_file((const unsigned char *)"time,value\n1,2\n", 15);
    expect(STATUS_BAD_PROBLEM, "is not an HDF5 file");
    if (geteuid() != 0) { /* root may read everything */
        chmod(path, 0);
        expect(STATUS_SYSTEM, "Permission denied");
    }
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    expect(STATUS_SYSTEM, "is a directory");
    rmdir(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect(STATUS_SYSTEM, "is not a regular file");
    unlink(path);
}

static void write_example(void)
{
    static const struct problem_header header = {
        .model.plugin = "m.so", .parameters = {.n = 2, .name = model_parameters},
        .by_dataset = PARAMETER_BIT(start),
        .n_covariate = 1, .covariate_name = model_covariates, .n_observable = 2, .observable_name = model_observables,
        .has_t0 = true, .has_experiments = true, .n_target = 1,
        .target_name = model_observables, .n_input = 1, .input_name = model_observables, .n_substituted = 2,
        .substituted_name = model_parameters};
    const struct dose dose = {.time = 1, .amount = 2, .duration = 1, .interval = 3, .count = 4};
    const struct input input = {2, (const double[]){0, 1}, (const double[]){5, 6}};
    const struct substitute substitute = {.parameter = 1, .by = 0};
    struct problem_writer *writer;
    struct error error;
    if (problem_writer_open(&writer, path, true, &header, &error))
        fail_msg("%s", error.message);
    for (int d = 0; d < 40; d++) { /* experiments: two for each dataset */
        char id[20];
        snprintf(id, sizeof id, "id %d", d);
        const double one = 1, start[] = {1, 2};
        double time[] = {0, 1, 2}, value[] = {d, 1, 0}, sigma[] = {1, 1, 1};
        struct problem_dataset dataset = {.id = d % 2 ? NULL : id,
                                          .experiment = {.id = id, .n_dose = 1, .dose = &dose, .input = &input,
                                                         .n_substitute = 1, .substitute = &substitute,
                                                         .covariate = &one},
                                          .parameters.start = start, .n_row = 3,
                                          .measured = {time, value, sigma, (uint32_t[]){0, 1, 0}, NULL, NULL, NULL}};
        assert_int_equal(problem_writer_add(writer, &dataset, &error), STATUS_OK);
    }
    assert_int_equal(problem_writer_finish(writer, &error), STATUS_OK);
    problem_writer_close(writer);
}

static int setup(void **state)
{
    (void)state;
    struct stat info;
    struct error error;
    if (!make_folder(folder))
        return -1;
    snprintf(path, sizeof path, "%s/p.h5", folder);
    write_example();
    FILE *file = fopen(path, "rb");
    if (!file || stat(path, &info) != 0 || !(bytes = malloc((size_t)info.st_size)))
        return -1;
    n_byte = fread(bytes, 1, (size_t)info.st_size, file);
    fclose(file);
    return n_byte == (size_t)info.st_size && read_everything(&error) == STATUS_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    free(bytes);
    remove_folder(folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_hdf5_at_all), cmocka_unit_test(test_truncated)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
