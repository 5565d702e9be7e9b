/* Streams: what problem_write wrote in blocks is what problem_read reads in blocks of any size, across windows and with
 * datasets of every length; the hash does not depend on either.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../problem_helpers.h"
#include "io/problem/stream.h"
#include "io/problem/write.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[64], path[128];

/* Every number below is a function of (dataset, row), so that the reader's can be checked without keeping them. */
static size_t rows_of(uint64_t d)
{
    if (d == 777)
        return 150000; /* more than two windows of the reader, and of the writer */
    return d % 10 == 9 ? 0 : d % 7 + (d % 1000 == 0 ? 700 : 0) + 1;
}

static double number(uint64_t d, size_t i, int what) { return (double)(d * 31 + i * 7 + (size_t)what * 3) / 8; }

static void id_of(uint64_t d, char id[400])
{
    snprintf(id, 400, "set %llu", (unsigned long long)d);
    if (d == 4500)
        memset(id + strlen(id), 'x', 20), id[28] = '\0'; /* wider than the first block's */
    if (d == 9000)
        memset(id, 'y', 300), id[300] = '\0';            /* wider than any fixed string */
}

static const struct problem_header header = {
    .model.plugin = "models/test.so",
    .parameters = {.n = 2, .name = model_parameters, .lower = (const double[]){-1, 1}, .upper = (const double[]){1e9, 1e9},
                   .scale = model_scales, .fixed = (const uint8_t[]){0, 1}},
    .by_dataset = PARAMETER_BIT(start),
    .n_covariate = 1, .covariate_name = model_covariates,
    .n_observable = 2, .observable_name = model_observables, .has_t0 = true};

static void write_dataset(struct problem_writer *writer, uint64_t d)
{
    static double time[150000], value[150000], sigma[150000];
    static uint32_t observable[150000];
    static int8_t censored[150000];
    char id[400];
    struct error error;
    id_of(d, id);
    for (size_t i = 0; i < rows_of(d); i++) {
        time[i] = number(d, i, 0);
        value[i] = i % 5 == 3 ? NAN : number(d, i, 1);
        sigma[i] = number(d, i, 2) + 1;
        observable[i] = (uint32_t)((d + i) % 2);
        censored[i] = (int8_t)((int)((d + i) % 3) - 1);
    }
    struct problem_dataset dataset = {.id = id,
                                      .experiment = {.t0 = -(double)d, .covariate = (const double[]){number(d, 0, 4)}},
                                      .parameters.start = (const double[]){number(d, 0, 5), number(d, 0, 6) + 1},
                                      .n_row = rows_of(d),
                                      .measured = {time, value, sigma, observable, censored, NULL, NULL}};
    if (problem_writer_add(writer, &dataset, &error))
        fail_msg("%s", error.message);
}

static void write_problem(const char *name, uint64_t n_dataset)
{
    struct problem_writer *writer;
    struct error error;
    if (problem_writer_open(&writer, name, true, &header, &error))
        fail_msg("%s", error.message);
    for (uint64_t d = 0; d < n_dataset; d++)
        write_dataset(writer, d);
    if (problem_writer_finish(writer, &error))
        fail_msg("%s", error.message);
    problem_writer_close(writer);
}

static void check_dataset(const struct problem_block *block, size_t k, uint64_t *row)
{
    uint64_t d = block->dataset[k];
    assert_true(d >= block->first && d < block->end);
    char id[400];
    id_of(d, id);
    assert_string_equal(block->id[k], id);
    assert_true(block->experiment[k].t0 == -(double)d && block->experiment[k].covariate[0] == number(d, 0, 4));
    assert_true(block->start[2 * k] == number(d, 0, 5) && block->start[2 * k + 1] == number(d, 0, 6) + 1);
    assert_true(block->lower[2 * k] == -1 && block->upper[2 * k + 1] == 1e9 && block->fixed[2 * k + 1] == 1);
    assert_int_equal(block->row[k + 1] - block->row[k], rows_of(d));
    assert_true((block->fault[k] != NULL) == (rows_of(d) == 0));
    if (rows_of(d))
        assert_int_equal(block->room->place[GROUP_MEASUREMENTS][k], *row);
    for (size_t i = 0; i < rows_of(d); i++) {
        size_t j = block->row[k] + i;
        if (block->measured.time[j] != number(d, i, 0) || block->measured.sigma[j] != number(d, i, 2) + 1
            || (i % 5 == 3 ? !isnan(block->measured.value[j]) : block->measured.value[j] != number(d, i, 1))
            || block->measured.observable[j] != (d + i) % 2 || block->measured.censored[j] != (int)((d + i) % 3) - 1)
            fail_msg("dataset %llu row %zu", (unsigned long long)d, i);
    }
    *row += rows_of(d);
}

