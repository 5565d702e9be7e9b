/* Result files: what is written is read back by our reader and, with h5py as the judge, by others; equal rows make
 * equal bytes; a file appears whole or not at all; files of other kinds are told by name.
 * test-level: both
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../level.h"
#include "io/result/result.h"
#include "../journal_helpers.h"

#include <math.h>
#include <sys/stat.h>

static const char *const names[] = {"k1", "k2", "Vmax"}, *const scales[] = {"lin", "log", "log10"},
                         *const units[] = {"1/s", "", "\xc2\xb5mol"};
static const char *const provenance_names[] = {"command_line", "host", "identity_forged"},
                         *const provenance_values[] = {"stiffit run x.h5", "", "not taken"};

static struct result_header example_header(uint64_t n_row)
{
    struct result_header header = {.parts = FIT_PART_EVALUATION | FIT_PART_RANDOM,
                                   .n_parameter = 3, .parameter_name = names, .parameter_scale = scales,
                                   .parameter_unit = units, .objective_kind = "half_sum_of_squares",
                                   .identity = example_identity(3, 4),
                                   .provenance = {3, provenance_names, provenance_values}};
    header.identity.n_dataset = n_row;
    header.identity.seed = UINT64_MAX - 5;
    return header;
}

/* Ids grow longer on the way: 1 byte, then 4, then 300 beyond any fixed width. */
static const char *example_id(uint64_t row, bool long_ones, char text[400])
{
    snprintf(text, 400, "%llu%s", (unsigned long long)row, row % 10 == 7 ? "\xc3\xa9" : "");
    if (long_ones && row == 5000)
        for (size_t n = strlen(text); n < 300; n++)
            strcpy(text + n, "x");
    return text;
}

static void write_rows(const char *path, const char *in_place_of, uint64_t n_row, bool long_ids)
{
    struct result_header header = example_header(n_row);
    struct result_writer *writer;
    struct error error;
    char id[400];
    if (result_writer_open(&writer, path, in_place_of, &header, &error))
        fail_msg("%s", error.message);
    for (uint64_t row = 0; row < n_row; row++) {
        struct held_record held;
        struct fit_record *record = example_record(&held, &header.identity, row * 4 + row % 4);
        if (row % 100 == 3)
            record->objective = record->parameter[0] = record->parameter[1] = record->parameter[2] = NAN;
        assert_int_equal(result_writer_add(writer, example_id(row, long_ids, id), record, &error), STATUS_OK);
    }
    if (result_writer_finish(writer, &error))
        fail_msg("%s", error.message);
    result_writer_close(writer);
}

static void expect_rows(const char *path, uint64_t n_row, size_t n_at_once, bool long_ids)
{
    struct result_header header = example_header(n_row);
    struct result *result;
    struct result_block block = {0};
    struct error error;
    char id[400];
    if (result_open(&result, path, &error))
        fail_msg("%s", error.message);
    const struct result_info *info = result_info(result);
    assert_string_equal(info->path, path);
    assert_int_equal(info->n_fit, n_row);
    assert_int_equal(info->n_parameter, 3);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(info->parameter_name[i], names[i]);
        assert_string_equal(info->parameter_scale[i], scales[i]);
        assert_string_equal(info->parameter_unit[i], units[i]);
    }
    assert_string_equal(info->objective_kind, "half_sum_of_squares");
    assert_true(identity_equal(&info->identity, &header.identity));
    assert_string_equal(info->identity.description, header.identity.description);
    assert_int_equal(info->provenance.n, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(info->provenance.name[i], provenance_names[i]);
        assert_string_equal(info->provenance.value[i], provenance_values[i]);
    }
    uint64_t row = 0;
    while (row < n_row) {
        assert_int_equal(result_read(result, &block, row, n_at_once, &error), STATUS_OK);
        assert_true(block.n > 0);
        assert_int_equal(block.first, row);
        for (size_t i = 0; i < block.n; i++, row++) {
            struct held_record held;
            struct fit_record *expected = example_record(&held, &header.identity, row * 4 + row % 4);
            struct fit_record *found = &block.record[i];
            if (row % 100 == 3)
                expected->objective = expected->parameter[0] = expected->parameter[1] = expected->parameter[2] = NAN;
            assert_string_equal(block.id[i], example_id(row, long_ids, id));
            assert_string_equal(block.reason[i], expected->reason);
            assert_string_equal(found->reason, expected->reason);
            expect_columns(found, expected, 3);
        }
    }
    assert_int_equal(result_read(result, &block, n_row, 10, &error), STATUS_OK);
    assert_int_equal(block.n, 0);
    result_block_fini(&block);
    result_close(result);
}

