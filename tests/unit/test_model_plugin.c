/* Loading plugins: the good ones, and each of the zoo with its message.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model_case.h"

#include "base/outcome.h"
#include "model/plugin.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>

static char *read_all(const char *path, size_t *n_byte)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    struct stat info;
    assert_int_equal(fstat(fileno(file), &info), 0);
    char *bytes = malloc((size_t)info.st_size);
    assert_non_null(bytes);
    *n_byte = fread(bytes, 1, (size_t)info.st_size, file);
    assert_int_equal(*n_byte, info.st_size);
    fclose(file);
    return bytes;
}

static void load_good(struct model *model, const char *path)
{
    struct error error = {0};
    if (model_load(model, path, NULL, &error) != STATUS_OK)
        fail_msg("%s", error.message);
}

static void good_models_load(void **state)
{
    (void)state;
    char path[CASE_PATH];
    for (int i = 0; i < N_CASE_MODEL; i++) {
        struct model model;
        load_good(&model, case_model_path(path, case_models[i]));
        assert_string_equal(model.abi.name, case_models[i]);
        assert_string_equal(model.path, path);
        assert_int_equal(model_missing_derivatives(&model), 0);
        model_unload(&model);
        assert_null(model.path);
    }
}

static const struct { const char *name, *words[4]; } broken[] = {
    {"wrong_abi", {"version 99", "version 1", "compile it again"}},
    {"short_struct", {"struct_size", "STIFFIT_MODEL_HEADER"}},
    {"no_symbol", {"no symbol stiffit_model"}},
    {"undefined_symbol", {"somebody_elses_function", "link"}},
    {"no_rhs", {"rhs is missing"}},
    {"null_names", {"state_name is NULL", "parameter_name[1] is NULL"}},
    {"duplicate_names", {"\"k\" more than once", "\"1 y\""}},
    {"bad_pattern", {"row_index[1] = 7"}},
    {"bad_defaults", {"\"ln\"", "-1 is not above 0"}},
    {"no_prepare", {"n_work is 3", "prepare"}},
    {"lanes_short", {"lanes is 24"}},
    {"lanes_bad", {"curve is missing"}},
    {"lanes_pattern", {"by_state.start[0] = 0, lanes->by_state.start[1] = 2", "by_parameter.row[0] = 5",
                       "curve_state.start is NULL", "the model has no noise"}},
};

static void broken_plugins_are_refused(void **state)
{
    (void)state;
    char path[CASE_PATH];
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct model model;
        struct error error = {0};
        assert_int_equal(model_load(&model, case_zoo_path(path, broken[i].name), NULL, &error), STATUS_BAD_MODEL);
        assert_int_equal(error.status, STATUS_BAD_MODEL);
        assert_non_null(strstr(error.message, path));
        assert_null(strstr(error.message, "/proc/self/fd"));
        for (int k = 0; k < 4 && broken[i].words[k]; k++)
            if (!strstr(error.message, broken[i].words[k]))
                fail_msg("no \"%s\" in: %s", broken[i].words[k], error.message);
        assert_null(model.handle);
        assert_null(model.path);
    }
}

static void older_and_newer_structs_load(void **state)
{
    (void)state;
    char path[CASE_PATH];
    struct model model;
    load_good(&model, case_zoo_path(path, "older_struct"));
    assert_non_null(model.abi.jacobian);
    /* Beyond its struct_size, although the memory there is no zero. */
    assert_null(model.abi.jacobian_sparse);
    assert_null(model.abi.rhs_parameter);
    assert_null(model.abi.noise);
    assert_null(model.abi.lanes);
    assert_int_equal(model_missing_derivatives(&model), NOTE_difference_rhs_parameter | NOTE_difference_initial |
                                                        NOTE_difference_observe);
    model_unload(&model);
    load_good(&model, case_zoo_path(path, "newer_struct"));
    assert_true(model.abi.struct_size > sizeof model.abi);
    assert_null(model.abi.noise);
    assert_int_equal(model_missing_derivatives(&model), 0);
    model_unload(&model);
    load_good(&model, case_zoo_path(path, "lanes_older"));
    assert_non_null(model.abi.lanes);
    assert_non_null(model.abi.lanes->observe);
    assert_null(model.abi.lanes->opencl);
    assert_null(model.abi.lanes->noise);
    model_unload(&model);
    load_good(&model, case_zoo_path(path, "robertson_bare"));
    assert_int_equal(model_missing_derivatives(&model), NOTE_difference_jacobian | NOTE_difference_rhs_parameter |
                                                        NOTE_difference_initial | NOTE_difference_observe);
    model_unload(&model);
}