static void read_all(struct problem *problem, uint64_t n_dataset, size_t max_dataset, size_t max_row)
{
    struct problem_block block = {0};
    struct error error;
    uint64_t n = 0, row = 0;
    do {
        if (problem_read(problem, &block, max_dataset, max_row, &error))
            fail_msg("%s", error.message);
        assert_int_equal(block.first, n);
        assert_true(block.n <= max_dataset && (block.n <= 1 || block.row[block.n] <= max_row));
        for (size_t k = 0; k < block.n; k++)
            check_dataset(&block, k, &row);
        n += block.n;
    } while (block.n > 0);
    assert_int_equal(n, n_dataset);
    assert_int_equal(row, problem_info(problem)->n_measurement);
    assert_int_equal(problem_rewind(problem, &error), STATUS_OK);
    problem_block_fini(&block);
}

static void test_any_block_size(void **state)
{
    (void)state;
    static const size_t sizes[][2] = {{4096, 65536}, {1, 1}, {1000, SIZE_MAX}, {20000, SIZE_MAX}, {333, 100},
                                      {7, 65537}};
    const uint64_t n_dataset = 12000;
    struct problem *problem;
    struct error error;
    unsigned char hash[32];
    uint64_t n_bad;
    write_problem(path, n_dataset);
    if (problem_open(&problem, path, &error) || problem_validate(problem, &expectation, hash, &n_bad, &error))
        fail_msg("%s", error.message);
    assert_int_equal(n_bad, n_dataset / 10);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        read_all(problem, n_dataset, sizes[i][0], sizes[i][1]);
    char *model = problem_model_path(problem), expected[200];
    snprintf(expected, sizeof expected, "%s/models/test.so", folder);
    assert_string_equal(model, expected);
    free(model);
    problem_close(problem);
}

/* What is chosen, as a bit of a hash of the number, so that gaps of all lengths come. */
static bool is_chosen(const void *context, uint64_t d)
{
    uint64_t one_in = *(const uint64_t *)context;
    return (d * 0x9e3779b97f4a7c15u >> 33) % one_in == 0;
}

static uint64_t row_before(uint64_t *next, uint64_t *row, uint64_t d)
{
    for (; *next < d; ++*next)
        *row += rows_of(*next);
    return *row;
}

static void read_chosen(struct problem *problem, uint64_t n_dataset, uint64_t one_in, size_t max_dataset, size_t max_row)
{
    struct problem_block block = {0};
    struct error error;
    uint64_t at = 0, row = 0, expected = 0, n = 0;
    problem_select(problem, is_chosen, &one_in);
    do {
        if (problem_read(problem, &block, max_dataset, max_row, &error))
            fail_msg("%s", error.message);
        assert_int_equal(block.first, at);
        assert_true(block.end - block.first <= max_dataset && block.n <= block.end - block.first);
        for (size_t k = 0; k < block.n; k++) {
            uint64_t before;
            while (!is_chosen(&one_in, expected))
                expected++;
            assert_int_equal(block.dataset[k], expected++);
            before = row_before(&n, &row, block.dataset[k]);
            check_dataset(&block, k, &before);
        }
        at = block.end;
    } while (block.end > block.first);
    assert_int_equal(at, n_dataset);
    for (; expected < n_dataset; expected++)
        assert_false(is_chosen(&one_in, expected));
    problem_select(problem, NULL, NULL);
    assert_int_equal(problem_rewind(problem, &error), STATUS_OK);
    problem_block_fini(&block);
}

static void test_chosen_datasets(void **state)
{
    (void)state;
    static const size_t sizes[][2] = {{4096, 65536}, {1, 1}, {1000, SIZE_MAX}, {20000, SIZE_MAX}, {333, 100}};
    struct problem *problem;
    struct error error;
    unsigned char hash[32];
    uint64_t n_bad;
    write_problem(path, 12000);
    if (problem_open(&problem, path, &error) || problem_validate(problem, &expectation, hash, &n_bad, &error))
        fail_msg("%s", error.message);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        read_chosen(problem, 12000, 1, sizes[i][0], sizes[i][1]);
        read_chosen(problem, 12000, 3, sizes[i][0], sizes[i][1]);
        read_chosen(problem, 12000, 1000, sizes[i][0], sizes[i][1]);
        read_chosen(problem, 12000, UINT64_MAX, sizes[i][0], sizes[i][1]); /* 0 alone */
    }
    read_all(problem, 12000, 1000, SIZE_MAX); /* and all of them again */
    problem_close(problem);
}

