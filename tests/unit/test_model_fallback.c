/* Loading a plugin where the system has no anonymous files: through a private directory that is gone afterwards.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model_case.h"

#include "model/plugin.h"

#include <dirent.h>
#include <errno.h>
#include <sys/mman.h>

/* Stands in for the C library's. */
int memfd_create(const char *name, unsigned flags)
{
    (void)name;
    (void)flags;
    errno = ENOSYS;
    return -1;
}

static size_t count_entries(const char *directory)
{
    DIR *stream = opendir(directory);
    assert_non_null(stream);
    size_t n = 0;
    while (readdir(stream))
        n++;
    closedir(stream);
    return n - 2; /* . and .. */
}

static void loads_through_a_directory(void **state)
{
    (void)state;
    char path[CASE_PATH], directory[] = "/tmp/stiffit-test-XXXXXX";
    assert_non_null(mkdtemp(directory));
    assert_int_equal(setenv("TMPDIR", directory, 1), 0);
    struct model one, two;
    struct error error = {0};
    if (model_load(&one, case_model_path(path, "decay"), NULL, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(model_load(&two, case_model_path(path, "robertson"), NULL, &error), STATUS_OK);
    assert_string_equal(one.abi.name, "decay");
    assert_string_equal(two.abi.name, "robertson");
    assert_int_equal(count_entries(directory), 0);
    model_unload(&one);
    model_unload(&two);
    assert_int_equal(model_load(&one, case_zoo_path(path, "undefined_symbol"), NULL, &error), STATUS_BAD_MODEL);
    assert_non_null(strstr(error.message, "somebody_elses_function"));
    assert_null(strstr(error.message, directory));
    assert_int_equal(count_entries(directory), 0);
    assert_int_equal(rmdir(directory), 0);
}

static void a_missing_directory_is_named(void **state)
{
    (void)state;
    char path[CASE_PATH];
    assert_int_equal(setenv("TMPDIR", "/no/such/directory", 1), 0);
    struct model model;
    struct error error = {0};
    assert_int_equal(model_load(&model, case_model_path(path, "decay"), NULL, &error), STATUS_SYSTEM);
    assert_non_null(strstr(error.message, "/no/such/directory"));
    assert_null(model.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_through_a_directory),
        cmocka_unit_test(a_missing_directory_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