/* Those of another number of lanes count as absent, and the loaded model says so. */
static void lanes_load(void **state)
{
    (void)state;
    static const struct { const char *name; uint32_t n_lane; bool usable; } cases[] = {
        {"lanes_good", STIFFIT_LANES, true}, {"lanes_of_four", 4, false}, {"robertson_bare", 0, false}};
    char path[CASE_PATH];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct model model;
        load_good(&model, case_zoo_path(path, cases[i].name));
        assert_int_equal(model.n_lane, cases[i].n_lane);
        assert_int_equal(model.abi.lanes != NULL, cases[i].usable);
        model_unload(&model);
    }
}

static void refuse_bytes(const void *bytes, size_t n_byte, const char *origin, const char *word)
{
    struct model model;
    struct error error = {0};
    assert_int_equal(model_load_bytes(&model, bytes, n_byte, origin, NULL, &error), STATUS_BAD_MODEL);
    if (!strstr(error.message, word) || !strstr(error.message, origin))
        fail_msg("no \"%s\" or no \"%s\" in: %s", word, origin, error.message);
}

static void other_files_are_named(void **state)
{
    (void)state;
    refuse_bytes("k = 1\n", 6, "m.ode", "model text");
    refuse_bytes("int a;\n", 7, "m.c", "source code");
    refuse_bytes("hello\n", 6, "m.so", "a text file");
    refuse_bytes("", 0, "m.so", "empty");
    refuse_bytes("\211HDF\r\n\032\n....", 12, "m.so", "HDF5");
    refuse_bytes("!<arch>\n....", 12, "m.so", "static library");
    refuse_bytes("\0\1\2\3\4\5\6\7", 8, "m.so", "some other kind");
    size_t n_byte;
    char path[CASE_PATH], *bytes = read_all(case_model_path(path, "decay"), &n_byte);
    Elf64_Ehdr header;
    memcpy(&header, bytes, sizeof header);
    if (header.e_ident[EI_CLASS] == ELFCLASS64) {
        Elf64_Ehdr other = header;
        other.e_machine = EM_S390;
        memcpy(bytes, &other, sizeof other);
        refuse_bytes(bytes, n_byte, "m.so", "s390");
        other = header;
        other.e_type = ET_REL;
        memcpy(bytes, &other, sizeof other);
        refuse_bytes(bytes, n_byte, "m.so", "object file");
        other = header;
        other.e_phoff = UINT64_MAX - 8;
        memcpy(bytes, &other, sizeof other);
        refuse_bytes(bytes, n_byte, "m.so", "truncated");
    }
    free(bytes);
    struct model model;
    struct error error = {0};
    assert_int_equal(model_load(&model, "/", NULL, &error), STATUS_BAD_MODEL);
    assert_non_null(strstr(error.message, "directory"));
    assert_int_equal(model_load(&model, "/dev/null", NULL, &error), STATUS_BAD_MODEL);
    assert_int_equal(model_load(&model, "/no/such/model.so", NULL, &error), STATUS_SYSTEM);
    assert_non_null(strstr(error.message, "/no/such/model.so"));
    assert_int_equal(model_load(&model, "/no/such/model.so", NULL, NULL), STATUS_SYSTEM);
}

/* The end of what the loader maps; section headers and symbols for debuggers lie behind it. */
static size_t mapped_end(const char *bytes)
{
    Elf64_Ehdr header;
    memcpy(&header, bytes, sizeof header);
    size_t end = 0;
    for (int i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, bytes + header.e_phoff + (size_t)i * sizeof segment, sizeof segment);
        if (segment.p_type == PT_LOAD && segment.p_offset + segment.p_filesz > end)
            end = segment.p_offset + segment.p_filesz;
    }
    return end;
}