static void rows_come_back_to_the_bit(void **state)
{
    (void)state;
    char *directory = scratch_directory(), path[300];
    snprintf(path, sizeof path, "%s/r.h5", directory);
    const uint64_t n_rows[] = {0, 1, 17, 4096, 9001};
    for (size_t i = 0; i < sizeof n_rows / sizeof *n_rows; i++) {
        write_rows(path, NULL, n_rows[i], false);
        expect_rows(path, n_rows[i], 1000, false);
    }
    write_rows(path, NULL, 9001, true);
    expect_rows(path, 9001, 100000, true);
    remove_scratch(directory); /* which fails if a temporary file were left as a folder */
}

static int count_files(const char *directory)
{
    int n = 0;
    DIR *list = opendir(directory);
    struct dirent *entry;
    while ((entry = readdir(list)))
        n += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
    closedir(list);
    return n;
}

static void equal_rows_make_equal_bytes(void **state)
{
    (void)state;
    char *directory = scratch_directory(), a[300], b[300], command[700];
    snprintf(a, sizeof a, "%s/a.h5", directory);
    snprintf(b, sizeof b, "%s/b.h5", directory);
    write_rows(a, NULL, 5003, false);
    sleep(1); /* a time in the file would have changed */
    write_rows(b, NULL, 5003, false);
    snprintf(command, sizeof command, "cmp '%s' '%s'", a, b);
    assert_int_equal(system(command), 0);
    assert_int_equal(count_files(directory), 2);
    remove_scratch(directory);
}

static void appears_whole_or_not_at_all(void **state)
{
    (void)state;
    char *directory = scratch_directory(), path[300];
    struct result_header header = example_header(10);
    struct result_writer *writer;
    struct held_record held;
    struct error error;
    struct stat found;
    snprintf(path, sizeof path, "%s/r.h5", directory);
    assert_int_equal(result_writer_open(&writer, path, NULL, &header, &error), STATUS_OK);
    assert_int_equal(result_writer_add(writer, "a", example_record(&held, &header.identity, 0), &error), STATUS_OK);
    assert_int_not_equal(stat(path, &found), 0);
    assert_int_equal(count_files(directory), 1);
    result_writer_close(writer);
    assert_int_equal(count_files(directory), 0);
    result_writer_close(NULL);
    write_rows(path, NULL, 3, false); /* an older result is replaced at the very end */
    assert_int_equal(result_writer_open(&writer, path, NULL, &header, &error), STATUS_OK);
    expect_rows(path, 3, 10, false);
    result_writer_close(writer);
    expect_rows(path, 3, 10, false);
    assert_int_equal(count_files(directory), 1);
    remove_scratch(directory);
}

static void places_that_cannot_be_written_are_named(void **state)
{
    (void)state;
    char *directory = scratch_directory(), path[300];
    struct result_header header = example_header(10);
    struct result_writer *writer;
    struct error error;
    snprintf(path, sizeof path, "%s/missing/r.h5", directory);
    assert_int_equal(result_writer_open(&writer, path, NULL, &header, &error), STATUS_SYSTEM);
    assert_null(writer);
    assert_non_null(strstr(error.message, "/missing"));
    assert_int_equal(result_writer_open(&writer, directory, NULL, &header, &error), STATUS_SYSTEM);
    assert_non_null(strstr(error.message, "is a directory"));
    snprintf(path, sizeof path, "%s/r.h5", directory);
    assert_int_equal(result_writer_open(&writer, path, "/no/such/problem.h5", &header, &error), STATUS_SYSTEM);
    assert_int_equal(count_files(directory), 0);
    remove_scratch(directory);
}