/* h5py sees the same numbers. */
static void test_h5py_reads_it(void **state)
{
    (void)state;
    if (!have_h5py())
        skip();
    char command[2000];
    write_problem(path, 5000);
    snprintf(command, sizeof command, "/usr/bin/python3 -c \"\n"
             "import h5py, numpy as np\n"
             "f = h5py.File('%s')\n"
             "assert f.attrs['stiffit_file'] in ('problem', b'problem') and f.attrs['format'] == 1\n"
             "assert [n.decode() for n in f['parameters/name'][:]] == ['b', 'k']\n"
             "ids = f['datasets/id'].asstr()[:]\n"
             "assert len(ids) == 5000 and ids[4499] == 'set 4499' and ids[4500] == 'set 4500' + 20 * 'x'\n"
             "d = f['measurements/dataset'][:].astype(int)\n"
             "start = np.searchsorted(d, np.arange(5000))\n"
             "i = np.arange(d.size) - start[d]\n"
             "assert (f['measurements/time'][:] == (d * 31 + i * 7) / 8).all()\n"
             "v = f['measurements/value'][:]\n"
             "assert np.array_equal(v, np.where(i %% 5 == 3, np.nan, (d * 31 + i * 7 + 3) / 8), equal_nan=True)\n"
             "assert (f['measurements/observable'][:] == (d + i) %% 2).all()\n"
             "assert (f['parameters/start'][:, 1] == (np.arange(5000) * 31 + 18) / 8 + 1).all()\n"
             "assert (f['datasets/t0'][:] == -np.arange(5000)).all()\n"
             "assert (np.bincount(d, minlength=5000)[9::10] == 0).all() and (d == 777).sum() == 150000\n\"", path);
    assert_int_equal(system(command), 0);
}

static void test_hash_ignores_the_writers_blocks(void **state)
{
    (void)state;
    static const char *const script =
        "import h5py, sys\n"
        "a, b = h5py.File(sys.argv[1]), h5py.File(sys.argv[1] + '2', 'w')\n"
        "b.attrs.update(a.attrs)\n"
        "def copy(name, item):\n"
        "    if isinstance(item, h5py.Dataset):\n"
        "        b.create_dataset(name, data=item[...], dtype=item.dtype)\n"
        "a.visititems(copy)\n";
    if (!have_h5py())
        skip();
    char name[200], copy[200];
    unsigned char hash[2][32];
    snprintf(name, sizeof name, "%s/store_anew.py", folder);
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(script, file);
    fclose(file);
    write_problem(path, 1200);
    assert_true(run_script(name, "store_anew.py", path));
    snprintf(copy, sizeof copy, "%s2", path);
    for (int i = 0; i < 2; i++) {
        struct problem *problem;
        struct error error;
        uint64_t n_bad;
        if (problem_open(&problem, i ? copy : path, &error)
            || problem_validate(problem, &expectation, hash[i], &n_bad, &error))
            fail_msg("%s", error.message);
        problem_close(problem);
    }
    assert_memory_equal(hash[0], hash[1], 32);
}

static size_t count_files(void)
{
    char command[200], text[20] = "";
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", folder);
    FILE *pipe = popen(command, "r");
    if (!pipe || !fgets(text, sizeof text, pipe))
        text[0] = '\0';
    if (pipe)
        pclose(pipe);
    return (size_t)atoi(text);
}

static void test_appears_whole_or_not_at_all(void **state)
{
    (void)state;
    struct problem_writer *writer;
    struct error error;
    struct stat info;
    size_t before = count_files();
    char other[200];
    snprintf(other, sizeof other, "%s/unfinished.h5", folder);
    assert_int_equal(problem_writer_open(&writer, other, false, &header, &error), STATUS_OK);
    write_dataset(writer, 1);
    assert_int_equal(stat(other, &info), -1);
    assert_int_equal(count_files(), before + 1);
    problem_writer_close(writer);
    assert_int_equal(count_files(), before);
    write_problem(path, 3);
    assert_int_equal(problem_writer_open(&writer, path, false, &header, &error), STATUS_SYSTEM);
    assert_non_null(strstr(error.message, "exists already"));
    snprintf(other, sizeof other, "%s/no/such/folder.h5", folder);
    assert_int_equal(problem_writer_open(&writer, other, false, &header, &error), STATUS_SYSTEM);
    problem_writer_close(NULL);
    problem_close(NULL);
}

static void test_empty_and_small(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 3; n++) {
        struct problem *problem;
        struct error error;
        struct stat info;
        unsigned char hash[32];
        uint64_t n_bad;
        write_problem(path, n);
        if (problem_open(&problem, path, &error) || problem_validate(problem, &expectation, hash, &n_bad, &error))
            fail_msg("%s", error.message);
        assert_int_equal(problem_info(problem)->n_dataset, n);
        read_all(problem, n, 10, 10);
        problem_close(problem);
        assert_int_equal(stat(path, &info), 0);
        assert_true(info.st_size < 100000); /* chunks are no larger than what is in them */
    }
}

static int setup(void **state)
{
    (void)state;
    bool made = make_folder(folder);
    snprintf(path, sizeof path, "%s/p.h5", folder);
    return made ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    remove_folder(folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_block_size), cmocka_unit_test(test_h5py_reads_it),
        cmocka_unit_test(test_chosen_datasets), cmocka_unit_test(test_h5py_reads_it),
        cmocka_unit_test(test_hash_ignores_the_writers_blocks), cmocka_unit_test(test_appears_whole_or_not_at_all),
        cmocka_unit_test(test_empty_and_small)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