static void truncated_plugins_are_refused(void **state)
{
    (void)state;
    size_t n_byte;
    char path[CASE_PATH], *bytes = read_all(case_model_path(path, "decay"), &n_byte);
    size_t end = mapped_end(bytes);
    assert_true(end > 1000 && end <= n_byte);
    for (size_t n = 4; n < end; n += 97)
        refuse_bytes(bytes, n, "cut.so", "truncated");
    refuse_bytes(bytes, end - 1, "cut.so", "truncated");
    free(bytes);
}

/* coreutils' sha256sum is the oracle. */
static void hash_is_that_of_the_file(void **state)
{
    (void)state;
    char path[CASE_PATH], command[CASE_PATH + 30], expected[65], upper[65];
    case_model_path(path, "robertson");
    snprintf(command, sizeof command, "sha256sum '%s'", path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%64s", expected), 1);
    pclose(pipe);
    struct model model;
    load_good(&model, path);
    assert_string_equal(model.sha256, expected);
    model_unload(&model);
    for (int i = 0; i < 65; i++)
        upper[i] = (char)(expected[i] >= 'a' && expected[i] <= 'f' ? expected[i] - 'a' + 'A' : expected[i]);
    struct error error = {0};
    assert_int_equal(model_load(&model, path, upper, &error), STATUS_OK);
    model_unload(&model);
    expected[5] = expected[5] == '0' ? '1' : '0';
    assert_int_equal(model_load(&model, path, expected, &error), STATUS_BAD_MODEL);
    assert_non_null(strstr(error.message, expected));
}

/* The loader knows objects by name first: one model must never be taken for another that was there before it. */
static void models_do_not_mix(void **state)
{
    (void)state;
    char path[CASE_PATH];
    struct model one, two, three;
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < N_CASE_MODEL; i++) {
            load_good(&one, case_model_path(path, case_models[i]));
            assert_string_equal(one.abi.name, case_models[i]);
            model_unload(&one);
        }
    }
    /* This one stays in memory: its name must not be given to the next. */
    load_good(&one, case_zoo_path(path, "never_unloaded"));
    model_unload(&one);
    load_good(&one, case_model_path(path, "decay"));
    assert_string_equal(one.abi.name, "decay");
    load_good(&two, case_model_path(path, "robertson"));
    load_good(&three, case_model_path(path, "decay"));
    assert_int_equal(one.abi.n_state, 1);
    assert_int_equal(two.abi.n_state, 3);
    model_unload(&one);
    load_good(&one, case_model_path(path, "hare-lynx"));
    assert_string_equal(one.abi.name, "hare-lynx");
    assert_string_equal(three.abi.name, "decay");
    model_unload(&one);
    model_unload(&two);
    model_unload(&three);
}

/* What was read is what runs: the file may be rewritten while the model is in use. */
static void file_may_change_afterwards(void **state)
{
    (void)state;
    char path[CASE_PATH], copy[] = "/tmp/stiffit-test-XXXXXX";
    size_t n_byte;
    char *bytes = read_all(case_model_path(path, "decay"), &n_byte);
    int fd = mkstemp(copy);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n_byte), n_byte);
    struct model model;
    load_good(&model, copy);
    memset(bytes, 0xcc, n_byte);
    assert_int_equal(pwrite(fd, bytes, n_byte, 0), n_byte);
    double y = 3, p[] = {2, 1}, ydot = 0;
    struct stiffit_point at = {.y = &y, .p = p};
    assert_int_equal(model.abi.rhs(&at, &ydot), STIFFIT_OK);
    assert_true(ydot == -6);
    model_unload(&model);
    close(fd);
    unlink(copy);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_models_load),
        cmocka_unit_test(broken_plugins_are_refused),
        cmocka_unit_test(older_and_newer_structs_load),
        cmocka_unit_test(lanes_load),
        cmocka_unit_test(other_files_are_named),
        cmocka_unit_test(truncated_plugins_are_refused),
        cmocka_unit_test(hash_is_that_of_the_file),
        cmocka_unit_test(models_do_not_mix),
        cmocka_unit_test(file_may_change_afterwards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