static bool python(const char *directory, const char *script)
{
    char path[300], command[700];
    snprintf(path, sizeof path, "%s/script.py", directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(script, file);
    fclose(file);
    snprintf(command, sizeof command, "cd '%s' && /usr/bin/python3 script.py", directory);
    int code = system(command);
    unlink(path);
    if (code)
        fail_msg("the script failed with code %d", code);
    return code == 0;
}

static bool have_h5py(void)
{
    return system("/usr/bin/python3 -c 'import h5py, numpy' 2>/dev/null") == 0;
}

static const char h5py_check[] =
    "import h5py, numpy as np\n"
    "f = h5py.File('r.h5', 'r')\n"
    "assert f.attrs['stiffit_file'] in (b'result', 'result') and f.attrs['format'] == 1\n"
    "fits, n = f['fits'], 9001\n"
    "text = lambda a: [x.decode() for x in a]\n"
    "own = 'parameters objective status notes start gradient_norm iterations evaluations steps seconds at_bound'.split()\n"
    "columns = [line.rstrip('\\n').split('\\t') for line in open('columns')]\n"
    "assert sorted(fits) == sorted(['id', 'message'] + [c[0][6:] for c in columns]), sorted(fits)\n"
    "assert text(f['parameters/name'][:]) == ['k1', 'k2', 'Vmax']\n"
    "assert text(f['parameters/scale'][:]) == ['lin', 'log', 'log10']\n"
    "assert text(f['parameters/unit'][:]) == ['1/s', '', '\\u00b5mol']\n"
    "row = np.arange(n)\n"
    "fit = row * 4 + row % 4\n"
    "none = row % 100 == 3\n"
    "p = fit[:, None] + np.arange(3) / 7.0\n"
    "p[none] = np.nan\n"
    "assert fits['parameters'].shape == (n, 3) and fits['parameters'].dtype == 'f8'\n"
    "assert np.array_equal(fits['parameters'][:], p, equal_nan=True)\n"
    "assert np.array_equal(fits['objective'][:], np.where(none, np.nan, 1.0 / (fit + 3)), equal_nan=True)\n"
    "assert fits['objective'].attrs['kind'] in (b'half_sum_of_squares', 'half_sum_of_squares')\n"
    "names = h5py.check_enum_dtype(fits['status'].dtype)\n"
    "assert fits['status'].dtype.itemsize == 1 and names['converged'] == 1 and names['bad_data'] == 8, names\n"
    "assert len(names) == 12 and np.array_equal(fits['status'][:], fit % 12)\n"
    "assert np.array_equal(fits['notes'][:], fit * 2654435761 % 2**32) and fits['notes'].dtype == 'u4'\n"
    "assert 'difference_jacobian: ' in str(fits['notes'].attrs['bit_0'])\n"
    "assert np.array_equal(fits['start'][:], fit % 4)\n"
    "assert np.array_equal(fits['gradient_norm'][:], fit * 1e-9) and np.array_equal(fits['seconds'][:], fit * 0.001)\n"
    "assert np.array_equal(fits['iterations'][:], fit) and np.array_equal(fits['evaluations'][:], 3 * fit)\n"
    "assert np.array_equal(fits['steps'][:], -fit)\n"
    "assert np.array_equal(fits['at_bound'][:], (fit[:, None] + np.arange(3)) % 3 - 1)\n"
    "assert text(fits['id'][:]) == [str(i) + ('\\u00e9' if i % 10 == 7 else '') for i in range(n)]\n"
    "assert text(fits['message'][:]) == [chr(97 + i % 26) * (i % 160) for i in fit.tolist()]\n"
    "assert all('description' in fits[c].attrs for c in fits)\n"
    "for i, (path, kind, shape, names) in enumerate(columns):\n"
    "    data, n_name, width = f[path], len(names.split()), [1, 3, 9][int(shape)]\n"
    "    assert data.shape == [(n,), (n, 3), (n, 9)][int(shape)], (path, data.shape)\n"
    "    enum = h5py.check_enum_dtype(data.dtype)\n"
    "    assert sorted(enum or {}, key=(enum or {}).get) == names.split(), (path, enum)\n"
    "    if path[6:] in own: continue\n"
    "    k, x = np.arange(width), data[:].reshape(n, width)\n"
    "    if kind == 'double': assert np.array_equal(x, fit[:, None] * 1e-3 + 64 * i + k / 1024), path\n"
    "    elif n_name or kind == 'byte': assert np.array_equal(x.view('u1'), (fit[:, None] + i + k) % (n_name or 256)), path\n"
    "    else: assert np.array_equal(x, (fit[:, None] * 1000003 + i - 40 + 0 * k).astype(x.dtype)), path\n"
    "assert fits['seconds'].attrs['unit'] in (b's', 's')\n"
    "a = f['provenance'].attrs\n"
    "assert a['identity_problem'] in (bytes(range(32)).hex(), bytes(range(32)).hex().encode()), a['identity_problem']\n"
    "assert a['identity_seed'] == 2**64 - 6 and a['identity_n_start'] == 4 and a['identity_n_dataset'] == n\n"
    "assert a['command_line'] in (b'stiffit run x.h5', 'stiffit run x.h5') and 'identity_forged' not in a\n"
    "assert fits['parameters'].chunks is not None and fits['parameters'].compression is None\n"
    "assert fits['status'].chunks is not None and fits['status'].compression == 'gzip'\n";

/* The table of columns, for the script. */
static void write_columns(const char *directory)
{
    char path[300];
    snprintf(path, sizeof path, "%s/columns", directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < N_FIT_COLUMN; i++) {
        const struct fit_column_info *info = &fit_columns[i];
        const char *(*name)(int number) = fit_kind_names(info->kind);
        fprintf(file, "%s\t%s\t%d\t", info->path, info->kind == FIT_DOUBLE ? "double" : fit_kind_size(info->kind) == 1 ? "byte"
                : "integer", (int)info->shape);
        for (int k = 0; name && name(k); k++)
            fprintf(file, "%s%s", k ? " " : "", name(k));
        fputc('\n', file);
    }
    fclose(file);
}

static void h5py_reads_the_same(void **state)
{
    (void)state;
    if (!have_h5py())
        skip();
    char *directory = scratch_directory(), path[300];
    snprintf(path, sizeof path, "%s/r.h5", directory);
    write_rows(path, NULL, 9001, false);
    write_columns(directory);
    assert_true(python(directory, h5py_check));
    remove_scratch(directory);
}

/* A problem made by h5py, with results put into it twice: the problem stays what it was, values and mode. */
static void results_go_into_a_problem_file(void **state)
{
    (void)state;
    if (!have_h5py())
        skip();
    char *directory = scratch_directory(), path[300];
    struct result *result;
    struct error error;
    struct stat found;
    snprintf(path, sizeof path, "%s/p.h5", directory);
    assert_true(python(directory,
                       "import h5py, numpy as np, os\n"
                       "with h5py.File('p.h5', 'w') as f:\n"
                       "    f.attrs['stiffit_file'] = 'problem'; f.attrs['format'] = 1\n"
                       "    f['parameters/name'] = ['k1', 'k2', 'Vmax']\n"
                       "    f['measurements/value'] = np.arange(1000.0)\n"
                       "    f['user/x'] = 1\n"
                       "os.chmod('p.h5', 0o640)\n"));
    assert_int_equal(result_open(&result, path, &error), STATUS_BAD_PROBLEM);
    assert_non_null(strstr(error.message, "a problem file without results"));
    for (uint64_t n_row = 500; n_row < 503; n_row++) {
        write_rows(path, path, n_row, false);
        expect_rows(path, n_row, 64, false);
    }
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0640);
    assert_true(python(directory, "import h5py, numpy as np\n"
                                  "f = h5py.File('p.h5', 'r')\n"
                                  "assert f.attrs['stiffit_file'] == 'problem'\n"
                                  "assert sorted(f) == ['fits', 'measurements', 'parameters', 'provenance', 'user']\n"
                                  "assert list(f['parameters']) == ['name'] and f['user/x'][()] == 1\n"
                                  "assert np.array_equal(f['measurements/value'][:], np.arange(1000.0))\n"
                                  "assert len(f['fits/id']) == 502\n"));
    remove_scratch(directory);
}

static void a_link_stays_a_link(void **state)
{
    (void)state;
    char *directory = scratch_directory(), path[300], link[300];
    struct stat found;
    snprintf(path, sizeof path, "%s/real.h5", directory);
    snprintf(link, sizeof link, "%s/link.h5", directory);
    write_rows(path, NULL, 1, false);
    assert_int_equal(symlink("real.h5", link), 0);
    write_rows(link, NULL, 2, false);
    assert_int_equal(lstat(link, &found), 0);
    assert_true(S_ISLNK(found.st_mode));
    expect_rows(path, 2, 10, false);
    remove_scratch(directory);
}

static void expect_refusal(const char *path, enum status status, const char *word)
{
    struct result *result;
    struct error error;
    assert_int_equal(result_open(&result, path, &error), status);
    assert_null(result);
    if (!strstr(error.message, word) || !strstr(error.message, path))
        fail_msg("'%s' or the path is not in: %s", word, error.message);
}

static void wrong_files_are_told(void **state)
{
    (void)state;
    char *directory = scratch_directory(), path[300];
    snprintf(path, sizeof path, "%s/r.h5", directory);
    expect_refusal(path, STATUS_SYSTEM, "r.h5");
    FILE *file = fopen(path, "w");
    fputs("id,k1\n", file);
    fclose(file);
    expect_refusal(path, STATUS_BAD_PROBLEM, "HDF5");
    if (!have_h5py())
        skip();
    const struct { const char *change, *word; } cases[] = {
        {"del f.attrs['stiffit_file']", "stiffit_file"},
        {"f.attrs['stiffit_file'] = 'other'", "stiffit_file"},
        {"f.attrs['format'] = 2", "format"},
        {"del f['fits/id']", "/fits/id"},
        {"del f['fits/objective']", "/fits/objective"},
        {"del f['fits']", "/fits"},
        {"del f['parameters/name']", "/parameters/name"},
        {"del f['parameters/scale']; f['parameters/scale'] = ['lin']", "/parameters/scale"},
        {"del f['fits/objective']; f['fits/objective'] = [1.0]", "/fits/objective"},
        {"del f['fits/parameters']; f['fits/parameters'] = f['fits/seconds'][:]", "/fits/parameters"},
        {"del f['provenance'].attrs['identity_model']", "identity_model"},
        {"f['provenance'].attrs['identity_model'] = 'xyz'", "identity_model"},
        {"f['provenance'].attrs['identity_n_start'] = 2**40", "identity_n_start"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += level_is_quick() ? 4 : 1) {
        char script[400];
        write_rows(path, NULL, 10, false);
        snprintf(script, sizeof script, "import h5py\nwith h5py.File('r.h5', 'r+') as f:\n    %s\n", cases[i].change);
        assert_true(python(directory, script));
        expect_refusal(path, STATUS_BAD_PROBLEM, cases[i].word);
    }
    /* A status of the future. */
    struct result *result;
    struct result_block block = {0};
    struct error error;
    write_rows(path, NULL, 10, false);
    assert_true(python(directory, "import h5py, numpy\nwith h5py.File('r.h5', 'r+') as f:\n    del f['fits/status']\n"
                                  "    f['fits/status'] = numpy.arange(10) + 3\n"));
    assert_int_equal(result_open(&result, path, &error), STATUS_OK);
    assert_int_equal(result_read(result, &block, 0, 9, &error), STATUS_OK);
    assert_int_equal(result_read(result, &block, 0, 10, &error), STATUS_BAD_PROBLEM);
    assert_non_null(strstr(error.message, "row 9"));
    assert_int_equal(block.n, 0);
    result_block_fini(&block);
    result_close(result);
    remove_scratch(directory);
}

/* Columns that an other program has left out are no reason to refuse the rest. */
static void absent_columns_read_as_unknown(void **state)
{
    (void)state;
    if (!have_h5py())
        skip();
    char *directory = scratch_directory(), path[300];
    struct result *result;
    struct result_block block = {0};
    struct error error;
    snprintf(path, sizeof path, "%s/r.h5", directory);
    write_rows(path, NULL, 10, false);
    assert_true(python(directory, "import h5py\nwith h5py.File('r.h5', 'r+') as f:\n"
                                  "    for c in 'message notes seconds steps at_bound'.split(): del f['fits'][c]\n"
                                  "    del f['parameters/unit']\n"));
    assert_int_equal(result_open(&result, path, &error), STATUS_OK);
    assert_null(result_info(result)->parameter_unit);
    assert_int_equal(result_read(result, &block, 2, 5, &error), STATUS_OK);
    assert_int_equal(block.n, 5);
    assert_string_equal(block.reason[4], "");
    assert_true(isnan(block.record[4].seconds));
    assert_int_equal(block.record[4].n_step, -1);
    assert_int_equal(block.record[4].at_bound[2], 0);
    assert_true(block.record[4].parameter[1] == 26 + 1 / 7.0); /* row 6 is fit 4 * 6 + 6 % 4 */
    result_block_fini(&block);
    result_close(result);
    remove_scratch(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back_to_the_bit),
        cmocka_unit_test(equal_rows_make_equal_bytes),
        cmocka_unit_test(appears_whole_or_not_at_all),
        cmocka_unit_test(places_that_cannot_be_written_are_named),
        cmocka_unit_test(h5py_reads_the_same),
        cmocka_unit_test(results_go_into_a_problem_file),
        cmocka_unit_test(a_link_stays_a_link),
        cmocka_unit_test(wrong_files_are_told),
        cmocka_unit_test(absent_columns_read_as_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
